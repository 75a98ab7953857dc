"""Resets: how a level begins (GridVerse specification, section 7).

Every draw is made in the order that the specification gives, so that equal seeds give equal levels
everywhere.
"""

from typing import Any

from components.appearance import FLOOR, YELLOW
from components.doors import LOCKED
from components.objects import DOOR, EXIT, KEY, WALL
from gv_engine.geometry import RIGHT
from gv_engine.system import RESET, system
from systems.building import build_room, floor_cells, put, put_agent


def _smaller_than(shape: tuple[int, int], height: int, width: int) -> str:
    if shape[0] >= height and shape[1] >= width:
        return ""
    return f"found shape {list(shape)}, it needs at least [{height}, {width}]"


@system(RESET, check=lambda shape: _smaller_than(shape, 4, 4))
def empty(
    w: Any, agent: int, shape: Any, random_agent: bool = False, random_exit: bool = False
) -> None:
    """A walled room with an exit."""
    height, width = shape[0], shape[1]
    build_room(w, shape)
    if random_exit:
        y = w.rng.integers(1, height - 1)
        x = w.rng.integers(1, width - 1)
        put(w, EXIT, y, x)
    else:
        put(w, EXIT, height - 2, width - 2)
    if random_agent:
        cells = floor_cells(w)
        cell = cells[w.rng.choice(len(cells))]
        put_agent(w, agent, cell // width, cell % width, w.rng.choice(4))
    else:
        put_agent(w, agent, 1, 1, RIGHT)


@system(RESET, check=lambda shape: _smaller_than(shape, 4, 5))
def keydoor(w: Any, agent: int, shape: Any) -> None:
    """Two rooms, a locked door between them, its key on the agent's side, the exit on the other."""
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
    put_agent(w, agent, y, x, w.rng.choice(4))


@system(RESET)
def from_map(w: Any, agent: int, shape: Any, cells: Any, start: Any) -> None:
    """The level that a scenario file draws.

    Args:
        shape: (height, width) of the level.
        cells: (at least height, at least width, 3) type, state and colour of every cell.
        start: (y, x, orientation) of the agent.
    """
    w.set_shape(shape[0], shape[1])
    for y in range(w.height):
        for x in range(w.width):
            if cells[y, x, 0] != FLOOR:
                e = put(w, cells[y, x, 0], y, x, cells[y, x, 2])
                w.set_state(e, cells[y, x, 1])
    put_agent(w, agent, start[0], start[1], start[2])
