"""Positions, orientations, areas and transforms.

>>> Position(2, 3) + Position.from_orientation(Orientation.R)
Position(y=2, x=4)
>>> Orientation.R * Orientation.R is Orientation.B
True
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple, SupportsIndex, TypeVar, final

from gv_engine.rules import geometry
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import euclidean, manhattan, rotate, step_x, step_y

_T = TypeVar("_T", "Orientation", "Position", "Area", "Transform")


class Shape(NamedTuple):
    """Height and width, in cells."""

    height: int
    width: int


class Orientation(IntEnum):
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

    def __mul__(self, other: _T) -> _T:  # type: ignore[override]  # of numbers, it multiplies
        if isinstance(other, Orientation):
            return Orientation(rotate(self, other))
        if isinstance(other, Position):
            # the steps down and right after the rotation
            down = Position.from_orientation(Orientation(rotate(self, Orientation.BACKWARD)))
            right = Position.from_orientation(Orientation(rotate(self, Orientation.RIGHT)))
            return Position(
                other.y * down.y + other.x * right.y, other.y * down.x + other.x * right.x
            )
        if isinstance(other, geometry.Area):
            corners = [
                self * Position(y, x)
                for y in (other.ymin, other.ymax)
                for x in (other.xmin, other.xmax)
            ]
            ys, xs = sorted(corner.y for corner in corners), sorted(corner.x for corner in corners)
            return Area((ys[0], ys[-1]), (xs[0], xs[-1]))
        return NotImplemented

    def __neg__(self) -> Orientation:
        """Return the inverse rotation."""
        return next(other for other in Orientation if rotate(self, other) == Orientation.FORWARD)


class Position(NamedTuple):
    """Cell, or difference between two cells: y grows downward, x to the right."""

    y: int
    x: int

    @classmethod
    def from_orientation(cls, orientation: Orientation) -> Position:
        """Return the step in a direction."""
        return cls(step_y(orientation), step_x(orientation))

    def __add__(self, other: tuple[int, int]) -> Position:  # type: ignore[override]  # no longer tuple
        return Position(self.y + other[0], self.x + other[1])

    def __sub__(self, other: tuple[int, int]) -> Position:
        return Position(self.y - other[0], self.x - other[1])

    def __neg__(self) -> Position:
        return Position(-self.y, -self.x)

    def __mul__(self, factor: SupportsIndex) -> Position:
        return Position(self.y * int(factor), self.x * int(factor))

    @staticmethod
    def manhattan_distance(one: Position, other: Position) -> float:
        """Return the Manhattan distance of two positions."""
        return manhattan(one[0] - other[0], one[1] - other[1])

    @staticmethod
    def euclidean_distance(one: Position, other: Position) -> float:
        """Return the Euclidean distance of two positions."""
        return euclidean(one[0] - other[0], one[1] - other[1])


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
        for name, (first, last) in (("ys", ys), ("xs", xs)):
            if first > last:
                raise ValueError(f"Area: {name}={(first, last)}, expected the smaller number first")
        super().__init__(*map(int, (*ys, *xs)))

    def __repr__(self) -> str:
        return f"Area({(self.ymin, self.ymax)}, {(self.xmin, self.xmax)})"

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
        """Yield the positions of the area row by row: "all", only those on its "border", or only
        those "inside" the border.

        Raises:
            ValueError: the selection is unknown.
        """
        if selection not in _SELECTIONS:
            raise ValueError(f"selection={selection!r}{describe_allowed(selection, _SELECTIONS)}")
        for y in range(self.ymin, self.ymax + 1):
            for x in range(self.xmin, self.xmax + 1):
                border = y in (self.ymin, self.ymax) or x in (self.xmin, self.xmax)
                if selection == "all" or border == (selection == "border"):
                    yield Position(y, x)

    def __add__(self, position: tuple[int, int]) -> Area:
        return _move_area(self, position)


def _move_area(area: geometry.Area, offset: tuple[int, int]) -> Area:
    """Return an area moved by (y, x)."""
    y, x = offset
    return Area((area.ymin + y, area.ymax + y), (area.xmin + x, area.xmax + x))


def as_area(value: Any) -> Area:
    """Return an `Area` for an area of the engine or for `[[ymin, ymax], [xmin, xmax]]`.

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
        if isinstance(other, Transform):
            return Transform(self * other.position, self * other.orientation)
        if isinstance(other, Orientation):
            return self.orientation * other
        if isinstance(other, Position | Area):
            return self.orientation * other + self.position
        return NotImplemented

    def __neg__(self) -> Transform:
        """Return the inverse transform."""
        back = -self.orientation
        return Transform(-(back * self.position), back)
