"""A prompt: one line to type, over the screen below."""

from __future__ import annotations

from collections.abc import Callable

from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen, wrap
from gv_engine.frontend.window.clipboard import pasted
from gv_engine.frontend.window.screens.screen import Host, Screen

LONGEST = 400  # letters


class Prompt(Screen):
    """Asks for a line of text.

    Args:
        app: that it belongs to.
        title: the question.
        words: more about it.
        text: what stands there already; the first letter typed takes its place.
        accept: takes the text; an error that it raises leaves the prompt open.
        letters: the only ones that can be typed; all if empty.
    """

    over = True

    def __init__(
        self,
        app: Host,
        title: str,
        words: str,
        text: str,
        accept: Callable[[str], None],
        letters: str = "",
    ) -> None:
        super().__init__(app)
        self._title, self._words, self._text = title, words, text
        self._accept, self._letters = accept, letters
        self._untouched = True

    def typed(self, text: str) -> None:
        fitting = "".join(
            c for c in text if c.isprintable() and (c in self._letters or not self._letters)
        )
        if fitting:
            self._text = ("" if self._untouched else self._text)[:LONGEST] + fitting
            self._untouched = False
            self.app.stale = True

    def command(self, name: str) -> None:
        if name == "choose":
            self._done()
        elif name == "erase":
            self._text = self._text[:-1]
            self._untouched = False
        elif name in ("up", "down") and self._letters and self._text.isdecimal():  # by gamepad
            self._text = str(max(0, int(self._text) + (1 if name == "up" else -1)))
            self._untouched = False
        elif name == "paste":
            self.typed(pasted())
        elif name == "leave":
            self.app.pop()

    def _done(self) -> None:
        if self._text:
            self._accept(self._text)
        if self.app.top is self:  # what takes the text may have closed it
            self.app.pop()

    def draw(self, pen: Pen, now: float) -> None:
        line = pen.line
        width = min(pen.area.w - line, 30 * line)
        words = wrap(self._words, line, width - 2 * line, 3)
        card = pygame.Rect(0, 0, width, (8 + len(words)) * line)
        card.center = pen.area.center
        pen.card(card)
        rest = card.inflate(-2 * line, -line)
        pen.text(pygame.Rect(rest.x, rest.y, rest.w, 2 * line), self._title, size=1.4)
        slot = pygame.Rect(rest.x, rest.y + 2 * line, rest.w, len(words) * line)
        pen.lines(slot, self._words, "muted")
        field = pygame.Rect(rest.x, slot.bottom + line // 2, rest.w, 2 * line)
        pen.card(field, "well")
        pen.frame(field)
        pen.text(field.inflate(-line, 0), self._text + ("" if self._untouched else "|"), size=1.1)
        half = rest.w // 2 - line // 4
        keys = self.app.bindings
        accept = pygame.Rect(rest.x, field.bottom + line // 2, half, line * 7 // 4)
        pen.button(accept, "OK", self._done, keys.label("menu", "choose"), True)
        leave = pygame.Rect(rest.right - half, accept.y, half, accept.h)
        pen.button(leave, "Cancel", self.app.pop, keys.label("menu", "leave"))
