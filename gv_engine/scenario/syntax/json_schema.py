"""Builders of the JSON schema of scenario files, and schemas of common values, for editors.

Most schemas hold the reader of their values from `fields`, so that a key is declared once for the
reader, editors and the reference page. A schema must accept everything that its reader accepts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from components.objects import built_in_types
from gv_engine.rules.geometry import ACTIONS
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import Phase, System
from gv_engine.scenario.syntax.fields import (
    INT32_MAX,
    INT32_MIN,
    MAX_RADIUS,
    MAX_SIDE,
    YamlNode,
    boolean,
    choose,
    integer,
    items,
    number,
    read_area,
    read_color,
    read_pair,
    read_plain,
    text,
)

JsonSchema = Mapping[str, Any]
"""A JSON schema, before `_Expander` adds parameters and overrides."""


class ValueSchema(dict[str, Any]):
    """JSON schema of a value in scenario files, together with the reader of such values.

    Attributes:
        read: function that returns the value of a node, or raises `FieldError`.
    """

    def __init__(self, schema: JsonSchema, read: Callable[[YamlNode], Any]) -> None:
        super().__init__(schema)
        self.read = read


def read_value(schema: JsonSchema, node: YamlNode) -> Any:
    """Return the value of `node` as the reader of `schema` reads it; `node` itself if the schema
    has no reader."""
    return schema.read(node) if isinstance(schema, ValueSchema) else node


class Key(NamedTuple):
    """A key of a mapping in scenario files.

    Attributes:
        description: one sentence.
        schema: schema of its value.
        required: True if the key must be present.
        nested: keys of the mapping, or of each mapping, in its value.
    """

    description: str
    schema: JsonSchema
    required: bool = False
    nested: Mapping[str, Key] = {}

    def read(self, node: YamlNode) -> Any:
        """Return the value of a node by the key's schema, see `read_value`."""
        return read_value(self.schema, node)


KeyTable = Mapping[str, Key]
"""Keys of a mapping, by name."""


class FunctionSchema(NamedTuple):
    """Format of the entries by which scenario files name the functions of a phase.

    Attributes:
        phase: the phase.
        systems: the built-in systems.
        extra_keys: keys that every entry takes beside the parameters of its system.
        other_entries: schemas of entries that name no system.
        allows_bare_name: True if a name alone is an entry.
    """

    phase: Phase
    systems: Sequence[System]
    extra_keys: Mapping[str, Key] = {}
    other_entries: tuple[JsonSchema, ...] = ()
    allows_bare_name: bool = True


class ScenarioFormat(NamedTuple):
    """Format of the scenario files of a domain.

    Attributes:
        keys: top-level keys.
        functions: definitions of the functions that `function_schema` refers to, by name.
        mixture_keys: top-level keys of mixtures.
    """

    keys: KeyTable
    functions: Mapping[str, FunctionSchema]
    mixture_keys: Mapping[str, Key] = {}


def integer_schema(minimum: int, maximum: int) -> ValueSchema:
    """Return the JSON schema and the reader of an integer from `minimum` to `maximum`."""
    limits = {"type": "integer", "minimum": minimum, "maximum": maximum}
    return ValueSchema(limits, lambda node: integer(node, minimum, maximum))


def enum_schema(names: Iterable[str], label: str = "name") -> ValueSchema:
    """Return the JSON schema and the reader of a value that is one of `names`; error messages call
    the value `label`."""
    choices = list(names)
    return ValueSchema({"enum": choices}, lambda node: choose(node, choices, label))


def any_of(*schemas: JsonSchema) -> JsonSchema:
    """Return the schema of a value that fits any of several schemas."""
    return {"anyOf": list(schemas)}


def optional(schema: ValueSchema) -> ValueSchema:
    """Return the JSON schema and the reader of a value that fits `schema` or is null."""
    either = any_of(schema, {"type": "null"})
    return ValueSchema(either, lambda node: None if node.value is None else schema.read(node))


def list_of(schema: JsonSchema, **limits: Any) -> JsonSchema:
    """Return the JSON schema of a list whose items conform to `schema`. `limits` are further schema
    keywords such as `minItems`, which only text editors check."""
    list_schema = {"type": "array", "items": schema, **limits}
    if not isinstance(schema, ValueSchema):
        return list_schema
    return ValueSchema(list_schema, lambda node: tuple(map(schema.read, items(node))))


def unique_list(schema: JsonSchema) -> JsonSchema:
    """Return the schema of a list of at least one item, without duplicates."""
    return list_of(schema, minItems=1, uniqueItems=True)


def map_of(schema: JsonSchema, **limits: Any) -> JsonSchema:
    """Return the schema of a mapping with any keys; `limits` are further JSON schema keywords."""
    return {"type": "object", "additionalProperties": schema, **limits}


def object_schema(keys: KeyTable) -> JsonSchema:
    """Return the JSON schema of a mapping that has only these keys. `keys` maps each key to its
    description and schema."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: {"description": key.description, **key.schema} for name, key in keys.items()
        },
        "additionalProperties": False,
    }
    if required := [name for name, key in keys.items() if key.required]:
        schema["required"] = required
    return schema


def function_schema(phase: Phase) -> JsonSchema:
    """Return a reference to the schema of a phase's functions, `{name: …}` or a name alone."""
    return definition_ref(f"{phase.name.lower()}_function")


def definition_ref(name: str) -> JsonSchema:
    """Return a reference to a definition of the schema."""
    return {"$ref": f"#/definitions/{name}"}


_PAIR_LENGTH = {"minItems": 2, "maxItems": 2}


DEFINITIONS: Mapping[str, JsonSchema] = {
    "text": ValueSchema({"type": ["string", "number", "boolean", "null"]}, text),
    "number": ValueSchema({"type": "number"}, number),
    "whole": integer_schema(INT32_MIN, INT32_MAX),
    "truth": ValueSchema({"type": "boolean"}, boolean),
    "plain": ValueSchema({"type": ["number", "boolean", "array"]}, read_plain),
    "pair": ValueSchema(list_of(integer_schema(1, MAX_SIDE), **_PAIR_LENGTH), read_pair),
    "area": ValueSchema(
        any_of(
            integer_schema(0, MAX_RADIUS),
            list_of(list_of(integer_schema(-MAX_SIDE, MAX_SIDE), **_PAIR_LENGTH), **_PAIR_LENGTH),
        ),
        read_area,
    ),
    "color": ValueSchema(enum_schema(COLORS), read_color),
    "object": any_of(
        enum_schema(kind.name for kind in built_in_types() if kind.in_grid), {"type": "string"}
    ),
    "action": any_of(enum_schema(ACTIONS), {"type": "string"}),
}
"""Schemas of common values, by name; a text may be any scalar, as texts keep their spelling."""


TEXT, NUMBER, INTEGER, BOOLEAN, PLAIN, PAIR, AREA, COLOR = (
    ValueSchema(definition_ref(name), known.read)
    for name, known in DEFINITIONS.items()
    if isinstance(known, ValueSchema)
)


OBJECT, ACTION = definition_ref("object"), definition_ref("action")


REFERENCE: JsonSchema = {"type": "string", "pattern": ":"}
"""Schema of `./rules.py:name` or `module:name`."""


SCENARIO = definition_ref("scenario")
"""Schema of a scenario within another one."""


VARIANT = definition_ref("scenario_changed")
"""Schema of a scenario that overrides parts of another one."""
