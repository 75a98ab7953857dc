"""Rules about missions, on small boards in both worlds."""

from typing import Any

import pytest

from gv_engine.rules.geometry import MOVE_FORWARD, PICK_N_DROP, TURN_LEFT, TURN_RIGHT
from tests.boards import EVERYTHING

pytestmark = pytest.mark.compiled_elsewhere

RULES: dict[str, Any] = {
    "legend": {
        "r": {"object": "Key", "color": "RED"},
        "g": {"object": "Key", "color": "GREEN"},
        "B": {"object": "Beacon", "color": "RED"},
    },
    "transition_functions": EVERYTHING,
    "reward_functions": [
        {"name": "fetch_mission", "reward_good": 2.0, "reward_bad": -3.0},
        {"name": "reach_mission", "reward_on": 0.5, "reward_off": -0.25},
        {"name": "reach_exit_memory", "reward_good": 0.0, "reward_bad": 0.0},
    ],
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": ["fetch_mission", "fetch_other", "reach_exit"],
    },
}
"""All rules of missions and of memory, which share a program."""

QUIET: list[dict[str, Any]] = [
    {"name": "fetch_mission", "reward_good": 0.0, "reward_bad": 0.0},
    {"name": "reach_mission", "reward_on": 0.0, "reward_off": 0.0},
]
"""The rewards of missions, which pay nothing."""


@pytest.fixture
def errand(play):
    """Plays actions on a map with a mission: an object and a colour."""

    def start(picture: str, what: str, color: str, *actions: int) -> Any:
        mission = {"text": "fetch", "object": what, "color": color}
        # memory asks for a beacon
        return play(f"{picture}\n##b", *actions, mission=mission, **RULES)

    return start


@pytest.mark.parametrize(
    ("what", "color", "fetched"),
    [("Key", "RED", 2.0), ("Key", "NONE", 2.0), ("Key", "GREEN", -3.0), ("Beacon", "RED", -3.0)],
)
def test_what_is_held_ends_it_and_pays_by_what_was_asked_for(errand, what, color, fetched):
    game = errand(">rB", what, color, TURN_LEFT)
    assert (game.terms["fetch_mission"], game.terminated) == (0.0, False)
    game = errand(">rB", what, color, PICK_N_DROP)
    assert (game.terms["fetch_mission"], game.terminated) == (fetched, True)


@pytest.mark.parametrize(
    ("picture", "action", "paid"),
    [
        (">r.", PICK_N_DROP, (1.0, 0.0)),
        (">g.", PICK_N_DROP, (-1.0, 0.0)),
        (">.r", MOVE_FORWARD, (0.0, 1.0)),
        (">.g", MOVE_FORWARD, (0.0, 0.0)),
    ],
)
def test_where_no_rewards_are_given_they_are_one(play, picture, action, paid):
    mission = {"text": "fetch", "object": "Key", "color": "RED"}
    rewards = ["fetch_mission", "reach_mission", RULES["reward_functions"][2]]
    rules = {**RULES, "mission": mission, "reward_functions": rewards}
    terms = play(f"{picture}\n##b", action, **rules).terms
    assert (terms["fetch_mission"], terms["reach_mission"]) == paid


@pytest.mark.parametrize(
    ("picture", "action", "reached"),
    [
        (">.r", TURN_LEFT, -0.25),
        (">.r", MOVE_FORWARD, 0.5),  # in front of it
        (">.g", MOVE_FORWARD, -0.25),
        (">r.", MOVE_FORWARD, 0.5),  # on it
        ("^r.", TURN_RIGHT, 0.5),
        (">B.", MOVE_FORWARD, -0.25),
        (">..", MOVE_FORWARD, -0.25),
    ],
)
def test_what_is_asked_for_is_reached_on_it_or_in_front(errand, picture, action, reached):
    assert errand(picture, "Key", "RED", action).terms["reach_mission"] == reached
