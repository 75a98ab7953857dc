"""Render modes: window, pixel array or text; each is imported when needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any, Protocol

from gv_engine.late_imports import RENDER_MODES
from gv_engine.scenario.plugin import DOMAINS, AnyScenario


class RenderMode(Protocol):
    """Renderer of frames; `result` is the value that `render()` returns for the last frame."""

    result: Any

    def __init__(self, scenario: AnyScenario) -> None: ...

    def show(self, frame: Any) -> None:
        """Draw a frame."""

    def close(self) -> None:
        """Release the window."""


class Text:
    """Render mode `ansi`: a str."""

    result = ""

    def __init__(self, scenario: AnyScenario) -> None:
        pass

    def show(self, frame: Any) -> None:
        """Convert a frame to text."""
        self.result = resolve_name(DOMAINS[frame.domain].text)(frame)

    def close(self) -> None:
        """Do nothing; text holds no resources."""


def has_screen() -> bool:
    """Return True if windows can be opened; on Linux if a display or an SDL driver is set."""
    names = "DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"
    return not sys.platform.startswith("linux") or any(map(os.environ.get, names))


def with_usable_modes(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata of an environment without the mode "human" if there is no screen."""
    modes = [mode for mode in metadata["render_modes"] if mode != "human" or has_screen()]
    return {**metadata, "render_modes": modes}


class Renderer:
    """Draws worlds in a render mode, through the rendering systems.

    Args:
        name: name of the mode.
        scenario: scenario of the worlds.
        render: `(i, show)` runs the rendering systems on world i; `show` takes the frame.
    """

    def __init__(
        self, name: str, scenario: AnyScenario, render: Callable[[int, Callable[[Any], None]], None]
    ) -> None:
        self._mode: RenderMode = resolve_name(RENDER_MODES[name])(scenario)
        self._render = render

    def draw(self, i: int) -> Any:
        """Return the picture of world i: (H, W, 3) uint8, str or None, depending on the mode."""
        self._render(i, self._mode.show)
        return self._mode.result

    def close(self) -> None:
        """Close the window, if there is one."""
        self._mode.close()
