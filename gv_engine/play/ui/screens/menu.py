"""Lists over a screen: the base class of all lists, menus, the list of keys, and the list of a
level's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from gv_engine.play.ui.autosave import Autosave, UnsavedEdits
from gv_engine.play.ui.drawing.sprites import Rect, pygame
from gv_engine.play.ui.drawing.widgets import Painter, Pixel, cut, find_first_row, wrap_text
from gv_engine.play.ui.input.bindings import PADS, key_label, keys_file, next_row
from gv_engine.play.ui.screens.keyboard import paste_from_clipboard
from gv_engine.play.ui.screens.screen import AppContext, Screen, ScreenCommands
from gv_engine.scenario.reference_docs import Section


class ListScreen(Screen):
    """Dialog over another screen with rows, one of which is selected; the rows scroll if they do
    not fit.

    Attributes:
        chosen: number of the chosen row.
        wraps: True if `down` leads from the last row to the first.
        title: text above the rows.
    """

    is_overlay = True
    wraps: ClassVar[bool] = False
    title: str = ""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self.chosen = 0
        self._first_visible = 0
        self._num_visible = 1

    def rows(self) -> Sequence[Any]:
        """Return the current rows."""
        raise NotImplementedError

    def run_command(self, name: str) -> None:
        """Run the command `name`: select another row, or another command of the screen."""
        row = next_row(name, self.chosen, self._num_visible, len(self.rows()), self.wraps)
        if row is None:
            super().run_command(name)
        else:
            self.chosen = row

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Select the row above or below when the mouse wheel is turned."""
        if event.type == pygame.MOUSEWHEEL:
            self.run_command("up" if event.y > 0 else "down")

    def place_rows(self, painter: Painter, body: Rect, heights: Sequence[int]) -> dict[int, Rect]:
        """Scroll to the selected row, draw the scrollbar, and return the rectangles of the visible
        rows in `body` by row index. `heights` are the heights of all rows in pixels.

        Args:
            painter: painter to draw with.
            body: rectangle of all rows.
            heights: height of each row in pixels.

        Returns:
            Rectangles by number of the row, of the rows that fit.
        """
        self.chosen = max(0, min(self.chosen, len(heights) - 1))
        self._first_visible = find_first_row(heights, self.chosen, body.h, self._first_visible)
        slots, rest = {}, body.copy()
        for number in range(self._first_visible, len(heights)):
            if heights[number] > rest.h:
                break
            slots[number] = cut(rest, "top", heights[number])
            slots[number].h -= painter.line_height // 4
        self._num_visible = max(1, len(slots))
        self.draw_scrollbar(painter, body, self._first_visible, len(heights))
        return slots

    def draw_scrollbar(self, painter: Painter, body: Rect, first: int, count: int) -> None:
        """Draw a scrollbar beside `body` for a list of `count` rows; `first` is the index of the
        first visible row."""
        line = painter.line_height
        groove = Rect(body.right + line - line * 3 // 4, body.y, line // 4, body.h)
        painter.draw_scrollbar(groove, first, self._num_visible, count)


class SearchField(Screen):
    """Screen with a list that is filtered by typed text.

    Attributes:
        query: typed text.
        chosen: number of the chosen item of the list.
    """

    query = ""
    chosen: int
    commands: ClassVar[ScreenCommands] = {
        **Screen.commands,
        "erase": lambda screen: screen.set_query(screen.query[:-1]),
        "paste": lambda screen: screen.paste(paste_from_clipboard()),
    }

    def set_query(self, query: str) -> None:
        """Set the search text to `query`, and select the first match."""
        self.query = query[:200]
        self.chosen = 0

    def paste(self, text: str) -> None:
        """Append `text`, which was pasted, to the search text."""
        self.set_query(self.query + text)

    def on_text(self, text: str) -> None:
        """Append `text`, which was typed, to the search text."""
        self.set_query(self.query + "".join(c for c in text if c.isprintable()))


# ---- menus ---------------------------------------------------------------------------------------

NO_POSITION = (-1, -1)  # mouse position before the first picture
MORE = ">"  # key of a row that opens another menu, drawn as a triangle


UNSET = "default"  # shown in place of a value that is not set


class MenuRow(NamedTuple):
    """Row of a menu.

    Attributes:
        act: function that the row calls: with 1 when chosen; a row with a value with -1 or 1 by
            left and right.
        key: key with the same effect outside of the menu.
        choose: function for a choice by Enter or a click, if it differs from `act`, as a list of
            values.
        has_steps: False if left and right do not change the value.
        repeats: True if held keys go on changing the value, a number; not among a few choices.
        heading: text above the row, the first one of a group.
    """

    label: str
    act: Callable[[int], object]
    value: str | None = None
    key: str = ""
    choose: Callable[[], object] | None = None
    has_steps: bool = True
    repeats: bool = False
    heading: str = ""


class Menu(ListScreen):
    """Menu with a title, a text and rows with labels and values.

    Attributes:
        free_lines: lines at the bottom of the window to leave free.
        picture_lines: height of the picture below the title.
    """

    wraps = True
    free_lines = picture_lines = 0

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._mouse: Pixel | None = NO_POSITION

    @property
    def text_above(self) -> str:
        """Text between title and rows."""
        return ""

    def close_row(self, label: str) -> MenuRow:
        """Return a menu row called `label` that closes the menu."""
        key = self.app.bindings.label("menu", "leave")
        return MenuRow(label, lambda _: self.app.pop(), key=key)

    def closing_row(self, label: str, act: Callable[[], object], key: str = "") -> MenuRow:
        """Return a menu row called `label` that closes the menu and then calls `act`; `key` is
        shown as the key with the same effect."""

        def close_and_act(_: int) -> None:
            self.app.pop()
            act()

        return MenuRow(label, close_and_act, key=key)

    def command_row(self, label: str, name: str) -> MenuRow:
        """Return a menu row called `label` that runs the command `name` of the window, such as
        `settings`."""
        key = self.app.bindings.label("window", name)
        return MenuRow(label, lambda _: self.run_command(name), key=key)

    def choice_row(
        self, target: object, label: str, name: str, values: Mapping[Any, str]
    ) -> MenuRow:
        """Return a menu row called `label` that switches the attribute `name` of `target` between
        the keys of `values`; the values of this dict are the texts to show.

        Args:
            target: object with the attribute.
            label: label of the row.
            name: name of the attribute.
            values: text by value, in their order.
        """
        choices = list(values)
        current = getattr(target, name)
        index = choices.index(current) if current in choices else 0

        def change(step: int) -> None:
            setattr(target, name, choices[(index + step) % len(choices)])

        return MenuRow(label, change, values[choices[index]])

    def capture_key(self, key: str) -> bool:
        """Activate the row that shows `key` beside its label, unless menus have a command for the
        key; return True if there is such a row."""
        if self.app.bindings.find(key, self.groups):
            return False
        row = next((row for row in self.rows() if row.key == key_label(key)), None)
        if row:
            row.act(1)
        return row is not None

    def can_repeat(self, name: str) -> bool:
        """Return True if a held key repeats the command `name`: not a change among few choices."""
        rows = self.rows()
        return name not in ("left", "right") or rows[min(self.chosen, len(rows) - 1)].repeats

    def run_command(self, name: str) -> None:
        """Run the command `name`: activate the selected row, change its value, or select another
        row."""
        rows = self.rows()
        self.chosen = min(self.chosen, len(rows) - 1)
        row = rows[self.chosen]
        if name == "choose" and row.choose:
            row.choose()
        elif name == "choose":
            row.act(1)
        elif name in ("left", "right") and row.value is not None:
            if row.has_steps:
                row.act(-1 if name == "left" else 1)
        else:
            super().run_command(name)

    def draw(self, painter: Painter, now: float) -> None:
        """Draw with `painter` title, text, a scrollbar and the visible rows."""
        rows, line, text = self.rows(), painter.line_height, self.text_above
        width = self._choose_width(painter, rows)
        text_height = painter.text_height(text, width - 2 * line)
        header_height = (3 + self.picture_lines) * line + (text_height + line) * bool(text_height)
        bottom_margin = self.free_lines * line
        available_height = painter.area.h - bottom_margin - line - header_height
        above = [line * 3 // 2 if row.heading else 0 for row in rows]
        heights = [2 * line + height for height in above]
        if sum(heights) > available_height:
            heights = [line * 7 // 4 + height for height in above]
        body_height = max(heights[0], min(sum(heights), available_height))
        size = width, header_height + body_height + line // 2
        inner = painter.draw_dialog(size, self.title, bottom_margin)
        self.draw_picture(painter, cut(inner, "top", self.picture_lines * line))
        if text_height:
            painter.draw_lines(cut(inner, "top", text_height, line), text, "muted")
        body = Rect(inner.x, inner.y + line - line // 2, inner.w, body_height)
        slots = self.place_rows(painter, body, heights)
        for index, slot in slots.items():
            heading = cut(slot, "top", above[index])
            painter.draw_text(heading, rows[index].heading, "accent", size=0.9)
        self._select_hovered(painter.mouse, slots)
        for index, slot in slots.items():
            if rows[index].value is None:
                self._draw_button_row(painter, slot, rows[index], index)
            else:
                self._draw_value_row(painter, slot, rows[index], index)

    def draw_picture(self, painter: Painter, rect: Rect) -> None:
        """Draw a picture into `rect`, `picture_lines` high, below the title; subclasses override
        this method, which draws nothing."""

    def _choose_width(self, painter: Painter, rows: Sequence[MenuRow]) -> int:
        line, labels = painter.line_height, [row.label for row in rows if row.value is not None]
        self._label_width = max(map(painter.text_width, labels), default=0)
        values = (
            max(self._label_width, painter.text_width(row.label))
            + painter.text_width((row.value or "") + row.key)
            for row in rows
        )
        row_width = max(values)
        title_width = painter.text_width(self.title, 1.4)
        width = max(row_width + 8 * line, title_width + 2 * line, 20 * line)
        return min(painter.area.w - line, width)

    def _select_hovered(self, mouse: Pixel | None, slots: Mapping[int, Rect]) -> None:
        """Select the row under the position `mouse` if the mouse has moved; `slots` are the
        rectangles of the rows by index."""
        has_moved = self._mouse not in (NO_POSITION, mouse)
        self._mouse = mouse
        if has_moved and mouse is not None:
            hovered = (index for index, slot in slots.items() if slot.collidepoint(mouse))
            self.chosen = next(hovered, self.chosen)

    def _draw_button_row(self, painter: Painter, slot: Rect, row: MenuRow, index: int) -> None:
        def press() -> None:
            self.chosen = index
            row.act(1)

        is_chosen = index == self.chosen
        key = "" if row.key == MORE else row.key
        painter.draw_button(slot, row.label, press, key, is_chosen, has_hover=False, align="left")
        if row.key == MORE:
            self._draw_arrow(painter, slot, "right", is_chosen)

    def _draw_arrow(self, painter: Painter, slot: Rect, side: str, is_chosen: bool) -> None:
        """Draw a triangle at the `side` of `slot`, left or right, that points there."""
        square = Rect(0, slot.y, slot.h, slot.h)
        square.x = slot.x if side == "left" else slot.right - slot.h
        painter.draw_arrow(square, side, "on_accent" if is_chosen else "muted")

    def _draw_value_row(self, painter: Painter, slot: Rect, row: MenuRow, index: int) -> None:
        """Draw `row`, number `index` of the menu, into the rectangle `slot`: its label, and its
        value between arrows."""
        line, is_chosen = painter.line_height, index == self.chosen
        value = slot.inflate(-line, 0)
        label = cut(value, "left", min(value.w // 2, self._label_width + line))
        value_text = value.inflate(-2 * line, 0)
        between_arrows = value_text.union(label)

        def click(position: Pixel) -> None:
            self.chosen = index
            is_arrow = row.has_steps and not between_arrows.collidepoint(position)
            if row.choose and not is_arrow:
                row.choose()
            else:
                row.act(-1 if position[0] < slot.centerx else 1)

        painter.add_hit_area(slot, click)
        painter.draw_card(slot, "accent" if is_chosen else "well")
        color = "on_accent" if is_chosen else "text"
        painter.draw_text(label, row.label, color)
        color = "muted" if row.value == UNSET and not is_chosen else color
        painter.draw_text(value_text, row.value or "", color, "center", is_light=True)
        if row.has_steps:
            self._draw_arrow(painter, value, "left", is_chosen)
            self._draw_arrow(painter, value, "right", is_chosen)


class AutosaveMenu(Menu):
    """Question what to do with unsaved work that windows have left behind.

    Args:
        app: app of the screen.
        autosaves: the unsaved work, the newest first.
    """

    title = "Not saved when the window ended"

    def __init__(self, app: AppContext, autosaves: Sequence[Autosave]) -> None:
        super().__init__(app)
        self._autosaves = [*autosaves]

    @property
    def text_above(self) -> str:
        """Description of the selected work, or of all."""
        count = len(self._autosaves)
        if not count:
            return ""
        index = self.chosen if self.chosen < count else 0
        text = self._autosaves[index].describe()
        return text if count == 1 else f"{min(self.chosen, count - 1) + 1} of {count}. {text}"

    def rows(self) -> Sequence[MenuRow]:
        """Return a row to continue each work, and rows to discard all or to decide later."""
        rows = []
        for autosave in self._autosaves:
            if not isinstance(autosave.work, str):  # it can be read
                verb = "editing" if isinstance(autosave.work, UnsavedEdits) else "playing"
                label = f"Go on {verb}: {autosave.title}"
                rows.append(MenuRow(label, partial(self._resume, autosave)))
        rows.append(self.close_row("Decide at the next start"))
        discard_label = "Discard all" if len(self._autosaves) > 1 else "Discard"
        return [*rows, MenuRow(discard_label, self._discard_all)]

    def _resume(self, autosave: Autosave, _: int) -> None:
        self.app.resume_autosave(autosave)
        self._autosaves.remove(autosave)

    def _discard_all(self, _: int) -> None:
        self.app.pop()
        for autosave in self._autosaves:
            autosave.discard()

    def on_resume(self) -> None:
        """Close the question if no autosave is left."""
        if not self._autosaves:
            self.app.pop()


# ---- texts ---------------------------------------------------------------------------------------


class TextScreen(ListScreen):
    """List of lines to read; `chosen` is the first line that is seen.

    Attributes:
        lines_per_notch: lines that a notch of the wheel scrolls.
    """

    lines_per_notch = 1

    def run_command(self, name: str) -> None:
        """Run the command `name`: scroll the text, or close the screen."""
        if name in ("leave", "help", "choose"):
            self.app.pop()
        elif name != "settings":
            super().run_command(name)

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Scroll the text by the mouse wheel; close the screen at a click."""
        if event.type == pygame.MOUSEWHEEL:
            self.chosen -= self.lines_per_notch * event.y
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self.app.pop()

    def place_lines(
        self, painter: Painter, body: Rect, height: int, count: int
    ) -> Iterator[tuple[int, Rect]]:
        """Draw the scrollbar, and yield index and rectangle of each line of text visible in `body`.
        A line is `height` pixels high, and `count` is the number of all lines.

        Args:
            painter: painter to draw with.
            body: rectangle of all lines.
            height: height of a line in pixels.
            count: number of lines.
        """
        self._num_visible = max(1, body.h // height)
        self.chosen = max(0, min(self.chosen, count - self._num_visible))
        self.draw_scrollbar(painter, body, self.chosen, count)
        for row in range(min(self._num_visible, count)):
            yield self.chosen + row, Rect(body.x, body.y + row * height, body.w, height)


class HelpScreen(TextScreen):
    """List of keys and their commands, in columns.

    Args:
        app: app of the screen.
        groups_shown: groups of bindings to list.
        has_command: function from a command's name to False if the command is left out.
    """

    title = "Keys"

    def __init__(
        self, app: AppContext, groups_shown: tuple[str, ...], has_command: Callable[[str], bool]
    ) -> None:
        """Create a list of the keys of the command groups `groups_shown`, without commands for
        which `has_command(name)` is False."""
        super().__init__(app)
        self._groups_shown, self._has_command = groups_shown, has_command

    def rows(self) -> Sequence[tuple[str, str]]:
        """Return the lines of the list: keys and description of each command; headings have no
        description, and an empty line is above each but the first."""
        bindings, keys = self.app.bindings, dict[str, str]()
        sections = dict[str, list[str]]()
        for heading, group, command in bindings.group_commands(self._groups_shown):
            bound = bindings.keys(group, command.name)
            if bound and self._has_command(command.name):
                label = ", ".join(
                    map(key_label, (*bound[:3], *filter(PADS.__contains__, bound[3:])))
                )
                if command.description in keys:
                    keys[command.description] += f", {label}"
                else:
                    keys[command.description] = label
                    sections.setdefault(heading, []).append(command.description)
        lines = []
        for heading, descriptions in sections.items():
            lines += [("", ""), (heading, ""), *((keys[text], text) for text in descriptions)]
        return lines[1:]

    def on_text(self, text: str) -> None:
        """Close the list of keys if `text` is the letter that opened it."""
        if text in "hH?":
            self.app.pop()

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the list of keys with `painter`, and where they are changed."""
        line, pairs, file = painter.line_height, self.rows(), keys_file()
        max_width, max_height = painter.area.w - line, painter.area.h - line
        columns, count = [pairs], len(pairs)
        if max_width >= 62 * line:  # from a heading on, in the second column
            starts = [n for n, pair in enumerate(pairs) if not pair[1] and pair[0] and n]
            start = min(starts, key=lambda n: max(n, len(pairs) - n), default=count)
            columns = [pairs[: start - 1], pairs[start:]]
            count = max(map(len, columns))
        size = (
            min(max_width, len(columns) * 36 * line),
            min(max_height, count * line * 5 // 4 + 6 * line),
        )
        body = painter.draw_dialog(size, self.title)
        footer = cut(body, "bottom", line, line // 2)
        settings = self.hint("window", "settings", "settings, Change keys")
        text = f"Yours are in {file}" if file.exists() else f"To change them: {settings}"
        painter.draw_text(footer, text, "muted", size=0.9)
        cut(body, "top", line // 2)
        width = body.w // len(columns)
        longest = max(painter.text_width(keys) for keys, description in pairs if description)
        key_width = min(width // 2, longest + line)
        height = max(line, min(line * 5 // 4, body.h // count))
        for row, slot in self.place_lines(painter, body, height, count):
            for column, lines in enumerate(columns):
                keys, description = lines[row] if row < len(lines) else ("", "")
                rect = Rect(slot.x + column * width, slot.y, width - line, slot.h)
                key_rect = cut(rect, "left", key_width) if description else rect
                painter.draw_text(key_rect, keys, "text" if description else "accent")
                painter.draw_text(rect, description, is_light=True)


class RuleLine(NamedTuple):
    """Line of the list: a line of a rule's text, with the rule's name on its first line; or a
    heading."""

    name: str
    text: str
    is_heading: bool = False


class RulesScreen(TextScreen):
    """List of the rules of a level, as sentences.

    Args:
        app: app of the screen.
        title: title of the level.
        description: description of the level.
        sections: headings and rules.
    """

    lines_per_notch = 3

    def __init__(
        self, app: AppContext, title: str, description: str, sections: Sequence[Section]
    ) -> None:
        super().__init__(app)
        self.title = title
        self._description, self._sections = description, sections
        self._lines: list[RuleLine] = []
        self._name_width = 0

    def rows(self) -> Sequence[RuleLine]:
        """Return the lines of the list as it was drawn last."""
        return self._lines

    def draw(self, painter: Painter, now: float) -> None:
        """Draw with `painter` the visible lines of the list of rules, and a scrollbar."""
        line = painter.line_height
        width = min(painter.area.w - line, 52 * line)
        self._lines = list(self._wrap_rules(line, width - 3 * line))
        height = min(painter.area.h - line, (len(self._lines) + 4) * line)
        body = painter.draw_dialog((width, height), self.title, is_name=True)
        for number, slot in self.place_lines(painter, body, line, len(self._lines)):
            name, text, is_heading = self._lines[number]
            name_rect = Rect(slot.x, slot.y, self._name_width - line // 2, line)
            painter.draw_text(name_rect, name, "muted", size=0.9)
            if not is_heading:
                cut(slot, "left", self._name_width)
            painter.draw_text(slot, text, "accent" if is_heading else "text")

    def _wrap_rules(self, line_height: int, width: int) -> Iterator[RuleLine]:
        """Yield the lines of the list of rules, wrapped to `width` pixels; `line_height` sets the
        font size."""
        for text in wrap_text(self._description, line_height, width):
            yield RuleLine("", text, is_heading=True)
        self._name_width = min(width // 3, 9 * line_height)
        for heading, rules in self._sections:
            yield RuleLine("", "")
            yield RuleLine("", heading, is_heading=True)
            for name, sentence in rules:
                lines = wrap_text(sentence or name, line_height, width - self._name_width)
                for number, text in enumerate(lines):
                    yield RuleLine("" if number else name, text)
