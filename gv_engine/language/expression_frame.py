"""The content of one picture of an expression, free of any drawing library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gv_engine.language.frame import Scene


@dataclass(frozen=True)
class TreeNode:
    """One node of the tree, at its place in a grid of `x` and `y`: no two share a column."""

    identity: int
    """A number that a node keeps as long as rules keep it; it glides from picture to picture."""
    kind: str
    """`constant`, `variable` or `operator`."""
    text: str
    """What stands in it: a number, a letter, a sign."""
    x: int
    """Its index in order, from 0: left operand, node, right operand. Actions count nodes by it."""
    y: int
    """How many nodes are above it."""
    parent: int
    """`x` of the node above; -1 at the root."""
    changed: bool
    """Whether the last move has changed or made it."""
    rules: tuple[int, ...]
    """Numbers of the rules that apply to it."""
    span: tuple[int, int]
    """Its own characters in the written expression, from and to; none for the sign in 4x."""
    whole: tuple[int, int]
    """The characters of all that is written for it and below it."""


@dataclass(frozen=True)
class RewriteRecord:
    """One entry of the list of moves: an expression, and what led to it."""

    text: str
    rule: str
    """Empty at the start."""
    node: int
    """-1 at the start."""


@dataclass(frozen=True, eq=False)
class ExpressionFrame(Scene):
    """All that one picture of an expression shows, as plain values."""

    family: ClassVar[str] = "mathy"

    title: str
    text: str
    """The written expression."""
    nodes: tuple[TreeNode, ...]
    """In order, so that `nodes[i].x == i`."""
    rules: tuple[str, ...]
    """Names of the rules, by number."""
    codes: tuple[str, ...]
    """Two letters for each of them."""
    actions: tuple[str, ...]
    """What the actions of each rule begin with: `commutative_swap`, then a blank and the node."""
    history: tuple[RewriteRecord, ...]
    """The start first, the present expression last."""
    moves_remaining: int
    max_moves: int

    @property
    def is_blamed(self) -> bool:
        """Only at a lost end: right moves may cost, too, as those do that spread brackets out."""
        return self.outcome == "lose"

    @property
    def depth(self) -> int:
        """How many rows of nodes there are."""
        return 1 + max(node.y for node in self.nodes)


def expression_text(frame: ExpressionFrame) -> str:
    """The tree as text, above the written expression, and a line with what happened."""
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
