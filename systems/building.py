"""Helpers for reset rules: build walls and rooms, place objects and agents, sample free cells."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from components.objects import WALL
from gv_engine.rules.component import NOTHING
from gv_engine.rules.world import World
from systems.queries import has_room, has_space_for


def check_odd_shape(shape: tuple[int, int]) -> str:
    """Return an error message unless height and width are odd, else ""."""
    if shape[0] % 2 == 1 and shape[1] % 2 == 1:
        return ""
    return f"found shape {list(shape)}: both sides must be odd"


def build_room(w: World, shape: Sequence[int]) -> None:
    """Resize the grid to `shape`, (height, width), and surround it with walls."""
    w.set_shape(shape[0], shape[1])
    w.enclose(WALL)


def remove_objects(w: World) -> None:
    """Remove all objects from the grid, before a transition builds another level. Agents, and what
    they hold, stay."""
    for y in range(w.height):
        for x in range(w.width):
            for e in (w.at[y, x], w.ground[y, x]):
                if not w.is_terrain(e):
                    w.remove(e)
            if w.between:
                remove_between(w, y, x)


def remove_between(w: World, y: int, x: int) -> None:
    """Remove the objects of cell (y, x) on the layers between."""
    for cells in w.between:
        w.remove(cells[y, x])


def wall_line(size: int, count: int, number: int) -> int:
    """Return the row or column of wall `number` if a side with `size` cells is divided into `count`
    rooms."""
    # as numpy.linspace computes it, with the same rounding
    return size - 1 if number == count else int(number * ((size - 1) / count))


def build_rooms(w: World, shape: Sequence[int], layout: Sequence[int]) -> None:
    """Set the grid to `shape` and build walls that divide it into `layout` (rows, columns) of
    rooms. A random opening connects each two neighbouring rooms."""
    height, width = shape[0], shape[1]
    rows, columns = layout[0], layout[1]
    w.set_shape(height, width)
    for row in range(rows + 1):
        for x in range(width):
            put(w, WALL, wall_line(height, rows, row), x)
    for column in range(columns + 1):
        for y in range(height):
            if w.at[y, wall_line(width, columns, column)] == NOTHING:
                put(w, WALL, y, wall_line(width, columns, column))
    for row in range(1, rows):
        for column in range(columns):
            left = wall_line(width, columns, column)
            right = wall_line(width, columns, column + 1)
            opening = w.rng.integers(left + 1, right)
            w.remove(w.at[wall_line(height, rows, row), opening])
    for row in range(rows):
        for column in range(1, columns):
            top, bottom = wall_line(height, rows, row), wall_line(height, rows, row + 1)
            opening = w.rng.integers(top + 1, bottom)
            w.remove(w.at[opening, wall_line(width, columns, column)])


def sample_rivers(
    w: World, max_rows: int, max_columns: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Choose `count` random rivers, straight lines of obstacles at even positions: at most
    `max_rows` horizontal and `max_columns` vertical ones. Return the rows of the horizontal and the
    columns of the vertical rivers."""
    rivers = np.arange(max_rows + max_columns)
    w.rng.shuffle(rivers)
    rivers = np.sort(rivers[:count])
    return 2 * rivers[rivers < max_rows] + 2, 2 * (rivers[rivers >= max_rows] - max_rows) + 2


def sample_bridges(
    w: World, rows: NDArray[np.int64], columns: NDArray[np.int64], last_row: int, last_column: int
) -> NDArray[np.int64]:
    """Return (n, 2) cells (y, x), one on each river, at which to open a bridge. Together they make
    a random path from the top left to the bottom right. `rows` and `columns` are the result of
    `sample_rivers`.

    Args:
        rows, columns: rows and columns of the rivers.
        last_row, last_column: row of the bottom wall and column of the right wall.
    """
    path = np.zeros(len(rows) + len(columns), np.int64)
    path[len(columns) :] = 1  # rights, then downs
    w.rng.shuffle(path)
    cells = np.empty((len(path), 2), np.int64)
    i = j = 0
    for k in range(len(path)):
        top = rows[i - 1] if i > 0 else 0
        bottom = rows[i] if i < len(rows) else last_row
        left = columns[j - 1] if j > 0 else 0
        right = columns[j] if j < len(columns) else last_column
        if path[k]:
            cells[k] = (bottom, w.rng.integers(left + 1, right))
            i += 1
        else:
            cells[k] = (w.rng.integers(top + 1, bottom), right)
            j += 1
    return cells


def put(w: World, kind: int, y: int, x: int, color: int = 0) -> int:
    """Create an object of type index `kind` in cell (y, x), and return its entity. For Floor,
    create nothing and return NOTHING.

    A colour other than NONE is only allowed for coloured types.
    """
    if kind == FLOOR:  # a free cell is floor
        return NOTHING
    e = w.spawn(kind)
    w.place(e, y, x)
    if color != 0:
        w.color.value[e] = color
    return e


def put_cells(w: World, cells: NDArray[np.int64]) -> None:
    """Create the objects of a whole grid: `cells` (H, W, 3) has (type, state, colour) of each cell.
    Floor creates none."""
    for y in range(w.height):
        for x in range(w.width):
            if cells[y, x, 0] != FLOOR:
                e = put(w, cells[y, x, 0], y, x, cells[y, x, 2])
                w.set_state(e, cells[y, x, 1])


def put_agent(w: World, agent: int, y: int, x: int, facing: int) -> None:
    """Put an agent into a cell and set its orientation `facing`. Objects in the cell stay."""
    w.stand(agent, y, x)
    w.agent.facing[agent] = facing


def next_agent(w: World) -> int:
    """Return the first agent that is not on the grid yet, or the last agent if all are on it."""
    result = 0
    for agent in w.agents():
        if result == 0 or w.position.y[result] >= 0:
            result = agent
    return result


def set_random_target(w: World, agent: int, kinds: Sequence[int] | NDArray[np.int64]) -> int:
    """Choose a random object on the grid whose type is one of `kinds`, write its type and colour
    into the agent's mission, and return the object.

    If there is none, the level fails.
    """
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            count += w.at[y, x] != NOTHING and w.kind.value[w.at[y, x]] in kinds
    if count == 0:
        w.fail("mission: none of its objects is on the grid")
        return NOTHING
    remaining = w.rng.choice(count)
    for y in range(w.height):
        for x in range(w.width):
            entity = w.at[y, x]
            if entity != NOTHING and w.kind.value[entity] in kinds:
                if remaining == 0:
                    w.mission.kind[agent] = w.kind.value[entity]
                    w.mission.color[agent] = w.color.value[entity]
                    return entity
                remaining -= 1
    return NOTHING


def floor_cells(w: World, excluded: int = -1) -> NDArray[np.int64]:
    """Return the cells without an object as numbers y * width + x, in row order. The cell with
    number `excluded` is left out."""
    cells = np.empty(w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            if w.at[y, x] == NOTHING and y * w.width + x != excluded:
                cells[count] = y * w.width + x
                count += 1
    return cells[:count]


def reachable_cells(w: World, steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the cells without an object that the agent can reach and stand in, as numbers y *
    width + x in row order. `steps` (height, width) is the result of `w.steps_from` for the start
    cell, negative where there is no path."""
    cells = floor_cells(w)
    count = 0
    for number in cells:
        y, x = cell_of(w, number)
        if steps[y, x] >= 0 and has_room(w, y, x):
            cells[count] = number
            count += 1
    return cells[:count]


def cell_of(w: World, number: int) -> tuple[int, int]:
    """Return the cell (y, x) with the number y * width + x."""
    return number // w.width, number % w.width


def random_floor_cell(w: World) -> tuple[int, int]:
    """Return a random cell (y, x) without an object."""
    cells = floor_cells(w)
    return cell_of(w, cells[w.rng.choice(len(cells))])


def random_free_of(
    w: World, cells: tuple[tuple[int, int], ...], object_type: int
) -> tuple[int, int]:
    """Return a random cell among `cells`, (y, x) pairs, that has space for an object of this type.
    Return (-1, -1), without drawing a random number, if none has."""
    count = 0
    for y, x in cells:
        count += has_space_for(w, object_type, y, x)
    found_y = found_x = -1
    if count > 0:
        num_skipped = w.rng.choice(count)
        for y, x in cells:
            has_space = has_space_for(w, object_type, y, x)
            # no early exit: branch prediction would fail
            is_picked = has_space & (num_skipped == 0)
            found_y, found_x = (y, x) if is_picked else (found_y, found_x)
            num_skipped -= has_space
    return found_y, found_x
