"""Sprites from SVG files and text from fonts, as cached pygame surfaces.

A sprite is a file `<name>.svg`, and `small/<name>.svg` a simpler drawing of 8 × 8 whole pixels for
cells smaller than 16 pixels. These placeholders in the text are filled in before the SVG is
rendered: `{{fill}}`, `{{dark}}`, `{{light}}` (three shades of the object's colour), `{{ink}}` (a
colour with contrast to fill), `{{emblem}}` and, in small sprites, `{{sign}}` (path data of the
colour's symbol, see `gv_engine.play.ui.colors`). A coloured sprite without a symbol gets the symbol
in a corner. SDL renders a part of SVG: shapes, paths, strokes, gradients and transforms; no text,
style sheets, masks or filters.
"""

from __future__ import annotations

import os
import re
import unicodedata
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property, lru_cache
from io import BytesIO
from itertools import chain, groupby, product
from pathlib import Path
from typing import Any

import numpy as np
import pygame as pygame  # re-exported: its greeting is off now
from numpy.typing import NDArray
from pygame import Rect as Rect
from pygame import freetype

from components.core import FLOOR, HIDDEN
from gv_engine.play.session import sprite_paths
from gv_engine.play.session.sprite_paths import SpriteSource
from gv_engine.play.ui.colors import PALETTES, Shades
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.scenario.readers.appearance import SPRITES, combined_name

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # pygame greets on import


ANGLES = (0, 180, 90, -90)  # counterclockwise: FORWARD, BACKWARD, LEFT, RIGHT
MIN_WORD_SIZE = 24  # pixels: smaller cells show two letters of a word
SMALL = 16  # pixels: smaller cells show the small sprites
MAX_CACHED_SIZES = 8  # resizing a window asks for a new size at every step

PLACEHOLDER = re.compile(f"{{{{({'|'.join(Shades._fields)})}}}}")
SYMBOL_PLACEHOLDER = re.compile(r"{{(emblem|sign)}}")

# (H, W) appearance of cells: from the lowest byte type, state, colour and 1 if lit; on uint64 also
# type, state and colour of the ground object, 0 for none, and joined edges, see `add_joins`.
CellCodes = NDArray[np.uint32] | NDArray[np.uint64]

LowerSprite = tuple[str, int]  # name and colour of an object below a sprite


class SpriteSheet:
    """Sprite surfaces by name, colour, size and turn; each is rendered once and cached.

    Args:
        sources: the author's sprites and theme, see `sprite_paths.sprite_sources`.
        palette: key of `PALETTES`.
        types: object types, for the names and letters of sprites.
    """

    def __init__(
        self,
        sources: Iterable[SpriteSource] = (),
        palette: str = "standard",
        types: ObjectTypes = OBJECT_TYPES,
    ) -> None:
        self._palette = PALETTES[palette]
        self._types = types
        self._own_sources = tuple(sources)
        self._all_sources = sprite_paths.with_builtin_folders(self._own_sources)
        self._texts: dict[tuple[str, bool], tuple[Path | str, str]] = {}  # file and SVG text
        # sprites by arguments of `get` or `tile`, for each size
        self._cache_by_size: dict[int, dict[tuple[object, ...], pygame.Surface]] = {}

    def sprite_name(self, type_index: int, state: int) -> str:
        """Return the name of the sprite for the object type with index `type_index` in the state
        with index `state`."""
        kind = self._types[type_index]
        return kind.sprite_of(min(state, kind.num_states - 1))

    @cached_property
    def _joining(self) -> NDArray[np.bool_]:
        """(256,) True for the indices of the types whose sprites have edges, such as walls."""
        is_joining = np.zeros(256, np.bool_)
        for kind in self._types:
            text = self._load_source(kind.sprite_of(0), False)[1] if kind.in_grid else ""
            is_joining[kind.index] = sprite_paths.EDGE_PART.search(text) is not None
        return is_joining

    def add_joins(self, codes: CellCodes) -> CellCodes:
        """Return cell codes whose highest byte tells at which edges the cell joins its neighbours
        (`sprite_paths.EDGES`), such as wall to wall. `codes`, (…, H, W), come from `encode_looks`.
        Only types whose sprites have edges join cells of their own type, hidden cells and the
        outside."""
        is_joining = self._joining[codes & 0xFF]
        if not is_joining.any():
            return codes
        kinds = (codes & 0xFF).astype(np.uint8)
        height, width = kinds.shape[-2:]
        around = np.pad(kinds, [(0, 0)] * (kinds.ndim - 2) + [(1, 1), (1, 1)], mode="edge")
        alike = {
            (y, x): (near == kinds) | (near == HIDDEN)
            for y, x in product((-1, 0, 1), repeat=2)
            for near in [around[..., 1 + y : 1 + y + height, 1 + x : 1 + x + width]]
        }
        sides = [alike[side] for side in ((-1, 0), (1, 0), (0, -1), (0, 1))]
        corners = [
            # only an inner corner is left
            alike[y, x] | ~(alike[y, 0] & alike[0, x])
            for y, x in product((-1, 1), repeat=2)
        ]
        joins = np.packbits([*sides, *corners], axis=0, bitorder="little")[0]
        joined: NDArray[np.uint64] = np.where(is_joining, joins, 0).astype(np.uint64) << np.uint64(
            56
        )
        return codes | joined

    def get(
        self,
        name: str,
        color: int,
        size: int,
        turn: int = 0,
        is_lit: bool = True,
        joins: int = 0,
    ) -> pygame.Surface:
        """Return the sprite `name` as a cached, transparent surface of `size` × `size` pixels,
        which callers must not change. `color` is an index into the palette, `turn` is 0 as drawn, 1
        upside down, 2 to the left or 3 to the right, and `is_lit=False` darkens.

        Args:
            name: file name without `.svg`; a missing sprite is shown as `unknown`, or as a tile
                with letters if the type is declared in a scenario file.
            color: colour index; an index beyond the palette counts as 0.
            size: side in pixels, at least 1.
            turn: 0 as drawn, 1 upside down, 2 a quarter to the left, 3 a quarter to the right.
            is_lit: False dims the sprite.
            joins: bits of the edges that are left out, see `sprite_paths.cut_edges`.

        Raises:
            SpriteError: SDL cannot read the file.
            OSError: the file cannot be read.
        """
        if name in sprite_paths.OTHER_AGENTS:
            name, turn = "other_agent", sprite_paths.OTHER_AGENTS[name]
        cache, key = self._get_cache(size), (name, color, turn, is_lit, joins)
        if key not in cache:
            if turn or not is_lit:
                drawn = self.get(name, color, size, joins=joins)
                sprite = pygame.transform.rotate(drawn, ANGLES[turn])
            else:
                sprite = self._render(name, color, size, joins)
            cache[key] = sprite if is_lit else _dim(sprite)
        return cache[key]

    def has_sprite(self, name: str) -> bool:
        """Return True if there is a drawing called `name` of an object or of an author's."""
        unknown = self._load_source("unknown", False)[1]
        is_drawn = self._load_source(name, False)[1] not in (unknown, sprite_paths.TILE)
        return is_drawn and name not in SPRITES

    def agent(self, color: int, size: int, turn: int = 0) -> pygame.Surface:
        """Return the sprite of the agent whose view is drawn, `size` pixels wide; callers must not
        change the surface. `turn` is as for `get`; a `color` other than 0 marks one of several
        agents."""
        return self.get("own_agent" if color else "agent", color, size, turn)

    def tile(
        self,
        name: str,
        color: int,
        size: int,
        is_lit: bool = True,
        lower: Sequence[LowerSprite] = (),
        joins: int = 0,
    ) -> pygame.Surface:
        """Return the sprite `name` drawn on the floor and on the covered objects `lower`, the
        lowest first. The last of them is repeated small in a corner. A sprite for it and the
        uppermost object, such as `crate_on_target`, replaces both.
        The surface is opaque; callers must not change it. `color`, `size`, `is_lit` and `joins` are
        as for `get`."""
        cache, key = self._get_cache(size), ("tile", name, color, is_lit, *lower, joins)
        if key not in cache:
            tile = pygame.Surface((size, size), 0, 32)
            tile.blit(self.get("floor", 0, size), (0, 0))
            covered = lower[-1] if lower else None
            combined = covered and combined_name(name, covered[0])
            if combined and sprite_paths.find_sprite(combined, self._all_sources):
                name, lower, covered = combined, lower[:-1], None
            for below in lower:
                tile.blit(self.get(*below, size), (0, 0))
            if not covered or name != "floor":  # the floor does not hide what lies on it
                tile.blit(self.get(name, color, size, joins=joins), (0, 0))
                if covered and (self._fills_cell(name, color) or not self._fills_cell(*covered)):
                    self.draw_covered(tile, tile.get_rect(), *covered)
            cache[key] = tile if is_lit else _dim(tile)
        return cache[key]

    def _fills_cell(self, name: str, color: int) -> bool:
        return self.get(name, color, SMALL).get_at((0, 0)).a == 255

    def draw_covered(
        self,
        surface: pygame.Surface,
        cell: Rect,
        name: str,
        color: int,
        share: float = 2 / 5,
        corner: tuple[int, int] = (0, 1),
    ) -> None:
        """Draw the sprite of a covered object small into a `corner` (x, y) of the rectangle `cell`,
        by default the lower left one, over `share` of its side; draw nothing if the cell is too
        small."""
        side = int(cell.w * share)
        if side >= sprite_paths.MIN_COVERED_SIZE:
            x, y = corner
            badge = Rect(cell.x + x * (cell.w - side), cell.y + y * (cell.h - side), side, side)
            pygame.draw.rect(surface, sprite_paths.COVERED_GROUND, badge, border_radius=side // 4)
            sprite = self.get(name, color, side * 5 // 6)
            surface.blit(sprite, sprite.get_rect(center=badge.center))

    def draw_under_agent(
        self, surface: pygame.Surface, cell: Rect, appearance: Sequence[int], facing: int
    ) -> None:
        """Draw the object on which an agent stands, small in a corner beside the agent, which looks
        in the direction `facing`. Floor, and ground that is visible around the agent, are not
        drawn. `appearance` is the object's type, state and colour."""
        type_index, state, color = map(int, appearance)
        name = self.sprite_name(type_index, state)
        if type_index > FLOOR and not self._fills_cell(name, color):
            corner = sprite_paths.UNDER_AGENT_CORNERS[facing]
            self.draw_covered(surface, cell, name, color, 1 / 3, corner)

    def _get_cache(self, size: int) -> dict[tuple[object, ...], pygame.Surface]:
        """Return the cache of sprites of `size` pixels; if there are too many sizes, drop the cache
        of the least recently used one."""
        cache = self._cache_by_size.pop(size, {})
        self._cache_by_size[size] = cache  # the size used last is last
        if len(self._cache_by_size) > MAX_CACHED_SIZES:
            del self._cache_by_size[next(iter(self._cache_by_size))]
        return cache

    def _render(self, name: str, color: int, size: int, joins: int) -> pygame.Surface:
        """Return the sprite `name` rendered from its SVG file, not dimmed and not turned. `color`
        is an index into the palette, and `size` the side in pixels."""
        if sprite_paths.STACKED in name:
            picture = pygame.Surface((size, size), pygame.SRCALPHA)
            for part in name.split(sprite_paths.STACKED):
                picture.blit(self.get(part, color, size), (0, 0))
            return picture
        file, text = self._load_source(name, size < SMALL)
        text = sprite_paths.cut_edges(text, joins) if joins else text
        color = color if color < len(self._palette) else 0
        shades = self._palette[color]
        filled = PLACEHOLDER.sub(lambda match: getattr(shades, match[1]), text)
        sized = filled.replace("<svg", f'<svg width="{size}" height="{size}"', 1)
        try:
            sprite = load_svg(sized)
        except pygame.error as error:
            raise sprite_paths.SpriteError(
                f"{file}: SDL cannot read this drawing ({error})"
            ) from error
        if color and "{{fill}}" in text and not SYMBOL_PLACEHOLDER.search(text):
            sprite.blit(self.get("mark", color, size), (0, 0))
        if text is sprite_paths.TILE:
            _draw_letters(sprite, sprite_paths.tile_letters(self._types, name), shades.ink)
        return sprite

    def _load_source(self, name: str, is_small: bool) -> tuple[Path | str, str]:
        """Return the file and the SVG text of the sprite `name`; the simpler one for small cells,
        if there is one and `is_small` is True."""
        if (source := self._texts.get((name, is_small))) is None:
            types, sources = self._types, self._own_sources
            file = sprite_paths.find_sprite_or_word(types, name, sources, is_small)
            if file:
                source = file, sprite_paths.read_svg(file)
            elif sprite_paths.tile_letters(self._types, name):
                source = Path(name), sprite_paths.TILE
            else:
                source = self._load_source("unknown", is_small)
            self._texts[name, is_small] = source
        return source


def _dim(picture: pygame.Surface) -> pygame.Surface:
    pixels = pygame.surfarray.pixels3d(picture)
    matrix = np.array([*sprite_paths.dim_matrix()]).reshape(4, 5)[:3, :3]
    pixels[...] = np.clip(pixels @ matrix.T, 0, 255)
    return picture


def _draw_letters(tile: pygame.Surface, letters: str, color: str) -> None:
    """Draw `letters` in `color` in the middle of the picture `tile`; only the first letter, or the
    first two of a longer word, if the picture is small."""
    pygame.font.init()  # does nothing if already initialised
    size = tile.get_width()
    shown = letters[0] if size < SMALL else letters[:2] if size < MIN_WORD_SIZE else letters
    height = max(8, size * (4 if len(shown) == 1 else 3) // 4)
    if (width := pygame.font.Font(None, height).size(shown)[0]) > (room := size * 4 // 5):
        height = max(8, height * room // width)
    picture = pygame.font.Font(None, height).render(shown, True, color)
    tile.blit(picture, picture.get_rect(center=(size // 2, size // 2)))


def load_svg(text: str) -> pygame.Surface:
    """Return the picture that the SVG `text` describes, in the size of its `width` and `height`.

    Raises:
        pygame.error: SDL cannot read the text.
    """
    return pygame.image.load(BytesIO(text.encode()), "drawing.svg")


# ---- system fonts --------------------------------------------------------------------------------

# not drawn: joiners, marks of direction and the like, variation selectors, skin tones
_INVISIBLE = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
    "\U000e0000-\U000e0fff]|(?<=.)[\U0001f3fb-\U0001f3ff]"
)
_font_files: dict[str, tuple[str, ...]] = {}  # fonts that have a cluster, by cluster


def split_clusters(text: str) -> list[str]:
    """Return the letters of `text`, each with its combining marks."""
    clusters: list[str] = []
    for letter in text:
        if clusters and unicodedata.category(letter).startswith("M"):
            clusters[-1] += letter
        else:
            clusters.append(letter)
    return clusters


def find_font_file(clusters: Sequence[str]) -> str | None:
    """Return the system font file that has glyphs for the most of the letters in `clusters`. None
    if no font has any of them."""
    if missing := [cluster for cluster in clusters if cluster not in _font_files]:
        covered = {file: _find_covered_letters(file, "".join(missing)) for file in _list_fonts()}
        for cluster in missing:
            fitting = (file for file, letters in covered.items() if letters.issuperset(cluster))
            _font_files[cluster] = tuple(fitting)
    counts = Counter(chain.from_iterable(_font_files[cluster] for cluster in clusters))
    return max(counts, key=counts.__getitem__, default=None)


@cache
def _list_fonts() -> list[str]:
    """Return the files of all system fonts, bold and plain ones first, without colour fonts."""
    names = [name for name in pygame.font.get_fonts() if name and "coloremoji" not in name]
    names.sort(key=lambda name: ("sans" not in name and "gothic" not in name, "mono" in name, name))
    files = (pygame.font.match_font(name, bold=True) for name in names)
    return sorted(dict.fromkeys(filter(None, files)), key=lambda file: "bold" not in file.lower())


def _find_covered_letters(file: str, letters: str) -> set[str]:
    """Return those of `letters` that the font `file` can show at any size; none if the file cannot
    be read."""
    try:
        font = freetype.Font(file, 16)
        metrics: Sequence[Any] = font.get_metrics(letters) if font.scalable else ()
    except (OSError, pygame.error):  # listed, and not there or not readable
        return set()
    return {letter for letter, metric in zip(letters, metrics, strict=False) if metric}


# ---- lettering -----------------------------------------------------------------------------------


MIN_LINE_HEIGHT = 14  # pixels: text that does not fit is shortened, not made smaller than this


def draw_text_line(
    surface: pygame.Surface,
    rect: Rect,
    text: str,
    line_height: int,
    color: str,
    align: str = "left",
    is_name: bool = False,
    get_font: Callable[[int], LineFont] | None = None,
) -> int:
    """Draw one line of text into `rect`, centred vertically, and return its width in pixels. Text
    that is too wide is shrunk a little, but to no less than `MIN_LINE_HEIGHT`, then shortened.

    Args:
        surface: surface to draw on.
        rect: rectangle that the text must not leave.
        text: any text; white space is collapsed to single spaces.
        line_height: height of the line, in pixels.
        color: colour of the text.
        align: left, center or right.
        is_name: True to shorten in the middle: names often begin alike.
        get_font: function from a line height to a font no wider than the default; `font` if None.
    """
    text = cut_middle(" ".join(text.replace("\0", " ").split()), 4 * rect.w)
    min_height = max(MIN_LINE_HEIGHT, line_height * 4 // 5)
    while line_height > min_height and font(line_height).size(text)[0] > rect.w:
        line_height -= 1
    shown = shorten_text(text, line_height, rect.w, is_name)
    picture = (get_font or font)(line_height).render(shown, color)
    target = picture.get_rect(midleft=rect.midleft)
    if align == "right":
        target.right = rect.right
    elif align == "center":
        target.x += (rect.w - target.w) // 2
    surface.blit(picture, target)
    return target.w


def cut_middle(text: str, length: int) -> str:
    """Return the first and last `length` // 2 characters of `text`, joined, or `text` itself if it
    is not longer than `length`. Saves measuring, which is slow, of text that cannot fit anyway."""
    half = max(0, length // 2)
    return text if len(text) <= length else text[:half] + text[-half:]


def shorten_text(text: str, line_height: int, width: int, in_middle: bool = False) -> str:
    """Return `text` shortened with dots to at most `width` pixels: at its end or, if `in_middle`,
    in its middle. `line_height` sets the font size."""
    text = cut_middle(text, 4 * width)
    if font(line_height).size(text)[0] <= width:
        return text

    def cut(length: int) -> str:
        end = length * 2 // 3 if in_middle else 0
        return text[: length - end].rstrip() + "..." + text[len(text) - end :]

    def width_of(length: int) -> int:
        return font(line_height).size(cut(length))[0]

    num_fitting = bisect(range(len(text)), width, key=width_of)
    return cut(num_fitting - 1) if num_fitting else ""


def join_into_lines(parts: Sequence[str], line_height: int, width: int) -> list[str]:
    """Return `parts` joined by ` · ` into lines that are at most `width` pixels wide; `line_height`
    sets the font size."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines else part
        if lines and font(line_height).size(longer)[0] <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


_THIN = re.compile(r"[/\\|]")
"""Letters whose strokes are thin already."""
OVERSAMPLING = 4  # oversampling: letters are drawn this many times larger, then scaled down


class LineFont:
    """Pygame's default font at a line height, with system fonts for letters that the default font
    lacks. A letter that no font has is a box.

    Attributes:
        thinning: width in ems to take off each side of a stroke.

    Kerning is off, because the default font's table tears words apart. Text is drawn large and
    scaled down, which places letters at fractions of a pixel.
    """

    thinning = 0.0

    def __init__(self, line_height: int) -> None:
        self._points = line_height * 11 // 12 * OVERSAMPLING
        self._font = load_font(None, self._points)
        self._height = self._font.get_sized_height(self._points)
        self._ascender = self._font.get_sized_ascender(self._points)
        self._system_fonts: dict[str, freetype.Font] = {}  # by file

    @lru_cache(maxsize=4096)  # noqa: B019  # as many as there are sizes of letters are kept anyway
    def size(self, text: str) -> tuple[int, int]:
        """Return width and height of `text` in pixels; the height is the same for all texts."""
        width = sum(self._width(piece, font) for piece, font, _ in self._split_by_font(text))
        return -(-width // OVERSAMPLING), -(-self._height // OVERSAMPLING) if text else 0

    @lru_cache(maxsize=256)  # noqa: B019  # a screen has fewer, and most stay the same
    def render(self, text: str, color: str) -> pygame.Surface:
        """Return a picture of `text` in `color`; it is cached and must not be changed."""
        size = self.size(text)
        if not min(size):
            return pygame.Surface(size, pygame.SRCALPHA)
        large = pygame.Surface((size[0] * OVERSAMPLING, self._height), pygame.SRCALPHA)
        large.fill((*pygame.Color(color)[:3], 0))  # transparent black pixels would dim the edges
        x, thin_letters = 0, list[Rect]()
        for piece, font, y in self._split_by_font(text):
            blit_text(large, (x, y), font, piece, color)
            for found in _THIN.finditer(piece):
                left = x + self._width(piece[: found.start()], font)
                thin_letters.append(Rect(left, 0, self._width(found[0], font), self._height))
            x += self._width(piece, font)
        if pixels := round(self.thinning * self._points):
            whole = large.copy()
            for offset in ((-pixels, 0), (pixels, 0), (0, -pixels), (0, pixels)):
                large.blit(whole, offset, special_flags=pygame.BLEND_RGBA_MIN)
            for rect in thin_letters:
                large.blit(whole, rect, rect, pygame.BLEND_RGBA_MAX)
        return pygame.transform.smoothscale(large, size)

    def _split_by_font(self, text: str) -> Iterator[tuple[str, freetype.Font, int]]:
        """Yield (piece, font, y) for the pieces of `text` from left to right: the font that has the
        letters of the piece, and where its top is drawn."""
        if not text:
            return
        if text.isascii():
            yield text, self._font, 0
            return
        text = text.encode("utf-8", "replace").decode()  # a file's name may be no UTF-8
        clusters = split_clusters(_INVISIBLE.sub("", unicodedata.normalize("NFC", text)))
        for is_usual, group in groupby(clusters, lambda each: all(self._font.get_metrics(each))):
            if is_usual:
                yield "".join(group), self._font, 0
            else:
                yield from self._split_by_system_font([*group])

    def _width(self, piece: str, font: freetype.Font) -> int:
        if font in self._system_fonts.values():
            return sum(self._measure_letter(letter, font) for letter in piece)
        return font.get_rect(piece).width

    @lru_cache(maxsize=4096)  # noqa: B019  # pygame keeps 64, and a Chinese letter takes 0.1 ms
    def _measure_letter(self, letter: str, font: freetype.Font) -> int:
        return round(font.get_metrics(letter)[0][4])

    def _split_by_system_font(
        self, clusters: list[str]
    ) -> Iterator[tuple[str, freetype.Font, int]]:
        """Split a text that the default font cannot show, given as letters in `clusters`. Yield
        pieces like `_split_by_font`."""
        file = find_font_file(clusters)
        if file is None:
            yield "".join(clusters), self._font, 0
            return
        if file not in self._system_fonts:
            self._system_fonts[file] = load_font(file, self._points)
        font = self._system_fonts[file]
        # on the line on which the usual letters stand
        y = self._ascender - font.get_sized_ascender(self._points)
        for has_glyphs, group in groupby(clusters, lambda cluster: file in _font_files[cluster]):
            if has_glyphs:
                yield "".join(group), font, y
            else:
                yield from self._split_by_system_font([*group])


def blit_text(
    surface: pygame.Surface, position: tuple[int, int], font: freetype.Font, text: str, color: str
) -> None:
    """Draw `text` at `position` (x, y) on the transparent `surface`, which must be filled with the
    same `color`."""
    picture = font.render(text, color)[0]
    pygame.surfarray.pixels3d(picture)[...] = pygame.Color(color)[:3]
    surface.blit(picture, position, special_flags=pygame.BLEND_RGBA_MAX)


def load_font(file: str | None, size: float) -> freetype.Font:
    """Return the font in `file`, or pygame's default font for None, in the given size and without
    kerning."""
    font = freetype.Font(file, size)
    font.kerning = False
    font.pad = True
    return font


def font(line_height: int) -> LineFont:
    """Return the cached default font for lines of this height in pixels."""
    return cached_font(LineFont, line_height)


class LightFont(LineFont):
    """The same font with thinner strokes, for text that is no title; its text is as wide."""

    thinning = 0.02


def light_font(line_height: int) -> LineFont:
    """Return the cached light font for lines of this height in pixels."""
    return cached_font(LightFont, line_height)


def cached_font(font_class: Callable[[int], LineFont], line_height: int) -> LineFont:
    """Return a font of class `font_class` for lines of `line_height` pixels, created once for each
    height."""
    if not freetype.get_init():
        freetype.init()
        _create_font.cache_clear()
    return _create_font(font_class, line_height)


@cache
def _create_font(font_class: Callable[[int], LineFont], line_height: int) -> LineFont:
    pygame.register_quit(_create_font.cache_clear)  # pygame.quit() makes fonts unusable
    return font_class(line_height)


@lru_cache(maxsize=256)
def rounded_rect(size: tuple[int, int], radius: int, color: str) -> pygame.Surface:
    """Return a picture of a filled rectangle of this size with corners of this radius; it is cached
    and must not be changed."""
    width, height = size
    rect = f'<rect width="{width}" height="{height}" rx="{radius}" fill="{color}"/>'
    return load_svg(f'<svg width="{width}" height="{height}">{rect}</svg>')


SHAPES = {
    "triangle_up": "M0.5 9L5 1l4.5 8z",
    "triangle_down": "M0.5 1L5 9l4.5-8z",
    "lock": "M2 10a1 1 0 0 1-1-1V5a1 1 0 0 1 1-1V3a3 3 0 0 1 6 0v1a1 1 0 0 1 1 1v4a1 1 0 0 1-1 1z"
    "M3.4 4h3.2V3a1.6 1.6 0 0 0-3.2 0z",
}
"""SVG path of each shape in a square of side 10; inner outlines are holes."""


@lru_cache(maxsize=256)
def draw_shape(name: str, size: int, color: str) -> pygame.Surface:
    """Return a picture of the shape `name` of `SHAPES`, `size` pixels wide; it is cached and must
    not be changed."""
    path = f'<path d="{SHAPES[name]}" fill="{color}" fill-rule="evenodd"/>'
    return load_svg(f'<svg width="{size}" height="{size}" viewBox="0 0 10 10">{path}</svg>')


@contextmanager
def clipped(surface: pygame.Surface, rect: Rect) -> Iterator[None]:
    """Restrict drawing on `surface` to `rect` during the `with` block.

    The previous clip is restored at the end.
    """
    before = surface.get_clip()
    surface.set_clip(rect.clip(before))
    try:
        yield
    finally:
        surface.set_clip(before)
