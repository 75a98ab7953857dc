"""A scenario's systems as one function over the worlds of a batch, ready to be compiled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types

from gv_engine.compiler.addresses import address_of, batch_at, record_at
from gv_engine.compiler.array_args import Elements
from gv_engine.compiler.exceptions import TO_NOTHING_CODE
from gv_engine.compiler.intrinsics import LINE, fetching, part_of_line, prefetch_look
from gv_engine.compiler.link_units import Unit, given
from gv_engine.compiler.observation import ground_writer, look, write_view, write_whole
from gv_engine.compiler.parameters import common_part, functions_of_calls
from gv_engine.compiler.programs import functions_of
from gv_engine.compiler.step import BoundSystems, asking, bind, nobody
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import step_x, step_y
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION
from gv_engine.rules.world import VERBS
from gv_engine.scenario.layout import LEADING_FIELDS, RNG
from gv_engine.world.autoreset import (
    BEGIN,
    BUSY,
    DRAWN,
    KEEP,
    RESTART,
    begins,
    begins_at_once,
    clear,
    tell,
)
from gv_engine.world.rng import copy_generator, draw_member

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario

AHEAD = 4
"""So many worlds before its turn a row is asked for, and half as many its cells if it is large."""


class Loop(NamedTuple):
    """What runs the worlds of a batch, not compiled yet.

    Attributes:
        kernel: (address, start, stop, mode) → how many of the worlds start … stop - 1 failed.
        elements: of the arrays that it works on, which all programs have; it is compiled once.
        given: what it calls, by the names of these functions.
        units: that these are made of.
    """

    kernel: FunctionType
    elements: Elements
    given: list[FunctionType]
    units: list[Unit]


def link(scenario: Scenario, slots: Sequence[int], elements: Elements) -> Loop:
    """The loop over the worlds of a batch, and what it calls.

    Args:
        scenario: whose systems it runs.
        slots: where the terms of its rewards go.
        elements: of the arrays of the batch.
    """
    known = common_part(elements["parameters"])
    lines = {
        name: element for name, element in elements.items() if element == RNG or not element.names
    }
    systems, units = bind(scenario, slots)
    return Loop(
        _kernel(known.names or (), {"parameters": known, **lines}),
        {"parameters": known, **lines},
        _given(scenario, systems, elements),
        units,
    )


def _kernel(known: Collection[str], elements: Elements) -> FunctionType:
    """The loop itself, for programs that know these parameters; it sees the heads of rows alone."""
    batch, head = batch_at(elements), record_at(np.dtype(LEADING_FIELDS, align=True))
    count, fetch, find = given("count", types.int64), given("fetch"), given("find", types.int64)
    begin, act, reveal = given("begin"), given("act"), given("reveal")
    mend = given("mend", types.int64)
    mixed, checked = "share" in known, "running" in known

    def kernel(address: int, start: int, stop: int, mode: int) -> int:
        b = batch(address)
        failed = 0
        seats: Any = np.uint64(count(()))
        listed = len(b.levels) != 0
        if mixed:
            stop = _choose(b, start, stop, seats)
        for turn in range(start, stop):
            # unsigned: compiled code need not ask whether it counts from the end
            i: Any = np.uint64(b.turns[turn] if mixed else turn)
            fetch((address, turn, stop))
            seat = i * seats  # the first agent's
            action = b.actions[seat]
            if action == KEEP:
                continue
            b.actions[seat] = BUSY
            row = find((address, i))
            w = head(row)
            p = b.parameters[w.member]
            nobody(w, p, ())
            w.error = 0
            if begins(action, mode, w.terminated != 0 or w.truncated != 0):
                action = RESTART
                for k in range(seats):
                    clear(b, seat + k)
            # twice where a new episode begins at once: the end of one is shown, and a start
            shown = False
            while not shown:
                shown = True
                if action == RESTART:
                    action = BEGIN
                    if listed:
                        copy_generator(w.rng, b.drawing[i])
                        copy_generator(b.levels[_chosen(b, i)], w.rng)
                    if mixed:
                        w.member = b.playing[i] = draw_member(w.rng, b.parameters)
                        p = b.parameters[w.member]
                        if not p.mine:
                            break
                world = address, i, row, address_of(p)
                if action == BEGIN:
                    begin(world)
                    if listed:
                        copy_generator(b.drawing[i], w.rng)
                elif action >= 0:
                    act((*world, action))
                    over = w.error == 0 and (w.terminated != 0 or w.truncated != 0)
                    shown = not begins_at_once(mode, over)
                action = RESTART
                if checked and mend((row,)) and w.error == 0:
                    w.error = TO_NOTHING_CODE
                if w.error != 0:
                    break
                reveal((*world, shown))
                if not shown:
                    terms = part_of_line(b.terms, i, p.num_terms * seats)
                    _keep_apart(terms, part_of_line(b.final_terms, i, p.num_terms * seats))
            b.actions[seat] = BEGIN if mixed and not p.mine else KEEP
            failed += w.error != 0
        return failed

    return kernel  # type: ignore[return-value]  # mypy does not know it as a FunctionType


def _given(scenario: Scenario, systems: BoundSystems, elements: Elements) -> list[FunctionType]:
    """What the loop calls. These are functions of whole numbers, by which it says what they work
    on: the `address` of the batch, the number `i` of a world in it, the address of its `row`, and
    that of its `own` parameters."""
    agents, several = scenario.layout.agents, scenario.layout.agents > 1
    layout, names = scenario.layout, elements["parameters"].names or ()
    mixed, large = "share" in names, layout.is_large
    asks, ask = "mission" in elements, asking(layout)
    layered, write_ground = "ground" in elements, ground_writer(layout)
    wholly = "whole" in elements
    batch, world_at = batch_at(elements), record_at(elements["rows"])
    parameters_at = record_at(elements["parameters"])
    prefetch: Any = fetching(_read(scenario, elements["rows"], not large))
    begin_, act_, reveal_ = systems

    def count() -> int:
        """How many agents each world has, or how many seats."""
        return agents

    def fetch(address: int, turn: int, stop: int) -> None:
        """Ask for the rows of worlds whose turn comes soon."""
        b = batch(address)
        if turn + AHEAD < stop:
            prefetch(b.rows, b.turns[turn + AHEAD] if mixed else turn + AHEAD)
        if large and turn + AHEAD // 2 < stop:
            soon = turn + AHEAD // 2
            _foresee(b.rows[b.turns[soon] if mixed else soon], b.views[0])

    def find(address: int, i: int) -> int:
        """The address of a row, in which all that is derived is as it should be."""
        w = batch(address).rows[np.uint64(i)]
        if w.stale:
            w.stale = 0
            w.look_everywhere()
        return int(address_of(w))

    def begin(address: int, i: int, row: int, own: int) -> None:
        """Draw a new level."""
        b, p = batch(address), parameters_at(own)
        begin_(world_at(row), p, part_of_line(b.terms, i, p.num_terms * agents))

    def act(address: int, i: Any, row: int, own: int, action: int) -> None:
        """Let the agents act, and tell what came of it."""
        b, w, p = batch(address), world_at(row), parameters_at(own)
        seat: Any = np.uint64(i) * np.uint64(agents)
        for k in range(1, agents):
            w.action[k + 1] = p.actions[b.actions[seat + np.uint64(k)]]
        act_(w, p, p.actions[action], part_of_line(b.terms, i, p.num_terms * agents))
        for k in range(agents):
            tell(b, seat + np.uint64(k), w, k + 1)

    def mend(row: int) -> bool:
        """Let `NOTHING` be nothing again; whether it was not."""
        w = world_at(row)
        broken = not w.nothing_is_intact()
        if broken:
            w.become_nothing(NOTHING)
        return broken

    def reveal(address: int, i: Any, row: int, own: int, shown: int) -> None:
        """Write what agents see, or have seen at the end of an episode that is not shown."""
        b, w, p = batch(address), world_at(row), parameters_at(own)
        for k in range(agents):
            agent, seat = k + 1, np.uint64(i) * np.uint64(agents) + np.uint64(k)
            if several:
                w.turn = agent
            grid = b.grid[seat].row if shown else b.final_grid[seat].row
            reveal_(
                w,
                p,
                b.views[0],
                grid,
                b.item[seat].row if shown else b.final_item[seat].row,
                b.mask[seat].row if shown else b.final_mask[seat].row,
            )
            if layered:
                ground = b.ground[seat].row if shown else b.final_ground[seat].row
                write_ground(w, agent, b.views[0], grid, ground)
            if wholly:
                write_whole(w, agent, b.whole[seat].row if shown else b.final_whole[seat].row)
            if asks:
                ask(w, p, b.mission[seat].row if shown else b.final_mission[seat].row)
            b.member[seat] = w.member
            b.facing[seat] = w.agent.facing[agent]
            if not shown:
                b.final_member[seat] = w.member
                b.final_facing[seat] = w.agent.facing[agent]

    checking = [mend] if "running" in names else []
    return [count, fetch, find, begin, act, *checking, reveal]  # type: ignore[list-item]  # as above


def _read(scenario: Scenario, row: np.dtype[Any], cells: bool) -> set[int]:
    """Offsets of what nearly every step reads of a row: its head, its cells and their looks, if
    they are few, and the beginning of each column that rules of a step name, where NOTHING and the
    agent are."""
    rules = functions_of_calls(scenario, TRANSITION, REWARD, TERMINATING)
    functions = functions_of([*rules, *VERBS.values(), look, write_view])
    said = {name for function in functions for name in function.__code__.co_names}
    parts: Any = row.fields
    offsets = set(range(0, parts["placed" if cells else "at"][1], LINE))
    offsets |= {parts[name][1] for name in ("placed", "recent") if name in said}
    for name, (columns, start) in parts.items():
        if name in said and columns.names:
            named = said.intersection(columns.names) - {"has"} or {*columns.names} & {"has"}
            offsets |= {start + columns.fields[field][1] for field in named}
    if cells:
        shown, start = parts["looks"]
        offsets |= set(range(start, start + shown.itemsize, LINE))
    return offsets


def _choose(b: Any, start: int, stop: int, agents: int) -> int:
    """Gather the worlds that are to be run, and play a member whose rules the program has, in
    `turns` from `start` on; where they end."""
    end = start
    for i in range(start, stop):
        member = b.playing[i]
        known = 0 <= member < len(b.parameters)
        # one that is not, by a rule's doing, fails as a world that is run
        own = b.parameters[member if known else 0].mine | (not known)
        b.turns[end] = i
        end += own & (b.actions[i * agents] != KEEP)
    return end


def _chosen(b: Any, i: int) -> int:
    """The number of the listed level that a world begins with: the one asked for, or one drawn."""
    level = int(b.asked[i])
    b.asked[i] = DRAWN
    return level if level != DRAWN else int(b.drawing[i].random() * len(b.levels))


def _keep_apart(terms: Any, last: Any) -> None:
    """Keep the terms of the end of an episode from the next one."""
    for k in range(len(terms)):
        last[k] = terms[k]


def _foresee(w: Any, view: Any) -> None:
    """Ask for the cells that the first agent looks at, row by row, from the first to the last."""
    facing = w.agent.facing[1]
    y, x = w.position.y[1], w.position.x[1]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    left, far = view.x, view.y
    right, near = left - view.width + 1, far - view.height + 1
    # two opposite corners: far to the left, and near to the right
    rows = y + far * ahead_y - left * ahead_x, y + near * ahead_y - right * ahead_x
    columns = x + far * ahead_x + left * ahead_y, x + near * ahead_x + right * ahead_y
    for row in range(min(rows), max(rows) + 1):
        prefetch_look(w, row, columns[0])
        prefetch_look(w, row, columns[1])
