"""Grid of objects: each cell has one object, and one on the ground beneath."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.plugins.gridverse.geometry import Area, Orientation, Position, Shape, as_area
from gv_engine.plugins.gridverse.grid_object import Floor, GridObject, Hidden, NoneGridObject
from gv_engine.plugins.gridverse.object_store import Value, get_store, new_world
from gv_engine.rules.component import NOTHING
from gv_engine.rules.objects import ABOVE, TERRAIN
from gv_engine.world.world import ObjectWorld


class Grid(Value):
    """Cells of a world. `grid[y, x]` or `grid[position]` is the visible object: the upper one, else
    the one on the ground. `grid.ground[y, x]` is the object on the ground.

    A grid is a view: it reads and writes the columns of its world. An object assigned to a cell
    becomes part of the world; an object that is in a world already is copied.

    Args:
        rows: objects, row by row.
        ground: objects on the ground, row by row; empty for none.

    Raises:
        ValueError: there are no cells, or rows differ in length.
        TypeError: an item is no object.
    """

    def __init__(
        self, rows: Sequence[Sequence[GridObject]], ground: Sequence[Sequence[GridObject]] = ()
    ) -> None:
        """Make a grid from rows of objects. `ground` has the objects that lie beneath, such as a
        floor tile, also as rows; empty for none."""
        widths = {len(row) for row in rows}
        if len(widths) != 1 or 0 in widths:
            raise ValueError(
                f"Grid: expected rows of one length, at least one object each; found lengths "
                f"{sorted(widths)}"
            )
        objects: list[object] = [obj for row in (*rows, *ground) for obj in row]
        wanted = [obj.kind for obj in objects if isinstance(obj, GridObject)]
        self._attach(new_world(len(rows), widths.pop(), wanted))
        for cells, layer in ((self, rows), (self.ground, ground)):
            for y, row in enumerate(layer):
                for x, obj in enumerate(row):
                    cells[y, x] = obj

    def _attach(self, world: ObjectWorld) -> None:
        self.world = world
        self._store = get_store(world)
        self._in_state = False

    @classmethod
    def of(cls, world: ObjectWorld) -> Grid:
        """Return a grid that reads and writes the cells of `world`."""
        grid = object.__new__(cls)
        grid._attach(world)
        return grid

    @classmethod
    def from_shape(cls, shape: tuple[int, int], factory: Callable[[], GridObject] = Floor) -> Grid:
        """Return a grid of shape (height, width), with a new object from `factory` in each cell."""
        height, width = shape
        return cls([[factory() for _ in range(width)] for _ in range(height)])

    @property
    def shape(self) -> Shape:
        """Return (height, width)."""
        return Shape(self.world.height, self.world.width)

    @property
    def area(self) -> Area:
        """Return the area of all cells."""
        return Area((0, self.shape.height - 1), (0, self.shape.width - 1))

    # ---- cells -------------------------------------------------------------------------------

    def _check_position(self, position: tuple[int, int]) -> tuple[int, int]:
        """Return `position` as two ints (y, x). Raise an error if it is outside the grid."""
        try:
            y, x = position
        except TypeError:
            raise TypeError(f"grid[{position!r}]: expected grid[y, x] or a Position") from None
        if not (0 <= y < self.world.height and 0 <= x < self.world.width):
            raise IndexError(
                f"({y}, {x}) is outside the grid of {self.shape.height}×{self.shape.width} cells; "
                f"ask `position in grid`, or take grid.get(position, Hidden)"
            )
        return int(y), int(x)

    def __contains__(self, position: object) -> bool:
        """Return True if the grid has a cell at a position."""
        return isinstance(position, tuple) and self.area.contains(position)

    def __getitem__(self, position: tuple[int, int]) -> GridObject:
        """Return the object that is visible in a cell, a Floor in an empty one.

        Raises:
            IndexError: the position is outside the grid.
        """
        return self._store.get_visible(self._check_position(position))

    @property
    def ground(self) -> Ground:
        """Return the ground layer: `grid.ground[y, x]` can be read and assigned."""
        return Ground(self)

    def __setitem__(self, position: tuple[int, int], obj: GridObject) -> None:
        """Put an object into a cell. It replaces the object on its layer: ground objects replace
        the ground object, all others the upper object. The replaced object remains usable.

        Raises:
            IndexError: the position is outside the grid.
            TypeError: the value is no object.
            ValueError: objects of its type cannot be in a cell.
            RuleError: the world does not have the type.
        """
        cell = self._check_position(position)
        self._check_object(cell, obj)
        world = self.world
        replaced = (world.at if obj.kind.layer == ABOVE else world.ground)[cell]
        if world.is_terrain(replaced):
            world.pave(*cell, FLOOR)
            replaced = NOTHING
        if obj.kind.layer == TERRAIN:
            self._store.remove(replaced)
            world.pave(*cell, obj.kind.index)
            return
        if obj is self._store.get_object(replaced):
            return
        e = self._store.add(obj)
        self._store.remove(replaced)
        if e == NOTHING:  # a Floor
            self._store.floors[cell] = obj
        else:
            self.world.place(e, *cell)

    def _check_object(self, cell: tuple[int, int], obj: object) -> None:
        """Raise an error if `obj` is not a grid object or cannot lie in a cell."""
        if not isinstance(obj, GridObject):
            raise TypeError(f"grid[{cell}] = {obj!r}: expected a grid object")
        if isinstance(obj, NoneGridObject) or (self._in_state and isinstance(obj, Hidden)):
            raise ValueError(f"grid[{cell}] = {obj!r}: no cell of a state holds that; Floor()?")

    def get(self, position: tuple[int, int], factory: Callable[[], GridObject]) -> GridObject:
        """Return the object in a cell; outside the grid, a new object from `factory`."""
        return self[position] if position in self else factory()

    def swap(self, first: tuple[int, int], second: tuple[int, int]) -> None:
        """Exchange the upper objects of two cells. Objects on the ground stay.

        Raises:
            IndexError: a cell is outside the grid.
        """
        first, second = self._check_position(first), self._check_position(second)
        first_entity, second_entity = self.world.at[first], self.world.at[second]
        self.world.lift(first_entity)
        self.world.lift(second_entity)
        for e, cell in ((first_entity, second), (second_entity, first)):
            if e != NOTHING and self.world.at[cell] == NOTHING:  # it is taken if both are one cell
                self.world.place(e, *cell)
        floors = self._store.floors
        if first in floors or second in floors:
            first_floor, second_floor = floors.pop(first, Floor()), floors.pop(second, Floor())
            floors[first], floors[second] = second_floor, first_floor

    def positions(self, object_type: type[GridObject] = GridObject) -> Iterator[Position]:
        """Yield the positions of all cells with a visible object of class `object_type`, row by
        row; by default of all cells."""
        for position in self.area.positions():
            if isinstance(self[position], object_type):
                yield position

    def __iter__(self) -> Iterator[GridObject]:
        """Yield the objects, row by row."""
        return (self[position] for position in self.area.positions())

    def object_types(self) -> set[type[GridObject]]:
        """Return the types of the objects in the grid."""
        return {type(obj) for obj in self}

    @property
    def objects(self) -> list[list[GridObject]]:
        """Return the visible objects, as a new list of rows."""
        return self._rows(self)

    # ---- copies and parts --------------------------------------------------------------------

    def copy(self) -> Grid:
        """Return a grid with copies of all objects, in a new world."""
        return self.subgrid(self.area)

    def __reduce__(self) -> tuple[Any, ...]:
        return Grid, (self._rows(self), self._rows(self.ground) if self.has_ground else ())

    def _rows(self, layer: Grid | Ground) -> list[list[GridObject]]:
        return [[layer[y, x] for x in range(self.shape.width)] for y in range(self.shape.height)]

    @property
    def has_ground(self) -> bool:
        """Return True if any object lies on the ground."""
        return bool(self.world.ground.any())

    def subgrid(self, area: Any) -> Grid:
        """Return the cells of `area` as a new grid with copies of the objects. Cells of the area
        outside this grid become Hidden.

        Args:
            area: `Area`, or `[[ymin, ymax], [xmin, xmax]]`.
        """
        part = as_area(area)
        cells = [[Position(y, x) for x in part.x_coordinates()] for y in part.y_coordinates()]
        objects = [[self.get(cell, Hidden).copy() for cell in row] for row in cells]
        if not self.has_ground:
            return Grid(objects)
        ground = self.ground
        ground_objects = [
            [ground[cell].copy() if cell in self else Floor() for cell in row] for row in cells
        ]
        return Grid(objects, ground_objects)

    def __mul__(self, orientation: Orientation) -> Grid:
        """Return a copy of the grid, rotated so that the direction `orientation` points up."""
        if not isinstance(orientation, Orientation):
            return NotImplemented
        quarter_turns = {Orientation.F: 0, Orientation.R: 1, Orientation.B: 2, Orientation.L: 3}
        layers = []
        for layer in (self, self.ground) if self.has_ground else (self,):
            objects = np.empty(self.shape, object)
            for position in self.area.positions():
                objects[position] = layer[position].copy()
            layers.append(np.rot90(objects, quarter_turns[orientation]).tolist())
        return Grid(*layers)

    __rmul__ = __mul__

    # ---- arrays and equality -----------------------------------------------------------------

    def to_array(self) -> NDArray[np.uint8]:
        """Return (H, W, 3) uint8: type, state and colour index of the topmost object in each
        cell."""
        return self.world.cells()

    def _content_key(self) -> tuple[Any, ...]:
        below = self.world.beneath()
        ground = b"" if below is None or not self.has_ground else below.tobytes()
        return Grid, self.shape, self.to_array().tobytes(), ground

    def __repr__(self) -> str:
        ground = f", {self._rows(self.ground)!r}" if self.has_ground else ""
        return f"Grid({self._rows(self)!r}{ground})"


class Ground:
    """Ground layer of a grid.

    Args:
        grid: grid that the layer belongs to.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def __getitem__(self, position: tuple[int, int]) -> GridObject:
        """Return the object on the ground layer of a cell; a new Floor if there is none.

        Raises:
            IndexError: the position is outside the grid.
        """
        world = self._grid.world
        return get_store(world).get_object(world.ground[self._grid._check_position(position)])

    def __setitem__(self, position: tuple[int, int], obj: GridObject) -> None:
        """Put an object on the ground of a cell. It replaces the ground object there; a Floor
        removes it.

        Raises:
            IndexError: the position is outside the grid.
            TypeError: the value is no object.
            ValueError: the layer of its type is not the ground.
            RuleError: the world does not have the type.
        """
        cell = self._grid._check_position(position)
        world = self._grid.world
        if isinstance(obj, Floor):
            if world.is_terrain(world.ground[cell]):
                world.pave(*cell, FLOOR)
            get_store(world).remove(world.ground[cell])
            return
        self._grid._check_object(cell, obj)
        if obj.kind.layer == ABOVE:
            raise ValueError(
                f"grid.ground[{cell}] = {obj!r}: its layer is {obj.kind.layer!r}; write "
                f"grid[{cell}] for what stands above the ground"
            )
        self._grid[cell] = obj
