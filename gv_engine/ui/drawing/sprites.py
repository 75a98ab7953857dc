"""Sprites: SVG files that are coloured, rendered at a size, rotated and cached as pygame surfaces.

A sprite is a file `<name>.svg`, and `small/<name>.svg` a simpler drawing of 8 × 8 whole pixels for
cells smaller than 16 pixels. These placeholders in the text are filled in before the SVG is
rendered: `{{fill}}`, `{{dark}}`, `{{light}}` (three shades of the object's colour), `{{ink}}` (a
colour with contrast to fill), `{{emblem}}` and, in small sprites, `{{sign}}` (path data of the
colour's symbol, see `gv_engine.ui.colors`). A coloured sprite without a symbol gets the symbol in a
corner. SDL renders a part of SVG: shapes, paths, strokes, gradients and transforms; no text, style
sheets, masks or filters.
"""

import os
import re
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.session.sprite_paths import (
    SpriteError,
    find_sprite,
    read_svg,
    tile_letters,
    with_builtin_folders,
)
from gv_engine.ui.colors import PALETTES

os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # pygame greets on import

import pygame as pygame  # re-exported: its greeting is off now
from pygame import Rect as Rect

DIM = (138, 131, 150)  # red, green, blue of 255: brightness of cells out of sight
ANGLES = (0, 180, 90, -90)  # counterclockwise: FORWARD, BACKWARD, LEFT, RIGHT
OTHER_AGENTS = {f"agent_{way.lower()}": turn for turn, way in enumerate(ORIENTATIONS)}
"""Quarter turn by sprite name of other agents; one sprite is rotated for all four."""
SMALL = 16  # pixels: smaller cells show the small sprites
MAX_CACHED_SIZES = 8  # resizing a window asks for a new size at every step


TILE = """\
<svg viewBox="0 0 48 48">
  <rect x="3" y="3" width="42" height="42" rx="8" fill="{{dark}}"/>
  <rect x="5.5" y="5.5" width="37" height="37" rx="6" fill="{{fill}}"/>
</svg>"""  # for objects that are declared in a scenario file and have no sprite
SVG_TAG = re.compile(r"<svg\b[^>]*>")
PLACE = re.compile(r"{{(\w+)}}")
SIGN = re.compile(r"{{(emblem|sign)}}")

Below = tuple[str, int] | tuple[()]
"""Name and colour of the ground object below a sprite; () for none."""

SpriteKey = tuple[str, int, int, bool, Below | None]
"""Cache key: name, colour, turn, lit, and for sprites on the floor the ground object."""


class SpriteSheet:
    """Sprite surfaces by name, colour, size and turn; each is rendered once and cached.

    Args:
        folders: the author's sprite folders, see `with_builtin_folders`.
        palette: key of `PALETTES`.
        types: object types, for the names and letters of sprites.
    """

    def __init__(
        self,
        folders: Iterable[Path] = (),
        palette: str = "standard",
        types: ObjectTypes = OBJECT_TYPES,
    ) -> None:
        self._palette = PALETTES[palette]
        self._types = types
        self._folders = with_builtin_folders(folders)
        self._texts: dict[tuple[str, bool], tuple[Path, str]] = {}
        self._sizes: dict[int, dict[SpriteKey, pygame.Surface]] = {}

    def sprite_name(self, kind: int, state: int) -> str:
        """Return the sprite name of an object type in a state."""
        return self._types[kind].sprite_of(state)

    def get(
        self, name: str, color: int, size: int, turn: int = 0, lit: bool = True
    ) -> pygame.Surface:
        """Return a sprite on a transparent background as a (size, size) surface that must not be
        changed.

        Args:
            name: file name without `.svg`; a missing sprite is shown as `unknown`, or as a tile
                with letters if the type is declared in a scenario file.
            color: colour index; an index beyond the palette counts as 0.
            size: side in pixels, at least 1.
            turn: 0 as drawn, 1 upside down, 2 a quarter to the left, 3 a quarter to the right.
            lit: False dims the sprite.

        Raises:
            SpriteError: SDL cannot read the file.
            OSError: the file cannot be read.
        """
        if name in OTHER_AGENTS:
            name, turn = "other_agent", OTHER_AGENTS[name]
        cache, key = self._size_cache(size), (name, color, turn, lit, None)
        if key not in cache:
            sprite = (
                self.get(name, color, size) if turn or not lit else self._render(name, color, size)
            )
            cache[key] = _dim(pygame.transform.rotate(sprite, ANGLES[turn]), lit)
        return cache[key]

    def agent(self, color: int, size: int, turn: int = 0) -> pygame.Surface:
        """Return the sprite of the agent whose view is shown, turned by `turn` quarter turns, as a
        surface that must not be changed. With several agents the sprite has the agent's colour
        and a bright edge."""
        return self.get("own_agent" if color else "agent", color, size, turn)

    def tile(
        self, name: str, color: int, size: int, lit: bool = True, below: Below = ()
    ) -> pygame.Surface:
        """Return a sprite on the floor and on the ground object `below`, as an opaque surface that
        must not be changed; other arguments as for `get`."""
        cache, key = self._size_cache(size), (name, color, 0, lit, below)
        if key not in cache:
            tile = pygame.Surface((size, size), 0, 32)
            # the floor does not hide what lies on it
            layers = () if below and name == "floor" else ((name, color),)
            for part, its_color in (("floor", 0), *((below,) if below else ()), *layers):
                tile.blit(self.get(part, its_color, size), (0, 0))
            cache[key] = _dim(tile, lit)
        return cache[key]

    def _size_cache(self, size: int) -> dict[SpriteKey, pygame.Surface]:
        """Return the cache of a size as the most recently used; drop the least recently used
        sizes."""
        cache = self._sizes.pop(size, {})
        self._sizes[size] = cache  # the size used last is last
        if len(self._sizes) > MAX_CACHED_SIZES:
            del self._sizes[next(iter(self._sizes))]
        return cache

    def _render(self, name: str, color: int, size: int) -> pygame.Surface:
        """Render a sprite that is lit and not turned."""
        file, text = self._load_source(name, size < SMALL)
        color = color if color < len(self._palette) else 0
        shades = self._palette[color]
        filled = PLACE.sub(lambda place: getattr(shades, place[1], place[0]), text)
        try:
            sprite = load_svg(SVG_TAG.sub(lambda tag: _set_svg_size(tag[0], size), filled, count=1))
        except pygame.error as error:
            raise SpriteError(f"{file}: SDL cannot read this drawing ({error})") from error
        if color and "{{fill}}" in text and not SIGN.search(text):
            sprite.blit(self.get("mark", color, size), (0, 0))
        if text is TILE:
            _draw_letters(sprite, tile_letters(self._types, name), shades.ink)
        return sprite

    def _load_source(self, name: str, small: bool) -> tuple[Path, str]:
        """Return the file of a sprite and its SVG text."""
        if (name, small) not in self._texts:
            file = find_sprite(name, self._folders, small)
            if file:
                self._texts[name, small] = file, read_svg(file)
            elif tile_letters(self._types, name):
                self._texts[name, small] = Path(name), TILE
            else:
                self._texts[name, small] = self._load_source("unknown", small)
        return self._texts[name, small]


def _dim(picture: pygame.Surface, lit: bool) -> pygame.Surface:
    """Darken a surface in place if it is not lit, and return it."""
    if not lit:
        picture.fill(DIM, special_flags=pygame.BLEND_RGB_MULT)
    return picture


def _draw_letters(tile: pygame.Surface, letters: str, color: str) -> None:
    """Draw letters on a tile; only the first letter if the tile is small."""
    if not pygame.font.get_init():
        pygame.font.init()
    size = tile.get_width()
    shown = letters if size >= SMALL else letters[0]
    picture = pygame.font.Font(None, max(8, size * (4 if len(shown) == 1 else 3) // 4)).render(
        shown, True, color
    )
    tile.blit(picture, picture.get_rect(center=(size // 2, size // 2)))


def load_svg(text: str) -> pygame.Surface:
    """Return the surface of an SVG text, in the size of its width and height.

    Raises:
        pygame.error: SDL cannot read the text.
    """
    return pygame.image.load(BytesIO(text.encode()), "drawing.svg")


def _set_svg_size(tag: str, size: int) -> str:
    """Return the opening tag `<svg …>` with width and height set to `size` pixels."""
    attributes = dict(re.findall(r"""\s(width|height|viewBox)\s*=\s*["']([^"']*)["']""", tag))
    tag_without_size = re.sub(r"""\s(width|height|viewBox)\s*=\s*("[^"]*"|'[^']*')""", "", tag)
    box = (
        attributes.get("viewBox")
        or f"0 0 {attributes.get('width', 48)} {attributes.get('height', 48)}"
    )
    return tag_without_size.replace(
        "<svg", f'<svg width="{size}" height="{size}" viewBox="{box}"', 1
    )
