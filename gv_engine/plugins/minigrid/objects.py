"""MiniGrid's objects and grid, over a world of a MiniGrid level."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import BLUE, GREEN, GREY, PURPLE, RED, YELLOW
from components.minigrid import BALL, LAVA, PARCEL
from components.objects import BOX, DOOR, EXIT, KEY, WALL
from gv_engine.world.world import ObjectWorld

TYPE_NAMES = (
    *("unseen", "empty", "wall", "floor", "door", "key", "ball", "box", "goal", "lava"),
    "agent",
)
"""Names of object types, by MiniGrid's number."""
COLOR_NAMES = "red", "green", "blue", "purple", "yellow", "grey"
"""Names of colours, by MiniGrid's number."""
UNSEEN, EMPTY = 0, 1
_LETTERS = dict(zip(TYPE_NAMES[2:10], "WFDKABGV", strict=True))
DIRECTIONS: NDArray[np.int64] = np.array([(1, 0), (0, 1), (-1, 0), (0, -1)], np.int64)
"""x and y of one step ahead, by MiniGrid's direction."""

MiniGridActions = IntEnum("MiniGridActions", "left right forward pickup drop toggle done", start=0)

_COLORS = dict(zip(COLOR_NAMES, (RED, GREEN, BLUE, PURPLE, YELLOW, GREY), strict=True))
_TYPES: dict[str, tuple[int, ...]] = {
    "wall": (WALL,),
    "door": (DOOR,),
    "key": (KEY,),
    "ball": (BALL,),
    "goal": (EXIT,),
    "lava": (LAVA,),
    "box": (BOX, PARCEL),
}
"""Type indices of this engine that may stand for a type of MiniGrid; a level has at most one of
them."""
TYPE_NAME_BY_INDEX = {index: name for name, indices in _TYPES.items() for index in indices}
"""Names of MiniGrid's types by type index of this engine."""
COLOR_NAME_BY_INDEX = {index: name for name, index in _COLORS.items()}


@dataclass(eq=False)
class GridObject:
    """Object of a level; for `isinstance`, an instance of MiniGrid's class for its type.

    During an episode, an entity is always the same object, whose attributes are those of the time
    when it was last read from the environment.

    Attributes:
        type, color: names, see `TYPE_NAMES` and `COLOR_NAMES`.
        state: of a door: 0 open, 1 closed, 2 locked; else 0.
        contains: the object inside a box.
        cur_pos: x and y of its cell; (-1, -1) while it is carried.
        init_pos: x and y of the cell where it was first seen in the episode.
    """

    type: str
    color: str
    state: int = 0
    contains: GridObject | None = None
    cur_pos: tuple[int, int] = (-1, -1)
    init_pos: tuple[int, int] = (-1, -1)

    @property  # type: ignore[misc]  # only `isinstance` reads it
    def __class__(self) -> Any:
        """MiniGrid's class for this type of object, if MiniGrid has been imported, so that
        `isinstance` works."""
        module = sys.modules.get("minigrid.core.world_object")
        return getattr(module, self.type.capitalize(), GridObject)

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
        """Return True if the agent can see the cells behind the object."""
        return self.is_open or self.type not in ("wall", "door")

    def encode(self) -> tuple[int, int, int]:
        """Return MiniGrid's numbers of type, colour and state."""
        return TYPE_NAMES.index(self.type), COLOR_NAMES.index(self.color), self.state


@dataclass(eq=False)
class Grid:
    """Copy of the cells of a level, or of the agent's view.

    Attributes:
        codes: (w, h, 3) uint8 type, colour and state of each cell.
        find: function that returns the object in column x of row y; None for new objects.
        write: function `(cells, thing)` that puts a thing into cells (x, y) of the level of which
            this is a copy; None for the agent's view.
    """

    codes: NDArray[np.uint8]
    find: Callable[[int, int], GridObject | None] | None = None
    write: Callable[[Iterable[tuple[int, int]], Any], None] | None = None

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.codes)

    @property
    def height(self) -> int:
        """Number of rows."""
        return len(self.codes[0])

    @property
    def grid(self) -> tuple[GridObject | None, ...]:
        """Objects of all cells, row by row."""
        return tuple(self.get(i, j) for j in range(self.height) for i in range(self.width))

    def get(self, i: int, j: int) -> GridObject | None:
        """Return the object in column `i` and row `j` of the grid. None for an empty cell.

        Raises:
            IndexError: the grid has no such cell.
        """
        self._require_cell(i, j)
        if TYPE_NAMES[self.codes[i, j, 0]] in ("unseen", "empty", "agent"):
            return None
        if self.find:
            return self.find(int(i), int(j))
        return make_object(self.codes[i, j], (int(i), int(j)))

    def _require_cell(self, i: int, j: int) -> None:
        if not (0 <= i < self.width and 0 <= j < self.height):
            raise IndexError(f"cell {i}, {j}: the grid has {self.width} x {self.height} cells")

    def set(self, i: int, j: int, v: Any) -> None:
        """Put the object `v` into column `i` of row `j` of the level, in place of what is there;
        None empties the cell. `v` is a `GridObject` or one of MiniGrid's own objects.

        Raises:
            IndexError: the grid has no such cell.
            ValueError: the level has no such objects, or no room for one more.
            AttributeError: the grid is the agent's view.
        """
        self._set_all([(i, j)], v)

    def horz_wall(self, x: int, y: int, length: int | None = None, obj_type: Any = None) -> None:
        """Put walls, or objects of the class `obj_type`, into `length` cells of row `y` from column
        `x` on, by default up to the edge."""
        stop = self.width if length is None else x + length
        self._set_all([(i, y) for i in range(x, stop)], _make_wall(obj_type))

    def vert_wall(self, x: int, y: int, length: int | None = None, obj_type: Any = None) -> None:
        """Put walls, or objects of the class `obj_type`, into `length` cells of column `x` from row
        `y` on, by default down to the edge."""
        stop = self.height if length is None else y + length
        self._set_all([(x, j) for j in range(y, stop)], _make_wall(obj_type))

    def wall_rect(self, x: int, y: int, w: int, h: int) -> None:
        """Put walls around the cells of a rectangle with `w` columns and `h` rows."""
        cells = [(i, j) for i in range(x, x + w) for j in range(y, y + h)]
        sides = [(i, j) for i, j in cells if i in (x, x + w - 1) or j in (y, y + h - 1)]
        self._set_all(sides, _WALL)

    def _set_all(self, cells: list[tuple[int, int]], thing: Any) -> None:
        """Put a thing like `thing` into each of the cells, in the level and in this copy of it."""
        if self.write is None:
            raise AttributeError("the agent's view can only be read: change env.unwrapped.grid")
        for i, j in cells:
            self._require_cell(i, j)
        self.write(cells, thing)
        for i, j in cells:
            self.codes[i, j] = (EMPTY, 0, 0) if thing is None else thing.encode()

    def encode(self, vis_mask: NDArray[np.bool_] | None = None) -> NDArray[np.uint8]:
        """Return a (w, h, 3) copy of the grid's (type, colour, state) numbers, with zeros where the
        (w, h) mask `vis_mask` is False."""
        seen = True if vis_mask is None else np.asarray(vis_mask)[..., None]
        return np.where(seen, self.codes, np.uint8(0))

    def __contains__(self, key: tuple[str | None, str]) -> bool:
        """Return True if the grid has an object of this (colour, type); with None as the colour, of
        any colour."""
        color, object_type = key
        objects = (thing for thing in self.grid if thing and thing.type == object_type)
        return any(color in (None, thing.color) for thing in objects)


_WALL = GridObject("wall", "grey")


def _make_wall(obj_type: Any) -> Any:
    return _WALL if obj_type is None else obj_type()


def make_object(code: NDArray[np.uint8], cell: tuple[int, int] = (-1, -1)) -> GridObject:
    """Return a new object with the MiniGrid numbers `code` (type, colour, state)."""
    object_type, color, state = code.tolist()
    return GridObject(TYPE_NAMES[object_type], COLOR_NAMES[color], state, None, cell, cell)


def write_object(thing: GridObject | None) -> str:
    """Return two characters for a MiniGrid object, its type and colour. None stands for an empty
    cell."""
    if thing is None:
        return "  "
    if thing.is_open:
        return "__"
    return ("L" if thing.is_locked else _LETTERS[thing.type]) + thing.color[0].upper()


def spawn_object(world: ObjectWorld, thing: Any) -> int:
    """Create an object like `thing`, which is of a class of MiniGrid or this module, in a world. It
    is not yet in a cell. Return its entity.

    Raises:
        ValueError: the world has no such type of objects.
    """
    available = {object_type.index for object_type in world.layout.types}
    index = next((index for index in _TYPES.get(thing.type, ()) if index in available), None)
    if index is None:
        names = sorted(name for name, indices in _TYPES.items() if available.intersection(indices))
        raise ValueError(f"this level has no {thing.type!r}: allowed are {', '.join(names)}")
    e = world.spawn(index)
    if world.color.has[e] and thing.type != "wall":
        world.color.value[e] = _COLORS[thing.color]
    world.set_state(e, int(thing.encode()[2]))
    if (content := getattr(thing, "contains", None)) is not None:
        world.box.content[e] = spawn_object(world, content)
    return e


def draw_grid(
    grid: Grid,
    tile_size: int,
    agent_pos: tuple[int, int],
    agent_dir: int,
    highlight: NDArray[np.bool_],
) -> NDArray[np.uint8]:
    """Draw a grid with MiniGrid's own code. Return the image, (h * tile_size, w * tile_size, 3).
    `highlight` is a mask of the bright cells.

    Args:
        grid: cells to draw.
        tile_size: pixels of a cell's side.
        agent_pos, agent_dir: x, y and direction of the agent.
        highlight: (w, h) mask of the cells that are brighter.
    """
    from minigrid.core.grid import Grid as MiniGridGrid

    cells, _ = MiniGridGrid.decode(grid.codes)
    picture: NDArray[np.uint8] = cells.render(tile_size, agent_pos, agent_dir, highlight)
    return picture
