"""Every built-in scenario, from its seed alone; `test_environment` has Gymnasium's own check."""

from __future__ import annotations

import numpy as np
import pytest

from gv_engine import GridEnv
from gv_engine.envs.registration import make_env, make_vector_env
from gv_engine.scenario.library import gym_id, list_grid_names
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import list_built_in_names
from gv_engine.validation.invariants import find_row_fault
from tests.comparing import same, under_hash_seeds

DOMAINS = [
    "crossing-5x5",
    "dynamic-obstacles-5x5",
    "empty-4x4",
    "four-rooms-7x7",
    "keydoor-5x5",
    "memory-5x5",
    "memory-four-rooms-7x7",
    "teleport-5x5",
]
"""One of each kind of level, all of one layout; larger levels run the same functions."""


def played(env, seed, steps):
    """What a random player is shown, beginning anew where an episode ends."""
    player = np.random.default_rng(seed)
    yield env.reset(seed=seed)
    for _ in range(steps):
        shown = env.step(player.integers(env.action_space.n))
        yield shown
        if shown[2] or shown[3]:
            yield env.reset()


@pytest.mark.slow
@pytest.mark.parametrize("name", list_grid_names())
def test_a_random_player_meets_nothing_unlisted(name):
    env = GridEnv(name, world="object", max_steps=40)
    for shown in played(env, 3, 200):
        assert shown[0] in env.observation_space
        assert not find_row_fault(env.scenario, env.snapshot())


@pytest.mark.parametrize("name", list_built_in_names())
def test_a_built_in_scenario_of_any_family_has_the_name_that_leads_to_it(name):
    assert load_scenario(name).name == load_scenario(gym_id(name)).name == name


@pytest.mark.parametrize("make", [make_env, make_vector_env])
@pytest.mark.parametrize("name", ["keydoor-5x5", "mathy-poly-simplify-easy"])
def test_a_misspelt_option_is_told_whatever_the_scenario_is(name, make):
    for scenario in (name, load_scenario(name)):
        with pytest.raises(TypeError, match=r"no option 'max_stepz': .*the named arg"):
            make(scenario, max_stepz=3)


@pytest.mark.compiled
@pytest.mark.parametrize("name", DOMAINS)
def test_objects_and_compiled_play_the_same(name):
    one, other = (played(GridEnv(name, world=w), 5, 300) for w in ("object", "compiled"))
    assert all(same(*shown) for shown in zip(one, other, strict=True))


TRACE = """
import hashlib
from gv_engine import GridEnv
from gv_engine.scenario.library import list_grid_names
from tests.domains.test_scenarios import played
for name in list_grid_names():
    digest = hashlib.sha256()
    for observation, *rest in played(GridEnv(name, world="object"), 7, 60):
        digest.update(observation["grid"].tobytes() + observation["item"].tobytes())
        digest.update(repr(rest).encode())
    print(name, digest.hexdigest())
"""


@pytest.mark.slow
def test_a_seed_is_the_same_episode_whatever_the_hash_seed():
    one, other = under_hash_seeds(TRACE)
    assert one == other
    assert [line.split()[0] for line in one.splitlines()] == list_grid_names()
