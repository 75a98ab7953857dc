"""Guards, ghosts, slime, clocks and one-way doors, in both worlds."""

from __future__ import annotations

from typing import Any

import pytest

from gv_engine import ScenarioError
from gv_engine.rules.geometry import (
    ACTUATE,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_RIGHT,
    TURN_LEFT,
)
from tests.boards import scenario

pytestmark = pytest.mark.compiled_elsewhere

LOOKS = ["FORWARD", "BACKWARD", "LEFT", "RIGHT"]
RULES: dict[str, Any] = {
    "objects": {
        "Guard": {"states": LOOKS},
        "Ghost": {"states": ["RESTING", "RUNNING"]},
        "OneWay": {"components": ["Solid"], "states": LOOKS},
        "Slime": {},
        "Moss": {"layer": "ground"},
        "Fire": {},
        "Fuse": {},
        "Clock": {"states": ["ONE", "TWO", "THREE"]},
        "Rock": {"states": {"WHOLE": ["Solid"], "RUBBLE": []}},
    },
    "legend": {
        "u": {"object": "Guard", "state": "FORWARD"},
        "r": {"object": "Guard", "state": "RIGHT"},
        "l": {"object": "Guard", "state": "LEFT"},
        "G": {"object": "Ghost", "state": "RUNNING"},
        "g": "Ghost",
        ")": {"object": "OneWay", "state": "RIGHT"},
        "S": "Slime",
        "m": "Moss",
        "*": "Fire",
        "~": "Fuse",
        "c": "Clock",
        "R": "Rock",
    },
    "transition_functions": [
        {"name": "let_pass", "object_type": "OneWay"},
        "move_agent",
        "turn_agent",
        {"name": "switch", "object_type": "Rock", "again": False},
        {"name": "patrol", "object_type": "Guard"},
        {"name": "chase", "object_type": "Ghost"},
        {"name": "spread", "object_type": "Fire", "other_type": "Fuse"},
        {"name": "spread", "object_type": "Slime", "chance": 0.5},
        {"name": "spread", "object_type": "Moss"},
        {"name": "elapse", "object_type": "Clock", "again": False},
    ],
    "reward_functions": ["living_reward"],
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": [
            {"name": "seen", "object_type": "Guard", "reach": 2},
            {"name": "none_left", "object_type": "Fuse", "spare": 3},
        ],
    },
}


def wide(picture: str) -> str:
    """A picture with walls to its right, as wide as what keeps the game going."""
    return "\n".join(line.ljust(5, "#") for line in picture.split("\n"))


@pytest.fixture
def plays(play):
    """Plays actions on a map under `RULES`, above so many fuses that it goes on."""

    def start(picture: str, *actions: int):
        return play(f"{wide(picture)}\n~~~~~\n#####", *actions, **RULES)

    return start


def above(game) -> str:
    """The board without the fuses, and without the walls to its right."""
    return "\n".join(line.rstrip("#") for line in game.board.split("\n")[:-2])


def states(game, name: str) -> list[str]:
    """Names of the states of the objects of a type, row by row."""
    kind = next(t for t in game.scenario.layout.types if t.name == name)
    row = game.row
    cells = row["at"][: row["height"], : row["width"]].ravel()
    column, field = kind.state
    return [
        kind.states[row[column][field][e]] for e in cells if row["kind"]["value"][e] == kind.index
    ]


@pytest.mark.sample("object")
def test_a_guard_goes_to_and_fro(plays):
    game = plays("r..#\n###^")
    seen = []
    for _ in range(6):
        game.act(TURN_LEFT)
        seen.append((above(game).split("\n")[0].index("G"), *states(game, "Guard")))
    ways = ["RIGHT", "RIGHT", "LEFT", "LEFT", "LEFT", "RIGHT"]
    assert seen == list(zip([1, 2, 2, 1, 0, 0], ways, strict=True))


def test_a_guard_does_not_change_places_with_the_agent(plays):
    game = plays(">l..", MOVE_FORWARD)
    assert above(game) == ".>.."
    assert game.terminated is False
    assert states(game, "Guard") == ["LEFT"]


@pytest.mark.parametrize(
    ("picture", "seen"),
    [(">..l", True), (">#.l", False), (">...l", False), ("<r..", False), ("l..>", False)],
)
def test_a_guard_sees_two_cells_ahead_but_not_through_walls(plays, picture, seen):
    assert plays(picture, TURN_LEFT).terminated is seen


def test_a_ghost_runs_around_what_blocks_and_a_resting_one_stays(plays):
    assert above(plays("#.#.\nG#>.\n....", TURN_LEFT)) == "#.#.\n.#^.\nG..."
    assert above(plays("g.>.", TURN_LEFT)) == "G.^."


def test_a_ghost_catches_who_stands_still(plays):
    game = plays("G.>", TURN_LEFT, TURN_LEFT)
    assert above(game) == "..<"
    assert game.row["at"][0, 2] != 0


def test_fire_runs_along_the_fuse_one_cell_a_step_and_the_last_of_them_end_it(play):
    game = play("*~~~~~\n^#####", TURN_LEFT, **RULES)
    assert game.board == "FFFFFF\n<#####"
    assert not game.terminated
    assert game.act(TURN_LEFT).terminated
    kinds = game.row["kind"]["value"][game.row["at"][0, :6]]
    assert len(set(kinds[:3])) == len(set(kinds[3:])) == 1
    assert kinds[0] != kinds[3]


def test_slime_spreads_by_chance_to_free_cells_alone(plays):
    game = plays("S...E\n####>", *[TURN_LEFT] * 20)
    assert above(game) == "SSSSE\n####>"
    assert above(plays("S...E\n####>", TURN_LEFT)) != above(game)


def test_moss_spreads_on_the_ground_beneath_things(plays):
    game = plays("mR.\n##>", TURN_LEFT)
    assert (game.row["ground"][0, :3] > 0).tolist() == [True, True, False]
    below = game.act(TURN_LEFT).row["ground"][:2, :3] > 0
    assert below.tolist() == [[True, True, True], [False, False, False]]
    assert states(game, "Rock") == ["WHOLE"]


def test_a_clock_goes_on_by_itself_and_stays_in_its_last_state(plays):
    assert states(plays("c>", TURN_LEFT), "Clock") == ["TWO"]
    assert states(plays("c>", *[TURN_LEFT] * 5), "Clock") == ["THREE"]


def test_a_rock_breaks_for_good(plays):
    game = plays(">R.")
    assert "ACTUATE" in game.mask
    assert "ACTUATE" not in game.act(ACTUATE).mask
    assert states(game.act(ACTUATE), "Rock") == ["RUBBLE"]


def test_a_one_way_door_lets_in_the_way_it_looks_and_no_other(plays):
    game = plays(">).")
    assert "MOVE_FORWARD" in game.mask
    assert above(game.act(MOVE_FORWARD)) == ".>."
    assert above(game.act(MOVE_FORWARD)) == ".O>"
    assert "MOVE_BACKWARD" not in game.mask
    assert above(game.act(MOVE_BACKWARD)) == ".O>"
    assert above(plays("...\n.)#\n.^.", MOVE_FORWARD)).endswith(".O\n.^.")


def test_who_stands_in_a_one_way_door_may_leave_it_by_any_side(plays):
    assert above(plays(">)\n..", MOVE_FORWARD, MOVE_RIGHT)) == ".O\n.>"
    assert above(plays(">)\n..", MOVE_FORWARD, MOVE_BACKWARD, MOVE_FORWARD)) == ".>\n.."


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            {"name": "patrol", "object_type": "Ghost"},
            "Ghost has no orientations; its states must be",
        ),
        ({"name": "let_pass", "object_type": "Fire"}, "Fire has no orientations"),
        (
            {"name": "spread", "object_type": "Fire", "chance": 2},
            "found chance 2.0: allowed are 0",
        ),
        ({"name": "elapse", "object_type": "Fire"}, "Fire has only one state"),
    ],
)
def test_what_is_not_fit_for_a_rule_is_told(call, message):
    with pytest.raises(ScenarioError, match=message):
        scenario(">.", **{**RULES, "transition_functions": ["move_agent", call]})
