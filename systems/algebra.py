"""The rules of algebra worlds: a move, how it ends the episode, and what it is worth.

`w` is a `gv_engine.families.algebra.move.Move`. Ends come before scores, and the first one that has
something to say decides. They stand here in the order of scenarios that give none.
"""

from typing import Any

import esper

from components.algebra import Changed, Constant, Depth, Identity, InOrder, Operator, Variable
from gv_engine.language.expression_frame import TreeNode
from gv_engine.language.system import RENDERING, REWARD, TERMINATING, TRANSITION, system

MOST_VISITS = 3
"""So often may an expression be reached; the next time loses."""


@system(TRANSITION)
def apply_rule(w: Any, agent: int) -> None:
    """Rewrite the expression by the action's rule at its node, which takes one of the moves."""
    if w.valid:
        w.rewrite()


@system(TERMINATING, says="That rule does not apply there")
def refuse(w: Any, agent: int) -> None:
    """A rule that does not apply there changes nothing and costs, or ends the episode."""
    if w.valid:
        return
    if w.env.invalid_action_response == "terminal":
        w.give_up()
        w.end(w.env.get_lose_signal(w.state))
    else:
        w.score(w.env.rewards.invalid, discount=1.0)


@system(TERMINATING, says="The expression has outgrown its room")
def outgrow(w: Any, agent: int) -> None:
    """An expression that no longer fits into an observation loses the episode."""
    if w.state.root.size > w.env.max_seq_len:
        w.end(w.env.get_lose_signal(w.state))


@system(TERMINATING, says="The problem is over")
def reach_goal(w: Any, agent: int) -> None:
    """The environment says whether its goal is reached."""
    w.decide(w.env.goal(w.state))


@system(TERMINATING, says="No moves are left")
def run_out_of_moves(w: Any, agent: int) -> None:
    """Without moves the episode is lost."""
    if w.state.agent.moves_remaining <= 0:
        w.end(w.env.get_lose_signal(w.state))


@system(TERMINATING, says="You went in circles")
def go_in_circles(w: Any, agent: int) -> None:
    """Whoever comes to the same expression the fourth time has lost."""
    if w.env.previous_state_penalty and w.visits > MOST_VISITS:
        w.end(w.env.get_lose_signal(w.state))


@system(TERMINATING)
def solve(w: Any, agent: int) -> bool:
    """The environment has ended the episode, and pays for it: its goal is reached."""
    return w.decided_by == "reach_goal" and w.verdict.reward > 0  # type: ignore[no-any-return]


@system(REWARD)
def revisit(w: Any, agent: int) -> None:
    """Coming back to an expression costs more each time."""
    if w.env.previous_state_penalty and w.visits > 1:
        w.score(w.env.rewards.revisit * w.visits)


@system(REWARD)
def helpful_move(w: Any, agent: int) -> None:
    """Rules that simplify pay a little."""
    if isinstance(w.rule, tuple(w.env.get_rewarding_actions(w.state))):
        w.score(w.env.rewards.helpful)


@system(REWARD)
def unhelpful_move(w: Any, agent: int) -> None:
    """Rules that only shift brackets, or spread an expression out, cost a little."""
    if isinstance(w.rule, tuple(w.env.get_penalizing_actions(w.state))):
        w.score(w.env.rewards.unhelpful)


@system(REWARD)
def spend_time(w: Any, agent: int) -> None:
    """Any other move costs as much as time does."""
    w.score(w.env.rewards.time)


@system(RENDERING)
def draw_expression(w: Any, agent: int, canvas: Any) -> None:
    """Show the tree, every node above its place in the written expression, and at its depth."""
    parts = {
        e: (part, text)
        for kind, field in ((Constant, "value"), (Variable, "name"), (Operator, "symbol"))
        for e, part in esper.get_component(kind)
        for text in [str(getattr(part, field))]
    }
    places = {e: place.index for e, place in esper.get_component(InOrder)}
    parents = {
        child: places[e]
        for e, operator in esper.get_component(Operator)
        for child in (operator.left, operator.right)
    }
    spans = w.spans
    canvas.show(
        canvas.frame(
            tuple(
                TreeNode(
                    identity=esper.component_for_entity(e, Identity).number,
                    kind=type(parts[e][0]).__name__.lower(),
                    text=parts[e][1],
                    x=index,
                    y=esper.component_for_entity(e, Depth).value,
                    parent=parents.get(e, -1),
                    changed=esper.has_component(e, Changed),
                    rules=w.rules_at(index),
                    span=spans.own[index],
                    whole=spans.whole[index],
                )
                for e, index in sorted(places.items(), key=lambda place: place[1])
            )
        )
    )
