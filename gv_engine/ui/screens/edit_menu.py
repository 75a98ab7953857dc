"""Menus of the editor: main menu, starters, leaving, and conflicts with the file on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gv_engine.editor.document import STARTERS
from gv_engine.ui.input.bindings import GROUPS
from gv_engine.ui.screens.menu import Menu, MenuRow

if TYPE_CHECKING:
    from gv_engine.ui.screens.edit_board import EditContext

_IN_MENU = ("try", "save", "save_as", "level_form", "level_rules", "size", "next_fault")


class EditMenu(Menu):
    """Main menu of the editor."""

    title = "Editor"

    def __init__(self, screen: EditContext) -> None:
        super().__init__(screen.app)
        self._screen = screen

    @property
    def text_above(self) -> str:
        """Path of the file."""
        file = self._screen.work.buffer.file
        return str(file) if file else "It has no file yet."

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each command of the menu."""
        says = {command.name: command.description.capitalize() for command in GROUPS["edit"]}
        label = self.app.bindings.label
        names = [n for n in _IN_MENU if self._screen.has_map or n != "size"]
        drawn = (
            () if self._screen.has_map else (self._method_row("Draw it as a map", "draw_as_map"),)
        )
        return (
            MenuRow("Go on editing", lambda _: self.app.pop(), key=label("menu", "leave")),
            *(
                MenuRow(says[name], partial(self._run, name), key=label("edit", name))
                for name in names
            ),
            *drawn,
            MenuRow("New level", lambda _: self._open_starters(), key=label("start", "new_level")),
            MenuRow("Keys", lambda _: self._run("help"), key=label("edit", "help")),
            MenuRow(
                "Settings", lambda _: self.run_command("settings"), key=label("window", "settings")
            ),
            MenuRow("Leave the editor", lambda _: self._leave()),
        )

    def _method_row(self, says: str, method: str) -> MenuRow:
        """Return a row that calls a method of the editor screen."""

        def act(_: int) -> None:
            self.app.pop()
            getattr(self._screen, method)()

        return MenuRow(says, act)

    def _run(self, name: str, step: int = 1) -> None:
        """Close the menu and run a command of the editor."""
        self.app.pop()
        self._screen.run_command(name)

    def _open_starters(self) -> None:
        """Close the menu and open the starters."""
        self.app.pop()
        self.app.open_new_level_menu()

    def _leave(self) -> None:
        """Leave the editor, or ask first if there are unsaved edits."""
        self.app.pop()
        if self._screen.work.buffer.is_changed:
            self.app.push(LeaveMenu(self._screen))
        else:
            self._screen.leave()


class StarterMenu(Menu):
    """Menu of the starters for a new level."""

    title = "New level"

    def rows(self) -> Sequence[MenuRow]:
        return [MenuRow(says, partial(self._open_starter, name)) for name, says in STARTERS.items()]

    def _open_starter(self, starter: str, step: int = 1) -> None:
        """Open a new level of a starter in the editor."""
        self.app.pop()
        self.app.edit_new_level(starter)


class LeaveMenu(Menu):
    """Question whether to save before leaving the editor."""

    title = "Not saved yet"

    def __init__(self, screen: EditContext) -> None:
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
    """Question which version to keep if the file was also changed on disk.

    Args:
        screen: editor screen.
        then: called after the file is written.
    """

    title = "Changed elsewhere"
    text_above = "The file is no longer as it was read here. Undo leads back to either."

    def __init__(self, screen: EditContext, then: Callable[[], None]) -> None:
        super().__init__(screen.app)
        self._screen, self._then = screen, then

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each way to resolve the conflict."""
        return (
            MenuRow("Go on editing", lambda _: self.app.pop()),
            MenuRow("Write mine over it", lambda _: self._write()),
            MenuRow("Take what is in the file", lambda _: self._load_from_disk()),
            MenuRow("Save mine as another file", lambda _: self._save_as()),
        )

    def _write(self) -> None:
        """Overwrite the file."""
        self.app.pop()
        self._screen.work.buffer.accept_disk_version()
        self._screen.write(then=self._then)

    def _load_from_disk(self) -> None:
        """Load the file from disk; the edits can be restored by undo."""
        self.app.pop()
        self._screen.work.buffer.load_from_disk()
        self._screen.refresh()

    def _save_as(self) -> None:
        """Save under another name."""
        self.app.pop()
        self._screen.save_as(self._then)
