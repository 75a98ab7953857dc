"""The editor: a level is painted, cell by cell, and played at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from gv_engine.editor.background_check import BackgroundChecker, CheckState
from gv_engine.editor.document import EditorDocument, Fault
from gv_engine.editor.rules import RULE_PARTS
from gv_engine.editor.yaml_text import EditError
from gv_engine.rules.errors import complain, reason
from gv_engine.scenario.files import exists
from gv_engine.session.session import Session
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.edit_board import PaintScreen
from gv_engine.ui.screens.edit_forms import cell_form, level_form
from gv_engine.ui.screens.edit_menu import ConflictMenu, EditMenu
from gv_engine.ui.screens.edit_panels import draw_palette, draw_report, place_edit
from gv_engine.ui.screens.edit_rules import RuleListScreen
from gv_engine.ui.screens.export import Prompt
from gv_engine.ui.screens.playtest import TrialScreen
from gv_engine.ui.screens.screen import AppContext
from gv_engine.ui.settings import keep_unsaved

LOOK_AT_FILE = 0.5  # s between two looks at the file
WAITS_FOR_JUDGE = 0.1  # s between two looks at what was found out
_MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


class EditScreen(PaintScreen):
    """Edit one scenario. See `PaintScreen` for the arguments.

    Attributes:
        chosen_fault: the number of the fault that is shown; -1 for none.
    """

    groups = ("edit", "window")

    def __init__(self, app: AppContext, work: EditorDocument) -> None:
        super().__init__(app, work)
        self.chosen_fault = -1
        self._look = 0.0
        self._is_told = self._is_dropped = False
        self._judge: BackgroundChecker | None = None
        self._judgement = CheckState()
        self._judged: object = None

    # ---- what happens --------------------------------------------------------------------

    def tick(self, now: float) -> float | None:
        if now >= self._look:
            self._look = now + LOOK_AT_FILE
            self._look_at_file()
        self._ask_judge()
        waits = self._judge is not None and self._judge.is_waiting
        return min(self._look - now, WAITS_FOR_JUDGE) if waits else self._look - now

    def _ask_judge(self) -> None:
        """Let the level be checked and solved, and hear what has come of it."""
        if self._judge is None:
            self._judge = BackgroundChecker()
        if self._judged is not self.work.scenario:
            self._judged, self._judgement = self.work.scenario, CheckState()
            self._judge.ask(self.work.scenario)
            self.app.stale = True
        if found := self._judge.answer():
            self._judgement = found
            self.app.stale = True

    def closed(self) -> None:
        if self._judge is not None:
            self._judge.close()
        if self.work.buffer.is_edited and not self._is_dropped:
            try:
                kept = keep_unsaved(self.work.level.file.stem, self.work.buffer.text)
            except OSError as error:
                complain(f"what was edited is lost: {reason(error)}")
            else:
                complain(f"what was edited and not saved is in {kept}")

    def _look_at_file(self) -> None:
        """Take what somebody else has written, unless something here is not saved."""
        manuscript = self.work.buffer
        if not manuscript.has_disk_changes:
            self._is_told = False
        elif not self._is_told:
            self._is_told = True
            name = manuscript.file.name if manuscript.file else ""
            if manuscript.is_changed:
                self.app.say(f"{name} was changed elsewhere: saving asks which one stays", 15)
                return
            manuscript.load_from_disk()
            self._is_told = False
            self.refresh()
            self.app.say(f"{name} was changed elsewhere and is read again; undo leads back", 10)
        if self.work.have_rules_changed():
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
            fault = self.work.faults[0].message if self.work.faults else "there is no level"
            raise EditError(f"It cannot be played yet: {fault}")
        self.app.push(TrialScreen(self.app, Session(self.work.scenario, seed=0)))

    # ---- the file ------------------------------------------------------------------------

    def save(self, then: Callable[[], None] = lambda: None) -> None:
        """Write the file; ask for its name if it has none, and which one stays if somebody else has
        written it meanwhile.

        Args:
            then: is done when it is written.
        """
        if self.work.buffer.file is None:
            self.save_as(then)
        elif self.work.buffer.has_disk_changes:
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
            saved = self.work.buffer.save(file)
        except OSError as error:
            self.app.say(f"Not saved: {reason(error)}", stays=15)
            return
        self.refresh()
        self.app.settings.played(str(self.work.level))
        self.app.remember()
        self.app.say(f"Saved {saved}")
        then()

    def leave(self) -> None:
        """Close the editor; what is not saved is not wanted."""
        self._is_dropped = True
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
        """Go to what is wrong."""
        faults = self.faults
        if not faults:
            self.app.say("Nothing wrong is found")
            return
        self.chosen_fault = number % len(faults)
        if cells := self.work.cells_of(faults[self.chosen_fault]):
            self.cursor = cells[0]

    def open_fault(self, number: int) -> None:
        """Go to what is wrong, or to the list or form where it can be mended."""
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
            fault._replace(message=self.work.shorten_message(fault.message))
            for fault in self._judgement.faults
        )
        return (*self.work.faults, *judged)

    @property
    def verdict(self) -> tuple[str, str]:
        """Whether the level can be won, and the colour to say so in."""
        if self.work.scenario is None:
            return "", "text"
        told = self._judgement
        if told.steps is None and not told.message:
            return "Looking for a way to win", "muted"
        says = told.message or f"Can be won in {told.steps} steps"
        if told.levels:
            says = f"Seed 0: {says[0].lower()}{says[1:]}. Seeds from 0 on: {told.levels}"
        return says, "gain" if told.steps is not None else "loss" if told.is_lost else "muted"

    # ---- what is seen --------------------------------------------------------------------

    def draw(self, pen: Painter, now: float) -> None:
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

    def _draw_header(self, pen: Painter, rect: pygame.Rect) -> None:
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
    "next_thing": lambda screen: screen.brushes.select_next(1),
    "previous_thing": lambda screen: screen.brushes.select_next(-1),
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
