"""Pages in Chromium, played by real keys and fingers."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gv_engine import Scenario
from gv_engine.session.replay import Replay
from gv_engine.session.session import Session
from gv_engine.validation.solver import Survey
from gv_engine.web.page import PageStyle, make_page
from tests.web.browser import CHROMIUM, Browser, chromium

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.compiled,
    pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: apt install chromium"),
]
KEYS = {
    **{"MOVE_FORWARD": "KeyW", "MOVE_BACKWARD": "KeyS", "MOVE_LEFT": "KeyQ", "MOVE_RIGHT": "KeyE"},
    **{"TURN_LEFT": "KeyA", "TURN_RIGHT": "KeyD", "ACTUATE": "Space", "TOGGLE": "KeyF"},
    **{"PICK_N_DROP": "KeyP", "PICK_UP": "KeyU", "DROP": "KeyO", "DONE": "KeyC"},
}
SIZES = {"phone": (320, 568), "laptop": (1280, 800), "large": (2560, 1440)}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


def write_page(folder: Path, *levels: Scenario, style: PageStyle | None = None) -> Path:
    """Return a page of these levels, in a file."""
    file = folder / "page.html"
    file.write_text(make_page(levels[0].name, levels, style=style), encoding="utf-8")
    return file


def replay_of(browser: Browser) -> Replay:
    """Return the game on the page, as its line of text has it."""
    return Replay.from_line(browser.run("player.game.toLine()"))


@pytest.mark.parametrize(
    "name",
    [
        *("tutorial#1", "tutorial#2", "keydoor-9x9", "sokoban#1", "levers", "ice", "crates"),
        *("telepods", "MiniGrid-DoorKey-5x5-v0", "MiniGrid-Fetch-5x5-N2-v0"),
    ],
)
def test_a_level_is_won_by_keys_and_its_game_is_the_same_in_python(
    name: str, browser: Browser, tmp_path: Path
):
    level = Scenario.load(name)
    survey = Survey(level, [0], 120)
    browser.open(write_page(tmp_path, level))
    while browser.run("player.view") != "observation":  # where keys are actions
        browser.press("KeyV")
    browser.press(*(KEYS[level.action_names[k]] for k in survey.solutions[0].actions))
    assert not browser.errors
    assert browser.run("player.world.isOver")
    assert browser.run("document.getElementById('message').className") == "gain"
    assert browser.text("message")
    replay = replay_of(browser)
    assert replay.outcome == "terminated"
    game = Session.from_replay(replay, level)
    assert game.difference is None
    assert not browser.errors


def test_two_at_one_keyboard(browser: Browser, tmp_path: Path):
    level = Scenario.load("hold-plates")
    browser.open(write_page(tmp_path, level))
    browser.press("KeyV", "KeyV", "ArrowUp", "KeyW", "ArrowUp", "Tab", "ArrowLeft")
    ann, bob = level.sharing.names
    assert [step.action for step in replay_of(browser).steps] == [
        *(f"{ann} MOVE_FORWARD", f"{bob} MOVE_FORWARD", f"{ann} MOVE_FORWARD"),
        f"{bob} TURN_LEFT",
    ]
    assert Session.from_replay(replay_of(browser), level).difference is None


def test_fingers_undo_rewind_seeds_and_packs(browser: Browser, tmp_path: Path):
    levels = [Scenario.load("keydoor-5x5"), Scenario.load("keydoor-7x7")]
    browser.open(write_page(tmp_path, *levels), "#level=2&seed=5")
    assert browser.run("[player.number, String(player.game.seed)]") == [1, "5"]
    browser.swipe(80, 0)
    browser.swipe(0, 80)
    browser.swipe(0, 0)
    taken = browser.run("player.game.position")
    assert taken >= 2
    browser.press("KeyZ", "KeyZ")
    assert browser.run("player.game.position") == taken - 2
    browser.press("KeyY", "End", "Home")
    assert browser.run("[player.game.position, player.game.steps.length]") == [0, taken]
    browser.run("document.getElementById('rewind').value = 1; player.seek(1)")
    assert browser.text("steps").startswith("1")
    browser.press("KeyR")
    assert browser.run("player.game.steps.length") == 0
    browser.run(
        "(s => { s.value = '123'; s.dispatchEvent(new Event('change')) })"
        "(document.getElementById('seed'))"
    )
    assert browser.run("String(player.game.seed)") == "123"
    browser.run("player.begin('-1')")
    assert "whole number from 0" in browser.text("message")
    assert not browser.errors


def test_a_line_opens_and_a_changed_one_is_refused(browser: Browser, tmp_path: Path):
    level, other = Scenario.load("keydoor-5x5"), Scenario.load("keydoor-7x7")
    lines = []
    for each in (level, other):
        game = Session(each, 3)
        for action in ("MOVE_FORWARD", "TURN_LEFT", "MOVE_FORWARD"):
            game.step(action)
        lines.append(game.replay().to_line())
    browser.open(write_page(tmp_path, level))
    browser.run(f"player.openLine({lines[0]!r})")
    assert browser.text("message") == "A game of 3 steps"
    assert browser.run("[player.game.position, String(player.game.seed)]") == [3, "3"]
    browser.run(f"player.openLine({lines[1]!r})")
    assert browser.text("message") == (
        "This game belongs to keydoor-7x7, or a version of it, that is not on this page."
    )
    browser.run(f"player.openLine({lines[0][:60]!r})")
    assert browser.text("message") == "This line is not a game, or it is incomplete."
    browser.run("player.act('TURN_LEFT')")  # the game before goes on
    assert len(replay_of(browser).steps) == 4
    assert Session.from_replay(replay_of(browser), level).difference is None


def test_a_damaged_page_says_so(browser: Browser, tmp_path: Path):
    file = write_page(tmp_path, Scenario.load("keydoor-5x5"))
    page = file.read_text(encoding="utf-8")
    file.write_text(page.replace('"seed": "0"', '"seed": "1"', 1), encoding="utf-8")
    browser.open(file)
    assert browser.text("failure") == "This page is damaged: its checksum does not fit the rest."


def test_screen_readers_find_level_actions_and_what_is_ahead(browser: Browser, tmp_path: Path):
    browser.open(write_page(tmp_path, Scenario.load("keydoor-5x5")))
    names = browser.names()
    assert {("button", "Undo"), ("button", "Use what is ahead"), ("textbox", "Seed")} <= names
    (state,) = (name for role, name in names if name.startswith("Agent in row"))
    assert re.fullmatch(r"Agent in row \d of 5, column \d of 5, facing \w+; ahead: .+", state)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("embedded", [False, True])
def test_a_page_fits(size: str, embedded: bool, browser: Browser, tmp_path: Path):
    level = Scenario.load("keydoor-9x9")
    browser.open(write_page(tmp_path, level, style=PageStyle(embedded=embedded)), size=SIZES[size])
    width, height = SIZES[size]
    browser.wait("!player.willDraw && [...player.sprites.images.values()].every(i => i.complete)")
    if folder := os.environ.get("GV_ENGINE_SCREENS"):
        browser.picture(Path(folder, f"page-{size}{'-embedded' * embedded}.png"))
    boxes = browser.run(
        "[...document.querySelectorAll('canvas, #actions button')]"
        ".map(e => e.getBoundingClientRect()).map(r => [r.left, r.top, r.right, r.bottom, r.width])"
    )
    assert all(left >= 0 and right <= width for left, _, right, _, _ in boxes)
    assert all(bottom <= height for _, _, _, bottom, _ in boxes)
    assert min(wide for *_, wide in boxes[:2]) >= 0.3 * min(width, height)
