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

from gv_engine.batches.autoreset import BEGIN, BUSY, KEEP, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.batches.compiled.intrinsics import SMALL_ROW, fields, prefetch, prefetch_cell, table
from gv_engine.batches.compiled.sight import look, show
from gv_engine.language.component import AGENT, NOTHING
from gv_engine.language.system import (
    RESET,
    REWARD,
    SUCCESS,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Call,
    is_nested,
    measured,
    takes,
)
from gv_engine.language.verbs import stands_somewhere
from gv_engine.reading import rules
from gv_engine.worlds.rng import draw_member

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


def _inner(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """The calls among the arguments of a call, by the prefix of their fields in the record."""
    for name, value in call.arguments.items():
        if isinstance(value, Call):
            yield f"{prefix}_{name}", value
        elif is_nested(value):
            for number, part in enumerate(value):
                yield f"{prefix}_{name}_{number}", part


def _parts(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """The call and all nested in its arguments, by the prefix of their fields in the record."""
    yield prefix, call
    for inner in _inner(prefix, call):
        yield from _parts(*inner)


def all_parts(scenario: Scenario) -> Iterator[tuple[str, Call]]:
    """Every call of a scenario that is compiled, by the prefix of its fields in the record."""
    for phase in (RESET, TRANSITION, REWARD, TERMINATING, SUCCESS, VISIBILITY):
        for number, call in enumerate(scenario.calls(phase)):
            yield from _parts(f"{phase.name}_{number}", call)


def is_own(scenario: Scenario) -> bool:
    """Whether all rules that a scenario compiles come with the engine."""
    return all(
        rules.is_own(getattr(function, "__module__", None) or "")
        for _, call in all_parts(scenario)
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

    That of the given member has the arguments of its systems, its actions and its step limit; in
    the others all is 0 but their share of a mixture. Without masks it is told to have no actions
    to look through. What is checked says there which of its rules runs.
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
        values["members"] = np.asarray(0)
    if checked:
        values["running"] = np.asarray(0, np.uint32)
    for prefix, call in all_parts(member):
        for name, value in call.arguments.items():
            if _is_data(value):
                values[f"{prefix}_{name}"] = np.asarray(value)
    dtype = np.dtype([(name, v.dtype, v.shape) for name, v in values.items()], align=True)
    records = np.zeros(len(scenario.members), dtype)
    for name, value in values.items():
        records[number][name] = value
    if len(scenario.members) > 1:
        records["share"] = scenario.shares
        records["members"] = len(scenario.members)
    return records


AHEAD = 4
"""So many worlds before its turn a row is asked for, and half as many its cells if it is large."""


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


class _Past:
    """What is to be measured before the transitions.

    Attributes:
        measure: `(w, p)` → all of it.
        length: how many measurements that is.
        ends: numbers of the tests that can end an episode, by their prefix.
    """

    def __init__(self) -> None:
        self.measure: Any = _unmeasured
        self.length = 0
        self.ends: dict[str, int] = {}

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
        return 1.0 * function(w, *values(w, p, was))

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
"""What nested functions of a phase return, whatever kind of number they make it from."""


def _arguments(
    prefix: str, call: Call, past: _Past, helper: Callable[..., Any] | None = None
) -> Any:
    """`(w, p, was)` → what follows `w` in a call of the function, or of a helper."""
    values: Any = None
    number = None
    agent = AGENT if takes(helper or call.system.function, "agent") else None
    back = fields([], rule=prefix)
    if helper is None and (remember := call.system.remember) is not None:
        number = past.remember(remember, _arguments(prefix, call, past, remember))
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
                values = _result(values, _nested(field, value, past), back)
            else:
                values = _constant(values, value)
    return values


def _several(prefix: str, calls: tuple[Call, ...], past: _Past) -> Any:
    """A list of nested calls: a tuple of results."""
    values: Any = fields([])
    for number, call in enumerate(calls):
        values = _result(values, _nested(f"{prefix}_{number}", call, past), fields([]))
    return values


def _nested(prefix: str, call: Call, past: _Past) -> Any:
    """`(w, p, was)` → result of a call."""
    if prefix in past.ends:
        number = past.ends[prefix]
        end = _as_end(call.system.function, _arguments(prefix, call, past), number)
        return _of_ends(end) if any(map(is_nested, call.arguments.values())) else end
    function, values, when = call.system.function, _arguments(prefix, call, past), call.system.when
    if when is not None:
        return _under(when, _arguments(prefix, call, past, when), function, values)
    return _RESULTS.get(call.system.phase, _as_it_is)(function, values)


# ---- chains ----------------------------------------------------------------------------------


def _nothing(w: Any, p: Any) -> None:
    pass


def _then(before: Any, measure: Any, run: Any) -> Any:
    """RESET and TRANSITION: one system after the other."""

    def both(w: Any, p: Any) -> None:
        before(w, p)
        run(w, p, measure(w, p))

    return both


def _no_reward(w: Any, p: Any, was: Any, terms: Any) -> float:
    return 0.0


def _add(before: Any, number: int, function: Any, values: Any) -> Any:
    """REWARD: the terms from left to right."""

    def total(w: Any, p: Any, was: Any, terms: Any) -> float:
        reward = before(w, p, was, terms)
        term = 1.0 * function(w, *values(w, p, was))
        terms[number] = term
        return reward + term  # type: ignore[no-any-return]

    return total


def _never(w: Any, p: Any, was: Any) -> bool:
    return False


def _no_action(w: Any, p: Any, action: int) -> bool:
    return False


def _any_action(w: Any, p: Any, action: int) -> bool:
    return True


def _or_acts(before: Any, when: Any, asked: Any, inside: Any) -> Any:
    def acts(w: Any, p: Any, action: int) -> bool:
        if before(w, p, action):
            return True
        return bool(when(w, *asked(w, p, (action,)))) and inside(w, p, action)

    return acts


def _answers(before: Any, prefix: str, call: Call) -> Any:
    """Action mask: whether an action is answered before, or by a transition or one inside it."""
    when, inside = call.system.when, _any_action
    if call.system.by_itself:
        inside = before if when is None else _no_action
        for field, part in _inner(prefix, call):
            if part.system.phase is TRANSITION:
                inside = _answers(inside, field, part)
    if when is None:
        return inside
    if inside is _no_action:
        return before
    return _or_acts(before, when, _arguments(prefix, call, _Past(), when), inside)


def _see(function: Any, values: Any) -> Any:
    def see(w: Any, p: Any, view: Any) -> None:
        look(w, AGENT, view)
        function(w, *values(w, p, (view,)))

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
        run = _nested(f"RESET_{number}", call, past)
        begin = _then(begin, past.measure, run)
    move: Any = _nothing
    valid: Any = _no_action
    for number, call in enumerate(scenario.calls(TRANSITION)):
        past = _Past()
        run = _nested(f"TRANSITION_{number}", call, past)
        move = _then(move, past.measure, run)
        valid = _answers(valid, f"TRANSITION_{number}", call)
    past = _Past()
    score: Any = _no_reward
    for number, call in enumerate(scenario.calls(REWARD)):
        values = _arguments(f"REWARD_{number}", call, past)
        score = _add(score, slots[number], call.system.function, values)
    (call,) = scenario.calls(TERMINATING)
    past.ends = {
        prefix: number
        for number, ((prefix, _), path) in enumerate(
            zip(_parts("TERMINATING_0", call), call.paths(), strict=True), 1
        )
        if all(part.system.phase is TERMINATING for part in path)
    }
    over = _nested("TERMINATING_0", call, past)
    well = _nested("SUCCESS_0", scenario.success, past) if scenario.success else _never
    measure = past.measure
    visibility = scenario.visibility
    see = _see(visibility.system.function, _arguments("VISIBILITY_0", visibility, _Past()))

    def restart(w: Any, p: Any) -> None:
        w.capacity = len(w.alive)
        for e in range(1, w.capacity):
            if w.alive[e]:
                w.become_nothing(e)
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
        w.success = 0
        w.ended_by = 0
        begin(w, p)

    row, parameter, view, action, grid, item, masked, term, count, reward, flag = dtypes[:11]

    large = row.itemsize > SMALL_ROW
    mixed = "share" in (parameter.names or ())
    nobody = fields([], rule="")

    def foresee(w: Any, view: Any) -> None:
        y, x = w.position.y[AGENT], w.position.x[AGENT]
        reach = view.entity.shape[0]
        for k in range(-reach, reach + 1):
            prefetch_cell(w, y + k, x)

    def kernel(addresses: Any, start: int, stop: int, mode: int) -> int:
        rows = table(addresses[0], stop, row)
        parameters = table(addresses[1], 1, parameter)
        if mixed:
            parameters = table(addresses[1], parameters[0].members, parameter)
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
        success = table(addresses[19], stop, flag)
        failed = 0
        for i in range(start, stop):
            w = rows[i]
            if i + AHEAD < stop:
                prefetch(rows, i + AHEAD)
            if large and i + AHEAD // 2 < stop:
                foresee(rows[i + AHEAD // 2], look_at)
            chosen = actions[i]
            if chosen == KEEP:
                continue
            actions[i] = BUSY
            p = parameters[w.member]
            if mixed and not p.mine:
                actions[i] = chosen
                continue
            nobody(w, p, ())
            w.error = 0
            if chosen >= 0 and mode == NEXT_STEP and (w.terminated or w.truncated):
                chosen = RESTART
            if chosen == RESTART:
                rewards[i] = 0.0
                terminated[i] = False
                truncated[i] = False
                success[i] = False
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
                            break
                if chosen == BEGIN:
                    restart(w, p)
                    for k in range(len(terms[i].row)):
                        terms[i].row[k] = 0.0
                elif chosen >= 0:
                    w.action = p.actions[chosen]
                    w.terminated = 0
                    w.truncated = 0
                    w.success = 0
                    w.ended_by = 0
                    was = measure(w, p)
                    move(w, p)
                    if stands_somewhere(w, AGENT):
                        w.reward = score(w, p, was, terms[i].row)
                        w.terminated = over(w, p, was)
                        if w.terminated and w.error == 0:
                            w.success = well(w, p, was)
                    w.steps += 1
                    w.total += w.reward
                    w.truncated = w.steps >= p.max_steps and not w.terminated
                    rewards[i] = w.reward
                    terminated[i] = w.terminated != 0
                    truncated[i] = w.truncated != 0
                    success[i] = w.success != 0
                    returns[i] = w.total
                    lengths[i] = w.steps
                    ended = (w.terminated or w.truncated) and w.error == 0
                    shown = not (mode == SAME_STEP and ended)
                chosen = RESTART
                if w.error != 0:
                    break
                nobody(w, p, ())
                see(w, p, look_at)
                nobody(w, p, ())
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
            actions[i] = KEEP
            if mixed and not p.mine:
                actions[i] = BEGIN  # for the program of the member that has been drawn
            failed += w.error != 0
        return failed

    return kernel  # type: ignore[return-value]  # mypy does not know it as a FunctionType
