"""Helpers for resets: walls, objects, the agent, free cells."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from components.objects import WALL
from gv_engine.language.component import NOTHING


def build_room(w: Any, shape: Any) -> None:
    """A grid of this (height, width) with walls around."""
    height, width = shape[0], shape[1]
    w.set_shape(height, width)
    for y in range(height):
        for x in range(width):
            if y == 0 or x == 0 or y == height - 1 or x == width - 1:
                w.place(w.spawn(WALL), y, x)


def wall_line(size: int, count: int, number: int) -> int:
    """Where wall line `number` of `count` rooms runs over a side of this size."""
    # the steps of numpy.linspace, which decide how fractions are cut
    return size - 1 if number == count else int(number * ((size - 1) / count))


def build_rooms(w: Any, shape: Any, layout: Any) -> None:
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
            x = w.rng.integers(left + 1, right)
            w.remove(w.at[wall_line(height, rows, row), x])
    for row in range(rows):
        for column in range(1, columns):
            top, bottom = wall_line(height, rows, row), wall_line(height, rows, row + 1)
            y = w.rng.integers(top + 1, bottom)
            w.remove(w.at[y, wall_line(width, columns, column)])


def put(w: Any, kind: int, y: int, x: int, color: int = 0) -> int:
    """A new object of a type in a cell; a colour other than NONE only for coloured types."""
    if kind == FLOOR:  # what a free cell is
        return NOTHING
    e: int = w.spawn(kind)
    if color != 0:
        w.color.value[e] = color
    w.place(e, y, x)
    return e


def put_agent(w: Any, agent: int, y: int, x: int, facing: int) -> None:
    """The agent into a cell, on top of whatever is there."""
    w.position.y[agent] = y
    w.position.x[agent] = x
    w.agent.facing[agent] = facing


def floor_cells(w: Any) -> NDArray[np.int64]:
    """Numbers y * width + x of the cells without an object, row by row."""
    cells = np.empty(w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            if w.at[y, x] == NOTHING:
                cells[count] = y * w.width + x
                count += 1
    return cells[:count]
