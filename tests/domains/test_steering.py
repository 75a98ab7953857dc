"""Keys that go where they point on the screen, whatever the agent looks at, and walks to cells that
were clicked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.play.grid.input_map import TURN_DIRECTIONS, Steering, Walk
from gv_engine.play.grid.motion import step_sound
from gv_engine.play.grid.stage import GridStage
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.input.bindings import Bindings, format_keys_file
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.settings import Settings
from gv_engine.play.ui.terminal.play import TerminalGame
from gv_engine.play.ui.window.app import App
from gv_engine.play.validation.solver import Solver
from gv_engine.rules import geometry
from gv_engine.scenario.library import PUZZLES
from gv_engine.scenario.readers.map import grid_to_text
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
    return Desk(app=App(Settings(animation=False, arrow_keys="point"), Bindings()))


def room(desk: Desk, folder: Path, more: str = "") -> PlayScreen:
    file = folder / "room.yaml"
    file.write_text(ROOM + more)
    return playing(desk, str(file))


def taken(screen: PlayScreen) -> list[str]:
    return [step.action for step in screen.game.past_steps]


@pytest.mark.parametrize(
    ("more", "presses", "actions", "agent"),
    [
        # an agent that has to turn turns and goes in one press
        (TURNING, ["Up"], [LEFT, FORWARD], (1, 3, 0)),
        (TURNING, ["Right", "Pad Up", "W"], [FORWARD, LEFT, FORWARD, FORWARD], (1, 4, 0)),
        (TURNING, ["Up", "Left", "Down"], [LEFT, FORWARD] * 3, (2, 2, 1)),
        (TURNING, ["Left"], [RIGHT, RIGHT, FORWARD], (2, 2, 2)),
        # what is in the way is faced: the crate is at the wall
        (TURNING, ["Left", "Down"], [RIGHT, RIGHT, FORWARD, LEFT], (2, 2, 1)),
        (TURNING, ["Left", "Down", "Down"], [RIGHT, RIGHT, FORWARD, LEFT, FORWARD], (2, 2, 1)),
        ("", ["Q", "Left", "Down"], [LEFT, "MOVE_LEFT", RIGHT, RIGHT], (2, 2, 1)),
        # a plain move leads where it can
        ("", ["Up", "Left"], ["MOVE_LEFT", "MOVE_BACKWARD"], (1, 2, 3)),
        ("", ["Down", "Right"], ["MOVE_RIGHT", FORWARD], (3, 4, 3)),
        # what it was drawn to look at is used, and an obstacle that it looks at only drawn so
        ("", ["Q", "Right", "Space"], [LEFT, "MOVE_RIGHT", RIGHT, "ACTUATE"], (2, 4, 3)),
        (
            "",
            ["Right", "Right", "Up", "Right", "Space"],
            [FORWARD, FORWARD, "MOVE_LEFT", "ACTUATE"],
            (1, 5, 3),
        ),
        # in fog, too
        ("view: explored\n", ["Up", "Left"], ["MOVE_LEFT", "MOVE_BACKWARD"], (1, 2, 3)),
    ],
)
def test_keys_go_where_they_point(desk: Desk, tmp_path: Path, more, presses, actions, agent):
    screen = room(desk, tmp_path, more)
    desk.press(*presses)
    assert taken(screen) == actions
    assert screen.frame.agent == agent


def test_moves_of_a_level_whose_view_does_not_turn_go_where_they_say(desk: Desk):
    screen = playing(desk, "kitchen-garden")
    y, x, _ = screen.frame.agent
    desk.press("Left")
    assert screen.frame.agent == (y, x - 1, geometry.LEFT)
    desk.press("Up", "Right")
    assert screen.frame.agent == (y, x, geometry.RIGHT)
    moves = [action.split()[1] for action in taken(screen)]  # "agent_1 MOVE_LEFT | agent_2 …"
    assert moves == ["MOVE_LEFT", "MOVE_FORWARD", "MOVE_RIGHT"]
    walk = Walk((y, x - 1), screen.game.actions, is_relative=False)
    mask = screen.game.mask()
    assert walk.next_action(screen.frame, mask) == "MOVE_LEFT"
    before = screen.frame
    desk.press("Left")
    assert screen.frame.agent[:2] == (y, x - 1)
    assert not walk.is_as_expected(before, screen.frame)  # it has arrived


def test_each_action_is_undone_and_replayed_as_one_of_its_own(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path, TURNING)
    desk.press("Up", "Z")
    assert (screen.game.position, screen.frame.agent) == (1, (2, 3, 0))
    desk.press("Home", "Down", "Right", "Right")
    assert screen.frame.success
    replay = Replay.from_line(screen.game.replay().to_line())
    again = Session.from_replay(replay, screen.game.scenario)
    assert (again.difference, again.length) == (None, 5)


def test_as_the_agent_sees_it_keys_turn(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path)
    while screen.stage.view != "observation":
        desk.press("V")
    desk.press("Left", "Up")
    assert taken(screen) == [LEFT, FORWARD]


def test_keys_are_told_as_they_go(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path)
    assert screen.hints()[:2] == ("Arrow keys move", "Space use what is ahead")
    told = dict(desk.app.bindings.describe_keys(screen.groups, screen.has_command))
    assert told["Left, A, Pad Left"] == "go left"
    assert told["Shift+Left, Shift+A, Q, Pad LB"] == "turn left on the spot"
    assert "turn left" not in told.values()


def test_the_agent_is_drawn_as_it_goes(desk: Desk, tmp_path: Path):
    screen = room(desk, tmp_path)
    drawn = []
    for key in ("Up", "Left", "Right", "Space", "Z", "Z"):
        desk.press(key)
        drawn.append((screen.frame.agent[2], screen.stage._steering.facing))  # type: ignore[attr-defined]
    left, right = geometry.LEFT, geometry.RIGHT
    assert drawn == [
        (right, 0),
        (right, left),
        (right, right),
        (right, right),
        (right, right),
        (right, left),
    ]
    screen = playing(desk, "sokoban#1")
    desk.press("Right")
    assert screen.frame.agent[2] == geometry.FORWARD
    assert screen.stage._steering.facing == geometry.RIGHT  # type: ignore[attr-defined]


def test_levels_for_agents_turn_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    home(tmp_path, monkeypatch)
    desk = Desk(app=App(Settings(animation=False), Bindings()))
    assert not playing(desk, "MiniGrid-Empty-8x8-v0").stage.steering
    assert playing(desk, "keydoor-5x5").stage.steering


def test_a_second_player_steers_too(desk: Desk):
    screen = playing(desk, "hold-plates")
    second = screen.game.agents[1]
    assert f"{second}: W A S D move" in " ".join(screen.hints())
    before = next(mark for mark in screen.frame.marks if mark.name == second)
    for key, step in (("W", (-1, 0)), ("A", (0, -1)), ("D", (0, 1)), ("S", (1, 0))):
        desk.press(key)
        mark = next(mark for mark in screen.frame.marks if mark.name == second)
        if mark.cell != before.cell:
            assert mark.cell == (before.cell[0] + step[0], before.cell[1] + step[1])
        assert mark.facing == {"W": 0, "S": 1, "A": 2, "D": 3}[key]
        before = mark


def test_the_setting_is_made_in_the_game_and_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home(tmp_path, monkeypatch)
    desk = Desk()
    screen = room(desk, tmp_path)
    desk.press("Left")
    assert taken(screen) == [LEFT]
    desk.press("Escape", "F2")
    rows = [row.label for row in desk.app.top.rows()]  # type: ignore[attr-defined]
    desk.press(*["Down"] * rows.index("Arrow keys"), "Left", "Escape", "Escape")
    assert desk.app.top is screen
    desk.press("Left")
    assert taken(screen)[1:] == ["MOVE_LEFT"] or screen.frame.agent[:2] == (2, 2)
    assert Settings.load()[0].arrow_keys == "point"


def test_two_at_a_keyboard_keep_their_keys(desk: Desk):
    screen = playing(desk, "hold-plates")
    second = screen.game.agents[1]
    keys = {key for command in screen.stage.steering for key in command.keys}
    first = {key for command in screen.stage.steering[:4] for key in command.keys}
    assert {"Up", "Left"} <= first < keys
    assert not first & {"W", "A", "S", "D", "Q", "E"}
    desk.press("A")
    assert {action.split()[0] for action in taken(screen)} == {second}


def test_in_a_terminal_too(tmp_path: Path):
    file = tmp_path / "room.yaml"
    file.write_text(ROOM + TURNING)
    game = Session(load_playable(str(file)), 0)
    screen = TerminalGame(game, Settings(arrow_keys="point"), Bindings())
    for key in ("Up", "Left", "V", "Left"):
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


# ---- walks ---------------------------------------------------------------------------------------


def game_of(rows: str, **more: object) -> Session:
    level = {"extends": "shared/rules.yaml", "map": rows.replace(" ", "\n"), **more}
    return Session(Scenario.load(level, folder=PUZZLES), 0)


def follow(game: Session, stage: GridStage, action: str) -> list[str]:
    """Take an action of a walk on a stage, and all that follow."""
    taken = []
    while action:
        before = game.frame()
        game.step(action)
        taken.append(action)
        stage.begin(before, game.frame())
        action = stage.next_walk_action()
    return taken


def walked(game: Session, goal: tuple[int, int]) -> list[str]:
    """The actions of the way that a click begins."""
    walk, taken = Walk(goal, game.actions), []
    while action := walk.next_action(game.frame(), game.mask()):
        before = game.frame()
        game.step(action)
        taken.append(action)
        if not walk.is_as_expected(before, game.frame()):
            break
    return taken


def test_it_goes_the_shortest_way_and_ends_there():
    game = game_of("##### #>..# #.#.# #..E# #####")
    assert len(walked(game, (3, 2))) == 3
    assert game.frame().agent[:2] == (3, 2)
    walked(game, (3, 3))
    assert game.frame().success


def test_things_are_handled():
    game = game_of("####### #>.y.Y# #1C..E# #.7...# #######")
    assert walked(game, (1, 3)) == ["MOVE_FORWARD", "PICK_N_DROP"]
    walked(game, (1, 5))
    assert game.frame().types[game.frame().grid[1, 5, 0]].name == "Door"
    assert game.frame().grid[1, 5, 1] == 0
    assert walked(game, (2, 1))[-1] == "ACTUATE"
    assert game.frame().grid[3, 2, 1] == 1
    game = game_of("##### #>C.# #..E# #####")
    assert walked(game, (1, 2)) == ["MOVE_FORWARD"]
    frame = game.frame()
    assert grid_to_text(frame.grid, frame.types, frame.agent).split()[1] == "#.>C#"


def test_what_is_held_is_put_where_a_click_says():
    game = game_of("####### #>y...# #.p..E# #######")
    stage = GridStage(game, DARK)
    stage.walks = True
    stage.select_held_item()  # nothing is held yet
    walked(game, (1, 2))
    stage.begin(None, game.frame())
    surface = pygame.Surface((400, 300), 0, 32)
    stage.select_held_item()
    stage.draw(surface, surface.get_rect(), 1.0)
    follow(game, stage, stage.click(stage._state.cell_rect(2, 2).center, 1))
    frame = game.frame()
    assert frame.types[frame.grid[2, 2, 0]].name == "Key"
    assert not frame.item[0]


@pytest.mark.parametrize("rows", ["##### #>LE# #####", "##### #>iE# #####", "##### #>sE# #####"])
def test_nobody_is_led_into_danger(rows: str):
    assert walked(game_of(rows), (1, 3)) == []
    assert walked(game_of(rows), (1, 2)) == ["MOVE_FORWARD"]


def test_it_stops_where_something_moves():
    game = game_of("######## #>.....# ######## #l....E# ########")
    assert walked(game, (1, 6)) == ["MOVE_FORWARD"]


def test_there_is_no_way_to_what_is_walled_in():
    for goal in ((1, 3), (0, 0)):
        assert walked(game_of("##### #>#E# #####"), goal) == []


def test_who_cannot_turn_pushes_aside():
    game = Session(Scenario.load("sokoban#1"), 0)
    assert walked(game, (2, 3)) == ["MOVE_RIGHT"]
    stage = GridStage(game, DARK)
    assert stage.command("TURN_LEFT") == "MOVE_LEFT"


def test_a_click_in_the_fog_walks_looking_ahead_until_something_is_seen():
    pygame.display.init()
    game = game_of("######### #>......# #######.# #E......# #########", view="explored")
    stage = GridStage(game, DARK)
    stage.view, stage.walks = "explored", True
    surface = pygame.Surface((900, 500), 0, 32)
    stage.draw(surface, surface.get_rect(), 1.0)
    taken = follow(game, stage, stage.click(stage._state.cell_rect(3, 7).center, 1))
    assert taken == [*["MOVE_FORWARD"] * 6, "TURN_RIGHT", "MOVE_FORWARD", "MOVE_FORWARD"]


def test_what_was_seen_is_remembered_as_it_was_and_forgotten_by_undo():
    game = game_of("######### #>..#...# #...7...# #.1.#..E# #########", view="explored")
    known = [game.frame().limit_to_explored().grid]
    for action in ("TURN_RIGHT", "TURN_RIGHT"):
        game.step(action)
        known.append(game.frame().limit_to_explored().grid)
    hidden = [(grid[..., 0] == 1).sum() for grid in known]
    assert hidden[0] > hidden[1] >= hidden[2] > 0
    assert (known[1][0] == known[0][0]).all()
    game.undo(2)
    assert (game.frame().limit_to_explored().grid == known[0]).all()
    game.redo(2)
    assert (game.frame().limit_to_explored().grid == known[2]).all()
    again = Session.from_replay(game.replay(), game.scenario)
    again.seek(2)
    assert (again.frame().limit_to_explored().grid == known[2]).all()
    whole = game.frame().grid
    assert np.array_equal(known[2][known[2][..., 0] != 1], whole[known[2][..., 0] != 1])


def test_steps_are_heard():
    game = game_of("##### #>yY# #..E# #####")

    def heard(action: str) -> str:
        before = game.frame()
        game.step(action)
        return step_sound(before, game.frame())

    actions = ("MOVE_LEFT", "PICK_N_DROP", "MOVE_FORWARD", "ACTUATE", "TURN_LEFT", "PICK_N_DROP")
    assert [heard(action) for action in actions] == ["bump", "take", "", "door", "", "bump"]
    assert [heard(action) for action in ("TURN_LEFT", "PICK_N_DROP")] == ["", "drop"]


def test_the_reason_why_nothing_happens_is_told_where_it_is_known(desk: Desk):
    screen = playing(desk, "tutorial#3")
    desk.press("Right", "Down", "Right")
    key = screen.frame.agent[:2]
    desk.press("P")
    assert desk.app._note == "You stand on the yellow key: step off and face it"
    desk.press("Space")
    assert desk.app._note == "Locked: you need the yellow key"
    assert screen.frame.agent[:2] == key
    desk.press("Left", "Right", "Left")
    desk.app._note = ""
    desk.press("Space")
    assert desk.app._note == "Use what is ahead: nothing happens"


def test_arrow_keys_stay_as_they_are_in_both_views_of_a_puzzle_in_fog(desk: Desk):
    screen = playing(desk, "tutorial#6")
    commands = screen.stage.steering
    for view in ("state", "explored"):
        desk.press("V")
        assert (screen.stage.view, screen.stage.steering) == (view, commands)


WAYS = {"MOVE_FORWARD": 0, "MOVE_BACKWARD": 1, "MOVE_LEFT": 2, "MOVE_RIGHT": 3}
KEYS = {"TURN_LEFT": "Q", "TURN_RIGHT": "E", "ACTUATE": "Space", "PICK_N_DROP": "P"}
ARROWS = "Up", "Down", "Left", "Right"


@pytest.mark.compiled
@pytest.mark.sample("tutorial", "normal")
@pytest.mark.parametrize(
    "name", ["tutorial#6", "puzzles-easy#15", "puzzles-normal#17", "puzzles-hard#15"]
)
def test_par_is_reached_with_arrow_keys_in_fog(desk: Desk, name: str):
    screen = playing(desk, name)
    game, stage = screen.game, screen.stage
    assert isinstance(game.scenario, Scenario)
    assert isinstance(stage, GridStage)
    names = game.scenario.action_names
    for action in [names[k] for k in Solver(game.scenario).solve_from(game.row()).actions]:
        facing = screen.frame.agent[2]
        if action in WAYS:
            desk.press(ARROWS[geometry.rotate(facing, WAYS[action])])
        else:
            if action not in TURN_DIRECTIONS and stage._steering.facing != facing:
                desk.press(ARROWS[facing])  # something is there: it is faced, without a step
            desk.press(KEYS[action])
    par = game.pack_level.par if game.pack_level else 0
    assert screen._result_text == f"{par} steps · par {par} · your best {par}"
