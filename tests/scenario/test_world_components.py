"""Components of the world as a whole: `world: {components: [./rules.py:Weather]}`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gv_engine import AgentsVectorEnv, GridVectorEnv, Scenario, ScenarioError, component
from gv_engine.scenario.row_checks import find_fault

RULES = '''
from typing import Annotated
from components.objects import KEY
from gv_engine import REWARD, TRANSITION, Bounds, World, component, system

@component
class Weather:
    """Weather."""
    daylight: Annotated[float, Bounds(0, 1)] = 1.0
    day: int = 0

@system(TRANSITION)
def pass_time(w: World) -> None:
    """It gets dark, and one day a key falls from the sky."""
    w.weather.daylight[w.world] *= 0.75
    if w.weather.daylight[w.world] < 0.3:
        w.weather.daylight[w.world] = 1.0
        w.weather.day[w.world] += w.rng.integers(1, 3)
        y, x = w.rng.integers(0, w.height), w.rng.integers(0, w.width)
        if w.at[y, x] == 0:
            w.place(w.spawn(KEY), y, x)

@system(REWARD)
def shine(w: World, agent: int) -> float:
    """Pays for light."""
    return w.weather.daylight[w.world]
'''
LEVEL: dict[str, Any] = {
    "max_steps": 20,
    "world": {"components": {"./rules.py:Weather": {"day": 3}}},
    "map": "######\n#^..K#\n#>..E#\n######",
    "agents": 2,
    "transition_functions": ["move_agent", "turn_agent", "pickndrop", "./rules.py:pass_time"],
    "reward_functions": ["./rules.py:shine"],
    "observation_function": {"name": "fully_transparent", "area": [[-2, 2], [-2, 2]]},
    "observation": {"state": ["world.daylight", "world.weather.day", "agent.facing"]},
    "terminating_function": "reach_exit",
}
WORLDS = ["object", pytest.param("compiled", marks=pytest.mark.compiled)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "rules.py").write_text(RULES, "utf-8")
    return tmp_path


def load(folder: Path, **changes: Any) -> Scenario:
    if changes.get("agents") == 1:
        changes["map"] = LEVEL["map"].replace(">", ".")
    return Scenario.load({**LEVEL, **changes}, folder=folder)


@pytest.mark.parametrize("world", WORLDS)
def test_rules_read_and_write_them_and_agents_observe_them(folder: Path, world: str):
    scenario = load(folder)
    assert (scenario.layout.world_entity, scenario.layout.first_object) == (3, 4)
    env = AgentsVectorEnv(scenario, 3, world=world, autoreset_mode="SameStep")
    observation, _ = env.reset(seed=5)
    assert (observation["state"][..., :2] == [1.0, 3.0]).all()
    light, rng, days = np.ones(3), np.random.default_rng(0), []
    for t in range(1, 45):
        observation, rewards, _, truncated, _ = env.step(rng.integers(4, 6, (3, 2)))  # turns
        light *= 0.75
        light[light < 0.3] = 1.0
        np.testing.assert_allclose(rewards, np.repeat(light[:, None], 2, 1))
        assert truncated.all() == (t % 20 == 0)
        if truncated.all():
            light[:] = 1.0  # each level begins anew
        np.testing.assert_allclose(observation["state"][..., 0], np.repeat(light[:, None], 2, 1))
        days.append(observation["state"][:, 0, 1])
        assert not find_fault(scenario.layout, env.snapshot())
    assert len(np.unique(days[18])) > 1  # by chance
    assert (days[19] == 3).all()
    rows = env.snapshot()
    later = [env.step(np.full((3, 2), 4))[0]["state"] for _ in range(6)]
    env.restore(rows)
    again = [env.step(np.full((3, 2), 4))[0]["state"] for _ in range(6)]
    np.testing.assert_array_equal(later, again)


@pytest.mark.compiled
def test_both_worlds_are_equal(folder: Path):
    shown = []
    for world in ("object", "compiled"):
        env = GridVectorEnv(load(folder, agents=1), 4, world=world)
        rng = np.random.default_rng(1)
        observations = [env.reset(seed=1)[0]]
        for _ in range(60):
            observations.append(env.step(rng.integers(8, size=4))[0])
        shown.append([{name: each.copy() for name, each in o.items()} for o in observations])
    for ours, other in zip(*shown, strict=True):
        for name in ours:
            np.testing.assert_array_equal(ours[name], other[name])


def test_one_mistake_is_one_problem(folder: Path):
    with pytest.raises(ScenarioError) as caught:
        load(folder, world={"components": ["./rules.py:Wether"]})
    assert len(caught.value.problems) == 1
    with pytest.raises(ScenarioError, match="the world has no components; list them: world:"):
        Scenario.load({key: LEVEL[key] for key in LEVEL if key != "world"}, folder=folder)


def test_a_row_without_them_is_damaged(folder: Path):
    env = GridVectorEnv(load(folder, agents=1), 1, world="object")
    env.reset(seed=0)
    rows = env.snapshot().copy()
    rows["weather"]["has"][0, 2] = 0
    with pytest.raises(ValueError, match=r"weather\.has of the world is 0"):
        env.restore(rows)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"world": {}}, "world: `components` is missing: {components"),
        ({"world": {"components": ["./rules.py:Wether"]}}, "did you mean 'Weather'"),
        ({"world": {"parts": []}}, "unknown key 'parts'"),
        (
            {"observation": {"state": ["world.heat"]}},
            "components of world have no field 'heat'",
        ),
        ({"world": {"components": []}}, "world.components: found no components, expected at least"),
    ],
)
def test_mistakes_are_named(folder: Path, changes: dict[str, Any], says: str):
    with pytest.raises(ScenarioError) as caught:
        load(folder, **changes)
    assert says in str(caught.value)


def test_members_of_a_mixture_have_the_same(folder: Path):
    other = {"components": {"./rules.py:Weather": {"day": 4}}}
    levels = {"a": LEVEL, "b": {**LEVEL, "world": other}, "c": {**LEVEL, "max_steps": 5}}
    for name, level in levels.items():
        text = yaml.safe_dump({"name": name, **{key: level[key] for key in level if key != "map"}})
        text += "map: |\n" + "".join(f"  {row}\n" for row in level["map"].split("\n"))
        (folder / f"{name}.yaml").write_text(text, "utf-8")
    with pytest.raises(ScenarioError, match="b and a have other components under `world`"):
        Scenario.load({"mixture": ["./a.yaml", "./b.yaml"]}, folder=folder)
    mixture = Scenario.load({"mixture": ["./a.yaml", "./c.yaml"]}, folder=folder)
    assert mixture.layout.world_entity == 3


def test_no_component_takes_their_name():
    with pytest.raises(TypeError, match=r"its column would be w\.world"):

        @component
        class World:
            """Weather."""

            daylight: float = 1.0
