"""Start screen: levels and replays to choose from."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from os.path import commonprefix
from pathlib import Path

from gv_engine.play.session.catalogue import (
    Entry,
    built_in_entries,
    folder_entries,
    next_in_course,
    search,
)
from gv_engine.play.session.replay import LINE_BEGINS, SUFFIX
from gv_engine.play.session.rollout_games import is_rollout
from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.card_list import CardSection, CardsScreen
from gv_engine.play.ui.screens.cards import (
    Card,
    CategoryCard,
    FileCard,
    GoOnCard,
    MissingCard,
    ReplayCard,
    ScenarioCard,
    UnfinishedCard,
)
from gv_engine.play.ui.screens.edit_lists import StarterMenu
from gv_engine.play.ui.screens.packs import LevelCard, PackCard, make_card
from gv_engine.play.ui.screens.screen import AppContext
from gv_engine.play.ui.settings import replay_folder, unfinished_file, unfinished_files
from gv_engine.scenario.library import FOLDER_FILE, find_plugin_scenario_folders

ALL = "All"
# Categories of the start screen: those with cards on its first page, and those with one card there.
_SHOWN, _FOLDED = (
    ("Gallery", "Together"),
    (*find_plugin_scenario_folders().values(), "Algebra", "Others"),
)
_CATEGORIES = (ALL, "Mine", "Puzzles", "Not solved", *_SHOWN, *_FOLDED)
SHOWN_RECENT = 6
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
        self._category_cards = [
            CategoryCard(name, cards, partial(self.choose_category, name))
            for name in _FOLDED
            if (cards := self._list_cards(name))
        ]
        self._quit_deadline = 0.0
        self._go_on_cards: list[Card] = []  # at most one
        self._recent_cards: list[Card] = []
        self._unfinished_cards: list[Card] = []
        # by file and time of its last change
        self._replay_cards: dict[tuple[Path, float], ReplayCard] = {}
        self.on_resume()

    def on_resume(self) -> None:
        """Update the lists of recent levels and of saved replays, and which levels are solved."""
        cards = [self._find_card(source) for source in self.app.settings.recent]
        self._recent_cards = [card for card in cards if card is not None][:SHOWN_RECENT]
        self._unfinished_cards = [UnfinishedCard(file) for file in unfinished_files()]
        self._update_replay_cards()
        for card in (*self._recent_cards, *self._folder_cards, *self._scenario_cards):
            if isinstance(card, PackCard):
                card.update_progress(self.app.progress)
        self._go_on_cards = self._make_go_on_card()
        self.set_query("")

    def _make_go_on_card(self) -> list[Card]:
        """Return [the card that goes on where the player has left]: the unfinished game of the
        level that was played last, or the next level of its pack, or the level itself; [] for a new
        player."""
        played = next(iter(self._recent_cards), None)
        while isinstance(played, PackCard):
            for level in played.levels:
                if file := unfinished_file(level.entry.source):
                    return [GoOnCard(UnfinishedCard(file, level.title), played.title)]
            if played.next_level:
                return [GoOnCard(played.next_level, played.title)]
            played = self._find_card(next_in_course(played.entry.source))
        if not isinstance(played, ScenarioCard):
            return []
        file = unfinished_file(played.entry.source)
        return [
            GoOnCard(UnfinishedCard(file, played.title) if file else played, played.entry.group)
        ]

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
        """Return the card of the scenario `source`, a name or file; None if there is none."""
        if source not in self._cards_by_source:
            if not source or not Path(source).exists():
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
            self.stop_loading()
            self.app.push(StarterMenu(self.app))
        elif name == "leave" and not self.query and time.monotonic() > self._quit_deadline:
            self._quit_deadline = time.monotonic() + QUIT_WITHIN  # a second press confirms
            key = self.app.bindings.label("menu", "leave")
            self.app.show_note(f"{key} again quits", stays=QUIT_WITHIN)
        elif name == "edit_level":
            if card := self.chosen_card:
                self.stop_loading()
                card.edit(self.app)
        else:
            super().run_command(name)

    def paste(self, text: str) -> None:
        """If `text` is a copied game, continue it; else append `text` to the search text."""
        if text.startswith(LINE_BEGINS):
            self.stop_loading()
            self.app.resume_from_text(text)
        else:
            super().paste(text)

    def on_file_drop(self, file: Path) -> None:
        """Open `file`: watch it if it is a replay or a folder of episodes, else play it as a
        scenario."""
        self._open(FileCard(file))

    def _open(self, card: Card) -> None:
        self.app.settings.asks_about_sound = False  # who plays has answered
        super()._open(card)

    # ---- drawing ---------------------------------------------------------------------

    def sections(self) -> Iterable[CardSection]:
        """Yield (heading, cards) pairs of levels and replays; if there is a search text, only the
        cards that match."""
        self.links.clear()
        if self.query.strip():
            yield "Found", self._find_cards()
        elif self.category == ALL:
            yield from self._list_overview()
        else:
            yield from self._list_sections(self.category)

    @property
    def footer_lines(self) -> int:  # type: ignore[override]  # it changes with the question
        """Height of the hints at the bottom, with the question about sound until it is answered."""
        return 3 if self.app.settings.asks_about_sound else 1

    def draw_footer(self, painter: Painter, rect: Rect) -> None:
        """Draw into `rect` the question about sound, until it is answered, and hints on keys."""
        if self.app.settings.asks_about_sound:
            line = painter.line_height
            row = cut(rect, "top", line * 3 // 2, line // 2)
            sound_key = self.app.bindings.label("window", "sound")
            for label, key, is_on in (("No", "", False), ("Yes", sound_key, True)):
                width = painter.text_width(label) + painter.text_width(key) + 2 * line
                slot = cut(row, "right", width, line // 2)
                painter.draw_button(
                    slot, label, partial(self.app.turn_sound, is_on), key, background="card"
                )
            painter.draw_text(row, "Do you want to play with sound?", "muted", "right")
        super().draw_footer(painter, rect)

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
        groups = (
            *(self._recent_cards, self._folder_cards, self._scenario_cards),
            *(self._unfinished_cards, self._level_cards),
            *(self._missing_cards, self._replay_cards.values()),
        )
        cards: dict[Card, None] = dict.fromkeys(chain(*groups))
        matches = search(self.query, cards, lambda card: card.search_texts)
        typed = self._find_typed_card(cards)
        return [*typed, *(card for card in matches if card not in typed)]

    def _list_sections(self, category: str) -> Sequence[CardSection]:
        """Return the sections of a category other than `ALL`."""
        if category == "Mine":
            replays = [*self._replay_cards.values()][:SHOWN_REPLAYS]
            return (
                ("Not finished", self._unfinished_cards),
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
        """Yield the card that goes on, the packs, the player's own cards, some cards of the levels
        for players, and a card for each of the other categories."""
        yield "Go on playing", self._go_on_cards
        yield from self._list_sections("Puzzles")
        yield "In this folder", self._folder_cards
        for category in _SHOWN:
            cards = self._list_cards(category)
            shown = cards[: 2 * max(2, self.num_columns)]  # in full rows
            if len(shown) < len(cards):
                self.links[category] = f"Show all {len(cards)}"
            yield category, shown
        yield "More levels", self._category_cards
        yield self._list_sections("Mine")[-1]

    def _list_cards(self, category: str) -> Sequence[Card]:
        return [card for _, section in self._list_sections(category) for card in section]

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
