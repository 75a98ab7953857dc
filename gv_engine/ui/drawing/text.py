"""Text and plates: lines of letters that keep to their rectangles."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from functools import cache

from gv_engine.ui.drawing.sprites import pygame

from pygame import freetype  # isort: skip
from bisect import bisect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from gv_engine.ui.drawing.sprites import load_svg

# ---- system fonts --------------------------------------------------------------------------------

# below the line that quiets pygame's greeting

_found: dict[frozenset[str], str | None] = {}  # by scripts


def font_with(letters: Sequence[str]) -> str | None:
    """The file of the font that has most of some letters, judged by one letter of each script; None
    if no font has any."""
    samples = {unicodedata.name(letter, letter).partition(" ")[0]: letter for letter in letters}
    scripts = frozenset(samples)
    if scripts not in _found:
        wanted = "".join(samples.values())
        best = max(_files(), key=lambda file: _coverage(file, wanted), default=None)
        _found[scripts] = best if best and _coverage(best, wanted) else None
    return _found[scripts]


@cache
def _files() -> list[str]:
    """All that can be written with, plain ones first."""
    names = [name for name in pygame.font.get_fonts() if name and "emoji" not in name]
    names.sort(key=lambda name: ("sans" not in name and "gothic" not in name, "mono" in name, name))
    return [file for name in names if (file := pygame.font.match_font(name, bold=True))]


@cache
def _coverage(file: str, letters: str) -> int:
    """How many of some letters a font has."""
    try:
        metrics = freetype.Font(file, 16).get_metrics(letters)
    except (OSError, pygame.error):  # listed, and not there or not readable
        return 0
    return sum(map(bool, metrics))


# ---- lettering -----------------------------------------------------------------------------------

# below the line that quiets pygame's greeting


def write(
    surface: pygame.Surface,
    rect: pygame.Rect,
    text: str,
    line: int,
    color: str,
    align: str = "left",
    middle: bool = False,
    letters: Callable[[int], Letters] | None = None,
) -> int:
    """Write one line in the middle height of a rectangle, smaller or cut short if it is narrow.

    Args:
        surface: to write on.
        rect: that the text keeps to.
        text: of any length; any white space counts as one space.
        line: height of the line, in pixels.
        color: of the text.
        align: left, center or right.
        middle: for names, which often begin alike: shrunk less, then cut in the middle.
        letters: which write it, no wider than the usual ones; `font` if None.

    Returns:
        The width written, in pixels.
    """
    text = " ".join(text.replace("\0", " ").split())
    least = max(9, line * 4 // 5 if middle else line * 2 // 3)
    while line > least and font(line).size(text)[0] > rect.w:
        line -= 1
    picture = (letters or font)(line).render(fitted(text, line, rect.w, middle), color)
    place = picture.get_rect(midleft=rect.midleft)
    if align != "left":
        place.x += (rect.w - place.w) // (2 if align == "center" else 1)
    surface.blit(picture, place)
    return place.w


def fitted(text: str, line: int, width: int, middle: bool = False) -> str:
    """Return the text, or as much of its beginning as fits in so many pixels, with dots.

    With `middle` its beginning and its end.
    """
    if font(line).size(text)[0] <= width:
        return text

    def cut(kept: int) -> str:
        end = kept * 2 // 3 if middle else 0
        return text[: kept - end].rstrip() + "..." + text[len(text) - end :]

    fitting = bisect(range(len(text)), width, key=lambda kept: font(line).size(cut(kept))[0])
    return cut(fitting - 1) if fitting else ""


def wrapped(parts: Sequence[str], line: int, width: int) -> list[str]:
    """Return the parts, joined by dots, in lines of at most so many pixels."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines else part
        if lines and font(line).size(longer)[0] <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


FINER = 4
"""Times as large as they are shown are letters drawn."""


class Letters:
    """Pygame's own font for lines of so many pixels; a font of the machine for texts with letters
    that it lacks.

    It is written without its table of kerning, which tears words apart, "simpli fy"; and large,
    then made small, so that letters stand where they belong to a part of a pixel.
    """

    def __init__(self, line: int) -> None:
        self._points = line * 11 // 12 * FINER
        self._font = font_of_file(None, self._points)
        self._height = self._font.get_sized_height(self._points)
        self._others: dict[str, freetype.Font] = {}

    @lru_cache(maxsize=4096)  # noqa: B019  # as many as there are sizes of letters are kept anyway
    def size(self, text: str) -> tuple[int, int]:
        """Width and height of a text, in pixels; all texts are equally high."""
        width = self._font_of(text).get_rect(text).width if text else 0
        return -(-width // FINER), -(-self._height // FINER) if text else 0

    @lru_cache(maxsize=256)  # noqa: B019  # a screen has fewer, and most stay the same
    def render(self, text: str, color: str) -> pygame.Surface:
        """Write a text on a surface; whoever asks for it leaves it as it is."""
        size = self.size(text)
        if not min(size):
            return pygame.Surface(size, pygame.SRCALPHA)
        large = pygame.Surface((size[0] * FINER, self._height), pygame.SRCALPHA)
        large.fill((*pygame.Color(color)[:3], 0))  # what is clear and black would dim the edges
        used = self._font_of(text)
        # on the line on which the usual letters stand
        above, own = (font.get_sized_ascender(self._points) for font in (self._font, used))
        blit(large, (0, above - own), used, text, color)
        return pygame.transform.smoothscale(large, size)

    def _font_of(self, text: str) -> freetype.Font:
        """What writes a text."""
        metrics: Sequence[Any] = self._font.get_metrics(text)
        lacking = [letter for letter, found in zip(text, metrics, strict=True) if not found]
        file = font_with(lacking) if lacking else None
        if file is None:
            return self._font
        if file not in self._others:
            self._others[file] = font_of_file(file, self._points)
        return self._others[file]


def blit(
    large: pygame.Surface, place: tuple[int, int], font: freetype.Font, text: str, color: str
) -> None:
    """Write on a surface of this colour that is clear where nothing is written."""
    picture = font.render(text, color)[0]
    pygame.surfarray.pixels3d(picture)[...] = pygame.Color(color)[:3]
    large.blit(picture, place, special_flags=pygame.BLEND_RGBA_MAX)


def font_of_file(file: str | None, size: float) -> freetype.Font:
    """A font as texts are written with it; pygame's own if there is no file."""
    found = freetype.Font(file, size)
    found.kerning = False
    found.pad = True
    return found


def font(line: int) -> Letters:
    """Return the letters for lines of so many pixels."""
    return letters_of(Letters, line)


def letters_of(kind: Callable[[int], Letters], line: int) -> Letters:
    """Return letters of a kind for lines of so many pixels."""
    if not freetype.get_init():
        freetype.init()
        _made.cache_clear()
    return _made(kind, line)


@cache
def _made(kind: Callable[[int], Letters], line: int) -> Letters:
    pygame.register_quit(_made.cache_clear)  # pygame.quit() makes fonts unusable
    return kind(line)


@lru_cache(maxsize=256)
def plate(size: tuple[int, int], radius: int, color: str) -> pygame.Surface:
    """Return a rectangle with round corners; pygame's own have ragged edges."""
    width, height = size
    rect = f'<rect width="{width}" height="{height}" rx="{radius}" fill="{color}"/>'
    return load_svg(f'<svg width="{width}" height="{height}">{rect}</svg>')
