"""What the player chose is remembered."""

from dataclasses import asdict
from pathlib import Path

import pytest

from gv_engine.play.ui.settings import MAX_RECENT, Settings, forced_scale


def test_what_is_saved_is_loaded(tmp_path: Path):
    file = tmp_path / "new folder" / "settings.toml"
    settings = Settings(theme="light", scale=1.5, window=[900, 700], recent=['a "b"\\ü\n', "c"])
    settings.save(file)
    assert Settings.load(file) == (settings, "")
    assert [path.name for path in file.parent.iterdir()] == ["settings.toml"]
    Settings(recent=["a\x7fb", "c\udcff"]).save(file)
    assert Settings.load(file) == (Settings(recent=["a\x7fb", "c?"]), "")
    assert Settings.load(tmp_path / "none") == (Settings(), "")


@pytest.mark.parametrize(
    "line",
    [
        "theme = 'pink'",
        "palette = ['standard']",
        "scale = 'big'",
        "scale = nan",
        "scale = 1e9",
        "animation = 1",
        "window = [800]",
        "window = [0, 600]",
        "window = [true, 600.5]",
        "speed = 5",
        "time_speed = 0",
        "export_as = '.exe'",
        "export_cell = 33",
        "export_speed = 5",
        "recent = [1]",
        "recording = '.exe'",
    ],
)
def test_a_wrong_value_counts_as_left_out(tmp_path: Path, line: str):
    file = tmp_path / "settings.toml"
    file.write_text(f"view = 'x'\n{line}\n")
    settings, wrong = Settings.load(file)
    assert line.split()[0] in wrong
    assert str(file) in wrong
    assert asdict(settings) == asdict(Settings(view="x"))


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        *((raw, "The usual settings are used") for raw in (b"\xff", b"theme = ", b"\0")),
        *((b"scale = " + b"9" * digits, "") for digits in (400, 5000)),
        (b"a = " + b"[" * 5000, ""),
        (b"theme = '" + b"a" * 9999 + b"'", "theme"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_file_that_cannot_be_used_is_told_in_few_words(tmp_path: Path, raw: bytes, told: str):
    file = tmp_path / "settings.toml"
    file.write_bytes(raw)
    settings, wrong = Settings.load(file)
    assert settings == Settings()
    assert wrong.startswith(f"{file}: ")
    assert told in wrong
    assert len(wrong) < 600


def test_a_broken_file_is_kept_aside(tmp_path: Path):
    file = tmp_path / "settings.toml"
    file.write_bytes(b"\xff")
    settings, wrong = Settings.load(file)
    settings.save(file)
    assert (tmp_path / "settings.toml.bad").read_bytes() == b"\xff"
    assert "settings.toml.bad" in wrong


def test_the_last_ones_played_come_first():
    settings = Settings()
    for number in range(MAX_RECENT + 5):
        settings.add_recent(str(number))
    settings.add_recent("7")
    assert settings.recent[:2] == ["7", str(MAX_RECENT + 4)]
    assert len(settings.recent) == MAX_RECENT


def test_scale_by_the_environment(monkeypatch: pytest.MonkeyPatch):
    for text, scale in (("2", 2.0), ("150%", 1.5), ("", None), ("huge", None), ("0", None)):
        monkeypatch.setenv("GV_ENGINE_SCALE", text)
        assert forced_scale() == scale
