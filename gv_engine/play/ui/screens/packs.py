"""Packs of levels: their cards, the map of a pack's levels, and the end of a pack."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from gv_engine.play.session.catalogue import Entry, format_title, next_in_course, search
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import Rect, clipped, pygame
from gv_engine.play.ui.drawing.widgets import Painter
from gv_engine.play.ui.screens.card_list import CardSection, CardsScreen
from gv_engine.play.ui.screens.cards import Card, ScenarioCard, draw_medal
from gv_engine.play.ui.screens.edit_lists import StarterMenu
from gv_engine.play.ui.screens.menu import Menu, MenuRow
from gv_engine.play.ui.screens.pictures import load_picture
from gv_engine.play.ui.screens.screen import AppContext
from gv_engine.play.ui.settings import LOCKED_NOTE, MEDALS, Progress

# ---- cards ---------------------------------------------------------------------------------------


def make_card(entry: Entry) -> ScenarioCard:
    """Return the card of the start screen for the scenario or pack of levels `entry`."""
    return PackCard(entry) if entry.levels else ScenarioCard(entry)


class LevelCard(ScenarioCard):
    """Card that opens a level of a pack and shows whether it is solved.

    Attributes:
        fewest: fewest steps of the player's solutions; 0 if not solved.
        is_locked: True until the player has solved enough of the levels before.
    """

    is_tile = has_medals_below = True

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.fewest = 0
        self.is_locked = False
        self.show_pack_name(False)

    def show_pack_name(self, shown: bool) -> None:
        """Add the title of the level's pack to the card's title if `shown`, else remove it."""
        assert self.entry.level
        number = self.entry.source.rpartition("#")[2]
        self.title = f"{number}. {self.entry.level.title}".rstrip(". ")
        if shown:
            self.title += f" ({self.pack_title})"

    @property
    def pack_title(self) -> str:
        """Title of the level's pack."""
        return format_title(Entry(self.entry.source.rpartition("#")[0], "").title)

    @property
    def par(self) -> int:
        """Number of steps to aim for; 0 if unknown."""
        return self.entry.level.par if self.entry.level else 0

    @property
    def digest(self) -> str:
        """Digest of the level's map."""
        return self.entry.level.digest if self.entry.level else ""

    @property
    def search_texts(self) -> tuple[str, str]:
        """Title of the level, and the heading under which its pack is listed, which the search
        looks at."""
        return self.entry.title, self.entry.group

    def draw_picture(self, painter: Painter, well: Rect) -> None:
        """Draw the picture of the level into `well`, or a padlock while the level is locked."""
        if not self.is_locked:
            super().draw_picture(painter, well)
            return
        painter.draw_card(well, "well")
        side = min(well.w, well.h) * 3 // 5
        lock = Rect(0, 0, side, side)
        lock.center = well.center
        painter.draw_shape(lock, "lock", "outline")

    def update_progress(self, progress: Progress) -> bool:
        """Update the card's text from `progress`, the record of solved levels; return True if the
        card's level is solved."""
        level = self.entry.level
        assert level
        self.fewest = progress.fewest.get(level.digest, 0)
        self.medals = progress.medals(level)
        if self.is_locked:
            self.text = "Locked"
        else:
            self.text = f"Best {self.fewest}" if self.fewest else "Not solved"
        if level.par:
            self.text += f" · par {level.par}"
        return bool(self.fewest)

    def load_content(self, app: AppContext, theme: Theme) -> None:
        """Load the level's picture; its description is shown only if the card has no text on the
        player's progress."""
        progress_text = self.text
        super().load_content(app, theme)
        self.text = progress_text or self.text


class PackCard(ScenarioCard):
    """Card that opens the map of a pack's levels.

    Attributes:
        levels: cards of the levels.
        next_level: the first level that is not solved; None if all are.
    """

    is_tile = True

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.levels = [LevelCard(level) for level in entry.levels]
        self.next_level: LevelCard | None = self.levels[0]
        self._description = self._progress_text = ""

    @property
    def num_solved(self) -> int:
        """Number of levels that the player has solved."""
        return sum(bool(card.fewest) for card in self.levels)

    def open(self, app: AppContext) -> None:
        """Open the screen with the pack's levels."""
        app.push(PackScreen(app, self))

    def load_content(self, app: AppContext, theme: Theme) -> None:
        """Load the picture of the pack's first level, and the pack's description."""
        super().load_content(app, theme)
        self._description = self.text
        if self.picture is not None:  # of the level that seed 0 picks, maybe one with fog
            self.picture, _ = load_picture(self.levels[0].entry, theme)

    def draw(self, painter: Painter, rect: Rect, is_chosen: bool) -> None:
        """Draw the card into `rect`, with the number of solved levels of the pack, and the medals
        that the player has won in all of them; a chosen card is outlined."""
        self.text = f"{self._progress_text}. {self._description}"
        self.medals = [medal for medal in MEDALS if self.count_medals(medal) == len(self.levels)]
        super().draw(painter, rect, is_chosen)

    def count_medals(self, medal: str) -> int:
        """Return the number of levels with the medal called `medal`."""
        return sum(medal in card.medals for card in self.levels)

    def update_progress(self, progress: Progress) -> str:
        """Update the cards of all levels from `progress`, the record of solved levels; return a
        text such as `3 of 10 solved`. Of the levels that are not solved, the first few are open."""
        levels = (card.entry.level for card in self.levels)
        locked = progress.find_locked(filter(None, levels))
        for card in self.levels:
            card.is_locked = card.digest in locked
            card.update_progress(progress)
        self.next_level = next((card for card in self.levels if not card.fewest), None)
        self._progress_text = f"{self.num_solved} of {len(self.levels)} solved"
        if not self.num_solved:
            return self._progress_text
        par, first = self.count_medals("par"), self.count_medals("first")
        return f"{self._progress_text}, {par} with par, {first} at the first try"


# ---- map -----------------------------------------------------------------------------------------


class PackScreen(CardsScreen):
    """Map of a pack: its levels along a path; the first level that is not solved is chosen.

    Args:
        app: app of the screen.
        pack: card of the pack.
    """

    placeholder = "Search for a level of this pack"
    leave_label = "back"

    def __init__(self, app: AppContext, pack: PackCard) -> None:
        super().__init__(app)
        self._pack = pack
        self._num_solved = len(pack.levels)  # when the screen was on top
        self._has_played = False  # since the screen was on top
        self._locked_card: Card | None = None  # opened once, which has not played it yet
        self.on_resume()

    @property
    def title(self) -> str:  # type: ignore[override]  # it changes with the pack
        """Title of the pack."""
        return self._pack.title

    @property
    def tile_gap(self) -> int:
        """Pixels between two tiles, with room for the path."""
        return self._line

    def _open(self, card: Card) -> None:
        """Open the level of `card`; a locked level opens only at the second attempt."""
        if isinstance(card, LevelCard) and card.is_locked and card is not self._locked_card:
            self._locked_card = card
            key = self.app.bindings.label("menu", "choose")
            self.app.show_note(LOCKED_NOTE.format(key))
            return
        self._has_played = True
        super()._open(card)

    def on_resume(self) -> None:
        """Update which levels are solved, and show the end of the pack if all are for the first
        time; if the player has since gone on to another pack, show that pack."""
        played = next(iter(self.app.settings.recent), "")
        if self._has_played and played != self._pack.entry.source:
            card = make_card(Entry(played, self._pack.entry.group))
            if isinstance(card, PackCard):
                self._pack, self._num_solved = card, len(card.levels)
        self._has_played = False
        self._progress_text = self._pack.update_progress(self.app.progress)
        self.set_query("")
        levels, next_level = self._pack.levels, self._pack.next_level
        self.chosen = levels.index(next_level) if next_level else 0
        before, self._num_solved = self._num_solved, self._pack.num_solved
        if before < self._num_solved == len(levels):
            self.app.push(PackEnd(self.app, self._pack))

    def sections(self) -> Iterable[CardSection]:
        """Yield the cards of the pack's levels that match the search text, with the number of
        solved levels as heading."""
        for card in self._pack.levels:
            card.show_pack_name(False)
        levels = search(self.query, self._pack.levels, lambda card: card.search_texts)
        yield self._progress_text, levels

    def choose_tile_size(self, count: int) -> tuple[int, tuple[int, int]]:
        """Return the number of columns and the size of the largest tiles with which `count` tiles
        fit without scrolling, else of the smallest ones."""
        line, viewport = self._line, self._viewport
        for columns in range(1, max(2, viewport.w // (9 * line)) + 1):
            size = self.make_tile_size((viewport.w - line // 2) // columns)
            if -(-count // columns) * (size[1] + line) + 2 * line <= viewport.h:
                break
        return columns, size

    def draw_cards(self, painter: Painter) -> None:
        """Draw the path from level to level, and the cards over it; the path is darker from the
        first locked level on, and leads between two rows from the end of one to the next."""
        offset = self._viewport.x, self._viewport.y - self._scroll
        width = max(3, self._line // 3)
        with clipped(painter.surface, self._viewport):
            for placed, following in zip(self._cards, self._cards[1:], strict=False):
                card = following.card
                is_open = isinstance(card, LevelCard) and not card.is_locked
                first, last = (each.rect.move(offset) for each in (placed, following))
                color = painter.color("muted" if is_open else "outline")
                middle = first.centery if first.y == last.y else (first.bottom + last.y) // 2
                corners = first.center, (first.centerx, middle), (last.centerx, middle), last.center
                pygame.draw.lines(painter.surface, color, False, corners, width)
        super().draw_cards(painter)


# ---- end -----------------------------------------------------------------------------------------


class PackEnd(Menu):
    """Dialog after the last level of a pack: what the player has achieved, and what to try next.

    Args:
        app: app of the screen.
        pack: card of the pack.
    """

    picture_lines = 4

    def __init__(self, app: AppContext, pack: PackCard) -> None:
        super().__init__(app)
        self._pack = pack
        pack.update_progress(app.progress)
        self._following = next_in_course(pack.entry.source)

    @property
    def title(self) -> str:  # type: ignore[override]  # it depends on the pack
        """Title of the pack, and whether all of it is solved."""
        ending = "the end" if self._pack.next_level else "complete"
        return f"{self._pack.title}: {ending}"

    @property
    def text_above(self) -> str:
        """Number of steps, or what is left to solve."""
        pack = self._pack
        if pack.next_level:
            left = len(pack.levels) - pack.num_solved
            return f"That was the last level. {left} of {len(pack.levels)} are not solved yet."
        steps = sum(card.fewest for card in pack.levels)
        par = sum(card.par for card in pack.levels)
        pars = f" Par for all of them is {par}." if par else ""
        return f"You have solved all {len(pack.levels)} levels in {steps} steps.{pars}"

    def rows(self) -> Sequence[MenuRow]:
        """Return rows for the next pack, for a level to try, for an own level, and for leaving."""
        rows, pack = [], self._pack
        if self._following:
            label = f"Go on: {format_title(self._following)}"
            rows.append(self.closing_row(label, self._open_following))
        slow = (card for card in pack.levels if card.par and "par" not in card.medals)
        if card := pack.next_level or next(slow, None):
            verb = "Solve" if card is pack.next_level else "Reach par in"
            rows.append(self.closing_row(f"{verb} {card.title}", partial(card.open, self.app)))
        if not self._following:
            rows.append(self.closing_row("Make a level of your own", self._open_starters))
        return [*rows, self.close_row("Back to the levels")]

    def _open_following(self) -> None:
        if isinstance(self.app.top, PackScreen):  # Escape leads from the next pack to the start
            self.app.pop()
        make_card(Entry(self._following, self._pack.entry.group)).open(self.app)

    def _open_starters(self) -> None:
        self.app.push(StarterMenu(self.app))

    def draw_picture(self, painter: Painter, rect: Rect) -> None:
        """Draw each medal into `rect`, with the number of levels that have it."""
        line, width = painter.line_height, rect.w // len(MEDALS)
        for index, (medal, name) in enumerate(MEDALS.items()):
            count = self._pack.count_medals(medal)
            slot = Rect(rect.x + index * width, rect.y, width, rect.h)
            disc = Rect(0, 0, 2 * line, 2 * line)
            disc.midtop = slot.midtop
            draw_medal(painter, disc, medal, count == len(self._pack.levels))
            text_rect = Rect(slot.x, disc.bottom, width, rect.bottom - disc.bottom)
            text = f"{name}: {count} of {len(self._pack.levels)}"
            painter.draw_text(text_rect, text, "text" if count else "muted", "center", 0.9)
