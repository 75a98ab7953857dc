"""Object types that a scenario declares in text.

objects:
  Gate: {states: {CLOSED: [Solid, Opaque], OPEN: []}, colored: yes}
  Crate: {components: [Solid, Portable]}
  Coin: {components: {./rules.py:Worth: {value: 2}}, leaves: Hole}
  Hole: {sprite: pit}
  Plate: {layer: ground, states: [UP, DOWN]}
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from components import Agent, Color, Kind, Position
from components.appearance import FLOOR, NONE
from gv_engine.rules.component import Field, fields_of, to_snake_case
from gv_engine.rules.objects import ABOVE, LAYERS, ObjectType, build_type, check_type_index
from gv_engine.scenario import fields
from gv_engine.scenario import json_schema as schema
from gv_engine.scenario.fields import ErrorCollector, YamlNode
from gv_engine.scenario.json_schema import Key, KeyTable
from gv_engine.scenario.resolver import NameResolver, make_text_module

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
        "States, the initial one first; as a mapping, each with its components.",
        COMPONENTS,
    ),
    "color": Key("Initial colour.", schema.COLOR),
    "colored": Key("True for a type with colours.", schema.BOOLEAN),
    "sprite": Key("Base name of the sprites; by default the type's in snake_case.", schema.TEXT),
    "leaves": Key("Object type that replaces a used-up object.", schema.OBJECT),
    "layer": Key(
        "Layer: `ground`, beneath other objects, or `above`, the default.",
        schema.enum_schema(LAYERS, "layer"),
    ),
}
"""Keys of the declaration of an object type."""
_RESERVED_COMPONENTS = {
    Agent: "it makes the agent",
    Color: "write `colored: yes`, or `color: RED`",
    Kind: "every object has it",
    Position: "every object has it",
}
"""Components that no type may list, with the reason."""
_MAX_STATES = 100
"""States of a type at most."""


def read_object_types(names: NameResolver, node: YamlNode, folder: Path) -> tuple[ObjectType, ...]:
    """Return the object types that a scenario file declares under `objects`, in order, without
    those that have errors.

    Args:
        names: resolver of the names and collector of errors; its `declared_types` become the
            returned types.
        node: the value of `objects`.
        folder: folder that references of the types are relative to.
    """
    module = make_text_module(node, folder)
    types: dict[str, ObjectType] = {}
    for name, entry in fields.mapping(node).items():
        with names.problems.collect():
            types[name] = _read_object_type(names, name, entry, module)
    names.declared_types = tuple(types.values())
    for name, object_type in types.items():
        entries = fields.mapping(fields.mapping(node)[name])
        if "leaves" in entries:
            with names.problems.collect():
                types[name] = replace(object_type, leaves=_read_remains(names, entries["leaves"]))
    return tuple(types.values())


def _read_remains(names: NameResolver, node: YamlNode) -> int | None:
    """Return the number of the object type that is left in the cell when an object is used up; None
    for plain floor."""
    index = names.resolve_object_type(node)
    if not names.types[index].in_grid:
        raise node.error(f"{node.text} cannot stand in a cell")
    return None if index == FLOOR else index


def _read_object_type(names: NameResolver, name: str, node: YamlNode, module: str) -> ObjectType:
    """Return the object type `name` that the mapping in `node` declares; `module` is the module
    name of types without Python."""
    if not (name.isidentifier() and name.isascii() and name[0].isupper()):
        raise node.error(f"found the name {name!r}, expected one like `Gate` or `IronGate`")
    if names.is_type_taken(name):
        raise node.error(f"there is an object type {name!r} already; choose another name")
    entries = fields.read_fields(names.problems, node, OBJECT_TYPE_KEYS)
    read = partial(names.problems.read_key, entries)
    components: list[Any] = read("components", lambda entry: read_components(names, entry), [])
    with names.problems.collect():
        components += _read_color_component(entries)
    states: dict[str, list[Any]] = read("states", lambda entry: _read_states(names, entry), {})
    sprite = read("sprite", _read_sprite, to_snake_case(name))
    layer = read("layer", OBJECT_TYPE_KEYS["layer"].read, ABOVE)
    try:
        index = check_type_index(names.numbering.text_types[module, name], name)
        return build_type(
            name, *components, states=states, sprite=sprite, module=module, layer=layer, index=index
        )
    except ValueError as error:
        raise node.error(str(error)) from None


def _read_color_component(entries: dict[str, YamlNode]) -> list[Any]:
    """Return a list with the component `Color` if the object type that `entries` declares has a
    colour; otherwise an empty list."""
    color = fields.read_color(entries["color"]) if "color" in entries else NONE
    colored = fields.boolean(entries["colored"]) if "colored" in entries else "color" in entries
    if color != NONE and not colored:
        raise entries["color"].error("a colour for what is not `colored`")
    return [Color(color)] if colored else []


def _read_sprite(node: YamlNode) -> str:
    """Return the name of a drawing file, without folder and suffix; raise a FieldError if `node` is
    no such name."""
    name = fields.text(node)
    if not name.replace("-", "_").isidentifier():
        raise node.error(f"found {node.summary}, expected the name of a drawing, without `.svg`")
    return name


def _read_states(names: NameResolver, node: YamlNode) -> dict[str, list[Any]]:
    """Return the components that objects have in each state, by name of the state; states in a
    plain list have no components of their own."""
    states: dict[str, list[Any]] = {}
    entries: dict[str, tuple[YamlNode, YamlNode | None]]  # place and components by name
    if isinstance(node.value, dict):
        entries = {name: (entry, entry) for name, entry in node.value.items()}
    else:
        entries = {fields.text(item): (item, None) for item in fields.items(node)}
        if len(entries) < len(fields.items(node)):
            raise node.error("a state stands here a second time")
    if not 1 <= len(entries) <= _MAX_STATES:
        raise node.error(f"found {node.summary}, expected 1 to {_MAX_STATES} states")
    for name, (place, components) in entries.items():
        if not name.isidentifier():
            raise place.error(f"found the state {name!r}, expected a name like `OPEN`")
        states[name] = [] if components is None else read_components(names, components)
    return states


def read_components(names: NameResolver, node: YamlNode) -> list[Any]:
    """Return new components as `node` lists them: by their names alone, or in a mapping from names
    to values of fields."""
    entries: list[tuple[YamlNode, YamlNode | None]] = []  # names and field values
    if isinstance(node.value, dict):
        entries += [(replace(at, value=name, text=name), at) for name, at in node.value.items()]
    else:
        entries += [(item, None) for item in fields.items(node)]
    components: dict[type, Any] = {}
    for place, values in entries:
        with names.problems.collect():
            cls = names.resolve_component(place)
            if cls in _RESERVED_COMPONENTS:
                reason = _RESERVED_COMPONENTS[cls]
                raise place.error(f"no type lists {cls.__name__}: {reason}")
            if cls in components:
                raise place.error(f"{cls.__name__} stands here a second time")
            initial = {} if values is None else _read_field_values(names.problems, cls, values)
            components[cls] = cls(**initial)
    return list(components.values())


def _read_field_values(problems: ErrorCollector, cls: type, node: YamlNode) -> dict[str, float]:
    """Return the values that the mapping in `node` gives to fields of the component class `cls`, by
    name of the field."""
    known = {field.name: field for field in fields_of(cls)}
    settable = [name for name, field in known.items() if isinstance(field.dtype, np.dtype)]
    if node.value is None:
        return {}
    if not settable and fields.mapping(node):
        raise node.error(f"{cls.__name__} has no values to set; write {{}}")
    values = {}
    for name, entry in fields.mapping(node).items():
        with problems.collect():
            if name not in settable:
                raise entry.error(
                    f"{cls.__name__} has no {name!r}{fields.suggestion(name, settable)}"
                )
            values[name] = _read_field_value(entry, known[name])
    return values


def _read_field_value(node: YamlNode, field: Field) -> float:
    """Return the value in `node` for a component's field; raise a FieldError if it does not fit the
    field's dtype."""
    dtype: Any = field.dtype
    if dtype.kind == "b":
        return fields.boolean(node)
    if dtype.kind == "f":
        return fields.number(node)
    return fields.integer(node, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))
