"""Observations: what the agent sees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gv_engine.gridverse.agent import Agent
from gv_engine.gridverse.arrays import agent_from, item_from, rows_from
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.values import Value
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes


class Observation(Value):
    """A part of the grid as the agent sees it, itself looking up; Hidden where it sees nothing.

    Args:
        grid: of which nothing is shared with a state.
        agent: its position counts from the corner of this grid, and may lie beyond it.
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
        """The observation that arrays describe; boxes in it hold Floor.

        Args:
            grid: (h, w, 3) type, state and colour index of every cell.
            agent: (3,) y, x, orientation.
            item: (3,) the held object; type 0 for nothing.
            types: see `State.from_arrays`.

        Raises:
            ValueError: wrong shapes, or numbers that mean nothing.
        """
        cells = rows_from(grid, types, seen=True)
        return cls(Grid(cells), agent_from(agent, item_from(item, types)))

    @classmethod
    def shown(
        cls,
        cells: NDArray[np.uint8],
        agent: NDArray[np.int64],
        item: NDArray[np.uint8],
        types: ObjectTypes,
    ) -> Observation:
        """As `from_arrays`, of sound arrays that are left alone from now on."""
        observation = object.__new__(cls)
        observation._grid = None
        observation._cells, observation._types = cells, types
        observation.agent = agent_from(agent, item_from(item, types))
        return observation

    @property
    def grid(self) -> Grid:
        """What is seen."""
        if self._grid is None:
            assert self._cells is not None  # one is
            self._grid = Grid(rows_from(self._cells, self._types, seen=True))
        # from now on the objects count, they may be changed
        self._cells = None
        return self._grid

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """What `from_arrays` takes: uint8 but for `agent`, which is int64."""
        cells = self.grid.to_array() if self._cells is None else self._cells.copy()
        return {"grid": cells, **self.agent.to_arrays()}

    def copy(self) -> Observation:
        """An observation like this one."""
        return Observation(self.grid.copy(), self.agent.copy())

    def _key(self) -> tuple[Any, ...]:
        cells = self.to_arrays()["grid"]
        return Observation, cells.shape, cells.tobytes(), self.agent

    def __reduce__(self) -> tuple[Any, ...]:
        return Observation, (self.grid, self.agent)

    def __repr__(self) -> str:
        return f"Observation({self.grid!r}, {self.agent!r})"
