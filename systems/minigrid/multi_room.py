"""MultiRoom: a chain of rooms, each behind a door of the one before.

A room is a row of numbers: y, x, height, width, and the y and x of the door that leads in. Sides
are numbered like WAYS.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.appearance import GREEN
from components.objects import EXIT
from gv_engine.language.system import RESET, system
from gv_engine.language.world import World
from systems.minigrid.placing import COLORS, place, place_agent, put_door, wall_in

_LEAST = 4
"""Rows and columns of a room, walls included."""
_EXITS = 8
"""How many exits of a room are tried."""
_LEFT_SIDE = 2
_MOST_CHAINS = 10_000
"""After which there is no room for them, where the reference would go on for ever."""

Rooms = NDArray[np.int64]


def collide(room: Rooms, other: Rooms) -> bool:
    """Whether two rooms overlap; they also do where the first one's end touches the other's
    beginning, and not the other way round."""
    return not (
        room[1] + room[3] < other[1]
        or other[1] + other[3] <= room[1]
        or room[0] + room[2] < other[0]
        or other[0] + other[2] <= room[0]
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
    room = np.array([top, left, height, width, y, x])
    if left < 0 or top < 0 or left + width > w.width or top + height >= w.height:
        return False
    for k in range(count - 1):
        if collide(room, rooms[k]):
            return False
    rooms[count] = room
    return True


def draw_exit(w: World, room: Rooms, side: int) -> tuple[int, int]:
    """Any cell on a side of a room but its corners."""
    if side % 2 == 0:
        y = room[0] + w.rng.integers(1, room[2] - 1)
        return y, room[1] + room[3] - 1 if side == 0 else room[1]
    x = room[1] + w.rng.integers(1, room[3] - 1)
    return room[0] + room[2] - 1 if side == 1 else room[0], x


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
            y, x = draw_exit(w, rooms[count - 1], way)
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
        wall_in(w, (rooms[k, 0], rooms[k, 1], rooms[k, 2], rooms[k, 3]))
        if k > 0:
            before = color
            color = w.rng.integers(0, len(COLORS) - (k > 1))
            color += color >= before
            put_door(w, rooms[k, 4], rooms[k, 5], COLORS[color])
    place_agent(w, (rooms[0, 0], rooms[0, 1], rooms[0, 2], rooms[0, 3]))
    last = rooms[num_rooms - 1]
    place(w, EXIT, GREEN, (last[0], last[1], last[2], last[3]))
