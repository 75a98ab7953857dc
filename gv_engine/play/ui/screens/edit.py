"""Editor screen: paint a level, edit its rules and properties, and play it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen
from typing import Any, ClassVar

from gv_engine.play.editor import map_model
from gv_engine.play.editor.brushes import Brushes
from gv_engine.play.editor.document import BackgroundChecker, CheckState, EditorDocument, Fault
from gv_engine.play.editor.rules import RULE_PARTS, Rule, swap_fault_path
from gv_engine.play.editor.text_buffer import EditError
from gv_engine.play.editor.vocabulary import CellThing
from gv_engine.play.session.session import Session
from gv_engine.play.ui.autosave import UnsavedEdits
from gv_engine.play.ui.drawing.sprites import Rect, pygame
from gv_engine.play.ui.drawing.stage import MapDrawing, make_map_drawing
from gv_engine.play.ui.drawing.widgets import Painter, cut
from gv_engine.play.ui.screens.edit_forms import FormScreen, cell_form, level_form
from gv_engine.play.ui.screens.edit_lists import (
    ConflictMenu,
    EditMenu,
    PackMenu,
    RuleListScreen,
    open_level_list,
)
from gv_engine.play.ui.screens.edit_panels import (
    EditLayout,
    draw_palette,
    draw_report,
    lay_out_editor,
)
from gv_engine.play.ui.screens.keyboard import copy_to_clipboard
from gv_engine.play.ui.screens.playtest import PlaytestScreen
from gv_engine.play.ui.screens.replay import Prompt
from gv_engine.play.ui.screens.screen import AppContext, Screen, ScreenCommands
from gv_engine.scenario.storage.files import path_exists

TOOLS = ("pen", "rectangle", "room", "fill")
FILE_POLL_INTERVAL = 1.0  # s
CHECKER_POLL_INTERVAL = 0.1  # s


class EditScreen(Screen):
    """Screen that edits one scenario, with a map to paint on.

    Args:
        app: app of the screen.
        draft: edited document.

    Attributes:
        draft: edited document.
        brushes: objects that can be painted.
        cursor: cell of the keyboard commands.
        tool: painting tool, one of `TOOLS`.
        chosen_fault: number of the error that is shown; -1 for none.
        export_text: progress of the web page that is being written; "" if none is.
    """

    groups = ("edit", "window")
    commands: ClassVar[ScreenCommands] = {
        **Screen.commands,
        "up": lambda screen: screen._move(-1, 0),
        "down": lambda screen: screen._move(1, 0),
        "left": lambda screen: screen._move(0, -1),
        "right": lambda screen: screen._move(0, 1),
        "put": lambda screen: screen._put(),
        "erase": lambda screen: screen._erase(),
        "pick": lambda screen: screen._pick(),
        "next_thing": lambda screen: screen.brushes.select_next(1),
        "previous_thing": lambda screen: screen.brushes.select_next(-1),
        "next_color": lambda screen: screen.brushes.next_color(),
        "next_state": lambda screen: screen.brushes.next_state(),
        "next_tool": lambda screen: screen._switch_tool(),
        "all_things": lambda screen: screen.brushes.toggle_all_types(),
        "zoom_in": lambda screen: screen.drawing.zoom(1),
        "zoom_out": lambda screen: screen.drawing.zoom(-1),
        "zoom_reset": lambda screen: screen.drawing.zoom(0),
        "try": lambda screen: screen.try_level(),
        "undo": lambda screen: screen.restore(screen.draft.undo, "undo"),
        "redo": lambda screen: screen.restore(screen.draft.redo, "redo"),
        "save": lambda screen: screen.save(),
        "save_as": lambda screen: screen.save_as(),
        "share": lambda screen: screen.save(then=screen.share),
        "copy": lambda screen: screen.copy_level(),
        "size": lambda screen: screen.enter_size(),
        "cell_form": lambda screen: screen.has_map and screen.app.push(cell_form(screen)),
        "level_form": lambda screen: screen.app.push(level_form(screen)),
        "level_rules": lambda screen: screen.app.push(RuleListScreen(screen)),
        "add_objects": lambda screen: open_level_list(screen),
        "pack_levels": lambda screen: screen.app.push(PackMenu(screen)),
        "next_map": lambda screen: screen.show_next_map(),
        "next_fault": lambda screen: screen.select_fault(screen.chosen_fault + 1),
        "menu": lambda screen: screen._open_menu(),
    }

    def __init__(self, app: AppContext, draft: EditorDocument) -> None:
        super().__init__(app)
        self.draft = draft
        self.brushes = Brushes(draft.vocabulary)
        self.cursor: map_model.MapCell = (0, 0)
        self.tool = TOOLS[0]
        self._corner: map_model.MapCell | None = None  # first corner of a rectangle
        self._is_erasing = False
        self._is_pressed = False  # True while a mouse button paints
        self._stroke = 0  # number of the drag whose edits are undone together
        self._drawing: tuple[tuple[Any, ...], MapDrawing] | None = None  # with its arguments
        self._layout: EditLayout | None = None
        self._last_drawing: MapDrawing | None = None  # what the mouse points at
        self._preview: EditorDocument | None = None
        self.chosen_fault = -1
        self._next_check = 0.0
        self._has_warned = False  # of a change on disk
        self._is_discarded = False
        self._checker = BackgroundChecker()
        self._check_state = CheckState()
        self._checked_scenario: object = None
        self._moved_faults: tuple[Fault, ...] = ()  # findings that an edit has only moved
        self._export: tuple[Path, Popen[str]] | None = None  # page and process that writes it
        self._export_start = 0.0
        self.export_text = ""

    def refresh(self) -> None:
        """Parse the changed text of the file again, update brushes and cursor for the changed
        level, and close forms of objects that are gone."""
        self.draft.refresh()
        self.brushes.set_vocabulary(self.draft.vocabulary)
        height, width = self.draft.map.shape
        y, x = self.cursor
        self.cursor = max(0, min(height - 1, y)), max(0, min(width - 1, x))
        self._preview = None
        self.app.needs_redraw = True
        for form in [*self.app.screens]:
            while isinstance(form, FormScreen) and not form.exists() and form in self.app.screens:
                self.app.pop()

    def edit(self, change: Callable[[str], str], stroke: object = None) -> None:
        """Replace the file's text by `change(text)`, and show the changed level. Consecutive edits
        with an equal `stroke`, such as a number, are undone together.

        Args:
            change: function from the old text to the new text.
            stroke: edits in a row with the same stroke are undone together.

        Raises:
            EditError: the change is not possible.
        """
        self.draft.edit(change, stroke)
        self.refresh()

    def move_rule(self, rule: Rule, offset: int) -> bool:
        """Move `rule` by `offset` positions, 1 or -1, in its list; findings of the checker follow
        it. Return True if that changes the file."""
        text_before = self.draft.buffer.text
        self.edit(lambda _: self.draft.rules.move_rule(rule, offset))
        if self.draft.buffer.text == text_before:
            return False
        moved_faults = []
        for fault in self._check_state.faults:
            path = swap_fault_path(fault.place.path, rule.path, offset)
            moved_faults.append(fault._replace(place=fault.place._replace(path=path)))
        self._moved_faults = tuple(moved_faults)
        self._check_state = self._check_state._replace(faults=self._moved_faults)
        return True

    def draw_as_map(self) -> None:
        """Replace the scenario's level generator by a fixed map: the level of seed 0."""
        self.draft.insert_level(0)
        self.refresh()

    @property
    def has_map(self) -> bool:
        """True if the level has a map to paint on."""
        return bool(self.draft.map.rows)

    def paint(self, cells: Iterable[map_model.MapCell], thing: CellThing) -> None:
        """Put `thing`, the legend entry of a cell's content, into `cells` of the map. Cells painted
        by one drag of the mouse are undone together."""
        self._require_map()
        painted = [(cell, thing) for cell in cells if cell in self.draft.map]
        self.edit(lambda _: self.draft.map.paint(painted), stroke=self._stroke)

    def _require_map(self) -> None:
        if not self.has_map:
            raise EditError("This level has no map to paint on; the menu draws one of its levels")

    def _use_tool(self, cell: map_model.MapCell, erases: bool) -> None:
        """Apply the selected tool (pen, rectangle, room or fill) to `cell`, with the selected
        object or, if `erases`, with bare floor."""
        if self.tool == "fill":
            self.paint(self.draft.map.flood_fill(cell), self._get_brush(erases))
        elif self.tool == "pen":
            self.paint([cell], self._get_brush(erases))
        elif self._corner is None:
            self._corner, self._is_erasing = cell, erases
        else:
            self._draw_box(cell)

    def _get_brush(self, erases: bool) -> CellThing:
        return map_model.FLOOR_THING if erases else self.brushes.thing()

    def _draw_box(self, cell: map_model.MapCell) -> None:
        """Draw the rectangle or room between the first corner, marked before, and `cell`; nothing
        if no corner is marked."""
        corner, self._corner = self._corner, None
        if corner is None:
            return
        if self.tool == "room" and not self._is_erasing:
            self.edit(lambda _: self.draft.map.paint_room(corner, cell), stroke=self._stroke)
        else:
            cells = map_model.cells_of_box(corner, cell)
            self.paint(cells, self._get_brush(self._is_erasing))

    def _put(self) -> None:
        self._stroke += 1
        self._use_tool(self.cursor, erases=False)

    def _erase(self) -> None:
        self._stroke += 1
        self.paint([self.cursor], map_model.FLOOR_THING)

    def _pick(self) -> None:
        if self.has_map:
            self.brushes.pick(self.draft.map.thing(self.cursor))

    def _move(self, down: int, right: int) -> None:
        cell = self.cursor[0] + down, self.cursor[1] + right
        if cell in self.draft.map:
            self.cursor = cell

    def _switch_tool(self) -> None:
        self.tool = TOOLS[(TOOLS.index(self.tool) + 1) % len(TOOLS)]
        self._corner = None

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Handle a mouse event: the wheel zooms the map or selects another object, buttons
        paint."""
        if self._layout is None or self._last_drawing is None:
            return
        if event.type == pygame.MOUSEWHEEL:
            mouse = pygame.mouse.get_pos() if pygame.mouse.get_focused() else (0, 0)
            if self._layout.palette.collidepoint(mouse):
                self.brushes.select_next(-event.y)
            else:
                self._last_drawing.zoom(event.y)
            return
        position, cell = getattr(event, "pos", None), None
        if position and self._layout.board.collidepoint(position) and self.has_map:
            cell = self._last_drawing.cell_at(position)
        if cell is not None and cell != self.cursor:
            self._move_cursor(cell, is_drag=event.type == pygame.MOUSEMOTION and self._is_pressed)
        if event.type == pygame.MOUSEBUTTONDOWN and cell is not None:
            self._press_cell(cell, event.button)
        elif event.type == pygame.MOUSEBUTTONUP and self._is_pressed:
            self._is_pressed = False
            self._draw_box(self.cursor)

    def _move_cursor(self, cell: map_model.MapCell, is_drag: bool) -> None:
        """Move the cursor to `cell`; the pen paints on the way if the mouse is dragged."""
        cells = map_model.cells_of_line(self.cursor, cell)
        self.cursor, self.app.needs_redraw = cell, True
        if is_drag and self.tool == "pen":
            self.paint(cells, self._get_brush(self._is_erasing))

    def _press_cell(self, cell: map_model.MapCell, button: int) -> None:
        """Handle a mouse `button` pressed on `cell`: 1 (left) applies the tool, 2 (middle) selects
        the object under the cursor, 3 (right) erases."""
        self._stroke += 1
        self._corner = None
        if button == 2:
            self._pick()
        elif button in (1, 3):
            self._is_pressed, self._is_erasing = True, button == 3
            self._use_tool(cell, self._is_erasing)

    # ---- drawing -------------------------------------------------------------------------

    @property
    def drawing(self) -> MapDrawing:
        """Object that draws the map; created again when colours, object types or sprites change."""
        types, sources = self.draft.vocabulary.types, self.draft.sprite_sources
        domain = self.draft.document.domain if self.draft.document else "grid"
        arguments = domain, self.app.theme, sources, types
        if self._drawing is None or self._drawing[0] != arguments:
            self._drawing = arguments, make_map_drawing(*arguments)
        return self._drawing[1]

    def _draw_board(self, painter: Painter, rect: Rect, drawing: MapDrawing) -> None:
        """Draw into `rect` the map with outlined cells; if the level has no map, an explanation and
        an example level. `drawing` draws the map."""
        line = painter.line_height
        painter.draw_card(rect, "well")
        inner = rect.inflate(-line // 2, -line // 2)
        if not self.has_map:
            self._draw_without_map(painter, inner, drawing)
            return
        drawing.draw(painter.surface, inner, line, self.draft.map, self.cursor)
        drawing.outline_cells(painter.surface, inner, self._find_outlines())

    def _find_outlines(self) -> Mapping[map_model.MapCell, str]:
        """Return the cells to outline, each with the name of its theme colour: cells with errors,
        the rectangle being drawn, the cursor."""
        faulty_cells = [cell for fault in self.faults for cell in self.draft.cells_of(fault)]
        color_by_cell = dict.fromkeys(faulty_cells, "loss")
        if self._corner is not None:
            box = map_model.cells_of_box(self._corner, self.cursor)
            color_by_cell |= dict.fromkeys(box, "accent")
        return {**color_by_cell, self.cursor: "select"}

    def _draw_without_map(self, painter: Painter, rest: Rect, drawing: MapDrawing) -> None:
        """Draw into `rest`, for a level without a map, an explanation, a button that turns the
        level of seed 0 into a map, and a preview of that level."""
        line = painter.line_height
        text = (
            "No map is drawn here: rules make a level with each reset, as below. Its rules and "
            "properties can be edited, or one of its levels be drawn as a map, which then takes "
            "their place."
        )
        if self.draft.document is None:
            text = "The file cannot be read as it is: " + self.draft.faults[0].message
        height = painter.draw_lines(Rect(rest.x, rest.y, rest.w, 6 * line), text, "muted")
        if self.draft.scenario is None:
            return
        cut(rest, "top", height + line // 2)
        button = cut(rest, "top", 2 * line, line)
        button.w = min(button.w, 16 * line)
        painter.draw_button(button, "Draw it as a map", self.draw_as_map, background="card")
        self._preview = self._preview or self.draft.copy_with_level(0)
        if rest.h > 4 * line and self._preview.map.rows:
            drawing.draw(painter.surface, rest, line, self._preview.map, (0, 0))

    # ---- events --------------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        """Look for changes of the file on disk and for results of the background check; return the
        seconds until the next call."""
        if now >= self._next_check:
            self._next_check = now + FILE_POLL_INTERVAL
            self._check_file()
        self._poll_checker()
        self._poll_export()
        seconds = self._next_check - now
        if self._checker.is_waiting or self._export is not None:
            return min(seconds, CHECKER_POLL_INTERVAL)
        return seconds

    def _poll_checker(self) -> None:
        """Send the scenario to the background checker if it has changed, and store new results of
        the checker."""
        if self._checked_scenario is not self.draft.scenario:
            self._checked_scenario = self.draft.scenario
            self._check_state, self._moved_faults = CheckState(self._moved_faults), ()
            self._checker.ask(self.draft.scenario)
            self.app.needs_redraw = True
        if state := self._checker.answer():
            self._check_state = state
            self.app.needs_redraw = True

    def _poll_export(self) -> None:
        """Show a note if the page that `share` writes is ready or has failed; else update its
        progress."""
        if self._export is None:
            return
        page, process = self._export
        status = process.poll()
        if status is None:
            seconds = int(time.monotonic() - self._export_start)
            text = f"Writing {page.name}: compiling the rules for browsers, {seconds} s"
            self.app.needs_redraw |= text != self.export_text
            self.export_text = text
            return
        self._export, self.export_text = None, ""
        note = f"{page} is written; open it in a browser, or send it to somebody"
        _, errors = process.communicate()
        if status:
            lines = [f"the command ended with {status}", *errors.strip().splitlines()]
            note = f"No page: {lines[-1].removeprefix('gv-engine: ')}"
        self.app.show_note(note, stays=15)

    def on_close(self) -> None:
        """Stop the background check and the writing of a page."""
        self._checker.close()
        if self._export is not None:
            self._export[1].kill()
            self._export[1].communicate()

    def unsaved_work(self) -> UnsavedEdits | None:
        """Return the edited text with its file and variant; None if it is saved, or the user has
        chosen not to save it."""
        buffer = self.draft.buffer
        if not buffer.is_edited or self._is_discarded:
            return None
        return UnsavedEdits(buffer.text, str(buffer.file or ""), self.draft.variant)

    def _check_file(self) -> None:
        """Read the file again if another program has changed it; if there are unsaved edits, only
        show a note."""
        buffer = self.draft.buffer
        name = buffer.file.name if buffer.file else ""
        has_disk_changes = buffer.has_disk_changes
        is_new = has_disk_changes and not self._has_warned
        self._has_warned = has_disk_changes and (self._has_warned or buffer.is_unsaved)
        if is_new and buffer.is_unsaved:
            self.app.show_note(f"{name} was changed elsewhere: saving asks which one stays", 15)
            return
        if is_new:
            buffer.load_from_disk()
            self.refresh()
            note = f"{name} was changed elsewhere and is read again; undo leads back"
            self.app.show_note(note, 10)
        if self.draft.have_rules_changed():
            self.refresh()
            self.app.show_note("The rules were changed and are read again")

    def restore(self, restore_text: Callable[[], bool], name: str) -> None:
        """Undo or redo an edit by calling `restore_text`, which returns False if there is nothing
        to restore; then show a note with `name`, `undo` or `redo`.

        Args:
            restore_text: `undo` or `redo` of the document.
            name: name of the function for the note.
        """
        if not restore_text():
            self.app.show_note(f"There is nothing to {name}")
        self.refresh()

    def try_level(self) -> None:
        """Open a game to playtest the shown map of the level; raise an error if the level has
        errors.

        Raises:
            GVEngineError: the level has errors.
        """
        session = self._start_session()
        fewest = None if session.seed else self._check_state.steps  # those of seed 0
        self.app.push(PlaytestScreen(self.app, session, fewest))

    def _start_session(self) -> Session:
        if self.draft.scenario is None:
            fault = self.draft.faults[0].message if self.draft.faults else "there is no level"
            raise EditError(f"It cannot be played yet: {fault}")
        return Session(self.draft.scenario, seed=self.draft.find_seed_of_map())

    def copy_level(self) -> None:
        """Copy the level to the clipboard as a line of text: a game without steps.

        Raises:
            GVEngineError: the level has errors.
        """
        error = copy_to_clipboard(self._start_session().replay().to_line())
        paste = self.app.bindings.label("menu", "paste")
        note = f"Copied as a line of text; {paste} on the start screen plays it"
        self.app.show_note(error or note)

    # ---- the file ------------------------------------------------------------------------

    def save(self, then: Callable[[], None] = lambda: None) -> None:
        """Save the file, then call `then`. First ask for a name if the file has none, or what to do
        if another program has changed it.

        Args:
            then: called after the file is written.
        """
        if self.draft.buffer.file is None:
            self.save_as(then)
        elif self.draft.buffer.has_disk_changes:
            self.app.push(ConflictMenu(self, then))
        else:
            self.write(then=then)

    def save_as(self, then: Callable[[], None] = lambda: None) -> None:
        """Ask the user for a file name and save the file under it, then call `then`. A relative
        name belongs to the folder of the edited file, beside its rules and drawings, or to the
        working directory if there is no file yet."""
        level = self.draft.ref.file.absolute()

        def accept(text: str) -> None:
            file = level.parent / Path(text.strip()).expanduser()
            file = file if file.suffix in (".yaml", ".yml") else file.with_name(f"{file.name}.yaml")
            if path_exists(file) and file != level:
                raise EditError(f"{file} is there already; choose another name")
            self.write(file, then)

        explanation = f"A scenario file; without a folder it goes into {level.parent}."
        self.app.push(Prompt(self.app, "Save as", explanation, level.name, accept))

    def write(self, file: Path | None = None, then: Callable[[], None] = lambda: None) -> None:
        """Write the text into `file`, by default the edited one, show a note, and call `then` if it
        succeeds."""
        with self.app.showing_errors("Not saved"):
            saved = self.draft.buffer.save(file)
            self.refresh()
            self.app.settings.add_recent(str(self.draft.ref))
            self.app.save_settings()
            self.app.show_note(f"Saved {saved}")
            with self.app.showing_errors():
                then()

    def share(self) -> None:
        """Start to write the saved level as a web page beside its file, unless one is being
        written; `tick` says when it is ready."""
        if self._export is not None:
            self.app.show_note(f"{self._export[0].name} is still being written")
            return
        level, settings = self.draft.ref, self.app.settings
        variant = f"-{level.variant}" if level.variant and not self.draft.pack_titles else ""
        page = level.file.with_name(f"{level.file.stem}{variant}.html")
        style = f"--theme={settings.theme}", f"--palette={settings.palette}"
        command = self.draft.export_command(page, *style)
        self._export = page, Popen(command, stdout=DEVNULL, stderr=PIPE, text=True)
        self._export_start = time.monotonic()
        self.app.show_note(f"Writing {page.name}; go on meanwhile")

    def leave(self) -> None:
        """Close the editor without saving."""
        self._is_discarded = True
        while self.app.top is not self:
            self.app.pop()
        self.app.pop()

    # ---- other commands ------------------------------------------------------------------

    def enter_size(self) -> None:
        """Ask the user for another size of the map, and change the map."""
        self._require_map()
        height, width = self.draft.map.shape

        def accept(text: str) -> None:
            sides = text.lower().replace("×", "x").split("x")
            if len(sides) != 2 or not all(side.strip().isdecimal() for side in sides):
                raise EditError(f"found {text!r}, expected rows and columns, as 9x12")
            self.edit(lambda _: self.draft.map.resize(int(sides[0]), int(sides[1])))

        explanation = "Rows and columns. Walls around the level stay around it."
        size, characters = f"{height}x{width}", "0123456789x× "
        self.app.push(Prompt(self.app, "Size", explanation, size, accept, characters))

    def show_next_map(self) -> None:
        """Show the next map of the level, after the last one the first."""
        self.draft.show_map(self.draft.map.index + 1)
        self._corner = None
        self.refresh()
        self.app.show_note(self.map_label)

    @property
    def map_label(self) -> str:
        """Number of the shown map, such as `Map 2 of 3`."""
        return f"Map {self.draft.map.index + 1} of {self.draft.map.num_maps}"

    def select_fault(self, index: int) -> None:
        """Select the error number `index` (wraps around), and move the cursor to the first cell to
        which the error belongs."""
        faults = self.faults
        if not faults:
            self.app.show_note("No errors found")
            return
        self.chosen_fault = index % len(faults)
        self.draft.show_map_of(faults[self.chosen_fault])
        if cells := self.draft.cells_of(faults[self.chosen_fault]):
            self.cursor = cells[0]

    def open_fault(self, index: int, *_: object) -> None:
        """Select the error number `index`, and open the list of rules or the form in which the user
        can fix it."""
        self.select_fault(index)
        fault = self.faults[index]
        key = fault.place.path.partition(".")[0].partition("[")[0]
        if self.draft.document is None or self.draft.cells_of(fault):
            return
        if key in (part.key for part in RULE_PARTS):
            rules = RuleListScreen(self)
            rules.choose_at(fault.place.path)
            self.app.push(rules)
        elif key in self.draft.format.keys:
            form = level_form(self)
            form.choose_field(key)
            self.app.push(form)

    def _open_menu(self) -> None:
        """Unmark the first corner of a rectangle if there is one; else open the editor's menu."""
        if self._corner is not None:
            self._corner = None
        else:
            self.app.push(EditMenu(self))

    @property
    def faults(self) -> Sequence[Fault]:
        """Errors of the document, followed by findings of the background checker."""
        findings = (
            fault._replace(message=self.draft.shorten_message(fault.message, fault.place))
            for fault in self._check_state.faults
        )
        return (*self.draft.faults, *findings)

    @property
    def verdict(self) -> tuple[str, str]:
        """Text on whether the level can be won, and the name of its theme colour."""
        if self.draft.scenario is None:
            return "", "text"
        state = self._check_state
        if state.steps is None and not state.message:
            return "Looking for a way to win", "muted"
        text = state.message or f"Can be won in {state.steps} steps"
        if state.levels:
            text = f"Seed 0: {text[0].lower()}{text[1:]}. Seeds from 0 on: {state.levels}"
        if state.steps is not None:
            return text, "gain"
        return text, "loss" if state.is_lost else "muted"

    # ---- drawing -------------------------------------------------------------------------

    def draw(self, painter: Painter, now: float) -> None:
        """Draw header, map, palette, report and hints."""
        self._layout = layout = lay_out_editor(painter.area, painter.line_height)
        header = layout.header.copy()
        map_button = {self.map_label: "next_map"} if self.draft.map.num_maps > 1 else {}
        buttons = ((text, "edit", name) for text, name in {**_BUTTONS, **map_button}.items())
        self.draw_buttons(painter, header, buttons, 9 * painter.line_height)
        painter.draw_text(header, self.draft.title, size=1.3, is_name=True)
        drawing = self._last_drawing = self.drawing
        hovered = ""
        try:
            self._draw_board(painter, layout.board, drawing)
            hovered = draw_palette(painter, layout.palette, self, drawing)
        except ValueError as error:  # a drawing of the author's that cannot be read
            painter.draw_lines(layout.board, str(error), "loss")
        draw_report(painter, layout.report, self, hovered)
        painter.draw_text(layout.hints, " · ".join(self._list_hints()), "muted", "center", 0.9)

    def _list_hints(self) -> Sequence[str]:
        """Return hints on keys and mouse buttons."""
        if self._corner is not None:
            return self.hints_of("edit", {"put": "the other corner", "menu": "not this one"})
        texts = {"undo": "undo", "next_tool": "tool", "pick": "take from the cell"}
        hints = self.hints_of("edit", {**texts, "help": "all keys"})
        return ("Left button puts, right takes out", *hints)


# Commands of the buttons by label.
_BUTTONS = {
    **{"Play": "try", "Save": "save", "Menu": "menu", "Rules": "level_rules"},
    "Level": "level_form",
}
