"""Base of the editor screen: painting of the map with tools and brushes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from gv_engine.editor.document import EditorDocument, Fault
from gv_engine.editor.map_model import (
    AGENT_KEY,
    FLOOR_THING,
    Brushes,
    CellThing,
    MapCell,
    cells_of_box,
)
from gv_engine.editor.text_buffer import EditError
from gv_engine.rules.component import to_snake_case
from gv_engine.rules.objects import COLORS
from gv_engine.ui.drawing.sprites import Rect, pygame
from gv_engine.ui.drawing.stage import MapDrawing, make_map_drawing
from gv_engine.ui.drawing.widgets import Painter, cut, wrap_text
from gv_engine.ui.screens.screen import AppContext, Screen

if TYPE_CHECKING:
    from gv_engine.ui.screens.edit import EditScreen

# ---- edit panels ---------------------------------------------------------------------------------

_MAX_FAULT_LINES = 8
"""Maximum number of lines of an error."""


class EditLayout(NamedTuple):
    """Rectangles of the parts of the editor; they are disjoint."""

    header: Rect
    palette: Rect
    board: Rect
    report: Rect
    hints: Rect


def lay_out_editor(area: Rect, line: int) -> EditLayout:
    """Return the rectangles of the editor's parts in the window `area`, for text of `line` pixels
    height; in wide windows the error report is beside the map."""
    gap = max(3, line // 2)
    board = area.inflate(-2 * gap, -gap)
    header = cut(board, "top", line * 7 // 4, gap // 2)
    hints = cut(board, "bottom", line, gap // 2)
    palette = cut(board, "left", max(6 * line, min(10 * line, board.w // 5)), gap)
    if board.w >= 32 * line:
        report = cut(board, "right", max(12 * line, board.w // 4), gap)
    else:
        report = cut(board, "bottom", max(4 * line, board.h // 4), gap)
    return EditLayout(header, palette, board, report, hints)


def draw_palette(painter: Painter, rect: Rect, screen: EditScreen, drawing: MapDrawing) -> None:
    """Draw into `rect` the palette of objects to paint with in the editor `screen`, and state,
    colour and tool of the chosen one; `drawing` draws the objects."""
    line, brushes = painter.line_height, screen.brushes
    painter.draw_card(rect)
    inner = rect.inflate(-line // 2 * 2, -line // 2 * 2)
    _draw_chosen(painter, cut(inner, "top", 5 * line, line // 2), screen)
    side = line * 2
    columns, rows = max(1, inner.w // side), max(1, inner.h // side)
    first = max(0, brushes.names.index(brushes.chosen) // columns - rows + 1)
    shown = brushes.names[first * columns : (first + rows) * columns]
    for number, name in enumerate(shown):
        row, column = divmod(number, columns)
        slot = Rect(inner.x + column * side, inner.y + row * side, side, side)
        slot = slot.inflate(-line // 4, -line // 4)
        is_hovered = painter.add_hit_area(slot, partial(brushes.choose, name))
        painter.draw_card(slot, "accent" if name == brushes.chosen else "well")
        if is_hovered:
            painter.draw_outline(slot, "outline")
        symbol, size = brushes.symbol(name), slot.w - line // 3
        if symbol.facing is None:
            picture = drawing.object_picture(symbol.kind, symbol.state, symbol.color, size)
        else:
            picture = drawing.agent_picture(symbol.facing, size)
        painter.surface.blit(picture, picture.get_rect(center=slot.center))
    groove = Rect(rect.right - line // 3, inner.y, line // 4, rows * side)
    painter.draw_scrollbar(groove, first, rows, -(-len(brushes.names) // columns))


def _draw_chosen(painter: Painter, rect: Rect, screen: EditScreen) -> None:
    """Draw into `rect` the name of the object chosen in the editor `screen`, and buttons for its
    next state, colour and tool."""
    brushes, line, name = screen.brushes, painter.line_height, screen.brushes.chosen
    painter.draw_text(cut(rect, "top", line), _name_in_words(name), size=1.1, middle=True)
    states, colors = brushes.states(name), brushes.colors(name)
    texts = {
        "next_state": states[brushes.state(name)].lower() if states else "",
        "next_color": COLORS[brushes.color(name)].lower() if colors else "",
        "next_tool": screen.tool,
    }
    for number, (command, text) in enumerate(texts.items()):
        slot = Rect(rect.x, rect.y + number * line * 4 // 3, rect.w, line * 5 // 4)
        if text:
            key = screen.app.bindings.label("edit", command)
            painter.draw_button(slot, text, partial(screen.run_command, command), key)


def _name_in_words(name: str) -> str:
    """Return the name of an object type in lower-case words."""
    return name if name == AGENT_KEY else to_snake_case(name).replace("_", " ")


def draw_report(painter: Painter, rect: Rect, screen: EditScreen) -> None:
    """Draw into `rect` what is in the cell under the cursor of the editor `screen`, whether the
    level can be won, and the errors."""
    line = painter.line_height
    painter.draw_card(rect)
    rest = rect.inflate(-line, -line)
    for text, color in ((_describe_cursor_cell(screen), "text"), screen.verdict):
        if text and rest.h >= line:
            room = Rect(rest.x, rest.y, rest.w, max(line, min(3 * line, rest.h)))
            cut(rest, "top", painter.draw_lines(room, text, color) + line // 3)
    _draw_faults(painter, rest, screen)


def _draw_faults(painter: Painter, rest: Rect, screen: EditScreen) -> None:
    """Draw into `rest` the errors of the level in the editor `screen`, from the chosen one on, and
    how many more there are."""
    line, faults = painter.line_height, screen.faults
    first = max(0, screen.chosen_fault)
    for number in range(first, len(faults)):
        fault = faults[number]
        height = len(wrap_text(fault.message, line, rest.w, _MAX_FAULT_LINES)) * line
        slot = Rect(rest.x, rest.y, rest.w, min(height, rest.h))
        if slot.h < line or (slot.h < height and number > first):
            slot.h = line
            painter.draw_text(slot.clip(rest), f"{len(faults) - number} more", "muted")
            break
        if painter.add_hit_area(slot, partial(screen.open_fault, number)):
            painter.draw_outline(slot.inflate(line // 2, line // 4), "outline")
        painter.draw_lines(slot, fault.message, "muted" if fault.is_slip else "loss")
        cut(rest, "top", slot.h, line // 2)


def _describe_cursor_cell(screen: EditScreen) -> str:
    """Return a text about the content of the map cell under the cursor of the editor `screen`."""
    if not screen.has_map:
        return ""
    (y, x), work = screen.cursor, screen.work
    character = work.map.rows[y][x]
    if work.vocabulary.legend.get(character) is None:
        return f"{y}, {x}: {character!r} stands for nothing"
    return f"{y}, {x}: {describe_cell(work.map.thing((y, x)))}"


def describe_cell(thing: CellThing) -> str:
    """Return in words what a cell contains, given its legend entry `thing`."""
    parts = [str(thing[key]).lower() for key in ("state", "color") if key in thing]
    name = _name_in_words(str(thing["object"])) if "object" in thing else ""
    parts_of_text = [" ".join([*parts, name])] if name else []
    if "one_of" in thing:
        parts_of_text.append("one of several things")
    if AGENT_KEY in thing:
        parts_of_text.append(f"the agent, looking {str(thing[AGENT_KEY]).lower()}")
    for key, words in (("content", "with"), ("holds", "holding"), ("ground", "on")):
        if key in thing:
            inner = thing[key] if isinstance(thing[key], dict) else {"object": thing[key]}
            parts_of_text.append(f"{words} {describe_cell(inner)}")
    if "room" in thing:
        parts_of_text.append(f"in {thing['room']}")
    return " ".join(parts_of_text) or "floor"


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

    commands: ClassVar[Mapping[str, Callable[[Any], object]]] = {
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
        "next_tool": lambda screen: screen._next_tool(),
        "all_things": lambda screen: screen.brushes.toggle_all_things(),
        "zoom_in": lambda screen: screen.drawing.zoom(1),
        "zoom_out": lambda screen: screen.drawing.zoom(-1),
        "zoom_reset": lambda screen: screen.drawing.zoom(0),
    }

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
        """Parse the changed text of the file again, and adapt brushes and cursor to the level."""
        self.work.refresh()
        self.brushes.set_vocabulary(self.work.vocabulary)
        height, width = self.work.map.shape
        y, x = self.cursor
        self.cursor = max(0, min(height - 1, y)), max(0, min(width - 1, x))
        self._preview = None
        self.app.needs_redraw = True

    def edit(self, change: Callable[[str], str], stroke: object = None) -> None:
        """Replace the file's text by `change(text)`, and show the new level. Consecutive edits with
        an equal `stroke` are undone together.

        Args:
            change: function from the old text to the new text.
            stroke: edits in a row with the same stroke are undone together.

        Raises:
            EditError: the change is not possible.
        """
        self.work.edit(change, stroke)
        self.refresh()

    def draw_as_map(self) -> None:
        """Replace the functions that generate levels by a fixed map: the level of seed 0."""
        self.work.insert_level(0)
        self.refresh()

    @property
    def has_map(self) -> bool:
        """True if the level has a map to paint on."""
        return bool(self.work.map.rows)

    def paint(self, cells: Iterable[MapCell], thing: CellThing) -> None:
        """Put `thing`, a cell's content, into `cells` of the map; cells painted in one stroke of
        the mouse are undone together."""
        if not self.has_map:
            raise EditError("This level has no map to paint on; the menu draws one of its levels")
        painted = [(cell, thing) for cell in cells if cell in self.work.map]
        self.edit(lambda _: self.work.map.paint(painted), stroke=self._stroke)

    def _use_tool(self, cell: MapCell, erases: bool) -> None:
        """Apply the chosen tool to `cell`, with the chosen object or, if `erases`, with bare
        floor."""
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
        """Complete the begun rectangle or room, with `cell` as its second corner."""
        corner, self._corner = self._corner, None
        if corner is None:
            return
        if self.tool == "room" and not self._is_erasing:
            self.edit(lambda _: self.work.map.draw_room(corner, cell), stroke=self._stroke)
        else:
            thing = FLOOR_THING if self._is_erasing else self.brushes.thing()
            self.paint(cells_of_box(corner, cell), thing)

    def _put(self) -> None:
        """Apply the chosen tool to the cell under the cursor."""
        self._stroke += 1
        self._use_tool(self.cursor, erases=False)

    def _erase(self) -> None:
        """Put bare floor into the cell under the cursor."""
        self._stroke += 1
        self.paint([self.cursor], FLOOR_THING)

    def _pick(self) -> None:
        """Choose the object in the cell under the cursor to paint with."""
        if self.has_map:
            self.brushes.pick(self.work.map.thing(self.cursor))

    def _move(self, down: int, right: int) -> None:
        """Move the cursor by `down` rows and `right` columns, if that stays on the map."""
        cell = self.cursor[0] + down, self.cursor[1] + right
        if cell in self.work.map:
            self.cursor = cell

    def _next_tool(self) -> None:
        """Switch to the next painting tool: pen, rectangle, room or fill."""
        self.tool = TOOLS[(TOOLS.index(self.tool) + 1) % len(TOOLS)]
        self._corner = None

    def on_mouse(self, event: pygame.event.Event) -> None:
        """Zoom the map, choose objects, or paint, as a mouse event says."""
        if self._layout is None or self._drawing is None:
            return
        if event.type == pygame.MOUSEWHEEL:
            mouse = pygame.mouse.get_pos() if pygame.mouse.get_focused() else (0, 0)
            if self._layout.palette.collidepoint(mouse):
                self.brushes.select_next(-event.y)
            else:
                self._drawing.zoom(event.y)
            return
        position, cell = getattr(event, "pos", None), None
        if position and self._layout.board.collidepoint(position) and self.has_map:
            cell = self._drawing.cell_at(position)
        if cell is not None and cell != self.cursor:
            self.cursor, self.app.needs_redraw = cell, True
            if event.type == pygame.MOUSEMOTION and self._is_pressed and self.tool == "pen":
                self._use_tool(cell, self._is_erasing)
        if event.type == pygame.MOUSEBUTTONDOWN and cell is not None:
            self._press_cell(cell, event.button)
        elif event.type == pygame.MOUSEBUTTONUP and self._is_pressed:
            self._is_pressed = False
            self._finish_box(self.cursor)

    def _press_cell(self, cell: MapCell, button: int) -> None:
        """Handle the mouse `button` (1 left, 2 middle, 3 right) pressed on `cell`: apply the tool,
        take up the cell's object, or erase."""
        self._stroke += 1
        self._corner = None
        if button == 2:
            self._pick()
        elif button in (1, 3):
            self._is_pressed, self._is_erasing = True, button == 3
            self._use_tool(cell, self._is_erasing)

    # ---- what is seen --------------------------------------------------------------------

    @property
    def drawing(self) -> MapDrawing:
        """Drawing of the map; created again after a change of colours, object types or folder."""
        words, folder = self.work.vocabulary, self.work.level.file.parent
        key = self.app.theme, words.types, folder
        if self._drawing is None or self._drawing_key != key:
            domain = self.work.document.domain if self.work.document else "grid"
            folders = (folder, folder / "sprites")
            self._drawing = make_map_drawing(domain, self.app.theme, folders, words.types)
            self._drawing_key = key
        return self._drawing

    def _draw_board(self, painter: Painter, rect: Rect, drawing: MapDrawing) -> None:
        """Draw into `rect`, by means of `drawing`, the map with outlined cells, or, if the level
        has no map, an explanation and an example level."""
        line = painter.line_height
        painter.draw_card(rect, "well")
        inner = rect.inflate(-line // 2, -line // 2)
        if not self.has_map:
            self._draw_without_map(painter, inner, drawing)
            return
        drawing.draw(painter.surface, inner, line, self.work.map, self.cursor)
        drawing.outline_cells(painter.surface, inner, self._outlines())

    def _outlines(self) -> Mapping[MapCell, str]:
        """Return the cells to outline, each with the name of its colour: cells with errors, the
        begun rectangle, the cursor."""
        wrong = [cell for fault in self.faults for cell in self.work.cells_of(fault)]
        marks = dict.fromkeys(wrong, "loss")
        if self._corner is not None:
            marks |= dict.fromkeys(cells_of_box(self._corner, self.cursor), "accent")
        return {**marks, self.cursor: "select"}

    def _draw_without_map(self, painter: Painter, rest: Rect, drawing: MapDrawing) -> None:
        """Draw into `rest`, for a level without a map, an explanation, a button that makes a map,
        and by means of `drawing` the level of seed 0."""
        line = painter.line_height
        text = (
            "No map is drawn here: rules make a level with each reset, as below. Its rules and "
            "properties can be edited, or one of its levels be drawn as a map, which then takes "
            "their place."
        )
        if self.work.document is None:
            text = "The file cannot be read as it is: " + self.work.faults[0].message
        height = painter.draw_lines(Rect(rest.x, rest.y, rest.w, 6 * line), text, "muted")
        if self.work.scenario is None:
            return
        cut(rest, "top", height + line // 2)
        button = cut(rest, "top", 2 * line, line)
        button.w = min(button.w, 16 * line)
        painter.draw_button(button, "Draw it as a map", self.draw_as_map, ground="card")
        self._preview = self._preview or self.work.copy_with_level(0)
        if rest.h > 4 * line and self._preview.map.rows:
            drawing.draw(painter.surface, rest, line, self._preview.map, (0, 0))
