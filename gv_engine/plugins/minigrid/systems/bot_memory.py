"""Memory of the bot for BabyAI's instructions: the cells it has seen, and which clauses are done.

Coordinates are relative to the first cell and direction of an episode: the agent starts in cell 0
and faces up. The map wraps around at its edges; it is at least as large as the level, so that no
two cells of a level share a cell of the map. Functions act on the memory of one world; they run
interpreted and compiled.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT
from components.items import OPEN
from components.objects import DOOR, WALL
from gv_engine.plugins.minigrid.systems.grammar import (
    ANYWHERE,
    BEHIND,
    CLAUSE_LENGTH,
    COLOR,
    DESCRIPTION_LENGTH,
    GO_TO,
    IN_FRONT,
    KIND,
    MAX_CLAUSES,
    ON_LEFT,
    ON_RIGHT,
    OPEN_DOOR,
    PICK_UP_OBJECT,
    PLACE,
    VERB,
    WORDINGS,
    count_clauses,
    is_reversed,
)

UNSEEN = NONE_GRID_OBJECT
"""Type of a cell that has not been seen."""
START, NOWHERE = 0, -1
"""Cell of the agent at the reset, and the number for no cell."""
UP, RIGHT, DOWN, LEFT = range(4)
TURN_LEFT, TURN_RIGHT, MOVE_FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
"""Numbers of the actions of MiniGrid's levels."""
PLAN_LENGTH = 64
"""Greatest number of actions that are planned ahead."""
MOST_ROWS = 24, 48
"""Available sizes of the map, in rows and columns; the functions are compiled for each size. The
int64 bit masks hold one bit for each row or column."""
FIRST_SIDE_DONE = 1 << MAX_CLAUSES
"""Bit of `done`."""

_SIDES = np.array([(is_reversed(k), *count_clauses(k)) for k in range(len(WORDINGS))])
"""For each wording: 1 if the clauses after its connector must be done first, else 0; then the
numbers of clauses before and after the connector."""
_STEPS = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])
"""For each direction: rows and columns to the cell ahead."""


Memory = Any
"""Memory of one world: a record of `memory_dtype` in compiled code, else an object with the same
attributes."""


def memory_dtype(side: int) -> np.dtype[Any]:
    """Return the dtype of the memory of a world, with a map of `side` × `side`
    cells.

    Fields:
        size: rows and columns of the map.
        kind, color, state: type, colour and state in each cell when it was last seen; type UNSEEN
            where none was.
        origin: where the object in a cell was at the reset, see `pack_origin`; 0 if unknown.
        room: 1 for the cells of the room where the agent started, with its walls and doors.
        unseen: bit x of number [0, y], and bit y of number [1, x], for each cell that has not been
            seen.
        opaque: the same for walls and doors that are not open.
        clauses: numbers of the clauses, see `grammar`.
        wording: index of the wording.
        y, x, cell, facing: row, column, cell and direction of the agent; row and column do not wrap
            around.
        action: last action; -1 at the start of an episode.
        held_kind, held_color, held_origin: object in hand.
        done: bit k for clause k, bit 4 for all clauses of the side that comes first.
        plan, plan_length, plan_index: next actions while no seen cell changes, their number or
            NO_WAY, and the index of the next one.
        changed: 1 if the last observation has changed a cell of the map.
        dropping: 1 + the cell where the agent is about to drop the object in hand, or 0.
        blocker: 1 + the cell of an object that is about to be moved out of the way, or 0.
        idle: steps since a cell was first seen or a clause was done.
    """
    numbers = (
        *("size", "wording", "y", "x", "cell", "facing", "action", "held_kind", "held_color"),
        *("held_origin", "done", "plan_length", "plan_index", "changed", "dropping", "blocker"),
        "idle",
    )
    return np.dtype(
        [
            *((name, np.uint8, (side * side,)) for name in ("kind", "color", "state", "room")),
            ("origin", np.int32, (side * side,)),
            *((name, np.int64, (2, side)) for name in ("unseen", "opaque")),
            ("clauses", np.int64, (MAX_CLAUSES, CLAUSE_LENGTH)),
            ("plan", np.int64, (PLAN_LENGTH,)),
            *((name, np.int64) for name in numbers),
        ]
    )


def as_object(record: Any) -> Any:
    """Return an object whose attributes are the fields of a record; its arrays are shared."""
    return SimpleNamespace(**{name: record[name] for name in record.dtype.names})


# ---- geometry ------------------------------------------------------------------------------------


def wrap(number: int, size: int) -> int:
    """Wrap a row or column from `-size` to `2 * size - 1` into the map's range, 0 to `size - 1`."""
    if number < 0:
        return number + size
    return number - size if number >= size else number


def pack_origin(cell: int, y: int, x: int) -> int:
    """Return the origin of an object as one integer: above the bit BEHIND its cell at the reset,
    and in bit k whether it was at the place k of `grammar`, such as ON_LEFT, as
    seen from the agent's start."""
    places = (y > 0) << BEHIND | (y < 0) << IN_FRONT | (x > 0) << ON_RIGHT | (x < 0) << ON_LEFT
    return cell << BEHIND + 1 | places


def make_neighbours(size: int) -> NDArray[np.int64]:
    """Return a (4, C) array: the neighbour of each cell in each direction."""
    cells = np.arange(size * size).reshape(size, size)
    ways = (1, 0), (-1, 1), (-1, 0), (1, 1)
    return np.array([np.roll(cells, by, axis).ravel() for by, axis in ways])


# ---- descriptions --------------------------------------------------------------------------------


def is_object(kind: int) -> bool:
    """Return True for types of objects that instructions are about."""
    return kind > FLOOR and kind != WALL


def matches(m: Memory, k: int, second: int, kind: int, color: int, origin: int) -> bool:
    """Return True if an object matched a description of clause `k` at the reset. `second` is 0 for
    its first description, 1 for its second. The object is given by type, colour and its place at
    the reset, `origin` (see `pack_origin`)."""
    clause, start = m.clauses[k], second * DESCRIPTION_LENGTH
    place = clause[start + PLACE]
    is_there = place == ANYWHERE or origin >> place & m.room[origin >> BEHIND + 1] != 0
    return bool(
        is_object(kind)
        and (clause[start + KIND] == NONE_GRID_OBJECT or clause[start + KIND] == kind)
        and (clause[start + COLOR] == NONE or clause[start + COLOR] == color)
        and is_there
    )


def is_described(m: Memory, cell: int, k: int, second: int) -> bool:
    """Return True if the object in a cell matched the description `second`, 0 or 1, of clause `k`
    at the reset."""
    return matches(m, k, second, m.kind[cell], m.color[cell], m.origin[cell])


def holds_described(m: Memory, k: int, second: int) -> bool:
    """Return True if the object in hand matched the description `second`, 0 or 1, of clause `k` at
    the reset."""
    return matches(m, k, second, m.held_kind, m.held_color, m.held_origin)


def find_room(m: Memory, neighbours: Any, queue: Any) -> None:
    """Mark the seen cells of the room where the agent started, including its walls and doors.
    `queue` is a buffer for the search, `neighbours` the neighbours of each cell."""
    m.room[:] = 0
    m.room[START] = 1
    queue[0] = START
    num_read, queue_length = 0, 1
    while num_read < queue_length:
        for way in range(4):
            cell = neighbours[way, queue[num_read]]
            kind = m.kind[cell]
            if m.room[cell] == 0 and kind != UNSEEN:
                m.room[cell] = 1
                if kind not in (WALL, DOOR):
                    queue[queue_length] = cell
                    queue_length += 1
        num_read += 1


# ---- observing -----------------------------------------------------------------------------------


def is_free(m: Memory, cell: int) -> bool:
    """Return True if the agent can enter a cell now."""
    kind = m.kind[cell]
    return bool(kind == FLOOR or (kind == DOOR and m.state[cell] == OPEN))


def write_bit(lines: Any, y: int, x: int, bit: bool) -> None:
    """Write the bit of the cell (y, x) into `lines`: bit masks of all rows, then of all columns."""
    lines[0, y] = lines[0, y] & ~(1 << x) | bit << x
    lines[1, x] = lines[1, x] & ~(1 << y) | bit << y


def write_cell(m: Memory, y: int, x: int, kind: int, state: int, color: int) -> None:
    """Write the content of a cell into the bot's map. If it has changed, set `m.changed`, and
    update the cell's bit masks and the place where its object was at the reset."""
    row, column = wrap(y, m.size), wrap(x, m.size)
    cell = row * m.size + column
    before = m.kind[cell]
    if before == kind and m.color[cell] == color and m.state[cell] == state:
        return
    m.changed = 1
    if before != kind or m.color[cell] != color:
        m.origin[cell] = pack_origin(cell, y, x)
    m.kind[cell], m.color[cell], m.state[cell] = kind, color, state
    if before == UNSEEN:
        m.idle = 0
        write_bit(m.unseen, row, column, False)
    write_bit(m.opaque, row, column, kind == WALL or (kind == DOOR and state != OPEN))


def apply_action(m: Memory, item: Any, neighbours: Any) -> None:
    """Update the memory by the effect of the last action. `item`, (3,), is the observed object in
    hand after it."""
    action, facing = m.action, m.facing
    ahead = neighbours[facing, m.cell]
    y, x = m.y + _STEPS[facing, 0], m.x + _STEPS[facing, 1]
    has_item, had_item = item[0] > NONE_GRID_OBJECT, m.held_kind > NONE_GRID_OBJECT
    if action == TURN_LEFT:
        m.facing = (facing + 3) % 4
    elif action == TURN_RIGHT:
        m.facing = (facing + 1) % 4
    elif action == MOVE_FORWARD and is_free(m, ahead):
        m.y, m.x, m.cell = y, x, ahead
    elif action == DROP and had_item and not has_item:
        write_cell(m, y, x, m.held_kind, 0, m.held_color)
        m.origin[ahead] = m.held_origin
    elif action == PICK_UP and has_item and not had_item:
        m.held_origin = m.origin[ahead]
        write_cell(m, y, x, FLOOR, 0, 0)
    if has_item and not had_item and action != PICK_UP:
        # the episode starts with the object in hand, and its first view shows it elsewhere
        for cell in range(m.size * m.size):
            if m.kind[cell] == item[0] and m.color[cell] == item[2]:
                m.held_origin = m.origin[cell]
                write_cell(m, cell // m.size, cell % m.size, FLOOR, 0, 0)
    m.held_kind, m.held_color = item[0], item[2]
    if not has_item:
        m.dropping = 0


def merge_view(m: Memory, grid: Any) -> None:
    """Write the observed cells `grid`, (h, w, 3), into the bot's map."""
    height, width = grid.shape[0], grid.shape[1]
    down, right = _STEPS[m.facing]
    for row in range(height):
        ahead = height - 1 - row
        for column in range(width):
            kind = grid[row, column, 0]
            if kind != HIDDEN:
                aside = column - width // 2
                y, x = m.y + ahead * down + aside * right, m.x + ahead * right - aside * down
                write_cell(m, y, x, kind, grid[row, column, 1], grid[row, column, 2])


def verify_clause(m: Memory, k: int, was_held: bool, neighbours: Any) -> bool:
    """Return True if the last action has fulfilled clause `k`. `was_held` is True if, before that
    action, the agent held an object that matches the clause's first description."""
    verb, action = m.clauses[k, VERB], m.action
    ahead = neighbours[m.facing, m.cell]
    if verb == GO_TO:
        return is_described(m, ahead, k, 0)
    if verb == OPEN_DOOR:
        is_open = m.kind[ahead] == DOOR and m.state[ahead] == OPEN
        return bool(action == TOGGLE and is_open and is_described(m, ahead, k, 0))
    if verb == PICK_UP_OBJECT:
        return action == PICK_UP and holds_described(m, k, 0)  # it picks nothing up with full hands
    if action == DROP and was_held and m.held_kind == NONE_GRID_OBJECT:  # PUT_NEXT
        for way in range(4):
            if is_described(m, neighbours[way, ahead], k, 1):
                return True
    return False


def verify_side(m: Memory, held: int, neighbours: Any) -> bool:
    """Set the bits of `m.done` for the clauses of the current side that the last action has
    fulfilled; return True if the whole side is done. A side is the clauses before or after the
    connector. Bit k of `held` is 1 if an object that matches the first description of clause k was
    in hand before the action."""
    first, count = find_side(m)
    is_done = True
    for k in range(first, first + count):
        if not m.done >> k & 1:
            if verify_clause(m, k, held >> k & 1 != 0, neighbours):
                m.done |= 1 << k
                m.changed = 1
                m.idle = 0
            else:
                is_done = False
    if is_done:
        m.done |= FIRST_SIDE_DONE
    return is_done


def find_side(m: Memory) -> tuple[int, int]:
    """Return the index of the first clause of the current side (the clauses before or after the
    connector), and the number of its clauses."""
    is_last_first, count, other_count = _SIDES[m.wording]
    is_second = m.done & FIRST_SIDE_DONE != 0
    if (is_last_first != 0) != is_second and other_count > 0:
        return count, other_count
    return 0, count


def observe(m: Memory, grid: Any, item: Any, neighbours: Any, queue: Any) -> None:
    """Add an observation to the memory, and note which clauses are done.

    Args:
        grid, item: observed cells and object in hand, three numbers each: type, state, colour.
        neighbours: neighbour of each cell in each direction.
        queue: scratch array, one number for each cell.
    """
    held_before = 0  # bit k: the object in hand matches clause k
    m.changed = m.action < 0  # the episode begins
    if m.action >= 0:
        for k in range(MAX_CLAUSES):
            held_before |= holds_described(m, k, 0) << k
        apply_action(m, item, neighbours)
    m.idle += 1
    merge_view(m, grid)
    places, other_places = m.clauses[:, PLACE], m.clauses[:, DESCRIPTION_LENGTH + PLACE]
    if m.changed and (places.any() or other_places.any()):
        find_room(m, neighbours, queue)
    # an action that completes the first side may complete the second one at once
    if m.action >= 0 and verify_side(m, held_before, neighbours):
        verify_side(m, 0, neighbours)
