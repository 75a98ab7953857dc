"""Base class of all screens, and the part of the app that screens use."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Unpack

from gv_engine.play.session.autoplay import Opponent
from gv_engine.play.session.catalogue import (
    is_scenario_text,
    load_playable,
    load_referenced,
    source_of,
)
from gv_engine.play.session.episode import Playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import Replay
from gv_engine.play.session.session import Session
from gv_engine.play.session.tones import CAPTIONS
from gv_engine.play.ui.autosave import Autosave, AutosaveWriter, Unsaved, UnsavedEdits
from gv_engine.play.ui.colors import THEMES, Theme
from gv_engine.play.ui.drawing.sprites import Rect, pygame
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.input.bindings import Bindings, BindingsError, describe_lost_keys, rebind
from gv_engine.play.ui.screens import sounds
from gv_engine.play.ui.screens.keyboard import Keyboard
from gv_engine.play.ui.settings import Progress, Settings
from gv_engine.rules.errors import GVEngineError, Stopped, TrustError, complain, error_text
from gv_engine.scenario.documents.trust import Consent
from gv_engine.scenario.domains import KeyCommand

# Seconds that a note is shown.
NOTE_STAYS = 6.0  # s
CAPTION_STAYS = 1.5  # s


class AppContext:
    """The app as screens see it: settings, keys, the stack of screens, and methods that open other
    screens.

    Attributes:
        settings: settings of the player; `save_settings` writes them.
        progress: levels that the player has solved.
        needs_redraw: True if the picture must be drawn again.
        has_focus: True if the window gets the keys that are pressed.
        screens: stack of screens; the last one gets the keys.
        sessions: sessions that were played, for the summary at the end.
        consent: which Python code scenarios may run, as for `load_scenario`.
    """

    def __init__(self, settings: Settings, bindings: Bindings, **consent: Unpack[Consent]) -> None:
        """Create an app without screens; `consent` says which Python code of scenarios may run."""
        self.settings, self._bindings, self.consent = settings, bindings, consent
        self.progress = Progress()
        self.screens: list[Screen] = []
        self.needs_redraw = self.has_focus = True
        self.sessions: list[Session] = []
        self._opened: dict[str, Playable] = {}
        self._keyboard = Keyboard()
        self._note, self._note_until = "", 0.0
        self._caption, self._caption_until = "", 0.0
        self._last_save_error = ""
        self._autosaves = AutosaveWriter()

    @property
    def bindings(self) -> Bindings:
        """Key bindings, including the commands that the current level defines."""
        for screen in reversed(self.screens):
            group, commands = screen.level_commands
            if commands:
                return self._bindings.with_level_commands(group, commands)
        return self._bindings

    @property
    def theme(self) -> Theme:
        """Colours of the user interface, from the settings."""
        return THEMES[self.settings.theme]._replace(palette=self.settings.palette)

    @property
    def top(self) -> Screen:
        """Screen on top of the stack, which gets the keys."""
        return self.screens[-1]

    def push(self, screen: Screen) -> None:
        """Put `screen` on top of the stack of screens; it then gets the keys."""
        self.screens.append(screen)
        self._keyboard.ignore_opening_text()
        self.needs_redraw = True

    def pop(self) -> None:
        """Close the topmost screen. The app ends when none is left."""
        self.screens.pop().on_close()
        self._keyboard.ignore_opening_text()
        self.needs_redraw = True
        if self.screens:
            self.top.on_resume()

    def quit(self) -> None:
        """Close all screens, which ends the app; unsaved edits are left for the next window."""
        works = self._unsaved_works
        edits = [work if isinstance(work, UnsavedEdits) else None for work in works]
        while self.screens:
            self.screens.pop().on_close()
        self._autosaves.close(edits)
        if self._autosaves.error or any(edits):
            complain(self._autosaves.error or "unsaved edits are kept for the next start")

    def autosave(self, now: float) -> float | None:
        """Write the unsaved work of all screens into files that the next window finds, if it has
        changed; return the seconds until the next call, or None if all work is saved."""
        due = self._autosaves.save(self._unsaved_works, now)
        if error := self._autosaves.error:
            self._autosaves.error = ""
            complain(error)
            self.show_note(error, stays=15)
        return due

    @property
    def _unsaved_works(self) -> list[Unsaved | None]:
        return [screen.unsaved_work() for screen in self.screens]

    def show_note(self, note: str, stays: float = NOTE_STAYS) -> None:
        """Show the text `note` over the screens for `stays` seconds."""
        self._note, self._note_until = note, time.monotonic() + stays
        self.needs_redraw = True

    @contextmanager
    def showing_errors(self, failure: str = "") -> Iterator[None]:
        """Within a `with` block, catch errors and show their messages to the user. `failure` is the
        beginning of the message."""
        try:
            yield
        except (GVEngineError, OSError, Stopped) as error:
            prefix = f"{failure}: " if failure else ""
            self.show_note(prefix + error_text(error), stays=15)

    def play_sound(self, name: str) -> None:
        """Play the sound called `name` if sound is on, and show its caption if captions are on;
        without a sound device, show a note and turn sound off."""
        if self.settings.captions:
            self._caption, self._caption_until = CAPTIONS[name], time.monotonic() + CAPTION_STAYS
            self.needs_redraw = True
        if self.settings.sound and (error := sounds.play_sound(name, self.settings.volume)):
            self.settings.sound = False
            self.show_note(error)

    def turn_sound(self, is_on: bool) -> None:
        """Turn sound on or off, save the setting, and show a note."""
        self.settings.sound, self.settings.asks_about_sound = is_on, False
        self.save_settings()
        key = self.bindings.label("window", "sound")
        state, other = ("on", "off") if is_on else ("off", "on")
        self.show_note(f"Sound is {state}" + f". {key} turns it {other}" * bool(key))
        self.play_sound("gain")

    def save_settings(self) -> None:
        """Save the settings to their file. If that fails, show and print a warning, but not the
        same one twice in a row."""
        try:
            self.settings.save()
        except OSError as error:
            message = f"Settings are not kept: {error_text(error)}"
            if message != self._last_save_error:
                self._last_save_error = message
                complain(message)
                self.show_note(message)

    def rebind(self, group: str, name: str, keys: Sequence[str] | None) -> None:
        """Bind `keys` to the command `name` of `group`, or its default keys for None. Show the user
        which other commands have lost a key, or the error."""
        try:
            before, self._bindings = self._bindings, rebind(group, name, keys)
        except BindingsError as error:
            self.show_note(str(error), stays=15)
        else:
            self.show_note(describe_lost_keys(before, self._bindings, name))

    # ---- scenarios -------------------------------------------------------------------

    def load_scenario(self, source: str) -> Playable:
        """Return the scenario called `source`, a name or file, and add it to the recent scenarios.

        Raises:
            GVEngineError: the scenario cannot be played.
        """
        scenario = load_playable(source, **self.consent)
        self.add_recent(scenario)
        return scenario

    def add_recent(self, scenario: Playable) -> None:
        """Add `scenario` (for a level of a pack, the pack) to the list of recent scenarios, and
        keep it loaded."""
        source = source_of(scenario)
        self._opened[source] = scenario
        if scenario.document.pack_level:  # its pack leads to it
            source = source.rpartition("#")[0]
        self.settings.add_recent(source)
        self.save_settings()

    def find_recent_file(self, replay: Replay) -> str:
        """Return the file of a recent scenario with the same text as the scenario in `replay`; ""
        if there is none."""
        text = replay.scenario.text
        return next((file for file in self.settings.recent if is_scenario_text(file, text)), "")

    def find_scenario(
        self, replay: Replay, file: Path, scenario: Playable | None = None
    ) -> Playable:
        """Return the scenario in which the replay in `file` was recorded: `scenario` if its hash
        matches, else an opened or recent one. Python code runs only in scenarios that the user has
        opened by name.

        Raises:
            ReplayError: no scenario fits.
        """
        named = () if scenario is None else (scenario,)
        recent = self._load_recent_scenarios(replay, file)
        return replay.find(chain(named, self._opened.values(), recent))

    def _load_recent_scenarios(self, replay: Replay, file: Path) -> Iterator[Playable]:
        """Yield the recent scenarios that can be loaded, as candidates for the scenario of
        `replay`, read from `file`.

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

    # ---- opening screens -------------------------------------------------------------

    def toggle_full_screen(self) -> None:
        """Switch between window and full screen."""

    def show_help(self, groups: tuple[str, ...], has_command: Callable[[str], bool]) -> None:
        """Open the list of keys of the commands in `groups`, without commands for which
        `has_command(name)` is False."""

    def open_settings(self) -> None:
        """Open the settings."""

    def play(self, source: str, seed: int | None = None) -> None:
        """Open a game of the scenario `source` (name or file) in the level of `seed`; the seed is
        random if None.

        Args:
            source: name or file of the scenario.
            seed: seed of the first level; random if None.

        Raises:
            GVEngineError: the scenario cannot be played.
        """

    def end_pack(self, source: str) -> None:
        """Close the game on top, and show the end of the pack of the level `source`, a name or
        file."""

    def edit(self, source: str) -> None:
        """Open the scenario `source` (name or file) in the editor; a built-in scenario is copied
        first.

        Args:
            source: name or file of the scenario.

        Raises:
            GVEngineError, OSError: the scenario cannot be edited.
        """

    def edit_new_level(self, starter: str) -> None:
        """Open a new level, which begins as a copy of `starter`, in the editor."""

    def watch_replay(self, file: Path, scenario: Playable | None = None) -> None:
        """Open the screen that plays `file`, a replay or a folder of episodes; `scenario` is a
        candidate for the recorded scenario.

        Args:
            file: file of the replay, or folder of a rollout.
            scenario: scenario that may be the replay's, besides the built-in and recent ones.

        Raises:
            GVEngineError, OSError: the replay cannot be played.
        """

    def resume_game(self, file: Path) -> None:
        """Continue the game saved in the replay `file` from its last step. Python code of the
        scenario may run, as the user has chosen the game.

        Raises:
            GVEngineError, OSError: the game cannot be played.
        """

    def resume_autosave(self, autosave: Autosave) -> None:
        """Continue the game or the edits of `autosave`, and delete its file.

        Raises:
            GVEngineError, OSError: the work cannot be opened; the file stays.
        """

    def resume_from_text(self, line: str) -> None:
        """Continue the game in `line`, a text copied with the copy command; a level that this
        machine does not have is read from the text.

        Raises:
            GVEngineError: the text is no game.
        """

    def take_over(self, replay_session: Game) -> None:
        """Open a new game that continues from the current step of the replay in `replay_session`.

        Raises:
            GVEngineError: the game cannot be played.
        """

    def start_race(self, opponent: Opponent) -> None:
        """Let the user play the level of `opponent`, with both games side by side."""

    def open_comparison(self) -> None:
        """Open the screen that shows the game on top as it was before its files were changed."""


# Functions of a screen by name of the command that calls them.
ScreenCommands = Mapping[str, Callable[[Any], object]]


class Screen:
    """Screen of the window: it draws the window, and runs the commands of keys.

    Attributes:
        app: app with the stack of screens.
        groups: groups of the bindings that are active while the screen is on top.
        is_overlay: True if the screen is drawn over the screen below.
        footer_lines: height, in lines, of the hints at the bottom, which notes leave visible.
        level_commands: a group of bindings, and the commands that the level adds to the group.
        commands: functions of the screen by name of the command that calls them.
    """

    groups: tuple[str, ...] = ("menu", "window")
    is_overlay: ClassVar[bool] = False
    footer_lines = 1
    level_commands: tuple[str, tuple[KeyCommand, ...]] = ("", ())
    commands: ClassVar[ScreenCommands] = {
        "leave": lambda screen: screen.app.pop(),
        "help": lambda screen: screen.app.show_help(screen.groups, screen.has_command),
        "settings": lambda screen: screen.app.open_settings(),
    }

    def __init__(self, app: AppContext) -> None:
        self.app = app

    def draw(self, painter: Painter, now: float) -> None:
        """Draw the screen with `painter`; `now` is the time in seconds."""
        raise NotImplementedError

    def tick(self, now: float) -> float | None:
        """Update the screen at the time `now`; return the seconds until the next call, or None if
        no call is needed."""
        return None

    def run_command(self, name: str) -> None:
        """Run the command called `name`, whose key or button was pressed; ignore unknown commands.

        Raises:
            GVEngineError, OSError: the command failed; the app shows the message.
        """
        if name in self.commands:
            self.commands[name](self)

    def capture_key(self, key: str) -> bool:
        """Handle the pressed `key` before any command; return True if its command must not run."""
        return False

    def can_repeat(self, name: str) -> bool:
        """Return True if a held key repeats the command `name`, one of those that repeat."""
        return True

    def has_command(self, name: str) -> bool:
        """Return True if the command `name` is available on this screen; the list of keys leaves
        out other commands."""
        return True

    def hint(self, group: str, name: str, description: str) -> str:
        """Return a text such as `Z undo`: the key of the command `name` in `group`, and
        `description`; "" if the command has no key."""
        key = self.app.bindings.label(group, name)
        return f"{key} {description}" if key else ""

    def hints_of(self, group: str, descriptions: Mapping[str, str]) -> list[str]:
        """Return a text such as `Z undo` for each command of `group` in `descriptions`, which are
        texts by command name; commands without a key are left out."""
        return [*filter(None, (self.hint(group, *command) for command in descriptions.items()))]

    def draw_buttons(
        self, painter: Painter, rect: Rect, buttons: Iterable[tuple[str, str, str]], min_rest: int
    ) -> None:
        """Draw buttons at the right end of `rect`, and shrink `rect` to the space left of the
        buttons. Buttons are left out if less than `min_rest` pixels would remain.

        Args:
            painter: painter of the screen.
            rect: rectangle; it is made narrower.
            buttons: (label, group, command) of each button, the rightmost first.
            min_rest: minimum width to leave; buttons that do not fit are left out.
        """
        line = painter.line_height
        for label, group, name in buttons:
            key = self.app.bindings.label(group, name)
            width = painter.text_width(label) + painter.text_width(key) + 2 * line
            if rect.w - width < min_rest:
                break
            slot, press = cut(rect, "right", width, line // 2), partial(self.run_command, name)
            painter.draw_button(slot, label, press, key, background="card")

    def on_text(self, text: str) -> None:
        """Handle `text`, which the user has typed."""

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Handle a mouse event that hit no button or other clickable area."""

    def on_file_drop(self, file: Path) -> None:
        """Open or handle `file`, which the user has dropped on the window."""

    def unsaved_work(self) -> Unsaved | None:
        """Return the work that would be lost if the process were killed now; None if there is
        none."""
        return None

    def on_resume(self) -> None:
        """Update the screen when it is on top of the stack again."""

    def on_close(self) -> None:
        """Save or release what the screen holds; the screen is not used again."""
