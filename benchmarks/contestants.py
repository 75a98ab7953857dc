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
def _actions(worlds: int, number: int = 8) -> Any:
    """(64, worlds) int64: any of so many actions."""
    import numpy as np

    return np.random.default_rng(0).integers(0, number, (64, worlds))


# ---- the engine ------------------------------------------------------------------------------


def keydoor(size: int, view: str, across: int = 7) -> str | dict[str, Any]:
    """The key-door level, maybe with another size, visibility or square view than it has."""
    if (size, view, across) == (9, "partially_occluded", 7):
        return "keydoor-9x9"
    scenario = _sized("keydoor", size)
    area = [[1 - across, 0], [-(across // 2), across // 2]]
    scenario["observation_function"] |= {"name": view, "area": area}
    return scenario


def obstacles(size: int) -> dict[str, Any]:
    """Four obstacles that move, in a room of any size; only the exit ends an episode."""
    scenario = _sized("dynamic-obstacles", size)
    scenario["reset_function"]["num_obstacles"] = 4
    scenario["terminating_function"] = {"name": "reach_exit"}
    return scenario


def ways(size: int) -> dict[str, Any]:
    """An empty room with a reward for shorter ways to the exit."""
    scenario = _sized("empty", size)
    way = {"name": "getting_closer_shortest_path", "object_type": "Exit"}
    scenario["reward_functions"] = [{"name": "reach_exit"}, way]
    return scenario


def _sized(name: str, size: int) -> dict[str, Any]:
    """A built-in level with another size."""
    import yaml

    text = (ROOT / "scenarios" / f"{name}.yaml").read_text("utf-8")
    scenario: dict[str, Any] = yaml.safe_load(text)
    scenario["reset_function"]["shape"] = [size, size]
    return scenario


_LEVELS = {"obstacles": obstacles, "ways": ways}


def gv_vector(
    worlds: int = 4096,
    size: int = 9,
    view: str = "partially_occluded",
    across: int = 7,
    threads: int = 1,
    scenario: str = "",
    mode: str = "NextStep",
) -> Contestant:
    """The vector environment, of the key-door level, another one of any size, or a scenario."""
    import gv_engine

    options: dict[str, Any] = {"num_threads": threads, "autoreset_mode": mode}
    of_any_size = _LEVELS.get(scenario)
    level = of_any_size(size) if of_any_size else scenario or keydoor(size, view, across)
    env = gv_engine.GridVectorEnv(level, worlds, world="compiled", copy=False, **options)
    return vector(scenario or f"key-door {size}x{size}", env)


def vector(task: str, env: Any, limit: int = 500) -> Contestant:
    """A vector environment of ours, whose episodes are at all of so many steps."""
    import numpy as np

    worlds = env.num_envs
    env.reset(seed=0)
    actions = itertools.cycle(_actions(worlds, env.num_actions))
    # not all at the same one, so that every round has its share of resets
    env._batch.rows["steps"] = np.arange(len(env._batch)) % limit

    def step(times: int) -> None:
        for row in itertools.islice(actions, times):
            env.step(row)

    def reset(times: int) -> None:
        for _ in range(times):
            env.reset()

    return Contestant(task, worlds, step, reset)


def gv_minigrid(level: str, worlds: int = 1024) -> Contestant:
    """A level of MiniGrid as MiniGrid shows it, many at once."""
    import gymnasium

    import gv_engine  # noqa: F401  # registers its environments

    env: Any = gymnasium.make_vec(f"GV-MiniGrid-{level}", worlds, world="compiled", copy=False)
    return vector(_told(level), env, env.scenario.max_steps)


def gv_single(world: str = "compiled") -> Contestant:
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


def minigrid(level: str = "DoorKey-8x8-v0") -> Contestant:
    """MiniGrid through `gymnasium.make`; its vector environments are slower."""
    import gymnasium
    import minigrid  # noqa: F401  # registers its environments

    return _single(_told(level), gymnasium.make(f"MiniGrid-{level}"))


def _told(level: str) -> str:
    """What tables call a level of MiniGrid."""
    return level.removesuffix("-v0").replace("-", " ")


def gym_gridverse() -> Contestant:
    """gym-gridverse: the rules that ours are equal to, over Python objects.

    Its outer environment, as its Gym wrapper asks for a Gym that installs no more.
    """
    import gym_gridverse as package
    from gym_gridverse.envs.yaml.factory import factory_env_from_yaml
    from gym_gridverse.outer_env import OuterEnv
    from gym_gridverse.representations.observation_representations import (
        make_observation_representation,
    )

    levels = Path(package.__file__).parent / "registered_envs"
    inner = factory_env_from_yaml(str(levels / "gv_keydoor.9x9.yaml"))
    shown = make_observation_representation("default", inner.observation_space)
    env = OuterEnv(inner, observation_representation=shown)
    numbers = _actions(1)[:, 0].tolist()
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

    return Contestant("key-door 9x9", 1, step, reset)


def griddly() -> Contestant:
    """Griddly's port of DoorKey, by the calls into C++ that its Gym wrapper makes."""
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

    return Contestant("DoorKey 8x8", 1, step, reset)


def envpool(worlds: int, level: str = "DoorKey-8x8-v0") -> Contestant:
    """EnvPool's MiniGrid in C++, one thread."""
    import envpool as pool
    import numpy as np

    env = pool.make(
        f"MiniGrid-{level}", env_type="gymnasium", num_envs=worlds, num_threads=1, seed=0
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

    return Contestant(_told(level), worlds, step, reset)


def pufferlib(worlds: int, across: int = 11) -> Contestant:
    """PufferLib's C grid: mazes from a store, a square view, no occlusion, no keys, no doors."""
    import os
    import sys
    import sysconfig

    sys.setdlopenflags(os.RTLD_LAZY)  # what it draws with is missing
    sys.path.insert(0, f"{sysconfig.get_path('platlib')}/grid{across}")
    import binding
    import numpy as np

    n, size = worlds, 9
    arrays = (  # observations, actions, rewards, terminals, truncations; it only keeps pointers
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

    return Contestant(f"maze 9x9, {across}x{across} view", n, step, reset)


def navix(worlds: int, view: str, level: str = "DoorKey-8x8-v0") -> Contestant:
    """NAVIX; its first-person views cost more than showing the whole grid."""
    return _jax(_told(level), worlds, *_navix(view, level))


@functools.cache
def _navix(view: str, level: str) -> tuple[Any, Any]:
    import navix as nx

    env = nx.make(f"Navix-{level}", observation_fn=getattr(nx.observations, view))
    return _compiled(env.reset, env.step)


def xland_minigrid(worlds: int) -> Contestant:
    """XLand-MiniGrid's DoorKey; its 7x7 view sees through walls."""
    return _jax("DoorKey 8x8", worlds, *_xland_minigrid())


@functools.cache
def _xland_minigrid() -> tuple[Any, Any]:
    import xminigrid
    from xminigrid.wrappers import GymAutoResetWrapper

    env, params = xminigrid.make("MiniGrid-DoorKey-8x8")
    restarting = GymAutoResetWrapper(env)
    return _compiled(
        functools.partial(restarting.reset, params), functools.partial(restarting.step, params)
    )


def _compiled(reset: Any, step: Any) -> tuple[Any, Any]:
    """`keys` → states, and `(states, actions, times)` → states, both over many worlds."""
    import jax

    def begin(key: Any) -> Any:  # weak types would ask for a second compilation
        return jax.tree.map(lambda a: jax.lax.convert_element_type(a, a.dtype), reset(key))

    def steps(states: Any, actions: Any, times: int) -> Any:
        def once(i: Any, states: Any) -> Any:
            return jax.vmap(step)(states, actions[i % len(actions)])

        return jax.lax.fori_loop(0, times, once, states)

    return jax.jit(jax.vmap(begin)), jax.jit(steps)


def _jax(task: str, worlds: int, begin: Any, go: Any) -> Contestant:
    import jax

    keys = jax.random.split(jax.random.PRNGKey(0), worlds)
    actions = jax.random.randint(jax.random.PRNGKey(1), (64, worlds), 0, 6)
    states = begin(keys)

    def step(times: int) -> None:
        nonlocal states
        states = jax.block_until_ready(go(states, actions, times))

    def reset(times: int) -> None:
        for _ in range(times):
            jax.block_until_ready(begin(keys))

    return Contestant(task, worlds, step, reset)
