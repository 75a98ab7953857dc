"""Menus of settings and keys, and the pause menu."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gv_engine.play.session.autoplay import list_opponent_policies
from gv_engine.play.ui.colors import PALETTES, THEMES
from gv_engine.play.ui.input.bindings import (
    GROUPS,
    PADS,
    format_keys_file,
    key_label,
    keys_file,
    replace_keys,
)
from gv_engine.play.ui.screens.menu import MORE, Menu, MenuRow
from gv_engine.play.ui.settings import ARROW_KEYS, SCALES, SPEEDS, VOLUMES, forced_scale

if TYPE_CHECKING:
    from gv_engine.play.ui.screens.game_screen import GameScreen
    from gv_engine.play.ui.screens.screen import AppContext


# ---- keys ----------------------------------------------------------------------------------------


class KeysScreen(Menu):
    """Menu with a row for each command; after choosing a row, the next pressed key becomes the
    command's key."""

    title = "Change keys"

    # group, name and description of the command that gets the next key
    _pending_command: tuple[str, str, str] | None = None

    @property
    def text_above(self) -> str:
        """Explanation above the rows: how to change keys, or the request to press the new key."""
        label = self.app.bindings.label
        if self._pending_command is not None:
            description = self._pending_command[2]
            return f'Press another key for "{description}". {label("menu", "leave")}: as it was'
        return (
            f"{label('menu', 'choose')}: press another key. {label('menu', 'erase')}: the usual "
            f"ones. A gamepad's buttons are changed by pressing one of them."
        )

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        # (group, name, description) and heading of each command whose keys can be changed; the
        # rows stay in their order while keys change
        self._commands = {
            (group, command.name, command.description): heading
            for heading, group, command in app.bindings.group_commands(GROUPS)
        }

    def rows(self) -> Sequence[MenuRow]:
        """Return a menu row for each command, with its keys."""
        rows, last_heading = [], ""
        for command, heading in self._commands.items():
            group, name, description = command
            keys = ", ".join(map(key_label, self.app.bindings.keys(group, name))) or "no key"
            if command == self._pending_command:
                keys = "..."
            shown = heading if heading != last_heading else ""
            act, last_heading = partial(self._wait_for_key, command), heading
            rows.append(MenuRow(_capitalize(description), act, key=keys, heading=shown))
        write = MenuRow("Write all keys into a file", lambda _: self._write_keys_file())
        return [*rows, write._replace(heading="File")]

    def _write_keys_file(self) -> None:
        """Write the file `keys.toml` with all commands and keys, unless it exists."""
        file = keys_file()
        with self.app.showing_errors("The file is not written"):
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as text_file:
                text_file.write(format_keys_file(self.app.bindings))
            self.app.show_note(f"Saved {file}")

    def capture_key(self, key: str) -> bool:
        """If a command waits for its new key, bind the pressed `key` to it and return True; the key
        for leaving cancels. Else return False."""
        if self._pending_command is None:
            return False
        (group, name, _), self._pending_command = self._pending_command, None
        if self.app.bindings.command_name(key, ("menu",)) != "leave":
            self.app.rebind(group, name, replace_keys(self.app.bindings.keys(group, name), key))
        return True

    def run_command(self, name: str) -> None:
        """Run the command `name`: restore the default keys of the selected command, or a command of
        menus."""
        if name == "erase" and self.chosen < len(self._commands):
            group, command_name, _ = [*self._commands][self.chosen]
            self.app.rebind(group, command_name, None)
        else:
            super().run_command(name)

    def _wait_for_key(self, command: tuple[str, str, str], step: int) -> None:
        self._pending_command = command


def _capitalize(text: str) -> str:
    return text[:1].upper() + text[1:]


# ---- settings ------------------------------------------------------------------------------------

ON_OFF = {False: "off", True: "on"}


class SettingsScreen(Menu):
    """Menu with a row for each setting; changes are visible at once and saved on close."""

    title = "Settings"

    def __init__(self, app: AppContext) -> None:
        super().__init__(app)
        games = [screen.game for screen in app.screens if hasattr(screen, "game")]
        self._opponents = list_opponent_policies(games[-1] if games else None)

    def rows(self) -> Sequence[MenuRow]:
        """Return a menu row for each setting."""
        settings = self.app.settings
        speeds = {speed: f"{speed} steps a second" for speed in SPEEDS}
        scales: dict[float, str] = {0: "automatic", **{s: f"{s:.0%}" for s in SCALES}}
        size = self.choice_row(settings, "Size", "scale", scales)
        if forced_scale():
            size = MenuRow("Size", lambda _: None, f"{forced_scale():.0%} by GV_ENGINE_SCALE")
        full_screen = ON_OFF[settings.full_screen]
        choice = partial(self.choice_row, settings)
        sound = choice("Sound", "sound", ON_OFF)
        theme = choice("Theme", "theme", {name: name for name in THEMES})
        arrow_keys = choice("Arrow keys", "arrow_keys", ARROW_KEYS)
        opponents = choice("Opponents", "opponents", self._opponents)
        return (
            theme._replace(heading="Picture"),
            choice("Colours", "palette", {name: name for name in PALETTES}),
            size,
            choice("Motion", "animation", {True: "full", False: "reduced"}),
            MenuRow("Full screen", lambda _: self.app.toggle_full_screen(), full_screen),
            sound._replace(heading="Sound"),
            choice("Volume", "volume", {v: f"{v}%" for v in VOLUMES}),
            choice("Captions of sounds", "captions", ON_OFF),
            arrow_keys._replace(heading="Keys"),
            MenuRow("Change keys", lambda _: self.app.push(KeysScreen(self.app)), key=MORE),
            opponents._replace(heading="Games"),
            choice("Speed of time", "time_speed", speeds),
            choice("Speed of replays", "speed", speeds),
            choice("Recordings", "recording", {".mp4": "MP4", ".gif": "GIF"}),
            choice("Research view", "research", ON_OFF),
            self.close_row("Back"),
        )

    def run_command(self, name: str) -> None:
        """Run the command `name` of the menu; if that turns sound on or changes the volume, play a
        sound."""
        settings = self.app.settings
        before = settings.sound, settings.volume
        super().run_command(name)
        if (settings.sound, settings.volume) != before:
            settings.asks_about_sound = False
            self.app.play_sound("gain")

    def on_close(self) -> None:
        """Save the settings."""
        self.app.save_settings()


# ---- pause ---------------------------------------------------------------------------------------

# ScreenCommands of the pause menu itself, the most important first; others are in its lists.
_MAIN_COMMANDS = ("agent", "again", "hint", "take_over", "rules", "export")
_MAX_MAIN = 3
# ScreenCommands that are listed with the commands for the view.
_VIEW_COMMANDS = ("record", "picture", "real_time")
# Titles of the lists of the pause menu.
_VIEW_SECTION, _APP_SECTION = "View and actions", "Keys and settings"
_SECTIONS = ("Levels and replays", _VIEW_SECTION, _APP_SECTION)
# ScreenCommands of the group `inspector`, offered while a side panel is open.
INSPECTOR_COMMANDS = ("next_tab", "previous_tab", "next_choice", "previous_choice")


class PauseMenu(Menu):
    """Pause menu of a game or a replay; offers commands that no gamepad button has."""

    title = "Pause"

    def __init__(self, screen: GameScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen
        self.groups = ("menu", *screen.groups)

    @property
    def text_above(self) -> str:
        """Description of the game's scenario."""
        return str(getattr(self._screen.game.scenario, "description", ""))

    def rows(self) -> Sequence[MenuRow]:
        """Return at most eight menu rows: the main commands, one row for each submenu of further
        commands, and rows for keys and settings and for leaving."""
        rows = [self.close_row(self._screen.resume_label)]
        rows += [self._make_row(*command) for command in self._list_main_commands()]
        for title in _SECTIONS:
            if title == _APP_SECTION or self._list_section_commands(title):
                rows.append(MenuRow(title, partial(self._open_section, title), key=MORE))
        rows.append(self.closing_row(self._screen.leave_label, self.app.pop))
        return rows

    def _open_section(self, title: str, _: int) -> None:
        self.app.push(PauseSection(self._screen, title))

    def _list_main_commands(self) -> Sequence[tuple[str, str]]:
        """Return (group, name) of the commands of the menu itself."""
        commands = self._list_commands()
        main = [command for name in _MAIN_COMMANDS for command in commands if command[1] == name]
        return main[:_MAX_MAIN]

    def _list_section_commands(self, section: str) -> Sequence[tuple[str, str]]:
        """Return (group, name) of the commands in the list `section`."""
        main = self._list_main_commands()
        commands = []
        for group, name in self._list_commands():
            is_for_view = group not in ("play", "replay") or name in _VIEW_COMMANDS
            if (group, name) not in main and is_for_view == (section == _VIEW_SECTION):
                commands.append((group, name))
        return commands

    def run_command(self, name: str) -> None:
        """Run the command `name` of the game screen below, or of the menu."""
        if name == "help":
            self._screen.run_command(name)
        elif name == "menu":
            self.app.pop()
        elif name in (command_name for _, command_name in self._list_commands()):
            self._run(name)
        else:
            super().run_command(name)

    def _make_row(self, group: str, name: str) -> MenuRow:
        """Return a menu row that closes the menu and runs the command `name` of `group` in the game
        screen."""
        commands = self.app.bindings.commands(group)
        description = next(command.description for command in commands if command.name == name)
        key = self.app.bindings.label(group, name)
        return MenuRow(_capitalize(description), lambda _: self._run(name), key=key)

    def _run(self, name: str) -> None:
        while self.app.top is not self._screen:
            self.app.pop()
        self._screen.run_command(name)

    def _list_commands(self) -> Sequence[tuple[str, str]]:
        """Return (group, name) of the commands in the menu: the available ones of the game screen,
        and actions of the level that have no gamepad button."""
        screen, domain, bindings = self._screen, self._screen.domain.title, self.app.bindings
        group_by_name = {
            command.name: group for group in screen.groups for command in GROUPS.get(group, ())
        }
        names = [*screen.menu_commands]
        if screen.stage.side_panel:
            names += INSPECTOR_COMMANDS
        commands = [(group_by_name[name], name) for name in names]
        if domain in screen.groups:  # no replay
            for action in bindings.commands(domain):
                if PADS.isdisjoint(bindings.keys(domain, action.name)):
                    commands.append((domain, action.name))
        return [command for command in commands if screen.has_command(command[1])]


class PauseSection(PauseMenu):
    """List of commands that the pause menu leads to.

    Args:
        screen: screen of the game.
        title: title of the list, one of `_SECTIONS`.
    """

    text_above = ""

    def __init__(self, screen: GameScreen, title: str) -> None:
        super().__init__(screen)
        self.title = title

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each command of this submenu, and a row that returns to the main
        menu."""
        if self.title == _APP_SECTION:
            rows = [
                self.command_row("Keys", "help"),
                self.command_row("Settings", "settings"),
                MenuRow("Quit", lambda _: self.app.quit()),
            ]
        else:
            rows = [self._make_row(*command) for command in self._list_section_commands(self.title)]
        return (*rows, self.close_row("Back"))
