"""Packs of levels: their card on the start screen, and the screen to choose a level of one."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from gv_engine.session.catalogue import Entry, search
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.cards import Card, ScenarioCard
from gv_engine.ui.screens.keyboard import pasted
from gv_engine.ui.screens.screen import AppContext, Screen
from gv_engine.ui.settings import Progress

# ---- cards screen --------------------------------------------------------------------------------

HIGH = 5  # lines of a card
COLUMN_WIDTH = 22
NEVER = pygame.Rect(0, 0, 0, 0)


class Placed(NamedTuple):
    """A card and where it is, from the top of all of them."""

    card: Card
    rect: pygame.Rect


class CardsScreen(Screen):
    """Cards under headings; the arrows choose one, and what is typed is searched for."""

    title = "GV Engine"
    asks = "Search for a level, or type the path of a file"
    """What stands in the empty field."""
    leaves = "quits"
    """What the key for leaving does."""
    buttons: Sequence[tuple[str, str, str]] = (
        ("Settings", "window", "settings"),
        ("Keys", "window", "help"),
    )
    """What stands on those at the top, and the groups and names of their commands."""
    hinted: Sequence[tuple[str, str, str]] = ()
    """Groups and names of further commands that the last line tells, and what they do."""

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self._query = ""
        self._chosen = 0
        self._scroll = 0.0
        self._room = NEVER
        self._line = 1
        self._columns = 1
        self._headings: list[tuple[str, pygame.Rect]] = []
        self._cards: list[Placed] = []
        self._sought = True
        self._theme: Theme | None = None

    def sections(self) -> Iterable[tuple[str, Sequence[Card]]]:
        """The cards under their headings."""
        raise NotImplementedError

    @property
    def _placed(self) -> list[Placed]:
        """The cards of what was typed, also since the last picture: some type faster than that."""
        if self._sought:
            self._place()
        return self._cards

    @property
    def _high(self) -> int:
        return HIGH * self._line

    # ---- what happens ----------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Make one thumbnail that is missing, those in sight first."""
        if self._theme is None:
            return 0  # the first picture comes first, then this
        seen = self._room.move(0, int(self._scroll) - self._room.y)
        waiting = [placed for placed in self._placed if not placed.card.is_made(self._theme)]
        if not waiting:
            return None
        until = time.monotonic() + 0.02
        for placed in sorted(waiting, key=lambda it: not it.rect.colliderect(seen)):
            placed.card.make(self.app, self._theme, self._side)
            self.app.stale = True
            if time.monotonic() > until:
                break
        return 0

    def command(self, name: str) -> None:
        steps = {"up": -1, "down": 1, "page_up": -4, "page_down": 4}
        if name in steps:
            for _ in range(abs(steps[name])):
                self._move_rows(1 if steps[name] > 0 else -1)
        elif name in ("left", "right"):
            self._choose(self._chosen + (1 if name == "right" else -1))
        elif name in ("first", "last"):
            self._choose(0 if name == "first" else len(self._placed) - 1)
        elif name == "choose":
            if self.chosen:
                self._open(self.chosen)
        elif name == "erase":
            self._search(self._query[:-1])
        elif name == "paste":
            self._search(self._query + pasted())
        elif name == "leave" and self._query:
            self._search("")
        else:
            super().command(name)

    def typed(self, text: str) -> None:
        self._search(self._query + "".join(c for c in text if c.isprintable()))

    def pointed(self, event: pygame.event.Event) -> None:
        if event.type == pygame.MOUSEWHEEL:
            self._scroll -= event.y * 3 * self._high // 4
            self.app.stale = True

    def _search(self, query: str) -> None:
        self._query = query[:200]
        self._chosen = 0
        self._scroll = 0
        self._sought = True
        self.app.stale = True

    def _choose(self, number: int) -> None:
        self._chosen = max(0, min(len(self._placed) - 1, number))
        if self._placed:
            rect = self._placed[self._chosen].rect
            above = rect.y - 2 * self._line  # with the heading
            below = rect.bottom + self._line - self._room.h
            self._scroll = max(below, min(self._scroll, above))
        self.app.stale = True

    def _move_rows(self, step: int) -> None:
        """Choose the nearest card of the row above or below."""
        if not self._placed:
            return
        here = self._placed[min(self._chosen, len(self._placed) - 1)].rect
        beyond = [
            (abs(placed.rect.y - here.y), abs(placed.rect.x - here.x), number)
            for number, placed in enumerate(self._placed)
            if (placed.rect.y - here.y) * step > 0
        ]
        if beyond:
            self._choose(min(beyond)[2])

    @property
    def chosen(self) -> Card | None:
        """The chosen card, if there is one."""
        here = min(self._chosen, len(self._placed) - 1)
        return self._placed[here].card if self._placed else None

    def _open(self, card: Card) -> None:
        card.open(self.app)

    # ---- what is seen ----------------------------------------------------------------

    def draw(self, pen: Painter, now: float) -> None:
        self._line = line = pen.line
        gap = line // 2
        inner = pen.area.inflate(-2 * gap, -gap)
        top = pygame.Rect(inner.x, inner.y, inner.w, 2 * line)
        self._draw_top(pen, top)
        foot = pygame.Rect(inner.x, inner.bottom - line, inner.w, line)
        self._room = pygame.Rect(inner.x, top.bottom + gap, inner.w, 0)
        self._room.h = foot.y - gap - self._room.y
        self._side = self._high - line
        if self._theme != pen.theme:
            self._theme = pen.theme
        self._place()
        self._chosen = max(0, min(self._chosen, len(self._placed) - 1))
        height = max((placed.rect.bottom for placed in self._placed), default=0)
        self._scroll = max(0, min(self._scroll, height + gap - self._room.h))
        self._draw_cards(pen)
        if not self._placed:
            nothing = f"Nothing fits {self._query!r}. Type a name, a word or the path of a file."
            pen.lines(self._room.inflate(-2 * line, -2 * line), nothing, "muted")
        groove = pygame.Rect(pen.area.right - line // 3, self._room.y, line // 4, self._room.h)
        pen.scrolled(groove, int(self._scroll), self._room.h, height)
        keys = self.app.bindings
        hints = (
            "Type to search",
            "Arrows choose",
            f"{keys.label('menu', 'choose')} plays",
            *(f"{keys.label(group, name)} {does}" for group, name, does in self.hinted),
            f"{keys.label('window', 'help')} keys",
            f"{keys.label('window', 'settings')} settings",
            f"{keys.label('menu', 'leave')} {'clears' if self._query else self.leaves}",
        )
        pen.text(foot, " · ".join(hints), "muted", "center", 0.9)

    def _draw_top(self, pen: Painter, rect: pygame.Rect) -> None:
        line = pen.line
        rest = rect.copy()
        wide = rest.w > 40 * line
        if wide:
            taken = pen.text(pygame.Rect(rest.x, rest.y, 15 * line, rest.h), self.title, size=1.5)
            rest.x += taken + line
            rest.w -= taken + line
            for label, group, name in self.buttons:
                key = self.app.bindings.label(group, name)
                width = pen.width(label + key) + 3 * line
                slot = pygame.Rect(rest.right - width, rest.y, width, rest.h)
                pen.button(slot, label, partial(self.command, name), key, ground="card")
                rest.w -= width + line // 2
        pen.card(rest, "well")
        pen.frame(rest, "accent" if self._query else "outline")
        field = rest.inflate(-line, 0)
        if self._query:
            over = pen.width(self._query + "|") - field.w
            shown = self._query if over <= 0 else "..." + self._query[-max(1, field.w // line) :]
            pen.text(field, shown + "|")
        else:
            pen.text(field, self.asks, "muted")

    def _place(self) -> None:
        """Give the headings and cards of what was typed their places."""
        self._headings, self._cards, self._sought = [], [], False
        line = self._line
        gap, high = line // 2, line * 3 // 2
        self._columns = max(1, self._room.w // (COLUMN_WIDTH * line))
        width = (self._room.w - gap) // self._columns
        column = top = bottom = 0  # short groups stand side by side
        for heading, cards in self.sections():
            if not cards:
                continue
            taken = min(len(cards), self._columns)
            if column + taken > self._columns:
                column, top = 0, bottom
            rect = pygame.Rect(column * width, top, taken * width - gap, high)
            self._headings.append((heading, rect))
            for number, card in enumerate(cards):
                row, place = divmod(number, taken)
                y = top + high + row * (self._high + gap)
                rect = pygame.Rect((column + place) * width, y, width - gap, self._high)
                self._cards.append(Placed(card, rect))
                bottom = max(bottom, rect.bottom + gap)
            column += taken

    def _draw_cards(self, pen: Painter) -> None:
        room = self._room
        pen.surface.set_clip(room)
        for heading, rect in self._headings:
            slot = rect.move(room.x, room.y - int(self._scroll))
            if slot.colliderect(room):
                pen.text(slot, heading, "muted")
        for number, (card, rect) in enumerate(self._placed):
            place = rect.move(room.x, room.y - int(self._scroll))
            if place.colliderect(room):
                pen.hot(place.clip(room), partial(self._press, number, card))
                card.draw(pen, place, number == self._chosen)
        pen.surface.set_clip(None)

    def _press(self, number: int, card: Card, at: tuple[int, int]) -> None:
        self._chosen = number
        self._open(card)


# ---- pack ----------------------------------------------------------------------------------------


def card_of(entry: Entry) -> ScenarioCard:
    """The card of a scenario, or of a pack."""
    return PackCard(entry) if entry.levels else ScenarioCard(entry)


class LevelCard(ScenarioCard):
    """Opens a level of a pack; tells whether it is solved.

    Attributes:
        fewest: steps in which the player has solved it; 0 if it is not solved.
    """

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.fewest = 0
        self.is_among_others(False)

    def is_among_others(self, whether: bool) -> None:
        """It stands among cards of other packs, so that its own has to be told; or it does not."""
        pack, _, number = self.entry.source.rpartition("#")
        if self.entry.level:
            self.title = f"{number}. {self.entry.level.title}".rstrip(". ")
            self.title += f" ({Entry(pack, '').title})" * whether

    @property
    def said(self) -> tuple[str, str]:
        return self.entry.title, self.entry.group

    def draw(self, pen: Painter, rect: pygame.Rect, chosen: bool) -> None:
        super().draw(pen, rect, chosen)
        if self.fewest:
            draw_mark(pen, rect)

    def count(self, progress: Progress) -> bool:
        """Look whether it is solved, and say so."""
        level = self.entry.level
        assert level
        self.fewest = progress.fewest.get(level.digest, 0)
        best = f"Solved in {self.fewest} steps" if self.fewest else "Not solved yet"
        self.text = f"{best}, par {level.par}" if level.par else best
        return bool(self.fewest)

    def read(self, app: AppContext, theme: Theme, side: int) -> None:
        said = self.text
        super().read(app, theme, side)
        self.text = said or self.text


class PackCard(ScenarioCard):
    """Opens the list of a pack's levels."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.levels = [LevelCard(level) for level in entry.levels]
        self._about = self._told = ""

    def open(self, app: AppContext) -> None:
        app.push(PackScreen(app, self))

    def read(self, app: AppContext, theme: Theme, side: int) -> None:
        super().read(app, theme, side)
        self._about = self.text

    def draw(self, pen: Painter, rect: pygame.Rect, chosen: bool) -> None:
        self.text = f"{self._told}. {self._about}"
        super().draw(pen, rect, chosen)
        if all(card.fewest for card in self.levels):
            draw_mark(pen, rect)

    def count(self, progress: Progress) -> str:
        """How many of its levels are solved, in words."""
        solved = sum(card.count(progress) for card in self.levels)
        self._told = f"{solved} of {len(self.levels)} solved"
        return self._told


class PackScreen(CardsScreen):
    """Choose a level of a pack; the first that is not solved is chosen already.

    Args:
        app: that it belongs to.
        pack: its card.
    """

    asks = "Search for a level of this pack"
    leaves = "back"

    def __init__(self, app: AppContext, pack: PackCard) -> None:
        super().__init__(app)
        self._pack = pack
        self._plays = False
        self.uncovered()

    @property
    def title(self) -> str:  # type: ignore[override]  # whoever plays on comes to another pack
        return self._pack.title

    def _open(self, card: Card) -> None:
        self._plays = True
        super()._open(card)

    def uncovered(self) -> None:
        """Look again for what has been solved; of the next pack, if the player has come to it."""
        played = next(iter(self.app.settings.recent), "")
        if self._plays and played != self._pack.entry.source:
            card = card_of(Entry(played, self._pack.entry.group))
            self._pack = card if isinstance(card, PackCard) else self._pack
        self._plays = False
        self._told = self._pack.count(self.app.progress)
        self._search("")
        unsolved = (n for n, card in enumerate(self._pack.levels) if not card.fewest)
        self._chosen = next(unsolved, 0)

    def sections(self) -> Iterable[tuple[str, Sequence[Card]]]:
        cards = self._pack.levels
        for card in cards:
            card.is_among_others(False)
        if self._query.strip():
            cards = search(self._query, cards, lambda card: card.said)
        yield self._told, cards


def draw_mark(pen: Painter, rect: pygame.Rect) -> None:
    """A tick in the upper right corner of a card: this is solved."""
    line = pen.line
    disc = pygame.Rect(rect.right - line * 7 // 4, rect.y + line // 2, line * 5 // 4, line * 5 // 4)
    pygame.draw.circle(pen.surface, pen.color("gain"), disc.center, disc.w // 2)
    x, y, s = disc.x, disc.y, disc.w / 10
    tick = [(x + 2.7 * s, y + 5.2 * s), (x + 4.4 * s, y + 7 * s), (x + 7.4 * s, y + 3.4 * s)]
    pygame.draw.lines(pen.surface, pen.color("card"), False, tick, max(2, disc.w // 8))
