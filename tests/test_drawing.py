"""Sprites and pictures, without a window."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from gv_engine.frame import Frame
from gv_engine.frontend import lettering
from gv_engine.frontend.board import SMALLEST_AGENT
from gv_engine.frontend.drawing import (
    Layout,
    draw_frame,
    draw_grid,
    layout,
    line_height,
)
from gv_engine.frontend.palette import PALETTES
from gv_engine.frontend.sprites import SpriteSheet, pygame
from gv_engine.frontend.theme import DARK, THEMES, Theme
from gv_engine.frontend.views import Views
from gv_engine.resources import ASSETS

FILES = sorted((ASSETS / "sprites").glob("**/*.svg"))
SPRITES = sorted({file.stem for file in FILES} - {"mark"})
COLORED = ["key", "door_open", "door_closed", "door_locked", "exit", "telepod", "beacon"]
PLAIN = {1: "hidden", 2: "floor", 3: "wall", 4: "exit", 6: "key", 7: "moving_obstacle"}
SHEETS = {palette: SpriteSheet(palette=palette) for palette in PALETTES}
SHEET = SHEETS["standard"]
KEYS = ("Arrows/WASD move and turn", "Shift+Left/Right step aside", "Space use", "Esc leave")

SIZES = [
    (320, 240),
    (640, 480),
    (1000, 640),
    (1920, 1080),
    (3840, 2160),
    (640, 1000),
    (320, 1200),
    (1600, 300),
    (1001, 641),
]
GRIDS = [(1, 1), (4, 4), (9, 9), (3, 9), (9, 3), (64, 64), (200, 200), (1, 300)]
VIEWS = [(7, 7), (1, 1), (3, 15), (41, 41), (300, 2)]


def names(kind: int, state: int) -> str:
    doors = ("door_open", "door_closed", "door_locked")
    return doors[state] if kind == 5 else PLAIN.get(kind, "unknown")


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
        observer=(view[0] - 1, view[1] // 2),
        action="MOVE_FORWARD",
        reward=-0.05,
        terms={"living_reward": -0.05, "reach_exit": 0.0},
        total=0.9,
        steps=12,
        max_steps=200,
    )


def pixels(surface: pygame.Surface) -> NDArray[np.int64]:
    """(height, width, 3)"""
    return pygame.surfarray.array3d(surface).swapaxes(0, 1).astype(int)


def gray(surface: pygame.Surface) -> NDArray[np.float64]:
    """(height, width), 0 to 255: what a picture is to someone who sees no colours."""
    luma: NDArray[np.float64] = pixels(surface) @ np.array([0.299, 0.587, 0.114])
    return luma


# Sprites


def test_there_is_a_sprite_for_everything():
    wanted = {"floor", "wall", "moving_obstacle", "box", "agent", "hidden", "unknown", *COLORED}
    assert wanted == set(SPRITES)


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_drawing_uses_only_what_sdl_draws(file: Path):
    text = file.read_text("utf-8")
    assert set(re.findall(r"{{(.*?)}}", text)) <= set(PALETTES["standard"][0]._fields)
    assert not re.search(r"<(text|style|filter|mask|image|use)\b|\bclass=", text)
    # In SDL_image's nanosvg gradients that are relative to the shape come out in one colour.
    assert text.count("Gradient id") == text.count('gradientUnits="userSpaceOnUse"')


@pytest.mark.parametrize("name", SPRITES)
@pytest.mark.parametrize("size", [1, 2, 5, 16, 33, 96])
def test_a_sprite_has_the_size_asked_for(name: str, size: int):
    assert SHEET.get(name, 1, size).get_size() == (size, size)
    assert SHEET.tile(name, 1, size).get_size() == (size, size)
    assert SHEET.get(name, 1, size) is SHEET.get(name, 1, size)


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("name", sorted(set(SPRITES) - {"floor"}))
def test_a_sprite_differs_from_the_floor(name: str, size: int):
    away = np.abs(pixels(SHEET.tile(name, 0, size)) - pixels(SHEET.tile("floor", 0, size))).max(2)
    assert (away > 40).mean() > 0.15


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize(("one", "other"), list(combinations(SPRITES, 2)))
def test_sprites_differ_without_colors(one: str, other: str, size: int):
    away = np.abs(gray(SHEET.tile(one, 1, size)) - gray(SHEET.tile(other, 1, size)))
    assert (away > 25).mean() > 0.08


def test_not_seen_is_dark_everywhere_and_floor_is_light():
    assert gray(SHEET.tile("hidden", 0, 32)).max() < 70
    assert gray(SHEET.tile("floor", 0, 32)).min() > 140


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("name", COLORED)
@pytest.mark.parametrize(("one", "other"), list(combinations(range(5), 2)))
def test_colors_differ_in_shape(name: str, one: int, other: int, palette: str):
    """Dark against light, whichever is which: the emblem, not the lightness of the colour."""
    sheet, shapes = SHEETS[palette], []
    for color in (one, other):
        emblem = gray(sheet.tile(name, color, 48))[9:25, 16:32]
        low, high = np.percentile(emblem, (2, 98))
        # An area of one lightness has no shape, be it shaded a little.
        shapes.append(emblem > (low + high) / 2 if high - low > 50 else np.zeros((16, 16), bool))
    same = (shapes[0] == shapes[1]).mean()
    assert max(same, 1 - same) < 0.95


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("name", COLORED)
def test_colors_of_small_cells_differ_in_whole_pixels(name: str, palette: str):
    """In light and dark, whichever is which."""
    text = (ASSETS / "sprites" / "small" / f"{name}.svg").read_text("utf-8")
    left, top = map(int, re.findall(r"translate\((\d) (\d)\)", text)[0])
    signs = set()
    for color in range(5):
        cell = gray(SHEETS[palette].tile(name, color, 8))
        sign = cell[top : top + 4, left : left + 4]
        signs.add((sign > (sign.min() + sign.max()) / 2).tobytes() if np.ptp(sign) > 30 else b"")
    assert len(signs) == 5


def test_a_drawing_without_the_sign_of_its_color_gets_it(tmp_path: Path):
    (tmp_path / "lava.svg").write_text(
        '<svg viewBox="0 0 10 10"><rect width="10" height="10" fill="{{fill}}"/></svg>'
    )
    (tmp_path / "rock.svg").write_text(
        '<svg viewBox="0 0 10 10"><rect width="10" height="10" fill="#808080"/></svg>'
    )
    for size in (8, 48):
        sheet = SpriteSheet([tmp_path])
        assert np.ptp(pixels(sheet.get("lava", 0, size)), (0, 1)).max() == 0
        corners = [gray(sheet.get("lava", color, size)) for color in range(1, 5)]
        for one, other in combinations(corners, 2):
            half = slice(size // 2, None)
            assert (np.abs(np.diff(one[half, half])) > 20).any()
            assert (np.abs(one - one[0, 0] - other + other[0, 0]) > 20).any()
        assert np.ptp(pixels(sheet.get("rock", 3, size)), (0, 1)).max() == 0


# What is left of linear red, green and blue where one kind of receptor is missing: Machado,
# Oliveira and Fernandes 2009, severity 1.0.
CONES = {
    "red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "green": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


def linear(color: str) -> NDArray[np.float64]:
    """(3,) red, green and blue light of `#rrggbb`."""
    value = np.array(pygame.Color(color)[:3]) / 255
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def lightness_and_hue(light: NDArray[np.float64]) -> NDArray[np.float64]:
    """(3,) CIE L*a*b* of linear red, green and blue."""
    to_xyz = [[0.4339, 0.3763, 0.1899], [0.2126, 0.7152, 0.0722], [0.0177, 0.1095, 0.8728]]
    x, y, z = np.cbrt(np.clip(np.array(to_xyz) @ light, 0.009, 1))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("missing", CONES)
def test_the_safe_palette_is_told_apart_with_every_kind_of_color_blindness(missing: str):
    seen = [
        lightness_and_hue(np.clip(np.array(CONES[missing]) @ linear(shades.fill), 0, 1))
        for shades in PALETTES["colour-blind safe"]
    ]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 18


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_is_legible_on_every_ground_of_its_theme(theme: Theme):
    def contrast(one: str, other: str) -> float:
        """As WCAG 2 has it; 4.5 is enough for small text."""
        low, high = sorted(linear(c) @ (0.2126, 0.7152, 0.0722) + 0.05 for c in (one, other))
        return float(high / low)

    texts = (theme.text, theme.muted, theme.accent, theme.gain, theme.loss)
    grounds = (theme.background, theme.card, theme.well)
    assert min(contrast(text, ground) for text in texts for ground in grounds) >= 4.5
    assert contrast(theme.on_accent, theme.accent) >= 4.5
    assert contrast(theme.on_select, theme.select) >= 7


def test_agent_points_where_it_looks():
    # The nose: the side on which only the middle is covered.
    up, down, left, right = (
        pygame.surfarray.array_alpha(SHEET.get("agent", 0, 48, turn)).T > 128 for turn in range(4)
    )
    assert up[3].sum() < up[-5].sum() / 2
    assert np.array_equal(down, up[::-1, ::-1])
    assert np.array_equal(left, np.rot90(up))
    assert np.array_equal(right, np.rot90(up, -1))


def test_sprites_are_drawn_not_magnified():
    small = pygame.transform.scale(SHEET.get("key", 4, 16), (96, 96))
    assert (pixels(small) != pixels(SHEET.get("key", 4, 96))).any()


def test_own_sprites(tmp_path: Path):
    red = '<svg xmlns="http://www.w3.org/2000/svg" width="10" height="10"><!-- {{dark}} --><rect '
    (tmp_path / "lava.svg").write_text(red + 'width="10" height="10" fill="{{fill}}"/></svg>')
    (tmp_path / "key.svg").write_text(red + 'width="10" height="10" fill="#ff0000"/></svg>')
    sheet = SpriteSheet([tmp_path])
    lava = pixels(sheet.get("lava", 3, 40))
    assert (lava[:20] == pygame.Color(PALETTES["standard"][3].fill)[:3]).all()
    assert np.array_equal(pixels(sheet.get("key", 1, 20)), pixels(SHEET.get("key", 1, 20)))


def test_a_sprite_that_is_nowhere_and_a_color_that_is_none():
    assert np.array_equal(pixels(SHEET.get("no such", 2, 24)), pixels(SHEET.get("unknown", 2, 24)))
    assert np.array_equal(pixels(SHEET.get("key", 77, 24)), pixels(SHEET.get("key", 0, 24)))


def test_a_broken_drawing_is_named(tmp_path: Path):
    (tmp_path / "lava.svg").write_text("<html>")
    with pytest.raises(ValueError, match=r"lava\.svg"):
        SpriteSheet([tmp_path]).get("lava", 0, 16)


# Grids


def test_every_cell_shows_its_object():
    grid = np.zeros((4, 5, 3), np.uint8)
    grid[..., 0] = 2
    grid[0, 4] = (3, 0, 0)
    grid[3, 1] = (5, 1, 2)
    seen = np.ones((4, 5), np.bool_)
    seen[3] = False
    found = pixels(draw_grid(grid, 20, SHEET, names, seen))
    assert found.shape == (80, 100, 3)
    for (y, x), name, color, lit in (
        ((0, 4), "wall", 0, True),
        ((1, 1), "floor", 0, True),
        ((3, 1), "door_closed", 2, False),
        ((3, 4), "floor", 0, False),
    ):
        cell = found[y * 20 : y * 20 + 20, x * 20 : x * 20 + 20]
        assert np.array_equal(cell, pixels(SHEET.tile(name, color, 20, lit)))
    assert gray(SHEET.tile("floor", 0, 20, False)).max() < gray(SHEET.tile("floor", 0, 20)).min()


@pytest.mark.parametrize("cell", [1, 2, 8, 30])
def test_the_agent_is_drawn_in_its_cell_and_nowhere_if_outside(cell: int):
    grid = np.full((30, 40, 3), (2, 0, 0), np.uint8)
    bare = pixels(draw_grid(grid, cell, SHEET, names))
    changed = (pixels(draw_grid(grid, cell, SHEET, names, agent=(20, 10, 0))) != bare).any(2)
    y, x = np.nonzero(changed)
    assert abs(y.mean() - 20.5 * cell) <= max(1, cell / 8)
    assert abs(x.mean() - 10.5 * cell) <= max(1, cell / 8)
    assert np.ptp(y) < max(cell, SMALLEST_AGENT)
    for outside in ((-1, 3), (30, 3), (3, -1), (3, 40)):
        assert (pixels(draw_grid(grid, cell, SHEET, names, agent=(*outside, 0))) == bare).all()


def test_views_side_by_side():
    frame = a_frame(5, 6, (7, 3))
    picture = Views(SHEET, names, cell=16).draw(frame)
    assert picture.dtype == np.uint8
    assert picture.shape == (7 * 16, (6 + 3) * 16 + 8, 3)
    view = draw_grid(frame.observation, 16, SHEET, names, agent=(6, 1, 0))
    # SDL rounds half-transparent edges differently where pixels have 24 bits
    assert np.abs(picture[:, 6 * 16 + 8 :] - pixels(view)).max() <= 1
    assert (picture[5 * 16 :, : 6 * 16] == pygame.Color(DARK.background)[:3]).all()


def test_pictures_need_no_display():
    code = (
        "import sys, numpy as np\n"
        "from gv_engine.frontend.drawing import *\n"
        "from gv_engine.frontend.sprites import SpriteSheet, pygame\n"
        "from gv_engine.frontend.views import Views\n"
        "grid = np.full((3, 3, 3), 2, np.uint8)\n"
        "frame = Frame('', grid, (1, 1, 0), (0, 0, 0), grid[..., 0] == 2, grid, (2, 1))\n"
        "draw_frame(frame, (400, 300), SpriteSheet(), lambda kind, state: 'floor')\n"
        "Views(SpriteSheet(), lambda kind, state: 'floor').draw(frame)\n"
        "print(pygame.display.get_init())\n"
    )
    hidden = ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_VIDEO_DRIVER")
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


# Layout


def parts(at: Layout) -> dict[str, pygame.Rect]:
    return {name: rect for name, rect in at._asdict().items() if name != "panel"}


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("view", VIEWS, ids=str)
def test_parts_are_inside_and_apart(
    size: tuple[int, int], grid: tuple[int, int], view: tuple[int, int]
):
    for key_lines in (0, 1, 3):
        at = layout(size, grid, view, key_lines)
        whole = pygame.Rect(0, 0, *size)
        for name, rect in parts(at).items():
            assert whole.contains(rect), name
            assert at.panel.contains(rect) == (name in Layout._fields[7:]), name
            assert min(rect.size) > 0 or name == "keys", name
        for (one, a), (other, b) in combinations(parts(at).items(), 2):
            assert not a.colliderect(b), (one, other)
        for name in Layout._fields[:5]:
            assert not at.panel.colliderect(getattr(at, name)), name
        assert at.terms.h >= line_height(size)


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_cells_are_whole_pixels(size: tuple[int, int], grid: tuple[int, int]):
    at = layout(size, grid, (7, 7))
    for rect, (rows, columns) in ((at.state, grid), (at.view, (7, 7))):
        if rect.w >= columns and rect.h >= rows:
            assert rect.w % columns == rect.h % rows == 0
            assert rect.w // columns == rect.h // rows


def test_state_is_left_of_the_observation_or_above_it():
    at = layout((1000, 640), (9, 9), (7, 7))
    assert at.state.right < at.view.left
    assert at.state.w >= 500
    assert at.view.w >= 300
    at = layout((600, 1000), (9, 9), (7, 7))
    assert at.state.bottom < at.view.top


def test_too_small_a_picture_is_refused():
    with pytest.raises(ValueError, match="320 × 240"):
        layout((319, 240), (9, 9), (7, 7))


# Whole pictures

UGLY = {
    "plain": {},
    "long": {
        "title": "A very long title " * 40,
        "message": "and a message " * 40,
        "action": "AN_ACTION_" * 20,
        "terms": {f"reward_number_{n}_" * 3: float(n % 3 - 1) for n in range(40)},
        "reward": -123456789.123,
        "total": float("nan"),
        "steps": 10**9,
        "max_steps": 10**12,
        "outcome": "terminated",
    },
    "odd": {"title": "two\nlines\0and\ttab 名前", "action": "", "terms": {}, "item": (0, 0, 0)},
}


@pytest.mark.parametrize("size", [size for size in SIZES if size[0] < 3000], ids=str)
@pytest.mark.parametrize("grid", [(4, 4), (9, 9), (3, 9), (64, 64), (200, 200)], ids=str)
@pytest.mark.parametrize("ugly", UGLY)
def test_nothing_is_drawn_outside_its_part(size: tuple[int, int], grid: tuple[int, int], ugly: str):
    frame = replace(a_frame(*grid), **UGLY[ugly])  # type: ignore[arg-type]
    surface = draw_frame(frame, size, SHEET, names, keys=KEYS, again="R: play again")
    assert surface.get_size() == size
    line = line_height(size)
    lines = len(lettering.wrapped(KEYS, line * 7 // 8, size[0] - 2 * line))
    at = layout(size, grid, (7, 7), lines)
    found = pixels(surface)
    rest = np.ones(found.shape[:2], np.bool_)
    for rect in (*parts(at).values(), at.panel):
        rest[rect.y : rect.bottom, rect.x : rect.right] = False
    assert (found[rest] == pygame.Color(DARK.background)[:3]).all()

    inner = at.panel.inflate(-line, -line)
    rest[inner.y : inner.bottom, inner.x : inner.right] = True
    for rect in parts(at).values():
        rest[rect.y : rect.bottom, rect.x : rect.right] = False
    rest[: at.panel.y] = rest[:, : at.panel.x] = False
    rest[at.panel.bottom :] = rest[:, at.panel.right :] = False
    assert (found[rest] == pygame.Color(DARK.card)[:3]).all()


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"title": "Another"}, {"title"}),
        ({"item": (6, 0, 1)}, {"item"}),
        ({"item": (0, 0, 0)}, {"item"}),
        ({"action": "TURN_LEFT"}, {"action"}),
        ({"steps": 13}, {"steps"}),
        ({"max_steps": None}, {"steps"}),
        ({"reward": 1.0}, {"reward"}),
        ({"total": 1.0}, {"total"}),
        ({"terms": {"living_reward": 0.0}}, {"terms"}),
        ({"outcome": "terminated"}, {"banner"}),
        ({"outcome": "truncated"}, {"banner"}),
        ({"message": "A note"}, {"banner"}),
        ({"agent": (2, 3, 0)}, {"state"}),
        ({"agent": (1, 1, 2)}, {"state"}),
        ({"seen": np.ones((9, 9), np.bool_)}, {"state"}),
        ({"observer": (3, 3)}, {"view"}),
        ({"observer": (99, 0)}, {"view"}),
    ],
    ids=str,
)
def test_what_changes_is_shown_in_its_place(change: dict[str, object], where: set[str]):
    size = (1000, 640)
    before = pixels(draw_frame(a_frame(), size, SHEET, names))
    after = pixels(draw_frame(replace(a_frame(), **change), size, SHEET, names))  # type: ignore[arg-type]
    differs = (before != after).any(2)
    at = layout(size, (9, 9), (7, 7), 0)
    changed = {
        name
        for name, rect in parts(at).items()
        if differs[rect.y : rect.bottom, rect.x : rect.right].any()
    }
    assert changed == where


def test_terminated_and_truncated_differ_and_say_how_to_play_on():
    def banner(outcome: str, again: str) -> bytes:
        frame = replace(a_frame(), outcome=outcome)
        surface = draw_frame(frame, (1000, 640), SHEET, names, again=again)
        return pixels(surface.subsurface(layout((1000, 640), (9, 9), (7, 7), 0).banner)).tobytes()

    cases = [
        ("", ""),
        ("terminated", ""),
        ("terminated", "R"),
        ("truncated", ""),
        ("truncated", "R"),
    ]
    assert len({banner(*case) for case in cases}) == len(cases)
    assert banner("", "R") == banner("", "")


def test_terms_that_are_not_zero_stand_out_and_come_first():
    many = {f"term_{n}": 0.0 for n in range(50)} | {"the_one": -1.0}
    size = (1000, 640)
    terms = layout(size, (9, 9), (7, 7), 0).terms
    colors = {
        tuple(color)
        for color in pixels(
            draw_frame(replace(a_frame(), terms=many), size, SHEET, names).subsurface(terms)
        ).reshape(-1, 3)
    }
    assert tuple(pygame.Color(DARK.loss)[:3]) in colors
    assert tuple(pygame.Color(DARK.text)[:3]) in colors
    assert tuple(pygame.Color(DARK.muted)[:3]) in colors


@pytest.mark.parametrize("text", ["", "i", "W" * 3, "word " * 50, "é" * 100, "\n"])
@pytest.mark.parametrize("width", [1, 7, 30, 200])
def test_text_keeps_to_its_width(text: str, width: int):
    for line in (9, 11, 16, 40):
        short = lettering.shortened(text, line, width)
        assert lettering.font(line).size(short)[0] <= width or not short
        assert short == text or short.endswith("...") or not short


def test_pictures_after_pygame_has_quit():
    first = pixels(draw_frame(a_frame(), (400, 300), SHEET, names))
    for ended in (pygame.quit, pygame.font.quit):
        ended()
        assert np.array_equal(pixels(draw_frame(a_frame(), (400, 300), SHEET, names)), first)
    pygame.quit()
    pygame.font.init()
    assert np.array_equal(pixels(draw_frame(a_frame(), (400, 300), SHEET, names)), first)


def test_drawing_onto_a_surface_gives_the_same_picture():
    onto = pygame.Surface((500, 400))
    onto.fill((255, 0, 0))
    assert draw_frame(a_frame(), (500, 400), SHEET, names, onto=onto) is onto
    assert np.array_equal(pixels(onto), pixels(draw_frame(a_frame(), (500, 400), SHEET, names)))
