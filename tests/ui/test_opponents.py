"""Other agents of a level: opponents, teams, and a second player."""

from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from gv_engine import Scenario
from gv_engine.envs.rollout.policy import POLICIES, RandomPolicy
from gv_engine.envs.rollout.policy_file import CheckpointPolicy
from gv_engine.play.grid import hooks
from gv_engine.play.session.autoplay import (
    Opponent,
    SolutionPath,
    SolverPolicy,
    list_opponent_policies,
)
from gv_engine.play.session.session import Session
from gv_engine.play.ui.screens.settings import SettingsScreen
from gv_engine.play.ui.settings import Settings
from tests import ROOT
from tests.desk import Desk, labels, playing

pytestmark = pytest.mark.window


def test_opponents_act_by_themselves_until_somebody_takes_them_over(desk: Desk):
    screen = playing(desk, "hunt")
    game = screen.game
    before = game.frame()
    others = {mark.name: mark.team for mark in before.marks[1:]}
    assert before.marks[0].label == f"{game.controlled} of {before.marks[0].team}"
    opponents = [name for name, team in others.items() if team != before.marks[0].team]
    assert opponents
    screen.take_action(game.wait)
    (step,) = game.replay().steps
    assert all(f"{name} " in step.action for name in opponents)
    assert f"You are {before.marks[0].label}" in screen.facts()
    second = game.agents[1]
    screen.take_action(f"{second} {game.actions[0]}")
    assert second not in game._episode.partners
    desk.app.settings.opponents = ""
    assert not playing(desk, "hunt").game._episode.partners
    desk.app.settings.opponents = "valid"
    assert playing(desk, "race").game._episode.partners.keys() == {"agent_2", "agent_3"}
    assert not playing(desk, "hold-plates").game._episode.partners  # they play together


def test_what_opponents_do_is_told_in_the_page_of_the_window():
    page = (ROOT / "docs" / "window.md").read_text("utf-8")
    policies = list_opponent_policies(None)
    for text in policies.values():
        assert f"*{text}*" in page
    assert f"*{policies[Settings().opponents]}*, the default" in page


def test_a_setting_for_opponents_that_changes_nothing_says_why(desk: Desk):
    for name in ("hold-plates", "keydoor-5x5"):
        screen = playing(desk, name)
        desk.app.settings.opponents = "solver" if name == "hold-plates" else "valid"
        screen.on_resume()
        assert desk.app._note == "This level has no opponents: no agent is of another team"
        desk.app._note = ""
    desk.app.start_race(Opponent.load("valid", Session(Scenario.load("hunt"), 0)))
    desk.app.settings.opponents = "solver"
    desk.app.top.on_resume()
    assert desk.app._note == "Opponents act in games, not in races, trials or beside an agent"


def test_opponents_play_to_win_unless_the_settings_say_otherwise(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hooks, "make_hint_provider", Guide)
    assert isinstance(playing(desk, "hunt").game.partners["cat"], CheckpointPolicy)
    screen = playing(desk, "race")
    assert {*map(type, screen.game.partners.values())} == {SolverPolicy}
    screen.tick(0)
    for guide in guides:
        guide.path = SolutionPath(("MOVE_FORWARD",), "")
    screen.tick(0)
    screen.take_action(screen.game.wait)
    (step,) = screen.game.past_steps
    assert step.action == "agent_2 MOVE_FORWARD | agent_3 MOVE_FORWARD"


def test_opponents_without_a_policy_for_the_level_say_so_and_act_at_random(desk: Desk):
    desk.app.settings.opponents = "trained"
    screen = playing(desk, "tag")
    assert desk.app._note == "Opponents act at random: no trained policy comes with tag"
    assert isinstance(screen.game.partners["guard"], RandomPolicy)
    desk.app._note = ""
    assert isinstance(playing(desk, "hunt").game.partners["cat"], CheckpointPolicy)
    assert not desk.app._note
    desk.app.settings.opponents = "runs/gone"
    playing(desk, "hunt")
    assert desk.app._note.startswith("Opponents act at random: no policy 'runs/gone'")


def test_the_settings_list_the_policies_that_fit_the_level(desk: Desk, tmp_path: Path):
    for name in ("hunt", "ice"):
        copytree(POLICIES / name, tmp_path / "runs" / name)
    screen = playing(desk, "hunt")
    desk.press("F2")
    row = labels(desk.top(SettingsScreen)).index("Opponents")
    desk.top(SettingsScreen).chosen = row
    shown = []
    for _ in range(6):
        shown.append(desk.top(SettingsScreen).rows()[row].value)
        desk.press("Right")
    assert shown == [
        *("play to win", "act at random", "wait for keys"),
        *("the solver", "the trained policy", "runs/hunt"),
    ]
    desk.press("Left", "Escape")
    assert desk.app.top is screen
    assert isinstance(screen.game.partners["cat"], CheckpointPolicy)
    desk.press("F2", *["Down"] * row, "Right", "Right", "Right", "Escape")
    assert not screen.game.partners
    desk.back_to_start()
    desk.press("F2")
    desk.top(SettingsScreen).chosen = row
    desk.press("Right", "Right")
    assert desk.top(SettingsScreen).rows()[row].value == "the trained policy"


class Guide:
    """Knows a way as soon as it is told to."""

    def __init__(self, scenario: object, agent: int) -> None:
        self.agent, self.is_closed = agent, False
        self.path: SolutionPath | None = None
        guides.append(self)

    def ask(self, game: object) -> None: ...

    def answer(self) -> SolutionPath | None:
        return self.path

    def close(self) -> None:
        self.is_closed = True


guides: list[Guide] = []


def test_the_solver_plays_opponents_and_nobody_waits_for_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(hooks, "make_hint_provider", Guide)
    guides.clear()
    desk.app.settings.opponents = "solver"
    screen = playing(desk, "hunt")
    screen.tick(0)
    (guide,) = guides
    assert guide.agent == 3
    note = "cat acts at random. The solver searches"
    assert note in screen.facts()
    desk.press("Up")
    assert screen.game.position == 1
    guide.path = SolutionPath(("TURN_LEFT",) * 3, "")
    screen.tick(0)
    assert note not in screen.facts()
    desk.press("Up")
    assert screen.game.past_steps[-1].action.endswith("cat TURN_LEFT")
    guide.path = None
    desk.press("Up")  # it goes on with its way
    assert screen.game.past_steps[-1].action.endswith("cat TURN_LEFT")
    desk.press("N")  # the next level has another way
    screen.tick(0)
    assert note in screen.facts()
    guide.path = SolutionPath((), "It cannot be won from here")
    screen.tick(0)
    assert "cat acts at random. It cannot be won from here" in screen.facts()
    screen.take_action("cat MOVE_FORWARD")
    assert guide.is_closed
    assert not any("random" in fact for fact in screen.facts())


def test_the_agent_of_the_player_and_teams_are_marked(desk: Desk):
    screen = playing(desk, "tag")
    marked = desk.look()
    own, mate = (screen.frame.marks[number].cell for number in (0, 2))
    assert [mark.team for mark in screen.frame.marks] == ["thieves", "", "thieves"]
    stage: Any = screen.stage
    stage._frame = replace(screen.frame, marks=())
    bare = desk.look()
    cells = [stage._state.cell_rect(*cell).inflate(80, 80) for cell in (own, mate)]
    changed = (marked != bare).any(-1)
    for cell in cells:
        part = slice(cell.top, cell.bottom), slice(cell.left, cell.right)
        assert changed[part].any()
        changed[part] = False
    assert not changed.any()


def test_two_players_see_whose_keys_are_whose(desk: Desk):
    caps = playing(desk, "hold-plates").key_caps()
    assert [row[0] for row in caps] == [("", "Red"), ("", "Blue")]
