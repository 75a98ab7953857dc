"""Base of the editor screen: painting of the map with tools and brushes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from gv_engine.editor.document import EditorDocument, Fault
from gv_engine.editor.map_model import FLOOR_THING, Brushes, MapCell, cells_of_box
from gv_engine.editor.symbols import CellThing
from gv_engine.editor.yaml_text import EditError
from gv_engine.ui.drawing.sprites import Rect, pygame
from gv_engine.ui.drawing.stage import MapDrawing, make_map_drawing
from gv_engine.ui.drawing.widgets import Painter
from gv_engine.ui.screens.edit_panels import EditLayout
from gv_engine.ui.screens.screen import AppContext, Screen

TOOLS = ("pen", "rectangle", "room", "fill")


class PaintScreen(Screen):
    """Screen with a map to paint on.

    Args:
        app: app of the screen.
        work: edited document.

    Attributes:
        work: edited document.
        brushes: objects that can be painted.
        cursor: cell of the keyboard commands.
        tool: painting tool, one of `TOOLS`.
    """

    def __init__(self, app: AppContext, work: EditorDocument) -> None:
        super().__init__(app)
        self.work = work
        self.brushes = Brushes(work.vocabulary)
        self.cursor: MapCell = (0, 0)
        self.tool = TOOLS[0]
        self._corner: MapCell | None = None
        self._is_erasing = False
        self._is_pressed = False
        self._stroke = 0
        self._drawing: MapDrawing | None = None
        self._drawing_key: object = None
        self._layout: EditLayout | None = None
        self._preview: EditorDocument | None = None

    @property
    def faults(self) -> Sequence[Fault]:
        """All known errors of the level."""
        return self.work.faults

    def refresh(self) -> None:
        """Parse the changed text and update brushes and cursor."""
        self.work.refresh()
        self.brushes.set_vocabulary(self.work.vocabulary)
        height, width = self.work.map.shape
        y, x = self.cursor
        self.cursor = max(0, min(height - 1, y)), max(0, min(width - 1, x))
        self._preview = None
        self.app.needs_redraw = True

    def edit(self, change: Callable[[str], str], stroke: object = None) -> None:
        """Change the text of the document.

        Args:
            change: function from the old text to the new text.
            stroke: edits in a row with the same stroke are undone together.

        Raises:
            EditError: the change is not possible.
        """
        self.work.edit(change, stroke)
        self.refresh()

    def draw_as_map(self) -> None:
        """Replace the rules that make the level by a map of seed 0."""
        self.work.insert_level(0)
        self.refresh()

    @property
    def has_map(self) -> bool:
        """True if the level has a map to paint on."""
        return bool(self.work.map.rows)

    def paint(self, cells: Iterable[MapCell], thing: CellThing) -> None:
        """Put an object into cells; cells of one stroke are undone together."""
        if not self.has_map:
            raise EditError("This level has no map to paint on; the menu draws one of its levels")
        painted = [(cell, thing) for cell in cells if cell in self.work.map]
        self.edit(lambda _: self.work.map.paint(painted), stroke=self._stroke)

    def _use_tool(self, cell: MapCell, erases: bool) -> None:
        """Use the tool on a cell, with the chosen object or, to erase, the floor."""
        thing = FLOOR_THING if erases else self.brushes.thing()
        if self.tool == "fill":
            self.paint(self.work.map.flood_fill(cell), thing)
        elif self.tool == "pen":
            self.paint([cell], thing)
        elif self._corner is None:
            self._corner, self._is_erasing = cell, erases
        else:
            self._finish_box(cell)

    def _finish_box(self, cell: MapCell) -> None:
        """Complete a rectangle or room with its second corner."""
        corner, self._corner = self._corner, None
        if corner is None:
            return
        if self.tool == "room" and not self._is_erasing:
            self.edit(lambda _: self.work.map.draw_room(corner, cell), stroke=self._stroke)
        else:
            thing = FLOOR_THING if self._is_erasing else self.brushes.thing()
            self.paint(cells_of_box(corner, cell), thing)

    def _put(self) -> None:
        """Use the tool on the cursor's cell."""
        self._stroke += 1
        self._use_tool(self.cursor, erases=False)

    def _erase(self) -> None:
        """Clear the cursor's cell."""
        self._stroke += 1
        self.paint([self.cursor], FLOOR_THING)

    def _pick(self) -> None:
        """Choose the object of the cursor's cell for painting."""
        if self.has_map:
            self.brushes.pick(self.work.map.thing(self.cursor))

    def _move(self, down: int, right: int) -> None:
        """Move the cursor, if the cell is on the map."""
        cell = self.cursor[0] + down, self.cursor[1] + right
        if cell in self.work.map:
            self.cursor = cell

    def _next_tool(self) -> None:
        """Choose the next tool."""
        self.tool = TOOLS[(TOOLS.index(self.tool) + 1) % len(TOOLS)]
        self._corner = None

    def _toggle_all_things(self) -> None:
        """Switch between all objects and the objects of the level."""
        self.brushes.all_things = not self.brushes.all_things
        self.brushes.set_vocabulary(self.work.vocabulary)

    def _next_state(self) -> None:
        """Choose the next state of the object."""
        self.brushes.set_state(self.brushes.state(self.brushes.chosen) + 1)

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Zoom, choose objects or paint by the mouse."""
        if self._layout is None or self._drawing is None:
            return
        if event.type == pygame.MOUSEWHEEL:
            mouse = pygame.mouse.get_pos() if pygame.mouse.get_focused() else (0, 0)
            if self._layout.palette.collidepoint(mouse):
                self.brushes.select_next(-event.y)
            else:
                self._drawing.zoom(event.y)
            self.app.needs_redraw = True
            return
        position = getattr(event, "pos", None)
        inside = position is not None and self._layout.board.collidepoint(position) and self.has_map
        cell = self._drawing.cell_at(position) if inside and position else None
        if cell is not None and cell != self.cursor:
            self.cursor, self.app.needs_redraw = cell, True
            if event.type == pygame.MOUSEMOTION and self._is_pressed and self.tool == "pen":
                self._use_tool(cell, self._is_erasing)
        if event.type == pygame.MOUSEBUTTONDOWN and cell is not None:
            self._press_cell(cell, event.button)
        elif event.type == pygame.MOUSEBUTTONUP and self._is_pressed:
            self._is_pressed = False
            self._finish_box(self.cursor)
            self.app.needs_redraw = True

    def _press_cell(self, cell: MapCell, button: int) -> None:
        """Use the tool, erase or pick by a mouse button (1 left, 2 middle, 3 right)."""
        self._stroke += 1
        self._corner = None
        if button == 2:
            self._pick()
        elif button in (1, 3):
            self._is_pressed, self._is_erasing = True, button == 3
            self._use_tool(cell, self._is_erasing)
        self.app.needs_redraw = True

    # ---- what is seen --------------------------------------------------------------------

    @property
    def drawing(self) -> MapDrawing:
        """Drawing of the map; created again if theme, object types or folder change."""
        words, folder = self.work.vocabulary, self.work.level.file.parent
        key = self.app.theme, words.types, folder
        if self._drawing is None or self._drawing_key != key:
            domain = self.work.document.domain if self.work.document else "grid"
            folders = (folder, folder / "sprites")
            self._drawing = make_map_drawing(domain, self.app.theme, folders, words.types)
            self._drawing_key = key
        return self._drawing

    def _draw_board(self, painter: Painter, rect: Rect, drawing: MapDrawing) -> None:
        """Draw the map with its outlined cells, or, without a map, an example level."""
        painter.draw_card(rect, "well")
        inner = rect.inflate(-painter.line_height // 2, -painter.line_height // 2)
        sketch = self.work.map
        if not self.has_map:
            self._draw_without_map(painter, inner, drawing)
            return
        drawing.draw(painter.surface, inner, painter.line_height, sketch, self.cursor)
        drawing.outline_cells(painter.surface, inner, self._outlines())

    def _outlines(self) -> Mapping[MapCell, str]:
        """Return the theme's colour name by outlined cell: errors, the rectangle, the cursor."""
        wrong = [cell for fault in self.faults for cell in self.work.cells_of(fault)]
        marks = dict.fromkeys(wrong, "loss")
        if self._corner is not None:
            marks |= dict.fromkeys(cells_of_box(self._corner, self.cursor), "accent")
        return {**marks, self.cursor: "select"}

    def _draw_without_map(self, painter: Painter, rect: Rect, drawing: MapDrawing) -> None:
        """Draw an explanation, a button that makes a map, and the level of seed 0."""
        line = painter.line_height
        text = (
            "No map is drawn here: rules make a level with each reset, as below. Its rules and "
            "properties can be edited, or one of its levels be drawn as a map, which then takes "
            "their place."
        )
        if self.work.document is None:
            text = "The file cannot be read as it is: " + self.work.faults[0].message
        height = painter.draw_lines(Rect(rect.x, rect.y, rect.w, 6 * line), text, "muted")
        if self.work.scenario is None:
            return
        slot = Rect(rect.x, rect.y + height + line // 2, min(rect.w, 16 * line), 2 * line)
        painter.draw_button(
            slot, "Draw it as a map", partial(self._press, self.draw_as_map), ground="card"
        )
        self._preview = self._preview or self.work.copy_with_level(0)
        level_rect = Rect(rect.x, slot.bottom + line, rect.w, 0)
        level_rect.h = rect.bottom - level_rect.y
        if level_rect.h > 4 * line and self._preview.map.rows:
            drawing.draw(painter.surface, level_rect, line, self._preview.map, (0, 0))

    def _press(self, act: Callable[[], None]) -> None:
        """Call the function of a pressed button and redraw."""
        act()
        self.app.needs_redraw = True
