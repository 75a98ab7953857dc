"""Somebody at a desk: the front end driven by events in this process, without a window."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import platformdirs
import pytest

from gv_engine.play.session.catalogue import built_in_entries
from gv_engine.play.ui import settings
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.input.bindings import MODIFIERS, PAD, SCANCODES, Bindings, key_parts
from gv_engine.play.ui.screens import start
from gv_engine.play.ui.screens.menu import Menu
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.replay import ReplayScreen
from gv_engine.play.ui.screens.settings import PauseMenu, PauseSection
from gv_engine.play.ui.screens.start import StartScreen
from gv_engine.play.ui.settings import Settings
from gv_engine.play.ui.window.app import App

Shown = TypeVar("Shown")
FLAGS = {"Ctrl": pygame.KMOD_LCTRL, "Alt": pygame.KMOD_LALT, "Shift": pygame.KMOD_LSHIFT}


class Desk:
    """An app, and hands that press its keys. Arrow keys turn unless `app` has other settings, so
    that each key is one action."""

    def __init__(self, size: tuple[int, int] = (800, 600), app: App | None = None) -> None:
        self.app = app or App(Settings(animation=False, arrow_keys="turn"), Bindings())
        self.surface = pygame.Surface(size, 0, 32)
        self.now = 1000.0
        self._is_stale = False

    def start(self) -> StartScreen:
        """Put the start screen on top and draw it."""
        self.app.push(StartScreen(self.app))
        self.draw()
        return self.top(StartScreen)

    def top(self, kind: type[Shown]) -> Shown:
        """Return the screen that has the keys, which is of this kind."""
        found = self.app.top
        assert isinstance(found, kind), found
        return found

    def settle(self) -> None:
        """Wait for pictures that are made between frames."""
        self._draw_if_stale()
        while self.app.top.tick(0) is not None:
            time.sleep(0.001)

    def press(self, *keys: str) -> None:
        """Press and release keys, as bindings name them. What they change is drawn when somebody
        looks, waits or uses the mouse, as most tests do not."""
        for key in keys:
            for down in (True, False):
                self.app.handle_events([key_event(key, down)])
        self._is_stale = True

    def hold(self, key: str, times: int) -> None:
        """Hold a key until it has repeated so many times, one look each, and let go."""
        for _ in range(times + 1):
            self.app.handle_events([key_event(key, True)])
        self.app.handle_events([key_event(key, False)])

    def type(self, text: str, *keys: str) -> None:
        """Type a text, and then press keys."""
        for letter in text:
            self.app.handle_events([letter_event(letter)])
        self._is_stale = True
        self.press(*keys)

    def dash_off(self, text: str, *keys: str) -> None:
        """Type and press keys, all between two pictures."""
        pressed = (key_event(key, True) for key in keys)
        self.app.handle_events([*map(letter_event, text), *pressed])
        self.draw()

    def choose(self, label: str, *keys: str) -> None:
        """Choose a row of the menu or form on top, and press keys there, Enter if none is named."""
        menu = self.top(Menu)
        menu.chosen = labels(menu).index(label)
        self.press(*(keys or ["Return"]))

    def click(self, at: tuple[int, int], button: int = 1) -> None:
        """Press and release a button of the mouse."""
        self.drag(at, at, button)

    def drag(self, start: tuple[int, int], end: tuple[int, int], button: int = 1) -> None:
        """Press a button of the mouse, move the mouse if the end is elsewhere, and release it."""
        self._draw_if_stale()
        self._mouse(pygame.MOUSEBUTTONDOWN, start, button=button)
        if end != start:
            self.point(end, buttons=(1, 0, 0))
        self._mouse(pygame.MOUSEBUTTONUP, end, button=button)
        self.draw()

    def point(self, at: tuple[int, int], **buttons: tuple[int, int, int]) -> None:
        """Move the mouse."""
        self._draw_if_stale()
        self._mouse(pygame.MOUSEMOTION, at, **{"rel": (0, 0), "buttons": (0, 0, 0), **buttons})

    def _mouse(self, kind: int, at: tuple[int, int], **more: Any) -> None:
        self.app.handle_events([pygame.event.Event(kind, pos=at, **more)])

    def draw(self) -> None:
        """Draw what is to be seen."""
        self._is_stale = False
        if self.app.screens:
            self.app.draw_on(self.surface, time.monotonic())

    def _draw_if_stale(self) -> None:
        """Draw what is to be seen, if keys may have changed it."""
        if self._is_stale:
            self.draw()

    def look(self) -> np.ndarray:
        """(height, width, 3) what is to be seen."""
        self.draw()
        return pygame.surfarray.array3d(self.surface).swapaxes(0, 1)

    def back_to_start(self) -> None:
        """Close all screens above the first one."""
        while len(self.app.screens) > 1:
            self.app.pop()

    def wait(self, seconds: float, times: int = 1) -> None:
        """Let time pass for the screen on top, once or several times."""
        self._draw_if_stale()
        for _ in range(times):
            self.now += seconds
            if self.app.screens:
                self.app.top.tick(self.now)

    def notice(self) -> None:
        """Let the screen on top see that a file was saved, and take the steps again."""
        self.wait(1)
        self.wait(0, times=100)  # as many bits as it takes


def key_event(key: str, down: bool) -> pygame.event.Event:
    """Return the event of a key or of a button of a gamepad, as bindings name it."""
    *modifiers, name = key_parts(key)
    if name in PAD:
        kind = pygame.CONTROLLERBUTTONDOWN if down else pygame.CONTROLLERBUTTONUP
        return pygame.event.Event(kind, button=PAD.index(name), instance_id=0)
    assert set(modifiers) <= set(MODIFIERS)
    mod = sum(FLAGS[modifier] for modifier in modifiers)
    kind = pygame.KEYDOWN if down else pygame.KEYUP
    return pygame.event.Event(kind, scancode=SCANCODES[name], key=0, mod=mod, unicode="")


def letter_event(letter: str) -> pygame.event.Event:
    """Return the event of a typed letter."""
    return pygame.event.Event(pygame.TEXTINPUT, text=letter)


def labels(menu: Menu) -> list[str]:
    """Return the labels of all rows of a menu."""
    return [row.label for row in menu.rows()]


def pause_labels(desk: Desk) -> list[str]:
    """Return the labels of the pause menu on top and of the lists that it leads to."""
    menu = desk.top(PauseMenu)
    titles = "Levels and replays", "View and actions", "Keys and settings"
    sections = [PauseSection(menu._screen, title) for title in titles]
    return [label for shown in (menu, *sections) for label in labels(shown)]


list_levels_once = cache(built_in_entries)
"""Levels of all start screens. Their packs are read once."""


def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the player's own folders be in this one, and let start screens share their levels."""
    for name in ("cache", "config", "data"):
        monkeypatch.setattr(
            platformdirs, f"user_{name}_dir", lambda *_, name=name, **__: str(folder / name)
        )
    monkeypatch.setattr(start, "built_in_entries", list_levels_once)
    return folder


def playing(desk: Desk, source: str = "empty-4x4", seed: int = 0) -> PlayScreen:
    """The screen of a level that somebody has begun."""
    desk.app.push(StartScreen(desk.app))
    desk.app.play(source, seed)
    desk.draw()
    return desk.top(PlayScreen)


def watching(desk: Desk, *actions: str) -> ReplayScreen:
    """The screen of a replay of these actions."""
    screen = playing(desk)
    for action in actions:
        screen.take_action(action)
    screen.save_replay()
    (file,) = settings.replay_folder().iterdir()
    desk.back_to_start()
    desk.app.watch_replay(file)
    desk.draw()
    return desk.top(ReplayScreen)
