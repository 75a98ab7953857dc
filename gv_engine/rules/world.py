"""World and view as rules use them: protocols for editors and type checkers, and world methods.

Rules annotate `w: World` for completion and type checks. The same code runs on the object world
(`gv_engine.world.world.ObjectWorld`) and, compiled, on the rows of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import FORWARD, RIGHT

VERBS: dict[str, Callable[..., Any]] = {}
"""World methods by name."""


class Verbs:
    """Base class of worlds: every function decorated by `verb` becomes one of its methods."""


_F = TypeVar("_F", bound=Callable[..., Any])


def verb(function: _F) -> _F:
    """Decorator that makes a function `(w, …)` callable as a method of every world `w`:
    `w.blocks_vision(e)`."""
    VERBS[function.__name__] = function
    setattr(Verbs, function.__name__, function)
    return function


class Column(Protocol):
    """Values of one field of a component by entity: `w.door.status[e]`; for an entity without the
    component, the field's default.

    Values are int, or float if the field is annotated `float`. An `Array` field takes a second
    index: `w.bag.counts[e, k]`.
    """

    def __getitem__(self, e: int | tuple[int, int]) -> int: ...
    def __setitem__(self, e: int | tuple[int, int], value: float) -> None: ...


class Presence(Protocol):
    """Flags of the entities that have a component: `w.door.has[e]`. Set by `w.add` and `w.take`."""

    def __getitem__(self, e: int) -> bool: ...


_N = TypeVar("_N", covariant=True)


class PerAgent(Protocol[_N]):
    """One number for each agent, which the engine sets: `w.action[agent]`."""

    def __getitem__(self, agent: int) -> _N: ...


class Columns(Protocol):
    """Columns of one component: `has`, and one column for each field."""

    @property
    def has(self) -> Presence:
        """Flag of each entity: True if the entity has the component."""

    def __getattr__(self, field: str) -> Column:
        """Return the column of a field."""


class Cells(Protocol):
    """(H + 1, W + 1) entity in each cell; NOTHING on free floor and in the spare row and column."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns of the largest grid, plus one spare row and column."""

    def __getitem__(self, cell: tuple[int, int]) -> int: ...
    def __setitem__(self, cell: tuple[int, int], e: int) -> None: ...


class WorldRandom(Protocol):
    """RNG of a world: the methods of `numpy.random.Generator` that rules may use, also when
    compiled, with identical results."""

    @overload
    def random(self) -> float: ...
    @overload
    def random(self, size: int | tuple[int, ...]) -> NDArray[np.float64]: ...
    def integers(self, low: int, high: int | None = None) -> int:
        """Return a random integer from [low, high), or from [0, low) without `high`."""

    @overload
    def choice(self, a: int) -> int: ...
    @overload
    def choice(self, a: int, size: int, replace: bool = True) -> NDArray[np.int64]: ...
    def shuffle(self, x: NDArray[np.int64]) -> None:
        """Shuffle an array in place."""


class World(Protocol):
    """Interface of a world for rules: its cells, components, agents, and methods to change them.

    Attributes:
        height, width: size of the grid in cells, set by `set_shape`.
        <component>: columns of a component, by its name in snake_case: `w.position.y[agent]`,
            `w.agent.facing[agent]`, `w.agent.holding[agent]`, `w.kind.value[e]`,
            `w.color.value[e]`, `w.door.status[e]`; also of authors' components.

    Every rule may read all of it. Only resets and transitions write cells and columns and call
    methods that change the world; the engine sets the properties below. docs/phases.md says which
    rules may use the RNG.
    """

    height: int
    width: int

    @property
    def at(self) -> Cells:
        """(y, x) → the object in a cell, or NOTHING. A spare row and column behind the grid let
        rules read the neighbours of any cell."""

    @property
    def ground(self) -> Cells:
        """(y, x) → the object on the ground layer of a cell, beneath the object in `at`, or
        NOTHING."""

    @property
    def between(self) -> tuple[Cells, ...]:
        """(y, x) → the object in a cell, for each layer that the scenario names between `at` and
        `ground`, topmost first; () without such layers."""

    @property
    def who(self) -> Cells:
        """(y, x) → the agent that entered a cell last, or NOTHING. Only with several agents."""

    @property
    def next(self) -> Column:
        """Next agent in the list of agents in a cell: the one that entered the cell before this
        agent, or NOTHING. Updated by `stand`."""

    @property
    def spot(self) -> Column:
        """Number of an agent's cell, row by row from 1, or 0 for none. Updated by `stand`."""

    @property
    def world(self) -> int:
        """Entity without a cell that has the components listed under `world` in the scenario file:
        `w.weather.daylight[w.world]`. NOTHING if there are none."""

    @property
    def capacity(self) -> int:
        """Upper bound of entity numbers: entities are numbered from 1 to capacity - 1."""

    @property
    def placed(self) -> list[int]:
        """(types,) number of objects of each type on the grid."""

    @property
    def recent(self) -> list[int]:
        """(types,) object of each type that was placed last."""

    @property
    def drawn(self) -> list[int]:
        """Codes of the random values under `draw` in the scenario file, in the order of the file.
        They are sampled once for each level."""

    @property
    def rng(self) -> WorldRandom:
        """RNG of the world, a `numpy.random.Generator` over PCG64."""

    def rng_state(self) -> tuple[int, ...]:
        """Return the state of the RNG. `set_rng_state` goes back to it, so that the same random
        numbers come again."""

    def set_rng_state(self, state: tuple[int, ...]) -> None:
        """Let the RNG continue from a state that `rng_state` returned."""

    @property
    def action(self) -> PerAgent[int]:
        """Action of an agent in the current step, a number of `gv_engine.rules.geometry.Action`:
        `w.action[agent]`."""

    @property
    def member(self) -> int:
        """Index of the scenario that the world plays among the `members` of a mixture."""

    @property
    def steps(self) -> int:
        """Number of finished steps since the reset."""

    @property
    def reward(self) -> PerAgent[float]:
        """Reward of an agent in the current step so far: `w.reward[agent]`."""

    @property
    def total(self) -> PerAgent[float]:
        """Sum of an agent's rewards since the reset, without the current step: `w.total[agent]`."""

    @property
    def done(self) -> PerAgent[bool]:
        """True for an agent whose episode a terminating function has ended."""

    @property
    def terminated(self) -> bool:
        """True if the episode of the whole world has ended."""

    @property
    def truncated(self) -> bool:
        """True if the episode was cut off after `max_steps`."""

    @property
    def success(self) -> PerAgent[bool]:
        """True for an agent whose episode ended in success."""

    @property
    def ended_by(self) -> PerAgent[int]:
        """Number of the terminating function that ended the episode of an agent, 0 for none."""

    if TYPE_CHECKING:  # see `ObjectWorld`

        def __getattr__(self, component: str) -> Columns:
            """Return the columns of a component."""

    def spawn(self, kind: int) -> int:
        """Create an object of a type, without a position yet, at the lowest free entity number, and
        return it."""

    def remove(self, e: int) -> None:
        """Remove an entity from the world, and free its number."""

    def add(self, e: int, column: str) -> None:
        """Add a component to an entity, by column name. If the entity has the component already,
        replace it."""

    def take(self, e: int, column: str) -> None:
        """Remove a component from an entity, by column name."""

    def state_of(self, e: int) -> int:
        """Return the state index of an entity, 0 for types with one state."""

    def set_state(self, e: int, state: int) -> None:
        """Set the state of an entity, and the components that its type has in this state. Types
        with one state have none to set."""

    def num_states(self, kind: int) -> int:
        """Return the number of states of an object type, 1 for types without states."""

    def left_by(self, kind: int) -> int:
        """Return the type that replaces a used-up object of a type, -1 for none."""

    def on_ground(self, kind: int) -> bool:
        """Return True for an object type whose layer is the ground, or terrain."""

    def between_number(self, kind: int) -> int:
        """Return the index in `w.between` of an object type's layer; -1 for a type that lives in
        `w.at` or `w.ground`."""

    def terrain_of(self, kind: int) -> int:
        """Return the entity that all cells with terrain of a type share, NOTHING for FLOOR, or -1
        for types that are no terrain."""

    def is_terrain(self, e: int) -> bool:
        """Return True for an entity that all cells with terrain of its type share."""

    def agents(self) -> range:
        """Return the numbers of the agents: entities from 1 on."""

    def agent_at(self, y: int, x: int) -> int:
        """Return the agent in a cell, or NOTHING."""

    def forget(self, agent: int) -> None:
        """Make an agent forget which cells it has seen (the view `explored`), after a transition
        has built another level in place of the old one. `set_shape` does so for all agents."""

    def fail(self, message: str) -> None:
        """Make the reset or step fail with a `RuleError`. `message` says why the rule is not
        defined for this world."""

    def having(self, columns: Columns) -> NDArray[np.int64]:
        """Return the objects on the grid with a component, row by row, ground layer first:
        `w.having(w.telepod)`."""

    def of_type(self, kind: int) -> NDArray[np.int64]:
        """Return the objects of a type on the grid, row by row."""

    def steps_from(self, y: int, x: int) -> NDArray[np.int64]:
        """Return an array, (H, W) or larger, of an agent's shortest path length from the cell (y,
        x) to each cell, around blocking objects. It is -1 where no path leads, and so also in the
        cell of a blocking object such as a solid monster. For an object that moves,
        `systems.queries.object_steps_from` returns path lengths over the cells that it can enter.

        Read-only. Compiled code computes the array again only after a change.
        """

    def cells(self) -> NDArray[np.uint8]:
        """Return (H, W, 3) uint8 type, state and colour of the visible object of every cell, above
        or ground. For rendering only."""

    def beneath(self) -> NDArray[np.uint8] | None:
        """Return (H, W, 3) uint8 type, state and colour of the ground layer of every cell, or None
        without a ground layer."""

    def stacks(self) -> NDArray[np.uint16] | None:
        """Return (H, W) numbers of the states that are drawn on top of each other in each cell, see
        `gv_engine.rules.frame.number_stacks`; None if no component has the column `stack`. For
        rendering only."""

    def appearance(self, e: int) -> tuple[int, int, int]:
        """Return (type, state, colour) of an entity as observations show it. For rendering only."""

    @verb
    def columns(self, number: str) -> Columns:
        """Return the columns of the component to which a number belongs:
        `w.columns("health.points")` is `w.health`."""
        component, _, _ = number.partition(".")
        columns: Columns = self[component]  # type: ignore[index]  # of the worlds
        return columns

    @verb
    def numbers(self, number: str) -> Column:
        """Return the column that the name of a number stands for: `w.numbers("health.points")` is
        `w.health.points`. Parameters annotated with `AgentNumber` hold such names."""
        component, _, field = number.partition(".")
        column: Column = self[component][field]  # type: ignore[index]  # of the worlds
        return column

    @verb
    def maximum_of(self, number: str) -> int:
        """Return the maximum that is declared for a number such as "health.points"; without one,
        the largest integer that fits into its column."""
        layout: Any = self.layout
        maximum: int = layout.maximum_of(number)
        return maximum

    @verb
    def inside(self, y: int, x: int) -> bool:
        """Return True if the grid has a cell (y, x)."""
        return 0 <= y < self.height and 0 <= x < self.width

    @verb
    def set_shape(self, height: int, width: int) -> None:
        """Set the size of the grid when a level is built. All cells are free floor, and all agents
        forget what they have seen. In a transition, call `remove_objects` of
        `systems.building` first."""
        if not (0 < height < self.at.shape[0] and 0 < width < self.at.shape[1]):
            self.fail("w.set_shape: larger than the scenario's max_shape (or not positive)")
            return
        self.height = height
        self.width = width
        for agent in self.agents():
            self.forget(agent)

    @verb
    def on_layer_of(self, kind: int, y: int, x: int) -> int:
        """Return the object in a cell on the layer of an object type, or NOTHING."""
        for number, cells in enumerate(self.between):
            if number == self.between_number(kind):
                return cells[y, x]
        return self.ground[y, x] if self.on_ground(kind) else self.at[y, x]

    @verb
    def pave(self, y: int, x: int, kind: int) -> None:
        """Set the terrain of cell (y, x) to type index `kind`, in place of other terrain. FLOOR
        removes it."""
        if not self.inside(y, x):
            self.fail("w.pave: the cell is outside the grid; ask w.inside(y, x) first")
            return
        before = self.ground[y, x]
        e = self.terrain_of(kind)
        if before != NOTHING and not self.is_terrain(before):
            self.fail("w.pave: an object lies on the ground; w.lift or w.remove that first")
        elif e < NOTHING:
            self.fail("w.pave: the type is no terrain; spawn an object and w.place it")
        else:
            if before != NOTHING:
                old = self.kind.value[before]
                self.placed[old] = max(self.placed[old] - 1, 0)  # a rule may have changed the type
            self.ground[y, x] = e
            if e != NOTHING:
                self.placed[kind] += 1
                self.recent[kind] = e

    @verb
    def place(self, e: int, y: int, x: int) -> None:
        """Move entity `e` into cell (y, x), which must be free on the entity's layer. Terrain is
        added to the cell, and stays in its other cells, too."""
        if not self.inside(y, x):
            self.fail("w.place: the cell is outside the grid; ask w.inside(y, x) first")
            return
        kind = self.kind.value[e]
        if self.is_terrain(e):
            self.pave(y, x, kind)
            return
        if self.on_layer_of(kind, y, x) != NOTHING:
            self.fail("w.place: the cell holds another object; w.lift or w.remove that first")
            return
        self.lift(e)
        if self.between and self.between_number(kind) >= 0:
            write_between(self, kind, y, x, e)
        elif self.on_ground(kind):
            self.ground[y, x] = e
        else:
            self.at[y, x] = e
        self.position.y[e] = y
        self.position.x[e] = x
        self.placed[kind] += 1
        self.recent[kind] = e

    @verb
    def enclose(self, kind: int) -> None:
        """Put new objects of type index `kind` into all cells at the edge of the grid, row by
        row."""
        for y in range(self.height):
            between = 1 if y in (0, self.height - 1) else max(1, self.width - 1)
            for x in range(0, self.width, between):
                self.place(self.spawn(kind), y, x)

    @verb
    def stand(self, agent: int, y: int, x: int) -> None:
        """Move an agent into cell (y, x), on top of other objects. (-1, -1) takes it off the
        grid."""
        # cells are linked lists of agents; a single agent only has a position
        stride = self.who.shape[1]
        spot = self.spot[agent]
        if spot > 0:
            before_y, before_x = (spot - 1) // stride, (spot - 1) % stride
            other = self.who[before_y, before_x]
            if other == agent:
                self.who[before_y, before_x] = self.next[agent]
            else:
                while self.next[other] != agent:
                    other = self.next[other]
                self.next[other] = self.next[agent]
            self.spot[agent] = self.next[agent] = 0
        if self.inside(y, x):
            self.next[agent] = self.who[y, x]
            self.who[y, x] = agent
            self.spot[agent] = y * stride + x + 1
        self.position.y[agent] = y
        self.position.x[agent] = x

    @verb
    def is_taken(self, y: int, x: int) -> bool:
        """Return True if an agent that blocks others stands in cell (y, x). With a single agent,
        always False."""
        agent = self.who[y, x]
        while agent != NOTHING:
            if self.solid.has[agent]:
                return True
            agent = self.next[agent]
        return False

    @verb
    def lift(self, e: int) -> None:
        """Take entity `e` off the grid. It still exists, without a position."""
        y = self.position.y[e]
        if e == NOTHING or y < 0:
            return
        kind = self.kind.value[e]
        if self.between and self.between_number(kind) >= 0:
            write_between(self, kind, y, self.position.x[e], NOTHING)
        elif self.on_ground(kind):
            self.ground[y, self.position.x[e]] = NOTHING
        else:
            self.at[y, self.position.x[e]] = NOTHING
        self.position.y[e] = -1
        self.position.x[e] = -1
        self.placed[kind] = max(self.placed[kind] - 1, 0)  # a rule may have changed the type

    @verb
    def use_up(self, e: int) -> None:
        """Remove entity `e`. If its type leaves another one behind (see `left_by`), put a new
        object of that type into the cell, unless another object is there on its layer."""
        y = self.position.y[e]
        x = self.position.x[e]
        left = self.left_by(self.kind.value[e])
        self.remove(e)
        if left >= 0 and y >= 0 and self.on_layer_of(left, y, x) == NOTHING:
            self.place(self.spawn(left), y, x)

    @verb
    def unique(self, kind: int) -> int:
        """Return the only object on the grid of type index `kind`; for terrain such as Wall, its
        entity if only one cell has it; NOTHING if there is none or more than one."""
        if self.placed[kind] != 1:
            return NOTHING
        e = self.recent[kind]
        if self.is_terrain(e) or (self.kind.value[e] == kind and self.position.y[e] >= 0):
            return e
        for other in range(1, self.capacity):
            if self.kind.value[other] == kind and self.position.y[other] >= 0:
                return other
        return NOTHING


def check_agent_placed(w: World, agent: int) -> bool:
    """Return True if the agent is on the grid and faces one of the four directions. Otherwise let
    the step fail with an error message, and return False."""
    on_grid = w.inside(w.position.y[agent], w.position.x[agent])
    if on_grid and FORWARD <= w.agent.facing[agent] <= RIGHT:
        return True
    w.fail("a rule has put the agent outside the grid, or made it look in no direction")
    return False


def write_between(w: World, kind: int, y: int, x: int, e: int) -> None:
    """Write entity `e` into cell (y, x) of the array in `w.between` for an object type."""
    for number, cells in enumerate(w.between):
        if number == w.between_number(kind):
            cells[y, x] = e


class View(Protocol):
    """View of one agent: the cells around it, turned with the agent if the view area turns.
    Visibility rules set `seen`.

    Attributes: height, width: size of the area in cells. y, x: the agent's cell in the area.
    entity: (h, w) visible entity of each cell, above or ground, NOTHING on free floor, or OUTSIDE
    beyond the grid. opaque: (h, w) 1 for cells that block vision. seen: (h, w) 1 for cells that the
    agent sees, all 0 before visibility functions run. lit: (h * w,) scratch memory to count light
    per cell, row by row, not initialized.
    """

    height: int
    width: int
    y: int
    x: int
    entity: NDArray[np.int32]
    opaque: NDArray[np.uint8]
    seen: NDArray[np.uint8]
    lit: NDArray[np.int32]

    def clear_row(self, i: int) -> int:
        """Return a bit set of the transparent cells of a row. Bit j is column j."""

    def clear_row_from_right(self, i: int) -> int:
        """Return a bit set of the transparent cells of a row. Bit j is column width - 1 - j."""

    def see_row(self, i: int, seen: int, from_right: int = 0) -> None:
        """Mark the cells of a row whose bits are set as seen.

        Args:
            i: index of the row.
            seen: bit set; bit j is column j.
            from_right: second bit set; bit j is column width - 1 - j.
        """
