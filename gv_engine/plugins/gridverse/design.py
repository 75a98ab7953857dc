"""Functions that draw lines, rooms and areas of objects on grids.

Each takes a `factory`, a function or class that returns a new object, and returns the positions
that it has drawn on.
"""

from __future__ import annotations

from collections.abc import Iterable

from gv_engine.plugins.gridverse.geometry import Area, Position
from gv_engine.plugins.gridverse.grid import Grid
from gv_engine.plugins.gridverse.grid_object import GridObjectFactory, Wall


def draw_wall_boundary(grid: Grid) -> list[Position]:
    """Draw walls on the border of the grid."""
    return draw_room(grid, grid.area, Wall)


def draw_room(grid: Grid, area: Area, factory: GridObjectFactory) -> list[Position]:
    """Draw objects on the border of an area."""
    return draw_area(grid, area, factory, fill=False)


def draw_room_grid(
    grid: Grid, ys: Iterable[int], xs: Iterable[int], factory: GridObjectFactory
) -> list[Position]:
    """Draw the walls of a grid of rooms: a horizontal line in each row of `ys` and a vertical line
    in each column of `xs`. `factory` makes the objects, such as `Wall`. Return the cells."""
    rows, columns = set(ys), set(xs)
    corners = [(y, x) for y in (min(rows), max(rows)) for x in (min(columns), max(columns))]
    every = Area.from_positions(corners).positions()
    return _draw(grid, [p for p in every if p.y in rows or p.x in columns], factory)


def draw_area(grid: Grid, area: Area, factory: GridObjectFactory, *, fill: bool) -> list[Position]:
    """Draw objects in all cells of an area, or only on its border."""
    return _draw(grid, area.positions("all" if fill else "border"), factory)


def draw_line_horizontal(
    grid: Grid, y: int, xs: Iterable[int], factory: GridObjectFactory
) -> list[Position]:
    """Draw objects in the columns `xs` of a row."""
    return draw_cartesian_product(grid, [y], xs, factory)


def draw_line_vertical(
    grid: Grid, ys: Iterable[int], x: int, factory: GridObjectFactory
) -> list[Position]:
    """Draw objects in the rows `ys` of a column."""
    return draw_cartesian_product(grid, ys, [x], factory)


def draw_cartesian_product(
    grid: Grid, ys: Iterable[int], xs: Iterable[int], factory: GridObjectFactory
) -> list[Position]:
    """Draw objects in the cells of the rows `ys` that are in the columns `xs`."""
    columns = list(xs)
    return _draw(grid, [Position(y, x) for y in ys for x in columns], factory)


def _draw(grid: Grid, positions: Iterable[Position], factory: GridObjectFactory) -> list[Position]:
    """Put a new object made by `factory` into each cell of `positions`, and return the cells as a
    list."""
    drawn = list(positions)
    for position in drawn:
        grid[position] = factory()
    return drawn
