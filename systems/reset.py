"""Reset rules: build a level (GridVerse specification, section 7).

Every use of the RNG is in the order of the specification, so that equal seeds give equal levels
everywhere.
"""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.core import NONE, RED, YELLOW
from components.items import LOCKED
from components.objects import BEACON, DOOR, EXIT, KEY, MOVING_OBSTACLE, TELEPOD, WALL
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.geometry import BACKWARD, FORWARD, RIGHT
from gv_engine.rules.system import RESET, system
from gv_engine.rules.world import World
from systems.building import (
    build_room,
    build_rooms,
    cell_of,
    check_odd_shape,
    floor_cells,
    put,
    put_agent,
    put_cells,
    random_floor_cell,
    sample_bridges,
    sample_rivers,
    wall_line,
)
from systems.queries import neighbours


def _check_min_shape(shape: tuple[int, int], height: int, width: int) -> str:
    if shape[0] >= height and shape[1] >= width:
        return ""
    return f"found shape {list(shape)}, it needs at least [{height}, {width}]"


@system(RESET, check=lambda shape: _check_min_shape(shape, 4, 4))
def empty(
    w: World, shape: Sequence[int], random_agent: bool = False, random_exit: bool = False
) -> None:
    """Build a walled room with an exit."""
    height, width = shape[0], shape[1]
    build_room(w, shape)
    if random_exit:
        y = w.rng.integers(1, height - 1)
        x = w.rng.integers(1, width - 1)
        put(w, EXIT, y, x)
    else:
        put(w, EXIT, height - 2, width - 2)
    if random_agent:
        y, x = random_floor_cell(w)
        put_agent(w, AGENT, y, x, w.rng.choice(4))
    else:
        put_agent(w, AGENT, 1, 1, RIGHT)


@system(RESET, check=lambda shape: _check_min_shape(shape, 4, 5))
def keydoor(w: World, shape: Sequence[int]) -> None:
    """Build two rooms with a locked door between them, the key on the agent's side and the exit on
    the other."""
    height, width = shape[0], shape[1]
    build_room(w, shape)
    put(w, EXIT, height - 2, width - 2)
    x_wall = w.rng.integers(2, width - 2)
    y_door = 1 + w.rng.choice(height - 2)
    for y in range(1, height - 1):
        if y == y_door:
            door = put(w, DOOR, y, x_wall, YELLOW)
            w.door.status[door] = LOCKED
        else:
            put(w, WALL, y, x_wall)
    y = w.rng.integers(1, height - 1)
    x = w.rng.integers(1, x_wall)
    put(w, KEY, y, x, YELLOW)
    y = w.rng.integers(1, height - 1)
    x = w.rng.integers(1, x_wall)
    put_agent(w, AGENT, y, x, w.rng.choice(4))


def _check_obstacles(shape: tuple[int, int], num_obstacles: int) -> str:
    """Return an error message if a room of this shape has no space for so many obstacles; else
    ""."""
    if message := _check_min_shape(shape, 4, 4):
        return message
    free = (shape[0] - 2) * (shape[1] - 2) - 2
    if 0 <= num_obstacles <= free:
        return ""
    return f"found num_obstacles {num_obstacles}: a shape of {list(shape)} has room for 0 to {free}"


@system(RESET, check=_check_obstacles)
def dynamic_obstacles(
    w: World, shape: Sequence[int], num_obstacles: int, random_agent: bool = False
) -> None:
    """Build an empty room where obstacles move at random."""
    empty(w, shape, random_agent, False)
    cells = floor_cells(w, w.position.y[AGENT] * w.width + w.position.x[AGENT])
    for picked in w.rng.choice(len(cells), size=num_obstacles, replace=False):
        y, x = cell_of(w, cells[picked])
        put(w, MOVING_OBSTACLE, y, x)


def _check_rooms(shape: tuple[int, int], layout: tuple[int, int], required: int = 2) -> str:
    """Return an error message if a grid of `shape` is too small for `layout` (rows, columns) of
    rooms, or has fewer than `required` free cells; else ""."""
    for axis, axis_name in enumerate(("rows", "columns")):
        size, count = shape[axis], layout[axis]
        lines = [wall_line(size, count, number) for number in range(count + 1)]
        # openings in crossing walls need a cell between the lines
        least_distance = 2 if layout[1 - axis] > 1 else 1
        if any(after - before < least_distance for before, after in itertools.pairwise(lines)):
            return f"found shape {list(shape)}: too small for {count} {axis_name} of rooms"
    openings = (layout[0] - 1) * layout[1] + layout[0] * (layout[1] - 1)
    free = (shape[0] - layout[0] - 1) * (shape[1] - layout[1] - 1) + openings
    if required <= free:
        return ""
    return f"it needs {required} free cells, a shape of {list(shape)} has {free}"


@system(RESET, check=_check_rooms)
def rooms(w: World, shape: Sequence[int], layout: Sequence[int]) -> None:
    """Build rooms in rows and columns, joined by openings, with agent and exit in random cells."""
    build_rooms(w, shape, layout)
    cells = floor_cells(w)
    picked = w.rng.choice(len(cells), size=2, replace=False)
    y, x = cell_of(w, cells[picked[1]])
    put(w, EXIT, y, x)
    y, x = cell_of(w, cells[picked[0]])
    put_agent(w, AGENT, y, x, w.rng.choice(4))


def _check_memory_rooms(
    shape: tuple[int, int],
    layout: tuple[int, int],
    colors: tuple[int, ...],
    num_beacons: int,
    num_exits: int,
) -> str:
    """Return an error message if `memory_rooms` cannot build a level with these arguments; else
    ""."""
    if num_beacons < 1:
        return f"found num_beacons {num_beacons}: at least one beacon shows the good exit"
    if not 2 <= num_exits <= len(colors):
        return f"found num_exits {num_exits}: allowed are 2 to the number of colors, {len(colors)}"
    if NONE in colors:
        return "found NONE among the colors: exits and beacons need colours"
    return _check_rooms(shape, layout, 1 + num_beacons + num_exits)


@system(RESET, check=_check_memory_rooms)
def memory_rooms(
    w: World,
    shape: Sequence[int],
    layout: Sequence[int],
    colors: Sequence[int],
    num_beacons: int,
    num_exits: int,
) -> None:
    """Build rooms with beacons of one colour and exits of different colours, one of them the
    beacons' colour."""
    build_rooms(w, shape, layout)
    cells = floor_cells(w)
    picked = w.rng.choice(len(cells), size=1 + num_beacons + num_exits, replace=False)
    y, x = cell_of(w, cells[picked[0]])
    put_agent(w, AGENT, y, x, w.rng.choice(4))
    chosen = w.rng.choice(len(colors), size=num_exits, replace=False)
    for number in range(num_beacons + num_exits):
        y, x = cell_of(w, cells[picked[1 + number]])
        if number < num_beacons:
            put(w, BEACON, y, x, colors[chosen[0]])
        else:
            put(w, EXIT, y, x, colors[chosen[number - num_beacons]])


def _check_memory_arguments(shape: tuple[int, int], colors: tuple[int, ...]) -> str:
    """Return an error message if `memory` cannot build a level with these arguments; else ""."""
    if shape[1] % 2 == 0:
        return f"found shape {list(shape)}: the width must be odd"
    if len(colors) < 2 or NONE in colors:
        return "it needs at least two colors, none of them NONE"
    return _check_min_shape(shape, 5, 5)


@system(RESET, check=_check_memory_arguments)
def memory(w: World, shape: Sequence[int], colors: Sequence[int]) -> None:
    """Build a corridor with two exits at one end and, at the other, beacons with the colour of the
    good exit."""
    height, width = shape[0], shape[1]
    w.set_shape(height, width)
    middle = width // 2
    picked = w.rng.choice(len(colors), size=2, replace=False)
    good_color, bad_color = colors[picked[0]], colors[picked[1]]
    sides = w.rng.choice(2, size=2, replace=False)
    for y in range(height):
        for x in range(width):
            is_hall = (y == 1 or y == height - 2) and 2 <= x <= width - 3
            is_corridor = x == middle and 2 <= y <= height - 3
            in_corner = x == 1 or x == width - 2
            if y == height - 2 and in_corner:
                put(w, BEACON, y, x, good_color)
            elif y == 1 and in_corner:
                is_good = x == (1 if sides[0] == 0 else width - 2)
                put(w, EXIT, y, x, good_color if is_good else bad_color)
            elif not is_hall and not is_corridor:
                put(w, WALL, y, x)
    put_agent(w, AGENT, height // 2, middle, FORWARD)


@system(RESET, check=lambda shape: _check_min_shape(shape, 4, 4))
def teleport(w: World, shape: Sequence[int]) -> None:
    """Build a room with two telepods."""
    empty(w, shape, False, False)
    w.rng.choice(2)  # drawn and overruled below, as ever since the reference
    cells = floor_cells(w, w.width + 1)
    for picked in w.rng.choice(len(cells), size=2, replace=False):
        y, x = cell_of(w, cells[picked])
        put(w, TELEPOD, y, x, RED)
    put_agent(w, AGENT, 1, 1, RIGHT if w.rng.choice(2) == 0 else BACKWARD)


def _check_crossing(shape: tuple[int, int], num_rivers: int) -> str:
    few = "" if num_rivers > 0 else f"found num_rivers {num_rivers}: at least one"
    return check_odd_shape(shape) or few or _check_min_shape(shape, 5, 5)


@system(RESET, check=_check_crossing)
def crossing(w: World, shape: Sequence[int], num_rivers: int, object_type: int) -> None:
    """Build a room crossed by rivers of an object type, with one path from the agent to the
    exit."""
    empty(w, shape, False, False)
    height, width = shape[0], shape[1]
    rows, columns = sample_rivers(w, (height - 3) // 2, (width - 3) // 2, num_rivers)
    for y in rows:
        for x in range(1, width - 1):
            put(w, object_type, y, x)
    for x in columns:
        for y in range(1, height - 1):
            if w.on_layer_of(object_type, y, x) == NOTHING:
                put(w, object_type, y, x)
    cells = sample_bridges(w, rows, columns, height - 1, width - 1)
    for k in range(len(cells)):
        w.remove(w.on_layer_of(object_type, cells[k, 0], cells[k, 1]))


@system(RESET)
def from_map(
    w: World, shape: Sequence[int], cells: NDArray[np.int64], starts: NDArray[np.int64]
) -> None:
    """Build the level that a scenario file draws as a map.

    Args:
        shape: (height, width) of the level.
        cells: (at least height, at least width, 3) type, state and colour of each cell.
        starts: (agents, 3) y, x and orientation of the agents on the map, in their order.
    """
    w.set_shape(shape[0], shape[1])
    put_cells(w, cells)
    for number in range(len(starts)):
        put_agent(w, number + 1, starts[number, 0], starts[number, 1], starts[number, 2])


def _check_maze(shape: tuple[int, int], loops: float) -> str:
    wrong = "" if 0 <= loops <= 1 else f"found loops {loops}: allowed are 0 to 1"
    return check_odd_shape(shape) or wrong or _check_min_shape(shape, 5, 5)


@system(RESET, check=_check_maze)
def maze(w: World, shape: Sequence[int], loops: float = 0.0) -> None:
    """Build a maze with the agent in the first corner and an exit in the last. `loops` is the
    probability that a wall between two passages is left out."""
    height, width = shape[0], shape[1]
    build_closed_cells(w, height, width)
    carve_passages(w)
    for y in range(1, height - 1):
        for x in range(1 + y % 2, width - 1, 2):
            if loops > 0 and w.at[y, x] != NOTHING and w.rng.random() < loops:
                w.remove(w.at[y, x])
    put(w, EXIT, height - 2, width - 2)
    put_agent(w, AGENT, 1, 1, RIGHT)


def build_closed_cells(w: World, height: int, width: int) -> None:
    """Make a grid in which walls surround each cell with odd coordinates."""
    w.set_shape(height, width)
    for y in range(height):
        for x in range(width):
            if y % 2 == 0 or x % 2 == 0:
                put(w, WALL, y, x)


def carve_passages(w: World) -> None:
    """Make a maze: remove walls between cells with odd coordinates, two steps apart, by a random
    depth-first search from cell (1, 1), until paths connect all these cells."""
    visited = np.zeros((w.height, w.width), np.bool_)
    visited[1, 1] = True
    path = np.empty((w.height // 2) * (w.width // 2), np.int64)
    path[0] = w.width + 1
    length = 1
    while length > 0:  # continue from the last cell of the path with an unvisited neighbour
        y, x = cell_of(w, path[length - 1])
        next_cells = [
            (2 * near_y - y, 2 * near_x - x)
            for near_y, near_x in neighbours(y, x)
            if 0 < near_y < w.height - 1
            and 0 < near_x < w.width - 1
            and not visited[2 * near_y - y, 2 * near_x - x]
        ]
        if len(next_cells) == 0:
            length -= 1
        else:
            to_y, to_x = next_cells[w.rng.choice(len(next_cells))]
            w.remove(w.at[(y + to_y) // 2, (x + to_x) // 2])
            visited[to_y, to_x] = True
            path[length] = to_y * w.width + to_x
            length += 1
