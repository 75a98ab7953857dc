"""`python -m benchmarks.adapters`: speed of adapters with random actions, on one core.

Adapters take turns, round by round; a step counts once per world, by CPU time of the process.
`SB3VecEnv` is compared with an adapter as users would write it: with copied observations and a list
of dictionaries. Needs the extras sb3 and pufferlib.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import pufferlib.vector
from stable_baselines3.common.vec_env import VecEnv

from gv_engine import GridVectorEnv
from gv_engine.adapters.pufferlib import GridPufferEnv
from gv_engine.adapters.stable_baselines3 import SB3VecEnv

_SECONDS = 0.5
"""CPU time of one adapter in one round."""


class HandWrittenVecEnv(VecEnv):
    """Stable-Baselines3 adapter as a user would write it."""

    def __init__(self, level: str, num_envs: int) -> None:
        self._worlds = GridVectorEnv(
            level, num_envs, autoreset_mode="SameStep", episode_statistics=True
        )
        spaces = self._worlds.single_observation_space, self._worlds.single_action_space
        super().__init__(num_envs, *spaces)

    def reset(self) -> Any:
        """Reset all worlds."""
        return self._worlds.reset(seed=0)[0]

    def step_async(self, actions: Any) -> None:
        """Store the actions."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Step the worlds and build the list of infos."""
        observation, rewards, terminated, truncated, info = self._worlds.step(self._actions)
        done = terminated | truncated
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        for i in np.flatnonzero(done):
            infos[i]["terminal_observation"] = info["final_obs"][i]
            infos[i]["TimeLimit.truncated"] = bool(truncated[i] and not terminated[i])
            episode = {"r": float(info["episode"]["r"][i]), "l": int(info["episode"]["l"][i])}
            infos[i]["episode"] = episode
        return observation, rewards.astype(np.float32), done, infos

    def close(self) -> None:
        """Close the worlds."""
        self._worlds.close()

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return an attribute once per world."""
        return [getattr(self._worlds, attr_name)] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Set an attribute of the vector environment."""
        setattr(self._worlds, attr_name, value)

    def env_method(self, method_name: str, *given: Any, indices: Any = None, **named: Any) -> Any:
        """Return the result of a method once per world."""
        return [getattr(self._worlds, method_name)(*given, **named)] * self.num_envs

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Return False once per world."""
        return [False] * self.num_envs


def make_puffer_vector(level: str, num_envs: int) -> Any:
    """Return PufferLib's own vectorisation of one `GridPufferEnv`."""
    return pufferlib.vector.make(
        GridPufferEnv, env_args=[level, num_envs], backend=pufferlib.vector.Serial
    )


WORKLOADS: dict[str, Callable[[str, int], Any]] = {
    "GridPufferEnv": GridPufferEnv,
    "GridPufferEnv, pufferlib.vector": make_puffer_vector,
    "SB3VecEnv": SB3VecEnv,
    "by hand": HandWrittenVecEnv,
}


def measure_steps_per_second(envs: Any, actions: Any) -> float:
    """Return the steps of all worlds per second of CPU time."""
    start, steps = time.process_time(), 0
    while time.process_time() < start + _SECONDS:
        for row in actions:
            envs.step(row)
        steps += actions.size
    return steps / (time.process_time() - start)


def main() -> None:
    """Measure all adapters and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adapters", description=__doc__)
    parser.add_argument("--levels", nargs="+", default=["keydoor-5x5", "keydoor-9x9"])
    parser.add_argument("--num-envs", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    print("level", "adapter", "M steps/s", "of by hand", sep="\t")
    for level in options.levels:
        envs_by_name = {name: make(level, options.num_envs) for name, make in WORKLOADS.items()}
        for envs in envs_by_name.values():
            envs.reset()
        actions = np.random.default_rng(0).integers(8, size=(100, options.num_envs))
        speeds_by_name: dict[str, list[float]] = {name: [] for name in envs_by_name}
        for _ in range(options.rounds):
            for name, envs in envs_by_name.items():
                speeds_by_name[name].append(measure_steps_per_second(envs, actions))
        for name, speeds in speeds_by_name.items():
            ratio = median(a / b for a, b in zip(speeds, speeds_by_name["by hand"], strict=True))
            print(level, name, f"{median(speeds) / 1e6:.2f}", f"{ratio:.2f}", sep="\t")


if __name__ == "__main__":
    main()
