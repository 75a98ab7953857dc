"""The datasets that come with the package."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gv_engine import episode_folder
from gv_engine.envs.environment import GridEnv
from gv_engine.envs.rollout.episode_folder import DATASETS, RolloutError

NAMES = sorted(folder.name for folder in DATASETS.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_the_engine_plays_recorded_actions_with_the_recorded_results(name: str):
    arrays, about = episode_folder.read(name)
    env = GridEnv(about["scenario"]["source"], world="object")
    starts, seeds = [*arrays["episode_start"].tolist(), about["steps"]], arrays["episode_seed"]
    for k in range(0, about["episodes"], 40):
        seed = about["level_seeds"][seeds[k]] if "level_seeds" in about else seeds[k]
        observation, info = env.reset(seed=int(seed))
        for t in range(starts[k], starts[k + 1]):
            assert np.array_equal(observation["grid"], arrays["grid"][t])
            assert np.array_equal(info["action_mask"], arrays["action_mask"][t])
            observation, reward, terminated, truncated, info = env.step(int(arrays["action"][t]))
            assert reward == arrays["reward"][t]
        assert terminated == arrays["terminated"][t]
        assert truncated == arrays["truncated"][t]
        assert np.array_equal(observation["grid"], arrays["last_grid"][k])


@pytest.mark.parametrize("name", NAMES)
def test_cards_tell_what_datasets_hold(name: str):
    arrays, about = episode_folder.read(name)
    card = (DATASETS / name / "README.md").read_text("utf-8")
    assert f"{about['episodes']:,} episodes in " in card
    assert f" different levels of `{about['scenario']['name']}`" in card
    shapes = [f"| `{name}` | {array.dtype} | {array.shape} |" for name, array in arrays.items()]
    assert "\n".join(shapes) in card
    assert re.search(rf"^\| steps \| {about['steps']:,} \|$", card, re.M)
    assert f"{arrays['episode_success'].mean():.1%}" in card
    assert about["scenario"]["folder"] == ""  # no path of the machine that recorded it


def test_a_name_without_a_dataset_is_told_with_those_that_there_are():
    with pytest.raises(RolloutError, match=r"come with the package are .*keydoor-5x5-solver"):
        episode_folder.read("keydoor-5x5-solvr")
