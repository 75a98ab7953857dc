"""Observations of the agent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gv_engine.gridverse.agent import Agent
from gv_engine.gridverse.arrays import agent_from_array, item_from_array, objects_from_array
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.values import Value
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes


class Observation(Value):
    """Part of the grid as the agent sees it, looking up; Hidden where the agent sees nothing.

    Args:
        grid: grid that shares no objects with a state.
        agent: agent, with a position relative to the corner of this grid; it may lie outside.
    """

    def __init__(self, grid: Grid, agent: Agent) -> None:
        self._grid: Grid | None = grid
        self.agent = agent
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
        """Return the observation that arrays describe; boxes in it hold Floor.

        Args:
            grid: (h, w, 3) type, state and colour index of every cell.
            agent: (3,) y, x, orientation.
            item: (3,) held object; type 0 for nothing.
            types: see `State.from_arrays`.

        Raises:
            ValueError: a shape or an index is wrong.
        """
        cells = objects_from_array(grid, types, seen=True)
        return cls(Grid(cells), agent_from_array(agent, item_from_array(item, types)))

    @classmethod
    def from_valid_arrays(
        cls,
        cells: NDArray[np.uint8],
        agent: NDArray[np.int64],
        item: NDArray[np.uint8],
        types: ObjectTypes,
    ) -> Observation:
        """Return the observation of valid arrays, which must not change afterwards; objects are
        made when read."""
        observation = object.__new__(cls)
        observation._grid = None
        observation._cells, observation._types = cells, types
        observation.agent = agent_from_array(agent, item_from_array(item, types))
        return observation

    @property
    def grid(self) -> Grid:
        """Return the seen cells as a grid."""
        if self._grid is None:
            assert self._cells is not None  # set if `_grid` is None
            self._grid = Grid(objects_from_array(self._cells, self._types, seen=True))
        # the objects may be changed from now on
        self._cells = None
        return self._grid

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arguments of `from_arrays`: uint8, `agent` int64."""
        cells = self.grid.to_array() if self._cells is None else self._cells.copy()
        return {"grid": cells, **self.agent.to_arrays()}

    def copy(self) -> Observation:
        """Return an independent copy."""
        return Observation(self.grid.copy(), self.agent.copy())

    def _key(self) -> tuple[Any, ...]:
        """Return the content by which observations are compared."""
        cells = self.to_arrays()["grid"]
        return Observation, cells.shape, cells.tobytes(), self.agent

    def __reduce__(self) -> tuple[Any, ...]:
        return Observation, (self.grid, self.agent)

    def __repr__(self) -> str:
        return f"Observation({self.grid!r}, {self.agent!r})"
