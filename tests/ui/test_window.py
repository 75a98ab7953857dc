"""The window, its events and its keys, under an SDL driver that shows nothing."""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from gv_engine import GridEnv
from gv_engine.cli import main
from gv_engine.play.session.replay import Replay
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.settings import Settings, unfinished_files
from gv_engine.play.ui.window import app as app_module
from gv_engine.play.ui.window import viewer
from gv_engine.play.ui.window.app import NAP, App
from gv_engine.play.ui.window.viewer import NoDisplay, Viewer
from gv_engine.rules.frame import Frame
from tests.desk import home, key_event

pytestmark = pytest.mark.window

DRIVERS = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")


@pytest.fixture
def no_screen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without a screen, and a home of its own."""
    home(tmp_path, monkeypatch)
    for name in DRIVERS:
        monkeypatch.delenv(name, raising=False)
    pygame.display.quit()
    yield
    pygame.display.quit()


@pytest.fixture
def driver(no_screen: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")


class Clock:
    """Stands in for `time` in a module: nobody waits, and something may happen at a nap.

    Attributes:
        now: seconds.
        naps: how often somebody has slept.
        events: what happens during a nap, by its number.
    """

    def __init__(self) -> None:
        self.now, self.naps = 100.0, 0
        self.events: dict[int, Callable[[], object]] = {}

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.naps += 1
        self.events.get(self.naps, int)()


def press(*keys: str) -> None:
    """Press and release keys in the window."""
    for key in keys:
        pygame.event.post(key_event(key, True))
        pygame.event.post(key_event(key, False))


def close() -> None:
    """Press the close button."""
    pygame.event.post(pygame.event.Event(pygame.QUIT))


HELD_TWICE = (True, True, False) * 2
"""Is the key of an event pressed? A held key is pressed again in a new window."""
SWITCHED_TWICE = [False, False, True, True, True, False]


def fills_screen() -> bool:
    return bool(pygame.display.get_surface().get_size() == pygame.display.get_desktop_sizes()[0])


def interrupt() -> None:
    """Press Ctrl-C in the terminal."""
    raise KeyboardInterrupt


def picture() -> np.ndarray:
    return pygame.surfarray.array3d(pygame.display.get_surface())


def corridor(steps: int = 0) -> Frame:
    grid = np.full((3, 9, 3), (3, 0, 0), np.uint8)
    grid[1, 1:-1, 0] = 2
    agent, seen = (1, 1 + steps % 7, 3), grid[..., 0] == 2
    return Frame("Corridor", grid, agent, (0, 0, 0), seen, grid[:2, :3], (1, 1, 0), steps=steps)


# ---- the game ----------------------------------------------------------------------------------


@pytest.mark.parametrize("leave", [close, interrupt])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["keydoor-5x5"], "keydoor-5x5: seed 1, left, return -0.15 in 3 steps\n"),
        (["hold-plates", "--policy", "bob=random"], "seed 1, left, return"),
    ],
)
def test_a_game_is_played_and_kept_however_it_is_left(
    driver: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    leave: Callable[[], None],
    words: list[str],
    said: str,
):
    clock = Clock()
    clock.events = {1: lambda: press("Shift+Left", "Shift+Right", "Shift+Left", "G"), 9: leave}
    monkeypatch.setattr(app_module, "time", clock)
    assert main(["play", *words, "--seed", "1"]) == 0
    told, wrong = capsys.readouterr()
    assert said in told
    assert "in 3 steps" in told
    assert wrong == ""
    assert len(Replay.load(unfinished_files()[0]).steps) == 3
    assert not pygame.display.get_init()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["tutorial"], "PackScreen"),
        (["tutorial#2"], "PlayScreen"),
        (["tutorial", "--seed", "3"], "PlayScreen"),
    ],
    ids=" ".join,
)
def test_a_pack_is_opened_at_its_list_of_levels(
    driver: None, monkeypatch: pytest.MonkeyPatch, words: list[str], expected: str
):
    opened: list[str] = []

    def leave(app: App) -> None:
        opened.extend(type(screen).__name__ for screen in app.screens)
        app.screens.clear()

    monkeypatch.setattr(App, "_run_loop", leave)
    assert main(["play", *words]) == 0
    assert opened == ["StartScreen", expected]


def test_waiting_costs_little(driver: None, monkeypatch: pytest.MonkeyPatch):
    clock, pictures = Clock(), []
    looks: Iterator[list[pygame.event.Event]] = iter([[]] * 500)
    quits = [pygame.event.Event(pygame.QUIT)]
    monkeypatch.setattr(app_module, "time", clock)
    monkeypatch.setattr(pygame.event, "get", lambda: next(looks, quits))
    monkeypatch.setattr(pygame.display, "flip", lambda: pictures.append(clock.now))
    assert main(["play", "keydoor-5x5"]) == 0
    assert clock.now > 100 + 400 * NAP
    assert len(pictures) == 1


def test_full_screen_and_back_and_a_window_of_another_size(driver: None):
    def toggle_and_resize(app: App) -> None:
        app.play("empty-4x4", 0)
        for down in HELD_TWICE:
            app.handle_events([key_event("F11", down)])
            modes.append(fills_screen())
        pygame.event.clear()
        pygame.event.post(pygame.event.Event(pygame.VIDEORESIZE, size=(500, 90)))
        close()

    modes: list[bool] = []
    App.load().run(toggle_and_resize)
    assert modes == SWITCHED_TWICE
    settings = Settings.load()[0]
    assert (settings.full_screen, settings.window) == (False, [500, 100])


# ---- a window in which a program shows its frames ------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there is a screen without DISPLAY")
@pytest.mark.parametrize("display", ["", ":987"], ids=["unset", "nobody there"])
def test_no_screen_is_an_error_that_names_the_headless_ways(
    no_screen: None, monkeypatch: pytest.MonkeyPatch, display: str
):
    monkeypatch.setenv("DISPLAY", display)
    with pytest.raises(NoDisplay, match=r"`gv-engine play --terminal`.*`gv-engine record`"):
        Viewer("")


def test_a_driver_chosen_by_the_user_is_taken(driver: None):
    shown = Viewer("Watched")
    shown.show(corridor(0))
    before = picture()
    shown.show(corridor(1))
    assert (picture() != before).any()
    assert pygame.display.get_caption()[0] == "Watched"
    close()
    shown.show(corridor())
    shown.show(corridor())
    assert shown.closed
    assert not pygame.display.get_init()
    shown.close()


def test_full_screen_while_a_program_goes_on(driver: None):
    shown, modes = Viewer("Watched"), []
    for steps, down in enumerate(HELD_TWICE):
        pygame.event.post(key_event("F11", down))
        shown.show(corridor(steps))
        modes.append(fills_screen())
    shown.close()
    assert modes == SWITCHED_TWICE


def test_an_environment_is_copied_while_its_window_is_open(driver: None):
    env = GridEnv("keydoor-5x5", world="object", render_mode="human")
    env.reset(seed=0)
    env.render()
    kept = env.snapshot()
    copies = [copy.deepcopy(env), pickle.loads(pickle.dumps(env))]
    results = [one.step(0)[1:4] for one in (env, *copies)]
    env.restore(kept)
    results.append(env.step(0)[1:4])
    assert len({*results}) == 1
    env.close()


def test_a_window_follows_an_environment_of_algebra(driver: None):
    env = gym.make("GV-MathyPolySimplify-easy-v0", render_mode="human")
    env.reset(seed=0, options={"problem": "4x + 2x"})
    before = picture()
    env.step(24)
    assert (before != picture()).any()
    assert pygame.display.get_caption()[0] == "mathy-poly-simplify-easy"
    assert env.render() is None
    env.close()
    assert not pygame.display.get_init()


def test_a_window_follows_at_the_pace_of_the_environment_and_has_keys(
    driver: None, monkeypatch: pytest.MonkeyPatch
):
    clock = Clock()
    monkeypatch.setattr(viewer, "time", clock)
    env = gym.make("GV-Empty-4x4-v0", render_mode="human")
    env.reset(seed=0)

    def seconds_of(steps: int) -> float:
        begun = clock.now
        for _ in range(steps):
            env.step(2)
        return clock.now - begun

    assert 0.9 < seconds_of(8) < 1.2
    env.render()
    assert seconds_of(8) < 1.2
    press("Up", "Up", "Up")
    assert seconds_of(16) < 0.5
    before = picture()
    press("V")
    seconds_of(1)
    assert (before != picture()).any()
    clock.naps, clock.events = 0, {100: lambda: press("Right"), 200: lambda: press("Space")}
    press("Space")
    for naps in (100, 200):
        seconds_of(1)
        assert clock.naps == naps
    press("Escape")
    seconds_of(1)
    assert not pygame.display.get_init()
