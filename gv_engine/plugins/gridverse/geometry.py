"""Positions, orientations, areas and transforms.

>>> Position(2, 3) + Position.from_orientation(Orientation.R)
Position(y=2, x=4)
>>> Orientation.R * Orientation.R is Orientation.B
True
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, make_dataclass
from typing import Any, NamedTuple, SupportsIndex, TypeVar, final, overload

from gv_engine.rules import geometry
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import euclidean, manhattan, rotate, step_x, step_y

_T = TypeVar("_T", "Orientation", "Position", "Area", "Transform")
_C = TypeVar("_C")
_OPERATORS = "add sub mul matmul truediv floordiv mod pow and or xor lshift rshift"


def _limit_operators(cls: type[_C]) -> type[_C]:
    """Class decorator for subclasses of int or tuple. Operators that the class inherits, such as
    `+`, raise TypeError between two objects of this module, so `Shape + Shape` is an error. Objects
    of different classes are never equal."""
    for name in _OPERATORS.split():
        for method in (f"__{name}__", f"__r{name}__"):
            if method not in vars(cls):
                setattr(cls, method, _guard_operator(name, getattr(cls, method, None)))
    if issubclass(cls, tuple):
        pair: Any = cls  # a named tuple of two numbers
        pair.__eq__ = lambda self, other: _is_comparable(self, other) and tuple.__eq__(self, other)
        pair.__ne__ = object.__ne__
        pair.__hash__ = tuple.__hash__
        # so that `dataclasses.replace` takes it, as it takes the dataclasses of GridVerse
        dataclass_of_fields: Any = make_dataclass(cls.__name__, pair._fields)
        pair.__dataclass_fields__ = dataclass_of_fields.__dataclass_fields__
    return cls


def _is_comparable(one: tuple[int, int], other: object) -> bool:
    return isinstance(other, type(one)) or not isinstance(other, _GEOMETRY_TYPES)


def _guard_operator(name: str, inherited: Any) -> Any:
    """Return a method for the operator `name` that raises TypeError if the other operand is an
    object of this module. For other operands it calls `inherited`."""

    def guarded_operator(self: Any, other: Any) -> Any:
        if isinstance(other, _GEOMETRY_TYPES):
            types = f"{type(self).__name__} and {type(other).__name__}"
            raise TypeError(f"unsupported operand types for {name}: {types}")
        return NotImplemented if inherited is None else inherited(self, other)

    return guarded_operator


@_limit_operators
class Shape(NamedTuple):
    """Height and width, in cells."""

    height: int
    width: int

    @property
    def as_tuple(self) -> tuple[int, int]:
        """Return (height, width) as a plain tuple."""
        return self.height, self.width


@_limit_operators
class Orientation(geometry.NamedNumber):
    """Direction that an agent faces, `F B L R` for short; also a rotation, where `R` is a quarter
    turn clockwise.

    `orientation * other` rotates another orientation, a position around (0, 0), or an area.
    """

    FORWARD = geometry.FORWARD
    BACKWARD = geometry.BACKWARD
    LEFT = geometry.LEFT
    RIGHT = geometry.RIGHT
    F = FORWARD
    B = BACKWARD
    L = LEFT
    R = RIGHT

    @overload
    def __mul__(self, other: _T) -> _T: ...
    @overload
    def __mul__(self, other: int) -> int: ...
    def __mul__(self, other: Any) -> Any:
        """Rotate an orientation, position or area by this orientation."""
        if isinstance(other, Orientation):
            return Orientation(rotate(int(self), int(other)))
        if isinstance(other, Position):
            # the steps down and right after the rotation
            down = Position.from_orientation(self * Orientation.BACKWARD)
            right = Position.from_orientation(self * Orientation.RIGHT)
            return down * other.y + right * other.x
        if isinstance(other, Area):
            corners = [self * Position(y, x) for y in other.ys for x in other.xs]
            return Area.from_positions(corners)
        # grids and transforms answer themselves
        return NotImplemented if isinstance(other, _GEOMETRY_TYPES) else int(self).__mul__(other)

    def __rmul__(self, other: Any) -> Any:
        return self * other

    def __neg__(self) -> Orientation:
        """Return the inverse rotation."""
        return next(other for other in Orientation if self * other is Orientation.FORWARD)


@_limit_operators
class Position(NamedTuple):
    """Cell, or difference between two cells: y grows downward, x to the right."""

    y: int
    x: int

    @property
    def yx(self) -> tuple[int, int]:
        """Return (y, x) as a plain tuple."""
        return self.y, self.x

    @classmethod
    def from_orientation(cls, orientation: Orientation) -> Position:
        """Return the step in a direction."""
        return cls(step_y(orientation), step_x(orientation))

    @overload  # type: ignore[override]  # of tuples, it concatenates
    def __add__(self, other: Area) -> Area: ...
    @overload
    def __add__(self, other: tuple[int, int]) -> Position: ...
    def __add__(self, other: Any) -> Any:
        """Add two positions component by component: (1, 2) + (3, 4) gives (4, 6)."""
        if isinstance(other, geometry.Area):
            return _move_area(other, self)
        y, x = _read_offset(other)
        return Position(self.y + y, self.x + x)

    @overload
    def __radd__(self, other: Area) -> Area: ...
    @overload
    def __radd__(self, other: tuple[int, int]) -> Position: ...
    def __radd__(self, other: Any) -> Any:
        return self + other

    def __sub__(self, other: tuple[int, int]) -> Position:
        y, x = _read_offset(other)
        return Position(self.y - y, self.x - x)

    def __neg__(self) -> Position:
        return Position(-self.y, -self.x)

    @overload  # type: ignore[override]  # of tuples, it repeats
    def __mul__(self, other: Orientation | Transform) -> Position: ...
    @overload
    def __mul__(self, other: SupportsIndex) -> Position: ...
    def __mul__(self, other: Any) -> Any:
        """Multiply the position by a number, rotate it around (0, 0) by an orientation, or apply a
        transform to it."""
        if isinstance(other, Orientation | Transform):
            return other * self
        if isinstance(other, _GEOMETRY_TYPES):
            raise TypeError(f"a Position cannot be multiplied by a {type(other).__name__}")
        return Position(self.y * int(other), self.x * int(other))

    @staticmethod
    def manhattan_distance(one: Position, other: Position) -> float:
        """Return the Manhattan distance of two positions."""
        return manhattan(one[0] - other[0], one[1] - other[1])

    @staticmethod
    def euclidean_distance(one: Position, other: Position) -> float:
        """Return the Euclidean distance of two positions."""
        return euclidean(one[0] - other[0], one[1] - other[1])


def _read_offset(other: Any) -> tuple[int, int]:
    """Return y and x of a position or a pair of numbers. Raise TypeError for anything else."""
    if isinstance(other, Position) or not isinstance(other, _GEOMETRY_TYPES):
        y, x = other
        return y, x
    raise TypeError(f"expected a Position or a pair, found {other!r}")


DistanceFunction = Callable[[Position, Position], float]
"""Distance of two positions."""


def distance_function_factory(name: str) -> DistanceFunction:
    """Return the distance function with this name.

    Raises:
        ValueError: the name is unknown.
    """
    functions = {"manhattan": Position.manhattan_distance, "euclidean": Position.euclidean_distance}
    if name not in functions:
        raise ValueError(f"no distance function {name!r}{describe_allowed(name, functions)}")
    return functions[name]


def get_manhattan_boundary(position: Position, distance: int) -> list[Position]:
    """Return all positions at this Manhattan distance from `position`, clockwise, starting above
    it.

    Raises:
        ValueError: the distance is not positive.
    """
    if distance <= 0:
        raise ValueError(f"distance={distance}: expected a positive number")
    sides = ((-1, 0), (0, 1)), ((0, 1), (1, 0)), ((1, 0), (0, -1)), ((0, -1), (-1, 0))
    return [
        position + Position(*start) * (distance - i) + Position(*end) * i
        for start, end in sides
        for i in range(distance)
    ]


_SELECTIONS = ("all", "border", "inside")


class Area(geometry.Area):
    """Inclusive ranges of rows and columns: `Area((-6, 0), (-3, 3))`.

    Args:
        ys: first and last row.
        xs: first and last column.

    Raises:
        ValueError: a range ends before it begins.
    """

    def __init__(self, ys: tuple[int, int], xs: tuple[int, int]) -> None:
        """Make an area from its first and last row, `ys`, and its first and last column, `xs`. All
        are included."""
        for name, (first, last) in (("ys", ys), ("xs", xs)):
            if first > last:
                raise ValueError(f"Area: {name}={(first, last)}, expected the smaller number first")
        super().__init__(*map(int, (*ys, *xs)))

    def __repr__(self) -> str:
        return f"Area({(self.ymin, self.ymax)}, {(self.xmin, self.xmax)})"

    @staticmethod
    def from_positions(positions: Iterable[tuple[int, int]]) -> Area:
        """Return the smallest area that contains all positions."""
        ys, xs = zip(*positions, strict=True)
        return Area((min(ys), max(ys)), (min(xs), max(xs)))

    @property
    def ys(self) -> tuple[int, int]:
        """Return the first and the last row."""
        return self.ymin, self.ymax

    @property
    def xs(self) -> tuple[int, int]:
        """Return the first and the last column."""
        return self.xmin, self.xmax

    def y_coordinates(self) -> range:
        """Return the rows."""
        return range(self.ymin, self.ymax + 1)

    def x_coordinates(self) -> range:
        """Return the columns."""
        return range(self.xmin, self.xmax + 1)

    @property
    def height(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    @property
    def width(self) -> int:
        """Return the number of columns."""
        return self.shape[1]

    def contains(self, position: tuple[int, int]) -> bool:
        """Return True if the area contains a cell."""
        y, x = position
        return self.ymin <= y <= self.ymax and self.xmin <= x <= self.xmax

    def positions(self, selection: str = "all") -> Iterator[Position]:
        """Yield the positions of the area row by row. `selection` is "all", "border", or "inside"
        for those not on the border.

        Raises:
            ValueError: the selection is unknown.
        """
        if selection not in _SELECTIONS:
            raise ValueError(f"selection={selection!r}{describe_allowed(selection, _SELECTIONS)}")
        for y in self.y_coordinates():
            for x in self.x_coordinates():
                is_on_border = y in (self.ymin, self.ymax) or x in (self.xmin, self.xmax)
                if selection == "all" or is_on_border == (selection == "border"):
                    yield Position(y, x)

    def __add__(self, position: tuple[int, int]) -> Area:
        return _move_area(self, _read_offset(position))


def _move_area(area: geometry.Area, offset: tuple[int, int]) -> Area:
    y, x = offset
    return Area((area.ymin + y, area.ymax + y), (area.xmin + x, area.xmax + x))


def as_area(value: Any) -> Area:
    """Convert `[[ymin, ymax], [xmin, xmax]]` or an area of the engine's own class to an `Area`.

    Raises:
        TypeError: the value is neither.
    """
    if isinstance(value, Area):
        return value
    if isinstance(value, geometry.Area):
        return _move_area(value, (0, 0))
    try:
        (ymin, ymax), (xmin, xmax) = value
    except (TypeError, ValueError):
        raise TypeError(
            f"area={value!r}: expected Area((ymin, ymax), (xmin, xmax)) or "
            f"[[ymin, ymax], [xmin, xmax]]"
        ) from None
    return Area((ymin, ymax), (xmin, xmax))


@final
@dataclass(frozen=True)
class Transform:
    """Position and orientation of a viewer; `*` converts cells relative to the viewer to grid
    cells.

    >>> Transform(Position(4, 2), Orientation.R) * Position(-1, 0)  # one cell ahead
    Position(y=4, x=3)
    """

    position: Position
    orientation: Orientation

    def __mul__(self, other: _T) -> _T:
        """Convert a position, orientation, area or transform from the agent's frame of reference to
        the grid's."""
        if isinstance(other, Transform):
            return Transform(self * other.position, self * other.orientation)
        if isinstance(other, Orientation):
            return self.orientation * other
        if isinstance(other, Position | Area):
            return self.orientation * other + self.position
        return NotImplemented

    __rmul__ = __mul__

    def __neg__(self) -> Transform:
        """Return the inverse transform."""
        rotation = -self.orientation
        return Transform(-(rotation * self.position), rotation)


_GEOMETRY_TYPES = Shape, Orientation, Position, geometry.Area, Transform
