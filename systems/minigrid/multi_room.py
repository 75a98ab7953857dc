"""MultiRoom: a chain of rooms, each behind a door of the one before.

A room is a row of numbers: y, x, height, width, and the y and x of the door that leads in. Sides
are numbered like WAYS.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.appearance import GREEN
from components.objects import EXIT
from gv_engine.rules.system import RESET, system
from gv_engine.rules.world import World
from systems.minigrid.placing import COLORS, Area, place, place_agent, put_door, wall_in

_LEAST = 4
"""Rows and columns of a room, walls included."""
_EXITS = 8
"""How many exits of a room are tried."""
_LEFT_SIDE = 2
_MOST_CHAINS = 10_000
"""After which there is no room for them, where the reference would go on for ever."""

Rooms = NDArray[np.int64]


def area_of(rooms: Rooms, k: int) -> Area:
    """A room with its walls."""
    return rooms[k, 0], rooms[k, 1], rooms[k, 2], rooms[k, 3]


def collide(rooms: Rooms, one: int, other: int) -> bool:
    """Whether two rooms overlap; they also do where the first one's end touches the other's
    beginning, and not the other way round."""
    return not (
        rooms[one, 1] + rooms[one, 3] < rooms[other, 1]
        or rooms[other, 1] + rooms[other, 3] <= rooms[one, 1]
        or rooms[one, 0] + rooms[one, 2] < rooms[other, 0]
        or rooms[other, 0] + rooms[other, 2] <= rooms[one, 0]
    )


def draw_room(
    w: World, rooms: Rooms, count: int, side: int, y: int, x: int, max_room_size: int
) -> bool:
    """Draw room number `count` with its door in a cell on one of its sides; whether it fits."""
    width = w.rng.integers(_LEAST, max_room_size + 1)
    height = w.rng.integers(_LEAST, max_room_size + 1)
    top, left = y, x
    if count > 0:
        if side % 2 == 0:
            top = w.rng.integers(y - height + 2, y)
            left = x - width + 1 if side == 0 else x
        else:
            left = w.rng.integers(x - width + 2, x)
            top = y - height + 1 if side == 1 else y
    rooms[count] = (top, left, height, width, y, x)
    if left < 0 or top < 0 or left + width > w.width or top + height >= w.height:
        return False
    for k in range(count - 1):
        if collide(rooms, count, k):
            return False
    return True


def draw_exit(w: World, room: Area, side: int) -> tuple[int, int]:
    """Any cell on a side of a room but its corners."""
    top, left, height, width = room
    if side % 2 == 0:
        y = top + w.rng.integers(1, height - 1)
        return y, left + width - 1 if side == 0 else left
    x = left + w.rng.integers(1, width - 1)
    return top + height - 1 if side == 1 else top, x


def draw_chain(w: World, rooms: Rooms, max_room_size: int) -> int:
    """Draw room after room, until there are enough or one finds no place; how many there are."""
    # both with the width, as in the reference
    x = w.rng.integers(0, w.width - 2)
    y = w.rng.integers(0, w.width - 2)
    side = _LEFT_SIDE
    if not draw_room(w, rooms, 0, side, y, x, max_room_size):
        return 0
    for count in range(1, len(rooms)):
        fits = False
        before = side
        for _ in range(_EXITS):
            if fits:
                break
            way = w.rng.integers(0, 3)
            way += way >= before
            y, x = draw_exit(w, area_of(rooms, count - 1), way)
            side = (way + 2) % 4
            fits = draw_room(w, rooms, count, side, y, x, max_room_size)
        if not fits:
            return count
    return len(rooms)


@system(RESET)
def multi_room(w: World, shape: Sequence[int], num_rooms: int, max_room_size: int) -> None:
    """A chain of rooms; the agent is in the first one, the goal in the last."""
    w.set_shape(shape[0], shape[1])
    rooms = np.zeros((num_rooms, 6), np.int64)
    tried = 0
    while draw_chain(w, rooms, max_room_size) < num_rooms:
        tried += 1
        if tried == _MOST_CHAINS:
            w.fail("multi_room: so many rooms find no place; make them smaller or fewer")
            return
    color = len(COLORS)  # none of them
    for k in range(num_rooms):
        wall_in(w, area_of(rooms, k))
        if k > 0:
            before = color
            color = w.rng.integers(0, len(COLORS) - (k > 1))
            color += color >= before
            put_door(w, rooms[k, 4], rooms[k, 5], COLORS[color])
    place_agent(w, area_of(rooms, 0))
    place(w, EXIT, GREEN, area_of(rooms, num_rooms - 1))
