"""Menus over a screen: rows to choose from, the keys of a screen, and the rules of a level."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gv_engine.scenario.reference_docs import Section
from gv_engine.ui.drawing.sprites import Rect, pygame
from gv_engine.ui.drawing.widgets import Painter, Pixel, wrap_text
from gv_engine.ui.input.bindings import format_keys_file, keys_file
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


# ---- help ----------------------------------------------------------------------------------------


class HelpScreen(Screen):
    """List of keys and their commands, in columns.

    Args:
        app: app of the screen.
        groups_shown: groups of bindings to list.
        has_command: function from a command's name to False if the command is left out.
    """

    over = True

    def __init__(
        self,
        app: AppContext,
        groups_shown: tuple[str, ...],
        has_command: Callable[[str], bool] = bool,
    ) -> None:
        super().__init__(app)
        self._groups_shown, self._has_command = groups_shown, has_command
        self._scroll = 0
        self._page = 0

    def run_command(self, name: str) -> None:
        """Scroll, or close the list."""
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        if name in moves:
            self._scroll += moves[name]
        elif name in ("leave", "help", "choose"):
            self.app.pop()

    def on_text(self, text: str) -> None:
        """Close the list by the letter that opened it."""
        if text in "hH?":
            self.app.pop()

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Scroll by the wheel, close by a click."""
        if event.type == pygame.MOUSEWHEEL:
            self._scroll -= event.y
            self.app.needs_redraw = True
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self.app.pop()

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the list of keys, and a button that writes `keys.toml`."""
        line = painter.line_height
        pairs = list(self.app.bindings.describe_keys(self._groups_shown, self._has_command))
        card = painter.area.inflate(-line, -line)
        inner = card.inflate(-2 * line, -line)
        columns = max(1, min(2, inner.w // (30 * line)))
        rows = -(-len(pairs) // columns)

        card.h = min(card.h, rows * line * 5 // 4 + 6 * line)
        card.w = min(card.w, columns * 36 * line)
        card.center = painter.area.center
        inner = card.inflate(-2 * line, -line)
        painter.draw_card(card)
        painter.draw_text(Rect(inner.x, inner.y, inner.w, 2 * line), "Keys", size=1.4)
        footer = Rect(inner.x, inner.bottom - line, inner.w, line)
        file = keys_file()
        if file.exists():
            painter.draw_text(footer, f"Yours are in {file}", "muted", size=0.9)
        else:
            footer.w = min(inner.w, 26 * line)
            footer.h, footer.y = line * 3 // 2, inner.bottom - line * 3 // 2
            painter.draw_button(footer, "Make a file to change them", self._write_keys_file)
        body = Rect(inner.x, inner.y + line * 5 // 2, inner.w, 0)
        body.h = footer.y - line // 2 - body.y
        row_height = line * 5 // 4
        self._page = max(1, body.h // row_height)
        self._scroll = max(0, min(self._scroll, rows - self._page))
        width = body.w // columns
        for number, (keys, description) in enumerate(pairs):
            column, row = divmod(number, rows)
            if 0 <= row - self._scroll < self._page:
                slot = Rect(body.x + column * width, body.y, width - line, row_height)
                slot.y += (row - self._scroll) * row_height
                left = Rect(slot.x, slot.y, slot.w // 2 - line // 2, row_height)
                painter.draw_text(left, keys, "accent")
                painter.draw_text(
                    Rect(slot.x + slot.w // 2, slot.y, slot.w // 2, row_height), description
                )
        groove = Rect(card.right - line * 3 // 4, body.y, line // 4, body.h)
        painter.draw_scrollbar(groove, self._scroll, self._page, rows)

    def _write_keys_file(self) -> None:
        """Write `keys.toml` with all keys, if the file does not exist."""
        file = keys_file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as text_file:
                text_file.write(format_keys_file(self.app.bindings))
        except OSError as error:
            self.app.show_note(f"{file} cannot be made: {error.strerror}")
        else:
            self.app.show_note(f"Change {file} and start again")


# ---- rules ---------------------------------------------------------------------------------------

LINES_PER_NOTCH = 3
"""Lines that a notch of the wheel scrolls."""


class RuleLine(NamedTuple):
    """Line of the list: the name of a rule in its first line, and a line of its text; or a
    heading."""

    name: str
    text: str
    is_heading: bool = False


class RulesScreen(Screen):
    """List of the rules of a level, as sentences.

    Args:
        app: app of the screen.
        title: title of the level.
        description: description of the level.
        sections: headings and rules.
    """

    over = True

    def __init__(
        self, app: AppContext, title: str, description: str, sections: Sequence[Section]
    ) -> None:
        super().__init__(app)
        self._title, self._description, self._sections = title, description, sections
        self._scroll = self._page = self._name_width = 0

    def run_command(self, name: str) -> None:
        """Scroll, or close the list."""
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        if name in moves:
            self._scroll += moves[name]
            self.app.needs_redraw = True
        elif name in ("leave", "help", "choose"):
            self.app.pop()

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Scroll by the wheel, close by a click."""
        if event.type == pygame.MOUSEWHEEL:
            self._scroll -= LINES_PER_NOTCH * event.y
            self.app.needs_redraw = True
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self.app.pop()

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the visible lines and a scrollbar."""
        line = painter.line_height
        card = painter.area.inflate(-line, -line)
        card.w = min(card.w, 52 * line)
        card.centerx = painter.area.centerx
        rows = list(self._wrap_rules(line, card.w - 3 * line))
        card.h = min(card.h, (len(rows) + 4) * line)
        card.centery = painter.area.centery
        inner = card.inflate(-2 * line, -line)
        painter.draw_card(card)
        head = Rect(inner.x, inner.y, inner.w, 2 * line)
        painter.draw_text(head, self._title, size=1.4, middle=True)
        body = Rect(inner.x, head.bottom, inner.w, inner.bottom - head.bottom)
        self._page = max(1, body.h // line)
        self._scroll = max(0, min(self._scroll, len(rows) - self._page))
        for number, row in enumerate(rows[self._scroll : self._scroll + self._page]):
            slot = Rect(body.x, body.y + number * line, self._name_width - line // 2, line)
            painter.draw_text(slot, row.name, "muted", size=0.9)
            indent = 0 if row.is_heading else self._name_width
            slot = Rect(body.x + indent, slot.y, body.w - indent, line)
            painter.draw_text(slot, row.text, "accent" if row.is_heading else "text")
        groove = Rect(card.right - line * 3 // 4, body.y, line // 4, body.h)
        painter.draw_scrollbar(groove, self._scroll, self._page, len(rows))

    def _wrap_rules(self, line_height: int, width: int) -> Iterator[RuleLine]:
        """Yield the lines of the list, wrapped to a width in pixels."""
        for text in wrap_text(self._description, line_height, width):
            yield RuleLine("", text, is_heading=True)
        self._name_width = min(width // 3, 9 * line_height)
        for heading, rules in self._sections:
            yield RuleLine("", "")
            yield RuleLine("", heading, is_heading=True)
            for name, sentence in rules:
                for number, text in enumerate(
                    wrap_text(sentence or name, line_height, width - self._name_width)
                ):
                    yield RuleLine("" if number else name, text)
