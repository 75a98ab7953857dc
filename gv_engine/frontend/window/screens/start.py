"""The start screen: what there is to play, found by typing."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

from gv_engine.frontend.controls.folders import replay_folder, unfinished_file
from gv_engine.frontend.controls.theme import Theme
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen
from gv_engine.frontend.window.cards import (
    Card,
    FileCard,
    MissingCard,
    ReplayCard,
    ScenarioCard,
    UnfinishedCard,
)
from gv_engine.frontend.window.clipboard import pasted
from gv_engine.frontend.window.screens.screen import Host, Screen
from gv_engine.playing.catalogue import built_in_entries, in_folder, with_levels
from gv_engine.playing.replay import SUFFIX
from gv_engine.playing.rollout_games import is_rollout
from gv_engine.playing.searching import search
from gv_engine.reading.library import IN_FOLDER

SHOWN_RECENT = 4
SHOWN_REPLAYS = 12
HIGH = 5  # lines of a card
COLUMN_WIDTH = 22
_BUTTONS = (
    ("Settings", "window", "settings"),
    ("Keys", "window", "help"),
    ("New level", "start", "new_level"),
)
NEVER = pygame.Rect(0, 0, 0, 0)


class Placed(NamedTuple):
    """A card and where it is, from the top of all of them."""

    card: Card
    rect: pygame.Rect


class StartScreen(Screen):
    """Cards of scenarios and replays, by group; typing leaves those that fit."""

    groups = ("start", "menu", "window")

    def __init__(self, app: Host) -> None:
        super().__init__(app)
        self._query = ""
        self._chosen = 0
        self._scroll = 0.0
        self._room = NEVER
        self._columns = 1
        self._placed: list[Placed] = []
        self._theme: Theme | None = None
        entries = with_levels(built_in_entries())
        self._scenarios = [ScenarioCard(entry) for entry in entries if not entry.missing]
        lacking = [entry for entry in entries if entry.missing]
        self._missing = [
            MissingCard([entry for entry in lacking if entry.missing == missing])
            for missing in dict.fromkeys(entry.missing for entry in lacking)
        ]
        self._here = [ScenarioCard(entry) for entry in with_levels(in_folder(Path.cwd()))]
        self._known: dict[str, ScenarioCard] = {
            card.entry.source: card for card in (*self._here, *self._scenarios)
        }
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
        self._query = ""
        self._chosen = 0
        self.app.stale = True

    def _card(self, source: str) -> Card | None:
        if source not in self._known:
            if not Path(source).exists():
                return None
            self._known[source] = ScenarioCard.of(source)
        return self._known[source]

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
            self._open()
        elif name == "new_level":
            self.app.new_level()
        elif name == "edit_level":
            self._edit()
        elif name == "erase":
            self._search(self._query[:-1])
        elif name == "complete":
            self._search(completed(self._query))
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

    def dropped(self, file: Path) -> None:
        FileCard(file).open(self.app)

    def _search(self, query: str) -> None:
        self._query = query[:200]
        self._chosen = 0
        self._scroll = 0
        self.app.stale = True

    def _choose(self, number: int) -> None:
        self._chosen = max(0, min(len(self._placed) - 1, number))
        if self._placed:
            rect = self._placed[self._chosen].rect
            above = rect.y - (2 * self._high // HIGH)  # with the heading
            below = rect.bottom + self._high // HIGH - self._room.h
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

    def _open(self) -> None:
        if self._placed:
            self._placed[min(self._chosen, len(self._placed) - 1)].card.open(self.app)

    def _edit(self) -> None:
        if self._placed:
            self._placed[min(self._chosen, len(self._placed) - 1)].card.edit(self.app)

    # ---- what is seen ----------------------------------------------------------------

    def sections(self) -> Iterable[tuple[str, Sequence[Card]]]:
        """The cards under their headings."""
        known = (*self._recent, *self._here, *self._scenarios, *self._missing, *self._replays)
        everything = dict.fromkeys(known)
        if self._query.strip():
            fitting = search(self._query, everything, lambda card: card.said)
            named = self._named(everything)
            yield "Found", [*named, *(card for card in fitting if card not in named)]
            return
        yield "Recent", self._recent
        yield "In this folder", self._here
        groups = dict.fromkeys(card.entry.group for card in self._scenarios)
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

    def draw(self, pen: Pen, now: float) -> None:
        line = pen.line
        gap = line // 2
        inner = pen.area.inflate(-2 * gap, -gap)
        top = pygame.Rect(inner.x, inner.y, inner.w, 2 * line)
        self._draw_top(pen, top)
        foot = pygame.Rect(inner.x, inner.bottom - line, inner.w, line)
        self._room = pygame.Rect(inner.x, top.bottom + gap, inner.w, 0)
        self._room.h = foot.y - gap - self._room.y
        self._side = HIGH * line - line
        self._high = HIGH * line
        if self._theme != pen.theme:
            self._theme = pen.theme
        headings = self._place(line)
        self._chosen = max(0, min(self._chosen, len(self._placed) - 1))
        height = max((placed.rect.bottom for placed in self._placed), default=0)
        self._scroll = max(0, min(self._scroll, height + gap - self._room.h))
        self._draw_cards(pen, headings)
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
            f"{keys.label('start', 'edit_level')} edits",
            f"{keys.label('window', 'help')} keys",
            f"{keys.label('window', 'settings')} settings",
            f"{keys.label('menu', 'leave')} {'clears' if self._query else 'quits'}",
        )
        pen.text(foot, " · ".join(hints), "muted", "center", 0.9)

    def _draw_top(self, pen: Pen, rect: pygame.Rect) -> None:
        line = pen.line
        rest = rect.copy()
        wide = rest.w > 40 * line
        if wide:
            taken = pen.text(pygame.Rect(rest.x, rest.y, 10 * line, rest.h), "GV Engine", size=1.5)
            rest.x += taken + line
            rest.w -= taken + line
            for label, group, name in _BUTTONS:
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
            pen.text(field, "Search for a level, or type the path of a file", "muted")

    def _place(self, line: int) -> list[tuple[str, pygame.Rect]]:
        """Give each card its place; returns the headings and theirs."""
        self._placed = []
        headings: list[tuple[str, pygame.Rect]] = []
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
            headings.append((heading, pygame.Rect(column * width, top, taken * width - gap, high)))
            for number, card in enumerate(cards):
                row, place = divmod(number, taken)
                y = top + high + row * (self._high + gap)
                rect = pygame.Rect((column + place) * width, y, width - gap, self._high)
                self._placed.append(Placed(card, rect))
                bottom = max(bottom, rect.bottom + gap)
            column += taken
        return headings

    def _draw_cards(self, pen: Pen, headings: Sequence[tuple[str, pygame.Rect]]) -> None:
        room = self._room
        pen.surface.set_clip(room)
        for heading, rect in headings:
            slot = rect.move(room.x, room.y - int(self._scroll))
            if slot.colliderect(room):
                pen.text(slot, heading, "muted")
        for number, (card, rect) in enumerate(self._placed):
            place = rect.move(room.x, room.y - int(self._scroll))
            if place.colliderect(room):
                pen.hot(place.clip(room), partial(self._press, number))
                card.draw(pen, place, number == self._chosen)
        pen.surface.set_clip(None)

    def _press(self, number: int, at: tuple[int, int]) -> None:
        self._chosen = number
        self._open()


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
