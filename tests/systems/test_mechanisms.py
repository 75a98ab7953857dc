"""Levers, plates, crates and coins that a scenario declares in text, in both worlds."""

from __future__ import annotations

from typing import Any

import pytest

from gv_engine import ScenarioError
from gv_engine.rules.geometry import (
    ACTUATE,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_LEFT,
    MOVE_RIGHT,
    TURN_LEFT,
)
from gv_engine.validation.differential import run_differential_test
from tests.boards import cells_of, scenario

pytestmark = pytest.mark.compiled_elsewhere

RULES: dict[str, Any] = {
    "objects": {
        "Gate": {"states": {"CLOSED": ["Solid", "Opaque"], "OPEN": []}, "colored": True},
        "Grate": {"states": {"SHUT": ["Solid"], "OPEN": []}, "colored": True},
        "Lever": {"components": ["Solid"], "states": ["OFF", "ON"], "colored": True},
        "Plate": {"states": ["UP", "DOWN", "HELD"], "colored": True},
        "Crate": {"components": ["Solid"]},
        "Coin": {"leaves": "Rubble"},
        "Rubble": {},
    },
    "legend": {
        "g": "Gate",
        "r": {"object": "Gate", "color": "RED"},
        "t": "Grate",
        "l": "Lever",
        "1": {"object": "Lever", "color": "RED"},
        "P": "Plate",
        "C": "Crate",
        "c": "Coin",
    },
    "transition_functions": [
        {"name": "push", "object_type": "Crate", "other_type": "Plate"},
        "move_agent",
        "turn_agent",
        {"name": "switch", "object_type": "Lever"},
        {"name": "hold_down", "object_type": "Plate"},
        {"name": "follow", "object_type": "Gate", "other_type": "Lever"},
        {"name": "use_up", "object_type": "Coin"},
        {"name": "follow", "object_type": "Grate", "other_type": "Plate"},
    ],
    "reward_functions": [{"name": "use_up", "object_type": "Coin", "reward": 2.0}],
    "terminating_function": {"name": "none_left", "object_type": "Exit"},
}


@pytest.fixture
def yard(play):
    """Plays actions on a map under `RULES`."""
    return lambda picture, *actions, **changes: play(picture, *actions, **{**RULES, **changes})


def states(game, name: str) -> list[str]:
    """Names of the states of the objects of a type, row by row."""
    kind = next(t for t in game.scenario.layout.types if t.name == name)
    cells = cells_of(game.row, game.scenario.layout).reshape(-1, 3).tolist()
    return [kind.states[state] for found, state, _ in cells if found == kind.index]


def test_a_lever_opens_the_gates_of_its_colour(yard):
    game = yard(">l\ngr")
    assert game.mask == {"ACTUATE", "TURN_LEFT", "TURN_RIGHT"}
    assert states(game.act(ACTUATE), "Gate") == ["OPEN", "CLOSED"]
    assert states(game.act(TURN_LEFT), "Gate") == ["OPEN", "CLOSED"]
    game.act(TURN_LEFT, TURN_LEFT, TURN_LEFT, ACTUATE)
    assert states(game, "Lever") == ["OFF"]
    assert states(game, "Gate") == ["CLOSED", "CLOSED"]


def test_no_lever_of_the_colour_leaves_a_gate_as_it_is(yard):
    assert states(yard(">1g", ACTUATE), "Gate") == ["CLOSED"]


def test_an_open_gate_lets_pass_and_a_closed_one_does_not(yard):
    assert yard("l.\n^g", MOVE_RIGHT).board == "L.\n^G"
    assert yard("l.\n^g", ACTUATE, MOVE_RIGHT).board == "L.\n.^"


@pytest.mark.parametrize(("every", "expected"), [(False, "OPEN"), (True, "SHUT")])
def test_one_of_two_plates_opens_a_gate_unless_it_takes_every(yard, every, expected):
    *others, last = RULES["transition_functions"]
    game = yard(">PPt", MOVE_FORWARD, transition_functions=[*others, {**last, "every": every}])
    assert states(game, "Plate") == ["DOWN", "UP"]
    assert states(game, "Grate") == [expected]


def test_a_plate_is_down_while_the_agent_stands_on_it(yard):
    game = yard(">P.t")
    assert states(game.act(MOVE_FORWARD), "Grate") == ["OPEN"]
    assert states(game, "Plate") == ["DOWN"]
    assert states(game.act(MOVE_FORWARD), "Plate") == ["UP"]
    assert states(game, "Grate") == ["SHUT"]


def test_a_crate_holds_a_plate_down_for_good(yard):
    game = yard(">CP\n..t", MOVE_FORWARD)
    assert game.board == ".>P\n..G"
    assert states(game, "Plate") == ["HELD"]
    assert states(game.act(MOVE_FORWARD, MOVE_BACKWARD), "Grate") == ["OPEN"]
    assert states(game, "Plate") == ["HELD"]


@pytest.mark.parametrize(
    ("action", "after"),
    [
        (MOVE_FORWARD, "..C..\n..^..\n.C.C.\n..C..\n....."),
        (MOVE_LEFT, ".....\n..C..\nC^.C.\n..C..\n....."),
        (MOVE_RIGHT, ".....\n..C..\n.C.^C\n..C..\n....."),
        (MOVE_BACKWARD, ".....\n..C..\n.C.C.\n..^..\n..C.."),
    ],
)
def test_a_crate_is_pushed_any_way(yard, action, after):
    assert yard(".....\n..C..\n.C^C.\n..C..\n.....", action).board == after


@pytest.mark.parametrize("picture", [">C", ">CC.", ">C#", ">Cl", ">Cc"])
def test_a_crate_without_room_stays_and_the_move_is_not_valid(yard, picture):
    game = yard(picture)
    before = game.board
    assert "MOVE_FORWARD" not in game.mask
    assert game.act(MOVE_FORWARD).board == before


def test_a_held_plate_takes_no_second_crate(yard):
    game = yard(">CP.\n.C..", MOVE_FORWARD)
    assert states(game, "Plate") == ["HELD"]
    game = yard("..\nC.\n^P", MOVE_FORWARD)
    assert game.board == "C.\n^.\n.P"


def test_a_coin_is_used_up_pays_and_leaves_rubble(yard):
    game = yard(">c.c", MOVE_FORWARD)
    assert game.reward == 2.0
    assert game.act(MOVE_FORWARD).board == ".R>C"
    assert game.reward == 0.0
    assert game.terminated


def test_the_last_one_ends_the_episode(yard):
    ends = {"name": "none_left", "object_type": "Coin"}
    assert not yard(">cc", MOVE_FORWARD, terminating_function=ends).terminated
    assert yard(">cc", MOVE_FORWARD, MOVE_FORWARD, terminating_function=ends).terminated


@pytest.mark.thorough
@pytest.mark.compiled
@pytest.mark.parametrize("side", [7, 40], ids=["small", "with lists"])
def test_both_worlds_agree_on_all_of_it(side):
    rows = [".........", ".C.P.lg..", ".>C.c.1r.", ".CCPPt.g.", "........."]
    picture = "\n".join(
        [*(row.ljust(side, ".") for row in rows), *["." * max(9, side)] * (side - 5)]
    )
    report = run_differential_test(scenario(picture, **RULES), episodes=4)
    assert report.fault == ""


def test_what_holds_plates_down_makes_no_action_valid(yard):
    assert yard("#>P#").mask == {"MOVE_FORWARD", "TURN_LEFT", "TURN_RIGHT"}
    assert yard("#>P#", MOVE_FORWARD).mask == {"MOVE_BACKWARD", "TURN_LEFT", "TURN_RIGHT"}


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "switch", "object_type": "Crate"},
        {"name": "hold_down", "object_type": "Crate"},
        {"name": "follow", "object_type": "Gate", "other_type": "Crate"},
        {"name": "push", "object_type": "Coin", "other_type": "Crate"},
    ],
    ids=lambda rule: rule["name"],
)
def test_a_rule_of_states_refuses_a_type_without(rule):
    with pytest.raises(ScenarioError, match="Crate has only one state"):
        scenario(">.", **{**RULES, "transition_functions": [rule]})


def test_other_scenarios_do_not_know_the_types(yard):
    assert yard(">c").scenario.layout.types[-1].name == "Rubble"
    with pytest.raises(ScenarioError, match="no object type 'Coin'"):
        scenario(">c", legend={"c": "Coin"})
