"""Rule lists of the editor: the rules of the level, and the rules that can be added."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gv_engine.editor.rules import RULE_PARTS, AvailableRule, Rule, RulePart, has_fault
from gv_engine.session.catalogue import search
from gv_engine.ui.drawing.sprites import Rect
from gv_engine.ui.drawing.widgets import Painter, cut, wrap_text
from gv_engine.ui.screens.edit_forms import rule_form
from gv_engine.ui.screens.menu import ListScreen, SearchField

if TYPE_CHECKING:
    from gv_engine.ui.screens.edit_board import PaintScreen

_MAX_SENTENCE_LINES = 3  # lines of a sentence


class _Row(NamedTuple):
    """Row of a list.

    Attributes:
        name: title of the row.
        sentence: sentence below the title.
        act: function that choosing the row calls.
        rule: rule of the row; None for a heading or a rule to add.
        part: part of the scenario that the row belongs to.
        is_wrong: True if the rule has an error.
    """

    name: str
    sentence: str
    act: Callable[[], None]
    rule: Rule | None = None
    part: RulePart | None = None
    is_wrong: bool = False


class _SentenceList(ListScreen):
    """List of rows with a title and a sentence each.

    Args:
        screen: editor screen.
    """

    def __init__(self, screen: PaintScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen

    def rows(self) -> Sequence[_Row]:
        """Return the current rows."""
        raise NotImplementedError

    def hints(self) -> Sequence[str]:
        """Return short texts on keys for the bottom of the screen."""
        raise NotImplementedError

    def run_command(self, name: str) -> None:
        """Run the command `name`: do what the chosen row stands for, or choose another row."""
        rows = self.rows()
        if name == "choose" and rows:
            rows[min(self.chosen, len(rows) - 1)].act()
        else:
            super().run_command(name)

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the title, the rows that fit, a scrollbar and hints with `painter`."""
        line, rows = painter.line_height, self.rows()
        card = painter.area.inflate(-line, -line)
        card.w = min(card.w, 56 * line)
        card.centerx = painter.area.centerx
        body = painter.draw_dialog(card, self.title)
        footer = cut(body, "bottom", line, line // 2)
        painter.draw_text(footer, " · ".join(filter(None, self.hints())), "muted", "center", 0.9)
        cut(body, "top", line // 2)
        heights = [self._row_height(line, body.w, row) for row in rows]
        for number, slot in self.place_rows(painter, body, heights).items():
            self._draw_row(painter, slot, rows[number], number)

    def _row_height(self, line: int, width: int, row: _Row) -> int:
        """Return the height of `row` in pixels, wrapped to `width` pixels; `line` is the height of
        a line of text."""
        lines = wrap_text(row.sentence, line, width - 2 * line, _MAX_SENTENCE_LINES)
        return (len(lines) + 1) * line + line // 2 + line // 4

    def _draw_row(self, painter: Painter, slot: Rect, row: _Row, index: int) -> None:
        """Draw `row`, number `index` of the list, into `slot`, highlighted if it is chosen."""
        line, chosen = painter.line_height, index == self.chosen
        painter.add_hit_area(slot, partial(self._click, index))
        painter.draw_card(slot, "accent" if chosen else "well")
        color = "on_accent" if chosen else "loss" if row.is_wrong else "text"
        if row.rule is None and row.part is not None and not chosen:
            color = "accent"
        sentence = slot.inflate(-line, -line // 2)
        name = cut(sentence, "top", line)
        painter.draw_text(name, row.name, color)
        if row.is_wrong:
            painter.draw_text(name, "something is wrong", color, "right")
        cut(sentence, "left", line)
        if row.sentence:
            painter.draw_lines(sentence, row.sentence, "on_accent" if chosen else "muted")

    def _click(self, index: int, position: tuple[int, int]) -> None:
        """Choose the clicked row number `index`; a click on the chosen row does what the row stands
        for. The mouse's `position` is not used."""
        if index == self.chosen:
            self.rows()[index].act()
        self.chosen = index


class RuleListScreen(_SentenceList):
    """List of the level's rules by part of the scenario."""

    groups = ("list", "menu", "window")
    title = "Rules"

    def rows(self) -> Sequence[_Row]:
        """Return the rows of the list: a heading for each part of the scenario, such as the
        rewards, and a row for each rule."""
        rules = self._screen.work.rules
        faulty_paths = [fault.place.path for fault in self._screen.faults]
        rows = []
        for part in RULE_PARTS:
            title = ": ".join(filter(None, (part.title, rules.combination(part))))
            rows.append(_Row(title, "", partial(self._open_add_screen, part), None, part))
            for rule in rules.rules(part):
                name = rule.name if ":" in rule.name else rule.name.replace("_", " ")
                act = partial(self._open_rule_form, rule)
                is_wrong = has_fault(rule, faulty_paths)
                rows.append(_Row(name, rule.description, act, rule, part, is_wrong))
        return rows

    def choose_at(self, path: str) -> None:
        """Choose the row of the rule in which an error with the key path `path` lies."""
        rules = [row.rule for row in self.rows()]
        matches = (n for n, rule in enumerate(rules) if rule and has_fault(rule, [path]))
        self.chosen = next(matches, 0)

    def hints(self) -> Sequence[str]:
        texts = {"add": "adds", "remove": "takes out", "move_up": "up", "move_down": "down"}
        hints = self.hints_of("list", texts)
        return (*hints, self.hint("menu", "choose", "sets"), self.hint("list", "undo", "undo"))

    def run_command(self, name: str) -> None:
        """Run the command `name`: add, remove or move a rule, undo, redo, or choose another row."""
        row = self.rows()[self.chosen]
        if name == "add" and row.part is not None:
            self._open_add_screen(row.part)
        elif name == "remove" and row.rule is not None:
            self._change(self._screen.work.rules.remove_rule(row.rule))
        elif name in ("move_up", "move_down") and row.rule is not None:
            self._move(row.rule, -1 if name == "move_up" else 1)
        elif name in ("undo", "redo"):
            self._screen.run_command(name)
        else:
            super().run_command(name)

    def _change(self, text: str) -> bool:
        """Set the text of the edited file to `text`; return whether that changes it."""
        before = self._screen.work.buffer.text
        self._screen.edit(lambda _: text)
        return text != before

    def _move(self, rule: Rule, offset: int) -> None:
        """Move `rule` by `offset` places among the rules of its part of the file."""
        if self._change(self._screen.work.rules.move_rule(rule, offset)):
            self.chosen += offset

    def _open_rule_form(self, rule: Rule) -> None:
        """Open the form for the parameters of `rule`, if it has some."""
        if rule.system is not None and self._screen.work.rules.argument_table(rule):
            self.app.push(rule_form(self._screen, rule.path))

    def _open_add_screen(self, part: RulePart) -> None:
        """Open the list of rules that can be added to `part`, such as the rewards."""
        self.app.push(AddRuleScreen(self._screen, part, partial(self._insert_rule, part)))

    def _insert_rule(self, part: RulePart, rule: AvailableRule) -> None:
        """Add `rule` to `part`, such as the rewards, choose its row, and open its form."""
        self._change(self._screen.work.rules.add_rule(part, rule))
        new_rule = self._screen.work.rules.rules(part)[-1]
        rows = self.rows()
        self.chosen = next(n for n, row in enumerate(rows) if row.rule == new_rule)
        if new_rule.arguments:
            self._open_rule_form(new_rule)


class AddRuleScreen(SearchField, _SentenceList):
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

    @property
    def title(self) -> str:
        return f"{self._part.title}: {self.query}|" if self.query else self._part.title

    def rows(self) -> Sequence[_Row]:
        """Return a row for each available rule that matches the search text."""

        def texts(rule: AvailableRule) -> tuple[str, str]:
            return rule.name.replace("_", " "), rule.description

        matches = search(self.query, self._available_rules, texts)
        return [_Row(*texts(rule), partial(self._choose_rule, rule)) for rule in matches]

    def hints(self) -> Sequence[str]:
        return ("Type to search", self.hint("menu", "choose", "adds"))

    def _choose_rule(self, rule: AvailableRule) -> None:
        """Close the list, and add `rule` to the scenario."""
        self.app.pop()
        self._add_rule(rule)
