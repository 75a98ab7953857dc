"""What an agent may see: the area around it, cut out of the grid and turned so that it looks up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import HIDDEN, NONE, NONE_GRID_OBJECT
from gv_engine.rules.component import NOTHING, OUTSIDE
from gv_engine.rules.errors import RuleError
from gv_engine.rules.geometry import Area, seen_from

if TYPE_CHECKING:
    from gv_engine.world.world import ObjectWorld

READ_ONLY_MESSAGE = "a rule writes view.{}, which every look of every world has in common"


def _make_read_only_property(name: str) -> Any:
    """A value of all looks, which rules may not write."""

    def refuse(view: ObjectView, value: object) -> None:
        raise RuleError(READ_ONLY_MESSAGE.format(name))

    return property(attrgetter(f"_{name}"), refuse)


class ObjectView:
    """One look, in the object world; compiled rows share a record with the same fields.

    `look` and `show` are the object world's twins of those in compiled code, three times as
    fast as the same text interpreted cell by cell.

    Attributes:
        height, width: of the area, in cells.
        y, x: the agent's cell in it.
        entity: (h, w) the entity that shows in each cell, the thing or else what is on the ground;
            NOTHING on free floor, OUTSIDE beyond the grid.
        opaque: (h, w) whether the cell blocks vision.
        seen: (h, w) whether the agent sees the cell: what visibility functions fill in. Before
            them nothing is seen.
        lit: (h * w,) room to count the light in the cells, row by row, with anything in it.
    """

    height, width, y, x = map(_make_read_only_property, ("height", "width", "y", "x"))

    def __init__(self, area: Area) -> None:
        self.area = area
        self._height, self._width = area.shape
        self._y, self._x = area.observer
        self.lit: NDArray[np.int32] = np.zeros(self._height * self._width, np.int32)
        self._set_cells(
            [NOTHING] * (self._height * self._width), [0] * (self._height * self._width)
        )

    def _set_cells(self, entities: list[int], opaque: list[Any]) -> None:
        width = self._width
        self._entities, self._opaque = entities, opaque
        self._entity: NDArray[Any] | None = None
        self._clear: _WritableRows | list[tuple[int, int]] = [
            _compute_clear_bits(tuple(opaque[k : k + width])) for k in range(0, len(opaque), width)
        ]
        # row by row; an array as soon as a rule asks for it
        self._seen: Any = [[0] * width] * self._height

    @property
    def entity(self) -> NDArray[Any]:
        if self._entity is None:
            self._entity = self._make_cell_array(self._entities)
        return self._entity

    @property
    def opaque(self) -> NDArray[Any]:
        if isinstance(self._clear, list):
            self._clear = _WritableRows(self._make_cell_array(self._opaque))
        return self._clear.opaque

    @property
    def seen(self) -> NDArray[Any]:
        array: NDArray[Any] = np.asarray(self._seen, object)
        self._seen = array
        return array

    def _make_cell_array(self, values: list[Any]) -> NDArray[Any]:
        return np.array(values, object).reshape(self.area.shape)

    def look(self, w: ObjectWorld, agent: int) -> None:
        """Cut the area around the agent out of the grid, turned so that the agent looks up."""
        blocks_vision = w.blocks_vision
        entities, self._ground = w.around(agent, self.area)
        opaque = [e != NOTHING and (e == OUTSIDE or blocks_vision(e)) for e in entities]
        if self._ground:
            opaque = [
                hides or (below > NOTHING and blocks_vision(below))
                for hides, below in zip(opaque, self._ground)
            ]
            entities = [e or below for e, below in zip(entities, self._ground)]
        # of several in a cell, the first shows
        for other in () if w.is_alone else reversed(w.everyone):
            if other != agent and (y := w.position.y[other]) >= 0:
                ahead, right = seen_from(w, agent, y, w.position.x[other])
                i, j = self._y - ahead, self._x + right
                if 0 <= i < self._height and 0 <= j < self._width:
                    k = i * self._width + j
                    entities[k], opaque[k] = other, opaque[k] or blocks_vision(other)
        self._set_cells(entities, opaque)

    def clear_row(self, i: int) -> int:
        """Bits of the cells of a row that let sight through; bit j is column j."""
        return self._clear[i][0]

    def clear_row_from_right(self, i: int) -> int:
        """The same, counted from the right: bit j is column width - 1 - j."""
        return self._clear[i][1]

    def see_row(self, i: int, seen: int, from_right: int = 0) -> None:
        """Let the agent see the cells of a row whose bits are set."""
        self._seen[i] = _unpack_bits(seen, from_right, self._width)

    def show(
        self, w: ObjectWorld, agent: int, grid: NDArray[np.uint8], item: NDArray[np.uint8]
    ) -> None:
        """Write what is seen as (type, state, colour) into (h, w, 3) and the held object."""
        shown = w.shown(self._entities, chain.from_iterable(self._seen))
        grid[...] = np.ndarray(grid.shape, np.uint8, shown)
        if w.layout.oriented:
            w.layout.known.as_seen(grid, w.agent.facing[agent])
        held = w.agent.holding[agent]
        item[...] = w.appearance(held) if held != NOTHING else (NONE_GRID_OBJECT, 0, 0)

    def show_ground(
        self, w: ObjectWorld, agent: int, grid: NDArray[np.uint8], out: NDArray[np.uint8]
    ) -> None:
        """Write what lies on the ground of the cells that are seen, as `show` has written `grid`.

        Floor where nothing lies, and Hidden where `grid` is.
        """
        entities = self._ground or [NOTHING] * len(self._entities)
        seen = grid[..., 0] != HIDDEN
        out[...] = np.ndarray(out.shape, np.uint8, w.shown(entities, seen.flat))
        if w.layout.oriented:
            w.layout.known.as_seen(out, w.agent.facing[agent])


def write_whole_grid_objects(w: ObjectWorld, agent: int, out: NDArray[np.uint8]) -> None:
    """Write how all cells look, seen or not, as `StepArrays.whole` has it."""
    out[...] = HIDDEN, 0, 0
    cells, (height, width, _) = w.cells(), out.shape
    # of several in a cell the first shows, and above all the agent itself
    for other in (*reversed(w.everyone), agent):
        y, x = w.position.y[other], w.position.x[other]
        if w.inside(y, x):
            own = NONE_GRID_OBJECT, w.agent.facing[other], NONE
            cells[y, x] = own if other == agent else w.appearance(other)
    out[: w.height, : w.width] = cells[:height, :width]


@lru_cache(maxsize=4096)
def _compute_clear_bits(opaque: tuple[Any, ...]) -> tuple[int, int]:
    """Bits of the cells that are not opaque, counted from the left and from the right."""
    from_left, from_right = (
        sum(1 << j for j, blocked in enumerate(cells) if not blocked)
        for cells in (opaque, opaque[::-1])
    )
    return from_left, from_right


@lru_cache(maxsize=4096)
def _unpack_bits(bits: int, from_right: int, width: int) -> list[int]:
    return [bits >> j & 1 | from_right >> width - 1 - j & 1 for j in range(width)]


class _WritableRows:
    """What is clear of the rows of an array into which rules may write."""

    def __init__(self, opaque: NDArray[Any]) -> None:
        self.opaque = opaque

    def __getitem__(self, i: int) -> tuple[int, int]:
        return _compute_clear_bits(tuple(self.opaque[i].tolist()))


def get_tile_size(shape: tuple[int, ...]) -> int:
    """Rows and columns of a view that compiled code cuts out at once."""
    return 8 if max(shape) <= 8 else 16


_AREA = "view_{}_{}_{}_{}"


def parse_view_sizes(names: Iterable[str]) -> dict[str, int]:
    """Height, width, y and x of a view, from the names of its record's fields; {} if it is none."""
    size_field = next((name for name in names if name.startswith("view_")), "")
    return dict(
        zip(("height", "width", "y", "x"), map(int, size_field.split("_")[1:]), strict=False)
    )


def make_view_dtype(area: Area, by_rows: bool, with_entities: bool = True) -> np.dtype[Any]:
    """dtype of the record that stands for an `ObjectView` in compiled code.

    Args:
        area: what is seen of the grid.
        rows: whether it holds rows of bits or cells.
        entities: whether it says which entities are in the cells.
    """
    tile = get_tile_size(area.shape)
    whole = [-(-size // tile) * tile for size in area.shape]
    height, width = area.shape
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
                if by_rows
                else [
                    *([("entity", np.int32, area.shape)] if with_entities else ()),
                    ("lit", np.int32, height * width),
                    ("opaque", *cells),
                    ("seen", *cells),
                    # rows are read and written in whole tiles, and as many of them
                    ("spare", np.uint8, (whole[0] - height + 1) * width + tile),
                ]
            ),
        ],
        align=True,
    )


def make_view_record(area: Area, by_rows: bool, with_entities: bool = True) -> np.ndarray[Any, Any]:
    """A (1,) array of `view_dtype`."""
    record = np.zeros(1, make_view_dtype(area, by_rows, with_entities))
    record["height"], record["width"] = area.shape
    record["y"], record["x"] = area.observer
    return record
