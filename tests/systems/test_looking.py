"""Objects whose states are the orientations: in a view they look as the agent sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from components.objects import AGENT_TYPE
from gv_engine import AgentsVectorEnv, GridVectorEnv, Scenario
from gv_engine.rules.geometry import ORIENTATIONS, rotate, to_relative

pytestmark = pytest.mark.compiled_elsewhere

WAYS = [*ORIENTATIONS]
LEVEL: dict[str, Any] = {
    "objects": {
        "Guard": {"states": WAYS, "components": ["Solid"]},
        "Belt": {"states": WAYS, "layer": "ground"},
        "Gate": {"states": ["A", "B", "C", "D"]},
    },
    # the same for an agent that looks up, wherever the board is turned to
    "maps": ["#####\n#gbG#\n#.a.#\n#####"],
    "symmetries": ["turn"],
    "legend": {
        "a": {"agent": "FORWARD"},
        "g": {"object": "Guard", "state": "LEFT"},
        "b": {"object": "Belt", "state": "FORWARD"},
        "G": {"object": "Gate", "state": "D"},
    },
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": [],
    "terminating_function": "reach_exit",
    "observation_function": {"name": "fully_transparent", "area": [[-1, 0], [-1, 1]]},
}
GUARD, BELT, GATE = range(15, 18)


def test_relative_undoes_a_turn():
    for to in range(4):
        assert [to_relative(rotate(way, to), to) for way in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize("world", ["object", "compiled"])
def test_they_look_as_the_agent_sees_them(world: str):
    scenario = Scenario.load(LEVEL)
    envs = GridVectorEnv(scenario, 16, world=world, observation_representation="layers")
    seen, _ = envs.reset(seed=0)
    facings = {int(envs.snapshot(k)["agent"]["facing"][1]) for k in range(16)}
    assert facings == {0, 1, 2, 3}
    ahead = [[GUARD, 2, 0], [BELT, 0, 0], [GATE, 3, 0]]
    assert (seen["grid"][:, 0, :, :3] == ahead).all()
    assert (seen["grid"][:, 0, 1, 3:] == [BELT, 0, 0]).all()
    assert (seen["grid"][:, 1, :, 3:] == [2, 0, 0]).all()
    seen, *_ = envs.step(np.full(16, scenario.action_names.index("TURN_LEFT")))
    assert (seen["grid"][:, 0, 2, :3] == [GUARD, 0, 0]).all()
    assert (seen["grid"][:, 1, 2, :3] == [BELT, 3, 0]).all()


@pytest.mark.thorough
@pytest.mark.compiled
def test_so_do_other_agents():
    scenario = Scenario.load(
        {
            **{key: LEVEL[key] for key in ("transition_functions", "reward_functions")},
            "agents": 2,
            "map": "#####\n#>.^#\n#####",
            "terminating_function": "reach_exit",
            "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-2, 2]]},
        }
    )
    for world in ("object", "compiled"):
        seen = AgentsVectorEnv(scenario, 1, world=world).reset(seed=3)[0]["grid"]
        assert seen[0, 0, 0, 2, :2].tolist() == [AGENT_TYPE, WAYS.index("LEFT")]
        assert seen[0, 1, 2, 0, :2].tolist() == [AGENT_TYPE, WAYS.index("RIGHT")]
