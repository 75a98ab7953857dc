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
from tests.boards import distances, drawn

MOVES = {"MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"}
TURNS = {"TURN_LEFT", "TURN_RIGHT"}

# ---- move_agent --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("agent", "action", "row"),
    [
        ("^", MOVE_FORWARD, ".^./.../..."),
        ("^", MOVE_BACKWARD, ".../.../.^."),
        ("^", MOVE_LEFT, ".../^../..."),
        ("^", MOVE_RIGHT, ".../..^/..."),
        ("v", MOVE_FORWARD, ".../.../.v."),
        ("v", MOVE_BACKWARD, ".v./.../..."),
        ("v", MOVE_LEFT, ".../..v/..."),
        ("v", MOVE_RIGHT, ".../v../..."),
        ("<", MOVE_FORWARD, ".../<../..."),
        ("<", MOVE_BACKWARD, ".../..</..."),
        ("<", MOVE_LEFT, ".../.../.<."),
        ("<", MOVE_RIGHT, ".<./.../..."),
        (">", MOVE_FORWARD, ".../..>/..."),
        (">", MOVE_BACKWARD, ".../>../..."),
        (">", MOVE_LEFT, ".>./.../..."),
        (">", MOVE_RIGHT, ".../.../.>."),
    ],
)
def test_moves_are_relative_to_the_orientation_and_do_not_turn(play, agent, action, row):
    game = play(f"...\n.{agent}.\n...", action)
    assert game.board.replace("\n", "/") == row


@pytest.mark.parametrize("agent", "^v<>")
@pytest.mark.parametrize("action", [MOVE_FORWARD, MOVE_BACKWARD, MOVE_LEFT, MOVE_RIGHT])
def test_nobody_leaves_the_grid(play, agent, action):
    game = play(agent, action)
    assert game.board == agent
    assert game.mask == TURNS


@pytest.mark.parametrize(
    ("thing", "enters"),
    [
        ("#", False),
        ("D", False),
        ("d", False),
        ("_", True),
        ("K", True),
        ("E", True),
        ("B", False),
        ("T", True),
        ("b", True),
        ("o", True),
    ],
)
def test_what_blocks_movement(play, thing, enters):
    game = play(f">{thing}")
    assert ("MOVE_FORWARD" in game.mask) is enters
    assert game.act(MOVE_FORWARD).board == (f".{'>'}" if enters else f">{thing}")
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


def test_a_locked_door_stays_locked_for_empty_hands(play):
    game = play(">D")
    assert "ACTUATE" not in game.mask
    assert game.act(ACTUATE).board == ">D"


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


def test_an_open_door_stays_open(play):
    assert play(">_", ACTUATE).board == ">_"


@pytest.mark.parametrize("picture", [">.", ">#", ">K", ">E", ">", "v", "<", "^"])
def test_nothing_else_can_be_actuated(play, picture):
    game = play(picture)
    assert "ACTUATE" not in game.mask
    assert game.act(ACTUATE).board == picture


def test_only_the_door_in_front_opens(play):
    game = play(
        """
        .d.
        d>.
        .d.
        """,
        ACTUATE,
    )
    assert game.board == drawn(
        """
        .d.
        d>.
        .d.
        """
    )


def test_other_actions_open_nothing(play):
    game = play(">d", MOVE_FORWARD, PICK_N_DROP, TURN_LEFT, TURN_RIGHT)
    assert game.board == ">d"


# ---- pickndrop ---------------------------------------------------------------------------------


def test_pick_up_what_can_be_held(play):
    game = play(">K")
    assert "PICK_N_DROP" in game.mask
    assert game.act(PICK_N_DROP).board == ">."
    assert game.item == "YELLOW Key"


def test_drop_on_the_floor(play):
    game = play(">K.", PICK_N_DROP, MOVE_FORWARD)
    assert game.board == ".>."
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
    opened_then_slammed = [
        "move_agent",
        "turn_agent",
        "actuate_door",
        "pickndrop",
        {"name": "./rules.py:slam_door", "on": True},
    ]
    assert play(">d", ACTUATE, transition_functions=opened_then_slammed).board == ">d"


@pytest.mark.sample("object")  # compiled, test_actions.py has one in any order
def test_an_action_space_numbers_its_own_actions(play):
    game = play(">d", ACTUATE, action_space=["ACTUATE", "MOVE_FORWARD"])
    assert game.board == ">_"
    assert game.mask == {"MOVE_FORWARD"}
    assert game.act(MOVE_FORWARD).board == ".>"
