"""Steps all worlds of a batch in compiled code.

`batch` is the record of the batch: its fields are the arrays of `StepArrays`, with the rows of the
worlds, the parameters of the scenarios, and the actions. A scenario without members has one
`Group`; members of a mixture with equal systems share one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from gv_engine.compiler.cells import WorldRow
from gv_engine.compiler.language.body import ARENA_HEAD, BLAME
from gv_engine.compiler.language.compiler import Compiler
from gv_engine.compiler.language.intrinsics import attempt, prefetch_record, save_failure
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.values import Kind, Record, RecordType, Scalar
from gv_engine.compiler.parameters import address_record_dtype
from gv_engine.compiler.rows import GENERATOR, make_parameter_type, make_row_type
from gv_engine.compiler.sight import cut_view, hide_all, prefetch_view, write_seen, write_whole
from gv_engine.compiler.stepping import (
    ScenarioPlan,
    reset_world,
    step_world,
    write_mask,
    write_numbers,
    write_observation,
)
from gv_engine.rules.functions import find_functions, names_of
from gv_engine.rules.geometry import Area
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION, Phase, System
from gv_engine.rules.world import VERBS
from gv_engine.scenario.memory.layout import RNG, Layout
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.rng import copy_generator, sample_scenario_index
from gv_engine.world.simulation import (
    KEEP,
    RANDOM_LEVEL,
    RESTART,
    clear_outputs,
    resets_in_step,
    starts_episode,
    write_outputs,
)

BatchRecord = Any
"""Record with the arrays of a batch, see `make_batch_type`."""
CACHE_LINE = 64
PREFETCH_DISTANCE = 4
"""Number of worlds by which the prefetch of rows runs ahead of the loop."""

FAILURE = np.dtype(
    [("blame", np.int64), ("numbers", np.int64, (ARENA_HEAD - BLAME) // 8 - 1), ("world", np.int64)]
)
"""Failure of the first world of a step: the mark of the system, the numbers in the text of the
error, and the index of the world, -1 for none."""


@dataclass(frozen=True, eq=False)
class Group:
    """Scenarios of a mixture that have equal rules, and so share compiled code. A mixture is a list
    of scenarios, one of which is sampled for each episode.

    Attributes:
        parameters: name of their array of parameters in the batch: a record for each member, with
            `mine` 0 for members of other groups.
        plan: their systems.
    """

    parameters: str
    plan: ScenarioPlan


@dataclass(frozen=True, eq=False)
class BatchPlan:
    """Compile-time description of a batch of worlds, from which its code is generated: scenarios,
    arrays and options.

    Attributes:
        groups: groups of members.
        group_of: index of the group of each member; of one member without a mixture.
        array_names: names of the arrays in the batch.
        num_agents: number of agents of each world.
        has_masks: True if action masks are computed.
        prefetched_offsets: offsets in the row of a later world that are fetched into the cache.
        area: area of the view, whose cells are fetched in a large layout; else None.
    """

    groups: tuple[Group, ...]
    group_of: tuple[int, ...]
    array_names: frozenset[str]
    num_agents: int
    has_masks: bool
    prefetched_offsets: tuple[int, ...]
    area: Area | None

    @property
    def agent_indices(self) -> Sequence[int]:
        """Indices of the agents; of one agent as a tuple, so that it is known while compiling."""
        return (0,) if self.num_agents == 1 else range(self.num_agents)

    @property
    def is_mixture(self) -> bool:
        """True for a mixture of scenarios."""
        return len(self.group_of) > 1


Elements = Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]
"""Shape and dtype of the elements of a batch's arrays, by name."""


def make_batch_type(layout: Layout, elements: Elements, is_checked: bool) -> RecordType:
    """Return the record type that tells compiled code where the arrays of a batch are. `elements`
    has the shape and dtype of one element of each array, by name. If `is_checked`, writes of wrong
    values into worlds fail."""
    record_types: dict[str, RecordType] = {"rows": make_row_type(layout, is_checked)}
    for name, (_, dtype) in elements.items():
        if dtype == RNG:
            record_types[name] = GENERATOR
        elif name.startswith("parameters"):
            record_types[name] = make_parameter_type(dtype)
        elif name == "failures":
            record_types[name] = RecordType(dtype)
    arrays = {
        name: (shape, dtype, record_types.get(name)) for name, (shape, dtype) in elements.items()
    }
    return RecordType(address_record_dtype(dict.fromkeys(sorted(elements))), arrays=arrays)


# ---- compiled ------------------------------------------------------------------------------------


def run_worlds(batch: BatchRecord, plan: BatchPlan, start: int, stop: int, mode: int) -> int:
    """Step the worlds `start` to `stop` - 1 by the actions in `batch.actions`, and write their
    results into the other arrays. Instead of an action, a world can have RESTART, LOOK (write the
    results without a step) or KEEP (do nothing). Return the number of worlds that failed. `mode` is
    the autoreset mode."""
    failed = 0
    for i in range(start, stop):
        later_world = batch.rows[i + PREFETCH_DISTANCE]
        for offset in plan.prefetched_offsets:
            prefetch_record(later_world, offset)
        if plan.area is not None and i + PREFETCH_DISTANCE // 2 < stop:
            prefetch_view(batch.rows[i + PREFETCH_DISTANCE // 2], plan.area)
        if batch.actions[i * plan.num_agents] != KEEP:
            code = attempt(run_world, batch, plan, i, mode)
            batch.actions[i * plan.num_agents] = KEEP
            batch.rows[i].error = code
            if code != 0:
                failed += 1
                if batch.failures[0].world < 0 or i < batch.failures[0].world:
                    save_failure(batch.failures[0])
                    batch.failures[0].world = i
    return failed


def run_world(batch: BatchRecord, plan: BatchPlan, i: int, mode: int) -> None:
    """Step, reset or only observe world `i`, as the action of its first agent and the autoreset
    `mode` say. In SAME_STEP mode, an ended world is observed twice: at its end and after the
    reset."""
    w, first_line = batch.rows[i], i * plan.num_agents
    if w.stale != 0:
        w.stale = 0
        w.update_looks()
    action = batch.actions[first_line]
    if starts_episode(action, mode, w.terminated != 0 or w.truncated != 0):
        action = RESTART
        for k in plan.agent_indices:
            clear_outputs(batch, first_line + k)
    # runs twice for a SAME_STEP reset: for the end of an episode and the start of the next
    is_shown = False
    while not is_shown:
        is_shown = True
        if action == RESTART:
            begin_episode(batch, plan, i, w)
        elif action >= 0:
            for group in plan.groups:
                if is_playing(batch, plan, group, w):
                    step_group_world(batch, plan, group, i, w)
            is_shown = not resets_in_step(mode, w.terminated != 0 or w.truncated != 0)
        else:  # the world was restored
            for k in plan.agent_indices:
                write_outputs(batch, first_line + k, w, k + 1)
            clear_terms(batch.terms[first_line : first_line + plan.num_agents])
        for group in plan.groups:
            if is_playing(batch, plan, group, w):
                write_group_outputs(batch, plan, group, i, w, is_shown)
        action = RESTART


def is_playing(batch: BatchRecord, plan: BatchPlan, group: Group, w: WorldRow) -> Any:
    """Return True if world `w` plays one of the scenarios in `group`."""
    if not plan.is_mixture:
        return True
    if w.is_checked and not 0 <= w.member < len(plan.group_of):
        raise IndexError("w.member is no member of the mixture")
    return len(plan.groups) == 1 or batch[group.parameters][w.member].mine != 0


def begin_episode(batch: BatchRecord, plan: BatchPlan, i: int, w: WorldRow) -> None:
    """Reset world `w`, which has index `i`, to a new level. In a mixture, sample its scenario
    first. If the batch has a list of levels, take the level from there."""
    if "levels" in plan.array_names:
        copy_generator(w.rng, batch.drawing[i])
        copy_generator(batch.levels[take_next_level(batch, i)], w.rng)
    if plan.is_mixture:
        w.member = sample_scenario_index(w.rng, batch.parameters0)
    for group in plan.groups:
        if is_playing(batch, plan, group, w):
            reset_world(w, batch[group.parameters][w.member], group.plan)
    if "levels" in plan.array_names:
        copy_generator(batch.drawing[i], w.rng)
    terms = batch.terms[i * plan.num_agents : (i + 1) * plan.num_agents]
    clear_terms(terms)


def take_next_level(batch: BatchRecord, i: int) -> int:
    """Return the index of the level with which world `i` starts its next episode: the requested one
    if there is one, else a random one."""
    level = batch.requested_levels[i]
    batch.requested_levels[i] = RANDOM_LEVEL
    return level if level != RANDOM_LEVEL else int(batch.drawing[i].random() * len(batch.levels))


def clear_terms(terms: Any) -> None:
    """Set all reward terms to 0. `terms` has shape (agents, reward functions)."""
    for k in range(terms.shape[0]):
        for slot in range(terms.shape[1]):
            terms[k, slot] = 0.0


def step_group_world(
    batch: BatchRecord, plan: BatchPlan, group: Group, i: int, w: WorldRow
) -> None:
    """Step world `w`, which has index `i` and plays a scenario of `group`, by the actions in
    `batch.actions`. Write rewards and done flags into the arrays of the batch."""
    first_line, p = i * plan.num_agents, batch[group.parameters][w.member]
    for k in plan.agent_indices:
        action_index = batch.actions[first_line + k]
        if w.is_checked and not 0 <= action_index < len(group.plan.actions):
            raise IndexError("there is no such action")
        w.action[k + 1] = group.plan.actions[action_index]
    terms = batch.terms[first_line : first_line + plan.num_agents]
    if plan.num_agents > 1 or plan.is_mixture:
        clear_terms(terms)
    step_world(w, p, group.plan, terms)
    for k in plan.agent_indices:
        write_outputs(batch, first_line + k, w, k + 1)


def write_group_outputs(
    batch: BatchRecord, plan: BatchPlan, group: Group, i: int, w: WorldRow, is_shown: bool
) -> None:
    """Write the observations and action masks of all agents of world `w`, which has index `i` and
    plays a scenario of `group`. They go into the arrays of the step, such as `grid`; if `is_shown`
    is False, into those of the ended episode, such as `final_grid`."""
    p = batch[group.parameters][w.member]
    for k in plan.agent_indices:
        agent, line = k + 1, i * plan.num_agents + k
        grid = batch.grid[line] if is_shown else batch.final_grid[line]
        item = batch.item[line] if is_shown else batch.final_item[line]
        mask = batch.mask[line] if is_shown else batch.final_mask[line]
        ground = choose_ground(batch, plan, line, is_shown)
        if plan.num_agents > 1 and w.position.y[agent] < 0:
            hide_all(grid, item)
            if ground is not None:
                hide_all(ground, item)
        else:
            write_observation(w, p, group.plan, agent, grid, item, ground)
        if plan.has_masks:
            is_away = plan.num_agents > 1 and w.position.y[agent] < 0
            if is_away or (plan.num_agents > 1 and w.done[agent] != 0 and w.terminated == 0):
                mask[:] = 0
            else:
                write_mask(w, p, group.plan, agent, mask)
        if "whole" in plan.array_names:
            write_whole(w, agent, batch.whole[line] if is_shown else batch.final_whole[line])
        if "mission" in plan.array_names:
            numbers = batch.mission[line] if is_shown else batch.final_mission[line]
            write_numbers(w, agent, group.plan.mission, numbers)
            numbers[0] += p.first_text
        if "state" in plan.array_names:
            state = batch.state[line] if is_shown else batch.final_state[line]
            write_numbers(w, agent, group.plan.numbers, state)
        if is_shown:
            batch.member[line] = w.member
            batch.facing[line] = w.agent.facing[agent]
        else:
            batch.final_member[line] = w.member
            batch.final_facing[line] = w.agent.facing[agent]
            for slot in range(batch.terms.shape[1]):
                batch.final_terms[line, slot] = batch.terms[line, slot]


def choose_ground(batch: BatchRecord, plan: BatchPlan, line: int, is_shown: bool) -> Any:
    """Return the array into which the ground that an agent sees is written; None if the batch has
    no such array. `line` is the agent's index in all arrays."""
    if "ground" not in plan.array_names:
        return None
    return batch.ground[line] if is_shown else batch.final_ground[line]


# ---- programs ------------------------------------------------------------------------------------


_MAX_INLINED_CHARS_FOR_WEB = 600, 5000
"""Values of `Module.max_inlined_chars` at which modules are small, and LLVM takes little time."""
TRUSTED = frozenset({__name__, ScenarioPlan.__module__})
"""Modules whose indices need no tests."""


def make_plan(
    scenario: Scenario, names: Iterable[str], parameters: Sequence[np.dtype[Any]], masks: bool
) -> BatchPlan:
    """Return the compile-time description of a batch that has arrays with these `names`.
    `parameters` has the dtype of the parameter record of each scenario. If `masks`, action masks
    are computed."""
    plans = [ScenarioPlan(member, scenario.reward_names) for member in scenario.members]
    keys = [make_cache_key((plan, dtype)) for plan, dtype in zip(plans, parameters, strict=True)]
    group_keys = [*dict.fromkeys(keys)]
    groups = (Group(f"parameters{k}", plans[keys.index(key)]) for k, key in enumerate(group_keys))
    layout = scenario.layout
    return BatchPlan(
        groups=tuple(groups),
        group_of=tuple(map(group_keys.index, keys)),
        array_names=frozenset(names),
        num_agents=layout.agents,
        has_masks=masks,
        prefetched_offsets=find_prefetch_offsets(scenario),
        area=scenario.area if layout.is_large else None,
    )


def find_prefetch_offsets(scenario: Scenario) -> tuple[int, ...]:
    """Return byte offsets in the record of a world that nearly every step reads, so that they can
    be loaded into the processor's cache early."""
    rules = scenario.walk_functions(TRANSITION, REWARD, TERMINATING)
    functions = find_functions([*rules, *VERBS.values(), cut_view, write_seen])
    used_names = {name for function in functions for name in names_of(function).attributes}
    layout = scenario.layout
    fields = RecordType(layout.batch_dtype).fields
    _, head_size = fields["at" if layout.is_large else "placed"]
    offsets = set(range(0, head_size, CACHE_LINE))
    offsets |= {fields[name][1] for name in ("placed", "recent") if name in used_names}
    for name, (dtype, start) in fields.items():
        columns = RecordType(dtype).fields
        if name in used_names and columns:
            used_columns = used_names.intersection(columns) - {"has"} or {*columns} & {"has"}
            offsets |= {start + columns[column][1] for column in used_columns}
    if not layout.is_large:
        dtype, start = fields["looks"]
        offsets |= set(range(start, start + dtype.itemsize, CACHE_LINE))
    return tuple(sorted({offset // CACHE_LINE * CACHE_LINE for offset in offsets}))


def make_cache_key(value: Any) -> Any:
    """Return a hashable key of `value`, a `BatchPlan` or a value in it. Plans with equal keys
    compile to the same code."""
    if isinstance(value, Mapping):
        return tuple((name, make_cache_key(each)) for name, each in value.items())
    if isinstance(value, tuple | list | frozenset):
        return tuple(map(make_cache_key, sorted(value) if isinstance(value, frozenset) else value))
    if is_dataclass(value) and not isinstance(value, type | System):
        return tuple(make_cache_key(getattr(value, each.name)) for each in fields(value))
    if isinstance(value, ScenarioPlan):
        return make_cache_key(vars(value))
    if isinstance(value, int | str | float | None | Phase | np.dtype):
        return type(value), value
    return id(value)


def compile_batch(
    layout: Layout, plan: BatchPlan, elements: Elements, is_checked: bool, for_web: bool = False
) -> tuple[Compiler, str]:
    """Compile the loop that steps all worlds of a batch. Return the compiler, and the LLVM IR of a
    module with the function `run` (address of the batch record, start, stop, mode), which returns
    the number of failed worlds. `elements` has the shape and dtype of one element of each array.

    For web pages (`language.wasm`), the code is smaller, and checked rules end.
    """
    compiler = Compiler(LIBRARY, is_checked, TRUSTED)
    if for_web:
        compiler.module.guards_loops = is_checked
        compiler.module.max_inlined_chars = _MAX_INLINED_CHARS_FOR_WEB
    batch_type = make_batch_type(layout, elements, is_checked)
    numbers = {name: Scalar(Kind.INT, "") for name in ("start", "stop", "mode")}
    arguments = {"batch": Record("", batch_type), "plan": plan, **numbers}
    version = compiler.compile(run_worlds, arguments)
    assert version is not None
    assert version.returns == ("i64",)
    _, arena_offset = batch_type.fields["arena"]
    entry = [
        "define i64 @run(i64 %batch, i64 %start, i64 %stop, i64 %mode) {",
        "%b = inttoptr i64 %batch to ptr",
        f"%place = getelementptr i8, ptr %b, i64 {arena_offset}",
        "%address = load i64, ptr %place",
        "%arena = inttoptr i64 %address to ptr",
        f'%failed = call i64 @"{version.name}"'
        "(ptr %arena, ptr %b, i64 %start, i64 %stop, i64 %mode)",
        "ret i64 %failed",
        "}",
    ]
    return compiler, "\n".join([compiler.module.to_ir(), *entry])
