"""Object types, colours and legend that the map of an edited level may use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any, TypeVar

from components.core import FLOOR, NONE
from gv_engine.rules.errors import ScenarioError
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import (
    ABOVE,
    COLORS,
    GROUND,
    OBJECT_TYPES,
    TERRAIN,
    USUAL_COLORS,
    ObjectTypes,
)
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.readers.definitions import (
    AgentSpecs,
    declare_components,
    read_agents,
    read_layers,
    read_object_types,
)
from gv_engine.scenario.readers.map import LEGEND, Legend, Symbol, read_legend
from gv_engine.scenario.readers.random_values import RandomValues
from gv_engine.scenario.readers.resolver import NameResolver, TypeIds, list_referring_nodes
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax.fields import ErrorCollector, FieldError, YamlNode

CellThing = Mapping[str, Any]
"""Content of a cell as a legend entry without default values: {} is bare floor, {"object": "Key",
"color": "RED"}, {"agent": "LEFT", "ground": "Ice"}."""

AGENT_KEY = "agent"
_T = TypeVar("_T")


@dataclass(frozen=True)
class Vocabulary:
    """Object types, colours and legend of a level.

    Attributes:
        types: all object types with a name.
        objects: indices of the object types that the `state_space` allows on the grid.
        usual: indices of the object types that it could allow.
        colors: indices of the allowed colours.
        legend: symbols by character, built-in ones included; None for a faulty entry.
        things: contents by character, the scenario's own characters first.
        agents: number of agents.
        names: resolver of the names in the text.
        headings: headings of the palette by name of the object type.
    """

    types: ObjectTypes = OBJECT_TYPES
    objects: tuple[int, ...] = ()
    usual: tuple[int, ...] = ()
    colors: tuple[int, ...] = USUAL_COLORS
    legend: Legend = field(default_factory=dict)
    things: Mapping[str, CellThing] = field(default_factory=dict)
    agents: int = 1
    names: NameResolver | None = None
    headings: Mapping[str, str] = field(default_factory=dict)

    def normalize_entry(self, entry: Any) -> CellThing:
        """Convert the value of a legend character to a dict without default values. `Door` gives
        {"object": "Door"}, for example."""
        thing = {key: part for key, part in as_entry(entry).items() if part is not None}
        name = str(thing.get("object", ""))
        if name == OBJECT_TYPES[FLOOR].name:
            del thing["object"]
        states = self.types[name].states if name in self.types else ()
        if states and thing.get("state") == states[0]:
            del thing["state"]
        if thing.get("color") == COLORS[NONE]:
            del thing["color"]
        if isinstance(thing.get("ground"), dict):
            thing["ground"] = shorten_entry(self.normalize_entry(thing["ground"]))
        between = [
            shorten_entry(self.normalize_entry(entry)) for entry in list_middle_entries(thing)
        ]
        return _with_middle_entries(thing, between)

    def thing_of_symbol(self, symbol: Symbol) -> CellThing:
        """Convert a parsed legend entry without random values to a dict as in the file (see
        `CellThing`)."""
        thing: dict[str, Any] = {}
        if symbol.kind != FLOOR:
            thing = self.thing_of_type(symbol.kind, symbol.state, symbol.color)
        if symbol.facing is not None:
            thing[AGENT_KEY] = ORIENTATIONS[symbol.facing]
        if symbol.ground:
            thing["ground"] = shorten_entry(self.thing_of_symbol(symbol.ground))
        between = [shorten_entry(self.thing_of_symbol(each)) for each in symbol.between]
        return _with_middle_entries(thing, between)

    def thing_of_type(self, kind: int, state: int = 0, color: int = NONE) -> dict[str, Any]:
        """Return the legend entry of an object; `kind` is an index of `types`, `state` an index of
        the type's states, and `color` an index of `COLORS`."""
        object_type = self.types[kind]
        thing: dict[str, Any] = {"object": object_type.name}
        if object_type.states and state:
            thing["state"] = object_type.states[state]
        if object_type.colored and color != NONE:
            thing["color"] = COLORS[color]
        return thing

    def layer_of(self, thing: CellThing) -> str:
        """Return the layer of the object in the legend entry `thing`: `ABOVE` for an agent or an
        unknown object."""
        name = thing.get("object")
        return self.types[str(name)].layer if name in self.types else ABOVE

    def replace_on_lower_layer(self, before: CellThing, thing: CellThing) -> dict[str, Any]:
        """Return the legend entry `before` with the object of `thing` on its own layer, which is
        below that of the main object of `before`. An object that is there is replaced."""
        layer = self.layer_of(thing)
        if layer in (GROUND, TERRAIN):
            return {**before, "ground": shorten_entry(thing)}
        others = list_middle_entries(before)
        others = [entry for entry in others if self.layer_of(as_entry(entry)) != layer]
        return _with_middle_entries(before, [*others, shorten_entry(thing)])


def list_middle_entries(thing: CellThing) -> list[Any]:
    """Return the entries of a legend entry's objects between ground and the uppermost layer."""
    between = thing.get("between", [])
    return between if isinstance(between, list) else [between]


def _with_middle_entries(thing: CellThing, between: list[Any]) -> dict[str, Any]:
    """Return a legend entry with the objects `between`: in the file a list if there are several,
    and no key if there are none."""
    rest = {key: part for key, part in thing.items() if key != "between"}
    return {**rest, "between": between if len(between) > 1 else between[0]} if between else rest


def as_entry(content: Any) -> dict[str, Any]:
    """Return a legend entry for the name of an object, or the entry itself."""
    return content if isinstance(content, dict) else {"object": content}


def shorten_entry(thing: CellThing) -> Any:
    """Return the name of the object of a legend entry that has nothing else, or the entry."""
    return thing["object"] if list(thing) == ["object"] else dict(thing)


def read_vocabulary(document: Document) -> Vocabulary:
    """Return the object types, colours and legend that the map of the scenario `document` may use.
    Parts with errors are replaced by defaults and not reported."""
    entries = document.root.value if isinstance(document.root.value, dict) else {}
    names = NameResolver(document, TypeIds.assign([document]), ErrorCollector(document.label))
    draws = RandomValues(names)

    def read(key: str, reader: Callable[[YamlNode], _T], default: _T) -> _T:
        with suppress(FieldError, ScenarioError):
            if key in entries:
                return reader(entries[key])
        return default

    with suppress(FieldError, ScenarioError):
        for node in list_referring_nodes(document.root):
            names.import_references(node)
    read("components", partial(declare_components, names), None)
    read("layers", partial(read_layers, names), None)
    read("objects", partial(read_object_types, names), None)
    read("draw", draws.read, None)
    legend: Legend = read("legend", partial(read_legend, draws), {})
    agents = read("agents", partial(read_agents, names), AgentSpecs())
    usual = names.list_grid_types()
    objects, colors = usual, USUAL_COLORS
    with suppress(FieldError, ScenarioError):
        space = fields.mapping(entries["state_space"]) if "state_space" in entries else {}
        if "objects" in space:
            objects = tuple(
                names.resolve_object_type(node) for node in fields.items(space["objects"])
            )
        if "colors" in space:
            color_names = [node.text for node in fields.items(space["colors"])]
            colors = tuple(COLORS.index(name) for name in color_names if name in COLORS)
    vocab = Vocabulary(
        names.types,
        objects,
        usual,
        colors=tuple(sorted({NONE, *colors})),
        agents=len(agents.bodies),
        names=names,
        headings=_find_headings(document.root.written),
    )
    legend_nodes: dict[str, YamlNode] = read("legend", fields.mapping, {})
    # the scenario's own characters first
    things = {key: vocab.normalize_entry(node.written) for key, node in legend_nodes.items()}
    for character, symbol in LEGEND.items():
        things.setdefault(character, vocab.thing_of_symbol(symbol))
    symbols = {key: symbol and _fix_symbol(symbol, draws) for key, symbol in legend.items()}
    return replace(vocab, legend={**LEGEND, **symbols}, things=things)


OTHERS = "Others"
HEADINGS = {
    "Basics": ("Floor", AGENT_KEY, "Wall", "Exit"),
    "Doors and keys": ("Door", "Key", "Box"),
    "Switches": ("switch", "hold_down", "follow"),
    "Crates": ("push", "cover", "all_covered"),
    "Hazards": ("overlap", "seen"),
    "To collect": ("use_up", "none_left"),
    "Movers": (
        *("MovingObstacle", "Telepod", "patrol", "chase", "convey", "slide", "elapse", "spread"),
        "let_pass",
    ),
    OTHERS: (),
}
"""Headings of the palette in order. Each has the names of the object types below it, and names of
rules: the object types that such a rule names are also put below it. The first match counts."""


def _find_headings(values: Any) -> dict[str, str]:
    """Return the palette heading for each object type. Types are assigned to headings by name, or
    by the rules that occur in `values`, the scenario as plain data."""
    rules = [part for part in iter_values(values) if isinstance(part, dict)]
    headings = {name: heading for heading, names in HEADINGS.items() for name in names}
    for key, heading in product(("object_type", "other_type", "ground_type"), HEADINGS):
        for rule in rules:
            if rule.get("name") in HEADINGS[heading] and key in rule:
                headings.setdefault(str(rule[key]), heading)
    return headings


def iter_values(value: Any) -> Iterator[Any]:
    """Yield `value` and, if it is a list or mapping, all values nested in it, without keys."""
    yield value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from iter_values(part)


def _fix_symbol(symbol: Symbol, draws: RandomValues) -> Symbol:
    """Return a parsed legend entry in which each random value is replaced by the first of its
    possible values."""
    option, facing = symbol.options[0], symbol.facing
    kind, state, color = (
        draws.list_possible_values(value)[0] for value in (option.kind, option.state, option.color)
    )
    if facing is not None:  # agents with any direction face up
        facing = draws.list_possible_values(facing)[0] % len(ORIENTATIONS)
    ground = symbol.ground and _fix_symbol(symbol.ground, draws)
    between = tuple(_fix_symbol(each, draws) for each in symbol.between)
    return Symbol(kind, state, color, facing, room=symbol.room, ground=ground, between=between)
