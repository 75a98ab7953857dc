"""A scenario's systems as one function over the worlds of a batch, ready to be compiled."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types

from gv_engine.batches.autoreset import (
    BEGIN,
    BUSY,
    KEEP,
    RESTART,
    begins,
    begins_at_once,
    clear,
    tell,
)
from gv_engine.batches.compiled.addresses import Batch, batch_at
from gv_engine.batches.compiled.intrinsics import LINE, fetching, part_of_line, prefetch_look
from gv_engine.batches.compiled.parameters import common_part, functions_of_calls
from gv_engine.batches.compiled.places import Elements
from gv_engine.batches.compiled.program_functions import functions_of
from gv_engine.batches.compiled.record_methods import TO_NOTHING_CODE
from gv_engine.batches.compiled.sight import ground_writer, look, write_view, write_whole
from gv_engine.batches.compiled.step import asking, bind, nobody
from gv_engine.batches.compiled.units import Unit, given
from gv_engine.language.component import AGENT, NOTHING
from gv_engine.language.geometry import step_x, step_y
from gv_engine.language.system import REWARD, TERMINATING, TRANSITION
from gv_engine.language.verbs import VERBS
from gv_engine.reading.layout import Layout
from gv_engine.worlds.rng import draw_member

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario

AHEAD = 4
"""So many worlds before its turn a row is asked for, and half as many its cells if it is large."""


class Loop(NamedTuple):
    """What runs the worlds of a batch, not compiled yet.

    Attributes:
        kernel: (address, start, stop, mode) → how many of the worlds start … stop - 1 failed.
        elements: of the arrays that it works on, of the parameters only what all programs have, so
            that it is the same for other rules.
        rules: what it calls, and the types of its arguments.
        units: that these are made of.
    """

    kernel: FunctionType
    elements: Elements
    rules: list[tuple[Any, tuple[Any, ...]]]
    units: list[Unit]


def link(scenario: Scenario, slots: Sequence[int], elements: Elements) -> Loop:
    """The loop over the worlds of a batch, and what it calls.

    Args:
        scenario: whose systems it runs.
        slots: where the terms of its rewards go.
        elements: of the arrays of the batch.
    """
    systems, units = bind(scenario, slots)
    prefetch: Any = fetching(_read(scenario, elements["rows"], not scenario.layout.is_large))

    def fetch(rows: Any, index: int) -> None:
        prefetch(rows, index)

    common = {**elements, "parameters": common_part(elements["parameters"])}
    kinds = _kinds(elements)
    rules = [(rule, kinds[rule.__name__]) for rule in (*systems, fetch)]
    return Loop(_kernel(scenario.layout, common), common, rules, units)


def _kinds(elements: Elements) -> dict[str, tuple[Any, ...]]:
    """The types of the arguments of what the kernel calls, by names."""
    arrays = Batch(elements).arrays
    w, p, view = (arrays[name].dtype for name in ("rows", "parameters", "views"))
    seen = (arrays[name].dtype.typeof("row") for name in ("grid", "item", "mask"))
    return {
        "begin": (w, p, arrays["terms"]),
        "act": (w, p, types.int64, arrays["terms"]),
        "reveal": (w, p, view, *seen),
        "fetch": (arrays["rows"], types.int64),
    }


def _kernel(layout: Layout, elements: Elements) -> FunctionType:
    batch = batch_at(elements)
    begin, act, reveal, fetch = (given(*each) for each in _kinds(elements).items())
    mixed = "share" in (elements["parameters"].names or ())
    large = layout.is_large
    checked = "running" in (elements["parameters"].names or ())
    asks, ask = "mission" in elements, asking(layout)
    layered, write_ground = "ground" in elements, ground_writer(layout)
    wholly = "whole" in elements

    def kernel(address: int, start: int, stop: int, mode: int) -> int:
        b = batch(address)
        failed = 0
        if mixed:
            stop = _choose(b, start, stop)
        for turn in range(start, stop):
            # unsigned: compiled code need not ask whether it counts from the end
            i: Any = np.uint64(b.turns[turn] if mixed else turn)
            w = b.rows[i]
            if turn + AHEAD < stop:
                fetch((b.rows, b.turns[turn + AHEAD] if mixed else turn + AHEAD))
            if large and turn + AHEAD // 2 < stop:
                soon = turn + AHEAD // 2
                _foresee(b.rows[b.turns[soon] if mixed else soon], b.views[0])
            action = b.actions[i]
            if action == KEEP:
                continue
            b.actions[i] = BUSY
            p = b.parameters[w.member]
            nobody(w, p, ())
            if w.stale:
                w.stale = 0
                w.look_everywhere()
            w.error = 0
            if begins(action, mode, w.terminated != 0 or w.truncated != 0):
                action = RESTART
                clear(b, i)
            # twice where a new episode begins at once: the end of one is shown, and a start
            shown = False
            while not shown:
                shown = True
                if action == RESTART:
                    action = BEGIN
                    if mixed:
                        w.member = b.playing[i] = draw_member(w.rng, b.parameters)
                        p = b.parameters[w.member]
                        if not p.mine:
                            break
                terms = part_of_line(b.terms, i, p.num_terms)
                if action == BEGIN:
                    begin((w, p, terms))
                elif action >= 0:
                    act((w, p, p.actions[action], terms))
                    tell(b, i, w)
                    over = w.error == 0 and (w.terminated != 0 or w.truncated != 0)
                    shown = not begins_at_once(mode, over)
                action = RESTART
                if checked and not w.nothing_is_intact():
                    w.become_nothing(NOTHING)
                    if w.error == 0:
                        w.error = TO_NOTHING_CODE
                if w.error != 0:
                    break
                reveal(
                    (
                        w,
                        p,
                        b.views[0],
                        b.grid[i].row if shown else b.final_grid[i].row,
                        b.item[i].row if shown else b.final_item[i].row,
                        b.mask[i].row if shown else b.final_mask[i].row,
                    )
                )
                if layered:
                    write_ground(
                        w,
                        AGENT,
                        b.views[0],
                        b.grid[i].row if shown else b.final_grid[i].row,
                        b.ground[i].row if shown else b.final_ground[i].row,
                    )
                if wholly:
                    write_whole(w, AGENT, b.whole[i].row if shown else b.final_whole[i].row)
                if asks:
                    ask(w, p, b.mission[i].row if shown else b.final_mission[i].row)
                b.member[i] = w.member
                b.facing[i] = w.agent.facing[AGENT]
                if not shown:
                    _keep_apart(b, i, terms, part_of_line(b.final_terms, i, p.num_terms))
            b.actions[i] = BEGIN if mixed and not p.mine else KEEP
            failed += w.error != 0
        return failed

    return kernel  # type: ignore[return-value]  # mypy does not know it as a FunctionType


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


def _choose(b: Any, start: int, stop: int) -> int:
    """Gather the worlds that are to be run, and play a member whose rules the program has, in
    `turns` from `start` on; where they end."""
    end = start
    for i in range(start, stop):
        member = b.playing[i]
        known = 0 <= member < len(b.parameters)
        # one that is not, by a rule's doing, fails as a world that is run
        own = b.parameters[member if known else 0].mine | (not known)
        b.turns[end] = i
        end += own & (b.actions[i] != KEEP)
    return end


def _keep_apart(b: Any, i: int, terms: Any, last: Any) -> None:
    """Keep what the end of an episode shows, beside the view, from the next one."""
    b.final_member[i] = b.member[i]
    b.final_facing[i] = b.facing[i]
    for k in range(len(terms)):
        last[k] = terms[k]


def _foresee(w: Any, view: Any) -> None:
    """Ask for the cells that the agent looks at, row by row, from the first to the last."""
    facing = w.agent.facing[AGENT]
    y, x = w.position.y[AGENT], w.position.x[AGENT]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    left, far = view.x, view.y
    right, near = left - view.width + 1, far - view.height + 1
    # two opposite corners: far to the left, and near to the right
    rows = y + far * ahead_y - left * ahead_x, y + near * ahead_y - right * ahead_x
    columns = x + far * ahead_x + left * ahead_y, x + near * ahead_x + right * ahead_y
    for row in range(min(rows), max(rows) + 1):
        prefetch_look(w, row, columns[0])
        prefetch_look(w, row, columns[1])
