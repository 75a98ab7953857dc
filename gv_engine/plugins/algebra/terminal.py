"""Terminal view of algebra: the expression, its tree and the numbered rules as text."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

from rich.text import Text

from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.terminal.tty import TerminalPicture
from gv_engine.plugins.algebra.episode import RULE_PREFIX, HintSearch, TreeCursor
from gv_engine.plugins.algebra.frame import ExpressionFrame
from gv_engine.plugins.algebra.systems import TreeNode


class TreeTerminalView(TerminalPicture):
    """Terminal view of algebra frames; see `gv_engine.play.ui.terminal.tty.TerminalPicture`.

    Brackets mark the selected node, a star the nodes that the last move changed.

    Args:
        game: session to show.
        theme: colours.
    """

    def __init__(self, game: Any, theme: Theme) -> None:
        self._game, self._theme = game, theme
        self._cursor = TreeCursor(game.frame())
        self._answer = ""

    def draw(self, frame: ExpressionFrame, view: str, width: int, height: int) -> list[Text]:
        """Return the screen as at most `height` lines of `width` characters. `view` selects the
        expression, its tree, or both."""
        self._update_cursor(frame)
        lines = [] if view == "tree" else self._expression_lines(width)
        if view == "both":
            lines.append(Text())
        if view != "expression":
            lines += self._tree_lines(width, max(1, height - len(lines)))
        longest = max(map(len, lines))
        for line in lines:
            line.pad_right(longest - len(line))
        return lines

    def _update_cursor(self, frame: ExpressionFrame) -> None:
        if frame.text != self._cursor.frame.text or frame.steps != self._cursor.frame.steps:
            self._answer = ""
        self._cursor.follow(frame)

    def _expression_lines(self, width: int) -> list[Text]:
        """Return the expression as lines of at most `width` characters, broken at spaces."""
        frame, theme = self._cursor.frame, self._theme
        text = Text(frame.text, f"bold {theme.text}")
        selected = self._cursor.chosen
        text.stylize(f"underline on {theme.outline}", *selected.whole)
        text.stylize(f"{theme.on_accent} on {theme.accent}", *selected.span)
        lines, start = [], 0
        while start < len(text):
            end = min(len(text), start + width)
            if end < len(text):
                end = max(frame.text.rfind(" ", start, end) + 1, start + 1)
            lines.append(text[start:end])
            start = end
        return lines

    def _tree_lines(self, width: int, height: int) -> list[Text]:
        """Return the tree as lines of text. If it does not fit, return the part around the selected
        node."""
        nodes, chosen = self._cursor.frame.nodes, self._cursor.chosen
        labels = [self._node_text(node) for node in nodes]
        starts = [*accumulate((max(2, len(text)) for text in labels), initial=0)]
        left = _window_start(starts[chosen.x], starts[-1], width)
        top = _window_start(chosen.y, self._cursor.frame.depth, height)
        lines = []
        for row in range(top, min(top + height, self._cursor.frame.depth)):
            line = Text(" " * starts[-1])
            for node, text, start in zip(nodes, labels, starts[:-1], strict=True):
                if node.y == row:
                    style = self._node_style(node)
                    line = Text.assemble(line[:start], (text, style), line[start + len(text) :])
            lines.append(line[left : left + width])
        return lines

    def _node_text(self, node: TreeNode) -> str:
        if node.x == self._cursor.node:
            return f"[{node.text}]"
        return f"{node.text}*" if node.changed else node.text

    def _node_style(self, node: TreeNode) -> str:
        """Return the Rich style for a node. It shows if the node is selected, was changed by the
        last move, or has applicable rules."""
        theme = self._theme
        if node.x == self._cursor.node:
            return f"bold {theme.on_accent} on {theme.accent}"
        if node.changed:
            return f"bold {theme.gain}"
        return f"bold {theme.text}" if node.rules else theme.muted

    def facts(self, frame: ExpressionFrame) -> list[str]:
        """Return a line with the number of moves left."""
        return [f"{frame.moves_remaining} of {frame.max_moves} moves left"]

    def legend(self, frame: ExpressionFrame) -> list[Text]:
        """Return the lines beside the tree: the hint, the numbered rules that apply to the selected
        node, and the previous expressions."""
        self._update_cursor(frame)
        theme, cursor = self._theme, self._cursor
        parts = filter(None, self._answer.split("; "))
        lines = [Text(part, f"bold {theme.text}") for part in parts]
        for rule in cursor.chosen.rules:
            style = f"bold {theme.accent}" if rule == cursor.rule else theme.text
            lines.append(Text(f"{rule + 1} {frame.rules[rule]}", style))
        if not cursor.chosen.rules:
            lines.append(Text("no rule applies here", theme.muted))
        history = (Text(entry.text, theme.muted) for entry in reversed(frame.history))
        return [*lines, Text(), *history]

    def command(self, name: str) -> str:
        """Run the key command `name`. Return the action to take, or "" if the command only moves
        the cursor."""
        self._update_cursor(self._game.frame())  # several keys may come between two frames
        self._answer = ""
        if name == "hint":
            self._find_hint()
        return self._cursor.command(name)

    def has_command(self, name: str) -> bool:
        """Return False if the command applies a rule whose number does not exist, else True."""
        number = name.removeprefix(RULE_PREFIX)
        return number == name or int(number) <= len(self._cursor.frame.rules)

    def _find_hint(self) -> None:
        """Search for a hint and wait until the search ends. Store the hint's text, and select the
        suggested node and rule."""
        if self._cursor.frame.outcome:
            return
        search = HintSearch(self._game)
        search.join()
        if search.hint is not None:
            self._cursor.choose(search.hint.node, search.hint.rule)
        self._answer = search.answer


def _window_start(middle: int, size: int, visible: int) -> int:
    return min(max(0, middle - visible // 2), max(0, size - visible))
