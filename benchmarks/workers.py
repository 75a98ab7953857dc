"""The things that are measured, each run in a process of its own.

`python workers.py NAME SECONDS` prints one line of JSON. Workers only need what they measure, so
that peers run in environments of their own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

WORLDS = 4096


def single(make: Callable[[], Any], seconds: float) -> dict[str, float]:
    """Random steps of one Gymnasium environment, resets included."""
    import numpy as np

    env = make()
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, env.action_space.n, 1000).tolist()

    def thousand() -> int:
        for action in actions:
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()
        return len(actions)

    return measured(thousand, seconds)


def measured(work: Callable[[], int], seconds: float) -> dict[str, float]:
    """Steps per CPU second of repeated work, after one round to warm up."""
    work()
    steps, start = 0, time.process_time()
    while (spent := time.process_time() - start) < seconds:
        steps += work()
    return {"steps_per_cpu_second": steps / spent}


def minigrid(seconds: float) -> dict[str, float]:
    """MiniGrid-DoorKey-8x8-v0 through gymnasium.make."""
    import gymnasium
    import minigrid  # type: ignore[import-not-found]  # noqa: F401  # in its own environment

    return single(lambda: gymnasium.make("MiniGrid-DoorKey-8x8-v0"), seconds)


def gv_object(seconds: float) -> dict[str, float]:
    """GV-Keydoor-9x9-v0 through gymnasium.make, object world."""
    import gymnasium

    import gv_engine  # noqa: F401  # registers its environments

    return single(lambda: gymnasium.make("GV-Keydoor-9x9-v0", world="object"), seconds)


def gv_default(seconds: float) -> dict[str, float]:
    """GV-Keydoor-9x9-v0 through gymnasium.make, as it comes: one compiled row."""
    import gymnasium

    import gv_engine  # noqa: F401  # registers its environments

    return single(lambda: gymnasium.make("GV-Keydoor-9x9-v0"), seconds)


def gv_vector(seconds: float) -> dict[str, float]:
    """4,096 worlds of GV-Keydoor-9x9-v0 through gymnasium.make_vec, one core."""
    import gymnasium
    import numpy as np

    import gv_engine  # noqa: F401  # registers its environments

    env = gymnasium.make_vec("GV-Keydoor-9x9-v0", num_envs=WORLDS)
    env.reset(seed=0)
    actions = np.random.default_rng(0).integers(0, 8, (64, WORLDS))

    def round_of_actions() -> int:
        for row in actions:
            env.step(row)
        return actions.size

    return measured(round_of_actions, seconds)


WORKERS = {worker.__name__: worker for worker in (minigrid, gv_object, gv_default, gv_vector)}

if __name__ == "__main__":
    print(json.dumps(WORKERS[sys.argv[1]](float(sys.argv[2]))))
