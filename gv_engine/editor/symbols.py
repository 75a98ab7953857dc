"""Vocabulary of a level: the object types, colours and legend characters that its cells may use. It
is read as far as the text is valid, so that the editor can draw faulty levels."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from components.appearance import FLOOR, NONE
from gv_engine.rules.errors import ScenarioError
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import COLORS, GROUND, OBJECT_TYPES, USUAL_COLORS, ObjectTypes
from gv_engine.scenario.agents import AgentSpecs, read_agents
from gv_engine.scenario.document import Document
from gv_engine.scenario.fields import ErrorCollector, FieldError, YamlNode, items, mapping
from gv_engine.scenario.map import LEGEND, Legend, Symbol, read_legend
from gv_engine.scenario.object_types import read_object_types
from gv_engine.scenario.random_values import RandomValues
from gv_engine.scenario.resolver import NameResolver
from gv_engine.scenario.type_ids import TypeIds, list_referring_nodes

CellThing = Mapping[str, Any]
"""Content of a cell as a legend entry without default values: {} is bare floor, {"object": "Key",
"color": "RED"}, {"agent": "LEFT", "ground": "Ice"}."""

AGENT_KEY = "agent"
_FLOOR: CellThing = {}


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
    """

    types: ObjectTypes = OBJECT_TYPES
    objects: tuple[int, ...] = ()
    usual: tuple[int, ...] = ()
    colors: tuple[int, ...] = USUAL_COLORS
    legend: Legend = field(default_factory=dict)
    things: Mapping[str, CellThing] = field(default_factory=dict)
    agents: int = 1
    names: NameResolver | None = None

    def normalize_entry(self, entry: Any) -> CellThing:
        """Return a legend entry without default values."""
        if not isinstance(entry, dict):
            entry = {"object": entry}
        thing = {key: part for key, part in entry.items() if part is not None}
        name = str(thing.get("object", ""))
        if name == OBJECT_TYPES[FLOOR].name:
            del thing["object"]
        states = self.types[name].states if name in self.types else ()
        if states and thing.get("state") == states[0]:
            del thing["state"]
        if thing.get("color") == COLORS[NONE]:
            del thing["color"]
        if isinstance(thing.get("ground"), dict):
            ground = self.normalize_entry(thing["ground"])
            thing["ground"] = ground["object"] if list(ground) == ["object"] else ground
        return thing

    def thing_of_symbol(self, symbol: Symbol) -> CellThing:
        """Return the content of a symbol without random values."""
        thing: dict[str, Any] = {}
        if symbol.kind != FLOOR:
            thing = self.thing_of_type(symbol.kind, symbol.state, symbol.color)
        if symbol.facing is not None:
            thing[AGENT_KEY] = ORIENTATIONS[symbol.facing]
        if symbol.ground:
            ground = self.thing_of_symbol(symbol.ground)
            thing["ground"] = ground["object"] if list(ground) == ["object"] else ground
        return thing

    def thing_of_type(self, kind: int, state: int = 0, color: int = NONE) -> dict[str, Any]:
        """Return the content of a cell with an object of a type."""
        object_type = self.types[kind]
        thing: dict[str, Any] = {"object": object_type.name}
        if object_type.states and state:
            thing["state"] = object_type.states[state]
        if object_type.colored and color != NONE:
            thing["color"] = COLORS[color]
        return thing

    def is_ground(self, thing: CellThing) -> bool:
        """Return whether the content lies on the ground."""
        name = thing.get("object")
        return name in self.types and self.types[str(name)].layer == GROUND


def read_vocabulary(document: Document) -> Vocabulary:
    """Return the vocabulary of a document; errors are ignored, as other checks report them."""
    ignored = ErrorCollector(document.label)
    entries = document.root.value if isinstance(document.root.value, dict) else {}
    numbering = TypeIds.assign([document])
    names = NameResolver(document, numbering)
    draws = RandomValues(ignored, names)
    legend: Legend = {}
    agents = AgentSpecs()
    with suppress(FieldError, ScenarioError):
        for node in list_referring_nodes(document.root):
            names.import_references(node)
    with suppress(FieldError, ScenarioError):
        if "objects" in entries:
            names.declared_types = read_object_types(
                ignored, names, entries["objects"], document.folder
            )
    with suppress(FieldError, ScenarioError):
        if "draw" in entries:
            draws.read(entries["draw"])
    with suppress(FieldError, ScenarioError):
        if "legend" in entries:
            legend = read_legend(ignored, names, draws, entries["legend"])
    with suppress(FieldError, ScenarioError):
        if "agents" in entries:
            agents = read_agents(ignored, names, entries["agents"])
    usual = names.list_grid_types()
    objects, colors = usual, USUAL_COLORS
    with suppress(FieldError, ScenarioError):
        space = mapping(entries["state_space"]) if "state_space" in entries else {}
        if "objects" in space:
            objects = tuple(names.resolve_object_type(node) for node in items(space["objects"]))
        if "colors" in space:
            color_names = [node.text for node in items(space["colors"])]
            colors = tuple(COLORS.index(name) for name in color_names if name in COLORS)
    vocabulary = Vocabulary(
        names.types,
        objects,
        usual,
        tuple(sorted({NONE, *colors})),
        agents=len(agents.bodies),
        names=names,
    )
    return _with_legend(vocabulary, legend, entries.get("legend"), draws)


def _with_legend(
    vocabulary: Vocabulary, legend: Legend, node: YamlNode | None, draws: RandomValues
) -> Vocabulary:
    """Return the vocabulary with the built-in legend and the scenario's own."""
    entries = node.value if node and isinstance(node.value, dict) else {}
    things = {
        character: vocabulary.normalize_entry(entry.plain) for character, entry in entries.items()
    }
    built_in = {
        character: vocabulary.thing_of_symbol(symbol)
        for character, symbol in LEGEND.items()
        if character not in things
    }
    symbols = {c: symbol and _fixed_symbol(symbol, draws) for c, symbol in legend.items()}
    return replace(vocabulary, legend={**LEGEND, **symbols}, things={**things, **built_in})


def _fixed_symbol(symbol: Symbol, draws: RandomValues) -> Symbol:
    """Return a symbol with the first option in place of each random value."""
    first = symbol.options[0]
    kind, state, color = (
        draws.list_possible_values(value)[0] for value in (first.kind, first.state, first.color)
    )
    facing = symbol.facing
    if facing is not None:
        facing = draws.list_possible_values(facing)[0] % len(
            ORIENTATIONS
        )  # agents with any direction face up
    ground = symbol.ground and _fixed_symbol(symbol.ground, draws)
    return Symbol(kind, state, color, facing, room=symbol.room, ground=ground)
