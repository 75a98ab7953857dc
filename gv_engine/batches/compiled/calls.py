"""A scenario's calls, bound to the values that they take from a record of parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.compiled.intrinsics import fields
from gv_engine.language.call import Call, is_nested
from gv_engine.language.component import AGENT
from gv_engine.language.system import (
    RESET,
    REWARD,
    SUCCESS,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Phase,
    measured,
    takes,
)
from gv_engine.reading import rule_files

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


def inner(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """The calls among the arguments of a call, by the prefix of their fields in the record."""
    for name, value in call.arguments.items():
        if isinstance(value, Call):
            yield f"{prefix}_{name}", value
        elif is_nested(value):
            for number, part in enumerate(value):
                yield f"{prefix}_{name}_{number}", part


def parts(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """The call and all nested in its arguments, by the prefix of their fields in the record."""
    yield prefix, call
    for part in inner(prefix, call):
        yield from parts(*part)


_COMPILED = RESET, TRANSITION, REWARD, TERMINATING, SUCCESS, VISIBILITY


def fields_of_calls(scenario: Scenario, *phases: Phase) -> list[tuple[str, Call]]:
    """Calls of phases, or all that are compiled, by their fields in the record of parameters."""
    return [
        (f"{phase.name}_{number}", call)
        for phase in phases or _COMPILED
        for number, call in enumerate(scenario.calls(phase))
    ]


def runs_engine_rules_only(scenario: Scenario) -> bool:
    """Whether all rules that a scenario compiles come with the engine."""
    return all(
        rule_files.is_engine_module(getattr(function, "__module__", None) or "")
        for _, whole in fields_of_calls(scenario)
        for call in whole.parts()
        for function in (call.system.function, call.system.remember, call.system.when)
        + tuple(call.arguments.values())
        if callable(function)
    )


def _is_data(value: Any) -> bool:
    return not (callable(value) or is_nested(value) or isinstance(value, str) or value is None)


def parameters(
    scenario: Scenario, number: int = 0, masks: bool = True, checked: bool = False
) -> NDArray[Any]:
    """(members,) records of everything about a scenario that is data.

    That of the given member has the arguments of its systems, each call's in a record of its own,
    its actions and its step limit; in the others all is 0 but their share of a mixture. Without
    masks it is told to have no actions to look through. What is checked says there which call
    runs, and in the call's record which of its parts.
    """
    member = scenario.members[number]
    actions = np.zeros(8, np.int64)
    actions[: len(member.actions)] = member.actions
    values = {
        "actions": actions,
        "num_actions": np.asarray(len(member.actions) if masks else 0),
        "max_steps": np.asarray(member.max_steps or np.iinfo(np.int64).max),
        "mine": np.asarray(1, np.uint8),
    }
    if len(scenario.members) > 1:
        values["share"] = np.asarray(0.0)
    running = {"running": np.asarray(0, np.uint32)} if checked else {}
    values |= running
    for field, call in fields_of_calls(member):
        own = {
            f"{prefix}_{name}": np.asarray(value)
            for prefix, part in parts(call.name, call)
            for name, value in part.arguments.items()
            if _is_data(value)
        }
        values[field] = _record({**running, **own} or {"none": np.asarray(0, np.uint8)})
    records = np.zeros(len(scenario.members), _record(values).dtype)
    for name, value in values.items():
        records[number][name] = value
    if len(scenario.members) > 1:
        records["share"] = scenario.shares
    return records


def ends(call: Call) -> dict[str, int]:
    """Numbers of the tests in a terminating function that can end an episode, by their prefix."""
    return {
        prefix: number
        for number, ((prefix, _), path) in enumerate(
            zip(parts(call.name, call), call.paths(), strict=True), 1
        )
        if all(part.system.phase is TERMINATING for part in path)
    }


def _record(values: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """() record of these values."""
    record = np.zeros((), np.dtype([(n, v.dtype, v.shape) for n, v in values.items()], align=True))
    for name, value in values.items():
        record[name] = value
    return record


# ---- calls -----------------------------------------------------------------------------------
# Everything is a closure over what comes before it. `p` is the parameter record; `was` holds all
# that was measured before the transitions, as one tuple; a condition finds the action there, a
# visibility function its view. `values` are all that follows `w` in a call. A closure costs Numba
# some 40 ms, so that there are as few as can be.


def _constant(before: Any, value: Any) -> Any:
    def values(w: Any, p: Any, was: Any) -> Any:
        return (*before(w, p, was), value)

    return values


def _result(before: Any, nested: Any, back: Any) -> Any:
    def values(w: Any, p: Any, was: Any) -> Any:
        return (*before(w, p, was), nested(w, p, was), *back(w, p, was))

    return values


def _both(before: Any, after: Any) -> Any:
    def values(w: Any, p: Any, was: Any) -> Any:
        return before(w, p, was) + after(w, p, was)

    return values


def _unmeasured(w: Any, p: Any) -> Any:
    return ()


def _remembering(before: Any, remember: Any, values: Any) -> Any:
    def measure(w: Any, p: Any) -> Any:
        return (*before(w, p), measured(remember(w, *values(w, p, ()))))

    return measure


class Past:
    """Measurements to be taken before the transitions.

    Attributes:
        measure: `(w, p)` → all of it.
        length: how many measurements that is.
        ends: numbers of the tests that can end an episode, by their prefix.
    """

    def __init__(self, ends: dict[str, int] | None = None) -> None:
        self.measure: Any = _unmeasured
        self.length = 0
        self.ends = ends or {}

    def remember(self, helper: Any, values: Any) -> int:
        """Measure one more; returns its number."""
        self.measure = _remembering(self.measure, helper, values)
        self.length += 1
        return self.length - 1


def _as_it_is(function: Any, values: Any) -> Any:
    def run(w: Any, p: Any, was: Any) -> Any:
        return function(w, *values(w, p, was))

    return run


def _as_number(function: Any, values: Any) -> Any:
    def number(w: Any, p: Any, was: Any) -> Any:
        return float(function(w, *values(w, p, was)))

    return number


def _as_truth(function: Any, values: Any) -> Any:
    def truth(w: Any, p: Any, was: Any) -> Any:
        return bool(function(w, *values(w, p, was)))

    return truth


def _as_end(function: Any, values: Any, number: int) -> Any:
    """A test that leaves its number where it is the first true one."""

    def truth(w: Any, p: Any, was: Any) -> bool:
        over = bool(function(w, *values(w, p, was)))
        if over and w.ended_by == 0:
            w.ended_by = number
        return over

    return truth


def _of_ends(truth: Any) -> Any:
    """A test of tests: where it is not true, those nested in it have ended nothing."""

    def whole(w: Any, p: Any, was: Any) -> bool:
        before = w.ended_by
        over = truth(w, p, was)
        if not over:
            w.ended_by = before
        return over  # type: ignore[no-any-return]

    return whole


def _under(when: Any, asked: Any, function: Any, values: Any) -> Any:
    """A transition that runs where its condition holds."""

    def transition(w: Any, p: Any, was: Any) -> None:
        if when(w, *asked(w, p, (np.int64(w.action),))):
            function(w, *values(w, p, was))

    return transition


_RESULTS = {REWARD: _as_number, TERMINATING: _as_truth}
"""The type that nested functions of a phase return, whatever kind of number they make it from."""


def arguments(prefix: str, call: Call, past: Past, helper: Callable[..., Any] | None = None) -> Any:
    """`(w, p, was)` → what follows `w` in a call of the function, or of a helper."""
    values: Any = None
    number = None
    agent = AGENT if takes(helper or call.system.function, "agent") else None
    back = fields([], rule=prefix)
    if helper is None and (remember := call.system.remember) is not None:
        number = past.remember(remember, arguments(prefix, call, past, remember))
    elif call.system.phase is VISIBILITY or (helper is not None and takes(helper, "action")):
        number = 0
    names = list(call.names(helper))
    while names or values is None:
        data = list(takewhile(lambda name: _is_data(call.arguments[name]), names))
        picked = fields([f"{prefix}_{name}" for name in data], number, prefix, agent)
        number = agent = None
        if values is None:
            values = picked
        elif data:
            values = _both(values, picked)
        names = names[len(data) :]
        if names:
            value, field = call.arguments[names[0]], f"{prefix}_{names.pop(0)}"
            if isinstance(value, tuple):
                values = _result(values, _several(field, value, past), back)
            elif is_nested(value):
                values = _result(values, nested(field, value, past), back)
            else:
                values = _constant(values, value)
    return values


def _several(prefix: str, calls: tuple[Call, ...], past: Past) -> Any:
    """A list of nested calls: a tuple of results."""
    values: Any = fields([])
    for number, call in enumerate(calls):
        values = _result(values, nested(f"{prefix}_{number}", call, past), fields([]))
    return values


def nested(prefix: str, call: Call, past: Past) -> Any:
    """`(w, p, was)` → result of a call."""
    if prefix in past.ends:
        number = past.ends[prefix]
        end = _as_end(call.system.function, arguments(prefix, call, past), number)
        return _of_ends(end) if any(map(is_nested, call.arguments.values())) else end
    function, values, when = call.system.function, arguments(prefix, call, past), call.system.when
    if when is not None:
        return _under(when, arguments(prefix, call, past, when), function, values)
    return _RESULTS.get(call.system.phase, _as_it_is)(function, values)
