"""The screens, driven by events without a window."""

import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import imageio.v3
import numpy as np
import pytest

from gv_engine import RuleError, Scenario
from gv_engine.commands.check import sources_of
from gv_engine.commands.new import write_starter
from gv_engine.frontend.controls import folders
from gv_engine.frontend.controls.bindings import Bindings, keys_file
from gv_engine.frontend.controls.folders import unfinished_file
from gv_engine.frontend.controls.settings import Settings, settings_file
from gv_engine.frontend.drawing.hud import place_parts
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen, line_height, wrap
from gv_engine.frontend.window import sounds
from gv_engine.frontend.window.app import App
from gv_engine.frontend.window.keyboard import Keyboard
from gv_engine.frontend.window.screens.export import ExportScreen
from gv_engine.frontend.window.screens.help import HelpScreen
from gv_engine.frontend.window.screens.menu import Menu
from gv_engine.frontend.window.screens.play import PauseMenu, PlayScreen
from gv_engine.frontend.window.screens.prompt import Prompt
from gv_engine.frontend.window.screens.replay import ReplayScreen
from gv_engine.frontend.window.screens.settings import SettingsScreen
from gv_engine.frontend.window.screens.start import StartScreen
from gv_engine.frontend.window.viewer import _fitting
from gv_engine.playing.replay import Replay, ReplayError
from gv_engine.reading.families import built_in_names
from tests.desk import Desk, home

pytestmark = pytest.mark.window

SIZES = [(800, 600), (1920, 1080), (320, 240), (600, 900), (160, 90)]
DOWN = [pygame.KEYDOWN, pygame.KEYUP]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    home(tmp_path, monkeypatch)
    monkeypatch.chdir(tmp_path)
    made = Desk()
    yield made
    made.app.quit()


def playing(desk: Desk, source: str = "empty-4x4", seed: int = 0) -> PlayScreen:
    desk.app.push(StartScreen(desk.app))
    desk.app.play(source, seed)
    desk.look()
    assert isinstance(desk.app.top, PlayScreen)
    return desk.app.top


def watching(desk: Desk, *actions: str) -> ReplayScreen:
    screen = playing(desk)
    for action in actions:
        screen.take(action)
    screen.save_replay()
    (file,) = folders.replay_folder().iterdir()
    desk.back_to_start()
    desk.app.watch(file)
    desk.look()
    assert isinstance(desk.app.top, ReplayScreen)
    return desk.app.top


# ---- start ---------------------------------------------------------------------------------------


def test_typing_finds_and_enter_plays(desk: Desk):
    desk.app.push(StartScreen(desk.app))
    desk.look()
    desk.type("door 7")
    desk.press("Return")
    assert isinstance(desk.app.top, PlayScreen)
    assert desk.app.top.game.title == "keydoor-7x7"
    assert desk.app.settings.recent == ["keydoor-7x7"]


def test_every_scenario_is_there_once_and_has_a_thumbnail(desk: Desk):
    start = StartScreen(desk.app)
    desk.app.push(start)
    empty = desk.look().copy()
    cards = [card for _, cards in start.sections() for card in cards]
    titles = [card.title for card in cards if not re.match(r"sokoban-\d+ ", card.title)]
    assert sorted(titles) == sorted(built_in_names())
    assert len(cards) == len(titles) - 1 + len(sources_of("sokoban"))
    while start.tick(0) is not None:
        pass
    assert all(card.text and not card.wrong for card in cards)
    assert (desk.look() != empty).any()


def test_what_is_not_installed_is_one_card(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mathy_core", None)
    start = StartScreen(desk.app)
    desk.app.push(start)
    desk.look()
    sections = {heading: list(cards) for heading, cards in start.sections()}
    (card,) = sections["Not installed"]
    assert card.title == "24 more levels"
    assert f"{sys.executable} -m pip install" in card.text
    assert not any("mathy" in card.title for cards in sections.values() for card in cards)
    desk.type("mathy poly")
    assert [placed.card for placed in start._placed] == [card]
    desk.press("Return")
    assert desk.app._note == card.text


def test_arrows_walk_over_all_cards(desk: Desk):
    start = StartScreen(desk.app)
    desk.app.push(start)
    desk.look()
    number = sum(len(cards) for _, cards in start.sections())
    seen = {start._chosen}
    for key in ["Right"] * number:
        desk.press(key)
        seen.add(start._chosen)
    assert seen == set(range(number))
    desk.press("Home", "Down", "Up")
    assert start._chosen == 0
    desk.press("End")
    assert start._chosen == number - 1


def test_what_was_played_comes_first(desk: Desk):
    playing(desk, "memory-5x5")
    desk.back_to_start()
    desk.look()
    desk.press("Return")
    assert isinstance(desk.app.top, PlayScreen)
    assert desk.app.top.game.title == "memory-5x5"


def test_files_here_and_elsewhere(desk: Desk, tmp_path: Path):
    write_starter(tmp_path / "cave")
    write_starter(tmp_path / "far" / "away")
    (tmp_path / "notes.yaml").write_text("nothing: to play\n")
    start = StartScreen(desk.app)
    desk.app.push(start)
    here = dict(start.sections())["In this folder"]
    assert [card.title for card in here] == ["cave"]
    desk.look()
    desk.type(str(tmp_path / "far" / "away"))
    desk.press("Return")
    assert isinstance(desk.app.top, PlayScreen)
    assert desk.app.top.game.scenario.source == tmp_path / "far" / "away" / "scenario.yaml"


def test_files_are_remembered_wherever_the_game_is_started(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_starter(tmp_path / "cave")
    playing(desk, "cave")
    playing(desk, "GV-Empty-4x4-v0")
    file = tmp_path / "cave" / "scenario.yaml"
    assert desk.app.settings.recent == ["empty-4x4", str(file)]
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    start = StartScreen(desk.app)
    cards = dict(start.sections())["Recent"]
    assert [card.title for card in cards] == ["empty-4x4", "cave"]


def test_a_broken_scenario_says_what_is_wrong(desk: Desk, tmp_path: Path):
    (tmp_path / "cave").mkdir()
    (tmp_path / "cave" / "scenario.yaml").write_text("map: 3\n")
    start = StartScreen(desk.app)
    desk.app.push(start)
    desk.look()
    (card,) = dict(start.sections())["In this folder"]
    while start.tick(0) is not None:
        pass
    assert "scenario.yaml:1" in card.wrong
    desk.press("Return")
    assert desk.app.top is start


def test_escape_clears_the_search_and_then_leaves(desk: Desk):
    desk.app.push(StartScreen(desk.app))
    desk.look()
    desk.type("zzz")
    desk.press("Return", "Escape")
    assert len(desk.app.screens) == 1
    desk.press("Escape")
    assert not desk.app.screens


# ---- play ----------------------------------------------------------------------------------------


def test_undo_redo_rewind(desk: Desk):
    screen = playing(desk)
    first = desk.look().copy()
    desk.press("Left", "Up", "Left")
    last = desk.look().copy()
    desk.press("Z", "Z", "Z")
    assert np.array_equal(desk.look(), first) is False  # the bar stays
    assert (screen.game.position, screen.game.length) == (0, 3)
    desk.press("End")
    assert np.array_equal(desk.look(), last)
    desk.press("Home", "Y", "Shift+Z")
    assert screen.game.position == 2
    desk.press("Right")
    assert screen.game.length == 3


def test_the_bar_can_be_dragged(desk: Desk):
    screen = playing(desk)
    desk.press(*["Left"] * 8)
    assert screen._at is not None
    bar = screen._at.controls
    desk.drag((bar.right - 20, bar.centery), bar.center)
    assert screen.game.position == 4


def test_levels_and_seeds(desk: Desk):
    screen = playing(desk, seed=5)
    desk.press("Left", "N")
    assert screen.game.seed == 6
    desk.press("R")
    assert screen.game.seed == 6
    desk.press("G")
    assert isinstance(desk.app.top, Prompt)
    desk.type("g1x23")
    desk.press("Return")
    assert screen.game.seed == 123
    desk.press("G", "Escape")
    assert screen.game.seed == 123
    assert [played.seed for played in screen.game.played] == [5]


def test_the_end_says_what_to_press(desk: Desk):
    screen = playing(desk, seed=3)
    before = desk.look().copy()
    desk.press("Right", "Up")
    assert screen.frame.outcome == "terminated"
    after = desk.look()
    assert (after != before).any()
    desk.press("Up")
    assert screen.game.length == 2
    desk.press("Return")
    assert screen.game.seed == 4
    desk.press("Return")
    assert screen.game.seed == 4


def test_time_runs_and_waits(desk: Desk, tmp_path: Path):
    screen = playing(desk, "dynamic-obstacles-5x5")
    if not screen.game.wait:
        pytest.skip("no action that waits")
    desk.press("T")
    desk.now = screen._beat
    desk.wait(10)
    assert screen.game.length == 1
    desk.press("Escape")  # the menu is a pause
    assert isinstance(desk.app.top, PauseMenu)
    desk.wait(10)
    assert screen.game.length == 1
    desk.press("Escape", "T")
    desk.wait(10)
    assert screen.game.length == 1


def test_reload_while_playing(desk: Desk, tmp_path: Path):
    write_starter(tmp_path / "cave")
    screen = playing(desk, str(tmp_path / "cave"))
    desk.press("Up", "Left")
    file = tmp_path / "cave" / "scenario.yaml"
    text = file.read_text("utf-8")
    file.write_text(text.replace("max_steps: 200", "max_steps: 77"), "utf-8")
    desk.now = screen._look
    desk.wait(1)
    assert screen.frame.max_steps == 77
    assert screen.game.length == 2
    file.write_text("map: [\n", "utf-8")
    desk.wait(1)
    assert "scenario.yaml" in desk.app._note
    desk.press("Left")
    assert screen.game.length == 3
    assert screen.trouble.startswith("Still as before: scenario.yaml:")
    file.write_text(text, "utf-8")
    desk.wait(1)
    assert not screen.trouble


def test_an_error_in_a_rule_is_shown_and_play_goes_on(desk: Desk, tmp_path: Path):
    write_starter(tmp_path / "cave")
    (rules,) = (tmp_path / "cave").glob("[!t]*.py")
    text = rules.read_text("utf-8")
    screen = playing(desk, str(tmp_path / "cave"))
    rules.write_text(text.replace("    w.", "    {}[3]\n    w.", 1), "utf-8")
    desk.now = screen._look
    desk.wait(1)
    desk.press("Up", "Up", "Space", "Space", "Left")
    assert isinstance(desk.app.top, PlayScreen)


def test_replay_is_saved_and_a_folder_that_is_closed_is_no_end(desk: Desk, tmp_path: Path):
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
    desk.press("F5")
    (file,) = folders.replay_folder().iterdir()
    assert Replay.load(file).seed == screen.game.seed
    assert str(file) in desk.app._note


def test_recording_while_playing(desk: Desk):
    playing(desk)
    desk.app.settings.recording = ".gif"
    desk.press("F9", "Left", "Left", "F9", "F12")
    files = sorted(folders.recording_folder().iterdir())
    assert [file.suffix for file in files] == [".gif", ".png"]
    assert len(imageio.v3.imread(files[0])) >= 3


def test_closing_keeps_what_was_not_finished(desk: Desk):
    playing(desk, seed=3)
    desk.press("F9", "Right")
    desk.app.quit()
    assert [file.suffix for file in folders.recording_folder().iterdir()] == [".mp4"]
    replay = Replay.load(unfinished_file())
    assert (replay.seed, len(replay.steps)) == (3, 1)
    desk.app.push(StartScreen(desk.app))
    desk.look()
    desk.press("Return")
    assert isinstance(desk.app.top, PlayScreen)
    assert desk.app.top.game.position == 1
    desk.press("Up")
    desk.app.quit()
    assert not unfinished_file().exists()


def test_a_click_opens_the_inspector(desk: Desk):
    screen = playing(desk)
    assert screen._at is not None
    before = desk.look().copy()
    x, y = screen._at.stage.center
    desk.click((x - screen._at.stage.w // 4, y))
    inspector, *others = screen.stage.side_panels
    assert screen.stage.side_panel is inspector
    assert (desk.look() != before).any()
    desk.press("Tab", "X", "PageDown", "Ctrl+Up", "I", *("I" for _ in others))
    assert screen.stage.side_panel is None


class Note:
    """A side panel of a test's own."""

    title = "Note"

    def draw(self, surface: pygame.Surface, rect: pygame.Rect, line: int) -> None:
        surface.fill("#12ab34", rect)

    def event(self, event: pygame.event.Event) -> bool:
        return False

    def command(self, name: str) -> bool:
        return False


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


def test_view_is_remembered(desk: Desk):
    screen = playing(desk)
    desk.press("V")
    assert screen.stage.view == desk.app.settings.view == list(screen.family.views)[1]
    desk.back_to_start()
    assert playing(desk).stage.view == screen.stage.view


# ---- replays -------------------------------------------------------------------------------------


def test_a_replay_is_watched(desk: Desk):
    screen = watching(desk, "TURN_LEFT", "MOVE_FORWARD", "TURN_LEFT")
    assert (screen.game.position, screen.game.length) == (0, 3)
    desk.press("Right", "Right", "Left")
    assert screen.game.position == 1
    desk.press("End", "Home", "Up")
    assert desk.app.settings.speed == 8
    desk.press("Space")
    for _ in range(4):
        desk.wait(2)
    assert screen.game.position == 3
    assert not screen._plays
    desk.press("Left", "Return")
    assert isinstance(desk.app.top, PlayScreen)
    assert desk.app.top.game.position == 2
    desk.press("Left")
    assert desk.app.top.game.length == 3
    assert screen.game.length == 3


# imageio leaves the pipes open through which it reads a video
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("suffix", [".mp4", ".gif", ".png"])
def test_export(desk: Desk, suffix: str):
    watching(desk, "TURN_LEFT", "MOVE_FORWARD", "TURN_LEFT")
    desk.press("E")
    export = desk.app.top
    assert isinstance(export, ExportScreen)
    export._suffix = suffix
    desk.press("Return")
    while desk.app.top is export:
        desk.look()
        export.tick(0)
    (file,) = folders.recording_folder().iterdir()
    assert file.suffix == suffix
    pictures = imageio.v3.imread(file)
    assert (len(pictures) >= 4) if suffix != ".png" else pictures.ndim == 3


def test_a_stopped_export_leaves_no_file(desk: Desk):
    watching(desk, *["TURN_LEFT"] * 40)
    desk.press("E", "Return")
    export = desk.app.top
    export.tick(0)
    desk.press("Escape")
    assert desk.app.top is export
    assert not list(folders.recording_folder().iterdir())
    desk.press("Escape")
    assert isinstance(desk.app.top, ReplayScreen)


def test_a_damaged_replay_is_a_card_that_says_so(desk: Desk):
    watching(desk, "TURN_LEFT")
    (file,) = folders.replay_folder().iterdir()
    file.write_bytes(file.read_bytes()[:-30])
    start = StartScreen(desk.app)
    desk.app.push(start)
    desk.look()
    while start.tick(0) is not None:
        pass
    (card,) = dict(start.sections())["Replays"]
    assert card.wrong
    with pytest.raises(ReplayError):
        card.open(desk.app)
    desk.press("End", "Return")
    assert desk.app.top is start
    assert desk.app._note == card.wrong


# ---- all screens ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "scale"), [*((size, 1.0) for size in SIZES), ((800, 600), 2.0), ((320, 240), 2.0)]
)
def test_every_screen_draws_at_every_size(desk: Desk, size: tuple[int, int], scale: float):
    desk.surface = pygame.Surface(size, 0, 32)
    desk.app.settings.scale = scale
    watching(desk, "TURN_LEFT", "MOVE_FORWARD")
    desk.press("Right", "I", "E", "Escape", "Escape")
    playing(desk, "dynamic-obstacles-7x7")
    desk.press("H", "Escape", "F2", "Right", "Escape", "Escape", "Escape", "I", "G", "Escape")
    playing(desk, seed=3)
    desk.press("Right", "Up")
    assert desk.app.top.frame.outcome  # type: ignore[attr-defined]


def test_themes_and_palettes_change_at_once(desk: Desk):
    playing(desk, "keydoor-5x5")
    dark = desk.look().copy()
    desk.press("F2", "Right")
    assert isinstance(desk.app.top, SettingsScreen)
    assert desk.app.settings.theme == "light"
    desk.press("Escape")
    light = desk.look().copy()
    assert (light != dark).any()
    desk.press("F2", "Down", "Right", "Escape")
    assert (desk.look() != light).any()
    assert Settings.load(settings_file())[0] == desk.app.settings


def test_help_is_about_the_screen_and_makes_the_file_of_keys(desk: Desk):
    playing(desk)
    desk.press("H")
    help_screen = desk.app.top
    assert isinstance(help_screen, HelpScreen)
    help_screen._make_file()
    assert Bindings.load(keys_file())[1] == ""
    help_screen._make_file()
    assert "cannot be made" in desk.app._note
    desk.press("Escape")
    assert isinstance(desk.app.top, PlayScreen)


KICKS = """
map: ">..E"
action_space: [MOVE_FORWARD, NOOP, {name: KICK, key: k, says: kick the ball}]
transition_functions: [move_agent]
reward_functions: [reach_exit]
observation_function: {name: fully_transparent, area: [[-1, 0], [-1, 1]]}
terminating_function: reach_exit
"""


def test_actions_of_a_level_are_played_told_and_gone_with_it(desk: Desk, tmp_path: Path):
    (tmp_path / "kicks.yaml").write_text(KICKS)
    screen = playing(desk, str(tmp_path / "kicks.yaml"))
    assert "K kick the ball" in screen.hints()
    desk.press("K", "Period", "P")
    assert [step.action for step in screen.game.replay().steps] == ["KICK", "NOOP"]
    assert screen.game.message == "Pick n drop: not in this level"
    desk.press("H")
    help_screen = desk.app.top
    assert isinstance(help_screen, HelpScreen)
    told = dict(desk.app.bindings.help(help_screen._about, help_screen._knows))
    assert told["K"] == "kick the ball"
    assert "pick up what is ahead" not in told.values()
    assert "undo a step" in told.values()
    desk.back_to_start()
    assert "K" not in dict(desk.app.bindings.help(("grid",)))


def test_menus_go_round(desk: Desk):
    playing(desk)
    desk.press("Escape")
    menu = desk.app.top
    assert isinstance(menu, Menu)
    desk.press("Up")
    assert menu.chosen == len(menu.rows()) - 1
    desk.press("Down", "Down", "Return")
    assert isinstance(desk.app.top, PlayScreen)


def test_the_letter_that_opens_a_screen_is_not_typed_into_it(desk: Desk):
    playing(desk)
    down = pygame.event.Event(pygame.KEYDOWN, scancode=10, key=0, mod=0)  # G
    desk.app.take([down, pygame.event.Event(pygame.TEXTINPUT, text="7")])
    assert isinstance(desk.app.top, Prompt)
    assert desk.app.top._text == "0"


def test_a_held_key_walks_on_but_a_slow_game_does_not_fall_behind(desk: Desk):
    screen = playing(desk)
    desk.hold("Left", 3)
    assert screen.game.length == 4
    down = pygame.event.Event(pygame.KEYDOWN, scancode=80, key=0, mod=0)
    desk.app.take([down] * 9)  # all at once: they waited
    assert screen.game.length == 5
    desk.hold("R", 3)
    assert [played.steps for played in screen.game.played] == [5]


def test_gamepads_come_and_go():
    keyboard = Keyboard()
    down = pygame.event.Event(pygame.CONTROLLERBUTTONDOWN, button=0, instance_id=0)
    assert list(keyboard.keys(down)) == [("Pad A", False)]
    stick = [(-30_000, ["Pad Left"]), (-31_000, []), (0, []), (30_000, ["Pad Right"])]
    for value, pressed in stick:
        event = pygame.event.Event(pygame.CONTROLLERAXISMOTION, axis=0, value=value, instance_id=0)
        assert [key for key, _ in keyboard.keys(event)] == pressed
    gone = pygame.event.Event(pygame.CONTROLLERDEVICEREMOVED, instance_id=0)
    assert list(keyboard.keys(gone)) == []
    assert list(keyboard.keys(down)) == [("Pad A", False)]  # no longer held
    soon = time.monotonic() + 60
    assert keyboard.again(soon) == ["Pad A"]
    assert keyboard.again(soon) == []
    assert keyboard.again(soon + 1) == ["Pad A"]
    list(keyboard.keys(gone))
    assert keyboard.again(soon + 2) == []


def test_broken_files_are_told_and_left_alone(desk: Desk, capsys: pytest.CaptureFixture[str]):
    settings_file().parent.mkdir(parents=True)
    settings_file().write_text("theme = 3\n")
    keys_file().write_text("[grid]\nACTUATE = ['nothing']\n")
    app = App.load()
    said = capsys.readouterr().err
    assert f"{settings_file()}: theme = 3" in said
    assert f"{keys_file()}:2" in said
    assert str(keys_file()) in app._note
    assert "nothing" in keys_file().read_text()


def test_settings_that_cannot_be_written_are_told_once(
    desk: Desk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    (tmp_path / "config").write_text("a file where a folder should be")
    desk.app.remember()
    desk.app.remember()
    assert capsys.readouterr().err.count("Settings are not kept") == 1


@pytest.mark.parametrize("size", [(800, 600), (1266, 810)])
def test_large_letters_leave_room_for_what_is_needed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
):
    monkeypatch.setenv("GV_ENGINE_SCALE", "200%")
    screen = playing(desk, "keydoor-9x9")
    desk.press("Up")
    line = line_height(size, desk.app.scale)
    surface = pygame.Surface(size, 0, 32)
    hints = " · ".join(screen._fitting_hints(Pen(surface, desk.app.theme, line), 2))
    for needed in ("turn left", "turn right", "Space", "P pick up", "Z undo", "H all keys"):
        assert needed in hints
    panel = place_parts(surface.get_rect(), line, False, 1, 2).panel
    assert panel.w > 24 * line  # steps, reward and return are beside the rules, whole


def test_lines_suit_the_window():
    assert line_height((800, 600), 1) == 15
    assert line_height((1920, 1080), 1) == 20
    assert line_height((1920, 1080), 2) == 40
    assert line_height((320, 240), 2) == 11
    assert wrap("one two three", 20, 60) != ["one two three"]
    assert wrap("", 20, 60) == []
    assert _fitting(None, (1920, 1080)) == (1265, 810)
    assert _fitting((5000, 5000), (1000, 1000)) == (900, 900)


def test_names_of_any_kind_make_names_of_files(desk: Desk, tmp_path: Path):
    screen = playing(desk)
    screen.game.title = "../ü b?" + "x" * 300
    file = folders.new_file(tmp_path / "a" / "b", screen.game, ".png")
    assert file.parent == tmp_path / "a" / "b"
    assert len(file.name) < 120
    file.touch()


def test_scenario_of_a_replay_may_be_given(desk: Desk, tmp_path: Path):
    write_starter(tmp_path / "cave")
    screen = playing(desk, str(tmp_path / "cave"))
    desk.press("Left")
    screen.save_replay()
    (file,) = folders.replay_folder().iterdir()
    desk.app.settings.recent.clear()
    desk.app.watch(file, Scenario.load(tmp_path / "cave"))
    assert isinstance(desk.app.top, ReplayScreen)


def test_a_drawing_that_cannot_be_read_is_told(desk: Desk, tmp_path: Path):
    write_starter(tmp_path / "cave")
    screen = playing(desk, str(tmp_path / "cave"))
    before = desk.look().copy()
    (tmp_path / "cave" / "rubble_whole.svg").write_text("<svg")
    screen._restage()
    assert (desk.look() != before).any()
    desk.press("Left")
    assert screen.game.length == 1


def test_a_level_that_cannot_begin_is_told(desk: Desk, tmp_path: Path):
    write_starter(tmp_path / "cave")
    screen = playing(desk, str(tmp_path / "cave"))

    def fail(seed: int | None = None) -> None:
        raise RuleError("rules.py:3: no")

    screen.game.reset = fail  # type: ignore[method-assign]
    desk.press("N", "G", "Return")
    assert isinstance(desk.app.top, Prompt)
    assert desk.app._note == "rules.py:3: no"


def test_sounds_go_with_what_happens(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    heard: list[str] = []

    def play(name: str) -> str:
        heard.append(name)
        return ""

    monkeypatch.setattr(sounds, "play_sound", play)
    playing(desk, seed=3)
    desk.press("Left", "Right")
    assert not heard
    desk.app.settings.sound = True
    desk.press("Right", "Up")
    assert heard == ["step", "won"]
    monkeypatch.setattr(sounds, "play_sound", lambda name: "There is no sound: because")
    desk.press("R", "Right")
    assert not desk.app.settings.sound
    assert desk.app._note == "There is no sound: because"


@pytest.mark.parametrize("name", sounds.TONES)
def test_sounds_are_short_and_not_too_loud(name: str):
    wave = sounds.wave(name)
    assert 0.02 < len(wave) / sounds.RATE < 1
    assert 1000 < np.abs(wave.astype(int)).max() < 10_000
    assert abs(int(wave[0])) < 100
