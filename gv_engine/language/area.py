"""The part of the grid that an observation shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.component import OUTSIDE
from gv_engine.language.geometry import BACKWARD, FORWARD, LEFT, RIGHT, step_x, step_y

if TYPE_CHECKING:
    from gv_engine.language.world import World


def seen_from(w: World, agent: int, y: int, x: int) -> tuple[int, int]:
    """How far a cell is ahead of an agent, and to its right."""
    facing = w.agent.facing[agent]
    dy, dx = y - w.position.y[agent], x - w.position.x[agent]
    ahead_y, ahead_x = step_y(facing), step_x(facing)
    return dy * ahead_y + dx * ahead_x, dy * ahead_x - dx * ahead_y


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

    def numbers(self, w: World, agent: int, width: int) -> NDArray[np.int64]:
        """(h * w,) the cells of the grid that the area shows, row by row, as numbers.

        Args:
            w, agent: who looks.
            width: how many numbers a row of the grid has; OUTSIDE is the number of all beyond it.
        """
        position = w.position
        stands = w.agent.facing[agent], position.y[agent], position.x[agent]
        return _numbers(self, *stands, w.height, w.width, width)

    def on_grid(self, w: World, agent: int, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """(H, W) bool: which cells of the grid an (h, w) bool array of the area means."""
        cells = self.numbers(w, agent, w.width)[seen.ravel()]
        lit = np.zeros(w.height * w.width, np.bool_)
        lit[cells[cells != OUTSIDE]] = True
        return lit.reshape(w.height, w.width)

    def __str__(self) -> str:
        return f"[[{self.ymin}, {self.ymax}], [{self.xmin}, {self.xmax}]]"


@lru_cache(maxsize=512)
def _numbers(
    area: Area, facing: int, y: int, x: int, height: int, width: int, row: int
) -> NDArray[np.int64]:
    # first and last row and column, and the quarter turns to the left that bring them upright
    top, bottom, left, right, quarters = {
        FORWARD: (area.ymin, area.ymax, area.xmin, area.xmax, 0),
        RIGHT: (area.xmin, area.xmax, -area.ymax, -area.ymin, 1),
        BACKWARD: (-area.ymax, -area.ymin, -area.xmax, -area.xmin, 2),
        LEFT: (-area.xmax, -area.xmin, area.ymin, area.ymax, 3),
    }[facing]
    ys = np.arange(y + top, y + bottom + 1)[:, None]
    xs = np.arange(x + left, x + right + 1)
    inside = (ys >= 0) & (ys < height) & (xs >= 0) & (xs < width)
    numbers = np.rot90(np.where(inside, ys * row + xs, OUTSIDE), quarters).ravel()
    numbers.flags.writeable = False
    return numbers
