"""Protocol of pictures in letters; each domain has a class that draws its games in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pkgutil import resolve_name
from typing import Any, Protocol

from rich.text import Text

from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.ui.colors import Theme


class TerminalPicture(Protocol):
    """Draws frames of one domain in letters, and turns commands into actions.

    Attributes:
        steers: True if arrow keys move in the direction of the arrow on the screen; set by the
            creator.
    """

    steers: bool = False

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """Commands that replace the domain's commands while `steers` is True."""
        return ()

    def draw(self, frame: Any, view: str, width: int, height: int) -> list[Text]:
        """Return the lines of a view, at least one, in at most `width` × `height` characters."""

    def facts(self, frame: Any) -> list[str]:
        """Return short texts for the panel, such as the held item."""

    def legend(self, frame: Any) -> list[Text]:
        """Return lines that explain the letters in sight."""

    def command(self, name: str) -> str:
        """Return the action for a command of the domain's group, or ""."""

    def actions(self, name: str) -> Iterator[str]:
        """Yield the actions for a command; the game takes each action before the next is
        computed."""
        if action := self.command(name):
            yield action

    def has_command(self, name: str) -> bool:
        """Return whether the level has a command of the domain's group."""


def make_terminal_picture(game: Any, theme: Theme, steers: bool) -> TerminalPicture:
    """Return a new picture for a game, of the class that the game's domain registers."""
    picture: TerminalPicture = resolve_name(DOMAINS[game.frame().domain].terminal)(game, theme)
    picture.steers = steers
    return picture
