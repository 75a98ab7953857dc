"""A scenario's systems as one function over the rows of a batch, ready to be compiled.

Nothing is generated as text. Chains of closures call one system after the other, with its
parameters read from a record; so only another list of systems, another layout or another view asks
for a new compilation, never other parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.autoreset import BEGIN, KEEP, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.batches.compiled.intrinsics import SMALL_ROW, fields, prefetch, prefetch_cell, table
from gv_engine.batches.compiled.sight import look, show
from gv_engine.language.component import NOTHING
from gv_engine.language.system import (
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Call,
    is_nested,
)
from gv_engine.language.verbs import stands_somewhere
from gv_engine.worlds.rng import draw_member
from gv_engine.worlds.world import AGENT

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


def _parts(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """The call and all nested in its arguments, by the prefix of their fields in the record."""
    yield prefix, call
    for name, value in call.arguments.items():
        if isinstance(value, Call):
            yield from _parts(f"{prefix}_{name}", value)
        elif is_nested(value):
            for number, part in enumerate(value):
                yield from _parts(f"{prefix}_{name}_{number}", part)


def _all_parts(scenario: Scenario) -> Iterator[tuple[str, Call]]:
    for phase in (RESET, TRANSITION, REWARD, TERMINATING, VISIBILITY):
        for number, call in enumerate(scenario.calls(phase)):
            yield from _parts(f"{phase.name}_{number}", call)


def _is_data(value: Any) -> bool:
    return not (callable(value) or is_nested(value) or isinstance(value, str) or value is None)


def parameters(scenario: Scenario, number: int = 0, masks: bool = True) -> NDArray[Any]:
    """(members,) records of everything about a scenario that is data.

    That of the given member has the arguments of its systems, its actions and its step limit; in
    the others all is 0 but their share of a mixture. Without masks it is told to have no actions
    to look through.
    """
    member = scenario.members[number]
    actions = np.zeros(8, np.int64)
    actions[: len(member.actions)] = member.actions
    values: dict[str, NDArray[Any]] = {
        "actions": actions,
        "num_actions": np.asarray(len(member.actions) if masks else 0),
        "max_steps": np.asarray(member.max_steps or np.iinfo(np.int64).max),
        "mine": np.asarray(1, np.uint8),
    }
    if len(scenario.members) > 1:
        values["share"] = np.asarray(0.0)
    for prefix, call in _all_parts(member):
        for name, value in call.arguments.items():
            if _is_data(value):
                values[f"{prefix}_{name}"] = np.asarray(value)
    dtype = np.dtype([(name, v.dtype, v.shape) for name, v in values.items()], align=True)
    records = np.zeros(len(scenario.members), dtype)
    for name, value in values.items():
        records[number][name] = value
    if len(scenario.members) > 1:
        records["share"] = scenario.shares
    return records


AHEAD = 4
"""So many worlds before its turn a row is asked for, and half as many its cells if it is large."""


# ---- calls -----------------------------------------------------------------------------------
# Everything is a closure over what comes before it. `p` is the parameter record; `was` holds all
# that was measured before the transitions, as one tuple of numbers. A closure costs Numba some
# 40 ms, so that there are as few as can be.


def _constant(before: Any, value: Any) -> Any:
    def values(w: Any, p: Any, was: Any) -> Any:
        return (*before(w, p, was), value)

    return values


def _result(before: Any, nested: Any) -> Any:
    def values(w: Any, p: Any, was: Any) -> Any:
        return (*before(w, p, was), nested(w, p, was))

    return values


def _both(before: Any, after: Any) -> Any:
    def values(w: Any, p: Any, was: Any) -> Any:
        return before(w, p, was) + after(w, p, was)

    return values


def _unmeasured(w: Any, p: Any) -> Any:
    return ()


def _remembering(before: Any, remember: Any, values: Any) -> Any:
    def measure(w: Any, p: Any) -> Any:
        return (*before(w, p), 1.0 * remember(w, AGENT, *values(w, p, ())))

    return measure


class _Past:
    """What is to be measured before the transitions.

    Attributes:
        measure: `(w, p)` → all of it.
        length: how many numbers that is.
    """

    def __init__(self) -> None:
        self.measure: Any = _unmeasured
        self.length = 0

    def remember(self, helper: Any, values: Any) -> int:
        """Measure one more; returns its number."""
        self.measure = _remembering(self.measure, helper, values)
        self.length += 1
        return self.length - 1


def _as_it_is(function: Any, values: Any) -> Any:
    def run(w: Any, p: Any, was: Any) -> Any:
        return function(w, AGENT, *values(w, p, was))

    return run


def _as_number(function: Any, values: Any) -> Any:
    def number(w: Any, p: Any, was: Any) -> Any:
        return 1.0 * function(w, AGENT, *values(w, p, was))

    return number


def _as_truth(function: Any, values: Any) -> Any:
    def truth(w: Any, p: Any, was: Any) -> Any:
        return bool(function(w, AGENT, *values(w, p, was)))

    return truth


_RESULTS = {REWARD: _as_number, TERMINATING: _as_truth}
"""What nested functions of a phase return, whatever kind of number they make it from."""


def _arguments(
    prefix: str, call: Call, past: _Past, helper: Callable[..., Any] | None = None
) -> Any:
    """`(w, p, was)` → what follows `w` and the agent in a call of the function, or of a helper."""
    values: Any = None
    number = None
    if helper is None and (remember := call.system.remember) is not None:
        number = past.remember(remember, _arguments(prefix, call, past, remember))
    names = list(call.names(helper))
    while names or values is None:
        data = list(takewhile(lambda name: _is_data(call.arguments[name]), names))
        picked = fields([f"{prefix}_{name}" for name in data], number)
        number = None
        if values is None:
            values = picked
        elif data:
            values = _both(values, picked)
        names = names[len(data) :]
        if names:
            value, field = call.arguments[names[0]], f"{prefix}_{names.pop(0)}"
            if isinstance(value, tuple):
                values = _result(values, _several(field, value, past))
            elif is_nested(value):
                values = _result(values, _nested(field, value, past))
            else:
                values = _constant(values, value)
    return values


def _several(prefix: str, calls: tuple[Call, ...], past: _Past) -> Any:
    """A list of nested calls: a tuple of results."""
    values: Any = fields([])
    for number, call in enumerate(calls):
        values = _result(values, _nested(f"{prefix}_{number}", call, past))
    return values


def _nested(prefix: str, call: Call, past: _Past) -> Any:
    """`(w, p, was)` → result of a call."""
    result = _RESULTS.get(call.system.phase, _as_it_is)
    return result(call.system.function, _arguments(prefix, call, past))


# ---- chains ----------------------------------------------------------------------------------


def _nothing(w: Any, p: Any) -> None:
    pass


def _then(before: Any, measure: Any, function: Any, values: Any) -> Any:
    """RESET and TRANSITION: one system after the other."""

    def both(w: Any, p: Any) -> None:
        before(w, p)
        function(w, AGENT, *values(w, p, measure(w, p)))

    return both


def _no_reward(w: Any, p: Any, was: Any, terms: Any) -> float:
    return 0.0


def _add(before: Any, number: int, function: Any, values: Any) -> Any:
    """REWARD: the terms from left to right."""

    def total(w: Any, p: Any, was: Any, terms: Any) -> float:
        reward = before(w, p, was, terms)
        term = 1.0 * function(w, AGENT, *values(w, p, was))
        terms[number] = term
        return reward + term  # type: ignore[no-any-return]

    return total


def _never(w: Any, p: Any, was: Any) -> bool:
    return False


def _or(before: Any, function: Any, values: Any) -> Any:
    """TERMINATING: whether any test is true; all of them run."""

    def over(w: Any, p: Any, was: Any) -> bool:
        earlier = before(w, p, was)
        return bool(function(w, AGENT, *values(w, p, was))) or earlier

    return over


def _no_action(w: Any, p: Any, action: int) -> bool:
    return False


def _or_valid(before: Any, valid: Any, values: Any) -> Any:
    """Action mask: whether any transition would act."""
    if valid is None:

        def would_act(w: Any, p: Any, action: int) -> bool:
            return True

    else:

        def would_act(w: Any, p: Any, action: int) -> bool:
            return before(w, p, action) or bool(valid(w, AGENT, action, *values(w, p, ())))

    return would_act


def _see(function: Any, values: Any) -> Any:
    def see(w: Any, p: Any, view: Any) -> None:
        look(w, AGENT, view)
        function(w, AGENT, view, *values(w, p, ()))

    return see


# ---- the program -----------------------------------------------------------------------------


def link(scenario: Scenario, slots: Sequence[int], dtypes: Sequence[np.dtype[Any]]) -> FunctionType:
    """The kernel, not compiled yet.

    Args:
        scenario: whose systems it runs.
        slots: where the terms of its rewards go.
        dtypes: of the arrays whose addresses the kernel will be given, in its order.
    """
    begin: Any = _nothing
    for number, call in enumerate(scenario.calls(RESET)):
        past = _Past()
        values = _arguments(f"RESET_{number}", call, past)
        begin = _then(begin, past.measure, call.system.function, values)
    move: Any = _nothing
    valid: Any = _no_action
    for number, call in enumerate(scenario.calls(TRANSITION)):
        past = _Past()
        values = _arguments(f"TRANSITION_{number}", call, past)
        move = _then(move, past.measure, call.system.function, values)
        for prefix, part in _parts(f"TRANSITION_{number}", call):
            helper = part.system.valid
            valid = _or_valid(valid, helper, helper and _arguments(prefix, part, _Past(), helper))
    past = _Past()
    score: Any = _no_reward
    for number, call in enumerate(scenario.calls(REWARD)):
        values = _arguments(f"REWARD_{number}", call, past)
        score = _add(score, slots[number], call.system.function, values)
    over: Any = _never
    for number, call in enumerate(scenario.calls(TERMINATING)):
        values = _arguments(f"TERMINATING_{number}", call, past)
        over = _or(over, call.system.function, values)
    measure = past.measure
    visibility = scenario.visibility
    see = _see(visibility.system.function, _arguments("VISIBILITY_0", visibility, _Past()))

    def restart(w: Any, p: Any) -> None:
        for e in range(1, w.capacity):
            if w.alive[e]:
                w.remove(e)
        for y in range(w.at.shape[0]):  # loops, as `fill` would be compiled for each of these
            for x in range(w.at.shape[1]):
                w.at[y, x] = NOTHING
        for kind in range(len(w.placed)):
            w.placed[kind] = 0
            w.recent[kind] = NOTHING
        w.alive[AGENT] = 1
        w.become_agent(AGENT)
        w.free = AGENT + 1
        w.error = 0
        w.steps = 0
        w.action = 0
        w.reward = 0.0
        w.total = 0.0
        w.terminated = 0
        w.truncated = 0
        begin(w, p)

    row, parameter, view, action, grid, item, masked, term, count, reward, flag = dtypes[:11]

    large = row.itemsize > SMALL_ROW
    mixed = "share" in (parameter.names or ())

    def foresee(w: Any, view: Any) -> None:
        y, x = w.position.y[AGENT], w.position.x[AGENT]
        reach = view.entity.shape[0]
        for k in range(-reach, reach + 1):
            prefetch_cell(w, y + k, x)

    def kernel(addresses: Any, start: int, stop: int, mode: int) -> int:
        rows = table(addresses[0], stop, row)
        parameters = table(addresses[1], 1, parameter)
        look_at = table(addresses[2], 1, view)[0]
        actions = table(addresses[3], stop, action)
        grids = table(addresses[4], stop, grid)
        items = table(addresses[5], stop, item)
        masks = table(addresses[6], stop, masked)
        terms = table(addresses[7], stop, term)
        members = table(addresses[8], stop, count)
        rewards = table(addresses[9], stop, reward)
        terminated = table(addresses[10], stop, flag)
        truncated = table(addresses[11], stop, flag)
        returns = table(addresses[12], stop, reward)
        lengths = table(addresses[13], stop, count)
        final_grids = table(addresses[14], stop, grid)
        final_items = table(addresses[15], stop, item)
        final_masks = table(addresses[16], stop, masked)
        final_terms = table(addresses[17], stop, term)
        final_members = table(addresses[18], stop, count)
        failed = 0
        for i in range(start, stop):
            w = rows[i]
            if i + AHEAD < stop:
                prefetch(rows, i + AHEAD)
            if large and i + AHEAD // 2 < stop:
                foresee(rows[i + AHEAD // 2], look_at)
            chosen = actions[i]
            p = parameters[w.member]
            if chosen == KEEP or not p.mine:
                continue
            actions[i] = KEEP
            w.error = 0
            if chosen >= 0 and mode == NEXT_STEP and (w.terminated or w.truncated):
                chosen = RESTART
            if chosen == RESTART:
                rewards[i] = 0.0
                terminated[i] = False
                truncated[i] = False
                returns[i] = 0.0
                lengths[i] = 0
            # twice where an episode ends in a SAME_STEP reset: its end is shown, then a new start
            shown = False
            while not shown:
                shown = True
                if chosen == RESTART:
                    chosen = BEGIN
                    if mixed:
                        w.member = draw_member(w.rng, parameters)
                        p = parameters[w.member]
                        if not p.mine:
                            actions[i] = BEGIN  # for the program of that member
                            break
                if chosen == BEGIN:
                    restart(w, p)
                    for k in range(len(terms[i].row)):
                        terms[i].row[k] = 0.0
                elif chosen >= 0:
                    w.action = p.actions[chosen]
                    w.terminated = 0
                    w.truncated = 0
                    was = measure(w, p)
                    move(w, p)
                    if stands_somewhere(w, AGENT):
                        w.reward = score(w, p, was, terms[i].row)
                        w.terminated = over(w, p, was)
                    w.steps += 1
                    w.total += w.reward
                    w.truncated = w.steps >= p.max_steps and not w.terminated
                    rewards[i] = w.reward
                    terminated[i] = w.terminated != 0
                    truncated[i] = w.truncated != 0
                    returns[i] = w.total
                    lengths[i] = w.steps
                    ended = (w.terminated or w.truncated) and w.error == 0
                    shown = not (mode == SAME_STEP and ended)
                chosen = RESTART
                if w.error != 0:
                    break
                see(w, p, look_at)
                show(
                    w,
                    AGENT,
                    look_at,
                    grids[i].row if shown else final_grids[i].row,
                    items[i].row if shown else final_items[i].row,
                )
                mask = masks[i].row if shown else final_masks[i].row
                for k in range(p.num_actions):
                    mask[k] = valid(w, p, p.actions[k])
                members[i] = w.member
                if not shown:
                    final_members[i] = w.member
                    for k in range(len(terms[i].row)):
                        final_terms[i].row[k] = terms[i].row[k]
            failed += w.error != 0
        return failed

    return kernel  # type: ignore[return-value]  # mypy does not know it as a FunctionType
