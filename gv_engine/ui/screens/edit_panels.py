"""Panels of the editor: what can be put into cells, and what there is to say of the level."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from gv_engine.editor.document import EditorDocument, Fault
from gv_engine.editor.map_model import Brushes, MapCell
from gv_engine.editor.symbols import AGENT_KEY, CellThing
from gv_engine.rules.component import snake_case
from gv_engine.rules.objects import COLORS
from gv_engine.ui.drawing.sprites import pygame
from gv_engine.ui.drawing.stage import SketchDrawing
from gv_engine.ui.drawing.widgets import Painter, wrap
from gv_engine.ui.screens.screen import AppContext

# ---- edit host -----------------------------------------------------------------------------------


class EditHost(Protocol):
    """The editor of a level."""

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
    def command(self, name: str) -> None: ...
    def open_fault(self, number: int) -> None: ...
    def refresh(self) -> None: ...
    def save(self, then: Callable[[], None] = ...) -> None: ...
    def save_as(self, then: Callable[[], None] = ...) -> None: ...
    def write(self, file: Path | None = None, then: Callable[[], None] = ...) -> None: ...
    def leave(self) -> None: ...


# ---- edit panels ---------------------------------------------------------------------------------

_LONGEST_FAULT = 8  # lines


class EditParts(NamedTuple):
    """Rectangles of the editor's parts; all disjoint."""

    header: pygame.Rect
    palette: pygame.Rect
    board: pygame.Rect
    report: pygame.Rect
    hints: pygame.Rect


def place_edit(area: pygame.Rect, line: int) -> EditParts:
    """Place the parts of the picture; the report stands beside the board where there is room."""
    gap = max(3, line // 2)
    inner = area.inflate(-2 * gap, -gap)
    header = pygame.Rect(inner.x, inner.y, inner.w, line * 7 // 4)
    hints = pygame.Rect(inner.x, inner.bottom - line, inner.w, line)
    body = pygame.Rect(inner.x, header.bottom + gap // 2, inner.w, 0)
    body.h = hints.y - gap // 2 - body.y
    palette = pygame.Rect(body.x, body.y, max(6 * line, min(10 * line, body.w // 5)), body.h)
    board = pygame.Rect(palette.right + gap, body.y, body.right - palette.right - gap, body.h)
    if board.w >= 32 * line:
        width = max(12 * line, board.w // 4)
        report = pygame.Rect(board.right - width, board.y, width, board.h)
        board.w -= width + gap
    else:
        height = max(4 * line, board.h // 4)
        report = pygame.Rect(board.x, board.bottom - height, board.w, height)
        board.h -= height + gap
    return EditParts(header, palette, board, report, hints)


def draw_palette(pen: Painter, rect: pygame.Rect, screen: EditHost, drawing: SketchDrawing) -> None:
    """Draw all things that can be put into cells, and how the chosen one is painted."""
    line, brushes = pen.line, screen.brushes
    pen.card(rect)
    inner = rect.inflate(-line // 2 * 2, -line // 2 * 2)
    side = line * 2
    columns = max(1, inner.w // side)
    told = pygame.Rect(inner.x, inner.y, inner.w, 5 * line)
    inner.y, inner.h = told.bottom + line // 2, inner.h - told.h - line // 2
    rows = max(1, inner.h // side)
    chosen = brushes.names.index(brushes.chosen)
    first = max(0, chosen // columns - rows + 1)
    count = -(-len(brushes.names) // columns)
    for number, name in enumerate(brushes.names):
        row, column = divmod(number, columns)
        if not 0 <= row - first < rows:
            continue
        slot = pygame.Rect(inner.x + column * side, inner.y + (row - first) * side, side, side)
        slot = slot.inflate(-line // 4, -line // 4)
        over = pen.hot(slot, partial(_choose, screen, name))
        pen.card(slot, "accent" if name == brushes.chosen else "well")
        if over:
            pen.frame(slot, "outline")
        size = slot.w - line // 3
        picture = _picture(drawing, screen, name, size)
        pen.surface.blit(picture, picture.get_rect(center=slot.center))
    groove = pygame.Rect(rect.right - line // 3, inner.y, line // 4, rows * side)
    pen.scrolled(groove, first, rows, count)
    _draw_chosen(pen, told, screen)


def _choose(screen: EditHost, name: str, at: tuple[int, int]) -> None:
    screen.brushes.chosen = name
    screen.app.stale = True


def _picture(drawing: SketchDrawing, screen: EditHost, name: str, size: int) -> pygame.Surface:
    symbol = screen.brushes.symbol(name)
    if symbol.facing is not None:
        return drawing.agent(symbol.facing, size)
    return drawing.thing(symbol.kind, symbol.state, symbol.color, size)


def _draw_chosen(pen: Painter, rect: pygame.Rect, screen: EditHost) -> None:
    """The name of the chosen thing, and its state, colour and tool, each a button for the next."""
    brushes, line, keys = screen.brushes, pen.line, screen.app.bindings
    name = brushes.chosen
    pen.text(pygame.Rect(rect.x, rect.y, rect.w, line), _words(name), size=1.1, middle=True)
    states, colors = brushes.states(name), brushes.colors(name)
    rows = [
        ("next_state", states[brushes.state(name)].lower() if states else ""),
        ("next_color", COLORS[brushes.color(name)].lower() if colors else ""),
        ("next_tool", screen.tool),
    ]
    for number, (command, says) in enumerate(rows):
        slot = pygame.Rect(rect.x, rect.y + line + number * line * 4 // 3, rect.w, line * 5 // 4)
        if says:
            key = keys.label("edit", command)
            pen.button(slot, says, partial(screen.command, command), key)


def _words(name: str) -> str:
    return name if name == AGENT_KEY else snake_case(name).replace("_", " ")


def draw_report(pen: Painter, rect: pygame.Rect, screen: EditHost) -> None:
    """Say what is in the cell, whether the level can be won, and what is wrong."""
    line = pen.line
    pen.card(rect)
    inner = rect.inflate(-line, -line)
    y = inner.y
    told = [(_cell_words(screen), "text"), screen.verdict]
    for says, ink in told:
        room = pygame.Rect(inner.x, y, inner.w, max(line, min(3 * line, inner.bottom - y)))
        if says and y + line <= inner.bottom:
            y += pen.lines(room, says, ink) + line // 3
    _draw_faults(pen, pygame.Rect(inner.x, y, inner.w, inner.bottom - y), screen)


def _draw_faults(pen: Painter, rect: pygame.Rect, screen: EditHost) -> None:
    """List what is wrong, from the chosen one on, as far as there is room."""
    line, faults, y = pen.line, screen.faults, rect.y
    first = max(0, screen.chosen_fault)
    for number in range(first, len(faults)):
        fault = faults[number]
        high = len(wrap(fault.message, line, rect.w, _LONGEST_FAULT)) * line
        slot = pygame.Rect(rect.x, y, rect.w, min(high, rect.bottom - y))
        left = len(faults) - number
        if slot.h < line or (slot.h < high and number > first):
            slot.h = line
            pen.text(slot.clip(rect), f"{left} more", "muted")
            break
        if pen.hot(slot, partial(_show_fault, screen, number)):
            pen.frame(slot.inflate(line // 2, line // 4), "outline")
        pen.lines(slot, fault.message, "muted" if fault.is_slip else "loss")
        y = slot.bottom + line // 2


def _show_fault(screen: EditHost, number: int, at: tuple[int, int]) -> None:
    screen.open_fault(number)
    screen.app.stale = True


def _cell_words(screen: EditHost) -> str:
    """What is in the cell of the cursor."""
    if not screen.has_map:
        return ""
    y, x = screen.cursor
    character = screen.work.map.rows[y][x]
    if screen.work.vocabulary.legend.get(character) is None:
        return f"{y}, {x}: {character!r} stands for nothing"
    return f"{y}, {x}: {thing_words(screen.work.map.thing((y, x)))}"


def thing_words(thing: CellThing) -> str:
    """What people call what is in a cell."""
    parts = [str(thing[key]).lower() for key in ("state", "color") if key in thing]
    name = _words(str(thing["object"])) if "object" in thing else ""
    said = [" ".join([*parts, name])] if name else []
    if "one_of" in thing:
        said.append("one of several things")
    if AGENT_KEY in thing:
        said.append(f"the agent, looking {str(thing[AGENT_KEY]).lower()}")
    for key, words in (("content", "with"), ("holds", "holding"), ("ground", "on")):
        if key in thing:
            inner = thing[key] if isinstance(thing[key], dict) else {"object": thing[key]}
            said.append(f"{words} {thing_words(inner)}")
    if "room" in thing:
        said.append(f"in {thing['room']}")
    return " ".join(said) or "floor"
