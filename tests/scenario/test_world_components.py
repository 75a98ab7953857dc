"""Components of the world as a whole: `world: {components: [./rules.py:Weather]}`."""

from typing import Any

import numpy as np
import pytest

from gv_engine import AgentsVectorEnv, Scenario, component
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.scenario.memory.row_checks import find_fault
from tests import DATA
from tests.scenario.reading import CAMP, assert_refused, camp, find_problems


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_rules_read_and_write_them_and_agents_observe_them(world: str):
    scenario = camp()
    assert (scenario.layout.world_entity, scenario.layout.first_object) == (3, 6)
    env = AgentsVectorEnv(scenario, 3, world=world, autoreset_mode="SameStep")
    observation, _ = env.reset(seed=5)
    assert (observation["state"][..., -2:] == [1.0, 3.0]).all()
    light, wait, days = 1.0, np.full((3, 2), 7), []
    for t in range(1, 14):
        observation, rewards, _, truncated, _ = env.step(wait)
        light = 0.75 * light if t % 6 != 5 else 1.0
        meeting = [201, 1210.5]
        np.testing.assert_allclose(rewards, np.add(meeting, [[light] * 2] * 3))
        assert truncated.all() == (t % 6 == 0)
        if truncated.all():
            light = 1.0  # each level begins anew
        np.testing.assert_allclose(observation["state"][..., -2], light)
        days.append(observation["state"][:, 0, -1])
        assert not find_fault(scenario.layout, env.snapshot())
    assert len(np.unique(days[4])) > 1  # by chance
    assert (days[5] == 3).all()
    rows = env.snapshot()
    later = [env.step(wait)[0]["state"] for _ in range(6)]
    env.restore(rows)
    again = [env.step(wait)[0]["state"] for _ in range(6)]
    np.testing.assert_array_equal(later, again)


@pytest.mark.compiled
def test_both_worlds_are_equal():
    assert not run_differential_test(camp(), episodes=2).fault


def test_a_row_without_them_is_damaged():
    env = AgentsVectorEnv(camp(), 1, world="object")
    env.reset(seed=0)
    rows = env.snapshot().copy()
    rows["weather"]["has"][0, 3] = 0
    with pytest.raises(ValueError, match=r"weather\.has of the world is 0"):
        env.restore(rows)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"world": {}}, "world: `components` is missing: {components"),
        ({"world": {"components": ["./rules.py:Wether"]}}, "did you mean 'Weather'"),
        ({"world": {"parts": []}}, "unknown key 'parts'"),
        ({"observation": {"state": ["world.heat"]}}, "components of world have no field 'heat'"),
        ({"world": {"components": []}}, "world.components: found no components, expected at least"),
    ],
)
def test_mistakes_are_named(changes: dict[str, Any], says: str):
    assert_refused(says, {**CAMP, **changes}, DATA / "camp")


def test_one_mistake_is_one_problem():
    misspelled = {**CAMP, "world": {"components": ["./rules.py:Wether"]}}
    assert len(find_problems(misspelled, DATA / "camp")) == 1
    without = {key: CAMP[key] for key in CAMP if key != "world"}
    assert_refused("the world has no components; list them: world:", without, DATA / "camp")


def test_members_of_a_mixture_have_the_same():
    def mix(name: str, **changes: Any) -> dict[str, Any]:
        levels = {**CAMP, "name": "a"}, {**CAMP, "name": name, **changes}
        return {"mixture": [{"scenario": level} for level in levels]}

    other = {"components": {"./rules.py:Weather": {"day": 4}}}
    says = "b and a have other components under `world`"
    assert_refused(says, mix("b", world=other), DATA / "camp")
    assert Scenario.load(mix("c", max_steps=5), DATA / "camp").layout.world_entity == 3


def test_no_component_takes_their_name():
    with pytest.raises(TypeError, match=r"its column would be w\.world"):

        @component
        class World:
            """Weather."""

            daylight: float = 1.0
