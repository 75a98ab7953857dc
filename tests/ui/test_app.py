"""All screens, menus, keys and settings, driven by events without a window."""

import time
from pathlib import Path

import numpy as np
import pytest

from gv_engine.play.ui.drawing.sprites import pygame, shorten_text
from gv_engine.play.ui.drawing.stage import lay_out_screen
from gv_engine.play.ui.drawing.widgets import Painter, line_height, wrap_text
from gv_engine.play.ui.input.bindings import Bindings, keys_file
from gv_engine.play.ui.screens.autoplay import RaceScreen
from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.play.ui.screens.keyboard import Keyboard
from gv_engine.play.ui.screens.menu import HelpScreen, Menu, RulesScreen
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.replay import Prompt
from gv_engine.play.ui.screens.settings import KeysScreen, PauseMenu, PauseSection, SettingsScreen
from gv_engine.play.ui.settings import settings_file
from gv_engine.play.ui.window.app import App
from gv_engine.play.ui.window.viewer import _choose_window_size
from tests.desk import Desk, key_event, letter_event, playing, watching

pytestmark = pytest.mark.window

SIZES = [(800, 600), (1920, 1080), (320, 240), (600, 900), (160, 90)]


@pytest.mark.sample("size2-1.0", "size5-2.0")
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
    dark = desk.look()
    desk.press("F2", "Right")
    desk.top(SettingsScreen)
    assert desk.app.settings.theme == "light"
    desk.press("Escape")
    light = desk.look()
    assert (light != dark).any()
    desk.press("F2", "Down", "Right", "Escape")
    assert (desk.look() != light).any()
    assert App.load().settings == desk.app.settings


def test_the_file_of_keys_is_made_once(desk: Desk):
    playing(desk)
    desk.press("F2")
    desk.choose("Change keys")
    desk.press("Up", "Backspace", "Return")  # the last row, which is no command
    text = keys_file().read_text()
    assert Bindings.load(keys_file())[1] == ""
    desk.press("Return")
    assert "The file is not written" in desk.app._note
    assert keys_file().read_text() == text


def test_keys_and_settings_are_listed_under_headings(desk: Desk):
    playing(desk)
    desk.press("F2")
    headings = [row.heading for row in desk.top(SettingsScreen).rows() if row.heading]
    assert headings == ["Picture", "Sound", "Keys", "Games"]
    desk.choose("Change keys")
    rows = desk.top(KeysScreen).rows()
    assert rows[0].heading == "Move and act"
    assert {"Undo", "Level", "Files", "View"} <= {row.heading for row in rows}
    end = next(k for k, row in enumerate(rows) if k and row.heading)
    actions = [row.key for row in rows[:end]]
    assert actions == sorted(actions, key=lambda key: key == "no key")
    desk.press("Escape", "Escape", "F1")
    lines = desk.top(HelpScreen).rows()
    assert lines[0] == ("Move and act", "")
    assert [keys for keys, text in lines if text == "keys"] == ["H, ?, F1"]


def test_keys_are_changed_in_the_window(desk: Desk):
    screen = playing(desk)
    desk.press("F2")
    desk.choose("Change keys")
    keys = desk.top(KeysScreen)
    desk.choose("Undo a step", "Return", "Escape")
    assert "undo" in desk.app.bindings.command_name("Z", ("play",))
    desk.press("Return", "Return")  # a key as any other
    assert desk.app._note == '"go on when the level is over" has lost Enter'
    desk.press("Return", "J")
    assert keys.rows()[keys.chosen].key == "J, Backspace, Ctrl+Z, Pad B"
    desk.press("Escape", "Escape", "Left", "J")
    assert (screen.game.position, screen.game.length) == (0, 1)
    kept = Bindings.load(keys_file())[0].keys("play", "undo")
    assert kept == ("J", "Backspace", "Ctrl+Z", "Pad B")
    desk.press("F2")
    desk.choose("Change keys")
    desk.choose("Undo a step", "Backspace", "Escape", "Escape")
    assert desk.app.bindings.command_name("Z", ("play",)) == "undo"


def _standing(desk: Desk, screen: PlayScreen) -> tuple[object, ...]:
    """What keys of the menu change."""
    stage, game = screen.stage, screen.game
    looks = stage.view, stage.side_panel, vars(stage)["_has_minimap"], vars(stage)["_camera"].cell
    games = game.seed, game.position, len(game._history.before)
    return *games, desk.app._note, stage.is_busy, *looks


def test_keys_that_the_pause_menu_prints_do_what_it_says(desk: Desk):
    screen = playing(desk, seed=5)
    sections = (PauseSection(screen, title) for title in ("Levels and replays", "View and actions"))
    rows = [row for menu in (PauseMenu(screen), *sections) for row in menu.rows()]
    for row in rows:
        others = ("Back", "Usual size")
        if row.key in ("", ">") or "oom" in row.label or row.label in others:
            continue
        desk.press("Left", "Escape")
        before = _standing(desk, screen)
        key = {"Enter": "Return", "Esc": "Escape"}.get(row.key, row.key)
        desk.hold(key, times=0)  # without a picture
        happened = before != _standing(desk, screen)
        closed = row.key == "Esc" and desk.app.top is screen
        opened = isinstance(
            desk.app.top, (Prompt, HelpScreen, RulesScreen, SettingsScreen, RaceScreen, EditScreen)
        )
        has_time = screen._controller.is_real_time
        assert happened or closed or opened or has_time or screen._recorder, row
        while desk.app.top is not screen:
            desk.app.pop()
    desk.press("Escape", "F1")
    shown_help = desk.top(HelpScreen)
    groups, has_command = shown_help._groups_shown, shown_help._has_command
    shown = dict(desk.app.bindings.describe_keys(groups, has_command))
    assert "undo a step" in shown.values()
    assert not {"erase a letter", "do nothing"} & {*shown.values()}


def test_one_row_of_a_menu_is_marked_and_a_resting_mouse_chooses_none(desk: Desk):
    playing(desk)
    desk.point((400, 300))
    desk.press("Escape", "Down")
    desk.draw()
    menu = desk.top(Menu)
    assert menu.chosen == 1
    rects = [hot.rect for hot in desk.app._painter._hit_areas]  # type: ignore[union-attr]
    desk.point(rects[3].center)
    desk.draw()
    assert menu.chosen == 3
    mouse = desk.look()
    desk.app._mouse = None
    menu._mouse = None
    assert np.array_equal(desk.look(), mouse)  # no second mark
    desk.point(rects[3].center)
    desk.draw()
    desk.press("Down")
    assert menu.chosen == 4  # it rests, and the keys choose
    desk.press("Escape", "Escape", "Up")  # they go round
    menu = desk.top(Menu)
    assert menu.chosen == len(menu.rows()) - 1
    desk.press("Down", "Down", "Return")
    desk.top(PlayScreen)


def test_a_seed_is_chosen_without_a_keyboard(desk: Desk):
    screen = playing(desk, seed=1)
    desk.press("Pad Back")
    desk.choose("Levels and replays", "Pad A")
    desk.choose("Enter a seed", "Pad A", "Pad Up", "Pad Up", "Pad Down", "Pad A")
    assert screen.game.seed == 2


SEED_BY_7 = Bindings({"play": {"enter_seed": ["7"]}})


def typed(*keys: str) -> list[pygame.event.Event]:
    """What a keyboard sends for letters and digits, pressed one after the other."""
    events = []
    for key in keys:
        letters = [letter_event(key.lower())] * (len(key) == 1)
        events += [key_event(key, True), *letters, key_event(key, False)]
    return events


@pytest.mark.parametrize("portion", [1, 2, 3, 100])
def test_no_key_is_lost_however_many_come_at_once(desk: Desk, portion: int):
    """A window that is slow is handed many keys together, or a key apart from its letter."""
    desk.app._bindings = SEED_BY_7
    screen = playing(desk)
    events = typed("7", "4", "2", "Return", "7", "7", "Return", "Left")
    for first in range(0, len(events), portion):
        desk.app.handle_events(events[first : first + portion])
    assert desk.app.top is screen
    assert (screen.game.seed, screen.game.length) == (7, 1)
    assert [timeline.seed for timeline in screen.game._history.before] == [0, 42]


def test_a_key_types_nothing_into_what_it_has_opened_even_held(desk: Desk):
    screen = playing(desk, seed=3)
    desk.app.handle_events([key_event("G", True), letter_event("7"), key_event("G", False)])
    assert desk.top(Prompt).field.text == "3"
    desk.press("Escape")
    desk.app._bindings = SEED_BY_7
    press, letter, release = typed("7")
    for _ in range(5):
        desk.app.handle_events([press, letter])
    desk.app.handle_events([release])
    desk.press("Return")
    assert screen.game.seed == 3


def test_a_short_press_counts_once_though_a_frame_is_slow(desk: Desk):
    screen = playing(desk, seed=3)
    press, release = key_event("Left", True), key_event("Left", False)
    desk.app.handle_events([press])
    # pygame has repeated the key during the slow frame, at whose end it sees the release
    desk.app.handle_events([press, press, release])
    assert screen.game.length == 1
    desk.app.handle_events([press, press, release, press])  # pressed twice
    assert screen.game.length == 3
    desk.app.handle_events([press, press])  # held
    assert screen.game.length == 4
    desk.app.handle_events([release])
    button = [key_event("Pad Left", down) for down in (True, False)]
    desk.app.handle_events(button[:1])
    assert screen.game.length == 5
    desk.app._keyboard._repeat_times["Pad Left"] = 0.0  # long ago
    desk.app.handle_events(button[1:])
    assert screen.game.length == 5


def test_gamepads_come_and_go():
    keyboard = Keyboard()
    down = key_event("Pad A", True)
    assert list(keyboard.keys(down)) == [("Pad A", False)]
    stick = [(-30_000, ["Pad Left"]), (-31_000, []), (0, []), (30_000, ["Pad Right"])]
    for value, pressed in stick:
        event = pygame.event.Event(pygame.CONTROLLERAXISMOTION, axis=0, value=value, instance_id=0)
        assert [key for key, _ in keyboard.keys(event)] == pressed
    gone = pygame.event.Event(pygame.CONTROLLERDEVICEREMOVED, instance_id=0)
    assert list(keyboard.keys(gone)) == []
    assert list(keyboard.keys(down)) == [("Pad A", False)]  # no longer held
    soon = time.monotonic() + 60
    assert keyboard.repeated_buttons(soon) == ["Pad A"]
    assert keyboard.repeated_buttons(soon) == []
    assert keyboard.repeated_buttons(soon + 1) == ["Pad A"]
    list(keyboard.keys(gone))
    assert keyboard.repeated_buttons(soon + 2) == []


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
    desk.app.save_settings()
    desk.app.save_settings()
    assert capsys.readouterr().err.count("Settings are not kept") == 1


@pytest.mark.sample("size0")
@pytest.mark.parametrize("size", [(800, 600), (1266, 810)])
def test_large_letters_leave_room_for_what_is_needed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
):
    monkeypatch.setenv("GV_ENGINE_SCALE", "200%")
    screen = playing(desk, "keydoor-9x9")
    desk.press("Up")
    line = line_height(size, desk.app.scale)
    surface = pygame.Surface(size, 0, 32)
    hints = " · ".join(screen._fit_hints(Painter(surface, desk.app.theme, line), screen.hints(), 2))
    for needed in ("turn left", "turn right", "Space", "P pick up", "Z undo", "H all keys"):
        assert needed in hints
    panel = lay_out_screen(surface.get_rect(), line, False, 1, 2).panel
    assert panel.w > 24 * line  # steps, reward and return are beside the rules, whole


def test_lines_suit_the_window():
    assert line_height((800, 600), 1) == 18
    assert line_height((640, 400), 1) == 12
    assert line_height((1920, 1080), 1) == 27
    assert line_height((1920, 1080), 2) == 54
    assert line_height((320, 240), 2) == 11
    assert wrap_text("one two three", 20, 60) != ["one two three"]
    assert wrap_text("", 20, 60) == []
    assert wrap_text("one two three\nfour", 20, 60, 2) == ["one", "two three"]


def test_a_long_text_is_measured_a_few_times(monkeypatch: pytest.MonkeyPatch):
    measured = list[int]()

    class Counting:
        def size(self, text: str) -> tuple[int, int]:
            measured.append(len(text))
            return 8 * len(text), 20

    for module in ("widgets", "sprites"):
        monkeypatch.setattr(f"gv_engine.play.ui.drawing.{module}.font", lambda line: Counting())
    for text in ("word " * 20_000, "x" * 100_000):
        lines = wrap_text(text, 20, 400, 4)
        assert [len(line) for line in lines[:3]] == [49 if " " in text else 50] * 3
        assert shorten_text(lines[3], 20, 400).endswith("...")
        assert sum(measured) < 30_000  # letters; it was 100,000 for each word
        measured.clear()
    assert _choose_window_size(None, (1920, 1080)) == (1265, 810)
    assert _choose_window_size((5000, 5000), (1000, 1000)) == (900, 900)


@pytest.mark.parametrize("size", [(1280, 800), (640, 400), (2560, 1440)])
def test_a_player_sees_one_board_as_high_as_the_window_and_in_its_middle(
    desk: Desk, size: tuple[int, int]
):
    desk.surface = pygame.Surface(size, 0, 32)
    screen = playing(desk, "keydoor-9x9")
    places = screen.stage._places  # type: ignore[attr-defined]
    assert [*places] == ["state"]
    board = places["state"].rect
    assert board.h > 0.78 * size[1]
    assert abs(board.centerx - size[0] // 2) < board.w // 9
    desk.press("V")
    desk.draw()
    assert [*screen.stage._places] == ["observation"]  # type: ignore[attr-defined]
    desk.press("V", "Shift+V")
    desk.draw()
    assert {*screen.stage._places} == {"state", "observation"}  # type: ignore[attr-defined]


def test_numbers_for_agents_are_hidden_from_players(desk: Desk):
    screen = playing(desk, "crafter")
    shown = [number.label for number in screen.frame.numbers if number.is_for_players]
    assert shown == ["health", "food", "drink", "energy"]
