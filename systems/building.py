"""Helpers for rules that build: walls, objects, the agent, free cells, some by chance."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from components.objects import WALL
from gv_engine.rules.component import NOTHING
from gv_engine.rules.world import World
from systems.queries import is_free


def build_room(w: World, shape: Sequence[int]) -> None:
    """A grid of this (height, width) with walls around."""
    w.set_shape(shape[0], shape[1])
    w.enclose(WALL)


def wall_line(size: int, count: int, number: int) -> int:
    """Where wall line `number` of `count` rooms runs over a side of this size."""
    # the steps of numpy.linspace, which decide how fractions are cut
    return size - 1 if number == count else int(number * ((size - 1) / count))


def build_rooms(w: World, shape: Sequence[int], layout: Sequence[int]) -> None:
    """Rooms in (rows, columns), each wall between two of them with one opening."""
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


def put(w: World, kind: int, y: int, x: int, color: int = 0) -> int:
    """A new object of a type in a cell; a colour other than NONE only for coloured types."""
    if kind == FLOOR:  # what a free cell is
        return NOTHING
    e = w.spawn(kind)
    w.place(e, y, x)
    if color != 0:
        w.color.value[e] = color
    return e


def put_cells(w: World, cells: NDArray[np.int64]) -> None:
    """New objects by the type, state and colour of every cell; none for Floor."""
    for y in range(w.height):
        for x in range(w.width):
            if cells[y, x, 0] != FLOOR:
                e = put(w, cells[y, x, 0], y, x, cells[y, x, 2])
                w.set_state(e, cells[y, x, 1])


def put_agent(w: World, agent: int, y: int, x: int, facing: int) -> None:
    """The agent into a cell, on top of whatever is there."""
    w.stand(agent, y, x)
    w.agent.facing[agent] = facing


def next_agent(w: World) -> int:
    """The first agent that stands nowhere yet, or else the last."""
    found = 0
    for agent in w.agents():
        if found == 0 or w.position.y[found] >= 0:
            found = agent
    return found


def ask_for_one_of(w: World, agent: int, kinds: Sequence[int] | NDArray[np.int64]) -> int:
    """Any object of these types on the grid; the agent's mission is about its type and colour."""
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            count += w.at[y, x] != NOTHING and w.kind.value[w.at[y, x]] in kinds
    if count == 0:
        w.fail("mission: there is none of the objects on the grid that it could be about")
        return NOTHING
    left = w.rng.choice(count)
    for y in range(w.height):
        for x in range(w.width):
            e = w.at[y, x]
            if e != NOTHING and w.kind.value[e] in kinds:
                if left == 0:
                    w.mission.kind[agent] = w.kind.value[e]
                    w.mission.color[agent] = w.color.value[e]
                    return e
                left -= 1
    return NOTHING


def floor_cells(w: World, but: int = -1) -> NDArray[np.int64]:
    """Numbers y * width + x of the cells without an object, row by row; one may be left out."""
    cells = np.empty(w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            if w.at[y, x] == NOTHING and y * w.width + x != but:
                cells[count] = y * w.width + x
                count += 1
    return cells[:count]


def cell_of(w: World, number: int) -> tuple[int, int]:
    """The cell (y, x) of a number y * width + x."""
    return number // w.width, number % w.width


def random_floor_cell(w: World) -> tuple[int, int]:
    """Any cell without an object."""
    cells = floor_cells(w)
    return cell_of(w, cells[w.rng.choice(len(cells))])


def random_free_of(w: World, cells: tuple[tuple[int, int], ...]) -> tuple[int, int]:
    """Any of these cells that is free; (-1, -1) if none is, and nothing is drawn."""
    count = 0
    for y, x in cells:
        count += is_free(w, y, x)
    found_y = found_x = -1
    if count > 0:
        left = w.rng.choice(count)
        for y, x in cells:
            free = is_free(w, y, x)
            # without leaving early, which processors cannot guess
            found_y, found_x = (y, x) if free & (left == 0) else (found_y, found_x)
            left -= free
    return found_y, found_x
