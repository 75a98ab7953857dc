"""Pictures in letters, for the terminal; each family of worlds brings its own."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any, Protocol

from rich.text import Text

from gv_engine.frontend.controls.theme import Theme
from gv_engine.reading.families import FAMILIES


class TerminalPicture(Protocol):
    """Draws frames of one family in letters, and knows its keys."""

    def draw(self, frame: Any, view: str, width: int, height: int) -> list[Text]:
        """The lines of a view, one at least, in a room of so many characters."""

    def facts(self, frame: Any) -> list[str]:
        """Facts for the panel, such as what is held."""

    def legend(self, frame: Any) -> list[Text]:
        """What the letters in sight stand for."""

    def command(self, name: str) -> str:
        """What a command of the group does: the action to take, empty if there is none."""

    def knows(self, name: str) -> bool:
        """Whether the level has this command of the group."""


def terminal_picture(game: Any, theme: Theme) -> TerminalPicture:
    """The picture for a game, by its frames."""
    made: TerminalPicture = resolve_name(FAMILIES[game.frame().family].terminal)(game, theme)
    return made
