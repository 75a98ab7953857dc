"""Objects from arrays of (type, state, colour) indices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from components.appearance import NONE_GRID_OBJECT
from gv_engine.gridverse.agent import Agent
from gv_engine.gridverse.geometry import Orientation, Position
from gv_engine.gridverse.grid_object import Box, Color, Floor, GridObject, NoneGridObject, class_of
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import COLORS, ObjectTypes


def rows_from(
    grid: ArrayLike, types: ObjectTypes, content: ArrayLike | None = None, *, seen: bool = False
) -> list[list[GridObject]]:
    """The objects of a grid, row by row.

    Args:
        grid: (H, W, 3).
        types: which its indices mean.
        content: (H, W, 3) what is in boxes, zeros elsewhere.
        seen: whether cells may be Hidden.

    Raises:
        ValueError: see `State.from_arrays`.
    """
    cells = _integers("grid", grid, (None, None, 3))
    inside = np.zeros_like(cells)
    if content is not None:
        inside = _integers("content", content, cells.shape)
    rows: list[list[GridObject]] = []
    for y, (line, line_inside) in enumerate(zip(cells.tolist(), inside.tolist(), strict=True)):
        rows.append([])
        for x, (cell, what) in enumerate(zip(line, line_inside, strict=True)):
            thing = _thing(types, f"grid[{y}, {x}]", cell, seen)
            if any(what):
                if not isinstance(thing, Box):
                    raise ValueError(f"content[{y}, {x}] is {what}, but the cell has {thing!r}")
                thing.content = _thing(types, f"content[{y}, {x}]", what, False)
            rows[-1].append(thing)
    return rows


def item_from(item: ArrayLike, types: ObjectTypes) -> GridObject:
    """The held object of (3,) indices.

    Raises:
        ValueError: see `State.from_arrays`.
    """
    what = _integers("item", item, (3,)).tolist()
    if what[0] == NONE_GRID_OBJECT:
        return NoneGridObject()
    thing = _thing(types, "item", what, False)
    if isinstance(thing, Floor):
        raise ValueError(f"item is {what}, a Floor; {NONE_GRID_OBJECT} stands for an empty hand")
    return thing


def agent_from(agent: ArrayLike, item: GridObject) -> Agent:
    """The agent of (3,) y, x, orientation.

    Raises:
        ValueError: see `State.from_arrays`.
    """
    y, x, orientation = _integers("agent", agent, (3,)).tolist()
    if not 0 <= orientation < len(ORIENTATIONS):
        raise ValueError(
            f"agent[2] is {orientation}: an orientation is 0 to {len(ORIENTATIONS) - 1}"
        )
    return Agent(Position(y, x), Orientation(orientation), item)


def _thing(types: ObjectTypes, where: str, cell: list[int], seen: bool) -> GridObject:
    kind, state, color = cell
    if kind not in types:
        indices = [each.index for each in types]
        raise ValueError(f"{where} has type {kind}: {describe_allowed(kind, indices)}")
    known = types[kind]
    if not (known.in_grid or (seen and kind != NONE_GRID_OBJECT)):
        raise ValueError(f"{where} is a {known.name}, which no cell of a state holds")
    if not 0 <= state < known.num_states:
        raise ValueError(f"{where} has state {state}: a {known.name} has {known.num_states}")
    if not 0 <= color < (len(COLORS) if known.colored else 1):
        raise ValueError(f"{where} has colour {color}, which no {known.name} has")
    thing = _blank(class_of(known))
    thing.state_index = state
    if color:
        thing.color = Color(color)
    return thing


def _blank(cls: type[GridObject]) -> GridObject:
    """An object as rules spawn it, whatever its own constructor asks for."""
    thing = object.__new__(cls)
    GridObject.__init__(thing)
    return thing


def _integers(name: str, array: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    given = np.asarray(array)
    fits = given.ndim == len(shape) and all(
        size in (None, found) for size, found in zip(shape, given.shape, strict=True)
    )
    if not fits or given.dtype.kind not in "iu" or given.size == 0:
        wanted = ", ".join("H" if size is None else str(size) for size in shape)
        raise ValueError(
            f"{name} has shape {given.shape} and dtype {given.dtype}: expected ({wanted}) integers"
        )
    return given
