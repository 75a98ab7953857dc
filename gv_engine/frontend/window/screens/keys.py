"""Keys: which one does what, changed by pressing another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gv_engine.frontend.controls.key_names import key_label
from gv_engine.frontend.controls.rebinding import in_place_of
from gv_engine.frontend.window.screens.menu import Menu, MenuRow
from gv_engine.frontend.window.screens.screen import Host


class KeysScreen(Menu):
    """A row for each command; once it is chosen, the next key is the command's.

    Args:
        app: that it belongs to.
        about: the groups of bindings that can be changed.
    """

    title = "Change keys"

    def __init__(self, app: Host, about: Sequence[str]) -> None:
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
            (group, command.name, command.says)
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
