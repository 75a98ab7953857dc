"""Columns of all types, what rules remember, and observation functions, equal in both worlds."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from components.core import HIDDEN, RED
from gv_engine import GridEnv, GridVectorEnv, RuleError, Scenario
from gv_engine.play.session.inspection import Inspection
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.plugins.gridverse.envs.gridworld import GridWorld
from gv_engine.rules.component import AGENT, column_name, fields_of
from tests import ROOT

RULES = """
from components.core import HIDDEN, RED
from gv_engine import OBSERVATION, REWARD, TRANSITION, system
from gv_engine.rules.component import (
    NOTHING, Coordinate, EntityId, Float64, Int8, Int16, Int32, component
)
from gv_engine.rules.geometry import ACTUATE
from systems.queries import ahead

@component
class Every:
    a_bool: bool = False
    another: bool = True
    an_int: int = 70_000
    a_float: float = 0.5
    an_int8: Int8 = -1
    an_int16: Int16 = 300
    an_int32: Int32 = -70_000
    a_float64: Float64 = 1e-9
    an_entity: EntityId = 0
    a_row: Coordinate = -1

def is_on(w, agent, action):
    return action == ACTUATE and w.every.another[agent] and not w.every.a_bool[ahead(w, agent)]

@system(TRANSITION, when=is_on)
def switch(w, agent):
    e = ahead(w, agent)
    w.every.a_bool[agent] = 2
    w.every.another[agent] = w.every.a_bool[agent] and w.every.an_int8[agent] < 1
    w.every.an_int8[agent] += int(w.every.a_bool[agent]) + int(w.every.a_bool[agent])
    w.every.an_int[agent] += w.every.an_int8[agent]
    w.every.an_int16[agent] -= w.every.an_int[agent] % 7
    w.every.an_int32[agent] += w.every.an_int16[agent]
    w.every.a_float[agent] += w.every.another[agent]
    w.every.a_float64[agent] *= 2
    w.every.an_entity[agent] = e
    w.every.a_row[agent] = w.position.y[e]

def is_third_step(w):
    return w.steps % 3 == 2

@system(TRANSITION, when=is_third_step)
def give_or_take(w, agent, truths: list[bool]):
    e = ahead(w, agent)
    if e != NOTHING:
        if w.every.has[e]:
            w.take(e, "every")
        else:
            w.add(e, "every")
            w.every.a_bool[e] = truths[w.steps % 2]

def seen_ways(w, agent):
    return 1 << w.agent.facing[agent] | 16

def is_on_now(w, agent):
    return w.every.another[agent]

@system(REWARD, remember=seen_ways)
def new_way(w, agent, was: int):
    return 1 << w.agent.facing[agent] & ~was

@system(REWARD, remember=is_on_now)
def turned_off(w, agent, was: int):
    return was & ~w.every.an_int8[agent]

@system(OBSERVATION)
def dim(w, agent, view, out, reach: int, chance: float = 0.0):
    grid, item = out
    for i in range(view.height):
        for j in range(view.width):
            e = view.entity[i, j]
            far = abs(view.y - i) + abs(view.x - j)
            if far > reach and view.seen[i, j] and not (e > NOTHING and w.key.has[e]):
                grid[i, j] = (HIDDEN, 0, 0)
    if w.rng.random() < chance:
        item[2] = RED
"""
LEVEL: dict[str, Any] = {
    "map": "#######\n#>.KE.#\n#.d.P.#\n#######",
    "max_steps": 40,
    "objects": {"Plate": {"components": {"./rules.py:Every": {"a_bool": True, "an_int8": 5}}}},
    "legend": {"P": "Plate"},
    "agents": {"components": {"./rules.py:Every": {"a_float": 2}}},
    "transition_functions": [
        *("move_agent", "turn_agent", "./rules.py:switch", "pickndrop"),
        {"name": "./rules.py:give_or_take", "truths": [True, False]},
    ],
    "reward_functions": ["./rules.py:new_way", "./rules.py:turned_off"],
    "terminating_function": "reach_exit",
    "observation_function": {
        **{"name": "./rules.py:dim", "area": [[-3, 0], [-2, 2]]},
        **{"reach": 1, "chance": 0.3},
    },
}
ACTUATE = 6


@pytest.fixture(scope="module")
def level(tmp_path_factory):
    folder = tmp_path_factory.mktemp("columns")
    (folder / "rules.py").write_text(RULES)
    return Scenario.load(LEVEL, folder=folder)


def test_all_types_that_the_docs_name_are_tried_here():
    page = (ROOT / "docs" / "phases.md").read_text("utf-8")
    (said,) = re.findall(r"\*\*Columns of a component\*\* are (.+?)\. Each", page, re.DOTALL)
    named = set(re.findall(r"`(\w+)`", said))
    assert named == {"int", "float", "bool", "Int8", "Int16", "EntityId", "Coordinate"}
    assert named < set(re.findall(r"\w+: (\w+) =", RULES))


WORLDS = pytest.mark.parametrize("world", ["object", "compiled"])
FIRST = [False, True, 70_000, 2.0, -1, 300, -70_000, 1e-9, 0, -1]
SECOND = [True, True, 70_001, 3.0, 1, 299, -69_701, 2e-9, 0, -1]
"""The columns of the agent at the beginning, and after a step."""


@pytest.mark.thorough
@pytest.mark.compiled
def test_both_worlds_agree_on_columns_of_all_types_and_on_what_is_remembered_and_shown(level):
    report = run_differential_test(level, episodes=12)
    assert report.fault == ""
    assert report.steps > 100


@pytest.mark.sample("object")
@WORLDS
def test_columns_hold_values_of_their_types(level, world):
    envs = GridVectorEnv(level, 2, world=world, copy=True)
    _, info = envs.reset(seed=0)
    assert info["action_mask"][:, ACTUATE].all()
    assert level.layout.dtype["every"]["a_bool"].base == np.bool_
    (every,) = (cls for cls in level.layout.components if column_name(cls) == "every")
    for expected in (FIRST, SECOND):
        row = envs.snapshot(0)["every"]
        assert [row[field.name][AGENT].item() for field in fields_of(every)] == expected
        _, rewards, _, _, info = envs.step([ACTUATE, ACTUATE])
        assert rewards.tolist() == [0.0, 0.0]
    assert not info["action_mask"][0, ACTUATE]  # it has switched itself off
    restored = GridVectorEnv(level, 1, world=world)
    restored.reset(seed=9)
    restored.restore(envs.snapshot(1), [0])
    assert restored.snapshot(0).tobytes() == envs.snapshot(1).tobytes()


def test_the_inspector_tells_truth_values(level):
    env = GridEnv(level, world="object")
    env.reset(seed=0)
    inspection = Inspection(level)
    for said in ("False", "True"):
        inspection.load(env.snapshot())
        (every,) = (part for part in inspection.agent().parts if part.name == "Every")
        assert every.fields["a_bool"] == said
        env.step(ACTUATE)


@pytest.mark.sample("object")
@WORLDS
def test_an_observation_function_writes_what_is_seen(level, world):
    envs = GridVectorEnv(level, 64, world=world, copy=True)
    seen, _ = envs.reset(seed=0)
    shown = seen["grid"][0, ..., 0] != HIDDEN
    assert shown.tolist()[-1] == [False, True, True, True, False]
    assert shown[:-2].sum() == 1  # the key, two cells ahead
    assert 0 < (seen["item"][:, 2] == RED).sum() < 64  # by chance


def test_functions_of_states_refuse_an_observation_function_of_columns(level):
    with pytest.raises(RuleError, match="dim is an observation function of columns"):
        GridWorld.from_scenario(level)
