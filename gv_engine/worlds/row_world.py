"""A row read like a world, without making one: for looking only.

>>> from gv_engine import Scenario
>>> from gv_engine.worlds.simulation import Simulation
>>> scenario = Scenario.load("keydoor-5x5")
>>> simulation = Simulation(scenario)
>>> simulation.reset(np.random.default_rng(0))
>>> row = RowWorld(scenario.layout, simulation.world.snapshot())
>>> bool((row.cells() == simulation.world.cells()).all())
True
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.component import NOTHING
from gv_engine.reading.layout import Layout


class RowWorld:
    """A row as rendering systems read a `World`: its values, columns, `cells`, `beneath` and
    `appearance`.

    Args:
        layout: of the row.
        row: a () array of `layout.dtype`; its values are read when they are asked for.
    """

    def __init__(self, layout: Layout, row: NDArray[Any]) -> None:
        self._layout, self._row = layout, row

    def __getattr__(self, name: str) -> Any:
        value = self._row[name]
        return RowColumns(value) if value.dtype.names else value.item() if not value.ndim else value

    @property
    def ground(self) -> NDArray[Any]:
        """(H + 1, W + 1) what lies on the ground of each cell."""
        found: NDArray[Any] = (
            self._row["ground"] if "ground" in self._layout.layers else np.zeros_like(self.at)
        )
        return found

    def agents(self) -> range:
        """The agents: the entities from 1 on."""
        return self._layout.everyone[: self.present if self._layout.fewer else None]

    def cells(self) -> NDArray[np.uint8]:
        """(H, W, 3) uint8: type, state and colour index of what shows in every cell."""
        return self._shown_in(np.where(self.at != NOTHING, self.at, self.ground))

    def beneath(self) -> NDArray[np.uint8] | None:
        """(H, W, 3) uint8: the same of the ground alone; None where nothing ever lies on it."""
        return self._shown_in(self.ground) if "ground" in self._layout.layers else None

    def _shown_in(self, cells: NDArray[Any]) -> NDArray[np.uint8]:
        row, at = self._row, cells[: self.height, : self.width]
        grid = np.zeros((*at.shape, 3), np.uint8)
        kinds = grid[..., 0]
        kinds[...] = row["kind"]["value"][at]
        for kind in self._layout.types:
            if kind.state:
                column, field = kind.state
                where = kinds == kind.index
                grid[where, 1] = row[column][field][at[where]]
        grid[..., 2] = row["color"]["value"][at]
        return grid

    def appearance(self, e: int) -> tuple[int, int, int]:
        """(type, state, colour) of an entity as an observer sees it; Floor for NOTHING."""
        row = self._row
        kind = int(row["kind"]["value"][e])
        state = next((known.state for known in self._layout.types if known.index == kind), None)
        shown = int(row[state[0]][state[1]][e]) if state else 0
        return kind, shown, int(row["color"]["value"][e])


class RowColumns:
    """All columns of one component: `has` and its fields, as arrays."""

    def __init__(self, record: NDArray[Any]) -> None:
        self._record = record

    def __getattr__(self, name: str) -> Any:
        return self._record[name]
