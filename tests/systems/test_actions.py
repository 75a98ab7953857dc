"""PICK_UP, DROP, TOGGLE, DONE and NOOP, and actions of a scenario's own, in both worlds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gv_engine.play.validation.differential import run_differential_test
from gv_engine.rules.geometry import (
    DONE,
    DROP,
    MOVE_FORWARD,
    NOOP,
    PICK_UP,
    TOGGLE,
    TURN_LEFT,
    named_action,
)
from tests.boards import content_of, scenario

pytestmark = pytest.mark.compiled_elsewhere

KICK, PULL, SPELL = map(named_action, ("KICK", "PULL", "SPELL"))
RULES: dict[str, Any] = {
    "action_space": [
        *("MOVE_FORWARD", "TURN_LEFT", "PICK_UP", "DROP", "TOGGLE", "DONE", "NOOP"),
        *({"name": action.name} for action in (KICK, PULL, SPELL)),
    ],
    "objects": {"Lever": {"components": ["Solid"], "states": ["OFF", "ON"]}},
    "legend": {"l": "Lever", "L": {"object": "Door", "state": "LOCKED", "color": "RED"}},
    "transition_functions": [
        *("move_agent", "turn_agent", "pick_up", "drop", "toggle"),
        {"name": "switch", "object_type": "Lever", "on_action": "PULL"},
        "./kicks.py:kick",
        {"name": "./kicks.py:vanish", "on_action": "SPELL"},
    ],
    "reward_functions": [{"name": "actuate_door", "on_action": "TOGGLE"}],
}


def test_what_is_picked_up_is_dropped_again(yard):
    game = yard(">K.")
    assert game.mask == {"MOVE_FORWARD", "TURN_LEFT", "PICK_UP", "KICK", "SPELL"}
    assert game.act(PICK_UP).board == ">.."
    assert game.item == "YELLOW Key"
    assert {"PICK_UP", "DROP"} & game.mask == {"DROP"}
    assert game.act(DROP).board == ">K."
    assert game.item == "nothing"


def test_a_full_hand_picks_nothing_up_and_an_empty_one_drops_nothing(yard):
    assert yard(">K", PICK_UP, DROP, PICK_UP).board == ">."
    game = yard("K>K", PICK_UP, TURN_LEFT, TURN_LEFT)
    assert "PICK_UP" not in game.mask
    assert game.act(PICK_UP).board == "K<."
    assert yard(">.", DROP).board == ">."
    game = yard(">#", PICK_UP)  # what is not portable stays
    assert (game.board, game.item) == (">#", "nothing")


@pytest.mark.parametrize("ahead", ["#", "E", "d", "_"])
def test_nothing_is_dropped_where_something_is(yard, ahead):
    game = yard(f"K.\n^{ahead}", PICK_UP, TURN_LEFT, TURN_LEFT, TURN_LEFT)
    before = game.board
    assert "DROP" not in game.mask
    assert game.act(DROP).board == before
    assert game.item == "YELLOW Key"


def test_a_door_is_opened_and_closed(yard):
    game = yard(">d")
    assert game.act(TOGGLE).board == ">_"
    assert game.reward == 1.0
    assert "TOGGLE" in game.mask
    assert game.act(TOGGLE).board == ">d"
    assert game.reward == -1.0


def test_a_locked_door_wants_its_key_and_is_never_locked_again(yard):
    game = yard(">L", TOGGLE)
    assert game.board == ">D"
    assert "TOGGLE" not in game.mask
    legend = {**RULES["legend"], "k": {"object": "Key", "color": "RED"}}
    game = yard("k.\n^L", PICK_UP, TURN_LEFT, TURN_LEFT, TURN_LEFT, TOGGLE, legend=legend)
    assert game.board == "..\n>_"
    assert game.act(TOGGLE).board == "..\n>d"
    assert game.item == "RED Key"


def test_a_box_is_opened_and_not_what_was_in_it(yard):
    game = yard(">B")
    assert content_of(game.row, game.scenario.layout).any()
    assert "TOGGLE" in game.mask
    assert game.act(TOGGLE).board != ">B"


def test_done_and_noop_do_nothing(yard):
    game = yard(">K")
    assert not {"DONE", "NOOP"} & game.mask
    assert game.act(DONE, NOOP).board == ">K"
    assert game.row["steps"] == 2


def test_a_built_in_rule_acts_on_an_action_of_ones_own(yard):
    game = yard(">l")
    assert {"PULL", "KICK", "SPELL"} & game.mask == {"PULL"}
    assert game.row["condition"]["value"].sum() == 0
    assert game.act(PULL).row["condition"]["value"].sum() == 1


def test_rules_of_ones_own_know_it_by_name_or_as_a_parameter(yard):
    game = yard(">K..", KICK)
    assert game.board == ">.K."
    assert not {"KICK", "SPELL"} & game.mask
    assert game.act(MOVE_FORWARD, KICK).board == ".>.K"
    assert game.act(KICK).board == ".>.K"
    assert game.act(MOVE_FORWARD, SPELL).board == "..>."


@pytest.mark.thorough
@pytest.mark.compiled
@settings(max_examples=6, deadline=None)
@given(order=st.permutations(RULES["action_space"][1:]), seed=st.integers(0, 999))
def test_in_any_order_the_actions_do_the_same_in_both_worlds(order, seed):
    shuffled = {**RULES, "action_space": ["MOVE_FORWARD", *order]}
    report = run_differential_test(scenario("K.d.l\n.>K..\n..BL.\nE...K", **shuffled), 2, seed)
    assert report.fault == ""
