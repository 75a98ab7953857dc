"""The window itself, and one in which a program shows its frames."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gv_engine.frontend.drawing.onlooker import Onlooker
from gv_engine.frontend.drawing.sprites import SpriteSheet, pygame
from gv_engine.playing.drawings import sprite_folders
from gv_engine.playing.episode import Playable

UNSEEN_DRIVERS = ("offscreen", "dummy")  # SDL takes them, without a word, where there is no screen


class NoDisplay(RuntimeError):
    """There is no screen to open a window on."""


class Viewer:
    """A window that shows frames while a program plays. Closing it does not stop the program.

    Args:
        title: of the window.
        sprite_folders: of the game's own sprites.

    Attributes:
        closed: whether the window has been closed; `show` does nothing from then on.

    Raises:
        NoDisplay: there is no screen.
    """

    result = None

    def __init__(
        self,
        title: str,
        sprite_folders: Iterable[Path] = (),
    ) -> None:
        self.closed = False
        self._title = title
        self._onlooker = Onlooker(title, sprite_folders)
        open_window(title)

    def show(self, frame: Any) -> None:
        """Draw a frame and take note of what happened to the window since the last one.

        Raises:
            NoDisplay: there is no screen.
        """
        if self.closed:
            return
        if not is_open():
            open_window(self._title)
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.close()
                return
        self._onlooker.draw(pygame.display.get_surface(), frame)
        pygame.display.flip()

    def close(self) -> None:
        """Close the window."""
        self.closed = True
        pygame.display.quit()


def follower(scenario: Playable) -> Viewer:
    """Render mode `human`: the window that follows an environment."""
    return Viewer(scenario.name, sprite_folders(scenario))


def is_open() -> bool:
    """Whether there is a window."""
    return pygame.display.get_init() and pygame.display.get_surface() is not None


def open_window(
    title: str, size: tuple[int, int] | None = None, full_screen: bool = False
) -> pygame.Surface:
    """Open the window, or change its size.

    Args:
        title: of the window.
        size: width and height in pixels; three quarters of the screen's height if None.
        full_screen: the whole screen, whatever the size.

    Raises:
        NoDisplay: there is no screen.
    """
    chosen = os.environ.get("SDL_VIDEODRIVER") or os.environ.get("SDL_VIDEO_DRIVER")
    screens = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    os.environ.setdefault("SDL_WINDOWS_DPI_AWARENESS", "permonitorv2")  # sharp, not stretched
    if sys.platform.startswith("linux"):
        # a picture drawn by the processor takes a long way through OpenGL without a graphics card
        os.environ.setdefault("SDL_FRAMEBUFFER_ACCELERATION", "0")
    try:
        if sys.platform.startswith("linux") and not (screens or chosen):
            raise pygame.error("there is no screen")  # before SDL complains in its own words
        pygame.display.init()
        if pygame.display.get_driver() in UNSEEN_DRIVERS and not chosen:
            raise pygame.error("there is no screen")
        pygame.display.set_icon(SpriteSheet().get("agent", 0, 64))
        pygame.display.set_caption(title)
        desktop = pygame.display.get_desktop_sizes()[0]
        if full_screen:
            return pygame.display.set_mode(desktop, pygame.FULLSCREEN)
        fitting = _fitting(size, desktop)
        surface = pygame.display.set_mode(fitting, pygame.RESIZABLE)
        if surface.get_size() == fitting:
            return surface
        # SDL left full screen, and takes the size only now
        return pygame.display.set_mode(fitting, pygame.RESIZABLE)
    except pygame.error as error:
        pygame.display.quit()
        raise NoDisplay(
            f"No window can be opened: {error}. Without a screen, `gv-engine play --terminal` "
            f"plays, `gv-engine rollout` too, and `gv-engine record` makes a video."
        ) from error


def _fitting(size: tuple[int, int] | None, desktop: tuple[int, int]) -> tuple[int, int]:
    """The size, or 25 : 16 and three quarters of the screen's height, if the screen has room."""
    tall = max(600, desktop[1] * 3 // 4)
    width, height = size or (tall * 25 // 16, tall)
    return min(width, desktop[0] * 9 // 10), min(height, desktop[1] * 9 // 10)
