"""Recordings: frames as they come, and a file that is whole or not there."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import imageio.v3
import numpy as np
import pytest

from gv_engine import Scenario
from gv_engine.cli import main
from gv_engine.play.session.session import Session
from gv_engine.play.session.video_writer import FORMATS, Picture
from gv_engine.play.ui.drawing.recording import Recorder
from gv_engine.play.ui.screens.replay import ExportScreen
from gv_engine.scenario.domains import DOMAINS
from tests.desk import Desk

# imageio leaves the pipes open through which it reads a video
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def game() -> Session:
    """One that has taken ten steps."""
    played = Session(Scenario.load("keydoor-5x5"), 0)
    for number in range(10):
        played.step(("TURN_LEFT", "MOVE_LEFT")[number % 2])
    return played


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "count"), [(".gif", 13), (".mp4", 13), (".png", 1)])
def test_every_frame_is_there(tmp_path: Path, game: Session, suffix: str, count: int):
    file = tmp_path / f"a{suffix}"
    with Recorder(file, game.scenario, "state", cell=16, fps=2) as recorder:
        for frame in game.frames():
            assert not file.exists()
            recorder.add(frame)
    assert recorder.shown == 11
    assert [path.name for path in tmp_path.iterdir()] == [file.name]
    pictures = imageio.v3.imread(file).reshape(-1, 80, 80, 3)
    assert len(pictures) == count
    game.seek(game.length)
    with Recorder(tmp_path / "last.png", game.scenario, "state", cell=16) as last:
        last.add(game.frame())
    expected = imageio.v3.imread(tmp_path / "last.png").astype(int)
    assert np.abs(pictures[-1] - expected).mean() < 4


@pytest.mark.parametrize("suffix", FORMATS)
def test_pictures_are_not_kept(tmp_path: Path, suffix: str):
    (tmp_path / f"a{suffix}").touch()
    file = FORMATS[suffix](tmp_path / f"a{suffix}", 8)
    kept: list[weakref.ref[Picture]] = []
    for number in range(20):
        picture = np.full((32, 48, 3), number, np.uint8)
        kept.append(weakref.ref(picture))
        file.add(picture)
        del picture
        assert sum(known() is not None for known in kept) <= 2
    file.close(20)


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.sample("failed at its end", "discarded-.mp4", "failed-.gif", "empty-.png")
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("end", ["discarded", "failed", "failed at its end", "empty"])
def test_nothing_is_left_of_what_is_not_finished(
    tmp_path: Path, game: Session, suffix: str, end: str, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / f"a{suffix}"
    file.write_text("old")
    recorder = Recorder(file, game.scenario)
    if end == "empty":
        recorder.close()
    else:
        recorder.add(game.frame())
    if end == "discarded":
        recorder.discard()
    elif end == "failed":
        with pytest.raises(KeyboardInterrupt), recorder:
            interrupt()
    elif end == "failed at its end":
        monkeypatch.setattr(FORMATS[suffix], "close", interrupt)
        with pytest.raises(KeyboardInterrupt), recorder:
            pass
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(file.name, "old")]


@contextmanager
def small_disk(size: int) -> Iterator[None]:
    """No file can become larger."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such limits")
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_full_disk_is_noticed(tmp_path: Path, game: Session, suffix: str):
    file = tmp_path / f"a{suffix}"
    wrong = pytest.raises(OSError, match=rf"^{file} cannot be written: [^\n]+$")
    with small_disk(1000), wrong, Recorder(file, game.scenario) as recorder:
        for frame in game.frames():
            recorder.add(frame)
    assert list(tmp_path.iterdir()) == []


def test_the_usual_view_is_the_first_of_the_family(tmp_path: Path, monkeypatch):
    """Whatever it is called: here grids have one view alone."""
    grid = DOMAINS["grid"]
    monkeypatch.setitem(DOMAINS, "grid", replace(grid, views={"state": grid.views["state"]}))
    game = Session(Scenario.load("keydoor-5x5"), seed=0)
    with Recorder(tmp_path / "one.png", game.scenario, cell=16) as recorder:
        recorder.add(game.frame())
    words = ["record", "keydoor-5x5", str(tmp_path / "other.png"), "--cell", "16", "--seed", "0"]
    assert main(words) == 0
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()
    desk = Desk()
    desk.app.push(ExportScreen(desk.app, game))
    assert (desk.look() != 0).any()


def test_what_cannot_be_recorded_is_said(tmp_path: Path, game: Session):
    with pytest.raises(ValueError, match=r"a.avi: the name must end with .gif, .mp4, .png"):
        Recorder(tmp_path / "a.avi", game.scenario)
    with pytest.raises(OSError, match=r"a.gif cannot be written: there is no folder"):
        Recorder(tmp_path / "missing" / "a.gif", game.scenario)
    with pytest.raises(ValueError, match="no view 'stat'; did you mean 'state'"):
        Recorder(tmp_path / "a.gif", game.scenario, view="stat")
    with pytest.raises(ValueError, match="cell=0: allowed are whole numbers from 1 on"):
        Recorder(tmp_path / "a.gif", game.scenario, cell=0)


@pytest.mark.slow
def test_levels_of_another_size_are_fitted_in(tmp_path: Path):
    games = [Session(Scenario.load(f"keydoor-{size}x{size}"), 0) for size in (7, 5, 9)]
    file = tmp_path / "a.gif"
    with Recorder(file, games[0].scenario, "state", cell=10, fps=1) as recorder:
        for game in games:
            recorder.add(game.frame())
    pictures = imageio.v3.imread(file)
    assert pictures.shape == (4, 70, 70, 3)
    assert not pictures[1][:10].any()
    assert pictures[1][10:60, 10:60].all(axis=2).mean() > 0.9
    assert not pictures[2][:12].any()
    assert pictures[2][13:57, 13:57].any()
