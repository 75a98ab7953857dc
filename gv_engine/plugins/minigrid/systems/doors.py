"""Levels of MiniGrid about doors: LockedRoom, Playground, RedBlueDoors."""

from collections.abc import Sequence

import numpy as np

from components.core import BLUE, GREEN, RED
from components.items import CLOSED, LOCKED, OPEN
from components.objects import EXIT, KEY, WALL
from gv_engine.plugins.minigrid.systems.missions import set_second_target, set_target
from gv_engine.plugins.minigrid.systems.placing import (
    place,
    place_agent,
    put_door,
    random_color,
    random_type,
    set_column,
    set_row,
    shuffled_colors,
    wall_in,
    whole_grid,
)
from gv_engine.plugins.minigrid.systems.steps import success_reward
from gv_engine.rules.system import RESET, REWARD, TERMINATING, system
from gv_engine.rules.world import World
from systems.building import build_room, put

# ---- LockedRoom ----------------------------------------------------------------------------------


_ROWS_PER_ROOM, _COLUMNS_PER_ROOM = 6, 7
"""Distance between the walls above and below a room, and between those on its sides."""


def _check_shape(shape: tuple[int, int]) -> str:
    return "" if shape == (19, 19) else f"found shape {list(shape)}: it is always [19, 19]"


@system(RESET, check=_check_shape)
def locked_room(w: World, shape: Sequence[int]) -> None:
    """Build six rooms beside a hall: the goal is in the locked room, the key in another one."""
    build_room(w, shape)
    left, right = w.width // 2 - 2, w.width // 2 + 2
    set_column(w, WALL, left, 0, w.height)
    set_column(w, WALL, right, 0, w.height)
    for y in range(0, 3 * _ROWS_PER_ROOM, _ROWS_PER_ROOM):
        set_row(w, WALL, y, 0, left)
        set_row(w, WALL, y, right, w.width)
    locked = w.rng.integers(0, 6)
    y, x = random_cell_in_room(w, locked, right)
    put(w, EXIT, y, x, GREEN)
    colors = shuffled_colors(w)
    doors = np.zeros(6, np.int64)
    for room in range(6):
        status = LOCKED if room == locked else CLOSED
        x = left if room % 2 == 0 else right
        y = room // 2 * _ROWS_PER_ROOM + _ROWS_PER_ROOM // 2
        doors[room] = put_door(w, y, x, colors[room], status)
    other = w.rng.integers(0, 6)
    while other == locked:
        other = w.rng.integers(0, 6)
    y, x = random_cell_in_room(w, other, right)
    put(w, KEY, y, x, colors[locked])
    place_agent(w, (0, left, w.height, right - left))
    set_target(w, doors[locked])
    set_second_target(w, doors[other])


def random_cell_in_room(w: World, room: int, right_column: int) -> tuple[int, int]:
    """Return a random inner cell (y, x) of one of six rooms, numbered row by row; `right_column` is
    the column where the right-hand rooms begin."""
    left, top = (0 if room % 2 == 0 else right_column), room // 2 * _ROWS_PER_ROOM
    x = w.rng.integers(left + 1, left + _COLUMNS_PER_ROOM)
    y = w.rng.integers(top + 1, top + _ROWS_PER_ROOM)
    return y, x


# ---- Playground ----------------------------------------------------------------------------------


@system(RESET)
def playground(w: World, shape: Sequence[int], num_things: int) -> None:
    """Build nine rooms with doors between them and random objects."""
    build_room(w, shape)
    height, width = w.height // 3, w.width // 3
    for top in range(0, 3 * height, height):
        for left in range(0, 3 * width, width):
            bottom, right = top + height, left + width
            if left < 2 * width:
                set_column(w, WALL, right, top, bottom)
                y = w.rng.integers(top + 1, bottom - 1)
                put_door(w, y, right, random_color(w))
            if top < 2 * height:
                set_row(w, WALL, bottom, left, right)
                x = w.rng.integers(left + 1, right - 1)
                put_door(w, bottom, x, random_color(w))
    place_agent(w, whole_grid(w))
    for _ in range(num_things):
        kind = random_type(w)
        place(w, kind, random_color(w), whole_grid(w))


# ---- RedBlueDoors --------------------------------------------------------------------------------


@system(RESET)
def red_blue_doors(w: World, shape: Sequence[int]) -> None:
    """Build a room with a red door on the left and a blue one on the right."""
    build_room(w, shape)
    size = w.height
    room = 0, size // 2, size, size
    wall_in(w, room)
    place_agent(w, room)
    put_door(w, w.rng.integers(1, size - 1), size // 2, RED)
    put_door(w, w.rng.integers(1, size - 1), size // 2 + size - 1, BLUE)


def is_door_open(w: World, color: int) -> bool:
    """Return True if the first door of a colour is open."""
    for door in w.having(w.door):
        if w.color.value[door] == color:
            return w.door.status[door] == OPEN
    return False


@system(REWARD)
def open_blue_door(w: World, agent: int, max_steps: int) -> float:
    """Pays for opening the blue door while the red one is open; more for fewer steps."""
    return success_reward(w, max_steps) if opened_in_order(w, agent) else 0.0


@system(TERMINATING, says="You opened the blue door")
def blue_door_is_open(w: World, agent: int) -> bool:
    """The blue door is open."""
    return is_door_open(w, BLUE)


@system(TERMINATING)
def opened_in_order(w: World, agent: int) -> bool:
    """The blue door is open, and the red one was before."""
    # a step opens one door, and opening the blue one ends the episode
    return is_door_open(w, BLUE) and is_door_open(w, RED)
