"""Rule lists of the editor: the rules of the level, and the rules that can be added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gv_engine.editor.rules import RULE_PARTS, AvailableRule, Rule, RulePart, has_fault
from gv_engine.session.catalogue import search
from gv_engine.ui.drawing.sprites import Rect, pygame
from gv_engine.ui.drawing.widgets import Painter, wrap_text
from gv_engine.ui.screens.edit_forms import rule_form
from gv_engine.ui.screens.screen import Screen

if TYPE_CHECKING:
    from gv_engine.ui.screens.edit_board import PaintScreen

_MAX_SENTENCE_LINES = 3  # lines of a sentence


class _Row(NamedTuple):
    """Row of a list.

    Attributes:
        name: title of the row.
        says: sentence below the title.
        act: function that choosing the row calls.
        rule: rule of the row; None for a heading or a rule to add.
        part: part of the scenario that the row belongs to.
        wrong: True if the rule has an error.
    """

    name: str
    says: str
    act: Callable[[], None]
    rule: Rule | None = None
    part: RulePart | None = None
    wrong: bool = False


class _ListScreen(Screen):
    """Screen of rows with a title and a sentence each; one row is chosen."""

    over = True

    def __init__(self, screen: PaintScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen
        self._chosen = 0
        self._first = 0
        self._page = 1

    @property
    def title(self) -> str:
        """Title above the rows."""
        raise NotImplementedError

    def rows(self) -> Sequence[_Row]:
        """Return the current rows."""
        raise NotImplementedError

    def run_command(self, name: str) -> None:
        """Choose another row, or call the chosen row's function."""
        rows = self.rows()
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        moves |= {"first": -len(rows), "last": len(rows)}
        if name in moves:
            self._chosen = max(0, min(len(rows) - 1, self._chosen + moves[name]))
        elif name == "choose" and rows:
            rows[min(self._chosen, len(rows) - 1)].act()
        else:
            super().run_command(name)
        self.app.needs_redraw = True

    def on_mouse(self, event: pygame.event.Event) -> None:
        if event.type == pygame.MOUSEWHEEL:
            self.run_command("up" if event.y > 0 else "down")

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the title, the rows that fit, a scrollbar and hints."""
        line, rows = painter.line_height, self.rows()
        card = painter.area.inflate(-line, -line)
        card.w = min(card.w, 56 * line)
        card.centerx = painter.area.centerx
        painter.draw_card(card)
        inner = card.inflate(-2 * line, -line)
        painter.draw_text(Rect(inner.x, inner.y, inner.w, 2 * line), self.title, size=1.4)
        foot = Rect(inner.x, inner.bottom - line, inner.w, line)
        painter.draw_text(foot, " · ".join(filter(None, self.hints())), "muted", "center", 0.9)
        body = Rect(inner.x, inner.y + 5 * line // 2, inner.w, 0)
        body.h = foot.y - line // 2 - body.y
        self._chosen = max(0, min(self._chosen, len(rows) - 1))
        heights = [self._row_height(line, body.w, row) for row in rows]
        self._first = min(self._first, self._chosen)
        while sum(heights[self._first : self._chosen + 1]) > body.h and self._first < self._chosen:
            self._first += 1
        y, number = body.y, self._first
        while number < len(rows) and y + heights[number] <= body.bottom:
            slot = Rect(body.x, y, body.w, heights[number] - line // 4)
            self._draw_row(painter, slot, rows[number], number)
            y, number = y + heights[number], number + 1
        self._page = max(1, number - self._first)
        groove = Rect(card.right - line * 3 // 4, body.y, line // 4, body.h)
        painter.draw_scrollbar(groove, self._first, self._page, len(rows))

    def _row_height(self, line: int, width: int, row: _Row) -> int:
        """Return the height of a row in pixels."""
        lines = wrap_text(row.says, line, width - 2 * line, _MAX_SENTENCE_LINES) if row.says else []
        return (len(lines) + 1) * line + line // 2 + line // 4

    def _draw_row(self, painter: Painter, slot: Rect, row: _Row, number: int) -> None:
        """Draw a row, highlighted if it is chosen."""
        line, chosen = painter.line_height, number == self._chosen
        painter.add_hit_area(slot, partial(self._press, number))
        painter.draw_card(slot, "accent" if chosen else "well")
        color, muted_color = ("on_accent", "on_accent") if chosen else ("text", "muted")
        if row.rule is None and row.part is not None and not chosen:
            color = "accent"
        inner = slot.inflate(-line, -line // 2)
        name = Rect(inner.x, inner.y, inner.w, line)
        painter.draw_text(name, row.name, "loss" if row.wrong and not chosen else color)
        if row.wrong:
            painter.draw_text(name, "something is wrong", color if chosen else "loss", "right")
        sentence = Rect(inner.x + line, inner.y + line, inner.w - line, inner.h - line)
        if row.says:
            painter.draw_lines(sentence, row.says, muted_color)

    def _press(self, number: int, at: tuple[int, int]) -> None:
        """Choose a clicked row; a click on the chosen row calls its function."""
        if number == self._chosen:
            self.rows()[number].act()
        self._chosen = number
        self.app.needs_redraw = True

    def hints(self) -> Sequence[str]:
        """Return the hints at the bottom."""
        return ()

    def hint(self, group: str, name: str, description: str) -> str:
        """Return a text with the key of a command, or "" if it has none."""
        key = self.app.bindings.label(group, name)
        return f"{key} {description}" if key else ""


class RuleListScreen(_ListScreen):
    """List of the level's rules by part of the scenario."""

    groups = ("list", "menu", "window")
    title = "Rules"

    def rows(self) -> Sequence[_Row]:
        """Return a heading for each part of the scenario and a row for each rule."""
        rules = self._screen.work.rules
        faulty_paths = [fault.place.path for fault in self._screen.faults]
        rows = []
        for part in RULE_PARTS:
            suffix = rules.combination(part)
            title = f"{part.title}: {suffix}" if suffix else part.title
            rows.append(_Row(title, "", partial(self._open_add_screen, part), None, part))
            for rule in rules.rules(part):
                name = rule.name.replace("_", " ") if ":" not in rule.name else rule.name
                act = partial(self._open_rule_form, rule)
                rows.append(
                    _Row(name, rule.description, act, rule, part, has_fault(rule, faulty_paths))
                )
        return rows

    def choose_at(self, path: str) -> None:
        """Choose the rule at the path of an error."""
        matches = (
            n for n, row in enumerate(self.rows()) if row.rule and has_fault(row.rule, [path])
        )
        self._chosen = next(matches, 0)

    def hints(self) -> Sequence[str]:
        hints = (("add", "adds"), ("remove", "takes out"), ("move_up", "up"), ("move_down", "down"))
        texts = [self.hint("list", name, says) for name, says in hints]
        return (*texts, self.hint("menu", "choose", "sets"), self.hint("list", "undo", "undo"))

    def run_command(self, name: str) -> None:
        """Add, remove or move a rule, undo, redo, or choose another row."""
        row = self.rows()[self._chosen]
        if name == "add" and row.part is not None:
            self._open_add_screen(row.part)
        elif name == "remove" and row.rule is not None:
            self._change(self._screen.work.rules.remove_rule(row.rule))
        elif name in ("move_up", "move_down") and row.rule is not None:
            self._move(row.rule, -1 if name == "move_up" else 1)
        elif name in ("undo", "redo"):
            self._screen.run_command(name)
        elif name not in ("add", "remove", "move_up", "move_down"):
            super().run_command(name)
        self.app.needs_redraw = True

    def _change(self, text: str) -> bool:
        """Set the text of the document; return whether it changed."""
        before = self._screen.work.buffer.text
        self._screen.edit(lambda _: text)
        return text != before

    def _move(self, rule: Rule, offset: int) -> None:
        """Move a rule by `offset` places."""
        if self._change(self._screen.work.rules.move_rule(rule, offset)):
            self._chosen += offset

    def _open_rule_form(self, rule: Rule) -> None:
        """Open the form of a rule, if it has parameters."""
        if rule.system is not None and self._screen.work.rules.argument_table(rule):
            self.app.push(rule_form(self._screen, rule.path))

    def _open_add_screen(self, part: RulePart) -> None:
        """Open the list of rules that a part can have."""
        self.app.push(AddRuleScreen(self._screen, part, partial(self._insert_rule, part)))

    def _insert_rule(self, part: RulePart, rule: AvailableRule) -> None:
        """Add a rule to a part, choose it, and open its form."""
        self._change(self._screen.work.rules.add_rule(part, rule))
        new_rule = self._screen.work.rules.rules(part)[-1]
        rows = self.rows()
        self._chosen = next(n for n, row in enumerate(rows) if row.rule == new_rule)
        if new_rule.arguments:
            self._open_rule_form(new_rule)


class AddRuleScreen(_ListScreen):
    """List of the rules that a part can have, filtered by typed text.

    Args:
        screen: editor screen.
        part: part of the scenario that gets the rule.
        add: function that is called with the chosen rule.
    """

    def __init__(
        self, screen: PaintScreen, part: RulePart, add: Callable[[AvailableRule], None]
    ) -> None:
        super().__init__(screen)
        self._part, self._add_rule = part, add
        self._available_rules = list(screen.work.rules.available_rules(part))
        self._query = ""

    @property
    def title(self) -> str:
        return f"{self._part.title}: {self._query}|" if self._query else self._part.title

    def rows(self) -> Sequence[_Row]:
        """Return a row for each rule that matches the typed text."""

        def texts(rule: AvailableRule) -> tuple[str, str]:
            return rule.name.replace("_", " "), rule.description

        fitting = (
            search(self._query, self._available_rules, texts)
            if self._query.strip()
            else self._available_rules
        )
        return [_Row(*texts(rule), partial(self._choose_rule, rule)) for rule in fitting]

    def hints(self) -> Sequence[str]:
        return ("Type to search", self.hint("menu", "choose", "adds"))

    def run_command(self, name: str) -> None:
        if name == "erase":
            self._search(self._query[:-1])
        else:
            super().run_command(name)

    def on_text(self, text: str) -> None:
        self._search(self._query + "".join(c for c in text if c.isprintable()))

    def _search(self, query: str) -> None:
        """Set the typed text."""
        self._query, self._chosen = query[:100], 0
        self.app.needs_redraw = True

    def _choose_rule(self, rule: AvailableRule) -> None:
        """Close the list and add a rule."""
        self.app.pop()
        self._add_rule(rule)
