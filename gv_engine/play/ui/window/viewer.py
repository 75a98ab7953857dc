"""Window for render mode `human`, and a window in a separate process for a batch of worlds."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.sharedctypes import RawArray
from pkgutil import resolve_name
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.compiled_backend import CompiledBatch
from gv_engine.envs.render_modes import has_screen
from gv_engine.envs.rollout.policy import Policy
from gv_engine.play.session.autoplay import PolicyMaps
from gv_engine.play.session.batch_viewer import BatchSnapshot, BatchSource, CurvePoint, cell_codes
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.sprite_paths import SpriteSource, sprite_sources
from gv_engine.play.session.timeline import run_generator
from gv_engine.play.ui.drawing.recording import FrameRenderer
from gv_engine.play.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.screens.keyboard import Keyboard
from gv_engine.rules.component import AGENT
from gv_engine.rules.errors import GVEngineError, complain
from gv_engine.rules.frame import Frame
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.worker_process import start_worker

_NAP = 0.005  # s between two polls for events
# Descriptions of the commands in the hints by name.
_HINTS = {
    **{"play": "pause or go on", "forward": "a step on", "faster": "faster", "slower": "slower"},
    **{"view": "another view", "leave": "close"},
}
UNSEEN_DRIVERS = ("offscreen", "dummy")  # SDL falls back to these without a screen


class NoDisplay(GVEngineError, RuntimeError):
    """No window can be opened."""


class Viewer:
    """Window that shows the frames of a running program; closing the window does not stop the
    program.

    The keys are the keys of the replay player, except the keys that go back.

    Args:
        title: title of the window.
        sprite_sources: places of the game's own sprites, see `sprite_paths.sprite_sources`.
        fps: maximum frames per second; 0 for no limit.

    Attributes:
        closed: True after the window was closed; then `show` does nothing.

    Raises:
        NoDisplay: no window can be opened.
    """

    result = None

    def __init__(
        self, title: str, sprite_sources: Iterable[SpriteSource] = (), fps: float = 0
    ) -> None:
        self.closed = False
        self._title, self._fps = title, fps
        self._keyboard, (self._bindings, _) = Keyboard(), Bindings.load()
        label = self._bindings.label
        labels = {name: label("view" if name == "view" else "replay", name) for name in _HINTS}
        hints = [f"{key} {_HINTS[name]}" for name, key in labels.items() if key]
        self._renderer = FrameRenderer(title, sprite_sources, hints=hints)
        self._is_playing, self._steps_once = True, False
        self._full_screen = self._needs_redraw = self._must_reopen = False
        self._drawn_step, self._next_step = 0, 0.0  # number and time
        self._open()

    def show(self, frame: Any) -> None:
        """Draw `frame`, a snapshot of the running program's world. First wait, handling keys and
        mouse, until the chosen speed or the user allows the next picture.

        Raises:
            NoDisplay: no window can be opened.
        """
        if self.closed:
            return
        if not is_open():
            self._open()
        self._handle_events()
        if frame.steps != self._drawn_step:  # a frame that is drawn twice is not delayed twice
            while not self._is_due():
                time.sleep(_NAP)
                self._handle_events()
                if self._needs_redraw and is_open():
                    self._draw(self._renderer.frame())
            self._steps_once = False
        if is_open():
            self._draw(frame)
            self._drawn_step = frame.steps
            self._next_step = time.monotonic() + (1 / self._fps if self._fps else 0)

    def close(self) -> None:
        """Close the window."""
        self.closed = True
        self._keyboard.close()
        pygame.display.quit()

    def _open(self) -> None:
        open_window(self._title, full_screen=self._full_screen)
        self._keyboard.open()
        self._needs_redraw = True

    def _is_due(self) -> bool:
        is_time = self._is_playing and time.monotonic() >= self._next_step
        return self._steps_once or self.closed or is_time

    def _draw(self, frame: Any) -> None:
        self._needs_redraw = False
        self._renderer.draw(pygame.display.get_surface(), frame)
        pygame.display.flip()

    def _handle_events(self) -> None:
        """Handle all pending events of the window."""
        events = pygame.event.get()
        self._keyboard.begin_batch(events)
        for event in events:
            if event.type == pygame.QUIT:
                self.close()
                return
            self._needs_redraw |= event.type in (pygame.VIDEORESIZE, pygame.WINDOWEXPOSED)
            for key, is_repeat in self._keyboard.keys(event):
                command = self._bindings.find(key, ("replay", "view", "window"))
                if command and self._keyboard.accepts(key, is_repeat, command.repeats):
                    self._run_command(command.name)
                if self.closed:
                    return
        if self._must_reopen and not self._keyboard.holds_last_key:  # else it is a new press there
            self._must_reopen = False
            self._open()

    def _run_command(self, name: str) -> None:
        """Run the command `name` of a pressed key: pause, single step, speed, full screen, close,
        or a view command."""
        self._needs_redraw = True
        if name == "play":
            self._is_playing = not self._is_playing
        elif name == "forward":
            self._is_playing, self._steps_once = False, True
        elif name in ("faster", "slower"):
            self._fps *= 2 if name == "faster" else 0.5
        elif name == "full_screen":
            self._full_screen = not self._full_screen
            self._must_reopen = True
        elif name == "leave":
            self.close()
        else:
            self._renderer.run_command(name)


def open_viewer(scenario: Playable) -> Viewer:
    """Return the window of render mode `human` for a scenario."""
    fps = scenario.beat or resolve_name(DOMAINS[scenario.domain].env).metadata["render_fps"]
    return Viewer(scenario.name, sprite_sources(scenario), fps)


def is_open() -> bool:
    """Return whether a window is open."""
    return pygame.display.get_init() and pygame.display.get_surface() is not None


def open_window(
    title: str, size: tuple[int, int] | None = None, full_screen: bool = False
) -> pygame.Surface:
    """Open the window with the given title, or resize the open one. `size` is (width, height) in
    pixels; by default it depends on the monitor.

    Args:
        title: title of the window.
        size: width and height in pixels; three quarters of the monitor's height if None.
        full_screen: True to use the whole monitor.

    Raises:
        NoDisplay: no window can be opened.
    """
    chosen_driver = os.environ.get("SDL_VIDEODRIVER") or os.environ.get("SDL_VIDEO_DRIVER")
    os.environ.setdefault("SDL_WINDOWS_DPI_AWARENESS", "permonitorv2")  # sharp, not stretched
    if sys.platform.startswith("linux"):
        # a picture drawn by the processor takes a long way through OpenGL without a graphics card
        os.environ.setdefault("SDL_FRAMEBUFFER_ACCELERATION", "0")
    try:
        if not has_screen():
            raise pygame.error("there is no screen")  # instead of SDL's message
        pygame.display.init()
        if pygame.display.get_driver() in UNSEEN_DRIVERS and not chosen_driver:
            raise pygame.error("there is no screen")
        if is_open():
            flags = pygame.display.get_surface().get_flags()
            if bool(flags & pygame.FULLSCREEN) != full_screen:
                # a new window: without a window manager nobody puts the old one where it belongs
                pygame.display.quit()
                pygame.display.init()
        pygame.display.set_icon(SpriteSheet().get("agent", 0, 64))
        pygame.display.set_caption(title)
        desktop = pygame.display.get_desktop_sizes()[0]
        if full_screen:
            return pygame.display.set_mode(desktop, pygame.FULLSCREEN)
        return pygame.display.set_mode(_choose_window_size(size, desktop), pygame.RESIZABLE)
    except pygame.error as error:
        pygame.display.quit()
        raise NoDisplay(
            f"No window can be opened: {error}. Without a screen, `gv-engine play --terminal` "
            f"plays, `gv-engine rollout` too, and `gv-engine record` makes a video."
        ) from error


def _choose_window_size(size: tuple[int, int] | None, desktop: tuple[int, int]) -> tuple[int, int]:
    default_height = max(600, desktop[1] * 3 // 4)
    width, height = size or (default_height * 25 // 16, default_height)
    return min(width, desktop[0] * 9 // 10), min(height, desktop[1] * 9 // 10)


_PICTURE_TIME = 1 / 30  # minimum seconds between two pictures
_VALUES_TIME = 1.0  # minimum seconds between two policy maps


class BatchProcess:
    """Window in another process that shows worlds which this process steps. This process continues
    to step them after the window is closed.

    Args:
        batch: worlds to show.
        title: text about the worlds, such as the policy.
    """

    def __init__(self, batch: CompiledBatch, title: str) -> None:
        """Open a window in another process that shows the worlds of `batch`; `title` describes
        them."""
        self._batch = batch
        shape = (len(batch), *batch.scenario.largest_shape)
        memory = RawArray("I", int(np.prod(shape)))
        self._codes = _wrap_codes(memory, shape)
        self._next_picture, self._steps = 0.0, 0
        self._watched: int | None = None  # world whose values are shown
        self._visits: Counter[tuple[int, int]] = Counter()  # steps in each cell of that world
        self._values_due = 0.0
        args = batch.scenario, memory, shape, title
        self._process, self._connection = start_worker(_run_window, *args)

    def send_state(self) -> None:
        """Count a step, and send the worlds' new state to the window's process, at most 30 times a
        second."""
        self._steps += 1
        if self._watched is not None:
            row = self._batch.rows[self._watched]
            if not row["steps"]:
                self._visits.clear()
            position = row["position"]
            self._visits[int(position["y"][AGENT]), int(position["x"][AGENT])] += 1
        if time.monotonic() >= self._next_picture:
            self._next_picture = time.monotonic() + _PICTURE_TIME
            self._codes[...] = cell_codes(self._batch)
            self.send(self._steps)

    def send_values(self, make_policy: Callable[[int], Policy]) -> None:
        """Send the policy's value estimates for the cells of the world in which the window shows
        them, at most once a second. Do nothing if there is no such world.

        Args:
            make_policy: function from a number of worlds to the policy that acts in them.
        """
        with suppress(EOFError, OSError):  # the window has been closed
            while self._connection.poll():
                self._watched, self._values_due = self._connection.recv(), 0.0
                self._visits.clear()
        if self._watched is None or time.monotonic() < self._values_due:
            return
        self._values_due = time.monotonic() + _VALUES_TIME
        session = Game(self._batch.scenario, 0)
        session.restore(self._batch.snapshot(self._watched))
        with closing(PolicyMaps(make_policy)) as maps:
            if map_steps := maps.start(session, self._visits):
                self.send(replace(session.frame(), policy_map=run_generator(map_steps)))

    def send(self, message: int | CurvePoint | Frame) -> None:
        """Send `message`, the number of steps, a new point of the curves or a world with values, to
        the window's process; do nothing if the window is closed."""
        with suppress(OSError):  # the window has been closed
            self._connection.send(message)

    def close(self) -> None:
        """Kill the process of the window."""
        self._process.kill()
        self._process.join()
        self._connection.close()


class RemoteWorlds(BatchSource):
    """Worlds of another process, as the batch viewer shows them; see
    `gv_engine.play.session.batch_viewer.BatchSource`."""

    def __init__(self, scenario: Scenario, codes: NDArray[np.uint32], messages: Connection) -> None:
        """Make a view of worlds that another process steps. `codes`, (N, H, W) in memory shared
        with it, encodes the appearance of the cells. `messages` brings step counts and points of
        the curves."""
        self.scenario, self.trouble = scenario, ""
        self.curves: deque[CurvePoint] = deque(maxlen=600)
        self._codes, self._messages = codes, messages
        self._snapshot: BatchSnapshot | None = None

    def latest_snapshot(self) -> BatchSnapshot | None:
        """Return the last state of the worlds that the other process has sent; None if it has sent
        none."""
        try:
            while self._messages.poll():
                message = self._messages.recv()
                if isinstance(message, CurvePoint):
                    self.curves.append(message)
                elif isinstance(message, Frame):
                    self.values = message
                else:
                    self._snapshot = BatchSnapshot(self._codes.copy(), message)
        except (EOFError, OSError):
            self.trouble = "It has ended"
        return self._snapshot

    def watch_values(self, world: int | None) -> None:
        """Ask the other process for the policy's action and value in each cell of the world with
        index `world`; stop asking if it is None."""
        self.values = None
        with suppress(OSError):  # it has ended
            self._messages.send(world)


def _wrap_codes(memory: Any, shape: tuple[int, ...]) -> NDArray[np.uint32]:
    return np.frombuffer(memory, np.uint32).reshape(shape)


def _run_window(
    messages: Connection, scenario: Scenario, memory: Any, shape: tuple[int, ...], title: str
) -> None:
    """Main function of the window's process: show the worlds of `scenario` until the connection
    `messages` closes. `memory` is shared; it holds the codes of the cells' appearance as an array
    of `shape`."""
    from gv_engine.play.ui.screens.batch import BatchScreen
    from gv_engine.play.ui.window.app import App

    app = App.load()
    worlds = RemoteWorlds(scenario, _wrap_codes(memory, shape), messages)
    try:
        app.run(lambda app: app.push(BatchScreen(app, worlds, title)))
    except NoDisplay as error:
        complain(error)
