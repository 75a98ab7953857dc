"""Memory of the bot for BabyAI's instructions: the cells it has seen, and which clauses are done.

Coordinates are relative to the first cell and direction of an episode: the agent starts in cell 0
and faces up. The map wraps around at its edges; it is at least as large as the level, so that no
two cells of a level share a cell of the map. Functions act on arrays with a first axis of N worlds;
they run interpreted and compiled.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN, NONE, NONE_GRID_OBJECT
from components.items import OPEN
from components.objects import DOOR, WALL
from systems.minigrid.grammar import (
    ANYWHERE,
    BEHIND,
    CLAUSE_LENGTH,
    COLOR,
    GO_TO,
    IN_FRONT,
    KIND,
    MAX_CLAUSES,
    ON_LEFT,
    ON_RIGHT,
    OPEN_DOOR,
    PICK_UP_OBJECT,
    PLACE,
    PUT_NEXT,
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
MAX_SIZE = 48
"""Greatest number of rows and columns of a map: a number has a bit for each."""
FIRST_SIDE_DONE = 1 << MAX_CLAUSES
"""Bit of `Memory.done`."""

_SIDES = np.array([(is_reversed(k), *count_clauses(k)) for k in range(len(WORDINGS))])
"""For each wording: whether the side behind the connector comes first, and clauses of each side."""
_STEPS = np.array([(-1, 0), (0, 1), (1, 0), (0, -1)])
"""For each direction: rows and columns to the cell ahead."""


class Memory(NamedTuple):
    """What the bot remembers of N worlds with C map cells.

    Attributes:
        kind, color, state: (N, C) type, colour and state in each cell when it was last seen; type
            UNSEEN where none was.
        unseen: (N, 2, S) bit x of number [0, y], and bit y of number [1, x], for each cell that has
            not been seen.
        opaque: (N, 2, S) the same for walls and doors that are not open.
        origin: (N, C) where the object in a cell was at the reset, as a number of `pack`; 0 if that
            is unknown.
        room: (N, C) 1 for the cells of the room where the agent started, with its walls and doors.
        clauses: (N, 4, 9) numbers of the clauses, see `systems.minigrid.grammar`.
        wording: (N,) index of the wording.
        y, x, cell, facing: (N,) row, column, cell and direction of the agent; row and column do not
            wrap around.
        action: (N,) last action; -1 at the start of an episode.
        held_kind, held_color, held_origin: (N,) object in hand.
        done: (N,) bit k for clause k, bit 4 for all clauses of the side that comes first.
        plan, plan_length, plan_index: (N, P) next actions while no seen cell changes, their number
            or NO_WAY, and the index of the next one.
        changed: (N,) 1 if the last observation has changed a cell of the map.
        dropping: (N,) 1 + the cell where the agent is about to drop the object in hand, or 0.
        blocker: (N,) 1 + the cell of an object that is about to be moved out of the way, or 0.
        idle: (N,) steps since a cell was first seen or a clause was done.
    """

    kind: NDArray[np.uint8]
    color: NDArray[np.uint8]
    state: NDArray[np.uint8]
    unseen: NDArray[np.int64]
    opaque: NDArray[np.int64]
    origin: NDArray[np.int32]
    room: NDArray[np.uint8]
    clauses: NDArray[np.int64]
    wording: NDArray[np.int64]
    y: NDArray[np.int64]
    x: NDArray[np.int64]
    cell: NDArray[np.int64]
    facing: NDArray[np.int64]
    action: NDArray[np.int64]
    held_kind: NDArray[np.int64]
    held_color: NDArray[np.int64]
    held_origin: NDArray[np.int64]
    done: NDArray[np.int64]
    plan: NDArray[np.int64]
    plan_length: NDArray[np.int64]
    plan_index: NDArray[np.int64]
    changed: NDArray[np.int64]
    dropping: NDArray[np.int64]
    blocker: NDArray[np.int64]
    idle: NDArray[np.int64]


def make_memory(num_envs: int, size: int) -> Memory:
    """Return an empty memory for `num_envs` worlds with maps of `size` × `size` cells."""
    shapes = {
        **dict.fromkeys(("kind", "color", "state", "origin", "room"), (size * size,)),
        **dict.fromkeys(("unseen", "opaque"), (2, size)),
        "clauses": (MAX_CLAUSES, CLAUSE_LENGTH),
        "plan": (PLAN_LENGTH,),
    }
    dtypes = {**dict.fromkeys(("kind", "color", "state", "room"), np.uint8), "origin": np.int32}
    return Memory(
        *(
            np.zeros((num_envs, *shapes.get(name, ())), dtypes.get(name, np.int64))
            for name in Memory._fields
        )
    )


def forget(m: Memory, worlds: Any) -> None:
    """Empty the memory of `worlds` for new episodes."""
    for array in m:
        array[worlds] = 0
    m.unseen[worlds] = (1 << m.unseen.shape[2]) - 1
    m.action[worlds] = -1


# ---- geometry ------------------------------------------------------------------------------------


def wrap(number: int, size: int) -> int:
    """Return a row or column of the map, from `-size` to `2 * size - 1`, as one on it."""
    if number < 0:
        return number + size
    return number - size if number >= size else number


def pack(cell: int, y: int, x: int) -> int:
    """Return a cell, and the places where it is relative to the agent at the start, as one number:
    bit k for the place k of `systems.minigrid.grammar`, and the cell above them."""
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


def matches(m: Memory, i: int, k: int, second: int, kind: int, color: int, origin: int) -> bool:
    """Return True if an object of this type and colour matched a description of clause `k` at the
    reset, the `second` one of it if that is 1. A place means the room where the agent started, and
    its walls."""
    clause, start = m.clauses[i, k], 4 * second
    place = clause[start + PLACE]
    is_there = place == ANYWHERE or origin >> place & m.room[i, origin >> BEHIND + 1] != 0
    return bool(
        is_object(kind)
        and (clause[start + KIND] == NONE_GRID_OBJECT or clause[start + KIND] == kind)
        and (clause[start + COLOR] == NONE or clause[start + COLOR] == color)
        and is_there
    )


def is_described(m: Memory, i: int, cell: int, k: int, second: int) -> bool:
    """Return True if the object in a cell matched a description of clause `k` at the reset."""
    return matches(m, i, k, second, m.kind[i, cell], m.color[i, cell], m.origin[i, cell])


def holds_described(m: Memory, i: int, k: int, second: int) -> bool:
    """Return True if the object in hand matched a description of clause `k` at the reset."""
    return matches(m, i, k, second, m.held_kind[i], m.held_color[i], m.held_origin[i])


def find_room(m: Memory, i: int, neighbours: Any, queue: Any) -> None:
    """Mark the seen cells of the room where the agent started, with its walls and doors."""
    room = m.room[i]
    room[:] = 0
    room[START] = 1
    queue[0] = START
    read, end = 0, 1
    while read < end:
        for way in range(4):
            cell = neighbours[way, queue[read]]
            kind = m.kind[i, cell]
            if room[cell] == 0 and kind != UNSEEN:
                room[cell] = 1
                if kind not in (WALL, DOOR):
                    queue[end] = cell
                    end += 1
        read += 1


# ---- observing -----------------------------------------------------------------------------------


def is_free(m: Memory, i: int, cell: int) -> bool:
    """Return True if the agent can enter a cell now."""
    kind = m.kind[i, cell]
    return bool(kind == FLOOR or (kind == DOOR and m.state[i, cell] == OPEN))


def write_bit(lines: Any, y: int, x: int, bit: bool) -> None:
    """Write the bit of a cell into `lines`, the numbers of all rows and columns."""
    lines[0, y] = lines[0, y] & ~(1 << x) | bit << x
    lines[1, x] = lines[1, x] & ~(1 << y) | bit << y


def write_cell(m: Memory, i: int, y: int, x: int, kind: int, state: int, color: int) -> None:
    """Write the content of a cell into the map of world `i`, if it differs."""
    size = m.unseen.shape[2]
    row, column = wrap(y, size), wrap(x, size)
    cell = row * size + column
    before = m.kind[i, cell]
    if before == kind and m.color[i, cell] == color and m.state[i, cell] == state:
        return
    m.changed[i] = 1
    if before != kind or m.color[i, cell] != color:
        m.origin[i, cell] = pack(cell, y, x)
    m.kind[i, cell], m.color[i, cell], m.state[i, cell] = kind, color, state
    if before == UNSEEN:
        m.idle[i] = 0
        write_bit(m.unseen[i], row, column, False)
    write_bit(m.opaque[i], row, column, kind == WALL or (kind == DOOR and state != OPEN))


def apply_action(m: Memory, i: int, item: Any, neighbours: Any) -> None:
    """Change the memory of world `i` by the effect of the last action; `item` is the observed
    object in hand after it."""
    action, facing, size = m.action[i], m.facing[i], m.unseen.shape[2]
    ahead = neighbours[facing, m.cell[i]]
    y, x = m.y[i] + _STEPS[facing, 0], m.x[i] + _STEPS[facing, 1]
    has_item, had_item = item[0] > NONE_GRID_OBJECT, m.held_kind[i] > NONE_GRID_OBJECT
    if action == TURN_LEFT:
        m.facing[i] = (facing + 3) % 4
    elif action == TURN_RIGHT:
        m.facing[i] = (facing + 1) % 4
    elif action == MOVE_FORWARD and is_free(m, i, ahead):
        m.y[i], m.x[i], m.cell[i] = y, x, ahead
    elif action == DROP and had_item and not has_item:
        write_cell(m, i, y, x, m.held_kind[i], 0, m.held_color[i])
        m.origin[i, ahead] = m.held_origin[i]
    elif action == PICK_UP and has_item and not had_item:
        m.held_origin[i] = m.origin[i, ahead]
        write_cell(m, i, y, x, FLOOR, 0, 0)
    if has_item and not had_item and action != PICK_UP:
        # the episode starts with the object in hand, and its first view shows it elsewhere
        for cell in range(size * size):
            if m.kind[i, cell] == item[0] and m.color[i, cell] == item[2]:
                m.held_origin[i] = m.origin[i, cell]
                write_cell(m, i, cell // size, cell % size, FLOOR, 0, 0)
    m.held_kind[i], m.held_color[i] = item[0], item[2]
    if not has_item:
        m.dropping[i] = 0


def merge_view(m: Memory, i: int, grid: Any) -> None:
    """Write the observed cells into the map of world `i`."""
    height, width = grid.shape[0], grid.shape[1]
    down, right = _STEPS[m.facing[i]]
    for row in range(height):
        ahead = height - 1 - row
        for column in range(width):
            kind = grid[row, column, 0]
            if kind != HIDDEN:
                aside = column - width // 2
                y, x = m.y[i] + ahead * down + aside * right, m.x[i] + ahead * right - aside * down
                write_cell(m, i, y, x, kind, grid[row, column, 1], grid[row, column, 2])


def verify_clause(m: Memory, i: int, k: int, was_held: bool, neighbours: Any) -> bool:
    """Return True if the last action fulfils clause `k`; `was_held` says that an object of its
    first description was in hand before."""
    verb, action = m.clauses[i, k, VERB], m.action[i]
    ahead = neighbours[m.facing[i], m.cell[i]]
    if verb == GO_TO:
        return is_described(m, i, ahead, k, 0)
    if verb == OPEN_DOOR:
        is_open = m.kind[i, ahead] == DOOR and m.state[i, ahead] == OPEN
        return bool(action == TOGGLE and is_open and is_described(m, i, ahead, k, 0))
    if verb == PICK_UP_OBJECT:
        return action == PICK_UP and holds_described(m, i, k, 0)
    if verb == PUT_NEXT and action == DROP and was_held and m.held_kind[i] == NONE_GRID_OBJECT:
        for way in range(4):
            if is_described(m, i, neighbours[way, ahead], k, 1):
                return True
    return False


def verify_side(m: Memory, i: int, held: int, neighbours: Any) -> bool:
    """Note which clauses of the side in turn are done; return True if all are. Bit k of `held` says
    that an object of the first description of clause k was in hand before."""
    first, count = find_side(m, i)
    is_done = True
    for k in range(first, first + count):
        if not m.done[i] >> k & 1:
            if verify_clause(m, i, k, held >> k & 1 != 0, neighbours):
                m.done[i] |= 1 << k
                m.changed[i] = 1
                m.idle[i] = 0
            else:
                is_done = False
    if is_done:
        m.done[i] |= FIRST_SIDE_DONE
    return is_done


def find_side(m: Memory, i: int) -> tuple[int, int]:
    """Return the first clause of the side that is to be done now, and the number of its clauses."""
    is_last_first, count, other_count = _SIDES[m.wording[i]]
    is_second = m.done[i] & FIRST_SIDE_DONE != 0
    if (is_last_first != 0) != is_second and other_count > 0:
        return count, other_count
    return 0, count


def observe(m: Memory, i: int, grid: Any, item: Any, neighbours: Any, queue: Any) -> None:
    """Add an observation of world `i` to its memory, and note which clauses are done.

    Args:
        grid, item: observed cells and object in hand, three numbers each: type, state, colour.
        neighbours: neighbour of each cell in each direction.
        queue: room for as many numbers as there are cells.
    """
    held = 0
    m.changed[i] = m.action[i] < 0
    if m.action[i] >= 0:
        for k in range(MAX_CLAUSES):
            held |= holds_described(m, i, k, 0) << k
        apply_action(m, i, item, neighbours)
    m.idle[i] += 1
    merge_view(m, i, grid)
    if m.changed[i] and m.clauses[i, :, PLACE::4].any():
        find_room(m, i, neighbours, queue)
    if m.action[i] >= 0 and verify_side(m, i, held, neighbours):
        verify_side(m, i, 0, neighbours)
