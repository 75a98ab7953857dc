"""The start screen: what there is to play, found by typing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path

from gv_engine.scenario.library import IN_FOLDER
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
from gv_engine.ui.screens.cards_screen import CardsScreen, PackCard, card_of
from gv_engine.ui.screens.keyboard import pasted
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.settings import replay_folder, unfinished_file

SHOWN_RECENT = 4
SHOWN_REPLAYS = 12
QUIT_WITHIN = 4.0  # s between two presses that quit


class StartScreen(CardsScreen):
    """Cards of scenarios and replays, by group; typing leaves those that fit."""

    buttons = (*CardsScreen.buttons, ("New level", "start", "new_level"))
    hinted = (("start", "edit_level", "edits"),)
    groups = ("start", "menu", "window")

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        entries = built_in_entries()
        self._scenarios = [card_of(entry) for entry in entries if not entry.missing]
        lacking = [entry for entry in entries if entry.missing]
        self._missing = [
            MissingCard([entry for entry in lacking if entry.missing == missing])
            for missing in dict.fromkeys(entry.missing for entry in lacking)
        ]
        self._here = [card_of(entry) for entry in folder_entries(Path.cwd())]
        self._known: dict[str, ScenarioCard] = {
            card.entry.source: card for card in (*self._here, *self._scenarios)
        }
        self._may_quit = 0.0
        self._recent: list[Card] = []
        self._replays: list[ReplayCard] = []
        self._watched: dict[tuple[Path, float], ReplayCard] = {}  # by file and time of its change
        self.uncovered()

    def uncovered(self) -> None:
        """Look again for what may have come while something was played."""
        recent = [self._card(source) for source in self.app.settings.recent]
        self._recent = [card for card in recent if card is not None][:SHOWN_RECENT]
        try:
            times = {file: file.stat().st_mtime for file in replay_folder().glob(f"*{SUFFIX}")}
        except OSError:
            times = {}
        before = self._watched
        self._watched = {
            (file, time): before.get((file, time)) or ReplayCard(file)
            for file, time in sorted(times.items(), key=lambda known: -known[1])
        }
        self._replays = list(self._watched.values())
        if unfinished_file().is_file():
            self._recent.insert(0, UnfinishedCard(unfinished_file()))
        for card in (*self._here, *self._scenarios):
            if isinstance(card, PackCard):
                card.count(self.app.progress)
        self._search("")

    def _card(self, source: str) -> Card | None:
        if source not in self._known:
            if not Path(source).exists():
                return None
            self._known[source] = card_of(Entry(source, "Files"))
        return self._known[source]

    # ---- what happens ----------------------------------------------------------------

    def command(self, name: str) -> None:
        if name == "complete":
            self._search(completed(self._query))
        elif name == "new_level":
            self.app.new_level()
        elif name == "leave" and not self._query and time.monotonic() > self._may_quit:
            self._may_quit = time.monotonic() + QUIT_WITHIN  # one press too many is soon made
            key = self.app.bindings.label("menu", "leave")
            self.app.say(f"{key} again quits", stays=QUIT_WITHIN)
        elif name == "edit_level":
            if self.chosen:
                self.chosen.edit(self.app)
        elif name == "paste" and (line := pasted()).startswith(LINE_BEGINS):
            self.app.open_line(line)
        else:
            super().command(name)

    def dropped(self, file: Path) -> None:
        FileCard(file).open(self.app)

    # ---- what is seen ----------------------------------------------------------------

    def sections(self) -> Iterable[tuple[str, Sequence[Card]]]:
        """The cards under their headings."""
        own = (*self._recent, *self._here, *self._scenarios)
        levels = [level for card in own if isinstance(card, PackCard) for level in card.levels]
        everything = dict.fromkeys((*own, *levels, *self._missing, *self._replays))
        if self._query.strip():
            fitting = search(self._query, everything, lambda card: card.said)
            for level in levels:
                level.is_among_others(True)
            named = self._named(everything)
            yield "Found", [*named, *(card for card in fitting if card not in named)]
            return
        yield "Recent", self._recent
        yield "In this folder", self._here
        groups = dict.fromkeys(("Puzzles", *(card.entry.group for card in self._scenarios)))
        for group in groups:
            yield group, [card for card in self._scenarios if card.entry.group == group]
        yield "Not installed", self._missing
        yield "Replays", self._replays[:SHOWN_REPLAYS]

    def _named(self, known: Iterable[Card]) -> list[Card]:
        """The card of the file whose path was typed, if it is one."""
        file = typed_path(self._query)
        if not _leads_somewhere(file):
            return []
        inner = (file / IN_FOLDER if (file / IN_FOLDER).is_file() else file).absolute()
        return [next((card for card in known if card.file == inner), FileCard(file))]


def typed_path(text: str) -> Path:
    """The path that somebody has typed."""
    return Path(text.strip()).expanduser()


def completed(text: str) -> str:
    """A path that was begun, as far as it can mean but one file or folder.

    Returns:
        The text with what follows in any case; the text itself if that is nothing.
    """
    begun = typed_path(text)
    folder, start = (begun, "") if text.endswith(("/", "\\")) else (begun.parent, begun.name)
    try:
        found = sorted(file.name for file in folder.iterdir() if file.name.startswith(start))
    except (OSError, ValueError):  # ValueError: no name of a file
        return text
    if not start:
        found = [name for name in found if not name.startswith(".")]
    shared = takewhile(lambda letters: len(set(letters)) == 1, zip(*found, strict=False))
    rest = "".join(letters[0] for letters in shared)[len(start) :]
    whole = len(found) == 1 and (folder / found[0]).is_dir()
    return text + rest + "/" * whole


def _leads_somewhere(file: Path) -> bool:
    try:
        holds = (file / IN_FOLDER).is_file() or is_rollout(file)
        return len(file.parts) > 0 and (file.is_file() or holds)
    except OSError:
        return False
