"""The built-in scenarios of several agents: each can be won together, and by nobody alone."""

from __future__ import annotations

from typing import Any

import pytest

import gv_engine
from gv_engine import Scenario
from gv_engine.scenario.library import list_multi_agent_grids

KEYS = {
    **{"f": "MOVE_FORWARD", "b": "MOVE_BACKWARD", "l": "MOVE_LEFT", "r": "MOVE_RIGHT"},
    **{"L": "TURN_LEFT", "R": "TURN_RIGHT"},
    **{"a": "ACTUATE", ".": "ACTUATE", "p": "PICK_N_DROP", "g": "LOAD"},
}
"""What agents do, a character a step; a dot where they wait, and there is nothing to actuate."""
WINS = {
    "hold-plates": ("fff....fffff", "ff.ffff...ff"),
    "hand-over": ("fpfrp........", ".....fplLaffl"),
    "hunt": (".....", "fffff", "....."),
    "commons": ("fffrrrr...", "..rfffrrrr"),
    "race": ("..........", "fffffflffr", ".........."),
    "ball": ("rffffffff", ".........", ".........", "........."),
    "foraging-8x8-2p-3f": ("rrgffflll...gbbbr......g", ".........frrg....bbbbbrg"),
    "foraging-8x8-2p-2f-coop": ("ffr....gr...g", "...rrrrg.bbrg"),
    "foraging-10x10-4p-3f-2s": (
        "....................frrrr........g",
        ".........bbbb......g.....fffrr...g",
        "ffll....g....blllllg..............",
        "....ffffg.....................fflg",
    ),
}
"""By name, what each does until all have won."""


@pytest.fixture(params=["object", pytest.param("compiled", marks=pytest.mark.compiled)])
def world(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def played(name: str, ways: tuple[str, ...], world: str) -> tuple[Any, dict[str, Any]]:
    """The environment after its agents have gone their ways, and what it told last of each."""
    env = gv_engine.parallel_env(name, world=world)
    env.reset(seed=0)
    told: dict[str, Any] = {}
    names = env.scenario.action_names
    number = {key: names.index(named) for key, named in KEYS.items() if named in names}
    number.setdefault(".", names.index("NOOP") if "NOOP" in names else 0)
    for keys in zip(*ways, strict=True):
        if not env.agents:
            break
        said = dict(zip(env.possible_agents, (number[key] for key in keys), strict=True))
        _, rewards, ended, _, infos = env.step({name: said[name] for name in env.agents})
        for agent in rewards:
            told[agent] = rewards[agent], ended[agent], infos[agent]["success"]
    return env, told


def test_there_is_a_way_to_win_each():
    assert set(WINS) == set(list_multi_agent_grids())
    for name in WINS:
        scenario = Scenario.load(name)
        assert not scenario.warnings
        assert scenario.layout.agents > 1


@pytest.mark.sample("object")
@pytest.mark.parametrize("name", ["hold-plates", "hand-over"])
def test_they_win_together_and_nobody_alone(name: str, world: str):
    ways = WINS[name]
    env, told = played(name, ways, world)
    assert not env.agents
    assert all(success for _, _, success in told.values())
    for lazy in range(len(ways)):
        waiting = tuple("." * len(way) if k == lazy else way for k, way in enumerate(ways))
        env, told = played(name, waiting, world)
        assert env.agents
        assert not any(success for _, _, success in told.values())


@pytest.mark.sample("object")
def test_hunters_win_when_one_is_beside_the_runner(world: str):
    env, told = played("hunt", WINS["hunt"], world)
    assert not env.agents
    assert told["cat"][:2] == (pytest.approx(-0.99), True)
    assert [told[name][2] for name in ("ann", "bob", "cat")] == [False, True, False]


@pytest.mark.sample("object")
def test_who_is_first_at_the_exit_wins_and_the_others_are_cut_off(world: str):
    env, told = played("race", WINS["race"], world)
    assert not env.agents
    assert told["agent_2"] == (pytest.approx(0.99), True, True)
    assert [told[name][1:] for name in ("agent_1", "agent_3")] == [(False, False)] * 2


@pytest.mark.sample("object")
def test_one_who_takes_no_more_than_it_wants_leaves_enough(world: str):
    env, told = played("commons", WINS["commons"], world)
    assert not env.agents
    assert all(success for _, _, success in told.values())


@pytest.mark.sample("object")
def test_a_goal_is_a_team_s(world: str):
    env, told = played("ball", WINS["ball"], world)
    assert not env.agents
    assert [told[name] for name in ("ann", "bob")] == [(1.0, True, True)] * 2
    assert [told[name] for name in ("cat", "dan")] == [(-1.0, True, False)] * 2
