"""Packs of levels in the window and the terminal: chosen, solved, marked, gone on from."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gv_engine import Scenario
from gv_engine.cli.new import write_starter_project
from gv_engine.play.grid.board import Board
from gv_engine.play.session.catalogue import Entry, load_playable
from gv_engine.play.session.replay import SUFFIX
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing.sprites import Rect, pygame
from gv_engine.play.ui.drawing.widgets import Painter
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.screens import edit, game_screen
from gv_engine.play.ui.screens import menu as menu_module
from gv_engine.play.ui.screens.cards import ReplayCard, UnfinishedCard
from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.play.ui.screens.edit_lists import StarterMenu
from gv_engine.play.ui.screens.packs import PackCard, PackEnd, PackScreen, make_card
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.replay import ReplayScreen
from gv_engine.play.ui.screens.settings import PauseMenu
from gv_engine.play.ui.screens.start import StartScreen
from gv_engine.play.ui.settings import (
    Progress,
    Settings,
    progress_file,
    replay_folder,
    unfinished_files,
)
from gv_engine.play.ui.terminal.play import TerminalGame
from tests.desk import Desk, labels, pause_labels, playing
from tests.ui.test_terminal import said

pytestmark = pytest.mark.window


Pastes = Callable[[str], None]


@pytest.fixture
def paste(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Pastes:
    """Pastes a line into the start screen."""

    def pastes(line: str) -> None:
        monkeypatch.setattr(menu_module, "paste_from_clipboard", lambda: line)
        desk.start()
        desk.press("Ctrl+V")

    return pastes


def test_somebody_new_is_led_from_level_to_level(desk: Desk):
    start = desk.start()
    tutorial = start._placed_cards[0].card
    assert isinstance(tutorial, PackCard)
    assert tutorial.title == "Tutorial"
    desk.press("Return", "Return")
    screen = desk.top(PlayScreen)
    assert screen.game.title == "tutorial-1"
    assert "Press Up to go ahead" in screen._instructions
    assert screen.stage.view == "state"
    desk.press("Up", "Up", "Up", "Z", "Up", "Up")
    assert screen._result_text == "4 steps · par 4 · your best 4"
    desk.press("Return")
    assert screen.game.title == "tutorial-2"
    assert desk.app.settings.recent == ["tutorial"]
    desk.press("N", "N", "N", "N")
    assert screen.stage.view == "explored"
    desk.press("V")
    assert screen.stage.view == "state"
    assert desk.app._note == "View: the whole level. This is no first try now"
    assert desk.app.settings.view == ""
    desk.press("V")
    assert screen.stage.view == "explored"
    desk.press("V")
    desk.press("Shift+N")
    assert screen.stage.view == "state"
    desk.press("V")
    assert screen.stage.view == "both"
    desk.app.pop()
    pack = desk.top(PackScreen)
    assert pack.chosen == 1
    assert tutorial.levels[0].text == "Best 4 · par 4"
    desk.back_to_start()
    desk.draw()
    assert tutorial.text.startswith("1 of 6 solved")


def test_who_goes_on_to_the_next_pack_comes_back_to_it(desk: Desk):
    desk.start()
    desk.press("Return", "Return", "N", "N", "N", "N", "N", "N")
    screen = desk.top(PlayScreen)
    assert screen.game.title == "puzzles-easy-1"
    assert "Par 6" in screen.facts()
    assert desk.app.settings.recent[0] == "puzzles-easy"
    desk.app.pop()
    assert desk.top(PackScreen).title == "Puzzles, easy"
    desk.press("Escape")
    desk.type("stepping")
    assert desk.app.top.chosen_card.title == "1. Stepping stone (Puzzles, easy)"  # type: ignore[attr-defined]


def test_a_level_that_is_lost_is_played_again(desk: Desk, tmp_path: Path):
    (tmp_path / "trap.yaml").write_text(
        "extends: lava\nreset_function: null\n"
        "levels: [{map: '>LE'}, {map: '>E'}]\nlegend: {L: {ground: Lava}}\n"
    )
    screen = playing(desk, str(tmp_path / "trap.yaml#1"))
    desk.press("Up")
    assert screen.game.is_lost
    assert screen._list_end_choices()[0] == ("Try again", "go_on")
    desk.press("Return")
    assert (screen.game.title, screen.game.position) == ("trap-1", 0)
    desk.press("N", "Up", "N")
    assert screen.game.message == "This was the last level"
    assert len(desk.app.progress.fewest) == 1
    desk.press("R", "Shift+N", "Shift+N")
    assert screen.game.message == "This is the first level"


@pytest.mark.parametrize("source", ["tutorial#4", "mine.yaml#2"])
def test_a_level_that_was_left_goes_on_the_next_time(desk: Desk, tmp_path: Path, source: str):
    (tmp_path / "mine.yaml").write_text("extends: lava\nlevels: [{map: '>.E'}, {map: '>..E'}]\n")
    playing(desk, source)
    desk.press("Up")
    desk.back_to_start()
    again = Desk()
    again.app.settings.recent = desk.app.settings.recent
    again.start()
    again.app.resume_game(unfinished_files()[0])
    game = again.top(PlayScreen).game
    assert (game.title, game.position) == (source.replace(".yaml", "").replace("#", "-"), 1)


def test_what_is_solved_is_kept_and_only_better(tmp_path: Path):
    file = tmp_path / "progress.toml"
    game = Session(load_playable("tutorial#1"), 0)
    progress, other = Progress(file), Progress(file)
    progress.add_solution(game, 9)
    other.add_solution(Session(load_playable("tutorial#2"), 0), 5)
    other.add_solution(game, 12)
    assert sorted(Progress(file).fewest.values()) == [5, 9]
    progress.add_solution(game, 7)
    assert sorted(Progress(file).fewest.values()) == [5, 7]
    progress.add_solution(Session(load_playable("empty-4x4"), 0), 1)
    assert len(progress.fewest) == 2


def test_medals_are_won_also_where_nothing_can_be_written(tmp_path: Path):
    (tmp_path / "file").touch()
    progress = Progress(tmp_path / "file" / "progress.toml")
    game = Session(load_playable("tutorial#1"), 0)
    with pytest.raises(OSError, match="file"):
        progress.add_solution(game, 4)
    assert game.pack_level is not None
    assert progress.medals(game.pack_level) == ("solved", "par", "first")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (b"abc = 4\nabd = 'x'\n", {"abc": 4}),
        (b"no toml", {}),
        (b"ab = -3\n", {}),
        (b"\xff", {}),
        (b"ab = 7\nab = 5\nac = 12\nad", {"ab": 5, "ac": 12}),  # cut off, and written twice
        (b"[levels]\nab = 1979-05-27\nac = 1e3\nad = true\nae = 2", {"ae": 2}),
        (b"ab = 3\n" + b"ac = " + b"9" * 5000, {"ab": 3}),
        (b"ab = 3\n" + b"x" * 70_000, {"ab": 3}),
        (b"ab = 3\n" + b"\0" * 2**20, {}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_marks_that_cannot_be_used_are_left_out_and_kept_aside(
    tmp_path: Path, text: bytes, kept: dict[str, int]
):
    file = tmp_path / "progress.toml"
    file.write_bytes(text)
    progress = Progress(file)
    assert progress.fewest == kept
    assert str(file) in progress.error
    assert "\n" not in progress.error
    assert (tmp_path / "progress.toml.bad").read_bytes() == text
    progress.add_solution(Session(load_playable("tutorial#1"), 0), 9)
    again = Progress(file)
    assert again.error == ""
    assert kept.items() <= again.fewest.items()
    assert len(again.fewest) == len(kept) + 1
    assert (tmp_path / "progress.toml.bad").read_bytes() == text


@settings(max_examples=30)
@given(data=st.data())
def test_no_mark_is_lost_but_where_a_file_is_damaged(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
):
    file = tmp_path_factory.mktemp("marks") / "progress.toml"
    lines = [f"{number:016x} = {number + 1}\n".encode() for number in range(20)]
    whole = b"".join(lines)
    start = data.draw(st.integers(0, len(whole)))
    end = data.draw(st.integers(start, min(len(whole), start + 60)))
    file.write_bytes(whole[:start] + data.draw(st.binary(max_size=40)) + whole[end:])
    found = Progress(file)
    assert "\n" not in found.error
    below = 0
    for number, line in enumerate(lines):
        above, below = below, below + len(line)
        if below <= start or above > end:
            assert found.fewest[f"{number:016x}"] == number + 1


def test_the_terminal_marks_and_goes_on_too(desk: Desk):
    screen = TerminalGame(Session(load_playable("tutorial#1"), 0), Settings(), Bindings())
    assert "Walk to the exit" in said(screen, width=100)
    assert "par 4" in said(screen, *["Right"] * 4, width=100)
    assert [*Progress().fewest.values()] == [4]
    assert progress_file().is_file()
    screen.press("Return")
    assert screen.game.title == "tutorial-2"


def test_a_game_goes_on_elsewhere_from_a_line_of_text(
    desk: Desk, paste: Pastes, monkeypatch: pytest.MonkeyPatch
):
    copied: list[str] = []
    monkeypatch.setattr(game_screen, "copy_to_clipboard", copied.append)
    screen = playing(desk, "keydoor-5x5", seed=200)
    desk.press("Left", "Right", "Up", "Up", "Z", "Ctrl+C")  # an undone step stays here
    (line,) = copied
    paste(line)
    again = desk.top(PlayScreen).game
    assert (again.title, again.seed, again.position) == ("keydoor-5x5", 200, 3)
    assert again.state_digest() == screen.game.state_digest()
    for wrong in (line[:-9], "gv:", "gv:!!!!", line[:40] + "A" + line[41:]):
        desk.app._note = ""
        paste(wrong)
        assert isinstance(desk.app.top, StartScreen)
        assert desk.app._note


def test_an_edited_level_is_copied_from_its_key_and_its_menu(
    desk: Desk, paste: Pastes, monkeypatch: pytest.MonkeyPatch
):
    copied: list[str] = []
    monkeypatch.setattr(edit, "copy_to_clipboard", copied.append)
    desk.start()
    desk.app.edit_new_level("keydoor")
    screen = desk.top(EditScreen)
    screen.cursor = (1, 1)
    desk.press("Delete", "Ctrl+C")
    assert not copied
    assert "Put a player on the map" in desk.app._note
    desk.press("Z")
    screen.edit(lambda text: f"{text}dim: true\n")
    desk.press("Ctrl+C", "Escape")
    desk.choose("Copy the level as a line of text")
    assert len(copied) == 2
    assert len({*copied}) == 1
    assert desk.top(EditScreen) is screen
    paste(copied[0])
    game = desk.top(PlayScreen).game
    assert (game.position, game.length) == (0, 0)
    assert game.scenario.document.root.written["dim"] is True


def test_a_level_of_ones_own_comes_along_in_the_line(desk: Desk, tmp_path: Path, paste: Pastes):
    file = tmp_path / "keyed.yaml"
    file.write_text("extends: keydoor-5x5\ndescription: Mine.\n")
    line = Session(load_playable(str(file)), 4).replay().to_line()
    file.unlink()
    paste(line)
    game = desk.top(PlayScreen).game
    assert game.seed == 4
    desk.press("Up")
    paste(line)  # it is known now
    assert desk.top(PlayScreen).game.title == game.title
    assert len(list((tmp_path / "data").rglob("*.yaml"))) == 1


@pytest.mark.parametrize(
    "value", ["{victim}", "../../../victim", "\0", "\ud800", "x" * 300, "CON", ""]
)
def test_a_line_touches_no_file_outside(desk: Desk, tmp_path: Path, paste: Pastes, value: str):
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "level.yaml").write_text("mine")
    level = Scenario.load({"extends": "lava", "map": ">..E", "name": "level"})
    replay = Session(level, 4).replay()
    before = sorted(tmp_path.rglob("*"))
    for field in ("digest", "name", "text"):
        source = replay.scenario._replace(**{field: value.format(victim=victim)})
        desk.app._note = ""
        paste(replace(replay, scenario=source).to_line())
        assert isinstance(desk.app.top, StartScreen)
        assert desk.app._note
        assert (victim / "level.yaml").read_text() == "mine"
        assert sorted(tmp_path.rglob("*")) == before


def test_a_line_brings_no_python(desk: Desk, tmp_path: Path, paste: Pastes):
    folder = tmp_path / "cave"
    write_starter_project(folder)
    line = Session(load_playable(str(folder)), 4).replay().to_line()
    shutil.rmtree(folder)
    paste(line)
    assert isinstance(desk.app.top, StartScreen)
    assert "its text alone is not enough" in desk.app._note
    assert not list((tmp_path / "data").rglob("*.yaml"))


def test_a_gamepad_leads_from_the_start_screen_through_levels_and_replays(desk: Desk):
    desk.start()
    desk.press("Pad A", "Pad A", *["Pad Up"] * 4)
    screen = desk.top(PlayScreen)
    assert screen.frame.success
    screen.save_replay()
    desk.press("Pad Start")
    assert screen.game.title == "tutorial-2"

    def choose(*path: str) -> None:
        desk.press("Pad Back")
        for label in path:
            desk.choose(label, "Pad Down", "Pad Up", "Pad A")

    choose("View and actions", "Inspector")
    assert screen.stage.side_panel
    choose("View and actions", "Next page of the inspector")
    choose("Levels and replays", "Watch the replay that was saved")
    assert [type(screen) for screen in desk.app.screens[2:]] == [PlayScreen, ReplayScreen]
    desk.press("Pad Right", "Pad Back")
    assert not {"Move forward", "Pick up what is ahead"} & {*pause_labels(desk)}
    desk.press("Pad Back")
    choose("View and actions", "Another view")
    choose("Leave the replay")
    choose("Leave this level")
    assert [type(screen) for screen in desk.app.screens] == [StartScreen, PackScreen]


def test_a_gamepad_reaches_everything_by_the_menu(desk: Desk):
    playing(desk, "MiniGrid-Unlock-v0")
    desk.press("Pad Back")
    told = {
        "Open or close what is ahead",
        "Hint, each time a stronger one",
        "Another view",
        "Inspector",
    }
    assert len(labels(desk.top(PauseMenu))) <= 8
    assert told <= {*pause_labels(desk)}


@pytest.mark.parametrize("size", [(400, 300), (640, 900), (1280, 800)])
def test_medals_are_on_the_card_of_a_solved_level_in_every_window(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
):
    desk.surface = pygame.Surface(size, 0, 32)
    playing(desk, "tutorial#1")
    desk.press(*["Up"] * 4)
    with_all = desk.look()
    monkeypatch.setattr(Progress, "medals", lambda self, level: ())
    assert (desk.look() != with_all).any()


def test_medals_are_for_solving_par_and_the_first_try(desk: Desk):
    screen = playing(desk, "tutorial#1")
    progress, level = desk.app.progress, screen.game.pack_level
    assert level
    desk.press("Up", "Z", "Up", "Up", "Up", "Up")
    assert progress.medals(level) == ("solved", "par")  # a step was taken back
    screen = playing(desk, "tutorial#2")
    level = screen.game.pack_level
    assert level
    desk.press("Left", *["Right"] * 2, *["Left"], *["Up"] * 2, "Right", *["Up"] * 2, "Left")
    desk.press(*["Up"] * 2)
    assert screen.frame.success
    assert progress.medals(level) == ("solved", "first")
    won = desk.look()
    desk.press("R")
    assert Progress().medals(level) == ("solved", "first")
    desk.press("Up", "Up", "Shift+Right", "Shift+Right", "Up", "Up")
    assert Progress().medals(level) == ("solved", "par", "first")
    assert (desk.look() != won).any()


@pytest.mark.parametrize("leave", [["R"], ["N"], ["Escape", "Up", "Return"]])
def test_who_gives_up_has_had_the_first_try(desk: Desk, leave: list[str]):
    level = playing(desk, "tutorial#1").game.pack_level
    assert level
    desk.press("Up", *leave)
    desk.back_to_start()
    playing(desk, "tutorial#1")
    desk.press(*["Up"] * 4)
    assert desk.app.progress.medals(level) == ("solved", "par")


def test_who_looks_at_all_of_a_level_in_fog_has_had_the_first_try(desk: Desk):
    for source, medals in (
        ("tutorial#1", ("solved", "par", "first")),
        ("tutorial#6", ("solved", "par")),
    ):
        game = playing(desk, source).game
        assert game.pack_level
        desk.press("V")
        assert ("no first try" in desk.app._note) == (source == "tutorial#6")
        desk.app.progress.add_solution(game, 1)
        assert desk.app.progress.medals(game.pack_level) == medals


def test_games_show_no_seed_and_no_reward_unless_asked(desk: Desk):
    def facts(screen: PlayScreen) -> str:
        return " ".join(screen.facts())

    screen = playing(desk, "tutorial#1", seed=41)
    assert "41" not in facts(screen)
    quiet = desk.look()
    desk.press("Shift+V")
    assert "Seed: 41" in facts(screen)
    assert screen.stage.view == "state"
    assert (desk.look() != quiet).any()
    assert "Seed: 41" in facts(playing(desk, "empty-4x4", seed=41))
    assert desk.top(PlayScreen).stage.view == "both"
    desk.press("Shift+V")
    assert "41" not in facts(desk.top(PlayScreen))
    assert desk.top(PlayScreen).stage.view == "state"
    assert not Settings.load()[0].research


def test_the_card_of_a_puzzle_compares_its_steps_with_par_and_the_best(desk: Desk):
    screen = playing(desk, "tutorial#1", seed=41)
    desk.press("Up", "Ctrl+S")
    (file,) = (file for file in replay_folder().iterdir() if file.suffix == SUFFIX)
    desk.press(*["Up"] * 3)
    assert screen.frame.success
    title, card = screen.game.heading[0], ReplayCard(file)
    card.load(desk.app, DARK)
    assert card.text == f"{title}: 1 step · par 4 · your best 4"
    unfinished = UnfinishedCard(file)
    unfinished.load(desk.app, DARK)
    assert unfinished.text == card.text
    desk.app.settings.research = True
    card.load(desk.app, DARK)
    assert "seed 41, 1 step, return" in card.text


def test_the_last_level_of_a_pack_leads_back_to_its_levels(desk: Desk, tmp_path: Path):
    (tmp_path / "two.yaml").write_text("extends: lava\nlevels: [{map: '>.E'}, {map: '>..E'}]\n")
    desk.start()
    desk.app.play(str(tmp_path / "two.yaml#1"))
    screen = desk.top(PlayScreen)
    desk.press("Up", "Up")
    assert screen._list_end_choices()[0] == ("Next level", "go_on")
    desk.press("Return", "Up", "Up", "Up")
    assert screen._list_end_choices()[0] == ("Back to the levels", "go_on")
    desk.press("Return")
    end = desk.top(PackEnd)
    assert end.title == "Two: complete"
    assert end.text_above == "You have solved all 2 levels in 5 steps."
    assert labels(end) == ["Make a level of your own", "Back to the levels"]
    desk.press("Return")
    assert isinstance(desk.app.top, StarterMenu)
    desk.press("Escape")
    assert isinstance(desk.app.top, StartScreen)


def test_the_end_of_the_tutorial_leads_to_the_first_puzzles(desk: Desk):
    desk.start()
    progress, levels = desk.app.progress, Entry("tutorial", "").levels
    for level in levels[:-1]:
        progress.add_solution(Session(load_playable(level.source), 0), level.level.par)  # type: ignore[union-attr]  # it is a level
    desk.press("Return")
    pack = desk.top(PackScreen)
    assert pack.chosen == 5
    desk.app.play("tutorial#6")
    game = desk.top(PlayScreen).game
    progress.add_solution(game, 30)
    desk.app.end_pack("tutorial#6")
    end = desk.top(PackEnd)
    assert end.title == "Tutorial: complete"
    assert labels(end) == ["Go on: Puzzles, easy", "Reach par in 6. Fog", "Back to the levels"]
    assert [type(screen) for screen in desk.app.screens] == [StartScreen, PackScreen, PackEnd]
    desk.press("Return")
    assert desk.top(PackScreen).title == "Puzzles, easy"
    desk.press("Escape")
    desk.top(StartScreen)


def test_the_card_of_a_pack_shows_its_first_level(desk: Desk):
    card = make_card(Entry("tutorial", ""))
    assert isinstance(card, PackCard)
    card.load(desk.app, desk.app.theme)
    card.levels[0].load(desk.app, desk.app.theme)
    pictures = [each.picture for each in (card, card.levels[0])]
    first, second = (pygame.image.tobytes(picture, "RGB") for picture in pictures if picture)
    assert first == second


def test_the_last_level_is_not_the_end_if_others_are_left(desk: Desk):
    desk.start()
    desk.press("Return")
    desk.app.play("tutorial#6")
    desk.app.end_pack("tutorial#6")
    end = desk.top(PackEnd)
    assert end.title == "Tutorial: the end"
    assert end.text_above == "That was the last level. 6 of 6 are not solved yet."
    desk.choose("Solve 1. Go ahead")
    assert desk.top(PlayScreen).game.title == "tutorial-1"


@pytest.mark.parametrize(
    ("size", "columns"), [((400, 300), 3), ((640, 900), 2), ((1280, 800), 3)], ids=str
)
def test_the_path_runs_from_left_to_right_and_fills_the_window(
    desk: Desk, size: tuple[int, int], columns: int
):
    desk.surface = pygame.Surface(size, 0, 32)
    desk.start()
    desk.press("Return")
    screen = desk.top(PackScreen)
    desk.look()
    rects = [card.rect for card in screen._cards]
    assert [rect.x for rect in rects[:columns]] == sorted(rect.x for rect in rects[:columns])
    assert [rect.x for rect in rects[columns : 2 * columns]] == [rect.x for rect in rects[:columns]]
    assert 0.9 * screen._viewport.w < max(rect.right for rect in rects) <= screen._viewport.w
    if size != (400, 300):
        assert max(rect.bottom for rect in rects) <= screen._viewport.h
    for expected in range(1, columns + 2):
        desk.press("Right")
        assert screen.chosen == expected
    desk.press("Left")
    assert screen.chosen == columns
    desk.press("Up")
    assert screen.chosen == 0


def test_the_start_screen_goes_on_with_what_is_next(desk: Desk):
    def go_on() -> tuple[str, str]:
        desk.back_to_start()
        desk.look()
        (card,) = dict(desk.top(StartScreen).sections())["Go on playing"]
        card.load(desk.app, DARK)
        return card.title, card.text

    assert not dict(desk.start().sections())["Go on playing"]
    desk.press("Return", "Return", "Up")
    assert go_on() == ("1. Go ahead", "Tutorial. Go ahead: 1 step · par 4")
    desk.press("Return")
    assert desk.top(PlayScreen).game.position == 1
    desk.press("Up", "Up", "Up")
    assert go_on() == ("2. Turn", "Tutorial. Not solved · par 6")
    desk.app.play("keydoor-7x7", 3)
    assert go_on()[0] == "Key and door 7×7"
    desk.press("Return")
    assert desk.top(PlayScreen).game.title == "keydoor-7x7"


@pytest.mark.parametrize("size", [(800, 600), (1280, 800), (2560, 1440)])
def test_the_card_of_a_win_leaves_the_agent_in_the_exit_to_be_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
):
    cards: list[pygame.Rect] = []
    monkeypatch.setattr(Painter, "draw_outline", lambda _, rect, color: cards.append(rect))
    desk.surface = pygame.Surface(size, 0, 32)
    screen = playing(desk, "tutorial#1")
    desk.press(*["Up"] * 3)
    desk.draw()
    assert not cards
    sizes: list[float] = []
    monkeypatch.setattr(Board, "_draw_agent", lambda *arguments: sizes.append(arguments[5]))
    desk.press("Up")
    desk.draw()
    assert sizes[-1] == 0.5
    assert screen.stage.agent_rect
    assert not cards[-1].colliderect(screen.stage.agent_rect)
    assert screen._layout
    assert screen._layout.stage.contains(cards[-1])


@pytest.mark.parametrize(("size", "scale"), [((1280, 800), 2.0), ((640, 400), 1.0)], ids=str)
def test_the_card_of_a_win_leaves_most_of_the_board_in_sight(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int], scale: float
):
    cards, draw_outline = [], Painter.draw_outline

    def record(painter: Painter, rect: Rect, color: str) -> None:
        cards.append(rect)
        draw_outline(painter, rect, color)

    monkeypatch.setattr(Painter, "draw_outline", record)
    desk.app.settings.scale = scale
    desk.surface = pygame.Surface(size, 0, 32)
    screen = playing(desk, "tutorial#1")
    desk.press(*["Up"] * 4)
    cards.clear()
    desk.draw()
    (card,) = cards
    assert screen._layout is not None
    assert card.h <= screen._layout.stage.h * 2 / 5
    agent = screen.stage.agent_rect
    assert agent
    assert not card.colliderect(agent)
