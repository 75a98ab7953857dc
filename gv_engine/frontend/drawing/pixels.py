"""Pictures of worlds as arrays, drawn without a display."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gv_engine.frontend.drawing.recording import views_of

if TYPE_CHECKING:
    from gv_engine.playing.episode import Playable

CELL = 32
"""Pixels of a cell's side."""


class Pixels:
    """Render mode `rgb_array`: (H, W, 3) uint8, drawn without a display."""

    result: Any = None

    def __init__(self, scenario: Playable) -> None:
        view, drawing = next(iter(views_of(scenario).items()))
        self._draw = drawing(scenario, view, CELL)

    def show(self, frame: Any) -> None:
        """Draw a frame."""
        self.result = self._draw(frame)

    def close(self) -> None:
        """Nothing to let go of."""
