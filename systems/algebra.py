"""The rules of algebra worlds: a move, how it ends the episode, and what it is worth.

Ends come before scores, and the first one that has something to say decides. They stand here in the
order of scenarios that give none.
"""

from __future__ import annotations

import esper

from components.algebra import Changed, Constant, Depth, Identity, InOrder, Operator, Variable
from gv_engine.rules.frame import TreeNode
from gv_engine.rules.rewriting import ExpressionCanvas, Rewriting
from gv_engine.rules.system import RENDERING, REWARD, TERMINATING, TRANSITION, system

MOST_VISITS = 3
"""So often may an expression be reached; the next time loses."""


@system(TRANSITION)
def apply_rule(w: Rewriting, agent: int) -> None:
    """Rewrite the expression by the action's rule at its node, and use up one move."""
    if w.valid:
        w.rewrite()


@system(TERMINATING, says="That rule does not apply there")
def refuse(w: Rewriting, agent: int) -> None:
    """A rule that does not apply there changes nothing and costs, or ends the episode."""
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
    """The environment says whether its goal is reached."""
    w.check_goal()


@system(TERMINATING, says="No moves are left")
def run_out_of_moves(w: Rewriting, agent: int) -> None:
    """Without moves the episode is lost."""
    if w.moves_remaining <= 0:
        w.lose()


@system(TERMINATING, says="You went in circles")
def go_in_circles(w: Rewriting, agent: int) -> None:
    """Whoever comes to the same expression the fourth time has lost."""
    if w.visits > MOST_VISITS:
        w.lose()


@system(TERMINATING)
def solve(w: Rewriting, agent: int) -> bool:
    """The environment has ended the episode, and pays for it: its goal is reached."""
    return w.decided_by == "reach_goal" and w.reward > 0


@system(REWARD)
def revisit(w: Rewriting, agent: int) -> None:
    """Coming back to an expression costs more each time."""
    if w.visits > 1:
        w.score(w.rewards.revisit * w.visits)


@system(REWARD)
def helpful_move(w: Rewriting, agent: int) -> None:
    """Rules that simplify pay a little."""
    if w.has_rewarded_rule:
        w.score(w.rewards.helpful)


@system(REWARD)
def unhelpful_move(w: Rewriting, agent: int) -> None:
    """Rules that only shift brackets, or spread an expression out, cost a little."""
    if w.has_penalized_rule:
        w.score(w.rewards.unhelpful)


@system(REWARD)
def spend_time(w: Rewriting, agent: int) -> None:
    """Any other move costs as much as time does."""
    w.score(w.rewards.time)


@system(RENDERING)
def draw_expression(w: Rewriting, agent: int, canvas: ExpressionCanvas) -> None:
    """Show the tree, every node above its place in the written expression, and at its depth."""
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
