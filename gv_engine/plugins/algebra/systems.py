"""Rules of algebra worlds: apply a move, end the episode, and score the move.

Terminating rules run before rewards, and the first rule that ends the episode decides its outcome.
A scenario that lists no rules uses all of them, in the order of this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import esper

from gv_engine.plugins.algebra.components import (
    Changed,
    Constant,
    Depth,
    Identity,
    InOrder,
    Operator,
    Variable,
)
from gv_engine.rules.system import RENDERING, REWARD, TERMINATING, TRANSITION, system

MOST_VISITS = 3
"""Maximum number of visits to the same expression; one visit more loses the episode."""


@dataclass(frozen=True)
class TreeNode:
    """One node of an expression tree with its position in the drawing; no two nodes share a
    column.

    Attributes:
        identity: number that a node keeps across rewrites, so that it can move smoothly between
            pictures.
        kind: `constant`, `variable` or `operator`.
        text: label of the node: a number, a letter or a sign.
        x: index in in-order traversal (left operand, node, right operand), from 0. Actions use it.
        y: depth of the node in the tree, 0 for the root.
        parent: `x` of the parent node; -1 for the root.
        changed: True if the last move changed or created the node.
        rules: indices of the rules that apply to the node.
        span: start and end of the node's own characters in the written expression; an empty range
            for the multiplication in 4x, which has no sign.
        whole: start and end of the characters of the node's whole subtree.
    """

    identity: int
    kind: str
    text: str
    x: int
    y: int
    parent: int
    changed: bool
    rules: tuple[int, ...]
    span: tuple[int, int]
    whole: tuple[int, int]


@dataclass(frozen=True)
class EnvRewards:
    """Rewards of moves by kind.

    Attributes:
        win: reward of winning, before the bonus for unused moves.
        helpful: reward of a move with a rule that the environment rewards.
        unhelpful: reward of a move with a rule that the environment penalizes.
        time: reward of any other move.
        revisit: reward of a repeated expression, per visit.
    """

    win: float = 1.0
    lose: float = -1.0
    helpful: float = 0.01
    unhelpful: float = -0.01
    time: float = -0.01
    revisit: float = -0.02
    invalid: float = -0.5


class Rewriting(Protocol):
    """One move of an algebra episode: a rewriting rule that is applied to a node of the expression.
    Systems read the move's properties and decide its outcome by its methods.

    Attributes:
        valid: True if the rule applies at the node.
        decided_by: name of the system that decided on the outcome; "" before.
        reward: reward of the move, once it is decided.
    """

    valid: bool
    decided_by: str
    reward: float

    @property
    def rewards(self) -> EnvRewards:
        """Rewards of moves by kind."""

    @property
    def tolerates_invalid(self) -> bool:
        """True if the episode continues after a rule that does not apply."""

    @property
    def fits_observation(self) -> bool:
        """True if the expression is small enough for an observation."""

    @property
    def moves_remaining(self) -> int:
        """Number of moves until the episode is lost."""

    @property
    def visits(self) -> int:
        """Number of times the episode has reached the expression, this time included; 0 where
        revisits do not count."""

    @property
    def has_rewarded_rule(self) -> bool:
        """True if the environment rewards moves of this rule."""

    @property
    def has_penalized_rule(self) -> bool:
        """True if the environment penalizes moves of this rule."""

    def rewrite(self) -> None:
        """Apply the rule, so that the world is in the next state."""

    def check_goal(self) -> None:
        """Let the environment decide whether the new state wins or loses the episode, if the
        environment has a goal."""

    def score(self, reward: float, discount: float | None = None) -> None:
        """Decide that the episode continues with this reward."""

    def lose(self) -> None:
        """Decide that the episode is lost."""

    def give_up(self) -> None:
        """Forfeit all remaining moves and lose the episode."""


class ExpressionCanvas(Protocol):
    """Interface that rendering systems draw an expression on."""

    def spans(self, node: int) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return start and end of a node's own characters, and of its subtree's, in the written
        expression."""

    def rules_at(self, node: int) -> tuple[int, ...]:
        """Return the indices of the rules that apply to a node."""

    def show(self, nodes: tuple[TreeNode, ...]) -> None:
        """Show the picture with these nodes."""


@system(TRANSITION)
def apply_rule(w: Rewriting, agent: int) -> None:
    """Rewrite the expression with the action's rule at its node, and use up one move."""
    if w.valid:
        w.rewrite()


@system(TERMINATING, says="That rule does not apply there")
def refuse(w: Rewriting, agent: int) -> None:
    """A rule that does not apply at its node changes nothing and costs a penalty, or ends the
    episode."""
    if w.valid:
        return
    if w.tolerates_invalid:
        w.score(w.rewards.invalid, discount=1.0)
    else:
        w.give_up()


@system(TERMINATING, says="The expression has outgrown its room")
def outgrow(w: Rewriting, agent: int) -> None:
    """An expression that no longer fits into an observation loses the episode."""
    if not w.fits_observation:
        w.lose()


@system(TERMINATING, says="The problem is over")
def reach_goal(w: Rewriting, agent: int) -> None:
    """The episode is won when the goal of the environment is reached."""
    w.check_goal()


@system(TERMINATING, says="No moves are left")
def run_out_of_moves(w: Rewriting, agent: int) -> None:
    """The episode is lost when no moves are left."""
    if w.moves_remaining <= 0:
        w.lose()


@system(TERMINATING, says="You went in circles")
def go_in_circles(w: Rewriting, agent: int) -> None:
    """The episode is lost when the same expression is reached for the fourth time."""
    if w.visits > MOST_VISITS:
        w.lose()


@system(TERMINATING)
def solve(w: Rewriting, agent: int) -> bool:
    """The goal of the environment is reached, and the environment has ended the episode with a
    positive reward."""
    return w.decided_by == "reach_goal" and w.reward > 0


@system(REWARD)
def revisit(w: Rewriting, agent: int) -> None:
    """Returning to an expression costs more each time."""
    if w.visits > 1:
        w.score(w.rewards.revisit * w.visits)


@system(REWARD)
def helpful_move(w: Rewriting, agent: int) -> None:
    """A move by a rule that simplifies the expression pays a little."""
    if w.has_rewarded_rule:
        w.score(w.rewards.helpful)


@system(REWARD)
def unhelpful_move(w: Rewriting, agent: int) -> None:
    """A move by a rule that only shifts brackets or expands an expression costs a little."""
    if w.has_penalized_rule:
        w.score(w.rewards.unhelpful)


@system(REWARD)
def spend_time(w: Rewriting, agent: int) -> None:
    """A move on which no earlier rule has decided costs the time penalty."""
    w.score(w.rewards.time)


@system(RENDERING)
def draw_expression(w: Rewriting, agent: int, canvas: ExpressionCanvas) -> None:
    """Show the tree: each node above its place in the written expression, at the height of its
    depth."""
    labels: dict[int, tuple[str, object]] = {}
    parents: dict[int, int] = {}
    columns = {e: in_order.index for e, in_order in esper.get_component(InOrder)}
    for e, constant in esper.get_component(Constant):
        labels[e] = "constant", constant.value
    for e, variable in esper.get_component(Variable):
        labels[e] = "variable", variable.name
    for e, operator in esper.get_component(Operator):
        labels[e] = "operator", operator.symbol
        parents |= dict.fromkeys((operator.left, operator.right), columns[e])
    nodes = []
    for e, x in sorted(columns.items(), key=lambda item: item[1]):
        kind, text = labels[e]
        span, whole = canvas.spans(x)
        nodes.append(
            TreeNode(
                identity=esper.component_for_entity(e, Identity).number,
                kind=kind,
                text=str(text),
                x=x,
                y=esper.component_for_entity(e, Depth).value,
                parent=parents.get(e, -1),
                changed=esper.has_component(e, Changed),
                rules=canvas.rules_at(x),
                span=span,
                whole=whole,
            )
        )
    canvas.show(tuple(nodes))
