"""Text and plates: lines of pygame's own font that keep to their rectangles."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from gv_engine.frontend.drawing.sprites import load_svg, pygame

# below the line that quiets pygame's greeting
from pygame import freetype  # isort: skip


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
    """Pygame's own font for lines of so many pixels.

    It is written without its table of kerning, which tears words apart, "simpli fy"; and large,
    then made small, so that letters stand where they belong to a part of a pixel.
    """

    def __init__(self, line: int) -> None:
        self._font = freetype.Font(None, line * 11 // 12 * FINER)
        self._font.kerning = False
        self._font.pad = True  # all texts are equally high

    @lru_cache(maxsize=4096)  # noqa: B019  # as many as there are sizes of letters are kept anyway
    def size(self, text: str) -> tuple[int, int]:
        """Width and height of a text, in pixels."""
        width, height = self._font.get_rect(text).size if text else (0, 0)
        return -(-width // FINER), -(-height // FINER)

    @lru_cache(maxsize=256)  # noqa: B019  # a screen has fewer, and most stay the same
    def render(self, text: str, color: str) -> pygame.Surface:
        """Write a text on a surface; whoever asks for it leaves it as it is."""
        size = self.size(text)
        if not min(size):
            return pygame.Surface(size, pygame.SRCALPHA)
        large = self._font.render(text, color)[0]
        # what is clear has no colour, which would dim the edges
        pygame.surfarray.pixels3d(large)[...] = pygame.Color(color)[:3]
        return pygame.transform.smoothscale(large, size)


def font(line: int) -> Letters:
    """Return the letters for lines of so many pixels."""
    if not freetype.get_init():
        freetype.init()
        _font.cache_clear()
    return _font(line)


@cache
def _font(line: int) -> Letters:
    pygame.register_quit(_font.cache_clear)  # pygame.quit() makes fonts unusable
    return Letters(line)


@lru_cache(maxsize=256)
def plate(size: tuple[int, int], radius: int, color: str) -> pygame.Surface:
    """Return a rectangle with round corners; pygame's own have ragged edges."""
    width, height = size
    rect = f'<rect width="{width}" height="{height}" rx="{radius}" fill="{color}"/>'
    return load_svg(f'<svg width="{width}" height="{height}">{rect}</svg>')
