"""Actions that no rule acts on are told."""

from __future__ import annotations

from typing import Any

import pytest

from gv_engine import Scenario
from gv_engine.play.validation.lint import find_undeclared_actions, find_unused_actions

RULES = '''
from gv_engine import TRANSITION, system
from gv_engine.geometry import Action, named_action
import esper

K = named_action("KICK")

def can(w, agent, action):
    return action == K

@system(TRANSITION, when=can)
def kick(w, agent):
    """By a constant of another name."""

def may(w, agent, action):
    return action == Action.TOGGLE

@system(TRANSITION, when=may)
def turn_over(w, agent):
    """By an attribute."""

KICK_OR_PULL = named_action("KIK"), named_action("PULL")

def might(w, agent, action):
    return action in KICK_OR_PULL

@system(TRANSITION, when=might)
def pull(w, agent):
    """By several constants."""

def sing(state, action, *, rng=None):
    """By a text."""
    if action.name == "KICK":
        pass

class Anything(esper.Processor):
    def process(self):
        """Who knows."""
'''


PICKED_BY_KICK = {"name": "pickndrop", "on_action": "KICK"}


def played(folder: Any, actions: list[Any], *rules: Any) -> Scenario:
    (folder / "rules.py").write_text(RULES)
    level = {
        "map": ">.E",
        "action_space": ["MOVE_FORWARD", *actions],
        "transition_functions": ["move_agent", *rules],
        "reward_functions": ["reach_exit"],
        "terminating_function": "reach_exit",
        "observation_function": {"name": "fully_transparent", "area": [[-1, 0], [-1, 1]]},
    }
    return Scenario.load(level, folder=folder)


def told(folder: Any, actions: list[Any], *rules: Any) -> list[str]:
    return find_unused_actions(played(folder, actions, *rules))


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        *(("KICK", f"./rules.py:{rule}") for rule in ("kick", "sing", "Anything")),
        ("KICK", {"name": "actuate_door", "on_action": "KICK"}),
        ("KICK", {"name": "chain", "transition_functions": [PICKED_BY_KICK]}),
        ("PULL", "./rules.py:pull"),
        *((name, name.lower()) for name in ("PICK_UP", "DROP", "TOGGLE")),
        ("TOGGLE", "./rules.py:turn_over"),
    ],
    ids=str,
)
def test_an_action_wants_a_rule_that_names_it(tmp_path, name, rule):
    action = {"name": name} if name in ("KICK", "PULL") else name
    (line,) = told(tmp_path, [action])
    assert line.startswith(f"nothing acts on {name}; give a rule {{name: …, on_action: {name}}}")
    assert told(tmp_path, [action], rule) == []


def test_an_action_that_a_rule_names_is_declared(tmp_path):
    line = "    return action in KICK_OR_PULL"
    place = f"rules.py:{RULES.splitlines().index(line)}: might asks for "
    kik, pull = find_undeclared_actions(played(tmp_path, [{"name": "KICK"}], "./rules.py:pull"))
    assert f"{place}KIK, which no action_space declares; did you mean 'KICK'?" in kik
    assert f"{place}PULL, which no action_space declares" in pull
    assert find_undeclared_actions(played(tmp_path, [{"name": "KICK"}], "./rules.py:kick")) == []


def test_what_asks_for_no_rule_is_not_told(tmp_path):
    assert told(tmp_path, ["DONE", "NOOP", "ACTUATE", "MOVE_LEFT"]) == []


def test_a_scenario_that_comes_with_the_engine_has_none():
    assert find_unused_actions(Scenario.load("medley-7x7")) == []
