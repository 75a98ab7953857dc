"""Levels of MiniGrid on grids of rooms: Unlock, KeyCorridor, ObstructedMaze.

Rooms are numbered (row, column). Neighbours share a wall, with a place for a door in it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.appearance import BLUE, FLOOR, GREEN, GREY
from components.doors import CLOSED, LOCKED, OPEN
from components.minigrid import BALL, PARCEL
from components.objects import KEY, WALL
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.geometry import BACKWARD, RIGHT, rotate
from gv_engine.rules.system import RESET, REWARD, TERMINATING, system
from gv_engine.rules.world import World
from systems.building import put_agent
from systems.minigrid.missions import ask_for
from systems.minigrid.placing import (
    WAYS,
    Area,
    draw_color,
    place,
    place_agent,
    put_door,
    set_cell,
    set_row,
    shuffled_colors,
    wall_in,
)
from systems.minigrid.steps import worth
from systems.queries import ahead, beside, first_with

Places = NDArray[np.int64]
"""(rows, columns, 4, 2) for each side of each room the cell (y, x) for a door, -1 without one."""

_MOST_DOORS = 5001
"""Attempts to connect all rooms."""


def build_rooms(w: World, shape: Sequence[int], room_size: int) -> Places:
    """Closed rooms; the agent stands in the middle one, for the time being."""
    w.set_shape(shape[0], shape[1])
    step = room_size - 1
    rows, columns = w.height // step, w.width // step
    for row in range(rows):
        for column in range(columns):
            wall_in(w, area_of(row, column, room_size))
    places = np.full((rows, columns, 4, 2), -1)
    for row in range(rows):
        for column in range(columns):
            top, left = row * step, column * step
            if column < columns - 1:
                y, x = w.rng.integers(top + 1, top + step), left + step
                places[row, column, 0] = places[row, column + 1, 2] = (y, x)
            if row < rows - 1:
                y, x = top + step, w.rng.integers(left + 1, left + step)
                places[row, column, 1] = places[row + 1, column, 3] = (y, x)
    middle = room_size // 2
    put_agent(w, AGENT, rows // 2 * step + middle, columns // 2 * step + middle, RIGHT)
    return places


def area_of(row: int, column: int, room_size: int) -> Area:
    """A room with its walls."""
    return row * (room_size - 1), column * (room_size - 1), room_size, room_size


def add(w: World, kind: int, color: int, room: Area) -> int:
    """A new object in a free cell of a room, not beside the agent."""
    return place(w, kind, color, room, 2)


def add_door(
    w: World, places: Places, room: tuple[int, int], side: int, color: int, status: int = LOCKED
) -> None:
    """A door on a side of a room, locked unless said otherwise."""
    y, x = places[room[0], room[1], side]
    put_door(w, y, x, color, status)


def place_agent_in(w: World, room: Area) -> None:
    """The agent in a free cell of a room, looking at a free cell or a wall."""
    place_agent(w, room)
    thing = ahead(w, AGENT)
    while thing != NOTHING and w.kind.value[thing] != WALL:
        place_agent(w, room)
        thing = ahead(w, AGENT)


# ---- Unlock, UnlockPickup, BlockedUnlockPickup ---------------------------------------------------


@system(RESET)
def unlock(
    w: World,
    shape: Sequence[int],
    room_size: int,
    with_box: bool = False,
    blocked: bool = False,
) -> None:
    """Two rooms and a locked door, with agent and key on one side of it."""
    places = build_rooms(w, shape, room_size)
    here, there = area_of(0, 0, room_size), area_of(0, 1, room_size)
    if with_box:
        ask_for(w, add(w, PARCEL, draw_color(w), there))
    color = draw_color(w)
    add_door(w, places, (0, 0), 0, color)
    if blocked:
        y, x = places[0, 0, 0]
        set_cell(w, BALL, y, x - 1, draw_color(w))
    add(w, KEY, color, here)
    place_agent_in(w, here)


def is_unlocked(w: World) -> bool:
    """Whether the one door is open."""
    return w.door.status[first_with(w, w.door)] == OPEN


@system(REWARD)
def open_door(w: World, agent: int, max_steps: int) -> float:
    """Pays for opening the door, the sooner, the more."""
    return worth(w, max_steps) if is_unlocked(w) else 0.0


@system(TERMINATING, says="You opened the door")
def door_is_open(w: World, agent: int) -> bool:
    """The door is open."""
    return is_unlocked(w)


# ---- KeyCorridor ---------------------------------------------------------------------------------


@system(RESET)
def key_corridor(w: World, shape: Sequence[int], room_size: int) -> None:
    """Rooms on both sides of a corridor: a ball in the locked one, its key in another one."""
    places = build_rooms(w, shape, room_size)
    rows = len(places)
    for row in range(1, rows):
        top, left, _, _ = area_of(row, 1, room_size)
        set_row(w, FLOOR, top, left + 1, left + room_size - 1)
    locked = w.rng.integers(0, rows)
    color = draw_color(w)
    add_door(w, places, (locked, 2), 2, color)
    ask_for(w, add(w, BALL, draw_color(w), area_of(locked, 2, room_size)))
    add(w, KEY, color, area_of(w.rng.integers(0, rows), 0, room_size))
    place_agent_in(w, area_of(rows // 2, 1, room_size))
    connect_all(w, places, room_size, (locked, 2))


def is_way(w: World, places: Places, row: int, column: int, side: int) -> bool:
    """Whether there is a door, or no wall, on a side of a room."""
    y, x = places[row, column, side]
    return y >= 0 and w.kind.value[w.at[y, x]] != WALL


def all_connected(w: World, places: Places, row: int, column: int) -> bool:
    """Whether ways lead from a room to all others, through doors of all kinds."""
    rows, columns = len(places), len(places[0])
    reached = np.zeros((rows, columns), np.bool_)
    reached[row, column] = grown = True
    while grown:
        grown = False
        for y in range(rows):
            for x in range(columns):
                for side in range(4):
                    if reached[y, x] and is_way(w, places, y, x, side):
                        beyond = beside(y, x, WAYS[side])
                        grown |= not reached[beyond]
                        reached[beyond] = True
    return bool(reached.all())


def connect_all(w: World, places: Places, room_size: int, locked: tuple[int, int]) -> None:
    """Doors anywhere, but none into the locked room, until ways lead to all rooms."""
    step = room_size - 1
    row, column = w.position.y[AGENT] // step, w.position.x[AGENT] // step
    connected = all_connected(w, places, row, column)
    for _ in range(_MOST_DOORS):
        if connected:
            return
        x = w.rng.integers(0, len(places[0]))
        y = w.rng.integers(0, len(places))
        side = w.rng.integers(0, 4)
        closed = places[y, x, side, 0] >= 0 and not is_way(w, places, y, x, side)
        if closed and (y, x) != locked and beside(y, x, WAYS[side]) != locked:
            add_door(w, places, (y, x), side, draw_color(w), CLOSED)
            connected = all_connected(w, places, row, column)
    w.fail("key_corridor: the rooms cannot all be connected")


# ---- ObstructedMaze ------------------------------------------------------------------------------


def obstruct(w: World, places: Places, room: tuple[int, int], side: int) -> None:
    """A green ball in front of a door of a room, whatever was there."""
    y, x = places[room[0], room[1], side]
    y, x = beside(y, x, rotate(WAYS[side], BACKWARD))
    w.remove(w.box.content[w.at[y, x]])
    set_cell(w, BALL, y, x, GREEN)


def hide_key(w: World, color: int, room: Area, boxed: bool) -> None:
    """A key in a room, or a grey box with it."""
    if boxed:
        key = w.spawn(KEY)
        w.color.value[key] = color
        w.box.content[add(w, PARCEL, GREY, room)] = key
    else:
        add(w, KEY, color, room)


@system(RESET)
def short_maze(
    w: World, shape: Sequence[int], room_size: int, boxed: bool = False, blocked: bool = False
) -> None:
    """Two rooms: a blue ball behind a locked door, and the key that may be hidden."""
    places = build_rooms(w, shape, room_size)
    here, there = area_of(0, 0, room_size), area_of(0, 1, room_size)
    color = shuffled_colors(w)[0]
    add_door(w, places, (0, 0), 0, color)
    if blocked:
        obstruct(w, places, (0, 0), 0)
    hide_key(w, color, here, boxed)
    ask_for(w, add(w, BALL, BLUE, there))
    place_agent_in(w, here)


@system(RESET)
def maze(
    w: World,
    shape: Sequence[int],
    room_size: int,
    quarters: int,
    agent_column: int,
    boxed: bool = False,
    blocked: bool = False,
    keys_last: bool = False,
) -> None:
    """Nine rooms: a blue ball in one of so many corners, behind locked doors beside the middle."""
    places = build_rooms(w, shape, room_size)
    colors = shuffled_colors(w)
    for quarter in range(quarters):
        add_door(w, places, (1, 1), quarter, colors[quarter], CLOSED)
        side_room = beside(1, 1, WAYS[quarter])
        area = area_of(side_room[0], side_room[1], room_size)
        for way in (quarter - 1, quarter + 1):
            add_door(w, places, side_room, way % 4, colors[way % 6])
            if blocked:
                obstruct(w, places, side_room, way % 4)
            if not keys_last:
                hide_key(w, colors[way % 6], area, boxed)
        if keys_last:
            for way in (quarter - 1, quarter + 1):
                hide_key(w, colors[way % 6], area, boxed)
    corner = w.rng.integers(0, quarters)
    row, column = (0, 2, 2, 0)[corner], (2, 2, 0, 0)[corner]
    ask_for(w, add(w, BALL, BLUE, area_of(row, column, room_size)))
    place_agent_in(w, area_of(1, agent_column, room_size))
