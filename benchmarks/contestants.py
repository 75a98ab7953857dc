"""What is measured. Each is made in a process of its own that has what it imports, see `worker`.

A contestant steps with random actions and begins finished episodes anew, as a training loop would.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Contestant(NamedTuple):
    """Something that steps.

    Attributes:
        task: what is played.
        worlds: how many at once.
        step: takes so many steps in every world.
        reset: draws new levels in every world, so many times.
    """

    task: str
    worlds: int
    step: Callable[[int], None]
    reset: Callable[[int], None]


@functools.cache  # shared, so that memory is the contestants' own
def _actions(worlds: int) -> Any:
    """(64, worlds) int64 actions by chance."""
    import numpy as np

    return np.random.default_rng(0).integers(0, 8, (64, worlds))


# ---- the engine ------------------------------------------------------------------------------


def keydoor(size: int, view: str) -> str | dict[str, Any]:
    """The key-door level, maybe with another size or visibility than its scenario file says."""
    if size == 9 and view == "partially_occluded":
        return "keydoor-9x9"
    import yaml

    text = (ROOT / "scenarios" / "keydoor-9x9.yaml").read_text("utf-8")
    scenario: dict[str, Any] = yaml.safe_load(text)
    scenario["reset_function"]["shape"] = [size, size]
    scenario["observation_function"]["name"] = view
    return scenario


def gv_vector(
    worlds: int = 4096,
    size: int = 9,
    view: str = "partially_occluded",
    resets: bool = True,
    threads: int = 1,
) -> Contestant:
    """The vector environment; without `resets`, worlds go on after the end of their episode."""
    import numpy as np

    import gv_engine

    options: dict[str, Any] = {} if threads == 1 else {"num_threads": threads}
    if not resets:
        options |= {"autoreset_mode": "Disabled", "max_steps": 0}
    env = gv_engine.GridVectorEnv(keydoor(size, view), worlds, **options)
    env.reset(seed=0)
    actions = itertools.cycle(_actions(worlds))
    if resets:  # not all episodes at the same step, so that every round has its share of resets
        env._batch.rows["steps"] = np.arange(worlds) % 500  # type: ignore[union-attr]

    def step(times: int) -> None:
        for row in itertools.islice(actions, times):
            env.step(row)

    def reset(times: int) -> None:
        for _ in range(times):
            env.reset()

    return Contestant(f"key-door {size}x{size}", worlds, step, reset)


def gv_single(world: str = "auto") -> Contestant:
    """One environment through `gymnasium.make`."""
    import gymnasium

    import gv_engine  # noqa: F401  # registers its environments

    return _single("key-door 9x9", gymnasium.make("GV-Keydoor-9x9-v0", world=world))


def floor(worlds: int = 4096) -> Contestant:
    """The hand-fused kernel."""
    import numpy as np

    from benchmarks import floor as kernel

    state = kernel.make(worlds)
    kernel.reset(*state)
    state[0]["steps"] = np.arange(worlds) % kernel.MAX_STEPS
    actions = itertools.cycle(_actions(worlds))

    def step(times: int) -> None:
        for row in itertools.islice(actions, times):
            kernel.step(row, *state)

    def reset(times: int) -> None:
        for _ in range(times):
            kernel.reset(*state)

    return Contestant("key-door 9x9", worlds, step, reset)


# ---- the peers -------------------------------------------------------------------------------


def _single(task: str, env: Any) -> Contestant:
    """A Gymnasium environment."""
    import numpy as np

    env.reset(seed=0)
    rng = np.random.default_rng(0)
    actions = itertools.cycle(rng.integers(0, env.action_space.n, 1000).tolist())

    def step(times: int) -> None:
        for action in itertools.islice(actions, times):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    def reset(times: int) -> None:
        for _ in range(times):
            env.reset()

    return Contestant(task, 1, step, reset)


def minigrid() -> Contestant:
    """MiniGrid's key-door level."""
    import gymnasium
    import minigrid  # type: ignore[import-not-found]  # noqa: F401  # registers its environments

    return _single("DoorKey 8x8", gymnasium.make("MiniGrid-DoorKey-8x8-v0"))
