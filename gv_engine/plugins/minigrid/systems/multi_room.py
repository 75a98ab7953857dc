"""MiniGrid's MultiRoom: a chain of rooms, each behind a door of the previous one.

A room is a row of numbers: y, x, height, width, and the y and x of its entrance. Sides are numbered
as in `placing`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.core import GREEN
from components.objects import EXIT
from gv_engine.plugins.minigrid.systems.placing import (
    BOTTOM_SIDE,
    COLORS,
    LEFT_SIDE,
    RIGHT_SIDE,
    Area,
    place,
    place_agent,
    put_door,
    wall_in,
)
from gv_engine.rules.system import RESET, system
from gv_engine.rules.world import World

_LEAST_SIDE = 4
"""Minimum number of rows and of columns of a room, walls included."""
_MOST_EXITS = 8
"""Maximum number of exits that are tried for a room."""
_MOST_CHAINS = 10_000
"""Maximum number of chains that are tried; the reference would go on forever."""

Rooms = NDArray[np.int64]


def is_vertical(side: int) -> bool:
    """Return True for the right and the left side of a room."""
    return side in (RIGHT_SIDE, LEFT_SIDE)


def room_area(rooms: Rooms, k: int) -> Area:
    """Return the area (top, left, height, width) of room `k`, walls included."""
    return rooms[k, 0], rooms[k, 1], rooms[k, 2], rooms[k, 3]


def rooms_overlap(rooms: Rooms, one: int, other: int) -> bool:
    """Return True if the rooms with the indices `one` and `other` overlap.

    Rooms also overlap if the end of the first touches the beginning of the other, but not the other
    way round, as in the reference.
    """
    return not (
        rooms[one, 1] + rooms[one, 3] < rooms[other, 1]
        or rooms[other, 1] + rooms[other, 3] <= rooms[one, 1]
        or rooms[one, 0] + rooms[one, 2] < rooms[other, 0]
        or rooms[other, 0] + rooms[other, 2] <= rooms[one, 0]
    )


def try_room(
    w: World, rooms: Rooms, count: int, side: int, y: int, x: int, max_room_size: int
) -> bool:
    """Sample size and position of a room with its entrance in cell (y, x) on side `side`, and store
    it as `rooms[count]`; return True if it fits on the grid without overlapping earlier rooms."""
    width = w.rng.integers(_LEAST_SIDE, max_room_size + 1)
    height = w.rng.integers(_LEAST_SIDE, max_room_size + 1)
    top, left = y, x  # of the first room, which has no entrance
    if count > 0:
        if is_vertical(side):
            top = w.rng.integers(y - height + 2, y)
            left = x - width + 1 if side == RIGHT_SIDE else x
        else:
            left = w.rng.integers(x - width + 2, x)
            top = y - height + 1 if side == BOTTOM_SIDE else y
    rooms[count] = (top, left, height, width, y, x)
    if left < 0 or top < 0 or left + width > w.width or top + height >= w.height:
        return False
    for k in range(count - 1):
        if rooms_overlap(rooms, count, k):
            return False
    return True


def random_side_cell(w: World, room: Area, side: int) -> tuple[int, int]:
    """Return a random cell (y, x) on one side of a room, corners excluded."""
    top, left, height, width = room
    if is_vertical(side):
        y = top + w.rng.integers(1, height - 1)
        return y, left + width - 1 if side == RIGHT_SIDE else left
    x = left + w.rng.integers(1, width - 1)
    return top + height - 1 if side == BOTTOM_SIDE else top, x


def try_chain(w: World, rooms: Rooms, max_room_size: int) -> int:
    """Sample a chain of rooms into `rooms`, each entered from the one before, until one does not
    fit; return the number of rooms that fit."""
    # both from the width, as in the reference
    x = w.rng.integers(0, w.width - 2)
    y = w.rng.integers(0, w.width - 2)
    side = LEFT_SIDE
    if not try_room(w, rooms, 0, side, y, x, max_room_size):
        return 0
    for count in range(1, len(rooms)):
        fits = False
        entrance = side
        for _ in range(_MOST_EXITS):
            if fits:
                break
            exit_side = w.rng.integers(0, 3)  # one of the other sides
            exit_side += exit_side >= entrance
            y, x = random_side_cell(w, room_area(rooms, count - 1), exit_side)
            side = (exit_side + 2) % 4  # the opposite one
            fits = try_room(w, rooms, count, side, y, x, max_room_size)
        if not fits:
            return count
    return len(rooms)


@system(RESET)
def multi_room(w: World, shape: Sequence[int], num_rooms: int, max_room_size: int) -> None:
    """Build a chain of rooms, with the agent in the first and the goal in the last."""
    w.set_shape(shape[0], shape[1])
    rooms = np.zeros((num_rooms, 6), np.int64)
    attempts = 0
    while try_chain(w, rooms, max_room_size) < num_rooms:
        attempts += 1
        if attempts == _MOST_CHAINS:
            w.fail("multi_room: there is no place for all rooms; make them smaller or fewer")
            return
    color = len(COLORS)  # no colour yet
    for k in range(num_rooms):
        wall_in(w, room_area(rooms, k))
        if k > 0:
            previous = color
            color = w.rng.integers(0, len(COLORS) - (k > 1))
            color += color >= previous
            put_door(w, rooms[k, 4], rooms[k, 5], COLORS[color])
    place_agent(w, room_area(rooms, 0))
    place(w, EXIT, GREEN, room_area(rooms, num_rooms - 1))
