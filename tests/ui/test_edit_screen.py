"""The editor, driven by events without a window."""

import time
from pathlib import Path
from typing import Any

import pytest

from gv_engine.editor.map_model import MapCell
from gv_engine.ui import settings
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.screens.edit import ConflictMenu, EditScreen, LeaveMenu, StarterMenu
from gv_engine.ui.screens.edit_forms import FormScreen, RuleListScreen
from gv_engine.ui.screens.menu import Menu
from gv_engine.ui.screens.play import PlaytestScreen
from gv_engine.ui.screens.start import StartScreen
from tests.desk import Desk, playing

pytestmark = pytest.mark.window


def editing(desk: Desk, starter: str = "keydoor") -> EditScreen:
    """The editor with a new level."""
    desk.app.push(StartScreen(desk.app))
    desk.app.edit_new_level(starter)
    desk.look()
    assert isinstance(desk.app.top, EditScreen)
    return desk.app.top


def place(screen: EditScreen, cell: MapCell) -> tuple[int, int]:
    """Where the middle of a cell is in the window."""
    x, y = screen.drawing.cell_rect(cell).center
    return int(x), int(y)


def on_top(desk: Desk, kind: type) -> bool:
    """Whether the screen that has the keys is of a kind."""
    return isinstance(desk.app.top, kind)


def choose(desk: Desk, label: str) -> None:
    """Choose a row of the menu on top."""
    menu = desk.app.top
    assert isinstance(menu, Menu)
    labels = [row.label for row in menu.rows()]
    menu.chosen = labels.index(label)
    desk.press("Return")


def test_the_mouse_paints_takes_out_and_picks(desk: Desk):
    screen = editing(desk)
    desk.click(place(screen, (2, 2)))
    assert screen.work.map.thing((2, 2)) == {"object": "Wall"}
    desk.click(place(screen, (2, 2)), button=3)
    assert screen.work.map.thing((2, 2)) == {}
    desk.click(place(screen, (5, 3)), button=2)
    assert screen.brushes.chosen == "Key"
    desk.drag(place(screen, (1, 2)), place(screen, (1, 3)))
    assert screen.work.map.rows[1] == "#>KK.#....#"
    desk.press("Z")
    assert screen.work.map.rows[1] == "#>...#....#"
    desk.press("Y")
    assert screen.work.map.rows[1] == "#>KK.#....#"


def test_keys_paint_too(desk: Desk):
    screen = editing(desk)
    desk.press("Down", "Right", "Right", "RightBracket", "Space")
    assert screen.work.map.thing((1, 2)) == {"object": "Exit"}
    desk.press("Delete", "LeftBracket", "T", "T", "Space", "Down", "Down", "Right", "Right")
    assert screen.tool == "room"
    desk.press("Space")
    assert screen.work.map.rows[1:4] == ["#>####....#", "#.#.##....#", "#.###D....#"]
    desk.press("Z", "T", "Up", "Space")
    assert screen.tool == "fill"
    assert screen.work.map.rows[1:3] == ["#>####....#", "######....#"]


def test_states_colours_and_ways_to_look(desk: Desk):
    screen = editing(desk)
    screen.brushes.chosen = "Door"
    desk.press("S", "C", "C", "Down", "Right", "Right", "Space")
    assert screen.work.map.thing((1, 2)) == {"object": "Door", "color": "RED"}
    screen.brushes.chosen = "agent"
    desk.press("S", "Right", "Space")
    assert screen.work.map.agents() == [(1, 3, 0)]


def test_tab_plays_and_comes_back(desk: Desk):
    screen = editing(desk)
    desk.press("Tab")
    trial = desk.app.top
    assert isinstance(trial, PlaytestScreen)
    desk.press("Up", "Up")
    assert trial.game.position == 2
    desk.press("I", "Tab")
    assert desk.app.top is screen
    desk.app.quit()
    assert not desk.app.sessions


def test_the_level_that_is_tried_is_edited_already(desk: Desk):
    screen = editing(desk)
    desk.press("Tab", "Ctrl+E")
    assert desk.app.top is screen


def test_what_cannot_be_played_is_said(desk: Desk):
    editing(desk, "blank")
    desk.press("Tab")
    assert desk.app._note.startswith("It cannot be played yet: line 7: map: no agent")


def test_faults_are_shown_one_after_the_other(desk: Desk):
    screen = editing(desk)
    screen.edit(lambda text: text.replace("K.#...E", "?.#..!E"))
    desk.press("N")
    assert screen.cursor == (5, 3)
    desk.press("N")
    assert screen.cursor == (5, 8)
    assert screen._outlines()[5, 3] == "loss"
    desk.look()


def test_a_fault_opens_where_it_can_be_mended(desk: Desk):
    screen = editing(desk)
    screen.edit(lambda text: text.replace("- turn_agent", "- turm").replace("200", "soon"))
    desk.look()
    screen.open_fault(1)
    assert on_top(desk, RuleListScreen)
    desk.press("Delete", "Escape")
    assert "turm" not in screen.work.buffer.text
    screen.open_fault(0)
    assert on_top(desk, FormScreen)
    desk.press("Return")
    desk.type("90")
    desk.press("Return")
    assert not screen.faults


def test_a_new_level_is_saved_under_a_name(desk: Desk):
    screen = editing(desk)
    desk.press("Ctrl+S")
    desk.type("vault")
    desk.press("Return")
    file = Path("vault.yaml").absolute()
    assert file.read_text() == screen.work.buffer.text
    assert (screen.work.title, desk.app.settings.recent[0]) == ("vault", str(file))
    desk.press("Down", "Right", "Right", "Space", "Ctrl+S")
    assert file.read_text() == screen.work.buffer.text
    desk.press("Ctrl+Shift+S")
    Path("other.yaml").write_text("")
    desk.type("other.yaml")
    desk.press("Return")
    assert "is there already" in desk.app._note
    desk.press("Escape")
    assert desk.app.top is screen


def test_leaving_asks_for_what_is_not_saved(desk: Desk):
    screen = editing(desk)
    desk.press("Escape")
    choose(desk, "Leave the editor")
    assert isinstance(desk.app.top, LeaveMenu)
    choose(desk, "Save and leave")
    desk.type("kept")
    desk.press("Return")
    assert Path("kept.yaml").exists()
    assert isinstance(desk.app.screens[-1], StartScreen)
    assert screen not in desk.app.screens


def test_what_was_not_saved_is_kept_when_the_window_is_closed(
    desk: Desk, capsys: pytest.CaptureFixture[str]
):
    editing(desk)
    desk.app.quit()
    assert capsys.readouterr().err == ""
    screen = editing(desk)
    desk.press("Down", "Right", "Right", "Space")
    desk.app.quit()
    (file,) = (settings.replay_folder().parent / "unsaved").iterdir()
    assert file.read_text("utf-8") == screen.work.buffer.text
    assert capsys.readouterr().err == f"gv-engine: unsaved edits are in {file}\n"


def test_a_file_that_changes_elsewhere_is_noticed(desk: Desk):
    screen = editing(desk)
    file = screen.work.buffer.save(Path("shared.yaml").absolute())
    own = screen.work.buffer.text
    file.write_text(own.replace("max_steps: 200", "max_steps: 9"))
    screen._check_file()
    assert "was changed elsewhere and is read again" in desk.app._note
    assert screen.work.scenario
    assert screen.work.scenario.max_steps == 9
    desk.press("Z", "Down", "Right", "Right", "Space")
    time.sleep(0.01)
    file.write_text("map: [\n")
    screen._check_file()
    assert "saving asks which one stays" in desk.app._note
    desk.press("Ctrl+S")
    assert on_top(desk, ConflictMenu)
    choose(desk, "Write mine over it")
    assert file.read_text() == screen.work.buffer.text
    assert desk.app.top is screen


def test_the_level_is_set_in_a_form(desk: Desk):
    screen = editing(desk)
    desk.press("F4")
    form = desk.app.top
    assert isinstance(form, FormScreen)
    labels = [row.label for row in form.rows()]
    form.chosen = labels.index("description")
    desk.press("Return")
    desk.type("Mine: take it")
    desk.press("Return")
    form.chosen = labels.index("mission")
    desk.press("Return", "Return")
    desk.type("open the door")
    desk.press("Return", "Escape")
    form.chosen = labels.index("max steps")
    desk.press("Delete", "Return")
    desk.type("soon")
    desk.press("Return")
    assert screen.faults[0].place.path == "max_steps"
    desk.look()
    desk.press("Z")
    said = screen.work.values
    assert (said["description"], said["mission"]) == (
        "Mine: take it",
        {"text": "open the door"},
    )
    assert "max_steps" not in said
    assert not screen.faults


def test_what_is_in_a_cell_is_set_in_a_form(desk: Desk):
    screen = editing(desk)
    screen.cursor = (3, 5)
    desk.press("P")
    form = desk.app.top
    assert isinstance(form, FormScreen)
    labels = [row.label for row in form.rows()]
    form.chosen = labels.index("color")
    desk.press("Right")
    thing = {"object": "Door", "state": "LOCKED", "color": "YELLOW"}
    assert screen.work.map.thing((3, 5)) != thing
    form.chosen = labels.index("state")
    desk.press("Left", "Z", "Z")
    assert screen.work.map.thing((3, 5)) == thing


def test_parameters_are_set_in_the_form(desk: Desk):
    desk.app.push(StartScreen(desk.app))
    desk.app.edit("keydoor-9x9")
    screen = desk.app.top
    assert isinstance(screen, EditScreen)
    desk.press("F4", "Return")
    desk.type("7")
    desk.press("Return")
    assert "size: {default: 7, says" in screen.work.buffer.text


def test_rules_are_added_ordered_and_set(desk: Desk):
    screen = editing(desk)
    desk.press("F3")
    assert on_top(desk, RuleListScreen)
    desk.press("A")
    desk.type("use up")
    desk.press("Return")
    form = desk.app.top
    assert isinstance(form, FormScreen)
    desk.press("Right", "Escape", "Shift+Up", "Shift+Up")
    listed = [rule if isinstance(rule, str) else rule["name"] for rule in _happens(screen)]
    assert listed == ["move_agent", "turn_agent", "use_up", "actuate_door", "pickndrop"]
    desk.press("Delete")
    assert len(_happens(screen)) == 4
    desk.press("Z")
    assert len(_happens(screen)) == 5


def _happens(screen: EditScreen) -> list[Any]:
    found: list[Any] = screen.work.values["transition_functions"]
    return found


def test_a_level_that_rules_make_can_become_a_map(desk: Desk):
    desk.app.push(StartScreen(desk.app))
    desk.app.edit("keydoor-7x7")
    screen = desk.app.top
    assert isinstance(screen, EditScreen)
    desk.look()
    assert not screen.has_map
    desk.press("Space")
    assert "no map to paint on" in desk.app._note
    desk.press("Escape")
    choose(desk, "Draw it as a map")
    assert screen.work.map.rows
    assert screen.work.scenario
    desk.press("Z")
    assert not screen.has_map


def test_levels_are_edited_from_where_they_are_chosen_and_played(desk: Desk):
    desk.app.push(StartScreen(desk.app))
    desk.look()
    desk.type("ice")
    desk.press("Ctrl+E")
    assert on_top(desk, EditScreen)
    desk.back_to_start()
    desk.press("Ctrl+N")
    assert on_top(desk, StarterMenu)
    desk.press("Escape")
    playing(desk, "ice")
    desk.press("Ctrl+E")
    assert on_top(desk, EditScreen)
    desk.back_to_start()
    desk.app.play("mathy-poly-simplify-easy", 0)
    desk.press("Ctrl+E")
    assert "are edited here" in desk.app._note


@pytest.mark.parametrize("size", [(320, 240), (500, 900), (1400, 700)])
@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_every_picture_of_the_editor_has_room_in_every_window(
    desk: Desk, size: tuple[int, int], scale: float
):
    desk.surface = pygame.Surface(size, 0, 32)
    desk.app.settings.scale = scale
    screen = editing(desk)
    screen.edit(lambda text: text.replace("K.#...E", "?.#..!E"))
    for keys in (["N"], ["A"], ["Escape", "Escape"], ["F4", "Escape"], ["F3", "A", "Escape"]):
        desk.press(*keys)
        assert desk.look().std() > 0
    desk.back_to_start()


def test_large_levels_are_seen_in_parts(desk: Desk):
    screen = editing(desk)
    screen.edit(lambda _: screen.work.map.resize(60, 80))
    screen.cursor = (58, 78)
    desk.look()
    assert screen.drawing.cell_at(place(screen, (58, 78))) == (58, 78)
    desk.press("Equals", "Equals")
    desk.look()
    assert screen.drawing.cell_at(place(screen, (58, 78))) == (58, 78)
    desk.click(place(screen, (58, 77)))
    assert screen.work.map.thing((58, 77)) == {"object": "Wall"}


def form_row(desk: Desk, label: str) -> None:
    """Choose a row of the form on top, and press Enter."""
    form = desk.app.top
    assert isinstance(form, FormScreen)
    form.chosen = [row.label for row in form.rows()].index(label)
    desk.press("Return")


def test_lists_and_names_of_ones_own_are_filled_in_part_by_part(desk: Desk):
    screen = editing(desk)
    desk.press("F4")
    form_row(desk, "state space")
    form_row(desk, "colors")
    form_row(desk, "PURPLE")
    usual = ["NONE", "RED", "GREEN", "BLUE", "YELLOW"]
    assert screen.work.values["state_space"]["colors"] == [*usual, "PURPLE"]
    form_row(desk, "PURPLE")
    assert screen.work.values["state_space"]["colors"] == usual
    desk.press("Escape", "Escape")
    form_row(desk, "symmetries")
    form_row(desk, "turn")
    form_row(desk, "mirror")
    desk.press("Escape")
    assert screen.work.values["symmetries"] == ["turn", "mirror"]
    form_row(desk, "place")
    form_row(desk, "Add one")
    form_row(desk, "1")
    form_row(desk, "object")
    desk.press("Right", "Escape", "A", "Delete", "Escape")
    assert screen.work.values["place"] == [{"object": "Wall"}]
    form_row(desk, "objects")
    form_row(desk, "Add one")
    desk.type("Gate")
    desk.press("Return", "Return")
    form_row(desk, "states")
    desk.type("[CLOSED, OPEN]")
    desk.press("Return", "Escape", "Escape")
    assert screen.work.values["objects"] == {"Gate": {"states": ["CLOSED", "OPEN"]}}
    form_row(desk, "observation function")
    form_row(desk, "name")
    said = screen.work.values["observation_function"]
    assert list(said) == ["name", "area"]
    desk.look()
    for _ in range(40):  # what is undone below an open form
        desk.press("Z")
        desk.look()


def test_parts_of_lists_are_moved(desk: Desk):
    screen = editing(desk)
    text = screen.work.buffer.text
    screen.edit(lambda _: f"{text}place: [{{object: Wall}}, {{object: Key}}]\n")
    desk.press("F4")
    form_row(desk, "place")
    desk.press("Down", "Shift+Up", "Shift+Up")
    assert [each["object"] for each in screen.work.values["place"]] == ["Key", "Wall"]
    assert isinstance(desk.app.top, FormScreen)
    assert desk.app.top.chosen == 0
