"""Base class of all screens, and the part of the app that screens use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Unpack

from gv_engine.rules.errors import GVEngineError, Stopped, TrustError, complain, error_text
from gv_engine.scenario.plugin import KeyCommand
from gv_engine.scenario.trust import Consent
from gv_engine.session.autoplay import Opponent
from gv_engine.session.catalogue import is_scenario_text, load_playable, load_referenced, source_of
from gv_engine.session.episode import Playable
from gv_engine.session.replay import Replay
from gv_engine.session.session import Session
from gv_engine.ui.colors import THEMES, Theme
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.input.bindings import Bindings, BindingsError, describe_lost_keys, rebind
from gv_engine.ui.screens import sounds
from gv_engine.ui.screens.keyboard import Keyboard
from gv_engine.ui.settings import Progress, Settings

NOTE_STAYS = 6.0  # s
"""Seconds that a note is shown."""


class AppContext:
    """The app as screens see it: settings, keys, the stack of screens, and methods that open other
    screens.

    Attributes:
        settings: settings of the player; `save_settings` writes them.
        progress: levels that the player has solved.
        needs_redraw: True if the picture must be drawn again.
        screens: stack of screens; the last one gets the keys.
        sessions: sessions that were played, for the summary at the end.
        consent: which Python scenarios may run, as for `load_scenario`.
    """

    def __init__(self, settings: Settings, bindings: Bindings, **consent: Unpack[Consent]) -> None:
        self.settings, self._bindings, self.consent = settings, bindings, consent
        self.progress = Progress()
        self.screens: list[Screen] = []
        self.needs_redraw = True
        self.sessions: list[Session] = []
        self._opened: dict[str, Playable] = {}
        self._keyboard = Keyboard()
        self._note, self._note_until = "", 0.0
        self._last_save_error = ""

    @property
    def bindings(self) -> Bindings:
        """Key bindings, with the commands of the level that is played."""
        levels = (screen.level for screen in reversed(self.screens) if screen.level[1])
        return self._bindings.with_level_commands(*next(levels, Screen.level))

    @property
    def theme(self) -> Theme:
        """Colours of the user interface, from the settings."""
        return THEMES[self.settings.theme]._replace(palette=self.settings.palette)

    @property
    def top(self) -> Screen:
        """Screen on top of the stack, which gets the keys."""
        return self.screens[-1]

    def push(self, screen: Screen) -> None:
        """Put a screen on top of the stack."""
        self.screens.append(screen)
        self._keyboard.ignore_opening_text()
        self.needs_redraw = True

    def pop(self) -> None:
        """Close the screen on top; the app ends without screens."""
        self.screens.pop().on_close()
        self._keyboard.ignore_opening_text()
        self.needs_redraw = True
        if self.screens:
            self.top.on_resume()

    def quit(self) -> None:
        """Close all screens, which ends the app."""
        while self.screens:
            self.screens.pop().on_close()

    def show_note(self, note: str, stays: float = NOTE_STAYS) -> None:
        """Show a note over the screens for some seconds."""
        self._note, self._note_until = note, time.monotonic() + stays
        self.needs_redraw = True

    @contextmanager
    def showing_errors(self, failure: str = "") -> Iterator[None]:
        """Context manager that shows errors as notes, which begin with a text about the failure;
        the app continues."""
        try:
            yield
        except (GVEngineError, OSError, Stopped) as error:
            prefix = f"{failure}: " if failure else ""
            self.show_note(prefix + error_text(error), stays=15)

    def play_sound(self, name: str) -> None:
        """Play a sound if sound is on; if there is no sound device, show a note and turn sound
        off."""
        if self.settings.sound and (error := sounds.play_sound(name)):
            self.settings.sound = False
            self.show_note(error)

    def save_settings(self) -> None:
        """Write the settings; if that fails, show and print a warning, once per reason."""
        try:
            self.settings.save()
        except OSError as error:
            message = f"Settings are not kept: {error_text(error)}"
            if message != self._last_save_error:
                self._last_save_error = message
                complain(message)
                self.show_note(message)

    def rebind(self, group: str, name: str, keys: Sequence[str] | None) -> None:
        """Change the keys of a command, to the default keys for None; show which keys other
        commands lost, or why the change failed."""
        try:
            before, self._bindings = self._bindings, rebind(group, name, keys)
        except BindingsError as error:
            self.show_note(str(error), stays=15)
        else:
            self.show_note(describe_lost_keys(before, self._bindings, name))

    # ---- scenarios -------------------------------------------------------------------

    def load_scenario(self, source: str) -> Playable:
        """Return the scenario of a name or file, and add it to the recent scenarios.

        Raises:
            GVEngineError: the scenario cannot be played.
        """
        scenario = load_playable(source, **self.consent)
        self.add_recent(scenario)
        return scenario

    def add_recent(self, scenario: Playable) -> None:
        """Add a scenario to the recent scenarios, a level of a pack as its pack; keep the scenario
        in memory."""
        source = source_of(scenario)
        self._opened[source] = scenario
        if scenario.document.pack_level:  # its pack leads to it
            source = source.rpartition("#")[0]
        self.settings.add_recent(source)
        self.save_settings()

    def find_recent_file(self, replay: Replay) -> str:
        """Return the recent file with the scenario of a replay, or ""."""
        text = replay.scenario.text
        return next((file for file in self.settings.recent if is_scenario_text(file, text)), "")

    def find_scenario(
        self, replay: Replay, file: Path, scenario: Playable | None = None
    ) -> Playable:
        """Return the scenario that a replay file was recorded in, found by digest: `scenario` if it
        fits, else an opened or a recent scenario. Python runs only in scenarios that the user has
        named.

        Raises:
            ReplayError: no scenario fits.
        """
        named = () if scenario is None else (scenario,)
        return replay.find(
            chain(named, self._opened.values(), self._recent_scenarios(replay, file))
        )

    def _recent_scenarios(self, replay: Replay, file: Path) -> Iterator[Playable]:
        """Yield the recent scenarios that load, to find that of `replay`, read from `file`.

        Raises:
            TrustError: the scenario of the replay runs Python and was not named by the user.
        """
        for source in self.settings.recent:
            try:
                yield load_referenced(source, file, **self.consent)
            except TrustError:
                if is_scenario_text(source, replay.scenario.text):
                    raise
            except (GVEngineError, OSError):
                continue

    # ---- what the app opens ----------------------------------------------------------

    def toggle_full_screen(self) -> None:
        """Switch between window and full screen."""

    def show_help(self, groups: tuple[str, ...], has_command: Callable[[str], bool]) -> None:
        """Open the help on groups of bindings, with the commands for which `has_command` is
        True."""

    def open_settings(self) -> None:
        """Open the settings."""

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
        """Continue a game that was copied as a line of text, with the level in the text if the
        level is unknown.

        Raises:
            GVEngineError: the text is no game.
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


class Screen:
    """A picture that fills the window, and the commands of its keys.

    Attributes:
        app: app with the stack of screens.
        groups: groups of the bindings that are active while the screen is on top.
        over: True if the screen is drawn over the screen below.
        level: a group of bindings, and the commands that the level adds to the group.
        commands: functions of the screen by name of the command that calls them.
    """

    groups: tuple[str, ...] = ("menu", "window")
    over: ClassVar[bool] = False
    level: tuple[str, tuple[KeyCommand, ...]] = ("", ())
    commands: ClassVar[Mapping[str, Callable[[Any], object]]] = {
        "leave": lambda screen: screen.app.pop(),
        "help": lambda screen: screen.app.show_help(screen.groups, screen.has_command),
        "settings": lambda screen: screen.app.open_settings(),
    }

    def __init__(self, app: AppContext) -> None:
        self.app = app

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the screen; `now` is the time in seconds."""
        raise NotImplementedError

    def tick(self, now: float) -> float | None:
        """Do the work that is due; return the seconds until the next call, or None."""
        return None

    def run_command(self, name: str) -> None:
        """Run the command of a pressed key or button; unknown commands do nothing. The app redraws
        afterwards.

        Raises:
            GVEngineError, OSError: the command failed; the app shows the message.
        """
        if name in self.commands:
            self.commands[name](self)

    def capture_key(self, key: str) -> bool:
        """Handle a pressed key before commands; return True if the key is used up."""
        return False

    def has_command(self, name: str) -> bool:
        """Return whether a command of the screen's groups does something here; the help leaves out
        others."""
        return True

    def hint(self, group: str, name: str, description: str) -> str:
        """Return a text with the key of a command, or "" if it has none."""
        key = self.app.bindings.label(group, name)
        return f"{key} {description}" if key else ""

    def hints_of(self, group: str, descriptions: Mapping[str, str]) -> list[str]:
        """Return a hint for each command of a group that has a key, by descriptions of commands."""
        return [*filter(None, (self.hint(group, *command) for command in descriptions.items()))]

    def on_text(self, text: str) -> None:
        """Handle typed text; the app redraws afterwards."""

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Handle a mouse event that hit no area of the painter; the app redraws afterwards, unless
        the mouse was only moved."""

    def on_file_drop(self, file: Path) -> None:
        """Handle a file dropped on the window; may raise the errors of `run_command`."""

    def on_resume(self) -> None:
        """Handle that the screen is on top again."""

    def on_close(self) -> None:
        """Save or release what the screen holds; the screen is not used again."""
