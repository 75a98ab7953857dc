"""Keys that go where they point on the screen: plain actions, whatever the agent looks at."""

from __future__ import annotations

from pathlib import Path

import pytest

from gv_engine.domains.grid.input_map import Steering
from gv_engine.session.catalogue import load_playable
from gv_engine.session.replay import Replay
from gv_engine.session.session import Session
from gv_engine.ui.input.bindings import Bindings, format_keys_file
from gv_engine.ui.screens.play import PlayScreen
from gv_engine.ui.settings import Settings
from gv_engine.ui.terminal.play import TerminalGame
from gv_engine.ui.window.app import App
from tests.desk import Desk, home, playing

ROOM = """\
name: room
map: |
  #######
  #.....#
  #..>..#
  #.C..E#
  #######
objects: {Crate: {components: [Solid]}}
legend: {C: Crate}
transition_functions: [{name: push, object_type: Crate}, move_agent, turn_agent]
reward_functions: [reach_exit]
observation_function: {name: partially_occluded, area: [[-2, 0], [-1, 1]]}
terminating_function: reach_exit
success_function: reach_exit
"""
TURNING = "action_space: [MOVE_FORWARD, TURN_LEFT, TURN_RIGHT]\n"
FORWARD, LEFT, RIGHT = "MOVE_FORWARD", "TURN_LEFT", "TURN_RIGHT"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    home(tmp_path, monkeypatch)
    return Desk(app=App(Settings(animation=False, steering="screen"), Bindings()))


def room(desk: Desk, folder: Path, more: str = "") -> PlayScreen:
    file = folder / "room.yaml"
    file.write_text(ROOM + more)
    return playing(desk, str(file))


def taken(screen: PlayScreen) -> list[str]:
    return [step.action for step in screen.game.past_steps]


def test_an_agent_that_has_to_turn_turns_and_goes_in_one_press(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path, TURNING)
    desk.press("Up")
    assert taken(screen) == [LEFT, FORWARD]
    assert screen.frame.agent == (1, 3, 0)
    desk.press("W", "Left", "Down")
    assert taken(screen)[2:] == [FORWARD, LEFT, FORWARD, LEFT, FORWARD]
    assert screen.frame.agent == (2, 2, 1)
    desk.press("Pad Up")
    assert taken(screen)[7:] == [RIGHT, RIGHT, FORWARD]
    assert screen.frame.agent == (1, 2, 0)


def test_what_is_in_the_way_is_faced(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path, TURNING)
    desk.press("Left", "Down")  # the crate is at the wall
    assert taken(screen) == [RIGHT, RIGHT, FORWARD, LEFT]
    assert screen.frame.agent == (2, 2, 1)
    desk.press("Down")
    assert taken(screen)[4:] == [FORWARD]


def test_a_plain_move_leads_where_it_can(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path)
    desk.press("Up", "Left", "Down", "Right")
    assert taken(screen) == ["MOVE_LEFT", "MOVE_BACKWARD", "MOVE_RIGHT", FORWARD]
    assert screen.frame.agent == (2, 3, 3)
    desk.press("Q")
    assert taken(screen)[4:] == [LEFT]
    assert screen.frame.agent == (2, 3, 0)
    desk.press("Left", "Down")  # the crate is at the wall
    assert taken(screen)[5:] == ["MOVE_LEFT", RIGHT, RIGHT]


def test_each_action_is_undone_and_replayed_as_one_of_its_own(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path, TURNING)
    desk.press("Up", "Z")
    assert (screen.game.position, screen.frame.agent) == (1, (2, 3, 0))
    desk.press("Home", "Down", "Right", "Right")
    assert screen.frame.success
    replay = Replay.from_line(screen.game.replay().to_line())
    again = Session.from_replay(replay, screen.game.scenario)
    assert (again.difference, again.length) == (None, 5)


def test_in_fog_the_agent_looks_where_it_goes_and_at_nothing_unseen(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path, "view: explored\n")
    desk.press("Up")
    assert taken(screen) == [LEFT, FORWARD]
    desk.press("Left")
    assert taken(screen)[2:] == [LEFT, FORWARD]


def test_as_the_agent_sees_it_keys_turn(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path)
    while screen.stage.view != "observation":
        desk.press("V")
    desk.press("Left", "Up")
    assert taken(screen) == [LEFT, FORWARD]


def test_keys_are_told_as_they_go(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path)
    assert screen.hints()[:3] == ("Up go up", "Left go left", "Right go right")
    told = dict(desk.app.bindings.describe_keys(screen.groups, screen.has_command))
    assert told["Left, A, Pad Left"] == "go left"
    assert told["Shift+Left, Shift+A, Q, Pad LB"] == "turn left on the spot"
    assert "turn left" not in told.values()


def test_the_setting_is_made_in_the_game_and_remembered(tmp_path: Path, monkeypatch: object):
    assert isinstance(monkeypatch, pytest.MonkeyPatch)
    home(tmp_path, monkeypatch)
    desk = Desk()
    screen = room(desk, tmp_path)
    desk.press("Left")
    assert taken(screen) == [LEFT]
    desk.press("Escape", "F2")
    rows = [row.label for row in desk.app.top.rows()]  # type: ignore[attr-defined]
    desk.press(*["Down"] * rows.index("Arrow keys"), "Return", "Escape", "Escape")
    assert desk.app.top is screen
    desk.press("Left")
    assert taken(screen)[1:] == ["MOVE_LEFT"] or screen.frame.agent[:2] == (2, 2)
    assert Settings.load()[0].steering == "screen"


def test_two_at_a_keyboard_keep_their_keys(desk: Desk):
    screen = playing(desk, "hold-plates")
    second = screen.game.agents[1]
    keys = {key for command in screen.stage.steering for key in command.keys}
    assert {"Up", "Left"} <= keys
    assert not keys & {"W", "A", "S", "D", "Q", "E"}
    desk.press("A")
    assert taken(screen) == [f"{second} TURN_LEFT"]


def test_in_a_terminal_too(tmp_path: Path):
    file = tmp_path / "room.yaml"
    file.write_text(ROOM + TURNING)
    game = Session(load_playable(str(file)), 0)
    screen = TerminalGame(game, Settings(steering="screen"), Bindings())
    for key in ("Up", "Left", "V", "V", "Left"):
        screen.press(key)
        screen.lines(80, 24)
    assert [step.action for step in game.past_steps] == [LEFT, FORWARD, LEFT, FORWARD, LEFT]
    screen.press("V")
    screen.lines(80, 24)
    screen.press("Slash")
    told = "\n".join(line.plain for line in screen.lines(120, 40))
    assert "go left" in told
    assert "move forward" not in told


def test_a_file_of_keys_has_those_of_both_ways(desk: Desk, tmp_path: Path):
    room(desk, tmp_path)
    file = tmp_path / "keys.toml"
    file.write_text(format_keys_file(desk.app.bindings))
    bindings, wrong = Bindings.load(file)
    assert wrong == ""
    assert bindings.keys("grid", FORWARD) == Bindings().keys("grid", FORWARD)
    moved = Bindings({"grid": {FORWARD: ["K"]}}).with_level_commands(
        "grid", Steering([FORWARD], ()).commands
    )
    assert moved.keys("grid", "STEER_UP") == ("Up", "W", "Pad Up")
    assert moved.keys("grid", FORWARD) == ("K",)
