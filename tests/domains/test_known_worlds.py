"""Known worlds are those of their packages; `make parity` compares longer ones."""

from typing import Any

import numpy as np
import pytest

from gv_engine import AgentsVectorEnv, Scenario, ScenarioError
from tests import DATA
from tests.domains.test_together import KEYS, WINS
from tests.parity import LEVELS, Level, find_difference

RECORDED = [level for level in LEVELS if (DATA / "parity" / f"{level.name}.npz").exists()]


@pytest.mark.parametrize("level", RECORDED, ids=lambda level: level.name)
@pytest.mark.parametrize("world", ["object", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_recorded_games_come_out_equal(level: Level, world: str):
    with np.load(DATA / "parity" / f"{level.name}.npz") as recorded:
        arrays = dict(recorded)
    assert arrays["done"].any()
    assert (arrays["rewards"] > 0).any()
    assert not find_difference(level, arrays, 0, world)
    arrays["rewards"][3, 20] += 1
    assert "rewards of seed 3 after 21 steps" in find_difference(level, arrays, 0, world)


@pytest.mark.parametrize("name", [name for name in WINS if name.startswith("foraging")])
def test_all_food_together_is_worth_1(name: str):
    env = AgentsVectorEnv(name, 1, world="object", autoreset_mode="Disabled")
    env.reset(seed=[0])
    total, names = 0.0, list(env.scenario.action_names)
    for keys in zip(*WINS[name], strict=True):
        asked = [names.index("NOOP" if key == "." else KEYS[key]) for key in keys]
        _, rewards, terminated, _, _ = env.step(np.array([asked]))
        total += rewards.sum()
    assert terminated.all()
    assert total == pytest.approx(1)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"size": 2}, "size=2: allowed are whole numbers from 3"),
        ({"foods": 0}, "foods=0"),
        ({"most": 4}, "most=4: allowed are whole numbers from 1 to 3"),
        ({"size": 3, "players": 10}, "found 10 agents: shape \\[3, 3\\] has 9 cells"),
    ],
)
def test_levels_that_cannot_be_are_refused(settings: dict[str, Any], says: str):
    with pytest.raises(ScenarioError, match=says):
        Scenario.load("foraging-8x8-2p-3f", **settings)
