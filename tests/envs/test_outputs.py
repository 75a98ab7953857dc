"""Results that are written into what a caller brings along."""

from __future__ import annotations

import array
import mmap
from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from gv_engine import GridVectorEnv
from gv_engine.envs.observations import REPRESENTATION_NAMES
from gv_engine.plugins.algebra.vector_env import ExpressionVectorEnv
from tests.comparing import same

LEVEL, N = "keydoor-5x5", 3
KINDS = pytest.mark.parametrize("kind", ["object", "compiled"])


class Tensor:
    """Memory that other libraries reach by DLPack alone, of before or after 1.0."""

    def __init__(self, memory, versioned):
        self.memory, self._versioned = memory, versioned

    def __dlpack__(self, **asked):
        return self.memory.__dlpack__(**(asked if self._versioned else {}))

    def __dlpack_device__(self):
        return self.memory.__dlpack_device__()


class OldTensor(Tensor):
    """One whose library has not heard of versions."""

    def __dlpack__(self, stream=None):  # type: ignore[override]  # as it was then
        return self.memory.__dlpack__()


def some(level=LEVEL, **options):
    return GridVectorEnv(level, N, max_steps=5, **options)


def places(envs):
    """Arrays for all that a step of the environment returns."""
    shown = envs.single_observation_space
    alone = "flat" if shown.shape and len(shown.shape) == 1 else "pixels"
    parts = {alone: shown} if shown.shape else dict(shown.items())
    parts.pop("agent_id_grid", None)
    return {
        **{name: np.full((N, *box.shape), 77, box.dtype) for name, box in parts.items()},
        "reward": np.full(N, 77, np.float64),
        "terminated": np.ones(N, np.bool_),
        "truncated": np.ones(N, np.bool_),
        "action_mask": np.full((N, envs.num_actions), 77, np.int8),
    }


@pytest.mark.sample("True-AutoresetMode.SAME_STEP", "default-False-AutoresetMode.SAME_STEP")
@pytest.mark.sample("object", "default", "pixels", "cells")
@KINDS
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("copy", [False, True])
@pytest.mark.parametrize("name", [name for name in REPRESENTATION_NAMES if name != "text"])
def test_what_is_written_is_what_is_returned_without(name, copy, mode, kind):
    options = {"world": kind, "observation_representation": name, "autoreset_mode": mode}
    plain, envs = some(**options, copy=True), some(**options, copy=copy)
    out = places(envs)
    assert same(plain.reset(seed=0), envs.reset(seed=0, out=out))
    assert (out["reward"] == 77).all()
    assert out["truncated"].all()
    pilot = np.random.default_rng(0)
    for _ in range(12):
        actions = pilot.integers(8, size=N)
        expected, found = plain.step(actions), envs.step(actions, out=out)
        assert same(expected, found)
        observation, reward, terminated, truncated, info = found
        alone = name if name == "flat" else "pixels"
        parts = dict(observation) if isinstance(observation, dict) else {alone: observation}
        parts |= {"reward": reward, "terminated": terminated, "truncated": truncated}
        parts["action_mask"] = info["action_mask"]
        assert all(parts[key] is place for key, place in out.items())
    then = {key: place.copy() for key, place in out.items()}
    terms, before = found[4]["reward_terms"]["living_reward"], expected[4]["reward_terms"]
    envs.step([0, 4, 5])
    assert not copy or same(terms, before["living_reward"])
    later = envs.step([0, 4, 5])[4]["reward_terms"]["living_reward"]
    assert copy != np.shares_memory(terms, later)
    envs.reset()
    assert same(then, out)


@KINDS
def test_some_results_alone(kind):
    plain, envs = some(world=kind), some(world=kind)
    grid = np.zeros((N, 7, 7, 3), np.uint8)
    assert same(plain.reset(seed=0), envs.reset(seed=0, out={"grid": grid}))
    assert same(plain.step([0, 1, 2]), envs.step([0, 1, 2], {"grid": grid}))
    assert envs.step([0, 1, 2], {})[0]["grid"] is not grid


@pytest.mark.parametrize(
    "memory",
    [
        lambda size: bytearray(size),
        lambda size: memoryview(bytearray(size)),
        lambda size: array.array("B", bytes(size)),
        lambda size: mmap.mmap(-1, size),
        lambda size: np.zeros(size, np.uint8).data,
    ],
    ids=["bytearray", "memoryview", "array", "mmap", "data"],
)
def test_buffers_of_bytes_stand_for_arrays_of_their_size(memory):
    envs = some(world="object", reward_dtype="float32")
    given = {"grid": memory(N * 7 * 7 * 3), "reward": memory(N * 4), "truncated": memory(N)}
    envs.reset(seed=0, out=given)
    observation, reward, _, truncated, _ = envs.step([1, 1, 1], given)
    shown = {"grid": observation["grid"], "reward": reward, "truncated": truncated}
    for name, found in shown.items():
        assert found.tobytes() == bytes(given[name])
    assert reward.dtype == np.float32
    assert reward.all()


def test_buffers_with_a_shape():
    envs = some(world="object")
    rewards = array.array("d", [0.0] * N)
    grid = memoryview(bytearray(N * 147)).cast("B", (N, 7, 7, 3))
    envs.reset(seed=0)
    expected = envs.step([1, 1, 1], {"reward": rewards, "grid": grid})
    assert rewards.tolist() == expected[1].tolist()
    assert (np.asarray(grid) == expected[0]["grid"]).all()


@pytest.mark.parametrize(
    "tensor", [lambda m: Tensor(m, True), lambda m: Tensor(m, False), lambda m: OldTensor(m, False)]
)
def test_tensors(tensor):
    envs, plain = (some(world="object", observation_representation="pixels") for _ in range(2))
    memory = places(envs)
    given = {name: tensor(place) for name, place in memory.items()}
    plain.reset(seed=0)
    envs.reset(seed=0, out=given)
    expected = plain.step([0, 1, 2])
    assert same(expected, envs.step([0, 1, 2], given))
    assert (memory["pixels"] == expected[0]).all()
    assert (memory["reward"] == expected[1]).all()


def read_only(thing):
    thing.flags.writeable = False
    return thing


class Elsewhere(Tensor):
    """Memory of another device."""

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **asked):
        raise BufferError("this is on device 2")


GRID = (N, 7, 7, 3)
ODD_SHAPE = r"shape \(3, 3, 7, 7\) and dtype uint8: expected \(3, 7, 7, 3\) uint8"
TWICE = dict.fromkeys(["terminated", "truncated"], np.zeros(N, np.bool_))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        ({"gird": np.zeros(GRID, np.uint8)}, "'gird'.* did you mean 'grid'"),
        ({"pixels": np.zeros(N)}, r"no output \(allowed: grid, item, action_mask, reward"),
        ({"grid": np.zeros((N, 3, 7, 7), np.uint8)}, ODD_SHAPE),
        ({"grid": np.zeros(N * 147, np.uint8)}, r"\(441,\) and dtype uint8: expected"),
        ({"grid": bytearray(440)}, r"shape \(440,\)"),
        ({"reward": np.zeros(N, np.float32)}, r"float32: expected \(3,\) float64"),
        ({"reward": np.zeros((N, 2))[:, 0]}, r"not contiguous, strides \(16,\)"),
        ({"reward": read_only(np.zeros(N))}, "read-only: expected memory that can be"),
        ({"reward": bytes(8 * N)}, "read-only"),
        ({"reward": Tensor(read_only(np.zeros(N)), True)}, "reward"),
        ({"reward": Elsewhere(np.zeros(N), True)}, "not memory that this process can"),
        ({"reward": [0.0] * N}, "is a list: expected a NumPy array, a buffer"),
        (np.zeros(N), "out is a ndarray: expected a mapping"),
        (TWICE, r"out\['terminated'\] and out\['truncated'\] share memory"),
    ],
)
def test_what_nothing_can_be_written_into(out, message):
    envs = some(world="object")
    envs.reset(seed=0)
    before = envs.snapshot()
    error = TypeError if "expected a " in message else ValueError
    for call in (lambda: envs.step([0, 1, 2], out), lambda: envs.reset(out=out)):
        with pytest.raises(error, match=message):
            call()
    assert same(before, envs.snapshot())


def test_text_is_not_written():
    envs = some(world="object", observation_representation="text")
    with pytest.raises(ValueError, match="'grid', which is no output"):
        envs.reset(out={"grid": np.zeros(GRID, np.uint8)})


# ---- rewards -----------------------------------------------------------------------------------


@KINDS
def test_rewards_of_either_size(kind):
    double, single = some(world=kind), some(world=kind, reward_dtype=np.float32)
    double.reset(seed=0)
    single.reset(seed=0)
    for action in (0, 5, 2, 7):
        expected, found = double.step([action] * N)[1], single.step([action] * N)[1]
        assert expected.dtype == np.float64
        assert same(expected.astype(np.float32), found)


@pytest.mark.parametrize("make", [some, lambda **given: ExpressionVectorEnv(ALGEBRA, N, **given)])
@pytest.mark.parametrize("wrong", ["float16", int, "half a float"])
def test_no_other_rewards(make, wrong):
    with pytest.raises(ValueError, match=r"reward_dtype=.*allowed are 'float64' and 'float32'"):
        make(reward_dtype=wrong)


# ---- algebra -----------------------------------------------------------------------------------

ALGEBRA = "mathy-poly-simplify-easy"


def test_results_of_algebra():
    plain, envs = (ExpressionVectorEnv(ALGEBRA, N, reward_dtype="float32") for _ in range(2))
    shown: Any = envs.single_observation_space
    out = {name: np.zeros((N, *box.shape), box.dtype) for name, box in shown.items()}
    out |= {"reward": np.zeros(N, np.float32), "terminated": np.zeros(N, np.bool_)}
    expected, found = plain.reset(seed=0), envs.reset(seed=0, out=out)
    pilot = np.random.default_rng(0)
    for _ in range(10):
        assert same(expected, found)
        assert all(found[0][name] is out[name] for name in found[0])
        mask = found[1]["action_mask"]
        actions = (mask * pilot.random(mask.shape)).argmax(axis=1)
        step = plain.step(actions)
        own = envs.step(actions, out)
        assert same(step, own)
        assert own[1] is out["reward"]
        assert own[2] is out["terminated"]
        expected, found = (step[0], step[4]), (own[0], own[4])
    with pytest.raises(ValueError, match="'grid', which is no output"):
        envs.step(actions, {"grid": np.zeros(GRID)})
