"""Widgets of the screens: text, cards, buttons and bars, and what of them can be pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.text import fitted, font, plate, write

Pixel = tuple[int, int]
"""x, y, as pygame has them."""

SHADE = 150  # of 255: how dark it is behind a screen that lies over another


class HitArea(NamedTuple):
    """A part of the picture that can be pressed."""

    rect: pygame.Rect
    press: Callable[[Pixel], None]
    drag: bool
    """Whether `press` is called again wherever the mouse goes while the button is down."""


def line_height(size: tuple[int, int], scale: float) -> int:
    """The height of a line of text in a window of that width and height, in pixels.

    Args:
        size: of the window.
        scale: 1 for the usual size; less where the window has no room for it.
    """
    width, height = size
    usual = min(20, width / 44, height / 38)
    return int(max(11, min(usual * scale, width / 28, height / 20)))


def wrap(text: str, line: int, width: int, most: int = 1000) -> list[str]:
    """The text in lines of at most so many pixels, each `line` high; the last one of `most` lines
    may be longer. A word that is wider is broken, as scripts without spaces are."""
    lines: list[str] = []
    for paragraph in text.splitlines():
        current = ""
        for word, space in _words(paragraph, line, width):
            longer = current + space + word if current else word
            full = current and font(line).size(longer)[0] > width
            if full and len(lines) < most - 1:
                lines.append(current)
                current = word
            else:
                current = longer
        lines.append(current)
    return lines[:most]


def _words(paragraph: str, line: int, width: int) -> Iterator[tuple[str, str]]:
    """What stays together, and what stands before it; letters of words that are too wide."""
    for word in paragraph.split():
        parts = [word] if font(line).size(word)[0] <= width else word
        for number, part in enumerate(parts):
            yield part, "" if number else " "


class Painter:
    """Draws one picture and remembers what on it can be pressed.

    Args:
        surface: to draw on.
        theme: the colours.
        line: height of a line of text, in pixels.
        mouse: where it is; None if it is elsewhere.
        before: the pen of the picture before; what is dragged on it goes on being dragged.

    Attributes:
        area: the whole picture.
    """

    def __init__(
        self,
        surface: pygame.Surface,
        theme: Theme,
        line: int,
        mouse: Pixel | None = None,
        before: Painter | None = None,
    ) -> None:
        self.surface, self.theme, self.line, self.mouse = surface, theme, line, mouse
        self.area = surface.get_rect()
        self._hot: list[HitArea] = []
        self._dragged: HitArea | None = before._dragged if before else None
        self._over: pygame.Rect | None = None

    # ---- drawing ---------------------------------------------------------------------

    def color(self, name: str) -> str:
        """A colour of the theme by its name."""
        color: str = getattr(self.theme, name)
        return color

    def card(self, rect: pygame.Rect, color: str = "card") -> None:
        """A panel with round corners."""
        if rect.w > 0 and rect.h > 0:
            radius = min(self.line // 2, rect.w // 2, rect.h // 2)
            self.surface.blit(plate(rect.size, radius, self.color(color)), rect)

    def frame(self, rect: pygame.Rect, color: str = "accent") -> None:
        """A line around something."""
        pygame.draw.rect(
            self.surface, self.color(color), rect, max(2, self.line // 8), self.line // 2
        )

    def text(
        self,
        rect: pygame.Rect,
        text: str,
        color: str = "text",
        align: str = "left",
        size: float = 1.0,
        middle: bool = False,
    ) -> int:
        """One line in the middle height of the rectangle, shrunk or cut short if it is too long.

        Args:
            rect: that the text keeps to.
            text: white space counts as one space.
            color: its name in the theme.
            align: left, center or right.
            size: in lines.
            middle: whether it is a name, which is cut in the middle.

        Returns:
            The width written, in pixels.
        """
        if rect.w < self.line or not text:
            return 0
        line = max(9, int(self.line * size))
        return write(self.surface, rect, text, line, self.color(color), align, middle)

    def lines(
        self,
        rect: pygame.Rect,
        text: str,
        color: str = "text",
        size: float = 1.0,
        align: str = "left",
    ) -> int:
        """Text of several lines from the top of the rectangle, as many as have room.

        Returns:
            The height written, in pixels.
        """
        line = max(9, int(self.line * size))
        most = max(1, rect.h // line)
        shown = wrap(text, line, rect.w, most)
        for number, words in enumerate(shown):
            slot = pygame.Rect(rect.x, rect.y + number * line, rect.w, line)
            is_path = " " not in words  # its end says most
            self.text(slot, fitted(words, line, rect.w, is_path), color, align, size)
        return len(shown) * line

    def width(self, text: str, size: float = 1.0) -> int:
        """How wide a text would be, in pixels."""
        return font(max(9, int(self.line * size))).size(text)[0]

    def dim(self) -> None:
        """Darken what has been drawn; nothing of it can be pressed any more."""
        shade = pygame.Surface(self.area.size, pygame.SRCALPHA)
        shade.fill((0, 0, 0, SHADE))
        self.surface.blit(shade, (0, 0))
        self._hot.clear()

    def note(self, text: str) -> None:
        """A note at the bottom of the picture, over all else."""
        line = self.line
        width = min(self.area.w - line, self.width(text) + 2 * line)
        shown = wrap(text, line, width - 2 * line, 4)
        rect = pygame.Rect(0, 0, width, len(shown) * line + line)
        rect.midbottom = self.area.centerx, self.area.bottom - line // 2
        self.card(rect, "accent")
        self.lines(rect.inflate(-line, -line), text, "on_accent", align="center")

    # ---- pressing --------------------------------------------------------------------

    def hot(self, rect: pygame.Rect, press: Callable[[Pixel], None], drag: bool = False) -> bool:
        """Let something be called with the mouse's place when it is pressed there.

        Returns:
            Whether the mouse is there now.
        """
        self._hot.append(HitArea(rect.copy(), press, drag))
        if self.mouse is not None and rect.collidepoint(self.mouse):
            self._over = rect.copy()
            return True
        return False

    def button(
        self,
        rect: pygame.Rect,
        label: str,
        press: Callable[[], None],
        key: str = "",
        chosen: bool = False,
        ground: str = "well",
        marked: bool = True,
    ) -> None:
        """A button with its label, and the key that does the same in weaker letters; `marked` with
        a line around it while the mouse is there."""
        over = self.hot(rect, lambda _: press())
        self.card(rect, "accent" if chosen else ground)
        inner = rect.inflate(-self.line, 0)
        if over and marked and not chosen:
            self.frame(rect, "outline")
        ink = "on_accent" if chosen else "text"
        if key:
            taken = self.text(inner, key, "on_accent" if chosen else "muted", "right", 0.9)
            inner.w -= taken + self.line // 2
        self.text(inner, label, ink, "left" if key else "center")

    def bar(
        self, rect: pygame.Rect, share: float, move: Callable[[float], None] | None = None
    ) -> None:
        """A bar that is full to a share between 0 and 1, and can be dragged if `move` is given."""
        groove = rect.inflate(0, -rect.h // 2)
        self.card(groove, "outline")
        full = groove.copy()
        full.w = round(groove.w * min(1.0, max(0.0, share)))
        self.card(full, "accent")
        if move is not None:
            knob = pygame.Rect(0, 0, rect.h * 3 // 4, rect.h)
            knob.center = groove.x + full.w, rect.centery
            self.card(knob.clamp(rect.inflate(knob.w, 0)), "text")
            self.hot(
                rect.inflate(knob.w, rect.h // 2),
                lambda at: move(min(1.0, max(0.0, (at[0] - rect.x) / max(1, rect.w)))),
                drag=True,
            )

    def scrolled(self, groove: pygame.Rect, first: int, shown: int, count: int) -> None:
        """Show in a groove which part of a list is to be seen; nothing if that is all of it."""
        if shown < count:
            part = groove.copy()
            part.h = max(self.line, groove.h * shown // count)
            part.y += groove.h * first // count
            self.card(part, "outline")

    def pointed(self, event: pygame.event.Event) -> bool:
        """Take a mouse event; True if it was about something that can be pressed."""
        if event.type == pygame.MOUSEBUTTONDOWN and event.button == 1:
            for hot in reversed(self._hot):
                if hot.rect.collidepoint(event.pos):
                    self._dragged = hot if hot.drag else None
                    hot.press(event.pos)
                    return True
        elif event.type == pygame.MOUSEBUTTONUP and event.button == 1 and self._dragged:
            self._dragged = None
            return True
        elif event.type == pygame.MOUSEMOTION:
            if self._dragged:
                self._dragged.press(event.pos)
                return True
            over = next(
                (h.rect for h in reversed(self._hot) if h.rect.collidepoint(event.pos)), None
            )
            if over != self._over:
                self._over = over
                return True
        return False
