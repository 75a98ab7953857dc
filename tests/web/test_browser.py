"""Pages in Chromium, played by real keys and fingers."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from components.core import HIDDEN
from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.play.grid.stage import GridStage
from gv_engine.play.session.autoplay import PolicyAutoplayer
from gv_engine.play.session.catalogue import find_heading
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.settings import Settings
from gv_engine.play.validation.survey import Survey
from gv_engine.plugins.web.notebook import PlayableLevel
from gv_engine.plugins.web.page import FORMAT, PageStyle, make_page
from tests.boards import scenario
from tests.games import take
from tests.learning.drawn import drawn
from tests.screen import until
from tests.systems.test_floors import BOARD, FLOORS, WAY
from tests.web.browser import CHROMIUM, Browser, chromium

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.compiled,
    pytest.mark.skipif(not CHROMIUM, reason="needs Chromium: apt install chromium"),
]
CODES = {
    **{"Up": "ArrowUp", "Down": "ArrowDown", "Left": "ArrowLeft", "Right": "ArrowRight"},
    **{"Space": "Space", "Return": "Enter", "Tab": "Tab", "Backspace": "Backspace"},
}
SWIPES = {
    **{"MOVE_FORWARD": (0, -80), "MOVE_BACKWARD": (0, 80), "ACTUATE": (0, 0)},
    **{"TURN_LEFT": (-80, 0), "TURN_RIGHT": (80, 0)},
}
SIZES = {
    **{"small": (320, 568), "phone": (390, 844), "tablet": (778, 900)},
    **{"laptop": (1280, 800), "large": (2560, 1440)},
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One browser for all tests."""
    with chromium(tmp_path_factory.mktemp("chromium")) as opened:
        yield opened


def write_page(
    folder: Path, *levels: Scenario, style: PageStyle | None = None, policy: str | None = None
) -> Path:
    """Return a page of these levels, in a file."""
    file = folder / "page.html"
    page = make_page(levels[0].name, levels, style=style, policy=policy)
    file.write_text(page, encoding="utf-8")
    return file


def replay_of(browser: Browser) -> Replay:
    """Return the game on the page, as its line of text has it."""
    return Replay.from_line(browser.run("player.game.toLine()"))


def find_actions(level: Scenario) -> list[tuple[int, str]]:
    """Return the number of the agent and the action of each step of a way to win a level, on which
    agents act one after the other."""
    joint = np.array(Survey(level, [0], 120).solutions[0].actions)
    joint = joint.reshape(len(joint), -1)
    return [(k, level.action_names[action]) for row in joint for k, action in enumerate(row)]


def turn_by_arrows(browser: Browser) -> None:
    """Choose the setting in which keys and swipes are the agent's own actions, on this page."""
    browser.run("arrows.value = 'turn'; player.bindKeys(); player.show()")
    assert not browser.run("player.steers")


def check_won(browser: Browser, folder: Path) -> None:
    """Check that the game on the page is won, says so, and is the same for `gv-engine replay`."""
    assert not browser.errors
    assert browser.run("player.world.isOver")
    assert browser.run("document.getElementById('message').className") == "gain"
    assert browser.text("message")
    file = folder / "game.gvreplay"
    file.write_text(browser.run("player.game.toLine()"), encoding="utf-8")
    assert main(["replay", "--verify", str(file)]) == 0


@pytest.mark.parametrize(
    "name",
    [
        *(*(f"tutorial#{k}" for k in range(1, 7)), "keydoor-9x9", "sokoban#1", "levers", "ice"),
        *("crates", "telepods", "hold-plates", "hand-over"),
        *("MiniGrid-DoorKey-5x5-v0", "MiniGrid-Fetch-5x5-N2-v0"),
    ],
)
def test_a_level_is_won_by_keys_and_its_game_is_the_same_in_python(
    name: str, browser: Browser, tmp_path: Path
):
    level = Scenario.load(name)
    browser.open(write_page(tmp_path, level))
    turn_by_arrows(browser)
    keys = browser.run("[...player.keys].map(([key, command]) => [command.name, key]).reverse()")
    codes = {
        name: re.sub(r"\w+$", lambda key: CODES.get(key[0], f"Key{key[0]}"), key)
        for name, key in keys
    }
    for agent, action in find_actions(level):
        browser.press(codes[action if agent == 0 else f"{level.agent_group.names[agent]} {action}"])
    check_won(browser, tmp_path)


@pytest.mark.parametrize("name", ["tutorial#1", "keydoor-9x9", "levers", "MiniGrid-Unlock-v0"])
def test_a_level_is_won_by_a_finger(name: str, browser: Browser, tmp_path: Path):
    level = Scenario.load(name)
    browser.open(write_page(tmp_path, level), size=SIZES["small"])
    turn_by_arrows(browser)
    actions = [action for _, action in find_actions(level)]
    for action in actions:
        if SWIPES.keys() >= {*actions}:
            browser.swipe(*SWIPES[action])
        else:  # a browser takes no tap for a while after a swipe
            browser.swipe(0, 0, f'[data-command="{action}"]')
    check_won(browser, tmp_path)


def test_instructions_name_buttons_on_a_touch_screen_and_else_keys(
    browser: Browser, tmp_path: Path
):
    browser.open(write_page(tmp_path, Scenario.load("tutorial#2"), Scenario.load("tutorial#4")))
    said = "Swipes and the buttons with arrows go where they point."
    assert browser.text("mission") == f"{said} ↺ and ↻ turn you on the spot."
    browser.call("Emulation.setTouchEmulationEnabled", enabled=False)
    browser.run("player.show()")
    assert browser.text("mission").endswith("Shift+Left and Shift+Right turn you on the spot.")
    turn_by_arrows(browser)  # where arrows are the agent's own actions
    assert browser.text("mission").startswith("Left and Right turn you, Up goes where you look;")
    browser.run("player.open(1)")
    assert "it is stuck, Z takes a step back" in browser.text("mission")
    browser.call("Emulation.setTouchEmulationEnabled", enabled=True)
    browser.run("player.show()")
    assert "it is stuck, “Undo” takes a step back" in browser.text("mission")


def test_cells_that_guards_see_are_shown_on_both_boards(browser: Browser, tmp_path: Path):
    level = Scenario.load("patrol")
    browser.open(write_page(tmp_path, level))
    game, shown = Session(level, 0), 0
    for action in ("", *["TURN_RIGHT"] * 3, *["MOVE_FORWARD"] * 4):
        if action:
            browser.run(f"player.command({action!r})")
            game.step(action)
        for view in ("state", "explored"):
            frame = game.frame() if view == "state" else game.frame().limit_to_explored()
            browser.run(f"player.view = {view!r}, player.show()")
            cells = {cell for cells in frame.watched.values() for cell in cells}
            found = browser.run("[...player.shown.watched]")
            assert {divmod(cell, frame.grid.shape[1]) for cell in found} == cells
        sights = ((guard, cell) for guard, cells in frame.watched.items() for cell in cells)
        seen = {cell for guard, cell in sights if frame.seen[guard] and frame.seen[cell]}
        found = browser.run("[...player.observed.watched]")
        columns = frame.observation.shape[1]
        assert {divmod(cell, columns) for cell in found} == {frame.to_view_cell(*c) for c in seen}
        shown += len(found)
    assert shown
    assert not browser.errors


def test_a_page_forgets_what_the_window_forgets(browser: Browser, tmp_path: Path):
    level = scenario(BOARD, **FLOORS, view="explored")
    browser.open(write_page(tmp_path, level))
    browser.run("player.view = 'explored', player.show()")
    game, known = Session(level, 0), []
    actions = "TURN_LEFT", "ACTUATE", "TURN_LEFT", "PICK_N_DROP", "TURN_LEFT"
    for action in (*actions, *["undo"] * len(actions)):
        browser.run(f"player.command({action!r})")
        game.undo() if action == "undo" else game.step(action)
        frame = game.frame().limit_to_explored()
        found = browser.run("player.shown.top")
        assert np.array_equal(np.reshape(found, frame.grid.shape), frame.grid)
        known.append(int((frame.grid[..., 0] != HIDDEN).sum()))
    assert known[1] < known[0]
    assert known[3] < known[2]
    assert not browser.errors


def test_a_page_goes_down_the_floors_of_the_rogue(browser: Browser, tmp_path: Path):
    level = Scenario.load("rogue")
    browser.open(write_page(tmp_path, level))
    game = Session(level, 0)
    for number in WAY:
        action = level.action_names[int(number)]
        game.step(action)
        browser.run(f"player.act({action!r})")
        frame = game.frame().limit_to_explored()
        found = browser.run("player.shown.top")
        assert np.array_equal(np.reshape(found, frame.grid.shape), frame.grid)
        assert f"floor {frame.numbers[-1].text}" in browser.text("numbers")
    check_won(browser, tmp_path)


def test_time_runs_on_a_page_until_it_is_stopped(browser: Browser, tmp_path: Path):
    level = scenario("^......", time={"beat": 20}, action_space=["MOVE_FORWARD", "MOVE_RIGHT"])
    browser.open(write_page(tmp_path, level))
    until(lambda: browser.run("player.game.position") >= 2, "two beats")
    assert browser.run("document.getElementById('clock').textContent") == "Stop time"
    browser.press("KeyT")
    stopped = browser.run("player.game.position")
    later = "new Promise((done) => setTimeout(() => done(player.game.position), 200))"
    assert browser.run(later) == stopped
    browser.press("ArrowRight", "KeyT")
    until(lambda: browser.run("player.game.position") >= stopped + 2, "a move and a beat")
    actions = [step.action for step in replay_of(browser).steps]
    assert {*actions[:stopped]} == {"WAIT"}
    assert actions[stopped] == "MOVE_RIGHT"
    assert Session.from_replay(replay_of(browser), level).difference is None
    assert not browser.errors


def test_a_page_marks_agents_and_teams_as_the_window(browser: Browser, tmp_path: Path):
    level = Scenario.load("hunt")
    browser.open(write_page(tmp_path, level))
    marks = Session(level, 0).frame().marks
    found = browser.run("player.shown.marks.map((m) => [m.y, m.x, m.isOwn, m.team])")
    assert sorted(found) == sorted([*m.cell, m is marks[0], m.team_number] for m in marks)
    assert {mark.team_number for mark in marks} >= {0, 1}
    told = "(m => { const { side, y, x } = player.places.state; return player.describeAt("
    told += "'state', (m.x - x + 0.5) * side, (m.y - y + 0.5) * side) })(player.shown.marks[0])"
    y, x = marks[0].cell
    assert browser.run(told) == f"{marks[0].label}: agent on floor at row {y}, column {x}"
    assert not browser.errors


def test_two_at_one_keyboard(browser: Browser, tmp_path: Path):
    level = Scenario.load("hold-plates")
    browser.open(write_page(tmp_path, level))
    turn_by_arrows(browser)
    browser.press("ArrowUp", "KeyW", "ArrowUp", "Tab", "ArrowLeft")
    ann, bob = level.agent_group.names
    choose = "(w => { w.value = '1'; w.dispatchEvent(new Event('change', { bubbles: true })) })"
    browser.run(f"{choose}(document.getElementById('who'))")
    assert browser.run("player.agent") == 1
    assert [step.action for step in replay_of(browser).steps] == [
        *(f"{ann} MOVE_FORWARD", f"{bob} MOVE_FORWARD", f"{ann} MOVE_FORWARD"),
        f"{bob} TURN_LEFT",
    ]
    assert Session.from_replay(replay_of(browser), level).difference is None


def test_a_partner_works_along_on_a_page_as_in_the_window(browser: Browser, tmp_path: Path):
    level = Scenario.load("kitchen")
    browser.open(write_page(tmp_path, level))
    keys = "Left", "Left", "Space", "Right", "Right", "Up", "Space", "Left"
    browser.press(*(CODES[key] for key in keys))
    replay, game = replay_of(browser), Session(level, 0)
    assert Session.from_replay(replay, level).difference is None
    game.join_partner()
    take(game, *(step.action.split()[1] for step in replay.steps))
    assert [step.action for step in game.replay().steps] == [step.action for step in replay.steps]
    browser.press("KeyW", CODES["Left"])
    last = [step.action for step in replay_of(browser).steps[-2:]]
    assert last == ["agent_2 MOVE_FORWARD", "agent_1 MOVE_LEFT"]


def test_arrows_go_where_they_point_in_a_level_whose_view_does_not_turn(
    browser: Browser, tmp_path: Path
):
    level = Scenario.load("kitchen-garden")
    browser.open(write_page(tmp_path, level))
    browser.press("ArrowLeft", "ArrowDown", "ArrowRight", "ArrowUp")
    agent = level.agent_group.names[0]
    moves = "MOVE_LEFT", "MOVE_BACKWARD", "MOVE_RIGHT", "MOVE_FORWARD"
    own = [step.action.partition(" | ")[0] for step in replay_of(browser).steps]  # beside a partner
    assert own == [f"{agent} {move}" for move in moves]


def test_fog_hides_what_was_never_seen_from_texts_too(browser: Browser, tmp_path: Path):
    level = Scenario.load("fog")
    browser.open(write_page(tmp_path, level))
    hidden = "player.shown.top.filter(([kind]) => kind === HIDDEN).length"
    assert browser.run(hidden) > 100
    browser.press("ArrowUp")  # one step aside, as elsewhere
    assert [step.action for step in replay_of(browser).steps] == ["MOVE_RIGHT"]
    label = "document.getElementById('state').getAttribute('aria-label')"
    browser.run("player.shown.top.fill([HIDDEN, 0, 0])")
    browser.run("document.getElementById('state').setAttribute('aria-label', player.describe())")
    assert "ahead: hidden" in browser.run(label).lower()


def test_a_large_level_is_whole_on_a_phone(browser: Browser, tmp_path: Path):
    level = Scenario.load("MiniGrid-MultiRoom-N6-v0")
    browser.open(write_page(tmp_path, level), size=SIZES["small"])
    browser.wait(
        "!player.willDraw && (c => c.width === c.height)(document.getElementById('state'))"
    )
    width, height = browser.run("(c => [c.width, c.height])(document.getElementById('state'))")
    assert width == height >= 25 * 8


def test_an_address_without_level_or_seed_is_refused(browser: Browser, tmp_path: Path):
    levels = [Scenario.load("sokoban#2"), Scenario.load("sokoban#3")]
    browser.open(write_page(tmp_path, *levels), "#level=3")
    assert browser.run("player.level.name") == "sokoban-3"
    browser.run("location.hash = 'level=99&seed=-1'")
    browser.wait("document.getElementById('message').textContent")
    assert browser.text("message") == (
        "The address asks for level 99, and this page has 2, 3. "
        "The address asks for seed -1: a seed is a whole number from 0 on."
    )
    assert browser.run("player.level.name") == "sokoban-2"


def test_a_policy_is_watched_stepped_and_taken_over(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    drawn(Path("run"), memory=True)
    level = Scenario.load("keydoor-5x5")
    browser.open(write_page(tmp_path, level, policy="run"))
    shares = "[...document.querySelectorAll('#actions button')].map(b => b.dataset.share)"
    assert sum(int(share.split()[0]) for share in browser.run(shares)) in range(95, 106)
    assert any(re.fullmatch(r"Use what is ahead, \d+ %", name) for _, name in browser.names())
    browser.press("Semicolon", "Semicolon")
    assert browser.run("player.game.position") == 2
    browser.run("document.getElementById('watch').click()")
    browser.wait("player.game.position >= 4")
    browser.press("KeyQ")
    assert not browser.run("player.isRunning")
    taken = browser.run("player.game.position")
    assert replay_of(browser).steps[-1].action == "TURN_LEFT"
    game = Session.from_replay(replay_of(browser), level)
    assert (game.difference, game.length) == (None, taken)
    player = PolicyAutoplayer(game, "run")
    browser.press("Semicolon")
    assert replay_of(browser).steps[-1].action == player.choose(game).action
    assert not browser.errors


def test_worlds_of_a_wall_are_watched_paused_and_opened(browser: Browser, tmp_path: Path):
    level = Scenario.load("keydoor-5x5")
    browser.open(write_page(tmp_path, level, policy="valid"), "#seed=100")
    browser.press("KeyB")
    browser.wait("player.wall.steps > 256")
    browser.press("Space")
    steps = browser.run("player.wall.steps")
    assert "256 worlds" in browser.text("fared")
    browser.press("ArrowRight")
    assert 0 <= browser.run("player.wall.steps") - steps <= 256
    browser.press("KeyD", "KeyS")
    chosen = browser.run("player.wall.chosen")
    assert chosen == 1 + browser.run("player.wall.across")
    browser.press("Enter")
    browser.wait("!player.isWalled")
    assert browser.run("String(player.game.seed)") == str(100 + chosen)
    assert browser.run("player.game.position") > 0
    assert Session.from_replay(replay_of(browser), level).difference is None
    browser.press("KeyB")
    box = browser.run("(r => [r.right - 9, r.top + 9])(wall.getBoundingClientRect())")
    for kind in ("mousePressed", "mouseReleased"):
        where = {"x": box[0], "y": box[1], "button": "left", "clickCount": 1}
        browser.call("Input.dispatchMouseEvent", type=kind, **where)
    browser.wait("!player.isWalled")
    assert browser.run("Number(player.game.seed) - 100 + 1") == browser.run("player.wall.across")
    assert not browser.errors


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
        "(s => { s.value = '123'; s.dispatchEvent(new Event('change', { bubbles: true })) })"
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


INJECTIONS = {
    "script": "Object.assign(document.createElement('script'), {text: 'hasRun = true'})",
    "button": "Object.assign(document.createElement('p'), {innerHTML: '<img src=x onerror=\"hasRun"
    " = true\">'})",
    "style": "Object.assign(document.createElement('style'), {textContent: 'body {opacity: 0}'})",
}


def test_nothing_runs_or_is_loaded_that_is_not_of_the_page(browser: Browser, tmp_path: Path):
    browser.open(write_page(tmp_path, Scenario.load("keydoor-5x5")))
    browser.run(
        "window.refused = []; document.addEventListener('securitypolicyviolation', "
        "event => refused.push(event.effectiveDirective))"
    )
    for element in INJECTIONS.values():
        browser.run(f"document.body.append({element})")
    browser.run("fetch('https://example.org').catch(() => 0)")
    browser.run("try { eval('1') } catch {}")
    expected = ["connect-src", "img-src", "script-src-elem", "style-src-elem"]
    browser.wait(f"{expected}.every(each => refused.includes(each))")
    assert not browser.run("window.hasRun")
    assert browser.run("getComputedStyle(document.body).opacity") == "1"


def test_a_notebook_shows_a_page_in_its_frame(browser: Browser, tmp_path: Path):
    file = tmp_path / "notebook.html"
    file.write_text(f"<body>{PlayableLevel('keydoor-5x5')._repr_html_()}", encoding="utf-8")
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url=file.as_uri())
    browser.wait("document.querySelector('iframe').contentWindow.player")
    assert not browser.errors


def test_a_damaged_page_says_so(browser: Browser, tmp_path: Path):
    file = write_page(tmp_path, Scenario.load("keydoor-5x5"))
    page = file.read_text(encoding="utf-8")
    file.write_text(page.replace('"seed": "0"', '"seed": "1"', 1), encoding="utf-8")
    browser.open(file)
    assert browser.text("failure") == "This page is damaged: its checksum does not fit the rest."
    other = page.replace(f'PAGE_FORMAT = "{FORMAT}"', 'PAGE_FORMAT = ""')
    file.write_text(re.sub("<meta http-equiv[^>]*>", "", other), "utf-8")  # it names the scripts
    browser.open(file)
    assert browser.text("failure").startswith("This page is of another version of GV Engine")


def test_a_page_shows_no_error_while_it_loads_and_one_if_it_is_cut_off(
    browser: Browser, tmp_path: Path
):
    file = write_page(tmp_path, Scenario.load("keydoor-5x5"))
    page = file.read_text(encoding="utf-8")
    shown = "[document.body.innerText.includes('not complete'), message.textContent]"
    watched = page.replace("<script>", f"<script>window.seen = () => {shown};", 1)
    watched = watched.replace(
        "async function main() {", "async function main() { window.first = seen();"
    )
    file.write_text(re.sub("<meta http-equiv[^>]*>", "", watched), "utf-8")
    browser.open(file)
    assert browser.run("first") == [False, "Loading …"]
    assert browser.run("seen()[0]") is False
    assert browser.text("message") != "Loading …"
    file.write_text(page[: page.index("async function main()")], "utf-8")
    browser.open(file, until="document.readyState == 'complete'")
    assert browser.run("document.body.innerText").strip().startswith("This page is not complete")


def test_screen_readers_find_level_actions_and_what_is_ahead(browser: Browser, tmp_path: Path):
    browser.open(write_page(tmp_path, Scenario.load("keydoor-5x5")))
    names = browser.names()
    assert {("button", "Undo"), ("button", "Use what is ahead"), ("textbox", "Seed")} <= names
    (state,) = (name for role, name in names if name.startswith("Agent at row"))
    assert re.fullmatch(
        r"Agent at row [0-4], column [0-4] of 5 × 5 cells, facing \w+; ahead: .+", state
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("name", "embedded"),
    [("keydoor-9x9", False), ("keydoor-9x9", True), ("tutorial", False), ("crafter", False)],
)
def test_a_page_fits(name: str, size: str, embedded: bool, browser: Browser, tmp_path: Path):
    numbers = range(1, 7) if name == "tutorial" else ()
    levels = [Scenario.load(f"{name}#{k}") for k in numbers] or [Scenario.load(name)]
    browser.open(
        write_page(tmp_path, *levels, style=PageStyle(embedded=embedded)), size=SIZES[size]
    )
    width, height = SIZES[size]
    browser.wait("!player.willDraw && [...player.sprites.images.values()].every(i => i)")
    if folder := os.environ.get("GV_ENGINE_SCREENS"):
        browser.picture(Path(folder, f"page-{name}-{size}{'-embedded' * embedded}.png"))
    shown = "h1, #mission, #state, #panel, #steps, #actions, #time, #time > *"
    boxes = browser.run(
        f"[...document.querySelectorAll('{shown}')].map(e => e.getBoundingClientRect())"
        ".filter(r => r.width).map(r => [r.left, r.top, r.right, r.bottom])"
    )
    assert len(boxes) == (11 if embedded else 12)
    assert all(left >= 0 and right <= width for left, _, right, _ in boxes)
    assert browser.run("document.documentElement.scrollWidth") <= width
    # a phone of 320 × 568 has no room for twenty actions
    if (name, size) != ("crafter", "small"):
        assert all(top >= 0 and bottom <= height for _, top, _, bottom in boxes)
    sides = browser.run("(r => [r.width, r.height])(state.getBoundingClientRect())")
    assert max(sides) >= 0.6 * min(width, height)
    assert not browser.run("document.getElementById('observation').clientWidth")


# ---- one board, and a win ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["keydoor-9x9", "fog", "hold-plates", "kitchen-garden", "sokoban#1", "2048"]
)
def test_a_page_steers_as_the_window(name: str, browser: Browser, tmp_path: Path):
    """Arrows, actions on what is ahead, and undo: the same steps, and the agent drawn alike."""
    level, rng = Scenario.load(name), np.random.default_rng(5)
    browser.open(write_page(tmp_path, level))
    browser.run("document.getElementById('partner').checked = false")  # as in the game here
    game = Session(level, 0)
    stage = GridStage(game, DARK)
    stage.steers, stage.view = True, browser.run("player.view")
    known = [command.name for command in stage.steering]
    known += [name for name in ("ACTUATE", "PICK_N_DROP", "INTERACT") if name in game.actions]
    for command in rng.choice([*known, *known, "undo"], 150):
        if game.outcome:
            break
        browser.run(f"player.command({str(command)!r})")
        for action in stage.actions(command) if command != "undo" else ():
            before = game.frame()
            game.step(action)
            stage.begin(before, game.frame())
        if command == "undo":
            game.undo()
            stage.begin(None, game.frame())
        found = browser.run("[player.game.position, player.drawnPose]")
        y, x, _ = game.frame().agent
        assert found == [game.position, [y, x, stage._steering.facing]], command
    steps = browser.run("player.game.steps.slice(0, player.game.position).map((s) => s[0])")
    assert steps == [step.action for step in game.replay().steps]
    assert game.position > 10
    assert not browser.errors


def test_a_page_shows_the_views_of_the_window(browser: Browser, tmp_path: Path):
    levels = [Scenario.load(name) for name in ("keydoor-5x5", "fog", "MiniGrid-DoorKey-5x5-v0")]
    browser.open(write_page(tmp_path, *levels))
    for number, level in enumerate(levels):
        browser.run(f"player.open({number})")
        views = GridStage(Session(level, 0), DARK).player_views
        found = []
        for _ in views:
            found.append(browser.run("player.view"))
            browser.press("KeyV")
        assert (tuple(found), browser.run("player.view")) == (views, views[0])
        assert browser.run("player.steers") == Settings().steers(level)
    browser.run("player.open(0)")
    hidden = "document.querySelector('#terms').checkVisibility()"
    assert not browser.run(hidden)
    browser.press("Shift+KeyV", "ArrowRight")
    assert browser.run(hidden)
    assert "Living reward" in browser.text("terms")
    browser.open(write_page(tmp_path, *levels))
    assert browser.run("player.isResearch")  # it is remembered
    browser.press("Shift+KeyV")
    assert not browser.run("player.isResearch")


def test_a_win_is_shown_on_the_board_with_medals_and_a_key_to_the_next_level(
    browser: Browser, tmp_path: Path
):
    levels = [Scenario.load("tutorial#1"), Scenario.load("tutorial#2")]
    browser.open(write_page(tmp_path, *levels))
    browser.run("localStorage.clear()")
    assert (browser.text("title"), browser.text("place")) == ("Go ahead", "· Tutorial, 1 of 6")
    browser.press("ArrowRight", "KeyZ", *["ArrowRight"] * 4)
    assert browser.text("result") == "Solved!"
    assert browser.text("score") == "4 steps · par 4 · your best 4"
    medals = "[...document.querySelectorAll('#medals li')].map((e) => e.className)"
    assert browser.run(medals) == ["solved", "par", "missing"]  # a step was undone
    assert browser.run("[player.shown.won, player.shown.ended]") == [True, 1]
    dark = (
        "state.getContext('2d').getImageData(3, 3, 1, 1).data.slice(0, 3).reduce((a, b) => a + b)"
    )
    browser.wait("!player.motion && !player.willDraw")
    after = browser.run(dark)
    browser.press("KeyZ")
    browser.wait("!player.willDraw")
    assert not browser.run("document.getElementById('end').checkVisibility()")
    assert browser.run(dark) > after
    browser.press("ArrowRight", "Enter")
    browser.wait("player.number === 1")
    assert browser.text("title") == find_heading(levels[1])[0]
    assert not browser.errors


def test_the_last_level_of_a_pack_leads_to_one_that_is_not_solved(browser: Browser, tmp_path: Path):
    levels = [Scenario.load("tutorial#2"), Scenario.load("tutorial#1")]
    browser.open(write_page(tmp_path, *levels), "#level=1")
    browser.run("localStorage.clear()")
    browser.press(*["ArrowRight"] * 4)
    assert browser.text("score").endswith("1 of 2 levels solved")
    assert browser.run("document.querySelector('#choices button').firstChild.data") == "Level 2"
    browser.run("document.querySelector('#choices button').click()")
    browser.wait("player.number === 0")
    assert not browser.errors


def test_a_map_shows_the_levels_and_a_held_key_is_a_picture(browser: Browser, tmp_path: Path):
    levels = [Scenario.load(f"tutorial#{number}") for number in (1, 3, 6)]
    browser.open(write_page(tmp_path, *levels))
    browser.run("localStorage.clear()")
    browser.press(*["ArrowRight"] * 4, "KeyM")
    is_drawn = (
        "(canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height)"
        ".data.some(Boolean)"
    )
    browser.wait(f"[...document.querySelectorAll('#map canvas')].every({is_drawn})")
    entries = browser.run("[...document.querySelectorAll('#map button')].map((e) => e.innerText)")
    assert [entry.split("\n")[0][:6] for entry in entries] == ["1. Go ", "3. Key", "6. Fog"]
    assert ["✓ ★ ①" in entry for entry in entries] == [True, False, False]
    looks = "Promise.all([0, 1, 2].map(async (k) => (await player.firstPicture(k)).top))"
    hidden = [sum(look[0] == HIDDEN for look in grid) for grid in browser.run(looks)]
    assert [count > 0 for count in hidden] == [False, False, True]
    browser.press("ArrowRight", "KeyM")  # the first key is no step, the second closes the map
    assert browser.run("[player.game.position, document.getElementById('map').open]") == [4, False]
    browser.press("KeyM")
    browser.run("document.querySelectorAll('#map button')[1].click()")
    browser.wait("player.number === 1 && !document.getElementById('map').open")
    assert not browser.run("document.getElementById('held').checkVisibility()")
    browser.press("ArrowDown", "ArrowRight", "KeyP")
    assert browser.text("item-name") == "yellow key"
    browser.wait(f"({is_drawn})(document.getElementById('item'))")
    assert browser.run("document.getElementById('held').checkVisibility()")
    assert not browser.errors


def test_a_loss_offers_to_try_again(browser: Browser, tmp_path: Path):
    level = Scenario.load({"extends": "keydoor-5x5", "max_steps": 1})
    browser.open(write_page(tmp_path, level))
    browser.press("ArrowRight")
    assert browser.run("document.querySelector('#choices button').firstChild.data") == "Try again"
    assert browser.run("document.getElementById('end').className") == "lost"
    seed = browser.run("String(player.game.seed)")
    browser.press("Enter")
    browser.wait("!player.world.isOver")
    assert browser.run("[player.game.position, String(player.game.seed)]") == [0, seed]
    assert not browser.errors


def test_nothing_moves_for_those_who_prefer_that(browser: Browser, tmp_path: Path):
    reduced = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.call("Emulation.setEmulatedMedia", features=[reduced])
    browser.open(write_page(tmp_path, Scenario.load("tutorial#1")))
    for _ in range(4):
        browser.press("ArrowRight")
        assert browser.run("player.motion") is None
    assert browser.run("document.getElementById('end').getAnimations().length") == 0
    browser.call("Emulation.setEmulatedMedia", features=[])
    browser.press("KeyZ", "ArrowRight")
    assert browser.run("document.getElementById('end').getAnimations().length") == 1


def test_sounds_are_off_until_asked_for_and_have_captions(browser: Browser, tmp_path: Path):
    browser.open(write_page(tmp_path, Scenario.load("keydoor-5x5")))
    browser.run("localStorage.clear()")
    browser.open(write_page(tmp_path, Scenario.load("keydoor-5x5")))
    browser.press("ArrowUp", "ArrowRight")
    assert browser.run("playTone.audio === undefined")
    assert browser.run("document.getElementById('caption').hidden")
    browser.run("document.getElementById('captions').click()")
    browser.press(*["ArrowUp"] * 4)
    assert browser.text("caption") == "[thud]"
    assert browser.run("playTone.audio === undefined")
    browser.run("document.getElementById('sound').click()")
    browser.press("ArrowUp")
    assert browser.run("playTone.audio !== undefined")


def test_an_index_shows_titles_and_pictures(browser: Browser, tmp_path: Path):
    names = "tutorial", "keydoor-5x5", "hold-plates"
    assert main(["export", *names, "--site", str(tmp_path)]) == 0
    for size in ("phone", "tablet", "laptop"):
        browser.open(tmp_path / "index.html", size=SIZES[size], until="document.images.length")
        browser.wait("[...document.images].every((image) => image.complete)")
        assert browser.run("[...document.images].every((image) => image.naturalWidth > 100)")
        titles = browser.run("[...document.querySelectorAll('b')].map((e) => e.textContent)")
        assert titles == ["Tutorial", "Key and door 5×5", "Hold plates"]
        assert browser.run("document.documentElement.scrollWidth") <= SIZES[size][0]
    browser.open(tmp_path / "tutorial.html")
    browser.run("document.getElementById('index').click()")
    browser.wait("document.images.length")
