"""MiniGrid's levels and rules come out as recorded, bit for bit; these are some of the files."""

from typing import Any

import numpy as np
import pytest

from components.minigrid import BALL
from gv_engine import GridEnv, Scenario
from gv_engine.plugins.minigrid.env import MiniGridEnv
from gv_engine.plugins.minigrid.systems.obstacles import in_spawn_order
from gv_engine.rules.errors import ScenarioError
from gv_engine.rules.objects import object_type
from gv_engine.world.simulation import Simulation
from tests import DATA, minigrid
from tests.comparing import STEPS_ON

FILES = sorted((DATA / "minigrid").glob("*.npz"))


@pytest.mark.sample("PutNear", "Dynamic")
@pytest.mark.parametrize("file", FILES, ids=[file.stem for file in FILES])
def test_recordings_come_out_equal(file):
    assert minigrid.replay_file(file, "object") > 500


@pytest.mark.thorough
@pytest.mark.compiled
def test_a_recording_comes_out_equal_where_it_is_compiled():
    assert minigrid.replay_file(DATA / "minigrid" / "MiniGrid-PutNear-6x6-N2-v0.npz", "batch") > 500


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_agent_and_goal_of_four_rooms_are_where_they_are_asked_for(world):
    cells: dict[str, Any] = {"agent_pos": (3, 4), "goal_pos": (9, 3)}  # the goal in place of a wall
    for asked in ({}, {"goal_pos": cells["goal_pos"]}, cells):
        env: Any = MiniGridEnv("MiniGrid-FourRooms-v0", world=world, **asked)
        seeds = range(4)
        starts = [(env.reset(seed=seed), env.agent_pos, env.agent_dir)[1:] for seed in seeds]
        assert (len({at for at, _ in starts}) == 1) == ("agent_pos" in asked)
        assert (env.agent_pos == cells["agent_pos"]) == ("agent_pos" in asked)
        assert (env.goal_pos == cells["goal_pos"]) == ("goal_pos" in asked)
        assert len({facing for _, facing in starts}) > 1


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        (
            [1, 2, 3],
            r"agent_pos \[1, 2, 3\]: allowed are \[x, y\] with x from 1 to 17 and y from 1",
        ),
        ([18, 1], r"agent_pos \[18, 1\]: allowed are \[x, y\] with x from 1 to 17 and y"),
        ([1.5, 2], r"agent_pos\[0\]: found 1.5, expected a whole number"),
    ],
)
def test_four_rooms_refuses_other_cells(cell, fault):
    with pytest.raises(ScenarioError, match=fault):
        Scenario.load("MiniGrid-FourRooms-v0", agent_pos=cell)


@STEPS_ON
@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_after_the_end_only_going_onto_the_goal_again_ends_it_again(world):
    left, right, ahead = 0, 1, 2
    env = GridEnv("MiniGrid-Empty-5x5-v0", world=world)
    env.reset(seed=0)
    to_goal, off_and_on = (ahead, ahead, right, ahead, ahead), (left, left, ahead, left, left)
    ends = [env.step(action)[1:3] for action in (*to_goal, ahead, *off_and_on, ahead)]
    assert [ended for _, ended in ends] == [False] * 4 + [True] + [False] * 6 + [True]
    assert [reward > 0 for reward, _ in ends] == [ended for _, ended in ends]


def test_the_balls_are_those_that_there_are_whatever_their_number_says():
    simulation = Simulation(Scenario.load("MiniGrid-Dynamic-Obstacles-5x5-v0"))
    simulation.reset(np.random.default_rng(0))
    there = in_spawn_order(simulation.world, BALL).tolist()
    assert len(there) == 2
    simulation.world.placed[BALL] += 5  # as in a row that is damaged
    assert in_spawn_order(simulation.world, BALL).tolist() == there


def test_other_scenarios_know_none_of_its_types_and_may_use_their_names():
    level = {
        "map": "^b",
        "legend": {"b": "Ball"},
        "transition_functions": [],
        "reward_functions": [],
        "terminating_function": "reach_exit",
        "observation_function": {"name": "fully_transparent", "area": [[-1, 0], [0, 0]]},
    }
    with pytest.raises(ScenarioError, match="no object type 'Ball'"):
        Scenario.load(level)
    own = Scenario.load({**level, "objects": {"Ball": {}}})
    assert [own.types[i].name for i in own.objects].count("Ball") == 1
    assert BALL not in own.objects


def test_names_of_built_in_types_are_taken():
    with pytest.raises(ValueError, match=r"'Key' is already declared in components\.objects"):
        object_type("Key", module="elsewhere")


@pytest.mark.parametrize(
    ("name", "index", "what"),
    [
        ("grid", (30, 1, 1, 0), "grid[1, 1, 0]"),
        ("probe", (7,), "probe"),
        ("image", (2, 3, 5, 0), "image[3, 5, 0]"),
        ("agent", (9, 2), "agent[2]"),
        ("carried", (4, 0), "carried[0]"),
        ("truncated", (3,), "truncated"),
        ("reward", (5,), "reward"),
    ],
)
def test_one_changed_bit_is_found(name, index, what):
    with np.load(FILES[0]) as arrays:
        recorded = dict(arrays.items())
    array = recorded[name]
    number = array[index]
    array[index] = np.nextafter(number, 9.0) if array.dtype.kind == "f" else number ^ 1
    with pytest.raises(minigrid.Different, match=r"recording 0, frame \d+, action") as raised:
        minigrid.replay(recorded, "object")
    assert f": {what}: found" in str(raised.value)


def test_a_folder_is_replayed_as_far_as_it_is_asked_for():
    lines: list[str] = []
    options = [str(DATA / "minigrid"), "--world", "object", "--only", "Obstructed"]
    assert minigrid.main(options, lines.append) == 0
    assert lines == ["MiniGrid-ObstructedMaze-1Dlhb-v0: equal, 1157 frames", "object: 1 of 1 equal"]
