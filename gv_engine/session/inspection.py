"""Inspection of a world: its entities, the agent's observation, and what visibility functions show.

The inspected world is a copy made from a row, so inspection changes neither the world nor its RNG.

>>> from gv_engine import Scenario
>>> scenario = Scenario.load("keydoor-5x5")
>>> inspection = Inspection(scenario)
>>> simulation = Simulation(scenario)
>>> simulation.reset(np.random.default_rng(0))
>>> inspection.load(simulation.world.snapshot())
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


def visibility_function_names() -> tuple[str, ...]:
    """Return the names of all registered visibility functions."""
    return tuple(REGISTRIES[VISIBILITY])


class ComponentFields(NamedTuple):
    """Name of a component, and its fields with their values in words."""

    name: str
    fields: Mapping[str, str]


class Entity(NamedTuple):
    """Entity of a world, in words.

    Attributes:
        number: index of the entity in the columns.
        name: for people, such as `locked yellow door`.
        parts: components of the entity.
        holds: entities that its fields refer to, by `Component.field`.
    """

    number: int
    name: str
    parts: tuple[ComponentFields, ...]
    holds: Mapping[str, Entity]


class VisibleCells(NamedTuple):
    """Cells that a visibility function shows to the agent.

    Attributes:
        seen: (h, w) bool of the view; all False after an error.
        on_grid: (H, W) bool of the grid.
        problem: error in one line; else empty.
    """

    seen: NDArray[np.bool_]
    on_grid: NDArray[np.bool_]
    problem: str = ""


def describe_numbers(
    numbers: NDArray[Any], shown: NDArray[np.uint8], types: ObjectTypes
) -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """Return names for the numbers of a representation: of types, of states and of colours.

    Args:
        numbers: (…, 3) numbers of the representation.
        shown: (…, 3) the types, states and colours themselves.
        types: object types of the scenario.
    """
    type_names: dict[int, str] = {}
    states: dict[int, dict[str, None]] = {}
    color_names: dict[int, str] = {}
    pairs = np.concatenate([numbers.reshape(-1, 3), shown.reshape(-1, 3)], axis=1)
    for kind, state, color, *seen in np.unique(pairs, axis=0).tolist():
        object_type = types[seen[0]]
        name = to_snake_case(object_type.name).replace("_", " ") if seen[0] else "nothing"
        type_names[kind] = name
        state_name = (
            f"{object_type.states[seen[1]].lower().replace('_', ' ')} {name}"
            if object_type.states
            else ""
        )
        states.setdefault(state, {})[state_name] = None
        color_names[color] = COLORS[seen[2]].lower() if seen[2] else "no colour"
    state_names = {n: " or ".join(filter(None, names)) or "no state" for n, names in states.items()}
    return type_names, dict(sorted(state_names.items())), dict(sorted(color_names.items()))


class Inspection:
    """Inspector of the worlds of a scenario, one at a time.

    Args:
        scenario: scenario of the worlds.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._simulation = Simulation(scenario)
        self._row = scenario.layout.defaults()
        self._calls: dict[str, Call | str] = {}

    def load(self, row: NDArray[Any]) -> None:
        """Load the world of a row.

        Args:
            row: () array of `scenario.layout.dtype`, see `World.snapshot`; not changed.

        Raises:
            ValueError: the row has another layout.
        """
        self._simulation.world.restore(row)
        self._row = row

    def cell(self, y: int, x: int) -> tuple[Entity, ...]:
        """Return the entities in a cell, the agent first and the ground last; none for free floor.

        Raises:
            IndexError: the grid has no such cell.
        """
        world = self._simulation.world
        if not (0 <= y < world.height and 0 <= x < world.width):
            raise IndexError(
                f"cell {y}, {x}: the grid has rows 0 to {world.height - 1} and columns 0 to "
                f"{world.width - 1}"
            )
        agent_is_here = (world.position.y[AGENT], world.position.x[AGENT]) == (y, x)
        entities = (AGENT,) * agent_is_here + (world.at[y, x], world.ground[y, x])
        return tuple(self._entity(e) for e in entities if e != NOTHING)

    def agent(self) -> Entity:
        """Return the agent."""
        return self._entity(AGENT)

    def _entity(self, e: int, above: tuple[int, ...] = ()) -> Entity:
        """Return an entity in words, with the entities that its fields refer to; `above` holds the
        entities that already contain the entity."""
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
            parts.append(ComponentFields(cls.__name__, fields))
        name = "agent" if e == AGENT else describe_object(self.scenario.types, *world.appearance(e))
        return Entity(e, name, tuple(parts), holds)

    def actions(self) -> dict[str, bool]:
        """Return for each of the scenario's actions, by name, whether the action has an effect."""
        mask = np.zeros(len(self.scenario.actions), np.int8)
        self._simulation.valid_actions(mask)
        return dict(zip(self.scenario.action_names, mask.astype(bool).tolist(), strict=True))

    def observation(
        self, representation: str, grid: NDArray[np.uint8], item: tuple[int, int, int]
    ) -> Arrays:
        """Return the arrays of the agent's observation.

        Args:
            representation: one of `REPRESENTATIONS`.
            grid: (h, w, 3) types, states and colours of the agent's view.
            item: type, state and colour of the carried object.

        Raises:
            ValueError: the representation does not exist, or has no number for a shown object.
        """
        encoder = Representation.of_observation(self.scenario, representation)
        arrays = encoder.encode(grid, np.array(item, np.uint8), observer_pose(self.scenario))
        if missions := self.scenario.missions:
            arrays["mission"] = missions.encode(self._simulation.world)
        return arrays

    def _visibility_call(self, name: str) -> Call | str:
        """Return the call of a visibility function, or an error message; with the scenario's
        parameters if its own visibility function has that name, else the defaults."""
        system, own = REGISTRIES[VISIBILITY][name], self.scenario.visibility
        if own.system is system:
            return own
        try:
            call = Call.of(system, {}, self.scenario.area)
        except TypeError as error:
            return f"{error}, which only a scenario can give"
        return call.run_check(self.scenario.area) or call

    def visible_cells(self, function: str) -> VisibleCells:
        """Return the cells that a registered visibility function shows to the agent; random
        functions use a copy of the world's RNG.

        Raises:
            KeyError: there is no such function.
        """
        if function not in self._calls:
            self._calls[function] = self._visibility_call(function)
        call = self._calls[function]
        world, view = self._simulation.world, self._simulation.view
        nothing = VisibleCells(
            np.zeros(self.scenario.area.shape, np.bool_),
            np.zeros((world.height, world.width), np.bool_),
        )
        if isinstance(call, str):
            return nothing._replace(problem=call)
        try:
            with world.context:
                view.look(world, AGENT)
                BoundCall(call).run(world, AGENT, view)
        except (Exception, Stopped) as error:  # any error of a custom function
            return nothing._replace(problem=f"it fails: {type(error).__name__}: {error}")
        finally:
            world.rng = generator_from_row(self._row["rng"])
        seen = view.seen.astype(bool)
        return VisibleCells(seen, view.area.grid_mask(world, AGENT, seen))
