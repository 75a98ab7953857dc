"""The part of the grid that an observation shows."""

from __future__ import annotations

from dataclasses import dataclass


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

    def __str__(self) -> str:
        return f"[[{self.ymin}, {self.ymax}], [{self.xmin}, {self.xmax}]]"
