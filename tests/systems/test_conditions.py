"""Conditions of rules, and rules that are nobody's, in both worlds and on states."""

import pytest

from gv_engine import REWARD, TERMINATING, TRANSITION, VISIBILITY, system
from gv_engine.gridverse import Action, transition_function_registry
from gv_engine.rules.geometry import ACTUATE, MOVE_FORWARD, TURN_LEFT
from tests.boards import scenario

TURNS = {"TURN_LEFT", "TURN_RIGHT"}
GROW = {"name": "./conditions.py:grow", "object_type": "Wall"}


@pytest.fixture
def rules(play):
    """Plays under conditions; one program for all boards."""

    def start(picture, *actions, allowed=False, most=0, size=100):
        on_exits = ["turn_agent", {**GROW, "most": most}]
        leave = {"transition_functions": ["move_agent"], "allowed": allowed}
        changes = {
            "transition_functions": [
                {"name": "./conditions.py:on_exits", "transition_functions": on_exits},
                {"name": "./conditions.py:on_leave", **leave},
                {"name": "chain", "transition_functions": ["move_agent"]},
            ],
            "reward_functions": [
                "./conditions.py:was_ahead",
                {"name": "./conditions.py:growth", "each": 3},
            ],
            "terminating_function": {"name": "./conditions.py:grown", "size": size},
        }
        return play(picture, *actions, **changes)

    return start


@pytest.mark.sample("object")
def test_what_is_nested_happens_where_the_condition_of_the_outer_rule_holds(rules):
    game = rules("...\n>.E\n...", TURN_LEFT)
    assert game.board == "...\n>.E\n..."
    assert game.mask == {"MOVE_FORWARD", "MOVE_LEFT", "MOVE_RIGHT"}
    game.act(MOVE_FORWARD, MOVE_FORWARD)
    assert game.mask == {"MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"} | TURNS
    assert game.act(TURN_LEFT).board == "...\n..^\n..."


@pytest.mark.parametrize("allowed", [False, True])
def test_a_condition_takes_parameters_of_its_rule(rules, allowed):
    assert ("ACTUATE" in rules("#>.#", allowed=allowed).mask) is allowed


def test_a_rule_of_nobodys_runs_once_a_step_while_its_condition_holds(rules):
    game = rules(".....\n.>E..\n.....", ACTUATE, MOVE_FORWARD, most=3, size=5)
    assert game.board == ".....\n..>..\n....."
    assert game.act(ACTUATE).board == "..#..\n..>..\n....."
    assert not game.act(ACTUATE).terminated
    assert game.act(ACTUATE).board == "..#..\n..>..\n....."
    assert game.terminated


def test_what_is_remembered_may_be_a_tuple(rules):
    assert rules("...\n>d.", ACTUATE).terms == {"was_ahead": 1101.5, "growth": 0.0}
    game = rules("K..\n.<.\n...", ACTUATE, ACTUATE)
    assert game.terms == {"was_ahead": -100.5, "growth": 3.0}


@pytest.mark.parametrize(
    ("name", "board", "action"),
    [("move_agent", ">#", Action.MOVE_FORWARD), ("pickndrop", ">#", Action.PICK_N_DROP)],
)
def test_functions_on_states_ask_the_condition(name, board, action):
    env = scenario(board).inner_env()
    env.reset()
    state = env.state.copy()
    transition_function_registry[name](state, action)
    assert state == env.state


# ---- what is no rule -----------------------------------------------------------------------------


def true(w, agent, action):
    return True


def swapped(w, action, agent):
    return True


@pytest.mark.parametrize("phase", [REWARD, TERMINATING])
def test_only_transitions_have_a_condition(phase):
    with pytest.raises(TypeError, match=rf"when= is .* TRANSITION, found phase {phase.name}"):
        system(phase, when=true)


@pytest.mark.parametrize(
    ("rule", "condition", "expected"),
    [
        (lambda w: None, true, "its helper true asks for 'agent', no parameter of the system"),
        (lambda w, agent: None, swapped, r"must begin with \(w, agent, action\)"),
        (lambda w, agent: None, lambda w, agent, on: 1, "asks for 'on', no parameter"),
    ],
)
def test_a_condition_that_asks_for_what_its_rule_has_not(rule, condition, expected):
    with pytest.raises(TypeError, match=expected):
        system(TRANSITION, when=condition)(rule)


def test_a_look_is_always_an_agents():
    with pytest.raises(TypeError, match=r"expected <lambda>\(w, agent, view, …parameters\)"):
        system(VISIBILITY)(lambda w, view: None)
