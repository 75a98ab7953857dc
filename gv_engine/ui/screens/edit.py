"""Editor screen: paint a level, edit its rules and properties, and play it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from gv_engine.editor.document import BackgroundChecker, CheckState, EditorDocument, Fault
from gv_engine.editor.rules import RULE_PARTS
from gv_engine.editor.text_buffer import EditError
from gv_engine.rules.errors import complain, error_text
from gv_engine.scenario.files import path_exists
from gv_engine.session.session import Session
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.edit_board import PaintScreen, draw_palette, draw_report, lay_out_editor
from gv_engine.ui.screens.edit_forms import cell_form, level_form
from gv_engine.ui.screens.edit_menu import ConflictMenu, EditMenu
from gv_engine.ui.screens.edit_rules import RuleListScreen
from gv_engine.ui.screens.export import Prompt
from gv_engine.ui.screens.play import PlaytestScreen
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.settings import save_unsaved

FILE_POLL_INTERVAL = 0.5  # s
CHECKER_POLL_INTERVAL = 0.1  # s


class EditScreen(PaintScreen):
    """Screen that edits one scenario. See `PaintScreen` for the arguments.

    Attributes:
        chosen_fault: number of the error that is shown; -1 for none.
    """

    groups = ("edit", "window")

    commands: ClassVar[Mapping[str, Callable[[Any], object]]] = {
        **PaintScreen.commands,
        "try": lambda screen: screen.try_level(),
        "undo": lambda screen: screen.restore(screen.work.undo, "undo"),
        "redo": lambda screen: screen.restore(screen.work.redo, "redo"),
        "save": lambda screen: screen.save(),
        "save_as": lambda screen: screen.save_as(),
        "size": lambda screen: screen.enter_size(),
        "cell_form": lambda screen: screen.has_map and screen.app.push(cell_form(screen)),
        "level_form": lambda screen: screen.app.push(level_form(screen)),
        "level_rules": lambda screen: screen.app.push(RuleListScreen(screen)),
        "next_fault": lambda screen: screen.show_fault(screen.chosen_fault + 1),
        "menu": lambda screen: screen._open_menu(),
    }

    def __init__(self, app: AppContext, work: EditorDocument) -> None:
        super().__init__(app, work)
        self.chosen_fault = -1
        self._next_check = 0.0
        self._has_warned = self._is_discarded = False
        self._checker = BackgroundChecker()
        self._check_state = CheckState()
        self._checked_scenario: object = None

    # ---- what happens --------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Look whether the file has changed on disk and whether the background check has results,
        at the time `now`; return the seconds until the next call."""
        if now >= self._next_check:
            self._next_check = now + FILE_POLL_INTERVAL
            self._check_file()
        self._poll_checker()
        due = self._next_check - now
        return min(due, CHECKER_POLL_INTERVAL) if self._checker.is_waiting else due

    def _poll_checker(self) -> None:
        """Send the scenario to the background check if it has changed, and take the results that
        have arrived."""
        if self._checked_scenario is not self.work.scenario:
            self._checked_scenario, self._check_state = self.work.scenario, CheckState()
            self._checker.ask(self.work.scenario)
            self.app.needs_redraw = True
        if state := self._checker.answer():
            self._check_state = state
            self.app.needs_redraw = True

    def on_close(self) -> None:
        """Stop the background check, and save unsaved edits into a file in the folder `unsaved`."""
        self._checker.close()
        if self.work.buffer.is_edited and not self._is_discarded:
            try:
                file = save_unsaved(self.work.level.file.stem, self.work.buffer.text)
            except OSError as error:
                complain(f"unsaved edits are lost: {error_text(error)}")
            else:
                complain(f"unsaved edits are in {file}")

    def _check_file(self) -> None:
        """Read the file again if another program has changed it; if there are unsaved edits, only
        show a note."""
        buffer = self.work.buffer
        if not buffer.has_disk_changes:
            self._has_warned = False
        elif not self._has_warned:
            self._has_warned = True
            name = buffer.file.name if buffer.file else ""
            if buffer.is_changed:
                self.app.show_note(f"{name} was changed elsewhere: saving asks which one stays", 15)
                return
            buffer.load_from_disk()
            self._has_warned = False
            self.refresh()
            note = f"{name} was changed elsewhere and is read again; undo leads back"
            self.app.show_note(note, 10)
        if self.work.have_rules_changed():
            self.refresh()
            self.app.show_note("The rules were changed and are read again")

    def restore(self, restore_text: Callable[[], bool], name: str) -> None:
        """Undo or redo an edit by calling `restore_text`; if there is none, show a note with
        `name`, `undo` or `redo`.

        Args:
            restore_text: `undo` or `redo` of the document.
            name: name of the function for the note.
        """
        if not restore_text():
            self.app.show_note(f"There is nothing to {name}")
        self.refresh()

    def try_level(self) -> None:
        """Open a game of the edited level; raise an error if the level has errors.

        Raises:
            GVEngineError: the level has errors.
        """
        if self.work.scenario is None:
            fault = self.work.faults[0].message if self.work.faults else "there is no level"
            raise EditError(f"It cannot be played yet: {fault}")
        self.app.push(PlaytestScreen(self.app, Session(self.work.scenario, seed=0)))

    # ---- the file ------------------------------------------------------------------------

    def save(self, then: Callable[[], None] = lambda: None) -> None:
        """Save the file, then call `then`. First ask for a name if the file has none, or what to do
        if another program has changed it.

        Args:
            then: called after the file is written.
        """
        if self.work.buffer.file is None:
            self.save_as(then)
        elif self.work.buffer.has_disk_changes:
            self.app.push(ConflictMenu(self, then))
        else:
            self.write(then=then)

    def save_as(self, then: Callable[[], None] = lambda: None) -> None:
        """Ask the user for a file name and save the file under it, then call `then`."""
        level = self.work.level.file

        def accept(text: str) -> None:
            """Save into the file whose path was typed as `text`."""
            file = Path(text.strip()).expanduser()
            file = file if file.suffix in (".yaml", ".yml") else file.with_name(f"{file.name}.yaml")
            if path_exists(file) and file.absolute() != level.absolute():
                raise EditError(f"{file} is there already; choose another name")
            self.write(file.absolute(), then)

        words = f"A scenario file; without a folder it goes into {Path.cwd()}."
        self.app.push(Prompt(self.app, "Save as", words, level.name, accept))

    def write(self, file: Path | None = None, then: Callable[[], None] = lambda: None) -> None:
        """Write the text into `file`, by default the edited one, show a note, and call `then` if it
        succeeds."""
        with self.app.showing_errors("Not saved"):
            saved = self.work.buffer.save(file)
            self.refresh()
            self.app.settings.add_recent(str(self.work.level))
            self.app.save_settings()
            self.app.show_note(f"Saved {saved}")
            then()

    def leave(self) -> None:
        """Close the editor without saving."""
        self._is_discarded = True
        while self.app.top is not self:
            self.app.pop()
        self.app.pop()

    # ---- what else there is --------------------------------------------------------------

    def enter_size(self) -> None:
        """Ask the user for another size of the map, and change the map."""
        height, width = self.work.map.shape

        def accept(text: str) -> None:
            """Change the map to the size typed as `text`, rows and columns, such as `9x12`."""
            sides = text.lower().replace("×", "x").split("x")
            if len(sides) != 2 or not all(side.strip().isdecimal() for side in sides):
                raise EditError(f"found {text!r}, expected rows and columns, as 9x12")
            self.edit(lambda _: self.work.map.resize(int(sides[0]), int(sides[1])))

        words = "Rows and columns. Walls around the level stay around it."
        letters = "0123456789x× "
        self.app.push(Prompt(self.app, "Size", words, f"{height}x{width}", accept, letters))

    def show_fault(self, index: int) -> None:
        """Choose the error number `index`, in a circle, and move the cursor to the first cell that
        it is about."""
        faults = self.faults
        if not faults:
            self.app.show_note("No errors found")
            return
        self.chosen_fault = index % len(faults)
        if cells := self.work.cells_of(faults[self.chosen_fault]):
            self.cursor = cells[0]

    def open_fault(self, index: int, *_: object) -> None:
        """Choose the error number `index`, and open the list of rules or the form in which it can
        be fixed."""
        self.show_fault(index)
        fault = self.faults[index]
        key = fault.place.path.partition(".")[0].partition("[")[0]
        if self.work.document is None or self.work.cells_of(fault):
            return
        if key in (part.key for part in RULE_PARTS):
            rules = RuleListScreen(self)
            rules.choose_at(fault.place.path)
            self.app.push(rules)
        elif key in self.work.format.keys:
            form = level_form(self)
            form.choose_field(key)
            self.app.push(form)

    def _open_menu(self) -> None:
        """Cancel the rectangle that was begun; if there is none, open the editor's menu."""
        if self._corner is not None:
            self._corner = None
        else:
            self.app.push(EditMenu(self))

    @property
    def faults(self) -> Sequence[Fault]:
        """Errors of the document and findings of the background checker."""
        findings = (
            fault._replace(message=self.work.shorten_message(fault.message))
            for fault in self._check_state.faults
        )
        return (*self.work.faults, *findings)

    @property
    def verdict(self) -> tuple[str, str]:
        """Text about whether the level can be won, and the name of its colour."""
        if self.work.scenario is None:
            return "", "text"
        state = self._check_state
        if state.steps is None and not state.message:
            return "Looking for a way to win", "muted"
        text = state.message or f"Can be won in {state.steps} steps"
        if state.levels:
            text = f"Seed 0: {text[0].lower()}{text[1:]}. Seeds from 0 on: {state.levels}"
        return text, "gain" if state.steps is not None else "loss" if state.is_lost else "muted"

    # ---- what is seen --------------------------------------------------------------------

    def draw(self, painter: Painter, now: float) -> None:
        """Draw header, map, palette, report and hints."""
        self._layout = layout = lay_out_editor(painter.area, painter.line_height)
        label = self.app.bindings.label
        buttons = [
            (text, label("edit", name), partial(self.run_command, name)) for text, name in _BUTTONS
        ]
        header = layout.header.copy()
        painter.draw_buttons(header, buttons, 9 * painter.line_height)
        painter.draw_text(header, self.work.title, size=1.3, middle=True)
        drawing = self.drawing
        try:
            self._draw_board(painter, layout.board, drawing)
            draw_palette(painter, layout.palette, self, drawing)
        except ValueError as error:  # a drawing of the author's that cannot be read
            painter.draw_lines(layout.board, str(error), "loss")
        draw_report(painter, layout.report, self)
        painter.draw_text(layout.hints, " · ".join(self._hints()), "muted", "center", 0.9)

    def _hints(self) -> Sequence[str]:
        """Return hints on keys and mouse buttons."""
        if self._corner is not None:
            return self.hints_of("edit", {"put": "the other corner", "menu": "not this one"})
        texts = {"undo": "undo", "next_tool": "tool", "pick": "take from the cell"}
        hints = self.hints_of("edit", {**texts, "help": "all keys"})
        return ("Left button puts, right takes out", *hints)


_BUTTONS = (
    ("Play", "try"),
    ("Save", "save"),
    ("Menu", "menu"),
    ("Rules", "level_rules"),
    ("Level", "level_form"),
)
