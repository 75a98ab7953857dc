"""Export: an episode as a picture, an animation or a video."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence

from gv_engine.frontend.controls.folders import new_file, recording_folder
from gv_engine.frontend.controls.settings import CELLS, EXPORTS, SPEEDS
from gv_engine.frontend.drawing.recording import Recorder, views_of
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen
from gv_engine.frontend.window.screens.menu import Menu, MenuRow
from gv_engine.frontend.window.screens.screen import Host
from gv_engine.language.errors import GVEngineError, reason
from gv_engine.playing.game import Game

SECONDS_AT_ONCE = 0.03  # s of drawing between two looks at the keys
SAYS = {".mp4": "MP4 video", ".gif": "GIF animation", ".png": "PNG of this step"}


class ExportScreen(Menu):
    """Chooses how, and writes a little at a time, so that it can be watched and stopped.

    Args:
        app: that it belongs to.
        game: what is exported.
    """

    title = "Export"

    def __init__(self, app: Host, game: Game) -> None:
        super().__init__(app)
        self._game = game
        self._views = views_of(game.scenario)
        if app.settings.export_view not in self._views:
            app.settings.export_view = next(iter(self._views))
        self._writing: Generator[None] | None = None
        self._done = self._all = 0

    @property
    def words(self) -> str:
        return f"Into {recording_folder()}"

    def rows(self) -> Sequence[MenuRow]:
        settings = self.app.settings
        suffixes = {suffix: SAYS.get(suffix, suffix) for suffix in EXPORTS}
        speeds = {speed: f"{speed} steps a second" for speed in SPEEDS}
        return (
            MenuRow("Export", lambda _: self._begin()),
            self.choice(settings, "As", "export_as", suffixes),
            self.choice(settings, "View", "export_view", {view: view for view in self._views}),
            self.choice(settings, "Cells", "export_cell", {c: f"{c} pixels" for c in CELLS}),
            self.choice(settings, "Speed", "export_speed", speeds),
            MenuRow("Back", lambda _: self.app.pop(), key=self.app.bindings.label("menu", "leave")),
        )

    def command(self, name: str) -> None:
        if self._writing is None:
            super().command(name)
        elif name == "leave":
            self._stop()
            self.app.say("Not exported")

    def tick(self, now: float) -> float | None:
        if self._writing is None:
            return None
        self.app.stale = True
        until = time.monotonic() + SECONDS_AT_ONCE
        try:
            while time.monotonic() < until:
                next(self._writing)
        except StopIteration:
            self._writing = None
            self.app.pop()
        except (GVEngineError, OSError) as error:
            self._writing = None
            self.app.say(f"Not exported: {reason(error)}", stays=15)
        return 0

    def closed(self) -> None:
        self._stop()
        self.app.remember()

    def _begin(self) -> None:
        self._done = 0
        self._writing = self._write()

    def _stop(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    def _write(self) -> Generator[None]:
        """Write the file, a picture between two yields; closed before its end it leaves none."""
        shown, settings = self._game, self.app.settings
        game = Game.of(shown.replay(), shown.scenario)  # where it is watched stays as it is
        steps = range(game.length + 1)
        if settings.export_as == ".png":
            steps = range(shown.position, shown.position + 1)
        self._all = len(steps)
        file = new_file(recording_folder(), game, settings.export_as)
        drawn = settings.export_view, settings.export_cell, settings.export_speed
        with Recorder(file, game.scenario, *drawn) as recorder:
            for step in steps:
                game.seek(step)
                recorder.add(game.frame())
                self._done += 1
                yield
        self.app.say(f"Saved {file}")

    def draw(self, pen: Pen, now: float) -> None:
        if self._writing is None:
            super().draw(pen, now)
            return
        line = pen.line
        card = pygame.Rect(0, 0, min(pen.area.w - line, 26 * line), 6 * line)
        card.center = pen.area.center
        pen.card(card)
        inner = card.inflate(-2 * line, -line)
        says = f"{self._done} of {self._all} pictures"
        pen.text(pygame.Rect(inner.x, inner.y, inner.w, line), says)
        bar = pygame.Rect(inner.x, inner.y + 3 * line // 2, inner.w, line)
        pen.bar(bar, self._done / max(1, self._all))
        leave = pygame.Rect(inner.x, bar.bottom + line // 2, inner.w, line * 7 // 4)
        pen.button(leave, "Stop", self._stop, self.app.bindings.label("menu", "leave"))
