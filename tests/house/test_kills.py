"""Kills the engine while it writes: what it calls whole is whole, the rest is removed or told."""

from __future__ import annotations

import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import platformdirs
import pytest

from gv_engine.cli import main as gv_engine
from gv_engine.envs.rollout import episode_folder
from gv_engine.envs.rollout.episode_folder import RolloutError
from gv_engine.play.ui.autosave import UnsavedEdits, find_autosaves
from gv_engine.play.ui.settings import SPEEDS, Settings
from gv_engine.scenario.storage.files import remove_stale_drafts
from tests import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="sends SIGKILL"),
]

_ROLLOUT = """
from gv_engine.envs.rollout import episode_folder
from gv_engine.cli import main
episode_folder._CHUNK = 50  # steps, so that it writes all the time
begin = episode_folder.EpisodeFolder.__init__
def ready(self, *arguments, **options):
    print("ready", flush=True)
    begin(self, *arguments, **options)
episode_folder.EpisodeFolder.__init__ = ready
main("rollout empty-4x4 --episodes 1000000 --max-steps 20 --num-envs 4 --out out".split())
"""
_RECORD = """
from gv_engine.cli import main
from gv_engine.play.ui.drawing import recording
begin = recording.Recorder.__init__
def ready(self, *arguments, **options):
    print("ready", flush=True)
    begin(self, *arguments, **options)
recording.Recorder.__init__ = ready
main("record dynamic-obstacles-7x7 a{suffix} --steps 40 --cell 16".split())
"""
_EXPORT = """
import pathlib
from gv_engine.play.ui.screens import replay as export
from gv_engine.play.ui.screens.replay import ReplayScreen
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.session import Session
from tests.desk import Desk
export.new_file = lambda folder, game, suffix: pathlib.Path("a" + suffix)
game = Session(load_playable("empty-8x8"), seed=1)
for _ in range(40):
    game.step("TURN_LEFT")
game.replay().save(pathlib.Path("a.gvreplay"))
desk = Desk()
desk.app.watch_replay(pathlib.Path("a.gvreplay"), None)
screen = export.ExportScreen(desk.app, desk.app.top.game)
desk.app.push(screen)
desk.app.settings.export_as, desk.app.settings.export_cell = "{suffix}", 16
screen._begin()
print("ready", flush=True)
while screen._writing is not None:
    screen.tick(0)
"""
_SETTINGS = """
import pathlib
from gv_engine.play.ui.settings import SPEEDS, Settings
print("ready", flush=True)
while True:
    for speed in SPEEDS:
        Settings(speed=speed, recent=[str(speed)] * 12).save(pathlib.Path("settings.toml"))
"""


_WINDOW = """
import time
import zlib
import platformdirs
platformdirs.user_data_dir = platformdirs.user_config_dir = lambda *_, **__: "data"
from gv_engine.play.ui import autosave
autosave.SAVE_INTERVAL /= 5
from gv_engine.play.ui.input.bindings import Bindings
from gv_engine.play.ui.settings import Settings
from gv_engine.play.ui.window.app import App
from tests.desk import key_event
log = open("log", "a", buffering=1)
keys = iter({keys} * 10_000)
def next_events(patience):
    print(time.time(), {state}, file=log)
    time.sleep(0.05)
    key = next(keys)
    return [key_event(key, True), key_event(key, False)]
app = App(Settings(), Bindings())
app._wait_for_events = next_events
def begin(app):
    {begin}
    print("ready", flush=True)
app.run(begin)
"""
_EDIT = _WINDOW.format(
    keys=["Space", "Right", "Space", "Down", "C", "RightBracket", "Left", "Z", "Up"],
    state="zlib.crc32(app.top.draft.buffer.text.encode())",
    begin="app.edit_new_level('keydoor')",
)
_PLAY = _WINDOW.format(
    keys=["Left", "Right", "Right"],
    state="len(app.top.game.replay().steps)",
    begin="app.play('empty-8x8', 0)",
)
_MOST_LOST = 2.0
"""Seconds of work that a killed window may lose, which saves five times as often as others."""


def run(program: str, folder: Path, longest: float) -> float:
    """Run a program in a folder and kill it so many seconds after it has begun; return how many it
    took."""
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "SDL_VIDEODRIVER": "dummy"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        began = time.monotonic()
        try:
            assert process.wait(longest) == 0
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return time.monotonic() - began


def check_rollout(folder: Path) -> None:
    """Check that what a rollout counts is there, and that whoever reads it or writes there again is
    told of the rest."""
    out = folder / "out"
    if not out.exists():
        return
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.chdir(folder):
        assert gv_engine(["rollout", "empty-4x4", "--episodes", "1", "--out", "out"]) in (0, 2)
    assert not list(out.glob(".*")), "a draft is left"
    try:
        arrays, about = episode_folder.read(out)
    except RolloutError:
        if (out / "rollout.json").exists():
            raise
        return
    if about["complete"]:  # it had not begun to write, and the next one had room
        return
    assert "is there already, an unfinished rollout" in said.getvalue()
    start, ends = arrays["episode_start"], arrays["terminated"] | arrays["truncated"]
    assert np.array_equal(arrays["episode_seed"], np.arange(about["episodes"]))
    assert np.array_equal(np.flatnonzero(ends) + 1, [*start[1:], about["steps"]][: len(start)])
    assert all(array.shape[0] in (about["episodes"], about["steps"]) for array in arrays.values())


def check_settings(folder: Path) -> None:
    """Check that settings are those of one time that they were saved."""
    file = folder / "settings.toml"
    found, wrong = Settings.load(file)
    assert not wrong, wrong
    assert not file.exists() or found.recent == [str(found.speed)] * 12
    remove_stale_drafts(folder)
    assert not list(folder.glob(".*"))
    assert found.speed in SPEEDS


def check_window(folder: Path) -> None:
    """Check that the next window finds what was edited or played, but for the last seconds."""
    lines = [line.split() for line in (folder / "log").read_text().splitlines() if " " in line]
    if not lines:  # killed before the first key
        return
    times = {state: float(moment) for moment, state in lines}  # the last time of each state
    with mock.patch.object(platformdirs, "user_data_dir", return_value=str(folder / "data")):
        found = find_autosaves()
    last = float(lines[-1][0])
    if not found:
        assert last - float(lines[0][0]) < _MOST_LOST
        return
    (kept,) = found
    assert not isinstance(kept.work, str), kept.work
    if isinstance(kept.work, UnsavedEdits):
        state = zlib.crc32(kept.work.text.encode())
    else:
        state = len(kept.work.steps)
    lost = last - times[str(state)]
    assert lost < _MOST_LOST, f"{lost:.1f} s of work are lost"


@pytest.mark.sample("0-rollout", "0-settings", "0-edit", "0-play")
@pytest.mark.parametrize(
    ("program", "longest", "check"),
    [
        pytest.param(_ROLLOUT, 1.0, check_rollout, id="rollout"),
        pytest.param(_SETTINGS, 0.5, check_settings, id="settings"),
        pytest.param(_EDIT, 4.0, check_window, id="edit"),
        pytest.param(_PLAY, 4.0, check_window, id="play"),
    ],
)
@pytest.mark.parametrize("seed", range(10))
def test_what_a_killed_program_leaves_is_whole_or_told(
    tmp_path: Path, seed: int, program: str, longest: float, check: Callable[[Path], None]
):
    run(program, tmp_path, random.Random(seed).uniform(0, longest))
    check(tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("program", [_RECORD, _EXPORT], ids=["record", "export"])
@pytest.mark.parametrize("suffix", [".gif", ".mp4", ".png"])
def test_a_killed_recording_leaves_the_old_file_or_the_whole_new_one(
    tmp_path: Path, suffix: str, program: str
):
    program, file = program.replace("{suffix}", suffix), tmp_path / f"a{suffix}"
    seconds = run(program, tmp_path, 60.0)
    whole = file.read_bytes()
    for share in (0.1, 0.9):
        file.write_bytes(b"old")
        run(program, tmp_path, share * seconds)
        assert file.read_bytes() in (b"old", whole)[: 1 if share < 0.5 else 2]
        time.sleep(0.2)  # an encoder that lost its master ends by itself
        Settings().save(tmp_path / "next.toml")  # whatever is written next removes drafts
        assert not list(tmp_path.glob(".*"))
