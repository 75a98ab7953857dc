"""Several agents: both worlds alike, whatever the order, the ends and what agents block."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.core import HIDDEN, NONE_GRID_OBJECT
from components.objects import AGENT_TYPE
from gv_engine import Scenario
from gv_engine.envs.backends.backend import Backend, make_batch
from gv_engine.play.validation.differential import find_row_fault
from gv_engine.rules.component import NOTHING
from gv_engine.rules.turns import DONE, ENDS, TURNS
from gv_engine.scenario.memory.layout import AGENT_COLUMNS
from gv_engine.world.simulation import KEEP, NEXT_STEP, RESTART, SAME_STEP, Simulation

pytestmark = pytest.mark.compiled

LEVEL: dict[str, Any] = {
    "max_steps": 40,
    "reset_function": {"name": "dynamic_obstacles", "shape": [6, 7], "num_obstacles": 2},
    "transition_functions": [
        "move_agent",
        "turn_agent",
        "pickndrop",
        "move_obstacles",
        {"name": "chain", "transition_functions": ["actuate_door", "move_obstacles"]},
        {"name": "chain", "transition_functions": ["move_agent"], "for": "agent_2"},
    ],
    "reward_functions": [
        "living_reward",
        "reach_exit",
        {"name": "bump_into_wall", "for": ["agent_1"]},
        {"name": "getting_closer", "distance_function": "manhattan", "object_type": "Exit"},
    ],
    "observation_function": {"name": "raytracing", "area": [[-4, 0], [-2, 2]]},
    "terminating_function": {
        "name": "reduce_any",
        "terminating_functions": ["reach_exit", "bump_into_wall"],
    },
    "success_function": "reach_exit",
}
WORLDS = 3


def level(agents: int, blocks: list[str], **changes: Any) -> Scenario:
    return Scenario.load({**LEVEL, "agents": {"number": agents, "blocks": blocks}, **changes})


CREWS = [(2, ["movement", "sight"]), (5, [])]


def both(played: Scenario, seed: int) -> tuple[Backend, Backend]:
    """Object worlds and compiled ones, of equal seeds, reset."""
    found = (
        make_batch(played, WORLDS, "object", extra_names=("whole",)),
        make_batch(played, WORLDS, "compiled", extra_names=("whole",)),
    )
    for worlds in found:
        for i in range(WORLDS):
            worlds.set_generator(i, np.random.default_rng(seed + i))
        worlds.reset(np.ones(WORLDS, np.bool_))
    return found


def compare(objects: Backend, compiled: Backend) -> None:
    """All that worlds are and show is the same in both kinds."""
    every = np.arange(WORLDS)
    rows, others = objects.snapshot(every), compiled.snapshot(every)
    for row, other in zip(rows, others, strict=True):
        assert find_row_fault(objects.scenario, row) == ""
        assert row.tobytes() == other.tobytes()
    for name in AGENT_COLUMNS:
        assert not rows[name][:, NOTHING].any()
    for name, array in vars(objects.outputs).items():
        assert (array == getattr(compiled.outputs, name)).all(), name


@pytest.mark.thorough
@pytest.mark.parametrize(("agents", "blocks"), CREWS)
@settings(max_examples=25, deadline=None)
@given(
    turns=st.sampled_from(TURNS),
    done=st.sampled_from(DONE),
    ends=st.sampled_from(ENDS),
    mode=st.sampled_from([NEXT_STEP, SAME_STEP]),
    seed=st.integers(0, 2**32),
    steps=st.integers(1, 60),
)
def test_compiled_worlds_equal_object_worlds(
    agents: int, blocks: list[str], mode: int, seed: int, steps: int, **agent_group: Any
):
    played = level(agents, blocks)
    played = played.with_(agent_group=replace(played.agent_group, **agent_group))
    objects, compiled = both(played, seed)
    compare(objects, compiled)
    chance = np.random.default_rng(seed)
    for step in range(steps):
        actions = chance.integers(len(played.actions), size=WORLDS * agents)
        for worlds in (objects, compiled):
            worlds.step(actions, mode)
        compare(objects, compiled)
        if step == steps // 2:  # what a row holds is the whole world, in either kind
            every = np.arange(WORLDS)
            rows = objects.snapshot(every)
            objects.restore(every, compiled.snapshot(every))
            compiled.restore(every, rows)


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_agents_that_are_done_leave_or_stay(world: str):
    for done in DONE:
        played = level(*CREWS[0], max_steps=1000)
        played = played.with_(agent_group=replace(played.agent_group, done=done))
        worlds = make_batch(played, 1, world)
        worlds.set_generator(0, np.random.default_rng(3))
        worlds.reset(np.ones(1, np.bool_))
        chance = np.random.default_rng(0)
        while not worlds.outputs.terminated.any():
            assert not worlds.outputs.truncated.any()
            worlds.step(chance.integers(4, size=2), NEXT_STEP)
            row = worlds.snapshot(0)
            if row["done"][1:].sum() == 1:
                break
        (one,) = np.flatnonzero(row["done"])
        other, total = 3 - one, row["total"][one]
        place = row["position"]["y"][one]
        assert worlds.outputs.grid[one - 1].any()
        worlds.step(np.full(2, played.action_names.index("TURN_LEFT")), NEXT_STEP)
        row = worlds.snapshot(0)
        assert row["position"]["y"][one] == (-1 if done == "leave" else place)
        assert row["total"][one] == total
        assert worlds.outputs.rewards[one - 1] == 0 != worlds.outputs.rewards[other - 1]
        assert not worlds.outputs.mask[one - 1].any()
        assert worlds.outputs.mask[other - 1].any()
        if done == "leave":
            assert (worlds.outputs.grid[one - 1, ..., 0] == HIDDEN).all()


def test_a_copy_of_a_simulation_has_the_terms_of_all():
    simulation = Simulation(level(2, []))
    simulation.reset(np.random.default_rng(1))
    simulation.step(0, 1)
    terms = [simulation.terms_of(agent) for agent in (1, 2)]
    copied = copy.deepcopy(simulation)
    assert [copied.terms_of(agent) for agent in (1, 2)] == terms != [(0.0,) * 4] * 2


@pytest.mark.thorough
def test_the_whole_grid_shows_all_agents():
    played = level(*CREWS[0])
    for worlds in both(played, seed=2):
        rows = worlds.snapshot(np.arange(WORLDS))
        whole = worlds.outputs.whole
        whole = whole.reshape(WORLDS, -1, *whole.shape[1:])
        places = [[row["position"][axis][1:3].tolist() for axis in "yx"] for row in rows]
        for seen, (ys, xs) in zip(whole, places, strict=True):
            for own, picture in enumerate(seen):
                shown = np.isin(picture[..., 0], (NONE_GRID_OBJECT, AGENT_TYPE))
                assert {*zip(*np.nonzero(shown))} == {*zip(ys, xs)}
                assert picture[ys[own], xs[own], 0] == NONE_GRID_OBJECT


@pytest.mark.thorough
def test_the_first_agent_s_value_says_which_worlds_go_on_or_start():
    objects, compiled = both(level(2, []), 0)
    before = objects.snapshot(np.arange(WORLDS))
    for worlds in (objects, compiled):
        worlds.step(np.array([RESTART, 0, KEEP, 0, 0, 0]), NEXT_STEP)
    compare(objects, compiled)
    after = objects.snapshot(np.arange(WORLDS))
    assert after["steps"].tolist() == [0, 0, 1]
    assert after[0]["rng"] != before[0]["rng"]
    assert after[1].tobytes() == before[1].tobytes()
