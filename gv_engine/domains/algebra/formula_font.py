"""Fonts that draw expressions: text behind a caret is a small, raised exponent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.text import OVERSAMPLING, LineFont, blit_text, cached_font, load_font

from pygame import freetype  # isort: skip


_EXPONENT = re.compile(r"(?<=[\w)])\^(?!-?\()(-?\w*)")
"""Caret with its exponent, which is drawn raised without the caret. Before parentheses the caret
stays."""
_SMALLER = 0.68


class FormulaFont(LineFont):
    """Font for expressions in lines of a height in pixels, with small raised exponents; see
    `LineFont`."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self._small = load_font(None, round(line * 11 / 12 * OVERSAMPLING * _SMALLER))

    def _pieces(self, text: str) -> Iterator[tuple[str, freetype.Font]]:
        """Yield (text, font) of each part of an expression that is drawn in one font, from the
        left."""
        end = 0
        for exponent in _EXPONENT.finditer(text):
            yield text[end : exponent.start()], self._font
            yield exponent[1], self._small
            end = exponent.end()
        yield text[end:], self._font

    @lru_cache(maxsize=4096)  # noqa: B019  # fonts live as long as the process
    def size(self, text: str) -> tuple[int, int]:
        """Return width and height of an expression in pixels."""
        width = sum(font.get_rect(piece).w for piece, font in self._pieces(text) if piece)
        return -(-width // OVERSAMPLING), -(-self._font.get_rect(text or " ").h // OVERSAMPLING)

    @lru_cache(maxsize=256)  # noqa: B019  # a screen has fewer texts, and most stay the same
    def render(self, text: str, color: str) -> pygame.Surface:
        """Return a surface with the expression. The surface is cached: callers must not change
        it."""
        size = self.size(text)
        if not min(size):
            return pygame.Surface(size, pygame.SRCALPHA)
        large = pygame.Surface((size[0] * OVERSAMPLING, size[1] * OVERSAMPLING), pygame.SRCALPHA)
        large.fill((*pygame.Color(color)[:3], 0))  # as in `LineFont.render`
        x = 0
        for piece, font in self._pieces(text):
            if piece:
                blit_text(large, (x, 0), font, piece, color)
                x += font.get_rect(piece).w
        return pygame.transform.smoothscale(large, size)


def formula_font(line: int) -> LineFont:
    """Return the font of expressions for lines of a height in pixels."""
    return cached_font(FormulaFont, line)
