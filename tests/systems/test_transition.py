"""Transitions on small boards (GridVerse specification, section 3), in both worlds."""

import pytest

from gv_engine.rules.geometry import (
    ACTIONS,
    ACTUATE,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_LEFT,
    MOVE_RIGHT,
    PICK_N_DROP,
    TURN_LEFT,
    TURN_RIGHT,
    USUAL_ACTIONS,
)
from tests.boards import RULES, distances

MOVES = {"MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"}
TURNS = {"TURN_LEFT", "TURN_RIGHT"}

# ---- move_agent --------------------------------------------------------------------------------


AROUND = {
    "^": (".^./.../...", ".../.../.^.", ".../^../...", ".../..^/..."),
    "v": (".../.../.v.", ".v./.../...", ".../..v/...", ".../v../..."),
    "<": (".../<../...", ".../..</...", ".../.../.<.", ".<./.../..."),
    ">": (".../..>/...", ".../>../...", ".>./.../...", ".../.../.>."),
}
"""For each orientation, the board after a move forward, backward, left and right."""


@pytest.mark.parametrize("agent", AROUND)
def test_moves_are_relative_to_the_orientation_and_do_not_turn(play, agent):
    actions = MOVE_FORWARD, MOVE_BACKWARD, MOVE_LEFT, MOVE_RIGHT
    for action, board in zip(actions, AROUND[agent], strict=True):
        game = play(f"...\n.{agent}.\n...", action)
        assert game.board.replace("\n", "/") == board


@pytest.mark.parametrize("agent", "^v<>")
def test_nobody_leaves_the_grid(play, agent):
    game = play(agent)
    for action in (MOVE_FORWARD, MOVE_BACKWARD, MOVE_LEFT, MOVE_RIGHT):
        assert game.act(action).board == agent
        assert game.mask == TURNS


@pytest.mark.parametrize(("things", "enters"), [("#DdB", False), ("_KETbo", True)])
def test_what_blocks_movement(play, things, enters):
    for thing in things:
        game = play(f">{thing}")
        assert ("MOVE_FORWARD" in game.mask) is enters
        assert game.act(MOVE_FORWARD).board == (".>" if enters else f">{thing}")
        # what was stepped on is still there
        assert game.act(MOVE_BACKWARD).board == f">{thing}"


def test_from_a_blocking_cell_one_gets_away_but_not_back(play):
    legend = {"a": {"object": "Wall", "agent": "RIGHT"}}
    game = play("a.", legend=legend)
    assert "MOVE_FORWARD" in game.mask
    assert game.act(MOVE_FORWARD).board == "#>"
    assert game.act(MOVE_BACKWARD).board == "#>"


# ---- turn_agent --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "left", "right"), [("^", "<", ">"), ("v", ">", "<"), ("<", "v", "^"), (">", "^", "v")]
)
def test_a_quarter_turn(play, agent, left, right):
    assert play(agent, TURN_LEFT).board == left
    assert play(agent, TURN_RIGHT).board == right


# ---- actuate_door ------------------------------------------------------------------------------

RED_DOOR = {"D": {"object": "Door", "state": "LOCKED", "color": "RED"}}
RED_KEY = {"K": {"object": "Key", "color": "RED"}}


def test_a_closed_door_opens_for_everyone(play):
    game = play(">d")
    assert "ACTUATE" in game.mask
    assert game.act(ACTUATE).board == ">_"
    assert "ACTUATE" not in game.mask


def test_a_key_of_its_colour_opens_a_locked_door_and_is_kept(play):
    game = play("K>D", TURN_LEFT, TURN_LEFT, PICK_N_DROP, TURN_LEFT, TURN_LEFT)
    assert game.board == ".>D"
    assert "ACTUATE" in game.mask
    assert game.act(ACTUATE).board == ".>_"
    assert game.item == "YELLOW Key"


@pytest.mark.parametrize("legend", [RED_DOOR, RED_KEY])
def test_a_key_of_another_colour_does_not_fit(play, legend):
    game = play(
        "K>D", TURN_LEFT, TURN_LEFT, PICK_N_DROP, TURN_LEFT, TURN_LEFT, ACTUATE, legend=legend
    )
    assert game.board == ".>D"
    assert "ACTUATE" not in game.mask


@pytest.mark.parametrize(
    "picture",
    # locked for empty hands, open already, nothing to open, behind and beside the agent
    [">D", ">_", ">.", ">#", ">K", ">E", ">", "v", "<", "^", ".d.\nd>.\n.d."],
)
def test_nothing_else_can_be_actuated(play, picture):
    game = play(picture)
    assert "ACTUATE" not in game.mask
    assert game.act(ACTUATE).board == picture


def test_other_actions_open_nothing(play):
    game = play(">d", MOVE_FORWARD, PICK_N_DROP, TURN_LEFT, TURN_RIGHT)
    assert game.board == ">d"


# ---- pickndrop ---------------------------------------------------------------------------------


def test_what_can_be_held_is_picked_up_and_dropped_on_the_floor(play):
    game = play(">K.")
    assert "PICK_N_DROP" in game.mask
    assert game.act(PICK_N_DROP).board == ">.."
    assert game.item == "YELLOW Key"
    assert game.act(MOVE_FORWARD).board == ".>."
    assert "PICK_N_DROP" in game.mask
    assert game.act(PICK_N_DROP).board == ".>K"
    assert game.item == "nothing"


def test_swap_what_is_held_with_what_is_ahead(play):
    game = play("K>J", PICK_N_DROP, legend={"J": {"object": "Key", "color": "BLUE"}})
    assert game.board == "K>."
    assert game.item == "BLUE Key"
    game.act(TURN_LEFT, TURN_LEFT, PICK_N_DROP)
    assert game.board == "K<."
    assert game.item == "YELLOW Key"
    game.act(PICK_N_DROP)
    assert game.item == "BLUE Key"


@pytest.mark.parametrize("thing", "#DdE_BTbo")
def test_hands_full_or_empty_what_cannot_be_held_stays(play, thing):
    game = play(f"K>{thing}", PICK_N_DROP)
    assert game.board == f"K>{thing}"
    assert game.item == "nothing"
    game.act(TURN_LEFT, TURN_LEFT, PICK_N_DROP, TURN_LEFT, TURN_LEFT)
    assert "PICK_N_DROP" not in game.mask
    assert game.act(PICK_N_DROP).board == f".>{thing}"
    assert game.item == "YELLOW Key"


def test_an_empty_hand_on_empty_floor_does_nothing(play):
    game = play(">.")
    assert "PICK_N_DROP" not in game.mask
    assert game.act(PICK_N_DROP).board == ">."


@pytest.mark.parametrize("turns", range(4))
def test_nothing_is_dropped_out_of_the_grid_or_picked_from_there(play, turns):
    game = play(">K", PICK_N_DROP, MOVE_FORWARD)
    assert game.board == ".>"
    game.act(*[TURN_LEFT] * turns)
    inside = game.board == ".<"
    assert ("PICK_N_DROP" in game.mask) is inside
    game.act(PICK_N_DROP)
    assert game.item == ("nothing" if inside else "YELLOW Key")
    assert game.board.count("K") == inside


def test_the_key_underfoot_is_out_of_reach(play):
    game = play(">K.", MOVE_FORWARD, PICK_N_DROP)
    assert game.item == "nothing"
    assert game.act(MOVE_FORWARD).board == ".K>"


def test_what_is_held_can_be_dropped_where_the_agent_once_stood(play):
    game = play("K^", TURN_LEFT, PICK_N_DROP, PICK_N_DROP)
    assert game.board == "K<"
    assert game.act(PICK_N_DROP).item == "YELLOW Key"


# ---- the list ----------------------------------------------------------------------------------


def test_the_mask_is_what_the_listed_rules_would_do(play):
    assert play("...\n.^.\n...").mask == MOVES | TURNS


@pytest.mark.sample("object")
def test_a_rule_that_does_not_say_when_it_acts_may_always_act(play):
    assert play("^K", **distances(object_type="Key")).mask == {
        ACTIONS[number] for number in USUAL_ACTIONS
    }


def test_transitions_run_in_the_order_of_the_list(play):
    *before, slam = RULES["transition_functions"]
    opened_then_slammed = [*before, {**slam, "on": True}]
    assert play(">d", ACTUATE, transition_functions=opened_then_slammed).board == ">d"


@pytest.mark.sample("object")  # compiled, test_actions.py has one in any order
def test_an_action_space_numbers_its_own_actions(play):
    game = play(">d", ACTUATE, action_space=["ACTUATE", "MOVE_FORWARD"])
    assert game.board == ">_"
    assert game.mask == {"MOVE_FORWARD"}
    assert game.act(MOVE_FORWARD).board == ".>"
