"""Agents and object types of a scenario file."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import cycle, islice
from typing import Annotated, Any, NamedTuple

import numpy as np

from components.core import FLOOR, NONE, Agent, Color, Kind, Mission, Position
from components.items import Bodiless, Opaque, Solid
from components.objects import AGENT_TYPE
from gv_engine.rules import objects
from gv_engine.rules.component import (
    Bounds,
    Field,
    component,
    field_values,
    fields_of,
    to_snake_case,
)
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.objects import (
    ABOVE,
    GROUND,
    LAYERS,
    TERRAIN,
    USUAL_COLORS,
    ObjectType,
    Prefab,
    build_type,
)
from gv_engine.rules.turns import DONE, ENDS, SINGLE_AGENT, TURNS, AgentGroup
from gv_engine.scenario.readers.resolver import (
    NameResolver,
    built_in_component_names,
    make_yaml_module_name,
)
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.fields import ErrorCollector, YamlNode
from gv_engine.scenario.syntax.json_schema import Key, KeyTable

COMPONENTS = schema.any_of(
    schema.list_of(schema.TEXT), schema.map_of({"type": ["object", "array", "null"]})
)
"""Schema of the components of a type or state."""
OBJECT_TYPE_KEYS: KeyTable = {
    "components": Key(
        "Components: built-in names or `./rules.py:Worth`, or a mapping of names to values.",
        COMPONENTS,
    ),
    "states": Key(
        "States, the initial one first. A mapping gives each state its components.", COMPONENTS
    ),
    "color": Key("Initial colour.", schema.COLOR),
    "colored": Key("True for a type with colours.", schema.BOOLEAN),
    "sprite": Key(
        "Base name of the sprites. By default, that of the type in snake_case.", schema.TEXT
    ),
    "glyph": Key(
        "Word on a plain tile, in place of a sprite: `PUSH`. A mapping gives each state its word.",
        schema.any_of(schema.TEXT, schema.map_of(schema.TEXT)),
    ),
    "leaves": Key("Object type that replaces a used-up object.", schema.OBJECT),
    "layer": Key(
        "Layer: `above`, the default, `ground` beneath it, `terrain`, a ground whose cells share "
        "one entity, or one of the scenario's `layers`.",
        schema.TEXT,
    ),
}
"""Keys of the declaration of an object type."""
_RESERVED_COMPONENTS = {
    Agent: "only agents have it",
    Color: "write `colored: yes`, or `color: RED`",
    Kind: "every object has it",
    Position: "every object has it",
}
"""Components that no type may list, with the reason."""
_MAX_STATES = 128  # `Condition.value` has 8 bits


START_KEYS: KeyTable = {
    "start": Key("Start value.", schema.PLAIN, required=True),
    "min": Key("Least value. By default, 0.", schema.NUMBER),
    "max": Key("Greatest value, at which rules such as `heal` stop.", schema.NUMBER),
}
START_FORM = schema.any_of(
    {"type": ["number", "boolean"]}, {**schema.object_schema(START_KEYS), "title": "bounds"}
)


def declare_components(names: NameResolver, node: YamlNode) -> None:
    """Read the components that the scenario file declares under `components`, and store them in
    `names.declared_components`. Components with errors are reported and left out."""
    for name, entry in fields.mapping(node).items():
        with names.problems.collect():
            if not (name.isidentifier() and name.isascii() and name[0].isupper()):
                raise entry.error(
                    f"found the name {name!r}, expected one like `Health`, of the letters a to z"
                )
            if name in (*built_in_component_names(), Mission.__name__):
                raise entry.error(f"a component {name!r} already exists; choose another name")
            starts = {} if entry.value is None else fields.mapping(entry)
            read = [(field, *_read_start(names, field, start)) for field, start in starts.items()]
            # types tell 1 from 1.0 and true, which are equal
            types = tuple(type(start) for _, start, _ in read)
            with entry.report(TypeError):
                names.declared_components[name] = _make_component(name, tuple(read), types)


def _read_start(names: NameResolver, field: str, node: YamlNode) -> tuple[Any, Bounds | None]:
    """Return the start value and the bounds, if any, that a YAML node gives for a field of a
    component. Raise FieldError if `field` is no name for a field."""
    if not re.fullmatch("[a-z][a-z0-9_]*", field) or keyword.iskeyword(field):
        raise node.error(f"found the name {field!r}, expected one like `points`")
    if not isinstance(node.value, dict):
        return _read_start_value(node), None
    entries = fields.read_fields(names.problems, node, START_KEYS)
    if "start" not in entries:
        raise node.error("`start` is missing: {start: 3, max: 5}")
    start: Any = _read_start_value(entries["start"])
    ends = [_read_start_value(entries[key]) if key in entries else None for key in ("min", "max")]
    if ends == [None, None]:
        return start, None
    most = np.inf if isinstance(start, float) else fields.INT32_MAX
    return start, Bounds(ends[0] or 0, most if ends[1] is None else ends[1])


def _read_start_value(node: YamlNode) -> float:
    value: float | tuple[Any, ...] = fields.read_plain(node)
    if isinstance(value, tuple):
        raise node.error(f"found {node.summary}, expected a number, true or false")
    return value


@cache
def _make_component(
    name: str, starts: tuple[tuple[str, Any, Bounds | None], ...], types: tuple[type, ...]
) -> type:
    """Return a component class called `name` with a field for each of `starts` (its name, start
    value and bounds) and of `types`. Equal declarations, such as those of a mixture's members,
    share one class."""
    hints = {
        field: Annotated[kind, bounds] if bounds else kind
        for (field, _, bounds), kind in zip(starts, types, strict=True)
    }
    values = {field: start for field, start, _ in starts}
    namespace = {"__module__": "the scenario file", "__annotations__": hints, **values}
    return component(type(name, (), namespace))


def read_layers(names: NameResolver, node: YamlNode) -> None:
    """Read the names of the layers of a cell, from the ground up, and store them in `names`."""
    listed = fields.limited_items(node, _MAX_LAYERS, "layers", minimum=2)
    layers = fields.read_distinct(names.problems, node, fields.text)
    if len(layers) < len(listed):  # told by `read_distinct`
        return
    if layers[0] != GROUND:
        raise listed[0].error(f"found {layers[0]!r}, expected `{GROUND}`, the lowest layer")
    for name, item in zip(layers[1:], listed[1:]):
        if name == TERRAIN or not objects.is_layer_name(name):
            raise item.error(f"found the name {name!r}, expected one like `item`")
        if name == ABOVE and name != layers[-1]:
            raise item.error(f"`{ABOVE}` is the uppermost layer; list it last")
    names.layers = layers


def read_object_types(names: NameResolver, node: YamlNode) -> None:
    """Read the object types that the scenario file declares under `objects`, and store them in
    `names.declared_types`. Types with errors are reported and left out."""
    module = make_yaml_module_name(node, names.folder)
    types: dict[str, ObjectType] = {}
    for name, entry in fields.mapping(node).items():
        with names.problems.collect():
            types[name] = _read_object_type(names, name, entry, module)
    names.declared_types = tuple(types.values())
    for name, object_type in types.items():  # only now, as all names are known
        entries = fields.mapping(fields.mapping(node)[name])
        if "leaves" in entries:
            with names.problems.collect():
                types[name] = replace(object_type, leaves=_read_successor(names, entries["leaves"]))
    names.declared_types = tuple(types.values())


def _read_successor(names: NameResolver, node: YamlNode) -> int | None:
    """Return the index of the object type that an object becomes when it is used up. None for plain
    floor."""
    index = names.resolve_object_type(node)
    if not names.types[index].in_grid:
        raise node.error(f"{node.text} cannot stand in a cell")
    return None if index == FLOOR else index


def _read_object_type(names: NameResolver, name: str, node: YamlNode, module: str) -> ObjectType:
    """Read the declaration of the object type `name` from a YAML mapping. `module` is the module
    name that the type gets."""
    if not (name.isidentifier() and name.isascii() and name[0].isupper()):
        raise node.error(
            f"found the name {name!r}, expected one like `Gate`, of the letters a to z"
        )
    if names.is_type_taken(name):
        raise node.error(f"an object type {name!r} already exists; choose another name")
    entries = fields.read_fields(names.problems, node, OBJECT_TYPE_KEYS)
    read = partial(names.problems.read_key, entries)
    components: list[Any] = read("components", lambda entry: read_components(names, entry), [])
    with names.problems.collect():
        components += _read_color_component(entries)
    states: dict[str, list[Any]] = read("states", lambda entry: _read_states(names, entry), {})
    sprite = read("sprite", _read_sprite, to_snake_case(name))
    layers = [*dict.fromkeys((*names.layers, *LAYERS))]
    layer = read("layer", partial(fields.choose, choices=layers, label="layer"), ABOVE)
    glyph = read("glyph", _read_glyph, "")
    with node.report(ValueError):
        index = objects.check_type_index(names.numbering.text_types[module, name], name)
        return build_type(
            name,
            *components,
            states=states,
            sprite=sprite,
            module=module,
            layer=ABOVE if layer == names.layers[-1] else layer,
            glyph=glyph,
            index=index,
        )


def _read_color_component(entries: dict[str, YamlNode]) -> list[Any]:
    """Return `[Color()]` if the declared object type has a colour, else []. `entries` are those of
    its YAML mapping."""
    color = fields.read_color(entries["color"]) if "color" in entries else NONE
    is_colored = fields.boolean(entries["colored"]) if "colored" in entries else "color" in entries
    if color != NONE and not is_colored:
        raise entries["color"].error("a colour for a type without `colored: yes`")
    return [Color(color)] if is_colored else []


def _read_sprite(node: YamlNode) -> str:
    """Return the sprite name in a YAML node: the name of an image file without folder and suffix.
    Raise FieldError if it is not such a name."""
    name = fields.text(node)
    if not name.replace("-", "_").isidentifier():
        raise node.error(f"found {node.summary}, expected the name of a drawing, without `.svg`")
    return name


def _read_glyph(node: YamlNode) -> str | dict[str, str]:
    """Return the word on the tile of an object type, or the words by state."""
    if isinstance(node.value, dict):
        return {state: fields.text(entry) for state, entry in fields.mapping(node).items()}
    return fields.text(node)


def _read_states(names: NameResolver, node: YamlNode) -> dict[str, list[Any]]:
    """Return the states of an object type, each with the components that objects have in it. In a
    plain list of names, states have no components."""
    entries: dict[str, tuple[YamlNode, YamlNode | None]]  # nodes of name and components, by name
    if isinstance(node.value, dict):
        entries = {name: (entry, entry) for name, entry in node.value.items()}
    else:
        entries = {fields.text(item): (item, None) for item in fields.items(node)}
        if len(entries) < len(fields.items(node)):
            raise node.error("a state is listed twice")
    if not 1 <= len(entries) <= _MAX_STATES:
        raise node.error(f"found {node.summary}, expected 1 to {_MAX_STATES} states")
    states: dict[str, list[Any]] = {}
    for name, (name_node, components) in entries.items():
        if not name.isidentifier():
            raise name_node.error(f"found the state {name!r}, expected a name like `OPEN`")
        states[name] = [] if components is None else read_components(names, components)
    return states


def read_components(names: NameResolver, node: YamlNode) -> list[Any]:
    """Make the components that a YAML node lists: a list of names, or a mapping from names to
    values of fields."""
    entries: list[tuple[YamlNode, YamlNode | None]]  # nodes of name and field values
    if isinstance(node.value, dict):
        entries = [(replace(at, value=name, text=name), at) for name, at in node.value.items()]
    else:
        entries = [(item, None) for item in fields.items(node)]
    components: dict[type, Any] = {}
    for name, values in entries:
        with names.problems.collect():
            if isinstance(name.value, dict):
                example = "components: {Solid: {}, ./rules.py:Worth: {value: 2}}"
                raise name.error(f"found a mapping, expected a name; to set values write {example}")
            cls = names.resolve_component(name)
            if cls in _RESERVED_COMPONENTS:
                reason = _RESERVED_COMPONENTS[cls]
                raise name.error(f"a type cannot list {cls.__name__}: {reason}")
            if cls in components:
                raise name.error(f"{cls.__name__} is listed twice")
            initial = {} if values is None else _read_field_values(names.problems, cls, values)
            components[cls] = cls(**initial)
    return list(components.values())


def _read_field_values(problems: ErrorCollector, cls: type, node: YamlNode) -> dict[str, Any]:
    """Return the values for fields of the component class `cls` in a YAML mapping, by field name.
    Errors go to `problems`."""
    if node.value is None:
        return {}
    # entities and coordinates are not known before a level begins
    settable = {f.name: f for f in fields_of(cls) if isinstance(f.dtype, np.dtype)}
    if not settable and fields.mapping(node):
        raise node.error(f"{cls.__name__} has no values to set; write {{}}")
    values = {}
    for name, entry in fields.mapping(node).items():
        with problems.collect():
            if name not in settable:
                hint = describe_allowed(name, settable)
                raise entry.error(f"{cls.__name__} has no {name!r}{hint}")
            read = _read_array if settable[name].items else _read_number
            values[name] = read(entry, settable[name])
    return values


def _read_array(node: YamlNode, field: Field) -> tuple[float, ...]:
    """Return the numbers for an array field. The YAML node has a mapping from item names to numbers
    (missing ones get defaults), a list, or one number for all items."""
    if isinstance(node.value, dict):
        numbers = dict(zip(field.items, field.default))
        for name, entry in fields.mapping(node).items():
            if name not in numbers:
                raise entry.error(f"no item {name!r}{describe_allowed(name, field.items)}")
            numbers[name] = _read_number(entry, field)
        return tuple(numbers.values())
    if not isinstance(node.value, list):
        return (_read_number(node, field),) * len(field.items)
    entries = fields.items(node)
    if len(entries) != len(field.items):
        raise node.error(
            f"found {len(entries)} numbers, expected {len(field.items)}: {', '.join(field.items)}"
        )
    return tuple(_read_number(entry, field) for entry in entries)


def _read_number(node: YamlNode, field: Field) -> float:
    """Return the number in a YAML node for a component's field. Raise FieldError if it does not fit
    the field's dtype."""
    dtype: Any = field.dtype
    if dtype.kind == "b":
        return fields.boolean(node)
    if dtype.kind == "f":
        return fields.number(node)
    return fields.integer(node, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


_MAX = 256
_MAX_LAYERS = 8
_BLOCKS = {"movement": Solid, "sight": Opaque}

AGENT_KEYS: KeyTable = {
    "number": Key("Number of agents, `agent_1` and so on.", schema.integer_schema(1, _MAX)),
    "names": Key("Names, in place of a number.", schema.list_of(schema.TEXT, maxItems=_MAX)),
    "teams": Key(
        "Teams, for the key `for` of a rule: `{reds: [ann, bob]}`.",
        schema.map_of(schema.unique_list(schema.TEXT), maxProperties=_MAX),
    ),
    "colors": Key("Colours of the agents, in turn.", schema.list_of(schema.COLOR)),
    "blocks": Key(
        "Effect of agents on each other: they block `[movement]`, the default, "
        "`[movement, sight]`, or nothing, `[]`.",
        schema.list_of(schema.enum_schema(_BLOCKS, "obstacle")),
    ),
    "components": Key("Further components, as for objects.", COMPONENTS),
    "turns": Key(
        "Order of the agents in each step: `fixed`, `rotating` or `shuffled`.",
        schema.enum_schema(TURNS, "turns"),
    ),
    "done": Key(
        "Place of an agent whose episode has ended: `stay` in its cell, or `leave` "
        "the grid before the next step.",
        schema.enum_schema(DONE, "done"),
    ),
    "ends": Key(
        "End of the world's episode: when `all` agents are done, or `any`.",
        schema.enum_schema(ENDS, "ends"),
    ),
}
AGENTS_FORM = schema.any_of(
    schema.integer_schema(1, _MAX),
    schema.list_of(schema.TEXT, maxItems=_MAX),
    schema.object_schema(AGENT_KEYS),
)

WORLD_KEYS: KeyTable = {
    "components": Key("Components, as for objects.", COMPONENTS, required=True),
}

Teams = tuple[tuple[str, tuple[int, ...]], ...]
"""(name, numbers of its members) of each team."""


class AgentSpecs(NamedTuple):
    """Specification of all agents of a scenario.

    Attributes:
        agent_group: settings of the agents as a group, such as their names, teams and turn order.
        bodies: components of each agent, besides those that every agent has.
        kinds, colors: types and colours that other agents see.
    """

    agent_group: AgentGroup = SINGLE_AGENT
    bodies: tuple[Prefab, ...] = ((),)
    kinds: tuple[int, ...] = ()
    colors: tuple[int, ...] = ()

    def with_component(self, cls: type) -> AgentSpecs:
        """Return a copy in which agents that do not list the component `cls` have it with its
        default values."""
        default = cls, field_values(cls())
        bodies = tuple(tuple(dict((default, *body)).items()) for body in self.bodies)
        return self._replace(bodies=bodies)

    def read_agent_mask(self, node: YamlNode) -> tuple[bool, ...]:
        """Read a YAML list of agents and teams. Return a tuple indexed by agent number, True for
        agents that are listed or whose team is; entry 0 is unused."""
        if len(self.bodies) == 1:
            raise node.error("only several agents have names; there is one")
        agents_by_name = self.agent_group.agents_by_name
        selected: set[int] = set()
        for item in fields.list_or_single(node):
            name = fields.text(item)
            if name not in agents_by_name:
                hint = describe_allowed(name, agents_by_name)
                raise item.error(f"no agent or team {name!r}{hint}")
            selected.update(agents_by_name[name])
        if not selected:
            raise node.error("found an empty list, expected at least one name")
        return tuple(agent in selected for agent in range(len(self.bodies) + 1))


ANY_AGENTS = AgentSpecs(bodies=((),) * _MAX)
"""Placeholder after an error in `agents`; suppresses follow-up errors about the number of
agents."""


def read_world_components(names: NameResolver, node: YamlNode) -> Prefab:
    """Return the components listed under the key `world` as (class, field values) pairs."""
    entries = fields.read_fields(names.problems, node, WORLD_KEYS)
    if "components" not in entries:
        raise node.error("`components` is missing: {components: [./rules.py:Weather]}")
    if not entries["components"].value:
        raise entries["components"].error("found no components, expected at least one")
    return _read_parts(names, entries["components"])


def _read_parts(names: NameResolver, node: YamlNode) -> Prefab:
    return tuple((type(part), field_values(part)) for part in read_components(names, node))


def read_agents(names: NameResolver, node: YamlNode) -> AgentSpecs:
    """Read the key `agents`: a number, a list of names, or a mapping with the keys `AGENT_KEYS`."""
    problems, entries = names.problems, dict[str, YamlNode]()
    if isinstance(node.value, dict):
        entries = fields.read_fields(problems, node, AGENT_KEYS)
    agent_names = _read_agent_names(problems, node, entries)
    if not agent_names:
        return ANY_AGENTS

    def read_value(key: str, default: Any) -> Any:
        return problems.read_key(entries, key, AGENT_KEYS[key].read, default)

    agent_group = AgentGroup(
        agent_names,
        read_value("turns", SINGLE_AGENT.turns),
        read_value("done", SINGLE_AGENT.done),
        read_value("ends", SINGLE_AGENT.ends),
        problems.read_key(
            entries, "teams", lambda entry: _read_teams(problems, entry, agent_names), ()
        ),
    )
    colors, blocks = read_value("colors", ()), read_value("blocks", ("movement",))
    listed = problems.read_key(entries, "components", partial(_read_parts, names), ())
    if len(agent_names) == 1:
        return AgentSpecs(bodies=(listed,))
    if Bodiless in dict(listed):
        raise node.error("only a single agent can be Bodiless")
    colors = tuple(islice(cycle(colors or USUAL_COLORS[1:]), len(agent_names)))
    blocking = [(cls, ()) for name, cls in _BLOCKS.items() if name in blocks]
    parts = dict((*blocking, *listed)).items()
    bodies = [((Kind, (AGENT_TYPE,)), (Color, (color,)), *parts) for color in colors]
    return AgentSpecs(agent_group, tuple(bodies), (AGENT_TYPE,), colors)


def _read_agent_names(
    problems: ErrorCollector, node: YamlNode, entries: Mapping[str, YamlNode]
) -> tuple[str, ...]:
    """Return the agents' names: those in the YAML list, or `agent_1` and so on for a number. () if
    all have errors. `entries` are the other keys of `agents`."""
    if "number" in entries and "names" in entries:
        raise node.error("agents have either a `number` or `names`; both are given")
    names_node = entries.get("names", node if isinstance(node.value, list) else None)
    if names_node is not None:
        fields.limited_items(names_node, _MAX, "agents", minimum=0)
        return fields.read_distinct(problems, names_node, _read_name)
    count = 1
    if not isinstance(node.value, dict) or "number" in entries:
        count = fields.integer(entries.get("number", node), 1, _MAX)
    return tuple(f"agent_{number}" for number in range(1, count + 1))


_is_name = re.compile(r"[\w-]+").fullmatch
# other characters separate agents in the text of a step
_EXPECTED = "expected a name of letters, digits, _ and -"


def _read_name(node: YamlNode) -> str:
    """Return an agent's name. Raise FieldError if it contains other characters than letters,
    digits, `_` and `-`."""
    name = fields.text(node)
    if not _is_name(name):
        raise node.error(f"found {name!r}, {_EXPECTED}")
    return name


def _read_teams(problems: ErrorCollector, node: YamlNode, names: Sequence[str]) -> Teams:
    """Read the key `teams`, a mapping from team names to lists of agents. Return (team, agent
    numbers) pairs. `names` are the names of all agents."""
    entries = fields.mapping(node)
    if len(entries) > _MAX:
        raise node.error(f"found {len(entries)} teams, expected at most {_MAX}")
    read_agent = partial(fields.read_choice, choices=names, label="agent")
    teams = []
    for team, members in entries.items():
        with problems.collect():
            if team in names:
                raise members.error(f"{team!r} is an agent; give the team another name")
            if not _is_name(team):
                raise members.error(f"found the team {team!r}, {_EXPECTED}")
            indices = fields.read_distinct(problems, members, read_agent)
            teams.append((team, tuple(index + 1 for index in indices)))
    return tuple(teams)
