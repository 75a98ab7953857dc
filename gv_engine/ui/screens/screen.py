"""The base of all screens, and what screens ask of the app."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar, Protocol

from gv_engine.scenario.plugin import KeyCommand
from gv_engine.session.autoplay import Opponent
from gv_engine.session.episode import Playable
from gv_engine.session.replay import Replay
from gv_engine.session.session import Session
from gv_engine.ui.colors import Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.input.bindings import Bindings
from gv_engine.ui.settings import Progress, Settings

NOTE_STAYS = 6.0  # s


class AppContext(Protocol):
    """The app as its screens know it: what they share, and the way from one to another.

    Attributes:
        settings: the player's; `remember` writes them.
        progress: which levels the player has solved.
        stale: whether the picture has to be drawn anew.
    """

    settings: Settings
    progress: Progress
    stale: bool

    @property
    def bindings(self) -> Bindings:
        """Which key does what, in the level that is played too."""

    @property
    def theme(self) -> Theme:
        """The colours that the settings ask for."""

    @property
    def top(self) -> Screen:
        """The screen that has the keys."""

    def push(self, screen: Screen) -> None:
        """Put a screen upon the others."""

    def pop(self) -> None:
        """Close the screen on top; without screens the app ends."""

    def quit(self) -> None:
        """Close all screens, and so the app."""

    def say(self, note: str, stays: float = NOTE_STAYS) -> None:
        """Show a note for some seconds, over whatever there is."""

    def sound(self, name: str) -> None:
        """Play a sound if the player wants any; where there is none, say so and be silent."""

    def remember(self) -> None:
        """Write the settings; where that does not go, say so once, and play goes on."""

    def toggle_full_screen(self) -> None:
        """Fill the screen, or no longer."""

    def tell_keys(self, groups: tuple[str, ...], knows: Callable[[str], bool]) -> None:
        """Open the help on these groups of bindings, and on which of their commands there are."""

    def rebind(self, group: str, name: str, keys: Sequence[str] | None) -> None:
        """Give a command other keys, the usual ones if None; say why where that does not go."""

    def choose_settings(self) -> None:
        """Open the settings."""

    def choose(self, source: str) -> Playable:
        """The scenario of a name or file, remembered as one that was played.

        Raises:
            GVEngineError: it cannot be played; the message says why.
        """

    def play(self, source: str, seed: int | None = None) -> None:
        """Play a scenario.

        Args:
            source: its name or file.
            seed: of the first level; drawn by chance if None.

        Raises:
            GVEngineError: it cannot be played; the message says why.
        """

    def edit(self, source: str) -> None:
        """Edit a scenario; of one that comes with the engine, a copy.

        Args:
            source: its name or file.

        Raises:
            GVEngineError, OSError: it cannot be edited; the message says why.
        """

    def new_level(self) -> None:
        """Choose what a new level begins with, and edit it."""

    def begin_level(self, starter: str) -> None:
        """Edit a new level, see `gv_engine.editor.document.new_document`."""

    def watch(self, file: Path, scenario: Playable | None = None) -> None:
        """Watch a replay.

        Args:
            file: of the replay, or the folder of a rollout.
            scenario: that it may have been played in, besides the built-in and recent ones.

        Raises:
            GVEngineError, OSError: it cannot be watched; the message says why.
        """

    def go_on(self, file: Path) -> None:
        """Go on with the game of a replay, at its end: whoever does, names its scenario.

        Raises:
            GVEngineError, OSError: it cannot be played; the message says why.
        """

    def open_line(self, line: str) -> None:
        """Go on with the game that was copied as a line of text.

        Raises:
            GVEngineError: it is none, or its scenario is not known here.
        """

    def take_over(self, replayed: Session) -> None:
        """Play on from where a replay is, in a game of its own.

        Raises:
            GVEngineError: it cannot be played; the message says why.
        """

    def race(self, rival: Opponent) -> None:
        """Play the level that somebody else plays, beside them."""

    def compare(self) -> None:
        """Show how the game in front was before its files were changed."""

    def has_come_to(self, scenario: Playable) -> None:
        """Remember a scenario that a game has gone on to, as one that was played."""

    def played(self, game: Session) -> None:
        """Keep in mind how a game went."""

    def scenario_of(self, replay: Replay, file: Path) -> Playable:
        """The scenario that a replay in a file was played in, as far as it runs no Python that
        nobody has named.

        Raises:
            GVEngineError: it is not known here.
        """

    def recent_file(self, replay: Replay) -> str:
        """The file, among those that were played, that says what a replay was of; maybe empty."""


class Screen:
    """A picture that fills the window, and what its keys do.

    Attributes:
        app: that it belongs to.
        groups: of the bindings that are active while it is on top.
        over: whether the screen below is seen behind it.
        level: a group of bindings, and commands that the level which is played adds to it.
    """

    groups: tuple[str, ...] = ("menu", "window")
    over: ClassVar[bool] = False
    level: tuple[str, tuple[KeyCommand, ...]] = ("", ())

    def __init__(self, app: AppContext) -> None:
        self.app = app

    def draw(self, pen: Painter, now: float) -> None:
        """Draw it; `now` is the time in seconds."""
        raise NotImplementedError

    def tick(self, now: float) -> float | None:
        """Do what is due; returns in how many seconds to do so again, None for not by itself."""
        return None

    def command(self, name: str) -> None:
        """A key of one of its groups was pressed.

        Raises:
            GVEngineError, OSError: it cannot be done; the app says why.
        """
        if name == "leave":
            self.app.pop()
        elif name == "help":
            self.app.tell_keys(self.groups, self.knows)
        elif name == "settings":
            self.app.choose_settings()

    def takes(self, key: str) -> bool:
        """A key was pressed, by its name in bindings; True if it is to be no command."""
        return False

    def knows(self, name: str) -> bool:
        """Whether a command of its groups means something here, to be told in the help."""
        return True

    def typed(self, text: str) -> None:
        """Text was typed."""

    def pointed(self, event: pygame.event.Event) -> None:
        """The mouse did something that was not about a button of the pen."""

    def dropped(self, file: Path) -> None:
        """A file was dropped on the window; see `command` for what may go wrong."""

    def uncovered(self) -> None:
        """It is on top again."""

    def closed(self) -> None:
        """It is gone for good; what is worth keeping is to be kept now."""
