"""Workloads: environments that are measured, each created in its own process, see `worker`.

A workload takes random actions and resets finished episodes, as a training loop would.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent


class Workload(NamedTuple):
    """Environment to measure.

    Attributes:
        task: description of the level.
        worlds: number of worlds.
        step: takes this number of steps in every world.
        reset: resets every world this number of times.
    """

    task: str
    worlds: int
    step: Callable[[int], None]
    reset: Callable[[int], None]


@functools.cache  # shared, so that it does not count as a workload's memory
def _sample_actions(worlds: int, number: int = 8) -> Any:
    import numpy as np

    return np.random.default_rng(0).integers(0, number, (64, worlds))


# ---- the engine ------------------------------------------------------------------------------


def make_keydoor(size: int, view: str, across: int = 7) -> str | dict[str, Any]:
    """Return the key-door level with a size, visibility rule and square view."""
    if (size, view, across) == (9, "partially_occluded", 7):
        return "keydoor-9x9"
    scenario = _load_sized("keydoor", size)
    area = [[1 - across, 0], [-(across // 2), across // 2]]
    scenario["observation_function"] |= {"name": view, "area": area}
    return scenario


def make_obstacles(size: int) -> dict[str, Any]:
    """Return a room of any size with four moving obstacles; only the exit ends an episode."""
    scenario = _load_sized("dynamic-obstacles", size)
    scenario["reset_function"]["num_obstacles"] = 4
    scenario["terminating_function"] = {"name": "reach_exit"}
    return scenario


def make_shortest_ways(size: int) -> dict[str, Any]:
    """Return an empty room with a reward for shorter paths to the exit."""
    scenario = _load_sized("empty", size)
    path_reward = {"name": "getting_closer_shortest_path", "object_type": "Exit"}
    scenario["reward_functions"] = [{"name": "reach_exit"}, path_reward]
    return scenario


def _load_sized(name: str, size: int) -> dict[str, Any]:
    """Return a built-in scenario with another size."""
    import yaml

    text = (ROOT / "scenarios" / f"{name}.yaml").read_text("utf-8")
    scenario: dict[str, Any] = yaml.safe_load(text)
    scenario["reset_function"]["shape"] = [size, size]
    return scenario


_LEVELS = {"obstacles": make_obstacles, "ways": make_shortest_ways}


def gv_vector(
    worlds: int = 4096,
    size: int = 9,
    view: str = "partially_occluded",
    across: int = 7,
    threads: int = 1,
    scenario: str = "",
    mode: str = "NextStep",
) -> Workload:
    """Return the engine's vector environment of the key-door level, another sized level, or a
    scenario."""
    import gv_engine

    options: dict[str, Any] = {"num_threads": threads, "autoreset_mode": mode}
    make_level = _LEVELS.get(scenario)
    level = make_level(size) if make_level else scenario or make_keydoor(size, view, across)
    env = gv_engine.GridVectorEnv(level, worlds, world="compiled", copy=False, **options)
    return vector(scenario or f"key-door {size}x{size}", env)


def vector(task: str, env: Any, limit: int = 500) -> Workload:
    """Return a workload for one of the engine's vector environments, with episodes spread over
    all steps up to `limit`."""
    import numpy as np

    worlds = env.num_envs
    env.reset(seed=0)
    actions = itertools.cycle(_sample_actions(worlds, env.num_actions))
    # spread over all steps, so that every round has resets
    env._batch.rows["steps"] = np.arange(len(env._batch)) % limit

    def step(times: int) -> None:
        for row in itertools.islice(actions, times):
            env.step(row)

    def reset(times: int) -> None:
        for _ in range(times):
            env.reset()

    return Workload(task, worlds, step, reset)


def gv_minigrid(level: str, worlds: int = 1024) -> Workload:
    """Return the engine's vector environment of a MiniGrid level, with MiniGrid's observations."""
    import gymnasium

    import gv_engine  # noqa: F401  # registers its environments

    env: Any = gymnasium.make_vec(f"GV-{_minigrid_id(level)}", worlds, world="compiled", copy=False)
    return vector(_level_title(level), env, env.scenario.max_steps)


def gv_single(world: str = "compiled") -> Workload:
    """Return a single environment of the engine, created by `gymnasium.make`."""
    import gymnasium

    import gv_engine  # noqa: F401  # registers its environments

    return _make_single("key-door 9x9", gymnasium.make("GV-Keydoor-9x9-v0", world=world))


def floor(worlds: int = 4096) -> Workload:
    """Return the hand-fused kernel of `benchmarks.floor`."""
    import numpy as np

    from benchmarks import floor as kernel

    state = kernel.make(worlds)
    kernel.reset(*state)
    state[0]["steps"] = np.arange(worlds) % kernel.MAX_STEPS
    actions = itertools.cycle(_sample_actions(worlds))

    def step(times: int) -> None:
        for row in itertools.islice(actions, times):
            kernel.step(row, *state)

    def reset(times: int) -> None:
        for _ in range(times):
            kernel.reset(*state)

    return Workload("key-door 9x9", worlds, step, reset)


# ---- the peers -------------------------------------------------------------------------------


def _make_single(task: str, env: Any) -> Workload:
    """Return a workload for a Gymnasium environment."""
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

    return Workload(task, 1, step, reset)


def minigrid(level: str = "DoorKey-8x8-v0") -> Workload:
    """Return MiniGrid, created by `gymnasium.make`; its vector environments are slower."""
    import gymnasium
    import minigrid  # noqa: F401  # registers its environments

    return _make_single(_level_title(level), gymnasium.make(_minigrid_id(level)))


def _minigrid_id(level: str) -> str:
    return level if level.startswith("BabyAI-") else f"MiniGrid-{level}"


def _level_title(level: str) -> str:
    return level.removesuffix("-v0").replace("-", " ")


def gym_gridverse() -> Workload:
    """Return gym-gridverse, whose rules the engine reproduces, over Python objects.

    It uses the outer environment, because the Gym wrapper needs a Gym version that no longer
    installs.
    """
    import gym_gridverse as package
    from gym_gridverse.envs.yaml.factory import factory_env_from_yaml
    from gym_gridverse.outer_env import OuterEnv
    from gym_gridverse.representations.observation_representations import (
        make_observation_representation,
    )

    levels = Path(package.__file__).parent / "registered_envs"
    inner = factory_env_from_yaml(str(levels / "gv_keydoor.9x9.yaml"))
    representation = make_observation_representation("default", inner.observation_space)
    env = OuterEnv(inner, observation_representation=representation)
    numbers = _sample_actions(1)[:, 0].tolist()
    actions = itertools.cycle([env.action_space.int_to_action(number) for number in numbers])
    inner.set_seed(0)
    env.reset()
    age = 0

    def step(times: int) -> None:
        nonlocal age
        for action in itertools.islice(actions, times):
            _, over = env.step(action)
            _ = env.observation
            age += 1
            if over or age == 500:
                reset(1)
                age = 0

    def reset(times: int) -> None:
        for _ in range(times):
            env.reset()
            _ = env.observation

    return Workload("key-door 9x9", 1, step, reset)


def griddly() -> Workload:
    """Return Griddly's port of DoorKey, through the C++ calls that its Gym wrapper makes."""
    import numpy as np
    from griddly import GymWrapper, gd

    env = GymWrapper(
        "Single-Player/Mini-Grid/minigrid-drunkdwarf.yaml",
        level=2,  # 8x8, always the same
        max_steps=500,
        player_observer_type=gd.ObserverType.VECTOR,
    )
    env.reset()
    player = env._players[0]
    actions = itertools.cycle(
        np.random.default_rng(0).integers(0, 4, (1000, 1, 1)).astype(np.int32)
    )

    def step(times: int) -> None:
        for action in itertools.islice(actions, times):
            _, over, _ = player.step_multi(action, True)
            if over:
                env.game.reset()
            np.array(player.observe(), copy=False)

    def reset(times: int) -> None:
        for _ in range(times):
            env.game.reset()
            np.array(player.observe(), copy=False)

    return Workload("DoorKey 8x8", 1, step, reset)


def envpool(worlds: int, level: str = "DoorKey-8x8-v0") -> Workload:
    """Return EnvPool's MiniGrid in C++, with one thread."""
    import envpool as pool
    import numpy as np

    env = pool.make(
        _minigrid_id(level), env_type="gymnasium", num_envs=worlds, num_threads=1, seed=0
    )
    env.reset()
    number = env.action_space.n
    actions = itertools.cycle(np.random.default_rng(0).integers(0, number, (64, worlds)))

    def step(times: int) -> None:
        for row in itertools.islice(actions, times):
            env.step(row)

    def reset(times: int) -> None:
        for _ in range(times):
            env.reset()

    return Workload(_level_title(level), worlds, step, reset)


def pufferlib(worlds: int, across: int = 11) -> Workload:
    """Return PufferLib's C grid: mazes from a store, a square view, no occlusion, no keys, no
    doors."""
    import os
    import sys
    import sysconfig

    sys.setdlopenflags(os.RTLD_LAZY)  # its drawing library is missing
    sys.path.insert(0, f"{sysconfig.get_path('platlib')}/grid{across}")
    import binding
    import numpy as np

    n, size = worlds, 9
    arrays = (  # observations, actions, rewards, terminals, truncations; it keeps pointers to them
        np.zeros((n, across * across), np.uint8),
        np.zeros(n, np.float32),
        np.zeros(n, np.float32),
        np.zeros(n, np.bool_),
        np.zeros(n, np.bool_),
    )
    mazes = binding.shared(num_maps=1000, max_size=size, size=-1)
    envs = binding.vec_init(*arrays, n, 0, state=mazes, max_size=size, num_maps=1000)
    binding.vec_reset(envs, 0)
    actions = itertools.cycle(np.random.default_rng(0).integers(0, 5, (64, n)))

    def step(times: int) -> None:
        for row in itertools.islice(actions, times):
            arrays[1][:] = row
            binding.vec_step(envs)

    def reset(times: int) -> None:
        for _ in range(times):
            binding.vec_reset(envs, 0)

    return Workload(f"maze 9x9, {across}x{across} view", n, step, reset)


def navix(worlds: int, view: str, level: str = "DoorKey-8x8-v0") -> Workload:
    """Return NAVIX; its first-person views cost more than showing the whole grid."""
    return _make_jax(_level_title(level), worlds, *_compile_navix(view, level))


@functools.cache
def _compile_navix(view: str, level: str) -> tuple[Any, Any]:
    """Return NAVIX's reset and step functions, compiled for many worlds."""
    import navix as nx

    env = nx.make(f"Navix-{level}", observation_fn=getattr(nx.observations, view))
    return _compile_jax(env.reset, env.step)


def xland_minigrid(worlds: int) -> Workload:
    """Return XLand-MiniGrid's DoorKey; its 7x7 view sees through walls."""
    return _make_jax("DoorKey 8x8", worlds, *_compile_xland_minigrid())


@functools.cache
def _compile_xland_minigrid() -> tuple[Any, Any]:
    """Return XLand-MiniGrid's reset and step functions, compiled for many worlds."""
    import xminigrid
    from xminigrid.wrappers import GymAutoResetWrapper

    env, params = xminigrid.make("MiniGrid-DoorKey-8x8")
    restarting = GymAutoResetWrapper(env)
    return _compile_jax(
        functools.partial(restarting.reset, params), functools.partial(restarting.step, params)
    )


def _compile_jax(reset: Any, step: Any) -> tuple[Any, Any]:
    """Return compiled functions `keys` → states and `(states, actions, times)` → states over many
    worlds."""
    import jax

    def begin(key: Any) -> Any:  # weak types would need a second compilation
        return jax.tree.map(lambda a: jax.lax.convert_element_type(a, a.dtype), reset(key))

    def steps(states: Any, actions: Any, times: int) -> Any:
        def once(i: Any, states: Any) -> Any:
            return jax.vmap(step)(states, actions[i % len(actions)])

        return jax.lax.fori_loop(0, times, once, states)

    return jax.jit(jax.vmap(begin)), jax.jit(steps)


def _make_jax(task: str, worlds: int, reset_all: Any, step_all: Any) -> Workload:
    """Return a workload for compiled JAX functions."""
    import jax

    keys = jax.random.split(jax.random.PRNGKey(0), worlds)
    actions = jax.random.randint(jax.random.PRNGKey(1), (64, worlds), 0, 6)
    states = reset_all(keys)

    def step(times: int) -> None:
        nonlocal states
        states = jax.block_until_ready(step_all(states, actions, times))

    def reset(times: int) -> None:
        for _ in range(times):
            jax.block_until_ready(reset_all(keys))

    return Workload(task, worlds, step, reset)
