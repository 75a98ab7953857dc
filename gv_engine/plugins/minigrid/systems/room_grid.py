"""Levels of MiniGrid on grids of rooms: Unlock, KeyCorridor, ObstructedMaze.

Rooms are numbered (row, column). Neighbours share a wall, with a place for a door in it.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.core import BLUE, FLOOR, GREEN, GREY, NONE
from components.items import CLOSED, LOCKED, OPEN
from components.minigrid import BALL, PARCEL
from components.objects import KEY, WALL
from gv_engine.plugins.minigrid.systems.missions import set_target
from gv_engine.plugins.minigrid.systems.placing import (
    BOTTOM_SIDE,
    COLORS,
    DIRECTIONS,
    LEFT_SIDE,
    RIGHT_SIDE,
    TOP_SIDE,
    Area,
    place,
    place_agent,
    put_door,
    random_color,
    set_cell,
    set_column,
    set_row,
    shuffled_colors,
    wall_in,
)
from gv_engine.plugins.minigrid.systems.steps import success_reward
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.geometry import BACKWARD, RIGHT, rotate
from gv_engine.rules.system import RESET, REWARD, TERMINATING, system
from gv_engine.rules.world import World
from systems.building import put_agent
from systems.queries import ahead, beside, first_with

Doors = NDArray[np.int64]
"""(rows, columns, 4, 2) cell (y, x) for a door on each side of each room, -1 for none."""

_MOST_DOORS = 5001
"""Maximum number of attempts to connect all rooms."""


def build_room_grid(w: World, shape: Sequence[int], room_size: int) -> Doors:
    """Build a grid of closed square rooms, put the agent into the middle room until the level
    places it elsewhere, and return a random cell for a door on each side of each room."""
    w.set_shape(shape[0], shape[1])
    step = room_size - 1
    rows, columns = w.height // step, w.width // step
    for row in range(rows):
        for column in range(columns):
            wall_in(w, room_area(row, column, room_size))
    doors = np.full((rows, columns, 4, 2), -1)
    for row in range(rows):
        for column in range(columns):
            top, left = row * step, column * step
            if column < columns - 1:
                y, x = w.rng.integers(top + 1, top + step), left + step
                doors[row, column, RIGHT_SIDE] = doors[row, column + 1, LEFT_SIDE] = (y, x)
            if row < rows - 1:
                y, x = top + step, w.rng.integers(left + 1, left + step)
                doors[row, column, BOTTOM_SIDE] = doors[row + 1, column, TOP_SIDE] = (y, x)
    middle = room_size // 2
    put_agent(w, AGENT, rows // 2 * step + middle, columns // 2 * step + middle, RIGHT)
    return doors


def room_area(row: int, column: int, room_size: int) -> Area:
    """Return the area (top, left, height, width) of a room, walls included."""
    return row * (room_size - 1), column * (room_size - 1), room_size, room_size


def has_neighbour(doors: Doors, row: int, column: int, side: int) -> bool:
    """Return True if there is another room on a side of the room (row, column)."""
    return bool(doors[row, column, side, 0] >= 0)


def add_object(w: World, kind: int, color: int, room: Area) -> int:
    """Place a new object into a random free cell of a room, but not next to the agent, and return
    its entity."""
    return place(w, kind, color, room, 2)


def add_door(
    w: World, doors: Doors, room: tuple[int, int], side: int, color: int, status: int = LOCKED
) -> int:
    """Place a door on the side `side` of the room (row, column), in the cell `doors[row, column,
    side]`, and return its entity."""
    y, x = doors[room[0], room[1], side]
    return put_door(w, y, x, color, status)


def remove_wall(w: World, room: Area, side: int) -> None:
    """Remove the wall on a side of a room, except its corners; `side` is RIGHT_SIDE or TOP_SIDE."""
    top, left, height, width = room
    if side == RIGHT_SIDE:
        set_column(w, FLOOR, left + width - 1, top + 1, top + height - 1)
    else:
        set_row(w, FLOOR, top, left + 1, left + width - 1)


def place_agent_in_room(w: World, room: Area) -> None:
    """Place the agent into a random free cell of a room, facing a free cell or a wall."""
    place_agent(w, room)
    thing = ahead(w, AGENT)
    while thing != NOTHING and w.kind.value[thing] != WALL:
        place_agent(w, room)
        thing = ahead(w, AGENT)


# ---- Unlock, UnlockPickup, BlockedUnlockPickup ---------------------------------------------------


@system(RESET)
def unlock(
    w: World, shape: Sequence[int], room_size: int, with_box: bool = False, blocked: bool = False
) -> None:
    """Build two rooms with a locked door between them, agent and key on one side."""
    doors = build_room_grid(w, shape, room_size)
    agent_room, other_room = room_area(0, 0, room_size), room_area(0, 1, room_size)
    if with_box:
        set_target(w, add_object(w, PARCEL, random_color(w), other_room))
    color = random_color(w)
    add_door(w, doors, (0, 0), RIGHT_SIDE, color)
    if blocked:
        y, x = doors[0, 0, RIGHT_SIDE]
        set_cell(w, BALL, y, x - 1, random_color(w))
    add_object(w, KEY, color, agent_room)
    place_agent_in_room(w, agent_room)


@system(REWARD)
def open_door(w: World, agent: int, max_steps: int) -> float:
    """Pays for opening the door; more for fewer steps."""
    return success_reward(w, max_steps) if door_is_open(w, agent) else 0.0


@system(TERMINATING, says="You opened the door")
def door_is_open(w: World, agent: int) -> bool:
    """The door is open."""
    return w.door.status[first_with(w, w.door)] == OPEN


# ---- KeyCorridor ---------------------------------------------------------------------------------


@system(RESET)
def key_corridor(w: World, shape: Sequence[int], room_size: int) -> None:
    """Build rooms on both sides of a corridor: a ball in the locked room, the key in another
    one."""
    doors = build_room_grid(w, shape, room_size)
    rows = len(doors)
    for row in range(1, rows):
        remove_wall(w, room_area(row, 1, room_size), TOP_SIDE)
    locked = w.rng.integers(0, rows)
    color = random_color(w)
    add_door(w, doors, (locked, 2), LEFT_SIDE, color)
    set_target(w, add_object(w, BALL, random_color(w), room_area(locked, 2, room_size)))
    add_object(w, KEY, color, room_area(w.rng.integers(0, rows), 0, room_size))
    place_agent_in_room(w, room_area(rows // 2, 1, room_size))
    if not connect_all_rooms(w, doors, room_size, (locked, 2)):
        w.fail("key_corridor: the rooms cannot all be connected")


def is_side_open(w: World, doors: Doors, row: int, column: int, side: int) -> bool:
    """Return True if a side of the room (row, column) has a door or no wall."""
    y, x = doors[row, column, side]
    return has_neighbour(doors, row, column, side) and w.kind.value[w.at[y, x]] != WALL


def all_connected(w: World, doors: Doors, row: int, column: int) -> bool:
    """Return True if paths lead from the room (row, column) to all other rooms; doors count as
    passable, also locked ones."""
    rows, columns = len(doors), len(doors[0])
    reached = np.zeros((rows, columns), np.bool_)
    reached[row, column] = has_grown = True
    while has_grown:
        has_grown = False
        for y in range(rows):
            for x in range(columns):
                for side in range(4):
                    if reached[y, x] and is_side_open(w, doors, y, x, side):
                        next_room = beside(y, x, DIRECTIONS[side])
                        has_grown |= not reached[next_room]
                        reached[next_room] = True
    return bool(reached.all())


def connect_all_rooms(
    w: World, doors: Doors, room_size: int, locked: tuple[int, int], without: int = NONE
) -> bool:
    """Add closed doors between random neighbouring rooms until paths lead to all rooms; return
    False if that takes too many attempts. No door leads into the room `locked` or has the colour
    `without`."""
    step = room_size - 1
    row, column = w.position.y[AGENT] // step, w.position.x[AGENT] // step
    connected = all_connected(w, doors, row, column)
    for _ in range(_MOST_DOORS):
        if connected:
            return True
        x = w.rng.integers(0, len(doors[0]))
        y = w.rng.integers(0, len(doors))
        side = w.rng.integers(0, 4)
        is_closed = has_neighbour(doors, y, x, side) and not is_side_open(w, doors, y, x, side)
        if is_closed and (y, x) != locked and beside(y, x, DIRECTIONS[side]) != locked:
            add_door(w, doors, (y, x), side, random_color(w, without), CLOSED)
            connected = all_connected(w, doors, row, column)
    return False


# ---- ObstructedMaze ------------------------------------------------------------------------------


def obstruct(w: World, doors: Doors, room: tuple[int, int], side: int) -> None:
    """Put a green ball in front of the door on the side `side` of a room, in place of any object
    there."""
    y, x = doors[room[0], room[1], side]
    y, x = beside(y, x, rotate(DIRECTIONS[side], BACKWARD))
    w.remove(w.box.content[w.at[y, x]])
    set_cell(w, BALL, y, x, GREEN)


def hide_key(w: World, color: int, room: Area, boxed: bool) -> None:
    """Place a key into a random cell of a room; if `boxed`, inside a grey box."""
    if boxed:
        key = w.spawn(KEY)
        w.color.value[key] = color
        w.box.content[add_object(w, PARCEL, GREY, room)] = key
    else:
        add_object(w, KEY, color, room)


@system(RESET)
def short_maze(
    w: World, shape: Sequence[int], room_size: int, boxed: bool = False, blocked: bool = False
) -> None:
    """Build two rooms: a blue ball behind a locked door, and the key, which may be in a box."""
    doors = build_room_grid(w, shape, room_size)
    agent_room, other_room = room_area(0, 0, room_size), room_area(0, 1, room_size)
    color = shuffled_colors(w)[0]
    add_door(w, doors, (0, 0), RIGHT_SIDE, color)
    if blocked:
        obstruct(w, doors, (0, 0), RIGHT_SIDE)
    hide_key(w, color, agent_room, boxed)
    set_target(w, add_object(w, BALL, BLUE, other_room))
    place_agent_in_room(w, agent_room)


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
    """Build nine rooms: closed doors lead from the middle room to side rooms, and locked doors from
    there to the corner rooms. A blue ball is in one of the first `quarters` corner rooms. `boxed`
    hides the keys in boxes, and `blocked` puts a ball before each locked door."""
    doors = build_room_grid(w, shape, room_size)
    colors = shuffled_colors(w)
    for side in range(quarters):
        add_door(w, doors, (1, 1), side, colors[side], CLOSED)
        side_room = beside(1, 1, DIRECTIONS[side])
        area = room_area(side_room[0], side_room[1], room_size)
        for corner_side in (side - 1, side + 1):  # two corner rooms adjoin the side room
            color = colors[corner_side % len(COLORS)]
            add_door(w, doors, side_room, corner_side % 4, color)
            if blocked:
                obstruct(w, doors, side_room, corner_side % 4)
            if not keys_last:
                hide_key(w, color, area, boxed)
        if keys_last:
            for corner_side in (side - 1, side + 1):
                hide_key(w, colors[corner_side % len(COLORS)], area, boxed)
    corner = w.rng.integers(0, quarters)
    row, column = (0, 2, 2, 0)[corner], (2, 2, 0, 0)[corner]
    set_target(w, add_object(w, BALL, BLUE, room_area(row, column, room_size)))
    place_agent_in_room(w, room_area(1, agent_column, room_size))
