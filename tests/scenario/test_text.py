"""Boards and values as people read them, character by character."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from components.core import FLOOR, HIDDEN
from components.objects import BEACON, DOOR, EXIT, KEY, PARCEL, WALL
from gv_engine import Scenario
from gv_engine.play.session.session import Session
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.scenario.missions.sentences import (
    ActionTextError,
    action_to_text,
    find_action,
    view_to_sentences,
)
from gv_engine.scenario.readers.map import (
    describe_object,
    format_reward,
    frame_to_text,
    grid_to_text,
    view_to_text,
)
from tests.scenario.reading import RULES


def floor(height: int, width: int) -> Any:
    return np.full((height, width, 3), (FLOOR, 0, 0), np.uint8)


@pytest.mark.parametrize(
    ("agent", "text"),
    [
        (None, "...\n..."),
        ((0, 0, FORWARD), "^..\n..."),
        ((1, 0, BACKWARD), "...\nv.."),
        ((1, 2, LEFT), "...\n..<"),
        *(((y, x, FORWARD), "...\n...") for y, x in ((-1, 0), (2, 0), (0, -1), (0, 3))),
    ],
)
def test_an_agent_is_drawn_where_it_is_on_the_board(agent: Any, text: str):
    assert grid_to_text(floor(2, 3), OBJECT_TYPES, agent) == text


def test_things_have_the_characters_of_maps():
    grid = floor(2, 4)
    grid[0] = (WALL, 0, 0), (DOOR, 0, 4), (DOOR, 1, 4), (DOOR, 2, 4)
    grid[1] = (HIDDEN, 0, 0), (EXIT, 0, 0), (KEY, 0, 1), (FLOOR, 0, 0)
    assert grid_to_text(grid, OBJECT_TYPES) == "#_dD\n?EK."


@pytest.mark.parametrize(
    ("cell", "where"),
    [((0, 2), "2 ahead"), ((2, 0), "2 left"), ((3, 4), "1 behind, 2 right"), ((2, 2), "here")],
)
def test_where_things_are_is_told_from_the_agent(cell: tuple[int, int], where: str):
    grid = floor(5, 5)
    grid[cell] = KEY, 0, 4
    lines = view_to_text(grid, np.array([DOOR, 2, 1]), OBJECT_TYPES, (2, 2, FORWARD)).split("\n")
    assert lines[5:] == ["holding locked red door", f"yellow key: {where}"]
    assert lines[2][2] == "^"


def test_sentences_say_what_is_held_the_nearest_walls_and_all_things():
    grid = floor(4, 5)
    grid[0], grid[3, 0], grid[3, 4] = (HIDDEN, 0, 0), (WALL, 0, 0), (WALL, 0, 0)
    grid[0, 2], grid[1, 1], grid[2, 1] = (WALL, 0, 0), (DOOR, 0, 1), (PARCEL, 0, 2)
    grid[3, 3], grid[1, 4], grid[3, 2] = (KEY, 0, 3), (BEACON, 0, 4), (EXIT, 0, 0)
    told = view_to_sentences(grid, np.array([KEY, 0, 1]), OBJECT_TYPES, (3, 2, FORWARD))
    assert told.split("\n") == [
        "You carry a red key",
        "You stand on a exit",
        "You see a wall 3 steps forward",
        "You see a wall 2 steps left",  # the one on the right is behind the key
        "You see a open red door 1 step left and 2 steps forward",
        "You see a green box 1 step left and 1 step forward",
        "You see a blue key 1 step right",
        "You see a yellow beacon 2 steps right and 2 steps forward",
    ]


def test_sentences_turn_with_the_agent_and_say_what_is_behind_it():
    grid = floor(3, 3)
    grid[0, 1], grid[1, 0], grid[2, 2] = (WALL, 0, 0), (KEY, 0, 1), (KEY, 0, 2)
    told = view_to_sentences(grid, np.zeros(3, int), OBJECT_TYPES, (1, 1, LEFT))
    assert told.split("\n") == [
        "You see a wall 1 step right",
        "You see a green key 1 step left and 1 step backward",
        "You see a red key 1 step forward",
    ]
    grid[1, 0] = FLOOR, 0, 0
    grid[1, 1] = KEY, 0, 1
    assert "You stand on a red key" in view_to_sentences(
        grid, np.zeros(3, int), OBJECT_TYPES, (1, 1, LEFT)
    )
    grid[1, 1] = DOOR, 0, 1
    assert "red" not in view_to_sentences(grid, np.zeros(3, int), OBJECT_TYPES, (1, 1, LEFT))
    assert not view_to_sentences(floor(3, 3), np.zeros(3, int), OBJECT_TYPES, (1, 1, LEFT))


def test_actions_have_words_and_are_found_by_them_or_by_name():
    names = "TURN_LEFT", "MOVE_FORWARD", "PICK_UP", "PICK_N_DROP", "KICK"
    assert [*map(action_to_text, names)] == [
        *("turn left", "go forward", "pick up", "pick n drop", "kick")
    ]
    told = ["Turn  left", "go forward", "move forward", "pick_up", "PICK_N_DROP", "kick"]
    assert [find_action(text, names) for text in told] == [*names[:2], *names[1:]]
    with pytest.raises(ActionTextError, match=r"no action 'go forwards'; did you mean 'go forw"):
        find_action("go forwards", names)
    with pytest.raises(ActionTextError) as caught:
        find_action("x" * 10**6, names)
    assert len(str(caught.value)) < 300


def test_objects_are_called_by_state_and_colour():
    looks = [(WALL, 0, 0), (KEY, 0, 0), (KEY, 0, 4), (DOOR, 0, 0), (DOOR, 1, 2)]
    told = [describe_object(OBJECT_TYPES, *look) for look in looks]
    assert told == ["wall", "key", "yellow key", "open door", "closed green door"]


def test_rewards_are_signed():
    told = [format_reward(value) for value in (0.0, -0.0, 1.0, -0.05, 1234567.0)]
    assert told == ["0", "0", "+1", "-0.05", "+1.23457e+06"]
    assert format_reward(0.2 - 4 * 0.05) == format_reward(0.3 - 0.1 - 0.2) == "0"


def frames(document: dict[str, Any], *actions: str) -> list[str]:
    """The texts of a game at its beginning and after each action."""
    game = Session(Scenario.load(document), 3)
    texts = [frame_to_text(game.frame())]
    for action in actions:
        game.step(action)
        texts.append(frame_to_text(game.frame()))
    return texts


SIGHT = {"name": "fully_transparent", "area": [[-1, 0], [0, 0]]}
ROOM: dict[str, Any] = {**RULES, "name": "room", "map": ">.E", "observation_function": SIGHT}


def test_a_view_that_is_higher_than_the_grid_stands_beside_it():
    assert frames(ROOM, "MOVE_FORWARD", "MOVE_FORWARD") == [
        ">.E   .\n      ^\nreturn +0, step 0, holding nothing",
        ".>E   E\n      ^\nMOVE_FORWARD: +0, return +0, step 1, holding nothing",
        "..>   ?\n      ^\nMOVE_FORWARD: +1, return +1, step 2, holding nothing, terminated",
    ]


def test_a_grid_that_is_higher_than_the_view_and_what_is_held():
    changes = {
        "map": ">k\n..\n.E",
        "legend": {"k": {"object": "Key", "color": "RED"}},
        "transition_functions": ["pickndrop"],
        "action_space": ["PICK_N_DROP"],
    }
    begin, taken = frames({**ROOM, **changes}, "PICK_N_DROP")
    assert begin == ">K   K\n..   ^\n.E\nreturn +0, step 0, holding nothing"
    held = "PICK_N_DROP: +0, return +0, step 1, holding RED Key"
    assert taken == f">.   .\n..   ^\n.E\n{held}"
