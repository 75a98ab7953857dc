"""Many worlds as a Gymnasium vector environment: the same as one by one."""

from __future__ import annotations

import copy
import pickle

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from gv_engine import GridEnv, GridVectorEnv, RuleError
from gv_engine.scenario import gym_id, names
from tests.boards import distances, scenario
from tests.comparing import same

KINDS = pytest.mark.parametrize("kind", ["object", "compiled"])
MODES = pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
LEVEL = "keydoor-5x5"
SHORT = 13


@pytest.mark.parametrize("env_id", [gym_id(name) for name in names()])
def test_make_vec(env_id):
    envs = gymnasium.make_vec(env_id, num_envs=3)
    assert isinstance(envs, GridVectorEnv)
    observation, _ = envs.reset(seed=0)
    assert observation in envs.observation_space
    assert [len(result) for result in envs.step(envs.action_space.sample())[1:4]] == [3, 3, 3]


@MODES
@KINDS
def test_it_equals_gymnasiums_own_over_single_environments(kind, mode):
    num = 5
    envs = GridVectorEnv(LEVEL, num, world=kind, autoreset_mode=mode, max_steps=SHORT)
    others = SyncVectorEnv(
        [lambda: GridEnv(LEVEL, world="object", max_steps=SHORT) for _ in range(num)],
        autoreset_mode=mode,
    )
    assert same(envs.reset(seed=4), others.reset(seed=4))
    pilot = np.random.default_rng(0)
    ended = 0
    for _ in range(60):
        actions = pilot.integers(8, size=num)
        found, expected = envs.step(actions), others.step(actions)
        assert same(found, expected)
        ended += int((found[2] | found[3]).sum())
    assert ended >= num * 4


@KINDS
def test_row_i_lives_through_the_episodes_of_seed_s_plus_i(kind):
    envs = GridVectorEnv(
        LEVEL, 4, world=kind, autoreset_mode=AutoresetMode.DISABLED, max_steps=SHORT
    )
    single = GridEnv(LEVEL, world="compiled", max_steps=SHORT)
    observation, _ = envs.reset(seed=40)
    expected, _ = single.reset(seed=42)
    pilot = np.random.default_rng(1)
    episodes = 0
    for _ in range(60):
        assert same({key: value[2] for key, value in observation.items()}, expected)
        actions = pilot.integers(8, size=4)
        observation, rewards, terminated, truncated, _ = envs.step(actions)
        expected, *results, _ = single.step(actions[2])
        assert [rewards[2], terminated[2], truncated[2]] == results
        over = terminated | truncated
        if over.any():
            observation, _ = envs.reset(options={"reset_mask": over})
        if over[2]:
            expected, _ = single.reset()
            episodes += 1
    assert episodes >= 4


@KINDS
def test_a_reset_mask_leaves_the_others_alone(kind):
    envs = GridVectorEnv(LEVEL, 3, world=kind, autoreset_mode="Disabled")
    envs.reset(seed=0)
    envs.step([4, 4, 4])
    before = [envs.snapshot(i) for i in range(3)]
    mask = np.array([False, True, False])
    envs.reset(seed=[7, 8, 9], options={"reset_mask": mask})
    assert envs.snapshot(0) == before[0]
    assert envs.snapshot(2) == before[2]
    single = GridEnv(LEVEL, world="object")
    single.reset(seed=8)
    assert envs.snapshot(1) == single.snapshot()


@KINDS
def test_seeds(kind):
    envs = GridVectorEnv(LEVEL, 3, world=kind)
    one = copy.deepcopy(envs.reset(seed=5))
    assert same(one, copy.deepcopy(envs.reset(seed=[5, 6, 7])))
    assert not same(one, copy.deepcopy(envs.reset()))
    mixed = copy.deepcopy(envs.reset(seed=[5, None, 7]))
    assert same(mixed[0]["grid"][0], one[0]["grid"][0])
    assert same(mixed[0]["grid"][2], one[0]["grid"][2])


@KINDS
@pytest.mark.parametrize("copied", [True, False])
def test_arrays_are_written_again_unless_copies_are_asked_for(kind, copied):
    envs = GridVectorEnv(LEVEL, 3, world=kind, copy=copied)
    envs.reset(seed=0)
    results = envs.step([4, 4, 4])
    kept = copy.deepcopy(results)
    for action in range(8):
        envs.step([action, 7 - action, 4])
    assert same(results, kept) is copied


# ---- mistakes ----------------------------------------------------------------------------------


@pytest.fixture
def envs():
    made = GridVectorEnv(LEVEL, 3, world="object")
    made.reset(seed=0)
    return made


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"actions have shape \(2,\) .* expected \(3,\) integers"),
        ([0.0, 1.0, 2.0], "dtype float64: expected"),
        ([[0, 1, 2]], r"shape \(1, 3\)"),
        ([0, 8, 0], "action 8 of world 1: allowed are 0 to 7"),
        ([0, 0, -1], "action -1 of world 2: allowed are 0 to 7"),
    ],
)
def test_wrong_actions(envs, actions, message):
    with pytest.raises(ValueError, match=message):
        envs.step(actions)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": [1, 2]}, "2 seeds for 3 worlds"),
        ({"options": {"reset_mask": np.ones(2, bool)}}, r"reset_mask has shape \(2,\)"),
        ({"options": {"reset_mask": np.ones(3, int)}}, r"dtype int64: expected \(3,\) bool"),
    ],
)
def test_wrong_resets(envs, arguments, message):
    with pytest.raises(ValueError, match=message):
        envs.reset(**arguments)


def test_a_step_before_the_first_reset():
    with pytest.raises(ValueError, match=r"call reset\(\) before the first step\(\)"):
        GridVectorEnv(LEVEL, 3, world="object").step([0, 0, 0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_envs": 0}, "num_envs=0: at least one world is needed"),
        ({"render_mode": "human"}, "render_mode='human': allowed are None, 'rgb_array', 'ansi'"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        GridVectorEnv(LEVEL, **{"world": "object", **arguments})


@KINDS
def test_a_rule_that_is_not_defined_names_the_world(kind):
    envs = GridVectorEnv(scenario("K<", **distances(object_type="Key")), 3, world=kind)
    envs.reset(seed=0)
    with pytest.raises(RuleError, match=r"^world 1: needs exactly one object of its object_type"):
        envs.step([0, 7, 0])


# ---- the whole state, pictures -----------------------------------------------------------------


@KINDS
def test_worlds_can_be_taken_out_and_put_back(kind):
    envs = GridVectorEnv(LEVEL, 3, world=kind, copy=True)
    envs.reset(seed=0)
    envs.step([4, 5, 0])
    row = envs.snapshot(1)
    envs.restore(2, row)
    assert envs.snapshot(2) == row
    second = envs.step([0, 6, 6])
    for results in (second[0]["grid"], second[1], second[4]["action_mask"]):
        assert same(results[1], results[2])


@KINDS
def test_copies(kind):
    envs = GridVectorEnv(LEVEL, 3, world=kind, copy=True, max_steps=SHORT)
    envs.reset(seed=0)
    envs.step([4, 5, 0])
    twins = copy.deepcopy(envs), pickle.loads(pickle.dumps(envs))
    for action in range(20):
        actions = np.array([action, action + 3, action + 5]) % 8
        expected = envs.step(actions)
        for twin in twins:
            assert same(twin.step(actions), expected)


@KINDS
def test_pictures(kind):
    envs = GridVectorEnv(LEVEL, 2, world=kind, render_mode="ansi")
    single = GridEnv(LEVEL, world="object", render_mode="ansi")
    envs.reset(seed=0)
    single.reset(seed=1)
    assert list(envs.render() or ())[1] == single.render()
    shown = GridVectorEnv(LEVEL, 2, world=kind, render_mode="rgb_array")
    shown.reset(seed=0)
    assert [picture.shape[2] for picture in shown.render() or ()] == [3, 3]
    shown.close()
    assert GridVectorEnv(LEVEL, 2, world="object").render() is None
