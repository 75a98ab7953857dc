"""Observations of the agent, and conversion of arrays of indices to objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from components.core import NONE_GRID_OBJECT
from gv_engine.plugins.gridverse.agent import Agent
from gv_engine.plugins.gridverse.geometry import Orientation, Position
from gv_engine.plugins.gridverse.grid import Grid
from gv_engine.plugins.gridverse.grid_object import (
    Box,
    Color,
    Floor,
    GridObject,
    NoneGridObject,
    class_of,
)
from gv_engine.plugins.gridverse.object_store import Value
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import COLORS, OBJECT_TYPES, ObjectTypes


def objects_from_array(
    grid: ArrayLike,
    types: ObjectTypes,
    content: ArrayLike | None = None,
    *,
    can_be_hidden: bool = False,
) -> list[list[GridObject]]:
    """Return the objects encoded in a grid array, (H, W, 3) of type, state and colour, as a list of
    rows.

    Args:
        grid: (H, W, 3) type, state and colour index of every cell.
        types: types that the indices refer to.
        content: (H, W, 3) contents of boxes, zeros elsewhere.
        can_be_hidden: if True, cells may be Hidden, as in observations.

    Raises:
        ValueError: see `State.from_arrays`.
    """
    cells = _check_integers("grid", grid, (None, None, 3))
    contents = np.zeros_like(cells)
    if content is not None:
        contents = _check_integers("content", content, cells.shape)
    objects: list[list[GridObject]] = []
    for y, (row, row_contents) in enumerate(zip(cells.tolist(), contents.tolist(), strict=True)):
        objects.append([])
        for x, (cell, held) in enumerate(zip(row, row_contents, strict=True)):
            obj = _make_object(types, f"grid[{y}, {x}]", cell, can_be_hidden)
            if any(held):
                if not isinstance(obj, Box):
                    raise ValueError(f"content[{y}, {x}] is {held}, but the cell has {obj!r}")
                obj.content = _make_object(types, f"content[{y}, {x}]", held)
            objects[-1].append(obj)
    return objects


def item_from_array(item: ArrayLike, types: ObjectTypes) -> GridObject:
    """Return the held object encoded in a (3,) array of type, state and colour. An empty hand gives
    a NoneGridObject.

    Raises:
        ValueError: see `State.from_arrays`.
    """
    cell = _check_integers("item", item, (3,)).tolist()
    if cell[0] == NONE_GRID_OBJECT:
        return NoneGridObject()
    obj = _make_object(types, "item", cell)
    if isinstance(obj, Floor):
        raise ValueError(f"item is {cell}, a Floor; {NONE_GRID_OBJECT} stands for an empty hand")
    return obj


def agent_from_array(agent: ArrayLike, item: GridObject) -> Agent:
    """Return the agent encoded in a (3,) array of y, x and orientation. It holds `item`.

    Raises:
        ValueError: see `State.from_arrays`.
    """
    y, x, orientation = _check_integers("agent", agent, (3,)).tolist()
    if not 0 <= orientation < len(ORIENTATIONS):
        raise ValueError(
            f"agent[2] is {orientation}: an orientation is 0 to {len(ORIENTATIONS) - 1}"
        )
    return Agent(Position(y, x), Orientation(orientation), item)


def _make_object(
    types: ObjectTypes, location: str, cell: list[int], can_be_hidden: bool = False
) -> GridObject:
    """Return a new object for `cell`, its type, state and colour indices. For an invalid index,
    raise a ValueError that begins with `location`."""
    index, state, color = cell
    if index not in types:
        indices = [known.index for known in types]
        raise ValueError(f"{location} has type {index}{describe_allowed(index, indices)}")
    object_type = types[index]
    name = object_type.name
    # types that no cell of a state holds are NONE_GRID_OBJECT and HIDDEN
    if not (object_type.in_grid or (can_be_hidden and index != NONE_GRID_OBJECT)):
        raise ValueError(f"{location} is a {name}, which no cell of a state holds")
    if not 0 <= state < object_type.num_states:
        raise ValueError(f"{location} has state {state}: a {name} has {object_type.num_states}")
    if not 0 <= color < (len(COLORS) if object_type.colored else 1):
        raise ValueError(f"{location} has colour {color}, which no {name} has")
    obj = GridObject.__new__(class_of(object_type))  # without the arguments of its class
    obj.state_index = state
    if color:
        obj.color = Color(color)
    return obj


def _check_integers(name: str, array: ArrayLike, shape: tuple[int | None, ...]) -> NDArray[Any]:
    """Return `array` as a NumPy array. Raise ValueError unless it contains integers and has this
    shape; a dimension of None may have any size."""
    values = np.asarray(array)
    fits = values.ndim == len(shape) and all(
        size in (None, actual) for size, actual in zip(shape, values.shape, strict=True)
    )
    if not fits or values.dtype.kind not in "iu" or values.size == 0:
        expected = ", ".join("H" if size is None else str(size) for size in shape)
        raise ValueError(
            f"{name} has shape {values.shape} and dtype {values.dtype}: expected ({expected}) "
            f"values"
        )
    return values


class Observation(Value):
    """Part of the grid that the agent sees, turned so that the agent faces up; Hidden in cells that
    the agent does not see.

    Args:
        grid: grid that shares no objects with a state.
        agent: agent, with a position relative to the corner of this grid; it may lie outside.
    """

    def __init__(self, grid: Grid, agent: Agent) -> None:
        """Make an observation of the visible part of a world, `grid`, and the agent in it."""
        self.agent = agent
        # one of `_grid` and `_cells`, indices of `_types`, may be None until it is needed
        self._grid: Grid | None = grid
        self._cells: NDArray[np.uint8] | None = None
        self._types: ObjectTypes = OBJECT_TYPES

    @classmethod
    def from_arrays(
        cls,
        grid: ArrayLike,
        agent: ArrayLike,
        item: ArrayLike,
        *,
        types: ObjectTypes = OBJECT_TYPES,
    ) -> Observation:
        """Return the observation that arrays of type, state and colour indices describe. Boxes in
        it hold Floor.

        Args:
            grid: (h, w, 3) type, state and colour index of every cell.
            agent: (3,) y, x, orientation.
            item: (3,) held object; type 0 for nothing.
            types: see `State.from_arrays`.

        Raises:
            ValueError: a shape or an index is wrong.
        """
        cells = objects_from_array(grid, types, can_be_hidden=True)
        return cls(Grid(cells), agent_from_array(agent, item_from_array(item, types)))

    @classmethod
    def from_valid_arrays(
        cls,
        cells: NDArray[np.uint8],
        agent: NDArray[np.int64],
        item: NDArray[np.uint8],
        types: ObjectTypes,
    ) -> Observation:
        """Make an observation from arrays without checking them. Objects are created on demand, so
        the arrays must not change afterwards."""
        observation = object.__new__(cls)
        observation._grid = None
        observation._cells, observation._types = cells, types
        observation.agent = agent_from_array(agent, item_from_array(item, types))
        return observation

    @property
    def grid(self) -> Grid:
        """Return the visible cells as a grid of objects, which is created on first access."""
        if self._grid is None:
            assert self._cells is not None  # set if `_grid` is None
            self._grid = Grid(objects_from_array(self._cells, self._types, can_be_hidden=True))
        # the objects may be changed from now on
        self._cells = None
        return self._grid

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return arrays by name, as `from_arrays` takes them: `grid` (h, w, 3) uint8, `agent` (3,)
        int64 and `item` (3,) uint8."""
        cells = self.grid.to_array() if self._cells is None else self._cells.copy()
        return {"grid": cells, **self.agent.to_arrays()}

    def copy(self) -> Observation:
        """Return an independent copy."""
        return Observation(self.grid.copy(), self.agent.copy())

    def _content_key(self) -> tuple[Any, ...]:
        cells = self.to_arrays()["grid"]
        return Observation, cells.shape, cells.tobytes(), self.agent

    def __reduce__(self) -> tuple[Any, ...]:
        return Observation, (self.grid, self.agent)

    def __repr__(self) -> str:
        return f"Observation({self.grid!r}, {self.agent!r})"
