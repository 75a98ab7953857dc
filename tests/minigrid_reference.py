"""MiniGrid itself, recorded as it plays, and replayed at once; it must be installed.

    python -m tests.minigrid_reference [--world object|batch] [--seeds N] [--first SEED]
                                       [--steps N] [--only TEXT]

plays every id from so many seeds, with actions that open, take, drop and break what there is, for
so many steps each, through the ends of episodes; and prints what `tests.minigrid` finds.
"""

from __future__ import annotations

import argparse
import copy
import sys
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gv_engine.reading.library import minigrid_levels
from tests.minigrid import Different, replay

_BUSY = 0.15, 0.15, 0.4, 0.1, 0.06, 0.13, 0.01
"""How likely the policy takes each of the seven actions."""


def recorded(name: str, seeds: range, steps: int) -> dict[str, NDArray[Any]]:
    """The arrays of a recording: so many steps of the busy policy from each of the seeds."""
    import minigrid  # noqa: F401  # registers its ids

    env: Any = gymnasium.make(name, disable_env_checker=True)
    frames = [frame for seed in seeds for frame in _played(env, seed, steps)]
    starts = [i for i, frame in enumerate(frames) if frame["first"]]
    missions = sorted({frame["mission"] for frame in frames})
    arrays = {key: np.array([frame[key] for frame in frames]) for key in frames[0]}
    return arrays | {
        "id": np.array(name),
        "max_steps": np.array(env.unwrapped.max_steps),
        "seed": np.array(seeds),
        "start": np.array([*starts, len(frames)]),
        "missions": np.array(missions),
        "mission": np.array([missions.index(frame["mission"]) for frame in frames]),
    }


def _played(env: Any, seed: int, steps: int) -> Iterator[dict[str, Any]]:
    """The frames of a recording."""
    policy = np.random.default_rng((seed, 1))
    observation, _ = env.reset(seed=seed)
    yield _frame(env, observation, -1) | {"first": True}
    over = False
    for _ in range(steps):
        if over:
            observation, _ = env.reset()
            over = False
            yield _frame(env, observation, -1)
            continue
        action = int(policy.choice(len(_BUSY), p=_BUSY))
        observation, reward, terminated, truncated, _ = env.step(action)
        over = terminated or truncated
        yield _frame(env, observation, action, reward, terminated, truncated)


def _frame(
    env: Any,
    observation: dict[str, Any],
    action: int,
    reward: float = 0.0,
    terminated: bool = False,
    truncated: bool = False,
) -> dict[str, Any]:
    from minigrid.core.constants import COLOR_TO_IDX, OBJECT_TO_IDX

    def code(thing: Any) -> tuple[int, int]:
        return (0, 0) if thing is None else (OBJECT_TO_IDX[thing.type], COLOR_TO_IDX[thing.color])

    def inside(thing: Any) -> Any:
        return getattr(thing, "contains", None)

    inner = env.unwrapped
    grid = inner.grid.encode()
    content = np.zeros((*grid.shape[:2], 2), np.uint8)
    for x, y in zip(*np.nonzero(grid[..., 0] == OBJECT_TO_IDX["box"])):
        content[x, y] = code(inside(inner.grid.get(x, y)))
    held = inner.carrying
    return {
        "first": False,
        "action": action,
        "image": observation["image"],
        "direction": np.uint8(observation["direction"]),
        "mission": observation["mission"],
        "reward": float(reward),
        "terminated": terminated,
        "truncated": truncated,
        "grid": grid,
        "content": content,
        "agent": np.array([*inner.agent_pos, inner.agent_dir], np.uint8),
        "carried": np.array([*code(held), *code(inside(held))], np.uint8),
        "probe": np.uint32(copy.deepcopy(inner.np_random).integers(0, 2**32)),
    }


def main(arguments: list[str] | None = None) -> int:
    """Play beside the reference; 1 if anything is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.minigrid_reference")
    parser.add_argument("--world", choices=("object", "batch"), default="batch")
    parser.add_argument("--seeds", type=int, default=10, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--steps", type=int, default=100, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT", help="ids with this text in them")
    options = parser.parse_args(arguments)
    different = frames = 0
    for name in minigrid_levels():
        if options.only not in name:
            continue
        seeds = range(options.first, options.first + options.seeds)
        try:
            frames += replay(recorded(name, seeds, options.steps), options.world)
        except Different as difference:
            different += 1
            print(f"{name}: DIFFERENT: {difference}", flush=True)
    print(f"{options.world}: {frames} frames equal, {different} ids different")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
