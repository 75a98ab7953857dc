"""Packs of levels: their card on the start screen, and the screen to choose a level of one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gv_engine.frontend.controls.progress import Progress
from gv_engine.frontend.controls.theme import Theme
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen
from gv_engine.frontend.window.cards import Card, ScenarioCard
from gv_engine.frontend.window.screens.cards_screen import CardsScreen
from gv_engine.frontend.window.screens.screen import Host
from gv_engine.playing.catalogue import Entry
from gv_engine.playing.searching import search


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

    def draw(self, pen: Pen, rect: pygame.Rect, chosen: bool) -> None:
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

    def read(self, app: Host, theme: Theme, side: int) -> None:
        said = self.text
        super().read(app, theme, side)
        self.text = said or self.text


class PackCard(ScenarioCard):
    """Opens the list of a pack's levels."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.levels = [LevelCard(level) for level in entry.levels]
        self._about = self._told = ""

    def open(self, app: Host) -> None:
        app.push(PackScreen(app, self))

    def read(self, app: Host, theme: Theme, side: int) -> None:
        super().read(app, theme, side)
        self._about = self.text

    def draw(self, pen: Pen, rect: pygame.Rect, chosen: bool) -> None:
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

    def __init__(self, app: Host, pack: PackCard) -> None:
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


def draw_mark(pen: Pen, rect: pygame.Rect) -> None:
    """A tick in the upper right corner of a card: this is solved."""
    line = pen.line
    disc = pygame.Rect(rect.right - line * 7 // 4, rect.y + line // 2, line * 5 // 4, line * 5 // 4)
    pygame.draw.circle(pen.surface, pen.color("gain"), disc.center, disc.w // 2)
    x, y, s = disc.x, disc.y, disc.w / 10
    tick = [(x + 2.7 * s, y + 5.2 * s), (x + 4.4 * s, y + 7 * s), (x + 7.4 * s, y + 3.4 * s)]
    pygame.draw.lines(pen.surface, pen.color("card"), False, tick, max(2, disc.w // 8))
