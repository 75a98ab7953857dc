"""The editor, driven by events without a window."""

import re
import time
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from components.objects import WALL
from gv_engine.cli import main
from gv_engine.play.editor.document import CheckState, Fault
from gv_engine.play.editor.map_model import MapCell
from gv_engine.play.editor.text_buffer import format_key_path
from gv_engine.play.ui.drawing import sprites, widgets
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.screens import edit
from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.play.ui.screens.edit_forms import FormScreen
from gv_engine.play.ui.screens.edit_lists import (
    ConflictMenu,
    LeaveMenu,
    PackMenu,
    RuleListScreen,
    SearchList,
    StarterMenu,
)
from gv_engine.play.ui.screens.edit_panels import describe_brush, describe_cursor_cell
from gv_engine.play.ui.screens.playtest import PlaytestScreen
from gv_engine.play.ui.screens.start import StartScreen
from gv_engine.play.ui.window.app import App
from gv_engine.play.validation.lint import find_placed_mistakes
from gv_engine.rules.errors import ProblemPlace
from gv_engine.scenario.domains import DOMAINS
from gv_engine.scenario.storage.resources import SCENARIOS
from tests.desk import Desk, playing
from tests.editing import COMMENTED, editing
from tests.newcomer import Newcomer

pytestmark = pytest.mark.window

PAINT = ("Down", "Right", "Right", "Space")
"""Keys that paint the cell (1, 2)."""


def test_a_new_file_is_told_at_the_command_line(folder: Path, monkeypatch, capsys):
    monkeypatch.setattr(App, "run", lambda *_: None)
    file = folder / "cave.yaml"
    assert main(["edit", str(file)]) == 0
    assert "cave.yaml does not exist yet; the window shows a new level" in capsys.readouterr().err
    file.write_text("extends: keydoor-5x5\n")
    for words in ([], [str(file)], ["keydoor-5x5"]):
        assert main(["edit", *words]) == 0
        assert not capsys.readouterr().err


TWO_LEVELS = """\
extends: tutorial
levels:
  - title: One
    par: 2
    map: |
      #####
      #>.E#
      #####
  - map: |
      ######
      #>..E#
      ######
"""


@pytest.fixture
def screen(desk: Desk) -> EditScreen:
    """The editor with a key and a door."""
    return editing(desk)


def place(screen: EditScreen, cell: MapCell) -> tuple[int, int]:
    """Where the middle of a cell is in the window."""
    x, y = screen.drawing.cell_rect(cell).center
    return int(x), int(y)


def test_the_mouse_paints_takes_out_and_picks(desk: Desk, screen: EditScreen):
    desk.click(place(screen, (2, 2)))
    assert screen.draft.map.thing((2, 2)) == {"object": "Wall"}
    desk.click(place(screen, (2, 2)), button=3)
    assert screen.draft.map.thing((2, 2)) == {}
    desk.click(place(screen, (5, 3)), button=2)
    assert screen.brushes.selected == "Key"
    desk.drag(place(screen, (1, 2)), place(screen, (1, 3)))
    assert screen.draft.map.rows[1] == "#>KK.#....#"
    desk.press("Z")
    assert screen.draft.map.rows[1] == "#>...#....#"
    desk.press("Y")
    assert screen.draft.map.rows[1] == "#>KK.#....#"


def test_keys_paint_too(desk: Desk, screen: EditScreen):
    desk.press("Down", "Right", "Right", "RightBracket", "Space")
    assert screen.draft.map.thing((1, 2)) == {"object": "Exit"}
    desk.press("Delete", "LeftBracket", "T", "T", "Space", "Down", "Down", "Right", "Right")
    assert screen.tool == "room"
    desk.press("Space")
    assert screen.draft.map.rows[1:4] == ["#>####....#", "#.#.##....#", "#.###D....#"]
    desk.press("Z", "T", "Up", "Space")
    assert screen.tool == "fill"
    assert screen.draft.map.rows[1:3] == ["#>####....#", "######....#"]


def test_states_colours_and_ways_to_look_are_painted(desk: Desk, screen: EditScreen):
    screen.brushes.selected = "Door"
    desk.press("S", "C", "C", *PAINT)
    assert screen.draft.map.thing((1, 2)) == {"object": "Door", "color": "RED"}
    screen.brushes.selected = "agent"
    desk.press("S", "Right", "Space")
    assert screen.draft.map.agents() == [(1, 3, 0)]


def test_tab_plays_and_comes_back(desk: Desk, screen: EditScreen):
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


def test_objects_of_another_level_are_added_painted_and_undone_together(
    desk: Desk, screen: EditScreen
):
    before = screen.draft.buffer.text
    desk.press("O")
    assert desk.top(SearchList).rows()[0].sentence.startswith("Gallery. ")
    desk.type("levers", "Return")
    assert [row.name for row in desk.top(SearchList).rows()] == [
        *("Exit", "Gate", "Lever", "All of them"),
    ]
    desk.type("lever", "Return")
    assert desk.app.top is screen
    assert desk.app._note == "Added Lever, Gate with all rules; undo takes them out"
    assert screen.brushes.selected == "Lever"
    desk.press(*PAINT)
    assert screen.draft.map.thing((1, 2)) == {"object": "Lever", "color": "YELLOW"}
    desk.press("Z", "Z")
    assert screen.draft.buffer.text == before
    desk.press("Y", "O")
    desk.type("levers", "Return", "End", "Return")
    assert desk.app._note == "All of it is here already"


def test_a_level_without_a_file_is_saved_before_python_comes(
    desk: Desk, screen: EditScreen, tmp_path: Path
):
    desk.press("O")
    desk.type("kick", "Return")
    desk.type("ball", "Return")
    desk.type("\b", *["Backspace"] * 20)
    desk.type("mine", "Return")
    assert {file.name for file in tmp_path.iterdir()} >= {"mine.yaml", "rules.py", "ball.svg"}
    assert screen.brushes.selected == "Ball"
    assert not screen.draft.faults


def test_a_level_without_objects_of_its_own_is_named(desk: Desk, screen: EditScreen):
    desk.press("O")
    desk.type("warehouse", "Escape", "O")
    desk.type("two hunt one", "Return")
    assert desk.app._note == "hunt has no objects with rules of their own"
    assert desk.app.top is screen


def test_the_mouse_opens_the_list_of_levels_too(desk: Desk, screen: EditScreen):
    assert screen._layout
    palette = screen._layout.palette
    desk.click((palette.centerx, palette.bottom - 20))
    assert desk.top(SearchList).title == "Add objects of a level"


def test_what_cannot_be_played_is_said(desk: Desk):
    editing(desk, "blank")
    desk.press("Tab")
    assert desk.app._note == "It cannot be played yet: Put a player on the map"


def test_faults_are_shown_one_after_the_other(desk: Desk, screen: EditScreen):
    screen.edit(lambda text: text.replace("K.#...E", "?.#..!E"))
    for cell in ((5, 3), (5, 8)):
        desk.press("N")
        assert screen.cursor == cell
    assert screen._find_outlines()[5, 3] == "loss"


def test_a_fault_opens_where_it_can_be_mended(desk: Desk, screen: EditScreen):
    screen.edit(lambda text: text.replace("- turn_agent", "- turm").replace("200", "soon"))
    screen.open_fault(1)
    desk.top(RuleListScreen)
    desk.press("Delete", "Escape")
    assert "turm" not in screen.draft.buffer.text
    screen.open_fault(0)
    desk.top(FormScreen)
    desk.press("Return")
    desk.type("90", "Return")
    assert not screen.faults


def test_a_new_level_is_saved_under_a_name(desk: Desk, screen: EditScreen):
    desk.press("Ctrl+S")
    desk.type("vault", "Return")
    file = Path("vault.yaml").absolute()
    assert file.read_text() == screen.draft.buffer.text
    assert (screen.draft.title, desk.app.settings.recent[0]) == ("vault", str(file))
    desk.press(*PAINT, "Ctrl+S")
    assert file.read_text() == screen.draft.buffer.text
    desk.press("Ctrl+Shift+S")
    Path("other.yaml").write_text("")
    desk.type("other.yaml", "Return")
    assert "is there already" in desk.app._note
    desk.press("Escape")
    assert desk.app.top is screen


def test_another_name_is_beside_the_edited_file(desk: Desk, tmp_path: Path):
    folder = copytree(SCENARIOS / "gallery" / "kick", tmp_path / "cave")
    screen = editing(desk, "cave")
    desk.press("Ctrl+Shift+S")
    desk.type("other", "Return")
    assert screen.draft.buffer.file == folder / "other.yaml"
    assert not screen.draft.faults  # ./rules.py is found
    desk.press("Ctrl+Shift+S")
    desk.type(str(tmp_path / "far.yaml"), "Return")
    assert (tmp_path / "far.yaml").exists()


def share(desk: Desk, screen: EditScreen) -> str:
    """What the editor says in the end of the web page of its level."""
    desk.press("Ctrl+P")
    assert "Writing vault.html" in desk.app._note
    desk.press("Ctrl+P")
    assert "is still being written" in desk.app._note
    screen.tick(time.monotonic())
    desk.press("Right")  # the note goes, and what is done stays
    if screen._export:
        assert "Writing vault.html: compiling the rules for browsers, " in screen.export_text
    while screen._export:
        time.sleep(0.1)
        screen.tick(time.monotonic())
    assert screen.export_text == ""
    return desk.app._note


def test_why_a_level_is_no_page_is_said(desk: Desk, screen: EditScreen):
    desk.press("Ctrl+S")
    desk.type("vault", "Return")
    Path("vault.html").write_text("my notes")
    assert "vault.html exists and is not a web page" in share(desk, screen)
    assert Path("vault.html").read_text() == "my notes"


@pytest.mark.thorough
def test_a_level_becomes_a_web_page(desk: Desk, screen: EditScreen):
    desk.press("Ctrl+P")
    desk.type("vault", "Return")
    Path("vault.html").unlink(missing_ok=True)
    while screen._export:
        time.sleep(0.1)
        screen.tick(time.monotonic())
    assert "vault.html is written; open it in a browser" in desk.app._note
    assert Path("vault.html").read_text("utf-8").startswith("<!doctype html>")


def test_a_newcomer_makes_wins_and_shares_a_puzzle_in_a_few_keys(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    shared: list[list[str]] = []
    monkeypatch.setattr(edit, "Popen", lambda command, **_: shared.append(command))
    desk.start()
    newcomer = Newcomer(desk)
    newcomer.make_puzzle()
    newcomer.press("Ctrl+P")
    newcomer.type("mine")
    newcomer.press("Return")
    screen = desk.top(EditScreen)
    work, screen._export = screen.draft, None
    objects = {str(work.map.thing(cell).get("object")) for cell in work.map.cells()}
    assert {"Key", "Door", "Crate", "Lever", "Gate"} <= objects
    assert Path("mine.yaml").exists()
    assert any(word.endswith("mine.html") for word in shared[0])
    assert newcomer.count <= 60


def test_what_is_wrong_with_a_cell_is_said_without_files_and_counted_as_in_the_panel(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
):
    screen = editing(desk, "puzzle")
    lever = {**screen.draft.map.thing((4, 2)), "color": "BLUE"}
    screen.paint([(4, 2)], lever)
    assert screen.draft.scenario
    (place, message), *_ = [
        (place, finding.message) for finding, place in find_placed_mistakes(screen.draft.scenario)
    ]
    assert "rules.yaml" in message
    text = screen.draft.shorten_message(message, place)
    assert text.startswith("the Gate at row 2, column 5 is RED, and no Lever or Plate is")
    (screen.cursor,) = place.cells
    assert describe_cursor_cell(screen) == "Row 2, column 5: red gate"
    desk.press("P")
    assert desk.top(FormScreen).title == "Row 2, column 5"


def test_a_key_that_a_menu_shows_works_in_it(desk: Desk, screen: EditScreen):
    desk.press("Escape", "Ctrl+N")
    desk.top(StarterMenu)
    desk.press("Escape", "Escape", "Tab")
    desk.top(PlaytestScreen)


def test_a_file_keeps_its_comments(desk: Desk, tmp_path: Path):
    file = tmp_path / "cave.yaml"
    file.write_text(COMMENTED, "utf-8")
    screen = editing(desk, str(file))
    screen.brushes.selected = "Key"
    desk.click(place(screen, (1, 2)))
    desk.press("F3", "Down", "Shift+Down", "Escape", "F4")
    desk.choose("steps")
    desk.type("7", "Return", "Escape", "Ctrl+S")
    moves, turns = "  - move_agent  # goes\n", "  # Last of all:\n  - turn_agent\n"
    changed = COMMENTED.replace("#>.E#", "#>KE#").replace(moves + turns, turns + moves)
    assert file.read_text("utf-8") == changed.replace("default: 9", "default: 7")


def test_leaving_asks_for_what_is_not_saved(desk: Desk, screen: EditScreen):
    desk.press("Escape")
    desk.choose("Leave the editor")
    desk.top(LeaveMenu)
    desk.choose("Save and leave")
    desk.type("kept", "Return")
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
    desk.press(*PAINT)
    desk.app.quit()
    assert capsys.readouterr().err == "gv-engine: unsaved edits are kept for the next start\n"
    desk.start()
    desk.app.offer_autosaves()
    desk.choose("Go on editing: a new level")
    again = desk.top(EditScreen)
    assert again.draft.buffer.text == screen.draft.buffer.text
    desk.press("Escape")
    desk.choose("Leave the editor")
    desk.choose("Leave without saving")
    assert capsys.readouterr().err == ""


def test_a_file_that_changes_elsewhere_is_noticed(desk: Desk, screen: EditScreen):
    file = screen.draft.buffer.save(Path("shared.yaml").absolute())
    own = screen.draft.buffer.text
    file.write_text(own.replace("max_steps: 200", "max_steps: 9"))
    screen._check_file()
    assert "was changed elsewhere and is read again" in desk.app._note
    assert screen.draft.scenario
    assert screen.draft.scenario.max_steps == 9
    desk.press("Z", *PAINT)
    time.sleep(0.01)
    file.write_text("map: [\n")
    screen._check_file()
    assert "saving asks which one stays" in desk.app._note
    desk.press("Ctrl+S")
    desk.top(ConflictMenu)
    desk.choose("Write mine over it")
    assert file.read_text() == screen.draft.buffer.text
    assert desk.app.top is screen


def test_a_level_that_rules_make_can_become_a_map(desk: Desk):
    screen = editing(desk, "empty-4x4")
    assert not screen.has_map
    for key in ("Space", "G"):
        desk.app._note = ""
        desk.press(key)
        assert "no map to paint on" in desk.app._note
    desk.press("Escape")
    desk.choose("Draw it as a map")
    assert screen.draft.map.rows
    assert screen.draft.scenario
    assert screen.draft.undo()
    assert not screen.has_map


def test_levels_are_edited_from_where_they_are_chosen_and_played(desk: Desk):
    desk.start()
    desk.type("ice", "Ctrl+E")
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


@pytest.mark.sample("1.0-size0", "2.0-size1")
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
        assert np.ptp(desk.look()) > 0


OWN_PICTURES = re.compile(r"^(sprites|theme):|\bglyph:", re.MULTILINE)
WITH_OWN_PICTURES = [
    name
    for name, ref in DOMAINS["grid"].playable.items()
    if ref.file.suffix == ".yaml" and OWN_PICTURES.search(ref.file.read_text("utf-8"))
]


@pytest.mark.parametrize("name", WITH_OWN_PICTURES)
def test_every_level_with_pictures_of_its_own_opens(desk: Desk, name: str):
    screen = editing(desk, name)
    desk.press("Right")
    assert np.ptp(desk.look()) > 0
    assert screen.drawing is screen.drawing


def test_pictures_that_are_added_to_the_open_file_are_shown(desk: Desk, tmp_path: Path):
    file = tmp_path / "cave.yaml"
    file.write_text(COMMENTED)
    (tmp_path / "gold.svg").write_text('<svg viewBox="0 0 1 1"><rect width="1" height="1"/></svg>')
    screen = editing(desk, str(file))
    before = screen.drawing
    lines = "sprites: {Exit: gold.svg}\nobjects: {Sign: {glyph: SIGN}}\n"
    file.write_text(lines + COMMENTED)
    screen._check_file()
    desk.draw()
    assert screen.draft.scenario
    assert screen.drawing is not before


def test_large_levels_are_seen_in_parts(desk: Desk, screen: EditScreen):
    screen.edit(lambda _: screen.draft.map.resize(60, 80))
    screen.cursor = (58, 78)
    for keys in ([], ["Equals", "Equals"]):
        desk.press(*keys)
        desk.draw()
        assert screen.drawing.cell_at(place(screen, (58, 78))) == (58, 78)
    desk.click(place(screen, (58, 77)))
    assert screen.draft.map.thing((58, 77)) == {"object": "Wall"}


THREE_MAPS = """\
maps:
  - |
    #####
    #>.E#
    #####
  - |
    ######
    #>..E#
    ######
  - |
    #######
    #>...E#
    #######
symmetries: [mirror]
transition_functions: [move_agent]
reward_functions: [reach_exit]
terminating_function: reach_exit
max_steps: 9
observation_function: {name: partially_occluded, area: [[-6, 0], [-3, 3]]}
"""


def test_each_map_of_a_level_is_shown_painted_and_played(desk: Desk, tmp_path: Path):
    file = tmp_path / "three.yaml"
    file.write_text(THREE_MAPS)
    screen = editing(desk, str(file))
    assert not screen.faults
    shapes, seeds = [], []
    for number in (2, 3, 1):
        desk.press("M")
        assert screen.map_label == desk.app._note == f"Map {number} of 3"
        shapes.append(screen.draft.map.shape)
        desk.press("Tab")
        trial = desk.top(PlaytestScreen)
        seeds.append(trial.game.seed)
        assert trial.frame.grid.shape[:2] == shapes[-1]
        desk.press("Tab")
    assert shapes == [(3, 6), (3, 7), (3, 5)]
    assert len({*seeds}) == 3
    assert 0 in seeds
    desk.press("M", "Escape")
    desk.choose("Next map of a level with several")
    screen.brushes.selected = "Wall"
    desk.press(*PAINT)
    desk.press("Ctrl+S")
    assert file.read_text() == THREE_MAPS.replace("#>...E#", "#>#..E#")
    desk.press("M")
    assert screen.map_label == "Map 1 of 3"
    desk.press("Ctrl+Z")  # an undo is seen
    assert screen.map_label == "Map 3 of 3"


def test_maps_of_a_variant_are_shown(desk: Desk, tmp_path: Path):
    maps, rest = THREE_MAPS.split("symmetries")
    variant = "variants: {long: {maps: ['#>E', '#>.E']}}\n"
    (tmp_path / "three.yaml").write_text(f"{maps}{variant}symmetries{rest}")
    screen = editing(desk, f"{tmp_path / 'three.yaml'}#long")
    assert (screen.map_label, screen.draft.map.shape) == ("Map 1 of 2", (1, 3))
    desk.press("M")
    assert (screen.map_label, screen.draft.map.shape) == ("Map 2 of 2", (1, 4))


def test_errors_of_another_map_mark_no_cells(desk: Desk, tmp_path: Path):
    file = tmp_path / "three.yaml"
    file.write_text(THREE_MAPS.replace("#>..E#", "#>?.E#"))
    screen = editing(desk, str(file))
    assert "maps[1]" in screen.faults[0].message
    assert "loss" not in screen._find_outlines().values()
    screen.open_fault(0)
    desk.press("Escape")
    assert (screen.map_label, screen.cursor) == ("Map 2 of 3", (1, 2))


def test_the_pen_leaves_no_gaps_when_the_mouse_jumps(desk: Desk, screen: EditScreen):
    desk.press("RightBracket")
    desk.draw()
    rect = screen.drawing.cell_rect
    start, end = rect((1, 1)).center, rect((1, 5)).center
    before = screen.draft.map.rows[1]
    desk.drag(start, end)
    after = screen.draft.map.rows[1]
    assert before != after
    assert len({*after[1:6]}) == 1


def test_a_mark_follows_its_rule_before_the_level_is_checked_again(desk: Desk, screen: EditScreen):
    rules = RuleListScreen(screen)
    desk.app.push(rules)
    names = [row.rule.name for row in rules.rows() if row.rule]
    index = next(n for n, row in enumerate(rules.rows()) if row.rule)
    rules.chosen = index
    path = format_key_path(rules.rows()[index].rule.path)  # type: ignore[union-attr]
    fault = Fault("it does nothing", ProblemPlace(path), is_slip=True)
    screen._check_state = CheckState((fault,))
    desk.press("Shift+Down")
    marked = [row.rule.name for row in rules.rows() if row.is_wrong and row.rule]
    assert marked == [names[0]]
    screen._poll_checker()  # the new level is sent to the checker
    assert [row.is_wrong for row in rules.rows()].index(True) == index + 1
    assert rules.chosen == index + 1


def note_shortened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list that gets all texts that are drawn from now on, as far as they fit."""
    drawn: list[str] = []
    shorten = sprites.shorten_text

    def note(*words: Any) -> str:
        drawn.append(shorten(*words))
        return drawn[-1]

    monkeypatch.setattr(widgets, "shorten_text", note)
    return drawn


def test_the_verdict_on_several_levels_is_not_cut_off(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.surface = pygame.Surface((937, 600), 0, 32)
    screen = editing(desk)
    levels = "18 of 20 levels, in 9 to 14 steps at least; not that of seed 3, 7"
    screen._check_state = CheckState(steps=9, levels=levels)
    drawn = note_shortened(monkeypatch)
    desk.draw()
    assert "not that of seed 3, 7" in " ".join(drawn)
    assert not [text for text in drawn if text.endswith("...")]


def test_the_palette_says_what_an_object_does(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    desk.app.push(StartScreen(desk.app))
    desk.app.edit("crates")
    screen = desk.top(EditScreen)
    text = describe_brush(screen, "Crate")
    assert text.startswith("Crate. Push a crate out of the way of a move")
    desk.draw()
    before = desk.look()
    assert screen._layout
    palette, report = screen._layout.palette, screen._layout.report
    line = desk.app._painter.line_height  # type: ignore[union-attr]
    desk.point((palette.x + line * 3 // 2, palette.y + 8 * line))
    drawn = note_shortened(monkeypatch)
    changed = (desk.look() != before).any(-1)
    assert changed[report.top : report.bottom, report.left : report.right].sum() > line**2
    assert not [text for text in drawn if text.endswith("...")]


def test_a_pack_is_made_ordered_named_and_played_in_the_editor(desk: Desk, screen: EditScreen):
    before = screen.draft.buffer.text
    desk.press("F6")
    menu = desk.top(PackMenu)
    desk.press("Return")  # make a pack of it
    assert screen.draft.pack_titles == ["Level 1"]
    desk.press("A", "A")
    assert screen.draft.pack_titles == ["Level 1", "Level 2", "Level 3"]
    assert (menu.chosen, screen.draft.variant) == (2, "3")
    desk.choose("Title, par and texts of the edited level")
    desk.choose("title")
    desk.type("The last: a way out", "Return")
    desk.press("Escape")
    desk.choose("3  The last: a way out", "Shift+Up", "Shift+Up", "Shift+Up", "Return")
    assert desk.app.top is screen
    assert screen.draft.pack_titles == ["The last: a way out", "Level 1", "Level 2"]
    desk.draw()
    desk.click(place(screen, (2, 2)))
    desk.press("Tab")
    assert desk.top(PlaytestScreen).game.title.endswith("-1")
    assert desk.top(PlaytestScreen).frame.grid[2, 2, 0] == WALL
    desk.press("Tab", "F6", "Down", "Return")
    assert screen.draft.variant == "2"
    assert screen.draft.map.thing((2, 2)) == {}  # each level has a map of its own
    desk.press("F6", "Delete", "Escape")
    assert screen.draft.pack_titles == ["The last: a way out", "Level 2"]
    assert not screen.draft.faults
    while screen.draft.undo():
        pass
    assert (screen.draft.buffer.text, screen.draft.variant) == (before, "")


def test_a_pack_is_shared_whole_and_keeps_a_level(desk: Desk, tmp_path: Path):
    file = tmp_path / "two.yaml"
    file.write_text(TWO_LEVELS)
    screen = editing(desk, str(file))
    assert (screen.draft.variant, screen.draft.title) == ("1", "two#1")
    assert str(file) in screen.draft.export_command(tmp_path / "two.html")
    desk.press("F6", "Delete", "Delete")
    assert "The only level of a pack stays" in desk.app._note
    assert screen.draft.pack_titles == ["Level 1"]
    assert screen.draft.map.rows[1] == "#>..E#"
    desk.press("Escape", "R", "Escape")  # it can still be edited
    assert desk.app.top is screen


def test_a_playtest_tells_par(desk: Desk, screen: EditScreen):
    screen._check_state = screen._check_state._replace(steps=9)
    screen.try_level()
    assert desk.top(PlaytestScreen)._result_text == "0 steps · par 9"
