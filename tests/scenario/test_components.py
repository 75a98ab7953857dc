"""Components that a scenario file declares: `components: {Health: {points: 3}}`."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from gv_engine import GridEnv, GridVectorEnv, Scenario
from gv_engine.rules.component import Bounds, fields_of
from tests.scenario.reading import RULES, begin, find_problems

LEVEL: dict[str, Any] = {**RULES, "map": "####\n#>E#\n####\n"}
COMPONENTS = {
    "Health": {"points": {"start": 3, "max": 5}, "hurt": False},
    "Mood": {"joy": 0.5, "calm": {"start": 1.0, "min": -1}},
    "Marked": None,
}


def load(components: Any = COMPONENTS, **changes: Any) -> Scenario:
    """The scenario of a level whose agent has all components."""
    return Scenario.load(
        {**LEVEL, "components": components, "agents": {"components": [*components]}, **changes}
    )


def test_agents_objects_and_the_world_begin_with_the_start_values():
    scenario = load(
        agents={"components": {"Health": {"points": 4}, "Marked": {}}},
        objects={
            "Rat": {"components": ["Health"]},
            "Cat": {"components": {"Health": {"hurt": True}}},
        },
        world={"components": {"Mood": {"joy": 2}}},
        map="#####\n#>RC#\n#.E.#\n#####\n",
        legend={"R": "Rat", "C": "Cat"},
    )
    w = begin(scenario).world
    cat, rat = w.unique(scenario.types["Cat"].index), w.unique(scenario.types["Rat"].index)
    assert [w.health.points[e] for e in (1, rat, cat)] == [4, 3, 3]
    assert [w.health.hurt[e] for e in (1, rat, cat)] == [False, False, True]
    assert (w.mood.joy[w.world], w.mood.calm[w.world]) == (2.0, 1.0)
    assert [w.marked.has[e] for e in (1, rat)] == [True, False]


def test_fields_have_the_types_of_their_start_values_and_bounds():
    classes = {cls.__name__: cls for cls in load().layout.components}
    points, hurt = fields_of(classes["Health"])
    assert (str(points.dtype), points.declared_bounds) == ("int32", Bounds(0, 5))
    assert (str(hurt.dtype), hurt.declared_bounds) == ("bool", None)
    joy, calm = fields_of(classes["Mood"])
    assert (str(joy.dtype), joy.declared_bounds) == ("float64", None)
    assert calm.declared_bounds == Bounds(-1, float("inf"))


def test_equal_declarations_share_a_class_and_others_do_not():
    first, again = (load({"Health": {"points": 1}}).layout.components[-1] for _ in range(2))
    assert first is again
    for other in ({"points": True}, {"points": 1.0}, {"points": {"start": 1, "max": 2}}):
        assert load({"Health": other}).layout.components[-1] is not first
    members = [{"scenario": {**LEVEL, "components": {"Health": {"points": n}}}} for n in (1, 1, 2)]
    assert len(Scenario.load({"mixture": members[:2]}).members) == 2
    (fault,) = find_problems({"mixture": members})
    assert "two components would share the column w.health" in fault


def test_an_extending_scenario_changes_a_value(tmp_path):
    (tmp_path / "a.yaml").write_text(json.dumps({**LEVEL, "components": COMPONENTS}))
    (tmp_path / "b.yaml").write_text(
        "extends: a.yaml\ncomponents: {Health: {points: {start: 4}}}\n"
    )
    (health,) = (
        c for c in Scenario.load(tmp_path / "b.yaml").layout.components if c.__name__ == "Health"
    )
    assert fields_of(health)[0].default == 4
    assert fields_of(health)[0].declared_bounds == Bounds(0, 5)


def test_it_is_pickled():
    scenario = load()
    assert pickle.loads(pickle.dumps(scenario)).layout.signature == scenario.layout.signature
    env = GridEnv(scenario, world="object")
    env.reset(seed=0)
    other = pickle.loads(pickle.dumps(env))
    assert other.snapshot() == env.snapshot()
    envs = GridVectorEnv(scenario, 2, world="object")
    envs.reset(seed=0)
    assert pickle.loads(pickle.dumps(envs)).num_envs == 2


@pytest.mark.parametrize(
    ("components", "says"),
    [
        ([1], "components: found a list of 1, expected a mapping"),
        ({"health": {}}, "found the name 'health', expected one like `Health`"),
        ({"Door": {}}, "a component 'Door' already exists; choose another name"),
        ({"Mission": {}}, "a component 'Mission' already exists; choose another name"),
        ({"At": {}}, "component At: its column would be w.at, which every world already has"),
        ({"Health": 3}, "components.Health: found 3, expected a mapping"),
        ({"Health": {"Points": 3}}, "found the name 'Points', expected one like `points`"),
        ({"Health": {"def": 3}}, "found the name 'def', expected one like `points`"),
        ({"Health": {"has": 3}}, "component Health: 'has' is the column of its presence"),
        ({"Health": {"points": "many"}}, "found 'many', expected a number, true, false"),
        ({"Health": {"points": [1, 2]}}, "found a list of 2, expected a number, true or false"),
        ({"Health": {"points": 10**10}}, "found 10000000000, allowed are"),
        ({"Health": {"points": {"max": 3}}}, "`start` is missing: {start: 3, max: 5}"),
        ({"Health": {"points": {"start": 3, "most": 5}}}, "unknown key 'most'"),
        ({"Health": {"points": {"start": 6, "max": 5}}}, "has the default 6, which is not from 0"),
        ({"Health": {"points": {"start": 1, "max": 1.5}}}, "holds integers, and its bounds are"),
        (
            {"Health": {"hurt": {"start": True, "max": 3}}},
            "holds 0 to 1, and its bounds are 0 to 3",
        ),
        ({"Bag": {"a": 1}, "bag": {}}, "found the name 'bag', expected one like `Health`"),
    ],
)
def test_wrong_components_are_refused(components: Any, says: str):
    faults = find_problems({**LEVEL, "components": components})
    assert any(says in fault for fault in faults), faults
