"""Somebody at a desk: the front end driven by events in this process, without a window."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TypeVar

import numpy as np
import platformdirs
import pytest

from gv_engine.ui import settings
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.input.bindings import MODIFIERS, PAD, SCANCODES, Bindings
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.screens.replay import ReplayScreen
from gv_engine.ui.screens.start import StartScreen
from gv_engine.ui.settings import Settings
from gv_engine.ui.window.app import App

Shown = TypeVar("Shown")
FLAGS = {"Ctrl": pygame.KMOD_LCTRL, "Alt": pygame.KMOD_LALT, "Shift": pygame.KMOD_LSHIFT}


class Desk:
    """An app, and hands that press its keys."""

    def __init__(self, size: tuple[int, int] = (800, 600), app: App | None = None) -> None:
        self.app = app or App(Settings(animation=False), Bindings())
        self.surface = pygame.Surface(size, 0, 32)
        self.now = 1000.0

    def start(self) -> StartScreen:
        """Put the start screen on top and look at it."""
        self.app.push(StartScreen(self.app))
        self.look()
        return self.top(StartScreen)

    def top(self, kind: type[Shown]) -> Shown:
        """Return the screen that has the keys, which is of this kind."""
        found = self.app.top
        assert isinstance(found, kind), found
        return found

    def settle(self) -> None:
        """Wait for pictures that are made between frames."""
        while self.app.top.tick(0) is not None:
            pass

    def press(self, *keys: str) -> None:
        """Press and release keys, as bindings name them."""
        for key in keys:
            for down in (True, False):
                self.app.handle_events([_event(key, down)])
            self.look()

    def hold(self, key: str, times: int) -> None:
        """Hold a key until it has repeated so many times, one look each, and let go."""
        for _ in range(times + 1):
            self.app.handle_events([_event(key, True)])
        self.app.handle_events([_event(key, False)])

    def type(self, text: str) -> None:
        for letter in text:
            self.app.handle_events([pygame.event.Event(pygame.TEXTINPUT, text=letter)])
        self.look()

    def dash_off(self, text: str, *keys: str) -> None:
        """Type and press keys, all between two pictures."""
        typed = [pygame.event.Event(pygame.TEXTINPUT, text=letter) for letter in text]
        self.app.handle_events([*typed, *(_event(key, True) for key in keys)])
        self.look()

    def click(self, at: tuple[int, int], button: int = 1) -> None:
        for kind in (pygame.MOUSEBUTTONDOWN, pygame.MOUSEBUTTONUP):
            self.app.handle_events([pygame.event.Event(kind, pos=at, button=button)])
        self.look()

    def drag(self, start: tuple[int, int], end: tuple[int, int]) -> None:
        self.app.handle_events([pygame.event.Event(pygame.MOUSEBUTTONDOWN, pos=start, button=1)])
        self.app.handle_events(
            [pygame.event.Event(pygame.MOUSEMOTION, pos=end, rel=(0, 0), buttons=(1, 0, 0))]
        )
        self.app.handle_events([pygame.event.Event(pygame.MOUSEBUTTONUP, pos=end, button=1)])
        self.look()

    def look(self) -> np.ndarray:
        """(height, width, 3) what is to be seen."""
        if self.app.screens:
            self.app.draw_on(self.surface, time.monotonic())
        return pygame.surfarray.array3d(self.surface).swapaxes(0, 1)

    def back_to_start(self) -> None:
        """Close all screens above the first one."""
        while len(self.app.screens) > 1:
            self.app.pop()

    def wait(self, seconds: float) -> None:
        """Let time pass for the screen on top."""
        self.now += seconds
        if self.app.screens:
            self.app.top.tick(self.now)

    def notice(self) -> None:
        """Let the screen on top see that a file was saved, and take the steps again."""
        self.wait(1)
        for _ in range(100):  # as many bits as it takes
            self.wait(0)


def _event(key: str, down: bool) -> pygame.event.Event:
    *modifiers, name = key.split("+")
    if name in PAD:
        kind = pygame.CONTROLLERBUTTONDOWN if down else pygame.CONTROLLERBUTTONUP
        return pygame.event.Event(kind, button=PAD.index(name), instance_id=0)
    assert set(modifiers) <= set(MODIFIERS)
    mod = sum(FLAGS[modifier] for modifier in modifiers)
    kind = pygame.KEYDOWN if down else pygame.KEYUP
    return pygame.event.Event(kind, scancode=SCANCODES[name], key=0, mod=mod, unicode="")


def home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the player's own folders be in this one."""
    for name in ("config", "data"):
        monkeypatch.setattr(
            platformdirs, f"user_{name}_dir", lambda *_, name=name, **__: str(folder / name)
        )
    return folder


def playing(desk: Desk, source: str = "empty-4x4", seed: int = 0) -> PlayScreen:
    """The screen of a level that somebody has begun."""
    desk.app.push(StartScreen(desk.app))
    desk.app.play(source, seed)
    desk.look()
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
    desk.look()
    return desk.top(ReplayScreen)
