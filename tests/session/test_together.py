"""Games, replays, policies, solutions and rollouts of several agents, in the object world."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from components.core import BLUE, RED
from gv_engine import AgentsVectorEnv, Scenario
from gv_engine.cli import main
from gv_engine.envs.rollout.policy import load_policies, load_policy
from gv_engine.envs.rollout.rollout import rollout
from gv_engine.play.session.autoplay import make_autoplayer
from gv_engine.play.session.replay import Replay, ReplayError, TimelineStep
from gv_engine.play.session.session import Session
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.settings import Settings
from gv_engine.play.ui.terminal.play import TerminalGame
from gv_engine.play.validation.differential import run_differential_test
from gv_engine.play.validation.solver import Solver, Verdict
from gv_engine.rules.errors import SeveralAgentsError
from gv_engine.scenario.library import list_multi_agent_grids
from tests.games import take
from tests.ui.test_terminal import press, said


@pytest.fixture
def plates() -> Scenario:
    return Scenario.load("hold-plates")


def test_a_step_is_what_all_do_and_who_is_not_named_waits(plates: Scenario):
    game = take(Session(plates, 0), "MOVE_FORWARD", "bob MOVE_FORWARD")
    game.control_next_agent()
    assert game.controlled == "bob"
    take(game, "TURN_LEFT", "ann TURN_LEFT | bob TURN_RIGHT", game.wait)
    taken = [step.action for step in game.replay().steps]
    assert taken == [
        "ann MOVE_FORWARD",
        "bob MOVE_FORWARD",
        "bob TURN_LEFT",
        "ann TURN_LEFT | bob TURN_RIGHT",
        "WAIT",
    ]
    row = game.row()
    assert row["position"]["x"][1:3].tolist() == [2, 2]
    assert row["agent"]["facing"][1:3].tolist() == [0, 3]
    for action, says in (("carl TOGGLE", "no agent 'carl'"), ("bob FLY", "Fly: not in this")):
        game.step(action)
        assert says in game.message
        assert game.position == 5
    game.undo(3)
    assert game.row()["agent"]["facing"][1:3].tolist() == [3, 3]


@pytest.mark.sample("hunt", "hold-plates")
@pytest.mark.parametrize("name", list_multi_agent_grids())
def test_their_games_play_again(name: str):
    scenario, chance = Scenario.load(name), np.random.default_rng(0)
    game = Session(scenario, 1)
    for _ in range(20):
        numbers = chance.integers(len(game.actions), size=len(game.agents))
        game.step(game.format_action(numbers))
    replay = Replay.from_bytes(game.replay().to_bytes())
    again = Session.from_replay(replay, replay.find())
    assert again.difference is None
    again.seek(again.length)
    assert again.state_digest() == game.state_digest()
    assert replay.total == pytest.approx(sum(game.row()["total"]))


def test_a_replay_of_other_agents_is_refused(plates: Scenario):
    replay = Session(plates, 0).replay()
    other = Scenario.load({"extends": "hold-plates", "agents": {"names": ["ann", "carl"]}})
    with pytest.raises(ReplayError, match="a replay of 'hold-plates'"):
        Session.from_replay(replay, other)
    odd = replace(replay, steps=(TimelineStep("carl MOVE_FORWARD", 0.0, "", ""),))
    difference = Session.from_replay(odd, plates).difference
    assert difference
    assert "no agent 'carl'" in difference.message


def test_two_at_one_keyboard_win_in_the_terminal(plates: Scenario):
    game = Session(plates, 0)
    screen = TerminalGame(game, Settings(arrow_keys="turn"), Bindings())
    press(screen, *["Up"] * 3, *["W"] * 6, *["Up"] * 5, *["W"] * 2)
    frame = game.frame()
    assert (frame.outcome, frame.ending, frame.steps) == ("terminated", "Well done!", 16)


def test_tab_changes_who_is_controlled(plates: Scenario):
    game = Session(plates, 0)
    screen = TerminalGame(game, Settings(arrow_keys="turn"), Bindings())
    assert "you are bob" in said(screen, "Tab", "Up", width=120, height=40)
    assert [step.action for step in game.replay().steps] == ["bob MOVE_FORWARD"]
    assert "bob: move forward" in said(screen, "H", width=160, height=60)


def test_a_policy_acts_for_a_partner(plates: Scenario):
    games = [Session(plates, 3) for _ in range(2)]
    for game in games:
        game.assign_policy("bob", load_policy("valid", 1, len(game.actions)))
        take(game, *["TURN_LEFT"] * 6)
        game.control_next_agent()
        assert game.controlled == "ann"
    one, other = ([step.action for step in game.replay().steps] for game in games)
    assert one == other
    assert all(step.startswith("ann TURN_LEFT | bob ") for step in one)
    assert len({*one}) > 1


def test_a_partner_works_along_until_a_second_player_comes():
    game = Session(Scenario.load("kitchen"), 0)
    game.join_partner()
    take(game, *["NOOP"] * 8)
    steps = [step.action for step in game.replay().steps]
    assert [step.partition(" | ")[0] for step in steps] == ["agent_1 NOOP"] * 8
    assert {step.split()[-1] for step in steps} <= {*game.actions}
    assert "agent_2 INTERACT" in " ".join(steps)
    assert Session.from_replay(game.replay(), game.scenario).difference is None
    game.toggle_partner()
    take(game, "NOOP")
    assert game.replay().steps[-1].action == "agent_1 NOOP"
    assert not game.has_partner


def test_an_episode_is_drawn(tmp_path: Path):
    out = tmp_path / "hunt.gif"
    assert main(["record", "hunt", str(out), "--steps", "2", "--policy", "cat=valid"]) == 0
    assert out.stat().st_size > 1000


@pytest.mark.thorough
@pytest.mark.compiled
def test_they_are_compared_and_their_way_is_found(plates: Scenario):
    report = run_differential_test(plates, episodes=2)
    assert report.fault == ""
    assert report.steps > 50
    solution = Solver(plates).solve(0)
    assert solution.verdict is Verdict.WON
    game = Session(plates, 0)
    for numbers in solution.actions:
        game.step(game.format_action(numbers))
    assert game.frame().ending == "Well done!"
    assert len(solution.actions) == 10


def test_a_policy_of_all_acts_as_in_a_rollout(plates: Scenario):
    game = Session(plates, 5)
    actor = make_autoplayer(game, "valid")
    env = AgentsVectorEnv(plates, 1, world="object", autoreset_mode="Disabled")
    policy = load_policies("valid", plates, 1, env.num_actions)
    (episode,) = rollout(env, policy, 1, 5, keep_steps=True)
    assert episode.steps is not None
    for numbers in episode.steps["action"][:20]:
        choice = actor.choose(game)
        assert choice is not None
        assert choice.action == game.format_action(numbers)
        assert not choice.probabilities
        game.step(choice.action)
    game.seek(3)
    again = actor.choose(game)
    assert again is not None
    assert again.action == game.format_action(episode.steps["action"][3])


def test_who_takes_over_plays_one_and_the_policy_the_others():
    game = Session(Scenario.load("hunt"), 0)
    would = "ann TURN_LEFT | bob TURN_RIGHT | cat MOVE_FORWARD"
    does = "ann MOVE_FORWARD | bob TURN_RIGHT | cat MOVE_FORWARD"
    assert game.merge_actions("MOVE_FORWARD", would) == does
    game.control_next_agent()
    does = "ann MOVE_LEFT | bob WAIT | cat MOVE_FORWARD"
    assert game.merge_actions("ann MOVE_LEFT", would) == does
    game.step(game.merge_actions(game.wait, would))
    assert game.past_steps[-1].action == "ann TURN_LEFT | cat MOVE_FORWARD"
    assert game.merge_actions("FLY", would) == "FLY"
    assert Session(Scenario.load("keydoor-5x5"), 0).merge_actions("TOGGLE", "") == "TOGGLE"


def test_who_is_controlled_has_its_own_colour_and_view(plates: Scenario):
    game = Session(plates, 0)
    assert (game.frame().agent[:2], game.frame().color) == ((1, 1), RED)
    game.control_next_agent()
    assert (game.frame().agent[:2], game.frame().color) == ((3, 1), BLUE)
    assert game.message == "You are bob"
    game.control_next_agent()
    assert game.controlled == "ann"
    assert Session(Scenario.load("keydoor-5x5"), 0).frame().color == 0


def test_too_many_for_a_search():
    scenario = Scenario.load({"extends": "hold-plates", "agents": {"names": [*"abcdef"]}})
    with pytest.raises(SeveralAgentsError, match="262,144 ways to act at once"):
        Solver(scenario)


def test_a_game_of_a_mixture_has_those_who_are_there():
    pair = {"extends": "race", "map": "#####\n#>.E#\n#>..#\n#####", "agents": 2}
    alone = {"extends": "race", "map": "#####\n#>.E#\n#####", "agents": 1}
    game = Session(Scenario.load({"mixture": [{"scenario": pair}, {"scenario": alone}]}), 0)
    seen: dict[int, set[str]] = {1: set(), 2: set()}
    for seed in range(8):
        game.reset(seed)
        game.control_next_agent()
        seen[len(game.agents)].add(game.controlled)
        game.step("MOVE_FORWARD")
        game.step(f"{game.controlled} MOVE_FORWARD")
        told = game._episode.refusal_reason("agent_2 MOVE_FORWARD")
        assert told == "" if len(game.agents) == 2 else told.startswith("no agent 'agent_2'")
    assert seen == {1: {"agent_1"}, 2: {"agent_1", "agent_2"}}
