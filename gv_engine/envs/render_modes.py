"""Render modes: a world as a window, an array or a text; each is imported when it is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, Protocol

from gv_engine.scenario.plugin import DOMAINS, AnyScenario


class RenderMode(Protocol):
    """Takes frames; `result` is what `render()` returns for the last one."""

    result: Any

    def __init__(self, scenario: AnyScenario) -> None: ...

    def show(self, frame: Any) -> None:
        """Draw a frame."""

    def close(self) -> None:
        """Let go of what is on the screen."""


class Text:
    """Render mode `ansi`: a str."""

    result = ""

    def __init__(self, scenario: AnyScenario) -> None:
        pass

    def show(self, frame: Any) -> None:
        """Write a frame."""
        self.result = resolve_name(DOMAINS[frame.domain].text)(frame)

    def close(self) -> None:
        """Nothing to let go of."""


RENDER_MODES = {
    "human": "gv_engine.ui.window.viewer:open_viewer",
    "rgb_array": "gv_engine.ui.drawing.recording:PixelRenderer",
    "ansi": "gv_engine.envs.render_modes:Text",
}
"""Where the `RenderMode` of each render mode is; nothing that steps a world imports one."""


def has_screen() -> bool:
    """Return whether windows may be opened: under Linux a display or a driver of SDL is named."""
    names = "DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"
    return not sys.platform.startswith("linux") or any(map(os.environ.get, names))


def with_usable_modes(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of an environment, without the mode "human" where there is no screen."""
    modes = [mode for mode in metadata["render_modes"] if mode != "human" or has_screen()]
    return {**metadata, "render_modes": modes}


class Renderer:
    """Draws worlds in a render mode, through the rendering systems.

    Args:
        name: of the mode.
        scenario: what is drawn.
        render: `(i, show)` runs the rendering systems on world i; `show` takes the frame.
    """

    def __init__(
        self,
        name: str,
        scenario: AnyScenario,
        render: Callable[[int, Callable[[Any], None]], None],
    ) -> None:
        self._mode: RenderMode = resolve_name(RENDER_MODES[name])(scenario)
        self._render = render

    def draw(self, i: int) -> Any:
        """World i as the render mode has it: (H, W, 3) uint8, str or None."""
        self._render(i, self._mode.show)
        return self._mode.result

    def close(self) -> None:
        """Close the window, if there is one."""
        self._mode.close()
