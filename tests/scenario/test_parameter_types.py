"""Parameters of rules that a scenario sets by names of object types, colours, states and agents."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import EachAgentVectorEnv, Scenario, ScenarioError
from gv_engine.rules.system import Phase

RULES = '''
from collections.abc import Sequence

from gv_engine import REWARD, AgentMask, ColorIndex, ObjectTypeIndex, StateIndex, World, system
from systems.queries import ahead


@system(REWARD)
def meet(
    w: World,
    agent: int,
    soup: ObjectTypeIndex,
    paint: ColorIndex,
    shut: StateIndex,
    foods: Sequence[ObjectTypeIndex],
    team: AgentMask,
) -> float:
    """Reward what is ahead."""
    e = ahead(w, agent)
    total = 0.0
    for food in foods:
        total += 10 * (w.kind.value[e] == food)
    if team[agent]:
        total += 1000
    return total + (w.kind.value[e] == soup) + 0.5 * (w.color.value[e] == paint) + 100 * shut
'''
PARAMETERS: dict[str, Any] = {
    "soup": "Key",
    "paint": "BLUE",
    "shut": "Door.LOCKED",
    "foods": ["Door", "Box"],
    "team": "reds",
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules.py").write_text(RULES)
    monkeypatch.chdir(tmp_path)


def level(**changes: Any) -> dict[str, Any]:
    return {
        "max_steps": 20,
        "agents": {"names": ["ann", "bob"], "teams": {"reds": ["bob"]}},
        "map": "#####\n#>K.#\n#>D.#\n#####",
        "legend": {
            "K": {"object": "Key", "color": "RED"},
            "D": {"object": "Door", "state": "LOCKED", "color": "BLUE"},
        },
        "transition_functions": ["turn_agent"],
        "reward_functions": [{"name": "./rules.py:meet", **PARAMETERS, **changes}],
        "observation_function": {"name": "partially_occluded", "area": [[-2, 0], [-1, 1]]},
        "terminating_function": "reach_exit",
    }


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_a_rule_gets_the_numbers_of_what_is_named(world):
    env = EachAgentVectorEnv(level(), 1, world=world)
    env.reset(seed=0)
    assert env.step(np.array([7, 7]))[1].tolist() == [201, 1210.5]


def test_each_is_read_as_annotated():
    (call,) = Scenario.load(level(shut="Door.OPEN", team=["ann", "reds"])).calls(Phase.REWARD)
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
        ("foods", ["Door", "Doo"], r"foods\[1\]: no object type 'Doo'"),
        ("team", "blues", r"team: no agent or team 'blues' \(allowed: ann, bob, reds\)"),
    ],
)
def test_another_name_is_refused_with_what_is_allowed(name, value, says):
    with pytest.raises(ScenarioError, match=says):
        Scenario.load(level(**{name: value}))
