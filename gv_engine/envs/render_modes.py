"""Render modes: window, pixel array or text; each is imported when needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from copy import deepcopy
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, Self

import gymnasium

from gv_engine.late_imports import NOTEBOOK_HTML, RENDER_MODES
from gv_engine.rules.errors import suggest_similar
from gv_engine.scenario.domains import DOMAINS, AnyScenario

if TYPE_CHECKING:
    from gv_engine.envs.backends.backend import Backend


class RenderMode(Protocol):
    """Interface of a render mode, such as `ansi`. `show` takes a frame; `result` is then what
    `env.render()` returns."""

    result: Any

    def __init__(self, scenario: AnyScenario) -> None: ...

    def show(self, frame: Any) -> None:
        """Draw a frame."""

    def close(self) -> None:
        """Release the window."""


class Text:
    """Render mode `ansi`: frames as text, a str."""

    result = ""

    def __init__(self, scenario: AnyScenario) -> None:
        pass

    def show(self, frame: Any) -> None:
        """Convert a frame to text."""
        self.result = resolve_name(DOMAINS[frame.domain].text)(frame)

    def close(self) -> None:
        """Do nothing; text holds no resources."""


def has_screen() -> bool:
    """Return True if this process can open windows; on Linux, if environment variables name a
    display or an SDL driver."""
    names = "DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER"
    return not sys.platform.startswith("linux") or any(map(os.environ.get, names))


def with_usable_modes(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of an environment's `metadata` without the render mode "human" if there is no
    screen."""
    modes = [mode for mode in metadata["render_modes"] if mode != "human" or has_screen()]
    return {**metadata, "render_modes": modes}


def check_render_mode(render_mode: str | None, modes: Sequence[str]) -> None:
    """Raise a ValueError unless `render_mode` is None or one of `modes`."""
    if render_mode is not None and render_mode not in modes:
        allowed = f"{', '.join(modes)}{suggest_similar(render_mode, modes)}"
        raise ValueError(f"render_mode={render_mode!r}: allowed are None and {allowed}")


class Renderer:
    """Draws worlds: runs their rendering rules, and passes the frames to a render mode.

    Args:
        name: name of the mode.
        scenario: scenario of the worlds.
        render: `(i, show)` runs the rendering systems on world i; `show` takes the frame.
    """

    def __init__(
        self, name: str, scenario: AnyScenario, render: Callable[[int, Callable[[Any], None]], None]
    ) -> None:
        """Prepare to show worlds in the render mode `name`; the class says what each argument
        means."""
        self._mode: RenderMode = resolve_name(RENDER_MODES[name])(scenario)
        self._render = render

    def draw(self, i: int) -> Any:
        """Return the picture of world number `i` in the format of the render mode: an (H, W, 3)
        array, a text, or None if a window shows it."""
        self._render(i, self._mode.show)
        return self._mode.result

    def frame(self, i: int) -> Any:
        """Return the frame of world number `i`: the content of its picture, without drawing it."""
        frames: list[Any] = []
        self._render(i, frames.append)
        return frames[-1]

    def close(self) -> None:
        """Close the window, if there is one."""
        self._mode.close()


class NotebookView:
    """Base class of environments, sessions and replays, which notebooks show as pictures."""

    def _repr_html_(self) -> str:
        text: str = resolve_name(NOTEBOOK_HTML)(self)
        return text


class DrawsWorlds(NotebookView):
    """Base class of environments that draw their worlds.

    Attributes:
        scenario: scenario that is played.
        render_mode: a name in `RENDER_MODES`, or None.
    """

    scenario: AnyScenario
    render_mode: str | None
    _batch: Backend
    _renderer: Renderer | None = None

    def _new_renderer(self, mode: str) -> Renderer:
        return Renderer(mode, self.scenario, self._batch.render)

    def _draw(self, i: int) -> Any:
        if self._renderer is None:
            self._renderer = self._new_renderer(str(self.render_mode))
        return self._renderer.draw(i)

    def close_extras(self, **kwargs: Any) -> None:
        """Close the window of the environment, if it has one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None


class RenderedEnv(DrawsWorlds):
    """Base class of environments that draw one world, and can be copied.

    Attributes:
        world: name of the current backend, such as "compiled".
    """

    world: str
    _started = _is_closed = _has_warned = False

    def fork(self) -> Self:
        """Return an independent copy of the environment with the same world and the same future."""
        return deepcopy(self)

    def close(self) -> None:
        """Close the window of the environment, if it has one; a later `step` warns."""
        self.close_extras()
        self._is_closed = True

    def _warn_once(self, message: str) -> None:
        if not self._has_warned:
            self._has_warned = True
            gymnasium.logger.warn(message, stacklevel=3)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling and copying, without the renderer."""
        return {**vars(self), "_renderer": None}  # a copy opens its own window

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.scenario.name}, {self.world}>"

    __str__ = __repr__  # shown by wrappers
