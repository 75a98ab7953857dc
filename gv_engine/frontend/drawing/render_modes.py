"""The render modes that draw; pygame is imported when the first of them is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gv_engine.playing.drawings import sprite_folders, sprite_name

if TYPE_CHECKING:
    from gv_engine.playing.episode import Playable

CELL = 32
"""Pixels of a cell's side in arrays."""


class Pixels:
    """Render mode `rgb_array`: (H, W, 3) uint8, drawn without a display."""

    result: Any = None

    def __init__(self, scenario: Playable) -> None:
        from gv_engine.frontend.drawing.recording import views_of

        view, drawing = next(iter(views_of(scenario).items()))
        self._draw = drawing(scenario, view, CELL)

    def show(self, frame: Any) -> None:
        """Draw a frame."""
        self.result = self._draw(frame)

    def close(self) -> None:
        """Nothing to let go of."""


class Window:
    """Render mode `human`: a window that follows the environment."""

    result = None

    def __init__(self, scenario: Playable) -> None:
        from gv_engine.frontend.window.viewer import Viewer

        self._viewer = Viewer(scenario.name, sprite_name, sprite_folders(scenario))

    def show(self, frame: Any) -> None:
        """Draw a frame."""
        self._viewer.show(frame)

    def close(self) -> None:
        """Close the window."""
        self._viewer.close()
