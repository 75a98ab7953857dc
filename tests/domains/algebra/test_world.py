"""Expressions as entities: who stays who, what is drawn, and what is made only when asked for."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import esper
import numpy as np
import pytest

from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.session import Session
from gv_engine.plugins.algebra import EnvRewards, ExpressionWorld, MathyEnvState, termination
from gv_engine.plugins.algebra.components import (
    Changed,
    Constant,
    Identity,
    InOrder,
    Operator,
    Variable,
)
from gv_engine.plugins.algebra.env import MathyEnv
from gv_engine.plugins.algebra.environments import ENVIRONMENTS, PolySimplify
from gv_engine.plugins.algebra.episode import AlgebraEpisode
from gv_engine.plugins.algebra.frame import ExpressionFrame, expression_to_text
from gv_engine.plugins.algebra.library import SUCCESS_SYSTEMS
from gv_engine.rules.system import Call
from gv_engine.scenario.documents.loading import load_scenario

CA, CS, DM, DF, AG = range(5)


SOLVE = Call(SUCCESS_SYSTEMS["solve"], {})


def world(
    text: str, env: MathyEnv | None = None, moves: int = 20, **options: Any
) -> ExpressionWorld:
    made = ExpressionWorld(env or PolySimplify(), **options)
    made.reset(MathyEnvState(text, moves))
    return made


def frame(made: ExpressionWorld) -> ExpressionFrame:
    frames: list[ExpressionFrame] = []
    made.render(frames.append, "title", "note")
    return frames[-1]


def names(made: ExpressionWorld) -> dict[int, str]:
    """What every identity stands for."""
    return {node.identity: node.text for node in frame(made).nodes}


def test_every_node_is_an_entity():
    made = world("4x + y^2")
    kinds = ["Constant", "Operator", "Variable", "Operator", "Variable", "Operator", "Constant"]
    with made.context:
        parts: list[Any] = [esper.components_for_entity(e) for e in made.entities]
        assert [type(own[1]).__name__ for own in parts] == kinds
        assert [esper.component_for_entity(e, InOrder).index for e in made.entities] == [*range(7)]
        assert esper.component_for_entity(made.entities[0], Constant).value == 4
        assert esper.component_for_entity(made.entities[2], Variable).name == "x"
        root = esper.component_for_entity(made.entities[3], Operator)
    assert (root.symbol, root.left, root.right) == ("+", made.entities[1], made.entities[5])


def test_entities_are_made_only_when_somebody_looks():
    made = world("4x + 2x + 3y")
    made.step((DF, 3))
    with made.context:
        assert not list(esper.get_component(Identity))
    assert len(made.entities) == 9
    made.step((CA, 1))
    with made.context:
        assert len(list(esper.get_component(Identity))) == len(made.entities) == 7


def test_the_systems_are_processors_in_their_order():
    made = world("4x + 2x + y")
    with made.context:
        found = [type(processor).__name__ for processor in esper._processors]
    assert found == [
        *("apply_rule", "refuse", "outgrow", "reach_goal", "run_out_of_moves", "go_in_circles"),
        *("revisit", "helpful_move", "unhelpful_move", "spend_time", "draw_expression"),
    ]
    moves = {"helpful_move": (DF, 3), "refuse": (DF, 3), "spend_time": (CS, 5)}
    for decided, action in moves.items():
        made.step(action)
        assert made.decided_by == decided


def test_what_a_rule_keeps_stays_who_it_is():
    made = world("(4x + 2y) + 3x")
    before = names(made)
    made.step((CS, 7))  # 4x + 3x + 2y
    assert names(made) == before
    made.step((DF, 3))  # (4 + 3) * x + 2y
    after = names(made)
    kept = after.keys() & before.keys()
    assert {before[identity] for identity in kept} == {"2", "*", "y", "+"}
    assert all(before[identity] == after[identity] for identity in kept)
    new = [node for node in frame(made).nodes if node.identity not in before]
    assert {node.changed for node in new} == {True}
    assert "".join(node.text for node in new) == "4+3*x"


def test_of_a_copied_factor_the_first_copy_stays():
    made = world("z * (x + 3)", MathyEnv())
    before = names(made)
    z = next(identity for identity, text in before.items() if text == "z")
    made.step((DM, 1))  # z * x + 3z
    shown = [(node.text, node.identity) for node in frame(made).nodes]
    assert next(identity for text, identity in shown if text == "z") == z
    assert len({identity for _, identity in shown}) == len(shown)


def test_products_that_print_alike_keep_their_nodes():
    made = world("a * b * c", MathyEnv())
    before = names(made)
    made.step((AG, 1))
    assert frame(made).text == "a * b * c"
    assert names(made) == before


def test_undoing_brings_the_same_nodes_back():
    made = world("4x + 2x + 3y")
    before = frame(made)
    token = made.snapshot()
    made.step((DF, 3))
    changed, later = frame(made), made.snapshot()
    made.restore(token)
    assert frame(made).nodes == before.nodes
    made.restore(pickle.loads(pickle.dumps(later)))
    assert frame(made).nodes == changed.nodes
    made.step((CA, 1))
    assert not names(made).keys() - names(made).keys()
    assert max(names(made)) > max(node.identity for node in changed.nodes)


def test_the_frame_tells_all_that_a_picture_needs():
    made = world("(4x + 2x) + 3y")
    made.step((CS, 3))
    shown = frame(made)
    assert (shown.title, shown.message, shown.text) == ("title", "note", "2x + 4x + 3y")
    assert shown.action == "Commutative Swap at 3"
    assert (shown.reward, shown.terms, shown.steps) == (-0.01, {"spend_time": -0.01}, 1)
    assert (shown.moves_remaining, shown.max_moves, shown.max_steps) == (19, 20, 60)
    assert [(step.text, step.rule, step.node) for step in shown.history] == [
        ("(4x + 2x) + 3y", "", -1),
        ("2x + 4x + 3y", "Commutative Swap", 3),
    ]
    assert shown.codes == ("CA", "CS", "DM", "DF", "AG", "VM", "RS")
    (changed,) = [node for node in shown.nodes if node.changed]
    assert (changed.text, changed.x, shown.text[slice(*changed.whole)]) == ("+", 3, "2x + 4x")
    assert changed.rules == (CS, DF, AG)
    named = ["commutative_swap", "distributive_factoring", "associative_group"]
    assert [shown.actions[rule] for rule in changed.rules] == named
    root = next(node for node in shown.nodes if node.parent == -1)
    assert (root.x, root.y, shown.depth) == (7, 0, 4)
    assert "2x + 4x + 3y" in expression_to_text(shown).splitlines()


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_nodes_never_overlap(name):
    env = ENVIRONMENTS[name](seed=1)
    state, _ = env.get_initial_state()
    made = ExpressionWorld(env)
    made.reset(state)
    rng = np.random.default_rng(0)
    for _ in range(5):
        nodes = frame(made).nodes
        assert [node.x for node in nodes] == [*range(len(nodes))]
        assert len({(node.x, node.y) for node in nodes}) == len(nodes)
        for node in nodes:
            assert (node.y == 0) == (node.parent == -1)
            assert node.y == 0 or nodes[node.parent].y == node.y - 1
        offered = np.argwhere(env.mask(made.state))
        if made.terminated or not len(offered):
            break
        node, rule = rng.choice(offered).tolist()
        made.step((rule, node))


def test_looking_changes_nothing():
    env = PolySimplify(seed=3)
    looked, ignored = (ExpressionWorld(PolySimplify(seed=0)) for _ in range(2))
    state, _ = env.get_initial_state()
    for made in (looked, ignored):
        made.reset(state)
    rng = np.random.default_rng(1)
    while not looked.terminated:
        node, rule = rng.choice(np.argwhere(looked.env.mask(looked.state))).tolist()
        frame(looked)
        for made in (looked, ignored):
            made.step((rule, node))
        assert looked.state == ignored.state
        assert looked.reward == ignored.reward


def test_a_world_that_nobody_has_is_let_go():
    made = world("4x + 2x")
    frame(made)
    gone = weakref.ref(made)
    del made
    gc.collect()
    assert gone() is None


def test_two_worlds_never_see_each_other():
    one, other = world("4x + 2x + y"), world("7y + y + z")
    frame(one), frame(other)
    one.step((DF, 3))
    assert frame(one).text == "(4 + 2) * x + y"
    assert [node.changed for node in frame(other).nodes] == [False] * 7


def test_changed_is_a_mark_of_the_last_rule_only():
    made = world("4x + 2x + y + 3y")
    frame(made)
    made.step((DF, 3))
    made.step((CS, 7))
    with made.context:
        assert len(list(esper.get_component(Changed))) == 1


# ---- what the systems say ----------------------------------------------------------------------


def test_a_refused_move_leaves_what_is_to_come_as_it_was():
    made = world("4x + 2x")
    made.step((CS, 0))
    assert (made.decided_by, made.reward, made.discount) == ("refuse", -0.5, 1.0)
    made.step((CS, 3))
    assert (made.decided_by, made.discount) == ("spend_time", 0.99)


@pytest.mark.parametrize(("room", "lost"), [(7, False), (6, True)])
def test_what_just_fits_has_not_outgrown_its_room(room, lost):
    made = world("4x + 2x", PolySimplify(max_seq_len=room))
    made.step((CS, 3))
    assert (made.terminated, made.decided_by == "outgrow") == (lost, lost)


def test_nodes_are_constants_variables_and_operators():
    made = world("4x + -y")
    kinds = [(node.text, node.kind) for node in frame(made).nodes]
    assert kinds[:3] == [("4", "constant"), ("*", "operator"), ("x", "variable")]
    assert {kind for _, kind in kinds[3:]} == {"operator", "variable"}


class Paid(PolySimplify):
    """Over after any move, and worth what it is told."""

    worth = 0.0

    def may_decide(self, env_state):
        return True

    def transition_fn(self, env_state, expression, features):
        return termination(features, self.worth)


@pytest.mark.parametrize(("worth", "won"), [(0.5, True), (0.0, False), (-0.5, False)])
def test_a_goal_is_reached_where_the_environment_pays_for_it(worth, won):
    env = Paid()
    env.worth = worth
    made = world("4x + 2x", env, success=SOLVE)
    made.step((CS, 3))
    assert (made.decided_by, made.terminated, made.success) == ("reach_goal", True, won)


def test_a_loss_that_pays_is_no_success():
    made = world("4x + 2x", PolySimplify(rewards=EnvRewards(lose=0.5)), 1, success=SOLVE)
    made.step((CS, 3))
    assert (made.decided_by, made.terminated, made.reward) == ("run_out_of_moves", True, 0.5)
    assert not made.success


# ---- episodes for games ------------------------------------------------------------------------


def episode(name: str = "mathy-poly-simplify-normal", seed: int = 3) -> AlgebraEpisode:
    scenario: Any = load_scenario(name)
    made = AlgebraEpisode(scenario)
    made.reset(seed)
    return made


def test_an_episode_begins_with_a_saved_state():
    made, other = episode(), episode(seed=4)
    assert other.frame("").text != made.frame("").text
    other.load_row(made.row())
    assert (other.frame("").text, other.state_digest()) == (
        made.frame("").text,
        made.state_digest(),
    )


def test_an_episode_is_that_of_an_environment():
    from gv_engine.plugins.algebra import ExpressionEnv

    env, made = ExpressionEnv("mathy-poly-simplify-normal"), episode()
    _, info = env.reset(seed=3)
    rng = np.random.default_rng(0)
    while not made.outcome:
        shown = made.frame("")
        assert shown.text == info["text"]
        mask = made.mask()
        assert list(mask) == list(made.actions)
        assert [*mask.values()] == info["action_mask"][: len(mask)].astype(bool).tolist()
        action = int(rng.choice(np.flatnonzero(info["action_mask"])))
        node, rule = divmod(action, 7)
        made.step(f"{shown.actions[rule]} {node}")
        *_, info = env.step(action)
        assert made.reward == env.simulation.reward
    assert (made.steps, made.total) == (env.simulation.steps, env.simulation.total)


def test_what_is_refused_says_why():
    made, last = episode(), episode().world.env.max_seq_len - 1
    assert made.refusal_reason(f"commutative_swap {last}") == ""
    said = f"node {last + 1} is not among 0 to {last}"
    assert said in made.refusal_reason(f"commutative_swap {last + 1}")
    for unknown in ("swap 3", "commutative_swap", "commutative_swap -1", ""):
        assert "no rule of this level" in made.refusal_reason(unknown)
        with pytest.raises(ValueError, match="no rule of this level"):
            made.action_indices(unknown)
    made.world.env.invalid_action_response = "raise"
    for node in (0, last):
        said = f"Commutative Swap does not apply to node {node}"
        assert made.refusal_reason(f"commutative_swap {node}") == said
    fine = next(action for action, valid in made.mask().items() if valid)
    assert made.refusal_reason(fine) == ""


def test_a_session_takes_every_action_of_the_environment():
    from gv_engine.plugins.algebra import ExpressionEnv

    env = ExpressionEnv("mathy-poly-simplify-normal")
    env.reset(seed=3)
    session = Session(load_playable("mathy-poly-simplify-normal"), 3)
    rng, invalid = np.random.default_rng(0), 0
    while not session.outcome:
        action = int(rng.integers(env.num_actions))
        text = session.format_action(action)
        assert session.action_indices(text) == action
        invalid += not session.mask().get(text)
        _, reward, *_ = env.step(action)
        session.step(text)
        assert session.past_steps[-1].reward == reward
    assert invalid
    assert session.length == env.simulation.steps


def test_states_have_digests():
    made = episode()
    start, token = made.state_digest(), made.snapshot()
    assert (len(start), start) == (16, episode().state_digest())
    assert episode(seed=4).state_digest() != start
    made.step(next(action for action, valid in made.mask().items() if valid))
    assert made.state_digest() != start
    made.restore(token)
    assert made.state_digest() == start
