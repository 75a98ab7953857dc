"""Unsaved work that is written while the window is open, and offered by the next window."""

import os
import time
from pathlib import Path

import pytest

from gv_engine.play.session.replay import SUFFIX
from gv_engine.play.ui import autosave
from gv_engine.play.ui.autosave import UnsavedEdits, autosave_folder, find_autosaves
from gv_engine.play.ui.screens.edit import EditScreen
from gv_engine.play.ui.screens.menu import AutosaveMenu
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.start import StartScreen
from tests.desk import Desk, labels, playing

pytestmark = pytest.mark.window

PAINT = ("Down", "Right", "Right", "Space")
"""Keys that paint the cell (1, 2)."""


def save(desk: Desk, now: float) -> float | None:
    """Let the window at the desk save what has changed, and wait for the disk."""
    due = desk.app.autosave(now)
    if thread := desk.app._autosaves._thread:
        thread.join()
    return due


def die(desk: Desk) -> Desk:
    """Let the window vanish without a word, as if killed, and return the next one."""
    desk.app._autosaves._folder_lock.close()  # as the system does for a dead process
    desk.app.screens.clear()
    desk.app._autosaves = autosave.AutosaveWriter()
    return Desk()


def test_edits_and_games_of_a_killed_window_are_offered_and_continued(desk: Desk, tmp_path: Path):
    playing(desk, seed=3)
    desk.press("Right")
    file = tmp_path / "cave.yaml"
    desk.app.edit_new_level("keydoor")
    desk.top(EditScreen).write(file)
    desk.press(*PAINT)
    text = desk.top(EditScreen).draft.buffer.text
    assert text != file.read_text("utf-8")
    assert save(desk, 0.0) is None
    assert find_autosaves() == []  # its window is open

    after = die(desk)
    after.start()
    after.app.offer_autosaves()
    after.draw()
    menu = after.top(AutosaveMenu)
    assert {*labels(menu)} == {
        *("Go on editing: cave.yaml", "Go on playing: empty-4x4"),
        *("Decide at the next start", "Discard all"),
    }
    after.choose("Go on editing: cave.yaml")
    screen = after.top(EditScreen)
    assert (screen.draft.buffer.text, screen.draft.buffer.file) == (text, file)
    after.press("Z")
    assert screen.draft.buffer.text == file.read_text("utf-8")
    after.press("Y")
    screen.leave()
    after.choose("Go on playing: empty-4x4")
    game = after.top(PlayScreen).game
    assert (game.seed, game.position) == (3, 1)
    after.app.pop()
    after.top(StartScreen)  # there is nothing left to ask
    after.app.quit()
    assert not [*autosave_folder().rglob("*.*")]


def test_later_and_discard(desk: Desk):
    desk.app.edit_new_level("room")
    desk.press(*PAINT)
    save(desk, 0.0)
    after = die(desk)
    for keys in (["Escape"], ["End", "Return"]):
        after.start()
        after.app.offer_autosaves()
        assert "a new level" in after.top(AutosaveMenu).text_above
        after.press(*keys)
        after.top(StartScreen)
    after.app.offer_autosaves()
    after.top(StartScreen)
    assert not [*autosave_folder().iterdir()]
    after.app.quit()


def test_saving_waits_for_a_change_and_two_seconds(desk: Desk):
    screen = playing(desk)
    assert save(desk, 0.0) is None
    assert not autosave_folder().exists()  # nothing was done
    screen.take_action("TURN_LEFT")
    assert save(desk, 5.0) is None
    (file,) = autosave_folder().rglob(f"*{SUFFIX}")
    first = file.read_bytes()
    screen.take_action("TURN_LEFT")
    assert save(desk, 5.5) == pytest.approx(autosave.SAVE_INTERVAL - 0.5)
    assert file.read_bytes() == first
    assert save(desk, 5.0 + autosave.SAVE_INTERVAL) is None
    assert file.read_bytes() != first
    assert save(desk, 9.0) is None
    desk.app.pop()  # the game is saved as unfinished
    save(desk, 20.0)
    assert not file.exists()


def test_what_cannot_be_written_or_read_is_said(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    screen = playing(desk)
    screen.take_action("TURN_LEFT")
    autosave_folder().parent.mkdir(parents=True)
    autosave_folder().write_text("no folder")
    save(desk, 0.0)
    desk.app.autosave(9.0)
    assert desk.app._note.startswith("Unsaved work is not kept: ")
    assert "Unsaved work is not kept" in capsys.readouterr().err
    autosave_folder().unlink()
    lost = autosave_folder() / "other"
    lost.mkdir(parents=True)
    (lost / "0.yaml").write_text("map: '#'\n")
    os.utime(lost / "0.yaml", (time.time(), 0))
    desk.app.offer_autosaves()
    menu = desk.top(AutosaveMenu)
    assert "cannot be read: its last line does not name the edited file" in menu.text_above
    assert labels(menu) == ["Decide at the next start", "Discard"]


@pytest.mark.parametrize("text", ["", "a: 1\n", "# unsaved edits of {}\n", "ä\r\nb"])
def test_edits_are_read_as_they_were_written(text: str, tmp_path: Path):
    edits = UnsavedEdits(text, "/tmp/a b#ü.yaml", "9x9")
    edits.save(tmp_path / "0.yaml")
    assert UnsavedEdits.from_bytes((tmp_path / "0.yaml").read_bytes()) == edits


def test_old_empty_folders_go(desk: Desk):
    old, new = autosave_folder() / "old", autosave_folder() / "new"
    for folder in (old, new):
        folder.mkdir(parents=True)
        (folder / "lock").touch()
    os.utime(old, (0, 0))
    assert find_autosaves() == []
    assert [*autosave_folder().iterdir()] == [new]
