"""The same training in MiniGrid's package and here, by Stable-Baselines3.

    python -m tests.minigrid_training [--only TEXT] [--steps N] [--seed S]

trains PPO with the settings of RL Baselines3 Zoo twice from one seed, on MiniGrid's ids and on
ours, and compares the weights of both policies and the statistics of their observations, bit for
bit. Then each policy plays 20 episodes of the same seeds, whose rewards are compared.
Stable-Baselines3 and MiniGrid come from their environment in `.venv-peers/`.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np

from benchmarks.results import sb3
from benchmarks.results.__main__ import find_row

IDS = (
    *("DoorKey-5x5-v0", "Empty-Random-5x5-v0", "FourRooms-v0", "GoToDoor-5x5-v0"),
    *("KeyCorridorS3R1-v0", "PutNear-6x6-N2-v0", "RedBlueDoors-6x6-v0", "Unlock-v0"),
)
_EPISODES = 20


def train(name: str, steps: int, seed: int) -> dict[str, Any]:
    """Train on the id called `name`. Return the results as arrays by name: weights, statistics of
    observations and returns, and the rewards of episodes that the policy plays."""
    model, env = sb3.make_model(name, find_row("zoo/DoorKey-5x5").config, seed)
    model.learn(steps)
    found = {key: each.numpy() for key, each in model.policy.state_dict().items()}
    found |= {"observation mean": env.obs_rms.mean, "observation variance": env.obs_rms.var}
    found |= {"last observation": env.get_original_obs(), "return variance": env.ret_rms.var}
    rewards = []
    alone = sb3.make_env(name)
    for number in range(_EPISODES):
        observation, is_over = alone.reset(seed=number)[0], False
        while not is_over:
            action, _ = model.predict(env.normalize_obs(observation))
            observation, reward, terminated, truncated, _ = alone.step(int(action))
            rewards.append(float(reward))
            is_over = terminated or truncated
    return found | {"rewards": np.array(rewards)}


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each id; return 1 if anything is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.minigrid_training")
    parser.add_argument("--only", default="", metavar="TEXT", help="ids with this text in them")
    parser.add_argument("--steps", type=int, default=2048, metavar="N", help="default 2048")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="default 0")
    options = parser.parse_args(arguments)
    sb3.make_importable()
    is_different = False
    for name in IDS:
        if options.only not in name:
            continue
        theirs, ours = (
            train(f"{prefix}MiniGrid-{name}", options.steps, options.seed) for prefix in ("", "GV-")
        )
        wrong = [key for key in theirs if not np.array_equal(theirs[key], ours[key])]
        is_different |= bool(wrong)
        size = sum(each.size for each in theirs.values())
        mean = theirs["rewards"].sum() / _EPISODES
        episodes = f"return {mean:.3f} in {_EPISODES} episodes, {len(theirs['rewards'])} steps"
        same = f"DIFFERENT in {', '.join(wrong)}" if wrong else f"all {size:,} numbers are equal"
        print(f"{name}: {options.steps} steps of training, {episodes}: {same}", flush=True)
    return int(is_different)


if __name__ == "__main__":
    sys.exit(main())
