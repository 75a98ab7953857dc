"""Help: what every key does, as the bindings have it."""

from __future__ import annotations

from collections.abc import Callable

from gv_engine.frontend.controls.bindings import as_toml, keys_file
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen
from gv_engine.frontend.window.screens.screen import Host, Screen


class HelpScreen(Screen):
    """A list of keys and what they do, in as many columns as have room.

    Args:
        app: that it belongs to.
        about: the groups of bindings that it tells about.
        knows: which of their commands.
    """

    over = True

    def __init__(
        self, app: Host, about: tuple[str, ...], knows: Callable[[str], bool] = bool
    ) -> None:
        super().__init__(app)
        self._about, self._knows = about, knows
        self._scroll = 0
        self._page = 0

    def command(self, name: str) -> None:
        """Scroll, or leave by whatever else is pressed."""
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        if name in moves:
            self._scroll += moves[name]
        elif name in ("leave", "help", "choose"):
            self.app.pop()

    def typed(self, text: str) -> None:
        """The letter that opened the help closes it."""
        if text in "hH?":
            self.app.pop()

    def pointed(self, event: pygame.event.Event) -> None:
        if event.type == pygame.MOUSEWHEEL:
            self._scroll -= event.y
            self.app.stale = True
        elif event.type == pygame.MOUSEBUTTONDOWN:
            self.app.pop()

    def draw(self, pen: Pen, now: float) -> None:
        line = pen.line
        pairs = list(self.app.bindings.help(self._about, self._knows))
        card = pen.area.inflate(-line, -line)
        inner = card.inflate(-2 * line, -line)
        columns = max(1, min(2, inner.w // (30 * line)))
        rows = -(-len(pairs) // columns)
        # not larger than it has to be
        card.h = min(card.h, rows * line * 5 // 4 + 6 * line)
        card.w = min(card.w, columns * 36 * line)
        card.center = pen.area.center
        inner = card.inflate(-2 * line, -line)
        pen.card(card)
        pen.text(pygame.Rect(inner.x, inner.y, inner.w, 2 * line), "Keys", size=1.4)
        foot = pygame.Rect(inner.x, inner.bottom - line, inner.w, line)
        file = keys_file()
        if file.exists():
            pen.text(foot, f"Yours are in {file}", "muted", size=0.9)
        else:
            foot.w = min(inner.w, 26 * line)
            foot.h, foot.y = line * 3 // 2, inner.bottom - line * 3 // 2
            pen.button(foot, "Make a file to change them", self._make_file)
        body = pygame.Rect(inner.x, inner.y + line * 5 // 2, inner.w, 0)
        body.h = foot.y - line // 2 - body.y
        high = line * 5 // 4
        self._page = max(1, body.h // high)
        self._scroll = max(0, min(self._scroll, rows - self._page))
        width = body.w // columns
        for number, (keys, says) in enumerate(pairs):
            column, row = divmod(number, rows)
            if 0 <= row - self._scroll < self._page:
                slot = pygame.Rect(body.x + column * width, body.y, width - line, high)
                slot.y += (row - self._scroll) * high
                left = pygame.Rect(slot.x, slot.y, slot.w // 2 - line // 2, high)
                pen.text(left, keys, "accent")
                pen.text(pygame.Rect(slot.x + slot.w // 2, slot.y, slot.w // 2, high), says)
        groove = pygame.Rect(card.right - line * 3 // 4, body.y, line // 4, body.h)
        pen.scrolled(groove, self._scroll, self._page, rows)

    def _make_file(self) -> None:
        file = keys_file()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as made:
                made.write(as_toml(self.app.bindings))
        except OSError as error:
            self.app.say(f"{file} cannot be made: {error.strerror}")
        else:
            self.app.say(f"Change {file} and start again")
