"""Replays watched and exported, driven by events without a window."""

from pathlib import Path

import imageio.v3
import pytest

from gv_engine import Scenario
from gv_engine.cli.new import write_starter_project
from gv_engine.play.session.replay import ReplayError
from gv_engine.play.session.session import Session
from gv_engine.play.ui import settings
from gv_engine.play.ui.screens.play import PlayScreen
from gv_engine.play.ui.screens.replay import ExportScreen, ReplayScreen
from gv_engine.play.ui.settings import Settings, settings_file
from tests.desk import Desk, playing, watching

pytestmark = pytest.mark.window


def test_a_replay_is_watched(desk: Desk):
    screen = watching(desk, "TURN_LEFT", "MOVE_FORWARD", "TURN_LEFT")
    assert (screen.game.position, screen.game.length) == (0, 3)
    desk.press("Right", "Right", "Left")
    assert screen.game.position == 1
    desk.press("End", "Home", "Up")
    assert desk.app.settings.speed == 8
    desk.press("Space")
    desk.wait(2, times=4)
    assert screen.game.position == 3
    assert not screen._is_playing
    desk.press("Left", "Return")
    assert desk.top(PlayScreen).game.position == 2
    desk.press("Left")
    assert desk.top(PlayScreen).game.length == 3
    assert screen.game.length == 3


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.sample(".gif", ".png")
@pytest.mark.parametrize("suffix", [".mp4", ".gif", ".png"])
def test_export(desk: Desk, suffix: str):
    watching(desk, "TURN_LEFT", "MOVE_FORWARD", "TURN_LEFT")
    desk.press("E")
    export = desk.top(ExportScreen)
    desk.app.settings.export_as = suffix
    desk.press("Return")
    while desk.app.top is export:
        desk.wait(0)
    (file,) = settings.recording_folder().iterdir()
    assert file.suffix == suffix
    pictures = imageio.v3.imread(file)
    assert (len(pictures) >= 4) if suffix != ".png" else pictures.ndim == 3


def test_a_stopped_export_leaves_no_file(desk: Desk):
    watching(desk, *["TURN_LEFT"] * 40)
    desk.press("E", "Return")
    export = desk.app.top
    export.tick(0)
    desk.press("Escape")
    assert desk.app.top is export
    assert not list(settings.recording_folder().iterdir())
    desk.press("Escape")
    assert isinstance(desk.app.top, ReplayScreen)


def test_a_damaged_replay_is_a_card_that_says_so(desk: Desk):
    watching(desk, "TURN_LEFT")
    (file,) = settings.replay_folder().iterdir()
    file.write_bytes(file.read_bytes()[:-30])
    start = desk.start()
    (card,) = dict(start.sections())["Replays"]
    desk.type(card.title)
    desk.settle()
    assert card.error
    with pytest.raises(ReplayError):
        card.open(desk.app)
    desk.press("Return")
    assert desk.app.top is start
    assert desk.app._note == card.error


def test_what_was_exported_last_is_remembered(desk: Desk):
    watching(desk, "TURN_LEFT")
    desk.press("E", "Down", "Right", "Down", "Right", "Down", "Left", "Down", "Right", "Escape")
    chosen = Settings.load(settings_file())[0]
    assert (chosen.export_as, chosen.export_cell, chosen.export_speed) == (".gif", 24, 8)
    desk.press("E")
    values = [row.value for row in desk.top(ExportScreen).rows()][1:5]
    assert values == ["GIF animation", "state", "24 pixels", "8 steps a second"]


def test_names_of_any_kind_make_names_of_files(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    screen = playing(desk)
    monkeypatch.setattr(Session, "title", "../ü b?" + "x" * 300)
    file = settings.new_file(tmp_path / "a" / "b", screen.game, ".png")
    assert file.parent == tmp_path / "a" / "b"
    assert len(file.name) < 120
    file.touch()


def test_scenario_of_a_replay_may_be_given(desk: Desk, tmp_path: Path):
    write_starter_project(tmp_path / "cave")
    screen = playing(desk, str(tmp_path / "cave"))
    desk.press("Left")
    screen.save_replay()
    (file,) = settings.replay_folder().iterdir()
    desk.app.settings.recent.clear()
    desk.app.watch_replay(file, Scenario.load(tmp_path / "cave"))
    assert isinstance(desk.app.top, ReplayScreen)
