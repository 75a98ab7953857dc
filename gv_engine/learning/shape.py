"""What a net has to know of a scenario, and how it numbers what an agent sees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.form import MISSION
from gv_engine.envs.representations import Arrays
from gv_engine.learning.fit import Fit

_FEW = 256
"""Numbers of a mission that have embeddings of their own; greater ones share them."""


class Shape(NamedTuple):
    """What a net has to know of a scenario.

    Attributes:
        cells: of a view.
        codes: numbers that stand for a cell or what is held.
        mission: for each number of the mission how many values it has; () without one.
        actions: how many.
        agents: of a world.
    """

    cells: int
    codes: int
    mission: tuple[int, ...]
    actions: int
    agents: int = 1

    @classmethod
    def of(cls, fit: Fit, codes: int) -> Shape:
        """The shape for what fits, seen under `cells` in so many codes."""
        height, width = fit.view
        return cls(
            cells=height * width,
            codes=codes,
            mission=tuple(min(values, _FEW) for _, values in fit.asked),
            actions=len(fit.actions),
            agents=fit.agents,
        )

    def places(self, seen: Arrays, agents: NDArray[np.int64], out: NDArray[np.int32]) -> None:
        """Fill (N, places) with the rows of `Net.table` that what N agents see stands for, and
        which of their world they are, from 0 on."""
        cells = self.cells
        number = len(out)
        out[:, :cells] = seen["grid"].reshape(number, cells)
        out[:, cells] = seen["item"].reshape(number)
        if self.mission:
            out[:, cells + 1 : cells + 1 + len(self.mission)] = seen[MISSION] % self.mission
        if self.agents > 1:
            out[:, -1] = agents
        out += self.firsts

    @property
    def sizes(self) -> tuple[int, ...]:
        """For each place how many codes there may be: cells, what is held, the rest."""
        return (*(self.codes,) * (self.cells + 1), *self.rest)

    @property
    def rest(self) -> tuple[int, ...]:
        """The sizes of places with codes of their own: the mission, and which agent it is."""
        return (*self.mission, self.agents) if self.agents > 1 else self.mission

    @property
    def firsts(self) -> NDArray[np.int32]:
        """(places,) the row of each place's first code."""
        return np.cumsum((0, *self.sizes[:-1])).astype(np.int32)
