"""Recorded rollouts as a dataset of torch; needs the extra rl."""

from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario, episode_folder
from gv_engine.envs.rollout.policy import load_policies
from gv_engine.envs.rollout.rollout import rollout
from tests.rollout.test_rollout import made

torch: Any = pytest.importorskip("torch")
RolloutDataset: Any = pytest.importorskip("gv_engine.learning").RolloutDataset


@pytest.mark.parametrize("level", ["keydoor-5x5", "hand-over"])
def test_items_are_steps_with_what_came_after_them(level, tmp_path):
    scenario = Scenario.load({"extends": level, "max_steps": 7})
    env = made(scenario, 2)
    episodes = [*rollout(env, load_policies("random", scenario, 2, env.num_actions), 4, 0, True)]
    folder = episode_folder.EpisodeFolder(tmp_path / "out", env, {}, compress=True)
    for episode in episodes:
        folder.append(episode)
    folder.close(complete=True)
    steps, arrays = RolloutDataset(tmp_path / "out"), episode_folder.read(tmp_path / "out")[0]
    assert (len(steps), steps.about["episodes"]) == (28, 4)
    whole = steps[:]
    for name in ("grid", "item", "action", "reward", "terminated", "truncated", "reward_terms"):
        assert np.array_equal(whole[name], arrays[name])
    for k, start in enumerate(arrays["episode_start"]):
        for name in ("grid", "item"):
            shown = np.concatenate(
                [arrays[name][start + 1 : start + 7], arrays[f"last_{name}"][[k]]]
            )
            assert np.array_equal(whole[f"next_{name}"][start : start + 7], shown)
    assert not whole.keys() & {"action_mask", "episode_seed", "next_episode_seed"}
    loader = torch.utils.data.DataLoader(steps, batch_size=10)
    batches = [batch["next_grid"] for batch in loader]
    assert torch.equal(torch.cat(batches), whole["next_grid"])
    assert torch.equal(steps[[27, 0]]["grid"], whole["grid"][[27, 0]])
    assert torch.equal(steps[-1]["next_item"], whole["next_item"][27])
    with pytest.raises(IndexError):
        steps[28]
