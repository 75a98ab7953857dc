"""The part of the grid that an observation shows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.component import OUTSIDE
from gv_engine.language.geometry import BACKWARD, FORWARD, LEFT, RIGHT

if TYPE_CHECKING:
    from gv_engine.language.world import World

_TURNED: tuple[Callable[[NDArray[Any]], NDArray[Any]], ...] = (
    lambda cut: cut,
    lambda cut: cut.T[::-1],
    lambda cut: cut[::-1, ::-1],
    lambda cut: cut[::-1].T,
)
"""A cut after so many quarter turns to the left; `numpy.rot90` takes ten times as long."""


@dataclass(frozen=True)
class Area:
    """Inclusive ranges of cells relative to an agent that looks up: `[[-6, 0], [-3, 3]]`."""

    ymin: int
    ymax: int
    xmin: int
    xmax: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.ymax - self.ymin + 1, self.xmax - self.xmin + 1

    @property
    def observer(self) -> tuple[int, int]:
        """The agent's own cell in the area, which may lie beyond it."""
        return -self.ymin, -self.xmin

    @cached_property
    def _turned(self) -> dict[int, tuple[int, int, int, int, int]]:
        """By where the agent looks: first and last row and column on the grid, and how many quarter
        turns to the left bring them upright.
        """
        return {
            FORWARD: (self.ymin, self.ymax, self.xmin, self.xmax, 0),
            RIGHT: (self.xmin, self.xmax, -self.ymax, -self.ymin, 1),
            BACKWARD: (-self.ymax, -self.ymin, -self.xmax, -self.xmin, 2),
            LEFT: (-self.xmax, -self.xmin, self.ymin, self.ymax, 3),
        }

    def cut(self, w: World, agent: int, source: NDArray[Any]) -> NDArray[Any]:
        """(h, w) what the area shows of an (at least H, at least W) array, OUTSIDE beyond it."""
        top, bottom, left, right, quarters = self._turned[w.agent.facing[agent]]
        y, x = w.position.y[agent], w.position.x[agent]
        top, bottom, left, right = top + y, bottom + y, left + x, right + x
        if top >= 0 and bottom < w.height and left >= 0 and right < w.width:
            return _TURNED[quarters](source[top : bottom + 1, left : right + 1].copy())
        cut = np.full((bottom - top + 1, right - left + 1), OUTSIDE, source.dtype)
        y0, y1 = max(0, top), min(w.height, bottom + 1)
        x0, x1 = max(0, left), min(w.width, right + 1)
        if y0 < y1 and x0 < x1:
            cut[y0 - top : y1 - top, x0 - left : x1 - left] = source[y0:y1, x0:x1]
        return _TURNED[quarters](cut)

    def on_grid(self, w: World, agent: int, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(H, W) bool: which cells of the grid an (h, w) bool array of the area means."""
        numbers = np.arange(w.height * w.width).reshape(w.height, w.width)
        cells = self.cut(w, agent, numbers)[seen]
        lit = np.zeros(w.height * w.width, np.bool_)
        lit[cells[cells != OUTSIDE]] = True
        return lit.reshape(w.height, w.width)

    def __str__(self) -> str:
        return f"[[{self.ymin}, {self.ymax}], [{self.xmin}, {self.xmax}]]"
