"""Validation of rows (records of worlds): find values that no world of a layout can have, and
recompute derived columns. Rows from outside pass `repair_rows`; `gv-engine check` runs `find_fault`
after each step of a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import Agent, Color, Kind, Position
from components.items import Box
from gv_engine.rules.component import NOTHING, column_name, fields_of
from gv_engine.rules.errors import shorten
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.memory.layout import AGENT_COLUMNS, Layout

_CHUNK_BYTES = 2**22
"""Maximum size in bytes of the rows that are checked at once, to limit memory."""
_MAX_STEPS = int(np.iinfo(np.int32).max) - 1
"""Maximum accepted number of steps, one below the largest number of the column."""

_Bounds = Iterator[tuple[str, Any, Any, Any]]
_Mask = NDArray[np.bool_]
_Errors = Iterator[tuple[_Mask, str]]
"""Pairs of an (n, E) mask of wrong entities and a template of the problem for `_format_problem`."""


def require_layout(layout: Layout, rows: NDArray[Any]) -> None:
    """Raise a ValueError unless `rows` (records of worlds) have exactly the dtype of `layout`.

    Raises:
        ValueError: the rows have another dtype.
    """
    if not isinstance(rows, np.ndarray | np.void):
        raise ValueError(f"found {shorten(repr(rows), 60)}, expected rows from snapshot()")
    if rows.dtype != layout.dtype:
        raise ValueError(
            "the snapshot is of a world with other maximum sizes, components or object "
            "types; restore it into an environment of the same scenario"
        )


def tag_rows(rows: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a view of `rows` (records of worlds), whose dtype remembers the scenario's `name`."""
    return rows.view(np.dtype(rows.dtype, metadata={"scenario": name}))


def require_scenario(rows: NDArray[Any], name: str) -> None:
    """Raise a ValueError if `rows` (records of worlds) are tagged, and not with `name`."""
    tag = (getattr(getattr(rows, "dtype", None), "metadata", None) or {}).get("scenario", name)
    if tag != name:
        raise ValueError(
            f"the snapshot is of {tag}, and this is {name}; restore it into an environment of the "
            f"same scenario"
        )


def repair_rows(layout: Layout, rows: NDArray[Any]) -> NDArray[Any]:
    """Return a checked copy of `rows` (records of worlds, one each) from an untrusted source, in
    which all derived columns are recomputed.

    Args:
        rows: rows of shape () or (n,), from an untrusted source.

    Raises:
        ValueError: the rows have another layout or shape, or are invalid.
    """
    require_layout(layout, rows)
    if rows.ndim > 1:
        raise ValueError(f"rows have shape {rows.shape}: expected () or (n,)")
    sound = np.zeros(rows.shape, layout.dtype)  # a copy leaves the bytes between fields unfilled
    sound[...] = rows
    each = np.atleast_1d(sound)
    number = max(1, _CHUNK_BYTES // layout.dtype.itemsize)
    for start in range(0, len(each), number):
        some = each[start : start + number]
        if fault := find_fault(layout, some):
            raise ValueError(f"the snapshot is damaged: {fault}")
        for name, column in compute_derived_columns(layout, some).items():
            some[name] = column
    return sound


def compute_derived_columns(layout: Layout, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return, by name, new values for the columns of `rows` (one world's record each) that are
    computed from other columns.

    Args:
        rows: rows in which `find_fault` finds nothing.
    """
    i, e = np.nonzero(_object_mask(layout, rows) & (rows["position"]["y"] >= 0))
    placed = np.zeros((len(rows), layout.type_table_length), np.int64)
    np.add.at(placed, (i, rows["kind"]["value"][i, e]), 1)
    for kind in layout.terrain:
        cells = rows["ground"] == layout.terrain_entities[kind.index]
        placed[:, kind.index] = np.count_nonzero(cells, (1, 2))
    columns = {"placed": placed, "error": np.zeros(len(rows), np.int64)}
    if layout.agents > 1:
        columns["spot"] = _agent_cell_numbers(layout, rows)
    return columns


def find_fault(layout: Layout, rows: NDArray[Any]) -> str:
    """Return an error message about the first value in `rows` (one world's record each) that is
    invalid in worlds of `layout`; "" if all are valid.

    Args:
        rows: (n,) rows of `layout.dtype`.
    """
    for name, values, low, high in _iterate_bounds(layout, rows):
        wrong = (values < low) | (values > high)
        if wrong.any():
            return f"{name} is {values[wrong].flat[0]}"
    for wrong, template in _find_contradictions(layout, rows):
        if wrong.any():
            i, e = np.argwhere(wrong)[0].tolist()
            return _format_problem(layout, rows[i], e, template)
    return _find_agent_cell_fault(layout, rows) if layout.agents > 1 else ""


def _format_problem(layout: Layout, row: Any, e: int, template: str) -> str:
    """Return the message `template` with its fields filled in for entity number `e` of `row`, the
    record of one world."""
    kind = int(row["kind"]["value"][e])
    called = layout.object_types[kind].name if kind in layout.object_types else f"of type {kind}"
    return template.format(
        entity=f"agent {e}" if 0 < e <= layout.agents else f"entity {e} ({called})",
        e=e,
        place=f"({row['position']['y'][e]}, {row['position']['x'][e]})",
        layer="ground" if layout.is_ground_type[kind] else "at",
    )


def _object_mask(layout: Layout, rows: NDArray[Any]) -> _Mask:
    things: _Mask = rows["alive"] != 0
    things[:, : layout.first_object] = False
    return things


def _agent_cell_numbers(layout: Layout, rows: NDArray[Any]) -> NDArray[np.int64]:
    y, x = (rows["position"][axis][:, : layout.agents + 1].astype(np.int64) for axis in ("y", "x"))
    return np.where(y >= 0, y * (layout.width + 1) + x + 1, 0)


def _iterate_bounds(layout: Layout, rows: NDArray[Any]) -> _Bounds:
    """Yield (name, values, least, greatest) for each column of `rows` whose values have bounds,
    each bound a number or an array."""
    last = layout.capacity - 1
    for name, high in (("height", layout.height), ("width", layout.width)):
        yield name, rows[name], 0, high
    yield "width", rows["width"], rows["height"] > 0, np.where(rows["height"] > 0, 2**15, 0)
    yield "capacity", rows["capacity"], layout.capacity, layout.capacity
    yield "free", rows["free"], 1, layout.capacity
    yield "steps", rows["steps"], 0, _MAX_STEPS
    for name in (*layout.layers, "recent"):
        yield name, rows[name], 0, last
    for name in ("alive", "terminated", "truncated", "done", "success"):
        yield name, rows[name], 0, 1
    yield "action", rows["action"], 0, 2**31 - 1
    yield layout.signature_field, rows[layout.signature_field], 0, 0
    for name in AGENT_COLUMNS:
        yield f"{name} of no agent", rows[name][:, NOTHING], 0, 0
    yield "alive of no entity", rows["alive"][:, NOTHING], 0, 0
    yield "rng.has_half", rows["rng"]["has_half"], 0, 1
    # a used half is 0
    yield "rng.half", rows["rng"]["half"], 0, rows["rng"]["has_half"] * np.uint64(2**32 - 1)
    yield "the last bit of rng.inc_low", rows["rng"]["inc_low"] & np.uint64(1), 1, 1
    for cls in layout.components:
        column = column_name(cls)
        yield f"{column}.has", rows[column]["has"], 0, 1
        yield f"{column}.has of no entity", rows[column]["has"][:, NOTHING], 0, 0
        for part in fields_of(cls):
            name, values = f"{column}.{part.name}", rows[column][part.name]
            yield f"{name} of no entity", values[:, NOTHING], part.default, part.default
            if part.is_entity:
                yield name, values, 0, last
            elif values.dtype == np.bool_:
                yield name, values.view(np.uint8), 0, 1
    yield "kind.value", rows["kind"]["value"], 0, layout.type_table_length - 1
    yield "color.value", rows[column_name(Color)]["value"], 0, len(COLORS) - 1
    yield from _iterate_agent_bounds(layout, rows)
    yield "position.y", rows["position"]["y"], -1, layout.height
    yield "position.x", rows["position"]["x"], -1, layout.width


def _iterate_agent_bounds(layout: Layout, rows: NDArray[Any]) -> _Bounds:
    """Yield (name, values, least, greatest) for each value in `rows` that belongs to an agent:
    cell, facing, flags and components."""
    begun = rows["height"] > 0  # rows with a level
    for agent in layout.agent_entities:
        name = "the agent" if layout.agents == 1 else f"agent {agent}"
        # with several agents, one may have left
        here = (layout.agents == 1) | (rows["done"][:, agent] == 0)
        if layout.has_absence:
            here = here & (rows["absence"]["steps"][:, agent] <= 0)
        away = np.where(begun & here & (not layout.is_bodiless), 0, -1)
        for axis, side in (("y", "height"), ("x", "width")):
            yield f"{name}'s {axis}", rows["position"][axis][:, agent], away, rows[side] - 1
        yield f"{name}'s facing", rows["agent"]["facing"][:, agent], 0, len(ORIENTATIONS) - 1
        yield f"alive of {name}", rows["alive"][:, agent], 1, 1
        for cls, _ in layout.agent_prefabs[agent - 1]:
            yield f"{column_name(cls)}.has of {name}", rows[column_name(cls)]["has"][:, agent], 1, 1
    for cls, _ in layout.world_components:
        name, own = column_name(cls), layout.world_entity
        yield f"{name}.has of the world", rows[name]["has"][:, own] & rows["alive"][:, own], 1, 1
    for kind in layout.terrain:
        shared = layout.terrain_entities[kind.index]
        yield f"the type of {kind.name}", rows["kind"]["value"][:, shared], kind.index, kind.index
        yield f"alive of {kind.name}", rows["alive"][:, shared], 1, 1
        yield f"position of {kind.name}", rows["position"]["y"][:, shared], -1, -1
    if layout.agents == 1:
        yield "done of the agent", rows["done"][:, 1], rows["terminated"], rows["terminated"]
    else:
        yield "who", rows["who"], 0, layout.agents
        yield "next", rows["next"], 0, layout.agents


def _find_contradictions(layout: Layout, rows: NDArray[Any]) -> _Errors:
    """Yield (mask, message template) for each way in which two columns of `rows` may contradict
    each other; the (n, E) mask marks the wrong entities."""
    alive, things = rows["alive"] != 0, _object_mask(layout, rows)
    entities = np.arange(layout.capacity)
    yield (
        ~alive & (entities > NOTHING) & (entities < rows["free"][:, None]),
        ("{entity} is not in use, and w.free is beyond it"),
    )
    for cls in layout.components:
        column, name = rows[column_name(cls)], f"the component {cls.__name__}"
        has = layout.extend_column(column["has"]) != 0
        yield has & ~alive, f"{{entity}} is not in use and has {name}"
        if cls in (Kind, Position):
            yield things & ~has, f"{{entity}} has not {name}"
        if cls is Agent:
            yield things & has, f"{{entity}} is no agent and has {name}"
        for part in fields_of(cls):
            values, default = layout.extend_column(column[part.name]), np.array(part.default)
            # a default of NaN is unequal to itself
            same = (values == default) | ((values != values) & (default != default))
            wrong = ~has & ~same.reshape(*has.shape, -1).all(-1)
            yield wrong, f"{{entity}} has not {name}, and {column_name(cls)}.{part.name} of it"
            if part.is_entity:
                named = np.take_along_axis(alive, values.astype(np.int64), 1)
                gone = has & (values != NOTHING) & ~named
                called = f"{column_name(cls)}.{part.name}[{{e}}] is {[*values[gone], 0][0]}"
                yield gone, f"{called}, which has been removed"
    yield from _find_type_errors(layout, rows, things)
    yield from _find_cell_errors(layout, rows, things)


def _find_type_errors(layout: Layout, rows: NDArray[Any], things: _Mask) -> _Errors:
    """Yield (mask, message template) for the entities in the mask `things` whose components or
    state contradict their object type."""
    kinds = rows["kind"]["value"]
    known = np.array([bool(parts) for parts in layout.prefabs])
    yield things & ~known[kinds], "{entity} is of no type that these worlds have"
    agents = rows["kind"]["has"][:, : layout.agents + 1] != 0
    own = np.isin(kinds[:, : layout.agents + 1], [*layout.agent_types])
    yield agents & ~own, "{entity} is of a type that no agent is of"
    for column, field in layout.states:
        own = np.isin(kinds, [k.index for k in layout.types if k.state == (column, field)])
        has, values = (layout.extend_column(rows[column][name]) for name in ("has", field))
        yield things & own & (has == 0), f"{{entity}} has no {column}.{field}"
        wrong = things & ~own & (values != 0)
        yield wrong, f"{{entity}} has a state in {column}.{field}, which its type has not"
        wrong = things & own & ((values < 0) | (values >= np.array(layout.num_states)[kinds]))
        yield wrong, f"{{entity}} is in a state that its type has not, by {column}.{field}"
    for kind in layout.types:
        if not (kind.state_components and kind.state):
            continue
        states = np.where(things & (kinds == kind.index), rows[kind.state[0]][kind.state[1]], -1)
        for state, called in enumerate(kind.states):
            for cls, brought in kind.component_changes(state).items():
                verb = "has no" if brought is not None else "has the component"
                wrong = (rows[column_name(cls)]["has"] != 0) != (brought is not None)
                says = f"{{entity}} is {called} and {verb} {cls.__name__}"
                yield (states == state) & wrong, f"{says}; change states by w.set_state alone"


def _find_cell_errors(layout: Layout, rows: NDArray[Any], things: _Mask) -> _Errors:
    """Yield (mask, message template) for the entities in the mask `things` whose position
    contradicts the grid, or which are on the grid and held at once."""
    y, x = (rows["position"][axis].astype(np.int64) for axis in ("y", "x"))
    height, width = rows["height"][:, None], rows["width"][:, None]
    yield (
        ((y < 0) != (x < 0)) | (rows["alive"] != 0) & ((y >= height) | (x >= width)),
        ("{entity} has the position {place}, which is no cell"),
    )
    on_grid = things & (y >= 0)
    below = np.array(layout.is_ground_type)[rows["kind"]["value"]]
    each = np.arange(len(rows))[:, None]
    own = {name: on_grid & (below == (name == "ground")) for name in layout.layers}
    for name in layout.layers:
        elsewhere = rows[name][each, y, x] != np.arange(layout.capacity)
        says = "{entity} has the position {place}, where w.{layer} has it not"
        yield own[name] & elsewhere, says
    for name in layout.layers:
        cells, there = rows[name], own[name]
        if name == "ground" and layout.terrain:
            cells = np.where(np.isin(cells, layout.terrain_entities), NOTHING, cells)
        if (np.count_nonzero(cells, (1, 2)) == there.sum(1)).all():
            continue
        i, row, column = np.nonzero(cells)
        e = cells[i, row, column]
        wrong = np.zeros_like(there)
        wrong[i, e] = ~there[i, e]
        yield wrong & (y < 0), f"w.{name} holds {{entity}}, which has no position"
        yield wrong & things, f"w.{name} holds {{entity}}, which lives in w.{{layer}}"
        yield wrong, f"w.{name} holds {{entity}}, which is no object"
        twice = (y[i, e] != row) | (x[i, e] != column)
        wrong[i[twice], e[twice]] = True
        yield wrong, f"w.{name} holds {{entity}} in two cells"
    held = rows["agent"]["holding"][:, : layout.agents + 1].astype(np.int64)
    of_agents = np.zeros_like(things)
    for agent in layout.agent_entities:
        wrong = of_agents.copy()
        wrong[each, held[:, agent, None]] = (held[:, agent] != NOTHING)[:, None]
        yield wrong & ~things, "the agent holds {entity}, which is no object"
        yield wrong & (y >= 0), "the agent holds {entity}, which also stands on the grid"
    yield from _find_holder_errors(layout, rows, things)


def _find_holder_errors(layout: Layout, rows: NDArray[Any], things: _Mask) -> _Errors:
    """Yield (mask, message template) for entities in boxes that are no objects or are also on the
    grid, and for entities in two hands or boxes. The (n, E) mask `things` marks the objects."""
    holders = np.zeros(things.shape, np.int64)  # number of hands and boxes with each entity
    held = rows["agent"]["holding"][:, : layout.agents + 1].astype(np.int64)
    np.add.at(holders, (np.arange(len(rows))[:, None], held), 1)
    if Box in layout.components:
        content = rows[column_name(Box)]["content"].astype(np.int64)
        boxed = np.zeros_like(things)
        np.put_along_axis(boxed, content, True, 1)
        boxed[:, NOTHING] = False
        yield boxed & ~things, "a box holds {entity}, which is no object"
        on_grid = rows["position"]["y"] >= 0
        yield boxed & on_grid, "a box holds {entity}, which also stands on the grid"
        np.add.at(holders, (np.arange(len(rows))[:, None], content), 1)
    holders[:, NOTHING] = 0
    yield holders > 1, "{entity} is held twice, by agents or boxes"


def _find_agent_cell_fault(layout: Layout, rows: NDArray[Any]) -> str:
    """Return an error message if the columns that list the agents in each cell contradict the
    agents' positions in `rows`; "" if they agree."""
    spots = _agent_cell_numbers(layout, rows)
    agents, following = (rows[name].astype(np.int64) for name in ("who", "next"))
    here = agents.reshape(len(rows), -1)
    cells = np.arange(1, here.shape[1] + 1)
    met = np.zeros(len(rows), np.int64)
    wrong = ((spots == 0) & (following != 0)).any(1)
    for _ in layout.agent_entities:
        occupied = here != NOTHING
        wrong |= (occupied & (np.take_along_axis(spots, here, 1) != cells)).any(1)
        met += occupied.sum(1)
        here = np.take_along_axis(following, here, 1)
    wrong |= (here != NOTHING).any(1) | (met != (spots > 0).sum(1))
    if not wrong.any():
        return ""
    return "w.who and w.next disagree with the agents' positions; move agents by w.stand only"
