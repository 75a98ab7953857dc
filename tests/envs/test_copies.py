"""Results of environments stay as they were: what was handed out at one step outlives the next."""

from __future__ import annotations

import copy
import weakref
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import gv_engine
from gv_engine.envs import step_results
from gv_engine.envs.observations import REPRESENTATION_NAMES
from gv_engine.envs.representations import Representation
from gv_engine.gridverse import GridWorld
from gv_engine.plugins.gridverse.outer_env import OuterEnv
from tests.comparing import STEPS_ON, same

LEVEL, ASKED = "keydoor-5x5", "GV-MiniGrid-PutNear-6x6-N2-v0"
ALGEBRA = "GV-MathyPolySimplify-easy-v0"
TOGETHER = {"extends": LEVEL, "agents": {"number": 2, "done": "leave"}}
SHORT: dict[str, Any] = {"max_steps": 5}
KINDS = pytest.mark.parametrize(
    "kind", ["object", pytest.param("compiled", marks=pytest.mark.compiled)]
)


class KeptResults:
    """All results of an environment, each beside a copy from the moment of its return."""

    def __init__(self) -> None:
        self._results: list[tuple[Any, Any]] = []

    def keep(self, result: Any) -> Any:
        self._results.append((result, copy.deepcopy(result)))
        return result

    def assert_unchanged(self) -> None:
        assert len(self._results) > 10
        for number, (result, then) in enumerate(self._results):
            assert same(result, then), f"result {number} has changed"


def play_vector(envs: Any) -> None:
    """Step, reset by mask and restore a vector environment, and look at all results at the end."""
    kept, pilot = KeptResults(), np.random.default_rng(0)
    size = (envs.num_envs, *getattr(envs, "agent_shape", ()))
    kept.keep(envs.reset(seed=0))
    for _ in range(24):
        *_, terminated, truncated, _ = kept.keep(
            envs.step(pilot.integers(envs.num_actions, size=size))
        )
        over = (terminated | truncated).reshape(envs.num_worlds, -1).all(axis=1)
        if envs.autoreset_mode == AutoresetMode.DISABLED and over.any():
            kept.keep(envs.reset(options={"reset_mask": over}))
    if isinstance(rows := kept.keep(envs.snapshot(0)), np.ndarray):
        kept.keep(envs.restore(rows))
    if envs.render_mode:
        for _ in range(2):
            kept.keep(envs.render())
            envs.step(np.zeros(size, int))
    kept.assert_unchanged()


def play_one(env: Any) -> None:
    kept, pilot = KeptResults(), np.random.default_rng(0)
    kept.keep(env.reset(seed=0))
    for step in range(24):
        *_, terminated, truncated, _ = kept.keep(env.step(pilot.integers(env.action_space.n)))
        if terminated or truncated:
            kept.keep(env.reset())
        if step < 2:
            kept.keep(env.render())
    kept.assert_unchanged()


VECTORS: dict[str, Callable[..., Any]] = {
    "GridVectorEnv": partial(gv_engine.GridVectorEnv, LEVEL, 3, **SHORT),
    "make_vec": partial(gymnasium.make_vec, "GV-Scenario-v0", 3, scenario=LEVEL, **SHORT),
    "minigrid": partial(gymnasium.make_vec, ASKED, 3, **SHORT),
    "AgentsVectorEnv": partial(gv_engine.AgentsVectorEnv, TOGETHER, 3, **SHORT),
    "EachAgentVectorEnv": partial(gv_engine.EachAgentVectorEnv, TOGETHER, 3, **SHORT),
}


@pytest.mark.sample("object", "GridVectorEnv")
@pytest.mark.sample("SAME_STEP", "GridVectorEnv")
@KINDS
@STEPS_ON
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("name", VECTORS)
def test_many_worlds(name: str, mode: AutoresetMode, kind: str):
    options: dict[str, Any] = {"autoreset_mode": mode, "reward_dtype": "float32"}
    options["episode_statistics"] = True
    play_vector(VECTORS[name](world=kind, **options, render_mode="rgb_array"))
    with pytest.raises(AssertionError, match="has changed"):
        play_vector(VECTORS[name](world=kind, **options, copy=False))


@pytest.mark.compiled
@pytest.mark.parametrize("form", ["default", "cells", "flat"])
def test_results_that_callers_drop_are_reused(form: str):
    """Callers keep whole results, views of them, or nothing, and write into what they drop."""
    options: Any = {**SHORT, "world": "compiled", "observation_representation": form}
    envs, twin = (
        gv_engine.GridVectorEnv(LEVEL, 3, copy=copied, **options) for copied in (True, False)
    )
    pilot, kept = np.random.default_rng(0), KeptResults()
    envs.reset(seed=0), twin.reset(seed=0)
    for step in range(400):
        if pilot.random() < 0.1:
            mask = {"reset_mask": pilot.random(3) < 0.5}
            assert same(envs.reset(options=mask), twin.reset(options=mask))
        actions = pilot.integers(envs.num_actions, size=3)
        result = envs.step(actions)
        assert same(result, twin.step(actions)), step
        observation, _, terminated, _, info = result
        array = observation if form == "flat" else observation["agent_id_grid"]
        match pilot.integers(7):
            case 0:
                kept.keep(result)
            case 1:
                kept.keep((array[1:], terminated[:2], info["reward_terms"]["reach_exit"][::2]))
            case 2:
                kept.keep((np.asarray(memoryview(array)), info["action_mask"].T))
            case _:
                array[...] = 9
                terminated[...] = True
        if step % 40 == 39:
            kept.assert_unchanged()
            kept = KeptResults()  # the callers drop what they have kept so far
    del result, observation, terminated, info, array
    for _ in range(80):  # each lets go of one of the results that are no longer needed
        envs.step(actions)
    dropped = [weakref.ref(envs.step(actions)[1]) for _ in range(6)]
    assert len({id(array()) for array in dropped}) == 2, "they are freed, or made anew"


def as_tensor(array: Any) -> Any:
    return pytest.importorskip("torch").from_numpy(array)


WAYS_TO_HOLD: dict[str, Callable[[Any], Any]] = {
    "itself": lambda array: array,
    "slice": lambda array: array[1:],
    "worlds one by one": lambda array: [*array],
    "transposed": lambda array: array.T,
    "view": lambda array: array.view(),
    "asarray": lambda array: np.asarray(array),
    "memoryview": memoryview,
    "array over a memoryview": lambda array: np.asarray(memoryview(array)),
    "dlpack": lambda array: np.from_dlpack(array),
    "tensor": as_tensor,
    "part of a tensor": lambda array: as_tensor(array)[1:],
    "function": lambda array: lambda: array,
}


@pytest.mark.compiled
@pytest.mark.parametrize("way", WAYS_TO_HOLD)
def test_arrays_never_change_in_whatever_way_a_caller_holds_them(
    way: str, monkeypatch: pytest.MonkeyPatch
):
    """The caller holds one array of each of the latest results, and nothing else of them."""
    monkeypatch.setattr(step_results, "_MAX_POOL_BYTES", 10_000)  # 10 results
    envs = gv_engine.GridVectorEnv(LEVEL, 3, world="compiled", **SHORT)
    envs.reset(seed=0)
    pilot, hold = np.random.default_rng(0), WAYS_TO_HOLD[way]

    def read(held: Any) -> Any:
        return np.array(held() if callable(held) else held.numpy() if "tensor" in way else held)

    for number in (1, 4, 30, 2):
        kept = deque[Any](maxlen=number)
        for _ in range(4 * number + 40):
            result = envs.step(pilot.integers(8, size=3))
            observation, reward, terminated, _, info = result
            terms = info["reward_terms"]["reach_exit"]
            arrays = [*observation.values(), reward, terminated, info["action_mask"], terms]
            held = hold(arrays[pilot.integers(len(arrays))])
            kept.append((held, read(held)))
            del result, observation, reward, terminated, info, terms, arrays, held
            assert all(np.array_equal(read(held), then) for held, then in kept)


@pytest.mark.sample("keydoor-5x5", "minigrid", "default")
@pytest.mark.parametrize("level", [LEVEL, ASKED.removeprefix("GV-")])
@pytest.mark.parametrize("form", REPRESENTATION_NAMES)
def test_all_representations(form: str, level: str):
    options: Any = {**SHORT, "world": "object", "observation_representation": form}
    play_vector(
        gv_engine.GridVectorEnv(level, 3, autoreset_mode="SameStep", flat_info=True, **options)
    )
    play_one(gv_engine.GridEnv(level, render_mode="ansi", **options))


@pytest.mark.parametrize("representation", ["dict", "graph"])
def test_algebra(representation: str):
    shown: dict[str, Any] = {"observation_representation": representation}
    play_one(gymnasium.make(ALGEBRA, render_mode="rgb_array", **shown))
    for mode in ("NextStep", "SameStep"):
        options = {**shown, "autoreset_mode": mode, "max_steps": 5}
        envs = gymnasium.make_vec(ALGEBRA, 2, episode_statistics=True, **options)
        play_vector(envs)
        envs.close()
        envs = gymnasium.make_vec(ALGEBRA, 2, copy=False, **options)
        with pytest.raises(AssertionError, match="has changed"):
            play_vector(envs)
        envs.close()


@pytest.mark.sample("object")
@KINDS
def test_one_world(kind: str):
    play_one(gymnasium.make("GV-Keydoor-5x5-v0", world=kind, render_mode="rgb_array", **SHORT))
    play_one(gymnasium.make(ASKED, world=kind, render_mode="rgb_array", **SHORT))


@pytest.mark.sample("object")
@KINDS
def test_agents_by_name(kind: str):
    pytest.importorskip("pettingzoo")
    kept, pilot = KeptResults(), np.random.default_rng(0)
    env = gv_engine.parallel_env(TOGETHER, world=kind, render_mode="rgb_array", **SHORT)
    for seed in range(4):
        kept.keep(env.reset(seed=seed))
        while env.agents:
            kept.keep(env.step({name: int(pilot.integers(8)) for name in kept.keep(env.agents)}))
    kept.keep(env.render())
    kept.assert_unchanged()


def test_arrays_of_gridverse():
    scenario = gv_engine.Scenario.load(LEVEL)
    env = OuterEnv(
        GridWorld.from_scenario(scenario),
        Representation.of_state(scenario, scenario.largest_shape),
        Representation.of_observation(scenario),
    )
    kept, pilot = KeptResults(), np.random.default_rng(0)
    env.set_seed(0)
    env.reset()
    for _ in range(20):
        kept.keep((env.state, env.observation))
        env.step(env.action_space.actions[pilot.integers(8)])
    kept.assert_unchanged()
