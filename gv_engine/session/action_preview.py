"""Previews of actions: what each action would change and pay, tried on a copy of the world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from gv_engine.rules.component import AGENT, NOTHING, column_name, fields_of, to_snake_case
from gv_engine.rules.errors import Stopped
from gv_engine.rules.geometry import ORIENTATIONS, named_action
from gv_engine.rules.objects import COLORS, ObjectTypes
from gv_engine.scenario.map import describe_object
from gv_engine.scenario.missions import is_field_for
from gv_engine.scenario.rule_modules import make_rule_error
from gv_engine.world.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


# ---- changes -------------------------------------------------------------------------------------

PLACE, FACING, HELD, LOOK, EXISTENCE = "place", "facing", "held", "look", "being"
"""Aspects of an entity; other aspects are a component, `Clock`, or a field, `Clock.left`."""
_MAX_MOVED = 6  # above this number of moved entities the level counts as another one
_NOWHERE = "nowhere"
# Columns and fields covered by `PLACE`, `FACING`, `HELD` and `LOOK`
_COVERED_FIELDS = (
    *(("agent", "facing"), ("agent", "holding"), ("kind", "value"), ("color", "value")),
    *(("position", "y"), ("position", "x")),
)


class Change(NamedTuple):
    """Difference between two worlds.

    Attributes:
        entity: index of the entity.
        thing: words for the entity in the new world, `agent` or `red key`.
        aspect: aspect that differs.
        was, now: the old and the new value in words, empty for nothing; for `EXISTENCE`, `LOOK`
            and `HELD` words for the entity.
    """

    entity: int
    thing: str
    aspect: str
    was: str
    now: str


def world_changes(was: Any, now: Any, names: Sequence[str] = ("agent",)) -> Iterator[Change]:
    """Yield the differences between two object worlds, entity by entity, agents first.

    Args:
        was, now: the old and the new world, maybe of scenarios with other types and components.
        names: names of the agents.
    """
    agents = range(1, min(len(names) + 1, was.capacity, now.capacity))
    for e, name in zip(agents, names, strict=False):
        yield from _change_if(e, name, FACING, _facing(was, e), _facing(now, e))
        yield from _change_if(e, name, PLACE, _place(was, e), _place(now, e))
        yield from _change_if(e, name, HELD, _held(was, e), _held(now, e))
        yield from _component_changes(was, now, e, name)
    held = {world.agent.holding[e] for world in (was, now) for e in agents}
    for e in range(len(names) + 1, max(was.capacity, now.capacity)):
        words, before = _describe(now, e), _describe(was, e)
        if not (words and before):
            yield from _change_if(e, words or before, EXISTENCE, before, words)
        else:
            yield from _change_if(e, words, LOOK, before, words)
            if e not in held:
                yield from _change_if(e, words, PLACE, _place(was, e), _place(now, e))
            yield from _component_changes(was, now, e, words)


def world_differences(was: Any, now: Any, names: Sequence[str] = ("agent",)) -> list[str]:
    """Return sentences about the differences between two object worlds, with the new and the old
    value; cell by cell if many entities have moved."""
    all_changes = list(world_changes(was, now, names))
    sentences = [_change_sentence(now, change) for change in all_changes]
    if (was.height, was.width) != (now.height, now.width):
        size = f"the grid has {now.height} × {now.width} cells, was {was.height} × {was.width}"
        return [size, *sentences[:1]]
    moved = [c for c in all_changes if c.aspect in (PLACE, EXISTENCE) and c.entity > len(names)]
    if len(moved) > _MAX_MOVED:
        sentences = [
            _change_sentence(now, change) for change in all_changes if change.entity <= len(names)
        ]
        sentences += _cell_differences(was, now)
    if not sentences and was.rng.bit_generator.state != now.rng.bit_generator.state:
        sentences.append("random draws: more or fewer of them")
    return sentences


def _change_if(entity: int, thing: str, aspect: str, was: str, now: str) -> Iterator[Change]:
    """Yield a change if the old and the new value differ."""
    if was != now:
        yield Change(entity, thing, aspect, was, now)


def _change_sentence(world: Any, change: Change) -> str:
    """Return a sentence with the new and the old value of a change."""
    entity, thing, aspect, was, now = change
    at = "" if aspect == PLACE or thing == "agent" else _at(world, entity)
    if aspect == PLACE:
        return f"{thing} at {now or _NOWHERE}, was at {was or _NOWHERE}"
    if aspect == FACING:
        return f"{thing} looks {now}, looked {was}"
    if aspect == HELD:
        return f"{thing} holds {now or 'nothing'}, held {was or 'nothing'}"
    if aspect == EXISTENCE:
        return f"{now}{at}, was not there" if now else f"no {was}, was there"
    if aspect == LOOK:
        return f"{now}{at}, was {was}"
    if "." not in aspect:
        return f"{thing}{at} {'has' if now else 'lacks'} {aspect}, {'lacked' if now else 'had'} it"
    return f"{thing}{at}: {aspect} {now}, was {was}"


def _cell_differences(was: Any, now: Any) -> Iterator[str]:
    """Yield a sentence for each cell with different entities."""
    for y in range(now.height):
        for x in range(now.width):
            before, after = (
                " on ".join(filter(None, (_describe(w, w.at[y, x]), _describe(w, w.ground[y, x]))))
                for w in (was, now)
            )
            if before != after:
                yield f"{after or 'floor'} at row {y}, column {x}, was {before or 'floor'}"


def _component_changes(was: Any, now: Any, e: int, thing: str) -> Iterator[Change]:
    """Yield the changes in the components of an entity that is in both worlds, without the fields
    that `world_changes` covers otherwise."""
    before, after = _uncovered_fields(was, e), _uncovered_fields(now, e)
    for part in dict.fromkeys((*after, *before)):
        if part not in before or part not in after:
            yield Change(e, thing, part, part * (part in before), part * (part in after))
            continue
        column = to_snake_case(part)
        for field, value in after[part].items():
            if value != (old := before[part].get(field, value)):
                words = (
                    field_in_words(was, e, column, field, old),
                    field_in_words(now, e, column, field, value),
                )
                yield Change(e, thing, f"{part}.{field}", *words)


def _uncovered_fields(world: Any, e: int) -> dict[str, dict[str, Any]]:
    """Return the fields of an entity's components, by component and field name, without the fields
    that `world_changes` covers otherwise."""
    layout, fields_by_component = world.layout, {}
    covered = {*_COVERED_FIELDS, layout.object_types[world.kind.value[e]].state}
    for cls in layout.components:
        column = column_name(cls)
        columns = world[column]
        if columns.has[e] and cls is not layout.mission:  # it is compared as text
            fields = ((field.name, columns[field.name]) for field in fields_of(cls))
            fields_by_component[cls.__name__] = {
                name: values[e] for name, values in fields if (column, name) not in covered
            }
    return fields_by_component


def field_in_words(world: Any, e: int, column: str, field: str, value: float) -> str:
    """Return a field's value as text, followed by its name if it has one."""
    types_of_layout: ObjectTypes = world.layout.object_types
    kind = types_of_layout[world.kind.value[e]]
    types, colors = {each.index: each.name for each in types_of_layout}, dict(enumerate(COLORS))
    mission_names = (
        types if is_field_for(field, "kind") else colors if is_field_for(field, "color") else {}
    )
    names = {
        ("kind", "value"): types,
        ("color", "value"): colors,
        ("mission", field): mission_names,
        ("agent", "facing"): dict(enumerate(ORIENTATIONS)),
        kind.state: dict(enumerate(kind.states)),
    }.get((column, field), {})
    name = names.get(value) if isinstance(value, int) else None
    if name is not None:
        return f"{value} {name}"
    return str(value) if isinstance(value, bool) else f"{value:g}"


def _facing(world: Any, e: int) -> str:
    """Return the direction of an agent in words."""
    return ORIENTATIONS[world.agent.facing[e]].lower()


def _held(world: Any, agent: int) -> str:
    """Return words for the object that an agent carries; empty for none."""
    e = world.agent.holding[agent]
    return _describe(world, e) if e != agent else ""


def _place(world: Any, e: int) -> str:
    """Return row and column of an entity in words; empty if the entity has no cell."""
    y, x = world.position.y[e], world.position.x[e]
    return f"row {y}, column {x}" if y >= 0 else ""


def _at(world: Any, e: int) -> str:
    """Return " at row y, column x" for an entity; empty if it has no cell."""
    place = _place(world, e)
    return f" at {place}" if place else ""


def _describe(world: Any, e: int) -> str:
    """Return words for an entity, such as `red key`; empty if the entity does not exist."""
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
        """Return the outcome of each of the scenario's actions, by name, in the world of a ()
        row."""
        self._before.world.restore(row)
        return {action: self._outcome(action, row) for action in self._scenario.action_names}

    def _outcome(self, action: str, row: NDArray[Any]) -> Outcome:
        """Return the outcome of an action in the world of a row."""
        simulation, world = self._after, self._after.world
        try:
            world.restore(row)
            simulation.step(named_action(action))
            names = self._scenario.reward_names
            terms = {n: v for n, v in zip(names, simulation.terms, strict=True) if v}
            effects = tuple(map(_effect, world_changes(self._before.world, world)))
            ending = self._scenario.describe_ending(world, AGENT)
            return Outcome(effects, float(world.reward[AGENT]), terms, ending)
        except (Exception, Stopped) as error:  # any error of a custom rule
            return Outcome((), 0.0, {}, "", str(make_rule_error(error)))


def _effect(change: Change) -> str:
    """Return the effect of an action in words."""
    entity, thing, aspect, was, now = change
    of = "" if entity == AGENT else f"the {thing} "
    if aspect == PLACE:
        return f"{of}goes to {now}" if now else f"{of}leaves the grid"
    if aspect == FACING:
        return f"looks {now}"
    if aspect == HELD:
        return f"takes the {now}" if now else "puts down what it holds"
    if aspect == EXISTENCE:
        return f"a {now} appears" if now else f"the {was} is gone"
    if aspect == LOOK:
        return f"the {was} becomes a {now}"
    if "." not in aspect:
        return f"{of}{'gets' if now else 'loses'} {aspect}"
    return f"{of}{aspect} becomes {now}, was {was}"
