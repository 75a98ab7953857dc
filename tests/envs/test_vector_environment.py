"""Many worlds as a Gymnasium vector environment: the same as one by one."""

from __future__ import annotations

import copy
import pickle
import re
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from gv_engine import EachAgentVectorEnv, GridEnv, GridVectorEnv
from gv_engine.envs.backends import compiled_backend
from gv_engine.scenario.library import gym_id
from tests.comparing import drop_terms, same
from tests.levels import NOT_OF_GALLERY
from tests.vector.test_programs import BASE

KINDS = pytest.mark.parametrize("kind", ["object", "compiled"])
MODES = pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
LEVEL = "keydoor-5x5"
SHORT = 13
AREA = [[-2, 0], [-1, 1]]
FORWARD, LEFT = 0, 4
SPREAD = {**BASE, "transition_functions": ["move_agent", "turn_agent"]}


def begun(num, level=LEVEL, **options):
    """Worlds at their beginning."""
    envs = GridVectorEnv(level, num, **options)
    envs.reset(seed=0)
    return envs


@pytest.mark.sample("Keydoor-5x5")
@pytest.mark.compiled
@pytest.mark.parametrize("env_id", [gym_id(name) for name in NOT_OF_GALLERY])
def test_make_vec(env_id):
    envs = gymnasium.make_vec(env_id, num_envs=3)
    assert isinstance(envs, GridVectorEnv)
    observation, _ = envs.reset(seed=0)
    assert observation in envs.observation_space
    assert [len(result) for result in envs.step(envs.action_space.sample())[1:4]] == [3, 3, 3]


@KINDS
@pytest.mark.parametrize("mode", AutoresetMode)
def test_it_equals_gymnasiums_own_over_single_environments(kind, mode):
    num = 5
    envs = GridVectorEnv(LEVEL, num, world=kind, autoreset_mode=mode, max_steps=SHORT)
    makes = [lambda: GridEnv(LEVEL, world="object", max_steps=SHORT)] * num
    others = SyncVectorEnv(makes, autoreset_mode=mode)
    assert same(envs.reset(seed=4), others.reset(seed=4))
    pilot = np.random.default_rng(0)
    ended = 0
    for _ in range(30):
        actions = pilot.integers(8, size=num)
        found, expected = envs.step(actions), others.step(actions)
        assert same(drop_terms(found, mode), drop_terms(expected, mode))
        over = found[2] | found[3]
        ended += int(over.sum())
        if mode == AutoresetMode.DISABLED and over.any():
            again = [env.reset(options={"reset_mask": over.copy()})[0] for env in (envs, others)]
            assert same(*again)
    assert ended >= num * 2


@KINDS
@MODES
def test_max_episode_steps_is_gymnasiums_time_limit(kind, mode):
    # worlds walk to an exit that is two steps away, or turn; `limit` comes before, with, or after
    for limit, ends in ((1, [0, 1]), (2, [1, 1]), (3, [1, 0])):
        arguments: Any = {"scenario": SPREAD, "world": kind, "max_episode_steps": limit}
        arguments["disable_env_checker"] = True
        envs = gymnasium.make_vec("GV-Scenario-v0", 2, **arguments, autoreset_mode=mode)
        sync: Any = {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
        others = gymnasium.make_vec("GV-Scenario-v0", 2, **{**arguments, "world": "object"}, **sync)
        assert same(envs.reset(seed=0), others.reset(seed=0))
        flags = []
        for _ in range(6):
            found = envs.step([FORWARD, LEFT])
            expected = others.step([FORWARD, LEFT])
            assert same(drop_terms(found, mode), drop_terms(expected, mode))
            flags.append([found[2][0], found[3][0]])
        assert flags[min(limit, 2) - 1] == ends


def test_max_episode_steps_of_several_agents():
    envs = EachAgentVectorEnv("hold-plates", 1, world="object", max_episode_steps=3)
    envs.reset(seed=0)
    waits = np.zeros(envs.num_envs, np.int64)
    assert [envs.step(waits)[3].all() for _ in range(3)] == [False, False, True]


@KINDS
def test_a_reset_mask_leaves_the_others_alone(kind):
    envs = begun(3, world=kind, autoreset_mode="Disabled")
    envs.step([4, 4, 4])
    before = [envs.snapshot(i) for i in range(3)]
    mask = np.array([False, True, False])
    envs.reset(seed=[7, 8, 9], options={"reset_mask": mask})
    assert [envs.snapshot(0), envs.snapshot(2)] == [before[0], before[2]]
    single = GridEnv(LEVEL, world="object")
    single.reset(seed=8)
    assert envs.snapshot(1) == single.snapshot()


@KINDS
def test_seeds(kind):
    envs = GridVectorEnv(LEVEL, 3, world=kind)
    one = copy.deepcopy(envs.reset(seed=5))
    assert same(one, envs.reset(seed=[5, 6, 7]))
    assert not same(one, envs.reset())
    for chosen in ([5, None, 7], {0: 5, 2: 7}):
        assert same(envs.reset(seed=chosen)[0]["grid"][::2], one[0]["grid"][::2])


# ---- mistakes ----------------------------------------------------------------------------------


@pytest.fixture
def envs():
    return begun(3, world="object")


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], r"actions have shape \(2,\) .* expected \(3,\) integers"),
        ([0, 1], r"\(3,\) integers, one for each of the 3 worlds$"),
        ([0.0, 1.0, 2.0], r"dtype float64: expected \(3,\) integers; use \.astype\(int\)$"),
        ([[0, 1, 2]], r"shape \(1, 3\).*; use \.reshape\(3\)$"),
        ([0, 8, 0], "action 8 of world 1: allowed are 0 to 7"),
        ([0, 0, -1], "action -1 of world 2: allowed are 0 to 7"),
        (np.array([0, 255, 0], np.uint8), "action 255 of world 1: allowed are 0 to 7"),
        (np.array([0, 0, 2**63], np.uint64), "action 9223372036854775808 of world 2: allowed"),
    ],
)
def test_wrong_actions(envs, actions, message):
    with pytest.raises(ValueError, match=message):
        envs.step(actions)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": [1, 2]}, "2 seeds for 3 worlds; give one number, or a list of 3"),
        ({"seed": {3: 1}}, "seed[3]: the worlds are 0 to 2"),
        ({"seed": {1: -1}}, "seed[1]"),
        ({"seed": -1}, "seed=-1: allowed are whole numbers from 0 on"),
        ({"seed": True}, "seed=True: allowed are whole numbers from 0 on"),
        ({"seed": [1, "x", 2]}, "seed[1]='x': allowed are whole numbers from 0 on"),
        ({"options": {"reset_mask": np.ones(2, bool)}}, "reset_mask has shape (2,)"),
        ({"options": {"reset_mask": np.ones(3, int)}}, "dtype int64: expected (3,) bool"),
        ({"options": {"mask": 1}}, "reset: no option 'mask'"),
        ({"options": 5}, "options=5: allowed are a dictionary and None"),
    ],
)
def test_wrong_resets(envs, arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        envs.reset(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *(
            ({name: wrong}, f"{name}={wrong!r}: allowed are whole numbers from 1 on")
            for name, wrong in product(("num_envs", "num_threads"), (0, True, "4", 1.5))
        ),
        ({"render_mode": "human"}, "render_mode='human': allowed are None and rgb_array, ansi"),
        ({"max_steps": 2.5}, "max_steps=2.5: allowed are whole numbers from 0 on"),
        ({"max_episode_steps": 0}, "max_episode_steps=0: allowed are whole numbers from 1 on"),
        ({"autoreset_mode": "nextstep"}, "autoreset_mode='nextstep': allowed are 'NextStep'"),
        ({"scenario": None}, "scenario=None: allowed are a Scenario, a name, a file and a mapping"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        GridVectorEnv(**{"scenario": LEVEL, "num_envs": 2, "world": "object", **arguments})


# ---- the whole state, pictures -----------------------------------------------------------------


@KINDS
def test_worlds_can_be_taken_out_and_put_back(kind):
    envs = begun(4, "medley-7x7", world=kind, copy=True)
    envs.step([0, 1, 2, 3])
    rows = envs.snapshot()
    kept = rows.copy()
    expected = [envs.step([action] * 4) for action in (0, 4, 0)]
    for other in (kind, "object"):
        twin = GridVectorEnv("medley-7x7", 4, world=other, copy=True)
        shown, _ = twin.restore(rows)
        assert shown["grid"].shape == (4, 7, 7, 3)
        assert same([twin.step([action] * 4) for action in (0, 4, 0)][-1], expected[-1])
    assert np.array_equal(rows, kept)
    single = GridEnv("medley-7x7", world="object")
    single.restore(rows[2:3].reshape(()))
    assert single.step(0)[1] == expected[0][1][2]
    row = envs.snapshot(1)
    envs.restore(row, 2)
    assert envs.snapshot(2) == row
    second = envs.step([0, 4, 4, 0])
    for results in (second[0]["grid"], second[1], second[4]["action_mask"]):
        assert same(results[1], results[2])
    envs.restore(rows[[3, 1]], [1, 3])
    assert np.array_equal(envs.snapshot([1, 3]), rows[[3, 1]])
    assert np.array_equal(envs.snapshot(np.array([0, 1, 0, 1], bool)), rows[[3, 1]])


@KINDS
def test_one_world_can_go_on_in_all(kind):
    envs = begun(3, world=kind, copy=True)
    observation, _ = envs.restore(envs.snapshot(1))
    assert (observation["grid"] == observation["grid"][0]).all()
    fork = envs.fork()
    assert same(fork.step([0, 4, 5]), envs.step([0, 4, 5]))
    fork.step([0, 0, 0])
    assert not np.array_equal(fork.snapshot(), envs.snapshot())


@pytest.mark.sample("object")
@KINDS
def test_looking_at_what_is_restored_draws_nothing(kind):
    level = {**SPREAD, "observation_function": {"name": "stochastic_raytracing", "area": AREA}}
    env = GridEnv(level, world=kind)
    env.reset(seed=0)
    row = env.snapshot()
    expected = env.step(0)
    env.restore(row)
    assert env.snapshot() == row
    assert same(env.step(0), expected)


@pytest.mark.parametrize(
    ("rows", "worlds", "message"),
    [
        (2, None, r"rows have shape \(2,\): expected \(\) or \(3,\)"),
        (2, [0, 0], "different numbers"),
        (2, [0, 3], "allowed are 0 to 2"),
        (1, [0.5], "expected a number"),
    ],
)
def test_wrong_worlds(envs, rows, worlds, message):
    with pytest.raises(ValueError, match=message):
        envs.restore(envs.snapshot()[:rows], worlds)


def test_some_worlds_alone_do_not_begin(envs):
    fresh = GridVectorEnv(LEVEL, 3, world="object")
    with pytest.raises(ValueError, match=r"call reset\(\) before some"):
        fresh.restore(envs.snapshot(0), 0)
    fresh.restore(envs.snapshot())
    assert same(fresh.step([4, 5, 0])[1], envs.step([4, 5, 0])[1])


# ---- statistics, threads -----------------------------------------------------------------------


@KINDS
@MODES
def test_episode_statistics_are_gymnasiums(kind, mode):
    arguments = {"world": kind, "autoreset_mode": mode, "max_steps": SHORT}
    envs = GridVectorEnv(LEVEL, 4, episode_statistics=True, **arguments)
    others = RecordEpisodeStatistics(GridVectorEnv(LEVEL, 4, **arguments))
    envs.reset(seed=0)
    others.reset(seed=0)
    pilot = np.random.default_rng(0)
    ended = 0
    for _ in range(4 * SHORT):
        actions = pilot.integers(8, size=4)
        found, expected = envs.step(actions)[4], others.step(actions)[4]
        assert ("episode" in found) == ("episode" in expected)
        if "episode" in found:
            ended += 1
            assert same(found["_episode"], expected["_episode"])
            assert same(found["episode"]["l"], expected["episode"]["l"])
            assert np.allclose(found["episode"]["r"], expected["episode"]["r"], atol=1e-12)
    assert ended > 2


def ends_of(envs, actions):
    """(world, what its end shows, a copy of it) of the episodes that end within some steps."""
    return [
        (i, one, copy.deepcopy(one))
        for own in actions
        for i, one in enumerate(envs.step(own)[4].get("final_obs", ()))
        if one is not None
    ]


@pytest.mark.sample("object-default", "compiled-compact")
@pytest.mark.parametrize("representation", ["default", "compact"])
@KINDS
def test_ends_of_episodes_share_their_arrays_unless_copies_are_wanted(kind, representation):
    form = {"observation_representation": representation, "max_steps": SHORT}
    shared, own = (
        GridVectorEnv(LEVEL, 4, world=kind, autoreset_mode="SameStep", copy=wanted, **form)
        for wanted in (False, True)
    )
    actions = np.random.default_rng(0).integers(8, size=(3 * SHORT, 4))
    shared.reset(seed=0)
    own.reset(seed=0)
    found, kept = ends_of(shared, actions), ends_of(own, actions)
    assert len(found) > 4
    assert len({id(one) for _, one, _ in found}) == 4
    assert len({id(one["grid"]) for _, one, _ in kept}) == len(kept)
    assert all(same(one, then) for _, one, then in kept)
    twin = shared.fork()  # shows what it does itself
    found, kept = ends_of(twin, actions), ends_of(own, actions)
    assert found
    assert same(tuple((i, then) for i, _, then in found), tuple((i, then) for i, _, then in kept))


@KINDS
@MODES
@pytest.mark.parametrize("copied", [True, False])
@pytest.mark.parametrize("level", [LEVEL, "keydoor-sizes"])
def test_reward_terms_belong_to_the_step_of_the_reward(level, copied, mode, kind):
    """Also where a reset in the same step has replaced the episode, perhaps by another member."""
    options = {"world": kind, "autoreset_mode": mode, "max_steps": SHORT}
    envs, ends = GridVectorEnv(level, 6, copy=copied, **options), 0
    envs.reset(seed=0)
    for actions in np.random.default_rng([0, 1]).integers(8, size=(4 * SHORT, 6)):
        _, rewards, terminated, truncated, info = envs.step(actions)
        terms = [info["reward_terms"][name] for name in envs.scenario.reward_names]
        np.testing.assert_allclose(sum(terms), rewards)
        ended = terminated | truncated
        if ended.any() and "final_info" in info:
            for name, of_step in zip(envs.scenario.reward_names, terms, strict=True):
                assert (info["final_info"]["reward_terms"][name] == of_step * ended).all()
        ends += ended.sum()
    assert ends > 6


@KINDS
@MODES
def test_masks_can_be_left_out(kind, mode):
    options = {"world": kind, "autoreset_mode": mode, "max_steps": SHORT}
    with_masks, without = (
        GridVectorEnv(LEVEL, 4, action_masks=wanted, **options) for wanted in (True, False)
    )
    without = pickle.loads(pickle.dumps(without))
    with_masks.reset(seed=0)
    without.reset(seed=0)
    for action in range(2 * SHORT):
        *expected, info = with_masks.step([action % 8, 4, 5, 0])
        *found, less = without.step([action % 8, 4, 5, 0])
        assert same(tuple(found), tuple(expected))
        for infos in (info, info.get("final_info", {})):
            infos.pop("action_mask", None)
            infos.pop("_action_mask", None)
        assert same(less, info)


@pytest.mark.compiled
@pytest.mark.parametrize("level", [LEVEL, "medley-7x7"])
def test_any_number_of_threads_gives_the_same(level, monkeypatch):
    monkeypatch.setattr(compiled_backend, "_MIN_CHUNK", 1)
    one, *others = (
        GridVectorEnv(level, 23, world="compiled", num_threads=threads, max_steps=SHORT)
        for threads in (1, 2, 5)
    )
    shown: object = one.reset(seed=3)
    assert all(same(shown, envs.reset(seed=3)) for envs in others)
    for actions in np.random.default_rng(0).integers(8, size=(20, 23)):
        shown = one.step(actions)
        assert all(same(shown, envs.step(actions)) for envs in others)
    assert all(np.array_equal(one.snapshot(), envs.snapshot()) for envs in others)
    twin = pickle.loads(pickle.dumps(others[0]))
    assert same(twin.step(actions), others[0].step(actions))


@KINDS
def test_pictures(kind):
    envs = GridVectorEnv(LEVEL, 2, world=kind, render_mode="ansi")
    single = GridEnv(LEVEL, world="object", render_mode="ansi")
    envs.reset(seed=0)
    single.reset(seed=1)
    assert list(envs.render() or ())[1] == single.render()
    shown = begun(2, world=kind, render_mode="rgb_array")
    assert [picture.shape[2] for picture in shown.render() or ()] == [3, 3]
    shown.close()
    assert GridVectorEnv(LEVEL, 2, world="object").render() is None
