"""Levels that differ by what was drawn for them alone, and by nothing that is played."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.envs import level_sets
from gv_engine.envs.level_sets import LevelSet, find_values_read_by_rules, level_set
from gv_engine.rules.component import AGENT
from gv_engine.world.simulation import Simulation

RULES: dict[str, Any] = {
    "transition_functions": ["move_agent", "turn_agent"],
    "reward_functions": ["reach_exit"],
    "observation_function": {"name": "fully_transparent", "area": [[-4, 4], [-4, 4]]},
    "terminating_function": "reach_exit",
}
SMALL = {
    **RULES,
    "map": "#####\n#aaa#\n#aEa#\n#aaa#\n#####",
    "legend": {"a": {"room": "hall"}},
    "place": [{"agent": "any", "in": "hall"}],
}
TURNED = {**SMALL, "symmetries": ["turn", "mirror"]}
UNREAD = {**SMALL, "draw": {"n": [3, 5], "color": ["RED", "BLUE"]}}
PAID = {"reward_functions": ["./rules.py:paid"]}
WAYS = 8 * 4
"""Free cells, and orientations."""
CODE = """\
import esper

from gv_engine.rules.system import REWARD, TRANSITION, system
from systems.procedural import resolve

SECOND = 1


def plain(w):
    return w.drawn[0]


def of_name(w):
    return w.drawn[SECOND]


def of_row(w):
    return w.drawn[9]


def several(w):
    return [w.drawn[k] for k in range(2)][1]


def nothing(w):
    drawn = w.steps
    return drawn


def within(w):
    return (lambda: w.drawn[1])()


def table(w):
    return resolve(w, -2)


@system(REWARD)
def paid(w, agent, amount=1.0):
    return ASKED(w) * amount


@system(TRANSITION, when=lambda w, agent, action: ASKED(w) > 3)
def now_and_then(w, agent):
    w.agent.facing[agent] = 0


def of_states(state, action, *, rng=None):
    state.world.drawn[1]


class Anything(esper.Processor):
    def process(self):
        '''Who knows.'''
"""


def asking(function: str, folder: Path, **more: Any) -> Scenario:
    """A level of two drawn values and maps that lie in several ways, and a rule that calls one of
    the functions above."""
    (folder / "rules.py").write_text(CODE.replace("ASKED", function))
    return Scenario.load({**TURNED, **UNREAD, **more}, folder=folder)


def read_by(scenario: Scenario) -> list[list[int]]:
    """By member, the numbers of the values that are read in play."""
    return [row.nonzero()[0].tolist() for row in find_values_read_by_rules(scenario)]


def played(found: LevelSet) -> list[Any]:
    """What each level shows in an episode of the same actions, and its rewards."""
    simulation = Simulation(found.scenario)
    w, told = simulation.world, []
    for seed in found.seeds:
        simulation.reset(np.random.default_rng(seed))
        shown = []
        for number in np.random.default_rng(0).integers(len(found.scenario.actions), size=12):
            y, x, facing = w.position.y[AGENT], w.position.x[AGENT], w.agent.facing[AGENT]
            shown.append((w.cells().tobytes(), y, x, facing, w.reward[AGENT]))
            simulation.step(found.scenario.actions[number])
        told.append((*shown,))
    return told


@pytest.mark.sample("plain")
@pytest.mark.parametrize(
    "level",
    [SMALL, TURNED, {**TURNED, **UNREAD}],
    ids=["plain", "turned", "unread"],
)
def test_no_level_to_test_plays_as_one_to_train_on(level, monkeypatch):
    monkeypatch.setattr(level_sets, "_MAX_SEEDS_WITHOUT_NEW_LEVEL", 300)
    scenario = Scenario.load(level)
    train, test = (level_set(scenario, name, "object") for name in ("train", "test"))
    assert len(train.seeds) + len(test.seeds) == WAYS
    assert len({*played(train), *played(test)}) == WAYS


@pytest.mark.thorough
def test_levels_that_look_alike_and_are_played_otherwise_are_two(tmp_path):
    found = level_set(asking("plain", tmp_path, **PAID), range(600), "object")
    assert len(found.seeds) == len({*played(found)}) == 2 * WAYS


@pytest.mark.thorough
def test_of_a_mixture_each_member_is_asked(tmp_path):
    members = [asking("plain", tmp_path, **PAID), Scenario.load(TURNED)]
    mixed = [{"scenario": member.document.root.plain} for member in members]
    scenario = Scenario.load({"mixture": mixed}, folder=tmp_path)
    assert read_by(scenario) == [[0], []]
    assert len(level_set(scenario, range(1200), "object").seeds) == 2 * WAYS + WAYS


@pytest.mark.parametrize(
    ("function", "read"),
    [
        ("plain", [0]),
        ("of_name", [1]),
        ("nothing", []),
        ("within", [1]),
        *((name, [*range(8)]) for name in ("several", "table", "of_row")),
    ],
)
def test_what_code_reads_is_found(function, read, tmp_path):
    assert read_by(asking(function, tmp_path, **PAID)) == [read]


@pytest.mark.parametrize(
    ("rules", "read"),
    [
        ({"transition_functions": ["./rules.py:now_and_then"]}, [0]),
        ({"transition_functions": ["./rules.py:of_states"]}, [1]),
        ({"transition_functions": ["./rules.py:Anything"]}, [*range(8)]),
        ({"reward_functions": [{"name": "reduce_sum", **PAID}]}, [0]),
        (
            {
                "agents": ["one", "two"],
                "reward_functions": [{"name": "./rules.py:paid", "for": "two"}],
            },
            [0],
        ),
    ],
    ids=["when", "states", "processor", "nested", "for"],
)
def test_all_rules_are_asked(rules, read, tmp_path):
    assert read_by(asking("plain", tmp_path, **rules)) == [read]
