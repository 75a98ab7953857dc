"""Actions of scenarios: built-in ones, and their own with a key and a word for it."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from gv_engine import GridEnv, GridVectorEnv, Scenario, ScenarioError
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.rules.geometry import (
    ACTIONS,
    USUAL_ACTIONS,
    WAIT,
    Action,
    action_name,
    named_action,
)
from gv_engine.scenario.documents.loading import load_reference, make_reference
from gv_engine.scenario.domains import KeyCommand
from tests import ROOT
from tests.scenario.reading import RULES, assert_refused, find_problems

KICK = {"name": "KICK", "key": "k", "says": "kick the ball"}
KICK_P = {"name": "KICK", "key": "p"}
SWITCH = {"name": "switch", "object_type": "Lever", "on_action": "KICK"}
LEVEL: dict[str, Any] = {
    **RULES,
    "map": ">l..\n....\n...E",
    "action_space": ["MOVE_FORWARD", "TURN_LEFT", "NOOP", KICK],
    "objects": {"Lever": {"components": ["Solid"], "states": ["OFF", "ON"]}},
    "legend": {"l": "Lever"},
    "transition_functions": [*RULES["transition_functions"], SWITCH],
}
PLAIN = {**LEVEL, **RULES}


def change(*actions: Any, **changes: Any) -> dict[str, Any]:
    return {**PLAIN, "action_space": list(actions), **changes}


def load(*actions: Any, **changes: Any) -> Scenario:
    return Scenario.load(change(*actions, **changes))


def test_the_numbers_of_built_in_actions_never_move():
    names = "MOVE_FORWARD MOVE_BACKWARD MOVE_LEFT MOVE_RIGHT TURN_LEFT TURN_RIGHT ACTUATE"
    added = "PICK_N_DROP PICK_UP DROP TOGGLE DONE NOOP"
    assert [action_name(number) for number in range(13)] == f"{names} {added}".split()
    assert Scenario.load({**RULES, "map": ">E"}).actions == USUAL_ACTIONS == tuple(range(8))


def test_an_own_action_has_a_name_a_key_and_a_word_for_it():
    scenario = Scenario.load(LEVEL)
    assert scenario.action_names == ("MOVE_FORWARD", "TURN_LEFT", "NOOP", "KICK")
    assert scenario.own_actions == (KeyCommand("KICK", "kick the ball", ("K",)),)
    assert load({"name": "SING_LOUD"}).own_actions == (KeyCommand("SING_LOUD", "sing loud", ()),)
    assert load(KICK_P).own_actions[0].keys == ("P",)  # free, as the level lacks PICK_N_DROP


def test_an_own_action_has_an_icon_and_a_cost():
    path = ROOT / "scenarios" / "crafter"
    file = yaml.safe_load((path / "scenario.yaml").read_text("utf-8"))
    scenario = Scenario.load(file, path)
    table = next(action for action in scenario.own_actions if action.name == "PLACE_TABLE")
    assert table.icon == "table"
    assert table.find_missing({"agent.counts.WOOD": ("wood", 1)}) == "wood"
    assert not table.find_missing({"agent.counts.WOOD": ("wood", 2)})
    index = [isinstance(entry, dict) for entry in file["action_space"]].index(True)
    for cost, says in (
        ({"agent.counts.WOD": 2}, "DO costs 'agent.counts.WOD', which is not listed under"),
        ({"agent.counts.WOOD": 0}, "cost.agent.counts.WOOD: found 0"),
    ):
        file["action_space"][index]["cost"] = cost
        assert_refused(says, file, path)


def test_no_number_stands_for_two_actions():
    kick = named_action("KICK")
    assert kick not in (WAIT, *range(len(ACTIONS)))
    assert kick == 675296177  # in every process
    assert action_name(WAIT) == "WAIT"
    assert named_action("WAIT") == WAIT
    assert not named_action("WAIT").is_custom
    assert [action for action in Action if action.is_custom] == []
    assert kick.is_custom
    assert pickle.loads(pickle.dumps(kick)) is kick


def test_two_names_of_one_number_are_refused(monkeypatch):
    monkeypatch.setattr("gv_engine.rules.geometry.crc32", lambda name: 7)
    named_action("ONE_OF_TWO")
    with pytest.raises(ScenarioError, match="OTHER and ONE_OF_TWO would have the same number"):
        load({"name": "OTHER"})


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        (["KICK"], "[0]: no action 'KICK'; {name: KICK} declares a new one"),
        (["WAIT"], "[0]: no action 'WAIT' (allowed: MOVE_FORWARD"),
        ([{"key": "k"}], "[0]: a new action needs a name: {name: KICK, key: K}"),
        ([{"name": "kick"}], "[0].name: found the name 'kick', expected one of an action, like `"),
        ([{"name": "DROP"}], "[0].name: DROP is built in; write its name alone"),
        ([KICK, KICK], "[1].name: KICK is listed twice"),
        ([{"name": "KICK", "key": "Spce"}], "[0].key: KICK: there is no key 'Spce'; did you mean"),
        ([{"name": "KICK", "key": "z"}], "[0].key: KICK: Z stands for 'undo a step' already; free"),
        ([KICK, {"name": "SING", "key": "K"}], "[1].key: SING: K stands for 'kick the ball' alre"),
        ([KICK_P, "PICK_N_DROP"], "[0].key: KICK: P stands for 'pick up or drop' already; free a"),
    ],
    ids=str,
)
def test_a_wrong_action_is_told_where_it_stands(actions, message):
    assert find_problems(change(*actions))[0].startswith(f"<mapping>: action_space{message}")


def test_a_rule_takes_no_action_that_there_is_not():
    rule = {"name": "actuate_door", "on_action": "PUNCH"}
    (found,) = find_problems(change("MOVE_FORWARD", KICK, transition_functions=[rule]))
    assert "transition_functions[0].on_action: no action 'PUNCH' (allowed: MOVE_FORWARD" in found
    assert "NOOP, KICK)" in found


def test_scenarios_with_other_actions_do_not_know_them():
    load("MOVE_FORWARD", KICK)
    with pytest.raises(ScenarioError, match="no action 'KICK'"):
        load("MOVE_FORWARD", transition_functions=[{"name": "actuate_box", "on_action": "KICK"}])


def test_an_action_goes_on_in_copies_replays_and_references():
    scenario = Scenario.load(LEVEL)
    again = pickle.loads(pickle.dumps(scenario))
    assert (again.action_names, again.own_actions) == (scenario.action_names, scenario.own_actions)
    game = Session(scenario, 0)
    for action in ("KICK", "TURN_LEFT", "NOOP", "KICK"):
        game.step(action)
    replay = Replay.from_bytes(game.replay().to_bytes())
    assert Session.from_replay(replay, again).difference is None
    fewer = scenario.with_(actions=(0, int(named_action("KICK"))))
    known = json.loads(json.dumps(make_reference(fewer)))
    found = load_reference(known)
    assert isinstance(found, Scenario)
    assert found.action_names == ("MOVE_FORWARD", "KICK")
    unknown = {**known, "changes": {"actions": [0, 99]}}
    with pytest.raises(ScenarioError, match="has no action of number 99"):
        load_reference(unknown)


def test_environments_tell_the_names():
    env = GridEnv(LEVEL, world="object")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="for MOVE_FORWARD, TURN_LEFT, NOOP, KICK"):
        env.step(4)
    envs = GridVectorEnv(LEVEL, num_envs=1, world="object")
    assert envs.labels["action_names"] == ["MOVE_FORWARD", "TURN_LEFT", "NOOP", "KICK"]
    _, infos = envs.reset(seed=0)
    assert infos["action_mask"].tolist() == [[0, 1, 0, 1]]


# ---- mixtures ------------------------------------------------------------------------------------


def mixture(*members: Any, **more: Any) -> Scenario:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Scenario.load({"mixture": [{"scenario": member} for member in members], **more})


def test_members_mix_if_they_have_the_same_actions():
    mixed = mixture(LEVEL, {**LEVEL, "map": "l..\n.>.\n..E"})
    assert mixed.action_names == ("MOVE_FORWARD", "TURN_LEFT", "NOOP", "KICK")
    assert mixed.own_actions == Scenario.load(LEVEL).own_actions
    fewer = mixture(LEVEL, action_space=["TURN_LEFT"])
    assert (fewer.action_names, fewer.own_actions) == (("TURN_LEFT",), ())
    members = [{"scenario": LEVEL}, {"scenario": change("MOVE_FORWARD", {"name": "SING"})}]
    (found,) = find_problems({"mixture": members})
    assert "has the actions MOVE_FORWARD, SING, and" in found
    assert "MOVE_FORWARD, TURN_LEFT, NOOP, KICK; give an action_space" in found


@pytest.mark.sample("object")
@pytest.mark.parametrize("world", ["object", pytest.param("compiled", marks=pytest.mark.compiled)])
def test_a_mixture_has_an_action_that_only_some_of_its_members_answer(world):
    mixed = mixture(
        LEVEL,
        change("MOVE_FORWARD"),
        action_space=["TURN_LEFT", "KICK", {"name": "SING", "key": "J"}],
    )
    assert mixed.action_names == ("TURN_LEFT", "KICK", "SING")
    assert [own.keys for own in mixed.own_actions] == [("K",), ("J",)]
    envs = GridVectorEnv(mixed, num_envs=16, world=world)
    _, infos = envs.reset(seed=0)
    assert set(infos["member"].tolist()) == {0, 1}
    assert infos["action_mask"].tolist() == [[1, int(m == 0), 0] for m in infos["member"]]
    rows = envs.snapshot()
    envs.step(np.ones(16, np.int64))
    changed = envs.snapshot()["condition"]["value"].sum(1) - rows["condition"]["value"].sum(1)
    assert changed.tolist() == [int(m == 0) for m in infos["member"]]


def test_what_extends_a_scenario_changes_its_actions(tmp_path: Path):
    rest = {key: LEVEL[key] for key in LEVEL if key != "map"}
    (tmp_path / "level.yaml").write_text(f"map: |\n  >l.\n  ..E\n{yaml.safe_dump(rest)}")
    own = "extends: level.yaml\naction_space: {KICK: {key: J}, NOOP: null, DONE: {}}\n"
    (tmp_path / "other.yaml").write_text(own)
    found = Scenario.load(tmp_path / "other.yaml")
    assert found.own_actions == (KeyCommand("KICK", "kick the ball", ("J",)),)
