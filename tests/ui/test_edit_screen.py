"""The editor, driven by events without a window."""

import time
from pathlib import Path

import pytest

from gv_engine.editor.document import STARTERS
from gv_engine.editor.map_model import MapCell
from gv_engine.ui import settings
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.screens.edit import EditScreen
from gv_engine.ui.screens.edit_forms import FormScreen, RuleListScreen
from gv_engine.ui.screens.edit_menus import ConflictMenu, LeaveMenu, StarterMenu
from gv_engine.ui.screens.menu import Menu
from gv_engine.ui.screens.play import PlaytestScreen
from gv_engine.ui.screens.start import StartScreen
from tests.desk import Desk, playing

pytestmark = pytest.mark.window


def editing(desk: Desk, level: str = "keydoor") -> EditScreen:
    """The editor with a new level, or one that is there."""
    desk.start()
    (desk.app.edit_new_level if level in STARTERS else desk.app.edit)(level)
    desk.look()
    return desk.top(EditScreen)


def place(screen: EditScreen, cell: MapCell) -> tuple[int, int]:
    """Where the middle of a cell is in the window."""
    x, y = screen.drawing.cell_rect(cell).center
    return int(x), int(y)


def choose(desk: Desk, label: str, *keys: str) -> None:
    """Choose a row of the menu or form on top, and press keys there."""
    menu = desk.top(Menu)
    menu.chosen = [row.label for row in menu.rows()].index(label)
    desk.press(*(keys or ["Return"]))


def enter(desk: Desk, text: str) -> None:
    """Type a text and press Enter."""
    desk.type(text)
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


def test_states_colours_and_ways_to_look_are_painted(desk: Desk):
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
    trial = desk.top(PlaytestScreen)
    desk.press("Up", "Up")
    assert trial.game.position == 2
    desk.press("I", "Tab")
    assert desk.app.top is screen
    desk.press("Tab", "Ctrl+E")  # it is edited already
    assert desk.app.top is screen
    desk.app.quit()
    assert not desk.app.sessions


def test_what_cannot_be_played_is_said(desk: Desk):
    editing(desk, "blank")
    desk.press("Tab")
    assert desk.app._note.startswith("It cannot be played yet: line 7: map: no agent")


def test_faults_are_shown_one_after_the_other(desk: Desk):
    screen = editing(desk)
    screen.edit(lambda text: text.replace("K.#...E", "?.#..!E"))
    for cell in ((5, 3), (5, 8)):
        desk.press("N")
        assert screen.cursor == cell
    assert screen._outlines()[5, 3] == "loss"
    desk.look()


def test_a_fault_opens_where_it_can_be_mended(desk: Desk):
    screen = editing(desk)
    screen.edit(lambda text: text.replace("- turn_agent", "- turm").replace("200", "soon"))
    desk.look()
    screen.open_fault(1)
    desk.top(RuleListScreen)
    desk.press("Delete", "Escape")
    assert "turm" not in screen.work.buffer.text
    screen.open_fault(0)
    desk.top(FormScreen)
    desk.press("Return")
    enter(desk, "90")
    assert not screen.faults


def test_a_new_level_is_saved_under_a_name(desk: Desk):
    screen = editing(desk)
    desk.press("Ctrl+S")
    enter(desk, "vault")
    file = Path("vault.yaml").absolute()
    assert file.read_text() == screen.work.buffer.text
    assert (screen.work.title, desk.app.settings.recent[0]) == ("vault", str(file))
    desk.press("Down", "Right", "Right", "Space", "Ctrl+S")
    assert file.read_text() == screen.work.buffer.text
    desk.press("Ctrl+Shift+S")
    Path("other.yaml").write_text("")
    enter(desk, "other.yaml")
    assert "is there already" in desk.app._note
    desk.press("Escape")
    assert desk.app.top is screen


def test_leaving_asks_for_what_is_not_saved(desk: Desk):
    screen = editing(desk)
    desk.press("Escape")
    choose(desk, "Leave the editor")
    desk.top(LeaveMenu)
    choose(desk, "Save and leave")
    enter(desk, "kept")
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
    desk.top(ConflictMenu)
    choose(desk, "Write mine over it")
    assert file.read_text() == screen.work.buffer.text
    assert desk.app.top is screen


def test_the_level_is_set_in_a_form(desk: Desk):
    screen = editing(desk)
    desk.press("F4")
    choose(desk, "description")
    enter(desk, "Mine: take it")
    choose(desk, "mission", "Return", "Return")
    enter(desk, "open the door")
    desk.press("Escape")
    choose(desk, "max steps", "Delete", "Return")
    enter(desk, "soon")
    assert screen.faults[0].place.path == "max_steps"
    desk.press("Z")
    said = screen.work.values
    assert said["description"] == "Mine: take it"
    assert said["mission"] == {"text": "open the door"}
    assert "max_steps" not in said
    assert not screen.faults


def test_what_is_in_a_cell_is_set_in_a_form(desk: Desk):
    screen = editing(desk)
    screen.cursor = (3, 5)
    desk.press("P")
    choose(desk, "color", "Right")
    thing = {"object": "Door", "state": "LOCKED", "color": "YELLOW"}
    assert screen.work.map.thing((3, 5)) != thing
    choose(desk, "state", "Left", "Z", "Z")
    assert screen.work.map.thing((3, 5)) == thing


def test_parameters_are_set_in_the_form(desk: Desk):
    screen = editing(desk, "keydoor-9x9")
    desk.press("F4", "Return")
    enter(desk, "7")
    assert "size: {default: 7, says" in screen.work.buffer.text


def test_rules_are_added_ordered_and_set(desk: Desk):
    screen = editing(desk)
    desk.press("F3")
    desk.top(RuleListScreen)
    desk.press("A")
    enter(desk, "use up")
    desk.top(FormScreen)
    desk.press("Right", "Escape", "Shift+Up", "Shift+Up")

    def names() -> list[str]:
        rules = screen.work.values["transition_functions"]
        return [rule if isinstance(rule, str) else rule["name"] for rule in rules]

    assert names() == ["move_agent", "turn_agent", "use_up", "actuate_door", "pickndrop"]
    desk.press("Delete")
    assert len(names()) == 4
    desk.press("Z")
    assert len(names()) == 5


def test_a_level_that_rules_make_can_become_a_map(desk: Desk):
    screen = editing(desk, "keydoor-7x7")
    assert not screen.has_map
    for key in ("Space", "G"):
        desk.press(key)
        assert "no map to paint on" in desk.app._note
        desk.press("Up")
    desk.press("Escape")
    choose(desk, "Draw it as a map")
    assert screen.work.map.rows
    assert screen.work.scenario
    desk.press("Z")
    assert not screen.has_map


def test_levels_are_edited_from_where_they_are_chosen_and_played(desk: Desk):
    desk.start()
    desk.type("ice")
    desk.press("Ctrl+E")
    desk.top(EditScreen)
    desk.back_to_start()
    desk.press("Ctrl+N")
    desk.top(StarterMenu)
    desk.press("Escape")
    playing(desk, "ice")
    desk.press("Ctrl+E")
    desk.top(EditScreen)
    desk.back_to_start()
    desk.app.play("mathy-poly-simplify-easy", 0)
    desk.press("Ctrl+E")
    assert "are edited here" in desk.app._note


@pytest.mark.sample("1.0-size0", "2.0-size2")
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


@pytest.mark.thorough
def test_lists_and_names_of_ones_own_are_filled_in_part_by_part(desk: Desk):
    screen = editing(desk)
    desk.press("F4")
    for row in ("state space", "colors", "PURPLE"):
        choose(desk, row)
    usual = ["NONE", "RED", "GREEN", "BLUE", "YELLOW"]
    assert screen.work.values["state_space"]["colors"] == [*usual, "PURPLE"]
    choose(desk, "PURPLE")
    assert screen.work.values["state_space"]["colors"] == usual
    desk.press("Escape", "Escape")
    for row in ("symmetries", "turn", "mirror"):
        choose(desk, row)
    desk.press("Escape")
    assert screen.work.values["symmetries"] == ["turn", "mirror"]
    for row in ("place", "Add one", "1", "object"):
        choose(desk, row)
    desk.press("Right", "Escape", "A", "Delete", "Escape")
    assert screen.work.values["place"] == [{"object": "Wall"}]
    choose(desk, "objects")
    choose(desk, "Add one")
    desk.type("Gate")
    desk.press("Return", "Return")
    choose(desk, "states")
    desk.type("[CLOSED, OPEN]")
    desk.press("Return", "Escape", "Escape")
    assert screen.work.values["objects"] == {"Gate": {"states": ["CLOSED", "OPEN"]}}
    choose(desk, "observation function")
    choose(desk, "name")
    assert list(screen.work.values["observation_function"]) == ["name", "area"]
    desk.press(*["Z"] * 40)  # what is undone below an open form


def test_parts_of_lists_are_moved(desk: Desk):
    screen = editing(desk)
    text = screen.work.buffer.text
    screen.edit(lambda _: f"{text}place: [{{object: Wall}}, {{object: Key}}]\n")
    desk.press("F4")
    choose(desk, "place")
    desk.press("Down", "Shift+Up", "Shift+Up")
    assert [each["object"] for each in screen.work.values["place"]] == ["Key", "Wall"]
    assert desk.top(FormScreen).chosen == 0
