"""Grids and objects of levels under MiniGrid's names, to be read by MiniGrid's wrappers."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Never

import numpy as np
from numpy.typing import NDArray

TYPE_NAMES = (
    *("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava"),
    "agent",
)
"""Names of object types, by MiniGrid's number."""
COLOR_NAMES = "red", "green", "blue", "purple", "yellow", "grey"
"""Names of colours, by MiniGrid's number."""
UNSEEN, BOX = 0, 7
DIRECTIONS: NDArray[np.int64] = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], np.int64)
"""x and y of one step ahead, by MiniGrid's direction."""

MiniGridActions = IntEnum("MiniGridActions", "left right forward pickup drop toggle done", start=0)


@dataclass(frozen=True)
class GridObject:
    """Copy of an object of a level. It passes `isinstance` of MiniGrid's class of its type.

    Attributes:
        type, color: names, see `TYPE_NAMES` and `COLOR_NAMES`.
        state: of a door: 0 open, 1 closed, 2 locked; else 0.
        contains: the object inside a box.
        cur_pos: x and y of its cell; (-1, -1) while it is carried.
    """

    type: str
    color: str
    state: int = 0
    contains: GridObject | None = None
    cur_pos: tuple[int, int] = (-1, -1)

    @property  # type: ignore[misc]  # `isinstance` reads it, and nobody sets it
    def __class__(self) -> Any:
        classes = sys.modules.get("minigrid.core.world_object")
        return getattr(classes, self.type.capitalize(), GridObject)

    @property
    def is_open(self) -> bool:
        """Return True for an open door."""
        return self.type == "door" and self.state == 0

    @property
    def is_locked(self) -> bool:
        """Return True for a locked door."""
        return self.type == "door" and self.state == 2

    def can_overlap(self) -> bool:
        """Return True if the agent can stand on the object."""
        return self.is_open or self.type in ("goal", "floor", "lava")

    def can_pickup(self) -> bool:
        """Return True if the agent can carry the object."""
        return self.type in ("key", "ball", "box")

    def see_behind(self) -> bool:
        """Return True if the object hides nothing."""
        return self.is_open or self.type not in ("wall", "door")

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's numbers of type, colour and state."""
        return TYPE_NAMES.index(self.type), COLOR_NAMES.index(self.color), self.state


@dataclass(frozen=True)
class Grid:
    """Copy of the cells of a level, or of those that the agent looks at.

    Attributes:
        codes: (w, h, 3) uint8 type, colour and state of every cell.
        contents: the objects inside boxes, by x and y of the box.
    """

    codes: NDArray[np.uint8]
    contents: Mapping[tuple[int, int], GridObject] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """Columns."""
        return len(self.codes)

    @property
    def height(self) -> int:
        """Rows."""
        return len(self.codes[0])

    @property
    def grid(self) -> tuple[GridObject | None, ...]:
        """The objects of all cells, row by row."""
        return tuple(self.get(i, j) for j in range(self.height) for i in range(self.width))

    def get(self, i: int, j: int) -> GridObject | None:
        """Return the object in column i of row j; None for none.

        Raises:
            IndexError: the grid has no such cell.
        """
        if not (0 <= i < self.width and 0 <= j < self.height):
            raise IndexError(f"cell {i}, {j}: the grid has {self.width} x {self.height} cells")
        return grid_object(self.codes[i, j], self.contents.get((i, j)), (int(i), int(j)))

    def encode(self, vis_mask: NDArray[np.bool_] | None = None) -> NDArray[np.uint8]:
        """Return a (w, h, 3) copy of the numbers, zeros where a (w, h) mask is False."""
        seen = True if vis_mask is None else np.asarray(vis_mask)[..., None]
        return np.where(seen, self.codes, np.uint8(0))

    def __contains__(self, key: tuple[str | None, str]) -> bool:
        """Return True if an object has this colour, or any for None, and this type."""
        found = (each for each in self.grid if each and each.type == key[1])
        return any(key[0] in (None, each.color) for each in found)

    def _refuse(self, *args: Any, **options: Any) -> Never:
        raise AttributeError(
            "MiniGrid's grid can only be read: write a scenario that extends the level, or "
            "change a row of env.unwrapped.snapshot() and hand it to restore()"
        )

    set = horz_wall = vert_wall = wall_rect = _refuse


def grid_object(
    code: NDArray[np.uint8], contains: GridObject | None, cell: tuple[int, int] = (-1, -1)
) -> GridObject | None:
    """Return the object with these numbers of type, colour and state; None for an empty cell."""
    kind, color, state = code.tolist()
    if TYPE_NAMES[kind] in ("unseen", "empty", "agent"):
        return None
    return GridObject(TYPE_NAMES[kind], COLOR_NAMES[color], state, contains, cell)


def draw_grid(
    grid: Grid,
    cell: int,
    agent_pos: tuple[int, int],
    agent_dir: int,
    highlight: NDArray[np.bool_] | None,
) -> NDArray[np.uint8]:
    """Return a (h * cell, w * cell, 3) picture that MiniGrid itself has drawn.

    Args:
        grid: the cells.
        cell: pixels of a cell's side.
        agent_pos, agent_dir: x, y and direction of the agent.
        highlight: (w, h) where cells are brighter.
    """
    from minigrid.core.grid import Grid as Drawn

    cells, _ = Drawn.decode(grid.codes)
    picture: NDArray[np.uint8] = cells.render(cell, agent_pos, agent_dir, highlight)
    return picture
