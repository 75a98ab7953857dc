"""The menu in the middle of a game or a replay, by which a gamepad does all that keys do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gv_engine.ui.colors import PALETTES, THEMES
from gv_engine.ui.input.bindings import GROUPS, PAD, key_label
from gv_engine.ui.input.rebinding import in_place_of
from gv_engine.ui.screens.menu import Menu, MenuRow
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.settings import SCALES, SPEEDS, STEERING, forced_scale

if TYPE_CHECKING:
    from gv_engine.ui.screens.game_screen import GameScreen


# ---- keys ----------------------------------------------------------------------------------------


class KeysScreen(Menu):
    """A row for each command; once it is chosen, the next key is the command's.

    Args:
        app: that it belongs to.
        about: the groups of bindings that can be changed.
    """

    title = "Change keys"

    def __init__(self, app: AppContext, about: Sequence[str]) -> None:
        super().__init__(app)
        self._about = about
        self._waits: int | None = None  # the number of the command that the next key is for

    @property
    def words(self) -> str:
        label = self.app.bindings.label
        if self._waits is not None:
            says = self._commands()[self._waits][2]
            return f'Press another key for "{says}". {label("menu", "leave")}: as it was'
        return (
            f"{label('menu', 'choose')}: press another key. {label('menu', 'erase')}: the usual "
            f"ones. A gamepad's buttons are changed by pressing one of them."
        )

    def _commands(self) -> Sequence[tuple[str, str, str]]:
        """Groups and names of the commands, and what they do."""
        return [
            (group, command.name, command.description)
            for group in self._about
            for command in self.app.bindings.commands(group)
        ]

    def rows(self) -> Sequence[MenuRow]:
        keys = self.app.bindings.keys
        return [
            MenuRow(
                f"{group.capitalize()}: {says}",
                partial(self._wait, number),
                key="..."
                if number == self._waits
                else ", ".join(map(key_label, keys(group, name))),
            )
            for number, (group, name, says) in enumerate(self._commands())
        ]

    def takes(self, key: str) -> bool:
        if self._waits is None:
            return False
        (group, name, _), self._waits = self._commands()[self._waits], None
        if self.app.bindings.command(key, ("menu",)) != "leave":
            self.app.rebind(group, name, in_place_of(self.app.bindings.keys(group, name), key))
        return True

    def command(self, name: str) -> None:
        if name == "erase":
            group, of, _ = self._commands()[self.chosen]
            self.app.rebind(group, of, None)
        else:
            super().command(name)

    def _wait(self, number: int, step: int) -> None:
        self._waits = number


# ---- settings ------------------------------------------------------------------------------------

SWITCH = {False: "off", True: "on"}


class SettingsScreen(Menu):
    """A row for each setting; changes are seen behind it at once and kept when it is left."""

    title = "Settings"

    def rows(self) -> Sequence[MenuRow]:
        settings = self.app.settings
        speeds = {speed: f"{speed} steps a second" for speed in SPEEDS}
        scales: dict[float, str] = {0: "automatic", **{s: f"{s:.0%}" for s in SCALES}}
        size = self.choice(settings, "Size", "scale", scales)
        if forced_scale():
            size = MenuRow("Size", lambda _: None, f"{forced_scale():.0%} by GV_ENGINE_SCALE")
        full = SWITCH[settings.full_screen]
        return (
            self.choice(settings, "Theme", "theme", {name: name for name in THEMES}),
            self.choice(settings, "Colours", "palette", {name: name for name in PALETTES}),
            size,
            self.choice(settings, "Movement", "animation", SWITCH),
            self.choice(settings, "Arrow keys", "steering", STEERING),
            self.choice(settings, "Speed of time", "time_speed", speeds),
            self.choice(settings, "Speed of replays", "speed", speeds),
            self.choice(settings, "Recordings", "recording", {".mp4": "MP4", ".gif": "GIF"}),
            self.choice(settings, "Sound", "sound", SWITCH),
            MenuRow("Change keys", lambda _: self.app.push(KeysScreen(self.app, tuple(GROUPS)))),
            MenuRow("Full screen", lambda _: self.app.toggle_full_screen(), full),
            MenuRow("Back", lambda _: self.app.pop(), key=self.app.bindings.label("menu", "leave")),
        )

    def command(self, name: str) -> None:
        silent = not self.app.settings.sound
        super().command(name)
        if silent and self.app.settings.sound:
            self.app.sound("gain")

    def closed(self) -> None:
        self.app.remember()


# ---- pause ---------------------------------------------------------------------------------------

INSPECTING = ("next_tab", "previous_tab", "next_choice", "previous_choice")
"""Commands of the group `inspector`, as far as it is open."""


class PauseMenu(Menu):
    """The menu in the middle of a game, or of a replay."""

    title = "Pause"

    def __init__(self, screen: GameScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen
        self.groups = ("menu", *screen.groups)

    @property
    def words(self) -> str:
        return str(getattr(self._screen.game.scenario, "description", ""))

    def rows(self) -> Sequence[MenuRow]:
        label = self.app.bindings.label
        names = [*self._names(), *self._without_buttons()]
        return (
            MenuRow(self._screen.goes_on, lambda _: self.app.pop(), key=label("menu", "leave")),
            *(self._row(group, name) for group, name in names),
            MenuRow("Keys", lambda _: self.command("help"), key=label("window", "help")),
            MenuRow(
                "Settings", lambda _: self.command("settings"), key=label("window", "settings")
            ),
            MenuRow(self._screen.leaves, lambda _: self._leave()),
            MenuRow("Quit", lambda _: self.app.quit()),
        )

    def command(self, name: str) -> None:
        if name == "help":
            self._screen.command(name)
        elif name == "menu":
            self.app.pop()
        elif name in (known for _, known in (*self._names(), *self._without_buttons())):
            self._do(name)
        else:
            super().command(name)

    def _row(self, group: str, name: str) -> MenuRow:
        commands = self.app.bindings.commands(group)
        says = next(command.description for command in commands if command.name == name)
        key = self.app.bindings.label(group, name)
        return MenuRow(says.capitalize(), partial(self._do, name), key=key)

    def _names(self) -> Sequence[tuple[str, str]]:
        """Groups and names of the commands that mean something here."""
        screen = self._screen
        groups = {c.name: group for group in screen.groups for c in GROUPS.get(group, ())}
        names = (*screen.in_menu, *(INSPECTING if screen.stage.side_panel else ()))
        return [(groups[name], name) for name in names if screen.knows(name)]

    def _without_buttons(self) -> Sequence[tuple[str, str]]:
        """The same of the level's actions that no button of a gamepad takes."""
        domain, bindings = self._screen.domain.title, self.app.bindings
        if domain not in self._screen.groups:  # it is watched
            return ()
        known = [c.name for c in bindings.commands(domain) if self._screen.knows(c.name)]
        return [(domain, n) for n in known if not {*PAD}.intersection(bindings.keys(domain, n))]

    def _do(self, name: str, step: int = 1) -> None:
        self.app.pop()
        self._screen.command(name)

    def _leave(self) -> None:
        self.app.pop()
        self.app.pop()
