"""Base class of all screens, and the protocol by which screens use the app."""

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
"""Seconds that a note is shown."""


class AppContext(Protocol):
    """The app as screens see it: shared settings, and methods that open other screens.

    Attributes:
        settings: settings of the player; `save_settings` writes them.
        progress: levels that the player has solved.
        needs_redraw: True if the picture must be drawn again.
    """

    settings: Settings
    progress: Progress
    needs_redraw: bool

    @property
    def bindings(self) -> Bindings:
        """Key bindings, with the commands of the level that is played."""

    @property
    def theme(self) -> Theme:
        """Colours of the user interface, from the settings."""

    @property
    def top(self) -> Screen:
        """Screen on top of the stack, which gets the keys."""

    def push(self, screen: Screen) -> None:
        """Put a screen on top of the stack."""

    def pop(self) -> None:
        """Close the screen on top; the app ends without screens."""

    def quit(self) -> None:
        """Close all screens, which ends the app."""

    def show_note(self, note: str, stays: float = NOTE_STAYS) -> None:
        """Show a note over the screens for some seconds."""

    def play_sound(self, name: str) -> None:
        """Play a sound if sound is on; if there is no sound device, show a note and turn sound
        off."""

    def save_settings(self) -> None:
        """Write the settings; if that fails, show a warning once."""

    def toggle_full_screen(self) -> None:
        """Switch between window and full screen."""

    def show_help(self, groups: tuple[str, ...], has_command: Callable[[str], bool]) -> None:
        """Open the help on groups of bindings, with the commands for which `has_command` is
        True."""

    def rebind(self, group: str, name: str, keys: Sequence[str] | None) -> None:
        """Change the keys of a command, to the default keys for None; show a note if that fails."""

    def open_settings(self) -> None:
        """Open the settings."""

    def load_scenario(self, source: str) -> Playable:
        """Return the scenario of a name or file, and add it to the recent scenarios.

        Raises:
            GVEngineError: the scenario cannot be played.
        """

    def play(self, source: str, seed: int | None = None) -> None:
        """Load a scenario and play it.

        Args:
            source: name or file of the scenario.
            seed: seed of the first level; random if None.

        Raises:
            GVEngineError: the scenario cannot be played.
        """

    def edit(self, source: str) -> None:
        """Open a scenario in the editor; a built-in scenario is copied.

        Args:
            source: name or file of the scenario.

        Raises:
            GVEngineError, OSError: the scenario cannot be edited.
        """

    def open_new_level_menu(self) -> None:
        """Open the menu with the starters of a new level."""

    def edit_new_level(self, starter: str) -> None:
        """Open a new level in the editor, see `gv_engine.editor.document.new_document`."""

    def watch_replay(self, file: Path, scenario: Playable | None = None) -> None:
        """Open the player of a replay.

        Args:
            file: file of the replay, or folder of a rollout.
            scenario: scenario that may be the replay's, besides the built-in and recent ones.

        Raises:
            GVEngineError, OSError: the replay cannot be played.
        """

    def resume_game(self, file: Path) -> None:
        """Continue the game of a replay from its last step; its scenario may run Python.

        Raises:
            GVEngineError, OSError: the game cannot be played.
        """

    def resume_from_text(self, line: str) -> None:
        """Continue a game that was copied as a line of text.

        Raises:
            GVEngineError: the text is no game, or its scenario is unknown.
        """

    def take_over(self, replay_session: Session) -> None:
        """Play a new game from the current step of a replay.

        Raises:
            GVEngineError: the game cannot be played.
        """

    def start_race(self, opponent: Opponent) -> None:
        """Play the level of an opponent, with both games side by side."""

    def open_comparison(self) -> None:
        """Show the game on top as the game was before its files were changed."""

    def add_recent(self, scenario: Playable) -> None:
        """Add the scenario of a game to the recent scenarios."""

    def record_session(self, game: Session) -> None:
        """Add a session to the summary that is printed at the end."""

    def find_scenario(self, replay: Replay, file: Path) -> Playable:
        """Return the scenario of a replay file; Python runs only in scenarios that the user has
        named.

        Raises:
            GVEngineError: the scenario is unknown.
        """

    def find_recent_file(self, replay: Replay) -> str:
        """Return the recent file with the scenario of a replay, or ""."""


class Screen:
    """A picture that fills the window, and the commands of its keys.

    Attributes:
        app: app with the stack of screens.
        groups: groups of the bindings that are active while the screen is on top.
        over: True if the screen is drawn over the screen below.
        level: a group of bindings, and the commands that the level adds to the group.
    """

    groups: tuple[str, ...] = ("menu", "window")
    over: ClassVar[bool] = False
    level: tuple[str, tuple[KeyCommand, ...]] = ("", ())

    def __init__(self, app: AppContext) -> None:
        self.app = app

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the screen; `now` is the time in seconds."""
        raise NotImplementedError

    def tick(self, now: float) -> float | None:
        """Do the work that is due; return the seconds until the next call, or None."""
        return None

    def run_command(self, name: str) -> None:
        """Run the command of a pressed key.

        Raises:
            GVEngineError, OSError: the command failed; the app shows the message.
        """
        if name == "leave":
            self.app.pop()
        elif name == "help":
            self.app.show_help(self.groups, self.has_command)
        elif name == "settings":
            self.app.open_settings()

    def capture_key(self, key: str) -> bool:
        """Handle a pressed key before commands; return True if the key is used up."""
        return False

    def has_command(self, name: str) -> bool:
        """Return whether a command of the screen's groups does something here; the help leaves out
        others."""
        return True

    def on_text(self, text: str) -> None:
        """Handle typed text."""

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Handle a mouse event that hit no area of the painter."""

    def on_file_drop(self, file: Path) -> None:
        """Handle a file dropped on the window; may raise the errors of `run_command`."""

    def on_resume(self) -> None:
        """Handle that the screen is on top again."""

    def on_close(self) -> None:
        """Save or release what the screen holds; the screen is not used again."""
