"""Menus of the editor screen: its commands, starters of new levels, and questions on saving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from gv_engine.play.editor import pack
from gv_engine.play.editor.document import STARTERS
from gv_engine.play.ui.input.bindings import GROUPS
from gv_engine.play.ui.screens.edit_forms import pack_level_form
from gv_engine.play.ui.screens.menu import Menu, MenuRow

if TYPE_CHECKING:
    from gv_engine.play.ui.screens.edit import EditScreen

_IN_MENU = (
    *("try", "save", "save_as", "share", "level_form", "level_rules", "add_objects"),
    *("pack_levels", "size", "next_fault"),
)


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
        key = self.app.bindings.label("edit", name)
        return self.closing_row(label, lambda: self._screen.run_command(name), key)

    def _leave(self) -> None:
        """Close the editor; if there are unsaved edits, ask first."""
        if self._screen.work.buffer.is_unsaved:
            self.app.push(LeaveMenu(self._screen))
        else:
            self._screen.leave()


class PackMenu(_ScreenMenu):
    """Menu of the levels of the edited pack in their order; if the level is in no pack, the menu
    offers to make a pack of it."""

    groups = ("list", "menu", "window")
    title = "Levels of the pack"

    def __init__(self, screen: EditScreen) -> None:
        super().__init__(screen)
        if self._titles:
            self.chosen = int(screen.work.variant) - 1 if screen.work.variant.isdecimal() else 0

    @property
    def _titles(self) -> Sequence[str]:
        return self._screen.work.pack_titles

    @property
    def text_above(self) -> str:
        """Hints on the keys that change the list; if the level is in no pack, an explanation of
        packs."""
        if not self._titles:
            return "A pack has several levels with the same rules, which are played in their order."
        texts = {"add": "adds a copy", "remove": "takes out", "move_up": "up", "move_down": "down"}
        return " · ".join([*self.hints_of("list", texts), self.hint("list", "undo", "undo")])

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each level, and for the properties of the edited level."""
        if not (titles := self._titles):
            return MenuRow("Make a pack of this level", lambda _: self._make_pack()), self._back_row
        edited = self._screen.work.variant
        return (
            *(
                MenuRow(f"{n}  {title}", partial(self._open, n), key="edited" * (str(n) == edited))
                for n, title in enumerate(titles, 1)
            ),
            MenuRow("Title, par and texts of the edited level", lambda _: self._open_form()),
            self._back_row,
        )

    @property
    def _back_row(self) -> MenuRow:
        return self.close_row("Go on editing")

    def run_command(self, name: str) -> None:
        """Run the command `name`: add, remove or move a level, undo, redo, or a command of
        menus."""
        number, count = self.chosen + 1, len(self._titles)
        offset = {"move_up": -1, "move_down": 1}.get(name, 0)
        if name in ("undo", "redo"):
            self._screen.run_command(name)
        elif number > count:
            super().run_command(name)
        elif name == "add":
            self._edit(lambda text: pack.add_level(text, number), number + 1)
        elif name == "remove":
            self._edit(lambda text: pack.remove_level(text, number), min(number, count - 1))
        elif not offset:
            super().run_command(name)
        elif 1 <= number + offset <= count:
            self._edit(lambda text: pack.move_level(text, number, offset), number + offset)

    def _edit(self, change: Callable[[str], str], number: int) -> None:
        self._screen.edit(change)
        self._open_level(number)

    def _open_level(self, number: int) -> None:
        self.chosen = number - 1
        self._screen.work.open_level(number)
        self._screen.refresh()

    def _open(self, number: int, _: int) -> None:
        self.app.pop()
        self._open_level(number)

    def _open_form(self) -> None:
        self.app.push(pack_level_form(self._screen, int(self._screen.work.variant)))

    def _make_pack(self) -> None:
        rows = self._screen.work.map.rows
        self._edit(lambda text: pack.make_pack(text, rows), 1)


class StarterMenu(Menu):
    """Menu of the starters for a new level."""

    title = "New level"

    def rows(self) -> Sequence[MenuRow]:
        """Return a row for each starter, a small level from which a new level begins as a copy."""
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
        self._screen.work.buffer.accept_disk_version()
        self._screen.write(then=self._then)

    def _load_from_disk(self) -> None:
        self._screen.work.buffer.load_from_disk()
        self._screen.refresh()
