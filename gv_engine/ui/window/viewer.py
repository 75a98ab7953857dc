"""The window itself, and one in which a program shows its frames."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from gv_engine.envs.render_modes import has_screen
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.session.episode import Playable
from gv_engine.session.sprite_paths import sprite_folders
from gv_engine.ui.drawing.recording import Onlooker
from gv_engine.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.ui.input.bindings import Bindings
from gv_engine.ui.screens.keyboard import Keyboard

_NAP = 0.005  # s between two looks at what was pressed
_TOLD = (
    (("replay", "play"), "pause or go on"),
    (("replay", "forward"), "a step on"),
    (("replay", "faster"), "faster"),
    (("replay", "slower"), "slower"),
    (("view", "view"), "another view"),
    (("replay", "leave"), "close"),
)
"""Groups and names of commands, and what they do to a program that is watched."""
UNSEEN_DRIVERS = ("offscreen", "dummy")  # SDL takes them, without a word, where there is no screen


class NoDisplay(RuntimeError):
    """There is no screen to open a window on."""


class Viewer:
    """A window that shows frames while a program plays. Closing it does not stop the program.

    It has the keys of those who watch replays, as far as they go where there is no way back.

    Args:
        title: of the window.
        sprite_folders: of the game's own sprites.
        fps: frames a second at most, at the usual speed; as they come if 0.

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
        fps: float = 0,
    ) -> None:
        self.closed = False
        self._title, self._fps = title, fps
        self._keyboard, (self._bindings, _) = Keyboard(), Bindings.load()
        told = [(key, says) for name, says in _TOLD if (key := self._bindings.label(*name))]
        hints = [f"{key} {says}" for key, says in told]
        self._onlooker = Onlooker(title, sprite_folders, hints=hints)
        self._plays, self._once = True, False
        self._full_screen = self._stale = False
        self._steps, self._due = 0, 0.0
        self._open()

    def show(self, frame: Any) -> None:
        """Draw a frame when its time has come, and heed what is pressed until then.

        Raises:
            NoDisplay: there is no screen.
        """
        if self.closed:
            return
        if not is_open():
            self._open()
        self._take()
        # one that is drawn twice does not take twice as long
        new = frame.steps != self._steps
        while new and not self._is_due():
            time.sleep(_NAP)
            self._take()
            if self._stale and is_open():
                self._draw(self._onlooker.frame())
        if is_open():
            self._draw(frame)
            self._steps = frame.steps
            self._due = time.monotonic() + (1 / self._fps if self._fps else 0)

    def close(self) -> None:
        """Close the window."""
        self.closed = True
        self._keyboard.close()
        pygame.display.quit()

    def _open(self) -> None:
        open_window(self._title, full_screen=self._full_screen)
        self._keyboard.open()
        self._stale = True

    def _is_due(self) -> bool:
        once, self._once = self._once, False
        return once or self.closed or (self._plays and time.monotonic() >= self._due)

    def _draw(self, frame: Any) -> None:
        self._stale = False
        self._onlooker.draw(pygame.display.get_surface(), frame)
        pygame.display.flip()

    def _take(self) -> None:
        self._keyboard.begin()
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.close()
                return
            self._stale |= event.type in (pygame.VIDEORESIZE, pygame.WINDOWEXPOSED)
            for key, repeated in self._keyboard.keys(event):
                command = self._bindings.find(key, ("replay", "view", "window"))
                if command and self._keyboard.counts(key, repeated, command.repeats):
                    self._do(command.name)
                if self.closed:
                    return

    def _do(self, name: str) -> None:
        self._stale = True
        if name == "play":
            self._plays = not self._plays
        elif name == "forward":
            self._plays, self._once = False, True
        elif name in ("faster", "slower"):
            self._fps *= 2 if name == "faster" else 0.5
        elif name == "full_screen":
            self._full_screen = not self._full_screen
            self._open()
        elif name == "leave":
            self.close()
        else:
            self._onlooker.command(name)


def follower(scenario: Playable) -> Viewer:
    """Render mode `human`: the window that follows an environment."""
    fps = resolve_name(DOMAINS[scenario.domain].env).metadata["render_fps"]
    return Viewer(scenario.name, sprite_folders(scenario), fps)


def is_open() -> bool:
    """Whether there is a window."""
    return pygame.display.get_init() and pygame.display.get_surface() is not None


def _fills_the_screen() -> bool:
    return bool(pygame.display.get_surface().get_flags() & pygame.FULLSCREEN)


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
    os.environ.setdefault("SDL_WINDOWS_DPI_AWARENESS", "permonitorv2")  # sharp, not stretched
    if sys.platform.startswith("linux"):
        # a picture drawn by the processor takes a long way through OpenGL without a graphics card
        os.environ.setdefault("SDL_FRAMEBUFFER_ACCELERATION", "0")
    try:
        if not has_screen():
            raise pygame.error("there is no screen")  # before SDL complains in its own words
        pygame.display.init()
        if pygame.display.get_driver() in UNSEEN_DRIVERS and not chosen:
            raise pygame.error("there is no screen")
        if is_open() and _fills_the_screen() != full_screen:
            # a new window: without a window manager nobody puts the old one where it belongs
            pygame.display.quit()
            pygame.display.init()
        pygame.display.set_icon(SpriteSheet().get("agent", 0, 64))
        pygame.display.set_caption(title)
        desktop = pygame.display.get_desktop_sizes()[0]
        if full_screen:
            return pygame.display.set_mode(desktop, pygame.FULLSCREEN)
        return pygame.display.set_mode(_fitting(size, desktop), pygame.RESIZABLE)
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
