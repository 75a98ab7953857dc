"""Validation of rows (records of worlds): find values that no world of a layout can have, and
recompute derived columns. Rows from outside pass `repair_rows`; `gv-engine check` runs `find_fault`
after each step of a rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
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

_CHUNK_BYTES = 2**22  # maximum size in bytes of the rows that are checked at once, to limit memory
_MAX_STEPS = int(np.iinfo(np.int32).max) - 1
"""Maximum accepted number of steps, one below the largest number of the column."""

_Bounds = Iterator[tuple[str, Any, Any, Any]]
_Mask = NDArray[np.bool_]
_Errors = Iterator[tuple[_Mask, str]]
"""Pairs of an (n, E) mask of wrong entities and a template of the problem for `_format_problem`."""


def require_layout(layout: Layout, rows: object) -> None:
    """Raise ValueError if `rows`, an array of world records, does not have the dtype of `layout`.

    Raises:
        ValueError: the rows have another dtype.
    """
    if not isinstance(rows, np.ndarray | np.void) or not rows.dtype.names:
        raise ValueError(f"found {shorten(repr(rows), 60)}, expected rows from snapshot()")
    if not _are_equal(rows.dtype, layout.dtype):
        raise ValueError(
            "the snapshot is of a world with other maximum sizes, components or object "
            "types; restore it into an environment of the same scenario"
        )


@lru_cache  # NumPy compares dtypes of records field by field, in microseconds
def _are_equal(dtype: np.dtype[Any], expected: np.dtype[Any]) -> bool:
    return dtype == expected


def tag_rows(rows: NDArray[Any], name: str) -> NDArray[Any]:
    """Return a view of `rows` (records of worlds), whose dtype remembers the scenario's `name`."""
    return rows.view(_tag_dtype(rows.dtype, name))


@lru_cache
def _tag_dtype(dtype: np.dtype[Any], name: str) -> np.dtype[Any]:
    return np.dtype(dtype, metadata={"scenario": name})


def require_scenario(rows: NDArray[Any], name: str) -> None:
    """Raise ValueError if `rows`, an array of world records, belongs to another scenario than
    `name`. Records without a scenario name pass."""
    tag = (getattr(getattr(rows, "dtype", None), "metadata", None) or {}).get("scenario", name)
    if tag != name:
        raise ValueError(
            f"the snapshot is of {tag}, and this is {name}; restore it into an environment of the "
            f"same scenario"
        )


def repair_rows(layout: Layout, rows: NDArray[Any]) -> NDArray[Any]:
    """Check world records from an untrusted source, and return a copy in which derived fields are
    recomputed. `rows` is an array with one record per world.

    Args:
        rows: rows of shape () or (n,), from an untrusted source.

    Raises:
        ValueError: the rows have another layout or shape, or are invalid.
    """
    require_layout(layout, rows)
    if rows.ndim > 1:
        raise ValueError(f"rows have shape {rows.shape}: expected () or (n,)")
    repaired = np.zeros(rows.shape, layout.dtype)  # a copy leaves bytes between fields unfilled
    repaired[...] = rows
    as_list = np.atleast_1d(repaired)
    chunk_length = max(1, _CHUNK_BYTES // layout.dtype.itemsize)
    for start in range(0, len(as_list), chunk_length):
        chunk = as_list[start : start + chunk_length]
        if fault := find_fault(layout, chunk):
            raise ValueError(f"the snapshot is damaged: {fault}")
        for name, column in compute_derived_columns(layout, chunk).items():
            chunk[name] = column
    return repaired


def compute_derived_columns(layout: Layout, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Compute those fields of world records that follow from others, such as the number of objects
    of each type. `rows` is an array with one record per world. Return new values by field name.

    Args:
        rows: rows in which `find_fault` finds nothing.
    """
    world, e = np.nonzero(_object_mask(layout, rows) & (rows["position"]["y"] >= 0))
    placed = np.zeros((len(rows), layout.type_table_length), np.int64)
    np.add.at(placed, (world, rows["kind"]["value"][world, e]), 1)
    for kind in layout.terrain:
        is_covered = rows["ground"] == layout.terrain_entities[kind.index]
        placed[:, kind.index] = np.count_nonzero(is_covered, (1, 2))
    columns = {"placed": placed, "error": np.zeros(len(rows), np.int64)}
    if layout.agents > 1:
        columns["spot"] = _agent_cell_numbers(layout, rows)
    return columns


def find_fault(layout: Layout, rows: NDArray[Any]) -> str:
    """Return an error message about the first invalid value in `rows`, an array with one record per
    world; "" if all are valid.

    Args:
        rows: (n,) rows of `layout.dtype`.
    """
    for name, values, low, high in _iter_bounds(layout, rows):
        wrong = (values < low) | (values > high)
        if wrong.any():
            return f"{name} is {values[wrong].flat[0]}"
    for wrong, template in _iter_contradictions(layout, rows):
        if wrong.any():
            world, e = np.argwhere(wrong)[0].tolist()
            return _format_problem(layout, rows[world], e, template)
    return _find_agent_cell_fault(layout, rows) if layout.agents > 1 else ""


def _format_problem(layout: Layout, row: Any, e: int, template: str) -> str:
    """Fill in a message template for entity number `e` of the world record `row`, and return the
    message."""
    kind = int(row["kind"]["value"][e])
    name = layout.object_types[kind].name if kind in layout.object_types else f"of type {kind}"
    return template.format(
        entity=f"agent {e}" if 0 < e <= layout.agents else f"entity {e} ({name})",
        e=e,
        place=f"({row['position']['y'][e]}, {row['position']['x'][e]})",
        layer=layout.column_of_type[kind],
    )


def _object_mask(layout: Layout, rows: NDArray[Any]) -> _Mask:
    is_object: _Mask = rows["alive"] != 0
    is_object[:, : layout.first_object] = False
    return is_object


def _agent_cell_numbers(layout: Layout, rows: NDArray[Any]) -> NDArray[np.int64]:
    y, x = (rows["position"][axis][:, : layout.agents + 1].astype(np.int64) for axis in ("y", "x"))
    return np.where(y >= 0, y * (layout.width + 1) + x + 1, 0)


def _iter_bounds(layout: Layout, rows: NDArray[Any]) -> _Bounds:
    """Yield (name, values, minimum, maximum) for each bounded field of world records. `rows` has
    one record per world; a bound is a number or an array."""
    last = layout.capacity - 1
    yield "height", rows["height"], 0, layout.height
    yield "width", rows["width"], 0, layout.width
    # both or none are 0
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
    rng = rows["rng"]
    yield "rng.has_half", rng["has_half"], 0, 1
    max_half = np.where(rng["has_half"], np.uint64(2**32 - 1), np.uint64(0))  # 0 once it is used
    yield "rng.half", rng["half"], 0, max_half
    yield "the last bit of rng.inc_low", rng["inc_low"] & np.uint64(1), 1, 1
    for cls in layout.components:
        yield from _iter_column_bounds(layout, rows[column_name(cls)], cls)
    yield "kind.value", rows["kind"]["value"], 0, layout.type_table_length - 1
    yield "color.value", rows[column_name(Color)]["value"], 0, len(COLORS) - 1
    for agent in layout.agent_entities:
        yield from _iter_agent_bounds(layout, rows, agent)
    for cls, _ in layout.world_components:
        name, e = column_name(cls), layout.world_entity
        yield f"{name}.has of the world", rows[name]["has"][:, e] & rows["alive"][:, e], 1, 1
    for kind in layout.terrain:
        e = layout.terrain_entities[kind.index]
        yield f"the type of {kind.name}", rows["kind"]["value"][:, e], kind.index, kind.index
        yield f"alive of {kind.name}", rows["alive"][:, e], 1, 1
        yield f"position of {kind.name}", rows["position"]["y"][:, e], -1, -1
    if layout.agents == 1:
        yield "done of the agent", rows["done"][:, 1], rows["terminated"], rows["terminated"]
    else:
        yield "who", rows["who"], 0, layout.agents
        yield "next", rows["next"], 0, layout.agents
    yield "position.y", rows["position"]["y"], -1, layout.height
    yield "position.x", rows["position"]["x"], -1, layout.width


def _iter_column_bounds(layout: Layout, column: NDArray[Any], cls: type) -> _Bounds:
    """Yield (name, values, minimum, maximum) for each field of the component class `cls`. `column`
    holds the component's values in all worlds."""
    component = column_name(cls)
    yield f"{component}.has", column["has"], 0, 1
    yield f"{component}.has of no entity", column["has"][:, NOTHING], 0, 0
    for field in fields_of(cls):
        name, values = f"{component}.{field.name}", column[field.name]
        yield f"{name} of no entity", values[:, NOTHING], field.default, field.default
        if field.is_entity:
            yield name, values, 0, layout.capacity - 1
        elif values.dtype == np.bool_:
            yield name, values.view(np.uint8), 0, 1


def _iter_agent_bounds(layout: Layout, rows: NDArray[Any], agent: int) -> _Bounds:
    """Yield (name, values, minimum, maximum) for each value of one agent in world records: its
    cell, direction, flags and components. `agent` is its number."""
    name = "the agent" if layout.agents == 1 else f"agent {agent}"
    must_stand = (rows["height"] > 0) & (not layout.is_bodiless)  # in a cell of a level
    if layout.agents > 1:  # one may have left
        must_stand &= rows["done"][:, agent] == 0
    if layout.has_absence:
        must_stand &= rows["absence"]["steps"][:, agent] <= 0
    lowest = np.where(must_stand, 0, -1)
    yield f"{name}'s y", rows["position"]["y"][:, agent], lowest, rows["height"] - 1
    yield f"{name}'s x", rows["position"]["x"][:, agent], lowest, rows["width"] - 1
    yield f"{name}'s facing", rows["agent"]["facing"][:, agent], 0, len(ORIENTATIONS) - 1
    yield f"alive of {name}", rows["alive"][:, agent], 1, 1
    for cls, _ in layout.agent_prefabs[agent - 1]:
        yield f"{column_name(cls)}.has of {name}", rows[column_name(cls)]["has"][:, agent], 1, 1


def _iter_contradictions(layout: Layout, rows: NDArray[Any]) -> _Errors:
    """Yield (mask, message template) for each way in which fields of world records may contradict
    each other. The (n, E) mask is True for wrong entities of the n worlds."""
    is_alive, is_object = rows["alive"] != 0, _object_mask(layout, rows)
    entities = np.arange(layout.capacity)
    is_below_free = (entities > NOTHING) & (entities < rows["free"][:, None])
    yield ~is_alive & is_below_free, "{entity} is not in use, and w.free is beyond it"
    for cls in layout.components:
        column, name = rows[column_name(cls)], f"the component {cls.__name__}"
        has = layout.extend_column(column["has"]) != 0
        yield has & ~is_alive, f"{{entity}} is not in use and has {name}"
        if cls in (Kind, Position):
            yield is_object & ~has, f"{{entity}} lacks {name}"
        if cls is Agent:
            yield is_object & has, f"{{entity}} is not an agent and has {name}"
        for field in fields_of(cls):
            values, default = layout.extend_column(column[field.name]), np.array(field.default)
            # a default of NaN is unequal to itself
            is_default = (values == default) | ((values != values) & (default != default))
            wrong = ~has & ~is_default.reshape(*has.shape, -1).all(-1)
            yield wrong, f"{{entity}} lacks {name}, and {column_name(cls)}.{field.name} of it"
            if field.is_entity:
                is_named_alive = np.take_along_axis(is_alive, values.astype(np.int64), 1)
                wrong = has & (values != NOTHING) & ~is_named_alive
                removed = [*values[wrong], 0][0]
                reference = f"{column_name(cls)}.{field.name}[{{e}}] is {removed}"
                yield wrong, f"{reference}, which has been removed"
    yield from _iter_type_errors(layout, rows, is_object)
    yield from _iter_cell_errors(layout, rows, is_object)
    yield from _iter_holder_errors(layout, rows, is_object)


def _iter_type_errors(layout: Layout, rows: NDArray[Any], is_object: _Mask) -> _Errors:
    """Yield (mask, message template) for entities whose components or state do not fit their object
    type. All masks are (n, E); `is_object` is True for entities that are objects."""
    kinds = rows["kind"]["value"]
    is_known = np.array([bool(parts) for parts in layout.prefabs])
    yield is_object & ~is_known[kinds], "{entity} has a type that these worlds lack"
    has_kind = rows["kind"]["has"][:, : layout.agents + 1] != 0
    is_agent_type = np.isin(kinds[:, : layout.agents + 1], [*layout.agent_types])
    yield has_kind & ~is_agent_type, "{entity} is of a type that no agent is of"
    for column, field in layout.states:
        types = [kind.index for kind in layout.types if kind.state == (column, field)]
        has_state = is_object & np.isin(kinds, types)
        has, values = (layout.extend_column(rows[column][name]) for name in ("has", field))
        yield has_state & (has == 0), f"{{entity}} has no {column}.{field}"
        wrong = is_object & ~has_state & (values != 0)
        yield wrong, f"{{entity}} has a state in {column}.{field}, which its type lacks"
        wrong = has_state & ((values < 0) | (values >= np.array(layout.num_states)[kinds]))
        yield wrong, f"{{entity}} is in a state that its type lacks, by {column}.{field}"
    for kind in layout.types:
        if not (kind.state_components and kind.state):
            continue
        column, field = kind.state
        states = np.where(is_object & (kinds == kind.index), rows[column][field], -1)
        for state, name in enumerate(kind.states):
            for cls, initial in kind.component_changes(state).items():
                must_have = initial is not None
                wrong = (states == state) & ((rows[column_name(cls)]["has"] != 0) != must_have)
                verb = "has no" if must_have else "has the component"
                message = f"{{entity}} is {name} and {verb} {cls.__name__}"
                yield wrong, f"{message}; change states by w.set_state alone"


def _iter_cell_errors(layout: Layout, rows: NDArray[Any], is_object: _Mask) -> _Errors:
    """Yield (mask, message template) for entities whose position contradicts the grid. All masks
    are (n, E); `is_object` is True for entities that are objects."""
    y, x = (rows["position"][axis].astype(np.int64) for axis in ("y", "x"))
    height, width = rows["height"][:, None], rows["width"][:, None]
    is_outside = (rows["alive"] != 0) & ((y >= height) | (x >= width))
    wrong = ((y < 0) != (x < 0)) | is_outside
    yield wrong, "{entity} has the position {place}, which is not a cell"
    worlds = np.arange(len(rows))[:, None]
    columns = np.array(layout.column_of_type)[rows["kind"]["value"]]
    is_on_layer = {name: is_object & (y >= 0) & (columns == name) for name in layout.layers}
    for name in layout.layers:
        is_elsewhere = rows[name][worlds, y, x] != np.arange(layout.capacity)
        message = "{entity} has the position {place}, where w.{layer} has it not"
        yield is_on_layer[name] & is_elsewhere, message
    for name in layout.layers:
        cells = rows[name]
        if name == "ground" and layout.terrain:
            cells = np.where(np.isin(cells, layout.terrain_entities), NOTHING, cells)
        if (np.count_nonzero(cells, (1, 2)) == is_on_layer[name].sum(1)).all():
            continue  # each entity is in its own cell, and there are no others
        world, row, column = np.nonzero(cells)
        e = cells[world, row, column]
        wrong = np.zeros_like(is_object)
        wrong[world, e] = ~is_on_layer[name][world, e]
        yield wrong & (y < 0), f"w.{name} holds {{entity}}, which has no position"
        yield wrong & is_object, f"w.{name} holds {{entity}}, which lives in w.{{layer}}"
        yield wrong, f"w.{name} holds {{entity}}, which is not an object"
        is_second = (y[world, e] != row) | (x[world, e] != column)
        wrong[world[is_second], e[is_second]] = True
        yield wrong, f"w.{name} holds {{entity}} in two cells"


def _iter_holder_errors(layout: Layout, rows: NDArray[Any], is_object: _Mask) -> _Errors:
    """Yield (mask, message template) for wrong held entities: no objects, also on the grid, or held
    twice. All masks are (n, E); `is_object` is True for entities that are objects."""
    worlds = np.arange(len(rows))[:, None]
    is_on_grid = rows["position"]["y"] >= 0
    num_holders = np.zeros(is_object.shape, np.int64)  # hands and boxes with each entity
    held = rows["agent"]["holding"][:, : layout.agents + 1].astype(np.int64)
    for agent in layout.agent_entities:
        is_held = np.zeros_like(is_object)
        is_held[worlds, held[:, agent, None]] = True
        is_held[:, NOTHING] = False
        yield is_held & ~is_object, "the agent holds {entity}, which is not an object"
        yield is_held & is_on_grid, "the agent holds {entity}, which also stands on the grid"
    np.add.at(num_holders, (worlds, held), 1)
    if Box in layout.components:
        content = rows[column_name(Box)]["content"].astype(np.int64)
        is_boxed = np.zeros_like(is_object)
        np.put_along_axis(is_boxed, content, True, 1)
        is_boxed[:, NOTHING] = False
        yield is_boxed & ~is_object, "a box holds {entity}, which is not an object"
        yield is_boxed & is_on_grid, "a box holds {entity}, which also stands on the grid"
        np.add.at(num_holders, (worlds, content), 1)
    num_holders[:, NOTHING] = 0
    yield num_holders > 1, "{entity} is held twice, by agents or boxes"


def _find_agent_cell_fault(layout: Layout, rows: NDArray[Any]) -> str:
    """Return an error message if the list of agents by cell contradicts the agents' positions in
    world records; "" if they agree."""
    spots = _agent_cell_numbers(layout, rows)
    last_agents, next_agents = (rows[name].astype(np.int64) for name in ("who", "next"))
    agents = last_agents.reshape(len(rows), -1)  # one agent of each cell, then its next one
    cells = np.arange(1, agents.shape[1] + 1)
    num_listed = np.zeros(len(rows), np.int64)
    wrong = ((spots == 0) & (next_agents != 0)).any(1)
    for _ in layout.agent_entities:
        is_agent = agents != NOTHING
        wrong |= (is_agent & (np.take_along_axis(spots, agents, 1) != cells)).any(1)
        num_listed += is_agent.sum(1)
        agents = np.take_along_axis(next_agents, agents, 1)
    wrong |= (agents != NOTHING).any(1) | (num_listed != (spots > 0).sum(1))
    if not wrong.any():
        return ""
    return "w.who and w.next disagree with the agents' positions; move agents by w.stand only"
