"""How MiniGrid draws: cells, colours, and where things and the agent go.

An area is (y, x, height, width). Of a cell x is drawn before y; a range of one value draws nothing.
"""

import numpy as np
from numpy.typing import NDArray

from components.appearance import BLUE, GREEN, GREY, PURPLE, RED, YELLOW
from components.doors import CLOSED
from components.minigrid import BALL, PARCEL
from components.objects import DOOR, EXIT, KEY, WALL
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT, RIGHT
from gv_engine.rules.world import World
from systems.building import put, put_agent

Area = tuple[int, int, int, int]

COLORS = BLUE, GREEN, GREY, PURPLE, RED, YELLOW
"""In the order of their names, by which they are drawn."""
WAYS = RIGHT, BACKWARD, LEFT, FORWARD
"""Where an agent may look, and the sides of a room, in the order of their numbers."""
THINGS = KEY, BALL, PARCEL
"""What may be picked up; some levels draw from the first two alone."""

ENDLESS = 100_000
"""Attempts after which there is no room, where the reference would go on for ever."""


# ---- without chance ----------------------------------------------------------------------------


def whole(w: World) -> Area:
    """All of the grid, its walls included."""
    return 0, 0, w.height, w.width


def set_cell(w: World, kind: int, y: int, x: int, color: int = 0) -> int:
    """A new object in a cell, whatever was there; Floor for nothing."""
    w.remove(w.at[y, x])
    return put(w, kind, y, x, color)


def set_row(w: World, kind: int, y: int, left: int, right: int) -> None:
    """Plain objects of a type in the cells of a row, from a column to before another one."""
    for x in range(left, right):
        if w.kind.value[w.at[y, x]] != kind:
            set_cell(w, kind, y, x)


def set_column(w: World, kind: int, x: int, top: int, bottom: int) -> None:
    """Plain objects of a type in the cells of a column, from a row to before another one."""
    for y in range(top, bottom):
        if w.kind.value[w.at[y, x]] != kind:
            set_cell(w, kind, y, x)


def wall_in(w: World, area: Area) -> None:
    """Walls on the four sides of an area."""
    y, x, height, width = area
    set_row(w, WALL, y, x, x + width)
    set_row(w, WALL, y + height - 1, x, x + width)
    set_column(w, WALL, x, y, y + height)
    set_column(w, WALL, x + width - 1, y, y + height)


def put_door(w: World, y: int, x: int, color: int, status: int = CLOSED) -> int:
    """A door, closed unless said otherwise, in place of whatever is in a cell."""
    door = set_cell(w, DOOR, y, x, color)
    w.door.status[door] = status
    return door


def put_goal(w: World, y: int, x: int) -> None:
    """The green goal into a free cell."""
    put(w, EXIT, y, x, GREEN)


# ---- by chance -----------------------------------------------------------------------------------


def draw_color(w: World) -> int:
    """Any colour."""
    return COLORS[w.rng.integers(0, len(COLORS))]


def draw_thing(w: World, kinds: int = len(THINGS)) -> int:
    """Any of the first types of THINGS."""
    return THINGS[w.rng.integers(0, kinds)]


def draw_out(w: World, left: NDArray[np.int64], count: int) -> int:
    """Any of the first `count` values; those behind it move up."""
    k = w.rng.integers(0, count)
    drawn = int(left[k])
    for i in range(k, count - 1):
        left[i] = left[i + 1]
    return drawn


def shuffled_colors(w: World) -> NDArray[np.int64]:
    """All colours, drawn one after the other from those that are left."""
    left = np.array(COLORS)
    drawn = np.empty(len(COLORS), np.int64)
    for k in range(len(COLORS)):
        drawn[k] = draw_out(w, left, len(COLORS) - k)
    return drawn


def draw_cell(w: World, area: Area) -> tuple[int, int]:
    """Any cell of an area, as far as the grid has it."""
    top, left, height, width = area
    x = w.rng.integers(left, min(left + width, w.width))
    y = w.rng.integers(top, min(top + height, w.height))
    return y, x


def draw_free_cell(
    w: World, area: Area, apart: int = 1, attempts: int = ENDLESS
) -> tuple[int, int]:
    """Any free cell of an area that is so many steps from all agents; (-1, -1) after too many
    attempts."""
    for _ in range(attempts):
        y, x = draw_cell(w, area)
        if w.at[y, x] == NOTHING and steps_to_agents(w, y, x) >= apart:
            return y, x
    return -1, -1


def steps_to_agents(w: World, y: int, x: int) -> int:
    """The fewest steps from a cell to an agent, as if nothing were in the way."""
    fewest = w.height + w.width
    for agent in w.agents():
        fewest = min(fewest, abs(y - w.position.y[agent]) + abs(x - w.position.x[agent]))
    return fewest


def place(w: World, kind: int, color: int, area: Area, apart: int = 1) -> int:
    """A new object in a free cell of an area; Floor for none."""
    y, x = draw_free_cell(w, area, apart)
    if y < 0:
        w.fail("MiniGrid: the level has no room for all its things; make it larger")
        return NOTHING
    return put(w, kind, y, x, color)


def place_agent(w: World, area: Area) -> None:
    """The agent in a free cell of an area, looking anywhere."""
    put_agent(w, AGENT, -1, -1, RIGHT)
    y, x = draw_free_cell(w, area)
    if y < 0:
        w.fail("MiniGrid: the level has no room for the agent; make it larger")
        y, x = 0, 0
    put_agent(w, AGENT, y, x, WAYS[w.rng.integers(0, len(WAYS))])


def start(w: World, random_start: bool) -> None:
    """The agent in the upper left corner, looking right, or anywhere."""
    if random_start:
        place_agent(w, whole(w))
    else:
        put_agent(w, AGENT, 1, 1, RIGHT)
