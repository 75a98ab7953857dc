"""A list of levels in a terminal, searched by typing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from rich.text import Text

from gv_engine.rules.errors import GVEngineError, Stopped, reason
from gv_engine.session.catalogue import (
    Entry,
    built_in_entries,
    folder_entries,
    search,
    with_pack_levels,
)
from gv_engine.session.session import Session
from gv_engine.ui.colors import THEMES
from gv_engine.ui.input.bindings import Bindings
from gv_engine.ui.settings import Progress, Settings

_TYPED = {"Space": " ", "Minus": "-", "Period": ".", "Slash": "/"}
"""What keys type, besides letters and digits."""
_ABOUT = 3
"""Lines for what the chosen level is about."""


class LevelPicker:
    """Chooses what is played.

    Args:
        settings: whose theme counts.
        bindings: the keys, those of menus.
        begin: begins the game of a scenario by its name or file.

    Attributes:
        game: that was chosen; None as long as none is.
        stale, left, ground: as a game's screen has them.
    """

    def __init__(
        self, settings: Settings, bindings: Bindings, begin: Callable[[str], Session]
    ) -> None:
        self.game: Session | None = None
        self.stale = True
        self.left = False
        self._theme = THEMES[settings.theme]
        self._bindings, self._begin = bindings, begin
        entries = with_pack_levels([*folder_entries(Path.cwd()), *built_in_entries()])
        self._entries = [entry for entry in entries if not entry.missing]
        self._found = self._entries
        self._query = ""
        self._chosen = self._first = 0
        self._page = 1
        self._note = ""
        self._progress = Progress()

    @property
    def ground(self) -> str:
        """Style of all that nothing stands on."""
        return f"{self._theme.text} on {self._theme.background}"

    def press(self, key: str) -> None:
        """What a key does, by its name in `gv_engine.ui.input.bindings`."""
        self.stale = True
        self._note = ""
        name = self._bindings.command(key, ("menu",))
        last = len(self._found) - 1
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        moves |= {"first": -self._chosen, "last": last - self._chosen}
        if name in moves:
            self._chosen = max(0, min(last, self._chosen + moves[name]))
        elif name == "choose" and self._found:
            self._choose(self._found[self._chosen])
        elif name == "erase":
            self._search(self._query[:-1])
        elif name == "leave" and self._query:
            self._search("")
        elif name == "leave":
            self.left = True
        elif not name and (typed := _TYPED.get(key) or (key.lower() if len(key) == 1 else "")):
            self._search(self._query + typed)

    def patience(self, now: float) -> float:
        """Seconds to wait for a key."""
        return 1.0  # the terminal's size may change

    def tick(self, now: float) -> None:
        """Nothing happens by itself."""

    def look(self) -> None:
        """What was found stays."""

    def again(self) -> None:
        """The game is over: choose another."""
        self.game, self.left, self.stale = None, False, True
        self._progress = Progress()

    def _choose(self, entry: Entry) -> None:
        try:
            self.game = self._begin(entry.source)
            self.left = True
        except (GVEngineError, OSError) as error:
            self._note = reason(error)
        except Stopped as stopped:
            self._note = str(stopped)

    def _search(self, query: str) -> None:
        self._query = query
        self._chosen = 0
        self._found = search(query, self._entries, lambda entry: (entry.title, entry.group))

    def lines(self, width: int, height: int) -> list[Text]:
        """The screen, from the top.

        Args:
            width, height: in characters.
        """
        theme, about = self._theme, self._about(width)
        self._page = max(1, height - len(about) - 3)
        self._first = max(self._chosen - self._page + 1, min(self._first, self._chosen))
        shown = self._found[self._first : self._first + self._page]
        column = max((len(entry.title) for entry in shown), default=0) + 2
        rows = [
            Text.assemble(
                (f" {entry.title:<{column}}", theme.text),
                (f"{entry.group} ", theme.muted),
                (self._mark(entry), theme.gain),
            )
            for entry in shown
        ]
        if rows:
            rows[self._chosen - self._first].stylize(f"{theme.on_accent} on {theme.accent}")
        else:
            rows = [Text(f" Nothing fits {self._query!r}", theme.muted)]
        rows += [Text()] * (self._page - len(rows))
        asked = f"{self._query}_" if self._query else "type to search"
        label = self._bindings.label
        foot = (
            f"{label('menu', 'choose')}: play   "
            f"{label('menu', 'leave')}: {'clear' if self._query else 'leave'}"
        )
        made = [
            Text.assemble(("Levels  ", f"bold {theme.accent}"), asked),
            Text(),
            *rows,
            *about,
            Text(foot, theme.muted),
        ]
        for line in made:
            line.truncate(max(1, width), overflow="ellipsis")
        return made[: height - 1] + made[-1:] if len(made) > height else made

    def _mark(self, entry: Entry) -> str:
        """In how many steps the player has solved it, if that is kept."""
        fewest = self._progress.fewest.get(entry.level.digest, 0) if entry.level else 0
        return f"solved in {fewest} steps" if fewest else ""

    def _about(self, width: int) -> list[Text]:
        """What the chosen level is about, or what went wrong, in as many lines at any time."""
        said = self._note
        if not said and self._found:
            try:
                said = self._found[self._chosen].description
            except (GVEngineError, OSError) as error:
                said = reason(error)
        rows = textwrap.wrap(" ".join(said.split()), max(1, width))[:_ABOUT]
        return [Text(row) for row in rows] + [Text()] * (_ABOUT - len(rows))
