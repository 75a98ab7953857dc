"""Menus of the editor screen: its commands, starters of new levels, and questions on saving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gv_engine.editor.document import STARTERS
from gv_engine.ui.input.bindings import GROUPS
from gv_engine.ui.screens.menu import Menu, MenuRow

if TYPE_CHECKING:
    from gv_engine.ui.screens.edit import EditScreen

_IN_MENU = ("try", "save", "save_as", "share", "level_form", "level_rules", "size", "next_fault")


class _ScreenMenu(Menu):
    """Menu over the editor screen.

    Args:
        screen: editor screen.
    """

    def __init__(self, screen: EditScreen) -> None:
        super().__init__(screen.app)
        self._screen = screen


class EditMenu(_ScreenMenu):
    """Main menu of the editor."""

    title = "Editor"

    @property
    def text_above(self) -> str:
        """Path of the file."""
        file = self._screen.work.buffer.file
        return str(file) if file else "It has no file yet."

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each command of the editor's menu."""
        screen, label = self._screen, self.app.bindings.label
        draw_row = self.closing_row("Draw it as a map", screen.draw_as_map)
        descriptions = {command.name: command.description for command in GROUPS["edit"]}
        return (
            self.close_row("Go on editing"),
            *(
                self._edit_row(descriptions[name].capitalize(), name)
                for name in _IN_MENU
                if screen.has_map or name != "size"
            ),
            *(() if screen.has_map else (draw_row,)),
            self.closing_row(
                "New level", self.app.open_new_level_menu, label("start", "new_level")
            ),
            self._edit_row("Keys", "help"),
            self.command_row("Settings", "settings"),
            self.closing_row("Leave the editor", self._leave),
        )

    def _edit_row(self, label: str, name: str) -> MenuRow:
        """Return a menu row called `label` that runs the command `name` of the editor."""
        key = self.app.bindings.label("edit", name)
        return self.closing_row(label, lambda: self._screen.run_command(name), key)

    def _leave(self) -> None:
        """Close the editor; if there are unsaved edits, ask first."""
        if self._screen.work.buffer.is_changed:
            self.app.push(LeaveMenu(self._screen))
        else:
            self._screen.leave()


class StarterMenu(Menu):
    """Menu of the starters for a new level."""

    title = "New level"

    def rows(self) -> Sequence[MenuRow]:
        edit = self.app.edit_new_level
        return [self.closing_row(text, partial(edit, name)) for name, text in STARTERS.items()]


class LeaveMenu(_ScreenMenu):
    """Question whether to save before leaving the editor."""

    title = "Not saved yet"

    def rows(self) -> Sequence[MenuRow]:
        """Return the menu rows: save and leave, leave without saving, or stay."""
        leave = self._screen.leave
        return (
            self.closing_row("Save and leave", lambda: self._screen.save(then=leave)),
            MenuRow("Leave without saving", lambda _: leave()),
            self.closing_row("Go on editing", lambda: None),
        )


class ConflictMenu(_ScreenMenu):
    """Question which version to keep if the file was also changed on disk.

    Args:
        screen: editor screen.
        then: called after the file is written.
    """

    title = "Changed elsewhere"
    text_above = "The file is no longer as it was read here. Undo leads back to either."

    def __init__(self, screen: EditScreen, then: Callable[[], None]) -> None:
        super().__init__(screen)
        self._then = then

    def rows(self) -> Sequence[MenuRow]:
        """Return the menu rows for a file that another program has changed: one for each way to
        resolve the conflict."""
        return (
            self.closing_row("Go on editing", lambda: None),
            self.closing_row("Write mine over it", self._write),
            self.closing_row("Take what is in the file", self._load_from_disk),
            self.closing_row("Save mine as another file", lambda: self._screen.save_as(self._then)),
        )

    def _write(self) -> None:
        """Overwrite the file, which another program has changed, with the edited text."""
        self._screen.work.buffer.accept_disk_version()
        self._screen.write(then=self._then)

    def _load_from_disk(self) -> None:
        """Replace the edited text by the file's content, which another program has changed; undo
        brings back the edits."""
        self._screen.work.buffer.load_from_disk()
        self._screen.refresh()
