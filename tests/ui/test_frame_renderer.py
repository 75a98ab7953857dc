"""Grids, pictures and text, without a window."""

from dataclasses import replace
from typing import Any, ClassVar
from unittest.mock import Mock

import numpy as np
import pytest
from numpy.typing import NDArray

from gv_engine.play.grid.board import MIN_AGENT_SIZE, Board, GridContent, GridRenderer
from gv_engine.play.session.sprite_paths import COVERED_GROUND, EDGES
from gv_engine.play.ui.colors import DARK
from gv_engine.play.ui.drawing import sprites
from gv_engine.play.ui.drawing.recording import MIN_SIZE, FrameRenderer
from gv_engine.play.ui.drawing.sprites import pygame
from gv_engine.play.ui.drawing.stage import lay_out_screen
from gv_engine.play.ui.drawing.widgets import line_height, wrap_text
from gv_engine.rules.frame import Frame
from tests.ui.test_sprites import SHEET, gray, pixels


def a_frame(height: int = 9, width: int = 9, view: tuple[int, int] = (7, 7)) -> Frame:
    grid = np.full((height, width, 3), (3, 0, 0), np.uint8)
    grid[1:-1, 1:-1, 0] = 2
    grid[height // 2, width // 2] = (5, 2, 4)
    seen = np.zeros((height, width), np.bool_)
    seen[: height // 2 + 1] = True
    observation = np.full((*view, 3), (1, 0, 0), np.uint8)
    observation[view[0] // 2 :, :, 0] = 2
    return Frame(
        title="Key and door",
        grid=grid,
        agent=(min(1, height - 1), min(1, width - 1), 3),
        item=(6, 0, 4),
        seen=seen,
        observation=observation,
        observer=(view[0] - 1, view[1] // 2, 0),
        action="MOVE_FORWARD",
        reward=-0.05,
        terms={"living_reward": -0.05, "reach_exit": 0.0},
        total=0.9,
        steps=12,
        max_steps=200,
    )


def draw_grid(
    grid: NDArray[np.uint8],
    cell: int,
    seen: NDArray[np.bool_] | None = None,
    agent: tuple[int, int, int] = (-1, -1, 0),
) -> pygame.Surface:
    """The whole grid."""
    height, width, _ = grid.shape
    surface = pygame.Surface((width * cell, height * cell), 0, 32)
    Board(SHEET).draw(surface, surface.get_rect(), (0, 0), cell, GridContent(grid, agent, seen))
    return surface


# Grids


def test_every_cell_shows_its_object():
    grid = np.zeros((4, 5, 3), np.uint8)
    grid[..., 0] = 2
    grid[0, 4], grid[3, 1] = (3, 0, 0), (5, 1, 2)
    seen = np.ones((4, 5), np.bool_)
    seen[3] = False
    found = pixels(draw_grid(grid, 20, seen))
    assert found.shape == (80, 100, 3)
    in_corner = sum(1 << k for k, edge in enumerate(EDGES) if edge not in ("down", "left"))
    for (y, x), name, color, lit, joins in (
        ((0, 4), "wall", 0, True, in_corner),
        ((1, 1), "floor", 0, True, 0),
        ((3, 1), "door_closed", 2, False, 0),
        ((3, 4), "floor", 0, False, 0),
    ):
        cell = found[y * 20 : y * 20 + 20, x * 20 : x * 20 + 20]
        assert np.array_equal(cell, pixels(SHEET.tile(name, color, 20, lit, joins=joins)))
    assert gray(SHEET.tile("floor", 0, 20, False)).max() < gray(SHEET.tile("floor", 0, 20)).min()


@pytest.mark.parametrize("cell", [1, 8, 30])
def test_the_agent_is_drawn_in_its_cell_and_nowhere_if_outside(cell: int):
    grid = np.full((30, 40, 3), (2, 0, 0), np.uint8)
    bare = pixels(draw_grid(grid, cell))
    changed = (pixels(draw_grid(grid, cell, agent=(20, 10, 0))) != bare).any(2)
    y, x = np.nonzero(changed)
    assert abs(y.mean() - 20.5 * cell) <= max(1, cell / 8)
    assert abs(x.mean() - 10.5 * cell) <= max(1, cell / 8)
    assert np.ptp(y) < max(cell, MIN_AGENT_SIZE)
    for outside in ((-1, 3), (30, 3), (3, -1), (3, 40)):
        assert (pixels(draw_grid(grid, cell, agent=(*outside, 0))) == bare).all()


def test_views_side_by_side():
    frame = a_frame(5, 6, (7, 3))
    picture = GridRenderer(SHEET, cell=16).draw(frame)
    assert picture.dtype == np.uint8
    assert picture.shape == (7 * 16, (6 + 3) * 16 + 8, 3)
    view = draw_grid(frame.observation, 16, agent=(6, 1, 0))
    # SDL rounds half-transparent edges differently where pixels have 24 bits
    assert np.abs(picture[:, 6 * 16 + 8 :] - pixels(view)).max() <= 1
    assert (picture[5 * 16 :, : 6 * 16] == pygame.Color(DARK.background)[:3]).all()


# Whole pictures


def picture(frame: Frame, size: tuple[int, int] = (1000, 640)) -> NDArray[np.int64]:
    """(height, width, 3)"""
    surface = pygame.Surface(size, 0, 32)
    FrameRenderer("Key and door").draw(surface, frame)
    return pixels(surface)


UGLY: dict[str, Any] = {
    "title": "A very long title " * 12,
    "message": "and a message " * 12,
    "action": "AN_ACTION_" * 20,
    "terms": {f"reward_number_{n}_" * 3: float(n % 3 - 1) for n in range(40)},
    "reward": -123456789.123,
    "total": float("nan"),
    "steps": 10**9,
    "max_steps": 10**12,
    "outcome": "terminated",
}


@pytest.mark.sample("(9, 9)-(90, 700)", "(9, 9)-(320, 240)", "(1, 300)-(1, 1)")
@pytest.mark.parametrize(
    "size", [(1, 1), (90, 700), (320, 240), (640, 1000), (1920, 1080)], ids=str
)
@pytest.mark.parametrize("grid", [(1, 1), (9, 9), (64, 64), (1, 300)], ids=str)
def test_every_frame_is_drawn_at_every_size(size: tuple[int, int], grid: tuple[int, int]):
    for frame in (a_frame(*grid), replace(a_frame(*grid), **UGLY)):
        assert picture(frame, size).shape == (size[1], size[0], 3)


@pytest.mark.parametrize(
    ("was", "change", "where"),
    [
        ({}, {"item": (6, 0, 1)}, "panel"),
        ({}, {"action": "TURN_LEFT"}, "panel"),
        ({}, {"steps": 13}, "panel"),
        ({}, {"total": 1.0}, "panel"),
        ({}, {"terms": {"living_reward": 0.0}}, "panel"),
        ({}, {"ending": "Well done!"}, "panel"),
        ({"ending": "The wrong exit"}, {"ending": "Time is up"}, "panel"),
        ({}, {"message": "A note"}, "panel"),
        ({}, {"agent": (2, 3, 0)}, "stage"),
        ({}, {"seen": np.ones((9, 9), np.bool_)}, "stage"),
        ({}, {"observer": (3, 3, 0)}, "stage"),
    ],
    ids=str,
)
def test_what_changes_is_shown_in_its_place(was: Any, change: Any, where: str):
    before, after = (picture(replace(a_frame(), **looks)) for looks in (was, change))
    differs = (before != after).any(2)
    parts = lay_out_screen(pygame.Rect(0, 0, 1000, 640), line_height((1000, 640), 1), False, 0, 0)
    found = {
        name
        for name, rect in parts._asdict().items()
        if differs[rect.y : rect.bottom, rect.x : rect.right].any()
    }
    assert found == {where}


def test_small_pictures_are_shrunk_ones():
    whole = pygame.Surface(MIN_SIZE, 0, 32)
    FrameRenderer("Key and door").draw(whole, a_frame())
    half = pygame.transform.smoothscale_by(whole, 0.5)
    assert np.array_equal(picture(a_frame(), half.get_size()), pixels(half))


def test_pictures_need_no_display_and_are_the_same_after_pygame_has_quit(
    monkeypatch: pytest.MonkeyPatch,
):
    pygame.display.quit()
    monkeypatch.setattr(pygame.display, "init", Mock(side_effect=AssertionError))
    first = picture(a_frame())
    assert first.std() > 0
    assert GridRenderer(SHEET).draw(a_frame()).std() > 0
    assert not pygame.display.get_init()
    for ended in (pygame.quit, pygame.font.quit):
        ended()
        assert np.array_equal(picture(a_frame()), first)
    pygame.quit()
    pygame.font.init()
    assert np.array_equal(picture(a_frame()), first)


def test_an_onlooker_draws_frame_after_frame():
    onlooker, surface = FrameRenderer("Key and door"), pygame.Surface((500, 400), 0, 32)
    for size in ((9, 9), (20, 30), (4, 4)):
        onlooker.draw(surface, a_frame(*size))
        assert np.array_equal(pixels(surface), picture(a_frame(*size), (500, 400)))


# Text


@pytest.mark.parametrize("text", ["", "i", "W" * 3, "word " * 50, "é" * 100, "\n"])
@pytest.mark.parametrize("width", [1, 7, 30, 200])
def test_text_keeps_to_its_width(text: str, width: int):
    for line in (9, 11, 16, 40):
        short = sprites.shorten_text(text, line, width)
        assert sprites.font(line).size(short)[0] <= width or not short
        assert short == text or short.endswith("...") or not short


@pytest.mark.parametrize("line", [9, 11, 15, 20, 40])
def test_letters_stand_side_by_side(line: int):
    letters = sprites.font(line)
    for pair in ("if", "li", "fi", "ty", "ti", "el", "pl", "di"):
        together, apart = letters.size(pair)[0], sum(letters.size(letter)[0] for letter in pair)
        assert together <= apart + 1, pair


class OneFont:
    """Font of 10 pixels a letter that has the letters in `GLYPHS`; `drawn` lists its texts."""

    GLYPHS: ClassVar = {
        None: "abcdefghijklmnopqrstuvwxyz",
        "han.ttf": "鑰匙門",
        "simplified.ttf": "匙门٣",
        "marks.ttf": "qu\u0307",
        "damaged.ttf": "",
    }
    drawn: ClassVar[list[tuple[str | None, str]]] = []
    scalable = True

    def __init__(self, file: str | None, size: float) -> None:
        if file == "damaged.ttf":
            raise OSError("no font")
        self.file = file

    def get_metrics(self, text: str) -> list[tuple[float, ...] | None]:
        glyphs = self.GLYPHS[self.file] + " " * (self.file is None)
        return [(0, 10, 0, 10, 10.0, 0.0) if letter in glyphs else None for letter in text]

    def get_rect(self, text: str) -> pygame.Rect:
        return pygame.Rect(0, 10, 10 * len(text), 10)

    def get_sized_height(self, size: float) -> int:
        return 10

    get_sized_ascender = get_sized_height

    def render(self, text: str, color: str) -> tuple[pygame.Surface, pygame.Rect]:
        self.drawn.append((self.file, text))
        return pygame.Surface((10 * len(text), 10), pygame.SRCALPHA), self.get_rect(text)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("a key", [(None, "a key")]),
        ("鑰匙 a key", [("han.ttf", "鑰匙"), (None, " a key")]),
        ("key門key", [(None, "key"), ("han.ttf", "門"), (None, "key")]),
        ("匙門门", [("han.ttf", "匙門"), ("simplified.ttf", "门")]),  # most letters of a run count
        ("门匙", [("simplified.ttf", "门匙")]),
        ("no ٣", [(None, "no "), ("simplified.ttf", "٣")]),
        ("aq\u0307", [(None, "a"), ("marks.ttf", "q\u0307")]),  # a letter keeps its mark
        ("a\u200dk\ufe0fe", [(None, "ake")]),  # joiners are not drawn
        ("門😀", [("han.ttf", "門"), (None, "😀")]),  # in no font: a box
        ("caf\udce9", [(None, "caf"), (None, "?")]),  # a byte of a file's name
    ],
)
def test_every_run_of_letters_has_a_font_that_has_them(
    monkeypatch: pytest.MonkeyPatch, text: str, pieces: list[tuple[str | None, str]]
):
    monkeypatch.setattr(pygame.freetype, "Font", OneFont)
    files = ["damaged.ttf", "han.ttf", "simplified.ttf", "marks.ttf"]
    monkeypatch.setattr(sprites, "_list_fonts", lambda: files)
    monkeypatch.setattr(sprites, "_font_files", {})
    monkeypatch.setattr(OneFont, "drawn", [])
    letters = sprites.LineFont(20)
    assert letters.render(text, "black").get_size() == letters.size(text)
    assert OneFont.drawn == pieces


def test_a_machine_without_fonts_shows_boxes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sprites, "_list_fonts", list)
    monkeypatch.setattr(sprites, "_font_files", {})
    pygame.freetype.init()
    letters = sprites.LineFont(20)
    for text in ("鍵", "a鍵", "😀", "q\u0307", "caf\udce9"):
        shown = letters.render(text, "black")
        assert shown.get_size() == letters.size(text)
        assert pygame.surfarray.array_alpha(shown)[-9:].any(), text
    assert letters.size("鍵 a")[0] > letters.size(" a")[0]


def test_a_word_is_not_split_between_a_letter_and_its_mark():
    lines = wrap_text("q\u0307" * 40, 20, 90)
    assert len(lines) > 1
    assert all(line.startswith("q") and line.endswith("\u0307") for line in lines)


@pytest.mark.parametrize("cell", [20, 48])
def test_what_is_covered_is_small_in_the_corner(cell: int):
    floor = np.zeros((1, 2, 3), np.uint8)
    floor[..., 0] = 2
    key, crate, under = floor.copy(), floor.copy(), floor.copy()
    key[0, 0], crate[0, 1], under[0, 1] = (6, 0, 4), (5, 1, 2), (6, 0, 4)
    dark = np.array(pygame.Color(COVERED_GROUND)[:3])

    def badges(grid: NDArray[np.uint8], beneath: NDArray[np.uint8] | None) -> list[bool]:
        """Whether each of the two cells has a badge."""
        surface = pygame.Surface((2 * cell, cell), 0, 32)
        rect, agent = surface.get_rect(), (0, 0, 0)
        content = GridContent(grid, agent, beneath=beneath)
        Board(SHEET).draw(surface, rect, (0, 0), cell, content)
        picture = pixels(surface).astype(int)
        cells = (picture[:, x : x + cell] for x in (0, cell))
        return [int((each == dark).all(-1).sum()) > cell for each in cells]

    is_large = cell == 48
    assert badges(floor, None) == badges(crate, floor) == [False, False]
    assert badges(key, None) == [is_large, False]
    assert badges(crate, under) == [False, is_large]


@pytest.mark.parametrize("facing", range(4))
def test_what_an_agent_stands_on_leaves_the_agent_visible(facing: int):
    drawn = []
    for look in ((2, 0, 0), (6, 0, 4)):
        surface = pygame.Surface((48, 48), 0, 32)
        content = GridContent(np.array([[look]], np.uint8), (0, 0, facing))
        Board(SHEET).draw(surface, surface.get_rect(), (0, 0), 48, content)
        drawn.append(pixels(surface))
    shape = pygame.surfarray.array_alpha(SHEET.agent(0, 48, facing)).T > 128
    is_covered = shape & (drawn[0] != drawn[1]).any(-1)
    eyes = pygame.Surface((48, 48), 0, 32)
    for x in (17, 31):
        pygame.draw.circle(eyes, "white", (x, 23), 5)
    turned = pygame.transform.rotate(eyes, sprites.ANGLES[facing])
    assert 0 < is_covered.sum() < shape.sum() / 20
    assert not is_covered[pixels(turned)[..., 0] > 0].any()
