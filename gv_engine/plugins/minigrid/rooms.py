"""Rooms of MiniGrid's levels that consist of rooms of one size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gv_engine.rules.system import RESET
from gv_engine.scenario.scenario import Scenario


@dataclass(frozen=True)
class Room:
    """Room of a level.

    Attributes:
        top: x and y of its first cell, a wall.
        size: columns and rows, walls included.
        doors: door in the wall on the right, below, on the left and above; None for none.
    """

    top: tuple[int, int]
    size: tuple[int, int]
    doors: tuple[Any, ...] = (None,) * 4

    def pos_inside(self, x: int, y: int) -> bool:
        """Return True if a cell is in the room, walls included."""
        (left, top), (width, height) = self.top, self.size
        return left <= x < left + width and top <= y < top + height

    def list_walls(self) -> list[list[tuple[int, int]]]:
        """Return the cells (x, y) of each wall of the room, without corners. The walls are in the
        order of `doors`."""
        (left, top), (width, height) = self.top, self.size
        xs, ys = range(left + 1, left + width - 1), range(top + 1, top + height - 1)
        return [
            [(left + width - 1, y) for y in ys],
            [(x, top + height - 1) for x in xs],
            [(left, y) for y in ys],
            [(x, top) for x in xs],
        ]


@dataclass(frozen=True)
class RoomGrid:
    """Rooms of a level.

    Attributes:
        size: rows and columns of a room, walls included.
        columns, rows: number of rooms beside, and below one another.
    """

    size: int
    columns: int
    rows: int

    @classmethod
    def of(cls, scenario: Scenario, width: int, height: int) -> RoomGrid:
        """Return the grid of rooms of a level that is `width` cells wide and `height` cells high.

        Raises:
            AttributeError: the level has no rooms of one size.
        """
        sizes = [
            nested_call.arguments["room_size"]
            for call in scenario.calls(RESET)
            for nested_call in call.walk()
            if "room_size" in nested_call.arguments
        ]
        if not sizes:
            raise AttributeError(f"{scenario.name} has no rooms of one size")
        size = int(sizes[-1])
        return cls(size, (width - 1) // (size - 1), (height - 1) // (size - 1))

    def get(self, i: int, j: int) -> Room:
        """Return the room in column `i` of row `j`.

        Raises:
            IndexError: there is no such room.
        """
        if not (0 <= i < self.columns and 0 <= j < self.rows):
            raise IndexError(f"room {i}, {j}: the level has {self.columns} x {self.rows} rooms")
        return Room((i * (self.size - 1), j * (self.size - 1)), (self.size, self.size))
