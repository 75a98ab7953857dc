"""An expression in letters: the written one, its tree, and the rules with their numbers."""

from __future__ import annotations

from typing import Any

from rich.text import Text

from gv_engine.domains.algebra.episode import RULE, TreeCursor
from gv_engine.domains.algebra.hints import Advice
from gv_engine.rules.frame import ExpressionFrame, TreeNode
from gv_engine.ui.colors import Theme
from gv_engine.ui.terminal.picture import TerminalPicture


class TreePicture(TerminalPicture):
    """Draws the frames of algebra; see `gv_engine.ui.terminal.picture.TerminalPicture`.

    Brackets mark the chosen node, a star what the last move has changed.

    Args:
        game: what is played.
        theme: the colours.
    """

    def __init__(self, game: Any, theme: Theme) -> None:
        self._game, self._theme = game, theme
        self._cursor = TreeCursor(game.frame())
        self._advice = ""

    def draw(self, frame: ExpressionFrame, view: str, width: int, height: int) -> list[Text]:
        """The expression above its tree, as much of that as there is room for."""
        self._follow(frame)
        lines = [] if view == "tree" else self._written(width)
        if view == "both":
            lines.append(Text())
        if view != "expression":
            lines += self._tree(width, max(1, height - len(lines)))
        across = max(map(len, lines))
        for line in lines:
            line.pad_right(across - len(line))
        return lines

    def _follow(self, frame: ExpressionFrame) -> None:
        if frame.text != self._cursor.frame.text or frame.steps != self._cursor.frame.steps:
            self._advice = ""
        self._cursor.follow(frame)

    def _written(self, width: int) -> list[Text]:
        """The expression in lines of at most so many characters, which break at blanks."""
        frame, theme = self._cursor.frame, self._theme
        text = Text(frame.text, f"bold {theme.text}")
        chosen = self._cursor.chosen
        text.stylize(f"underline on {theme.outline}", *chosen.whole)
        text.stylize(f"{theme.on_accent} on {theme.accent}", *chosen.span)
        lines, start = [], 0
        while start < len(text):
            end = min(len(text), start + width)
            if end < len(text):
                end = max(frame.text.rfind(" ", start, end) + 1, start + 1)
            lines.append(text[start:end])
            start = end
        return lines

    def _tree(self, width: int, height: int) -> list[Text]:
        """The tree, or as much of it as there is around the chosen node."""
        nodes, chosen = self._cursor.frame.nodes, self._cursor.chosen
        said = [self._said(node) for node in nodes]
        starts = [0]
        for text in said:
            starts.append(starts[-1] + max(2, len(text)))
        left = _first(starts[chosen.x], starts[-1], width)
        top = _first(chosen.y, self._cursor.frame.depth, height)
        lines = []
        for row in range(top, min(top + height, self._cursor.frame.depth)):
            line = Text(" " * starts[-1])
            for node, text, start in zip(nodes, said, starts[:-1], strict=True):
                if node.y == row:
                    style = self._style(node)
                    line = Text.assemble(line[:start], (text, style), line[start + len(text) :])
            lines.append(line[left : left + width])
        return lines

    def _said(self, node: TreeNode) -> str:
        if node.x == self._cursor.node:
            return f"[{node.text}]"
        return f"{node.text}*" if node.changed else node.text

    def _style(self, node: TreeNode) -> str:
        theme = self._theme
        if node.x == self._cursor.node:
            return f"bold {theme.on_accent} on {theme.accent}"
        if node.changed:
            return f"bold {theme.gain}"
        return f"bold {theme.text}" if node.rules else theme.muted

    def facts(self, frame: ExpressionFrame) -> list[str]:
        """How many moves are left."""
        return [f"{frame.moves_remaining} of {frame.max_moves} moves left"]

    def legend(self, frame: ExpressionFrame) -> list[Text]:
        """The rules that apply to the chosen node, with their numbers, and the moves so far."""
        self._follow(frame)
        theme, cursor = self._theme, self._cursor
        parts = filter(None, self._advice.split("; "))
        lines = [Text(part, f"bold {theme.text}") for part in parts]
        for rule in cursor.chosen.rules:
            style = f"bold {theme.accent}" if rule == cursor.rule else theme.text
            lines.append(Text(f"{rule + 1} {frame.rules[rule]}", style))
        if not cursor.chosen.rules:
            lines.append(Text("no rule applies here", theme.muted))
        lines.append(Text())
        for entry in reversed(frame.history):
            lines.append(Text(entry.text, theme.muted))
        return lines

    def command(self, name: str) -> str:
        """The action of a rule, or nothing for a step from node to node."""
        self._follow(self._game.frame())  # several keys may come between two pictures
        self._advice = ""
        if name == "hint":
            self._hint()
        return self._cursor.command(name)

    def has_command(self, name: str) -> bool:
        """Whether there is a rule of that number, if it is about one."""
        number = name.removeprefix(RULE)
        return number == name or int(number) <= len(self._cursor.frame.rules)

    def _hint(self) -> None:
        if self._cursor.frame.outcome:
            return
        advice = Advice(self._game)
        advice.join()
        if advice.hint is not None:
            self._cursor.choose(advice.hint.node, advice.hint.rule)
        self._advice = advice.answer


def _first(middle: int, size: int, room: int) -> int:
    """The first of as many as there is room for, around the middle."""
    return min(max(0, middle - room // 2), max(0, size - room))
