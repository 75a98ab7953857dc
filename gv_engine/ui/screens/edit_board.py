"""Painting the level that is edited: its map, the cell that is meant, the thing, the tool."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from gv_engine.editor.document import EditorDocument, Fault
from gv_engine.editor.map_model import FLOOR_THING, Brushes, MapCell, cells_of_box
from gv_engine.editor.symbols import CellThing
from gv_engine.editor.yaml_text import EditError
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.stage import SketchDrawing, make_drawing
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.edit_panels import EditParts
from gv_engine.ui.screens.screen import AppContext, Screen

TOOLS = ("pen", "rectangle", "room", "fill")


class PaintScreen(Screen):
    """A map, and what is painted on it.

    Args:
        app: that it belongs to.
        work: what is edited.

    Attributes:
        work: what is edited.
        brushes: what can be put into cells.
        cursor: the cell that keys are about.
        tool: what is done with the chosen thing, one of `TOOLS`.
    """

    def __init__(self, app: AppContext, work: EditorDocument) -> None:
        super().__init__(app)
        self.work = work
        self.brushes = Brushes(work.vocabulary)
        self.cursor: MapCell = (0, 0)
        self.tool = TOOLS[0]
        self._corner: MapCell | None = None
        self._erases = False
        self._pressed = False
        self._stroke = 0
        self._drawing: SketchDrawing | None = None
        self._drawn_for: object = None
        self._at: EditParts | None = None
        self._preview: EditorDocument | None = None

    @property
    def faults(self) -> Sequence[Fault]:
        """All that is known to be wrong."""
        return self.work.faults

    def refresh(self) -> None:
        """The text is another one now."""
        self.work.refresh()
        self.brushes.set_vocabulary(self.work.vocabulary)
        height, width = self.work.map.shape
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

    def draw_as_map(self) -> None:
        """Let one of the levels that rules make be a map."""
        self.work.insert_level(0)
        self.refresh()

    @property
    def has_map(self) -> bool:
        """Whether there is a map to paint on."""
        return bool(self.work.map.rows)

    def paint(self, cells: Iterable[MapCell], thing: CellThing) -> None:
        """Put a thing into cells; what is done without a pause is undone together."""
        if not self.has_map:
            raise EditError("This level has no map to paint on; the menu draws one of its levels")
        told = [(cell, thing) for cell in cells if cell in self.work.map]
        self.edit(lambda _: self.work.map.paint(told), stroke=self._stroke)

    def _act(self, cell: MapCell, erases: bool) -> None:
        """Use the tool on a cell."""
        thing = FLOOR_THING if erases else self.brushes.thing()
        if self.tool == "fill":
            self.paint(self.work.map.flood_fill(cell), thing)
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
            self.edit(lambda _: self.work.map.draw_room(corner, cell), stroke=self._stroke)
        else:
            thing = FLOOR_THING if self._erases else self.brushes.thing()
            self.paint(cells_of_box(corner, cell), thing)

    def _put(self) -> None:
        self._stroke += 1
        self._act(self.cursor, erases=False)

    def _erase(self) -> None:
        self._stroke += 1
        self.paint([self.cursor], FLOOR_THING)

    def _pick(self) -> None:
        if self.has_map:
            self.brushes.pick(self.work.map.thing(self.cursor))

    def _move(self, down: int, right: int) -> None:
        cell = self.cursor[0] + down, self.cursor[1] + right
        if cell in self.work.map:
            self.cursor = cell

    def _next_tool(self) -> None:
        self.tool = TOOLS[(TOOLS.index(self.tool) + 1) % len(TOOLS)]
        self._corner = None

    def _more_things(self) -> None:
        self.brushes.all_things = not self.brushes.all_things
        self.brushes.set_vocabulary(self.work.vocabulary)

    def _next_state(self) -> None:
        self.brushes.set_state(self.brushes.state(self.brushes.chosen) + 1)

    def pointed(self, event: pygame.event.Event) -> None:
        if self._at is None or self._drawing is None:
            return
        if event.type == pygame.MOUSEWHEEL:
            over = pygame.mouse.get_pos() if pygame.mouse.get_focused() else (0, 0)
            if self._at.palette.collidepoint(over):
                self.brushes.select_next(-event.y)
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

    # ---- what is seen --------------------------------------------------------------------

    @property
    def drawing(self) -> SketchDrawing:
        """What draws the level."""
        words, folder = self.work.vocabulary, self.work.level.file.parent
        made_for = self.app.theme, words.types, folder
        if self._drawing is None or self._drawn_for != made_for:
            domain = self.work.document.domain if self.work.document else "grid"
            folders = (folder, folder / "sprites")
            self._drawing = make_drawing(domain, self.app.theme, folders, words.types)
            self._drawn_for = made_for
        return self._drawing

    def _draw_board(self, pen: Painter, rect: pygame.Rect, drawing: SketchDrawing) -> None:
        pen.card(rect, "well")
        inner = rect.inflate(-pen.line // 2, -pen.line // 2)
        sketch = self.work.map
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
            marks |= dict.fromkeys(cells_of_box(self._corner, self.cursor), "accent")
        return {**marks, self.cursor: "select"}

    def _draw_without_map(self, pen: Painter, rect: pygame.Rect, drawing: SketchDrawing) -> None:
        """Say why there is nothing to paint on, and show one of the levels."""
        line = pen.line
        says = (
            "No map is drawn here: rules make a level with each reset, as below. Its rules and "
            "properties can be edited, or one of its levels be drawn as a map, which then takes "
            "their place."
        )
        if self.work.document is None:
            says = "The file cannot be read as it is: " + self.work.faults[0].message
        height = pen.lines(pygame.Rect(rect.x, rect.y, rect.w, 6 * line), says, "muted")
        if self.work.scenario is None:
            return
        slot = pygame.Rect(rect.x, rect.y + height + line // 2, min(rect.w, 16 * line), 2 * line)
        pen.button(slot, "Draw it as a map", partial(self._press, self.draw_as_map), ground="card")
        self._preview = self._preview or self.work.copy_with_level(0)
        rest = pygame.Rect(rect.x, slot.bottom + line, rect.w, 0)
        rest.h = rect.bottom - rest.y
        if rest.h > 4 * line and self._preview.map.rows:
            drawing.draw(pen.surface, rest, line, self._preview.map, (0, 0))

    def _press(self, act: Callable[[], None]) -> None:
        act()
        self.app.stale = True
