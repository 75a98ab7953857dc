"""What each action would do and pay, tried on a copy of the world."""

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

PLACE, FACING, HELD, LOOK, BEING = "place", "facing", "held", "look", "being"
"""Aspects of a thing; any other one is a component, `Clock`, or a field of one, `Clock.left`."""
_MANY = 6
"""More things than these do not move at once: it is another level."""
_NOWHERE = "nowhere"
_TOLD = (
    *(("agent", "facing"), ("agent", "holding"), ("kind", "value"), ("color", "value")),
    *(("position", "y"), ("position", "x")),
)
"""Columns and fields behind `PLACE`, `FACING`, `HELD` and `LOOK`."""


class Change(NamedTuple):
    """A difference between a world and another one.

    Attributes:
        entity: which it is about.
        thing: what people call it in the other world, `agent` or `red key`.
        aspect: what is different of it.
        was, now: in the one world and in the other, in words; of `BEING`, `LOOK` and `HELD` what
            people call the thing; empty for nothing.
    """

    entity: int
    thing: str
    aspect: str
    was: str
    now: str


def changes(was: Any, now: Any, names: Sequence[str] = ("agent",)) -> Iterator[Change]:
    """The differences between two object worlds, entity by entity, agents first.

    Args:
        was, now: the worlds, maybe of scenarios with other types and components.
        names: of the agents.
    """
    agents = range(1, min(len(names) + 1, was.capacity, now.capacity))
    for e, name in zip(agents, names, strict=False):
        yield from _of(e, name, FACING, _facing(was, e), _facing(now, e))
        yield from _of(e, name, PLACE, _place(was, e), _place(now, e))
        yield from _of(e, name, HELD, _held(was, e), _held(now, e))
        yield from _parts(was, now, e, name)
    held = {world.agent.holding[e] for world in (was, now) for e in agents}
    for e in range(len(names) + 1, max(was.capacity, now.capacity)):
        words, before = _words(now, e), _words(was, e)
        if not (words and before):
            yield from _of(e, words or before, BEING, before, words)
        else:
            yield from _of(e, words, LOOK, before, words)
            if e not in held:
                yield from _of(e, words, PLACE, _place(was, e), _place(now, e))
            yield from _parts(was, now, e, words)


def world_differences(was: Any, now: Any, names: Sequence[str] = ("agent",)) -> list[str]:
    """The differences between two object worlds as sentences: how it is, and how it was. Where
    there are too many for things that have moved, cell by cell."""
    found = list(changes(was, now, names))
    told = [_sentence(now, change) for change in found]
    if (was.height, was.width) != (now.height, now.width):
        size = f"the grid has {now.height} × {now.width} cells, was {was.height} × {was.width}"
        return [size, *told[:1]]
    moved = [c for c in found if c.aspect in (PLACE, BEING) and c.entity > len(names)]
    if len(moved) > _MANY:
        told = [_sentence(now, change) for change in found if change.entity <= len(names)]
        told += _cells(was, now)
    if not told and was.rng.bit_generator.state != now.rng.bit_generator.state:
        told.append("random draws: more or fewer of them")
    return told


def _of(entity: int, thing: str, aspect: str, was: str, now: str) -> Iterator[Change]:
    if was != now:
        yield Change(entity, thing, aspect, was, now)


def _sentence(world: Any, change: Change) -> str:
    """How it is now, and how it was."""
    entity, thing, aspect, was, now = change
    at = "" if aspect == PLACE or thing == "agent" else _at(world, entity)
    if aspect == PLACE:
        return f"{thing} at {now or _NOWHERE}, was at {was or _NOWHERE}"
    if aspect == FACING:
        return f"{thing} looks {now}, looked {was}"
    if aspect == HELD:
        return f"{thing} holds {now or 'nothing'}, held {was or 'nothing'}"
    if aspect == BEING:
        return f"{now}{at}, was not there" if now else f"no {was}, was there"
    if aspect == LOOK:
        return f"{now}{at}, was {was}"
    if "." not in aspect:
        return f"{thing}{at} {'has' if now else 'lacks'} {aspect}, {'lacked' if now else 'had'} it"
    return f"{thing}{at}: {aspect} {now}, was {was}"


def _cells(was: Any, now: Any) -> Iterator[str]:
    """What is different cell by cell."""
    for y in range(now.height):
        for x in range(now.width):
            before, after = (
                " on ".join(filter(None, (_words(w, w.at[y, x]), _words(w, w.ground[y, x]))))
                for w in (was, now)
            )
            if before != after:
                yield f"{after or 'floor'} at row {y}, column {x}, was {before or 'floor'}"


def _parts(was: Any, now: Any, e: int, thing: str) -> Iterator[Change]:
    """What is different in the components of an entity that is in both worlds, but for what
    `changes` tells."""
    before, after = _values(was, e), _values(now, e)
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


def _values(world: Any, e: int) -> dict[str, dict[str, Any]]:
    """The fields of the components of an entity, without those that `changes` tells otherwise."""
    layout, found = world.layout, {}
    told = {*_TOLD, layout.object_types[world.kind.value[e]].state}
    for cls in layout.components:
        column = column_name(cls)
        columns = world[column]
        if columns.has[e] and cls is not layout.mission:  # which says what is asked
            fields = ((field.name, columns[field.name]) for field in fields_of(cls))
            found[cls.__name__] = {
                name: values[e] for name, values in fields if (column, name) not in told
            }
    return found


def field_in_words(world: Any, e: int, column: str, field: str, value: float) -> str:
    """A value of an entity with its name, where it has one."""
    known: ObjectTypes = world.layout.object_types
    kind = known[world.kind.value[e]]
    types, colors = {each.index: each.name for each in known}, dict(enumerate(COLORS))
    asked = types if is_field_for(field, "kind") else colors if is_field_for(field, "color") else {}
    names = {
        ("kind", "value"): types,
        ("color", "value"): colors,
        ("mission", field): asked,
        ("agent", "facing"): dict(enumerate(ORIENTATIONS)),
        kind.state: dict(enumerate(kind.states)),
    }.get((column, field), {})
    name = names.get(value) if isinstance(value, int) else None
    if name is not None:
        return f"{value} {name}"
    return str(value) if isinstance(value, bool) else f"{value:g}"


def _facing(world: Any, e: int) -> str:
    return ORIENTATIONS[world.agent.facing[e]].lower()


def _held(world: Any, agent: int) -> str:
    e = world.agent.holding[agent]
    return _words(world, e) if e != agent else ""


def _place(world: Any, e: int) -> str:
    """The cell of an entity; empty without one."""
    y, x = world.position.y[e], world.position.x[e]
    return f"row {y}, column {x}" if y >= 0 else ""


def _at(world: Any, e: int) -> str:
    place = _place(world, e)
    return f" at {place}" if place else ""


def _words(world: Any, e: int) -> str:
    """What people call an entity; empty where there is none."""
    if e == NOTHING or e >= world.capacity or not world.alive[e]:
        return ""
    return describe_object(world.layout.object_types, *world.appearance(e))


# ---- outcomes ------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What an action would bring.

    Attributes:
        effects: what would be different, in words.
        reward: all of it.
        terms: the reward by rule, without those that give nothing.
        ending: how the episode would end; empty if it would go on.
        problem: which rule would fail; then the rest says nothing.
    """

    effects: tuple[str, ...]
    reward: float
    terms: Mapping[str, float]
    ending: str
    problem: str = ""


class Trial:
    """Tries actions in worlds of a scenario, on copies; what is drawn is what would be drawn.

    Args:
        scenario: whose worlds they are.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._before, self._after = Simulation(scenario), Simulation(scenario)

    def outcomes(self, row: NDArray[Any]) -> dict[str, Outcome]:
        """The outcome of each of the scenario's actions in the world of a () row, by name."""
        self._before.world.restore(row)
        return {action: self._outcome(action, row) for action in self._scenario.action_names}

    def _outcome(self, action: str, row: NDArray[Any]) -> Outcome:
        simulation, world = self._after, self._after.world
        try:
            world.restore(row)
            simulation.step(named_action(action))
            names = self._scenario.reward_names
            terms = {n: v for n, v in zip(names, simulation.terms, strict=True) if v}
            effects = tuple(map(_effect, changes(self._before.world, world)))
            ending = self._scenario.describe_ending(world, AGENT)
            return Outcome(effects, float(world.reward[AGENT]), terms, ending)
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            return Outcome((), 0.0, {}, "", str(make_rule_error(error)))


def _effect(change: Change) -> str:
    """What an action does, in words."""
    entity, thing, aspect, was, now = change
    of = "" if entity == AGENT else f"the {thing} "
    if aspect == PLACE:
        return f"{of}goes to {now}" if now else f"{of}leaves the grid"
    if aspect == FACING:
        return f"looks {now}"
    if aspect == HELD:
        return f"takes the {now}" if now else "puts down what it holds"
    if aspect == BEING:
        return f"a {now} appears" if now else f"the {was} is gone"
    if aspect == LOOK:
        return f"the {was} becomes a {now}"
    if "." not in aspect:
        return f"{of}{'gets' if now else 'loses'} {aspect}"
    return f"{of}{aspect} becomes {now}, was {was}"
