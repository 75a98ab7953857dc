"""MiniGrid's helpers: sample cells, colours and types, and place objects and the agent.

An area is (y, x, height, width). The x of a cell is sampled before its y; a range of one value does
not use the RNG.
"""

import numpy as np
from numpy.typing import NDArray

from components.core import BLUE, GREEN, GREY, NONE, PURPLE, RED, YELLOW
from components.items import CLOSED
from components.minigrid import BALL, PARCEL
from components.objects import DOOR, EXIT, KEY, WALL
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT, RIGHT
from gv_engine.rules.world import World
from systems.building import put, put_agent

Area = tuple[int, int, int, int]

COLORS = BLUE, GREEN, GREY, PURPLE, RED, YELLOW
"""Colours in the order of their names, from which they are sampled."""
DIRECTIONS = RIGHT, BACKWARD, LEFT, FORWARD
"""Orientations of the agent, and directions to the sides of a room, in the order of MiniGrid's
numbers."""
RIGHT_SIDE, BOTTOM_SIDE, LEFT_SIDE, TOP_SIDE = range(4)
"""Sides of a room, in the same order."""
PORTABLE_TYPES = KEY, BALL, PARCEL
"""Types of portable objects; some levels only sample the first two."""

MOST_ATTEMPTS = 100_000
"""Attempts before a level fails; the reference would go on forever."""


# ---- deterministic -------------------------------------------------------------------------------


def whole_grid(w: World) -> Area:
    """Return the area of the whole grid, its walls included."""
    return 0, 0, w.height, w.width


def set_cell(w: World, kind: int, y: int, x: int, color: int = 0) -> int:
    """Replace the object in a cell by a new one and return its entity; for Floor, only remove the
    object."""
    w.remove(w.at[y, x])
    return put(w, kind, y, x, color)


def set_row(w: World, kind: int, y: int, left: int, right: int) -> None:
    """Fill the cells of a row from column `left` up to, not including, `right` with objects of a
    type."""
    for x in range(left, right):
        if w.kind.value[w.at[y, x]] != kind:
            set_cell(w, kind, y, x)


def set_column(w: World, kind: int, x: int, top: int, bottom: int) -> None:
    """Fill the cells of a column from row `top` up to, not including, `bottom` with objects of a
    type."""
    for y in range(top, bottom):
        if w.kind.value[w.at[y, x]] != kind:
            set_cell(w, kind, y, x)


def wall_in(w: World, area: Area) -> None:
    """Build walls on the four sides of an area."""
    y, x, height, width = area
    set_row(w, WALL, y, x, x + width)
    set_row(w, WALL, y + height - 1, x, x + width)
    set_column(w, WALL, x, y, y + height)
    set_column(w, WALL, x + width - 1, y, y + height)


def put_door(w: World, y: int, x: int, color: int, status: int = CLOSED) -> int:
    """Replace the object in a cell by a door, and return its entity."""
    door = set_cell(w, DOOR, y, x, color)
    w.door.status[door] = status
    return door


def put_goal(w: World, y: int, x: int) -> None:
    """Place the green goal into a free cell."""
    put(w, EXIT, y, x, GREEN)


# ---- random --------------------------------------------------------------------------------------


def random_color(w: World, without: int = NONE) -> int:
    """Return a random colour other than `without`."""
    k = w.rng.integers(0, len(COLORS) - (without != NONE))
    for i in range(k + 1):
        if COLORS[i] == without:  # the colours from here on have one index more
            return COLORS[k + 1]
    return COLORS[k]


def random_type(w: World, kinds: int = len(PORTABLE_TYPES)) -> int:
    """Return a random one of the first `kinds` portable types."""
    return PORTABLE_TYPES[w.rng.integers(0, kinds)]


def random_direction(w: World) -> int:
    """Return a random orientation of the agent."""
    return DIRECTIONS[w.rng.integers(0, len(DIRECTIONS))]


def pop_random(w: World, values: NDArray[np.int64], count: int) -> int:
    """Remove and return a random one of the first `count` entries of `values`; those behind it move
    up by one."""
    k = w.rng.integers(0, count)
    value = int(values[k])
    for i in range(k, count - 1):
        values[i] = values[i + 1]
    return value


def shuffled_colors(w: World) -> NDArray[np.int64]:
    """Return all colours in random order, each sampled from the remaining ones."""
    remaining = np.array(COLORS)
    shuffled = np.empty(len(COLORS), np.int64)
    for k in range(len(COLORS)):
        shuffled[k] = pop_random(w, remaining, len(COLORS) - k)
    return shuffled


def random_cell(w: World, area: Area) -> tuple[int, int]:
    """Return a random cell (y, x) of the part of `area` that is on the grid."""
    top, left, height, width = area
    x = w.rng.integers(left, min(left + width, w.width))
    y = w.rng.integers(top, min(top + height, w.height))
    return y, x


def random_free_cell(
    w: World, area: Area, min_distance: int = 1, attempts: int = MOST_ATTEMPTS
) -> tuple[int, int]:
    """Sample up to `attempts` cells of an area; return the first that is free and at least
    `min_distance` steps from all agents, or (-1, -1)."""
    for _ in range(attempts):
        y, x = random_cell(w, area)
        if w.at[y, x] == NOTHING and distance_to_agents(w, y, x) >= min_distance:
            return y, x
    return -1, -1


def distance_to_agents(w: World, y: int, x: int) -> int:
    """Return the Manhattan distance from a cell to the nearest agent."""
    least = w.height + w.width
    for agent in w.agents():
        least = min(least, abs(y - w.position.y[agent]) + abs(x - w.position.x[agent]))
    return least


def place(w: World, kind: int, color: int, area: Area, min_distance: int = 1) -> int:
    """Place a new object into a random free cell of an area, at least `min_distance` steps from all
    agents, and return its entity; the level fails if no cell is found."""
    y, x = random_free_cell(w, area, min_distance)
    if y < 0:
        w.fail("MiniGrid: the level has no room for all its objects; make it larger")
        return NOTHING
    return put(w, kind, y, x, color)


def place_agent(w: World, area: Area) -> None:
    """Place the agent into a random free cell of an area, with a random orientation; the level
    fails if no cell is found."""
    put_agent(w, AGENT, -1, -1, RIGHT)
    y, x = random_free_cell(w, area)
    if y < 0:
        w.fail("MiniGrid: the level has no room for the agent; make it larger")
        y, x = 0, 0
    put_agent(w, AGENT, y, x, random_direction(w))


def place_agent_at_start(w: World, random_start: bool) -> None:
    """Place the agent into the upper left corner, facing right; if `random_start`, anywhere."""
    if random_start:
        place_agent(w, whole_grid(w))
    else:
        put_agent(w, AGENT, 1, 1, RIGHT)
