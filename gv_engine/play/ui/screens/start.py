"""Start screen and packs: cards of levels and replays, with a search field."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from gv_engine.play.session.catalogue import Entry, built_in_entries, folder_entries, search
from gv_engine.play.session.replay import LINE_BEGINS, SUFFIX
from gv_engine.play.session.rollout_games import is_rollout
from gv_engine.play.ui.colors import Theme
from gv_engine.play.ui.drawing.sprites import Rect, clipped, pygame
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.cards import (
    Card,
    FileCard,
    MissingCard,
    ReplayCard,
    ScenarioCard,
    UnfinishedCard,
)
from gv_engine.play.ui.screens.medals import draw_medals
from gv_engine.play.ui.screens.menu import SearchField
from gv_engine.play.ui.screens.screen import AppContext
from gv_engine.play.ui.settings import (
    LOCKED_NOTE,
    MEDALS,
    Progress,
    replay_folder,
    unfinished_files,
)
from gv_engine.scenario.library import FOLDER_FILE

# ---- cards screen --------------------------------------------------------------------------------

CARD_LINES = 5  # height of a card
COLUMN_WIDTH = 22


class PlacedCard(NamedTuple):
    """A card and its rectangle, relative to the top of all cards."""

    card: Card
    rect: Rect


class CardsScreen(SearchField):
    """Screen of cards under headings; arrow keys choose a card, typed text is searched for.

    Attributes:
        placeholder: text in the empty search field.
        leave_label: text for the key that leaves.
        buttons: label, group and command of the buttons at the top.
        hinted_commands: group, command and text of further hints.
        categories: names of the categories to choose from; the first one shows some cards of each.
        category: name of the chosen category.
        card_scales: sizes of the cards to try, the largest first.
    """

    title = "GV Engine"
    placeholder = "Search for a level, or type the path of a file"
    leave_label = "quits"
    buttons: Sequence[tuple[str, str, str]] = (
        ("Settings", "window", "settings"),
        ("Keys", "window", "help"),
    )
    hinted_commands: Sequence[tuple[str, str, str]] = ()
    categories: Sequence[str] = ()
    category = ""
    card_scales: tuple[float, ...] = (1,)

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        self.chosen = 0
        self._scroll = 0.0
        self._viewport = Rect(0, 0, 0, 0)
        self._line = self._card_height = 1
        self._headings: list[tuple[str, Rect]] = []
        self._cards: list[PlacedCard] = []
        self._is_outdated = True
        self._theme: Theme | None = None

    def sections(self) -> Iterable[tuple[str, Sequence[Card]]]:
        """Yield (heading, cards) pairs with the cards to show: those that match the search text, or
        all if it is empty."""
        raise NotImplementedError

    @property
    def _placed_cards(self) -> list[PlacedCard]:
        if self._is_outdated:
            self._place_cards()
        return self._cards

    # ---- events ----------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Load thumbnails of cards for 20 ms, visible ones first; return 0 to be called again at
        once, or None if all are loaded."""
        if self._theme is None:
            return 0  # draw the first picture before loading cards
        seen = self._viewport.move(0, int(self._scroll) - self._viewport.y)
        cards = [pair for pair in self._placed_cards if pair.card.loaded_theme != self._theme]
        if not cards:
            return None
        until = time.monotonic() + 0.02
        for card, _ in sorted(cards, key=lambda pair: not pair.rect.colliderect(seen)):
            card.load(self.app, self._theme, self._card_height - self._line)
            self.app.needs_redraw = True
            if time.monotonic() > until:
                break
        return 0

    def run_command(self, name: str) -> None:
        """Run the command `name`: select or open a card, clear the search text, or leave."""
        count = len(self._placed_cards)
        numbers = {"left": self.chosen - 1, "right": self.chosen + 1, "first": 0, "last": count - 1}
        rows = {"up": -1, "down": 1, "page_up": -4, "page_down": 4}.get(name, 0)
        if rows:
            for _ in range(abs(rows)):
                self._move_row(1 if rows > 0 else -1)
        elif name in numbers:
            self._choose(numbers[name])
        elif name == "choose":
            if card := self.chosen_card:
                self._open(card)
        elif name == "leave" and self.query:
            self.set_query("")
        else:
            super().run_command(name)

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Scroll the cards when the mouse wheel is turned."""
        if event.type == pygame.MOUSEWHEEL:
            self._scroll -= event.y * 3 * self._card_height // 4

    def set_query(self, query: str) -> None:
        """Set the search text to `query`, and scroll to the top; the cards are laid out again
        later."""
        super().set_query(query)
        self._scroll = 0
        self._is_outdated = True

    def _choose(self, index: int) -> None:
        """Select the card with this `index`, and scroll to it."""
        self.chosen = max(0, min(len(self._placed_cards) - 1, index))
        if self._placed_cards:
            rect = self._placed_cards[self.chosen].rect
            above = rect.y - 2 * self._line  # with the heading
            below = rect.bottom + self._line - self._viewport.h
            self._scroll = max(below, min(self._scroll, above))

    def _move_row(self, step: int) -> None:
        """Select the nearest card in the row above if `step` is -1, or in the row below if it is
        1."""
        cards = self._placed_cards
        if not cards:
            return
        here = cards[min(self.chosen, len(cards) - 1)].rect
        candidates = [
            (abs(card.rect.y - here.y), abs(card.rect.x - here.x), number)
            for number, card in enumerate(cards)
            if (card.rect.y - here.y) * step > 0
        ]
        if candidates:
            self._choose(min(candidates)[2])

    @property
    def chosen_card(self) -> Card | None:
        """The selected card; None if there are no cards."""
        cards = self._placed_cards[: self.chosen + 1]
        return cards[-1].card if cards else None

    def _open(self, card: Card) -> None:
        card.open(self.app)

    # ---- drawing ---------------------------------------------------------------------

    def draw(self, painter: Painter, now: float) -> None:
        """Draw search field, cards, scrollbar and hints with `painter`."""
        self._line = line = painter.line_height
        gap = line // 2
        self._viewport = inner = painter.area.inflate(-2 * gap, -gap)
        self._draw_header(painter, cut(inner, "top", 2 * line, gap))
        if self.categories:
            self._draw_categories(painter, cut(inner, "top", line * 3 // 2, gap))
        footer = cut(inner, "bottom", line, gap)
        self._card_height, self._theme = CARD_LINES * line, painter.theme
        self._place_cards()
        self.chosen = max(0, min(self.chosen, len(self._cards) - 1))
        height = max((card.rect.bottom for card in self._cards), default=0)
        self._scroll = max(0, min(self._scroll, height + gap - inner.h))
        self._draw_cards(painter)
        if not self._cards:
            text = f"Nothing fits {self.query!r}. Type a name, a word or the path of a file."
            text = text if self.query else "There is nothing here yet."
            painter.draw_lines(inner.inflate(-2 * line, -2 * line), text, "muted")
        groove = Rect(painter.area.right - line // 3, inner.y, line // 4, inner.h)
        painter.draw_scrollbar(groove, int(self._scroll), inner.h, height)
        keys = self.app.bindings
        hints = (
            "Type to search",
            "Arrows choose",
            f"{keys.label('menu', 'choose')} plays",
            *(f"{keys.label(group, name)} {does}" for group, name, does in self.hinted_commands),
            f"{keys.label('window', 'help')} keys",
            f"{keys.label('window', 'settings')} settings",
            f"{keys.label('menu', 'leave')} {'clears' if self.query else self.leave_label}",
        )
        painter.draw_text(footer, " · ".join(hints), "muted", "center", 0.9)

    def _draw_header(self, painter: Painter, field: Rect) -> None:
        """Draw title, buttons and search field into `field`, which is shrunk to the text of the
        search field."""
        line = painter.line_height
        if field.w > 40 * line:
            title_rect = Rect(field.x, field.y, 15 * line, field.h)
            cut(field, "left", painter.draw_text(title_rect, self.title, size=1.5) + line)
            for label, group, name in self.buttons:
                key = self.app.bindings.label(group, name)
                slot = cut(field, "right", painter.text_width(label + key) + 3 * line, line // 2)
                press = partial(self.run_command, name)
                painter.draw_button(slot, label, press, key, background="card")
        painter.draw_card(field, "well")
        painter.draw_outline(field, "accent" if self.query else "outline")
        field.inflate_ip(-line, 0)
        if not self.query:
            painter.draw_text(field, self.placeholder, "muted")
        elif painter.text_width(self.query + "|") <= field.w:
            painter.draw_text(field, self.query + "|")
        else:
            painter.draw_text(field, f"...{self.query[-max(1, field.w // line) :]}|")

    def _draw_categories(self, painter: Painter, row: Rect) -> None:
        """Draw a button for each category into `row`, as far as they fit."""
        line = painter.line_height
        for name in self.categories:
            width = painter.text_width(name) + line
            if width > row.w:
                break
            press = partial(self.choose_category, name)
            slot = cut(row, "left", width, line // 3)
            painter.draw_button(slot, name, press, "", name == self.category, "card")

    def choose_category(self, name: str) -> None:
        """Show the cards of the category called `name`."""
        self.category = name
        self.set_query("")

    def _place_cards(self) -> None:
        """Compute the rectangles of headings and cards; short sections stand side by side."""
        self._headings, self._cards, self._is_outdated = [], [], False
        line = self._line
        gap, heading_height = line // 2, line * 3 // 2
        sections = [section for section in self.sections() if section[1]]
        columns, self._card_height = self._choose_card_size(
            sum(len(cards) for _, cards in sections)
        )
        width = (self._viewport.w - gap) // columns
        column = top = bottom = 0
        for heading, cards in sections:
            taken = min(len(cards), columns)
            if column + taken > columns:
                column, top = 0, bottom
            rect = Rect(column * width, top, taken * width - gap, heading_height)
            self._headings.append((heading, rect))
            for number, card in enumerate(cards):
                row, place = divmod(number, taken)
                y = rect.bottom + row * (self._card_height + gap)
                card_rect = Rect((column + place) * width, y, width - gap, self._card_height)
                self._cards.append(PlacedCard(card, card_rect))
                bottom = max(bottom, card_rect.bottom + gap)
            column += taken

    def _choose_card_size(self, count: int) -> tuple[int, int]:
        """Return the number of columns and the height of a card: the largest of `card_scales` with
        which `count` cards fit without scrolling, else the last one."""
        line, room = self._line, self._viewport
        for scale in self.card_scales:
            width = int((COLUMN_WIDTH + CARD_LINES * (scale - 1)) * line)
            columns, height = max(1, room.w // width), int(CARD_LINES * scale * line)
            if -(-count // columns) * (height + line // 2) + 2 * line <= room.h:
                break
        return columns, height

    def _draw_cards(self, painter: Painter) -> None:
        """Draw the visible headings and cards, and make the cards clickable."""
        room = self._viewport
        with clipped(painter.surface, room):
            for heading, rect in self._headings:
                slot = rect.move(room.x, room.y - int(self._scroll))
                if slot.colliderect(room):
                    painter.draw_text(slot, heading, "muted")
            for number, (card, rect) in enumerate(self._cards):
                place = rect.move(room.x, room.y - int(self._scroll))
                if place.colliderect(room):
                    painter.add_hit_area(place.clip(room), partial(self._press, number, card))
                    card.draw(painter, place, number == self.chosen)

    def _press(self, index: int, card: Card, position: tuple[int, int]) -> None:
        self.chosen = index
        self._open(card)


# ---- pack ----------------------------------------------------------------------------------------


def make_card(entry: Entry) -> ScenarioCard:
    """Return the card of the start screen for the scenario or pack of levels `entry`."""
    return PackCard(entry) if entry.levels else ScenarioCard(entry)


class LevelCard(ScenarioCard):
    """Card that opens a level of a pack and shows whether it is solved.

    Attributes:
        fewest: fewest steps of the player's solutions; 0 if not solved.
        medals: medals that the player has won.
        is_locked: True until the player has solved enough of the levels before.
    """

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.fewest = 0
        self.medals: tuple[str, ...] = ()
        self.is_locked = False
        self.show_pack_name(False)

    def show_pack_name(self, shown: bool) -> None:
        """Add the name of the level's pack to the card's title if `shown`, else remove it."""
        pack, _, number = self.entry.source.rpartition("#")
        if self.entry.level:
            self.title = f"{number}. {self.entry.level.title}".rstrip(". ")
            self.title += f" ({Entry(pack, '').title})" * shown

    @property
    def digest(self) -> str:
        """Digest of the level's map."""
        return self.entry.level.digest if self.entry.level else ""

    @property
    def search_texts(self) -> tuple[str, str]:
        """Title of the level, and the heading under which its pack is listed, which the search
        looks at."""
        return self.entry.title, self.entry.group

    def draw(self, painter: Painter, rect: Rect, chosen: bool) -> None:
        """Draw the card into `rect`, with the medals that the player has won; a chosen card is
        outlined."""
        super().draw(painter, rect, chosen)
        draw_medals(painter, medal_row(painter, rect), self.medals)

    def draw_thumbnail(self, painter: Painter, well: Rect) -> None:
        """Draw the thumbnail of the level into `well`, or a padlock while the level is locked."""
        if not self.is_locked:
            super().draw_thumbnail(painter, well)
            return
        painter.draw_card(well, "well")
        body = Rect(0, 0, well.w * 2 // 5, well.h * 3 // 10)
        body.center = well.centerx, well.centery + well.h // 10
        bow = Rect(0, 0, body.w * 3 // 5, body.h * 3 // 2)
        bow.center = body.midtop
        width, ink = max(2, well.w // 16), painter.color("muted")
        pygame.draw.rect(painter.surface, ink, bow, width, border_radius=bow.w // 2)
        pygame.draw.rect(painter.surface, ink, body, border_radius=width)

    def update_progress(self, progress: Progress) -> bool:
        """Update the card's text from `progress`, the record of solved levels; return True if the
        card's level is solved."""
        level = self.entry.level
        assert level
        self.fewest = progress.fewest.get(level.digest, 0)
        self.medals = progress.medals(level)
        best = f"Solved in {self.fewest} steps" if self.fewest else "Not solved yet"
        best = "Locked" if self.is_locked else best
        self.text = f"{best}, par {level.par}" if level.par else best
        return bool(self.fewest)

    def load_content(self, app: AppContext, theme: Theme, side: int) -> None:
        """Load the level's thumbnail, `side` pixels wide; its description is shown only if the card
        has no text on the player's progress."""
        progress_text = self.text
        super().load_content(app, theme, side)
        self.text = progress_text or self.text


class PackCard(ScenarioCard):
    """Card that opens the list of a pack's levels."""

    def __init__(self, entry: Entry) -> None:
        super().__init__(entry)
        self.levels = [LevelCard(level) for level in entry.levels]
        self._description = self._progress_text = ""

    def open(self, app: AppContext) -> None:
        """Open the screen with the pack's levels."""
        app.push(PackScreen(app, self))

    def load_content(self, app: AppContext, theme: Theme, side: int) -> None:
        """Load the thumbnail of the pack's first level, `side` pixels wide, and the pack's
        description."""
        super().load_content(app, theme, side)
        self._description = self.text

    def draw(self, painter: Painter, rect: Rect, chosen: bool) -> None:
        """Draw the card into `rect`, with the number of solved levels of the pack; a chosen card is
        outlined."""
        self.text = f"{self._progress_text}. {self._description}"
        super().draw(painter, rect, chosen)
        won = [m for m in MEDALS if all(m in card.medals for card in self.levels)]
        draw_medals(painter, medal_row(painter, rect), won)

    def update_progress(self, progress: Progress) -> str:
        """Update the cards of all levels from `progress`, the record of solved levels; return a
        text such as `3 of 10 solved`. Of the levels that are not solved, the first few are open."""
        levels = (card.entry.level for card in self.levels)
        locked = progress.find_locked(filter(None, levels))
        for card in self.levels:
            card.is_locked = card.digest in locked
        solved = sum(card.update_progress(progress) for card in self.levels)
        par, first = (sum(m in card.medals for card in self.levels) for m in ("par", "first"))
        self._progress_text = f"{solved} of {len(self.levels)} solved"
        details = f", {par} with par, {first} at the first try" if solved else ""
        return self._progress_text + details


def medal_row(painter: Painter, rect: Rect) -> Rect:
    """Return the rectangle of the medals in the lower right corner of the card in `rect`."""
    line = painter.line_height
    return Rect(rect.x, rect.bottom - line * 7 // 4, rect.w - line // 2, line * 5 // 4)


class PackScreen(CardsScreen):
    """Screen to choose a level of a pack; the first unsolved level is chosen.

    Args:
        app: app of the screen.
        pack: card of the pack.
    """

    placeholder = "Search for a level of this pack"
    card_scales = (3, 2.5, 2, 1.5, 1)
    leave_label = "back"

    def __init__(self, app: AppContext, pack: PackCard) -> None:
        super().__init__(app)
        self._pack = pack
        self._plays = False
        self._asked_for: Card | None = None
        self.on_resume()

    @property
    def title(self) -> str:  # type: ignore[override]  # it changes with the pack
        """Title of the pack."""
        return self._pack.title

    def _open(self, card: Card) -> None:
        """Open the level of `card`; a locked level opens only at the second attempt."""
        if isinstance(card, LevelCard) and card.is_locked and card is not self._asked_for:
            self._asked_for = card
            key = self.app.bindings.label("menu", "choose")
            self.app.show_note(LOCKED_NOTE.format(key))
            return
        self._plays = True
        super()._open(card)

    def on_resume(self) -> None:
        """Update which levels are solved; if the player has since gone on to another pack, show
        that pack."""
        played = next(iter(self.app.settings.recent), "")
        if self._plays and played != self._pack.entry.source:
            card = make_card(Entry(played, self._pack.entry.group))
            self._pack = card if isinstance(card, PackCard) else self._pack
        self._plays = False
        self._progress_text = self._pack.update_progress(self.app.progress)
        self.set_query("")
        unsolved = (n for n, card in enumerate(self._pack.levels) if not card.fewest)
        self.chosen = next(unsolved, 0)

    def sections(self) -> Iterable[tuple[str, Sequence[Card]]]:
        """Yield the cards of the pack's levels that match the search text, with the number of
        solved levels as heading."""
        for card in self._pack.levels:
            card.show_pack_name(False)
        levels = search(self.query, self._pack.levels, lambda card: card.search_texts)
        yield self._progress_text, levels


ALL = "All"
# Categories of the start screen.
_CATEGORIES = (
    *(ALL, "Mine", "Puzzles", "Not solved", "Gallery", "MiniGrid", "BabyAI", "Together"),
    *("Algebra", "Others"),
)
SHOWN_OF_CATEGORY = 4  # number of cards of each category that the category `ALL` shows
SHOWN_RECENT = 4
SHOWN_REPLAYS = 12
QUIT_WITHIN = 4.0  # s between two presses that quit


class StartScreen(CardsScreen):
    """Start screen with cards of levels and replays in sections."""

    buttons = (*CardsScreen.buttons, ("New level", "start", "new_level"))
    hinted_commands = (
        ("start", "edit_level", "edits"),
        ("start", "next_category", "another category"),
    )
    groups = ("start", "menu", "window")
    categories = _CATEGORIES
    category = ALL

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        entries = built_in_entries()
        self._scenario_cards = [make_card(entry) for entry in entries if not entry.missing]
        reasons = dict.fromkeys(entry.missing for entry in entries if entry.missing)
        missing = ([entry for entry in entries if entry.missing == reason] for reason in reasons)
        self._missing_cards = [MissingCard(group) for group in missing]
        self._folder_cards = [make_card(entry) for entry in folder_entries(Path.cwd())]
        self._cards_by_source: dict[str, ScenarioCard] = {
            card.entry.source: card for card in (*self._folder_cards, *self._scenario_cards)
        }
        self._quit_deadline = 0.0
        self._recent_cards: list[Card] = []
        # by file and time of its change
        self._replay_cards: dict[tuple[Path, float], ReplayCard] = {}
        self.on_resume()

    def on_resume(self) -> None:
        """Update the lists of recent levels and of saved replays, and which levels are solved."""
        recent = [self._card(source) for source in self.app.settings.recent]
        self._recent_cards = [card for card in recent if card is not None][:SHOWN_RECENT]
        try:
            times = {file: file.stat().st_mtime for file in replay_folder().glob(f"*{SUFFIX}")}
        except OSError:
            times = {}
        old_cards = self._replay_cards
        self._replay_cards = {
            (file, time): old_cards.get((file, time)) or ReplayCard(file)
            for file, time in sorted(times.items(), key=lambda file_and_time: -file_and_time[1])
        }
        unfinished: list[Card] = [UnfinishedCard(file) for file in unfinished_files()]
        self._recent_cards = [*unfinished, *self._recent_cards]
        for card in (*self._folder_cards, *self._scenario_cards):
            if isinstance(card, PackCard):
                card.update_progress(self.app.progress)
        self.set_query("")

    def _card(self, source: str) -> Card | None:
        """Return the card of the scenario `source`, a name or file; None if the file is gone."""
        if source not in self._cards_by_source:
            if not Path(source).exists():
                return None
            self._cards_by_source[source] = make_card(Entry(source, "Files"))
        return self._cards_by_source[source]

    # ---- events ----------------------------------------------------------------------

    def run_command(self, name: str) -> None:
        """Run the command `name`: complete a typed path, create or edit a level, quit, or a command
        of card screens."""
        if name in ("next_category", "previous_category"):
            step = 1 if name == "next_category" else -1
            number = self.categories.index(self.category) + step
            self.choose_category(self.categories[number % len(self.categories)])
        elif name == "complete":
            self.set_query(complete_path(self.query))
        elif name == "new_level":
            self.app.open_new_level_menu()
        elif name == "leave" and not self.query and time.monotonic() > self._quit_deadline:
            self._quit_deadline = time.monotonic() + QUIT_WITHIN  # a second press confirms
            key = self.app.bindings.label("menu", "leave")
            self.app.show_note(f"{key} again quits", stays=QUIT_WITHIN)
        elif name == "edit_level":
            if card := self.chosen_card:
                card.edit(self.app)
        else:
            super().run_command(name)

    def paste(self, text: str) -> None:
        """If `text` is a copied game, continue it; else append `text` to the search text."""
        if text.startswith(LINE_BEGINS):
            self.app.resume_from_text(text)
        else:
            super().paste(text)

    def on_file_drop(self, file: Path) -> None:
        """Open `file`: watch it if it is a replay or a folder of episodes, else play it as a
        scenario."""
        FileCard(file).open(self.app)

    # ---- drawing ---------------------------------------------------------------------

    def sections(self) -> Iterable[tuple[str, Sequence[Card]]]:
        """Yield (heading, cards) pairs of levels and replays; if there is a search text, only the
        cards that match."""
        level_cards = (*self._recent_cards, *self._folder_cards, *self._scenario_cards)
        packs = [card for card in level_cards if isinstance(card, PackCard)]
        levels = [level for pack in packs for level in pack.levels]
        replay_cards = list(self._replay_cards.values())
        if self.query.strip():
            cards = dict.fromkeys((*level_cards, *levels, *self._missing_cards, *replay_cards))
            matches = search(self.query, cards, lambda card: card.search_texts)
            for level in levels:
                level.show_pack_name(True)
            typed = self._typed_card(cards)
            yield "Found", [*typed, *(card for card in matches if card not in typed)]
            return
        by_category: dict[str, list[tuple[str, list[Card]]]] = {name: [] for name in _CATEGORIES}
        groups = dict.fromkeys(("Puzzles", *(card.entry.group for card in self._scenario_cards)))
        for group in groups:
            cards_of_group = [c for c in self._scenario_cards if c.entry.group == group]
            by_category[_category_of(group)].append((group, [*cards_of_group]))
        for level in levels:
            level.show_pack_name(True)
        unsolved: list[Card] = [
            *sorted(
                (card for card in levels if not (card.fewest or card.is_locked)),
                key=lambda card: card.entry.group != "Puzzles",
            )
        ]
        by_category["Not solved"] = [("Puzzles that are open and not solved", unsolved)]
        by_category["Mine"] = [
            ("Recent", self._recent_cards),
            ("In this folder", [*self._folder_cards]),
            ("Replays", [*replay_cards[:SHOWN_REPLAYS]]),
        ]
        by_category["Others"].append(("Not installed", [*self._missing_cards]))
        if self.category != ALL:
            yield from by_category[self.category]
            return
        yield from by_category["Mine"][:2]
        for name in ("Puzzles", "Gallery", "MiniGrid", "BabyAI", "Together", "Algebra", "Others"):
            shown = by_category[name]
            cards_of_all = [card for _, some in shown for card in some]
            few = cards_of_all[:SHOWN_OF_CATEGORY]
            count = f"{name}, {len(few)} of {len(cards_of_all)}"
            yield name if len(few) == len(cards_of_all) else count, few
        yield from by_category["Mine"][2:]

    def _typed_card(self, cards: Iterable[Card]) -> list[Card]:
        """If the search text is the path of a file that can be opened, return [the card of that
        file], taken from `cards` if possible; else []."""
        file = parse_path(self.query)
        if not _can_be_opened(file):
            return []
        scenario_file = (file / FOLDER_FILE if (file / FOLDER_FILE).is_file() else file).absolute()
        return [next((card for card in cards if card.file == scenario_file), FileCard(file))]


def _category_of(group: str) -> str:
    category = "Algebra" if group.startswith("Mathy") else group
    return category if category in _CATEGORIES else "Others"


def parse_path(text: str) -> Path:
    """Return the path that the user typed as `text`; `~` stands for the home folder."""
    return Path(text.strip()).expanduser()


def complete_path(text: str) -> str:
    """Return the typed path `text`, extended by the longest continuation that all matching files
    share, as shells do.

    Returns:
        The text with the unique continuation; unchanged if there is none.
    """
    path = parse_path(text)
    folder, start = (path, "") if text.endswith(("/", "\\")) else (path.parent, path.name)
    try:
        names = sorted(file.name for file in folder.iterdir() if file.name.startswith(start))
    except (OSError, ValueError):  # ValueError: no name of a file
        return text
    if not start:
        names = [name for name in names if not name.startswith(".")]
    shared_letters = takewhile(lambda letters: len(set(letters)) == 1, zip(*names, strict=False))
    rest = "".join(letters[0] for letters in shared_letters)[len(start) :]
    with suppress(OSError):  # a file that cannot be looked at
        rest += "/" * (len(names) == 1 and (folder / names[0]).is_dir())
    return text + rest


def _can_be_opened(file: Path) -> bool:
    """Return True if `file` is a file, or a folder with a scenario or a rollout."""
    try:
        is_folder = (file / FOLDER_FILE).is_file() or is_rollout(file)
        return len(file.parts) > 0 and (file.is_file() or is_folder)
    except OSError:
        return False
