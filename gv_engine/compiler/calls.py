"""A scenario's calls, bound to the values that they take from a record of parameters."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

import numpy as np

from gv_engine.compiler.intrinsics import fields, whose
from gv_engine.compiler.parameters import is_data, parts
from gv_engine.rules.call import Call, is_nested_call
from gv_engine.rules.geometry import Action
from gv_engine.rules.system import (
    OBSERVATION,
    REWARD,
    TERMINATING,
    VISIBILITY,
    has_parameter,
    to_measurement,
)


def ends(call: Call) -> dict[str, int]:
    """Numbers of the tests in a terminating function that can end an episode, by their prefix."""
    return {
        prefix: number
        for number, ((prefix, _), path) in enumerate(
            zip(parts(call.name, call), call.walk_paths(), strict=True), 1
        )
        if all(part.system.phase is TERMINATING for part in path)
    }


# ---- calls -----------------------------------------------------------------------------------
# Everything is a closure over what comes before it. `p` is the parameter record; `was` holds all
# that was measured before the transitions, as one tuple; a condition finds the action there, a
# visibility or observation function its view. `values` are all that follows `w` in a call. A
# closure costs Numba some 40 ms, so that there are as few as can be.


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
        return (*before(w, p), to_measurement(remember(w, *values(w, p, ()))))

    return measure


class PreStepMeasurements:
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
        if over and w.ended_by[whose(w)] == 0:
            w.ended_by[whose(w)] = number
        return over

    return truth


def _of_ends(truth: Any) -> Any:
    """A test of tests: where it is not true, those nested in it have ended nothing."""

    def whole(w: Any, p: Any, was: Any) -> bool:
        before = w.ended_by[whose(w)]
        over = truth(w, p, was)
        if not over:
            w.ended_by[whose(w)] = before
        return over  # type: ignore[no-any-return]

    return whole


def _under(when: Any, asked: Any, function: Any, values: Any) -> Any:
    """A transition that runs where its condition holds."""

    def transition(w: Any, p: Any, was: Any) -> None:
        if when(w, *asked(w, p, (np.int64(w.action[whose(w)]),))):
            function(w, *values(w, p, was))

    return transition


def _again(until: Any, asked: Any, function: Any, values: Any) -> Any:
    """A reset of resets that run again, in an empty world, until its condition holds."""

    def reset(w: Any, p: Any, was: Any) -> None:
        given = values(w, p, was)
        tried = 1
        while w.error == 0 and not until(w, *asked(w, p, (tried,))):
            w.clear()
            given = values(w, p, was)
            tried += 1
        function(w, *given)

    return reset


def _in_turns(whose_turns: tuple[bool, ...], run: Any) -> Any:
    """What changes the world in the turns of some agents."""

    def transition(w: Any, p: Any, was: Any) -> None:
        if whose_turns[whose(w)]:
            run(w, p, was)

    return transition


def _or(call: Call, run: Any) -> Any:
    """What is asked in the turns of some agents, and known in those of others."""
    whose_turns, otherwise = call.agent_mask, call.masked_value

    def asked(w: Any, p: Any, was: Any) -> Any:
        return run(w, p, was) if whose_turns[whose(w)] else otherwise

    return asked


_RESULTS = {REWARD: _as_number, TERMINATING: _as_truth}
"""The type that nested functions of a phase return, whatever kind of number they make it from."""


def arguments(
    prefix: str, call: Call, past: PreStepMeasurements, helper: Callable[..., Any] | None = None
) -> Any:
    """`(w, p, was)` → what follows `w` in a call of the function, or of a helper."""
    values: Any = None
    number = None
    agent = has_parameter(helper or call.system.function, "agent")
    back = fields([], rule=prefix)
    if helper is None and (remember := call.system.remember) is not None:
        number = past.remember(remember, arguments(prefix, call, past, remember))
    elif call.system.phase in (VISIBILITY, OBSERVATION) or (
        helper and any(has_parameter(helper, name) for name in ("action", "tried"))
    ):
        number = 0
    names = list(call.argument_names(helper))
    while names or values is None:
        data = list(takewhile(lambda name: is_data(call.arguments[name]), names))
        picked = fields([f"{prefix}_{name}" for name in data], number, prefix, agent)
        number, agent = None, False
        if values is None:
            values = picked
        elif data:
            values = _both(values, picked)
        names = names[len(data) :]
        if names:
            value, field = call.arguments[names[0]], f"{prefix}_{names.pop(0)}"
            if isinstance(value, tuple):
                values = _result(values, _several(field, value, past), back)
            elif is_nested_call(value):
                values = _result(values, nested(field, value, past), back)
            else:
                values = _constant(values, int(value) if isinstance(value, Action) else value)
    return values


def _several(prefix: str, calls: tuple[Call, ...], past: PreStepMeasurements) -> Any:
    """A list of nested calls: a tuple of results."""
    values: Any = fields([])
    for number, call in enumerate(calls):
        values = _result(values, nested(f"{prefix}_{number}", call, past), fields([]))
    return values


def nested(prefix: str, call: Call, past: PreStepMeasurements) -> Any:
    """`(w, p, was)` → result of a call."""
    run = _whoever_acts(prefix, call, past)
    if not call.agent_mask:
        return run
    return _in_turns(call.agent_mask, run) if call.masked_value is None else _or(call, run)


def _whoever_acts(prefix: str, call: Call, past: PreStepMeasurements) -> Any:
    if prefix in past.ends:
        number = past.ends[prefix]
        end = _as_end(call.system.function, arguments(prefix, call, past), number)
        return _of_ends(end) if any(map(is_nested_call, call.arguments.values())) else end
    function, values, when = call.system.function, arguments(prefix, call, past), call.system.when
    if (until := call.system.until) is not None:
        return _again(until, arguments(prefix, call, past, until), function, values)
    if when is not None:
        return _under(when, arguments(prefix, call, past, when), function, values)
    return _RESULTS.get(call.system.phase, _as_it_is)(function, values)
