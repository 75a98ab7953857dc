"""Walls that compiled code puts around a level at once are those that are put one by one."""

from __future__ import annotations

import pytest

from gv_engine import GridEnv, RuleError, Scenario
from tests import boards

pytestmark = [pytest.mark.compiled, pytest.mark.sample("small")]

RULES = '''
from components.objects import KEY, WALL
from gv_engine import RESET, system
from systems.building import put_agent


@system(RESET)
def enclosed(w):
    """A level of any size, with keys in hand, a hole among them, and maybe one in the way."""
    w.set_shape(w.rng.integers(1, 10), w.rng.integers(1, 10))
    held = w.spawn(KEY)
    for _ in range(w.rng.integers(0, 3)):
        w.spawn(KEY)
    if w.rng.integers(0, 2) == 0:
        w.remove(held)
    if w.rng.integers(0, 4) == 0:
        w.place(w.spawn(KEY), w.rng.integers(0, w.height), w.rng.integers(0, w.width))
    w.enclose((WALL, WALL, WALL, KEY, 99)[w.rng.integers(0, 5)])
    if w.rng.integers(0, 4) == 0:
        w.enclose(WALL)
    w.spawn(WALL)
    put_agent(w, 1, 0, 0, 0)
'''


@pytest.fixture(scope="module", params=[9, 65], ids=["small", "large"])
def scenario(request, tmp_path_factory):
    """Levels that are enclosed in whatever state they are."""
    folder = tmp_path_factory.mktemp("rules")
    (folder / "rules.py").write_text(RULES)
    level = {
        "max_shape": [request.param, request.param],
        "reset_function": {"name": "./rules.py:enclosed"},
        "transition_functions": ["turn_agent"],
        "reward_functions": [],
        "terminating_function": "reach_exit",
        "observation_function": boards.RULES["observation_function"],
        "max_steps": 2,
    }
    return Scenario.load(level, folder=folder)


def begun(env, seed):
    """The row of a new episode, or why there is none."""
    try:
        env.reset(seed=seed)
    except RuleError as error:
        return str(error)
    return env.snapshot().tobytes()


def test_both_worlds_are_enclosed_alike(scenario):
    one, other = (GridEnv(scenario, world=world) for world in ("object", "compiled"))
    found = [begun(one, seed) for seed in range(60)]
    assert found == [begun(other, seed) for seed in range(60)]
    assert {type(each) for each in found} == {str, bytes}
