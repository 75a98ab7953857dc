"""Inspection of a world, for people: entities, what the agent is given, and what it could see.

A world is looked at as a copy made from its row, so that nothing here changes it or draws from its
generator.

>>> from gv_engine import Scenario
>>> scenario = Scenario.load("keydoor-5x5")
>>> inspection = Inspection(scenario)
>>> simulation = Simulation(scenario)
>>> simulation.reset(np.random.default_rng(0))
>>> inspection.look(simulation.world.snapshot())
>>> inspection.cell(0, 0)[0].name
'wall'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays, Representation, observer_pose
from gv_engine.rules.call import Call
from gv_engine.rules.component import AGENT, NOTHING, column_name, fields_of, to_snake_case
from gv_engine.rules.errors import Stopped
from gv_engine.rules.objects import COLORS, ObjectTypes
from gv_engine.rules.system import REGISTRIES, VISIBILITY
from gv_engine.scenario.map import describe_object
from gv_engine.session.action_preview import field_in_words
from gv_engine.world.bound_call import BoundCall
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


def visibility_functions() -> tuple[str, ...]:
    """Names of all that are registered."""
    return tuple(REGISTRIES[VISIBILITY])


class Part(NamedTuple):
    """A component of an entity: its class, and its fields with what their values mean."""

    name: str
    fields: Mapping[str, str]


class Entity(NamedTuple):
    """One entity.

    Attributes:
        number: its index in the columns.
        name: for people, such as `locked yellow door`.
        parts: its components.
        holds: the entities that its fields refer to, by `Component.field`.
    """

    number: int
    name: str
    parts: tuple[Part, ...]
    holds: Mapping[str, Entity]


class Sight(NamedTuple):
    """What a visibility function lets the agent see.

    Attributes:
        seen: (h, w) bool of the view; nothing where it cannot be told.
        on_grid: (H, W) bool of the grid.
        problem: why it cannot be told, in one line; else empty.
    """

    seen: NDArray[np.bool_]
    on_grid: NDArray[np.bool_]
    problem: str = ""


def meanings(
    numbers: NDArray[Any], shown: NDArray[np.uint8], types: ObjectTypes
) -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """The meaning of the numbers of a representation, for types, states and colours.

    Args:
        numbers: (…, 3) as the representation has them.
        shown: (…, 3) the types, states and colours themselves.
        types: of the scenario.
    """
    of_types: dict[int, str] = {}
    of_states: dict[int, dict[str, None]] = {}
    of_colors: dict[int, str] = {}
    pairs = np.concatenate([numbers.reshape(-1, 3), shown.reshape(-1, 3)], axis=1)
    for kind, state, color, *seen in np.unique(pairs, axis=0).tolist():
        known = types[seen[0]]
        name = to_snake_case(known.name).replace("_", " ") if seen[0] else "nothing"
        of_types[kind] = name
        says = f"{known.states[seen[1]].lower().replace('_', ' ')} {name}" if known.states else ""
        of_states.setdefault(state, {})[says] = None
        of_colors[color] = COLORS[seen[2]].lower() if seen[2] else "no colour"
    told = {n: " or ".join(filter(None, names)) or "no state" for n, names in of_states.items()}
    return of_types, dict(sorted(told.items())), dict(sorted(of_colors.items()))


class Inspection:
    """Looks at worlds of a scenario, one at a time.

    Args:
        scenario: whose worlds they are.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._simulation = Simulation(scenario)
        self._row = scenario.layout.defaults()
        self._calls: dict[str, Call | str] = {}

    def look(self, row: NDArray[Any]) -> None:
        """Look at the world of a row from now on.

        Args:
            row: a () array of `scenario.layout.dtype`, see `World.snapshot`; left as it is.

        Raises:
            ValueError: the row has another layout.
        """
        self._simulation.world.restore(row)
        self._row = row

    def cell(self, y: int, x: int) -> tuple[Entity, ...]:
        """The entities in a cell, the agent first and the ground last; none on free floor.

        Raises:
            IndexError: the grid has no such cell.
        """
        world = self._simulation.world
        if not (0 <= y < world.height and 0 <= x < world.width):
            raise IndexError(
                f"cell {y}, {x}: the grid has rows 0 to {world.height - 1} and columns 0 to "
                f"{world.width - 1}"
            )
        here = (world.position.y[AGENT], world.position.x[AGENT]) == (y, x)
        found = (AGENT,) * here + (world.at[y, x], world.ground[y, x])
        return tuple(self._entity(e) for e in found if e != NOTHING)

    def agent(self) -> Entity:
        """The agent."""
        return self._entity(AGENT)

    def _entity(self, e: int, above: tuple[int, ...] = ()) -> Entity:
        world = self._simulation.world
        parts, holds = [], {}
        for cls in self.scenario.layout.components:
            columns = world[column_name(cls)]
            if not columns.has[e]:
                continue
            fields = {}
            for field in fields_of(cls):
                value = columns[field.name][e]
                fields[field.name] = field_in_words(world, e, column_name(cls), field.name, value)
                is_entity = field.is_entity and value not in (NOTHING, e, *above)
                if is_entity and 0 < value < world.capacity:
                    holds[f"{cls.__name__}.{field.name}"] = self._entity(value, (*above, e))
            parts.append(Part(cls.__name__, fields))
        name = "agent" if e == AGENT else describe_object(self.scenario.types, *world.appearance(e))
        return Entity(e, name, tuple(parts), holds)

    def actions(self) -> dict[str, bool]:
        """Whether each of the scenario's actions would do something, by name."""
        mask = np.zeros(len(self.scenario.actions), np.int8)
        self._simulation.valid_actions(mask)
        return dict(zip(self.scenario.action_names, mask.astype(bool).tolist(), strict=True))

    def observation(
        self, representation: str, grid: NDArray[np.uint8], item: tuple[int, int, int]
    ) -> Arrays:
        """The arrays that the agent gets.

        Args:
            representation: one of `REPRESENTATIONS`.
            grid: (h, w, 3) what it was shown.
            item: type, state and colour of what it holds.

        Raises:
            ValueError: no such representation, or it has no number for something that is shown.
        """
        found = Representation.of_observation(self.scenario, representation)
        arrays = found.encode(grid, np.array(item, np.uint8), observer_pose(self.scenario))
        if missions := self.scenario.missions:
            arrays["mission"] = missions.encode(self._simulation.world)
        return arrays

    def _visibility(self, name: str) -> Call | str:
        """A function with its parameters, or why there are none for this scenario.

        They are the scenario's where it names the function, else as they are by default.
        """
        system, own = REGISTRIES[VISIBILITY][name], self.scenario.visibility
        if own.system is system:
            return own
        try:
            call = Call.of(system, {}, self.scenario.area)
        except TypeError as error:
            return f"{error}, which only a scenario can give"
        return call.run_check(self.scenario.area) or call

    def sight(self, function: str) -> Sight:
        """What the agent would see by a registered visibility function.

        One that leaves it to chance draws what it would draw now from the world's generator.

        Raises:
            KeyError: no such function.
        """
        if function not in self._calls:
            self._calls[function] = self._visibility(function)
        call = self._calls[function]
        world, view = self._simulation.world, self._simulation.view
        nothing = Sight(
            np.zeros(self.scenario.area.shape, np.bool_),
            np.zeros((world.height, world.width), np.bool_),
        )
        if isinstance(call, str):
            return nothing._replace(problem=call)
        try:
            with world.context:
                view.look(world, AGENT)
                BoundCall(call).run(world, AGENT, view)
        except (Exception, Stopped) as error:  # whatever an author's function may raise
            return nothing._replace(problem=f"it fails: {type(error).__name__}: {error}")
        finally:
            world.rng = generator_from_row(self._row["rng"])
        seen = view.seen.astype(bool)
        return Sight(seen, view.area.grid_mask(world, AGENT, seen))
