"""The start screen, driven by events without a window."""

import sys
from pathlib import Path
from typing import Any

import pytest

from gv_engine.cli import main
from gv_engine.cli.new import write_starter_project
from gv_engine.play.session.catalogue import built_in_entries, load_playable
from gv_engine.play.session.session import Session
from gv_engine.play.ui import settings
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.screens import sounds
from gv_engine.play.ui.screens import start as start_module
from gv_engine.play.ui.screens.cards import Card, ReplayCard
from gv_engine.play.ui.screens.packs import PackScreen
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.start import StartScreen
from gv_engine.play.ui.settings import Settings
from gv_engine.scenario.domains import list_playable_scenarios
from tests.desk import Desk, playing

pytestmark = pytest.mark.window


def test_typing_finds_and_enter_plays(desk: Desk):
    desk.start()
    desk.type("door 7", "Return")
    assert desk.top(PlayScreen).game.title == "keydoor-7x7"
    assert desk.app.settings.recent == ["keydoor-7x7"]
    desk.back_to_start()
    desk.press("Return")  # what was played comes first
    assert desk.top(PlayScreen).game.title == "keydoor-7x7"


def test_enter_plays_what_was_typed_before_it_is_seen(desk: Desk):
    desk.app.push(StartScreen(desk.app))
    desk.dash_off("keydoor-", "Down", "Return")  # before the first picture
    assert desk.top(PlayScreen).game.title == "keydoor-7x7"


def test_enter_plays_what_was_typed_behind_what_is_seen(desk: Desk):
    desk.start()
    desk.type("memory")
    desk.dash_off("-nine-rooms-13", "Return")
    assert desk.top(PlayScreen).game.title == "memory-nine-rooms-13x13"


@pytest.mark.thorough
def test_every_scenario_is_there_once_and_has_a_thumbnail(desk: Desk):
    start = desk.start()
    empty = desk.look()
    cards: list[Any] = []
    for category in ("Puzzles", "Gallery", "MiniGrid", "BabyAI", "Together", "Algebra", "Others"):
        start.choose_category(category)
        cards += [card for _, cards in start.sections() for card in cards]
    start.choose_category("All")
    assert sorted(card.entry.source for card in cards) == sorted(list_playable_scenarios())
    desk.settle()
    shown = [card for _, cards in start.sections() for card in cards]
    assert all(card.text and not card.error for card in shown)
    assert (desk.look() != empty).any()


def test_what_is_not_installed_is_one_card(desk: Desk, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "mathy_core", None)
    monkeypatch.setattr(start_module, "built_in_entries", built_in_entries)
    start = desk.start()
    start.choose_category("Others")
    sections = {heading: list(cards) for heading, cards in start.sections()}
    (card,) = sections["Not installed"]
    assert card.title == "24 more levels"
    assert f"{sys.executable} -m pip install" in card.text
    assert not any("mathy" in card.title for cards in sections.values() for card in cards)
    desk.type("mathy poly")
    assert [placed.card for placed in start._placed_cards] == [card]
    desk.press("Return")
    assert desk.app._note == card.text


def test_the_card_of_a_replay_says_what_the_command_says_to_researchers(
    desk: Desk, capsys: pytest.CaptureFixture[str]
):
    game = Session(load_playable("keydoor-5x5"), 3)
    game.step("TURN_LEFT")
    game.replay().save(Path("a.gvreplay"))
    card = ReplayCard(Path("a.gvreplay"))
    card.load(desk.app, DARK)
    assert card.text == "Key and door 5×5, 1 step"
    desk.app.settings.research = True
    card.load(desk.app, DARK)
    assert card.text.startswith("keydoor-5x5, seed 3, 1 step, return ")
    assert main(["replay", "a.gvreplay", "--verify"]) == 0
    assert capsys.readouterr().out.startswith(f"a.gvreplay: {card.text}, ")


@pytest.mark.thorough
def test_arrows_walk_over_all_cards(desk: Desk):
    start = desk.start()
    number = sum(len(cards) for _, cards in start.sections())
    seen = {start.chosen}
    for _ in range(number):
        desk.press("Right")
        seen.add(start.chosen)
    assert seen == set(range(number))
    desk.press("Home", "Down", "Up")
    assert start.chosen == 0
    desk.press("End")
    assert start.chosen == number - 1


def test_files_here_and_elsewhere(desk: Desk, tmp_path: Path):
    write_starter_project(tmp_path / "cave")
    write_starter_project(tmp_path / "far" / "away")
    (tmp_path / "notes.yaml").write_text("nothing: to play\n")
    text = 'name: "Hand & Fuß"\nextends: keydoor-5x5\n'
    (tmp_path / "hand.yaml").write_text(text, "utf-8")
    start = desk.start()
    here = dict(start.sections())["In this folder"]
    assert [card.title for card in here] == ["Hand & Fuß", "Cave"]
    desk.type(str(tmp_path / "far" / "away"), "Return")
    assert desk.top(PlayScreen).game.scenario.source == tmp_path / "far" / "away" / "scenario.yaml"


def test_files_are_remembered_wherever_the_game_is_started(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    write_starter_project(tmp_path / "cave")
    playing(desk, "cave")
    playing(desk, "GV-Empty-4x4-v0")
    file = tmp_path / "cave" / "scenario.yaml"
    assert desk.app.settings.recent == ["empty-4x4", str(file)]
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    start = desk.start()
    start.choose_category("Mine")
    cards = dict(start.sections())["Recent"]
    assert [card.title for card in cards] == ["Empty 4×4", "Cave"]


def test_a_broken_scenario_says_what_is_wrong(desk: Desk, tmp_path: Path):
    (tmp_path / "brokenest.yaml").write_text("map: 3\n")
    start = desk.start()
    (card,) = dict(start.sections())["In this folder"]
    desk.type("brokenest")
    desk.settle()
    assert "brokenest.yaml:1" in card.error
    desk.press("Return")
    assert desk.app.top is start


def test_a_card_shows_any_error(monkeypatch: pytest.MonkeyPatch):
    card = Card("cave")
    monkeypatch.setattr(
        card, "load_content", lambda *_: dict[str, int]()["key"] if card.error else 1 // 0
    )
    for message in ("integer division or modulo by zero", "'key'"):
        card.load(None, DARK)  # type: ignore[arg-type]  # no app is needed
        assert card.error == message


def test_a_path_is_one_card(desk: Desk, tmp_path: Path):
    write_starter_project(tmp_path / "cave")
    screen = playing(desk)
    screen.take_action("TURN_LEFT")
    screen.save_replay()
    (file,) = settings.replay_folder().iterdir()
    desk.back_to_start()
    start = desk.top(StartScreen)
    for text in ("cave", str(tmp_path / "cave"), str(file)):
        desk.type(text)
        assert len(start._placed_cards) == 1
        desk.press("Escape")


def test_tab_completes_a_path(desk: Desk, tmp_path: Path):
    for name in ("keep", "keepsake", ".hidden"):
        (tmp_path / "far" / name).mkdir(parents=True)
    start = desk.start()
    desk.type("fa")
    for typed, completed in (("", "far/"), ("", "far/keep"), ("s", "far/keepsake/"), ("x", "")):
        desk.type(typed, "Tab")
        assert start.query == (completed or "far/keepsake/x")


def test_all_replays_are_found_with_a_picture(desk: Desk):
    screen = playing(desk, seed=0)
    screen.take_action("TURN_LEFT")
    replay = screen.game.replay()
    settings.replay_folder().mkdir(parents=True)
    for number in range(15):
        replay.save(settings.replay_folder() / f"mine-{number:02}.gvreplay")
    desk.back_to_start()
    start = desk.top(StartScreen)
    assert len(dict(start.sections())["Replays"]) == 12
    desk.type("mine")
    assert len(start._placed_cards) == 15
    desk.settle()
    assert all(placed.card.picture is not None for placed in start._placed_cards)


def test_escape_clears_the_search_and_then_leaves(desk: Desk):
    desk.start()
    desk.type("zzz", "Return", "Escape")
    assert len(desk.app.screens) == 1
    desk.press("Escape")
    assert desk.app._note == "Esc again quits"
    desk.press("Escape")
    assert not desk.app.screens


def test_categories_show_all_of_a_kind(desk: Desk):
    start = desk.start()
    headings = [heading for heading, cards in start.sections() if cards]
    assert headings[:2] == ["Puzzles", "Gallery"]
    assert start.links["Gallery"] == "Show all 35"
    desk.press("Ctrl+Right", "Ctrl+Right", "Ctrl+Right")
    assert start.category == "Not solved"
    (section,) = start.sections()
    titles = [card.title for card in section[1]]
    assert titles[:4] == [
        *("1. Go ahead (Tutorial)", "2. Turn (Tutorial)", "3. Key and door (Tutorial)"),
        "1. Stepping stone (Puzzles, easy)",
    ]
    desk.press("Ctrl+Right")
    assert len([card for _, cards in start.sections() for card in cards]) == 35
    desk.press(*["Ctrl+Left"] * 4, "Pad X", "Pad Y")
    assert start.category == "All"


@pytest.mark.parametrize(
    ("answer", "is_on"), [("click", False), ("Ctrl+M", True), ("Return", False)]
)
def test_sound_is_asked_for_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, answer: str, is_on: bool
):
    heard = []
    monkeypatch.setattr(sounds, "play_sound", lambda *sound: heard.append(sound))
    desk.start()
    asking = desk.look()
    if answer == "click":
        width, height = desk.surface.get_size()
        line = desk.top(StartScreen)._line
        desk.click((width - 2 * line, height - 3 * line))
        assert desk.app._note == "Sound is off. Ctrl+M turns it on"
    else:
        desk.press(answer)
    desk.back_to_start()
    desk.app._note = ""
    assert (desk.look()[-70:] != asking[-70:]).any()
    assert Settings.load()[0].asks_about_sound is (answer == "Return")  # saved at the end
    assert not desk.app.settings.asks_about_sound
    assert desk.app.settings.sound is is_on
    assert heard == ([("gain", 75)] if is_on else [])
    if is_on:
        desk.press("Ctrl+M")
        assert not Settings.load()[0].sound


@pytest.mark.parametrize("size", [(160, 90), (320, 240), (640, 900)], ids=str)
def test_the_chosen_category_is_seen_in_every_window(desk: Desk, size: tuple[int, int]):
    desk.surface = pygame.Surface(size, 0, 32)
    start = desk.start()
    for category in (*start.categories, *reversed(start.categories)):
        start.choose_category(category)
        row = desk.look()[: 5 * start._line]
        accent = [*pygame.Color(DARK.accent)[:3]]
        assert (row == accent).all(2).any(), category


def test_levels_are_opened_by_solving_and_by_asking_twice(desk: Desk):
    desk.start()
    desk.press("Return")
    pack = desk.top(PackScreen)
    assert [card.is_locked for card in pack._pack.levels] == [False] * 3 + [True] * 3
    desk.press("End", "Return")
    assert "Enter again plays it now" in desk.app._note
    desk.top(PackScreen)
    desk.press("Return")
    assert desk.top(PlayScreen).game.title == "tutorial-6"
    desk.app.pop()
    desk.press("Home", "Return", *["Up"] * 4)
    desk.app.pop()
    assert [card.is_locked for card in pack._pack.levels] == [False] * 4 + [True] * 2
    assert pack.chosen == 1


def test_a_search_that_finds_no_level_names_keys(desk: Desk):
    start = desk.start()
    desk.type("real time")
    assert not start._placed_cards
    assert start.describe_no_card().endswith("In a level, T: start or stop real time.")


def test_other_categories_have_a_card_each_at_the_end(desk: Desk):
    start = desk.start()
    heading, cards = [*start.sections()][-2]
    titles = [card.title for card in cards]
    assert (heading, titles) == ("More levels", ["MiniGrid", "BabyAI", "Algebra", "Others"])
    start._open(cards[1])
    assert start.category == "BabyAI"
    assert {card.entry.group for _, cards in start.sections() for card in cards} == {"BabyAI"}  # type: ignore[attr-defined]  # all are levels
