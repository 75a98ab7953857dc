"""Contents of one picture of an expression, independent of any drawing library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gv_engine.plugins.algebra.systems import TreeNode
from gv_engine.rules.frame import Scene


@dataclass(frozen=True)
class RewriteRecord:
    """One entry of the history of moves: an expression, and the rule and node that led to it.

    Attributes:
        rule: name of the rule; "" for the start.
        node: index of the node; -1 for the start.
    """

    text: str
    rule: str
    node: int


@dataclass(frozen=True, eq=False)
class ExpressionFrame(Scene):
    """Contents of one picture of an expression, as plain values.

    Attributes:
        text: written expression.
        nodes: nodes of the tree in in-order traversal, so that `nodes[i].x == i`.
        rules: names of the rules by index.
        codes: two-letter codes of the rules.
        actions: prefix of each rule's actions, such as `commutative_swap`; a space and the node
            follow.
        history: all expressions of the episode, the start first and the present one last.
    """

    domain: ClassVar[str] = "algebra"

    title: str
    text: str
    nodes: tuple[TreeNode, ...]
    rules: tuple[str, ...]
    codes: tuple[str, ...]
    actions: tuple[str, ...]
    history: tuple[RewriteRecord, ...]
    moves_remaining: int
    max_moves: int

    @property
    def is_loss_highlighted(self) -> bool:
        """True only after a lost episode, not after every negative reward, as correct moves may
        cost reward, too, such as expanding brackets."""
        return self.outcome == "lose"

    @property
    def depth(self) -> int:
        """Number of rows of nodes."""
        return 1 + max(node.y for node in self.nodes)


def expression_to_text(frame: ExpressionFrame) -> str:
    """Return the expression tree as text art, followed by the expression as written and a line
    about the last step."""
    starts, width = [], 0
    for node in frame.nodes:
        starts.append(width)
        width += len(node.text) + 1
    rows = [[" "] * width for _ in range(frame.depth)]
    for node, start in zip(frame.nodes, starts, strict=True):
        rows[node.y][start : start + len(node.text)] = node.text
    last = f"{frame.action}: {frame.reward:+g}, " if frame.action else ""
    line = f"{last}return {frame.total:+g}, {frame.moves_remaining} moves left"
    if frame.outcome:
        line += f", {frame.outcome}"
    return "\n".join([*("".join(row).rstrip() for row in rows), frame.text, line])
