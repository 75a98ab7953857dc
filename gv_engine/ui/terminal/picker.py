"""List of levels in a terminal, searched by typing."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

from rich.text import Text

from gv_engine.rules.errors import GVEngineError, Stopped, error_text
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

_CHARACTERS_OF_KEYS = {"Space": " ", "Minus": "-", "Period": ".", "Slash": "/"}
"""Characters of keys, besides letters and digits."""
_DESCRIPTION_LINES = 3
"""Lines for the description of the chosen level."""


class LevelPicker:
    """Terminal screen that chooses a level and begins its game.

    Args:
        settings: settings with the theme.
        bindings: key bindings; the keys of menus are used.
        begin: function from a scenario's name or file to a new session.

    Attributes:
        game: session of the chosen level, or None.
        needs_redraw, left, ground: see `TerminalScreen`.
    """

    def __init__(
        self, settings: Settings, bindings: Bindings, begin: Callable[[str], Session]
    ) -> None:
        self.game: Session | None = None
        self.needs_redraw = True
        self.left = False
        self._theme = THEMES[settings.theme]
        self._bindings, self._begin = bindings, begin
        entries = with_pack_levels([*folder_entries(Path.cwd()), *built_in_entries()])
        self._entries = [entry for entry in entries if not entry.missing]
        self._matches = self._entries
        self._query = ""
        self._chosen = self._first = 0
        self._page = 1
        self._note = ""
        self._progress = Progress()

    @property
    def ground(self) -> str:
        """Rich style of the background."""
        return f"{self._theme.text} on {self._theme.background}"

    def press(self, key: str) -> None:
        """Run the command of a key, or append its character to the search text."""
        self.needs_redraw = True
        self._note = ""
        name = self._bindings.command_name(key, ("menu",))
        last = len(self._matches) - 1
        moves = {"up": -1, "down": 1, "page_up": -self._page, "page_down": self._page}
        moves |= {"first": -self._chosen, "last": last - self._chosen}
        if name in moves:
            self._chosen = max(0, min(last, self._chosen + moves[name]))
        elif name == "choose" and self._matches:
            self._choose(self._matches[self._chosen])
        elif name == "erase":
            self._search(self._query[:-1])
        elif name == "leave" and self._query:
            self._search("")
        elif name == "leave":
            self.left = True
        elif not name and (
            typed := _CHARACTERS_OF_KEYS.get(key) or (key.lower() if len(key) == 1 else "")
        ):
            self._search(self._query + typed)

    def wait_seconds(self, now: float) -> float:
        """Return the seconds to wait for a key."""
        return 1.0  # the terminal's size may change

    def tick(self, now: float) -> None:
        """Do nothing; the list does not move."""

    def check_files(self) -> None:
        """Do nothing; the list of levels is not updated."""

    def reset(self) -> None:
        """Reset the choice, and load the progress again."""
        self.game, self.left, self.needs_redraw = None, False, True
        self._progress = Progress()

    def _choose(self, entry: Entry) -> None:
        """Begin the game of a level; on an error keep the list and show the message."""
        try:
            self.game = self._begin(entry.source)
            self.left = True
        except (GVEngineError, OSError) as error:
            self._note = error_text(error)
        except Stopped as stopped:
            self._note = str(stopped)

    def _search(self, query: str) -> None:
        """Set the search text, and list the levels that match."""
        self._query = query
        self._chosen = 0
        self._matches = search(query, self._entries, lambda entry: (entry.title, entry.group))

    def lines(self, width: int, height: int) -> list[Text]:
        """Return the lines of the screen from the top.

        Args:
            width, height: size of the screen in characters.
        """
        theme, description = self._theme, self._description_lines(width)
        self._page = max(1, height - len(description) - 3)
        self._first = max(self._chosen - self._page + 1, min(self._first, self._chosen))
        visible_entries = self._matches[self._first : self._first + self._page]
        title_width = max((len(entry.title) for entry in visible_entries), default=0) + 2
        rows = [
            Text.assemble(
                (f" {entry.title:<{title_width}}", theme.text),
                (f"{entry.group} ", theme.muted),
                (self._format_solved(entry), theme.gain),
            )
            for entry in visible_entries
        ]
        if rows:
            rows[self._chosen - self._first].stylize(f"{theme.on_accent} on {theme.accent}")
        else:
            rows = [Text(f" Nothing fits {self._query!r}", theme.muted)]
        rows += [Text()] * (self._page - len(rows))
        query_text = f"{self._query}_" if self._query else "type to search"
        label = self._bindings.label
        footer = (
            f"{label('menu', 'choose')}: play   "
            f"{label('menu', 'leave')}: {'clear' if self._query else 'leave'}"
        )
        lines = [
            Text.assemble(("Levels  ", f"bold {theme.accent}"), query_text),
            Text(),
            *rows,
            *description,
            Text(footer, theme.muted),
        ]
        for line in lines:
            line.truncate(max(1, width), overflow="ellipsis")
        return lines[: height - 1] + lines[-1:] if len(lines) > height else lines

    def _format_solved(self, entry: Entry) -> str:
        """Return the text "solved in x steps" for a solved level of a pack, or ""."""
        fewest = self._progress.fewest.get(entry.level.digest, 0) if entry.level else 0
        return f"solved in {fewest} steps" if fewest else ""

    def _description_lines(self, width: int) -> list[Text]:
        """Return the description of the chosen level or the error message, in a fixed number of
        lines."""
        text = self._note
        if not text and self._matches:
            try:
                text = self._matches[self._chosen].description
            except (GVEngineError, OSError) as error:
                text = error_text(error)
        rows = textwrap.wrap(" ".join(text.split()), max(1, width))[:_DESCRIPTION_LINES]
        return [Text(row) for row in rows] + [Text()] * (_DESCRIPTION_LINES - len(rows))
