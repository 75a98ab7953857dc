"""A scenario's systems as one function over the rows of a batch, ready to be compiled.

Nothing is generated as text. Chains of closures call one system after the other, with its
parameters read from a record; so only another list of systems, another layout or another view asks
for a new compilation, never other parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from gv_engine.batches.autoreset import BEGIN, BUSY, KEEP, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.batches.compiled.calls import Past, arguments, nested, parts
from gv_engine.batches.compiled.intrinsics import SMALL_ROW, fields, prefetch, prefetch_cell, table
from gv_engine.batches.compiled.sight import look, show
from gv_engine.language.component import NOTHING
from gv_engine.language.system import RESET, REWARD, TERMINATING, TRANSITION
from gv_engine.language.verbs import stands_somewhere
from gv_engine.worlds.rng import draw_member
from gv_engine.worlds.world import AGENT

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


AHEAD = 4
"""So many worlds before its turn a row is asked for, and half as many its cells if it is large."""


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
        past = Past()
        values = arguments(f"RESET_{number}", call, past)
        begin = _then(begin, past.measure, call.system.function, values)
    move: Any = _nothing
    valid: Any = _no_action
    for number, call in enumerate(scenario.calls(TRANSITION)):
        past = Past()
        values = arguments(f"TRANSITION_{number}", call, past)
        move = _then(move, past.measure, call.system.function, values)
        for prefix, part in parts(f"TRANSITION_{number}", call):
            helper = part.system.valid
            valid = _or_valid(valid, helper, helper and arguments(prefix, part, Past(), helper))
    past = Past()
    score: Any = _no_reward
    for number, call in enumerate(scenario.calls(REWARD)):
        values = arguments(f"REWARD_{number}", call, past)
        score = _add(score, slots[number], call.system.function, values)
    (call,) = scenario.calls(TERMINATING)
    past.ends = {
        prefix: number
        for number, ((prefix, _), path) in enumerate(
            zip(parts("TERMINATING_0", call), call.paths(), strict=True), 1
        )
        if all(part.system.phase is TERMINATING for part in path)
    }
    over = nested("TERMINATING_0", call, past)
    well = nested("SUCCESS_0", scenario.success, past) if scenario.success else _never
    measure = past.measure
    visibility = scenario.visibility
    see = _see(visibility.system.function, arguments("VISIBILITY_0", visibility, Past()))

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
