"""MiniGrid levels with a goal to walk to."""

from collections.abc import Sequence

from components.core import FLOOR, GREEN, YELLOW
from components.items import LOCKED
from components.minigrid import LAVA
from components.objects import EXIT, KEY, WALL
from gv_engine.plugins.minigrid.systems.placing import (
    place,
    place_agent,
    place_agent_at_start,
    put_door,
    put_goal,
    random_direction,
    set_cell,
    set_column,
    set_row,
    whole_grid,
)
from gv_engine.rules.component import AGENT
from gv_engine.rules.system import RESET, system
from gv_engine.rules.world import World
from systems.building import build_room, check_odd_shape, put_agent, sample_bridges, sample_rivers


@system(RESET)
def empty(w: World, shape: Sequence[int], random_start: bool = False) -> None:
    """Build a walled room with the goal in a corner."""
    build_room(w, shape)
    put_goal(w, w.height - 2, w.width - 2)
    place_agent_at_start(w, random_start)


@system(RESET)
def dist_shift(w: World, shape: Sequence[int], second_row: int) -> None:
    """Build a room with two rows of lava, the second one in a given row."""
    build_room(w, shape)
    put_goal(w, 1, w.width - 2)
    set_row(w, LAVA, 1, 3, w.width - 3)
    set_row(w, LAVA, second_row, 3, w.width - 3)
    place_agent_at_start(w, False)


@system(RESET)
def gap(w: World, shape: Sequence[int], object_type: int) -> None:
    """Build a room divided by a column of an object type with one gap."""
    build_room(w, shape)
    place_agent_at_start(w, False)
    put_goal(w, w.height - 2, w.width - 2)
    x = w.rng.integers(2, w.width - 2)
    y = w.rng.integers(1, w.height - 1)
    set_column(w, object_type, x, 1, w.height - 1)
    set_cell(w, FLOOR, y, x)


@system(RESET, check=check_odd_shape)
def crossings(w: World, shape: Sequence[int], num_rivers: int, object_type: int) -> None:
    """Build a room crossed by rivers of an object type, with a path from the agent to the goal."""
    build_room(w, shape)
    place_agent_at_start(w, False)
    put_goal(w, w.height - 2, w.width - 2)
    columns, rows = sample_rivers(w, (w.height - 3) // 2, (w.width - 3) // 2, num_rivers)
    for y in rows:
        set_row(w, object_type, y, 1, w.width - 1)
    for x in columns:
        set_column(w, object_type, x, 1, w.height - 1)
    # width and height are exchanged in the reference, too
    cells = sample_bridges(w, rows, columns, w.width - 1, w.height - 1)
    for k in range(len(cells)):
        set_cell(w, FLOOR, cells[k, 0], cells[k, 1])


def _check_cells(shape: tuple[int, int], agent_pos: list[int], goal_pos: list[int]) -> str:
    """Return an error message unless each position is empty or a cell (x, y) within the outer
    walls, else ""."""
    rows, columns = shape
    for name, cell in (("agent_pos", agent_pos), ("goal_pos", goal_pos)):
        x, y = cell if len(cell) == 2 else (1, 1 - len(cell))
        if not (0 < x < columns - 1 and 0 < y < rows - 1):
            cells = f"[x, y] with x from 1 to {columns - 2} and y from 1 to {rows - 2}"
            return f"found {name} {list(cell)}: allowed are {cells}, or [] for a random cell"
    return ""


@system(RESET, check=_check_cells)
def four_rooms(
    w: World, shape: Sequence[int], agent_pos: Sequence[int] = (), goal_pos: Sequence[int] = ()
) -> None:
    """Build four rooms, joined by openings, with agent and goal in the cells (x, y) that are given,
    or in random ones."""
    build_room(w, shape)
    height, width = w.height // 2, w.width // 2
    for top in (0, height):
        for left in (0, width):
            bottom, right = top + height, left + width
            if left == 0:
                set_column(w, WALL, right, top, bottom)
                set_cell(w, FLOOR, w.rng.integers(top + 1, bottom), right)
            if top == 0:
                set_row(w, WALL, bottom, left, right)
                set_cell(w, FLOOR, bottom, w.rng.integers(left + 1, right))
    if len(agent_pos):
        set_cell(w, FLOOR, agent_pos[1], agent_pos[0])
        put_agent(w, AGENT, agent_pos[1], agent_pos[0], random_direction(w))
    else:
        place_agent(w, whole_grid(w))
    if len(goal_pos):
        set_cell(w, EXIT, goal_pos[1], goal_pos[0], GREEN)
    else:
        place(w, EXIT, GREEN, whole_grid(w))


@system(RESET)
def door_key(w: World, shape: Sequence[int]) -> None:
    """Build two rooms with a locked door between them, agent and key in the left one."""
    build_room(w, shape)
    put_goal(w, w.height - 2, w.width - 2)
    x = w.rng.integers(2, w.width - 2)
    set_column(w, WALL, x, 0, w.height)
    left_room = 0, 0, w.height, x
    place_agent(w, left_room)
    put_door(w, w.rng.integers(1, w.height - 2), x, YELLOW, LOCKED)
    place(w, KEY, YELLOW, left_room)
