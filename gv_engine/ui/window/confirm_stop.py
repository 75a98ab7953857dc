"""A question that is asked while a rule runs: whether to stop it."""

from __future__ import annotations

from gv_engine.session.watchdog import StuckRule
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter, wrap
from gv_engine.ui.input.bindings import Bindings
from gv_engine.ui.screens.keyboard import Keyboard

ANSWERS = (
    pygame.KEYDOWN,
    pygame.CONTROLLERBUTTONDOWN,
    pygame.MOUSEBUTTONDOWN,
    pygame.TEXTINPUT,  # what a key types that was no answer is meant for nobody
)
WORDS = "Wait for it, or stop it: then the game is as it was before."


class Question:
    """Stands over the picture that was there, and says which rule runs and for how long.

    Args:
        surface: what is shown.
        keyboard, bindings: to tell keys; those that choose or leave in a menu stop the rule.
    """

    def __init__(self, surface: pygame.Surface, keyboard: Keyboard, bindings: Bindings) -> None:
        self._surface, self._before = surface, surface.copy()
        self._keyboard, self._bindings = keyboard, bindings
        self._pen: Painter | None = None
        self._stop = False
        pygame.event.clear(ANSWERS)  # pressed before it was asked

    def draw(self, runaway: StuckRule, theme: Theme, line: int) -> None:
        """Draw it."""
        self._surface.blit(self._before, (0, 0))
        pen = self._pen = Painter(self._surface, theme, line, pygame.mouse.get_pos())
        pen.dim()
        width = min(pen.area.w - line, 30 * line)
        told = sum(len(wrap(text, line, width - 2 * line)) for text in (str(runaway), WORDS))
        card = pygame.Rect(0, 0, width, (6 + told) * line)
        card.center = pen.area.center
        pen.card(card)
        rest = card.inflate(-2 * line, -line)
        title = f"A rule has been running for {runaway.seconds:.0f} s"
        pen.text(pygame.Rect(rest.x, rest.y, rest.w, 2 * line), title, size=1.4)
        rest.y += 2 * line
        rest.y += pen.lines(rest, str(runaway), "accent")
        rest.y += pen.lines(rest, WORDS, "muted") + line // 2
        key = self._bindings.label("menu", "leave")
        button = pygame.Rect(rest.x, rest.y, rest.w, line * 7 // 4)
        pen.button(button, "Stop it", self._press, key, chosen=True)

    def answer(self) -> bool:
        """Whether it is to be stopped: by a key, by the button, or because the window closes."""
        for event in pygame.event.get(ANSWERS):
            if event.type == pygame.MOUSEBUTTONDOWN:
                if self._pen is not None:
                    self._pen.pointed(event)
                continue
            for key, repeated in self._keyboard.keys(event):
                command = self._bindings.find(key, ("menu",))
                if command and command.name in ("choose", "leave") and not repeated:
                    self._press()
        return self._stop or pygame.event.peek(pygame.QUIT)

    def _press(self) -> None:
        self._stop = True
