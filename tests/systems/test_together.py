"""Agents that all move at once: who gives way."""

import re
from typing import Any

import numpy as np
import pytest

from gv_engine import AgentsVectorEnv, Scenario
from gv_engine.geometry import MOVE_BACKWARD, MOVE_FORWARD, MOVE_LEFT, MOVE_RIGHT, NOOP
from tests.scenario.reading import begin

WAYS = {">": MOVE_RIGHT, "<": MOVE_LEFT, "v": MOVE_BACKWARD, "^": MOVE_FORWARD, ".": NOOP}
AWAY = (3, 3), (3, 4)
"""Cells of agents that do not matter."""

SITUATIONS: dict[str, tuple[tuple[tuple[int, int], ...], str]] = {
    "two want a cell": (((1, 1), (1, 3), *AWAY), "><.."),
    "two want a cell, another is far": (((1, 1), (1, 3), *AWAY), "><^."),
    "two change places": (((1, 1), (1, 2), *AWAY), "><.."),
    "one follows another": (((1, 1), (1, 2), *AWAY), ">>.."),
    "one is followed": (((1, 2), (1, 1), *AWAY), ">>.."),
    "one stays": (((1, 1), (1, 2), *AWAY), ">..."),
    "a circle": (((1, 1), (1, 2), (2, 2), (2, 1)), ">v<^"),
    "a row whose first is blocked": (((1, 1), (1, 2), (1, 3), (1, 4)), ">>>."),
    "off the grid": (((1, 1), (-1, -1), *AWAY), ">..."),
}
"""By name, where four agents are and where they want to go."""

MOVED = """
                                 priority  block_both  soft  unless_contested  all_or_none
two want a cell                  1         -           1     -                 -
two want a cell, another is far  13        3           13    3                 -
two change places                -         -           -     12                -
one follows another              2         2           12    12                12
one is followed                  12        1           12    12                12
one stays                        -         -           -     -                 -
a circle                         -         -           1234  1234              1234
a row whose first is blocked     -         -           -     12                -
off the grid                     1         1           1     1                 1
"""
"""By situation and rule (`move_priority` and so on), which agents move. In a row whose first is
blocked, by `move_unless_contested` the third stays, and the second joins it."""
HEAD, *ROWS = (re.split(r"  +", line.strip()) for line in MOVED.strip().splitlines())


def crowd(rule: str, **changes: Any) -> Scenario:
    """A room with four agents that move by a rule."""
    level = {
        "agents": {"number": 4, "blocks": []},
        "map": "######\n#^^..#\n#^^..#\n#....#\n######",
        "action_space": ["NOOP", "MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT"],
        "transition_functions": ["aim_move", rule],
        "reward_functions": ["reach_exit"],
        "observation_function": {"name": "fully_transparent", "area": [[-1, 1], [-1, 1]]},
        "terminating_function": "reach_exit",
    }
    return Scenario.load({**level, **changes})


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", "compiled"])
@pytest.mark.parametrize("rule", [f"move_{way}" for way in HEAD])
def test_who_gives_way(rule: str, world: str):
    scenario = crowd(rule)
    names = list(SITUATIONS)
    expected = {name: cells[HEAD.index(rule.removeprefix("move_"))] for name, *cells in ROWS}
    env = AgentsVectorEnv(scenario, len(names), world=world)
    env.reset(seed=0)
    room = begin(scenario).world
    rows, actions = env.snapshot(), np.zeros((len(names), 4), np.int64)
    for k, name in enumerate(names):
        places, ways = SITUATIONS[name]
        for agent, place in enumerate(places, 1):
            room.stand(agent, *place)
            room.done[agent] = int(place[0] < 0)
        rows[k] = room.snapshot()
        actions[k] = [scenario.actions.index(WAYS[way]) for way in ways]
    env.restore(rows)
    env.step(actions)
    after = env.snapshot()
    for k, name in enumerate(names):
        before = [(y, x) for y, x in SITUATIONS[name][0]]
        cells = zip(after["position"]["y"][k, 1:5], after["position"]["x"][k, 1:5])
        moved = [e for e, (old, new) in enumerate(zip(before, cells), 1) if old != tuple(new)]
        assert "".join(map(str, moved)) == expected[name].strip("-"), name
        assert (after["aim"]["y"][k] == -1).all()


def test_walls_are_no_aim():
    env = AgentsVectorEnv(crowd("move_soft"), 1, world="object")
    _, info = env.reset(seed=0)
    assert info["action_mask"][0, 0].tolist() == [1, 0, 1, 0, 1]


def test_nested_rules_and_agents_that_list_it_have_the_component():
    both = {"name": "chain", "transition_functions": ["aim_move", "move_soft"]}
    for level in (
        crowd("move_soft", transition_functions=[both]),
        crowd("move_soft", agents={"number": 4, "components": ["Aim"]}),
    ):
        assert begin(level).world.aim.has[1]
