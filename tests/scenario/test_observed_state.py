"""Numbers of components that agents observe beside their view."""

from typing import Any

import numpy as np
import pytest

from gv_engine import AgentsVectorEnv, GridEnv, GridVectorEnv, Scenario
from gv_engine.envs.observations import REPRESENTATION_NAMES
from gv_engine.play.session.session import Session
from gv_engine.play.validation.differential import find_observation_fault
from gv_engine.rules.frame import group_checklists
from gv_engine.scenario.readers.map import frame_to_text
from tests import DATA
from tests.scenario.reading import CAMP, assert_refused, camp, keep_rollout

ALONE: dict[str, Any] = {
    "agents": {"components": CAMP["agents"]["components"]},
    "map": "#######\n#>...P#\n#.QQ..#\n#######",
    "reward_functions": ["reach_exit"],
}
INTEGERS = [
    "agent.vitals.health",
    "agent.tired",
    "agent.home",
    "Pot.soups",
    "old_pot.stock.soups",
    "agent.position.x",
]
AT_FIRST = [9, 0, -1, 3, 3, 1]


def level(*numbers: Any, **changes: Any) -> dict[str, Any]:
    return {**CAMP, **ALONE, "observation": {"state": list(numbers)}, **changes}


def load(*numbers: Any, **changes: Any) -> Scenario:
    return Scenario.load(level(*numbers, **changes), DATA / "camp")


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_each_agent_observes_its_own_to_the_end_of_an_episode(world):
    envs = AgentsVectorEnv(camp(), 2, world=world, autoreset_mode="SameStep")
    first, _ = envs.reset(seed=0)
    begin = [9, 0, -1, 1, 20, 3, 3, 0, 0, 0, 2, 50, 1, 3]
    assert first["state"].tolist() == [[begin, begin]] * 2
    for step in range(6):
        many, *_, info = envs.step(np.zeros((2, 2), np.int64))
        if step == 1:
            ann = [7, 0, 3, 3, 5, 7, 3, 3, 1, 0, 2, 46, 0.5625, 3]
            bob = [7, 0, 1, 1, 5, 7, 3, 4, 2, 0, 3, 46, 0.5625, 3]
            assert many["state"].tolist() == [[ann, bob]] * 2
    assert many["state"].tolist() == [[begin, begin]] * 2
    assert [final["state"][0] for final in info["final_obs"].ravel()] == [3] * 4


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
def test_a_float_makes_all_of_them_floats(world):
    env: Any = GridEnv(load(*INTEGERS), world=world)
    observation, _ = env.reset(seed=0)
    assert observation["state"].tolist() == AT_FIRST
    assert observation["state"].dtype == np.int32
    env.step(0)
    observation, *_ = env.step(0)
    assert observation["state"].tolist() == [7, 0, 3, 7, 3, 3]
    assert observation in env.observation_space
    assert env.observation_space["state"].low.tolist()[:3] == [0, 0, -1]
    assert env.observation_space["state"].high.tolist()[:3] == [9, 1, 8]
    env = GridEnv(load("agent.degrees", *INTEGERS), world=world)
    env.reset(seed=0)
    observation, *_ = env.step(0)
    assert observation["state"].dtype == np.float32
    assert observation["state"][:2].tolist() == [10, 8]
    assert env.observation_space["state"].high[0] == np.inf


@pytest.mark.sample("default", "text", "flat", "pixels", "minigrid")
@pytest.mark.parametrize("name", REPRESENTATION_NAMES)
def test_all_representations_have_them(name):
    env = GridEnv(load(*INTEGERS), world="object", observation_representation=name)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space
    if name == "text":
        assert observation.endswith("\nhealth 9, tired 0, home -1, soups 3, soups 3, x 1")
    elif name == "flat":
        assert observation[-6:].tolist() == AT_FIRST
    else:
        assert observation["state"].tolist() == AT_FIRST


def test_a_mission_comes_before_them():
    task = {"text": "fetch the {color} {object}", "object": "Key", "color": "RED"}
    for representation in ("default", {"name": "default", "mission": "tokens"}):
        env: Any = GridEnv(
            load("agent.tired", mission=task),
            world="object",
            observation_representation=representation,
        )
        assert [*env.observation_space][-2:] == ["mission", "state"]
        observation, _ = env.reset(seed=0)
        assert observation["state"].tolist() == [0]
        assert observation in env.observation_space


def test_people_see_them():
    life = {"of": "agent.vitals.health", "label": "life", "show": "bar"}
    session = Session(load(life, "Pot.soups"), 0)
    session.step("MOVE_FORWARD")
    assert session.frame().numbers == (
        *(("life", "8", 8 / 9, True, "", False), ("soups", "5", None, True, "", False)),
    )
    assert frame_to_text(session.frame()).endswith("\nlife 8, soups 5")


def test_players_see_more_than_agents_and_arrays_as_checklists():
    soups = {"of": "Pot.soups", "texts": ["A soup", "Two soups", "Too many soups"]}
    display = [soups, {"of": "agent.counts", "label": "Found", "show": "checklist"}]
    names: dict[str, Any] = {name: {} for name in ALONE["agents"]["components"]}
    observation = {"state": ["agent.tired"], "display": display}
    agents = {"components": {**names, "./rules.py:Bag": {"counts": {"STONE": 2}}}}
    scenario = load(observation=observation, agents=agents)
    env: Any = GridEnv(scenario, world="object")
    assert env.reset(seed=0)[0]["state"].tolist() == [0]
    frame = Session(scenario, 0).frame()
    assert [number.label for number in frame.numbers] == ["tired"]
    assert frame.display[0] == ("soups", "Too many soups", None, True, "", True)
    lists = group_checklists(frame.display)
    ticked = {title: [item.is_ticked for item in items] for title, items in lists.items()}
    assert ticked == {"Found": [False, True, False]}
    assert [item.label for item in lists["Found"]] == ["wood", "stone", "sap"]


def test_an_array_stands_for_its_numbers():
    state = load("agent.counts", "agent.weights", {"of": "Pot.counts.SAP", "label": "sap"})
    observed = state.observed_state
    assert observed
    assert observed.names[:2] == ("agent.counts.WOOD", "agent.counts.STONE")
    assert observed.labels == ("wood", "stone", "sap", "weights 0", "weights 1", "sap")
    assert observed.high.tolist()[:3] == [99, 99, 99]
    amount = load({"of": "agent.counts", "label": "my", "show": "bar"}).observed_state
    assert amount
    assert amount.labels == ("my wood", "my stone", "my sap")


def test_rollouts_keep_them(tmp_path):
    env = GridVectorEnv(load(*INTEGERS), 2, world="object", autoreset_mode="Disabled")
    arrays, about = keep_rollout(env, tmp_path / "out")
    assert arrays["state"].shape == (18, 6)
    assert arrays["state"][:, 0].tolist() == [9, 8, 7, 6, 5, 4] * 3
    assert arrays["last_state"][:, 0].tolist() == [3, 3, 3]
    assert about["arrays"]["state"]["low"][0] == 0


def test_a_number_out_of_its_bounds_is_found():
    env = GridEnv(load("agent.vitals.health", max_steps=20), world="object")
    env.reset(seed=0)
    for _ in range(10):
        observation, *_ = env.step(0)
    assert find_observation_fault(env.scenario, observation) == (
        "agent.vitals.health is -1, and its bounds are 0 to 9"
    )


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        (["health"], "state[0]: found 'health', expected agent.FIELD, "),
        (["agent.vitals.health.now"], "health is a single number, without an item 'now'"),
        (["agent.vitals.health.now.here"], "expected agent.FIELD"),
        (["agent.counts.WOD"], "counts has no item 'WOD'; did you mean 'WOOD'"),
        (["agent.bag.weights.2"], "weights has no item '2' (allowed: 0, 1)"),
        (["agent.counts", "agent.bag.counts.STONE"], "agent.bag.counts.STONE is listed twice"),
        (["agent..health"], "expected agent.FIELD"),
        (["agent.helth"], "the components of agent have no field 'helth'; did you mean 'health'"),
        (
            ["agent.soups"],
            "of agent have no field 'soups' (allowed: facing",
        ),
        (["agent.vitls.health"], "no component 'vitls'; did you mean 'vitals'"),
        (["agent.warmth.health"], "the component warmth has no field 'health' (allowed: degrees"),
        (["agent.value"], "have no field 'value'"),
        (["Jar.amount"], "sugar and water have a field amount; write Jar.sugar.amount or"),
        (["Pit.soups"], "no object type 'Pit'"),
        (["agent.friend"], "friend is another object, and agents observe only numbers"),
        ([{"of": "Pot.soups", "show": "bar"}], "show: found bar, and soups has no declared bounds"),
        ([{"of": "Pot.soups", "show": "dial"}], "form 'dial'"),
        ([{"of": "Pot.soups", "show": "checklist"}], "soups is a single number; expected an array"),
        ([{"show": "bar"}], "`of` is missing"),
        ([{"of": "Pot.soups", "labl": "x"}], "labl"),
        ([3], "found '3', expected agent"),
        (["Pot.soups", "pot.stock.soups"], "state[1]: pot.stock.soups is listed twice"),
        ([], "numbers"),
    ],
)
def test_what_is_no_number_is_refused_with_its_place(numbers, says):
    assert_refused(says, level(*numbers), DATA / "camp")


@pytest.mark.parametrize(
    ("observation", "says"),
    [
        ({}, "observation: `state` is missing"),
        ({"state": "Pot.soups"}, "state: found 'Pot.soups', expected a list: [Pot"),
    ],
)
def test_an_observation_lists_numbers(observation, says):
    assert_refused(says, {**CAMP, **ALONE, "observation": observation}, DATA / "camp")


def test_members_of_a_mixture_observe_the_same_whatever_their_size():
    def mix(*members: Any) -> dict[str, Any]:
        return {"mixture": [{"scenario": each} for each in members]}

    without = {key: value for key, value in level().items() if key != "observation"}
    said = "observes another state than"
    assert_refused(said, mix(level("Pot.soups"), without), DATA / "camp")
    wide = {"map": "#" * 30 + "\n#>" + "." * 26 + "P#\n" + "#" * 30}
    mixed = mix(level("Pot.soups", "agent.x"), level("Pot.soups", "agent.x", **wide))
    env: Any = GridEnv(Scenario.load(mixed, DATA / "camp"), world="object")
    assert env.reset(seed=0)[0]["state"].tolist() == [3, 1]
    assert env.observation_space["state"].high[1] >= 29


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
def test_bounds_fit_the_type_and_the_default(tmp_path, annotation, says):
    rules = (DATA / "camp" / "rules.py").read_text("utf-8")
    declared = "Annotated[Int8, Bounds(0, 9)] = 9"
    (tmp_path / "rules.py").write_text(rules.replace(declared, annotation), "utf-8")
    assert_refused(says, level("agent.tired"), tmp_path)
