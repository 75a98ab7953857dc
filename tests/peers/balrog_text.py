"""BALROG's wrapper of BabyAI on our environments, compared with the same wrapper on MiniGrid's.

Runs by `make peers` in a checkout of BALROG, with the MiniGrid that BALROG requires.
"""

import runpy
from typing import Any

import gymnasium
import minigrid
import numpy as np
import pytest

import gv_engine  # noqa: F401  # registers its ids

minigrid.register_minigrid_envs()
WRAPPER = runpy.run_path("balrog/environments/babyai_text/clean_lang_wrapper.py")
IDS = (
    *("BabyAI-GoToLocal-v0", "BabyAI-PickupLoc-v0", "BabyAI-OpenDoor-v0", "BabyAI-UnlockPickup-v0"),
    *("BabyAI-PutNextLocal-v0", "BabyAI-GoToSeqS5R2-v0", "BabyAI-Synth-v0", "BabyAI-BossLevel-v0"),
)
EPISODES, STEPS = 20, 100


def play(env: Any, seed: int) -> list[Any]:
    """Return what an episode of random words shows: observations, pictures, rewards and ends."""
    env = WRAPPER["BabyAITextCleanLangWrapper"](env, num_dists=0)
    rng, is_over = np.random.default_rng(seed), False
    observation, _ = env.reset(seed=seed)
    shown: list[Any] = [_as_plain(observation)]
    while not is_over and len(shown) <= STEPS:
        words = [*env.language_action_space, *["go forward"] * 3]
        observation, *outcome, _ = env.step(words[rng.integers(len(words))])
        shown.append((_as_plain(observation), *outcome, env.get_stats()))
        is_over = outcome[1] or outcome[2]
    return shown


def _as_plain(observation: dict[str, Any]) -> dict[str, Any]:
    picture = np.asarray(observation["image"])
    return {**observation, "image": (picture.shape, picture.tobytes())}


@pytest.mark.parametrize("name", IDS)
def test_the_wrapper_shows_the_same(name):
    ours = gymnasium.make(f"GV-{name}", world="object", descriptions=True)
    lengths = set()
    for seed in range(EPISODES):
        # a new one, because missions of MiniGrid 2.3.1 also depend on the episodes before
        theirs = gymnasium.make(name, disable_env_checker=True)
        expected, found = play(theirs, seed), play(ours, seed)
        assert found == expected, seed
        lengths.add(len(expected))
        assert "step" in expected[0]["text"]["long_term_context"]
    assert theirs.unwrapped.__module__.startswith("minigrid.")
