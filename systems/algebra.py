"""Rules of algebra worlds: apply a move, end the episode, and score the move.

Terminating rules run before rewards, and the first rule that ends the episode decides its outcome.
A scenario that lists no rules uses all of them, in the order of this file.
"""

from __future__ import annotations

import esper

from components.algebra import Changed, Constant, Depth, Identity, InOrder, Operator, Variable
from gv_engine.rules.frame import TreeNode
from gv_engine.rules.system import (
    RENDERING,
    REWARD,
    TERMINATING,
    TRANSITION,
    ExpressionCanvas,
    Rewriting,
    system,
)

MOST_VISITS = 3
"""Maximum number of visits to the same expression; one visit more loses the episode."""


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
    parts: dict[int, tuple[str, object]] = {}
    parents: dict[int, int] = {}
    places = {e: place.index for e, place in esper.get_component(InOrder)}
    for e, constant in esper.get_component(Constant):
        parts[e] = "constant", constant.value
    for e, variable in esper.get_component(Variable):
        parts[e] = "variable", variable.name
    for e, operator in esper.get_component(Operator):
        parts[e] = "operator", operator.symbol
        parents |= dict.fromkeys((operator.left, operator.right), places[e])
    nodes = []
    for e, index in sorted(places.items(), key=lambda place: place[1]):
        kind, text = parts[e]
        span, whole = canvas.spans(index)
        nodes.append(
            TreeNode(
                identity=esper.component_for_entity(e, Identity).number,
                kind=kind,
                text=str(text),
                x=index,
                y=esper.component_for_entity(e, Depth).value,
                parent=parents.get(e, -1),
                changed=esper.has_component(e, Changed),
                rules=canvas.rules_at(index),
                span=span,
                whole=whole,
            )
        )
    canvas.show(tuple(nodes))
