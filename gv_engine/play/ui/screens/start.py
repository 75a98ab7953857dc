"""Start screen and packs: cards of levels and replays, with a search field."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from os.path import commonprefix
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
    draw_medals,
)
from gv_engine.play.ui.screens.edit_lists import StarterMenu
from gv_engine.play.ui.screens.menu import SearchField
from gv_engine.play.ui.screens.screen import AppContext
from gv_engine.play.ui.settings import (
    LOCKED_NOTE,
    MEDALS,
    Progress,
    replay_folder,
    unfinished_files,
)
from gv_engine.scenario.library import FOLDER_FILE, find_plugin_scenario_folders

# ---- cards screen --------------------------------------------------------------------------------

CARD_LINES = 5  # height of a card
COLUMN_WIDTH = 22  # lines
LOADING_SLICE = 0.02  # s of loading cards between two pictures


CardSection = tuple[str, Sequence[Card]]  # heading and cards


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
        self._scroll = 0  # pixels
        self._viewport = Rect(0, 0, 0, 0)
        self._line = self._card_height = 1
        self._headings: list[tuple[str, Rect]] = []
        self._cards: list[PlacedCard] = []
        self._is_outdated = True
        self._theme: Theme | None = None  # None before the first picture

    def sections(self) -> Iterable[CardSection]:
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
        visible = self._viewport.move(0, self._scroll - self._viewport.y)
        placed_cards = self._placed_cards
        unloaded = [placed for placed in placed_cards if placed.card.loaded_theme != self._theme]
        if not unloaded:
            return None
        until = time.monotonic() + LOADING_SLICE
        for card, _ in sorted(unloaded, key=lambda placed: not placed.rect.colliderect(visible)):
            card.load(self.app, self._theme, self._card_height - self._line)
            self.app.needs_redraw = True
            if time.monotonic() > until:
                break
        return 0

    def run_command(self, name: str) -> None:
        """Run the command `name`: select or open a card, clear the search text, or leave."""
        last = len(self._placed_cards) - 1
        indices = {"left": self.chosen - 1, "right": self.chosen + 1, "first": 0, "last": last}
        rows = {"up": -1, "down": 1, "page_up": -4, "page_down": 4}.get(name, 0)
        if rows:
            for _ in range(abs(rows)):
                self._move_row(1 if rows > 0 else -1)
        elif name in indices:
            self._choose(indices[name])
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
            max_scroll = rect.y - 2 * self._line  # with the heading
            min_scroll = rect.bottom + self._line - self._viewport.h
            self._scroll = max(min_scroll, min(self._scroll, max_scroll))

    def _move_row(self, step: int) -> None:
        """Select the nearest card in the row above if `step` is -1, or in the row below if it is
        1."""
        cards = self._placed_cards
        if not cards:
            return
        current = cards[min(self.chosen, len(cards) - 1)].rect
        distances = [
            (abs(card.rect.y - current.y), abs(card.rect.x - current.x), index)
            for index, card in enumerate(cards)
            if (card.rect.y - current.y) * step > 0
        ]
        if distances:
            self._choose(min(distances)[2])

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
            text = "There is nothing here yet."
            if self.query:
                text = f"Nothing fits {self.query!r}. Type a name, a word or the path of a file."
            painter.draw_lines(inner.inflate(-2 * line, -2 * line), text, "muted")
        groove = Rect(painter.area.right - line // 3, inner.y, line // 4, inner.h)
        painter.draw_scrollbar(groove, self._scroll, inner.h, height)
        painter.draw_text(
            footer, " · ".join(filter(None, self._list_hints())), "muted", "center", 0.9
        )

    def _list_hints(self) -> Sequence[str]:
        """Return short texts on keys for the bottom of the screen."""
        return (
            "Type to search",
            "Arrows choose",
            self.hint("menu", "choose", "plays"),
            *(self.hint(*command) for command in self.hinted_commands),
            self.hint("window", "help", "keys"),
            self.hint("window", "settings", "settings"),
            self.hint("menu", "leave", "clears" if self.query else self.leave_label),
        )

    def _draw_header(self, painter: Painter, rect: Rect) -> None:
        """Draw title, buttons and search field into `rect`; in a narrow window only the search
        field."""
        line, field = painter.line_height, rect.copy()
        if rect.w > 40 * line:
            title_rect = Rect(rect.x, rect.y, 15 * line, rect.h)
            cut(field, "left", painter.draw_text(title_rect, self.title, size=1.5) + line)
            self.draw_buttons(painter, field, self.buttons, 0)
        painter.draw_card(field, "well")
        painter.draw_outline(field, "accent" if self.query else "outline")
        text_rect = field.inflate(-line, 0)
        if not self.query:
            painter.draw_text(text_rect, self.placeholder, "muted")
        elif painter.text_width(self.query + "|") <= text_rect.w:
            painter.draw_text(text_rect, self.query + "|")
        else:
            last_letters = self.query[-max(1, text_rect.w // line) :]
            painter.draw_text(text_rect, f"...{last_letters}|")

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
        sections = [(heading, cards) for heading, cards in self.sections() if cards]
        num_cards = sum(len(cards) for _, cards in sections)
        num_columns, self._card_height = self._choose_card_size(num_cards)
        width = (self._viewport.w - gap) // num_columns
        first_column = top = bottom = 0
        for heading, cards in sections:
            section_columns = min(len(cards), num_columns)
            if first_column + section_columns > num_columns:
                first_column, top = 0, bottom
            x = first_column * width
            heading_rect = Rect(x, top, section_columns * width - gap, heading_height)
            self._headings.append((heading, heading_rect))
            for index, card in enumerate(cards):
                row, column = divmod(index, section_columns)
                y = heading_rect.bottom + row * (self._card_height + gap)
                card_rect = Rect(x + column * width, y, width - gap, self._card_height)
                self._cards.append(PlacedCard(card, card_rect))
                bottom = max(bottom, card_rect.bottom + gap)
            first_column += section_columns

    def _choose_card_size(self, num_cards: int) -> tuple[int, int]:
        """Return the number of columns and the height of a card: the largest of `card_scales` with
        which `num_cards` cards fit without scrolling, else the last one."""
        line, viewport = self._line, self._viewport
        for scale in self.card_scales:
            width = int((COLUMN_WIDTH + CARD_LINES * (scale - 1)) * line)
            columns, height = max(1, viewport.w // width), int(CARD_LINES * scale * line)
            rows = -(-num_cards // columns)
            if rows * (height + line // 2) + 2 * line <= viewport.h:
                break
        return columns, height

    def _draw_cards(self, painter: Painter) -> None:
        """Draw the visible headings and cards, and make the cards clickable."""
        viewport = self._viewport
        offset = viewport.x, viewport.y - self._scroll
        with clipped(painter.surface, viewport):
            for heading, rect in self._headings:
                slot = rect.move(offset)
                if slot.colliderect(viewport):
                    painter.draw_text(slot, heading, "muted")
            for index, (card, rect) in enumerate(self._cards):
                slot = rect.move(offset)
                if slot.colliderect(viewport):
                    painter.add_hit_area(slot.clip(viewport), partial(self._press, index, card))
                    card.draw(painter, slot, index == self.chosen)

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
            if shown:
                self.title += f" ({Entry(pack, '').title})"

    @property
    def digest(self) -> str:
        """Digest of the level's map."""
        return self.entry.level.digest if self.entry.level else ""

    @property
    def search_texts(self) -> tuple[str, str]:
        """Title of the level, and the heading under which its pack is listed, which the search
        looks at."""
        return self.entry.title, self.entry.group

    def draw(self, painter: Painter, rect: Rect, is_chosen: bool) -> None:
        """Draw the card into `rect`, with the medals that the player has won; a chosen card is
        outlined."""
        super().draw(painter, rect, is_chosen)
        draw_medals(painter, _get_medal_row(painter, rect), self.medals)

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
        width, color = max(2, well.w // 16), painter.color("muted")
        pygame.draw.rect(painter.surface, color, bow, width, border_radius=bow.w // 2)
        pygame.draw.rect(painter.surface, color, body, border_radius=width)

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
            self.text = f"Solved in {self.fewest} steps" if self.fewest else "Not solved yet"
        if level.par:
            self.text += f", par {level.par}"
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

    def draw(self, painter: Painter, rect: Rect, is_chosen: bool) -> None:
        """Draw the card into `rect`, with the number of solved levels of the pack, and the medals
        that the player has won in all of them; a chosen card is outlined."""
        self.text = f"{self._progress_text}. {self._description}"
        super().draw(painter, rect, is_chosen)
        won = [medal for medal in MEDALS if self._count_medals(medal) == len(self.levels)]
        draw_medals(painter, _get_medal_row(painter, rect), won)

    def _count_medals(self, medal: str) -> int:
        return sum(medal in card.medals for card in self.levels)

    def update_progress(self, progress: Progress) -> str:
        """Update the cards of all levels from `progress`, the record of solved levels; return a
        text such as `3 of 10 solved`. Of the levels that are not solved, the first few are open."""
        levels = (card.entry.level for card in self.levels)
        locked = progress.find_locked(filter(None, levels))
        for card in self.levels:
            card.is_locked = card.digest in locked
        num_solved = sum(card.update_progress(progress) for card in self.levels)
        self._progress_text = f"{num_solved} of {len(self.levels)} solved"
        if not num_solved:
            return self._progress_text
        par, first = self._count_medals("par"), self._count_medals("first")
        return f"{self._progress_text}, {par} with par, {first} at the first try"


def _get_medal_row(painter: Painter, rect: Rect) -> Rect:
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
        self._has_played = False  # since the screen was on top
        self._locked_card: Card | None = None  # opened once, which has not played it yet
        self.on_resume()

    @property
    def title(self) -> str:  # type: ignore[override]  # it changes with the pack
        """Title of the pack."""
        return self._pack.title

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
        """Update which levels are solved; if the player has since gone on to another pack, show
        that pack."""
        played = next(iter(self.app.settings.recent), "")
        if self._has_played and played != self._pack.entry.source:
            card = make_card(Entry(played, self._pack.entry.group))
            if isinstance(card, PackCard):
                self._pack = card
        self._has_played = False
        self._progress_text = self._pack.update_progress(self.app.progress)
        self.set_query("")
        unsolved = (n for n, card in enumerate(self._pack.levels) if not card.fewest)
        self.chosen = next(unsolved, 0)

    def sections(self) -> Iterable[CardSection]:
        """Yield the cards of the pack's levels that match the search text, with the number of
        solved levels as heading."""
        for card in self._pack.levels:
            card.show_pack_name(False)
        levels = search(self.query, self._pack.levels, lambda card: card.search_texts)
        yield self._progress_text, levels


ALL = "All"
# Categories of the start screen.
_CATEGORIES = (
    *(ALL, "Mine", "Puzzles", "Not solved", "Gallery"),
    *find_plugin_scenario_folders().values(),
    *("Together", "Algebra", "Others"),
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
        entries_by_reason: dict[str, list[Entry]] = {}
        for entry in entries:
            if entry.missing:
                entries_by_reason.setdefault(entry.missing, []).append(entry)
        self._missing_cards = [MissingCard(missing) for missing in entries_by_reason.values()]
        self._folder_cards = [make_card(entry) for entry in folder_entries(Path.cwd())]
        self._cards_by_source: dict[str, ScenarioCard] = {
            card.entry.source: card for card in (*self._folder_cards, *self._scenario_cards)
        }
        self._cards_by_group: dict[str, list[Card]] = {"Puzzles": []}  # first in its category
        for card in self._scenario_cards:
            self._cards_by_group.setdefault(card.entry.group, []).append(card)
        self._quit_deadline = 0.0
        self._recent_cards: list[Card] = []
        # by file and time of its last change
        self._replay_cards: dict[tuple[Path, float], ReplayCard] = {}
        self.on_resume()

    def on_resume(self) -> None:
        """Update the lists of recent levels and of saved replays, and which levels are solved."""
        cards = [self._find_card(source) for source in self.app.settings.recent]
        recent = [card for card in cards if card is not None][:SHOWN_RECENT]
        unfinished = [UnfinishedCard(file) for file in unfinished_files()]
        self._recent_cards = [*unfinished, *recent]
        self._update_replay_cards()
        for card in (*self._folder_cards, *self._scenario_cards):
            if isinstance(card, PackCard):
                card.update_progress(self.app.progress)
        self.set_query("")

    def _update_replay_cards(self) -> None:
        """List the saved replays, the newest first; cards of unchanged files are kept."""
        try:
            files = [(file, file.stat().st_mtime) for file in replay_folder().glob(f"*{SUFFIX}")]
        except OSError:
            files = []
        files.sort(key=lambda file_and_time: -file_and_time[1])
        old_cards = self._replay_cards
        self._replay_cards = {key: old_cards.get(key) or ReplayCard(key[0]) for key in files}

    def _find_card(self, source: str) -> Card | None:
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
            index = self.categories.index(self.category) + step
            self.choose_category(self.categories[index % len(self.categories)])
        elif name == "complete":
            self.set_query(complete_path(self.query))
        elif name == "new_level":
            self.app.push(StarterMenu(self.app))
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

    def sections(self) -> Iterable[CardSection]:
        """Yield (heading, cards) pairs of levels and replays; if there is a search text, only the
        cards that match."""
        if self.query.strip():
            yield "Found", self._find_cards()
        elif self.category == ALL:
            yield from self._list_overview()
        else:
            yield from self._list_sections(self.category)

    @property
    def _level_cards(self) -> list[LevelCard]:
        """Cards of the levels of all packs, with the names of their packs."""
        cards = (*self._recent_cards, *self._folder_cards, *self._scenario_cards)
        levels = [level for card in cards if isinstance(card, PackCard) for level in card.levels]
        for level in levels:
            level.show_pack_name(True)
        return levels

    def _find_cards(self) -> Sequence[Card]:
        """Return the cards that match the search text; if it is the path of a file, its card is
        the first one."""
        cards: dict[Card, None] = dict.fromkeys(
            (
                *(*self._recent_cards, *self._folder_cards, *self._scenario_cards),
                *(*self._level_cards, *self._missing_cards, *self._replay_cards.values()),
            )
        )
        matches = search(self.query, cards, lambda card: card.search_texts)
        typed = self._find_typed_card(cards)
        return [*typed, *(card for card in matches if card not in typed)]

    def _list_sections(self, category: str) -> Sequence[CardSection]:
        """Return the sections of a category other than `ALL`."""
        if category == "Mine":
            replays = [*self._replay_cards.values()][:SHOWN_REPLAYS]
            return (
                ("Recent", self._recent_cards),
                ("In this folder", self._folder_cards),
                ("Replays", replays),
            )
        if category == "Not solved":
            levels = [card for card in self._level_cards if not (card.fewest or card.is_locked)]
            levels.sort(key=lambda card: card.entry.group != "Puzzles")
            return [("Puzzles that are open and not solved", levels)]
        groups = self._cards_by_group.items()
        sections: list[CardSection] = [
            group for group in groups if _find_category(group[0]) == category
        ]
        if category == "Others":
            sections.append(("Not installed", self._missing_cards))
        return sections

    def _list_overview(self) -> Iterable[CardSection]:
        """Yield the player's own cards, and some cards of each category."""
        recent, folder, replays = self._list_sections("Mine")
        yield from (recent, folder)
        for category in _CATEGORIES:
            if category not in (ALL, "Mine", "Not solved"):
                cards = [card for _, section in self._list_sections(category) for card in section]
                shown = cards[:SHOWN_OF_CATEGORY]
                count = f", {len(shown)} of {len(cards)}" if len(shown) < len(cards) else ""
                yield category + count, shown
        yield replays

    def _find_typed_card(self, cards: Iterable[Card]) -> list[Card]:
        """If the search text is the path of a file that can be opened, return [the card of that
        file], taken from `cards` if possible; else []."""
        file = parse_path(self.query)
        if not _can_be_opened(file):
            return []
        in_folder = file / FOLDER_FILE
        scenario_file = (in_folder if in_folder.is_file() else file).absolute()
        return [next((card for card in cards if card.file == scenario_file), FileCard(file))]


def _find_category(group: str) -> str:
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
    folder, start = path.parent, path.name
    if text.endswith(("/", "\\")):
        folder, start = path, ""
    try:
        names = [file.name for file in folder.iterdir() if file.name.startswith(start)]
    except (OSError, ValueError):  # ValueError: no name of a file
        return text
    if not start:
        names = [name for name in names if not name.startswith(".")]
    continuation = commonprefix(names)[len(start) :]  # noqa: RUF071  # names are no paths
    with suppress(OSError):  # a file that cannot be looked at
        if len(names) == 1 and (folder / names[0]).is_dir():
            continuation += "/"
    return text + continuation


def _can_be_opened(file: Path) -> bool:
    """Return True if `file` is a file, or a folder with a scenario or a rollout."""
    try:
        is_folder = (file / FOLDER_FILE).is_file() or is_rollout(file)
        return len(file.parts) > 0 and (file.is_file() or is_folder)
    except OSError:
        return False
