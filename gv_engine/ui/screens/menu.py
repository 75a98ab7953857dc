"""Menus: rows to choose from, over the screen below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter, Pixel, wrap
from gv_engine.ui.screens.screen import AppContext, Screen

UNSEEN = (-1, -1)
"""Where the mouse is before anybody has looked."""


class MenuRow(NamedTuple):
    """A row of a menu."""

    label: str
    act: Callable[[int], None]
    """What it does: chosen with 1, changed with -1 and 1 by left and right if it has a value."""
    value: str | None = None
    key: str = ""
    """The key that does the same elsewhere."""


class Menu(Screen):
    """A title, maybe some words, and rows, scrolled if there is no room for all."""

    over = True
    foot = 0
    """Lines at the bottom of the window that stay free."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self.chosen = 0
        self._first = 0
        self._page = 1
        self._mouse: Pixel | None = UNSEEN

    @property
    def title(self) -> str:
        """What stands above the rows."""
        raise NotImplementedError

    @property
    def words(self) -> str:
        """Some words between title and rows."""
        return ""

    def rows(self) -> Sequence[MenuRow]:
        """The rows as they are now."""
        raise NotImplementedError

    def choice(self, of: object, label: str, name: str, values: Mapping[Any, str]) -> MenuRow:
        """A row that gives an attribute of something the value after or before its own.

        Args:
            of: whose attribute it is.
            label: of the row.
            name: of the attribute.
            values: in their order, and how the row calls them.
        """
        keys = list(values)
        now = getattr(of, name)
        number = keys.index(now) if now in keys else 0

        def act(step: int) -> None:
            setattr(of, name, keys[(number + step) % len(keys)])
            self.app.stale = True

        return MenuRow(label, act, values[keys[number]])

    def command(self, name: str) -> None:
        rows = self.rows()
        moves = {
            "up": -1,
            "down": 1,
            "page_up": -self._page,
            "page_down": self._page,
            "first": -len(rows),
            "last": len(rows),
        }
        self.chosen = min(self.chosen, len(rows) - 1)
        row = rows[self.chosen]
        if name in ("up", "down"):
            self.chosen = (self.chosen + moves[name]) % len(rows)
        elif name in moves:
            self.chosen = max(0, min(len(rows) - 1, self.chosen + moves[name]))
        elif name == "choose" or (name == "right" and row.value is not None):
            row.act(1)
        elif name == "left" and row.value is not None:
            row.act(-1)
        else:
            super().command(name)

    def pointed(self, event: pygame.event.Event) -> None:
        if event.type == pygame.MOUSEWHEEL:
            self.command("up" if event.y > 0 else "down")
            self.app.stale = True

    def draw(self, pen: Painter, now: float) -> None:
        rows, line = self.rows(), pen.line
        widest = max(pen.width(row.label + (row.value or "") + row.key) for row in rows)
        width = max(widest + 8 * line, pen.width(self.title, 1.4) + 2 * line, 20 * line)
        width = min(pen.area.w - line, width)
        words = wrap(self.words, line, width - 2 * line) if self.words else []
        high = 2 * line  # of a row
        above = 3 * line + (len(words) + 1) * line * bool(words)
        room = pen.area.copy()
        room.h -= self.foot * line
        self._page = max(1, min(len(rows), (room.h - line - above) // high))
        card = pygame.Rect(0, 0, width, above + self._page * high + line // 2)
        card.center = room.center
        pen.card(card)
        inner = card.inflate(-2 * line, 0)
        pen.text(pygame.Rect(inner.x, card.y + line // 2, inner.w, 2 * line), self.title, size=1.4)
        text = pygame.Rect(inner.x, card.y + 5 * line // 2, inner.w, len(words) * line)
        pen.lines(text, self.words, "muted")
        self.chosen = min(self.chosen, len(rows) - 1)
        self._first = max(self.chosen - self._page + 1, min(self._first, self.chosen))
        top = card.y + above
        slots = {
            self._first + place: pygame.Rect(inner.x, top + place * high, inner.w, high - line // 4)
            for place in range(self._page)
        }
        self._follow(pen.mouse, slots)
        for number, slot in slots.items():
            self._draw_row(pen, slot, rows[number], number)
        groove = pygame.Rect(card.right - line * 3 // 4, card.y + above, line // 4, 0)
        groove.h = self._page * high
        pen.scrolled(groove, self._first, self._page, len(rows))

    def _follow(self, mouse: Pixel | None, slots: Mapping[int, pygame.Rect]) -> None:
        """Choose the row that the mouse has come to; one that rests leaves the keys alone."""
        came = self._mouse not in (UNSEEN, mouse)
        self._mouse = mouse
        if came and mouse is not None:
            over = [number for number, slot in slots.items() if slot.collidepoint(mouse)]
            self.chosen = over[0] if over else self.chosen

    def _draw_row(self, pen: Painter, slot: pygame.Rect, row: MenuRow, number: int) -> None:
        def press(step: int = 1) -> None:
            self.chosen = number
            row.act(step)

        chosen = number == self.chosen
        if row.value is None:
            pen.button(slot, row.label, press, row.key, chosen, marked=False)
            return
        pen.hot(slot, lambda at: press(-1 if at[0] < slot.centerx else 1))
        pen.card(slot, "accent" if chosen else "well")
        inner = slot.inflate(-pen.line, 0)
        half = pygame.Rect(inner.centerx, inner.y, inner.w // 2, inner.h)
        ink = "on_accent" if chosen else "text"
        pen.text(pygame.Rect(inner.x, inner.y, inner.w // 2, inner.h), row.label, ink)
        # freesansbold has these two signs
        pen.text(half, "<", ink)
        pen.text(half.inflate(-2 * pen.line, 0), row.value, ink, "center")
        pen.text(half, ">", ink, "right")
