"""Editor screen: paint a level, edit its rules and properties, and play it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gv_engine.editor.document import BackgroundChecker, CheckState, EditorDocument, Fault
from gv_engine.editor.rules import RULE_PARTS
from gv_engine.editor.text_buffer import EditError
from gv_engine.rules.errors import complain, error_text
from gv_engine.scenario.files import path_exists
from gv_engine.session.session import Session
from gv_engine.ui.drawing.sprites import Rect
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
_MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class EditScreen(PaintScreen):
    """Screen that edits one scenario. See `PaintScreen` for the arguments.

    Attributes:
        chosen_fault: number of the error that is shown; -1 for none.
    """

    groups = ("edit", "window")

    def __init__(self, app: AppContext, work: EditorDocument) -> None:
        super().__init__(app, work)
        self.chosen_fault = -1
        self._next_check = 0.0
        self._has_warned = self._is_discarded = False
        self._checker: BackgroundChecker | None = None
        self._judgement = CheckState()
        self._checked_scenario: object = None

    # ---- what happens --------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Check the file on disk and the background checker; return the seconds until the next
        call."""
        if now >= self._next_check:
            self._next_check = now + FILE_POLL_INTERVAL
            self._check_file()
        self._poll_checker()
        waits = self._checker is not None and self._checker.is_waiting
        return (
            min(self._next_check - now, CHECKER_POLL_INTERVAL) if waits else self._next_check - now
        )

    def _poll_checker(self) -> None:
        """Send a changed scenario to the background checker, and take its answer."""
        if self._checker is None:
            self._checker = BackgroundChecker()
        if self._checked_scenario is not self.work.scenario:
            self._checked_scenario, self._judgement = self.work.scenario, CheckState()
            self._checker.ask(self.work.scenario)
            self.app.needs_redraw = True
        if judgement := self._checker.answer():
            self._judgement = judgement
            self.app.needs_redraw = True

    def on_close(self) -> None:
        """Stop the checker, and save unsaved edits into the folder `unsaved`."""
        if self._checker is not None:
            self._checker.close()
        if self.work.buffer.is_edited and not self._is_discarded:
            try:
                file = save_unsaved(self.work.level.file.stem, self.work.buffer.text)
            except OSError as error:
                complain(f"unsaved edits are lost: {error_text(error)}")
            else:
                complain(f"unsaved edits are in {file}")

    def _check_file(self) -> None:
        """Load the file again if another program changed it; if there are unsaved edits, show a
        note instead."""
        manuscript = self.work.buffer
        if not manuscript.has_disk_changes:
            self._has_warned = False
        elif not self._has_warned:
            self._has_warned = True
            name = manuscript.file.name if manuscript.file else ""
            if manuscript.is_changed:
                self.app.show_note(f"{name} was changed elsewhere: saving asks which one stays", 15)
                return
            manuscript.load_from_disk()
            self._has_warned = False
            self.refresh()
            self.app.show_note(
                f"{name} was changed elsewhere and is read again; undo leads back", 10
            )
        if self.work.have_rules_changed():
            self.refresh()
            self.app.show_note("The rules were changed and are read again")

    def run_command(self, name: str) -> None:
        """Move the cursor or run a command of the editor."""
        if name in _MOVES:
            self._move(*_MOVES[name])
        elif action := _COMMANDS.get(name):
            action(self)
        else:
            super().run_command(name)
        self.app.needs_redraw = True

    def undo(self) -> None:
        """Undo an edit."""
        if not self.work.undo():
            self.app.show_note("There is nothing to undo")
        self.refresh()

    def redo(self) -> None:
        """Redo an edit."""
        if not self.work.redo():
            self.app.show_note("There is nothing to redo")
        self.refresh()

    def try_level(self) -> None:
        """Play the edited level.

        Raises:
            GVEngineError: the level has errors.
        """
        if self.work.scenario is None:
            fault = self.work.faults[0].message if self.work.faults else "there is no level"
            raise EditError(f"It cannot be played yet: {fault}")
        self.app.push(PlaytestScreen(self.app, Session(self.work.scenario, seed=0)))

    # ---- the file ------------------------------------------------------------------------

    def save(self, then: Callable[[], None] = lambda: None) -> None:
        """Save the file; ask for a name if it has none, or what to do if the file was changed on
        disk.

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
        """Ask for a file name and save the file."""
        level = self.work.level.file

        def accept(text: str) -> None:
            file = Path(text.strip()).expanduser()
            file = file if file.suffix in (".yaml", ".yml") else file.with_name(f"{file.name}.yaml")
            if path_exists(file) and file.absolute() != level.absolute():
                raise EditError(f"{file} is there already; choose another name")
            self.write(file.absolute(), then)

        words = f"A scenario file; without a folder it goes into {Path.cwd()}."
        self.app.push(Prompt(self.app, "Save as", words, level.name, accept))

    def write(self, file: Path | None = None, then: Callable[[], None] = lambda: None) -> None:
        """Write the file, show a note, and call `then` if it succeeds."""
        try:
            saved = self.work.buffer.save(file)
        except OSError as error:
            self.app.show_note(f"Not saved: {error_text(error)}", stays=15)
            return
        self.refresh()
        self.app.settings.add_recent(str(self.work.level))
        self.app.save_settings()
        self.app.show_note(f"Saved {saved}")
        then()

    def leave(self) -> None:
        """Close the editor and discard unsaved edits."""
        self._is_discarded = True
        while self.app.top is not self:
            self.app.pop()
        self.app.pop()

    # ---- what else there is --------------------------------------------------------------

    def enter_size(self) -> None:
        """Ask for another size of the map."""
        height, width = self.work.map.shape

        def accept(text: str) -> None:
            sides = text.lower().replace("×", "x").split("x")
            if len(sides) != 2 or not all(side.strip().isdecimal() for side in sides):
                raise EditError(f"found {text!r}, expected rows and columns, as 9x12")
            self.edit(lambda _: self.work.map.resize(int(sides[0]), int(sides[1])))

        words = "Rows and columns. Walls around the level stay around it."
        letters = "0123456789x× "
        self.app.push(Prompt(self.app, "Size", words, f"{height}x{width}", accept, letters))

    def show_fault(self, number: int) -> None:
        """Choose an error, and move the cursor to its first cell."""
        faults = self.faults
        if not faults:
            self.app.show_note("No errors found")
            return
        self.chosen_fault = number % len(faults)
        if cells := self.work.cells_of(faults[self.chosen_fault]):
            self.cursor = cells[0]

    def open_fault(self, number: int) -> None:
        """Choose an error, and open the rule list or form where it can be fixed."""
        self.show_fault(number)
        fault = self.faults[number]
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

    def _open_level_form(self) -> None:
        """Open the form of the level."""
        self.app.push(level_form(self))

    def _open_cell_form(self) -> None:
        """Open the form of the cursor's cell."""
        if self.has_map:
            self.app.push(cell_form(self))

    def _open_rules(self) -> None:
        """Open the list of rules."""
        self.app.push(RuleListScreen(self))

    def _open_menu(self) -> None:
        """Cancel a begun rectangle, or open the menu."""
        if self._corner is not None:
            self._corner = None
        else:
            self.app.push(EditMenu(self))

    @property
    def faults(self) -> Sequence[Fault]:
        """Errors of the document and findings of the background checker."""
        findings = (
            fault._replace(message=self.work.shorten_message(fault.message))
            for fault in self._judgement.faults
        )
        return (*self.work.faults, *findings)

    @property
    def verdict(self) -> tuple[str, str]:
        """Text about whether the level can be won, and the name of its colour."""
        if self.work.scenario is None:
            return "", "text"
        judgement = self._judgement
        if judgement.steps is None and not judgement.message:
            return "Looking for a way to win", "muted"
        text = judgement.message or f"Can be won in {judgement.steps} steps"
        if judgement.levels:
            text = f"Seed 0: {text[0].lower()}{text[1:]}. Seeds from 0 on: {judgement.levels}"
        return (
            text,
            "gain" if judgement.steps is not None else "loss" if judgement.is_lost else "muted",
        )

    # ---- what is seen --------------------------------------------------------------------

    def draw(self, painter: Painter, now: float) -> None:
        """Draw header, map, palette, report and hints."""
        self._layout = layout = lay_out_editor(painter.area, painter.line_height)
        self._draw_header(painter, layout.header)
        drawing = self.drawing
        try:
            self._draw_board(painter, layout.board, drawing)
            draw_palette(painter, layout.palette, self, drawing)
        except ValueError as error:  # a drawing of the author's that cannot be read
            painter.draw_lines(layout.board, str(error), "loss")
        draw_report(painter, layout.report, self)
        painter.draw_text(
            layout.hints, " · ".join(filter(None, self._hints())), "muted", "center", 0.9
        )

    def _draw_header(self, painter: Painter, rect: Rect) -> None:
        """Draw the title and the buttons."""
        title_rect = rect.copy()
        keys = self.app.bindings
        for label, name in _BUTTONS:
            key = keys.label("edit", name)
            width = painter.text_width(label) + painter.text_width(key) + 2 * painter.line_height
            if width > title_rect.w - 9 * painter.line_height:
                break
            slot = Rect(title_rect.right - width, title_rect.y, width, title_rect.h)
            painter.draw_button(slot, label, partial(self.run_command, name), key, ground="card")
            title_rect.w -= width + painter.line_height // 2
        painter.draw_text(title_rect, self.work.title, size=1.3, middle=True)

    def _hints(self) -> Sequence[str]:
        """Return hints on keys and mouse buttons."""
        keys = self.app.bindings

        def hint(name: str, description: str) -> str:
            key = keys.label("edit", name)
            return f"{key} {description}" if key else ""

        if self._corner is not None:
            return (hint("put", "the other corner"), hint("menu", "not this one"))
        return (
            "Left button puts, right takes out",
            hint("undo", "undo"),
            hint("next_tool", "tool"),
            hint("pick", "take from the cell"),
            hint("help", "all keys"),
        )


_BUTTONS = (
    ("Play", "try"),
    ("Save", "save"),
    ("Menu", "menu"),
    ("Rules", "level_rules"),
    ("Level", "level_form"),
)

_COMMANDS: dict[str, Callable[[EditScreen], None]] = {
    "try": EditScreen.try_level,
    "undo": EditScreen.undo,
    "redo": EditScreen.redo,
    "save": EditScreen.save,
    "save_as": EditScreen.save_as,
    "put": EditScreen._put,
    "erase": EditScreen._erase,
    "pick": EditScreen._pick,
    "next_thing": lambda screen: screen.brushes.select_next(1),
    "previous_thing": lambda screen: screen.brushes.select_next(-1),
    "next_color": lambda screen: screen.brushes.next_color(),
    "next_state": EditScreen._next_state,
    "next_tool": EditScreen._next_tool,
    "all_things": EditScreen._toggle_all_things,
    "size": EditScreen.enter_size,
    "cell_form": EditScreen._open_cell_form,
    "level_form": EditScreen._open_level_form,
    "level_rules": EditScreen._open_rules,
    "next_fault": lambda screen: screen.show_fault(screen.chosen_fault + 1),
    "zoom_in": lambda screen: screen.drawing.zoom(1),
    "zoom_out": lambda screen: screen.drawing.zoom(-1),
    "zoom_reset": lambda screen: screen.drawing.zoom(0),
    "menu": EditScreen._open_menu,
}
