"""The shape of a world's memory: which columns there are, and the dtype of its row.

One world is one row. Only maximum sizes and the set of components shape the row; everything else
is a value in it. Sizes are rounded up to a few steps so that neighbouring scenarios share one
layout, and with it one compiled program.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from zlib import crc32

import numpy as np

from components.agent import Agent
from components.appearance import Kind
from components.mission import Mission
from components.space import Position
from gv_engine.rules.component import (
    NOTHING,
    Field,
    column_name,
    fields_of,
    is_read_often,
)
from gv_engine.rules.geometry import FORWARD
from gv_engine.rules.objects import GROUND, OBJECT_TYPES, ObjectType, ObjectTypes, Parts

RNG = np.dtype(
    [(name, np.uint64) for name in ("state_high", "state_low", "inc_high", "inc_low")]
    + [("has_half", np.uint64), ("half", np.uint64)]
)
"""State of one PCG64 generator: two 128-bit numbers and NumPy's buffered 32-bit half."""

AGENT_COLUMNS: dict[str, type[np.generic]] = {
    "reward": np.float64,
    "total": np.float64,
    "action": np.int64,
    "ended_by": np.uint16,
    "done": np.uint8,
    "success": np.uint8,
}
"""The numbers of each agent, by name; what they mean says `gv_engine.rules.world.World`."""

SCALAR_COLUMNS: dict[str, type[np.generic]] = {
    "steps": np.int32,
    "error": np.uint32,
    "member": np.int16,
    "height": np.int16,
    "width": np.int16,
    "capacity": np.int32,
    "free": np.int32,
    "terminated": np.uint8,
    "truncated": np.uint8,
}
"""The single numbers of a world, by name."""

CELL_AGENT_COLUMNS = "who", "next", "spot"
"""Where there are several agents: the first in each cell, the next one in the cell of an agent, and
the number of its cell, counted row by row from 1, 0 for none. `w.stand` keeps them."""

LEADING_FIELDS = [("rng", RNG), *SCALAR_COLUMNS.items()]
"""The fields that every row begins with."""

Prefab = Parts
"""The components that a new entity starts with."""


def make_prefab(kind: ObjectType) -> Prefab:
    """Components of a new object of the type: its type, no place yet, and its own parts."""
    return (Kind, (kind.index,)), (Position, (-1, -1)), *kind.components


def _to_plain(parts: Prefab) -> list[tuple[str, tuple[float, ...]]]:
    return [(column_name(cls), values) for cls, values in parts]


_SMALL_ROW = 4096
"""Bytes of a row that is worth fetching whole."""

_STEP = 8
"""Of lengths of tables."""

_SIZES = (9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513)


def round_up_size(size: int) -> int:
    """The smallest step that holds `size` cells."""
    return next((step for step in _SIZES if step >= size), size)


@dataclass(frozen=True)
class Layout:
    """Maximum sizes and components.

    Attributes:
        height, width: the largest grid, in cells.
        capacity: entities, `NOTHING` and the agent included.
        components: component classes in the order of their columns.
        types: object types that can be spawned.
        drawn: how many values a level may draw for several places, see `w.drawn`.
        bodies: of each agent, what it is made of beside `Agent` and `Position`.
        fewer: whether some worlds have but the first of them, as `w.present` says.
    """

    height: int
    width: int
    capacity: int
    components: tuple[type, ...]
    types: tuple[ObjectType, ...]
    drawn: int = 0
    bodies: tuple[Parts, ...] = ((),)
    has_smaller_members: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def agents(self) -> int:
        """How many there are at most: the entities from 1 up to this."""
        return len(self.bodies)

    @property
    def everyone(self) -> range:
        """The agents."""
        return range(1, self.agents + 1)

    @cached_property
    def object_types(self) -> ObjectTypes:
        """The object types that worlds and observations may show, by index and name."""
        return ObjectTypes((*self.types, *OBJECT_TYPES.built_in))

    @cached_property
    def type_table_length(self) -> int:
        """Length of tables by type index, in steps, as for sizes."""
        longest = max(kind.index for kind in self.types) + 1
        return max(2 * _STEP, -(-longest // _STEP) * _STEP)

    @cached_property
    def prefabs(self) -> tuple[Prefab, ...]:
        """By type index: what a new object of the type is made of; () for types of other worlds."""
        table: list[Prefab] = [()] * self.type_table_length
        for kind in self.types:
            if kind.in_grid:
                table[kind.index] = make_prefab(kind)
        return tuple(table)

    @cached_property
    def mission(self) -> type | None:
        """The component that says what the agent is asked to do, None if it is asked nothing."""
        return next((cls for cls in self.components if issubclass(cls, Mission)), None)

    @cached_property
    def agent_prefabs(self) -> tuple[Prefab, ...]:
        """What each agent is made of."""
        parts: Prefab = ((Agent, (FORWARD, NOTHING)), (Position, (-1, -1)))
        if self.mission:
            parts += ((self.mission, tuple(field.default for field in fields_of(self.mission))),)
        return tuple(parts + body for body in self.bodies)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the columns of every component, in their order."""
        return tuple(map(column_name, self.components))

    @cached_property
    def states(self) -> tuple[tuple[str, str], ...]:
        """(column, field) of every state that an object can have."""
        return tuple(sorted({kind.state for kind in self.types if kind.state}))

    @cached_property
    def state_component_classes(self) -> tuple[type, ...]:
        """The components that come and go with states."""
        return tuple(dict.fromkeys(cls for kind in self.types for cls in kind.component_changes(0)))

    @cached_property
    def num_states(self) -> tuple[int, ...]:
        """By type index: how many states objects of the type have."""
        found = {kind.index: kind.num_states for kind in self.types}
        return tuple(found.get(index, 1) for index in range(self.type_table_length))

    @cached_property
    def oriented(self) -> tuple[int, ...]:
        """Type indices of objects that look some way."""
        return tuple(kind.index for kind in self.types if kind.is_oriented)

    @cached_property
    def agent_types(self) -> frozenset[float]:
        """Type indices by which agents see each other."""
        parts = (part for body in self.bodies for part in body)
        return frozenset(values[0] for cls, values in parts if cls is Kind)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """By type index: the type of what is left when an object is used up, -1 for nothing."""
        left = {kind.index: kind.leaves for kind in self.types if kind.leaves is not None}
        return tuple(left.get(index, -1) for index in range(self.type_table_length))

    @cached_property
    def grounds(self) -> tuple[bool, ...]:
        """By type index: whether objects of the type live on the ground."""
        below = {kind.index for kind in self.types if kind.layer == GROUND}
        return tuple(index in below for index in range(self.type_table_length))

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """The names of the columns of cells: `ground` only where there are objects for it."""
        return ("at", "ground") if any(self.grounds) else ("at",)

    @property
    def look_arrays(self) -> tuple[str, ...]:
        """The names of the arrays that say how cells look, see `looks_dtype`."""
        return ("looks", "beneath")[: len(self.layers)]

    @cached_property
    def look_fields(self) -> frozenset[tuple[str, str]]:
        """(column, field) of all that decides how an object looks; whether it is opaque, too."""
        shown = {("kind", "value"), ("color", "value"), ("door", "status"), *self.states}
        return frozenset(shown - {(column_name(Agent), "facing")})  # agents are in no cell of `at`

    @cached_property
    def signature_field(self) -> str:
        """Names the meaning of the columns, so that equal dtypes hold equal worlds."""
        return f"layout_{crc32(self.signature.encode()):08x}"

    @cached_property
    def signature(self) -> str:
        """What the columns hold, and what new objects are made of, as text."""
        meaning: list[Any] = [
            [(column_name(cls), fields_of(cls)) for cls in self.components],
            [_to_plain(parts) for parts in self.prefabs],
            self.states,
        ]
        if len(self.states) > 1:  # than those of doors
            meaning.append(self.num_states)
            meaning.append(
                [[_to_plain(parts) for parts in kind.state_components] for kind in self.types]
            )
        if any(left >= 0 for left in self.leaves):
            meaning.append(self.leaves)
        if self.mission:
            meaning.append(_to_plain(self.agent_prefabs[0]))
        if any(self.grounds):
            meaning.append(self.grounds)
        if any(self.bodies):
            meaning.append([_to_plain(parts) for parts in self.agent_prefabs])
        return repr(tuple(meaning))

    @cached_property
    def entity(self) -> np.dtype[Any]:
        """dtype of an entity id."""
        # unsigned: compiled code need not ask whether an index counts from the end
        return np.min_scalar_type(self.capacity - 1)

    @cached_property
    def coordinate(self) -> np.dtype[Any]:
        """dtype of a row or column of the grid, or -1."""
        return np.min_scalar_type(-max(self.height, self.width))

    def dtype_of(self, field: Field) -> np.dtype[Any]:
        """dtype of one value of a column."""
        if isinstance(field.dtype, str):
            return {"entity": self.entity, "coordinate": self.coordinate}[field.dtype]
        return field.dtype

    @property
    def _who(self) -> list[Any]:
        """The columns of `WHO`."""
        each = (self.agents + 1,)
        shapes = (self.height + 1, self.width + 1), each, each
        return list(
            zip(CELL_AGENT_COLUMNS, (self.entity, self.entity, np.int32), shapes, strict=True)
        )

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """dtype of a row, about 1.5 KiB for a 9x9 grid."""
        columns = [
            (
                column_name(cls),
                np.dtype(
                    [("has", np.uint8, (self.capacity,))]
                    + [(f.name, self.dtype_of(f), (self.capacity,)) for f in fields_of(cls)],
                    align=True,
                ),
            )
            # what every step reads comes first, so that less memory has to be waited for
            for cls in sorted(self.components, key=lambda cls: not is_read_often(cls))
        ]
        return np.dtype(
            [
                *LEADING_FIELDS,
                # with a spare one for NOTHING, so that an agent's number is its index
                *((name, kind, (self.agents + 1,)) for name, kind in AGENT_COLUMNS.items()),
                *([("present", np.int16)] if self.has_smaller_members else ()),
                # one spare row and column: index -1 wraps to them, so neighbours can be read
                *((name, self.entity, (self.height + 1, self.width + 1)) for name in self.layers),
                *(self._who if self.agents > 1 else ()),
                ("placed", self.entity, (self.type_table_length,)),
                ("recent", self.entity, (self.type_table_length,)),
                *([("drawn", np.int32, (self.drawn,))] if self.drawn else ()),
                *columns,
                ("alive", np.uint8, (self.capacity,)),
                (self.signature_field, np.uint8),
            ],
            align=True,
        )

    @property
    def is_large(self) -> bool:
        """Whether a row is not worth fetching whole, nor a grid worth looking at cell by cell."""
        return self.dtype.itemsize > _SMALL_ROW

    @cached_property
    def looks_dtype(self) -> np.dtype[Any]:
        """dtype of a row in a batch, with what is derived from it behind it.

        That is kept by whatever writes what it is derived from; `stale` is 1 if another row has
        been put there since. Cells are counted row by row; bit c % 64 of word c // 64 is cell c.

        `looks` has one for each cell of `at`, as four bytes: type, state and colour, and in the
        topmost bit whether it blocks vision. `beneath` has those of what is on the ground alone, if
        there is a `ground`. Bit k of `strange` says that objects of type k, or of each 32nd behind
        it, may have components that the type does not give them. Large rows have what takes long to
        find cell by cell:

        - `listed` has the cells with objects of a type, for each type, and `filled` those of its
          words that are not 0;
        - `blocked` has the cells that nobody can enter;
        - `ways` are the steps from one cell to each, or -1, `ways_from` that cell and the shape of
          the grid as one number, 0 for no cell;
        - `highest` is an entity above which none is alive.

        Where there are several agents, `turn` is the one whose turn it is, `order` all of them as
        they take turns in a step, and `live` says which of them are not done when it begins.
        """
        row: Any = self.dtype.fields
        cells = (self.height + 1, self.width + 1)
        words = -(-cells[0] * cells[1] // 64)
        large: list[Any] = [
            ("highest", self.entity),
            ("ways_from", np.uint64),
            ("blocked", np.uint64, (words,)),
            ("filled", np.uint64, (self.type_table_length, -(-words // 64))),
            ("listed", np.uint64, (self.type_table_length, words)),
            ("ways", np.min_scalar_type(-cells[0] * cells[1]), cells),
        ]
        several: list[Any] = [
            ("turn", np.int64),
            ("order", np.int64, (self.agents,)),
            ("live", np.uint8, (self.agents + 1,)),
        ]
        more = np.dtype(
            [
                *((name, np.uint32, cells) for name in self.look_arrays),
                ("strange", np.uint32),
                ("stale", np.uint8),
                *(large if self.is_large else ()),
                *(several if self.agents > 1 else ()),
            ],
            align=True,
        )
        inner: Any = more.fields
        start = -(-self.dtype.itemsize // 8) * 8
        places = {name: (kind, offset) for name, (kind, offset) in row.items()}
        places |= {name: (kind, start + offset) for name, (kind, offset) in inner.items()}
        return np.dtype(
            {
                "names": list(places),
                "formats": [kind for kind, _ in places.values()],
                "offsets": [offset for _, offset in places.values()],
                "itemsize": start + -(-more.itemsize // 8) * 8,
            },
            align=True,
        )

    def defaults(self) -> np.ndarray[Any, Any]:
        """A row () of a world without entities: every column reads its defaults."""
        row = np.zeros((), self.dtype)
        for cls in self.components:
            for column in fields_of(cls):
                row[column_name(cls)][column.name][...] = column.default
        row["capacity"] = self.capacity
        row["free"] = 1
        return row
