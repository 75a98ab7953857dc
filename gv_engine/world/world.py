"""Object world: one world whose entities are stored in the ECS library esper and accessed through
columns.

`w.door.status[e]` is a field of the component that esper returns for entity `e`, so rules, esper
queries and debuggers all see the same objects. A world can be saved as one row (`snapshot`) and
loaded (`restore`), see `gv_engine.scenario.memory.layout`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, compress, product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR, HIDDEN, Kind
from gv_engine.rules import errors
from gv_engine.rules.component import NOTHING, column_name, fields_of
from gv_engine.rules.frame import number_covered, number_stacks
from gv_engine.rules.objects import Prefab
from gv_engine.rules.world import Columns, Verbs
from gv_engine.scenario.memory.layout import (
    AGENT_COLUMNS,
    CELL_AGENT_COLUMNS,
    RNG,
    SCALAR_COLUMNS,
    Layout,
)
from gv_engine.scenario.memory.row_checks import require_layout
from gv_engine.world.columns import CellColumn, ComponentColumns, EsperContext, ObjectColumn
from gv_engine.world.rng import generator_from_row, generator_to_row

if TYPE_CHECKING:
    from gv_engine.rules.world import World
else:
    World = object  # the properties of `World` would slow down all reads of attributes

_UNSET: Any = None


class ObjectWorld(Verbs, World):
    """State of one world, made of Python objects; `World` describes the part that rules use.

    Attributes:
        layout: components, object types and sizes of the world.
        context: esper world of the entities.
        free: all entities below this one are in use.
        everyone: range of all agents; is_alone: True if there is one.
        present: number of agents that exist, the first ones.
        live: (A + 1,) True if an agent takes part in the step.
        order: (A,) agents in turn order.
        playing, acting: agents that take part in the step, by number and in turn order.
        error: always 0; in records of compiled worlds, the code of the step's error.
        objects: object store of `gv_engine.plugins.gridverse`; None until it is used.
    """

    if TYPE_CHECKING:  # `World` declares these as read-only for rules; the engine writes them
        at = ground = between = who = next = spot = rng = placed = recent = drawn = _UNSET
        action = reward = total = done = success = ended_by = _UNSET
        capacity = member = steps = world = 0
        terminated = truncated = False

    def __init__(self, layout: Layout) -> None:
        """Make an empty world. `layout` has its sizes, components and object types."""
        self.layout = layout
        self.context = EsperContext()
        self.capacity = layout.capacity
        self.rng = np.random.default_rng(0)
        self.objects: Any = None
        self._columns = tuple(ComponentColumns(cls, layout.capacity) for cls in layout.components)
        self._by_class = {columns.cls: columns for columns in self._columns}
        for columns in self._columns:
            setattr(self, column_name(columns.cls), columns)
        self._state_columns: list[ObjectColumn | None] = [None] * layout.type_table_length
        self._ground_types = frozenset(k for k, below in enumerate(layout.is_ground_type) if below)
        self._terrain_entities = {e for e in layout.terrain_entities if e > NOTHING}
        self._types = {kind.index: kind for kind in layout.types}
        for kind in layout.types:
            if kind.state:
                self._state_columns[kind.index] = self[kind.state[0]][kind.state[1]]
        # columns that every view reads for every cell
        self._type_rows, self._color_rows = self.kind.rows, self.color.rows
        self._positions = self.position.rows
        self._prefabs = tuple(map(self._bind_prefab, layout.prefabs))
        self._initial_prefabs = tuple(map(self._bind_prefab, layout.initial_prefabs))
        self.world, self.member = layout.world_entity, 0
        self.who = self.next = self.spot = _UNSET  # arrays with several agents
        self.everyone = layout.agent_entities
        self.is_alone = layout.agents == 1
        self.present = layout.agents
        self.live = np.ones(layout.agents + 1, object)
        self.order = np.array(layout.agent_entities, object)
        self.playing, self.acting = [*layout.agent_entities], [*layout.agent_entities]
        if "ground" not in layout.layers:
            self.ground = np.zeros((layout.height + 1, layout.width + 1), object)
            self.ground.flags.writeable = False
        self.clear()

    def _bind_prefab(self, parts: Prefab) -> tuple[tuple[type, tuple[float, ...], list[Any]], ...]:
        return tuple((cls, values, self._by_class[cls].rows) for cls, values in parts)

    if TYPE_CHECKING:  # a real method would slow down all attribute reads

        def __getattr__(self, name: str) -> Any:
            """Return a component's columns or a verb (declared for type checkers only)."""

    def __getitem__(self, column: str) -> Any:
        """Return the columns of a component by name."""
        return getattr(self, column)

    @property
    def alive(self) -> NDArray[Any]:
        """Return (entities,) flags: True if the entity is in use."""
        return np.array(self._alive, object)

    def clear(self) -> None:
        """Remove all objects and the grid, and set the step count and all flags to their initial
        values, before a new level is built. The random generator keeps its state."""
        self.height = self.width = 0
        self.steps = self.error = 0
        self.terminated = self.truncated = False
        self._alive = [False] * self.capacity
        for name, value in _AGENT_DEFAULTS:
            setattr(self, name, [value] * (len(self.everyone) + 1))
        for agent in self.everyone[self.present :]:
            self.done[agent] = 1
        # object arrays: values are Python ints, indexing and its errors are NumPy's
        shape = self.layout.height + 1, self.layout.width + 1
        self._flat_layers: list[NDArray[Any]] = []
        layers = {name: np.zeros(shape, object) for name in self.layout.layers}
        for name, cells in layers.items():
            setattr(self, name, CellColumn.over(cells, self.capacity))
            self._flat_layers.append(cells.reshape(-1))
        if not self.is_alone:
            for name in CELL_AGENT_COLUMNS:
                setattr(self, name, np.zeros(self.layout.dtype[name].shape, object))
        self.between = tuple(getattr(self, name) for name in self.layout.between_columns)
        # the engine's own writes, which need no check
        self._cells_by_type = [layers[name] for name in self.layout.column_of_type]
        self.placed = np.zeros(self.layout.type_table_length, object)
        self.recent = np.zeros(self.layout.type_table_length, object)
        self.drawn = np.zeros(self.layout.drawn, object)
        self.free = NOTHING + 1
        self.context.clear(self.capacity - 1)
        for columns in self._columns:
            columns.rows[:] = columns.default_rows
        for prefab in self._initial_prefabs:
            self._allocate_entity(prefab)

    def attach(self, e: int, component: Any) -> None:
        """Give entity `e` the component object `component` itself, not a copy; the world's columns
        read and write it."""
        self.context.attach_each((e,), (component,), self._by_class[type(component)].rows)

    def detach(self, e: int, cls: type) -> None:
        """Take the component of class `cls` away from entity `e`; do nothing if it has none."""
        self.context.detach(e, cls)
        columns = self._by_class[cls]
        columns.rows[e] = columns.default

    def spawn(self, kind: int) -> int:
        """Create an object of type index `kind`, which is not yet in any cell. Return its entity
        number, the lowest free one. All cells of terrain such as Wall share one entity.

        Raises:
            CapacityError: all entities are in use.
            RuleError: the type is not one of this world.
        """
        prefabs = self._prefabs
        if self._terrain_entities and (shared := self.terrain_of(kind)) > NOTHING:
            return shared
        if not (0 <= kind < len(prefabs) and prefabs[kind]):
            raise errors.RuleError(UNKNOWN_TYPE)
        return self._allocate_entity(prefabs[kind])

    def create_empty_entity(self) -> int:
        """Mark the lowest free entity number as used, without giving it any component, and return
        the number.

        Raises:
            CapacityError: all entities are in use.
        """
        return self._allocate_entity(())

    def _allocate_entity(self, prefab: Iterable[tuple[type, tuple[float, ...], list[Any]]]) -> int:
        """Take the lowest free entity number, give it new components, and return it. `prefab` has
        (class, field values, list of components) for each, as in `EsperContext.attach`."""
        e, alive, capacity = self.free, self._alive, self.capacity
        while e < capacity and alive[e]:
            e += 1
        if e >= capacity:
            raise errors.CapacityError(CAPACITY)
        self.context.attach(e, prefab)
        alive[e] = True
        self.free = e + 1
        return e

    def place(self, e: int, y: int, x: int) -> None:
        """Move entity `e` into the cell (y, x), out of the cell where it was. The new cell must be
        free."""
        positions = self._positions
        # fast path without a call per column: resets spend most time here
        if (
            0 < e < len(positions)
            and e not in self._terrain_entities
            and 0 <= y < self.height
            and 0 <= x < self.width
            and (cells := self._cells_by_type[kind := self._type_rows[e].value])[y, x] == NOTHING
        ):
            position = positions[e]
            if position.y < 0:
                self.placed[kind] += 1
            else:
                cells[position.y, position.x] = NOTHING
                # as `lift`: a rule may have changed the type
                self.placed[kind] = max(self.placed[kind] - 1, 0) + 1
            cells[y, x] = e
            position.y, position.x = int(y), int(x)
            self.recent[kind] = e
        else:
            super().place(e, y, x)

    def enclose(self, kind: int) -> None:
        """Put new objects of type index `kind` into all cells at the edge of the grid, row by
        row."""
        edge_cells, prefabs = _list_edge_cells(self.height, self.width), self._prefabs
        new = range(self.free, self.free + len(edge_cells))
        # fast path for all cells at once, in a third of the time
        if (
            0 <= kind < len(prefabs)
            and prefabs[kind]
            and kind not in self._ground_types
            and new.stop <= self.capacity
            and not any(self._alive[new.start : new.stop])
            and not self.at.any()
        ):
            for cls, values, rows in prefabs[kind]:
                self.context.attach_each(new, [cls(*values) for _ in new], rows)
            cells = self._cells_by_type[kind]
            for e, (y, x) in zip(new, edge_cells):
                cells[y, x] = e
                self._positions[e].y, self._positions[e].x = y, x
            self._alive[new.start : new.stop] = [True] * len(new)
            self.free = new.stop
            self.placed[kind] += len(new)
            self.recent[kind] = new[-1]
        else:
            super().enclose(kind)

    def remove(self, e: int) -> None:
        """Remove entity `e` and all its components from the world. A later object can get its
        number."""
        if e == NOTHING:
            return
        if self.is_terrain(e):
            self.fail(TERRAIN_IS_SHARED)
        self.lift(e)
        self._check_writable(e)
        for columns in self._columns:
            if columns.rows[e] is not columns.default:
                self.detach(e, columns.cls)
        self._alive[e] = False
        self.free = min(self.free, e)

    def state_of(self, e: int) -> int:
        """Return the number of the state that entity `e` is in; 0 for types with a single state."""
        column = self._state_columns[self.kind.value[e]]
        return 0 if column is None else column[e]

    def set_state(self, e: int, state: int) -> None:
        """Set the state of object `e` to state number `state` of its type. Components that the type
        has only in some states are added or removed."""
        kind = self.kind.value[e]
        column = self._state_columns[kind]
        if column is None:
            return
        column[e] = state
        for cls, values in self._types[kind].component_changes(state).items():
            columns = self._by_class[cls]
            if values is None:
                self.detach(e, cls)
            elif columns.rows[e] is columns.default:
                self.attach(e, cls(*values))

    def num_states(self, kind: int) -> int:
        """Return the number of states of a type, 1 for types without states."""
        return self.layout.num_states[kind]

    def left_by(self, kind: int) -> int:
        """Return the type that replaces a used-up object of a type, -1 for none."""
        return self.layout.successor_types[kind]

    def on_ground(self, kind: int) -> bool:
        """Return True for an object type whose layer is the ground, or terrain."""
        return kind in self._ground_types

    def between_number(self, kind: int) -> int:
        """Return the index in `between` of an object type's layer; -1 for `at` and `ground`."""
        numbers = self.layout.between_numbers
        return numbers[kind] if self.between and 0 <= kind < len(numbers) else -1

    def terrain_of(self, kind: int) -> int:
        """Return the entity that all cells with terrain of a type share; NOTHING for FLOOR, -1 for
        types that are no terrain."""
        entities = self.layout.terrain_entities
        return entities[kind] if 0 <= kind < len(entities) else -1

    def is_terrain(self, e: int) -> bool:
        """Return True for an entity that all cells with terrain of its type share."""
        return e in self._terrain_entities

    def add(self, e: int, column: str) -> None:
        """Give entity `e` a component with default values, in place of one that it has. `column` is
        its name in the world, such as "door"."""
        columns = self._get_columns(column)
        self._check_writable(e)
        if e >= self.layout.column_lengths[columns.cls]:
            self.fail(NOT_OF_OBJECTS)
        self.attach(e, columns.cls())

    def take(self, e: int, column: str) -> None:
        """Take a component away from entity `e`; the component is named by its `column` in the
        world, such as "door"."""
        columns = self._get_columns(column)
        self._check_writable(e)
        self.detach(e, columns.cls)

    def _check_writable(self, e: int) -> None:
        """Raise an error unless `e` is the number of an entity whose components rules may write: an
        integer from 1 on."""
        if not 0 <= e < self.capacity:
            raise errors.OutOfBoundsError(e, 0, self.capacity)
        if e == NOTHING:
            raise errors.ColumnError(TO_NOTHING)

    def _get_columns(self, column: str) -> ComponentColumns:
        """Return the columns of the component that the world calls `column`, such as "door".

        Raises:
            ColumnError: there are no columns of this name.
        """
        columns = vars(self).get(column)
        if not isinstance(columns, ComponentColumns):
            hint = errors.describe_allowed(column, self.layout.names)
            raise errors.ColumnError(f"there are no columns {column!r}{hint}")
        return columns

    def having(self, columns: Columns) -> NDArray[np.int64]:
        """Return an (n,) array of the objects on the grid that have a component, in row order. The
        component is given by its `columns`, such as `w.door`.

        Of two objects in a cell, the one on the ground comes first.
        """
        cls: Any = columns.cls  # always `ComponentColumns` here
        ys, xs = self.position.y, self.position.x
        positions = sorted((ys[e], xs[e], e) for e, _ in self.context.having(cls))
        if all(self.inside(y, x) and self.at[y, x] == e for y, x, e in positions):
            return np.array([e for *_, e in positions], object)
        # some objects are on the ground, held or in a box, or a rule has moved them without
        # updating their position
        layers = (getattr(self, name) for name in reversed(self.layout.layers))
        stacked = np.stack([layer[: self.height, : self.width] for layer in layers], axis=-1)
        return np.array([e for e in stacked.ravel().tolist() if columns.has[e]], object)

    def of_type(self, kind: int) -> NDArray[np.int64]:
        """Return an (n,) array of the objects on the grid of type index `kind`, in row order."""
        count, cells = self.placed[kind], self._cells_by_type[kind]
        entities = [e for e, component in self.context.having(Kind) if component.value == kind]
        ys, xs = self.position.y, self.position.x
        positions = sorted((ys[e], xs[e], e) for e in entities if ys[e] >= 0)
        if len(positions) == count and all(cells[y, x] == e for y, x, e in positions):
            return np.array([e for *_, e in positions], object)
        # one entity in several cells, or a rule has moved objects without updating their position
        type_of = self.kind.value
        on_grid = cells[: self.height, : self.width].ravel().tolist()
        of_type = [e for e in on_grid if e != NOTHING and type_of[e] == kind]
        return np.array(of_type[:count], object)

    def steps_from(self, y: int, x: int) -> NDArray[np.int64]:
        """Return an (H, W) array with the length of the shortest path from cell (y, x) to each
        cell, around obstacles; -1 for cells that cannot be reached."""
        distances = np.empty((self.height, self.width), object)  # of Python's ints, for rules
        self.write_distances(y, x, distances)
        return distances

    def agents(self) -> range:
        """Return the range of the agents that take part in the scenario: the entities from 1 on."""
        if self.layout.has_smaller_members:  # a member of a mixture may have fewer agents
            return self.everyone[: self.present]
        return self.everyone

    def agent_at(self, y: int, x: int) -> int:
        """Return the agent that stands in cell (y, x), or NOTHING."""
        if not self.is_alone:
            return int(self.who[y, x])
        position = self._positions[1]
        return int(position.y == y and position.x == x)

    def is_taken(self, y: int, x: int) -> bool:
        """Return True if the cell (y, x) holds a solid agent, so that no other one can enter."""
        return not self.is_alone and super().is_taken(y, x)

    def stand(self, agent: int, y: int, x: int) -> None:
        """Put an agent into the cell (y, x), on top of the objects there; y = x = -1 takes it off
        the grid."""
        if self.is_alone:
            self.position.y[agent], self.position.x[agent] = y, x
        else:
            super().stand(agent, y, x)

    def forget(self, agent: int) -> None:
        """Count that an agent forgets which cells it has seen; without effect in a scenario whose
        agents do not have the component for it, as no transition lets them forget."""
        if hasattr(self, "forgotten"):
            self.forgotten.count[agent] += 1

    def fail(self, message: str) -> None:
        """Raise a RuleError with this message: a rule cannot go on in the present state of the
        world.

        Raises:
            RuleError: always.
        """
        raise errors.RuleError(message)

    def adopt(self) -> None:
        """Bring the world's columns up to date, after an author's code has added or removed
        components by calling the library esper directly.

        Raises:
            RuleError: the code left something that a world cannot hold; the message names the right
                way.
        """
        if self.context.size != self.capacity - 1:
            raise errors.RuleError(STRAY_ENTITIES)
        for columns in self._columns:
            rows, pairs = columns.rows, self.context.having(columns.cls)
            for e, component in pairs:
                rows[e] = component
            if sum(row is not columns.default for row in rows) != len(pairs):
                for e in {*range(self.capacity)}.difference(e for e, _ in pairs):
                    rows[e] = columns.default

    def cells(self, marked: NDArray[np.bool_] | None = None) -> NDArray[np.uint8]:
        """Return an (H, W, 3) array: type, state and colour of the topmost object in each cell.

        Args:
            marked: (H, W) bool; if given, return (n, 3) for these cells only.
        """
        shown = self._select_cells(self.at, marked)
        for layer in (*self.between, self.ground):
            shown = np.where(shown != NOTHING, shown, self._select_cells(layer, marked))
        return self._get_appearances(shown)

    def beneath(self, marked: NDArray[np.bool_] | None = None) -> NDArray[np.uint8] | None:
        """Return an (H, W, 3) array of the type, state and colour of the ground object in each
        cell, or an (n, 3) array for the cells of the mask `marked`; None in worlds without a ground
        layer."""
        if "ground" not in self.layout.layers:
            return None
        return self._get_appearances(self._select_cells(self.ground, marked))

    def stacks(self) -> NDArray[np.uint16] | None:
        """Return an (H, W) array with the number of the states that are drawn on top of each other
        in each cell; None without a component `Stack` and without layers between."""
        columns = self.__dict__.get("stack")
        if columns is None:
            return number_covered(self) if self.between else None
        cells = self.at[: self.height, : self.width]
        stacks = np.array([columns.rows[e].objects for e in cells.ravel().tolist()])
        return number_stacks(stacks.reshape(*cells.shape, -1))

    def _select_cells(self, cells: NDArray[Any], marked: NDArray[np.bool_] | None) -> NDArray[Any]:
        inside = cells[: self.height, : self.width]
        return inside if marked is None else inside[marked]

    def _get_appearances(self, entities: NDArray[Any]) -> NDArray[np.uint8]:
        """Return an array with (type, state, colour) on a new last axis, for `entities`, an array
        of entity numbers."""
        looks = make_floor((True,) * entities.size, bytes(entities.size))
        objects = [(k, e) for k, e in enumerate(entities.ravel().tolist()) if e != NOTHING]
        flat = np.frombuffer(self.encode_view(objects, *looks), np.uint8)
        return flat.reshape(*entities.shape, 3)

    def find_in_view(
        self, layer: int, cells: Iterable[int], grid_indices: NDArray[np.int64], opaque: bytearray
    ) -> list[tuple[int, int]]:
        """Return (index of the cell in the view, entity) for each of `cells` of a view that has an
        entity on this layer. Set `opaque[k]` to 1 for each cell k whose entity blocks vision.
        `grid_indices` has the cell of the grid for each cell of the view.

        Args:
            layer: index among the layers of the world.
            cells: indices of the cells in the view.
            grid_indices: numbers of the same cells on the grid, see `Area.cells_on_grid`.
            opaque: one byte for each cell of the view; changed in place.
        """
        entities = self._flat_layers[layer][grid_indices].tolist()  # `take` would be slower
        objects = [*zip(compress(cells, entities), filter(None, entities))]
        rows, transparent = self.opaque.rows, self.opaque.default
        doors, is_open = self.door.rows, self.door.default.status
        for k, e in objects:
            if rows[e] is not transparent or doors[e].status != is_open:
                opaque[k] = 1
        return objects

    def encode_view(self, objects: list[Any], background: bytes, is_floor: Any) -> bytearray:
        """Return (type, state, colour) of the cells of a view, 3 bytes per cell. Begin with a copy
        of `background`, and draw `objects`, (cell, entity) pairs, where `is_floor` is true; all
        other cells are Hidden.

        Args:
            objects: (index of the cell, entity) for each cell with an object.
            background, is_floor: both results of `make_floor`; is_floor has an entry a cell.
        """
        types, state_columns, colors = self._type_rows, self._state_columns, self._color_rows
        encoded = bytearray(background)
        for k, e in objects:
            if is_floor[k]:
                first_byte = 3 * k
                encoded[first_byte] = kind = types[e].value
                state_column = state_columns[kind]
                if state_column is not None:
                    encoded[first_byte + 1] = state_column[e]
                encoded[first_byte + 2] = colors[e].value
        return encoded

    def appearance(self, e: int) -> tuple[int, int, int]:
        """Return (type, state, colour) of an entity as observations show it; Floor for NOTHING."""
        return self.kind.value[e], self.state_of(e), self.color.value[e]

    # ---- the row -------------------------------------------------------------------------

    def rng_state(self) -> tuple[int, ...]:
        """Return the state of the world's random generator, which `set_rng_state` takes."""
        record = np.zeros((), RNG)
        generator_to_row(self.rng, record)
        state: Any = record.item()
        return tuple(state)

    def set_rng_state(self, state: tuple[int, ...]) -> None:
        """Let the world's random generator continue from a state that `rng_state` returned."""
        restored = generator_from_row(np.array(state, RNG))
        self.rng.bit_generator.state = restored.bit_generator.state

    def snapshot(self) -> NDArray[Any]:
        """Return a copy of the whole state of the world, as a record of shape () and dtype
        `layout.dtype`, which `restore` takes.

        Raises:
            RuleError: a value does not fit into its column; compiled code would wrap it around.
        """
        row = self.layout.defaults()
        generator_to_row(self.rng, row["rng"])
        optional = ("drawn", "present", *CELL_AGENT_COLUMNS)
        names = [*AGENT_COLUMNS, *SCALAR_COLUMNS, "placed", "recent", *self.layout.layers]
        names += [name for name in optional if name in row.dtype.names]
        row["alive"] = np.frombuffer(bytes(self._alive), np.bool_)
        try:
            for name in names:
                row[name] = getattr(self, name)
        except _DOES_NOT_FIT as error:
            raise errors.RuleError(f"w.{name}: {error}") from None
        for name in self.layout.layers:
            if (highest := row[name].max()) >= self.capacity:
                raise errors.RuleError(
                    f"w.{name}: {highest} is no entity, the last one is {self.capacity - 1}"
                )
        for columns in self._columns:
            self._write_component(columns.cls, row[column_name(columns.cls)])
        return row

    def _write_component(self, cls: type, record: NDArray[Any]) -> None:
        """Copy the fields of one component, of class `cls`, of all entities into a world's
        `record`."""
        having = self.context.having(cls)
        if not having:
            return
        entities = [e for e, _ in having]
        if max(entities) >= self.layout.column_lengths[cls]:
            self.fail(NOT_OF_OBJECTS)
        record["has"][entities] = 1
        try:
            for field in fields_of(cls):
                column = record[field.name]
                values = [getattr(component, field.name) for _, component in having]
                column[entities] = np.array(values, column.dtype).reshape(-1, *field.shape)
        except _DOES_NOT_FIT as error:
            raise errors.RuleError(f"w.{column_name(cls)}.{field.name}: {error}") from None

    def restore(self, row: NDArray[Any]) -> None:
        """Set the world to the state in `row`, a record that `snapshot` returned. The world then
        continues exactly as the other one would have.

        Args:
            row: row of a world of this layout; check rows from elsewhere by `Scenario.check`.

        Raises:
            ValueError: the row has another layout.
        """
        require_layout(self.layout, row)
        if self.layout.has_smaller_members:
            self.present = row["present"].item()
        self.clear()
        self.rng = generator_from_row(row["rng"])
        for name in SCALAR_COLUMNS:
            setattr(self, name, row[name].item())
        self.terminated, self.truncated = bool(self.terminated), bool(self.truncated)
        for name in AGENT_COLUMNS:
            setattr(self, name, row[name].tolist())
        for name in (*self.layout.layers, *CELL_AGENT_COLUMNS, "placed", "recent", "drawn"):
            if name in (row.dtype.names or ()):
                np.asarray(getattr(self, name))[...] = row[name]
        self._alive = row["alive"].astype(bool).tolist()
        for columns in self._columns:
            fields = row[column_name(columns.cls)]
            entities = np.flatnonzero(fields["has"])
            names = [field.name for field in fields_of(columns.cls)]
            values = [fields[name][entities].tolist() for name in names]
            components = (
                [*map(columns.cls, *values)] if names else [columns.cls() for _ in entities]
            )
            self.context.attach_each(entities.tolist(), components, columns.rows)

    def fork(self) -> ObjectWorld:
        """Return an independent copy of the world, which has the same state and, for the same
        actions, the same future."""
        return _rebuild_world(self.layout, self.snapshot())

    def __deepcopy__(self, memo: dict[int, Any]) -> ObjectWorld:
        """Return an independent copy, see `fork`."""
        return self.fork()

    def __reduce__(self) -> tuple[Any, ...]:
        """Return layout and row for pickling."""
        return _rebuild_world, (self.layout, self.snapshot())


_DOES_NOT_FIT = OverflowError, TypeError, ValueError
"""Errors of NumPy when a value does not fit into an array."""
_AGENT_DEFAULTS = [(name, kind(0).item()) for name, kind in AGENT_COLUMNS.items()]
"""Initial value of each per-agent attribute."""


@lru_cache(maxsize=16)
def make_floor(seen: tuple[Any, ...], outside: bytes) -> tuple[bytes, tuple[bool, ...]]:
    """Return the background of a view, before objects are drawn: type, state and colour of each
    cell, 3 bytes each, and True for each cell that is Floor. A cell is Floor if the agent sees it
    and it is on the grid, else Hidden.

    Args:
        seen: for each cell a true value if the agent sees it.
        outside: for each cell a byte, not 0 if it is off the grid.
    """
    shows = tuple([bool(is_seen) and not off_grid for is_seen, off_grid in zip(seen, outside)])
    looks = [(FLOOR if is_shown else HIDDEN, 0, 0) for is_shown in shows]
    return bytes(chain.from_iterable(looks)), shows


@lru_cache(maxsize=64)
def _list_edge_cells(height: int, width: int) -> list[tuple[int, int]]:
    cells = product(range(height), range(width))
    return [(y, x) for y, x in cells if y in (0, height - 1) or x in (0, width - 1)]


def _rebuild_world(layout: Layout, row: NDArray[Any]) -> ObjectWorld:
    world = ObjectWorld(layout)
    world.restore(row)
    return world


STRAY_ENTITIES = (
    "entities were created or deleted through esper; use world.spawn(kind) and "
    "world.remove(e), which keep the grid in step"
)
CAPACITY = "the world is full: all of its entities are in use; raise `capacity` in the scenario"
TO_NOTHING = (
    "a rule changes a component of NOTHING, which stands for all empty cells; "
    "ask `e != NOTHING` first"
)
NOT_OF_OBJECTS = (
    "w.add: the component is listed for agents, terrain or the world alone; list it for an object "
    "type, too, under `components` or in one of its `states`"
)
TERRAIN_IS_SHARED = (
    "w.remove: all cells with terrain of a type share its entity; w.pave(y, x, FLOOR) clears one"
)
UNKNOWN_TYPE = "w.spawn: an object type that is not in the scenario's state_space"
