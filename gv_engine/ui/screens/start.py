"""Start screen: cards of all levels and replays, with a search field."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from gv_engine.scenario.library import FOLDER_FILE
from gv_engine.session.catalogue import Entry, built_in_entries, folder_entries, search
from gv_engine.session.replay import LINE_BEGINS, SUFFIX
from gv_engine.session.rollout_games import is_rollout
from gv_engine.ui.screens.cards import (
    Card,
    FileCard,
    MissingCard,
    ReplayCard,
    ScenarioCard,
    UnfinishedCard,
)
from gv_engine.ui.screens.cards_screen import CardsScreen, PackCard, make_card
from gv_engine.ui.screens.keyboard import paste_from_clipboard
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.settings import replay_folder, unfinished_file

SHOWN_RECENT = 4
SHOWN_REPLAYS = 12
QUIT_WITHIN = 4.0  # s between two presses that quit


class StartScreen(CardsScreen):
    """Start screen with cards of levels and replays in sections."""

    buttons = (*CardsScreen.buttons, ("New level", "start", "new_level"))
    hinted_commands = (("start", "edit_level", "edits"),)
    groups = ("start", "menu", "window")

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        entries = built_in_entries()
        self._scenario_cards = [make_card(entry) for entry in entries if not entry.missing]
        missing_entries = [entry for entry in entries if entry.missing]
        self._missing_cards = [
            MissingCard([entry for entry in missing_entries if entry.missing == missing])
            for missing in dict.fromkeys(entry.missing for entry in missing_entries)
        ]
        self._folder_cards = [make_card(entry) for entry in folder_entries(Path.cwd())]
        self._cards_by_source: dict[str, ScenarioCard] = {
            card.entry.source: card for card in (*self._folder_cards, *self._scenario_cards)
        }
        self._quit_deadline = 0.0
        self._recent_cards: list[Card] = []
        self._replay_cards: list[ReplayCard] = []
        self._replay_cards_by_file: dict[
            tuple[Path, float], ReplayCard
        ] = {}  # by file and time of its change
        self.on_resume()

    def on_resume(self) -> None:
        """Update recent levels, replays and progress."""
        recent = [self._card(source) for source in self.app.settings.recent]
        self._recent_cards = [card for card in recent if card is not None][:SHOWN_RECENT]
        try:
            times = {file: file.stat().st_mtime for file in replay_folder().glob(f"*{SUFFIX}")}
        except OSError:
            times = {}
        old_cards = self._replay_cards_by_file
        self._replay_cards_by_file = {
            (file, time): old_cards.get((file, time)) or ReplayCard(file)
            for file, time in sorted(times.items(), key=lambda file_and_time: -file_and_time[1])
        }
        self._replay_cards = list(self._replay_cards_by_file.values())
        if unfinished_file().is_file():
            self._recent_cards.insert(0, UnfinishedCard(unfinished_file()))
        for card in (*self._folder_cards, *self._scenario_cards):
            if isinstance(card, PackCard):
                card.update_progress(self.app.progress)
        self._search("")

    def _card(self, source: str) -> Card | None:
        """Return the card of a name or file; None if the file is gone."""
        if source not in self._cards_by_source:
            if not Path(source).exists():
                return None
            self._cards_by_source[source] = make_card(Entry(source, "Files"))
        return self._cards_by_source[source]

    # ---- what happens ----------------------------------------------------------------

    def run_command(self, name: str) -> None:
        """Complete a path, create or edit a level, paste a game, quit, or choose a card."""
        if name == "complete":
            self._search(complete_path(self._query))
        elif name == "new_level":
            self.app.open_new_level_menu()
        elif name == "leave" and not self._query and time.monotonic() > self._quit_deadline:
            self._quit_deadline = time.monotonic() + QUIT_WITHIN  # a second press confirms
            key = self.app.bindings.label("menu", "leave")
            self.app.show_note(f"{key} again quits", stays=QUIT_WITHIN)
        elif name == "edit_level":
            if self.chosen:
                self.chosen.edit(self.app)
        elif name == "paste" and (line := paste_from_clipboard()).startswith(LINE_BEGINS):
            self.app.resume_from_text(line)
        else:
            super().run_command(name)

    def on_file_drop(self, file: Path) -> None:
        FileCard(file).open(self.app)

    # ---- what is seen ----------------------------------------------------------------

    def sections(self) -> Iterable[tuple[str, Sequence[Card]]]:
        """Yield (heading, cards); with a search text only the cards that match."""
        level_cards = (*self._recent_cards, *self._folder_cards, *self._scenario_cards)
        levels = [
            level for card in level_cards if isinstance(card, PackCard) for level in card.levels
        ]
        all_cards = dict.fromkeys(
            (*level_cards, *levels, *self._missing_cards, *self._replay_cards)
        )
        if self._query.strip():
            matches = search(self._query, all_cards, lambda card: card.search_texts)
            for level in levels:
                level.show_pack_name(True)
            typed = self._typed_card(all_cards)
            yield "Found", [*typed, *(card for card in matches if card not in typed)]
            return
        yield "Recent", self._recent_cards
        yield "In this folder", self._folder_cards
        groups = dict.fromkeys(("Puzzles", *(card.entry.group for card in self._scenario_cards)))
        for group in groups:
            yield group, [card for card in self._scenario_cards if card.entry.group == group]
        yield "Not installed", self._missing_cards
        yield "Replays", self._replay_cards[:SHOWN_REPLAYS]

    def _typed_card(self, cards: Iterable[Card]) -> list[Card]:
        """Return the card of the typed path, if the path exists, in a list."""
        file = parse_path(self._query)
        if not _can_be_opened(file):
            return []
        scenario_file = (file / FOLDER_FILE if (file / FOLDER_FILE).is_file() else file).absolute()
        return [next((card for card in cards if card.file == scenario_file), FileCard(file))]


def parse_path(text: str) -> Path:
    """Return the path of a typed text."""
    return Path(text.strip()).expanduser()


def complete_path(text: str) -> str:
    """Return a typed path completed as far as the names of files and folders are unique.

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
    is_folder = len(names) == 1 and (folder / names[0]).is_dir()
    return text + rest + "/" * is_folder


def _can_be_opened(file: Path) -> bool:
    """Return whether a path is a file, a scenario folder or a rollout."""
    try:
        is_folder = (file / FOLDER_FILE).is_file() or is_rollout(file)
        return len(file.parts) > 0 and (file.is_file() or is_folder)
    except OSError:
        return False
