"""The rules of the level that is played: what happens, what pays, what ends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from gv_engine.scenario.reference_docs import Section
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter, wrap
from gv_engine.ui.input.bindings import as_toml, keys_file
from gv_engine.ui.screens.screen import AppContext, Screen

# ---- help ----------------------------------------------------------------------------------------


class HelpScreen(Screen):
    """A list of keys and what they do, in as many columns as have room.

    Args:
        app: that it belongs to.
        about: the groups of bindings that it tells about.
        knows: which of their commands.
    """

    over = True

    def __init__(
        self, app: AppContext, about: tuple[str, ...], knows: Callable[[str], bool] = bool
    ) -> None:
        super().__init__(app)
        self._about, self._knows = about, knows
        self._scroll = 0
        self._page = 0

    def command(self, name: str) -> None:
        """Scroll, or leave by whatever else is pressed."""
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        if name in moves:
            self._scroll += moves[name]
        elif name in ("leave", "help", "choose"):
            self.app.pop()

    def typed(self, text: str) -> None:
        """The letter that opened the help closes it."""
        if text in "hH?":
            self.app.pop()

    def pointed(self, event: pygame.event.Event) -> None:
        if event.type == pygame.MOUSEWHEEL:
            self._scroll -= event.y
            self.app.stale = True
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self.app.pop()

    def draw(self, pen: Painter, now: float) -> None:
        line = pen.line
        pairs = list(self.app.bindings.help(self._about, self._knows))
        card = pen.area.inflate(-line, -line)
        inner = card.inflate(-2 * line, -line)
        columns = max(1, min(2, inner.w // (30 * line)))
        rows = -(-len(pairs) // columns)
        # not larger than it has to be
        card.h = min(card.h, rows * line * 5 // 4 + 6 * line)
        card.w = min(card.w, columns * 36 * line)
        card.center = pen.area.center
        inner = card.inflate(-2 * line, -line)
        pen.card(card)
        pen.text(pygame.Rect(inner.x, inner.y, inner.w, 2 * line), "Keys", size=1.4)
        foot = pygame.Rect(inner.x, inner.bottom - line, inner.w, line)
        file = keys_file()
        if file.exists():
            pen.text(foot, f"Yours are in {file}", "muted", size=0.9)
        else:
            foot.w = min(inner.w, 26 * line)
            foot.h, foot.y = line * 3 // 2, inner.bottom - line * 3 // 2
            pen.button(foot, "Make a file to change them", self._make_file)
        body = pygame.Rect(inner.x, inner.y + line * 5 // 2, inner.w, 0)
        body.h = foot.y - line // 2 - body.y
        high = line * 5 // 4
        self._page = max(1, body.h // high)
        self._scroll = max(0, min(self._scroll, rows - self._page))
        width = body.w // columns
        for number, (keys, says) in enumerate(pairs):
            column, row = divmod(number, rows)
            if 0 <= row - self._scroll < self._page:
                slot = pygame.Rect(body.x + column * width, body.y, width - line, high)
                slot.y += (row - self._scroll) * high
                left = pygame.Rect(slot.x, slot.y, slot.w // 2 - line // 2, high)
                pen.text(left, keys, "accent")
                pen.text(pygame.Rect(slot.x + slot.w // 2, slot.y, slot.w // 2, high), says)
        groove = pygame.Rect(card.right - line * 3 // 4, body.y, line // 4, body.h)
        pen.scrolled(groove, self._scroll, self._page, rows)

    def _make_file(self) -> None:
        file = keys_file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as made:
                made.write(as_toml(self.app.bindings))
        except OSError as error:
            self.app.say(f"{file} cannot be made: {error.strerror}")
        else:
            self.app.say(f"Change {file} and start again")


# ---- rules ---------------------------------------------------------------------------------------

LINES_A_NOTCH = 3  # lines that a notch of the wheel scrolls


class RulesLine(NamedTuple):
    """The name of a rule, where its sentence begins, and a line of that; or a heading."""

    name: str
    text: str
    is_heading: bool = False


class RulesScreen(Screen):
    """A list of sentences, over the level.

    Args:
        app: that it belongs to.
        title: of the level.
        about: what the level says of itself.
        sections: its rules.
    """

    over = True

    def __init__(
        self, app: AppContext, title: str, about: str, sections: Sequence[Section]
    ) -> None:
        super().__init__(app)
        self._title, self._about, self._sections = title, about, sections
        self._scroll = self._page = self._aside = 0

    def command(self, name: str) -> None:
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        if name in moves:
            self._scroll += moves[name]
            self.app.stale = True
        elif name in ("leave", "help", "choose"):
            self.app.pop()

    def pointed(self, event: pygame.event.Event) -> None:
        if event.type == pygame.MOUSEWHEEL:
            self._scroll -= LINES_A_NOTCH * event.y
            self.app.stale = True
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self.app.pop()

    def draw(self, pen: Painter, now: float) -> None:
        line = pen.line
        card = pen.area.inflate(-line, -line)
        card.w = min(card.w, 52 * line)
        card.centerx = pen.area.centerx
        rows = list(self._rows(line, card.w - 3 * line))
        card.h = min(card.h, (len(rows) + 4) * line)
        card.centery = pen.area.centery
        inner = card.inflate(-2 * line, -line)
        pen.card(card)
        head = pygame.Rect(inner.x, inner.y, inner.w, 2 * line)
        pen.text(head, self._title, size=1.4, middle=True)
        body = pygame.Rect(inner.x, head.bottom, inner.w, inner.bottom - head.bottom)
        self._page = max(1, body.h // line)
        self._scroll = max(0, min(self._scroll, len(rows) - self._page))
        for number, row in enumerate(rows[self._scroll : self._scroll + self._page]):
            slot = pygame.Rect(body.x, body.y + number * line, self._aside - line // 2, line)
            pen.text(slot, row.name, "muted", size=0.9)
            indent = 0 if row.is_heading else self._aside
            slot = pygame.Rect(body.x + indent, slot.y, body.w - indent, line)
            pen.text(slot, row.text, "accent" if row.is_heading else "text")
        groove = pygame.Rect(card.right - line * 3 // 4, body.y, line // 4, body.h)
        pen.scrolled(groove, self._scroll, self._page, len(rows))

    def _rows(self, line: int, width: int) -> Iterator[RulesLine]:
        """The lines that it takes in a width in pixels."""
        for text in wrap(self._about, line, width):
            yield RulesLine("", text, is_heading=True)
        self._aside = min(width // 3, 9 * line)
        for heading, rules in self._sections:
            yield RulesLine("", "")
            yield RulesLine("", heading, is_heading=True)
            for name, says in rules:
                for number, text in enumerate(wrap(says or name, line, width - self._aside)):
                    yield RulesLine("" if number else name, text)
