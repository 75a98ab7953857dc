"""What follows many states, and which of them are the same."""

import copy
from functools import partial

import numpy as np
import pytest

from gv_engine import GridVectorEnv, RuleError
from gv_engine.envs.backends import backend, compiled_backend
from tests.boards import scenario
from tests.comparing import same

KINDS = pytest.mark.parametrize(
    "world", ["object", pytest.param("compiled", marks=pytest.mark.compiled)]
)


def played(level, world, num_envs=6, steps=5, **options):
    """An environment some steps after its reset."""
    envs = GridVectorEnv(level, num_envs, world=world, autoreset_mode="Disabled", **options)
    envs.reset(seed=1)
    pilot = np.random.default_rng(0)
    for _ in range(steps):
        envs.step(pilot.integers(envs.num_actions, size=num_envs))
    return envs


@pytest.mark.sample("5-keydoor-5x5", "1000-keydoor-5x5-compiled")
@KINDS
@pytest.mark.parametrize("level", ["keydoor-5x5", "dynamic-obstacles-5x5", "medley-7x7"])
@pytest.mark.parametrize("at_once", [5, 1000])
def test_states_go_on_as_worlds_would(level, world, at_once, monkeypatch):
    monkeypatch.setattr(backend, "get_expansion_size", lambda _: at_once)
    envs = played(level, world)
    rows, actions = envs.snapshot(), [0, 4, 5]
    limits = np.array([member.max_steps for member in envs.scenario.members])[rows["member"]]
    rows["steps"][2:] = limits[2:] - 1  # these worlds take their last step
    envs.restore(rows)
    shown = copy.deepcopy(envs._batch.outputs)
    found = envs.expand(rows, actions)
    assert same(vars(envs._batch.outputs), vars(shown))
    assert np.array_equal(envs.snapshot(), rows)
    for k, action in enumerate(actions):
        envs.restore(rows)
        _, rewards, terminated, truncated, infos = envs.step(np.full(len(rows), action))
        assert np.array_equal(found.rows[:, k], envs.snapshot())
        assert same(found.rewards[:, k].copy(), rewards)
        assert same(found.terminated[:, k].copy(), terminated)
        assert same(found.truncated[:, k].copy(), truncated)
        assert same(found.success[:, k].copy(), infos["success"])
        assert same(found.masks[:, k].copy(), infos["action_mask"])
    assert found.rewards.any()
    assert found.truncated.any()
    assert not found.truncated.all()


@KINDS
def test_a_step_that_succeeds_is_a_success(world):
    envs = played(scenario("#####\n#>E.#\n#####", success_function="reach_exit"), world, 2, 0)
    found = envs.expand(envs.snapshot())
    assert found.success.tolist() == found.terminated.tolist()
    assert found.success.any()
    assert not found.success.all()


@pytest.mark.sample("compiled")
@KINDS
def test_all_actions_no_states_and_no_actions(world):
    envs = played("keydoor-5x5", world)
    rows = envs.snapshot()
    assert envs.expand(rows).rows.shape == (6, envs.num_actions)
    assert envs.expand(rows[:0]).masks.shape == (0, envs.num_actions, envs.num_actions)
    assert envs.expand(rows, np.zeros(0, int)).rewards.shape == (6, 0)
    twin = envs.fork()
    assert np.array_equal(twin.expand(rows).rows, envs.expand(rows).rows)


def test_what_cannot_be_expanded():
    envs = played("keydoor-5x5", "object")
    rows = envs.snapshot()
    damaged = rows.copy()
    damaged["at"][0, 1, 1] = 255
    for given, actions, says in (
        (rows[0].reshape(()), None, r"rows have shape \(\): expected \(n,\)"),
        (rows, [8], "whole numbers from 0 to 7"),
        (rows, [-1], "whole numbers from 0 to 7"),
        (rows, 3, "whole numbers from 0 to 7"),
        (rows, [0.5], "whole numbers from 0 to 7"),
        (damaged, None, "damaged: at is 255"),
    ):
        with pytest.raises(ValueError, match=says):
            envs.expand(given, actions)
    other = GridVectorEnv("nine-rooms-13x13", 1, world="object")
    other.reset(seed=0)
    for use in (envs.expand, envs.restore, envs.state_key):
        trusted = {} if use == envs.state_key else {"trusted": True}
        with pytest.raises(
            ValueError, match=r"the snapshot is of (nine-rooms-13x13, and|a world with other)"
        ):
            use(np.repeat(other.snapshot(), 6), **trusted)


@pytest.mark.sample("object")
@KINDS
def test_failures_are_told_by_their_positions(world, monkeypatch):
    monkeypatch.setattr(backend, "get_expansion_size", lambda _: 4)
    rules = {"reward_functions": [{"name": "getting_closer", "object_type": "Exit"}]}
    good, bad = (
        scenario(picture, **rules) for picture in ("#####\n#>.E#\n#####", "#####\n#>..#\n#####")
    )
    envs, others = played(good, world, 3, 0), played(bad, "object", 1, 0)
    rows = envs.snapshot()
    rows[1] = others.snapshot(0)
    with pytest.raises(RuleError, match=r"^world 3: needs exactly one object") as caught:
        envs.expand(rows, [0, 1, 3])
    assert caught.value.worlds == (3,)


# ---- keys ----------------------------------------------------------------------------------------


def leaves(dtype, path=()):
    for name in dtype.names:
        inner = dtype[name].base
        yield from leaves(inner, (*path, name)) if inner.names else [(*path, name)]


def at(rows, path):
    for name in path:
        rows = rows[name]
    return rows


PAST = {"reward", "total", "steps", "error", "action", "terminated", "truncated"}
PAST |= {"done", "success", "ended_by"}


@KINDS
def test_keys_tell_of_all_that_matters_and_of_nothing_else(world):
    envs = played("keydoor-5x5", world)
    (row,) = envs.snapshot()[:1]
    with_draws, without = (
        envs.state_key(row.reshape(()), generator=wanted) for wanted in (True, False)
    )
    assert with_draws.shape == ()
    assert with_draws.dtype == np.uint64
    for path in leaves(row.dtype):
        size = at(row, path).size
        changed = np.repeat(row, size)
        for k in range(size):
            at(changed[k : k + 1], path).reshape(1, -1)[0, k] += 1
        expected = path[0] in PAST
        assert ((envs.state_key(changed) == with_draws) == expected).all(), path
        expected |= path[0] == "rng"
        assert ((envs.state_key(changed, generator=False) == without) == expected).all(), path


@pytest.mark.compiled
def test_keys_are_the_same_in_both_worlds():
    found = [played("keydoor-5x5", world, 40) for world in ("object", "compiled")]
    keys = [envs.state_key(envs.snapshot().reshape(8, 5)) for envs in found]
    assert keys[0].shape == (8, 5)
    assert np.array_equal(*keys)
    assert len(np.unique(keys)) == 40


@KINDS
def test_keys_pass_over_what_lies_between_the_fields(world):
    envs = played("keydoor-5x5", world, 1)
    row = envs.snapshot()
    other = row.copy()
    between = backend._make_byte_mask(row.dtype) == 0  # where a copy may hold anything
    other.view(np.uint8)[between] = ~row.view(np.uint8)[between]
    assert np.array_equal(other, row)
    assert other.tobytes() != row.tobytes()
    assert envs.state_key(other) == envs.state_key(row)


def test_ways_that_meet_have_one_key():
    envs = played("empty-8x8", "object", 2, 0)
    envs.restore(envs.snapshot(0))
    envs.step([4, 5])
    apart = envs.state_key(envs.snapshot())
    envs.step([5, 4])
    envs.step([0, 0])
    envs._batch.reset(np.zeros(2, bool))
    rows = envs.snapshot()
    assert apart[0] != apart[1]
    assert len(set(envs.state_key(rows).tolist())) == 1


# ---- restore -------------------------------------------------------------------------------------


@pytest.mark.compiled
@pytest.mark.sample("keydoor-5x5-0", "medley-7x7-32")
@pytest.mark.parametrize("few", [0, 32])
@pytest.mark.parametrize("level", ["keydoor-5x5", "medley-7x7"])
def test_a_restore_of_some_worlds_runs_over_these_alone(level, few, monkeypatch):
    monkeypatch.setattr(compiled_backend, "_MAX_SINGLE_WORLDS", few)
    envs, others = played(level, "compiled", 40), played(level, "object", 40)
    rows = envs.snapshot()[[3, 8, 5]]
    spans = []

    def noted(run, address, start, stop, mode):
        spans.append((start, stop))
        return run(address, start, stop, mode)

    program = envs._batch.program = copy.copy(envs._batch.program)
    program.run = partial(noted, program.run)
    assert same(envs.restore(rows, [30, 2, 17]), others.restore(rows, [30, 2, 17], trusted=True))
    assert (set(spans) == {(30, 31), (2, 3), (17, 18)}) == bool(few)
    assert np.array_equal(envs.snapshot(), others.snapshot())
    assert same(envs.step(np.arange(40) % 8), others.step(np.arange(40) % 8))


@pytest.mark.compiled
def test_damaged_rows_are_refused_unless_they_are_trusted():
    envs = played("keydoor-5x5", "compiled")
    row = envs.snapshot(2)
    row["kind"]["value"][0] = 1  # of NOTHING
    with pytest.raises(ValueError, match=r"damaged: kind\.value of no entity is 1"):
        envs.restore(row, 1)
    envs.restore(row, 1, trusted=True)
