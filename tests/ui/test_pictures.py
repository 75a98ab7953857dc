"""Pictures of levels on cards, kept in the cache folder."""

from pathlib import Path

import pytest

from gv_engine.play.session.catalogue import Entry
from gv_engine.play.ui.colors import DARK, LIGHT
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.screens import pictures
from gv_engine.play.ui.screens.pictures import load_picture
from gv_engine.play.ui.settings import cache_folder
from tests.desk import Desk

pytestmark = pytest.mark.window

_LEVEL = "extends: lava\ndescription: {0}\nmap: '{1}'\n"
_SVG = '<svg width="48" height="48"><path d="M0 0h48v48H0z" fill="#00ff00"/></svg>'


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Titles of the games whose pictures are drawn, not read."""
    titles: list[str] = []
    draw = pictures.draw_picture

    def note_and_draw(game, theme):
        titles.append(game.title)
        return draw(game, theme)

    monkeypatch.setattr(pictures, "draw_picture", note_and_draw)
    return titles


def _pixels(picture: pygame.Surface) -> bytes:
    return pygame.image.tobytes(picture, "RGBA")


def test_a_picture_is_drawn_once(desk: Desk, drawn: list[str]):
    picture, text = load_picture(Entry("keydoor-5x5", ""), DARK)
    again, text_again = load_picture(Entry("keydoor-5x5", ""), DARK)
    assert drawn == ["keydoor-5x5"]
    assert _pixels(again) == _pixels(picture)
    assert text == text_again != ""
    load_picture(Entry("keydoor-5x5", ""), LIGHT)
    load_picture(Entry("tutorial#1", ""), DARK)
    load_picture(Entry("tutorial#2", ""), DARK)
    assert drawn == ["keydoor-5x5", "keydoor-5x5", "tutorial-1", "tutorial-2"]


def test_what_a_picture_shows_is_drawn_again_when_it_changes(
    desk: Desk, drawn: list[str], tmp_path: Path
):
    file = tmp_path / "mine.yaml"
    seen = []
    for text, level in (("One.", ">.E"), ("Two.", ">.E"), ("", ""), ("Two.", ">..E")):
        if text:
            file.write_text(_LEVEL.format(text, level))
        else:
            (tmp_path / "exit.svg").write_text(_SVG)
        picture, description = load_picture(Entry(str(file), ""), DARK)
        load_picture(Entry(str(file), ""), DARK)
        seen.append((description, picture.get_size(), _pixels(picture)))
    assert drawn == ["mine"] * 4
    assert [description for description, _, _ in seen] == ["One.", "Two.", "Two.", "Two."]
    assert seen[0][2] == seen[1][2] != seen[2][2]
    assert seen[2][1] != seen[3][1]


def test_a_picture_needs_no_cache_folder(desk: Desk, drawn: list[str]):
    cache_folder().parent.mkdir(parents=True, exist_ok=True)
    cache_folder().write_text("a file is in its place")
    for _ in range(2):
        picture, _ = load_picture(Entry("tutorial#1", ""), DARK)
        assert picture.get_width() > picture.get_height() > 0
    assert drawn == ["tutorial-1"] * 2


@pytest.mark.parametrize("content", [b"", b"no picture", b"\x89PNG\r\n\x1a\n"])
def test_a_damaged_picture_is_drawn_again(desk: Desk, drawn: list[str], content: bytes):
    load_picture(Entry("tutorial#1", ""), DARK)
    (file,) = (cache_folder() / "pictures").iterdir()
    file.write_bytes(content)
    load_picture(Entry("tutorial#1", ""), DARK)
    load_picture(Entry("tutorial#1", ""), DARK)
    assert drawn == ["tutorial-1"] * 2


def test_the_folder_is_emptied_when_it_is_full(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr(pictures, "MAX_FILES", 2)
    pictures._prepare_folder.cache_clear()
    folder = cache_folder() / "pictures"
    folder.mkdir(parents=True)
    for number in range(3):
        (folder / f"{number}.png").touch()
    load_picture(Entry("tutorial#1", ""), DARK)
    assert len([*folder.iterdir()]) == 1
