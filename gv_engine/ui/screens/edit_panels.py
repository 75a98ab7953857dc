"""Panels of the editor: the palette of objects, and the report on the cell and the level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from gv_engine.editor.document import EditorDocument, Fault
from gv_engine.editor.map_model import Brushes, MapCell
from gv_engine.editor.symbols import AGENT_KEY, CellThing
from gv_engine.rules.component import to_snake_case
from gv_engine.rules.objects import COLORS
from gv_engine.ui.drawing.sprites import Rect, pygame
from gv_engine.ui.drawing.stage import MapDrawing
from gv_engine.ui.drawing.widgets import Painter, wrap_text
from gv_engine.ui.screens.screen import AppContext

# ---- edit host -----------------------------------------------------------------------------------


class EditContext(Protocol):
    """The editor screen as its menus and panels see it."""

    app: AppContext
    work: EditorDocument
    brushes: Brushes
    cursor: MapCell
    tool: str
    chosen_fault: int

    @property
    def faults(self) -> Sequence[Fault]: ...
    @property
    def verdict(self) -> tuple[str, str]: ...
    @property
    def has_map(self) -> bool: ...
    def run_command(self, name: str) -> None: ...
    def open_fault(self, number: int) -> None: ...
    def refresh(self) -> None: ...
    def save(self, then: Callable[[], None] = ...) -> None: ...
    def save_as(self, then: Callable[[], None] = ...) -> None: ...
    def write(self, file: Path | None = None, then: Callable[[], None] = ...) -> None: ...
    def leave(self) -> None: ...


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
    """Return the rectangles of the editor's parts; in wide windows the report is beside the map."""
    gap = max(3, line // 2)
    inner = area.inflate(-2 * gap, -gap)
    header = Rect(inner.x, inner.y, inner.w, line * 7 // 4)
    hints = Rect(inner.x, inner.bottom - line, inner.w, line)
    body = Rect(inner.x, header.bottom + gap // 2, inner.w, 0)
    body.h = hints.y - gap // 2 - body.y
    palette = Rect(body.x, body.y, max(6 * line, min(10 * line, body.w // 5)), body.h)
    board = Rect(palette.right + gap, body.y, body.right - palette.right - gap, body.h)
    if board.w >= 32 * line:
        width = max(12 * line, board.w // 4)
        report = Rect(board.right - width, board.y, width, board.h)
        board.w -= width + gap
    else:
        height = max(4 * line, board.h // 4)
        report = Rect(board.x, board.bottom - height, board.w, height)
        board.h -= height + gap
    return EditLayout(header, palette, board, report, hints)


def draw_palette(painter: Painter, rect: Rect, screen: EditContext, drawing: MapDrawing) -> None:
    """Draw the palette of objects, and the state, colour and tool of the chosen object."""
    line, brushes = painter.line_height, screen.brushes
    painter.draw_card(rect)
    inner = rect.inflate(-line // 2 * 2, -line // 2 * 2)
    side = line * 2
    columns = max(1, inner.w // side)
    chosen_rect = Rect(inner.x, inner.y, inner.w, 5 * line)
    inner.y, inner.h = chosen_rect.bottom + line // 2, inner.h - chosen_rect.h - line // 2
    rows = max(1, inner.h // side)
    chosen = brushes.names.index(brushes.chosen)
    first = max(0, chosen // columns - rows + 1)
    count = -(-len(brushes.names) // columns)
    for number, name in enumerate(brushes.names):
        row, column = divmod(number, columns)
        if not 0 <= row - first < rows:
            continue
        slot = Rect(inner.x + column * side, inner.y + (row - first) * side, side, side)
        slot = slot.inflate(-line // 4, -line // 4)
        is_hovered = painter.add_hit_area(slot, partial(_choose_object, screen, name))
        painter.draw_card(slot, "accent" if name == brushes.chosen else "well")
        if is_hovered:
            painter.draw_outline(slot, "outline")
        size = slot.w - line // 3
        picture = _object_picture(drawing, screen, name, size)
        painter.surface.blit(picture, picture.get_rect(center=slot.center))
    groove = Rect(rect.right - line // 3, inner.y, line // 4, rows * side)
    painter.draw_scrollbar(groove, first, rows, count)
    _draw_chosen(painter, chosen_rect, screen)


def _choose_object(screen: EditContext, name: str, at: tuple[int, int]) -> None:
    """Choose an object of the palette."""
    screen.brushes.chosen = name
    screen.app.needs_redraw = True


def _object_picture(
    drawing: MapDrawing, screen: EditContext, name: str, size: int
) -> pygame.Surface:
    """Return the picture of an object or agent."""
    symbol = screen.brushes.symbol(name)
    if symbol.facing is not None:
        return drawing.agent_picture(symbol.facing, size)
    return drawing.object_picture(symbol.kind, symbol.state, symbol.color, size)


def _draw_chosen(painter: Painter, rect: Rect, screen: EditContext) -> None:
    """Draw the name of the chosen object, and buttons for its next state, colour and tool."""
    brushes, line, keys = screen.brushes, painter.line_height, screen.app.bindings
    name = brushes.chosen
    painter.draw_text(
        Rect(rect.x, rect.y, rect.w, line), _name_in_words(name), size=1.1, middle=True
    )
    states, colors = brushes.states(name), brushes.colors(name)
    rows = [
        ("next_state", states[brushes.state(name)].lower() if states else ""),
        ("next_color", COLORS[brushes.color(name)].lower() if colors else ""),
        ("next_tool", screen.tool),
    ]
    for number, (command, text) in enumerate(rows):
        slot = Rect(rect.x, rect.y + line + number * line * 4 // 3, rect.w, line * 5 // 4)
        if text:
            key = keys.label("edit", command)
            painter.draw_button(slot, text, partial(screen.run_command, command), key)


def _name_in_words(name: str) -> str:
    """Return an object type's name in lower-case words."""
    return name if name == AGENT_KEY else to_snake_case(name).replace("_", " ")


def draw_report(painter: Painter, rect: Rect, screen: EditContext) -> None:
    """Draw the description of the cursor's cell, whether the level can be won, and the errors."""
    line = painter.line_height
    painter.draw_card(rect)
    inner = rect.inflate(-line, -line)
    y = inner.y
    texts = [(_describe_cursor_cell(screen), "text"), screen.verdict]
    for text, color in texts:
        room = Rect(inner.x, y, inner.w, max(line, min(3 * line, inner.bottom - y)))
        if text and y + line <= inner.bottom:
            y += painter.draw_lines(room, text, color) + line // 3
    _draw_faults(painter, Rect(inner.x, y, inner.w, inner.bottom - y), screen)


def _draw_faults(painter: Painter, rect: Rect, screen: EditContext) -> None:
    """Draw the errors from the chosen one on, and how many more there are."""
    line, faults, y = painter.line_height, screen.faults, rect.y
    first = max(0, screen.chosen_fault)
    for number in range(first, len(faults)):
        fault = faults[number]
        height = len(wrap_text(fault.message, line, rect.w, _MAX_FAULT_LINES)) * line
        slot = Rect(rect.x, y, rect.w, min(height, rect.bottom - y))
        remaining = len(faults) - number
        if slot.h < line or (slot.h < height and number > first):
            slot.h = line
            painter.draw_text(slot.clip(rect), f"{remaining} more", "muted")
            break
        if painter.add_hit_area(slot, partial(_open_fault, screen, number)):
            painter.draw_outline(slot.inflate(line // 2, line // 4), "outline")
        painter.draw_lines(slot, fault.message, "muted" if fault.is_slip else "loss")
        y = slot.bottom + line // 2


def _open_fault(screen: EditContext, number: int, at: tuple[int, int]) -> None:
    """Open an error that was clicked."""
    screen.open_fault(number)
    screen.app.needs_redraw = True


def _describe_cursor_cell(screen: EditContext) -> str:
    """Return the description of the cursor's cell."""
    if not screen.has_map:
        return ""
    y, x = screen.cursor
    character = screen.work.map.rows[y][x]
    if screen.work.vocabulary.legend.get(character) is None:
        return f"{y}, {x}: {character!r} stands for nothing"
    return f"{y}, {x}: {describe_cell(screen.work.map.thing((y, x)))}"


def describe_cell(thing: CellThing) -> str:
    """Return a description of a cell's content in words."""
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
