"""Menus: rows to choose from, drawn over the screen below."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gv_engine.ui.drawing.sprites import Rect, pygame
from gv_engine.ui.drawing.widgets import Painter, Pixel, wrap_text
from gv_engine.ui.screens.screen import AppContext, Screen

NO_POSITION = (-1, -1)
"""Mouse position before the first picture."""


class MenuRow(NamedTuple):
    """Row of a menu."""

    label: str
    act: Callable[[int], None]
    """Function that the row calls: with 1 when chosen; a row with a value with -1 or 1 by left and
    right."""
    value: str | None = None
    key: str = ""
    """Key with the same effect elsewhere."""


class Menu(Screen):
    """Menu with a title, a text and rows; the rows scroll if they do not fit."""

    over = True
    free_lines = 0
    """Lines at the bottom of the window to leave free."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self.chosen = 0
        self._first = 0
        self._page = 1
        self._mouse: Pixel | None = NO_POSITION

    @property
    def title(self) -> str:
        """Title above the rows."""
        raise NotImplementedError

    @property
    def text_above(self) -> str:
        """Text between title and rows."""
        return ""

    def rows(self) -> Sequence[MenuRow]:
        """Return the current rows."""
        raise NotImplementedError

    def choice_row(
        self, target: object, label: str, name: str, values: Mapping[Any, str]
    ) -> MenuRow:
        """Return a row that changes an attribute of an object to the next or previous value.

        Args:
            target: object with the attribute.
            label: label of the row.
            name: name of the attribute.
            values: text by value, in their order.
        """
        keys = list(values)
        current = getattr(target, name)
        number = keys.index(current) if current in keys else 0

        def act(step: int) -> None:
            setattr(target, name, keys[(number + step) % len(keys)])
            self.app.needs_redraw = True

        return MenuRow(label, act, values[keys[number]])

    def run_command(self, name: str) -> None:
        """Choose another row, or call or change the chosen row."""
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
            super().run_command(name)

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Choose another row by the wheel."""
        if event.type == pygame.MOUSEWHEEL:
            self.run_command("up" if event.y > 0 else "down")
            self.app.needs_redraw = True

    def draw(self, painter: Painter, now: float) -> None:
        """Draw title, text, the rows that fit and a scrollbar."""
        rows, line = self.rows(), painter.line_height
        row_width = max(painter.text_width(row.label + (row.value or "") + row.key) for row in rows)
        width = max(row_width + 8 * line, painter.text_width(self.title, 1.4) + 2 * line, 20 * line)
        width = min(painter.area.w - line, width)
        text_above = wrap_text(self.text_above, line, width - 2 * line) if self.text_above else []
        row_height = 2 * line  # of a row
        header_height = 3 * line + (len(text_above) + 1) * line * bool(text_above)
        room = painter.area.copy()
        room.h -= self.free_lines * line
        self._page = max(1, min(len(rows), (room.h - line - header_height) // row_height))
        card = Rect(0, 0, width, header_height + self._page * row_height + line // 2)
        card.center = room.center
        painter.draw_card(card)
        inner = card.inflate(-2 * line, 0)
        painter.draw_text(
            Rect(inner.x, card.y + line // 2, inner.w, 2 * line), self.title, size=1.4
        )
        text = Rect(inner.x, card.y + 5 * line // 2, inner.w, len(text_above) * line)
        painter.draw_lines(text, self.text_above, "muted")
        self.chosen = min(self.chosen, len(rows) - 1)
        self._first = max(self.chosen - self._page + 1, min(self._first, self.chosen))
        rows_top = card.y + header_height
        slots = {
            self._first + place: Rect(
                inner.x, rows_top + place * row_height, inner.w, row_height - line // 4
            )
            for place in range(self._page)
        }
        self._choose_hovered(painter.mouse, slots)
        for number, slot in slots.items():
            self._draw_row(painter, slot, rows[number], number)
        groove = Rect(card.right - line * 3 // 4, card.y + header_height, line // 4, 0)
        groove.h = self._page * row_height
        painter.draw_scrollbar(groove, self._first, self._page, len(rows))

    def _choose_hovered(self, mouse: Pixel | None, slots: Mapping[int, Rect]) -> None:
        """Choose the row under the mouse, if the mouse moved."""
        has_moved = self._mouse not in (NO_POSITION, mouse)
        self._mouse = mouse
        if has_moved and mouse is not None:
            hovered = [number for number, slot in slots.items() if slot.collidepoint(mouse)]
            self.chosen = hovered[0] if hovered else self.chosen

    def _draw_row(self, painter: Painter, slot: Rect, row: MenuRow, number: int) -> None:
        """Draw a row as a button, or with its value between arrows."""

        def press(step: int = 1) -> None:
            self.chosen = number
            row.act(step)

        chosen = number == self.chosen
        if row.value is None:
            painter.draw_button(slot, row.label, press, row.key, chosen, marked=False)
            return
        painter.add_hit_area(slot, lambda at: press(-1 if at[0] < slot.centerx else 1))
        painter.draw_card(slot, "accent" if chosen else "well")
        inner = slot.inflate(-painter.line_height, 0)
        value_rect = Rect(inner.centerx, inner.y, inner.w // 2, inner.h)
        color = "on_accent" if chosen else "text"
        painter.draw_text(Rect(inner.x, inner.y, inner.w // 2, inner.h), row.label, color)
        # freesansbold has these two signs
        painter.draw_text(value_rect, "<", color)
        painter.draw_text(
            value_rect.inflate(-2 * painter.line_height, 0), row.value, color, "center"
        )
        painter.draw_text(value_rect, ">", color, "right")
