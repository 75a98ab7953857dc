"""Menus of the editor: what there is to do, and what to do where two have written one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gv_engine.editor.document import STARTERS
from gv_engine.ui.input.bindings import GROUPS
from gv_engine.ui.screens.menu import Menu, MenuRow

if TYPE_CHECKING:
    from gv_engine.ui.screens.edit_panels import EditHost

_IN_MENU = ("try", "save", "save_as", "level_form", "level_rules", "size", "next_fault")


class EditMenu(Menu):
    """What there is to do in the editor."""

    title = "Editor"

    def __init__(self, screen: EditHost) -> None:
        super().__init__(screen.app)
        self._screen = screen

    @property
    def words(self) -> str:
        file = self._screen.work.buffer.file
        return str(file) if file else "It has no file yet."

    def rows(self) -> Sequence[MenuRow]:
        says = {command.name: command.says.capitalize() for command in GROUPS["edit"]}
        label = self.app.bindings.label
        names = [n for n in _IN_MENU if self._screen.has_map or n != "size"]
        drawn = () if self._screen.has_map else (self._row("Draw it as a map", "draw_as_map"),)
        return (
            MenuRow("Go on editing", lambda _: self.app.pop(), key=label("menu", "leave")),
            *(
                MenuRow(says[name], partial(self._do, name), key=label("edit", name))
                for name in names
            ),
            *drawn,
            MenuRow("New level", lambda _: self._new(), key=label("start", "new_level")),
            MenuRow("Keys", lambda _: self._do("help"), key=label("edit", "help")),
            MenuRow(
                "Settings", lambda _: self.command("settings"), key=label("window", "settings")
            ),
            MenuRow("Leave the editor", lambda _: self._leave()),
        )

    def _row(self, says: str, method: str) -> MenuRow:
        def act(_: int) -> None:
            self.app.pop()
            getattr(self._screen, method)()

        return MenuRow(says, act)

    def _do(self, name: str, step: int = 1) -> None:
        self.app.pop()
        self._screen.command(name)

    def _new(self) -> None:
        self.app.pop()
        self.app.new_level()

    def _leave(self) -> None:
        self.app.pop()
        if self._screen.work.buffer.is_changed:
            self.app.push(LeaveMenu(self._screen))
        else:
            self._screen.leave()


class StarterMenu(Menu):
    """What a new level begins with."""

    title = "New level"

    def rows(self) -> Sequence[MenuRow]:
        return [MenuRow(says, partial(self._begin, name)) for name, says in STARTERS.items()]

    def _begin(self, starter: str, step: int = 1) -> None:
        self.app.pop()
        self.app.begin_level(starter)


class LeaveMenu(Menu):
    """Whether to save before the editor is left."""

    title = "Not saved yet"

    def __init__(self, screen: EditHost) -> None:
        super().__init__(screen.app)
        self._screen = screen

    def rows(self) -> Sequence[MenuRow]:
        return (
            MenuRow("Save and leave", lambda _: self._save()),
            MenuRow("Leave without saving", lambda _: self._screen.leave()),
            MenuRow("Go on editing", lambda _: self.app.pop()),
        )

    def _save(self) -> None:
        self.app.pop()
        self._screen.save(then=self._screen.leave)


class ConflictMenu(Menu):
    """Which one stays, where a file was changed here and elsewhere.

    Args:
        screen: the editor.
        then: is done when the file is written.
    """

    title = "Changed elsewhere"
    words = "The file is no longer as it was read here. Undo leads back to either."

    def __init__(self, screen: EditHost, then: Callable[[], None]) -> None:
        super().__init__(screen.app)
        self._screen, self._then = screen, then

    def rows(self) -> Sequence[MenuRow]:
        return (
            MenuRow("Go on editing", lambda _: self.app.pop()),
            MenuRow("Write mine over it", lambda _: self._write()),
            MenuRow("Take what is in the file", lambda _: self._take()),
            MenuRow("Save mine as another file", lambda _: self._save_as()),
        )

    def _write(self) -> None:
        self.app.pop()
        self._screen.work.buffer.accept_disk_version()
        self._screen.write(then=self._then)

    def _take(self) -> None:
        self.app.pop()
        self._screen.work.buffer.load_from_disk()
        self._screen.refresh()

    def _save_as(self) -> None:
        self.app.pop()
        self._screen.save_as(self._then)
