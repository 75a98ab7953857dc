"""Layout of a world's memory: its columns and the dtype of its row.

One world is one row, a record of a structured NumPy array. Only maximum sizes and the set of
components determine the dtype; everything else is a value in the row. Sizes are rounded up to a few
steps, so that similar scenarios share a layout and its compiled program.

`gv_engine.scenario.memory.row_checks` finds contents that no world of a layout can have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, Agent, Kind, Mission, Position
from components.items import Absence, Bodiless
from gv_engine.rules.component import NOTHING, Field, column_name, fields_of, is_read_often
from gv_engine.rules.geometry import FORWARD
from gv_engine.rules.objects import (
    GROUND,
    OBJECT_TYPES,
    TERRAIN,
    ObjectType,
    ObjectTypes,
    Prefab,
)

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
"""Columns for several agents, maintained by `w.stand`: last agent of each cell, next agent in the
same cell, and number of each agent's cell (row by row from 1, 0 for none)."""

LEADING_FIELDS = [("rng", RNG), *SCALAR_COLUMNS.items()]
"""Fields that every row begins with."""


def make_prefab(kind: ObjectType) -> Prefab:
    """Return the components of a new object of type `kind`: its type, a position off the grid, and
    those that the type lists."""
    return (Kind, (kind.index,)), (Position, (-1, -1)), *kind.components


def _to_plain(parts: Prefab) -> list[tuple[str, tuple[float, ...]]]:
    return [(column_name(cls), values) for cls, values in parts]


_SMALL_ROW = 4096  # maximum size in bytes of a row that is fetched as a whole

_TABLE_STEP = 8  # step to which the lengths of tables are rounded up

_SIZES = (9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513)


def round_up_size(size: int) -> int:
    """Return the smallest of the grid sizes `_SIZES` that is at least `size`."""
    return next((allowed for allowed in _SIZES if allowed >= size), size)


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
        world_components: components of the world's own entity; () for no such entity.
        between: names of the layers between `at` and `ground`, topmost first.
    """

    height: int
    width: int
    capacity: int
    components: tuple[type, ...]
    types: tuple[ObjectType, ...]
    drawn: int = 0
    bodies: tuple[Prefab, ...] = ((),)
    has_smaller_members: bool = False
    world_components: Prefab = ()
    between: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def agents(self) -> int:
        """Maximum number of agents; their entities are 1 up to this number."""
        return len(self.bodies)

    @property
    def agent_entities(self) -> range:
        """Numbers of the agents' entities, from 1 on."""
        return range(1, self.agents + 1)

    @cached_property
    def object_types(self) -> ObjectTypes:
        """Object types that worlds and observations may show, by index and name."""
        return ObjectTypes((*self.types, *OBJECT_TYPES.built_in))

    @cached_property
    def type_table_length(self) -> int:
        """Length of arrays that have one value per type index, rounded up."""
        length = max(kind.index for kind in self.types) + 1
        return max(2 * _TABLE_STEP, -(-length // _TABLE_STEP) * _TABLE_STEP)

    def _make_type_table(self, default: _T, read: Callable[[ObjectType], _T]) -> tuple[_T, ...]:
        values = {kind.index: read(kind) for kind in self.types}
        return tuple(values.get(index, default) for index in range(self.type_table_length))

    @cached_property
    def prefabs(self) -> tuple[Prefab, ...]:
        """Components of a new object by type index; () for types that no object of these worlds
        has."""
        return self._make_type_table((), lambda kind: make_prefab(kind) if kind.in_grid else ())

    @cached_property
    def mission(self) -> type | None:
        """Component class that holds the mission of an agent, None without missions."""
        return next((cls for cls in self.components if issubclass(cls, Mission)), None)

    @property
    def has_absence(self) -> bool:
        """True if agents can be out of play for some steps."""
        return self.agents > 1 and Absence in self.components

    @property
    def is_bodiless(self) -> bool:
        """True if the only agent stands in no cell."""
        return Bodiless in self.components

    @cached_property
    def agent_prefabs(self) -> tuple[Prefab, ...]:
        """The components of each agent at the start of an episode. There is one tuple of (class,
        field values) pairs per agent."""
        parts: Prefab = ((Agent, (FORWARD, NOTHING)), (Position, (-1, -1)))
        if self.mission:
            parts += ((self.mission, tuple(field.default for field in fields_of(self.mission))),)
        return tuple(parts + body for body in self.bodies)

    @property
    def world_entity(self) -> int:
        """Number of the entity that has the components of the world; NOTHING if there are none."""
        return self.agents + 1 if self.world_components else NOTHING

    @cached_property
    def initial_prefabs(self) -> tuple[Prefab, ...]:
        """Components of the entities that exist at the start of every level, from entity 1 on: the
        agents, then the world's own entity, then the entities of terrain."""
        world = (self.world_components,) if self.world_components else ()
        return (*self.agent_prefabs, *world, *map(make_prefab, self.terrain))

    @cached_property
    def terrain(self) -> tuple[ObjectType, ...]:
        """Types of terrain. Each has one entity, which all its cells share."""
        return tuple(kind for kind in self.types if kind.layer == TERRAIN)

    @cached_property
    def terrain_entities(self) -> tuple[int, ...]:
        """For each type index, the entity that represents this terrain in the grid. It is NOTHING
        for plain floor, and -1 for types that are no terrain."""
        first = self.first_object - len(self.terrain)
        entities = {kind.index: first + k for k, kind in enumerate(self.terrain)}
        entities[FLOOR] = NOTHING
        return self._make_type_table(-1, lambda kind: entities.get(kind.index, -1))

    @property
    def first_object(self) -> int:
        """Smallest entity number that an object can have."""
        return 1 + len(self.initial_prefabs)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of every component, in order."""
        return tuple(map(column_name, self.components))

    @cached_property
    def states(self) -> tuple[tuple[str, str], ...]:
        """(component, field) of every component field that holds the state of an object type."""
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
        """Indices of the object types as which agents appear to each other."""
        components = (component for body in self.bodies for component in body)
        return frozenset(values[0] for cls, values in components if cls is Kind)

    @cached_property
    def successor_types(self) -> tuple[int, ...]:
        """By type index, the type of the object that replaces a used-up object; -1 for none."""
        return self._make_type_table(-1, lambda kind: -1 if kind.leaves is None else kind.leaves)

    @cached_property
    def is_ground_type(self) -> tuple[bool, ...]:
        """By type index, True if objects of the type lie on the ground layer, as terrain does."""
        return self._make_type_table(False, lambda kind: kind.layer in (GROUND, TERRAIN))

    @cached_property
    def layers(self) -> tuple[str, ...]:
        """Names of the columns of cells, topmost first: `at`, those between, and `ground` if the
        scenario has such objects."""
        ground = ("ground",) if any(self.is_ground_type) else ()
        return ("at", *self.between_columns, *ground)

    @cached_property
    def between_columns(self) -> tuple[str, ...]:
        """Names of the columns of the layers `between`."""
        return tuple(f"between_{number}" for number in range(len(self.between)))

    @cached_property
    def between_numbers(self) -> tuple[int, ...]:
        """By type index, the index of the type's layer in `between`, -1 for other layers."""
        numbers = {name: number for number, name in enumerate(self.between)}
        return self._make_type_table(-1, lambda kind: numbers.get(kind.layer, -1))

    @cached_property
    def column_of_type(self) -> tuple[str, ...]:
        """By type index, the column of cells that holds the objects of the type."""
        grounds = ("ground" if is_ground else "at" for is_ground in self.is_ground_type)
        pairs = zip(self.between_numbers, grounds, strict=True)
        return tuple(self.between_columns[k] if k >= 0 else ground for k, ground in pairs)

    @property
    def look_arrays(self) -> tuple[str, ...]:
        """Names of the arrays with the appearance of cells, see `batch_dtype`."""
        has_objects = any(kind.layer == GROUND for kind in self.types)
        return ("looks", "beneath") if has_objects else ("looks",)

    @cached_property
    def look_fields(self) -> frozenset[tuple[str, str]]:
        """Set of (component name, field name) of all fields that determine how an object looks, or
        whether it blocks vision."""
        all_fields = {("kind", "value"), ("color", "value"), ("door", "status"), *self.states}
        return frozenset(all_fields - {(column_name(Agent), "facing")})  # agents are not in `at`

    @cached_property
    def entity_fields(self) -> frozenset[tuple[str, str]]:
        """All component fields that hold an entity, such as the content of a box, as (component
        name, field name) pairs."""
        return frozenset(
            (column_name(cls), field.name)
            for cls in self.components
            for field in fields_of(cls)
            if field.dtype == "entity"
        )

    @cached_property
    def signature_field(self) -> str:
        """Name of a field of the row dtype. The name contains a hash of `signature`, so that the
        dtypes of different layouts differ."""
        return f"layout_{crc32(self.signature.encode()):08x}"

    @cached_property
    def signature(self) -> str:
        """Text that identifies the memory layout: the columns of components, and the components of
        new objects. Rarely used features are mentioned only if they are used."""
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
        if any(successor >= 0 for successor in self.successor_types):
            contents.append(self.successor_types)
        if self.mission:
            contents.append(_to_plain(self.agent_prefabs[0]))
        if any(self.is_ground_type):
            contents.append(self.is_ground_type)
        if self.between:
            contents.append(self.between_numbers)
        if self.terrain:
            contents.append(self.terrain_entities)
        if any(self.bodies):
            contents.append([_to_plain(parts) for parts in self.agent_prefabs])
        if self.world_components:
            contents.append(_to_plain(self.world_components))
        return repr(tuple(contents))

    @cached_property
    def entity_dtype(self) -> np.dtype[Any]:
        """Smallest NumPy dtype that can hold all entity numbers."""
        # unsigned, so that compiled code need not handle negative indices
        return np.min_scalar_type(self.capacity - 1)

    def dtype_of(self, field: Field) -> np.dtype[Any]:
        """Return the NumPy dtype of a component's field. The field types "entity" and "coordinate"
        become the smallest integer dtype that suffices."""
        if field.dtype == "entity":
            return self.entity_dtype
        if field.dtype == "coordinate":  # rows and columns, and -1
            return np.min_scalar_type(-max(self.height, self.width))
        assert isinstance(field.dtype, np.dtype)
        return field.dtype

    def maximum_of(self, number: str) -> int:
        """Return the upper bound of an integer field, by its name such as "health.points"."""
        component, _, name = number.partition(".")
        cls = self.components[self.names.index(component)]
        return int(next(field.bounds.high for field in fields_of(cls) if field.name == name))

    @cached_property
    def column_lengths(self) -> dict[type, int]:
        """For each component class, the length of its arrays in a world: the number of entities
        that can have the component.

        All entities can, unless only agents, the world's own entity or terrain begin with the
        component. Then the columns end with the last of these, and entities beyond read what
        NOTHING reads, the defaults.
        """
        columns_of_objects = {column_name(Position), *(name for name, _ in self.look_fields)}
        of_objects = {cls for cls in self.components if column_name(cls) in columns_of_objects}
        for kind in self.types:
            if kind.in_grid and kind.layer != TERRAIN:
                of_objects.update(kind.component_classes)
        lengths = dict.fromkeys(self.components, self.capacity)
        for entity, prefab in enumerate(self.initial_prefabs, 1):
            lengths |= {cls: entity + 1 for cls, _ in prefab if cls not in of_objects}
        return lengths

    def extend_column(self, column: NDArray[Any]) -> NDArray[Any]:
        """Return a column of n rows, (n, length, ...), extended to all E entities, (n, E, ...):
        entities beyond its length get the values of NOTHING."""
        missing = self.capacity - column.shape[1]
        return np.concatenate([column, column[:, :1].repeat(missing, axis=1)], axis=1)

    @cached_property
    def dtype(self) -> np.dtype[Any]:
        """Structured dtype of a record that holds one whole world. A record takes about 2 KiB for a
        9x9 grid."""
        # one spare row and column: index -1 wraps to them, so neighbours can be read
        cells = (self.height + 1, self.width + 1)
        # with a spare entry for NOTHING, so that an agent's number is its index
        agents = (self.agents + 1,)
        types = (self.type_table_length,)
        # of the objects of a type, or of the cells that terrain covers
        max_count = max(self.capacity - 1, self.height * self.width if self.terrain else 0)
        row: list[Any] = [
            *LEADING_FIELDS,
            *((name, dtype, agents) for name, dtype in AGENT_COLUMNS.items()),
        ]
        if self.has_smaller_members:
            row.append(("present", np.int16))
        row += [(name, self.entity_dtype, cells) for name in self.layers]
        if self.agents > 1:
            dtypes, shapes = (
                (self.entity_dtype, self.entity_dtype, np.int32),
                (cells, agents, agents),
            )
            row += zip(CELL_AGENT_COLUMNS, dtypes, shapes, strict=True)
        row.append(("placed", np.min_scalar_type(max_count), types))
        row.append(("recent", self.entity_dtype, types))
        if self.drawn:
            row.append(("drawn", np.int32, (self.drawn,)))
        # columns that every step reads come first, for fewer cache misses
        for cls in sorted(self.components, key=lambda cls: not is_read_often(cls)):
            length = self.column_lengths[cls]
            column: list[Any] = [("has", np.uint8, (length,))]
            column += [(f.name, self.dtype_of(f), (length, *f.shape)) for f in fields_of(cls)]
            row.append((column_name(cls), np.dtype(column, align=True)))
        row.append(("alive", np.uint8, (self.capacity,)))
        row.append((self.signature_field, np.uint8))
        return np.dtype(row, align=True)

    @property
    def is_large(self) -> bool:
        """True if a row is too large to fetch as a whole, or to search cell by cell."""
        return self.dtype.itemsize > _SMALL_ROW

    @cached_property
    def batch_dtype(self) -> np.dtype[Any]:
        """Structured dtype of one world in a compiled batch. It has the fields of `dtype`, followed
        by fields that compiled code derives from them, such as the appearance of each cell
        (`looks`).

        Every write to a source column updates the derived data; `stale` is 1 if another row was
        copied in since. `damaged` is 1 from then, or from an error, until the world is cleared,
        which does not rely on the row then. Cells are numbered row by row; bit c % 64 of word
        c // 64 is cell c.

        `looks` holds four bytes for each cell of `at`: type, state and colour, and in the topmost
        bit whether the cell blocks vision. `beneath` holds the same for the ground layer, if
        objects can lie there; the appearance of terrain needs no array, as it depends on its entity
        alone. Bit k % 32 of `changed_types` is set if objects of type k may have components that
        their type does not give them. Large rows also cache what takes long to find cell by cell:

        - `listed`: a bit set of the cells with objects of each type; `filled`: a bit set of its
          words that are not 0;
        - `blocked`: a bit set of the cells that nobody can enter;
        - `ways`: path lengths from one cell to each, or -1; `ways_from`: that cell and the shape
          of the grid as one number, 0 for no cell;
        - `highest`: an entity above which none is alive.

        With several agents, `turn` is the acting agent, `order` the turn order of the step, and
        `live` has 1 for agents that are not done when the step begins.
        """
        cells = (self.height + 1, self.width + 1)
        derived: list[Any] = [
            *((name, np.uint32, cells) for name in self.look_arrays),
            ("changed_types", np.uint32),
            ("stale", np.uint8),
            ("damaged", np.uint8),
        ]
        if self.is_large:
            words = -(-cells[0] * cells[1] // 64)
            derived += [
                ("highest", self.entity_dtype),
                ("ways_from", np.uint64),
                ("blocked", np.uint64, (words,)),
                ("filled", np.uint64, (self.type_table_length, -(-words // 64))),
                ("listed", np.uint64, (self.type_table_length, words)),
                ("ways", np.min_scalar_type(-cells[0] * cells[1]), cells),
            ]
        if self.agents > 1:
            derived += [
                ("turn", np.int64),
                ("order", np.int64, (self.agents,)),
                ("live", np.uint8, (self.agents + 1,)),
            ]
        derived_dtype = np.dtype(derived, align=True)
        row_fields: Any = self.dtype.fields
        derived_fields: Any = derived_dtype.fields
        start = -(-self.dtype.itemsize // 8) * 8  # of the derived data, aligned
        dtypes = [dtype for dtype, _ in (*row_fields.values(), *derived_fields.values())]
        offsets = [offset for _, offset in row_fields.values()]
        offsets += [start + offset for _, offset in derived_fields.values()]
        return np.dtype(
            {
                "names": [*row_fields, *derived_fields],
                "formats": dtypes,
                "offsets": offsets,
                "itemsize": start + -(-derived_dtype.itemsize // 8) * 8,
            },
            align=True,
        )

    def defaults(self) -> np.ndarray[Any, Any]:
        """The record of an empty world, an array of shape () and dtype `dtype` in which every field
        has its default."""
        row = np.zeros((), self.dtype)
        for cls in self.components:
            for column in fields_of(cls):
                row[column_name(cls)][column.name][...] = column.default
        row["capacity"] = self.capacity
        row["free"] = 1
        return row
