"""Question whether to stop a rule that has been running for long."""

from __future__ import annotations

from gv_engine.session.watchdog import StuckRule
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import Rect, pygame
from gv_engine.ui.drawing.widgets import Painter, cut, wrap_text
from gv_engine.ui.input.bindings import Bindings
from gv_engine.ui.screens.keyboard import Keyboard

ANSWER_EVENTS = (
    *(pygame.KEYDOWN, pygame.CONTROLLERBUTTONDOWN, pygame.MOUSEBUTTONDOWN),
    pygame.TEXTINPUT,  # text of keys that were no answer is dropped
)
QUESTION = "Wait for it, or stop it: then the game is as it was before."


class StopQuestion:
    """Dialog over the last picture that asks whether to stop a running rule.

    Args:
        surface: surface of the window.
        keyboard, bindings: names and commands of keys; the keys that choose or leave in a menu stop
            the rule.
    """

    def __init__(self, surface: pygame.Surface, keyboard: Keyboard, bindings: Bindings) -> None:
        self._surface, self._before = surface, surface.copy()
        self._keyboard, self._bindings = keyboard, bindings
        self._painter: Painter | None = None
        self._stop = False
        pygame.event.clear(ANSWER_EVENTS)  # drop events from before the question

    def draw(self, rule: StuckRule, theme: Theme, line: int) -> None:
        """Draw the question whether to stop `rule`, with its name and running time; `line` is the
        height of a line of text in pixels."""
        self._surface.blit(self._before, (0, 0))
        painter = self._painter = Painter(self._surface, theme, line, pygame.mouse.get_pos())
        painter.dim()
        width = min(painter.area.w - line, 30 * line)
        rows = sum(len(wrap_text(text, line, width - 2 * line)) for text in (str(rule), QUESTION))
        card = Rect(0, 0, width, (6 + rows) * line)
        card.center = painter.area.center
        rest = painter.draw_dialog(card, f"A rule has been running for {rule.seconds:.0f} s")
        cut(rest, "top", painter.draw_lines(rest, str(rule), "accent"))
        cut(rest, "top", painter.draw_lines(rest, QUESTION, "muted") + line // 2)
        key = self._bindings.label("menu", "leave")
        button = cut(rest, "top", line * 7 // 4)
        painter.draw_button(button, "Stop it", self._confirm, key, chosen=True)

    def answer(self) -> bool:
        """Handle waiting events; return True if the user wants the rule stopped, by a key, the
        button or closing the window."""
        for event in pygame.event.get(ANSWER_EVENTS):
            if event.type == pygame.MOUSEBUTTONDOWN:
                if self._painter is not None:
                    self._painter.handle_mouse(event)
                continue
            for key, repeated in self._keyboard.keys(event):
                command = self._bindings.find(key, ("menu",))
                if command and command.name in ("choose", "leave") and not repeated:
                    self._confirm()
        return self._stop or pygame.event.peek(pygame.QUIT)

    def _confirm(self) -> None:
        """Take it that the user wants the rule stopped."""
        self._stop = True
