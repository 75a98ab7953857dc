"""Builders of the JSON schema of scenario files, and schemas of common values, for editors.

Each schema must accept everything that the corresponding reader in `fields` accepts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from components.objects import built_in_types
from gv_engine.rules.geometry import ACTIONS
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import Phase, System
from gv_engine.scenario.fields import INT32_MAX, INT32_MIN, MAX_SIDE

JsonSchema = Mapping[str, Any]
"""A JSON schema, before `_Expander` adds parameters and overrides."""


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


KeyTable = Mapping[str, Key]
"""Keys of a mapping, by name."""


class FunctionSchema(NamedTuple):
    """Entries that scenario files allow for a function of a phase.

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


def integer_schema(least: int, most: int) -> JsonSchema:
    """Return the schema of an integer in [least, most]."""
    return {"type": "integer", "minimum": least, "maximum": most}


def enum_schema(names: Iterable[str]) -> JsonSchema:
    """Return the schema of one of several names."""
    return {"enum": list(names)}


def any_of(*schemas: JsonSchema) -> JsonSchema:
    """Return the schema of a value that fits any of several schemas."""
    return {"anyOf": list(schemas)}


def list_of(schema: JsonSchema, **limits: Any) -> JsonSchema:
    """Return the schema of a list; `limits` are further JSON schema keywords."""
    return {"type": "array", "items": schema, **limits}


def unique_list(schema: JsonSchema) -> JsonSchema:
    """Return the schema of a list of at least one item, without duplicates."""
    return list_of(schema, minItems=1, uniqueItems=True)


def map_of(schema: JsonSchema, **limits: Any) -> JsonSchema:
    """Return the schema of a mapping with any keys; `limits` are further JSON schema keywords."""
    return {"type": "object", "additionalProperties": schema, **limits}


def object_schema(keys: KeyTable) -> JsonSchema:
    """Return the schema of a mapping with the given keys."""
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


DEFINITIONS: Mapping[str, JsonSchema] = {
    "text": {"type": ["string", "number", "boolean", "null"]},
    "number": {"type": "number"},
    "whole": integer_schema(INT32_MIN, INT32_MAX),
    "truth": {"type": "boolean"},
    "plain": {"type": ["number", "boolean", "array"]},
    "pair": list_of(integer_schema(1, MAX_SIDE), minItems=2, maxItems=2),
    "area": list_of(
        list_of(integer_schema(-MAX_SIDE, MAX_SIDE), minItems=2, maxItems=2), minItems=2, maxItems=2
    ),
    "color": enum_schema(COLORS),
    "object": any_of(
        enum_schema(kind.name for kind in built_in_types() if kind.in_grid), {"type": "string"}
    ),
    "action": any_of(enum_schema(ACTIONS), {"type": "string"}),
}
"""Schemas of common values, by name; a text may be any scalar, as texts keep their spelling."""

TEXT, NUMBER, INTEGER, BOOLEAN, PLAIN, PAIR, AREA, COLOR, OBJECT, ACTION = map(
    definition_ref, DEFINITIONS
)
REFERENCE: JsonSchema = {"type": "string", "pattern": ":"}
"""Schema of `./rules.py:name` or `module:name`."""
SCENARIO = definition_ref("scenario")
"""Schema of a scenario within another one."""
VARIANT = definition_ref("scenario_changed")
"""Schema of a scenario that overrides parts of another one."""
