"""A written expression in a picture: where each of its characters stands."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from gv_engine.families.algebra.formulas import formulas
from gv_engine.frontend.controls.theme import Theme
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.language.expression_frame import ExpressionFrame

LEAST = 9
"""Pixels of the smallest line."""
BESIDE = 0.4
"""Of a line: what is free around the text."""


class Writing:
    """The expression of one frame, in as many lines as it needs.

    Args:
        text: the expression.
        room: that it keeps to.
        most: height of a line that need not be surpassed, in pixels.
        chosen: a character that is shown even if not all are.

    Attributes:
        rect: what is taken of the room, from its top.
    """

    def __init__(self, text: str, room: pygame.Rect, most: int, chosen: int) -> None:
        self._text = text
        self._line = max(LEAST, most)
        inner = self._inner(room)
        while len(self._wrap(inner.w)) * self._line > inner.h and self._line > LEAST:
            self._line -= 1
            inner = self._inner(room)
        self._rows = self._wrap(inner.w)
        shown = max(1, inner.h // self._line)
        current = next((n for n, (_, end) in enumerate(self._rows) if chosen < end), 0)
        first = max(0, min(current - shown // 2, len(self._rows) - shown))
        self._rows = self._rows[first : first + shown]
        self._at = inner.topleft
        high = len(self._rows) * self._line + 2 * (inner.y - room.y)
        self.rect = pygame.Rect(room.x, room.y, room.w, min(room.h, high))

    def _inner(self, room: pygame.Rect) -> pygame.Rect:
        edge = ceil(self._line * BESIDE)
        return room.inflate(-2 * edge, -2 * edge) if min(room.size) > 4 * edge else room.copy()

    def _wrap(self, width: int) -> list[tuple[int, int]]:
        """First characters and ends of the lines; they break at blanks."""
        letters, text = formulas(self._line), self._text
        rows, start = [], 0
        while start < len(text):
            end = len(text)
            while letters.size(text[start:end])[0] > width and end > start + 1:
                blank = text.rfind(" ", start + 1, end - 1)
                end = blank + 1 if blank > start else end - 1
            rows.append((start, end))
            start = end
        return rows or [(0, 0)]

    def places(self, span: tuple[int, int]) -> Iterator[pygame.Rect]:
        """Where characters from one to another stand, line by line."""
        letters = formulas(self._line)
        for number, (start, end) in enumerate(self._rows):
            first, last = max(start, span[0]), min(end, span[1])
            if first < last:
                left = letters.size(self._text[start:first])[0]
                shown = self._text[start:last].rstrip() if last == end else self._text[start:last]
                x, y = self._at[0] + left, self._at[1] + number * self._line
                yield pygame.Rect(x, y, letters.size(shown)[0] - left, self._line)

    def at(self, position: tuple[int, int]) -> int | None:
        """The character that stands there."""
        for start, end in self._rows:
            for character in range(start, end):
                if any(
                    rect.collidepoint(position) for rect in self.places((character, character + 1))
                ):
                    return character
        return None

    def draw(
        self, surface: pygame.Surface, theme: Theme, frame: ExpressionFrame, node: int
    ) -> None:
        """Write it, with one node and all below it marked, and what has changed underlined."""
        chosen = frame.nodes[node]
        thick = max(1, self._line // 8)
        for place in self.places(chosen.whole):
            surface.fill(theme.outline, place.inflate(2 * thick, 0))
        for place in self.places(self._seen(chosen.span)):
            surface.fill(theme.accent, place.inflate(thick, 0))
        for changed in frame.nodes:
            if changed.changed:
                for place in self.places(changed.span):
                    line = pygame.Rect(place.x, place.bottom - thick, place.w, thick)
                    surface.fill(theme.gain, line)
        self._write(surface, (0, len(self._text)), theme.text)
        self._write(surface, self._seen(chosen.span), theme.on_accent)

    def _seen(self, span: tuple[int, int]) -> tuple[int, int]:
        """The characters that stand for some; those of the exponent for a caret that is not
        written."""
        if span[0] < span[1] and not any(place.w for place in self.places(span)):
            return span[0], span[1] + 1
        return span

    def _write(self, surface: pygame.Surface, span: tuple[int, int], color: str) -> None:
        """Write the lines, as far as they are from one character to another."""
        before, letters = surface.get_clip(), formulas(self._line)
        for place in self.places(span):
            number = (place.y - self._at[1]) // self._line
            picture = letters.render(self._text[slice(*self._rows[number])], color)
            whole = pygame.Rect(self._at[0], place.y, picture.get_width(), self._line)
            surface.set_clip(place.inflate(0, self._line // 4).clip(before))
            surface.blit(picture, picture.get_rect(midleft=whole.midleft))
        surface.set_clip(before)
