"""What an agent may see: the area around it, cut out of the grid and turned so that it looks up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR, HIDDEN, NONE_GRID_OBJECT
from gv_engine.language.area import Area
from gv_engine.language.component import NOTHING, OUTSIDE
from gv_engine.language.errors import RuleError

if TYPE_CHECKING:
    from gv_engine.worlds.world import ObjectWorld

_FLOOR = bytes((FLOOR, 0, 0))
_HIDDEN = bytes((HIDDEN, 0, 0))

FIXED = "a rule writes view.{}, which every look of every world has in common"


def _fixed(name: str) -> Any:
    """A value of all looks, which rules may not write."""

    def refuse(view: ObjectView, value: object) -> None:
        raise RuleError(FIXED.format(name))

    return property(attrgetter(f"_{name}"), refuse)


class ObjectView:
    """One look, in the object world; compiled rows share a record with the same fields.

    `look` and `show` are the object world's twins of those in compiled code, three times as
    fast as the same text interpreted cell by cell.

    Attributes:
        height, width: of the area, in cells.
        y, x: the agent's cell in it.
        entity: (h, w) the entity in each cell, NOTHING on free floor, OUTSIDE beyond the grid.
        opaque: (h, w) whether the cell blocks vision.
        seen: (h, w) whether the agent sees the cell: what visibility functions fill in. Before
            them nothing is seen.
    """

    height, width, y, x = map(_fixed, ("height", "width", "y", "x"))

    def __init__(self, area: Area) -> None:
        self.area = area
        self._height, self._width = area.shape
        self._y, self._x = area.observer
        self.entity = np.zeros(area.shape, object)
        self.opaque = np.zeros(area.shape, object)
        self.seen = np.zeros(area.shape, object)

    def look(self, w: ObjectWorld, agent: int) -> None:
        """Cut the area around the agent out of the grid, turned so that the agent looks up."""
        self.entity = self.area.cut(w, agent, w.at)
        blocks_vision = w.blocks_vision
        self.opaque.reshape(-1)[:] = [
            e == OUTSIDE or (e != NOTHING and blocks_vision(e))
            for e in self.entity.ravel().tolist()
        ]
        self.seen.fill(0)

    def clear_row(self, i: int) -> int:
        """Bits of the cells of a row that let sight through; bit j is column j."""
        return _clear(tuple(self.opaque[i].tolist()))

    def clear_row_from_right(self, i: int) -> int:
        """The same, counted from the right: bit j is column width - 1 - j."""
        return _clear(tuple(self.opaque[i, ::-1].tolist()))

    def see_row(self, i: int, seen: int, from_right: int = 0) -> None:
        """Let the agent see the cells of a row whose bits are set."""
        self.seen[i] = _cells(seen, self.width)
        if from_right:
            self.seen[i] |= _cells(from_right, self.width)[::-1]

    def show(
        self, w: ObjectWorld, agent: int, grid: NDArray[np.uint8], item: NDArray[np.uint8]
    ) -> None:
        """Write what is seen as (type, state, colour) into (h, w, 3) and the held object."""
        cells = zip(self.entity.ravel().tolist(), self.seen.ravel().tolist(), strict=True)
        flat = np.frombuffer(
            b"".join(
                [
                    (bytes(w.appearance(e)) if e else _FLOOR) if seen and e != OUTSIDE else _HIDDEN
                    for e, seen in cells
                ]
            ),
            np.uint8,
        )
        grid[...] = flat.reshape(grid.shape)
        held = w.agent.holding[agent]
        item[...] = w.appearance(held) if held != NOTHING else (NONE_GRID_OBJECT, 0, 0)


@lru_cache(maxsize=4096)
def _clear(opaque: tuple[Any, ...]) -> int:
    return sum(1 << j for j, blocked in enumerate(opaque) if not blocked)


@lru_cache(maxsize=4096)
def _cells(bits: int, width: int) -> NDArray[Any]:
    return np.array([bits >> j & 1 for j in range(width)], object)


def tile_size(shape: tuple[int, ...]) -> int:
    """Rows and columns of a view that compiled code cuts out at once."""
    return 8 if max(shape) <= 8 else 16


_AREA = "view_{}_{}_{}_{}"


def sizes(names: Iterable[str]) -> dict[str, int]:
    """Height, width, y and x of a view, from the names of its record's fields; {} if it is none."""
    found = next((name for name in names if name.startswith("view_")), "")
    return dict(zip(("height", "width", "y", "x"), map(int, found.split("_")[1:]), strict=False))


def view_dtype(area: Area, rows: bool, entities: bool = True) -> np.dtype[Any]:
    """dtype of the record that stands for an `ObjectView` in compiled code.

    Args:
        area: what is seen of the grid.
        rows: whether it holds rows of bits or cells.
        entities: whether it says which entities are in the cells.
    """
    tile = tile_size(area.shape)
    whole = [-(-size // tile) * tile for size in area.shape]
    cells = np.uint8, area.shape
    return np.dtype(
        [
            ("height", np.int64),
            ("width", np.int64),
            ("y", np.int64),
            ("x", np.int64),
            # what is constant in compiled code stands in its type
            (_AREA.format(*area.shape, *area.observer), np.uint8),
            ("looks", np.uint32, whole),
            *(
                [(name, np.int64, whole[:1]) for name in ("clear_rows", "clear_from_right")]
                + [(name, np.int64, area.shape[:1]) for name in ("seen_rows", "seen_from_right")]
                if rows
                else [
                    *([("entity", np.int32, area.shape)] if entities else ()),
                    ("opaque", *cells),
                    ("seen", *cells),
                    ("spare", np.uint8, tile),  # the last row is read in whole tiles, too
                ]
            ),
        ],
        align=True,
    )


def view_record(area: Area, rows: bool, entities: bool = True) -> np.ndarray[Any, Any]:
    """A (1,) array of `view_dtype`."""
    record = np.zeros(1, view_dtype(area, rows, entities))
    record["height"], record["width"] = area.shape
    record["y"], record["x"] = area.observer
    return record
