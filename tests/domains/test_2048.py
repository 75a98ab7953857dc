"""2048, a level whose agent stands in no cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gv_engine import GridEnv, Scenario
from gv_engine.play.session.session import Session
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.world.simulation import Simulation
from tests.scenario.reading import assert_refused

ACTIONS = ["MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"]


def board(*rows: str) -> Simulation:
    """A game with these tiles, by number; 0 for a free cell."""
    simulation = Simulation(Scenario.load("2048"))
    simulation.reset(np.random.default_rng(0))
    w = simulation.world
    tile = w.layout.object_types["Tile"].index
    for e in w.of_type(tile).tolist():
        w.remove(e)
    for y, row in enumerate(rows):
        for x, number in enumerate(row.split()):
            if int(number):
                e = w.spawn(tile)
                w.place(e, y, x)
                w.set_state(e, int(number).bit_length() - 2)
    return simulation


def numbers(simulation: Simulation) -> list[list[int]]:
    w = simulation.world
    return [[2 << w.state_of(e) if e else 0 for e in row[:4]] for row in w.at[:4].tolist()]


@pytest.mark.parametrize(
    ("action", "row", "points"),
    [
        ("MOVE_LEFT", [4, 4, 0, 0], 4),  # 2 2 4 0: a tile that was made is not made again
        ("MOVE_RIGHT", [0, 0, 4, 4], 4),
        ("MOVE_FORWARD", [2, 2, 4, 0], 0),
    ],
)
def test_tiles_slide_and_equal_ones_become_one(action: str, row: list[int], points: int):
    simulation = board("0 0 0 0", "2 2 4 0", "0 0 0 0", "0 0 0 0")
    simulation.step(simulation.scenario.actions[ACTIONS.index(action)])
    after = np.array(numbers(simulation))
    line = 0 if action == "MOVE_FORWARD" else 1
    assert np.count_nonzero(after) == np.count_nonzero(row) + 1  # a new tile
    assert all(there == number for there, number in zip(after[line], row) if number)
    assert simulation.world.reward[1] == points
    assert (simulation.world.position.y[1], simulation.world.done[1]) == (-1, False)


def test_nothing_moves_where_nothing_can():
    simulation = board("2 4 2 4", "4 2 4 2", "2 4 2 4", "4 2 4 0")
    mask = np.zeros(4, np.int8)
    simulation.valid_actions(mask)
    assert mask.tolist() == [0, 1, 0, 1]
    before = numbers(simulation)
    simulation.step(simulation.scenario.actions[0])
    assert numbers(simulation) == before


def test_the_episode_ends_without_a_move_or_with_the_goal():
    stuck = board("2 4 2 4", "4 2 4 2", "2 4 2 4", "4 2 4 8")
    stuck.step(stuck.scenario.actions[0])
    assert (stuck.world.terminated, stuck.world.success[1]) == (True, False)
    won = board("1024 1024 0 0", "0 0 0 0", "0 0 0 0", "0 0 0 0")
    won.step(won.scenario.actions[2])
    assert (won.world.terminated, won.world.success[1]) == (True, True)
    assert won.world.total[1] == 2048


def test_the_agent_sees_the_board_and_is_not_drawn():
    env = GridEnv("2048", world="object", render_mode="ansi", size=3)
    observation, _ = env.reset(seed=0)
    row: Any = env.snapshot()
    kinds = row["kind"]["value"][row["at"][:3, :3]]
    assert observation["grid"][..., 0].tolist() == kinds.tolist()
    assert not set(str(env.render())) & set("^v<>")
    restored, _ = env.restore(row)
    assert restored["grid"].tolist() == observation["grid"].tolist()
    game = Session(env.scenario, 0)
    before = game.row()
    game.step("MOVE_LEFT")
    game.undo()
    assert game.row() == before


@pytest.mark.compiled
def test_both_worlds_agree():
    report = run_differential_test(Scenario.load("2048"), episodes=4)
    assert not report.fault
    assert report.steps > 100


def test_refused():
    level: dict[str, Any] = {
        "agents": {"components": ["Bodiless"]},
        "map": "..\n.>",
        "transition_functions": ["move_agent"],
        "reward_functions": ["living_reward"],
        "observation_function": {"name": "fully_transparent", "area": [[1, 2], [1, 2]]},
        "terminating_function": {"name": "none_left", "object_type": "Exit"},
    }
    assert_refused("an agent, which its component Bodiless keeps off the grid", level)
    del level["map"]
    boxes = {"room": [4, 4], "place": [{"object": "Box", "count": 2}]}
    assert Scenario.load({**level, **boxes}).layout.is_bodiless
    several = {**level, **boxes, "agents": {"number": 2, "components": ["Bodiless"]}}
    assert_refused("only a single agent can be Bodiless", several)
    assert_refused("no agent; put one of", {**level, "agents": 1, "map": "..\n.."})
