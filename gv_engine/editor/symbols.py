"""What may stand in the cells of a level, as far as its text can be understood: it may be faulty,
and the editor still draws it."""

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
"""What stands in a cell, as an entry of a legend says it, without what goes without saying: {} is
the bare floor, {"object": "Key", "color": "RED"}, {"agent": "LEFT", "ground": "Ice"}."""

AGENT_KEY = "agent"
_FLOOR: CellThing = {}


@dataclass(frozen=True)
class Vocabulary:
    """What characters stand for, and what else might stand there.

    Attributes:
        types: all that may be named.
        objects: indices of those that may be on the grid, by the `state_space`.
        usual: indices of those that might be, if it said so.
        colors: indices of colours that may be there.
        legend: what characters stand for, with those that are built in; None for a faulty entry.
        things: the same as the text says it, the scenario's own characters first.
        agents: how many there are.
        names: that the text may use.
    """

    types: ObjectTypes = OBJECT_TYPES
    objects: tuple[int, ...] = ()
    usual: tuple[int, ...] = ()
    colors: tuple[int, ...] = USUAL_COLORS
    legend: Legend = field(default_factory=dict)
    things: Mapping[str, CellThing] = field(default_factory=dict)
    agents: int = 1
    names: NameResolver | None = None

    def plain(self, entry: Any) -> CellThing:
        """An entry of a legend, without what goes without saying."""
        if not isinstance(entry, dict):
            entry = {"object": entry}
        told = {key: part for key, part in entry.items() if part is not None}
        name = str(told.get("object", ""))
        if name == OBJECT_TYPES[FLOOR].name:
            del told["object"]
        states = self.types[name].states if name in self.types else ()
        if states and told.get("state") == states[0]:
            del told["state"]
        if told.get("color") == COLORS[NONE]:
            del told["color"]
        if isinstance(told.get("ground"), dict):
            ground = self.plain(told["ground"])
            told["ground"] = ground["object"] if list(ground) == ["object"] else ground
        return told

    def thing_of(self, symbol: Symbol) -> CellThing:
        """What a symbol says that draws nothing."""
        told: dict[str, Any] = {}
        if symbol.kind != FLOOR:
            told = self.object_thing(symbol.kind, symbol.state, symbol.color)
        if symbol.facing is not None:
            told[AGENT_KEY] = ORIENTATIONS[symbol.facing]
        if symbol.ground:
            ground = self.thing_of(symbol.ground)
            told["ground"] = ground["object"] if list(ground) == ["object"] else ground
        return told

    def object_thing(self, kind: int, state: int = 0, color: int = NONE) -> dict[str, Any]:
        """An object of a type."""
        known = self.types[kind]
        told: dict[str, Any] = {"object": known.name}
        if known.states and state:
            told["state"] = known.states[state]
        if known.colored and color != NONE:
            told["color"] = COLORS[color]
        return told

    def is_ground(self, thing: CellThing) -> bool:
        """Whether it lies on the ground."""
        name = thing.get("object")
        return name in self.types and self.types[str(name)].layer == GROUND


def vocabulary(document: Document) -> Vocabulary:
    """The vocabulary of a document; what is wrong there, others say."""
    unheard = ErrorCollector(document.label)
    entries = document.root.value if isinstance(document.root.value, dict) else {}
    numbering = TypeIds.assign([document])
    names = NameResolver(document, numbering)
    draws = RandomValues(unheard, names)
    legend: Legend = {}
    crew = AgentSpecs()
    with suppress(FieldError, ScenarioError):
        for node in list_referring_nodes(document.root):
            names.import_references(node)
    with suppress(FieldError, ScenarioError):
        if "objects" in entries:
            names.declared_types = read_object_types(
                unheard, names, entries["objects"], document.folder
            )
    with suppress(FieldError, ScenarioError):
        if "draw" in entries:
            draws.read(entries["draw"])
    with suppress(FieldError, ScenarioError):
        if "legend" in entries:
            legend = read_legend(unheard, names, draws, entries["legend"])
    with suppress(FieldError, ScenarioError):
        if "agents" in entries:
            crew = read_agents(unheard, names, entries["agents"])
    usual = names.list_grid_types()
    objects, colors = usual, USUAL_COLORS
    with suppress(FieldError, ScenarioError):
        space = mapping(entries["state_space"]) if "state_space" in entries else {}
        if "objects" in space:
            objects = tuple(names.resolve_object_type(node) for node in items(space["objects"]))
        if "colors" in space:
            found = [node.text for node in items(space["colors"])]
            colors = tuple(COLORS.index(name) for name in found if name in COLORS)
    known = Vocabulary(
        names.types,
        objects,
        usual,
        tuple(sorted({NONE, *colors})),
        agents=len(crew.bodies),
        names=names,
    )
    return _with_legend(known, legend, entries.get("legend"), draws)


def _with_legend(
    known: Vocabulary, legend: Legend, node: YamlNode | None, draws: RandomValues
) -> Vocabulary:
    own = node.value if node and isinstance(node.value, dict) else {}
    things = {character: known.plain(entry.plain) for character, entry in own.items()}
    usual = {
        character: known.thing_of(symbol)
        for character, symbol in LEGEND.items()
        if character not in things
    }
    shown = {c: symbol and _shown(symbol, draws) for c, symbol in legend.items()}
    return replace(known, legend={**LEGEND, **shown}, things={**things, **usual})


def _shown(symbol: Symbol, draws: RandomValues) -> Symbol:
    """The symbol with the first of what it may be in place of what is drawn."""
    first = symbol.options[0]
    kind, state, color = (
        draws.list_possible_values(value)[0] for value in (first.kind, first.state, first.color)
    )
    facing = symbol.facing
    if facing is not None:
        facing = draws.list_possible_values(facing)[0] % len(
            ORIENTATIONS
        )  # whoever looks anywhere looks up
    ground = symbol.ground and _shown(symbol.ground, draws)
    return Symbol(kind, state, color, facing, room=symbol.room, ground=ground)
