"""Component columns of the object world, stored as esper components, and a read-only world over one
record of a batch.

>>> from gv_engine import Scenario
>>> from gv_engine.world.simulation import Simulation
>>> scenario = Scenario.load("keydoor-5x5")
>>> simulation = Simulation(scenario)
>>> simulation.reset(np.random.default_rng(0))
>>> row = RowWorld(scenario.layout, simulation.world.snapshot())
>>> bool((row.cells() == simulation.world.cells()).all())
True
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import esper
import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.component import NOTHING, Field, column_name, fields_of
from gv_engine.rules.errors import ColumnError, OutOfBoundsError
from gv_engine.rules.frame import number_covered, number_stacks
from gv_engine.scenario.memory.layout import Layout

# ---- esper context -------------------------------------------------------------------------------

ESPER_LOCK = threading.RLock()
"""Lock of the library esper, whose current world is a global variable."""
_NUMBERS = itertools.count(1)


def _delete_world(name: str) -> None:
    with ESPER_LOCK:
        if esper.current_world != name and name in esper.list_worlds():
            esper.delete_world(name)


_RETIRED: deque[EsperContext] = deque()
"""Contexts whose simulation is gone. Their processors refer to the world, and so to the context.
They are removed when the next context is made, because garbage collection may run inside esper."""


def _make_empty_world_state() -> tuple[tuple[Any, ...], dict[str, int]]:
    """Return the state of an empty world of the library esper, a tuple of dictionaries, and the
    index of each in the tuple by its name.

    With them, worlds are made and changed without a switch of esper's current world, which other
    threads would notice.
    """
    part_names = "_entity_count _entities _components _dead_entities _processors _processors_dict"
    part_names += " _get_component_cache _get_components_cache"
    with ESPER_LOCK:
        outer_world, empty_world = esper.current_world, "gv_engine-0"
        esper.switch_world(empty_world)
        parts = {name: getattr(esper, name) for name in part_names.split()}
        esper.switch_world(outer_world)
        stored = esper._context_map.pop(empty_world)
    ids = [*map(id, stored)]
    return stored, {name: ids.index(id(part)) for name, part in parts.items()}


_TEMPLATE, _POSITIONS = _make_empty_world_state()


class EsperContext:
    """A world of the library esper. Its components can be changed without making it esper's current
    world; inside a `with` block, it is the current world.

    Outside of `with` blocks, entities and components are written into esper's own dictionaries,
    which esper only hands out as copies of the current world.
    """

    def __init__(self) -> None:
        """Create a new, empty world in the library esper."""
        while _RETIRED:
            _RETIRED.pop().remove_processors()
        self.name = f"gv_engine-{next(_NUMBERS)}"
        self._outer_worlds: list[str] = []  # one for each `with` block around
        weakref.finalize(self, _delete_world, self.name)
        parts: list[Any] = [type(part)() for part in _TEMPLATE]
        self._entities: dict[int, dict[type, Any]] = parts[_POSITIONS["_entities"]]
        self._entities_by_class: dict[type, set[int]] = parts[_POSITIONS["_components"]]
        self._dead: set[int] = parts[_POSITIONS["_dead_entities"]]
        self._processors: list[esper.Processor] = parts[_POSITIONS["_processors"]]
        self._processors_by_class: dict[Any, Any] = parts[_POSITIONS["_processors_dict"]]
        self._single_query_cache = parts[_POSITIONS["_get_component_cache"]]
        self._multi_query_cache = parts[_POSITIONS["_get_components_cache"]]
        self._store(parts, 0)

    def _store(self, world_state: Iterable[Any], size: int) -> None:
        """Make `world_state`, the tuple of an esper world's dictionaries, the state of this
        context's world. The next new entity gets the number `size` + 1."""
        stored = [*world_state]
        stored[_POSITIONS["_entity_count"]] = itertools.count(size + 1)
        with ESPER_LOCK:
            esper._context_map[self.name] = tuple(stored)

    @property
    def size(self) -> int:
        """Number of entities."""
        return len(self._entities)

    def clear(self, size: int) -> None:
        """Replace all entities of this esper world by `size` new ones without components, numbered
        from 1."""
        if self._outer_worlds:  # it is the current one
            with self:
                esper.clear_database()
                for _ in range(size):
                    esper.create_entity()
            return
        for e in self._dead:
            self._entities.pop(e, None)
        self._dead.clear()
        self._entities_by_class.clear()
        self._clear_query_caches()
        if self.size == size == next(reversed(self._entities), 0):
            for parts in self._entities.values():
                parts.clear()
            return
        # all ids in advance: esper deletes lazily, so a reused id would lose its components in
        # the next process
        self._entities.clear()
        self._entities.update((e, {}) for e in range(1, size + 1))
        self._store(esper._context_map[self.name], size)

    def _clear_query_caches(self) -> None:
        self._single_query_cache.clear()
        self._multi_query_cache.clear()

    def having(self, cls: type) -> list[tuple[int, Any]]:
        """Return (entity, component) for each entity with a component of class `cls`."""
        return [(e, self._entities[e][cls]) for e in self._entities_by_class.get(cls, ())]

    def detach(self, e: int, cls: type) -> None:
        """Remove the component of class `cls` from entity `e`. Do nothing if it has none."""
        if having := self._entities_by_class.get(cls):
            having.discard(e)
            if not having:
                del self._entities_by_class[cls]
        self._entities[e].pop(cls, None)
        self._clear_query_caches()

    def attach(self, e: int, prefab: Iterable[tuple[type, tuple[float, ...], list[Any]]]) -> None:
        """Give entity `e` a new component for each (class, field values, list of components) in
        `prefab`. Each component is also stored in its list, at index `e`.

        Args:
            e: entity.
            prefab: for each component its class, its values, and the rows that also hold the
                component.
        """
        parts, having = self._entities[e], self._entities_by_class
        for cls, values, rows in prefab:
            rows[e] = parts[cls] = cls(*values)
            try:
                having[cls].add(e)
            except KeyError:
                having[cls] = {e}
        self._clear_query_caches()

    def attach_each(
        self, entities: Sequence[int], components: Sequence[Any], by_entity: list[Any]
    ) -> None:
        """Give entity `entities[k]` the component `components[k]` for each k; all have the same
        class. Each component is also stored in the list `by_entity`, at the entity's index."""
        for e, component in zip(entities, components, strict=True):
            by_entity[e] = self._entities[e][type(component)] = component
        if components:
            self._entities_by_class.setdefault(type(components[0]), set()).update(entities)
        self._clear_query_caches()

    def release_with(self, owner: object) -> None:
        """Remove all processors some time after `owner`, which runs them, is garbage-collected."""
        weakref.finalize(owner, _RETIRED.append, self).atexit = False

    def add_processor(self, processor: esper.Processor) -> None:
        """Add a processor (an object that runs in each step), after those that are there."""
        processor.priority = 0
        self._processors.append(processor)
        self._processors_by_class[type(processor)] = processor

    def remove_processors(self) -> None:
        """Remove all processors from this esper world."""
        self._processors.clear()
        self._processors_by_class.clear()

    def process(self, *arguments: Any) -> None:
        """Run all processors, as `esper.process` does in the current world."""
        for processor in self._processors:
            processor.process(*arguments)

    def __enter__(self) -> None:
        """Make this world the current one of the library esper. Other threads must wait until the
        `with` block ends."""
        ESPER_LOCK.acquire()
        current = esper.current_world
        self._outer_worlds.append(current)
        if current != self.name:
            esper.switch_world(self.name)

    def __exit__(self, *_: object) -> None:
        """Make the previous world current in the library esper again, and unlock it."""
        outer = self._outer_worlds.pop()
        if outer != self.name:
            esper.switch_world(outer)
        ESPER_LOCK.release()


# ---- columns -------------------------------------------------------------------------------------


class ObjectColumn:
    """One field of one component over all entities: `w.position.y`."""

    __slots__ = ("_cast", "_field", "_rows")

    def __init__(self, field: str, rows: list[Any], cast: Callable[[Any], Any]) -> None:
        """Make a column that reads and writes one `field` of the components in `rows`; `cast`
        converts written values."""
        self._field = field
        self._rows = rows
        self._cast = cast

    def __getitem__(self, e: int) -> Any:
        """Return this field's value for entity `e`; its default if the entity lacks the
        component."""
        try:
            return getattr(self._rows[e], self._field)
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._rows)) from None

    def __setitem__(self, e: int, value: Any) -> None:
        """Set this field of entity `e` to `value`. Raise an error if the entity lacks the
        component, or if the value does not fit."""
        number = self._cast(value)
        try:
            setattr(self._rows[e], self._field, number)
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._rows)) from None


class ObjectArrayColumn:
    """Array field of one component over all entities: `w.bag.counts[e, k]`."""

    __slots__ = ("_cast", "_cls", "_field", "_rows")

    def __init__(
        self, cls: type, field: Field, rows: list[Any], cast: Callable[[Any], Any]
    ) -> None:
        """Make a column of the array `field` of the components of class `cls` in `rows`; `cast`
        converts written numbers."""
        self._cls, self._field, self._rows, self._cast = cls, field, rows, cast

    def __getitem__(self, key: Any) -> Any:
        """Return item k of the array of entity e, for the index (e, k)."""
        numbers, k = self._find_item(key)
        return numbers[k]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Set item k of the array of entity e, where `key` is (e, k)."""
        numbers, k = self._find_item(key)
        if isinstance(numbers, tuple):  # the defaults
            raise ColumnError(describe_absence(self._cls, self._field.name))
        numbers[k] = self._cast(value)

    def _find_item(self, key: Any) -> tuple[Any, int]:
        """Return (array of entity e, k) for the index `key` = (e, k). Raise an error for any other
        index."""
        indices = key if isinstance(key, tuple) else ()
        if len(indices) != 2 or any(isinstance(index, slice) for index in indices):
            name = f"w.{column_name(self._cls)}.{self._field.name}"
            count = len(self._field.items)
            raise ColumnError(
                f"{name}[{key!r}] names an array of {count} numbers; name one: {name}[e, k]"
            )
        for axis, (index, size) in enumerate(zip(key, (len(self._rows), len(self._field.items)))):
            if not -size <= index < size:
                raise OutOfBoundsError(index, axis, size)
        return getattr(self._rows[key[0]], self._field.name), key[1]


class ObjectPresence:
    """Read-only column of flags, True for entities that have the component: `w.door.has`."""

    __slots__ = ("_cls", "_default", "_rows")

    def __init__(self, columns: ComponentColumns) -> None:
        """Make the column that tells which entities have the component of `columns`."""
        self._cls = columns.cls
        self._rows = columns.rows
        self._default = columns.default

    def __getitem__(self, e: int) -> bool:
        """Return True if entity `e` has the component."""
        try:
            return self._rows[e] is not self._default
        except IndexError:
            raise OutOfBoundsError(e, 0, len(self._rows)) from None

    def __setitem__(self, e: int, value: Any) -> None:
        """Raise `ColumnError`, since rules must add and remove components by `w.add` and
        `w.take`."""
        raise ColumnError(describe_presence_write(self._cls))


class CellColumn(np.ndarray[Any, Any]):
    """(H + 1, W + 1) array with the entity in each cell, such as `w.at`. A write of a number that
    is no entity raises an error."""

    capacity = 0  # parts and results of arithmetic take any number

    @classmethod
    def over(cls, cells: NDArray[Any], capacity: int) -> CellColumn:
        """Return a view of `cells` for entities below `capacity`."""
        column = cells.view(cls)
        column.capacity = capacity
        return column

    def __setitem__(self, place: Any, e: Any) -> None:
        """Write the entity of a cell."""
        if self.capacity and not 0 <= e < self.capacity:
            raise OutOfBoundsError(e, OutOfBoundsError.ENTITY, self.capacity)
        super().__setitem__(place, e)


@cache
def _make_entity_cast(capacity: int) -> Callable[[Any], int]:
    """Return a function that converts a value to an entity number: an int from 0 to `capacity` - 1.
    It raises an error for other values."""

    def to_entity(value: Any) -> int:
        if not 0 <= (e := int(value)) < capacity:
            raise OutOfBoundsError(e, OutOfBoundsError.ENTITY, capacity)
        return e

    return to_entity


@cache
def _make_integer_cast(dtype: np.dtype[Any], column: str) -> Callable[[Any], int]:
    """Return a function that converts a value to an int that `dtype` can hold. It raises an error
    for other values, which names the field as `column`, such as "w.door.status"."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)

    def to_integer(value: Any) -> int:
        if not low <= (number := int(value)) <= high:
            raise ColumnError(f"{column}: {number} does not fit into {dtype}: {low} to {high}")
        return number

    return to_integer


def _make_cast(cls: type, field: Field, capacity: int) -> Callable[[Any], Any]:
    """Return a function that converts a value to the type of a component's field. It raises an
    error if the value does not fit."""
    if field.dtype == "entity":
        return _make_entity_cast(capacity)
    if not isinstance(field.dtype, np.dtype):
        return int
    if field.dtype.kind in "fb":
        return float if field.dtype.kind == "f" else bool
    return _make_integer_cast(field.dtype, f"w.{column_name(cls)}.{field.name}")


class ComponentColumns:
    """All columns of one component, such as `w.door`: `has`, and one attribute for each field."""

    def __init__(self, cls: type, capacity: int) -> None:
        """Make the columns of the component class `cls` for `capacity` entities."""
        self.cls = cls
        self.default = _make_default_component(cls)
        self.default_rows = [self.default] * capacity
        self.rows = self.default_rows.copy()
        self.has = ObjectPresence(self)
        for field in fields_of(cls):
            cast = _make_cast(cls, field, capacity)
            column: ObjectArrayColumn | ObjectColumn
            if field.items:
                column = ObjectArrayColumn(cls, field, self.rows, cast)
            else:
                column = ObjectColumn(field.name, self.rows, cast)
            setattr(self, field.name, column)

    def get_value(self, field: Field, e: int) -> Any:
        """Return the value of a field of entity `e`; for an array field, a dict of its numbers by
        item name."""
        value = getattr(self.rows[e], field.name)
        return dict(zip(field.items, value)) if field.items else value

    def __getitem__(self, field: Any) -> Any:
        """Return the column, one value per entity, of the component's field with this name."""
        if isinstance(field, str):
            return getattr(self, field)
        raise self._make_no_column_error(field)

    def __setitem__(self, e: int, value: Any) -> None:
        """Raise `ColumnError` for an index in place of a column's name."""
        raise self._make_no_column_error(e)

    def _make_no_column_error(self, e: int) -> ColumnError:
        """Return the error for a rule that reads `w.door[e]`. The rule must name a field, such as
        `w.door.status[e]`."""
        columns = ["has", *(field.name for field in fields_of(self.cls))]
        name = column_name(self.cls)
        uses = ", ".join(f"w.{name}.{column}[e]" for column in columns)
        return ColumnError(f"w.{name}[{e!r}] reads a component; read one of its columns: {uses}")


@cache
def _make_default_component(cls: type) -> Any:
    """Return a read-only component of class `cls` whose fields have their defaults. It is read for
    all entities without such a component."""

    def refuse(self: object, name: str, value: object) -> None:
        raise ColumnError(describe_absence(cls, name))

    def init(self: object) -> None:
        for field in fields_of(cls):
            object.__setattr__(self, field.name, field.default)

    namespace = {"__slots__": (), "__setattr__": refuse, "__init__": init}
    return type(f"No{cls.__name__}", (cls,), namespace)()


def describe_absence(cls: type, field: str) -> str:
    """Return the error message for a rule that writes the field `field` of a component of class
    `cls`, but the entity has no such component."""
    return (
        f"a rule writes {column_name(cls)}.{field} of an entity that has no {cls.__name__}; "
        f"ask w.{column_name(cls)}.has[e] first"
    )


def describe_presence_write(cls: type) -> str:
    """Return the error message for a rule that writes `w.door.has[e]`, for example. It must call
    `w.add` or `w.take`."""
    name = column_name(cls)
    return (
        f"a rule writes w.{name}.has; add components by w.add(e, {name!r}) and remove them by "
        f"w.take(e, {name!r})"
    )


# ---- row world -----------------------------------------------------------------------------------


class RowWorld:
    """Read-only `World` over one world's record in a batch, used for drawing: it has columns, cells
    and values such as `steps`.

    Args:
        layout: layout of the record.
        row: () array of `layout.dtype`; later changes to the array show up in the world.
    """

    def __init__(self, layout: Layout, row: NDArray[Any]) -> None:
        """Make a world that reads the record `row`."""
        self._layout, self._row = layout, row

    def __getattr__(self, name: str) -> Any:
        """Return the field `name` of the world's record: the columns of a component, an array such
        as `at`, or a number such as `steps`."""
        value = self._row[name]
        if value.dtype.names:
            return RowColumns(self._layout, value)
        return value if value.ndim else value.item()

    @property
    def ground(self) -> NDArray[Any]:
        """(H + 1, W + 1) array with the entity number of the object on the ground of each cell."""
        ground: NDArray[Any] = (
            self._row["ground"] if "ground" in self._layout.layers else np.zeros_like(self.at)
        )
        return ground

    @property
    def between(self) -> tuple[NDArray[Any], ...]:
        """(H + 1, W + 1) arrays with the entity numbers of the layers between, topmost first."""
        return tuple(self._row[name] for name in self._layout.between_columns)

    @property
    def world(self) -> int:
        """Entity that has the components of the world."""
        return self._layout.world_entity

    def agents(self) -> range:
        """Return the entity numbers of the agents, a range that begins with 1."""
        agents = self._layout.agent_entities
        if self._layout.has_smaller_members:  # a member of a mixture may have fewer agents
            return agents[: self.present]
        return agents

    def cells(self) -> NDArray[np.uint8]:
        """Return an (H, W, 3) array: type, state and colour of the topmost object in each cell."""
        shown = self.at
        for layer in (*self.between, self.ground):
            shown = np.where(shown != NOTHING, shown, layer)
        return self._get_appearances(shown)

    def beneath(self) -> NDArray[np.uint8] | None:
        """Return an (H, W, 3) array of the type, state and colour of the ground object in each
        cell; None in worlds without a ground layer."""
        return self._get_appearances(self.ground) if "ground" in self._layout.layers else None

    def stacks(self) -> NDArray[np.uint16] | None:
        """Return an (H, W) array with the number of the states that are drawn on top of each other
        in each cell; None without a component `Stack` and without layers between."""
        if "stack" not in (self._row.dtype.names or ()):
            return number_covered(self) if self.between else None
        cells = self.at[: self.height, : self.width]
        return number_stacks(self._row["stack"]["objects"][cells])

    def _get_appearances(self, cells: NDArray[Any]) -> NDArray[np.uint8]:
        """Return an array with (type, state, colour) on a new last axis, for `cells`, an array of
        entity numbers."""
        row: Any = self._row
        entities = cells[: self.height, : self.width]
        grid = np.zeros((*entities.shape, 3), np.uint8)
        types = grid[..., 0]
        types[...] = row["kind"]["value"][entities]
        for object_type in self._layout.types:
            if object_type.state:
                column, field = object_type.state
                is_of_type = types == object_type.index
                grid[is_of_type, 1] = row[column][field][entities[is_of_type]]
        grid[..., 2] = row["color"]["value"][entities]
        return grid

    def appearance(self, e: int) -> tuple[int, int, int]:
        """Return (type, state, colour) of entity `e` as observations show it. NOTHING looks like
        Floor."""
        row = self._row
        type_index = int(row["kind"]["value"][e])
        state = 0
        for object_type in self._layout.types:
            if object_type.index == type_index and object_type.state:
                column, field = object_type.state
                state = int(row[column][field][e])
        return type_index, state, int(row["color"]["value"][e])


class RowColumns:
    """All columns of one component: `has` and its fields, as arrays."""

    def __init__(self, layout: Layout, record: NDArray[Any]) -> None:
        """Read the columns of one component in a row of this layout."""
        self._layout, self._record = layout, record

    def __getattr__(self, name: str) -> Any:
        """Return a column as an array with the values of all entities."""
        return self._layout.extend_column(self._record[name][None])[0]
