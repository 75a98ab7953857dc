"""Kills the engine while it writes: what it calls whole is whole, the rest is removed or told.

`python -m tests.kills --times 20` kills each of a rollout, a recording, an export from the window,
the saving of settings, and a window in which somebody edits or plays so often, at random moments.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np
import platformdirs

from gv_engine.cli import main as gv_engine
from gv_engine.rollout import episode_folder
from gv_engine.rollout.episode_folder import RolloutError
from gv_engine.scenario.files import remove_stale_drafts
from gv_engine.ui.autosave import UnsavedEdits, find_autosaves
from gv_engine.ui.settings import SPEEDS, Settings
from tests import ROOT

_ROLLOUT = """
from gv_engine.rollout import episode_folder
from gv_engine.cli import main
episode_folder._CHUNK = 50  # steps, so that it writes all the time
begin = episode_folder.EpisodeFolder.__init__
def ready(self, *arguments):
    print("ready", flush=True)
    begin(self, *arguments)
episode_folder.EpisodeFolder.__init__ = ready
main("rollout empty-4x4 --episodes 1000000 --max-steps 20 --num-envs 4 --out out".split())
"""
RECORD = """
from gv_engine.cli import main
from gv_engine.ui.drawing import recording
begin = recording.Recorder.__init__
def ready(self, *arguments):
    print("ready", flush=True)
    begin(self, *arguments)
recording.Recorder.__init__ = ready
main("record dynamic-obstacles-7x7 a{suffix} --steps 40 --cell 16".split())
"""
_EXPORT = """
import pathlib
from gv_engine.ui.screens import replay as export
from gv_engine.ui.screens.replay import ReplayScreen
from gv_engine.session.catalogue import load_playable
from gv_engine.session.session import Session
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
from gv_engine.ui.settings import SPEEDS, Settings
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
from gv_engine.ui.input.bindings import Bindings
from gv_engine.ui.settings import Settings
from gv_engine.ui.window.app import App
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
    state="zlib.crc32(app.top.work.buffer.text.encode())",
    begin="app.edit_new_level('keydoor')",
)
_PLAY = _WINDOW.format(
    keys=["Left", "Right", "Right"],
    state="len(app.top.game.replay().steps)",
    begin="app.play('empty-8x8', 0)",
)
MOST_LOST = 5.0
"""Seconds of work that a killed window may lose."""


class Act(NamedTuple):
    """Something that is killed.

    Attributes:
        program: what it runs, in a folder of its own; it says when it begins.
        longest: seconds after which it is killed at the latest.
        check: looks at what a killed one has left; returns what came of it, in a word.
    """

    program: str
    longest: float
    check: Callable[[Path], str]


def rollout(folder: Path) -> str:
    """What is counted is there; the rest is told when somebody reads it or writes there again."""
    out = folder / "out"
    if not out.exists():
        return "not begun"
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.chdir(folder):
        assert gv_engine(["rollout", "empty-4x4", "--episodes", "1", "--out", "out"]) in (0, 1)
    assert not list(out.glob(".*")), "a draft is left"
    try:
        arrays, about = episode_folder.read(out)
    except RolloutError:
        if (out / "rollout.json").exists():
            raise
        return "told"
    if about["complete"]:  # it had not begun to write, and the next one had room
        return "not begun"
    assert "is there already, an unfinished rollout" in said.getvalue()
    start, ends = arrays["episode_start"], arrays["terminated"] | arrays["truncated"]
    assert np.array_equal(arrays["episode_seed"], np.arange(about["episodes"]))
    assert np.array_equal(np.flatnonzero(ends) + 1, [*start[1:], about["steps"]][: len(start)])
    assert all(array.shape[0] in (about["episodes"], about["steps"]) for array in arrays.values())
    return "part" if about["episodes"] else "empty"


def pictures(whole: bytes, suffix: str) -> Callable[[Path], str]:
    """The file is the old one or the whole new one; drafts go when the next file is written."""

    def check(folder: Path) -> str:
        file = folder / f"a{suffix}"
        found = file.read_bytes()
        assert found in (b"old", whole), f"{len(found)} bytes of {len(whole)}"
        left = len(list(folder.glob(".gv-draft-*")))
        time.sleep(0.2)  # an encoder that lost its master ends by itself
        Settings().save(folder / "next.toml")
        assert not list(folder.glob(".*")), list(folder.glob(".*"))
        return "whole" if found == whole else f"old, {'swept' if left else 'nothing left'}"

    return check


def settings(folder: Path) -> str:
    """They are those of one time that they were saved."""
    file = folder / "settings.toml"
    found, wrong = Settings.load(file)
    assert not wrong, wrong
    assert not file.exists() or found.recent == [str(found.speed)] * 12
    left = len(list(folder.glob(".gv-draft-*")))
    remove_stale_drafts(folder)
    assert not list(folder.glob(".*"))
    assert found.speed in SPEEDS
    return "swept" if left else "whole"


def window(folder: Path) -> str:
    """The next window finds what was edited or played, but for the last seconds."""
    lines = [line.split() for line in (folder / "log").read_text().splitlines() if " " in line]
    if not lines:  # killed before the first key
        return "not begun"
    times = {state: float(moment) for moment, state in lines}  # the last time of each state
    with mock.patch.object(platformdirs, "user_data_dir", return_value=str(folder / "data")):
        found = find_autosaves()
    last = float(lines[-1][0])
    if not found:
        assert last - float(lines[0][0]) < MOST_LOST
        return "not begun"
    (kept,) = found
    assert not isinstance(kept.work, str), kept.work
    if isinstance(kept.work, UnsavedEdits):
        state = zlib.crc32(kept.work.text.encode())
    else:
        state = len(kept.work.steps)
    lost = last - times[str(state)]
    assert lost < MOST_LOST, f"{lost:.1f} s of work are lost"
    return f"at most {int(lost) + 1} s lost"


WRITERS = {
    "rollout": Act(_ROLLOUT, 1.0, rollout),
    "settings": Act(_SETTINGS, 0.5, settings),
    "edit": Act(_EDIT, 9.0, window),
    "play": Act(_PLAY, 9.0, window),
}
"""What writes until it is killed."""


def killed(act: Act, folder: Path, after: float) -> float:
    """Run an act and kill it so many seconds after it has begun; returns how many it took."""
    with subprocess.Popen(
        [sys.executable, "-c", act.program],
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
            process.wait(after)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return time.monotonic() - began


def acts(folder: Path) -> dict[str, Act]:
    """All acts; each recording is made once without being killed, to compare with."""
    found = dict(WRITERS)
    for name, program in (("record", RECORD), ("export", _EXPORT)):
        for suffix in (".gif", ".mp4", ".png"):
            text = program.replace("{suffix}", suffix)
            home = folder / f"{name}{suffix}"
            home.mkdir()
            took = killed(Act(text, 0.0, str), home, 60.0)
            whole = (home / f"a{suffix}").read_bytes()
            found[f"{name} {suffix}"] = Act(text, took, pictures(whole, suffix))
    return found


def main() -> int:
    """1 if something was not whole."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills")
    parser.add_argument("--times", type=int, default=20, help="how often each is killed")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="gv-kills-") as home:
        for name, act in acts(Path(home)).items():
            came = [once(act, Path(home), rng) for _ in range(options.times)]
            print(name, {word: came.count(word) for word in sorted(set(came))}, flush=True)
    return 0


def once(act: Act, home: Path, rng: random.Random) -> str:
    """Kill an act at a random moment and look at what it has left."""
    folder = Path(tempfile.mkdtemp(dir=home))
    for suffix in (".gif", ".mp4", ".png"):
        (folder / f"a{suffix}").write_bytes(b"old")
    killed(act, folder, rng.uniform(0, act.longest))
    return act.check(folder)


if __name__ == "__main__":
    sys.exit(main())
