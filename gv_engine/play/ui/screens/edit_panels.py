"""Panels of the editor screen: their layout, the palette to paint with, and the report on the
level."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from gv_engine.play.editor.brushes import Brushes
from gv_engine.play.editor.form_fields import to_words
from gv_engine.play.editor.rules import RULE_PARTS
from gv_engine.play.editor.vocabulary import AGENT_KEY, CellThing
from gv_engine.play.ui.drawing.sprites import Rect
from gv_engine.play.ui.drawing.stage import MapDrawing
from gv_engine.play.ui.drawing.widgets import Painter, cut, find_first_row
from gv_engine.rules.errors import format_cell
from gv_engine.rules.objects import COLORS

if TYPE_CHECKING:
    from gv_engine.play.ui.screens.edit import EditScreen

_MAX_FAULT_LINES = 8  # maximum number of lines of an error or another text of the report
_ADD_TEXT = "Add objects of another level, with their rules"


class EditLayout(NamedTuple):
    """Rectangles of the parts of the editor; they are disjoint."""

    header: Rect
    palette: Rect
    board: Rect
    report: Rect
    hints: Rect


def lay_out_editor(area: Rect, line: int) -> EditLayout:
    """Return the rectangles of the editor's parts in the window `area`; in wide windows the error
    report is beside the map. `line` is the height of a line of text in pixels."""
    gap = max(3, line // 2)
    board = area.inflate(-2 * gap, -gap)
    header = cut(board, "top", line * 7 // 4, gap // 2)
    hints = cut(board, "bottom", line, gap // 2)
    palette = cut(board, "left", max(6 * line, min(11 * line, board.w // 5)), gap)
    if board.w >= 32 * line:
        report = cut(board, "right", max(12 * line, board.w // 4), gap)
    else:
        report = cut(board, "bottom", max(4 * line, board.h // 4), gap)
    return EditLayout(header, palette, board, report, hints)


def draw_palette(painter: Painter, rect: Rect, screen: EditScreen, drawing: MapDrawing) -> str:
    """Draw into `rect` the palette: the selected object with its state and colour, the tool, the
    objects to paint with, grouped by theme, and a button that adds objects of other levels.
    `drawing` draws the objects. Return a text about what is under the mouse; "" if nothing is."""
    line = painter.line_height
    painter.draw_card(rect)
    inner = rect.inflate(-line // 2 * 2, -line // 2 * 2)
    _draw_selected_brush(painter, cut(inner, "top", 5 * line, line // 2), screen)
    button = cut(inner, "bottom", line * 3 // 2, line // 2)
    groove = Rect(rect.right - line // 3, inner.y, line // 4, inner.h)
    text = _draw_brushes(painter, inner, groove, screen, drawing)
    press = partial(screen.run_command, "add_objects")
    key = screen.app.bindings.label("edit", "add_objects")
    return _ADD_TEXT if painter.draw_button(button, "Add", press, key) else text


def _draw_brushes(
    painter: Painter, rest: Rect, groove: Rect, screen: EditScreen, drawing: MapDrawing
) -> str:
    """Draw the objects to paint with into `rest`, each on floor, and a scrollbar into `groove`.
    Return the description of the object under the mouse; "" if there is none."""
    line, brushes = painter.line_height, screen.brushes
    side = min(line * 5 // 2, rest.w // 2)
    rows = _list_palette_rows(brushes, max(1, rest.w // side))
    heights = [line if row.heading else side for row in rows]
    chosen = next(index for index, row in enumerate(rows) if brushes.selected in row.names)
    first = find_first_row(heights, chosen, rest.h)
    painter.draw_scrollbar(groove, sum(heights[:first]), rest.h, sum(heights))
    hovered = ""
    for row, height in zip(rows[first:], heights[first:], strict=True):
        if height > rest.h:
            break
        row_rect = cut(rest, "top", height)
        painter.draw_text(row_rect, row.heading, "muted", size=0.8)
        for name in row.names:
            slot = Rect(cut(row_rect, "left", side).topleft, (side * 24 // 25, side * 24 // 25))
            if is_hovered := painter.add_hit_area(slot, partial(brushes.choose, name)):
                hovered = describe_brush(screen, name)
            for shown in (brushes.names[0], name):  # the floor first
                symbol = brushes.symbol(shown)
                if symbol.facing is None:
                    look = symbol.kind, symbol.state, symbol.color
                    picture = drawing.object_picture(*look, slot.w)
                else:
                    picture = drawing.agent_picture(symbol.facing, slot.w)
                painter.surface.blit(picture, slot)
            if name == brushes.selected or is_hovered:
                painter.draw_outline(slot, "accent" if name == brushes.selected else "outline")
    return hovered


class _PaletteRow(NamedTuple):
    """Row of the palette: a heading, or names of objects."""

    heading: str
    names: Sequence[str] = ()


def _list_palette_rows(brushes: Brushes, columns: int) -> list[_PaletteRow]:
    rows = []
    for heading, group in groupby(brushes.names, brushes.palette_heading):
        names = [*group]
        rows.append(_PaletteRow(heading))
        for start in range(0, len(names), columns):
            rows.append(_PaletteRow("", names[start : start + columns]))
    return rows


def describe_brush(screen: EditScreen, name: str) -> str:
    """Return a text about the object `name` of the palette: its name, its states, and what rules of
    the level say about it."""
    states = [state.lower() for state in screen.brushes.states(name)]
    title = to_words(name).capitalize() + ", whom you play" * (name == AGENT_KEY)
    title += f": {', '.join(states)}" * bool(states)
    if screen.draft.document is None:
        return title
    rules = (rule for part in RULE_PARTS[:2] for rule in screen.draft.rules.rules(part))
    sentences = [
        rule.description.rstrip(".") for rule in rules if name in map(str, rule.arguments.values())
    ]
    return ". ".join([title, *sentences[:2]]) + "."


def _draw_selected_brush(painter: Painter, rect: Rect, screen: EditScreen) -> None:
    """Draw into `rect` the name of the object selected for painting, and buttons for its next
    state, its next colour and the next tool."""
    brushes, line, name = screen.brushes, painter.line_height, screen.brushes.selected
    painter.draw_text(cut(rect, "top", line), to_words(name).capitalize(), size=1.1, is_name=True)
    states, colors = brushes.states(name), brushes.colors(name)
    texts = {
        "next_state": states[brushes.state(name)].capitalize() if states else "",
        "next_color": COLORS[brushes.color(name)].capitalize() if colors else "",
        "next_tool": screen.tool.capitalize(),
    }
    for index, (command, text) in enumerate(texts.items()):
        slot = Rect(rect.x, rect.y + index * line * 4 // 3, rect.w, line * 5 // 4)
        if text:
            key = screen.app.bindings.label("edit", command)
            painter.draw_button(slot, text, partial(screen.run_command, command), key)


def draw_report(painter: Painter, rect: Rect, screen: EditScreen, hovered: str) -> None:
    """Draw into `rect` a report on the edited level: what is under the mouse in the palette, else
    the content of the cell under the cursor, whether the level can be won, and the errors."""
    line = painter.line_height
    painter.draw_card(rect)
    rest = rect.inflate(-line, -line)
    verdict, color = screen.verdict
    sections = (
        ("Palette" if hovered else "Cell", hovered or describe_cursor_cell(screen), "text"),
        ("Solution", verdict, color),
        ("Page", screen.export_text, "accent"),
    )
    for heading, text, color in sections:
        if text and rest.h >= 2 * line:
            painter.draw_text(cut(rest, "top", line), heading, "accent", size=0.9)
            max_lines = 3 if heading == "Cell" else _MAX_FAULT_LINES
            text_rect = Rect(rest.x, rest.y, rest.w, min(max_lines * line, rest.h))
            cut(rest, "top", painter.draw_lines(text_rect, text, color) + line // 2)
    _draw_faults(painter, rest, screen)


def _draw_faults(painter: Painter, rest: Rect, screen: EditScreen) -> None:
    """Draw into `rest` the errors of the edited level, starting with the selected one, and the
    number of those that do not fit."""
    line, faults = painter.line_height, screen.faults
    if faults and rest.h >= 2 * line:
        painter.draw_text(cut(rest, "top", line), "To mend", "accent", size=0.9)
    first = max(0, screen.chosen_fault)
    for index in range(first, len(faults)):
        fault = faults[index]
        height = painter.text_height(fault.message, rest.w, _MAX_FAULT_LINES)
        slot = Rect(rest.x, rest.y, rest.w, min(height, rest.h))
        if slot.h < line or (slot.h < height and index > first):
            slot.h = line
            painter.draw_text(slot.clip(rest), f"{len(faults) - index} more", "muted")
            break
        if painter.add_hit_area(slot, partial(screen.open_fault, index)):
            painter.draw_outline(slot.inflate(line // 2, line // 4), "outline")
        painter.draw_lines(slot, fault.message, "muted" if fault.is_slip else "loss")
        cut(rest, "top", slot.h, line // 2)


def describe_cursor_cell(screen: EditScreen) -> str:
    """Return a text on the position and the content of the map cell under the editor's cursor."""
    if not screen.has_map:
        return ""
    (y, x), draft = screen.cursor, screen.draft
    character, position = draft.map.rows[y][x], format_cell(y, x).capitalize()
    if draft.vocabulary.legend.get(character) is None:
        return f"{position}: {character!r} stands for nothing"
    return f"{position}: {describe_cell(draft.map.thing((y, x)))}"


def describe_cell(thing: CellThing) -> str:
    """Return in words the content of a cell, such as `red door`, given its legend entry `thing`."""
    words = []
    if "object" in thing:
        words += [str(thing[key]).lower() for key in ("state", "color") if key in thing]
        words.append(to_words(str(thing["object"])))
    if "one_of" in thing:
        words.append("one of several things")
    if AGENT_KEY in thing:
        words.append(f"the agent, looking {str(thing[AGENT_KEY]).lower()}")
    parts = ("content", "with"), ("holds", "holding"), ("between", "on"), ("ground", "on")
    for key, preposition in parts:
        for part in thing[key] if isinstance(thing.get(key), list) else [thing.get(key)]:
            if part is not None:
                inner = part if isinstance(part, dict) else {"object": part}
                words.append(f"{preposition} {describe_cell(inner)}")
    if "room" in thing:
        words.append(f"in {thing['room']}")
    return " ".join(words) or "floor"
