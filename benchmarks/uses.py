"""What users do with worlds beside stepping them: see other things, mix, plan, keep episodes.

Each is a contestant, as those of `benchmarks.contestants` are.
"""

from __future__ import annotations

import itertools
from typing import Any

from benchmarks.contestants import Contestant, vector

_WORLDS = 4096
_FOR_EVER = 1 << 40
"""Episodes that nobody will have played."""


def shown(representation: str | dict[str, Any]) -> Contestant:
    """Key-door under another representation."""
    import gv_engine

    env = gv_engine.GridVectorEnv(
        "keydoor-9x9",
        _WORLDS,
        world="compiled",
        copy=False,
        observation_representation=representation,
    )
    return vector(f"key-door 9x9, {representation}", env)


def endless() -> Contestant:
    """Dynamic obstacles where nothing begins anew: episodes that are over go on."""
    import gv_engine

    level = "dynamic-obstacles-7x7"
    env = gv_engine.GridVectorEnv(
        level, _WORLDS, world="compiled", copy=False, autoreset_mode="Disabled"
    )
    return vector("dynamic obstacles, no resets", env)


def seeded() -> Contestant:
    """Key-door, where every world begins with a level that its seed says."""
    import gv_engine

    env = gv_engine.GridVectorEnv("keydoor-9x9", _WORLDS, world="compiled", copy=False)
    seeds = itertools.count(step=_WORLDS)
    drawn = vector("key-door 9x9", env)

    def reset(times: int) -> None:
        for seed in itertools.islice(seeds, times):
            env.reset(seed=seed)

    return drawn._replace(reset=reset)


def rollouts(worlds: int = 1024) -> Contestant:
    """Episodes of key-door under a random policy, summed up; steps are those of the environment."""
    import gv_engine
    from gv_engine.rollout.policy import load_policy
    from gv_engine.rollout.rollout import rollout

    env = gv_engine.GridVectorEnv(
        "keydoor-9x9", worlds, world="compiled", copy=False, autoreset_mode="Disabled"
    )
    policy = load_policy("random", worlds, env.num_actions, compiled=True)
    take, taken, asked = env.step, 0, 0

    def counted(actions: Any) -> Any:
        nonlocal taken
        taken += 1
        return take(actions)

    env.step = counted  # type: ignore[method-assign, assignment]  # what a rollout calls
    episodes = rollout(env, policy, _FOR_EVER, seed=0)

    def step(times: int) -> None:
        nonlocal asked
        asked += times
        while taken < asked:  # an episode is told some steps behind its end: in all, they agree
            next(episodes)

    return Contestant("key-door 9x9", worlds, step, step)


def expanded(states: int = 1024) -> Contestant:
    """States of key-door that go on by all actions; each of those is a step."""
    env = _planning(states)
    rows = env.snapshot()

    def step(times: int) -> None:
        for _ in range(times):
            env.expand(rows, trusted=True)

    return Contestant("key-door 9x9", states * env.num_actions, step, step)


def restored() -> Contestant:
    """One world of many that becomes that of a row."""
    env = _planning(_WORLDS)
    row = env.snapshot([7])

    def step(times: int) -> None:
        for _ in range(times):
            env.restore(row, [7], trusted=True)

    return Contestant("key-door 9x9", 1, step, step)


def searched() -> Contestant:
    """The search of `examples/shortest_way.py`; a solution is a step."""
    from examples.shortest_way import shortest_way

    env = _planning(1)
    start = env.snapshot(0)

    def step(times: int) -> None:
        for _ in range(times):
            shortest_way(env, start)

    return Contestant("key-door 9x9", 1, step, step)


def _planning(worlds: int) -> Any:
    """Worlds of key-door that have lived for some steps."""
    import gv_engine

    env = gv_engine.GridVectorEnv("keydoor-9x9", worlds, world="compiled", copy=False)
    vector("key-door 9x9", env).step(50)
    return env
