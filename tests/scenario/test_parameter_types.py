"""Parameters of rules that a scenario sets by names of object types, colours, states and agents."""

from typing import Any

import numpy as np
import pytest

from gv_engine import EachAgentVectorEnv, Scenario
from gv_engine.rules.system import REWARD
from tests import DATA
from tests.scenario.reading import CAMP, assert_refused, camp

SHINE, MEET = CAMP["reward_functions"]


def load(**changes: Any) -> Scenario:
    return camp(reward_functions=[SHINE, {**MEET, **changes}])


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_a_rule_gets_the_numbers_of_what_is_named(world):
    env = EachAgentVectorEnv(camp(), 1, world=world)
    env.reset(seed=0)
    pays_for_light = 0.75
    assert env.step(np.array([7, 7]))[1].tolist() == [201 + pays_for_light, 1210.5 + pays_for_light]


def test_each_is_read_as_annotated():
    _, call = load(shut="Door.OPEN", team=["ann", "reds"]).calls(REWARD)
    assert call.arguments["shut"] == 0
    assert call.arguments["team"] == (False, True, True)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("soup", "Kex", "soup: no object type 'Kex'; did you mean 'Key'"),
        ("paint", "BLU", "paint: no colour 'BLU'; did you mean 'BLUE'"),
        ("shut", "Door.LOKED", "shut: Door has no state 'LOKED'; did you mean 'LOCKED'"),
        ("shut", "LOCKED", "shut: found 'LOCKED', expected a type and its state: Door.OPEN"),
        ("shut", "Key.OPEN", "shut: Key has no state 'OPEN'; it has none"),
        ("foods", "Door", "foods: found 'Door', expected a list"),
        ("foods", ["Door", "Doo"], "foods[1]: no object type 'Doo'"),
        ("team", "blues", "team: no agent or team 'blues' (allowed: ann, bob, reds)"),
    ],
)
def test_another_name_is_refused_with_what_is_allowed(name, value, says):
    rewards = [SHINE, {**MEET, name: value}]
    assert_refused(says, {**CAMP, "reward_functions": rewards}, DATA / "camp")
