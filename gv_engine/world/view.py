"""View of an agent: the part of the grid around it, rotated so that the agent faces up if the view
area turns with the agent."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.core import HIDDEN, NONE, NONE_GRID_OBJECT
from gv_engine.rules.component import NOTHING, OUTSIDE
from gv_engine.rules.errors import RuleError
from gv_engine.rules.geometry import Area, up_in_view
from gv_engine.world.world import make_floor

if TYPE_CHECKING:
    from gv_engine.world.world import ObjectWorld


VIEW_SIZES = "height", "width", "y", "x", "turns"
"""Fields of a view that all views of a scenario share, see `ObjectView`."""
_CACHED_CELLS = 1 << 15
"""Number of cells in all results of a cache of `ObjectView.see_cached` before it is emptied."""
READ_ONLY_MESSAGE = "a rule writes view.{}, which all views of all worlds share; it is read-only"
"""Message about a write to a field that all views share."""


def _make_read_only_property(name: str) -> Any:
    """Return a property that reads the attribute `_<name>`. It raises `RuleError` if a rule writes
    it."""

    def refuse(view: ObjectView, value: object) -> None:
        raise RuleError(READ_ONLY_MESSAGE.format(name))

    return property(attrgetter(f"_{name}"), refuse)


class ObjectView:
    """View of one agent in a world of Python objects. Compiled worlds have a record with the same
    fields.

    Compiled code has its own versions of `look` and `show`; run interpreted, cell by cell, those
    would take three times as long as the methods here.

    Attributes:
        height, width: size of the area in cells.
        y, x: the agent's cell in the area.
        turns: 1 if the agent's direction is up in the view, 0 if the top of the grid is.
        entity: (h, w) visible entity of each cell: the object above, or else the ground object;
            NOTHING on free floor, OUTSIDE off the grid.
        opaque: (h, w) True if the cell blocks vision.
        seen: (h, w) True if the agent sees the cell; visibility systems write it, at first all are
            False.
        lit: (h * w,) int32 scratch space for visibility systems, with any content.
    """

    height, width, y, x, turns = map(_make_read_only_property, VIEW_SIZES)

    def __init__(self, area: Area) -> None:
        """Make an empty view of `area`, the cells around an agent that it may see."""
        self.area = area
        self._height, self._width = area.shape
        self._y, self._x = area.observer
        self._turns = int(area.turns)
        self.lit: NDArray[np.int32] = np.zeros(self._height * self._width, np.int32)
        size = self._height * self._width
        self._ground: list[tuple[int, int]] = []
        self._set_cells([], bytearray(size), bytes(size))

    def _set_cells(self, objects: list[Any], opaque: bytearray, outside: bytes) -> None:
        """Replace the content of the view: the entity of each cell, and the flags of cells that are
        `opaque` or `outside` the grid. Cells are in row order; all of them become unseen.

        Args:
            objects: (index of the cell, topmost entity) for each cell with an object.
            opaque: for each cell a byte, not 0 if the cell blocks vision.
            outside: for each cell a byte, not 0 if it is off the grid.
        """
        self._objects, self._opaque, self._outside = objects, opaque, outside
        # arrays once a rule reads them
        self._entity: NDArray[Any] | None = None
        self._opaque_cells: NDArray[Any] | None = None
        # lists by row; an array once a rule reads `seen`
        self._seen: Any = [[0] * self._width] * self._height
        self._looks: Any = None  # computed by `show`, if no cache has them

    @property
    def entity(self) -> NDArray[Any]:
        """(h, w) array with the number of the entity that each cell of the view shows."""
        if self._entity is None:
            empty = [OUTSIDE if off_grid else NOTHING for off_grid in self._outside]
            entities = dict(enumerate(empty)) | dict(self._objects)
            self._entity = self._make_cell_array([*entities.values()])
        return self._entity

    @property
    def opaque(self) -> NDArray[Any]:
        """(h, w) array, True for cells that block vision; from the first access on rules may write
        it."""
        if self._opaque_cells is None:
            self._opaque_cells = self._make_cell_array([*map(bool, self._opaque)])
        return self._opaque_cells

    @property
    def seen(self) -> NDArray[Any]:
        """(h, w) array, True for cells that the agent sees; visibility rules write it."""
        array: NDArray[Any] = np.asarray(self._seen, object)
        self._seen, self._looks = array, None
        return array

    def _make_cell_array(self, values: list[Any]) -> NDArray[Any]:
        return np.array(values, object).reshape(self.area.shape)

    def look(self, w: ObjectWorld, agent: int) -> None:
        """Copy the cells around an agent in world `w` into the view. All of them are unseen until a
        visibility rule runs."""
        cells, numbers, outside = self.area.cells_on_grid(w, agent, w.at.shape[1])
        opaque = bytearray(outside)
        objects = w.find_in_view(0, cells, numbers, opaque)
        for layer, name in enumerate(w.layout.layers[1:], 1):
            below = w.find_in_view(layer, cells, numbers, opaque)
            objects = [*dict(below + objects).items()]
            if name == "ground":
                self._ground = below
        # of several in a cell, the first shows
        for other in () if w.is_alone else reversed(w.everyone):
            if other != agent and (y := w.position.y[other]) >= 0:
                i, j = self.area.view_cell(w, agent, y, w.position.x[other])
                if 0 <= i < self._height and 0 <= j < self._width:
                    k = i * self._width + j
                    objects = [*(dict(objects) | {k: other}).items()]
                    opaque[k] = opaque[k] or w.blocks_vision(other)
        self._set_cells(objects, opaque, outside)

    def see_cached(
        self, run: Callable[..., Any], w: ObjectWorld, agent: int, cache: dict[Any, Any]
    ) -> None:
        """Mark the cells that the visibility rule `run` sees. If the view had the same opaque and
        outside cells in an earlier call, take the result from `cache`. The rule must read nothing
        but the view."""
        opaque = bytes(self._opaque)
        known = cache.get(opaque)
        if known is None:
            run(w, agent, (self,))
            if self._entity is not None:  # it has read which entities are in the cells
                return
            if len(cache) * len(opaque) > _CACHED_CELLS:
                cache.clear()
            known = cache[opaque] = tuple(self._seen), self._find_looks()
        self._seen, self._looks = [*known[0]], known[1]

    def _find_looks(self) -> tuple[bytes, tuple[bool, ...]]:
        return make_floor(tuple(chain.from_iterable(self._seen)), self._outside)

    def _get_transparent_bits(self, i: int) -> tuple[int, int]:
        if self._opaque_cells is not None:
            return _compute_clear_bits(tuple(self._opaque_cells[i].tolist()))
        return _compute_clear_bits(tuple(self._opaque[i * self._width : (i + 1) * self._width]))

    def clear_row(self, i: int) -> int:
        """Return a bit mask of the transparent ("clear") cells of view row `i`; bit j is column
        j."""
        return self._get_transparent_bits(i)[0]

    def clear_row_from_right(self, i: int) -> int:
        """Return a bit mask of the transparent ("clear") cells of view row `i`; bit j is column
        width - 1 - j."""
        return self._get_transparent_bits(i)[1]

    def see_row(self, i: int, seen: int, from_right: int = 0) -> None:
        """Mark cells of view row `i` as seen: column j for each bit j of `seen`, column width - 1 -
        j for each bit j of `from_right`."""
        self._seen[i] = _unpack_bits(seen, from_right, self._width)

    def show(
        self, w: ObjectWorld, agent: int, grid: NDArray[np.uint8], item: NDArray[np.uint8]
    ) -> None:
        """Write the observation of an agent: (type, state, colour) of the seen cells into `grid`
        (h, w, 3), with Hidden for unseen cells, and of the object in its hand into `item` (3,)."""
        shown = w.encode_view(self._objects, *self._looks or self._find_looks())
        grid.data.cast("B")[:] = shown  # in a third of the time of an array
        if w.layout.oriented:
            w.layout.object_types.turn_to_view(grid, up_in_view(w, agent, self._turns))
        held = w.agent.holding[agent]
        look = w.appearance(held) if held != NOTHING else (NONE_GRID_OBJECT, 0, 0)
        item.data[:] = bytes(look)

    def show_ground(
        self, w: ObjectWorld, agent: int, grid: NDArray[np.uint8], out: NDArray[np.uint8]
    ) -> None:
        """Write (type, state, colour) of the ground in the seen cells into `out` (h, w, 3). Cells
        that are Hidden in `grid`, the result of `show`, are Hidden here, too.

        Floor where nothing lies, and Hidden where `grid` is Hidden.
        """
        looks = make_floor(tuple((grid[..., 0] != HIDDEN).ravel().tolist()), self._outside)
        out.data.cast("B")[:] = w.encode_view(self._ground, *looks)
        if w.layout.oriented:
            w.layout.object_types.turn_to_view(out, up_in_view(w, agent, self._turns))


def write_object_cells(w: ObjectWorld, agent: int, out: NDArray[np.uint8]) -> None:
    """Write (type, state, colour) of the whole grid, seen or not, into `out` (H, W, 3), with the
    object or agent that each cell shows."""
    out[...] = HIDDEN, 0, 0
    cells, (height, width, _) = w.cells(), out.shape
    # of several in a cell the first shows; the agent itself has precedence
    for other in (*reversed(w.everyone), agent):
        y, x = w.position.y[other], w.position.x[other]
        if w.inside(y, x):
            own = NONE_GRID_OBJECT, w.agent.facing[other], NONE
            cells[y, x] = own if other == agent else w.appearance(other)
    out[: w.height, : w.width] = cells[:height, :width]


@lru_cache(maxsize=4096)
def _compute_clear_bits(opaque: tuple[Any, ...]) -> tuple[int, int]:
    """Return two bit masks of the transparent cells in a row, given the `opaque` flag of each cell.
    Bit j is column j from the left in the first mask, from the right in the second."""
    from_left, from_right = (
        sum(1 << j for j, blocked in enumerate(cells) if not blocked)
        for cells in (opaque, opaque[::-1])
    )
    return from_left, from_right


@lru_cache(maxsize=4096)
def _unpack_bits(bits: int, from_right: int, width: int) -> list[int]:
    return [bits >> j & 1 | from_right >> width - 1 - j & 1 for j in range(width)]


def get_view_tile_size(shape: tuple[int, ...]) -> int:
    """Return the side, 8 or 16 cells, of the square tiles in which compiled code reads a view."""
    return 8 if max(shape) <= 8 else 16
