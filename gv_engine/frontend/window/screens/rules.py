"""The rules of the level that is played: what happens, what pays, what ends it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen, wrap
from gv_engine.frontend.window.screens.screen import Host, Screen
from gv_engine.reading.sentences import Section

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

    def __init__(self, app: Host, title: str, about: str, sections: Sequence[Section]) -> None:
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

    def draw(self, pen: Pen, now: float) -> None:
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
