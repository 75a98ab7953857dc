"""Layout of a world's memory: its columns and the dtype of its row; and checks of rows, which find
contents that no world of a layout can have, and compute derived columns.

One world is one row. Only maximum sizes and the set of components determine the dtype; everything
else is a value. Sizes are rounded up to a few steps, so that similar scenarios share a layout and
its compiled program.

Rows from outside pass `repair_rows`; `gv-engine check` runs `find_fault` after each step of a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from components.core import Agent, Color, Kind, Mission, Position
from components.items import Box
from gv_engine.rules.component import NOTHING, Field, column_name, fields_of, is_read_often
from gv_engine.rules.geometry import FORWARD, ORIENTATIONS
from gv_engine.rules.objects import COLORS, GROUND, OBJECT_TYPES, ObjectType, ObjectTypes, Parts

RNG = np.dtype(
    [(name, np.uint64) for name in ("state_high", "state_low", "inc_high", "inc_low")]
    + [("has_half", np.uint64), ("half", np.uint64)]
)
"""dtype of the state of one PCG64 generator: two 128-bit numbers and NumPy's buffered 32-bit
half."""

_T = TypeVar("_T")

AGENT_COLUMNS: dict[str, type[np.generic]] = {
    "reward": np.float64,
    "total": np.float64,
    "action": np.int64,
    "ended_by": np.uint16,
    "done": np.uint8,
    "success": np.uint8,
}
"""dtypes of the values of each agent by name; `gv_engine.rules.world.World` describes them."""

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
"""dtypes of the single values of a world by name."""

CELL_AGENT_COLUMNS = "who", "next", "spot"
"""Columns for several agents, kept by `w.stand`: last agent of each cell, next agent in the same
cell, and number of each agent's cell (row by row from 1, 0 for none)."""

LEADING_FIELDS = [("rng", RNG), *SCALAR_COLUMNS.items()]
"""Fields that every row begins with."""

Prefab = Parts
"""Components of a new entity, with their values."""


def make_prefab(kind: ObjectType) -> Prefab:
    """Return the components of a new object of type `kind`: its type, a position off the grid, and
    those that the type lists."""
    return (Kind, (kind.index,)), (Position, (-1, -1)), *kind.components


def _to_plain(parts: Prefab) -> list[tuple[str, tuple[float, ...]]]:
    """Return components with column names instead of classes."""
    return [(column_name(cls), values) for cls, values in parts]


_SMALL_ROW = 4096
"""Maximum size in bytes of a row that is fetched as a whole."""

_STEP = 8
"""Step to which the lengths of tables are rounded up."""

_SIZES = (9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513)


def round_up_size(size: int) -> int:
    """Return the smallest step of grid sizes that is not below `size`."""
    return next((step for step in _SIZES if step >= size), size)


@dataclass(frozen=True)
class Layout:
    """Maximum sizes, components and object types that determine the dtype of a world's row.

    Attributes:
        height, width: size of the largest grid, in cells.
        capacity: maximum number of entities, `NOTHING` and the agents included.
        components: component classes in the order of their columns.
        types: object types that can be spawned.
        drawn: number of random values that a level shares between places, see `w.drawn`.
        bodies: components of each agent besides `Agent` and `Position`.
        has_smaller_members: True if some members of a mixture have fewer agents; `w.present`
            has their number.
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
        """Maximum number of agents; their entities are 1 up to this number."""
        return len(self.bodies)

    @property
    def everyone(self) -> range:
        """Entities of the agents."""
        return range(1, self.agents + 1)

    @cached_property
    def object_types(self) -> ObjectTypes:
        """Object types that worlds and observations may show, by index and name."""
        return ObjectTypes((*self.types, *OBJECT_TYPES.built_in))

    @cached_property
    def type_table_length(self) -> int:
        """Length of arrays that have one value per object type number, rounded up."""
        longest = max(kind.index for kind in self.types) + 1
        return max(2 * _STEP, -(-longest // _STEP) * _STEP)

    def _make_type_table(self, default: _T, read: Callable[[ObjectType], _T]) -> tuple[_T, ...]:
        """Return a tuple indexed by type number: `read(type)` for each object type of the layout,
        and `default` for all other numbers."""
        values = {kind.index: read(kind) for kind in self.types}
        return tuple(values.get(index, default) for index in range(self.type_table_length))

    @cached_property
    def prefabs(self) -> tuple[Prefab, ...]:
        """Components of a new object by type index; () for types of other worlds."""
        return self._make_type_table((), lambda kind: make_prefab(kind) if kind.in_grid else ())

    @cached_property
    def mission(self) -> type | None:
        """Component class that holds the mission of an agent, None without missions."""
        return next((cls for cls in self.components if issubclass(cls, Mission)), None)

    @cached_property
    def agent_prefabs(self) -> tuple[Prefab, ...]:
        """For each agent, the components that it has at the start, as (class, field values)
        pairs."""
        parts: Prefab = ((Agent, (FORWARD, NOTHING)), (Position, (-1, -1)))
        if self.mission:
            parts += ((self.mission, tuple(field.default for field in fields_of(self.mission))),)
        return tuple(parts + body for body in self.bodies)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of every component, in order."""
        return tuple(map(column_name, self.components))

    @cached_property
    def states(self) -> tuple[tuple[str, str], ...]:
        """(column, field) of every field that holds the state of an object type."""
        return tuple(sorted({kind.state for kind in self.types if kind.state}))

    @cached_property
    def state_component_classes(self) -> tuple[type, ...]:
        """Component classes that objects gain or lose by a change of state."""
        return tuple(dict.fromkeys(cls for kind in self.types for cls in kind.component_changes(0)))

    @cached_property
    def num_states(self) -> tuple[int, ...]:
        """Number of states by type index."""
        return self._make_type_table(1, lambda kind: kind.num_states)

    @cached_property
    def oriented(self) -> tuple[int, ...]:
        """Indices of object types whose states are orientations."""
        return tuple(kind.index for kind in self.types if kind.is_oriented)

    @cached_property
    def agent_types(self) -> frozenset[float]:
        """Numbers of the object types as which agents appear to each other."""
        parts = (part for body in self.bodies for part in body)
        return frozenset(values[0] for cls, values in parts if cls is Kind)

    @cached_property
    def leaves(self) -> tuple[int, ...]:
        """Type that replaces a used-up object, by type index; -1 for none."""
        return self._make_type_table(-1, lambda kind: -1 if kind.leaves is None else kind.leaves)

    @cached_property
    def grounds(self) -> tuple[bool, ...]:
        """True for types on the ground layer, by type index."""
        return self._make_type_table(False, lambda kind: kind.layer == GROUND)

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of the columns of cells: `at`, and `ground` if the scenario has such objects."""
        return ("at", "ground") if any(self.grounds) else ("at",)

    @property
    def look_arrays(self) -> tuple[str, ...]:
        """Names of the arrays with the appearance of cells, see `looks_dtype`."""
        return ("looks", "beneath")[: len(self.layers)]

    @cached_property
    def look_fields(self) -> frozenset[tuple[str, str]]:
        """Set of (component name, field name) of all fields that determine how an object looks, or
        whether it blocks vision."""
        shown = {("kind", "value"), ("color", "value"), ("door", "status"), *self.states}
        return frozenset(shown - {(column_name(Agent), "facing")})  # agents are not in `at`

    @cached_property
    def signature_field(self) -> str:
        """Field name with a hash of the signature, so that equal dtypes hold equal worlds."""
        return f"layout_{crc32(self.signature.encode()):08x}"

    @cached_property
    def signature(self) -> str:
        """Text that describes the component columns and the components of new objects. A field name
        of the row dtype has its hash, so that layouts with the same columns but other contents
        differ."""
        contents: list[Any] = [
            [(column_name(cls), fields_of(cls)) for cls in self.components],
            [_to_plain(parts) for parts in self.prefabs],
            self.states,
        ]
        if len(self.states) > 1:  # more than the states of doors
            contents.append(self.num_states)
            contents.append(
                [[_to_plain(parts) for parts in kind.state_components] for kind in self.types]
            )
        if any(left >= 0 for left in self.leaves):
            contents.append(self.leaves)
        if self.mission:
            contents.append(_to_plain(self.agent_prefabs[0]))
        if any(self.grounds):
            contents.append(self.grounds)
        if any(self.bodies):
            contents.append([_to_plain(parts) for parts in self.agent_prefabs])
        return repr(tuple(contents))

    @cached_property
    def entity(self) -> np.dtype[Any]:
        """Smallest NumPy dtype that can hold all entity numbers."""
        # unsigned, so that compiled code need not handle negative indices
        return np.min_scalar_type(self.capacity - 1)

    @cached_property
    def coordinate(self) -> np.dtype[Any]:
        """dtype of a row or column of the grid, or -1."""
        return np.min_scalar_type(-max(self.height, self.width))

    def dtype_of(self, field: Field) -> np.dtype[Any]:
        """Return the NumPy dtype of a component's field; "entity" and "coordinate" become the
        smallest integer dtypes that suffice."""
        if isinstance(field.dtype, str):
            return {"entity": self.entity, "coordinate": self.coordinate}[field.dtype]
        return field.dtype

    @property
    def _cell_agent_fields(self) -> list[Any]:
        """dtype fields (name, dtype, shape) of the columns that list the agents in each cell."""
        each = (self.agents + 1,)
        shapes = (self.height + 1, self.width + 1), each, each
        return list(
            zip(CELL_AGENT_COLUMNS, (self.entity, self.entity, np.int32), shapes, strict=True)
        )

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Structured dtype of a row, the record that holds one whole world; about 1.5 KiB for a 9x9
        grid."""
        columns = [
            (
                column_name(cls),
                np.dtype(
                    [("has", np.uint8, (self.capacity,))]
                    + [(f.name, self.dtype_of(f), (self.capacity,)) for f in fields_of(cls)],
                    align=True,
                ),
            )
            # columns that every step reads come first, for fewer cache misses
            for cls in sorted(self.components, key=lambda cls: not is_read_often(cls))
        ]
        return np.dtype(
            [
                *LEADING_FIELDS,
                # with a spare entry for NOTHING, so that an agent's number is its index
                *((name, kind, (self.agents + 1,)) for name, kind in AGENT_COLUMNS.items()),
                *([("present", np.int16)] if self.has_smaller_members else ()),
                # one spare row and column: index -1 wraps to them, so neighbours can be read
                *((name, self.entity, (self.height + 1, self.width + 1)) for name in self.layers),
                *(self._cell_agent_fields if self.agents > 1 else ()),
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
        """True if a row is too large to fetch as a whole, or to search cell by cell."""
        return self.dtype.itemsize > _SMALL_ROW

    @cached_property
    def looks_dtype(self) -> np.dtype[Any]:
        """Structured dtype of a world's record in a batch: the row itself, followed by the
        appearance of each cell (`looks`) and other data that compiled code derives from the row.

        Every write to a source column updates the derived data; `stale` is 1 if another row was
        copied in since. Cells are numbered row by row; bit c % 64 of word c // 64 is cell c.

        `looks` holds four bytes for each cell of `at`: type, state and colour, and in the topmost
        bit whether the cell blocks vision. `beneath` holds the same of the ground layer, if there
        is one. Bit k % 32 of `strange` is set if objects of type k may have components that their
        type does not give them. Large rows also cache what takes long to find cell by cell:

        - `listed`: a bit set of the cells with objects of each type; `filled`: a bit set of its
          words that are not 0;
        - `blocked`: a bit set of the cells that nobody can enter;
        - `ways`: path lengths from one cell to each, or -1; `ways_from`: that cell and the shape
          of the grid as one number, 0 for no cell;
        - `highest`: an entity above which none is alive.

        With several agents, `turn` is the acting agent, `order` the turn order of the step, and
        `live` has 1 for agents that are not done when the step begins.
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
        """Return the record (row) of an empty world, an array of shape (), with every column at its
        default."""
        row = np.zeros((), self.dtype)
        for cls in self.components:
            for column in fields_of(cls):
                row[column_name(cls)][column.name][...] = column.default
        row["capacity"] = self.capacity
        row["free"] = 1
        return row


_CHUNK_BYTES = 2**22
"""Size of rows in bytes that are checked at once, to limit memory."""
_MAX_STEPS = int(np.iinfo(np.int32).max) - 1
"""Maximum accepted number of steps: after one more, the column is full."""

_Bounds = Iterator[tuple[str, Any, Any, Any]]
_Mask = NDArray[np.bool_]
_Errors = Iterator[tuple[_Mask, str]]
"""Pairs of an (n, E) mask of wrong entities and a template of the problem for `_format_problem`."""


def require_layout(layout: Layout, rows: NDArray[Any]) -> None:
    """Raise a ValueError unless `rows` (records of worlds) have exactly the dtype of `layout`.

    Raises:
        ValueError: the rows have another dtype.
    """
    if rows.dtype != layout.dtype:
        raise ValueError(
            "the snapshot is of a world with other maximum sizes, components or object "
            "types; restore it into an environment of the same scenario"
        )


def repair_rows(layout: Layout, rows: NDArray[Any]) -> NDArray[Any]:
    """Return a checked copy of `rows` (records of worlds, one each) from an untrusted source, in
    which all derived columns are recomputed.

    Args:
        rows: rows of shape () or (n,), from an untrusted source.

    Raises:
        ValueError: the rows have another layout or shape, or are invalid.
    """
    require_layout(layout, rows)
    if rows.ndim > 1:
        raise ValueError(f"rows have shape {rows.shape}: expected () or (n,)")
    sound = np.zeros(rows.shape, layout.dtype)  # a copy leaves the bytes between fields unfilled
    sound[...] = rows
    each = np.atleast_1d(sound)
    number = max(1, _CHUNK_BYTES // layout.dtype.itemsize)
    for start in range(0, len(each), number):
        some = each[start : start + number]
        if fault := find_fault(layout, some):
            raise ValueError(f"the snapshot is damaged: {fault}")
        for name, column in compute_derived_columns(layout, some).items():
            some[name] = column
    return sound


def compute_derived_columns(layout: Layout, rows: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return, by name, new values for the columns of `rows` (one world's record each) that are
    computed from other columns.

    Args:
        rows: valid rows by `find_fault`.
    """
    i, e = np.nonzero(_object_mask(layout, rows) & (rows["position"]["y"] >= 0))
    placed = np.zeros((len(rows), layout.type_table_length), np.int64)
    np.add.at(placed, (i, rows["kind"]["value"][i, e]), 1)
    columns = {"placed": placed, "error": np.zeros(len(rows), np.int64)}
    if layout.agents > 1:
        columns["spot"] = _agent_cell_numbers(layout, rows)
    return columns


def find_fault(layout: Layout, rows: NDArray[Any]) -> str:
    """Return an error message about the first value in `rows` (one world's record each) that is
    invalid in worlds of `layout`; "" if all are valid.

    Args:
        rows: (n,) rows of `layout.dtype`.
    """
    for name, values, low, high in _iterate_bounds(layout, rows):
        wrong = (values < low) | (values > high)
        if wrong.any():
            return f"{name} is {values[wrong].flat[0]}"
    for wrong, template in _find_contradictions(layout, rows):
        if wrong.any():
            i, e = np.argwhere(wrong)[0].tolist()
            return _format_problem(layout, rows[i], e, template)
    return _find_agent_cell_fault(layout, rows) if layout.agents > 1 else ""


def _format_problem(layout: Layout, row: Any, e: int, template: str) -> str:
    """Return the message `template` with its fields filled in for entity number `e` of `row`, the
    record of one world."""
    kind = int(row["kind"]["value"][e])
    called = layout.object_types[kind].name if kind in layout.object_types else f"of type {kind}"
    return template.format(
        entity=f"agent {e}" if 0 < e <= layout.agents else f"entity {e} ({called})",
        e=e,
        place=f"({row['position']['y'][e]}, {row['position']['x'][e]})",
        layer="ground" if layout.grounds[kind] else "at",
    )


def _object_mask(layout: Layout, rows: NDArray[Any]) -> _Mask:
    """Return an (n, E) mask over the n worlds in `rows`: True for each entity that is in use and is
    no agent."""
    things: _Mask = rows["alive"] != 0
    things[:, : layout.agents + 1] = False
    return things


def _agent_cell_numbers(layout: Layout, rows: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each of n worlds and A agents the number of the agent's cell, counted row by row
    from 1; 0 for an agent off the grid."""
    y, x = (rows["position"][axis][:, : layout.agents + 1].astype(np.int64) for axis in ("y", "x"))
    return np.where(y >= 0, y * (layout.width + 1) + x + 1, 0)


def _iterate_bounds(layout: Layout, rows: NDArray[Any]) -> _Bounds:
    """Yield (name, values, least, greatest) for each column of `rows` whose values have bounds,
    each bound a number or an array."""
    last = layout.capacity - 1
    for name, high in (("height", layout.height), ("width", layout.width)):
        yield name, rows[name], 0, high
    yield "width", rows["width"], rows["height"] > 0, np.where(rows["height"] > 0, 2**15, 0)
    yield "capacity", rows["capacity"], layout.capacity, layout.capacity
    yield "free", rows["free"], 1, layout.capacity
    yield "steps", rows["steps"], 0, _MAX_STEPS
    for name in (*layout.layers, "recent"):
        yield name, rows[name], 0, last
    for name in ("alive", "terminated", "truncated", "done", "success"):
        yield name, rows[name], 0, 1
    yield "action", rows["action"], 0, 2**31 - 1
    yield layout.signature_field, rows[layout.signature_field], 0, 0
    for name in AGENT_COLUMNS:
        yield f"{name} of no agent", rows[name][:, NOTHING], 0, 0
    yield "alive of no entity", rows["alive"][:, NOTHING], 0, 0
    yield "rng.has_half", rows["rng"]["has_half"], 0, 1
    # a used half is 0
    yield "rng.half", rows["rng"]["half"], 0, rows["rng"]["has_half"] * np.uint64(2**32 - 1)
    yield "the last bit of rng.inc_low", rows["rng"]["inc_low"] & np.uint64(1), 1, 1
    for cls in layout.components:
        column = column_name(cls)
        yield f"{column}.has", rows[column]["has"], 0, 1
        yield f"{column}.has of no entity", rows[column]["has"][:, NOTHING], 0, 0
        for part in fields_of(cls):
            name, values = f"{column}.{part.name}", rows[column][part.name]
            yield f"{name} of no entity", values[:, NOTHING], part.default, part.default
            if part.is_entity:
                yield name, values, 0, last
            elif values.dtype == np.bool_:
                yield name, values.view(np.uint8), 0, 1
    yield "kind.value", rows["kind"]["value"], 0, layout.type_table_length - 1
    yield "color.value", rows[column_name(Color)]["value"], 0, len(COLORS) - 1
    yield from _iterate_agent_bounds(layout, rows)
    yield "position.y", rows["position"]["y"], -1, layout.height
    yield "position.x", rows["position"]["x"], -1, layout.width


def _iterate_agent_bounds(layout: Layout, rows: NDArray[Any]) -> _Bounds:
    """Yield (name, values, least, greatest) for each value in `rows` that belongs to an agent:
    cell, facing, flags and components."""
    begun = rows["height"] > 0  # rows with a level
    for agent in layout.everyone:
        name = "the agent" if layout.agents == 1 else f"agent {agent}"
        # with several agents, one may have left
        away = np.where(begun & ((layout.agents == 1) | (rows["done"][:, agent] == 0)), 0, -1)
        for axis, side in (("y", "height"), ("x", "width")):
            yield f"{name}'s {axis}", rows["position"][axis][:, agent], away, rows[side] - 1
        yield f"{name}'s facing", rows["agent"]["facing"][:, agent], 0, len(ORIENTATIONS) - 1
        yield f"alive of {name}", rows["alive"][:, agent], 1, 1
        for cls, _ in layout.agent_prefabs[agent - 1]:
            yield f"{column_name(cls)}.has of {name}", rows[column_name(cls)]["has"][:, agent], 1, 1
    if layout.agents == 1:
        yield "done of the agent", rows["done"][:, 1], rows["terminated"], rows["terminated"]
    else:
        yield "who", rows["who"], 0, layout.agents
        yield "next", rows["next"], 0, layout.agents


def _find_contradictions(layout: Layout, rows: NDArray[Any]) -> _Errors:
    """Yield (mask, message template) for each way in which two columns of `rows` may contradict
    each other; the (n, E) mask marks the wrong entities."""
    alive, things = rows["alive"] != 0, _object_mask(layout, rows)
    entities = np.arange(layout.capacity)
    yield (
        ~alive & (entities > NOTHING) & (entities < rows["free"][:, None]),
        ("{entity} is not in use, and w.free is beyond it"),
    )
    for cls in layout.components:
        column, name = rows[column_name(cls)], f"the component {cls.__name__}"
        has = column["has"] != 0
        yield has & ~alive, f"{{entity}} is not in use and has {name}"
        if cls in (Kind, Position):
            yield things & ~has, f"{{entity}} has not {name}"
        if cls is Agent:
            yield things & has, f"{{entity}} is no agent and has {name}"
        for part in fields_of(cls):
            values, default = column[part.name], part.default
            # a default of NaN is unequal to itself
            wrong = ~has & (values != default) & (values == values if default != default else True)
            yield wrong, f"{{entity}} has not {name}, and {column_name(cls)}.{part.name} of it"
            if part.is_entity:
                named = np.take_along_axis(alive, values.astype(np.int64), 1)
                gone = has & (values != NOTHING) & ~named
                called = f"{column_name(cls)}.{part.name}[{{e}}] is {[*values[gone], 0][0]}"
                yield gone, f"{called}, which has been removed"
    yield from _find_type_errors(layout, rows, things)
    yield from _find_cell_errors(layout, rows, things)


def _find_type_errors(layout: Layout, rows: NDArray[Any], things: _Mask) -> _Errors:
    """Yield (mask, message template) for the entities in the mask `things` whose components or
    state contradict their object type."""
    kinds = rows["kind"]["value"]
    known = np.array([bool(parts) for parts in layout.prefabs])
    yield things & ~known[kinds], "{entity} is of no type that these worlds have"
    agents = rows["kind"]["has"][:, : layout.agents + 1] != 0
    own = np.isin(kinds[:, : layout.agents + 1], [*layout.agent_types])
    yield agents & ~own, "{entity} is of a type that no agent is of"
    for column, field in layout.states:
        own = np.isin(kinds, [k.index for k in layout.types if k.state == (column, field)])
        yield things & own & (rows[column]["has"] == 0), f"{{entity}} has no {column}.{field}"
        wrong = things & ~own & (rows[column][field] != 0)
        yield wrong, f"{{entity}} has a state in {column}.{field}, which its type has not"
        values = rows[column][field]
        wrong = things & own & ((values < 0) | (values >= np.array(layout.num_states)[kinds]))
        yield wrong, f"{{entity}} is in a state that its type has not, by {column}.{field}"
    for kind in layout.types:
        if not (kind.state_components and kind.state):
            continue
        states = np.where(things & (kinds == kind.index), rows[kind.state[0]][kind.state[1]], -1)
        for state, called in enumerate(kind.states):
            for cls, brought in kind.component_changes(state).items():
                verb = "has no" if brought is not None else "has the component"
                wrong = (rows[column_name(cls)]["has"] != 0) != (brought is not None)
                says = f"{{entity}} is {called} and {verb} {cls.__name__}"
                yield (states == state) & wrong, f"{says}; change states by w.set_state alone"


def _find_cell_errors(layout: Layout, rows: NDArray[Any], things: _Mask) -> _Errors:
    """Yield (mask, message template) for the entities in the mask `things` whose position
    contradicts the grid, or which are on the grid and held at once."""
    y, x = (rows["position"][axis].astype(np.int64) for axis in ("y", "x"))
    height, width = rows["height"][:, None], rows["width"][:, None]
    yield (
        ((y < 0) != (x < 0)) | (rows["alive"] != 0) & ((y >= height) | (x >= width)),
        ("{entity} has the position {place}, which is no cell"),
    )
    on_grid = things & (y >= 0)
    below = np.array(layout.grounds)[rows["kind"]["value"]]
    each = np.arange(len(rows))[:, None]
    own = {name: on_grid & (below == (name == "ground")) for name in layout.layers}
    for name in layout.layers:
        elsewhere = rows[name][each, y, x] != np.arange(layout.capacity)
        says = "{entity} has the position {place}, where w.{layer} has it not"
        yield own[name] & elsewhere, says
    for name in layout.layers:
        cells, there = rows[name], own[name]
        if (np.count_nonzero(cells, (1, 2)) == there.sum(1)).all():
            continue
        i, row, column = np.nonzero(cells)
        e = cells[i, row, column]
        wrong = np.zeros_like(there)
        wrong[i, e] = ~there[i, e]
        yield wrong & (y < 0), f"w.{name} holds {{entity}}, which has no position"
        yield wrong & things, f"w.{name} holds {{entity}}, which lives in w.{{layer}}"
        yield wrong, f"w.{name} holds {{entity}}, which is no object"
        twice = (y[i, e] != row) | (x[i, e] != column)
        wrong[i[twice], e[twice]] = True
        yield wrong, f"w.{name} holds {{entity}} in two cells"
    held = rows["agent"]["holding"][:, : layout.agents + 1].astype(np.int64)
    of_agents = np.zeros_like(things)
    for agent in layout.everyone:
        wrong = of_agents.copy()
        wrong[each, held[:, agent, None]] = (held[:, agent] != NOTHING)[:, None]
        yield wrong & ~things, "the agent holds {entity}, which is no object"
        yield wrong & (y >= 0), "the agent holds {entity}, which also stands on the grid"
    yield from _find_holder_errors(layout, rows, things)


def _find_holder_errors(layout: Layout, rows: NDArray[Any], things: _Mask) -> _Errors:
    """Yield (mask, message template) for entities in `rows` that are no objects but are in a box,
    and for objects in two hands or boxes; the (n, E) mask `things` marks the objects."""
    holders = np.zeros(things.shape, np.int64)  # number of hands and boxes with each entity
    held = rows["agent"]["holding"][:, : layout.agents + 1].astype(np.int64)
    np.add.at(holders, (np.arange(len(rows))[:, None], held), 1)
    if Box in layout.components:
        content = rows[column_name(Box)]["content"].astype(np.int64)
        boxed = np.zeros_like(things)
        np.put_along_axis(boxed, content, True, 1)
        boxed[:, NOTHING] = False
        yield boxed & ~things, "a box holds {entity}, which is no object"
        on_grid = rows["position"]["y"] >= 0
        yield boxed & on_grid, "a box holds {entity}, which also stands on the grid"
        np.add.at(holders, (np.arange(len(rows))[:, None], content), 1)
    holders[:, NOTHING] = 0
    yield holders > 1, "{entity} is held twice, by agents or boxes"


def _find_agent_cell_fault(layout: Layout, rows: NDArray[Any]) -> str:
    """Return an error message if the columns that list the agents in each cell contradict the
    agents' positions in `rows`; "" if they agree."""
    spots = _agent_cell_numbers(layout, rows)
    agents, following = (rows[name].astype(np.int64) for name in ("who", "next"))
    here = agents.reshape(len(rows), -1)
    cells = np.arange(1, here.shape[1] + 1)
    met = np.zeros(len(rows), np.int64)
    wrong = ((spots == 0) & (following != 0)).any(1)
    for _ in layout.everyone:
        occupied = here != NOTHING
        wrong |= (occupied & (np.take_along_axis(spots, here, 1) != cells)).any(1)
        met += occupied.sum(1)
        here = np.take_along_axis(following, here, 1)
    wrong |= (here != NOTHING).any(1) | (met != (spots > 0).sum(1))
    if not wrong.any():
        return ""
    return "w.who and w.next disagree with the agents' positions; move agents by w.stand only"
