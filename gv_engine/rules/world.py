"""The world as rules read and change it, and what an agent sees of it.

Rules say `w: World`, so that editors know what `w` has and type checkers find what it has not. The
same text runs over esper's objects (`gv_engine.world.world.ObjectWorld`) and, compiled, over the
rows of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import FORWARD, RIGHT

# ---- verbs ---------------------------------------------------------------------------------------

VERBS: dict[str, Callable[..., Any]] = {}
"""Verbs of every world, by name."""


class Verbs:
    """Has all verbs as methods."""


_F = TypeVar("_F", bound=Callable[..., Any])


def verb(function: _F) -> _F:
    """Make a function `(w, …)` a method of every world: `w.blocks_vision(e)`."""
    VERBS[function.__name__] = function
    setattr(Verbs, function.__name__, function)
    return function


# ---- world ---------------------------------------------------------------------------------------


class Column(Protocol):
    """One number for each entity: `w.door.status`; the default of its field where there is none.

    Most are int. Those of a field that is annotated `float` hold floats.
    """

    def __getitem__(self, e: int) -> int: ...
    def __setitem__(self, e: int, value: float) -> None: ...


class Presence(Protocol):
    """Which entities have a component: `w.door.has`. Rules change it by `w.add` and `w.take`."""

    def __getitem__(self, e: int) -> bool: ...


_N = TypeVar("_N", covariant=True)


class PerAgent(Protocol[_N]):
    """One value for each agent, set by the engine: `w.action[agent]`."""

    def __getitem__(self, agent: int) -> _N: ...


class Columns(Protocol):
    """All columns of a component: `has`, and one for each field."""

    @property
    def has(self) -> Presence:
        """Whether an entity has the component."""

    def __getattr__(self, field: str) -> Column:
        """The column of a field."""


class Cells(Protocol):
    """(H + 1, W + 1) the entity in each cell, NOTHING on free floor and in the spare ones."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns of the largest grid, and a spare one of each."""

    def __getitem__(self, cell: tuple[int, int]) -> int: ...
    def __setitem__(self, cell: tuple[int, int], e: int) -> None: ...


class WorldRandom(Protocol):
    """What rules may draw: some methods of `numpy.random.Generator`, bit for bit where compiled."""

    @overload
    def random(self) -> float: ...
    @overload
    def random(self, size: int | tuple[int, ...]) -> NDArray[np.float64]: ...
    def integers(self, low: int, high: int | None = None) -> int:
        """Any of low, …, high - 1; of 0, …, low - 1 without high."""

    @overload
    def choice(self, a: int) -> int: ...
    @overload
    def choice(self, a: int, size: int, replace: bool = True) -> NDArray[np.int64]: ...
    def shuffle(self, x: NDArray[np.int64]) -> None:
        """Bring what is in an array into any order."""


class World(Protocol):
    """One world, as its rules have it.

    Attributes:
        height, width: of the grid, in cells, as `set_shape` has left them.
        <component>: its columns, by the component's name in snake_case: `w.position.y[agent]`,
            `w.agent.facing[agent]`, `w.agent.holding[agent]`, `w.kind.value[e]`,
            `w.color.value[e]`, `w.door.status[e]`, and those of an author's own components.

    Rules read all of it. Resets and transitions alone write, into cells and columns and by verbs;
    the properties below are set by the engine. docs/rules.md says who may draw.
    """

    height: int
    width: int

    @property
    def at(self) -> Cells:
        """(y, x) → the object in a cell or NOTHING; one spare row and column behind the grid, so
        that neighbours of a cell can be read without asking."""

    @property
    def ground(self) -> Cells:
        """(y, x) → what lies on the ground of a cell, beneath what `at` has there, or NOTHING; of
        types whose layer is the ground."""

    @property
    def who(self) -> Cells:
        """(y, x) → the agent that came last into a cell, or NOTHING; where there are several."""

    @property
    def next(self) -> Column:
        """The agent that came into the same cell before; kept by `stand`, as is the next."""

    @property
    def spot(self) -> Column:
        """The number of an agent's cell, counted row by row from 1, 0 for none."""

    @property
    def capacity(self) -> int:
        """Entities are numbered from 1 up to this, which is no entity."""

    @property
    def placed(self) -> list[int]:
        """(types,) how many objects of each type are on the grid."""

    @property
    def recent(self) -> list[int]:
        """(types,) the object of each type that was placed last."""

    @property
    def drawn(self) -> list[int]:
        """What a level that is drawn in text has drawn for several places, see `draw` there."""

    @property
    def rng(self) -> WorldRandom:
        """The world's one source of chance, a `numpy.random.Generator` over PCG64."""

    @property
    def action(self) -> PerAgent[int]:
        """What an agent does in the current step, as the number of a
        `gv_engine.rules.geometry.Action`: `w.action[agent]`."""

    @property
    def member(self) -> int:
        """Which of its `members` the world plays, if its scenario is a mixture."""

    @property
    def steps(self) -> int:
        """How many are over since the reset."""

    @property
    def reward(self) -> PerAgent[float]:
        """An agent's, of the current step, summed up to now: `w.reward[agent]`."""

    @property
    def total(self) -> PerAgent[float]:
        """All rewards of an agent since the reset, without the current step's."""

    @property
    def done(self) -> PerAgent[bool]:
        """Whether a terminating function has ended the episode for an agent."""

    @property
    def terminated(self) -> bool:
        """Whether it has ended for the world."""

    @property
    def truncated(self) -> bool:
        """Whether the episode was cut off after `max_steps`."""

    @property
    def success(self) -> PerAgent[bool]:
        """Whether the episode has ended well for an agent."""

    @property
    def ended_by(self) -> PerAgent[int]:
        """The number of the terminating function that has ended it for an agent, 0 for none."""

    if TYPE_CHECKING:  # see `ObjectWorld`

        def __getattr__(self, component: str) -> Columns:
            """The columns of a component."""

    def spawn(self, kind: int) -> int:
        """A new object of a type, without a place yet: the lowest free entity."""

    def remove(self, e: int) -> None:
        """Take an entity out of the world; its index is free again."""

    def add(self, e: int, column: str) -> None:
        """Give an entity a component, by the name of its columns, in place of one it may have."""

    def take(self, e: int, column: str) -> None:
        """Take a component off an entity, by the name of its columns."""

    def state_of(self, e: int) -> int:
        """Index of the state of an entity, 0 for types with one state."""

    def set_state(self, e: int, state: int) -> None:
        """Bring an entity into a state, with the components that its type has in it; types with
        one state have none to set."""

    def num_states(self, kind: int) -> int:
        """How many states objects of a type have, 1 for types without."""

    def left_by(self, kind: int) -> int:
        """The type of what an object of a type leaves when it is used up, -1 for nothing."""

    def on_ground(self, kind: int) -> bool:
        """Whether objects of a type live on the ground."""

    def agents(self) -> range:
        """The agents: the entities from 1 on."""

    def agent_at(self, y: int, x: int) -> int:
        """The agent in a cell, or NOTHING."""

    def fail(self, message: str) -> None:
        """Give up: a rule is not defined on this world."""

    def having(self, columns: Columns) -> NDArray[np.int64]:
        """The objects on the grid that have a component, row by row, in a cell the one on the
        ground first: `w.having(w.telepod)`."""

    def of_type(self, kind: int) -> NDArray[np.int64]:
        """The objects of a type on the grid, row by row."""

    def steps_from(self, y: int, x: int) -> NDArray[np.int64]:
        """(H, W) or more: steps from a cell to each around what blocks; -1 where no way leads.

        Rules read it; where they are compiled, it is found anew once something has changed.
        """

    def cells(self) -> NDArray[np.uint8]:
        """(H, W, 3) uint8: type, state and colour of what shows in every cell, the thing or else
        the ground; for rendering alone."""

    def beneath(self) -> NDArray[np.uint8] | None:
        """(H, W, 3) uint8: the same of the ground alone, Floor where nothing lies on it; None
        where nothing ever does."""

    def appearance(self, e: int) -> tuple[int, int, int]:
        """(type, state, colour) of an entity as an observer sees it; for rendering alone."""

    @verb
    def inside(self, y: int, x: int) -> bool:
        """Whether the grid has a cell (y, x)."""
        return 0 <= y < self.height and 0 <= x < self.width

    @verb
    def set_shape(self, height: int, width: int) -> None:
        """Give the grid its size, at the beginning of a reset; all cells are free floor."""
        if not (0 < height < self.at.shape[0] and 0 < width < self.at.shape[1]):
            self.fail("w.set_shape: larger than the scenario's max_shape (or not positive)")
            return
        self.height = height
        self.width = width

    @verb
    def on_layer_of(self, kind: int, y: int, x: int) -> int:
        """What is in a cell where objects of a type live, or NOTHING."""
        return self.ground[y, x] if self.on_ground(kind) else self.at[y, x]

    @verb
    def place(self, e: int, y: int, x: int) -> None:
        """Put an entity into a cell that is free on the layer of its type, out of the cell where it
        stood."""
        if not self.inside(y, x):
            self.fail("w.place: the cell is outside the grid; ask w.inside(y, x) first")
            return
        kind = self.kind.value[e]
        if self.on_layer_of(kind, y, x) != NOTHING:
            self.fail("w.place: the cell holds another object; w.lift or w.remove that first")
            return
        self.lift(e)
        if self.on_ground(kind):
            self.ground[y, x] = e
        else:
            self.at[y, x] = e
        self.position.y[e] = y
        self.position.x[e] = x
        self.placed[kind] += 1
        self.recent[kind] = e

    @verb
    def enclose(self, kind: int) -> None:
        """Put new objects of a type into all cells at the edge of the grid, row by row."""
        for y in range(self.height):
            between = 1 if y in (0, self.height - 1) else max(1, self.width - 1)
            for x in range(0, self.width, between):
                self.place(self.spawn(kind), y, x)

    @verb
    def stand(self, agent: int, y: int, x: int) -> None:
        """Let an agent stand in a cell, on top of whatever is there, or nowhere: (-1, -1)."""
        # who stands where is kept for several agents; alone, one has a position
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
        """Whether an agent is in a cell that lets no other one in; never, if it is the only one."""
        agent = self.who[y, x]
        while agent != NOTHING:
            if self.solid.has[agent]:
                return True
            agent = self.next[agent]
        return False

    @verb
    def lift(self, e: int) -> None:
        """Take an entity off the grid; it stays alive, without a place."""
        y = self.position.y[e]
        if e == NOTHING or y < 0:
            return
        kind = self.kind.value[e]
        if self.on_ground(kind):
            self.ground[y, self.position.x[e]] = NOTHING
        else:
            self.at[y, self.position.x[e]] = NOTHING
        self.position.y[e] = -1
        self.position.x[e] = -1
        self.placed[kind] -= 1

    @verb
    def use_up(self, e: int) -> None:
        """Remove an entity; what its type leaves is in its cell."""
        y = self.position.y[e]
        x = self.position.x[e]
        left = self.left_by(self.kind.value[e])
        self.remove(e)
        if left >= 0 and y >= 0:
            self.place(self.spawn(left), y, x)

    @verb
    def unique(self, kind: int) -> int:
        """The one object of a type on the grid, or NOTHING if there is none or more than one."""
        if self.placed[kind] != 1:
            return NOTHING
        e = self.recent[kind]
        if self.kind.value[e] == kind and self.position.y[e] >= 0:
            return e
        for other in range(1, self.capacity):
            if self.kind.value[other] == kind and self.position.y[other] >= 0:
                return other
        return NOTHING


def check_agent_placed(w: World, agent: int) -> bool:
    """Whether the agent is on the grid and looks in a direction; fails if it does not."""
    on_grid = w.inside(w.position.y[agent], w.position.x[agent])
    if on_grid and FORWARD <= w.agent.facing[agent] <= RIGHT:
        return True
    w.fail("a rule has put the agent outside the grid, or made it look in no direction")
    return False


class View(Protocol):
    """One look of an agent, turned so that it looks up: what visibility functions fill in.

    Attributes:
        height, width: of the area, in cells.
        y, x: the agent's cell in it.
        entity: (h, w) the entity that shows in each cell, the thing or else what is on the ground;
            NOTHING on free floor, OUTSIDE beyond the grid.
        opaque: (h, w) whether the cell blocks vision.
        seen: (h, w) whether the agent sees the cell; before these functions nothing is seen.
        lit: (h * w,) room to count the light in the cells, row by row, with anything in it.
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
        """Bits of the cells of a row that let sight through; bit j is column j."""

    def clear_row_from_right(self, i: int) -> int:
        """The same, counted from the right: bit j is column width - 1 - j."""

    def see_row(self, i: int, seen: int, from_right: int = 0) -> None:
        """Let the agent see the cells of a row whose bits are set.

        Args:
            i: the row.
            seen: bit j is column j.
            from_right: more of them, counted from the right.
        """
