"""The grid: in each cell one object, and one on the ground beneath it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.gridverse.geometry import Area, Orientation, Position, Shape, as_area
from gv_engine.gridverse.grid_object import Floor, GridObject, Hidden, NoneGridObject
from gv_engine.gridverse.object_store import household, new_world
from gv_engine.gridverse.values import Value
from gv_engine.rules.component import NOTHING
from gv_engine.rules.objects import GROUND
from gv_engine.world.world import ObjectWorld


class Grid(Value):
    """The cells of a world: `grid[y, x]` or `grid[position]` is the object that shows there, a
    thing or else what lies on the ground; `grid.ground[y, x]` is the latter alone.

    A view: it reads and writes the world's columns, and an object that is assigned to a cell
    becomes the one that they read. An object that is in some cell, box or hand already is copied.

    Args:
        rows: the objects, row by row.
        ground: what lies on the ground beneath them, likewise.

    Raises:
        ValueError: no cells, or rows of different lengths.
        TypeError: something in it is no object.
    """

    def __init__(
        self,
        rows: Sequence[Sequence[GridObject]],
        ground: Sequence[Sequence[GridObject]] = (),
    ) -> None:
        widths = {len(row) for row in rows}
        if len(widths) != 1 or 0 in widths:
            raise ValueError(
                f"Grid: expected rows of one length, at least one object each; found lengths "
                f"{sorted(widths)}"
            )
        things: list[object] = [thing for row in (*rows, *ground) for thing in row]
        wanted = [thing.kind for thing in things if isinstance(thing, GridObject)]
        self._begin(new_world(len(rows), widths.pop(), wanted))
        for cells, layer in ((self, rows), (self.ground, ground)):
            for y, row in enumerate(layer):
                for x, thing in enumerate(row):
                    cells[y, x] = thing

    def _begin(self, world: ObjectWorld) -> None:
        self._world = world
        self._household = household(world)
        self._in_state = False

    @classmethod
    def of(cls, world: ObjectWorld) -> Grid:
        """The grid of a world."""
        grid = object.__new__(cls)
        grid._begin(world)
        return grid

    @classmethod
    def from_shape(cls, shape: tuple[int, int], factory: Callable[[], GridObject] = Floor) -> Grid:
        """A grid of a size, each cell with a new object."""
        height, width = shape
        return cls([[factory() for _ in range(width)] for _ in range(height)])

    @property
    def world(self) -> ObjectWorld:
        """The world that it shows."""
        return self._world

    @property
    def shape(self) -> Shape:
        """(height, width)."""
        return Shape(self._world.height, self._world.width)

    @property
    def area(self) -> Area:
        """All cells."""
        return Area((0, self.shape.height - 1), (0, self.shape.width - 1))

    # ---- cells -------------------------------------------------------------------------------

    def _cell(self, position: tuple[int, int]) -> tuple[int, int]:
        try:
            y, x = position
        except TypeError:
            raise TypeError(f"grid[{position!r}]: expected grid[y, x] or a Position") from None
        if not (0 <= y < self._world.height and 0 <= x < self._world.width):
            raise IndexError(
                f"({y}, {x}) is outside the grid of {self.shape.height}×{self.shape.width} cells; "
                f"ask `position in grid`, or take grid.get(position, Hidden)"
            )
        return int(y), int(x)

    def __contains__(self, position: object) -> bool:
        """Whether the grid has a cell at a position."""
        return isinstance(position, tuple) and self.area.contains(position)

    def __getitem__(self, position: tuple[int, int]) -> GridObject:
        """The object that shows in a cell; on free floor a new Floor.

        Raises:
            IndexError: outside the grid.
        """
        cell = self._cell(position)
        return self._household.thing(self._world.at[cell] or self._world.ground[cell])

    @property
    def ground(self) -> Ground:
        """`grid.ground[y, x]` is what lies on the ground of a cell; can be assigned to."""
        return Ground(self)

    def __setitem__(self, position: tuple[int, int], thing: GridObject) -> None:
        """Put an object in the place of the one in a cell, on the layer of its type, which lives on
        without a world.

        Raises:
            IndexError: outside the grid.
            TypeError: that is no object.
            ValueError: objects of its type cannot be in a cell.
            RuleError: the world does not know the type.
        """
        cell = self._cell(position)
        self._refuse(cell, thing)
        world = self._world
        before = (world.ground if thing.kind.layer == GROUND else world.at)[cell]
        if thing is self._household.thing(before):
            return
        e = self._household.take_in(thing)
        self._household.release(before)
        if e != NOTHING:
            self._world.place(e, *cell)

    def _refuse(self, cell: tuple[int, int], thing: object) -> None:
        """Raise an error if that can be in no cell."""
        if not isinstance(thing, GridObject):
            raise TypeError(f"grid[{cell}] = {thing!r}: expected a grid object")
        if isinstance(thing, NoneGridObject) or (self._in_state and isinstance(thing, Hidden)):
            raise ValueError(f"grid[{cell}] = {thing!r}: no cell of a state holds that; Floor()?")

    def get(self, position: tuple[int, int], factory: Callable[[], GridObject]) -> GridObject:
        """The object in a cell; outside the grid, a new one of the factory."""
        return self[position] if position in self else factory()

    def swap(self, one: tuple[int, int], other: tuple[int, int]) -> None:
        """Let the objects of two cells change places; what is on the ground stays.

        Raises:
            IndexError: a cell is outside the grid.
        """
        cells = self._cell(one), self._cell(other)
        entities = [self._world.at[cell] for cell in cells]
        for e in entities:
            self._world.lift(e)
        for e, cell in zip(entities, reversed(cells), strict=True):
            if e != NOTHING and self._world.at[cell] == NOTHING:
                self._world.place(e, *cell)

    def positions(self, object_type: type[GridObject] = GridObject) -> Iterator[Position]:
        """Cells row by row, all or those with an object of a type."""
        for position in self.area.positions():
            if isinstance(self[position], object_type):
                yield position

    def __iter__(self) -> Iterator[GridObject]:
        """The objects, row by row."""
        return (self[position] for position in self.area.positions())

    def object_types(self) -> set[type[GridObject]]:
        """The types of the objects in the grid."""
        return {type(thing) for thing in self}

    # ---- other grids -------------------------------------------------------------------------

    def copy(self) -> Grid:
        """A grid with copies of all objects, in a world of its own."""
        return self.subgrid(self.area)

    def __reduce__(self) -> tuple[Any, ...]:
        return Grid, (self._rows(self), self._rows(self.ground) if self.has_ground else ())

    def _rows(self, layer: Grid | Ground) -> list[list[GridObject]]:
        return [[layer[y, x] for x in range(self.shape.width)] for y in range(self.shape.height)]

    @property
    def has_ground(self) -> bool:
        """Whether anything lies on the ground."""
        return bool(self._world.ground.any())

    def subgrid(self, area: Any) -> Grid:
        """A part, as a grid of its own with copies of the objects; Hidden outside the grid.

        Args:
            area: an `Area`, or `[[ymin, ymax], [xmin, xmax]]`.
        """
        part = as_area(area)
        xs = range(part.xmin, part.xmax + 1)
        cells = [[Position(y, x) for x in xs] for y in range(part.ymin, part.ymax + 1)]
        below = self.ground
        return Grid(
            [[self.get(cell, Hidden).copy() for cell in row] for row in cells],
            [[below[cell].copy() if cell in self else Floor() for cell in row] for row in cells]
            if self.has_ground
            else (),
        )

    def __mul__(self, orientation: Orientation) -> Grid:
        """The grid as someone sees it who looks in that direction, with copies of the objects."""
        if not isinstance(orientation, Orientation):
            return NotImplemented
        turns = {Orientation.F: 0, Orientation.R: 1, Orientation.B: 2, Orientation.L: 3}
        turned = []
        for layer in (self, self.ground) if self.has_ground else (self,):
            cells = np.empty(self.shape, object)
            for position in self.area.positions():
                cells[position] = layer[position].copy()
            turned.append(np.rot90(cells, turns[orientation]).tolist())
        return Grid(*turned)

    # ---- as values ---------------------------------------------------------------------------

    def to_array(self) -> NDArray[np.uint8]:
        """(H, W, 3) uint8: type, state and colour index of what shows in every cell."""
        return self._world.cells()

    def _key(self) -> tuple[Any, ...]:
        below = self._world.beneath()
        ground = b"" if below is None or not self.has_ground else below.tobytes()
        return Grid, self.shape, self.to_array().tobytes(), ground

    def __repr__(self) -> str:
        ground = f", {self._rows(self.ground)!r}" if self.has_ground else ""
        return f"Grid({self._rows(self)!r}{ground})"


class Ground:
    """What lies on the ground of a grid's cells.

    Args:
        grid: whose it is.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def __getitem__(self, position: tuple[int, int]) -> GridObject:
        """The object on the ground of a cell; a new Floor where there is none.

        Raises:
            IndexError: outside the grid.
        """
        world = self._grid.world
        return household(world).thing(world.ground[self._grid._cell(position)])

    def __setitem__(self, position: tuple[int, int], thing: GridObject) -> None:
        """Put an object in the place of the one on the ground of a cell; Floor for none.

        Raises:
            IndexError: outside the grid.
            TypeError: that is no object.
            ValueError: objects of its type do not live on the ground.
            RuleError: the world does not know the type.
        """
        cell = self._grid._cell(position)
        if isinstance(thing, Floor):
            household(self._grid.world).release(self._grid.world.ground[cell])
            return
        self._grid._refuse(cell, thing)
        if thing.kind.layer != GROUND:
            raise ValueError(
                f"grid.ground[{cell}] = {thing!r}: its layer is {thing.kind.layer!r}; write "
                f"grid[{cell}] for what stands above the ground"
            )
        self._grid[cell] = thing
