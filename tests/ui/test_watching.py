"""Agents in the window: watched, overruled, raced; and rollouts that are watched like replays."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from gv_engine.cli import main
from gv_engine.envs.rollout.episode_folder import RolloutError
from gv_engine.play.session.autoplay import (
    ActionChoice,
    Opponent,
    PolicyAutoplayer,
    SolutionPath,
    SolverAutoplayer,
)
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.rollout_games import RolloutSessions
from gv_engine.play.session.session import Session
from gv_engine.play.ui import settings
from gv_engine.play.ui.input.bindings import GROUPS
from gv_engine.play.ui.screens.autoplay import AutoplayScreen, RaceScreen, likely_actions
from gv_engine.play.ui.screens.replay import RolloutScreen
from gv_engine.play.validation import solver_worker
from tests.desk import Desk, playing
from tests.screen import until

pytestmark = pytest.mark.window


def watching(desk: Desk, name: str = "keydoor-5x5", seed: int = 3) -> AutoplayScreen:
    desk.start()
    game = Session(load_playable(name), seed)
    desk.app.watch_agent(game, PolicyAutoplayer(game, "random"))
    desk.look()
    return desk.top(AutoplayScreen)


def test_an_agent_acts_until_a_key_takes_over_and_is_handed_back(desk: Desk):
    screen = watching(desk)
    desk.wait(1.0, times=5)
    assert screen.game.position == 5
    desk.press("Left")  # a move takes over
    desk.wait(1.0)
    assert [taken.action for taken in screen.game.past_steps[5:]] == ["TURN_LEFT"]
    desk.press("F10", "F10")
    desk.wait(1.0)
    assert screen.game.position == 8  # a step for each press
    desk.press("F8")
    desk.wait(1.0)
    assert screen.game.position == 9
    desk.press("Z", "Z", "Z")
    desk.wait(1.0)
    assert (screen.game.position, screen.game.length) == (6, 9)
    desk.press("F8")
    desk.wait(1.0, times=3)
    assert screen.game.position == screen.game.length == 9  # it goes the same way again
    screen.save_replay()
    (file,) = settings.replay_folder().iterdir()
    assert main(["replay", str(file), "--verify"]) == 0
    assert len(Replay.load(file).steps) == 9


@pytest.mark.compiled
def test_hints_lead_through_a_level(desk: Desk):
    screen = playing(desk, "keydoor-5x5", 3)
    to_go, objects = [], dict[str, object]()
    names = {command.description: command.name for command in GROUPS["grid"]}
    hint = screen.stage._hint  # type: ignore[attr-defined]

    def ask() -> str:
        desk.press("F4")
        until(is_found, "the hint")
        return str(hint.message)

    def is_found() -> bool:  # in another process
        desk.look()
        return not hint.is_searching

    while not screen.frame.outcome:
        assert "can be won from here in" in ask()
        assert hint.cell is None
        where = ask().split(".")[0]
        objects[where] = hint.cell
        action, steps = ask().removeprefix("Hint: ").split("; ")
        to_go.append(int(steps.split()[0]))
        screen.take_action(names[action])
    assert screen.frame.success
    assert [text.split()[-1] for text in objects] == ["key", "door", "exit"]
    assert len({*objects.values()}) == 3
    assert to_go == [*range(to_go[0], 0, -1)]
    desk.press("Z")
    assert hint.message == ""


@pytest.mark.prepares_hints
@pytest.mark.compiled
def test_hints_are_prepared_when_a_level_opens_and_one_process_serves_all(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(solver_worker, "_idle_workers", [])
    before = {*multiprocessing.active_children()}
    screen = playing(desk, "keydoor-5x5", 3)
    desk.wait(1.0, times=3)
    (worker,) = {*multiprocessing.active_children()} - before
    for _ in range(2):
        desk.press("F4")
        until(lambda: bool(desk.look().size) and not screen.stage.is_busy, "the hint")
        desk.press("L")  # another level
        desk.wait(1.0, times=3)
        assert {*multiprocessing.active_children()} - before == {worker}
    desk.app.pop()
    assert worker.is_alive()
    worker.kill()


@pytest.mark.prepares_hints
def test_no_hints_are_prepared_beside_an_agent(desk: Desk):
    before = {*multiprocessing.active_children()}
    screen = watching(desk)
    desk.wait(5.0, times=5)
    assert screen.game.position
    # one that began while the level opened has been killed
    assert {each for each in multiprocessing.active_children() if each.is_alive()} <= before


def test_speed_and_chances(desk: Desk):
    screen = watching(desk)
    quick = desk.app.settings.speed
    desk.press("RightBracket")
    assert desk.app.settings.speed > quick
    desk.wait(0)
    before = desk.look()
    desk.press("F8")
    assert not np.array_equal(before, desk.look())
    desk.surface = type(desk.surface)((320, 240), 0, 32)
    desk.press("F8", "L")  # it goes on in another size
    assert screen.game.scenario.name != "keydoor-5x5"
    desk.wait(1.0, times=3)
    assert screen.game.position >= 3
    assert screen.autoplayer is not None
    many = ActionChoice("7", {str(k): (k == 7) / 1.0 for k in range(40)})
    assert len(likely_actions(many)) == 12
    assert ("7", 1.0) in likely_actions(many)
    assert [action for action, _ in likely_actions(many)][:3] == ["0", "1", "2"]
    assert screen.has_command("agent")


def test_what_an_agent_cannot_do_is_said_and_the_player_goes_on(desk: Desk):
    desk.start()
    game = Session(load_playable("keydoor-5x5"), 3)

    class Lost:
        """Knows no way."""

        ask = close = staticmethod(lambda *_: None)
        answer = staticmethod(lambda: SolutionPath((), "There is no way"))

    desk.app.watch_agent(game, SolverAutoplayer(Lost()))
    desk.app._note = ""
    with desk.app.showing_errors():
        desk.wait(1.0)
    assert desk.app._note == "There is no way"
    desk.wait(1.0)
    desk.press("Left")
    assert game.position == 1


@pytest.mark.sample("mathy")
@pytest.mark.parametrize("name", ["keydoor-5x5", "mathy-poly-simplify-easy"])
def test_a_race_goes_step_by_step(desk: Desk, name: str):
    desk.start()
    game = Session(load_playable(name), 3)
    desk.app.start_race(Opponent.load("valid", game))
    screen = desk.top(RaceScreen)
    desk.wait(1.0)
    valid = PolicyAutoplayer(screen.game, "valid")
    for steps in (1, 2, 3):
        screen.take_action(valid.choose(screen.game).action)
        desk.wait(1.0)
        assert screen.opponent.session.position == steps
    assert screen.opponent.session.state_digest() == screen.game.state_digest()  # it drew the same
    desk.press("Z")
    desk.wait(1.0)
    assert screen.opponent.session.position == 2
    desk.press("N")
    desk.wait(1.0)
    assert (screen.opponent.session.seed, screen.opponent.session.position) == (4, 0)
    for _ in screen.domain.views:
        desk.press("V")
        desk.look()
        assert screen._opponent_stage.view == screen.stage.view  # boards of equal size
    while not screen.frame.outcome:
        screen.take_action(valid.choose(screen.game).action)
    desk.wait(1.0, times=700)
    assert screen.opponent.is_over
    assert screen.facts()[-1] == desk.app._note == "You and Random player were equally good"
    desk.look()


def test_a_saved_game_is_raced_by_a_key(desk: Desk):
    screen = playing(desk, "keydoor-5x5", 3)
    desk.press("Left", "Up")
    screen.save_replay()
    desk.press("F7")
    race = desk.top(RaceScreen)
    assert race.game.position == 0
    desk.press("Left")
    desk.wait(1.0)
    assert race.opponent.session.position == 1
    assert race.opponent.session.length == 2
    desk.press("N")
    desk.wait(1.0)
    assert "another level" in race._end_reason
    desk.look()


def test_a_rollout_is_watched_episode_by_episode(desk: Desk, tmp_path: Path):
    words = "--episodes", "3", "--seed", "7", "--policy", "valid", "--max-steps", "20"
    assert main(["rollout", "mathy-poly-simplify-easy", *words, "--out", "episodes"]) == 0
    desk.start()
    desk.type("episodes", "Return")
    screen = desk.top(RolloutScreen)
    assert (screen.game.seed, screen.game.position) == (7, 0)
    desk.wait(1.0, times=3)
    assert screen.game.position > 0
    desk.press("N", "N")
    assert screen.game.seed == 9
    assert "Episode 3 of 3" in screen.facts()
    desk.press("N")
    assert screen.game.seed == 9
    desk.press("Shift+N")
    assert screen.game.seed == 8
    assert RolloutSessions(tmp_path / "episodes").open_session(1).difference is None
    with pytest.raises(RolloutError):
        RolloutSessions(tmp_path)
