"""Rooms, objects and instructions of BabyAI's levels, which `babyai` combines.

A level that cannot be completed is rejected: the functions here then stop using the RNG, and
another level is sampled.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.core import NONE, NONE_GRID_OBJECT
from components.items import CLOSED, LOCKED
from components.objects import WALL
from gv_engine.plugins.minigrid.systems.grammar import (
    CLAUSE_LENGTH,
    COLOR,
    DESCRIPTION_LENGTH,
    KIND,
    MAX_CLAUSES,
    VERB,
)
from gv_engine.plugins.minigrid.systems.instructions import REJECTED, Clauses, instruct
from gv_engine.plugins.minigrid.systems.placing import (
    COLORS,
    DIRECTIONS,
    MOST_ATTEMPTS,
    PORTABLE_TYPES,
    Area,
    random_free_cell,
)
from gv_engine.plugins.minigrid.systems.room_grid import (
    Doors,
    add_door,
    build_room_grid,
    connect_all_rooms,
    has_neighbour,
    is_side_open,
    room_area,
)
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.geometry import RIGHT
from gv_engine.rules.world import World
from systems.building import put, put_agent
from systems.queries import ahead, neighbours

Entities = NDArray[np.int64]

_MOST_TRIES = 1001
"""Cells that are tried for an object or the agent before a level is rejected."""
NOWHERE = -1, -1
"""Room (row, column) that does not exist."""


# ---- rejection -----------------------------------------------------------------------------------


def reject(w: World) -> None:
    """Mark the level as one that cannot be completed."""
    w.progress.status[AGENT] = REJECTED


def is_rejected(w: World) -> bool:
    """Return True if the level cannot be completed."""
    return w.progress.status[AGENT] == REJECTED


def sample(w: World, count: int) -> int:
    """Return a random number below `count`; 0, without use of the RNG, in a rejected level."""
    return 0 if is_rejected(w) else w.rng.integers(0, count)


def sample_color(w: World) -> int:
    """Return a random colour."""
    return COLORS[sample(w, len(COLORS))]


def sample_type(w: World) -> int:
    """Return a random portable type."""
    return PORTABLE_TYPES[sample(w, len(PORTABLE_TYPES))]


def sample_subset(w: World, values: Entities, count: int) -> Entities:
    """Return `count` of the values in random order, sampled without replacement."""
    remaining = values.copy()
    for k in range(count):
        i = k + sample(w, len(remaining) - k)
        value = remaining[i]
        # the skipped values keep their order
        for j in range(i, k, -1):
            remaining[j] = remaining[j - 1]
        remaining[k] = value
    return remaining[:count]


# ---- rooms and objects ---------------------------------------------------------------------------


def begin_level(w: World, shape: Sequence[int], room_size: int) -> Doors:
    """Build closed rooms, add the component `Progress` to the agent, and return the cells reserved
    for doors."""
    doors = build_room_grid(w, shape, room_size)
    w.add(AGENT, "progress")
    return doors


def size_of_rooms(w: World, doors: Doors) -> int:
    """Return the side of the square rooms in cells, walls included."""
    return (w.height - 1) // len(doors) + 1


def area_of_room(w: World, doors: Doors, row: int, column: int) -> Area:
    """Return the area (top, left, height, width) of a room, walls included."""
    return room_area(row, column, size_of_rooms(w, doors))


def room_of_agent(w: World, doors: Doors) -> tuple[int, int]:
    """Return the row and column of the agent's room."""
    step = size_of_rooms(w, doors) - 1
    return w.position.y[AGENT] // step, w.position.x[AGENT] // step


def add_object(w: World, doors: Doors, row: int, column: int, kind: int, color: int) -> int:
    """Place a new object into a random free cell of a room that is not next to the agent, and
    return its entity; reject the level if no cell is found."""
    if is_rejected(w):
        return NOTHING
    y, x = random_free_cell(w, area_of_room(w, doors, row, column), 2, _MOST_TRIES)
    if y < 0:
        reject(w)
        return NOTHING
    return put(w, kind, y, x, color)


def has_object(w: World, kind: int, color: int) -> bool:
    """Return True if an object of this type and colour is on the grid."""
    for e in w.of_type(kind):
        if w.color.value[e] == color:
            return True
    return False


def add_objects(
    w: World, doors: Doors, count: int, row: int = -1, column: int = -1, all_different: bool = False
) -> Entities:
    """Place `count` random objects, all different if `all_different`, into the room (row, column)
    and return their entities; a row or column of -1 is sampled for each object.

    Args:
        all_different: if True, no two objects on the grid have the same type and colour.
    """
    entities = np.zeros(count, np.int64)
    k = 0
    while k < count and not is_rejected(w):
        color = sample_color(w)
        kind = sample_type(w)
        if not (all_different and has_object(w, kind, color)):
            x = sample(w, len(doors[0])) if column < 0 else column
            y = sample(w, len(doors)) if row < 0 else row
            entities[k] = add_object(w, doors, y, x, kind, color)
            k += 1
    return entities


def add_random_door(
    w: World, doors: Doors, row: int, column: int, status: int = -1, color: int = NONE
) -> int:
    """Place a door on a random doorless side of the room (row, column), and return its entity.

    The status is sampled if it is -1, and the colour if it is NONE.
    """
    side = sample(w, 4)
    while not is_rejected(w) and (
        not has_neighbour(doors, row, column, side) or is_side_open(w, doors, row, column, side)
    ):
        side = sample(w, 4)
    color = sample_color(w) if color == NONE else color
    if status < 0:
        status = LOCKED if sample(w, 2) == 0 else CLOSED
    return NOTHING if is_rejected(w) else add_door(w, doors, (row, column), side, color, status)


def put_agent_in_room(w: World, doors: Doors, row: int = -1, column: int = -1) -> None:
    """Place the agent into a random free cell of a room, facing a free cell or a wall; row and
    column -1 are sampled."""
    column = sample(w, len(doors[0])) if column < 0 else column
    row = sample(w, len(doors)) if row < 0 else row
    room = area_of_room(w, doors, row, column)
    for _ in range(MOST_ATTEMPTS):
        if is_rejected(w):
            return
        put_agent(w, AGENT, -1, -1, RIGHT)
        y, x = random_free_cell(w, room, 1, _MOST_TRIES)
        if y < 0:
            reject(w)
            return
        put_agent(w, AGENT, y, x, DIRECTIONS[w.rng.integers(0, len(DIRECTIONS))])
        thing = ahead(w, AGENT)
        if thing == NOTHING or w.kind.value[thing] == WALL:
            return
    reject(w)  # the reference would go on forever


def put_agent_outside_room(w: World, doors: Doors, locked: tuple[int, int]) -> None:
    """Place the agent into a random room other than the room `locked`, (row, column)."""
    put_agent_in_room(w, doors)
    while not is_rejected(w) and room_of_agent(w, doors) == locked:
        put_agent_in_room(w, doors)


def connect_rooms(
    w: World, doors: Doors, locked: tuple[int, int] = NOWHERE, without: int = NONE
) -> None:
    """Add random doors until every room can be reached, where all doors count as passable.

    No added door leads into the room `locked` or has the colour `without`. After too many attempts
    the level is marked as rejected.
    """
    size = size_of_rooms(w, doors)
    if not (is_rejected(w) or connect_all_rooms(w, doors, size, locked, without)):
        reject(w)


def all_objects_reachable(w: World) -> bool:
    """Return True if the agent can reach all objects without moving any of them; doors of any
    status count as passable."""
    reached = np.zeros((w.height, w.width), np.bool_)
    queue = np.empty((w.height * w.width, 2), np.int64)
    queue[0] = w.position.y[AGENT], w.position.x[AGENT]
    reached[queue[0, 0], queue[0, 1]] = True
    queue_length, num_read = 1, 0
    while num_read < queue_length:
        cell_y, cell_x = queue[num_read, 0], queue[num_read, 1]
        num_read += 1
        thing = w.at[cell_y, cell_x]
        if thing == NOTHING or w.door.has[thing]:
            for y, x in neighbours(cell_y, cell_x):
                if w.inside(y, x) and not reached[y, x]:
                    reached[y, x] = True
                    queue[queue_length] = y, x
                    queue_length += 1
    for e in w.having(w.color):
        if not reached[w.position.y[e], w.position.x[e]]:
            return False
    return True


def require_reachable(w: World, expected: bool = True) -> None:
    """Reject the level if the agent cannot reach all objects; if `expected` is False, reject it if
    the agent can reach them all."""
    if not is_rejected(w) and all_objects_reachable(w) != expected:
        reject(w)


# ---- instructions --------------------------------------------------------------------------------


def no_clauses() -> Clauses:
    """Return an array of zeros, (MAX_CLAUSES, CLAUSE_LENGTH): an instruction without clauses."""
    return np.zeros((MAX_CLAUSES, CLAUSE_LENGTH), np.int64)


def set_clause(
    w: World, clauses: Clauses, k: int, verb: int, thing: int, other: int = NOTHING
) -> None:
    """Write into clause `k` the verb, and the types and colours of the object `thing` and, unless
    it is NOTHING, of the second object `other`."""
    clauses[k, VERB] = verb
    for i in range(2):
        e, start = (thing, other)[i], i * DESCRIPTION_LENGTH
        clauses[k, start + KIND] = w.kind.value[e] if e != NOTHING else NONE_GRID_OBJECT
        clauses[k, start + COLOR] = w.color.value[e]


def instruct_about_object(
    w: World, doors: Doors, verb: int, target: int, include_color: bool = True
) -> None:
    """Give the agent an instruction to do `verb` with an object of the type and, if
    `include_color`, the colour of the entity `target`; `doors` tell the size of rooms."""
    clauses = no_clauses()
    set_clause(w, clauses, 0, verb, target)
    if not include_color:
        clauses[0, COLOR] = NONE
    instruct(w, clauses, size_of_rooms(w, doors))
