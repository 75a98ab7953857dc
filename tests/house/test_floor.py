"""The hand-fused kernel plays the level that it is measured beside; it needs Numba."""

from typing import Any

import numpy as np
import pytest

import gv_engine
from gv_engine.rules.component import AGENT

floor: Any = pytest.importorskip("benchmarks.floor")
pytestmark = pytest.mark.slow


@pytest.mark.thorough
def test_floor_plays_the_scenario():
    count, steps = 512, 400
    env = gv_engine.GridVectorEnv("keydoor-9x9", count)
    env.reset(seed=5)
    arrays = floor.make(count)
    floor.reset(*arrays)
    worlds, grid, item, rewards, terminated, truncated = arrays
    for i in range(count):
        become(worlds[i], env.snapshot(i))
    going = np.ones(count, np.bool_)
    rng = np.random.default_rng(5)
    opened = finished = 0
    for _ in range(steps):
        actions = rng.choice(8, size=count, p=(0.3, 0, 0, 0, 0.15, 0.15, 0.2, 0.2))
        shown, value, over, _, info = env.step(actions)
        floor.step(actions, *arrays)
        np.testing.assert_array_equal(grid[going], shown["grid"][going])
        np.testing.assert_array_equal(item[going], shown["item"][going])
        np.testing.assert_allclose(rewards[going], value[going])
        np.testing.assert_array_equal(terminated[going], over[going])
        opened += int((info["reward_terms"]["actuate_door"][going] > 0).sum())
        finished += int(over[going].sum())
        going &= ~over
    assert opened
    assert finished
    assert not truncated.any()


def become(world: Any, row: Any) -> None:
    """Give the hand-fused kernel the level of the engine."""
    e = row["at"][: floor.SIZE, : floor.SIZE]
    world["cells"][:, :, 0] = row["kind"]["value"][e]
    world["cells"][:, :, 1] = row["door"]["status"][e]
    world["cells"][:, :, 2] = row["color"]["value"][e]
    world["y"], world["x"] = row["position"]["y"][AGENT], row["position"]["x"][AGENT]
    world["facing"] = row["agent"]["facing"][AGENT]
    world["held"], world["steps"] = 0, 0


@pytest.mark.thorough
def test_floor_begins_anew():
    arrays = floor.make(8)
    floor.reset(*arrays)
    worlds, _, _, rewards, _, truncated = arrays
    worlds["steps"][:4] = floor.MAX_STEPS - 1
    turn_left = np.full(8, 4)
    floor.step(turn_left, *arrays)
    assert truncated.tolist() == [True] * 4 + [False] * 4
    floor.step(turn_left, *arrays)
    assert not truncated.any()
    assert worlds["steps"].tolist() == [0] * 4 + [2] * 4
    assert (rewards[:4] == 0).all()
