"""Pictures in letters, for the terminal; each domain of worlds brings its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pkgutil import resolve_name
from typing import Any, Protocol

from rich.text import Text

from gv_engine.scenario.plugin import DOMAINS, KeyCommand
from gv_engine.ui.colors import Theme


class TerminalPicture(Protocol):
    """Draws frames of one domain in letters, and knows its keys.

    Attributes:
        steers: whether keys go where they point on the screen; set by who shows it.
    """

    steers: bool = False

    @property
    def steering(self) -> Sequence[KeyCommand]:
        """What keys do in the place of the domain's commands while it steers."""
        return ()

    def draw(self, frame: Any, view: str, width: int, height: int) -> list[Text]:
        """The lines of a view, one at least, in a room of so many characters."""

    def facts(self, frame: Any) -> list[str]:
        """Facts for the panel, such as what is held."""

    def legend(self, frame: Any) -> list[Text]:
        """What the letters in sight stand for."""

    def command(self, name: str) -> str:
        """What a command of the group does: the action to take, empty if there is none."""

    def actions(self, name: str) -> Iterator[str]:
        """What a command of the group does: the actions to take, each before the next is asked
        for."""
        if action := self.command(name):
            yield action

    def has_command(self, name: str) -> bool:
        """Whether the level has this command of the group."""


def terminal_picture(game: Any, theme: Theme, steers: bool) -> TerminalPicture:
    """The picture for a game, by its frames."""
    made: TerminalPicture = resolve_name(DOMAINS[game.frame().domain].terminal)(game, theme)
    made.steers = steers
    return made
