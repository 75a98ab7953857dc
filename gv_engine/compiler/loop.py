"""Loop over the worlds of a batch that runs a scenario's systems, ready to be compiled."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import types

from gv_engine.compiler.exceptions import TO_NOTHING_CODE
from gv_engine.compiler.intrinsics import (
    CACHE_LINE,
    chunk_view,
    get_address,
    make_batch_cast,
    make_record_cast,
    make_row_prefetch,
    prefetch_look,
)
from gv_engine.compiler.link_units import Unit, make_stub
from gv_engine.compiler.observation import (
    cut_view,
    make_ground_writer,
    write_view,
    write_whole,
)
from gv_engine.compiler.parameters import Dtypes, get_common_dtype
from gv_engine.compiler.program_cache import find_functions
from gv_engine.compiler.step import (
    BoundSystems,
    bind_systems,
    clear_rule,
    clear_terms,
    hide_all,
    make_mission_writer,
    make_number_writer,
)
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import step_x, step_y, up_in_view
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION
from gv_engine.rules.turns import begin_step, clear_step_results, set_turn_order
from gv_engine.rules.world import VERBS
from gv_engine.scenario.layout import LEADING_FIELDS, RNG
from gv_engine.scenario.missions import get_limit_test
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.rng import copy_generator, sample_member
from gv_engine.world.simulation import (
    BEGIN,
    BUSY,
    KEEP,
    RANDOM_LEVEL,
    RESTART,
    clear_outputs,
    resets_in_step,
    starts_episode,
    write_outputs,
)

AHEAD = 4
"""Number of worlds by which the prefetch of records runs ahead of the loop; the prefetch of the
grid cells of large grids runs half as far ahead."""


class BatchLoop(NamedTuple):
    """Functions of the loop over the worlds of a batch, not compiled yet.

    Attributes:
        kernel: function (address, start, stop, mode) that runs worlds start to stop - 1 and returns
            the number of failed worlds.
        dtypes: element dtypes of the arrays that the kernel uses; equal kernels are compiled once.
        callees: functions that the kernel calls by name, each with the dtypes of its arrays, which
            scenarios with the same layout share.
        own: functions of this scenario that the callees call by name.
        units: units that the scenario's own functions call.
    """

    kernel: FunctionType
    dtypes: Dtypes
    callees: list[tuple[FunctionType, Dtypes]]
    own: list[FunctionType]
    units: list[Unit]


def link_loop(scenario: Scenario, slots: Sequence[int], dtypes: Dtypes) -> BatchLoop:
    """Return the functions of the loop that runs a scenario's systems in all worlds of a batch.

    Args:
        scenario: scenario whose systems run.
        slots: position of each reward function among the reward terms.
        dtypes: element dtypes of the batch's arrays.
    """
    common = get_common_dtype(dtypes["parameters"])
    flat = {name: dtype for name, dtype in dtypes.items() if dtype == RNG or not dtype.names}
    loop_dtypes = {"parameters": common, **flat}
    systems, units = bind_systems(scenario, slots)
    kernel = _make_kernel(common.names or (), loop_dtypes)
    callees = _make_shared_functions(scenario, {**loop_dtypes, "rows": dtypes["rows"]})
    callees += _make_output_functions(scenario, {**dtypes, "parameters": common})
    own = _make_rule_functions(scenario.layout.agents, systems, dtypes)
    return BatchLoop(kernel, loop_dtypes, callees, own, units)


def _make_kernel(parameter_names: Collection[str], dtypes: Dtypes) -> FunctionType:
    """Return the kernel, the loop over the worlds of a batch. `parameter_names` are the fields of
    the parameter record, and `dtypes` the dtypes of the batch's arrays by name."""
    batch, head = make_batch_cast(dtypes), make_record_cast(np.dtype(LEADING_FIELDS, align=True))
    count, find, mend = (make_stub(name, types.int64) for name in ("count", "find", "mend"))
    fetch, begin, act, reveal = map(make_stub, ("fetch", "begin", "act", "reveal"))
    is_mixture, checks_bounds = "share" in parameter_names, "running" in parameter_names

    def kernel(address: int, start: int, stop: int, mode: int) -> int:
        """Reset or step worlds `start` to `stop - 1` of the batch at `address`, in the autoreset
        mode `mode`; return the number of worlds with an error."""
        b = batch(address)
        failed = 0
        seats: Any = np.uint64(count(()))
        listed = len(b.levels) != 0
        if is_mixture:
            stop = _collect_runnable_worlds(b, start, stop, seats)
        for turn in range(start, stop):
            # unsigned, so that compiled code has no branch for negative indices
            i: Any = np.uint64(b.turns[turn] if is_mixture else turn)
            fetch((address, turn, stop))
            seat = i * seats  # of the first agent
            action = b.actions[seat]
            if action == KEEP:
                continue
            b.actions[seat] = BUSY
            row = find((address, i))
            w = head(row)
            p = b.parameters[w.member]
            clear_rule(w, p, ())
            w.error = 0
            if starts_episode(action, mode, w.terminated != 0 or w.truncated != 0):
                action = RESTART
                for k in range(seats):
                    clear_outputs(b, seat + k)
            # runs twice on a SAME_STEP reset: for the end of one episode and the start of the next
            shown = False
            while not shown:
                shown = True
                if action == RESTART:
                    action = BEGIN
                    if listed:
                        copy_generator(w.rng, b.drawing[i])
                        copy_generator(b.levels[_take_next_level(b, i)], w.rng)
                    if is_mixture:
                        w.member = b.playing[i] = sample_member(w.rng, b.parameters)
                        p = b.parameters[w.member]
                        if not p.mine:
                            break
                world = address, i, row, get_address(p)
                if action == BEGIN:
                    begin(world)
                    if listed:
                        copy_generator(b.drawing[i], w.rng)
                elif action >= 0:
                    act((*world, action))
                    over = w.error == 0 and (w.terminated != 0 or w.truncated != 0)
                    shown = not resets_in_step(mode, over)
                action = RESTART
                if checks_bounds and mend((row,)) and w.error == 0:
                    w.error = TO_NOTHING_CODE
                if w.error != 0:
                    break
                reveal((*world, shown))
                if not shown:
                    terms = chunk_view(b.terms, i, p.num_terms * seats)
                    _copy_terms(terms, chunk_view(b.final_terms, i, p.num_terms * seats))
            b.actions[seat] = BEGIN if is_mixture and not p.mine else KEEP
            failed += w.error != 0
        return failed

    return kernel  # type: ignore[return-value]  # mypy does not know it as a FunctionType


_Callees = list[tuple[FunctionType, Dtypes]]


def _make_shared_functions(scenario: Scenario, dtypes: Dtypes) -> _Callees:
    """Return the functions that the kernel (the loop over worlds) calls and that scenarios with the
    same layout share: `count` agents, `find` a world's record, `begin` an episode, `act` (step a
    world), and with bounds checks `mend` (undo writes to NOTHING).

    Their arguments are integers: the `address` of the batch, the index `i` of a world, the address
    of its `row`, and the address `own` of its parameters. `dtypes` has the dtypes of the world
    records (`rows`) and of the arrays with one number per world or agent.
    """
    agents, layout = scenario.layout.agents, scenario.layout
    batch, world_at = make_batch_cast(dtypes), make_record_cast(dtypes["rows"])
    parameters_at = make_record_cast(dtypes["parameters"])
    restart, advance = make_stub("restart"), make_stub("advance")
    has_smaller_members, is_alone = layout.has_smaller_members, agents == 1
    is_checked = "running" in (dtypes["parameters"].names or ())
    reaches_limit = get_limit_test(layout.mission)

    def count() -> int:
        """Return the number of agents of each world."""
        return agents

    def find(address: int, i: int) -> int:
        """Return the address of the record of world `i`, after updating appearances that are out of
        date."""
        w = batch(address).rows[np.uint64(i)]
        if w.stale:
            w.stale = 0
            w.look_everywhere()
        return int(get_address(w))

    def begin(address: int, i: int, row: int, own: int) -> None:
        """Start an episode with a new level in world `i`, whose record and parameters are at the
        addresses `row` and `own`."""
        b, w, p = batch(address), world_at(row), parameters_at(own)
        if is_checked:
            w.damaged = 1  # rules of authors may write what `clear` would not look at
        if has_smaller_members:
            w.present = p.present
        w.error = 0
        w.steps = 0
        w.terminated = 0
        w.truncated = 0
        for agent in range(1, agents + 1):
            w.action[agent] = 0
            w.total[agent] = 0.0
            clear_step_results(w, agent)
            w.done[agent] = agent > len(w.agents())
        restart((row, own))
        clear_terms(chunk_view(b.terms, i, p.num_terms * agents))

    def act(address: int, i: Any, row: int, own: int, action: int) -> None:
        """Step world `i`, whose record and parameters are at the addresses `row` and `own`, and
        write rewards, end flags and episode sums into the batch's output arrays. `action` is the
        index of the first agent's action."""
        b, w, p = batch(address), world_at(row), parameters_at(own)
        seat: Any = np.uint64(i) * np.uint64(agents)
        for k in range(1, agents):
            w.action[k + 1] = p.actions[b.actions[seat + np.uint64(k)]]
        w.action[1] = p.actions[action]
        w.terminated = 0
        w.truncated = 0
        if is_alone:
            clear_step_results(w, 1)
        else:
            begin_step(w, p.leaves)
            set_turn_order(w, p.turns)
        advance((address, i, row, own))
        w.steps += 1
        if is_alone:
            w.total[1] += w.reward[1]
        w.truncated = reaches_limit(w, p.max_steps) and (not w.terminated or p.always_truncates)
        w.truncated |= w.steps >= p.time_limit
        for k in range(agents):
            write_outputs(b, seat + np.uint64(k), w, k + 1)

    def mend(row: int) -> bool:
        """Undo changes to the components of NOTHING, the entity that stands for no object, in the
        world's record at address `row`; return True if a rule had changed any."""
        w = world_at(row)
        broken = not w.nothing_is_intact()
        if broken:
            w.become_nothing(NOTHING)
        return broken

    checking = [mend] if is_checked else []
    return [(function, dtypes) for function in (count, find, begin, act, *checking)]  # type: ignore[misc]  # as above


def _make_output_functions(scenario: Scenario, dtypes: Dtypes) -> _Callees:
    """Return two more functions that the kernel calls and that use all arrays of the batch, with
    these dtypes: `fetch` prefetches the memory of a later world, and `reveal` writes observations
    and action masks."""
    agents, is_multi_agent = scenario.layout.agents, scenario.layout.agents > 1
    layout, names = scenario.layout, dtypes["parameters"].names or ()
    is_mixture, large = "share" in names, layout.is_large
    has_mission, write_mission = "mission" in dtypes, make_mission_writer(layout)
    numbers = [(n.column, n.field, n.kind, n.item) for n in scenario.state_numbers]
    has_state, write_state = "state" in dtypes, make_number_writer(numbers)
    has_ground, write_ground = "ground" in dtypes, make_ground_writer(layout)
    has_whole = "whole" in dtypes
    batch, world_at = make_batch_cast(dtypes), make_record_cast(dtypes["rows"])
    parameters_at = make_record_cast(dtypes["parameters"])
    prefetch: Any = make_row_prefetch(_prefetch_offsets(scenario, dtypes["rows"], not large))
    look, mark = make_stub("look"), make_stub("mark")

    def fetch(address: int, turn: int, stop: int) -> None:
        """Prefetch the memory of the world that comes a few iterations after iteration `turn`, if
        that is before `stop`."""
        b = batch(address)
        if turn + AHEAD < stop:
            prefetch(b.rows, b.turns[turn + AHEAD] if is_mixture else turn + AHEAD)
        if large and turn + AHEAD // 2 < stop:
            soon = turn + AHEAD // 2
            _prefetch_view(b.rows[b.turns[soon] if is_mixture else soon], b.views[0])

    def reveal(address: int, i: Any, row: int, own: int, shown: int) -> None:
        """Write the observations and action masks of all agents of world `i`, whose record and
        parameters are at the addresses `row` and `own`, into the batch's arrays; if `shown` is 0,
        into the arrays for the final observations of an episode."""
        b, w, p = batch(address), world_at(row), parameters_at(own)
        for k in range(agents):
            agent, seat = k + 1, np.uint64(i) * np.uint64(agents) + np.uint64(k)
            grid = b.grid[seat] if shown else b.final_grid[seat]
            item = b.item[seat] if shown else b.final_item[seat]
            mask = b.mask[seat] if shown else b.final_mask[seat]
            seen = row, own, get_address(b.views[0]), get_address(grid), get_address(item)
            if is_multi_agent:
                w.turn = agent
                if w.position.y[agent] < 0:
                    hide_all(grid.row, item.row)
                else:
                    look(seen)
                if w.position.y[agent] < 0 or (w.done[agent] and not w.terminated):
                    mask.row[:] = 0
                else:
                    mark((row, own, get_address(mask)))
            else:
                look(seen)
                mark((row, own, get_address(mask)))
            if has_ground:
                ground = b.ground[seat].row if shown else b.final_ground[seat].row
                write_ground(w, agent, b.views[0], grid.row, ground)
            if has_whole:
                write_whole(w, agent, b.whole[seat].row if shown else b.final_whole[seat].row)
            if has_mission:
                write_mission(w, p, b.mission[seat].row if shown else b.final_mission[seat].row)
            if has_state:
                write_state(w, b.state[seat].row if shown else b.final_state[seat].row)
            b.member[seat] = w.member
            b.facing[seat] = w.agent.facing[agent]
            if not shown:
                b.final_member[seat] = w.member
                b.final_facing[seat] = w.agent.facing[agent]

    return [(fetch, dtypes), (reveal, dtypes)]  # type: ignore[list-item]  # as above


def _make_rule_functions(agents: int, systems: BoundSystems, dtypes: Dtypes) -> list[FunctionType]:
    """Return the functions that run the scenario's `systems` in worlds with `agents` agents:
    `restart` (sample a level), `advance` (run the systems of a step), `look` (write what an agent
    sees) and `mark` (write an action mask). The functions of `_make_shared_functions` and
    `_make_output_functions` call them by name.

    Their arguments are integers, as for `_make_shared_functions`, and addresses of arrays.
    """
    batch, world_at = make_batch_cast(dtypes), make_record_cast(dtypes["rows"])
    parameters_at, view_at = map(make_record_cast, (dtypes["parameters"], dtypes["views"]))
    grid_at, item_at, mask_at = (make_record_cast(dtypes[n]) for n in ("grid", "item", "mask"))
    restart_, advance_, look_, mark_ = systems

    def restart(row: int, own: int) -> None:
        """Empty the world at address `row` and sample a new level."""
        restart_(world_at(row), parameters_at(own))

    def advance(address: int, i: int, row: int, own: int) -> None:
        """Run the systems of a step in world `i`, and write its reward terms."""
        b, w, p = batch(address), world_at(row), parameters_at(own)
        advance_(w, p, chunk_view(b.terms, i, p.num_terms * agents))

    def look(row: int, own: int, view: int, grid: int, item: int) -> None:
        """Write what the current agent sees into the arrays at these addresses."""
        arrays = view_at(view), grid_at(grid).row, item_at(item).row
        look_(world_at(row), parameters_at(own), arrays)

    def mark(row: int, own: int, mask: int) -> None:
        """Write the current agent's action mask into the array at address `mask`."""
        mark_(world_at(row), parameters_at(own), mask_at(mask).row)

    return [restart, advance, look, mark]  # type: ignore[list-item]  # as above


def _prefetch_offsets(scenario: Scenario, row: np.dtype[Any], cells: bool) -> set[int]:
    """Return the byte offsets in a world's record, of dtype `row`, that nearly every step reads, so
    that they are worth prefetching; with `cells` also the offsets of the grid cells.

    These are the head, the first elements of each column that step rules name, and with `cells` the
    cells and their appearances.
    """
    rules = scenario.walk_functions(TRANSITION, REWARD, TERMINATING)
    functions = find_functions([*rules, *VERBS.values(), cut_view, write_view])
    names = {name for function in functions for name in function.__code__.co_names}
    parts: Any = row.fields
    offsets = set(range(0, parts["placed" if cells else "at"][1], CACHE_LINE))
    offsets |= {parts[name][1] for name in ("placed", "recent") if name in names}
    for name, (columns, start) in parts.items():
        if name in names and columns.names:
            named = names.intersection(columns.names) - {"has"} or {*columns.names} & {"has"}
            offsets |= {start + columns.fields[field][1] for field in named}
    if cells:
        shown, start = parts["looks"]
        offsets |= set(range(start, start + shown.itemsize, CACHE_LINE))
    return offsets


def _collect_runnable_worlds(b: Any, start: int, stop: int, agents: int) -> int:
    """Write the indices of the worlds in [start, stop) that this program has to run into
    `b.turns[start:]`; return the end index in `b.turns`.

    A world runs if it has an action and its mixture member is one of this program. A world with an
    invalid member also runs, and fails there.
    """
    end = start
    for i in range(start, stop):
        member = b.playing[i]
        is_member = 0 <= member < len(b.parameters)
        # an invalid member, set by a rule, fails when the world runs
        is_runnable = b.parameters[member if is_member else 0].mine | (not is_member)
        b.turns[end] = i
        end += is_runnable & (b.actions[i * agents] != KEEP)
    return end


def _take_next_level(b: Any, i: int) -> int:
    """Return the index of the level with which world `i` starts its next episode: the requested
    one, or else a random one."""
    level = int(b.asked[i])
    b.asked[i] = RANDOM_LEVEL
    return level if level != RANDOM_LEVEL else int(b.drawing[i].random() * len(b.levels))


def _copy_terms(terms: Any, last: Any) -> None:
    """Copy the reward terms at the end of an episode into the array `last`."""
    for k in range(len(terms)):
        last[k] = terms[k]


def _prefetch_view(w: Any, view: Any) -> None:
    """Prefetch the grid cells at both ends of each row that the first agent's view covers."""
    facing = up_in_view(w, 1, view.turns)
    y, x = w.position.y[1], w.position.x[1]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    left, far = view.x, view.y
    right, near = left - view.width + 1, far - view.height + 1
    # two opposite corners: far left and near right
    rows = y + far * ahead_y - left * ahead_x, y + near * ahead_y - right * ahead_x
    columns = x + far * ahead_x + left * ahead_y, x + near * ahead_x + right * ahead_y
    for row in range(min(rows), max(rows) + 1):
        prefetch_look(w, row, columns[0])
        prefetch_look(w, row, columns[1])
