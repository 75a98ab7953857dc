"""The window: a game played with the keyboard, or one watched while a program plays.

Only pygame is asked, and only when a window is opened; pictures come from `drawing`.
"""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from pathlib import Path
from typing import NamedTuple, Protocol

from gv_engine.frame import Frame
from gv_engine.frontend.drawing import MIN_SIZE, draw_frame
from gv_engine.frontend.mosaic import SpriteNames
from gv_engine.frontend.sprites import SpriteSheet, pygame

RESET = "RESET"
LEAVE = "LEAVE"


class Keys(NamedTuple):
    """A group of keys: how the help line calls them, and what each of them does."""

    label: str
    meaning: str
    actions: Mapping[int, str]
    shift: bool = False
    repeat: bool = False


KEYS = (
    Keys(
        "Arrows/WASD",
        "move and turn",
        {
            pygame.K_UP: "MOVE_FORWARD",
            pygame.K_w: "MOVE_FORWARD",
            pygame.K_DOWN: "MOVE_BACKWARD",
            pygame.K_s: "MOVE_BACKWARD",
            pygame.K_LEFT: "TURN_LEFT",
            pygame.K_a: "TURN_LEFT",
            pygame.K_RIGHT: "TURN_RIGHT",
            pygame.K_d: "TURN_RIGHT",
        },
        repeat=True,
    ),
    Keys(
        "Shift+Left/Right",
        "step aside",
        {
            pygame.K_LEFT: "MOVE_LEFT",
            pygame.K_a: "MOVE_LEFT",
            pygame.K_RIGHT: "MOVE_RIGHT",
            pygame.K_d: "MOVE_RIGHT",
        },
        shift=True,
        repeat=True,
    ),
    Keys("Space", "use", {pygame.K_SPACE: "ACTUATE"}),
    Keys("P", "pick up or drop", {pygame.K_p: "PICK_N_DROP"}),
    Keys("R", "play again", {pygame.K_r: RESET}),
    Keys("Esc", "leave", {pygame.K_ESCAPE: LEAVE}),
)
"""What every key does; the help line and the banner are made of it."""

HELP = tuple(f"{keys.label} {keys.meaning}" for keys in KEYS)
AGAIN = next(f"{keys.label}: {keys.meaning}" for keys in KEYS if RESET in keys.actions.values())
BOUND = {
    (key, keys.shift): (keys.actions[key], keys.repeat) for keys in KEYS for key in keys.actions
}

REPEAT_AFTER, REPEAT_EVERY = 250, 90  # ms a key is held
WAKE_EVERY = 250  # ms: Python sees Ctrl-C only between waits
OTHER_MODIFIERS = pygame.KMOD_CTRL | pygame.KMOD_ALT | pygame.KMOD_META
UNSEEN_DRIVERS = ("offscreen", "dummy")  # SDL takes them, without a word, where there is no screen


class NoDisplay(RuntimeError):
    """There is no screen to open a window on."""


class Game(Protocol):
    """What the window asks of a game."""

    @property
    def title(self) -> str:
        """Of the window."""

    @property
    def names(self) -> SpriteNames:
        """From an object's type and state to the name of its sprite."""

    @property
    def sprite_folders(self) -> Sequence[Path]:
        """Where the game's own sprites are."""

    def frame(self) -> Frame:
        """Return what is to be seen now."""

    def step(self, action: str) -> None:
        """Take an action of that name; pass over one that the game does not have."""

    def reset(self) -> None:
        """Begin another episode."""


def play(game: Game) -> None:
    """Open a window and let the player play, until it is closed, or Esc or Ctrl-C is pressed.

    Raises:
        NoDisplay: there is no screen.
    """
    window = _Window(game.title, game.names, game.sprite_folders, HELP, AGAIN)
    try:
        _play(game, window)
    except KeyboardInterrupt:
        pass
    finally:
        window.close()


def _play(game: Game, window: "_Window") -> None:
    pygame.key.set_repeat(REPEAT_AFTER, REPEAT_EVERY)
    frame = game.frame()
    window.draw(frame)
    held: set[int] = set()
    while True:
        changed = False
        stepped: set[int] = set()  # a slow game must not walk on after the key is let go
        for event in (pygame.event.wait(WAKE_EVERY), *pygame.event.get()):
            changed |= event.type in (pygame.VIDEORESIZE, pygame.WINDOWEXPOSED)
            if event.type == pygame.QUIT:
                return
            if event.type == pygame.WINDOWFOCUSLOST:
                held.clear()
            if event.type == pygame.KEYUP:
                held.discard(event.key)
            if event.type != pygame.KEYDOWN:
                continue
            action, repeats = action_of(event.key, event.mod)
            if event.key in held and (not repeats or event.key in stepped):
                continue
            held.add(event.key)
            stepped.add(event.key)
            if action == LEAVE:
                return
            if action == RESET:
                game.reset()
            elif action and not frame.outcome:
                game.step(action)
            else:
                continue
            frame = game.frame()
            changed = True
        if changed:
            window.draw(frame)


def action_of(key: int, modifiers: int) -> tuple[str, bool]:
    """Return what a key does, nothing if it is free, and whether it does so on and on when held.

    Args:
        key: a `pygame.K_…`.
        modifiers: `pygame.KMOD_…`, or-ed.
    """
    if modifiers & OTHER_MODIFIERS:
        return "", False
    plain = BOUND.get((key, False), ("", False))
    return BOUND.get((key, True), plain) if modifiers & pygame.KMOD_SHIFT else plain


class Viewer:
    """A window to watch in: it shows a frame and returns at once.

    pygame has one window in a process, so that viewers in one process share it. Once the window is
    closed, `closed` is true and frames are no longer shown.

    Args:
        title: of the window.
        names: from an object's type and state to the name of its sprite.
        sprite_folders: where sprites are looked for after the engine's own.
        fps: frames a second at most; `show` waits for as long as needed. None: no limit.
    """

    def __init__(
        self,
        title: str,
        names: SpriteNames,
        sprite_folders: Iterable[Path] = (),
        fps: float | None = None,
    ) -> None:
        self.closed = False
        self._fps = fps
        self._clock = pygame.time.Clock()
        self._window = _Window(title, names, sprite_folders)

    def show(self, frame: Frame) -> None:
        """Draw a frame and take note of what happened to the window since the last one.

        Raises:
            NoDisplay: there is no screen.
        """
        if self.closed:
            return
        self._window.open()
        for event in pygame.event.get():
            if event.type == pygame.QUIT:
                self.close()
                return
        self._window.draw(frame)
        if self._fps is not None:
            self._clock.tick(self._fps)

    def close(self) -> None:
        """Close the window."""
        self.closed = True
        self._window.close()


class _Window:
    def __init__(
        self,
        title: str,
        names: SpriteNames,
        folders: Iterable[Path],
        keys: Sequence[str] = (),
        again: str = "",
    ) -> None:
        self._title, self._names = title, names
        self._keys, self._again = keys, again
        self._sheet = SpriteSheet(folders)
        self.open()

    def open(self) -> None:
        """Open the window unless it is."""
        if pygame.display.get_init() and pygame.display.get_surface() is not None:
            return
        chosen = os.environ.get("SDL_VIDEODRIVER") or os.environ.get("SDL_VIDEO_DRIVER")
        screens = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        try:
            if sys.platform.startswith("linux") and not (screens or chosen):
                raise pygame.error("there is no screen")  # before SDL complains in its own words
            pygame.display.init()
            if pygame.display.get_driver() in UNSEEN_DRIVERS and not chosen:
                raise pygame.error("there is no screen")
            pygame.display.set_icon(self._sheet.get("agent", 0, 64))
            pygame.display.set_caption(self._title)
            pygame.display.set_mode(_first_size(), pygame.RESIZABLE)
        except pygame.error as error:
            pygame.display.quit()
            raise NoDisplay(
                f"No window can be opened: {error}. Without a screen, `gv-engine rollout` plays "
                f"and `gv-engine record` makes a video."
            ) from error

    def close(self) -> None:
        pygame.display.quit()

    def draw(self, frame: Frame) -> None:
        screen = pygame.display.get_surface()
        width, height = screen.get_size()
        zoom = max(1, MIN_SIZE[0] / width, MIN_SIZE[1] / height)
        fits = zoom == 1
        picture = draw_frame(
            frame,
            (ceil(width * zoom), ceil(height * zoom)),
            self._sheet,
            self._names,
            keys=self._keys,
            again=self._again,
            onto=screen if fits else None,
        )
        if not fits:
            screen.blit(pygame.transform.smoothscale(picture, (width, height)), (0, 0))
        pygame.display.flip()


def _first_size() -> tuple[int, int]:
    """Three quarters of the screen's height, which suits screens of any density; 25 : 16."""
    width, height = pygame.display.get_desktop_sizes()[0]
    tall = max(600, height * 3 // 4)
    return min(tall * 25 // 16, width * 9 // 10), min(tall, height * 9 // 10)
