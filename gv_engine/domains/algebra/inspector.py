"""The inspector of algebra: what a node is, and what each rule would make of the expression."""

from __future__ import annotations

from typing import Any, NamedTuple

from gv_engine.domains.algebra.episode import TreeCursor
from gv_engine.domains.algebra.parsing import formulas
from gv_engine.rules.errors import Stopped
from gv_engine.scenario.map import signed
from gv_engine.scenario.rule_modules import failure
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.text import draw_text_line, rounded_rect
from gv_engine.ui.drawing.widgets import wrap_text

NOTCH_LINES = 3  # that a notch of the wheel scrolls


class Prospect(NamedTuple):
    """What a rule would make of a node.

    Attributes:
        text: the expression then; why the rule fails, if it does.
        reward: that it pays.
        why: the system that gives it, or how the episode would end.
    """

    text: str
    reward: float
    why: str


class TreeInspector:
    """Shows the chosen node, and what each of its rules would give and pay.

    Args:
        game: what is played; asked for its `scenario` and `row()`.
        theme: the colours of the panel.
        cursor: which has the chosen node.
    """

    title = "Inspector"

    def __init__(self, game: Any, theme: Theme, cursor: TreeCursor) -> None:
        self._game, self._theme, self._cursor = game, theme, cursor
        self._scenario: Any = None
        self._world: Any = None
        self._tried: dict[tuple[int, int], Prospect] = {}
        self._scrolled = 0
        self._page = 1  # lines

    def begin(self) -> None:
        """Forget what was tried: another expression is shown."""
        self._tried = {}

    def rewriting(self, rule: int, node: int) -> Prospect:
        """What a rule would make of a node, tried on a copy."""
        if (rule, node) not in self._tried:
            self._tried[rule, node] = self._try(rule, node)
        return self._tried[rule, node]

    def _try(self, rule: int, node: int) -> Prospect:
        if self._scenario is not self._game.scenario:
            self._scenario = self._game.scenario
            self._world = self._scenario.make_world()
        world = self._world
        try:
            world.restore(self._game.row())
            world.step((rule, node))
            why = world.ending or world.decided_by.replace("_", " ")
            return Prospect(world.state.agent.problem, float(world.reward), why)
        except (Exception, Stopped) as error:  # whatever a rule of one's own may raise
            return Prospect(str(failure(error)), 0.0, "")

    def rows(self, line: int, width: int) -> list[tuple[str, str, int]]:
        """Ink, text and indent in lines of all that the panel tells in a width in pixels."""
        frame, chosen = self._cursor.frame, self._cursor.chosen
        whole = frame.text[slice(*chosen.whole)]
        rows = [("text", f"{chosen.kind} {chosen.text}", 0)]
        if whole != chosen.text:
            rows += [("muted", text, 0) for text in wrap_text(whole, line, width)]
        rows.append(("text", "", 0))
        if frame.outcome or not chosen.rules:
            return [*rows, ("muted", "No rule applies here", 0)]
        for rule in chosen.rules:
            found = self.rewriting(rule, chosen.x)
            rows.append(("accent", f"{rule + 1} {frame.rules[rule]}", 0))
            rows += [("text", text, 1) for text in wrap_text(found.text, line, width - line)]
            rows.append(("muted", f"{signed(found.reward)} {found.why}".strip(), 1))
        return rows

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, line: int) -> None:
        """Draw the panel; `line` is the height of a line of text in pixels."""
        theme, before = self._theme, surface.get_clip()
        surface.set_clip(rect.clip(before))
        surface.blit(rounded_rect(rect.size, line // 2, theme.card), rect)
        inner = rect.inflate(-line, -line)
        if min(inner.size) >= line:
            rows = self.rows(line, inner.w)
            self._page = inner.h // line
            self._scrolled = max(0, min(self._scrolled, len(rows) - self._page))
            shown = rows[self._scrolled : self._scrolled + self._page]
            for number, (ink, text, level) in enumerate(shown):
                slot = pygame.Rect(inner.x + level * line, inner.y + number * line, 0, line)
                slot.w = inner.right - slot.x
                draw_text_line(surface, slot, text, line, getattr(theme, ink), letters=formulas)
        surface.set_clip(before)

    def event(self, event: pygame.event.Event) -> bool:
        """Take a mouse event; the wheel scrolls."""
        return event.type == pygame.MOUSEWHEEL and self._scroll(-NOTCH_LINES * event.y)

    def command(self, name: str) -> bool:
        """Take a command of the group `inspector`."""
        if name not in ("scroll_up", "scroll_down"):
            return False
        return self._scroll(self._page // 2 if name == "scroll_down" else -self._page // 2)

    def _scroll(self, lines: int) -> bool:
        self._scrolled = max(0, self._scrolled + lines)
        return True
