"""Drawing helpers for levels: lines, areas and rooms.

Each helper puts new objects of a factory, such as `Wall`, into cells and returns the positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from gv_engine.gridverse.geometry import Area, Position
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.grid_object import GridObject, Wall

Factory = Callable[[], GridObject]


def draw_positions(
    grid: Grid, positions: Iterable[tuple[int, int]], factory: Factory
) -> list[Position]:
    """Put a new object from `factory` into each of these cells of the grid; return the positions.

    Raises:
        IndexError: a position is outside the grid; so for all helpers.
    """
    drawn = [Position(*position) for position in positions]
    for position in drawn:
        grid[position] = factory()
    return drawn


def draw_cartesian_product(
    grid: Grid, ys: Iterable[int], xs: Iterable[int], factory: Factory
) -> list[Position]:
    """Put a new object from `factory` into each cell whose row is in `ys` and whose column is in
    `xs`; return the positions."""
    columns = list(xs)
    return draw_positions(grid, [(y, x) for y in ys for x in columns], factory)


def draw_line_horizontal(grid: Grid, y: int, xs: Iterable[int], factory: Factory) -> list[Position]:
    """Put a line of objects into a row; return the positions."""
    return draw_cartesian_product(grid, [y], xs, factory)


def draw_line_vertical(grid: Grid, ys: Iterable[int], x: int, factory: Factory) -> list[Position]:
    """Put a line of objects into a column; return the positions."""
    return draw_cartesian_product(grid, ys, [x], factory)


def draw_area(grid: Grid, area: Area, factory: Factory, *, fill: bool) -> list[Position]:
    """Fill an area with objects, or only its border; return the positions."""
    return draw_positions(grid, area.positions("all" if fill else "border"), factory)


def draw_wall_boundary(grid: Grid) -> list[Position]:
    """Put walls around the grid; return the positions."""
    return draw_area(grid, grid.area, Wall, fill=False)


def draw_room(grid: Grid, area: Area, factory: Factory = Wall) -> list[Position]:
    """Put the walls of one room around an area; return the positions."""
    return draw_area(grid, area, factory, fill=False)


def draw_room_grid(
    grid: Grid, ys: Sequence[int], xs: Sequence[int], factory: Factory = Wall
) -> list[Position]:
    """Draw the walls of adjacent rooms along the rows `ys` and the columns `xs`; return the
    positions of the walls."""
    rows, columns = range(min(ys), max(ys) + 1), range(min(xs), max(xs) + 1)
    lines = [(y, x) for y in rows for x in columns if y in ys or x in xs]
    return draw_positions(grid, lines, factory)


def rooms_of(ys: Sequence[int], xs: Sequence[int]) -> list[Area]:
    """Return the areas inside the rooms that `draw_room_grid` draws with the same arguments, row by
    row."""
    return [
        Area((top + 1, bottom - 1), (left + 1, right - 1))
        for top, bottom in pairwise(ys)
        for left, right in pairwise(xs)
    ]
