"""Pictures of worlds in each render mode; what draws is imported when the first one needs it."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol, cast

from gv_engine.batches.worlds import Worlds
from gv_engine.reading.text import describe

if TYPE_CHECKING:
    from gv_engine.playing.episode import Playable


class Picture(Protocol):
    """Takes frames; `result` is what `render()` returns for the last one."""

    result: Any

    def __init__(self, scenario: Playable) -> None: ...

    def show(self, frame: Any) -> None:
        """Draw a frame."""

    def close(self) -> None:
        """Let go of what is on the screen."""


class Text:
    """Render mode `ansi`: a str."""

    result = ""

    def __init__(self, scenario: Playable) -> None:
        pass

    def show(self, frame: Any) -> None:
        """Write a frame."""
        self.result = describe(frame)

    def close(self) -> None:
        """Nothing to let go of."""


RENDER_MODES = {
    "human": "gv_engine.frontend.window.follower:Follower",
    "rgb_array": "gv_engine.frontend.drawing.pixels:Pixels",
    "ansi": "gv_engine.envs.pictures:Text",
}
"""Where the `Picture` of each render mode is; nothing that steps a world imports one."""


def picture(place: str, scenario: Playable) -> Picture:
    """The picture of a scenario, from where `RENDER_MODES` says that it is."""
    return cast(Picture, resolve_name(place)(scenario))


class Renderer:
    """Draws worlds in a render mode, through the rendering systems."""

    def __init__(self, mode: str, worlds: Worlds) -> None:
        self._worlds = worlds
        self._picture = picture(RENDER_MODES[mode], worlds.scenario)

    def draw(self, i: int) -> Any:
        """World i as the render mode has it: (H, W, 3) uint8, str or None."""
        self._worlds.render(i, self._picture.show)
        return self._picture.result

    def close(self) -> None:
        """Close the window, if there is one."""
        self._picture.close()
