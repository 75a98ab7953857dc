"""Agents that are out of play for some steps, then come back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from components.core import HIDDEN
from gv_engine import AgentsVectorEnv, Scenario, parallel_env
from gv_engine.geometry import RIGHT
from gv_engine.play.session.session import Session
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.scenario.memory.row_checks import find_fault
from tests.scenario.reading import assert_refused

HALL = "#########\n#>..>...#\n###...###\n#########"
"""Ann begins at (1, 1), bob at (1, 4)."""


def hall(**rules: Any) -> dict[str, Any]:
    """A level in which bob is out for three steps when ann is beside him."""
    caught = {"name": "leave_when_caught", "by": "ann", "steps": 3, "for": "bob"}
    return {
        "agents": {"names": ["ann", "bob"], "colors": ["RED", "BLUE"]},
        "map": HALL,
        "transition_functions": ["come_back", "move_agent", {**caught, **rules}],
        "reward_functions": [{"name": "sent_out", "of": "bob", "reward": -2.0, "for": "bob"}],
        "observation_function": {"name": "fully_transparent", "area": [[-2, 2], [-2, 2]]},
        "terminating_function": "reach_exit",
    }


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_who_is_caught_is_out_for_three_steps_and_begins_again(world: str):
    env = parallel_env(Scenario.load(hall()), world=world)
    env.reset(seed=0)
    forward, left, wait = (env.scenario.action_names.index(name) for name in NAMES)
    seen, rewards, masks = [], [], []
    for ann, bob in ((forward, wait), (forward, wait), (left, forward), *[(wait, forward)] * 3):
        observations, reward, ended, cut, infos = env.step({"ann": ann, "bob": bob})
        assert env.agents == ["ann", "bob"]
        assert not any((*ended.values(), *cut.values()))
        seen.append(bool((observations["bob"]["grid"][..., 0] != HIDDEN).any()))
        rewards.append(reward["bob"])
        masks.append(bool(infos["bob"]["action_mask"].any()))
    # caught in the second step, out for the third to the fifth, and it moves again in the sixth
    assert seen == masks == [True, False, False, False, True, True]
    assert rewards == [0, -2, 0, 0, 0, 0]
    assert env.snapshot()["position"]["x"].tolist()[1:3] == [3, 5]


NAMES = "MOVE_FORWARD", "MOVE_LEFT", "ACTUATE"


@pytest.mark.parametrize("anywhere", [False, True])
def test_who_comes_back_waits_for_room_or_goes_where_there_is_room(anywhere: bool):
    level = hall()
    level["transition_functions"][0] = {"name": "come_back", "anywhere": anywhere}
    game = Session(Scenario.load(level), 0)
    for _ in range(3):  # ann walks into the cell where bob began
        game.step("ann MOVE_FORWARD")
    assert cells(game) == [(1, 4), (-1, -1)]
    for _ in range(2):
        game.step("WAIT")
    if not anywhere:
        assert cells(game)[1] == (-1, -1)
        assert game.row()["absence"]["steps"][2] == 1
        game.step("ann MOVE_BACKWARD")
        game.step("WAIT")
        assert cells(game)[1] == (1, 4)
    assert cells(game)[1] != cells(game)[0]
    assert min(cells(game)[1]) > 0
    assert game.row()["absence"]["steps"][2] == 0
    assert game.row()["agent"]["facing"][2] == RIGHT


def cells(game: Session) -> list[Any]:
    """The cells (y, x) of both agents."""
    places = game.row()["position"]
    return list(zip(places["y"][1:3].tolist(), places["x"][1:3].tolist()))


def test_undo_and_snapshots_hold_who_is_out():
    scenario = Scenario.load(hall())
    game = Session(scenario, 0)
    game.step("ann MOVE_FORWARD")
    before = game.row()
    game.step("ann MOVE_FORWARD")
    out = game.row()
    assert not find_fault(scenario.layout, out[None])
    assert out["absence"]["steps"][2] == 3
    game.step("WAIT")
    game.undo()
    assert game.row() == out
    game.undo()
    assert game.row() == before
    out["absence"]["steps"][2] = 0
    assert "agent 2's y is -1" in find_fault(scenario.layout, out[None])


def test_batches_tell_who_is_out():
    env = AgentsVectorEnv(Scenario.load(hall()), 2, world="object")
    env.reset(seed=0)
    forward, _, wait = (env.scenario.action_names.index(name) for name in NAMES)
    for _ in range(2):
        *_, info = env.step(np.array([[forward, wait], [wait, wait]]))
    assert info["live"].tolist() == [[True, False], [True, True]]


@pytest.mark.compiled
@pytest.mark.parametrize("anywhere", [False, True])
def test_both_worlds_agree(anywhere: bool):
    report = run_differential_test(Scenario.load("tag", rest=3, anywhere=anywhere), episodes=1)
    assert not report.fault
    assert report.steps > 50


def test_refused():
    one = {**hall(), "agents": 1}
    one["transition_functions"] = [{"name": "leave_when_on", "object_type": "Exit"}]
    one["reward_functions"] = ["reach_exit"]
    assert_refused("an agent that is alone is never out of play; list more under `agents`", one)
    assert_refused("found steps 0: allowed are 1 to 9999", hall(steps=0))
