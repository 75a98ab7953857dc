"""Workloads of the engine beside stepping: other observations, mixtures, planning and rollouts.

Each function returns a workload as those in `benchmarks.workloads` do.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.workloads import Workload, vector

_WORLDS = 4096
_FOR_EVER = 1 << 40
"""Number of episodes that is never reached."""
_STEPS_ON_DISK = 10_000_000
"""Steps after which a folder of episodes is deleted."""


def shown(representation: str | dict[str, Any]) -> Workload:
    """Return the key-door level with another observation representation."""
    import gv_engine

    env = gv_engine.GridVectorEnv(
        "keydoor-9x9",
        _WORLDS,
        world="compiled",
        copy=False,
        observation_representation=representation,
    )
    return vector(f"key-door 9x9, {representation}", env)


def made(copy: bool) -> Workload:
    """Return the key-door level as `gymnasium.make_vec` makes it, for a caller that still has the
    results of the last step; with `copy`, the default, they never change."""
    import gymnasium

    import gv_engine  # noqa: F401  # registers its environments

    env: Any = gymnasium.make_vec("GV-Keydoor-9x9-v0", 256, world="compiled", copy=copy)
    workload, step = vector("key-door 9x9", env), env.step
    results: list[Any] = []

    def step_and_keep(actions: Any) -> None:
        results[:] = [step(actions)]

    env.step = step_and_keep
    return workload


def endless() -> Workload:
    """Return dynamic obstacles without resets: episodes that are over continue."""
    import gv_engine

    level = "dynamic-obstacles-7x7"
    env = gv_engine.GridVectorEnv(
        level, _WORLDS, world="compiled", copy=False, autoreset_mode="Disabled"
    )
    return vector("dynamic obstacles, no resets", env)


def transitions() -> Workload:
    """Return dynamic obstacles where calls that start an episode do not count as a step."""
    import numpy as np

    import gv_engine

    env = gv_engine.GridVectorEnv(
        "dynamic-obstacles-7x7", _WORLDS, world="compiled", copy=False, autoreset_mode="NextStep"
    )
    workload, out = vector("dynamic obstacles, transitions", env), env.batch.outputs
    counted = wanted = 0

    def step(times: int) -> None:
        nonlocal counted, wanted
        wanted += times * _WORLDS
        while counted < wanted:
            counted += _WORLDS - int(np.count_nonzero(out.terminated | out.truncated))
            workload.step(1)

    return workload._replace(step=step)


def seeded() -> Workload:
    """Return the key-door level with a seeded reset of every world."""
    import gv_engine

    env = gv_engine.GridVectorEnv("keydoor-9x9", _WORLDS, world="compiled", copy=False)
    seeds = itertools.count(step=_WORLDS)
    workload = vector("key-door 9x9", env)

    def reset(times: int) -> None:
        for seed in itertools.islice(seeds, times):
            env.reset(seed=seed)

    return workload._replace(reset=reset)


def rollouts(worlds: int = 1024, to_disk: bool = False, compress: bool = False) -> Workload:
    """Return rollouts of the key-door level with a random policy; steps are steps of the
    environment. With `to_disk`, they are written into a folder, a new one every few gigabytes, with
    `compress` into gzip files."""
    import gv_engine
    from gv_engine.envs.rollout.policy import load_policy
    from gv_engine.envs.rollout.rollout import rollout

    env = gv_engine.GridVectorEnv(
        "keydoor-9x9", worlds, world="compiled", copy=False, autoreset_mode="Disabled"
    )
    policy = load_policy("random", worlds, env.num_actions, compiled=True)
    done = wanted = 0
    episodes = rollout(env, policy, _FOR_EVER, 0, to_disk)
    append: Callable[[Any], None] = (
        _EndlessFolder(env, compress).append if to_disk else lambda episode: None
    )

    def step(times: int) -> None:
        nonlocal done, wanted
        wanted += times * worlds
        while done < wanted:  # episodes arrive some steps after their end; totals agree
            episode = next(episodes)
            append(episode)
            done += episode.length

    return Workload("key-door 9x9", worlds, step, step)


class _EndlessFolder:
    """Folder of episodes that is replaced by an empty one when it is large.

    Args:
        env: environment of the episodes.
        compress: whether to write compressed files.
    """

    def __init__(self, env: Any, compress: bool) -> None:
        """Make the first folder."""
        self._env, self._compress = env, compress
        self._replace_folder()

    def _replace_folder(self) -> None:
        """Make a new folder, in a temporary one that is deleted with the old one."""
        from gv_engine.envs.rollout.episode_folder import EpisodeFolder

        self._parent = tempfile.TemporaryDirectory()
        path = Path(self._parent.name, "rollout")
        self._folder = EpisodeFolder(path, self._env, {}, compress=self._compress)

    def append(self, episode: Any) -> None:
        """Write an episode."""
        self._folder.append(episode)
        if self._folder.steps > _STEPS_ON_DISK:
            self._folder.close(complete=True)
            self._parent.cleanup()
            self._replace_folder()


def expanded(states: int = 1024) -> Workload:
    """Return the expansion of key-door states by all actions; each action is a step."""
    env = _make_stepped_env(states)
    rows = env.snapshot()

    def step(times: int) -> None:
        for _ in range(times):
            env.expand(rows, trusted=True)

    return Workload("key-door 9x9", states * env.num_actions, step, step)


def restored() -> Workload:
    """Return the restoring of one world among many."""
    env = _make_stepped_env(_WORLDS)
    row = env.snapshot([7])

    def step(times: int) -> None:
        for _ in range(times):
            env.restore(row, [7], trusted=True)

    return Workload("key-door 9x9", 1, step, step)


def searched() -> Workload:
    """Return the search of `examples/shortest_way.py`; a solution is a step."""
    from examples.shortest_way import shortest_way

    env = _make_stepped_env(1)
    start = env.snapshot(0)

    def step(times: int) -> None:
        for _ in range(times):
            shortest_way(env, start)

    return Workload("key-door 9x9", 1, step, step)


def compiled(stride: int) -> Workload:
    """Return a workload that compiles every `stride`-th built-in grid, as `gv-engine compile
    --all` does; a compiled grid counts as one step."""
    from gv_engine.compiler import batch_program
    from gv_engine.envs.backends.backend import make_batch
    from gv_engine.scenario.domains import DOMAINS
    from gv_engine.scenario.scenario import Scenario

    scenarios = [*map(Scenario.load, [*DOMAINS["grid"].built_in()][::stride])]

    def step(times: int) -> None:
        for _ in range(times):
            for scenario in scenarios:
                batch_program._PROGRAMS.clear()
                make_batch(scenario, 1, "compiled")

    return Workload(f"one in {stride} grids", len(scenarios), step, step)


def ppo_training() -> Workload:
    """Return a workload that trains by PPO with default settings in the key-door level; its speed
    is in steps of the environment."""
    from gv_engine.plugins.learning.config import Config
    from gv_engine.plugins.learning.ppo import Learner, make_training_env
    from gv_engine.plugins.learning.torch_library import torch

    torch.set_num_threads(1)
    config = Config()
    learner = Learner(make_training_env("keydoor-9x9", config), config)

    def step(times: int) -> None:
        for _ in range(times):
            learner.update()

    return Workload("key-door 9x9", config.num_envs * config.num_steps, step, step)


def _make_stepped_env(worlds: int) -> Any:
    """Return a vector environment of key-door worlds after some steps."""
    import gv_engine

    env = gv_engine.GridVectorEnv("keydoor-9x9", worlds, world="compiled", copy=False)
    vector("key-door 9x9", env).step(50)
    return env
