"""What agents have seen of a level, and forget when another takes its place."""

import json
from typing import Any

import numpy as np
import pytest

from components.core import HIDDEN
from gv_engine import Scenario
from gv_engine.play.session import session
from gv_engine.rules.geometry import ACTUATE, MOVE_BACKWARD, PICK_N_DROP, TURN_LEFT
from tests import DATA
from tests.boards import scenario

FLOORS: dict[str, Any] = {
    "action_space": ["MOVE_BACKWARD", "TURN_LEFT", "ACTUATE", "PICK_N_DROP"],
    "transition_functions": ["move_agent", "turn_agent", "./floors.py:forget"],
    "max_shape": [8, 8],
}
FLOORS["transition_functions"] += [{"name": "./floors.py:descend", "height": 5, "width": 7}]
WAY: str = json.loads((DATA / "gallery.json").read_text("utf-8"))["rogue"]["0"]
"""Actions that win the roguelike."""
BOARD = "#####\n#...#\n#...#\n#..^#\n#####"


def count_known(game: session.Session) -> int:
    """The cells of the map that the agent has drawn so far."""
    explored = game.frame().explored
    assert explored is not None
    return int((explored[..., 0] != HIDDEN).sum())


def begin(**changes: Any) -> session.Session:
    """A game that has looked up and to the left."""
    game = session.Session(scenario(BOARD, **{**FLOORS, **changes}), 0)
    game.step("TURN_LEFT")
    return game


@pytest.mark.compiled_elsewhere
def test_both_worlds_count_what_is_forgotten(play: Any):
    game = play(BOARD, TURN_LEFT, **FLOORS)
    start = game.row["forgotten"]["count"][1]
    assert game.act(MOVE_BACKWARD).row["forgotten"]["count"][1] == start
    assert game.act(ACTUATE).row["forgotten"]["count"][1] == start + 1
    assert game.act(PICK_N_DROP).row["forgotten"]["count"][1] == start + 2
    assert game.board.split("\n") == ["#######", "#^....#", "#.....#", "#.....#", "#######"]


def test_a_rule_lets_an_agent_forget_all_but_what_it_sees():
    game = begin()
    both, seen = count_known(game), int(game.frame().seen.sum())
    assert both > seen
    game.step("ACTUATE")
    assert count_known(game) == seen
    game.undo()
    assert count_known(game) == both
    game.redo()
    assert count_known(game) == seen
    again = session.Session.from_replay(game.replay(), game.scenario)
    assert count_known(again) == seen


@pytest.mark.parametrize("shape", [(5, 5), (5, 7), (3, 5)])
def test_a_new_floor_is_unknown_whatever_its_size(shape: tuple[int, int]):
    height, width = shape
    down = {"name": "./floors.py:descend", "height": height, "width": width}
    game = begin(transition_functions=["move_agent", "turn_agent", down])
    game.step("PICK_N_DROP")
    frame = game.frame()
    assert frame.grid.shape[:2] == shape
    assert count_known(game) == int(frame.seen.sum())
    game.undo()
    assert count_known(game) > int(game.frame().seen.sum())


def test_a_level_that_stays_has_no_column_for_it():
    assert "forgotten" not in (scenario(BOARD).layout.dtype.names or ())


def test_each_agent_forgets_for_itself():
    picture = BOARD.replace("#...#", "#v..#", 1)
    rules = ["move_agent", "turn_agent", "./floors.py:forget"]
    game = session.Session(
        scenario(picture, **FLOORS | {"transition_functions": rules, "agents": 2}), 0
    )
    for name in game.agents:
        game.step(f"{name} TURN_LEFT")
    episode: Any = game._episode
    before = episode._explored[..., 0] != HIDDEN
    game.step(f"{game.agents[1]} ACTUATE")
    after = episode._explored[..., 0] != HIDDEN
    assert np.array_equal(before[0], after[0])
    assert before[1].sum() > after[1].sum()


def test_stairs_of_the_rogue_lead_into_fog():
    game = session.Session(Scenario.load("rogue"), 0)
    floors = [1]
    for action in WAY:
        known = count_known(game)
        game.step(game.actions[int(action)])
        frame = game.frame()
        floors.append(int(frame.numbers[-1].text))
        if floors[-1] > floors[-2]:
            assert count_known(game) == frame.seen.sum() < known
    assert sorted(set(floors)) == [1, 2, 3]
    assert game.frame().success
