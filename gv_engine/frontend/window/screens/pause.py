"""The menu in the middle of a game or a replay, by which a gamepad does all that keys do."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from gv_engine.frontend.controls.groups import GROUPS
from gv_engine.frontend.controls.key_names import PAD
from gv_engine.frontend.window.screens.menu import Menu, MenuRow

if TYPE_CHECKING:
    from gv_engine.frontend.window.screens.game_screen import GameScreen

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
        says = next(command.says for command in commands if command.name == name)
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
        family, bindings = self._screen.family.title, self.app.bindings
        if family not in self._screen.groups:  # it is watched
            return ()
        known = [c.name for c in bindings.commands(family) if self._screen.knows(c.name)]
        return [(family, n) for n in known if not {*PAD}.intersection(bindings.keys(family, n))]

    def _do(self, name: str, step: int = 1) -> None:
        self.app.pop()
        self._screen.command(name)

    def _leave(self) -> None:
        self.app.pop()
        self.app.pop()
