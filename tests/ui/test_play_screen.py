"""The screen on which levels are played, driven by events without a window."""

import json
import re
import time
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import imageio.v3
import numpy as np
import pytest

from gv_engine import RuleError
from gv_engine.cli.new import write_starter_project
from gv_engine.play.grid.motion import is_failure
from gv_engine.play.grid.stage import GridStage
from gv_engine.play.session.replay import Replay
from gv_engine.play.ui import settings
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.drawing.widgets import Painter
from gv_engine.play.ui.input.bindings import GROUPS, PAD, SCREENS
from gv_engine.play.ui.screens.menu import HelpScreen, RulesScreen
from gv_engine.play.ui.screens.play import PlayScreen, describe_ticks
from gv_engine.play.ui.screens.replay import Prompt, ReplayScreen
from gv_engine.play.ui.screens.screen import Screen
from gv_engine.play.ui.screens.settings import PauseMenu, SettingsScreen
from gv_engine.play.ui.settings import unfinished_files
from gv_engine.play.ui.window.app import App
from gv_engine.rules.frame import ShownNumber
from tests.desk import Desk, key_event, labels, pause_labels, playing, watching

pytestmark = pytest.mark.window


KICKS = """
map: ">..E"
action_space: [MOVE_FORWARD, NOOP, {name: KICK, key: k, says: kick the ball}]
transition_functions: [move_agent]
reward_functions: [reach_exit]
observation_function: {name: fully_transparent, area: [[-1, 0], [-1, 1]]}
terminating_function: reach_exit
"""


def told(desk: Desk, screen: PlayScreen) -> list[str]:
    """What the help says that keys do."""
    return [says for _, says in desk.app.bindings.describe_keys(screen.groups, screen.has_command)]


def test_actions_of_a_level_are_played_told_and_gone_with_it(desk: Desk, tmp_path: Path):
    (tmp_path / "kicks.yaml").write_text(KICKS)
    screen = playing(desk, str(tmp_path / "kicks.yaml"))
    assert "K kick the ball" in screen.hints()
    desk.press("K", "Period", "P")
    assert [step.action for step in screen.game.replay().steps] == ["KICK", "NOOP"]
    assert screen.game.message == "P pick up or drop: not in this level"
    desk.press("H")
    shown = desk.top(HelpScreen)
    keys = dict(desk.app.bindings.describe_keys(shown._groups_shown, shown._has_command))
    assert keys["K"] == "kick the ball"
    assert "undo a step" in keys.values()
    assert not {"pick up what is ahead", "another size or difficulty"} & {*keys.values()}
    desk.press("Escape", "Escape")
    assert "Another size or difficulty" not in pause_labels(desk)
    desk.back_to_start()
    assert "K" not in dict(desk.app.bindings.describe_keys(("grid",)))
    assert "another size or difficulty" in told(desk, playing(desk, "empty-4x4"))
    if find_spec("mathy_core"):
        screen = playing(desk, "mathy-poly-simplify-easy")
        assert "start or stop real time" not in told(desk, screen)


def test_undo_redo_rewind(desk: Desk):
    screen = playing(desk)
    first = desk.look()
    desk.press("Left", "Up", "Left")
    last = desk.look()
    desk.press("Z", "Z", "Z")
    assert (desk.look() != first).any()  # the bar stays
    assert (screen.game.position, screen.game.length) == (0, 3)
    desk.press("End")
    assert np.array_equal(desk.look(), last)
    desk.press("Home", "Y", "Shift+Z")
    assert screen.game.position == 2
    desk.press("Right")
    assert screen.game.length == 3
    desk.press(*["Left"] * 6, "Z")
    desk.draw()
    assert screen._layout
    bar = screen._layout.controls
    desk.drag((bar.centerx + 30, bar.centery), bar.center)
    assert screen.game.position == 4


def test_levels_and_seeds(desk: Desk):
    screen = playing(desk, seed=5)
    desk.press("Left", "N")
    assert screen.game.seed == 6
    desk.press("R")
    assert screen.game.seed == 6
    desk.press("G")
    desk.type("-5", "Return")
    desk.top(Prompt)
    assert "from 0 on" in desk.app._note
    assert "-5" in desk.app._note
    desk.press("Escape", "G")
    desk.type("g1x23", "Return")
    assert screen.game.seed == 123
    desk.press("G", "Escape")
    assert screen.game.seed == 123
    assert [played.seed for _, played in screen.game.titled_summaries] == [5]


def test_one_key_ends_no_game(desk: Desk):
    screen = playing(desk, seed=5)
    desk.press("F9", "Left", "R", "Left", "N", "Left", "Shift+N")
    assert screen.game.seed == 5
    desk.press("Left", "L")
    assert desk.app.top is screen
    assert screen._recorder is None
    assert (screen.game.title, desk.app.settings.recent[0]) == ("empty-8x8", "empty-8x8")
    wide = desk.look()
    seen = []
    for _ in range(4):
        desk.press("Home", "Z")
        seen.append((screen.game.title, screen.game.seed, screen.game.length))
    assert seen == [("empty-4x4", 5, 1), ("empty-4x4", 6, 1), *[("empty-4x4", 5, 1)] * 2]
    desk.press(*["Shift+End"] * 4)
    assert (desk.look() != wide).any()  # the message is another
    desk.press("Right")
    assert screen.game.title == "empty-8x8"
    desk.app.quit()
    (told,) = desk.app.sessions
    played = [(title, summary.steps) for title, summary in told.titled_summaries]
    assert played == [*[("empty-4x4", 1)] * 4, ("empty-8x8", 1)]


def test_the_end_says_what_to_press(desk: Desk):
    screen = playing(desk, seed=3)
    before = desk.look()
    desk.press("Right", "Up")
    assert screen.frame.outcome == "terminated"
    assert (desk.look() != before).any()
    desk.press("Up")
    assert screen.game.length == 2
    keys = ["Enter next level", "R restart", "Z undo", "Ctrl+S save replay"]
    assert list(screen.current_hints()[:4]) == keys
    desk.press("Ctrl+S")
    assert "F6 watch replay" in screen.current_hints()
    desk.press("Return")
    assert screen.game.seed == 4
    assert "F6 watch replay" not in screen.current_hints()
    desk.press("Return")
    assert screen.game.seed == 4


def test_time_runs_and_waits(desk: Desk):
    screen = playing(desk, "dynamic-obstacles-5x5")
    desk.press("T")
    desk.now = screen._controller._next_step_time
    desk.wait(10)
    assert screen.game.length == 1
    desk.press("Escape")  # the menu is a pause
    desk.top(PauseMenu)
    desk.wait(10)
    assert screen.game.length == 1
    desk.press("Escape")
    assert any(fact.startswith("Time runs") for fact in screen.facts())
    desk.app.handle_events([pygame.event.Event(pygame.WINDOWFOCUSLOST)])
    assert any(fact.startswith("Time waits") for fact in screen.facts())
    desk.wait(10, times=3)
    assert screen.game.length == 1
    desk.app.handle_events([pygame.event.Event(pygame.WINDOWFOCUSGAINED)])
    desk.wait(0.1)
    assert screen.game.length == 1  # a step takes its whole time
    desk.wait(10)
    assert screen.game.length == 2
    desk.press("T")
    desk.wait(10)
    assert screen.game.length == 2


@pytest.fixture
def cave(tmp_path: Path) -> Path:
    """A scenario with rules and a drawing of its own."""
    write_starter_project(tmp_path / "cave")
    return tmp_path / "cave"


def test_reload_while_playing(desk: Desk, cave: Path):
    screen = playing(desk, str(cave))
    desk.press("Up", "Left")
    file = cave / "scenario.yaml"
    text = file.read_text("utf-8")
    file.write_text(text.replace("max_steps: 200", "max_steps: 77"), "utf-8")
    desk.now = screen._next_check
    desk.notice()
    assert screen.frame.max_steps == 77
    assert screen.game.length == 2
    file.write_text("map: [\n", "utf-8")
    desk.notice()
    assert "scenario.yaml" in desk.app._note
    desk.press("Left")
    assert screen.game.length == 3
    assert screen.error_text.startswith("Still as before: scenario.yaml:")
    file.write_text(text, "utf-8")
    desk.notice()
    assert not screen.error_text


def test_an_error_in_a_rule_is_shown_and_play_goes_on(desk: Desk, cave: Path):
    (rules,) = cave.glob("[!t]*.py")
    text = rules.read_text("utf-8")
    screen = playing(desk, str(cave))
    rules.write_text(text.replace("    w.", "    {}[3]\n    w.", 1), "utf-8")
    desk.now = screen._next_check
    desk.notice()
    desk.press("Up", "Up", "Space", "Space", "Left")
    desk.top(PlayScreen)


def test_a_replay_is_saved_and_watched_and_a_closed_folder_is_no_end(desk: Desk, tmp_path: Path):
    screen = playing(desk)
    (tmp_path / "data").write_text("a file where a folder should be")
    desk.press("Left", "Ctrl+S")
    assert "The replay is not saved" in desk.app._note
    assert str(tmp_path / "data") in desk.app._note
    assert "Errno" not in desk.app._note
    desk.press("F12")
    assert "The picture is not saved" in desk.app._note
    desk.press("F9")
    assert "Not recorded" in desk.app._note
    (tmp_path / "data").unlink()
    desk.press("F6")
    assert desk.app.top is screen
    assert "watch the replay that was saved" not in told(desk, screen)
    desk.press("F5")
    (file,) = settings.replay_folder().iterdir()
    assert Replay.load(file).seed == screen.game.seed
    assert str(file) in desk.app._note
    assert "F6 watches it" in desk.app._note
    assert "watch the replay that was saved" in told(desk, screen)
    desk.press("F6")
    assert desk.top(ReplayScreen).game.length == 1
    desk.press("Escape")
    assert desk.app.top is screen


def test_recording_while_playing(desk: Desk):
    playing(desk)
    desk.app.settings.recording = ".gif"
    desk.press("F9", "Left", "Left", "F9", "F12")
    files = sorted(settings.recording_folder().iterdir())
    assert [file.suffix for file in files] == [".gif", ".png"]
    assert len(imageio.v3.imread(files[0])) >= 3


def test_closing_keeps_what_was_not_finished(desk: Desk):
    playing(desk, seed=3)
    desk.press("F9", "Right")
    desk.app.quit()
    assert [file.suffix for file in settings.recording_folder().iterdir()] == [".mp4"]
    replay = Replay.load(unfinished_files()[0])
    assert (replay.seed, len(replay.steps)) == (3, 1)
    desk.start()
    desk.press("Return")
    assert desk.top(PlayScreen).game.position == 1
    desk.press("Up")
    desk.app.quit()
    assert not unfinished_files()


def test_a_right_click_opens_the_inspector(desk: Desk):
    screen = playing(desk)
    assert screen._layout is not None
    before = desk.look()
    x, y = screen._layout.stage.center
    desk.click((x - screen._layout.stage.w // 4, y), button=3)
    inspector, *others = screen.stage.side_panels
    assert screen.stage.side_panel is inspector
    assert (desk.look() != before).any()
    desk.press("Tab", "X", "PageDown", "Ctrl+Up", "I", *("I" for _ in others))
    assert screen.stage.side_panel is None


class Note:
    """A side panel of a test's own."""

    title = "Note"
    event = command = staticmethod(lambda _: False)

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, line: int) -> None:
        surface.fill("#12ab34", rect)


def test_side_panels_are_opened_in_turn(desk: Desk):
    screen = playing(desk)
    inspector, note = screen.stage.side_panels[0], Note()
    screen.stage.side_panels = (inspector, note)
    opened = []
    for _ in range(4):
        desk.press("I")
        opened.append(screen.stage.side_panel)
        assert ((desk.look() == (0x12, 0xAB, 0x34)).all(2).any()) == (opened[-1] is note)
    assert opened == [inspector, note, None, inspector]
    desk.app.settings.theme = "light"  # for which the stage is built anew
    desk.look()
    assert screen.stage.side_panel is screen.stage.side_panels[0]


def test_a_view_is_remembered_and_speeds_of_replays_and_games_apart(desk: Desk):
    desk.app.settings.research = True
    screen = playing(desk)
    desk.press("V")
    assert screen.stage.view == desk.app.settings.view == list(screen.domain.views)[1]
    desk.back_to_start()
    assert playing(desk).stage.view == screen.stage.view
    watching(desk, "TURN_LEFT")
    desk.press("Up", "Up", "Up", "Up")
    assert (desk.app.settings.speed, desk.app.settings.time_speed) == (60, 4)


def test_a_held_key_walks_on_but_a_slow_game_does_not_fall_behind(desk: Desk):
    screen = playing(desk)
    desk.hold("Left", 3)
    assert screen.game.length == 4
    desk.app.handle_events([key_event("Left", True)] * 9)  # all at once: they waited
    assert screen.game.length == 5
    desk.hold("R", 3)
    assert [played.steps for _, played in screen.game.titled_summaries] == [5]


STEPS = {"undo", "redo", "forward", "back", "agent_step", "batch_step", "delete", "erase"}
"""Commands that a held key repeats, beside moves, walks through lists, zooming and scrolling."""
WALK = re.compile(
    r"(MOVE_|TURN_|node_|cell_|scroll_|zoom_(in|out)|batch_(left|right|up|down)|page_|move_(up|down)"
    r"|(select_|word_|select_word_)?(left|right)|up|down|(erase|delete)_word"
    r"|(next|previous)_(thing|usable|rule|fault))"
)


OF_APP = "full_screen", "sound"  # commands that the app runs, no screen


def test_a_held_key_repeats_steps_and_moves_and_nothing_that_it_would_undo(desk: Desk):
    repeating = {c.name for group in GROUPS.values() for c in group if c.repeats}
    assert not {name for name in repeating - STEPS if not WALK.match(name)}
    for groups in SCREENS.values():
        screen = Recorded(desk.app, groups)
        desk.app.push(screen)
        for command in (c for group in groups for c in GROUPS[group] if c.name not in OF_APP):
            for key in command.keys:
                bound = desk.app.bindings.find(key, groups)
                desk.hold(key, 3)
                assert bound
                assert screen.ran == [bound.name] * (4 if bound.repeats else 1), key
                screen.ran.clear()
        desk.app.pop()


class Recorded(Screen):
    """A screen that only writes down its commands."""

    def __init__(self, app: App, groups: tuple[str, ...]) -> None:
        super().__init__(app)
        self.groups, self.ran = groups, list[str]()

    def run_command(self, name: str) -> None:
        self.ran.append(name)

    def draw(self, painter: Painter, now: float) -> None: ...


def test_the_label_of_a_cell_goes_with_the_mouse_and_when_keys_are_used(desk: Desk):
    screen = playing(desk)
    assert screen._layout
    at = vars(screen.stage)["_places"]["state"].rect.center
    button = max(desk.app._painter._hit_areas, key=lambda area: area.rect.x)  # type: ignore[union-attr]
    plain = desk.look()

    def is_labelled() -> bool:
        if desk.app.needs_redraw:
            desk.draw()
        seen = pygame.surfarray.array3d(desk.surface).swapaxes(0, 1)
        return bool((seen != plain)[at[1] - 160 : at[1] + 160].any())

    leave = pygame.event.Event(pygame.WINDOWLEAVE)
    for go_away in (
        lambda: desk.app.handle_events([leave]),
        lambda: desk.point(button.rect.center),
        lambda: desk.press("Shift+Home"),  # no game before: nothing but the label changes
    ):
        desk.point(at)
        assert is_labelled()
        go_away()
        assert not is_labelled()
    desk.press("I")
    assert screen._layout
    plain = desk.look()
    at = vars(screen.stage)["_places"]["state"].rect.center
    desk.point(at)
    assert is_labelled()
    desk.point(screen._layout.side.center)
    assert not is_labelled()


def test_a_held_arrow_key_changes_a_setting_once_and_a_number_on_and_on(desk: Desk):
    desk.app.push(SettingsScreen(desk.app))
    menu = desk.top(SettingsScreen)
    for label, name in (
        ("Research view", "research"),
        ("Motion", "animation"),
        ("Theme", "theme"),
    ):
        menu.chosen = labels(menu).index(label)
        before = getattr(desk.app.settings, name)
        desk.hold("Right", 3)
        assert getattr(desk.app.settings, name) != before
        desk.press("Left")
        assert getattr(desk.app.settings, name) == before


@pytest.mark.parametrize("size", [(937, 600), (1280, 800), (600, 900)])
def test_the_line_of_keys_is_below_the_inspector(
    desk: Desk, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
):
    drawn: list[pygame.Rect] = []
    monkeypatch.setattr(Painter, "draw_keys", lambda _, rect, __: drawn.append(rect.copy()))
    desk.surface = pygame.Surface(size, 0, 32)
    screen = playing(desk, "crates")
    for key, has_inspector in (("I", True), ("I", False)):
        drawn.clear()
        desk.press(key)
        desk.draw()
        assert screen._layout
        assert bool(screen._layout.side.h) is has_inspector
        assert drawn
        for rect in drawn:
            assert rect.bottom <= size[1]
            parts = screen._layout.side, screen._layout.panel, screen._layout.stage
            assert rect.collidelist(parts) == -1


@pytest.mark.sample("size0-1.0-False", "size1-2.0-True", "size2-1.0-True", "size2-2.0-False")
@pytest.mark.parametrize("inspects", [False, True])
@pytest.mark.parametrize("scale", [1.0, 2.0])
@pytest.mark.parametrize("size", [(1280, 800), (400, 300), (600, 900)])
def test_the_board_stays_where_it_is_when_the_level_is_over(
    desk: Desk, size: tuple[int, int], scale: float, inspects: bool
):
    desk.surface = pygame.Surface(size, 0, 32)
    desk.app.settings.scale = scale
    screen = playing(desk, seed=3)
    desk.press(*["I"] * inspects, "Right")
    desk.draw()
    before = boards_of(screen)
    rect = before["state"]
    state = np.s_[rect.top : rect.bottom, rect.left : rect.right]
    board = desk.look()[state]
    desk.press("Up")
    desk.draw()
    assert screen.frame.outcome
    assert boards_of(screen) == before
    desk.press("Z")
    assert np.array_equal(desk.look()[state], board)
    hints = " ".join(screen._fit_hints(desk.app._painter, screen.current_hints(), 2))  # type: ignore[arg-type]
    assert "Z undo" in hints


def boards_of(screen: PlayScreen) -> dict[str, pygame.Rect]:
    """Where the boards are on the stage."""
    return {name: place.rect for name, place in screen.stage._places.items()}  # type: ignore[attr-defined]


def test_large_letters_leave_a_quarter_of_the_window_to_the_boards(desk: Desk):
    desk.surface = pygame.Surface((1280, 800), 0, 32)
    desk.app.settings.scale = 2.0
    rects = boards_of(playing(desk, seed=3)).values()
    assert sum(rect.w * rect.h for rect in rects) > 1280 * 800 / 4


def test_a_drawing_that_cannot_be_read_is_told(desk: Desk, cave: Path):
    screen = playing(desk, str(cave))
    before = desk.look()
    (cave / "rubble_whole.svg").write_text("<svg")
    screen._rebuild_stage()
    for _ in range(3):  # each time anew
        assert (desk.look() != before).any()
    desk.press("Left")
    assert screen.game.length == 1


def test_a_level_that_cannot_begin_is_told(desk: Desk):
    screen = playing(desk)

    def fail(seed: int | None = None) -> None:
        raise RuleError("rules.py:3: no")

    screen.game.reset = fail  # type: ignore[method-assign]
    desk.press("N", "G", "Return")
    desk.top(Prompt)
    assert desk.app._note == "rules.py:3: no"


@pytest.mark.parametrize("name", ["keydoor-5x5", "medley-7x7", "mathy-poly-simplify-easy"])
def test_the_rules_of_a_level_are_told(desk: Desk, name: str):
    screen = playing(desk, name)
    desk.press("F3")
    headings, rules = zip(*desk.top(RulesScreen)._sections)
    assert headings[:3] == ("What happens", "What pays", "What ends it")
    assert all(rules)
    assert all(says.endswith((".", ")")) for told in rules for _, says in told)
    before = desk.look()
    desk.surface = pygame.Surface((320, 240), 0, 32)
    desk.press("Down", "PageDown")
    assert not np.array_equal(before[:240, :320], desk.look())
    desk.press("Escape")
    assert desk.app.top is screen


def test_a_key_that_the_level_lacks_names_another(desk: Desk):
    screen = playing(desk, "MiniGrid-Unlock-v0")
    desk.press("Space")
    said = screen.game.message
    assert said.startswith("Space use what is ahead: not in this level; F open or close")
    desk.press("P")
    assert "U pick up what is ahead" in screen.game.message
    assert screen.game.length == 0


def test_every_click_on_a_level_is_answered(desk: Desk):
    screen = playing(desk, "tutorial#6")
    screen.stage.view = "explored"
    desk.draw()
    stage: Any = screen.stage
    answers = set()
    for cell in np.ndindex(*screen.frame.grid.shape[:2]):
        before = screen.game.length
        desk.click(stage._state.cell_rect(*cell).center)
        screen._is_walking = False
        assert screen.game.length > before or stage._note, cell
        answers.add(stage._note)
        desk.press("R")
    assert {"You are here", "No way to the wall"} <= answers
    assert "You have not seen that cell yet, and know no way to it" in answers


def test_instructions_name_the_keys_in_use(desk: Desk):
    screen = playing(desk, "tutorial#2")
    assert "Left and Right turn you" in screen._instructions
    assert "on the spot" not in screen._instructions
    desk.app.settings.arrow_keys = "point"
    screen.on_resume()
    assert "{" not in screen._instructions
    assert screen._instructions.startswith("Arrow keys go where they point.")
    assert "Shift+Left and Shift+Right turn you on the spot. Or click" in screen._instructions


def test_a_mission_is_said_once(desk: Desk):
    screen = playing(desk, "BabyAI-GoToObj-v0", 1)
    assert screen.frame.mission
    assert screen.game.message == ""


def test_watching_without_a_saved_replay_is_answered(desk: Desk):
    playing(desk)
    desk.press("F6")
    assert desk.app._note == "No replay is saved yet; Ctrl+S saves one"


def test_each_player_has_a_gamepad(desk: Desk):
    screen = playing(desk, "hold-plates")
    first, second = screen.game.agents[:2]

    def press(pad: int, name: str) -> None:
        button = PAD.index(name)
        for kind in (pygame.CONTROLLERBUTTONDOWN, pygame.CONTROLLERBUTTONUP):
            desk.app.handle_events([pygame.event.Event(kind, button=button, instance_id=pad)])

    desk.app._keyboard._pads = {7: object(), 9: object()}
    press(7, "Pad Left")
    press(9, "Pad Left")
    actions = [step.action for step in screen.game.replay().steps]
    assert actions == [f"{first} TURN_LEFT", f"{second} TURN_LEFT"]
    desk.back_to_start()
    playing(desk)
    press(9, "Pad Right")  # alone, either will do
    assert [step.action for step in desk.top(PlayScreen).game.replay().steps] == ["TURN_RIGHT"]


def test_an_unfinished_game_of_each_level_is_kept(desk: Desk):
    for name in ("empty-8x8", "keydoor-5x5"):
        playing(desk, name)
        desk.press("Right")
        desk.back_to_start()
    titles = [Replay.load(file).scenario.name for file in unfinished_files()]
    assert sorted(titles) == ["empty-8x8", "keydoor-5x5"]
    screen = desk.start()
    assert [card.title for card in dict(screen.sections())["Go on playing"]] == [
        "Key and door 5×5",
    ]
    screen.choose_category("Mine")
    assert [card.title for card in dict(screen.sections())["Not finished"]] == [
        *("Key and door 5×5", "Empty 8×8"),
    ]
    for number in range(settings.MAX_UNFINISHED + 1):
        replay = Replay.load(unfinished_files()[0])
        settings.save_unfinished("a level", f"level-{number}", replay)
    assert len(unfinished_files()) == settings.MAX_UNFINISHED
    settings.save_unfinished("a level", "level-6", None)
    assert len(unfinished_files()) == settings.MAX_UNFINISHED - 1


def test_levels_of_two_files_with_one_name_have_a_game_each(desk: Desk, tmp_path: Path):
    level = {
        "name": "Twin",
        "map": "######\n#>..E#\n######",
        "transition_functions": ["move_agent"],
        "reward_functions": ["reach_exit"],
        "observation_function": {"name": "fully_transparent", "area": [[-2, 0], [-1, 1]]},
        "terminating_function": "reach_exit",
    }
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "twin.yaml").write_text(json.dumps(level))
        screen = playing(desk, str(tmp_path / folder / "twin.yaml"))
        assert screen.game.title == "Twin"
        desk.press("Up")
        desk.back_to_start()
    assert len(unfinished_files()) == 2
    playing(desk, str(tmp_path / "a" / "twin.yaml"))
    desk.back_to_start()  # nothing is begun there now
    assert len(unfinished_files()) == 1


def test_hints_name_the_shortest_key_of_a_step_aside(desk: Desk):
    hints = playing(desk, "pogema-8x8-4a").hints()
    assert {"Left step left", "Right step right"} <= {*hints}
    hints = playing(desk, "keydoor-5x5").hints()
    assert {"Left turn left", "Shift+Left step left"} <= {*hints}


def test_an_action_without_effect_is_told(desk: Desk):
    screen = playing(desk, "crafter")
    desk.press("K")  # it has no wood
    assert desk.app._note == "Place a table (2 wood): too little wood"
    desk.press("C")
    assert desk.app._note == "Sleep until you are rested: it needs less than full energy"
    desk.app._note = ""
    desk.press("Up")
    before = screen.frame
    wood = replace(before, steps=9, action="MAKE_WOOD_PICKAXE", numbers=before.numbers[:4])
    made = (*before.numbers[:3], ShownNumber("wood pickaxe", "1"))
    assert is_failure(before, wood)
    assert not is_failure(before, replace(wood, numbers=made))


def test_costs_and_numbers_have_icons_in_small_windows(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    shown: list[str] = []
    draw_icon = GridStage.draw_icon

    def record(stage: GridStage, surface: Any, rect: pygame.Rect, name: str) -> None:
        shown.append(name)
        assert rect.w >= 8
        draw_icon(stage, surface, rect, name)

    monkeypatch.setattr(GridStage, "draw_icon", record)
    desk.surface = pygame.Surface((640, 400), 0, 32)
    screen = playing(desk, "crafter")
    shown.clear()
    desk.look()
    costs = [name for command in screen._icon_commands for name, _ in command.cost]
    assert shown[:4] == ["health", "food", "drink", "energy"]
    assert len(shown) == 4 + len(screen._icon_commands) + len(costs)
    assert shown.count("iron") == 2
    assert not screen.stage.has_icon("floor")
    assert not screen.stage.has_icon("daylight")


def test_achievements_are_a_list_that_fills_and_actions_are_icons(desk: Desk):
    desk.surface = pygame.Surface((1280, 800), 0, 32)
    screen = playing(desk, "crafter")
    desk.look()
    assert screen._checklist_rect.w > 0
    assert "Achievements" not in " ".join(screen._list_status())
    assert not {"C", "B"} & {key for key, _ in screen.key_caps()[0]}  # they are in the bar
    before = screen.frame
    first = before.display[0]._replace(text="1")
    after = replace(before, display=(first, *before.display[1:]))
    assert describe_ticks(before, after) == "Achievements 1 of 22: collect wood"
    assert not describe_ticks(after, after)
    areas = desk.app._painter._hit_areas  # type: ignore[union-attr]
    places = [area for area in areas if area.rect.h > 2 * screen.stage.line]
    assert len(places) == len(screen._icon_commands) == 12
    places[3].press(places[3].rect.center)
    assert desk.app._note == "Place a table (2 wood): too little wood"
    desk.surface = pygame.Surface((640, 320), 0, 32)
    desk.look()
    assert "Achievements 0 of 22" in screen._list_status()
    screen.run_command("research")
    assert not screen.bar_lines


def test_players_see_goal_and_keys_in_every_step_and_the_timeline_after_undo(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    sliders: list[pygame.Rect] = []
    draw_slider = Painter.draw_slider

    def record(painter: Painter, rect: pygame.Rect, *others: Any) -> None:
        sliders.append(rect)
        draw_slider(painter, rect, *others)

    monkeypatch.setattr(Painter, "draw_slider", record)
    desk.surface = pygame.Surface((1280, 800), 0, 32)
    screen = playing(desk, "keydoor-9x9")
    goal = "Find the key, open the door, reach the exit."
    for _ in range(3):
        desk.look()
        assert screen._goal_lines == [goal]
        desk.press("Left")
    caps = [("Left Right", "turn"), ("Up", "walk"), ("Space", "use"), ("P", "take")]
    assert screen.key_caps() == ([*caps, ("Z", "undo"), ("H", "more")],)
    assert not sliders
    desk.press("Z")
    desk.look()
    board = boards_of(screen)["state"]
    assert sliders[-1].centerx == board.centerx == desk.surface.get_width() // 2
    assert board.w - 3 * screen.stage.line < sliders[-1].w <= board.w


def test_time_runs_by_itself_in_a_level_that_says_so(desk: Desk, tmp_path: Path):
    (tmp_path / "timed.yaml").write_text("time: {beat: 4}\n" + KICKS)
    screen = playing(desk, str(tmp_path / "timed.yaml"))
    assert "Time runs: 4 steps a second" in screen.facts()
    assert ("T", "time") in screen.key_caps()[0]
    desk.now = time.monotonic()
    desk.wait(0.3)
    assert [step.action for step in screen.game.replay().steps] == ["WAIT"]
    desk.press("T")
    desk.wait(1, times=3)
    assert screen.game.position == 1
    assert not any("Time" in fact for fact in screen.facts())
    desk.press("T")
    desk.app.has_focus = False
    desk.wait(1)
    desk.app.has_focus = True
    desk.wait(1)
    assert screen.game.position == 2
