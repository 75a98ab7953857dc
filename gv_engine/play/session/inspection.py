"""Inspection of a world: its entities, the agent's observation, the cells that visibility functions
show, and the effects and the reward of each action.

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

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays, Representation, observer_pose
from gv_engine.rules.component import AGENT, NOTHING, column_name, fields_of, to_snake_case
from gv_engine.rules.errors import Stopped, format_cell
from gv_engine.rules.geometry import ORIENTATIONS, named_action
from gv_engine.rules.objects import COLORS, ObjectTypes
from gv_engine.rules.system import REGISTRIES, VISIBILITY, Call
from gv_engine.scenario.documents.rule_errors import make_rule_error
from gv_engine.scenario.missions.missions import is_field_for
from gv_engine.scenario.readers.map import describe_object
from gv_engine.world.bound_call import BoundCall
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


# ---- changes -------------------------------------------------------------------------------------

PLACE, FACING, HELD, LOOK, EXISTENCE = "place", "facing", "held", "look", "being"
"""Aspects of an entity; other aspects are a component, `Clock`, or a field, `Clock.left`."""
_MAX_MOVED_ENTITIES = 6  # with more the level counts as another one
_NOWHERE = "nowhere"
# Columns and fields covered by `PLACE`, `FACING`, `HELD` and `LOOK`
_COVERED_FIELDS = {
    *(("agent", "facing"), ("agent", "holding"), ("kind", "value"), ("color", "value")),
    *(("position", "y"), ("position", "x")),
}


class Change(NamedTuple):
    """Difference between two worlds.

    Attributes:
        entity: index of the entity.
        thing: words for the entity in the new world, `agent` or `red key`.
        aspect: aspect that differs.
        old, new: the old and the new value in words, empty for nothing; for `EXISTENCE`, `LOOK`
            and `HELD` words for the entity.
    """

    entity: int
    thing: str
    aspect: str
    old: str
    new: str


def world_changes(old: Any, new: Any, names: Sequence[str] = ("agent",)) -> Iterator[Change]:
    """Yield the differences between the worlds `old` and `new`, entity by entity (agent, object or
    ground); `names` are the names of the agents, which come first.

    Args:
        old, new: the old and the new world, maybe of scenarios with other types and components.
        names: names of the agents.
    """
    agents = range(1, min(len(names) + 1, old.capacity, new.capacity))
    for e, name in zip(agents, names, strict=False):
        yield from _change_if(e, name, FACING, _facing(old, e), _facing(new, e))
        yield from _change_if(e, name, PLACE, _position_of(old, e), _position_of(new, e))
        yield from _change_if(e, name, HELD, _held_object_name(old, e), _held_object_name(new, e))
        yield from _component_changes(old, new, e, name)
    held = {world.agent.holding[e] for world in (old, new) for e in agents}
    for e in range(len(names) + 1, max(old.capacity, new.capacity)):
        name, old_name = _name_of(new, e), _name_of(old, e)
        if not (name and old_name):
            yield from _change_if(e, name or old_name, EXISTENCE, old_name, name)
            continue
        yield from _change_if(e, name, LOOK, old_name, name)
        if e not in held:
            yield from _change_if(e, name, PLACE, _position_of(old, e), _position_of(new, e))
        yield from _component_changes(old, new, e, name)
    yield from _terrain_changes(old, new)


def _terrain_changes(old: Any, new: Any) -> Iterator[Change]:
    """Yield a `Change` for each cell whose terrain differs between the worlds `old` and `new`."""
    has_terrain = old.layout.terrain or new.layout.terrain
    if not has_terrain or (old.height, old.width) != (new.height, new.width):
        return
    for y, x in np.ndindex(new.height, new.width):
        before, after = old.ground[y, x], new.ground[y, x]
        if old.is_terrain(before) or new.is_terrain(after):
            old_name, name = _name_of(old, before) or "floor", _name_of(new, after) or "floor"
            if name != old_name:
                yield Change(after, name, LOOK, old_name, f"{name} at {format_cell(y, x)}")


def world_differences(old: Any, new: Any, names: Sequence[str] = ("agent",)) -> list[str]:
    """Return sentences about the differences between the object worlds `old` and `new`; `names` are
    the names of the agents. If many entities have moved, each sentence is about a cell."""
    all_changes = list(world_changes(old, new, names))
    sentences = [_change_sentence(new, change) for change in all_changes]
    if (old.height, old.width) != (new.height, new.width):
        size = f"the grid has {new.height} × {new.width} cells, was {old.height} × {old.width}"
        return [size, *sentences[:1]]
    agent_changes = [change for change in all_changes if change.entity <= len(names)]
    object_changes = [change for change in all_changes if change.entity > len(names)]
    num_moved = sum(change.aspect in (PLACE, EXISTENCE) for change in object_changes)
    if num_moved > _MAX_MOVED_ENTITIES:
        sentences = [_change_sentence(new, change) for change in agent_changes]
        sentences += _cell_differences(old, new)
    if not sentences and old.rng.bit_generator.state != new.rng.bit_generator.state:
        sentences.append("random draws: more or fewer of them")
    return sentences


def _change_if(entity: int, thing: str, aspect: str, old: str, new: str) -> Iterator[Change]:
    if old != new:
        yield Change(entity, thing, aspect, old, new)


def _change_sentence(world: Any, change: Change) -> str:
    """Return a sentence with the new and the old value of `change`, a difference from an earlier
    world; `world` is the new one."""
    entity, thing, aspect, old, new = change
    place = "" if aspect == PLACE or thing == "agent" else _position_of(world, entity)
    at = f" at {place}" if place else ""
    if aspect == PLACE:
        return f"{thing} at {new or _NOWHERE}, was at {old or _NOWHERE}"
    if aspect == FACING:
        return f"{thing} looks {new}, looked {old}"
    if aspect == HELD:
        return f"{thing} holds {new or 'nothing'}, held {old or 'nothing'}"
    if aspect == EXISTENCE:
        return f"{new}{at}, was not there" if new else f"no {old}, was there"
    if aspect == LOOK:
        return f"{new}{at}, was {old}"
    if "." not in aspect:
        return f"{thing}{at} {'has' if new else 'lacks'} {aspect}, {'lacked' if new else 'had'} it"
    return f"{thing}{at}: {aspect} {new}, was {old}"


def _cell_differences(old: Any, new: Any) -> Iterator[str]:
    """Yield a sentence for each cell whose entities look different in the worlds `old` and
    `new`."""
    for y, x in np.ndindex(new.height, new.width):
        before, after = _describe_cell(old, y, x), _describe_cell(new, y, x)
        if before != after:
            yield f"{after} at {format_cell(y, x)}, was {before}"


def _describe_cell(world: Any, y: int, x: int) -> str:
    names = [_name_of(world, world[layer][y, x]) for layer in world.layout.layers]
    return " on ".join(filter(None, names)) or "floor"


def _component_changes(old: Any, new: Any, e: int, thing: str) -> Iterator[Change]:
    """Yield the differences between the components of entity `e` in two worlds. Position,
    appearance, direction and held object are compared elsewhere. `thing` is the entity's name, such
    as `red key`."""
    before, after = _other_fields(old, e), _other_fields(new, e)
    for component in dict.fromkeys((*after, *before)):
        if component not in before:
            yield Change(e, thing, component, "", component)
            continue
        if component not in after:
            yield Change(e, thing, component, component, "")
            continue
        column = to_snake_case(component)
        for field, value in after[component].items():
            old_value = before[component].get(field, value)
            if value != old_value:
                old_text = field_in_words(old, e, column, field, old_value)
                new_text = field_in_words(new, e, column, field, value)
                yield Change(e, thing, f"{component}.{field}", old_text, new_text)


def _other_fields(world: Any, e: int) -> dict[str, dict[str, Any]]:
    """Return the component fields of an entity by component and field name. Position, appearance,
    direction and held object are left out, since they are compared separately."""
    layout, fields_by_component = world.layout, {}
    covered = {*_COVERED_FIELDS, layout.object_types[world.kind.value[e]].state}
    for cls in layout.components:
        column = column_name(cls)
        columns = world[column]
        if columns.has[e] and cls is not layout.mission:  # it is compared as text
            fields_by_component[cls.__name__] = {
                field.name: columns.get_value(field, e)
                for field in fields_of(cls)
                if (column, field.name) not in covered
            }
    return fields_by_component


def field_in_words(world: Any, e: int, column: str, field: str, value: Any) -> str:
    """Return the value of a component's field as text, where type, colour, state and direction
    numbers come with a name, such as `2 RED`. `column` is the component's name in snake case. Of an
    array, given as a dict, only nonzero items are listed."""
    if isinstance(value, dict):
        numbers = (f"{item}: {number:g}" for item, number in value.items() if number)
        return ", ".join(numbers) or "all 0"
    if isinstance(value, int):
        name = _field_names(world, e, column, field).get(value)
        if name is not None:
            return f"{value} {name}"
    return str(value) if isinstance(value, bool) else f"{value:g}"


def _field_names(world: Any, e: int, column: str, field: str) -> dict[int, str]:
    """Return the names of the values of a component's field, by value; {} if they are plain
    numbers."""
    types: ObjectTypes = world.layout.object_types
    object_type = types[world.kind.value[e]]
    is_mission = column == "mission"
    if (column, field) == ("kind", "value") or (is_mission and is_field_for(field, "kind")):
        return {each.index: each.name for each in types}
    if (column, field) == ("color", "value") or (is_mission and is_field_for(field, "color")):
        return dict(enumerate(COLORS))
    if (column, field) == ("agent", "facing"):
        return dict(enumerate(ORIENTATIONS))
    return dict(enumerate(object_type.states)) if object_type.state == (column, field) else {}


def _facing(world: Any, e: int) -> str:
    return ORIENTATIONS[world.agent.facing[e]].lower()


def _held_object_name(world: Any, agent: int) -> str:
    e = world.agent.holding[agent]
    return _name_of(world, e) if e != agent else ""


def _position_of(world: Any, e: int) -> str:
    y, x = world.position.y[e], world.position.x[e]
    return format_cell(y, x) if y >= 0 else ""


def _name_of(world: Any, e: int) -> str:
    if e == NOTHING or e >= world.capacity or not world.alive[e]:
        return ""
    return describe_object(world.layout.object_types, *world.appearance(e))


# ---- outcomes ------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """Effects of an action.

    Attributes:
        effects: changes, in words.
        reward: sum of the rewards.
        terms: rewards by rule, without zeros.
        ending: sentence about the end of the episode; empty if the episode goes on.
        problem: error of a rule; the other fields are then empty.
    """

    effects: tuple[str, ...]
    reward: float
    terms: Mapping[str, float]
    ending: str
    problem: str = ""


class ActionPreview:
    """Tries actions on copies of a world, with the same RNG state as the world.

    Args:
        scenario: scenario of the worlds.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._before, self._after = Simulation(scenario), Simulation(scenario)

    def outcomes(self, row: NDArray[Any]) -> dict[str, Outcome]:
        """Return the effects and the reward of each of the scenario's actions, by action name, in
        the world saved in `row`, a () array from `World.snapshot`."""
        self._before.world.restore(row)
        return {action: self._preview_action(action, row) for action in self._scenario.action_names}

    def _preview_action(self, action: str, row: NDArray[Any]) -> Outcome:
        """Return the effects and the reward of `action` in the world saved in `row`, an array from
        `World.snapshot`; an error of a rule becomes the outcome's `problem`."""
        simulation, world = self._after, self._after.world
        try:
            world.restore(row)
            simulation.step(named_action(action))
            names_and_values = zip(self._scenario.reward_names, simulation.terms_of(), strict=True)
            terms = {name: value for name, value in names_and_values if value}
            effects = tuple(map(_describe_effect, world_changes(self._before.world, world)))
            ending = self._scenario.describe_ending(world, AGENT)
            return Outcome(effects, float(world.reward[AGENT]), terms, ending)
        except (Exception, Stopped) as error:  # any error of a custom rule
            return Outcome((), 0.0, {}, "", str(make_rule_error(error)))


def _describe_effect(change: Change) -> str:
    """Return one change of the world by an action in words, such as `takes the red key`."""
    entity, thing, aspect, old, new = change
    subject = "" if entity == AGENT else f"the {thing} "
    if aspect == PLACE:
        return f"{subject}goes to {new}" if new else f"{subject}leaves the grid"
    if aspect == FACING:
        return f"looks {new}"
    if aspect == HELD:
        return f"takes the {new}" if new else "puts down what it holds"
    if aspect == EXISTENCE:
        return f"a {new} appears" if new else f"the {old} is gone"
    if aspect == LOOK:
        return f"the {old} becomes a {new}"
    if "." not in aspect:
        return f"{subject}{'gets' if new else 'loses'} {aspect}"
    return f"{subject}{aspect} becomes {new}, was {old}"


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
    """Return three dicts that name the type, state and colour numbers which occur in an
    observation.

    Args:
        numbers: (…, 3) numbers of the cells as the agent observes them.
        shown: (…, 3) the same cells as indices of `types`, of the states and of `COLORS`.
        types: object types of the scenario.
    """
    type_names: dict[int, str] = {}
    states: dict[int, dict[str, None]] = {}
    color_names: dict[int, str] = {}
    pairs = np.concatenate([numbers.reshape(-1, 3), shown.reshape(-1, 3)], axis=1)
    for kind, state, color, type_index, state_index, color_index in np.unique(
        pairs, axis=0
    ).tolist():
        object_type = types[type_index]
        name = to_snake_case(object_type.name).replace("_", " ") if type_index else "nothing"
        type_names[kind], state_name = name, ""
        if object_type.states:
            state_name = f"{object_type.states[state_index].lower().replace('_', ' ')} {name}"
        states.setdefault(state, {})[state_name] = None  # one number, states of several types
        color_names[color] = COLORS[color_index].lower() if color_index else "no colour"
    state_names = {
        state: " or ".join(filter(None, states[state])) or "no state" for state in sorted(states)
    }
    return type_names, state_names, dict(sorted(color_names.items()))


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
        """Load a saved world as the one to inspect.

        Args:
            row: () array of `scenario.layout.dtype`, see `World.snapshot`; not changed.

        Raises:
            ValueError: the row has another layout.
        """
        self._simulation.world.restore(row)
        self._row = row

    def cell(self, y: int, x: int) -> tuple[Entity, ...]:
        """Return the entities in the cell in row `y` and column `x`, topmost first: agent, object,
        ground; () if there is only floor.

        Raises:
            IndexError: the grid has no such cell.
        """
        world = self._simulation.world
        if not (0 <= y < world.height and 0 <= x < world.width):
            raise IndexError(
                f"cell {y}, {x}: the grid has rows 0 to {world.height - 1} and columns 0 to "
                f"{world.width - 1}"
            )
        entities = [world[layer][y, x] for layer in world.layout.layers]
        if (world.position.y[AGENT], world.position.x[AGENT]) == (y, x):
            entities.insert(0, AGENT)
        return tuple(self._inspect_entity(e) for e in entities if e != NOTHING)

    def agent(self) -> Entity:
        """Return the agent of the loaded world in words."""
        return self._inspect_entity(AGENT)

    def _inspect_entity(self, e: int, above: tuple[int, ...] = ()) -> Entity:
        """Describe entity `e` and, nested in it, the entities that it holds. Entities in `above`,
        which hold this one, are left out."""
        world = self._simulation.world
        components, holds = [], {}
        for cls in self.scenario.layout.components:
            columns = world[column_name(cls)]
            if not columns.has[e]:
                continue
            fields = {}
            for field in fields_of(cls):
                value = columns.get_value(field, e)
                fields[field.name] = field_in_words(world, e, column_name(cls), field.name, value)
                is_reference = field.is_entity and value not in (NOTHING, e, *above)
                if is_reference and 0 < value < world.capacity:
                    holds[f"{cls.__name__}.{field.name}"] = self._inspect_entity(value, (*above, e))
            components.append(ComponentFields(cls.__name__, fields))
        name = "agent" if e == AGENT else describe_object(self.scenario.types, *world.appearance(e))
        return Entity(e, name, tuple(components), holds)

    def actions(self) -> dict[str, bool]:
        """Return by action name whether the action has an effect in the loaded world."""
        mask = np.zeros(len(self.scenario.actions), np.int8)
        self._simulation.valid_actions(mask)
        return dict(zip(self.scenario.action_names, mask.astype(bool).tolist(), strict=True))

    def observation(
        self, representation: str, grid: NDArray[np.uint8], item: tuple[int, int, int]
    ) -> Arrays:
        """Return the arrays of the agent's observation in the named `representation`, given the
        agent's view `grid` and its carried object `item` as type, state and colour.

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
        if state := self.scenario.observed_state:
            arrays["state"] = state.encode(self._simulation.world)
        return arrays

    def _visibility_call(self, name: str) -> Call | str:
        """Return a visibility function by name, with its arguments, or an error message. The
        arguments are the scenario's if it uses that function, else the defaults."""
        system = REGISTRIES[VISIBILITY][name]
        if self.scenario.visibility.system is system:
            return self.scenario.visibility
        try:
            call = Call.of(system, {}, self.scenario.area)
        except TypeError as error:
            return f"{error}, which only a scenario can give"
        return call.run_check(self.scenario.area) or call

    def visible_cells(self, function: str) -> VisibleCells:
        """Return the cells that the agent would see by the registered visibility function called
        `function`; a random function uses a copy of the world's random generator.

        Raises:
            KeyError: there is no such function.
        """
        if function not in self._calls:
            self._calls[function] = self._visibility_call(function)
        call = self._calls[function]
        world, view = self._simulation.world, self._simulation.view
        no_cells = VisibleCells(
            np.zeros(self.scenario.area.shape, np.bool_),
            np.zeros((world.height, world.width), np.bool_),
        )
        if isinstance(call, str):
            return no_cells._replace(problem=call)
        try:
            with world.context:
                view.look(world, AGENT)
                BoundCall(call).run(world, AGENT, (view,))
        except (Exception, Stopped) as error:  # any error of a custom function
            return no_cells._replace(problem=f"it fails: {type(error).__name__}: {error}")
        finally:
            world.rng = generator_from_row(self._row["rng"])
        seen = view.seen.astype(bool)
        return VisibleCells(seen, view.area.grid_mask(world, AGENT, seen))
