"""Export: an episode as a picture, an animation or a video."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence

from gv_engine.rules.errors import GVEngineError, reason
from gv_engine.session.session import Session
from gv_engine.ui.drawing.recording import Recorder, views_of
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter, wrap
from gv_engine.ui.screens.keyboard import pasted
from gv_engine.ui.screens.menu import Menu, MenuRow
from gv_engine.ui.screens.screen import AppContext, Screen
from gv_engine.ui.settings import CELLS, EXPORTS, SPEEDS, new_file, recording_folder

# ---- prompt --------------------------------------------------------------------------------------

LONGEST = 400  # letters


class Prompt(Screen):
    """Asks for a line of text.

    Args:
        app: that it belongs to.
        title: the question.
        words: more about it.
        text: what stands there already; the first letter typed takes its place.
        accept: takes the text; an error that it raises leaves the prompt open.
        letters: the only ones that can be typed; all if empty.
    """

    over = True

    def __init__(
        self,
        app: AppContext,
        title: str,
        words: str,
        text: str,
        accept: Callable[[str], None],
        letters: str = "",
    ) -> None:
        super().__init__(app)
        self._title, self._words, self._text = title, words, text
        self._accept, self._letters = accept, letters
        self._untouched = True

    def typed(self, text: str) -> None:
        fitting = "".join(
            c for c in text if c.isprintable() and (c in self._letters or not self._letters)
        )
        if fitting:
            self._text = ("" if self._untouched else self._text)[:LONGEST] + fitting
            self._untouched = False
            self.app.stale = True

    def command(self, name: str) -> None:
        if name == "choose":
            self._done()
        elif name == "erase":
            self._text = self._text[:-1]
            self._untouched = False
        elif name in ("up", "down") and self._letters and self._text.isdecimal():  # by gamepad
            self._text = str(max(0, int(self._text) + (1 if name == "up" else -1)))
            self._untouched = False
        elif name == "paste":
            self.typed(pasted())
        elif name == "leave":
            self.app.pop()

    def _done(self) -> None:
        if self._text:
            self._accept(self._text)
        if self.app.top is self:  # what takes the text may have closed it
            self.app.pop()

    def draw(self, pen: Painter, now: float) -> None:
        line = pen.line
        width = min(pen.area.w - line, 30 * line)
        words = wrap(self._words, line, width - 2 * line, 3)
        card = pygame.Rect(0, 0, width, (8 + len(words)) * line)
        card.center = pen.area.center
        pen.card(card)
        rest = card.inflate(-2 * line, -line)
        pen.text(pygame.Rect(rest.x, rest.y, rest.w, 2 * line), self._title, size=1.4)
        slot = pygame.Rect(rest.x, rest.y + 2 * line, rest.w, len(words) * line)
        pen.lines(slot, self._words, "muted")
        field = pygame.Rect(rest.x, slot.bottom + line // 2, rest.w, 2 * line)
        pen.card(field, "well")
        pen.frame(field)
        pen.text(field.inflate(-line, 0), self._text + ("" if self._untouched else "|"), size=1.1)
        half = rest.w // 2 - line // 4
        keys = self.app.bindings
        accept = pygame.Rect(rest.x, field.bottom + line // 2, half, line * 7 // 4)
        pen.button(accept, "OK", self._done, keys.label("menu", "choose"), True)
        leave = pygame.Rect(rest.right - half, accept.y, half, accept.h)
        pen.button(leave, "Cancel", self.app.pop, keys.label("menu", "leave"))


# ---- export --------------------------------------------------------------------------------------

SECONDS_AT_ONCE = 0.03  # s of drawing between two looks at the keys
SAYS = {".mp4": "MP4 video", ".gif": "GIF animation", ".png": "PNG of this step"}


class ExportScreen(Menu):
    """Chooses how, and writes a little at a time, so that it can be watched and stopped.

    Args:
        app: that it belongs to.
        game: what is exported.
    """

    title = "Export"

    def __init__(self, app: AppContext, game: Session) -> None:
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
        game = Session.from_replay(
            shown.replay(), shown.scenario
        )  # where it is watched stays as it is
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

    def draw(self, pen: Painter, now: float) -> None:
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
