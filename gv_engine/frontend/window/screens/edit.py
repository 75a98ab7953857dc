"""The editor: a level is painted, cell by cell, and played at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from gv_engine.editing.brushes import Brushes
from gv_engine.editing.judging import Judge, Judgement
from gv_engine.editing.sketch import FLOOR_THING, MapCell, box
from gv_engine.editing.vocabulary import CellThing
from gv_engine.editing.workpiece import Fault, Workpiece
from gv_engine.editing.yaml_text import EditError
from gv_engine.frontend.drawing.sketch_drawing import SketchDrawing, make_drawing
from gv_engine.frontend.drawing.sprites import pygame
from gv_engine.frontend.drawing.widgets import Pen
from gv_engine.frontend.window.edit_panels import EditParts, draw_palette, draw_report, place_edit
from gv_engine.frontend.window.screens.edit_forms import cell_form, level_form
from gv_engine.frontend.window.screens.edit_menu import ConflictMenu, EditMenu
from gv_engine.frontend.window.screens.edit_rules import RuleListScreen
from gv_engine.frontend.window.screens.prompt import Prompt
from gv_engine.frontend.window.screens.screen import Host, Screen
from gv_engine.frontend.window.screens.trial import TrialScreen
from gv_engine.language.errors import reason
from gv_engine.playing.game import Game
from gv_engine.reading.files import exists

TOOLS = ("pen", "rectangle", "room", "fill")
LOOK_AT_FILE = 0.5  # s between two looks at the file
WAITS_FOR_JUDGE = 0.1  # s between two looks at what was found out
_MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class EditScreen(Screen):
    """Edit one scenario.

    Args:
        app: that it belongs to.
        work: what is edited.

    Attributes:
        work: what is edited.
        brushes: what can be put into cells.
        cursor: the cell that keys are about.
        tool: what is done with the chosen thing, one of `TOOLS`.
        chosen_fault: the number of the fault that is shown; -1 for none.
    """

    groups = ("edit", "window")

    def __init__(self, app: Host, work: Workpiece) -> None:
        super().__init__(app)
        self.work = work
        self.brushes = Brushes(work.words)
        self.cursor: MapCell = (0, 0)
        self.tool = TOOLS[0]
        self.chosen_fault = -1
        self._corner: MapCell | None = None
        self._erases = False
        self._pressed = False
        self._stroke = 0
        self._drawing: SketchDrawing | None = None
        self._drawn_for: object = None
        self._at: EditParts | None = None
        self._look = 0.0
        self._is_told = False
        self._preview: Workpiece | None = None
        self._judge: Judge | None = None
        self._judgement = Judgement()
        self._judged: object = None

    # ---- what happens --------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        if now >= self._look:
            self._look = now + LOOK_AT_FILE
            self._look_at_file()
        self._ask_judge()
        waits = self._judge is not None and self._judge.waits
        return min(self._look - now, WAITS_FOR_JUDGE) if waits else self._look - now

    def _ask_judge(self) -> None:
        """Let the level be checked and solved, and hear what has come of it."""
        if self._judge is None:
            self._judge = Judge()
        if self._judged is not self.work.scenario:
            self._judged, self._judgement = self.work.scenario, Judgement()
            self._judge.ask(self.work.scenario)
            self.app.stale = True
        if found := self._judge.answer():
            self._judgement = found
            self.app.stale = True

    def closed(self) -> None:
        if self._judge is not None:
            self._judge.close()

    def _look_at_file(self) -> None:
        """Take what somebody else has written, unless something here is not saved."""
        manuscript = self.work.manuscript
        if not manuscript.differs:
            self._is_told = False
        elif not self._is_told:
            self._is_told = True
            name = manuscript.file.name if manuscript.file else ""
            if manuscript.is_changed:
                self.app.say(f"{name} was changed elsewhere: saving asks which one stays", 15)
                return
            manuscript.take()
            self._is_told = False
            self.refresh()
            self.app.say(f"{name} was changed elsewhere and is read again; undo leads back", 10)
        if self.work.rules_differ():
            self.refresh()
            self.app.say("The rules were changed and are read again")

    def command(self, name: str) -> None:
        if name in _MOVES:
            self._move(*_MOVES[name])
        elif action := _COMMANDS.get(name):
            action(self)
        else:
            super().command(name)
        self.app.stale = True

    def refresh(self) -> None:
        """The text is another one now."""
        self.work.refresh()
        self.brushes.adopt(self.work.words)
        height, width = self.work.sketch.shape
        y, x = self.cursor
        self.cursor = max(0, min(height - 1, y)), max(0, min(width - 1, x))
        self._preview = None
        self.app.stale = True

    def edit(self, change: Callable[[str], str], stroke: object = None) -> None:
        """Change the text.

        Raises:
            EditError: that cannot be.
        """
        self.work.edit(change, stroke)
        self.refresh()

    def undo(self) -> None:
        """Take back a change."""
        if not self.work.undo():
            self.app.say("There is nothing to undo")
        self.refresh()

    def redo(self) -> None:
        """Do again what was taken back."""
        if not self.work.redo():
            self.app.say("There is nothing to do again")
        self.refresh()

    def try_level(self) -> None:
        """Play the level as it is now.

        Raises:
            GVEngineError: it cannot be played.
        """
        if self.work.scenario is None:
            fault = self.work.faults[0].says if self.work.faults else "there is no level"
            raise EditError(f"It cannot be played yet: {fault}")
        self.app.push(TrialScreen(self.app, Game(self.work.scenario, seed=0)))

    # ---- the file ------------------------------------------------------------------------

    def save(self, then: Callable[[], None] = lambda: None) -> None:
        """Write the file; ask for its name if it has none, and which one stays if somebody else has
        written it meanwhile.

        Args:
            then: is done when it is written.
        """
        if self.work.manuscript.file is None:
            self.save_as(then)
        elif self.work.manuscript.differs:
            self.app.push(ConflictMenu(self, then))
        else:
            self.write(then=then)

    def save_as(self, then: Callable[[], None] = lambda: None) -> None:
        """Ask for a name, and write the file."""
        level = self.work.level.file

        def accept(text: str) -> None:
            file = Path(text.strip()).expanduser()
            file = file if file.suffix in (".yaml", ".yml") else file.with_name(f"{file.name}.yaml")
            if exists(file) and file.absolute() != level.absolute():
                raise EditError(f"{file} is there already; choose another name")
            self.write(file.absolute(), then)

        words = f"A scenario file; without a folder it goes into {Path.cwd()}."
        self.app.push(Prompt(self.app, "Save as", words, level.name, accept))

    def write(self, file: Path | None = None, then: Callable[[], None] = lambda: None) -> None:
        """Write the file now."""
        try:
            saved = self.work.manuscript.save(file)
        except OSError as error:
            self.app.say(f"Not saved: {reason(error)}", stays=15)
            return
        self.refresh()
        self.app.settings.played(str(self.work.level))
        self.app.remember()
        self.app.say(f"Saved {saved}")
        then()

    def leave(self) -> None:
        """Close the editor."""
        while self.app.top is not self:
            self.app.pop()
        self.app.pop()

    # ---- painting ------------------------------------------------------------------------

    @property
    def has_map(self) -> bool:
        """Whether there is a map to paint on."""
        return bool(self.work.sketch.rows)

    def paint(self, cells: Iterable[MapCell], thing: CellThing) -> None:
        """Put a thing into cells; what is done without a pause is undone together."""
        if not self.has_map:
            raise EditError("This level has no map to paint on; the menu draws one of its levels")
        told = [(cell, thing) for cell in cells if cell in self.work.sketch]
        self.edit(lambda _: self.work.sketch.painted(told), stroke=self._stroke)

    def _act(self, cell: MapCell, erases: bool) -> None:
        """Use the tool on a cell."""
        thing = FLOOR_THING if erases else self.brushes.thing()
        if self.tool == "fill":
            self.paint(self.work.sketch.alike(cell), thing)
        elif self.tool == "pen":
            self.paint([cell], thing)
        elif self._corner is None:
            self._corner, self._erases = cell, erases
        else:
            self._end_box(cell)

    def _end_box(self, cell: MapCell) -> None:
        """The second corner of a rectangle or room."""
        corner, self._corner = self._corner, None
        if corner is None:
            return
        if self.tool == "room" and not self._erases:
            self.edit(lambda _: self.work.sketch.room(corner, cell), stroke=self._stroke)
        else:
            thing = FLOOR_THING if self._erases else self.brushes.thing()
            self.paint(box(corner, cell), thing)

    def _put(self) -> None:
        self._stroke += 1
        self._act(self.cursor, erases=False)

    def _erase(self) -> None:
        self._stroke += 1
        self.paint([self.cursor], FLOOR_THING)

    def _pick(self) -> None:
        if self.has_map:
            self.brushes.take(self.work.sketch.thing(self.cursor))

    def _move(self, down: int, right: int) -> None:
        cell = self.cursor[0] + down, self.cursor[1] + right
        if cell in self.work.sketch:
            self.cursor = cell

    def _next_tool(self) -> None:
        self.tool = TOOLS[(TOOLS.index(self.tool) + 1) % len(TOOLS)]
        self._corner = None

    def _more_things(self) -> None:
        self.brushes.all_things = not self.brushes.all_things
        self.brushes.adopt(self.work.words)

    def _next_state(self) -> None:
        self.brushes.set_state(self.brushes.state(self.brushes.chosen) + 1)

    def pointed(self, event: pygame.event.Event) -> None:
        if self._at is None or self._drawing is None:
            return
        if event.type == pygame.MOUSEWHEEL:
            over = pygame.mouse.get_pos() if pygame.mouse.get_focused() else (0, 0)
            if self._at.palette.collidepoint(over):
                self.brushes.step(-event.y)
            else:
                self._drawing.zoom(event.y)
            self.app.stale = True
            return
        place = getattr(event, "pos", None)
        inside = place is not None and self._at.board.collidepoint(place) and self.has_map
        cell = self._drawing.at(place) if inside and place else None
        if cell is not None and cell != self.cursor:
            self.cursor, self.app.stale = cell, True
            if event.type == pygame.MOUSEMOTION and self._pressed and self.tool == "pen":
                self._act(cell, self._erases)
        if event.type == pygame.MOUSEBUTTONDOWN and cell is not None:
            self._press_on(cell, event.button)
        elif event.type == pygame.MOUSEBUTTONUP and self._pressed:
            self._pressed = False
            self._end_box(self.cursor)
            self.app.stale = True

    def _press_on(self, cell: MapCell, button: int) -> None:
        self._stroke += 1
        self._corner = None
        if button == 2:
            self._pick()
        elif button in (1, 3):
            self._pressed, self._erases = True, button == 3
            self._act(cell, self._erases)
        self.app.stale = True

    # ---- what else there is --------------------------------------------------------------

    def enter_size(self) -> None:
        """Ask for another size of the map."""
        height, width = self.work.sketch.shape

        def accept(text: str) -> None:
            sides = text.lower().replace("×", "x").split("x")
            if len(sides) != 2 or not all(side.strip().isdecimal() for side in sides):
                raise EditError(f"found {text!r}, expected rows and columns, as 9x12")
            self.edit(lambda _: self.work.sketch.resized(int(sides[0]), int(sides[1])))

        words = "Rows and columns. Walls around the level stay around it."
        letters = "0123456789x× "
        self.app.push(Prompt(self.app, "Size", words, f"{height}x{width}", accept, letters))

    def draw_as_map(self) -> None:
        """Let one of the levels that rules make be a map."""
        self.work.draw_level(0)
        self.refresh()

    def show_fault(self, number: int) -> None:
        """Go to what is wrong."""
        faults = self.faults
        if not faults:
            self.app.say("Nothing wrong is found")
            return
        self.chosen_fault = number % len(faults)
        if cells := self.work.cells_of(faults[self.chosen_fault]):
            self.cursor = cells[0]

    def _level_form(self) -> None:
        self.app.push(level_form(self))

    def _cell_form(self) -> None:
        if self.has_map:
            self.app.push(cell_form(self))

    def _level_rules(self) -> None:
        self.app.push(RuleListScreen(self))

    def _menu(self) -> None:
        if self._corner is not None:
            self._corner = None
        else:
            self.app.push(EditMenu(self))

    @property
    def faults(self) -> Sequence[Fault]:
        """All that is known to be wrong."""
        judged = (
            fault._replace(says=self.work.in_short(fault.says)) for fault in self._judgement.faults
        )
        return (*self.work.faults, *judged)

    @property
    def verdict(self) -> tuple[str, str]:
        """Whether the level can be won, and the colour to say so in."""
        if self.work.scenario is None:
            return "", "text"
        told = self._judgement
        if told.steps is not None:
            return f"Can be won in {told.steps} steps{told.but}", "gain"
        if told.says:
            return told.says, "loss" if told.is_lost else "muted"
        return "Looking for a way to win", "muted"

    # ---- what is seen --------------------------------------------------------------------

    def draw(self, pen: Pen, now: float) -> None:
        self._at = at = place_edit(pen.area, pen.line)
        self._draw_header(pen, at.header)
        drawing = self.drawing
        try:
            self._draw_board(pen, at.board, drawing)
            draw_palette(pen, at.palette, self, drawing)
        except ValueError as error:  # a drawing of the author's that cannot be read
            pen.lines(at.board, str(error), "loss")
        draw_report(pen, at.report, self)
        pen.text(at.hints, " · ".join(filter(None, self._hints())), "muted", "center", 0.9)

    @property
    def drawing(self) -> SketchDrawing:
        """What draws the level."""
        words, folder = self.work.words, self.work.level.file.parent
        made_for = self.app.theme, words.types, folder
        if self._drawing is None or self._drawn_for != made_for:
            family = self.work.document.family if self.work.document else "grid"
            folders = (folder, folder / "sprites")
            self._drawing = make_drawing(family, self.app.theme, folders, words.types)
            self._drawn_for = made_for
        return self._drawing

    def _draw_board(self, pen: Pen, rect: pygame.Rect, drawing: SketchDrawing) -> None:
        pen.card(rect, "well")
        inner = rect.inflate(-pen.line // 2, -pen.line // 2)
        sketch = self.work.sketch
        if not self.has_map:
            self._draw_without_map(pen, inner, drawing)
            return
        drawing.draw(pen.surface, inner, pen.line, sketch, self.cursor)
        drawing.mark(pen.surface, inner, self._marks())

    def _marks(self) -> Mapping[MapCell, str]:
        """The cells that are outlined, each in a colour."""
        wrong = [cell for fault in self.faults for cell in self.work.cells_of(fault)]
        marks = dict.fromkeys(wrong, "loss")
        if self._corner is not None:
            marks |= dict.fromkeys(box(self._corner, self.cursor), "accent")
        return {**marks, self.cursor: "select"}

    def _draw_without_map(self, pen: Pen, rect: pygame.Rect, drawing: SketchDrawing) -> None:
        """Say why there is nothing to paint on, and show one of the levels."""
        line = pen.line
        says = (
            "No map is drawn here: rules make a level with each reset, as below. Its rules and "
            "properties can be edited, or one of its levels be drawn as a map, which then takes "
            "their place."
        )
        if self.work.document is None:
            says = "The file cannot be read as it is: " + self.work.faults[0].says
        height = pen.lines(pygame.Rect(rect.x, rect.y, rect.w, 6 * line), says, "muted")
        if self.work.scenario is None:
            return
        slot = pygame.Rect(rect.x, rect.y + height + line // 2, min(rect.w, 16 * line), 2 * line)
        pen.button(slot, "Draw it as a map", partial(self._press, self.draw_as_map), ground="card")
        self._preview = self._preview or self.work.with_level_drawn(0)
        rest = pygame.Rect(rect.x, slot.bottom + line, rect.w, 0)
        rest.h = rect.bottom - rest.y
        if rest.h > 4 * line and self._preview.sketch.rows:
            drawing.draw(pen.surface, rest, line, self._preview.sketch, (0, 0))

    def _press(self, act: Callable[[], None]) -> None:
        act()
        self.app.stale = True

    def _draw_header(self, pen: Pen, rect: pygame.Rect) -> None:
        rest = rect.copy()
        keys = self.app.bindings
        for label, name in _BUTTONS:
            key = keys.label("edit", name)
            width = pen.width(label) + pen.width(key) + 2 * pen.line
            if width > rest.w - 9 * pen.line:
                break
            slot = pygame.Rect(rest.right - width, rest.y, width, rest.h)
            pen.button(slot, label, partial(self.command, name), key, ground="card")
            rest.w -= width + pen.line // 2
        pen.text(rest, self.work.title, size=1.3, middle=True)

    def _hints(self) -> Sequence[str]:
        keys = self.app.bindings

        def hint(name: str, says: str) -> str:
            key = keys.label("edit", name)
            return f"{key} {says}" if key else ""

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
    "next_thing": lambda screen: screen.brushes.step(1),
    "previous_thing": lambda screen: screen.brushes.step(-1),
    "next_color": lambda screen: screen.brushes.next_color(),
    "next_state": EditScreen._next_state,
    "next_tool": EditScreen._next_tool,
    "all_things": EditScreen._more_things,
    "size": EditScreen.enter_size,
    "cell_form": EditScreen._cell_form,
    "level_form": EditScreen._level_form,
    "level_rules": EditScreen._level_rules,
    "next_fault": lambda screen: screen.show_fault(screen.chosen_fault + 1),
    "zoom_in": lambda screen: screen.drawing.zoom(1),
    "zoom_out": lambda screen: screen.drawing.zoom(-1),
    "zoom_reset": lambda screen: screen.drawing.zoom(0),
    "menu": EditScreen._menu,
}
