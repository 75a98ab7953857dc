"""Text on surfaces: fonts with fallback for other scripts, and lines that are shortened to fit."""

from __future__ import annotations

import unicodedata
from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

from gv_engine.ui.drawing.sprites import Rect, load_svg, pygame

from pygame import freetype  # isort: skip  # after the module that turns off pygame's greeting

# ---- system fonts --------------------------------------------------------------------------------

_font_files: dict[frozenset[str], str | None] = {}  # by scripts


def find_font_file(letters: Sequence[str]) -> str | None:
    """Return the file of the system font that covers the most of some letters, tested by one letter
    of each script; None if no font has any."""
    samples = {unicodedata.name(letter, letter).partition(" ")[0]: letter for letter in letters}
    scripts = frozenset(samples)
    if scripts not in _font_files:
        letters_to_test = "".join(samples.values())
        best = max(
            _list_fonts(), key=lambda file: _count_glyphs(file, letters_to_test), default=None
        )
        _font_files[scripts] = best if best and _count_glyphs(best, letters_to_test) else None
    return _font_files[scripts]


@cache
def _list_fonts() -> list[str]:
    """Return the files of all bold system fonts except emoji fonts, plain fonts first."""
    names = [name for name in pygame.font.get_fonts() if name and "emoji" not in name]
    names.sort(key=lambda name: ("sans" not in name and "gothic" not in name, "mono" in name, name))
    return [file for name in names if (file := pygame.font.match_font(name, bold=True))]


@cache
def _count_glyphs(file: str, letters: str) -> int:
    """Return how many of some letters a font file has; 0 if the file cannot be read."""
    try:
        metrics = freetype.Font(file, 16).get_metrics(letters)
    except (OSError, pygame.error):  # listed, and not there or not readable
        return 0
    return sum(map(bool, metrics))


# ---- lettering -----------------------------------------------------------------------------------


def draw_text_line(
    surface: pygame.Surface,
    rect: Rect,
    text: str,
    line_height: int,
    color: str,
    align: str = "left",
    middle: bool = False,
    letters: Callable[[int], LineFont] | None = None,
) -> int:
    """Draw one line of text, vertically centred in a rectangle; return the width drawn, in pixels.

    Text that is too wide is shrunk, then shortened.

    Args:
        surface: surface to draw on.
        rect: rectangle that the text must not leave.
        text: any text; white space is collapsed to single spaces.
        line: height of the line, in pixels.
        color: colour of the text.
        align: left, center or right.
        middle: shrink less, and shorten in the middle; for names, which often begin alike.
        letters: function from a line height to a font no wider than the default; `font` if None.
    """
    text = " ".join(text.replace("\0", " ").split())
    min_height = max(9, line_height * 4 // 5 if middle else line_height * 2 // 3)
    while line_height > min_height and font(line_height).size(text)[0] > rect.w:
        line_height -= 1
    picture = (letters or font)(line_height).render(
        shorten_text(text, line_height, rect.w, middle), color
    )
    target = picture.get_rect(midleft=rect.midleft)
    if align != "left":
        target.x += (rect.w - target.w) // (2 if align == "center" else 1)
    surface.blit(picture, target)
    return target.w


def shorten_text(text: str, line_height: int, width: int, middle: bool = False) -> str:
    """Return a text shortened with dots to a width in pixels.

    With `middle`, the beginning and the end of the text are kept.
    """
    if font(line_height).size(text)[0] <= width:
        return text

    def cut(length: int) -> str:
        end = length * 2 // 3 if middle else 0
        return text[: length - end].rstrip() + "..." + text[len(text) - end :]

    fitting = bisect(
        range(len(text)), width, key=lambda length: font(line_height).size(cut(length))[0]
    )
    return cut(fitting - 1) if fitting else ""


def join_into_lines(parts: Sequence[str], line_height: int, width: int) -> list[str]:
    """Return texts joined by ` · ` into lines of at most `width` pixels."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines else part
        if lines and font(line_height).size(longer)[0] <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


OVERSAMPLING = 4
"""Oversampling: letters are drawn this many times larger, then scaled down."""


class LineFont:
    """Pygame's default font at a line height, with system fonts for letters that the default font
    lacks.

    Kerning is off, because the default font's table tears words apart. Text is drawn large and
    scaled down, which places letters at fractions of a pixel.
    """

    def __init__(self, line_height: int) -> None:
        self._points = line_height * 11 // 12 * OVERSAMPLING
        self._font = load_font(None, self._points)
        self._height = self._font.get_sized_height(self._points)
        self._others: dict[str, freetype.Font] = {}

    @lru_cache(maxsize=4096)  # noqa: B019  # as many as there are sizes of letters are kept anyway
    def size(self, text: str) -> tuple[int, int]:
        """Return width and height of a text in pixels; the height is the same for all texts."""
        width = self._select_font(text).get_rect(text).width if text else 0
        return -(-width // OVERSAMPLING), -(-self._height // OVERSAMPLING) if text else 0

    @lru_cache(maxsize=256)  # noqa: B019  # a screen has fewer, and most stay the same
    def render(self, text: str, color: str) -> pygame.Surface:
        """Return a surface with the text; the surface is cached and must not be changed."""
        size = self.size(text)
        if not min(size):
            return pygame.Surface(size, pygame.SRCALPHA)
        large = pygame.Surface((size[0] * OVERSAMPLING, self._height), pygame.SRCALPHA)
        large.fill((*pygame.Color(color)[:3], 0))  # what is clear and black would dim the edges
        used = self._select_font(text)
        # on the line on which the usual letters stand
        above, ascender = (font.get_sized_ascender(self._points) for font in (self._font, used))
        blit_text(large, (0, above - ascender), used, text, color)
        return pygame.transform.smoothscale(large, size)

    def _select_font(self, text: str) -> freetype.Font:
        """Return the default font, or the system font that covers the letters it lacks."""
        metrics: Sequence[Any] = self._font.get_metrics(text)
        lacking = [letter for letter, metric in zip(text, metrics, strict=True) if not metric]
        file = find_font_file(lacking) if lacking else None
        if file is None:
            return self._font
        if file not in self._others:
            self._others[file] = load_font(file, self._points)
        return self._others[file]


def blit_text(
    large: pygame.Surface, place: tuple[int, int], font: freetype.Font, text: str, color: str
) -> None:
    """Draw a text in a colour on a transparent surface that is filled with the same colour."""
    picture = font.render(text, color)[0]
    pygame.surfarray.pixels3d(picture)[...] = pygame.Color(color)[:3]
    large.blit(picture, place, special_flags=pygame.BLEND_RGBA_MAX)


def load_font(file: str | None, size: float) -> freetype.Font:
    """Return the font of a file, or pygame's default font, without kerning."""
    font = freetype.Font(file, size)
    font.kerning = False
    font.pad = True
    return font


def font(line_height: int) -> LineFont:
    """Return the cached default font for lines of this height in pixels."""
    return cached_font(LineFont, line_height)


def cached_font(font_class: Callable[[int], LineFont], line_height: int) -> LineFont:
    """Return a cached font of a class for lines of this height in pixels."""
    if not freetype.get_init():
        freetype.init()
        _create_font.cache_clear()
    return _create_font(font_class, line_height)


@cache
def _create_font(font_class: Callable[[int], LineFont], line_height: int) -> LineFont:
    """Create a font; cached until `pygame.quit`."""
    pygame.register_quit(_create_font.cache_clear)  # pygame.quit() makes fonts unusable
    return font_class(line_height)


@lru_cache(maxsize=256)
def rounded_rect(size: tuple[int, int], radius: int, color: str) -> pygame.Surface:
    """Return a surface with a filled rounded rectangle; cached, so it must not be changed."""
    width, height = size
    rect = f'<rect width="{width}" height="{height}" rx="{radius}" fill="{color}"/>'
    return load_svg(f'<svg width="{width}" height="{height}">{rect}</svg>')
