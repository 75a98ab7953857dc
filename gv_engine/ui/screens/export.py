"""Prompt for a line of text, and the export of an episode as picture or video."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence

from gv_engine.rules.errors import GVEngineError, error_text
from gv_engine.session.session import Session
from gv_engine.ui.drawing.recording import Recorder, find_views
from gv_engine.ui.drawing.sprites import Rect
from gv_engine.ui.drawing.widgets import Painter, cut, wrap_text
from gv_engine.ui.screens.keyboard import paste_from_clipboard
from gv_engine.ui.screens.menu import Menu, MenuRow
from gv_engine.ui.screens.screen import AppContext, Screen
from gv_engine.ui.settings import CELLS, EXPORTS, SPEEDS, new_file, recording_folder

# ---- prompt --------------------------------------------------------------------------------------

MAX_LENGTH = 400  # letters
"""Maximum number of letters."""


class Prompt(Screen):
    """Dialog that asks for a line of text.

    Args:
        app: app of the screen.
        title: question.
        words: explanation below the question.
        text: initial text; the first typed letter replaces it.
        accept: function that gets the text; if it raises an error, the dialog stays open.
        letters: allowed letters; empty for all.
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
        self._is_initial = True

    def on_text(self, text: str) -> None:
        """Append `text`, which the user has typed, without letters that are not allowed."""
        fitting = "".join(c for c in text if c.isprintable() and c in (self._letters or text))
        if fitting:
            self._text = ("" if self._is_initial else self._text)[:MAX_LENGTH] + fitting
            self._is_initial = False

    def run_command(self, name: str) -> None:
        """Run the command `name`: accept, edit or cancel the text; up and down change a number."""
        if name == "choose":
            self._accept_text()
        elif name == "erase":
            self._text = self._text[:-1]
            self._is_initial = False
        elif name in ("up", "down") and self._letters and self._text.isdecimal():  # by gamepad
            self._text = str(max(0, int(self._text) + (1 if name == "up" else -1)))
            self._is_initial = False
        elif name == "paste":
            self.on_text(paste_from_clipboard())
        elif name == "leave":
            self.app.pop()

    def _accept_text(self) -> None:
        """Pass the typed text to the function `accept`, and close the dialog."""
        if self._text:
            self._accept(self._text)
        if self.app.top is self:  # `accept` may have closed it
            self.app.pop()

    def draw(self, painter: Painter, now: float) -> None:
        """Draw question, explanation, text field and buttons with `painter`."""
        line, label = painter.line_height, self.app.bindings.label
        width = min(painter.area.w - line, 30 * line)
        words_height = len(wrap_text(self._words, line, width - 2 * line, 3)) * line
        card = Rect(0, 0, width, 8 * line + words_height)
        card.center = painter.area.center
        rest = painter.draw_dialog(card, self._title)
        painter.draw_lines(cut(rest, "top", words_height, line // 2), self._words, "muted")
        field = cut(rest, "top", 2 * line, line // 2)
        painter.draw_card(field, "well")
        painter.draw_outline(field)
        shown = self._text if self._is_initial else f"{self._text}|"
        painter.draw_text(field.inflate(-line, 0), shown, size=1.1)
        buttons, half = cut(rest, "top", line * 7 // 4), rest.w // 2 - line // 4
        accept, leave = cut(buttons, "left", half), cut(buttons, "right", half)
        painter.draw_button(accept, "OK", self._accept_text, label("menu", "choose"), True)
        painter.draw_button(leave, "Cancel", self.app.pop, label("menu", "leave"))


# ---- export --------------------------------------------------------------------------------------

SLICE_SECONDS = 0.03  # s of drawing before events are handled again
EXPORT_NAMES = {".mp4": "MP4 video", ".gif": "GIF animation", ".png": "PNG of this step"}


class ExportScreen(Menu):
    """Menu of export options; writes the file in slices, with a progress bar and a button to stop.

    Args:
        app: app of the screen.
        game: session to export.
    """

    title = "Export"

    def __init__(self, app: AppContext, game: Session) -> None:
        super().__init__(app)
        self._game = game
        self._views = find_views(game.scenario)
        if app.settings.export_view not in self._views:
            app.settings.export_view = next(iter(self._views))
        self._writing: Generator[None] | None = None
        self._pictures = self._total = 0

    @property
    def text_above(self) -> str:
        return f"Into {recording_folder()}"

    def rows(self) -> Sequence[MenuRow]:
        """Return a menu row for each option of the export."""
        settings = self.app.settings
        suffixes = {suffix: EXPORT_NAMES.get(suffix, suffix) for suffix in EXPORTS}
        speeds = {speed: f"{speed} steps a second" for speed in SPEEDS}
        return (
            MenuRow("Export", lambda _: self._begin()),
            self.choice_row(settings, "As", "export_as", suffixes),
            self.choice_row(settings, "View", "export_view", {view: view for view in self._views}),
            self.choice_row(settings, "Cells", "export_cell", {c: f"{c} pixels" for c in CELLS}),
            self.choice_row(settings, "Speed", "export_speed", speeds),
            self.close_row("Back"),
        )

    def run_command(self, name: str) -> None:
        """Run the command `name` of the menu; while the file is written, only `leave`, which
        stops."""
        if self._writing is None:
            super().run_command(name)
        elif name == "leave":
            self._stop()
            self.app.show_note("Not exported")

    def tick(self, now: float) -> float | None:
        """Draw pictures into the file for 30 ms; close the menu when the file is complete. Return 0
        to be called again at once, or None."""
        if self._writing is None:
            return None
        self.app.needs_redraw = True
        until = time.monotonic() + SLICE_SECONDS
        try:
            while time.monotonic() < until:
                next(self._writing)
        except StopIteration:
            self._writing = None
            self.app.pop()
        except (GVEngineError, OSError) as error:
            self._writing = None
            self.app.show_note(f"Not exported: {error_text(error)}", stays=15)
        return 0

    def on_close(self) -> None:
        self._stop()
        self.app.save_settings()

    def _begin(self) -> None:
        """Start to write the picture or video file."""
        self._pictures = 0
        self._writing = self._write()

    def _stop(self) -> None:
        """Stop writing, and delete the unfinished file."""
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    def _write(self) -> Generator[None]:
        """Write the picture or video file, with a pause after each picture; if the generator is
        closed early, no file is left."""
        settings, position = self.app.settings, self._game.position
        # the watched session stays at its step
        game = Session.from_replay(self._game.replay(), self._game.scenario)
        is_picture = settings.export_as == ".png"
        steps = range(position, position + 1) if is_picture else range(game.length + 1)
        self._total = len(steps)
        file = new_file(recording_folder(), game, settings.export_as)
        options = settings.export_view, settings.export_cell, settings.export_speed
        with Recorder(file, game.scenario, *options) as recorder:
            for step in steps:
                game.seek(step)
                recorder.add(game.frame())
                self._pictures += 1
                yield
        self.app.show_note(f"Saved {file}")

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the menu with `painter`, or a progress bar while the file is written."""
        if self._writing is None:
            super().draw(painter, now)
            return
        line = painter.line_height
        card = Rect(0, 0, min(painter.area.w - line, 26 * line), 6 * line)
        card.center = painter.area.center
        painter.draw_card(card)
        rest = card.inflate(-2 * line, -line)
        text = f"{self._pictures} of {self._total} pictures"
        painter.draw_text(cut(rest, "top", line, line // 2), text)
        painter.draw_bar(cut(rest, "top", line, line // 2), self._pictures / max(1, self._total))
        button, key = cut(rest, "top", line * 7 // 4), self.app.bindings.label("menu", "leave")
        painter.draw_button(button, "Stop", self._stop, key)
