"""Inspector panel of algebra: the selected node, and the result of each of its rules."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing import sprites
from gv_engine.play.ui.drawing.sprites import (
    OVERSAMPLING,
    LineFont,
    clipped,
    draw_text_line,
    pygame,
)
from gv_engine.play.ui.drawing.widgets import wrap_text
from gv_engine.plugins.algebra.episode import TreeCursor
from gv_engine.rules.errors import Stopped
from gv_engine.scenario.documents.rule_errors import make_rule_error
from gv_engine.scenario.readers.map import format_reward

from pygame import freetype  # isort: skip  # after the module that turns off pygame's greeting


_POWER = r"-?(?:[0-9.]++|[a-zA-Z]|$)!?+"
# rest: all further powers; `*+` takes too few in Python 3.11.2
_EXPONENT = re.compile(
    rf"(?<=[\w)!])\^(?!-?(?:\(|sgn\())({_POWER}(?=(?P<rest>(?:\^{_POWER})*))(?P=rest))(?!\^)"
)
"""Caret with its exponent, which is drawn raised without the caret: in x^2y the 2, in x^y^2 all of
y^2. Before parentheses and functions the caret stays."""


_SMALLER = 0.68


class FormulaFont(LineFont):
    """Font for expressions in text lines that are `line` pixels high, with small raised exponents;
    see `LineFont`."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self._small = sprites.load_font(None, round(line * 11 / 12 * OVERSAMPLING * _SMALLER))

    def _split_by_font(self, text: str) -> Iterator[tuple[str, freetype.Font, int]]:
        """Split an expression's text at its exponents, and yield (piece, font, y) from left to
        right. Exponents have a smaller font and a smaller y."""
        end = 0
        for exponent in _EXPONENT.finditer(text):
            yield from super()._split_by_font(text[end : exponent.start()])
            if exponent[1]:
                yield exponent[1], self._small, 0
            end = exponent.end()
        yield from super()._split_by_font(text[end:])


def formula_font(line: int) -> LineFont:
    """Return the font for expressions in text lines that are `line` pixels high."""
    return sprites.cached_font(FormulaFont, line)


NOTCH_LINES = 3  # lines that one notch of the wheel scrolls


class RuleResult(NamedTuple):
    """Result of applying a rule to a node.

    Attributes:
        text: resulting expression; the error message if the rule fails.
        reward: reward of the move.
        reason: system that gives the reward, or text on how the episode ends.
    """

    text: str
    reward: float
    reason: str


class TreeInspector:
    """Panel with the selected node, and the result and reward of each of its rules.

    Args:
        game: session with `scenario` and `row()`.
        theme: colours of the panel.
        cursor: cursor on the selected node.
    """

    title = "Inspector"

    def __init__(self, game: Any, theme: Theme, cursor: TreeCursor) -> None:
        """Make the inspector panel of `game`, a play session. It shows the node that `cursor`
        selects."""
        self._game, self._theme, self._cursor = game, theme, cursor
        self._scenario: Any = None
        self._world: Any = None
        self._results: dict[tuple[int, int], RuleResult] = {}
        self._first_row = 0
        self._num_visible_rows = 1

    def begin(self) -> None:
        """Clear the cached results, because the expression has changed."""
        self._results = {}

    def rule_result(self, rule: int, node: int) -> RuleResult:
        """Return the cached result of applying a rule to a node, both given by index."""
        if (rule, node) not in self._results:
            self._results[rule, node] = self._apply_to_copy(rule, node)
        return self._results[rule, node]

    def _apply_to_copy(self, rule: int, node: int) -> RuleResult:
        """Apply rule number `rule` to node number `node` on a copy of the world. Return the new
        expression with its reward, or the reason why the rule failed."""
        if self._scenario is not self._game.scenario:
            self._scenario = self._game.scenario
            self._world = self._scenario.make_world()
        world = self._world
        try:
            world.restore(self._game.row())
            world.step((rule, node))
            reason = world.ending or world.decided_by.replace("_", " ")
            return RuleResult(world.state.agent.problem, float(world.reward), reason)
        except (Exception, Stopped) as error:  # a user-defined rule may raise anything
            return RuleResult(str(make_rule_error(error)), 0.0, "")

    def rows(self, line: int, width: int) -> list[tuple[str, str, int]]:
        """Return the lines of the panel as (theme colour name, text, indent), wrapped to `width`
        pixels. `line` is the height of a line in pixels."""
        frame, chosen = self._cursor.frame, self._cursor.chosen
        subtree_text = frame.text[slice(*chosen.whole)]
        rows = [("text", f"{chosen.kind} {chosen.text}", 0)]
        if subtree_text != chosen.text:
            rows += [("muted", text, 0) for text in wrap_text(subtree_text, line, width)]
        rows.append(("text", "", 0))
        if frame.outcome or not chosen.rules:
            return [*rows, ("muted", "No rule applies here", 0)]
        for rule in chosen.rules:
            result = self.rule_result(rule, chosen.x)
            rows.append(("accent", f"{rule + 1} {frame.rules[rule]}", 0))
            rows += [("text", text, 1) for text in wrap_text(result.text, line, width - line)]
            rows.append(("muted", f"{format_reward(result.reward)} {result.reason}".strip(), 1))
        return rows

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, line: int) -> None:
        """Draw the inspector panel into `rect`. `line` is the height of a line of text in
        pixels."""
        theme, inner = self._theme, rect.inflate(-line, -line)
        with clipped(surface, rect):
            surface.blit(sprites.rounded_rect(rect.size, line // 2, theme.card), rect)
            if min(inner.size) < line:
                return
            rows = self.rows(line, inner.w)
            self._num_visible_rows = inner.h // line
            self._first_row = max(0, min(self._first_row, len(rows) - self._num_visible_rows))
            visible = rows[self._first_row : self._first_row + self._num_visible_rows]
            for number, (color, text, indent) in enumerate(visible):
                x, y = inner.x + indent * line, inner.y + number * line
                slot = pygame.Rect(x, y, inner.right - x, line)
                color = getattr(theme, color)
                draw_text_line(surface, slot, text, line, color, get_font=formula_font)

    def event(self, event: pygame.event.Event) -> bool:
        """Handle a mouse event; return True if the panel has changed."""
        return event.type == pygame.MOUSEWHEEL and self._scroll(-NOTCH_LINES * event.y)

    def command(self, name: str) -> bool:
        """Run the key command `name` of the group `inspector`; return True if the panel has
        changed."""
        num_rows = self._num_visible_rows
        half_pages = {"scroll_down": num_rows // 2, "scroll_up": -num_rows // 2}
        return name in half_pages and self._scroll(half_pages[name])

    def _scroll(self, num_rows: int) -> bool:
        self._first_row = max(0, self._first_row + num_rows)
        return True
