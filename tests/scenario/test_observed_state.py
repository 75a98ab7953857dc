"""Numbers of components that agents observe beside their view."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces

from gv_engine import EachAgentVectorEnv, GridEnv, GridVectorEnv, Scenario, ScenarioError
from gv_engine.cli import main
from gv_engine.envs.observations import REPRESENTATION_NAMES
from gv_engine.rollout import episode_folder
from gv_engine.scenario.map import frame_to_text
from gv_engine.session.session import Session
from gv_engine.validation.differential import find_observation_fault

RULES = '''
from typing import Annotated

from gv_engine import TRANSITION, Bounds, Int8, Int16, World, component, system
from gv_engine import Coordinate, EntityId


@component
class Vitals:
    health: Annotated[Int8, Bounds(0, 9)] = 9
    tired: bool = False
    home: Coordinate = -1
    friend: EntityId = 0


@component
class Warmth:
    degrees: float = 20.0


@component
class Sugar:
    amount: int = 0


@component
class Water:
    amount: int = 0


@component
class Stock:
    soups: Int16 = 3
    health: Int8 = 1


@system(TRANSITION)
def live(w: World, agent: int) -> None:
    """Lose health and warmth."""
    w.vitals.health[agent] -= 1
    w.vitals.tired[agent] = w.vitals.health[agent] < 7
    w.vitals.home[agent] = w.position.x[agent]
    w.warmth.degrees[agent] /= 2


@system(TRANSITION)
def cook(w: World) -> None:
    """Cook two soups in each pot."""
    for pot in w.having(w.stock):
        w.stock.soups[pot] += 2
'''
LEVEL: dict[str, Any] = {
    "name": "camp",
    "max_steps": 6,
    "objects": {
        "Pot": {"components": ["./rules.py:Stock", "Solid"]},
        "OldPot": {"components": ["./rules.py:Stock", "Solid"]},
        "Jar": {"components": ["./rules.py:Sugar", "./rules.py:Water"]},
    },
    "agents": {"number": 1, "components": ["./rules.py:Vitals", "./rules.py:Warmth"]},
    "map": "#######\n#>...P#\n#.QQ..#\n#######",
    "legend": {"P": "Pot", "Q": "OldPot"},
    "transition_functions": ["move_agent", "./rules.py:live", "./rules.py:cook"],
    "reward_functions": ["reach_exit"],
    "observation_function": {"name": "partially_occluded", "area": [[-6, 0], [-3, 3]]},
    "terminating_function": "reach_exit",
}
ALL = [
    "agent.vitals.health",
    "agent.tired",
    "agent.home",
    "Pot.soups",
    "old_pot.stock.soups",
    "agent.position.x",
]
AFTER_TWO_STEPS = [7, 0, 3, 7, 3, 3]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules.py").write_text(RULES)
    monkeypatch.chdir(tmp_path)


def level(*numbers: Any, **changes: Any) -> dict[str, Any]:
    return {**LEVEL, "observation": {"state": list(numbers)}, **changes}


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_numbers_are_observed_in_one_world_and_in_many(world):
    env: Any = GridEnv(level(*ALL), world=world)
    observation, _ = env.reset(seed=0)
    assert observation["state"].tolist() == [9, 0, -1, 3, 3, 1]
    assert observation["state"].dtype == np.int32
    for _ in range(2):
        observation, *_ = env.step(0)
    assert observation["state"].tolist() == AFTER_TWO_STEPS
    assert observation in env.observation_space
    assert env.observation_space["state"].low.tolist()[:3] == [0, 0, -1]
    assert env.observation_space["state"].high.tolist()[:3] == [9, 1, 8]
    envs = GridVectorEnv(level(*ALL), 3, world=world, autoreset_mode="SameStep")
    envs.reset(seed=0)
    for step in range(6):
        many, *_, info = envs.step(np.zeros(3, np.int64))
        if step == 1:
            assert many["state"].tolist() == [AFTER_TWO_STEPS] * 3
    assert many["state"][0].tolist() == [9, 0, -1, 3, 3, 1]  # the next episode
    assert info["final_obs"][0]["state"].tolist()[0] == 3


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_a_float_makes_all_of_them_floats(world):
    env: Any = GridEnv(level("agent.degrees", *ALL), world=world)
    env.reset(seed=0)
    observation, *_ = env.step(0)
    assert observation["state"].dtype == np.float32
    assert observation["state"][:2].tolist() == [10, 8]
    assert env.observation_space["state"].high[0] == np.inf


@pytest.mark.parametrize("name", REPRESENTATION_NAMES)
def test_all_representations_have_them(name):
    env = GridEnv(level(*ALL), world="object", observation_representation=name)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    if name == "text":
        assert observation.endswith("\nhealth 9, tired 0, home -1, soups 3, soups 3, x 1")
    elif name == "flat":
        assert observation[-6:].tolist() == [9, 0, -1, 3, 3, 1]
    else:
        assert observation["state"].tolist() == [9, 0, -1, 3, 3, 1]


def test_a_mission_comes_before_them():
    task = {"text": "fetch the {color} {object}", "object": "Key", "color": "RED"}
    env: Any = GridEnv(level("agent.tired", mission=task), world="object")
    assert [*env.observation_space][-2:] == ["mission", "state"]
    assert env.reset(seed=0)[0]["state"].tolist() == [0]
    tokens = {"name": "default", "mission": "tokens"}
    env = GridEnv(
        level("agent.tired", mission=task), world="object", observation_representation=tokens
    )
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space


def test_each_agent_observes_its_own():
    agents = {"number": 2, "components": ["./rules.py:Vitals", "./rules.py:Warmth"]}
    rules = ["./rules.py:live", "./rules.py:cook"]
    two = level("agent.position.x", "Pot.soups", agents=agents, transition_functions=rules)
    two |= {"map": "#######\n#>.>.P#\n#.QQ..#\n#######"}
    env = EachAgentVectorEnv(two, 2, world="object")
    observation, _ = env.reset(seed=0)
    assert sorted(observation["state"][:2].tolist()) == [[1, 3], [3, 3]]


def test_people_see_them():
    life = {"of": "agent.vitals.health", "label": "life", "show": "bar"}
    session = Session(Scenario.load(level(life, "Pot.soups")), 0)
    session.step("MOVE_FORWARD")
    assert session.frame().numbers == (("life", "8", 8 / 9), ("soups", "5", None))
    assert frame_to_text(session.frame()).endswith("\nlife 8, soups 5")


@pytest.mark.compiled
def test_rollouts_keep_them_and_policies_read_them():
    Path("camp.yaml").write_text(json.dumps(level(*ALL)))
    assert main(["rollout", "camp.yaml", "--episodes", "3", "--out", "out"]) == 0
    arrays, about = episode_folder.read("out")
    assert arrays["state"].shape == (18, 6)
    assert arrays["state"][:, 0].tolist() == [9, 8, 7, 6, 5, 4] * 3
    assert arrays["last_state"][:, 0].tolist() == [3, 3, 3]
    assert about["arrays"]["state"]["low"][0] == 0


def test_a_number_out_of_its_bounds_is_found():
    env = GridEnv(level("agent.vitals.health", max_steps=20), world="object")
    env.reset(seed=0)
    for _ in range(10):
        observation, *_ = env.step(0)
    assert find_observation_fault(env.scenario, observation) == (
        "agent.vitals.health is -1, and its bounds are 0 to 9"
    )


@pytest.mark.parametrize(
    ("number", "says"),
    [
        ("health", r"state\[0\]: found 'health', expected agent\.FIELD, .*, as agent\.health"),
        ("agent.vitals.health.now", r"expected agent\.FIELD"),
        ("agent..health", r"expected agent\.FIELD"),
        ("agent.helth", r"the components of agent have no field 'helth'; did you mean 'health'"),
        ("agent.soups", r"of agent have no field 'soups' \(allowed: facing, .*, degrees\)"),
        ("agent.vitls.health", r"no component 'vitls'; did you mean 'vitals'"),
        ("agent.warmth.health", r"the component warmth has no field 'health' .allowed: degrees"),
        ("agent.value", r"have no field 'value'"),
        ("Jar.amount", r"sugar and water have a field amount; write Jar\.sugar\.amount or"),
        ("Pot.degrees", r"the components of Pot have no field 'degrees'"),
        ("Pit.soups", r"no object type 'Pit'.*Pot"),
        ("agent.friend", r"friend is another object, and agents observe numbers alone"),
        ({"of": "Pot.soups", "show": "bar"}, r"show: found bar, and soups has no declared bounds"),
        ({"of": "Pot.soups", "show": "dial"}, r"form 'dial'"),
        ({"show": "bar"}, "`of` is missing"),
        ({"of": "Pot.soups", "labl": "x"}, "labl"),
        (3, "found '3', expected agent"),
    ],
)
def test_what_is_no_number_is_refused_with_its_place(number, says):
    with pytest.raises(ScenarioError, match=says):
        Scenario.load(level(number))


def test_none_is_listed_twice_and_some_are_listed():
    with pytest.raises(ScenarioError, match=r"state\[1\]: Pot\.soups is listed twice"):
        Scenario.load(level("Pot.soups", "Pot.soups"))
    with pytest.raises(ScenarioError, match="numbers"):
        Scenario.load(level())
    with pytest.raises(ScenarioError, match="observation: `state` is missing"):
        Scenario.load({**LEVEL, "observation": {}})
    with pytest.raises(ScenarioError, match=r"state: found 'Pot\.soups', expected a list: \[Pot"):
        Scenario.load({**LEVEL, "observation": {"state": "Pot.soups"}})
    with pytest.raises(ScenarioError, match=r"state\[1\]: pot\.stock\.soups is listed twice"):
        Scenario.load(level("Pot.soups", "pot.stock.soups"))


def test_members_of_a_mixture_observe_the_same():
    for name, changes in {"one": level("Pot.soups"), "two": LEVEL}.items():
        Path(f"{name}.yaml").write_text(json.dumps(changes))
    with pytest.raises(ScenarioError, match="observes another state than"):
        Scenario.load({"mixture": ["one.yaml", "two.yaml"]})
    same = Scenario.load({"mixture": ["one.yaml", "one.yaml"]})
    env = GridEnv(same, world="object")
    assert env.reset(seed=0)[0]["state"].tolist() == [3]
    assert isinstance(env.observation_space, spaces.Dict)


def test_members_of_a_mixture_may_have_other_sizes():
    wide = {"map": "#" * 30 + "\n#>" + "." * 26 + "P#\n" + "#" * 30, "legend": {"P": "Pot"}}
    for name, changes in {"one": {}, "two": wide}.items():
        Path(f"{name}.yaml").write_text(json.dumps(level("agent.x", **changes)))
    env: Any = GridEnv(Scenario.load({"mixture": ["one.yaml", "two.yaml"]}), world="object")
    assert env.observation_space["state"].high[0] >= 29


@pytest.mark.parametrize(
    ("annotation", "says"),
    [
        ("Annotated[Int8, Bounds(0, 9)] = 10", "has the default 10, which is not from 0 to 9"),
        ("Annotated[Int8, Bounds(0, 1000)] = 9", "holds -128 to 127, and its bounds are 0 to 1000"),
        ("Annotated[int, Bounds(0, 10**10)] = 9", "its bounds are 0 to 10000000000"),
        ("Annotated[int, Bounds(0, float('inf'))] = 9", "its bounds are 0 to inf"),
        ("Annotated[int, Bounds(0.5, 9)] = 9", "holds integers, and its bounds are 0.5 to 9"),
        ("Annotated[int, Bounds(9, 0)] = 9", "its bounds are 9 to 0"),
        ("Annotated[Coordinate, Bounds(0, 9)] = 9", "has bounds, which only numbers have"),
    ],
)
def test_bounds_fit_the_type_and_the_default(annotation, says):
    Path("rules.py").write_text(RULES.replace("Annotated[Int8, Bounds(0, 9)] = 9", annotation))
    with pytest.raises(ScenarioError, match=re.escape(says)):
        Scenario.load(level("agent.tired"))
