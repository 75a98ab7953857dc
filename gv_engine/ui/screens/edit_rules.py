"""The rules of a level that is edited: listed with their sentences, added, ordered, taken out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from gv_engine.editor.rules import RULE_PARTS, AvailableRule, Rule, RulePart, has_fault
from gv_engine.session.catalogue import search
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter, wrap
from gv_engine.ui.screens.edit_forms import rule_form
from gv_engine.ui.screens.screen import Screen

if TYPE_CHECKING:
    from gv_engine.ui.screens.edit_board import PaintScreen

_LONGEST_SAYS = 3  # lines of a sentence


class _Row(NamedTuple):
    """A row of a list.

    Attributes:
        name: what stands first.
        says: the sentence below.
        act: what choosing it does.
        rule: that it is about; None for a heading, or where one may be added.
        part: that it belongs to.
        wrong: whether something is wrong with it.
    """

    name: str
    says: str
    act: Callable[[], None]
    rule: Rule | None = None
    part: RulePart | None = None
    wrong: bool = False


class _ListScreen(Screen):
    """Rows with a name and a sentence each, one of them chosen."""

    over = True

    def __init__(self, screen: PaintScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen
        self._chosen = 0
        self._first = 0
        self._page = 1

    @property
    def title(self) -> str:
        """What stands above the rows."""
        raise NotImplementedError

    def rows(self) -> Sequence[_Row]:
        """The rows as they are now."""
        raise NotImplementedError

    def command(self, name: str) -> None:
        rows = self.rows()
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        moves |= {"first": -len(rows), "last": len(rows)}
        if name in moves:
            self._chosen = max(0, min(len(rows) - 1, self._chosen + moves[name]))
        elif name == "choose" and rows:
            rows[min(self._chosen, len(rows) - 1)].act()
        else:
            super().command(name)
        self.app.stale = True

    def pointed(self, event: pygame.event.Event) -> None:
        if event.type == pygame.MOUSEWHEEL:
            self.command("up" if event.y > 0 else "down")

    def draw(self, pen: Painter, now: float) -> None:
        line, rows = pen.line, self.rows()
        card = pen.area.inflate(-line, -line)
        card.w = min(card.w, 56 * line)
        card.centerx = pen.area.centerx
        pen.card(card)
        inner = card.inflate(-2 * line, -line)
        pen.text(pygame.Rect(inner.x, inner.y, inner.w, 2 * line), self.title, size=1.4)
        foot = pygame.Rect(inner.x, inner.bottom - line, inner.w, line)
        pen.text(foot, " · ".join(filter(None, self.hints())), "muted", "center", 0.9)
        body = pygame.Rect(inner.x, inner.y + 5 * line // 2, inner.w, 0)
        body.h = foot.y - line // 2 - body.y
        self._chosen = max(0, min(self._chosen, len(rows) - 1))
        heights = [self._height(line, body.w, row) for row in rows]
        self._first = min(self._first, self._chosen)
        while sum(heights[self._first : self._chosen + 1]) > body.h and self._first < self._chosen:
            self._first += 1
        y, number = body.y, self._first
        while number < len(rows) and y + heights[number] <= body.bottom:
            slot = pygame.Rect(body.x, y, body.w, heights[number] - line // 4)
            self._draw_row(pen, slot, rows[number], number)
            y, number = y + heights[number], number + 1
        self._page = max(1, number - self._first)
        groove = pygame.Rect(card.right - line * 3 // 4, body.y, line // 4, body.h)
        pen.scrolled(groove, self._first, self._page, len(rows))

    def _height(self, line: int, width: int, row: _Row) -> int:
        said = wrap(row.says, line, width - 2 * line, _LONGEST_SAYS) if row.says else []
        return (len(said) + 1) * line + line // 2 + line // 4

    def _draw_row(self, pen: Painter, slot: pygame.Rect, row: _Row, number: int) -> None:
        line, chosen = pen.line, number == self._chosen
        pen.hot(slot, partial(self._press, number))
        pen.card(slot, "accent" if chosen else "well")
        ink, weak = ("on_accent", "on_accent") if chosen else ("text", "muted")
        if row.rule is None and row.part is not None and not chosen:
            ink = "accent"
        inner = slot.inflate(-line, -line // 2)
        name = pygame.Rect(inner.x, inner.y, inner.w, line)
        pen.text(name, row.name, "loss" if row.wrong and not chosen else ink)
        if row.wrong:
            pen.text(name, "something is wrong", ink if chosen else "loss", "right")
        said = pygame.Rect(inner.x + line, inner.y + line, inner.w - line, inner.h - line)
        if row.says:
            pen.lines(said, row.says, weak)

    def _press(self, number: int, at: tuple[int, int]) -> None:
        if number == self._chosen:
            self.rows()[number].act()
        self._chosen = number
        self.app.stale = True

    def hints(self) -> Sequence[str]:
        """What stands at the bottom."""
        return ()

    def hint(self, group: str, name: str, says: str) -> str:
        """A key and what it does, empty if the command has none."""
        key = self.app.bindings.label(group, name)
        return f"{key} {says}" if key else ""


class RuleListScreen(_ListScreen):
    """All rules of the level, part by part."""

    groups = ("list", "menu", "window")
    title = "Rules"

    def rows(self) -> Sequence[_Row]:
        rules = self._screen.work.rules
        wrong = [fault.place.path for fault in self._screen.faults]
        found = []
        for part in RULE_PARTS:
            how = rules.combination(part)
            title = f"{part.title}: {how}" if how else part.title
            found.append(_Row(title, "", partial(self._add, part), None, part))
            for rule in rules.rules(part):
                name = rule.name.replace("_", " ") if ":" not in rule.name else rule.name
                act = partial(self._set, rule)
                found.append(_Row(name, rule.description, act, rule, part, has_fault(rule, wrong)))
        return found

    def choose_at(self, path: str) -> None:
        """Choose the rule that a message is about."""
        about = (n for n, row in enumerate(self.rows()) if row.rule and has_fault(row.rule, [path]))
        self._chosen = next(about, 0)

    def hints(self) -> Sequence[str]:
        hints = (("add", "adds"), ("remove", "takes out"), ("move_up", "up"), ("move_down", "down"))
        said = [self.hint("list", name, says) for name, says in hints]
        return (*said, self.hint("menu", "choose", "sets"), self.hint("list", "undo", "undo"))

    def command(self, name: str) -> None:
        row = self.rows()[self._chosen]
        if name == "add" and row.part is not None:
            self._add(row.part)
        elif name == "remove" and row.rule is not None:
            self._change(self._screen.work.rules.remove_rule(row.rule))
        elif name in ("move_up", "move_down") and row.rule is not None:
            self._move(row.rule, -1 if name == "move_up" else 1)
        elif name in ("undo", "redo"):
            self._screen.command(name)
        elif name not in ("add", "remove", "move_up", "move_down"):
            super().command(name)
        self.app.stale = True

    def _change(self, text: str) -> bool:
        before = self._screen.work.buffer.text
        self._screen.edit(lambda _: text)
        return text != before

    def _move(self, rule: Rule, by: int) -> None:
        if self._change(self._screen.work.rules.move_rule(rule, by)):
            self._chosen += by

    def _set(self, rule: Rule) -> None:
        if rule.system is not None and self._screen.work.rules.argument_table(rule):
            self.app.push(rule_form(self._screen, rule.path))

    def _add(self, part: RulePart) -> None:
        self.app.push(AddRuleScreen(self._screen, part, partial(self._added, part)))

    def _added(self, part: RulePart, known: AvailableRule) -> None:
        self._change(self._screen.work.rules.add_rule(part, known))
        added = self._screen.work.rules.rules(part)[-1]
        rows = self.rows()
        self._chosen = next(n for n, row in enumerate(rows) if row.rule == added)
        if added.arguments:
            self._set(added)


class AddRuleScreen(_ListScreen):
    """All rules that a part may list; typing leaves those that fit.

    Args:
        screen: the editor.
        part: that one is added to.
        add: takes the one that was chosen.
    """

    def __init__(
        self, screen: PaintScreen, part: RulePart, add: Callable[[AvailableRule], None]
    ) -> None:
        super().__init__(screen)
        self._part, self._add = part, add
        self._known = list(screen.work.rules.available_rules(part))
        self._query = ""

    @property
    def title(self) -> str:
        return f"{self._part.title}: {self._query}|" if self._query else self._part.title

    def rows(self) -> Sequence[_Row]:
        def said(known: AvailableRule) -> tuple[str, str]:
            return known.name.replace("_", " "), known.description

        fitting = search(self._query, self._known, said) if self._query.strip() else self._known
        return [_Row(*said(known), partial(self._take, known)) for known in fitting]

    def hints(self) -> Sequence[str]:
        return ("Type to search", self.hint("menu", "choose", "adds"))

    def command(self, name: str) -> None:
        if name == "erase":
            self._search(self._query[:-1])
        else:
            super().command(name)

    def typed(self, text: str) -> None:
        self._search(self._query + "".join(c for c in text if c.isprintable()))

    def _search(self, query: str) -> None:
        self._query, self._chosen = query[:100], 0
        self.app.stale = True

    def _take(self, known: AvailableRule) -> None:
        self.app.pop()
        self._add(known)
