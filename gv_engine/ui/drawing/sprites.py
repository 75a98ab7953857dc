"""Sprites: SVG drawings, coloured, sized, turned and kept as pygame surfaces.

A sprite is a file `<name>.svg`, and `small/<name>.svg` a plainer drawing of 8 × 8 whole pixels for
cells of less than 16. These places in its text are filled in before it is drawn: `{{fill}}`,
`{{dark}}`, `{{light}}` (three shades of the object's colour), `{{ink}}` (stands out on fill),
`{{emblem}}` and, in small ones, `{{sign}}` (path data of the colour's sign, see
`gv_engine.ui.colors`). What shows a colour without its sign gets it in a corner.
SDL draws a part of SVG: shapes, paths, strokes, gradients and transforms; no text, style sheets,
masks or filters.
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

import pygame as pygame  # for others too: its greeting is off now

DIM = (138, 131, 150)  # of 255, red, green, blue: what is left of the light where nobody looks
ANGLES = (0, 180, 90, -90)  # counterclockwise: FORWARD, BACKWARD, LEFT, RIGHT
OTHER_AGENTS = {f"agent_{way.lower()}": turn for turn, way in enumerate(ORIENTATIONS)}
"""The names of drawings of agents that others see, and how the one drawing is turned for them."""
SMALL = 16  # pixels: cells of less show the small drawings
KEPT_SIZES = 8  # a window asks for another size at every step of being resized


TILE = """\
<svg viewBox="0 0 48 48">
  <rect x="3" y="3" width="42" height="42" rx="8" fill="{{dark}}"/>
  <rect x="5.5" y="5.5" width="37" height="37" rx="6" fill="{{fill}}"/>
</svg>"""  # of an object that is declared in text and has no drawing
SVG_TAG = re.compile(r"<svg\b[^>]*>")
PLACE = re.compile(r"{{(\w+)}}")
SIGN = re.compile(r"{{(emblem|sign)}}")

Below = tuple[str, int] | tuple[()]
"""Name and colour of what lies between a thing and the floor; () for nothing."""

SpriteKey = tuple[str, int, int, bool, Below | None]
"""Name, colour, turn, whether it is lit, and what is below it, if it is on the floor."""


class SpriteSheet:
    """Surfaces of sprites by name, colour, size and turn; each is drawn once.

    Args:
        folders: of an author, see `with_builtin_folders`.
        palette: a name in `PALETTES`.
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

    def name(self, kind: int, state: int) -> str:
        """The name of the sprite of an object of this type in this state."""
        return self._types[kind].sprite_of(state)

    def get(
        self, name: str, color: int, size: int, turn: int = 0, lit: bool = True
    ) -> pygame.Surface:
        """Return a sprite on transparent ground, (size, size) pixels. Do not draw on it.

        Args:
            name: of the file, without `.svg`; a sprite found nowhere shows as `unknown`, or as a
                tile with a letter, if it is that of a type declared in text.
            color: index of a colour; one beyond the palette shows as NONE.
            size: of a side, in pixels, at least 1.
            turn: 0 as drawn, 1 upside down, 2 a quarter to the left, 3 a quarter to the right.
            lit: bright, else dimmed.

        Raises:
            SpriteError: the file is not a drawing that SDL can read.
            OSError: it cannot be read.
        """
        if name in OTHER_AGENTS:
            name, turn = "other_agent", OTHER_AGENTS[name]
        kept, key = self._kept(size), (name, color, turn, lit, None)
        if key not in kept:
            sprite = (
                self.get(name, color, size) if turn or not lit else self._draw(name, color, size)
            )
            kept[key] = _dimmed(pygame.transform.rotate(sprite, ANGLES[turn]), lit)
        return kept[key]

    def agent(self, color: int, size: int, turn: int = 0) -> pygame.Surface:
        """Return the sprite of the agent whose view is shown: of several the one of a colour, with
        a bright edge that others have not. Do not draw on it."""
        return self.get("own_agent" if color else "agent", color, size, turn)

    def tile(
        self, name: str, color: int, size: int, lit: bool = True, below: Below = ()
    ) -> pygame.Surface:
        """Return a sprite on the floor, opaque, and on what lies there; otherwise as `get`."""
        kept, key = self._kept(size), (name, color, 0, lit, below)
        if key not in kept:
            tile = pygame.Surface((size, size), 0, 32)
            # the floor does not hide what lies on it
            things = () if below and name == "floor" else ((name, color),)
            for part, its_color in (("floor", 0), *((below,) if below else ()), *things):
                tile.blit(self.get(part, its_color, size), (0, 0))
            kept[key] = _dimmed(tile, lit)
        return kept[key]

    def _kept(self, size: int) -> dict[SpriteKey, pygame.Surface]:
        kept = self._sizes.pop(size, {})
        self._sizes[size] = kept  # the size used last is last
        if len(self._sizes) > KEPT_SIZES:
            del self._sizes[next(iter(self._sizes))]
        return kept

    def _draw(self, name: str, color: int, size: int) -> pygame.Surface:
        file, text = self._text(name, size < SMALL)
        color = color if color < len(self._palette) else 0
        shades = self._palette[color]
        filled = PLACE.sub(lambda place: getattr(shades, place[1], place[0]), text)
        try:
            sprite = load_svg(SVG_TAG.sub(lambda tag: _sized(tag[0], size), filled, count=1))
        except pygame.error as error:
            raise SpriteError(f"{file}: SDL cannot read this drawing ({error})") from error
        if color and "{{fill}}" in text and not SIGN.search(text):
            sprite.blit(self.get("mark", color, size), (0, 0))
        if text is TILE:
            _letter(sprite, tile_letters(self._types, name), shades.ink)
        return sprite

    def _text(self, name: str, small: bool) -> tuple[Path, str]:
        """The file of a sprite and what is in it."""
        if (name, small) not in self._texts:
            file = find_sprite(name, self._folders, small)
            if file:
                self._texts[name, small] = file, read_svg(file)
            elif tile_letters(self._types, name):
                self._texts[name, small] = Path(name), TILE
            else:
                self._texts[name, small] = self._text("unknown", small)
        return self._texts[name, small]


def _dimmed(picture: pygame.Surface, lit: bool) -> pygame.Surface:
    if not lit:
        picture.fill(DIM, special_flags=pygame.BLEND_RGB_MULT)
    return picture


def _letter(tile: pygame.Surface, letters: str, color: str) -> None:
    """Write on a tile; the first letter alone where there is no room for more."""
    if not pygame.font.get_init():
        pygame.font.init()
    size = tile.get_width()
    shown = letters if size >= SMALL else letters[0]
    picture = pygame.font.Font(None, max(8, size * (4 if len(shown) == 1 else 3) // 4)).render(
        shown, True, color
    )
    tile.blit(picture, picture.get_rect(center=(size // 2, size // 2)))


def load_svg(text: str) -> pygame.Surface:
    """Return a drawing in the pixels of its width and height.

    Raises:
        pygame.error: SDL cannot read it.
    """
    return pygame.image.load(BytesIO(text.encode()), "drawing.svg")


def _sized(tag: str, size: int) -> str:
    """Return the opening tag `<svg …>` with `size` pixels for width and height."""
    had = dict(re.findall(r"""\s(width|height|viewBox)\s*=\s*["']([^"']*)["']""", tag))
    bare = re.sub(r"""\s(width|height|viewBox)\s*=\s*("[^"]*"|'[^']*')""", "", tag)
    box = had.get("viewBox") or f"0 0 {had.get('width', 48)} {had.get('height', 48)}"
    return bare.replace("<svg", f'<svg width="{size}" height="{size}" viewBox="{box}"', 1)
