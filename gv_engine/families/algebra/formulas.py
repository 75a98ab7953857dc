"""Letters of expressions: what stands behind a caret is an exponent, small and above the line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from gv_engine.frontend.drawing.lettering import FINER, Letters, blit, font_of_file, letters_of
from gv_engine.frontend.drawing.sprites import pygame

# below the line that quiets pygame's greeting
from pygame import freetype  # isort: skip

_EXPONENT = re.compile(r"(?<=[\w)])\^(?!-?\()(-?\w*)")
"""A caret that is not written, and what it raises; before brackets it is written."""
_SMALLER = 0.68


class Formulas(Letters):
    """Pygame's own font for expressions in lines of so many pixels; see `Letters`."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self._small = font_of_file(None, round(line * 11 / 12 * FINER * _SMALLER))

    def _pieces(self, text: str) -> Iterator[tuple[str, freetype.Font]]:
        """The parts of a text that are written alike, from the left, and with what."""
        end = 0
        for exponent in _EXPONENT.finditer(text):
            yield text[end : exponent.start()], self._font
            yield exponent[1], self._small
            end = exponent.end()
        yield text[end:], self._font

    @lru_cache(maxsize=4096)  # noqa: B019  # as many as there are sizes of letters are kept anyway
    def size(self, text: str) -> tuple[int, int]:
        """Width and height of an expression, in pixels."""
        width = sum(font.get_rect(piece).w for piece, font in self._pieces(text) if piece)
        return -(-width // FINER), -(-self._font.get_rect(text or " ").h // FINER)

    @lru_cache(maxsize=256)  # noqa: B019  # a screen has fewer, and most stay the same
    def render(self, text: str, color: str) -> pygame.Surface:
        """Write an expression on a surface; whoever asks for it leaves it as it is."""
        size = self.size(text)
        if not min(size):
            return pygame.Surface(size, pygame.SRCALPHA)
        large = pygame.Surface((size[0] * FINER, size[1] * FINER), pygame.SRCALPHA)
        large.fill((*pygame.Color(color)[:3], 0))  # as in `Letters.render`
        x = 0
        for piece, font in self._pieces(text):
            if piece:
                blit(large, (x, 0), font, piece, color)
                x += font.get_rect(piece).w
        return pygame.transform.smoothscale(large, size)


def formulas(line: int) -> Letters:
    """Return the letters of expressions for lines of so many pixels."""
    return letters_of(Formulas, line)
