"""Play in a terminal: bytes in, letters out, and a terminal that is as it was before."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.input.bindings import GROUPS, Bindings
from gv_engine.play.ui.settings import Settings
from gv_engine.play.ui.terminal.play import _COMMANDS, LevelPicker, TerminalGame
from gv_engine.play.ui.terminal.tty import Keys
from tests import ROOT
from tests.boards import RULES
from tests.desk import home
from tests.screen import PATIENCE

# ---- keys ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (b"wW \r", ["W", "Shift+W", "Space", "Return"]),
        (b"\x1b[A\x1bOB\x1b[1;2D\x1b[1;5C", ["Up", "Down", "Shift+Left", "Ctrl+Right"]),
        (b"\x1b[5~\x1b[15~\x1b[3;5~\x1b[Z", ["PageUp", "F5", "Ctrl+Delete", "Shift+Tab"]),
        (b"\x1bOP\x1b[[B\x1b[1;2P\x1b[24~", ["F1", "F2", "Shift+F1", "F12"]),
        (b"\x1a\x13\x7f\t", ["Ctrl+Z", "Ctrl+S", "Backspace", "Tab"]),
        (b"?/+=1!", ["Shift+Slash", "Slash", "Shift+Equals", "Equals", "1", "Shift+1"]),
        (b"\x1bx\x1b\x1b[A", ["Alt+X", "Escape", "Up"]),
        ("é\N{SNOWMAN}w".encode(), ["W"]),
        (b"\x1b[99~\x1b[?1;2c\xff\xfew\x1b[200;1;3~w", ["W", "W"]),
    ],
)
def test_keys_have_the_names_of_bindings(data: bytes, names: list[str]):
    found: list[str] = Keys().feed(data)
    assert found == names
    # in pieces, as over a slow line
    keys, pieces = Keys(), []
    for number in range(len(data)):
        pieces += keys.feed(data[number : number + 1])
    assert pieces == found


def test_escape_is_a_key_when_nothing_follows():
    keys = Keys()
    assert (keys.feed(b"w\x1b"), keys.is_waiting) == (["W"], True)
    assert (keys.flush(), keys.is_waiting) == (["Escape"], False)
    assert keys.feed(b"\x1b[") == []
    assert keys.flush() == ["Escape", "LeftBracket"]


# ---- the screen ------------------------------------------------------------------------------


def screen(name: str = "keydoor-5x5", seed: int = 200, **settings: object) -> TerminalGame:
    made = Settings(**{"arrow_keys": "turn", **settings})  # type: ignore[arg-type]
    return TerminalGame(Session(Scenario.load(name), seed), made, Bindings())


def press(terminal: TerminalGame | LevelPicker, *keys: str) -> None:
    for key in keys:
        terminal.press(key)


def said(
    terminal: TerminalGame | LevelPicker, *keys: str, width: int = 80, height: int = 24
) -> str:
    """What stands on the screen once keys were pressed."""
    press(terminal, *keys)
    lines = terminal.lines(width, height)
    assert len(lines) == height
    assert max(map(len, lines)) <= width
    return "\n".join(line.plain.rstrip() for line in lines)


def test_state_observation_and_panel_stand_side_by_side_and_what_is_not_there_is_said():
    terminal = screen()
    assert "small" in said(terminal, width=40, height=10).splitlines()[-1]
    text = said(terminal)
    assert "small" not in text.splitlines()[-1]
    assert "Key and door 5×5" in text
    assert "seed 200, step 0 of 500" in text
    assert "Find the key, open the door, reach the exit." in text
    assert re.search(r"##.*Dy.*##", text), "a thing and its colour"
    assert "Dy locked yellow door" in text
    for view in ("observation", "explored", "both", "state"):
        assert ("?" in said(terminal, "V")) == (view != "state")
    assert "Only in the window: rules of this level" in said(terminal, "F3", width=140)
    assert "Only in the window" not in said(terminal, "Left", width=140)


@pytest.mark.sample("1-1", "30-12", "300-100")
@pytest.mark.parametrize(
    ("width", "height"), [(1, 1), (10, 5), (30, 12), (50, 20), (80, 24), (300, 100)]
)
def test_it_fits_any_terminal(width: int, height: int):
    for key in ("Left", "H", "G", "Escape"):
        said(screen("memory-nine-rooms-13x13", 0), key, width=width, height=height)
    levels = picker()
    for key in ("End", "PageUp", "Down", "Z", "Z", "Z", "Z"):
        said(levels, key, width=width, height=height)


def test_keys_play():
    terminal = screen("empty-4x4", 1)
    text = said(terminal, "Left")
    assert "turn left -0.05" in text
    assert "living reward -0.05" in text
    assert "Pick up or drop: not in this level" in said(terminal, "P")
    assert "step 0 of 500 (1 undone)" in said(terminal, "Ctrl+Z")
    assert "seed 2" in said(terminal, "N")
    assert "Which seed? 73_" in said(terminal, "G", "7", "A", "8", "Backspace", "3")
    assert "seed 73" in said(terminal, "Return")
    text = said(terminal, "G", "Minus", "5", "Return", width=140)
    assert "seed 73," in text
    assert "Seeds are whole numbers from 0 on, such as 7, not -5" in text
    for keys, left in ((["Escape", "Left"], False), (["Escape", "Escape"], True)):
        press(terminal, *keys)
        assert terminal.left == left


def test_one_key_ends_no_game():
    terminal = screen("empty-4x4", 1)
    assert "Empty 8×8" in said(terminal, "Left", "R", "Left", "L", "Left")
    text = said(terminal, "Z", "Z")
    assert "Empty 4×4" in text
    assert "step 1 of 500" in text
    assert "Back to the game before" in text
    assert "seed 0" in said(terminal, "Shift+N")


LINE = {
    **RULES,
    "map": ">E",
    "transition_functions": ["move_agent"],
    "reward_functions": ["reach_exit"],
    "success_function": "reach_exit",
}


def test_a_solved_level_says_so():
    terminal = TerminalGame(
        Session(Scenario.load(LINE), 0), Settings(arrow_keys="turn"), Bindings()
    )
    text = said(terminal, "Up")
    assert "Well done!" in text
    assert "Enter: next level" in text
    terminal.press("Return")
    assert terminal.game.seed == 1


def test_a_puzzle_has_its_names_texts_par_and_medals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    home(tmp_path, monkeypatch)
    terminal = screen("tutorial#1", 0)
    text = said(terminal, width=100)
    assert "Go ahead" in text
    assert "Tutorial, 1 of 6" in text
    assert "par 4" in text
    assert "Walk to the bright arch" in text
    for hidden in ("seed", "return", "reward"):
        assert hidden not in text
    assert "seed 0" in said(screen("tutorial#1", 0, research=True), width=100)
    text = said(terminal, "Up", "Up", "Up", "Up", width=100)
    assert "Solved!" in text
    assert "4 steps · par 4 · your best 4" in text
    assert "Done, Par, First try" in text
    second = screen("tutorial#2", 0, arrow_keys="point")
    said(second, "Up", "Z")  # taken back: no first try
    text = said(second, width=100)
    assert "go where they point." in text
    assert "{TURN_LEFT}" not in text
    assert "click" not in text  # the terminal has no mouse
    marked = second._progress.marks
    assert any(mark.startswith("tried_") for mark in marked)
    shown = said(picker(), *"GO", "Space", *"AHEAD", width=100)
    assert "tutorial-1 Go ahead" in shown
    assert "par 4 · your best 4 · Done, Par, First try" in shown


@pytest.mark.compiled
def test_hints_come_in_three_strengths():
    terminal = screen("tutorial#1", 0)

    def hint() -> str:
        text, end = said(terminal, "F4", width=120), time.monotonic() + PATIENCE
        while "Looking for" in text:  # in another process
            assert time.monotonic() < end
            time.sleep(0.2)
            terminal.tick(time.monotonic())
            text = said(terminal, width=120)
        return text

    assert "It can be won from here in 4 steps." in hint()
    assert "Next: the " in hint()
    assert marked(terminal, DARK.gain) == ["E "]
    assert "Hint: move forward; 4 steps to go" in hint()
    assert "Hint: " not in said(terminal, "Up", width=120)
    assert re.search(r"F4 +hint", said(terminal, "H", width=120, height=40))


def marked(terminal: TerminalGame, ground: str) -> list[str]:
    """What stands on a ground of this colour, by span."""
    spans = [(line, span) for line in terminal.lines(120, 40) for span in line.spans]
    marked = [pair for pair in spans if str(pair[1].style).endswith(f" on {ground}")]
    return [line.plain[span.start : span.end] for line, span in marked]


def test_what_guards_watch_is_marked():
    terminal = screen("patrol", 0)
    watched = {cell for cells in terminal.game.frame().watched.values() for cell in cells}
    assert len("".join(marked(terminal, DARK.loss))) >= 2 * len(watched)


def test_levels_of_a_pack_are_locked_until_those_before_are_solved():
    levels = picker()
    text = said(levels, *"TUTORIAL", width=100, height=40)
    rows = [row for row in text.splitlines() if row.lstrip().startswith("tutorial-")]
    assert ["Locked" in row for row in rows[:5]] == [False] * 3 + [True] * 2
    press(levels, *["Down"] * 4, "Return")
    assert not levels.left
    assert "Solve one more of the open levels first; Enter again plays it now" in said(levels)
    press(levels, "Return")
    assert levels.game is not None
    levels.reset()
    press(levels, "Up", "Up", "Return")
    assert levels.game is not None


def test_numbers_with_limits_have_bars():
    text = said(screen("crafter", 0), width=140, height=40)
    assert "health [#########] 9" in text
    assert "wood 0, stone 0" in text
    assert "iron sword 0" in " ".join(text.split())


def test_the_help_has_every_key_that_does_something():
    terminal = screen()
    text = said(terminal, "H")
    commands = [each for name in ("grid", "play", "view", "window") for each in GROUPS[name]]
    told = [each.description for each in commands if each.name in terminal.game.actions]
    assert all(each in text for each in told)
    assert set(_COMMANDS) <= {each.name for each in commands}


def test_actions_of_a_level_have_their_keys_and_words():
    kick = {"name": "KICK", "key": "k", "says": "kick the ball"}
    level = {**LINE, "action_space": ["MOVE_FORWARD", "NOOP", kick]}
    terminal = TerminalGame(Session(Scenario.load(level), 0), Settings(), Bindings())
    assert "kick 0" in said(terminal, "K")
    assert terminal.game.frame().action == "KICK"
    terminal.press("Period")
    assert terminal.game.frame().action == "NOOP"
    text = said(terminal, "H")
    assert re.search(r"K +kick the ball", text)
    assert "pick up what is ahead" not in text


def test_time_runs_if_it_is_asked_to():
    """At a speed of its own: that of replays is 60 here."""
    terminal = screen("dynamic-obstacles-7x7", 1, speed=60)
    now = time.monotonic() + 100
    terminal.tick(now)
    assert terminal.game.length == 0
    assert "time runs: 4 steps a second" in said(terminal, "T")
    terminal.tick(now)
    terminal.tick(now + 0.1)
    assert terminal.game.length == 1
    assert terminal.wait_seconds(now + 0.1) == pytest.approx(0.15)
    terminal.tick(now + 0.25)
    assert terminal.game.length == 2


def test_replays_are_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gv_engine.play.ui.settings.replay_folder", lambda: tmp_path / "replays")
    terminal = screen()
    text = said(terminal, "Left", "Ctrl+S", width=200)
    (file,) = (tmp_path / "replays").iterdir()
    assert Replay.load(file) == terminal.game.replay()
    assert file.name in text.replace("\n", "")
    monkeypatch.setattr("gv_engine.play.ui.settings.replay_folder", lambda: file)
    assert "exists" in said(terminal, "Ctrl+S")


def test_an_edited_scenario_is_loaded_again(tmp_path: Path):
    file = tmp_path / "line.yaml"
    file.write_text(yaml.safe_dump({**LINE, "map": ">.E"}))
    terminal = screen(str(file), 0)
    file.write_text(file.read_text() + "\nmax_stps: 3\n")
    terminal.check_files()
    assert "max_stps" in said(terminal)
    file.write_text(file.read_text().replace("stps", "steps"))
    terminal.check_files()
    assert "step 0 of 3" in said(terminal)


# ---- a list of levels ------------------------------------------------------------------------


def picker() -> LevelPicker:
    def begin(source: str) -> Session:
        return Session(load_playable(source), 7)

    return LevelPicker(Settings(), Bindings(), begin)


def test_a_level_is_chosen_by_typing():
    levels = picker()
    assert "type to search" in said(levels)
    text = said(levels, *"KEYDOR")
    for part in ("keydor_", "keydoor-5x5", "open the door"):
        assert part in text
    assert "empty" not in text
    press(levels, "Down", "Return")
    assert levels.left
    assert levels.game is not None
    assert (levels.game.title, levels.game.seed) == ("keydoor-7x7", 7)
    levels.reset()
    assert "key_" in said(levels, *["Backspace"] * 3)
    for left in (False, True):
        levels.press("Escape")
        assert levels.left == left


def test_a_level_that_cannot_be_played_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "broken.yaml").write_text("map: 3\n")
    monkeypatch.chdir(tmp_path)
    levels = picker()
    assert "broken.yaml:1" in said(levels, "Return", width=200)
    assert not levels.left


# ---- a real terminal -------------------------------------------------------------------------

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no terminals of this kind")


@contextmanager
def playing(
    tmp_path: Path, scenario: str = "keydoor-5x5", **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """The command in a terminal of its own: the process, and what its keys and screen hang on."""
    import pty

    keyboard, terminal = pty.openpty()
    command = [sys.executable, "-m", "gv_engine", "play", "--terminal", "--seed=200"]
    command += [scenario] * bool(scenario)
    folders = {f"XDG_{kind}_HOME": str(tmp_path / kind) for kind in ("CONFIG", "DATA", "CACHE")}
    usual = {**os.environ, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    env = {**usual, **folders, **environment}
    with subprocess.Popen(
        command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True, env=env
    ) as process:
        try:
            yield process, keyboard
        finally:
            process.kill()
            os.close(keyboard)
            os.close(terminal)


def until(keyboard: int, part: bytes) -> bytes:
    """Read the screen until it has said something."""
    seen, end = b"", time.monotonic() + PATIENCE
    while part not in seen:
        assert time.monotonic() < end, seen
        if select.select([keyboard], [], [], 1)[0]:
            seen += os.read(keyboard, 65536)
    return seen


@posix
def test_levels_are_chosen_one_after_the_other(tmp_path: Path):
    with playing(tmp_path, "") as (process, keyboard), kept(keyboard):
        assert b"38;5;" in until(keyboard, b"type to search"), "with 256 colours"
        for typed, seen in (
            (b"keydor 5\r", b"seed 200"),
            (b"\x1b[D", b"step 1"),
            (b"\x1b", b"Leave?"),
            (b"\x1b", b"keydor 5_"),
            (b"\x1b", b"type to search"),
            (b"\x1b", b"keydoor-5x5: seed 200, left"),
        ):
            os.write(keyboard, typed)
            ended = until(keyboard, seen)
        assert_restored(ended)
        assert process.wait(PATIENCE) == 0


@pytest.mark.sample("SIGTERM")
@pytest.mark.slow
@posix
@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
def test_the_terminal_is_as_before_when_a_signal_ends_the_game(
    tmp_path: Path, sent: str, code: int
):
    with playing(tmp_path, NO_COLOR="1") as (process, keyboard), kept(keyboard):
        begun = until(keyboard, b"leave")
        assert b"\x1b[?1049h" in begun, "another screen"
        assert b"38;" not in begun, "without colours"
        os.write(keyboard, b"\x1b[D")
        until(keyboard, b"step 1")
        os.killpg(process.pid, getattr(signal, sent))
        assert_restored(until(keyboard, b"keydoor-5x5: seed 200, left"))
        assert process.wait(PATIENCE) == code


@contextmanager
def kept(keyboard: int) -> Iterator[None]:
    """The terminal is in the same mode in the end."""
    import termios

    before = termios.tcgetattr(keyboard)
    yield
    assert termios.tcgetattr(keyboard) == before


def assert_restored(ended: bytes) -> None:
    """The cursor and the first screen are back."""
    assert b"\x1b[?25h" in ended
    assert b"\x1b[?1049l" in ended
    assert b"Traceback" not in ended


def test_without_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    home(tmp_path, monkeypatch)
    assert main(["play", "--terminal"]) == 2
    said = capsys.readouterr().err
    assert "input and output must not be redirected" in said
    assert said.count("\n") == 1
