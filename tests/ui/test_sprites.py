"""Sprites and pictures, without a window."""

import json
import re
from dataclasses import replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from components.core import NONE_GRID_OBJECT
from components.objects import built_in_types
from gv_engine import Scenario
from gv_engine.cli.new import write_starter_project
from gv_engine.play.editor.document import EditorDocument
from gv_engine.play.editor.text_buffer import TextBuffer
from gv_engine.play.grid.board import EditorMapView, make_renderer
from gv_engine.play.session.session import Session
from gv_engine.play.session.sprite_paths import (
    THEME_FOLDERS,
    SpriteError,
    find_broken_sprites,
    find_missing_sprites,
    find_unused_files,
    list_sprite_names,
    read_svg,
    sprite_sources,
)
from gv_engine.play.ui.colors import PALETTES, THEMES, Theme
from gv_engine.play.ui.drawing.sprites import SpriteSheet, pygame
from gv_engine.plugins.web.page import _read_sprites
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.storage.resources import ASSETS, SCENARIOS
from tests.boards import RULES, scenario

FILES = sorted((ASSETS / "sprites").glob("**/*.svg"))
SPRITES = sorted({file.stem for file in FILES} - {"mark"})
SHOWN = {
    kind.sprite_of(state): kind
    for kind in built_in_types()
    if kind.index != NONE_GRID_OBJECT
    for state in range(kind.num_states)
}
COLORED = [name for name, kind in SHOWN.items() if kind.colored]
SHEETS = {palette: SpriteSheet(palette=palette) for palette in PALETTES}
SHEET = SHEETS["standard"]


def pixels(surface: pygame.Surface) -> NDArray[np.int64]:
    """(height, width, 3)"""
    return pygame.surfarray.array3d(surface).swapaxes(0, 1).astype(int)


def gray(surface: pygame.Surface) -> NDArray[np.float64]:
    """(height, width), 0 to 255: what a picture is to someone who sees no colours."""
    luma: NDArray[np.float64] = pixels(surface) @ np.array([0.299, 0.587, 0.114])
    return luma


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_drawing_uses_only_what_sdl_draws(file: Path):
    text = file.read_text("utf-8")
    assert set(re.findall(r"{{(.*?)}}", text)) <= set(PALETTES["standard"][0]._fields)
    assert not re.search(r"<(text|style|filter|mask|image|use)\b|\bclass=", text)
    # In SDL_image's nanosvg gradients that are relative to the shape come out in one colour.
    assert text.count("Gradient id") == text.count('gradientUnits="userSpaceOnUse"')


@pytest.mark.parametrize("name", SPRITES)
def test_a_sprite_has_the_size_asked_for(name: str):
    for size in (1, 2, 5, 16, 33, 96):
        assert SHEET.get(name, 1, size).get_size() == (size, size)
        assert SHEET.tile(name, 1, size).get_size() == (size, size)
        assert SHEET.get(name, 1, size) is SHEET.get(name, 1, size)


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("name", sorted(set(SPRITES) - {"floor"}))
def test_a_sprite_differs_from_the_floor(name: str, size: int):
    away = np.abs(pixels(SHEET.tile(name, 0, size)) - pixels(SHEET.tile("floor", 0, size))).max(2)
    assert (away > 40).mean() > 0.15


@pytest.mark.parametrize("size", [8, 16])
def test_sprites_differ_without_colors(size: int):
    grays = {name: gray(SHEET.tile(name, 1, size)) for name in SPRITES}
    for one, other in combinations(SPRITES, 2):
        away = np.abs(grays[one] - grays[other])
        assert (away > 25).mean() > 0.08, f"{one} and {other}"


def test_everything_has_a_sprite_not_seen_is_dark_everywhere_and_floor_is_light():
    assert {"agent", "other_agent", "own_agent", "unknown", *SHOWN} == set(SPRITES)
    assert gray(SHEET.tile("hidden", 0, 32)).max() < 70
    assert gray(SHEET.tile("floor", 0, 32)).min() > 140


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("name", COLORED)
def test_colors_differ_in_shape(name: str, palette: str):
    """Dark against light, whichever is which: the emblem, not the lightness of the colour."""
    shapes = {}
    for color, called in enumerate(COLORS):
        emblem = gray(SHEETS[palette].tile(name, color, 48))[9:25, 16:32]
        low, high = np.percentile(emblem, (2, 98))
        # An area of one lightness has no shape, be it shaded a little.
        shapes[called] = emblem > (low + high) / 2 if high - low > 50 else np.zeros((16, 16), bool)
    for one, other in combinations(shapes, 2):
        same = (shapes[one] == shapes[other]).mean()
        assert max(same, 1 - same) < 0.95, f"{one} and {other}"


@pytest.mark.parametrize("palette", PALETTES)
@pytest.mark.parametrize("name", COLORED)
def test_colors_of_small_cells_differ_in_whole_pixels(name: str, palette: str):
    """In light and dark, whichever is which."""
    text = (ASSETS / "sprites" / "small" / f"{name}.svg").read_text("utf-8")
    left, top = map(int, re.findall(r"translate\((\d) (\d)\)", text)[0])
    signs = set()
    for color in range(len(COLORS)):
        cell = gray(SHEETS[palette].tile(name, color, 8))
        sign = cell[top : top + 4, left : left + 4]
        signs.add((sign > (sign.min() + sign.max()) / 2).tobytes() if np.ptp(sign) > 30 else b"")
    assert len(signs) == len(COLORS)


def test_a_drawing_without_the_sign_of_its_color_gets_it(tmp_path: Path):
    square = '<svg viewBox="0 0 10 10"><rect width="10" height="10" fill="%s"/></svg>'
    for name, fill in (("lava", "{{fill}}"), ("rock", "#808080")):
        (tmp_path / f"{name}.svg").write_text(square % fill)
    for size in (8, 48):
        sheet = SpriteSheet([tmp_path])
        assert np.ptp(pixels(sheet.get("lava", 0, size)), (0, 1)).max() == 0
        corners = [gray(sheet.get("lava", color, size)) for color in range(1, len(COLORS))]
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


VISIONS = {"all": np.eye(3).tolist(), **CONES}


def difference(vision: str, one: str, other: str) -> float:
    """Distance in CIE L*a*b* of two colours `#rrggbb` to people with this vision."""
    matrix = np.array(VISIONS[vision])
    seen = (lightness_and_hue(np.clip(matrix @ linear(color), 0, 1)) for color in (one, other))
    return float(np.linalg.norm(next(seen) - next(seen)))


def contrast(one: str, other: str) -> float:
    """As WCAG 2 has it; 4.5 is enough for small text."""
    low, high = sorted(linear(c) @ (0.2126, 0.7152, 0.0722) + 0.05 for c in (one, other))
    return float(high / low)


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("theme", ["", *THEME_FOLDERS])
def test_walls_and_objects_of_all_colors_stand_out_from_the_floor(theme: str, vision: str):
    sheet = SpriteSheet([THEME_FOLDERS[theme]] if theme else [])
    for size in (8, 48):
        floor, wall = (
            "#{:02x}{:02x}{:02x}".format(*sheet.tile(name, 0, size).get_at((size // 2,) * 2))
            for name in ("floor", "wall")
        )
        assert difference(vision, floor, wall) > 20
        for shades in chain(*PALETTES.values()):  # a sprite has a fill, a dark edge and a highlight
            drawn = shades.fill, shades.dark, shades.light
            assert max(difference(vision, floor, shade) for shade in drawn) > 30


@pytest.mark.parametrize("vision", VISIONS)
@pytest.mark.parametrize("palette", PALETTES)
def test_colors_that_look_alike_have_other_signs(palette: str, vision: str):
    alike = 0
    for one, other in combinations(PALETTES[palette], 2):
        if difference(vision, one.fill, other.fill) < 20:
            alike += 1
            assert one.emblem != other.emblem
            assert one.sign != other.sign
    assert (alike > 0) == (palette == "standard" and vision != "all")


@pytest.mark.parametrize("palette", PALETTES)
def test_letters_on_a_color_are_legible(palette: str):
    for shades in PALETTES[palette]:
        assert contrast(shades.ink, shades.fill) >= 4.5
        for theme, shade in (("dark", shades.light), ("light", shades.dark)):  # in the terminal
            grounds = THEMES[theme].card, THEMES[theme].background
            assert min(contrast(shade, ground) for ground in grounds) >= 4.5


def test_numbers_on_the_tiles_of_2048_are_legible():
    files = sorted((SCENARIOS / "2048").glob("tile_*.svg"))
    assert len(files) == 11
    for file in files:
        text = file.read_text("utf-8")
        fill = re.findall(r'fill="(#\w{6})"', text)
        assert contrast(fill[-1], *set(re.findall(r'stroke="(#\w+)"', text))) >= 4.5


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_is_legible_on_every_ground_of_its_theme(theme: Theme):
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
    assert (pixels(sheet.get("key", 1, 20)) == (255, 0, 0)).all()


def test_a_sprite_that_is_nowhere_and_a_color_that_is_none():
    assert np.array_equal(pixels(SHEET.get("no such", 2, 24)), pixels(SHEET.get("unknown", 2, 24)))
    assert np.array_equal(pixels(SHEET.get("key", 77, 24)), pixels(SHEET.get("key", 0, 24)))


def test_a_type_of_text_without_a_drawing_is_a_tile_with_its_letters():
    objects = {"Lampion": {"states": ["OFF", "ON"]}, "Coin": {"sprite": "key"}}
    played = scenario(">.", objects=objects)
    sheet = SpriteSheet(types=played.types)
    off, on = (pixels(sheet.get(f"lampion_{state}", 1, 40)) for state in ("off", "on"))
    assert (off != on).any()
    assert (off != pixels(sheet.get("lampion_off", 2, 40))).any()
    assert (off != pixels(sheet.get("unknown", 1, 40))).any()
    (said,) = find_missing_sprites(played)
    assert said.startswith("<mapping>: objects.Lampion: no lampion_off.svg, lampion_on.svg beside ")
    assert said.endswith("so it is a tile with Lo, Ln")


def test_tiles_of_different_types_have_different_letters():
    objects: dict[str, Any] = {name: {} for name in ("Onion", "Onions", "Net")}
    played = scenario(">.", objects=objects)
    sheet = SpriteSheet(types=played.types)
    tiles = {pixels(sheet.get(name, 1, 40)).tobytes() for name in ("onion", "onions", "net")}
    assert len(tiles) == 3
    letters = [said.rpartition(" ")[2] for said in find_missing_sprites(played)]
    assert letters == ["O", "N", "E"]


@pytest.mark.parametrize("folder", [".", "small"])
def test_every_drawing_of_an_author_is_looked_into(tmp_path: Path, folder: str):
    write_starter_project(tmp_path / "cave")
    played = Scenario.load(tmp_path / "cave")
    assert list(find_broken_sprites(played)) == []
    (name, *_) = (kind.sprite_of(0) for kind in played.types if kind.name == "Rubble")
    file = tmp_path / "cave" / folder / f"{name}.svg"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("<html/>")
    (said,) = find_broken_sprites(played)
    assert said == f"{file}: no SVG drawing: found <html>, expected <svg>"


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        *((raw, "no SVG drawing, or a part of one") for raw in (b"hello", b"<svg", b"\xff")),
        (b'<svg viewBox="0 0 9 9"><rect ', "no SVG drawing, or a part of one"),
        (b'<!DOCTYPE svg [<!ENTITY a "ha">]><svg>&a;</svg>', "its DOCTYPE declares entities"),
        (b'<!DOCTYPE svg [<!ATTLIST g a CDATA "b">]><svg/>', "its DOCTYPE declares entities"),
        (b"<svg>" + b"<g>" * 60 + b"</g>" * 60 + b"</svg>", "nested deeper than 50 levels"),
        (b'<svg><path stroke-dasharray="0.01"/></svg>', "it has a stroke-dasharray"),
        (b'<svg><path style="stroke-dasharray: .01"/></svg>', "it has a stroke-dasharray"),
        (b'<svg><path style="/**/stroke-dasharray/**/:1"/></svg>', "it has a stroke-dasharray"),
        (b"<html></html>", "found <html>, expected <svg>"),
        (b'<svg><radialGradient id="a" href="#a"/></svg>', "a gradient with href"),
        (b'<svg><path stroke-width="201"/></svg>', "stroke-width has 201: more than 200"),
        (b'<svg><g transform="scale(9)"><path d="M0 223"/></g></svg>', "223: more than 2000"),
        (b'<svg><path d="M0 1e9"/></svg>', "d has 1e9: more than 2000 pixels in a sprite"),
        (b'<svg><g transform="xscale(2)"/></svg>', "a transform 'xscale'"),
        (b'<svg viewBox="0 0 48 48"><svg width="9000"/></svg>', "an <svg> within another"),
        (b'<svg viewBox="0 0 0.1 0"/>', "a viewBox needs 4 numbers"),
    ],
)
def test_what_is_no_drawing_is_told(tmp_path: Path, raw: bytes, says: str):
    (tmp_path / "lava.svg").write_bytes(raw)
    with pytest.raises(SpriteError, match=f"lava.svg: .*{says}"):
        SpriteSheet([tmp_path]).get("lava", 0, 32)


@pytest.mark.parametrize(
    "svg",
    [
        '<?x <svg >?><svg width="9000" height="9000">{}</svg>',  # of 9000 x 9000 pixels before
        '<!-- <svg > --><svg width="900" height="900" style="width:9000">{}</svg>',
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><text>a</text>{}</svg>',
    ],
)
def test_drawings_have_the_size_of_the_cell(tmp_path: Path, svg: str):
    rect = '<rect style="fill: red; x: 1" width="100%" height="100%" stroke="{{count}}"/>'
    (tmp_path / "lava.svg").write_text(svg.format(rect))
    surface = SpriteSheet([tmp_path]).get("lava", 0, 32)
    assert surface.get_size() == (32, 32)
    assert tuple(surface.get_at((16, 16))) == (255, 0, 0, 255)


def test_a_drawing_may_have_a_side_of_one(tmp_path: Path):
    (tmp_path / "lava.svg").write_text('<svg viewBox="0 0 1 1"><rect width="1" height="1"/></svg>')
    assert read_svg(tmp_path / "lava.svg").startswith('<svg viewBox="0 0 1 1"')


PLAIN = '<svg viewBox="0 0 1 1"><rect width="1" height="1" fill="#123456"/></svg>'
PLAIN_COLOR = 0x12, 0x34, 0x56


def draw_in_editor(document: EditorDocument, cell: int = 32) -> NDArray[np.int64]:
    """The map of the level as the editor draws it, with the cursor in its first cell."""
    height, width = document.map.shape
    surface = pygame.Surface((width * cell, height * cell))
    view = EditorMapView(THEMES["dark"], document.sprite_sources, document.vocabulary.types)
    view.draw(surface, surface.get_rect(), cell // 2, document.map, (0, 0))
    return pixels(surface)


def write_level(folder: Path, *files: str, **changes: Any) -> Scenario:
    """Write a scenario with these files beside it, each a plain drawing, and load it."""
    folder.mkdir(exist_ok=True)
    for file in files:
        (folder / file).write_text(PLAIN)
    text = {**RULES, "map": "#####\n#>KE#\n#####", "objects": {"Ghost": {}}, **changes}
    rules = [rule for rule in text["transition_functions"] if isinstance(rule, str)]
    (folder / "scenario.yaml").write_text(json.dumps({**text, "transition_functions": rules}))
    return Scenario.load(folder)


@pytest.mark.parametrize("name", list_sprite_names(built_in_types()))
@pytest.mark.parametrize("size", [8, 32])
def test_a_level_brings_its_own_drawing_of_everything(tmp_path: Path, name: str, size: int):
    played = write_level(tmp_path, f"{name}.svg")
    sheet = SpriteSheet(sprite_sources(played), types=played.types)
    assert (pixels(sheet.get(name, 0, size)) == PLAIN_COLOR).all()
    assert dict(_read_sprites([played], [*played.types]))[name] == read_svg(
        tmp_path / f"{name}.svg"
    )


def test_own_drawings_of_walls_floor_exit_and_agent_are_in_every_picture(tmp_path: Path):
    played = write_level(tmp_path, *(f"{name}.svg" for name in ("wall", "floor", "exit", "agent")))
    frame = replace(Session(played, 0).frame(), is_dim=False)
    document = EditorDocument(TextBuffer.load(tmp_path / "scenario.yaml"))
    pictures = {
        "record": make_renderer(played, "state", 32)(frame),
        "editor": draw_in_editor(document),
    }
    for name, picture in pictures.items():
        own = np.asarray(picture == PLAIN_COLOR).all(-1).reshape(3, 32, 5, 32).all((1, 3))
        assert own.tolist() == [[True] * 5, [True, True, False, True, True], [True] * 5], name


def test_files_that_nothing_uses_are_told(tmp_path: Path):
    names = "Wall.svg", "wall.SVG", "exit.png", "bump.wav", "ghots.svg", "wagon.svg", "ghost.svg"
    played = write_level(tmp_path, *names, "screenshot.png", "song.mp3")
    said = [message.removeprefix(f"{tmp_path}/") for message in find_unused_files(played)]
    assert said == [
        "Wall.svg: not used; the drawing has to be the SVG file wall.svg",
        "bump.wav: not used; levels have no sounds of their own",
        "exit.png: not used; the drawing has to be the SVG file exit.svg",
        "ghots.svg: not used, as nothing has this name; did you mean 'ghost'?",
        "wagon.svg: not used, as nothing has this name",
        "wall.SVG: not used; the drawing has to be the SVG file wall.svg",
    ]
    (tmp_path / "scenario.yaml").rename(tmp_path / "one.yaml")
    said = [*find_unused_files(Scenario.load(tmp_path / "one.yaml"))]
    assert len(said) == 5  # wagon.svg may be of another level
