"""A window that follows an environment."""

from __future__ import annotations

from typing import Any

from gv_engine.frontend.window.viewer import Viewer
from gv_engine.playing.drawings import sprite_folders, sprite_name
from gv_engine.playing.episode import Playable


class Follower:
    """Render mode `human`."""

    result = None

    def __init__(self, scenario: Playable) -> None:
        self._viewer = Viewer(scenario.name, sprite_name, sprite_folders(scenario))

    def show(self, frame: Any) -> None:
        """Draw a frame."""
        self._viewer.show(frame)

    def close(self) -> None:
        """Close the window."""
        self._viewer.close()
