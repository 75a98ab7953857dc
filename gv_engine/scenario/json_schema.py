"""What may stand in scenario files, as JSON Schema: beside the readers in `values`, for editors.

A form may be wider than its reader, never narrower.
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
"""A JSON schema, without what parameters and scenarios that extend others bring about."""


class Key(NamedTuple):
    """A key of a mapping in scenario files.

    Attributes:
        says: what it is, in a sentence.
        form: what may stand there.
        required: whether it has to be there.
        below: the keys of the mapping, or of each mapping, that stands there.
    """

    description: str
    schema: JsonSchema
    required: bool = False
    nested: Mapping[str, Key] = {}


KeyTable = Mapping[str, Key]


class FunctionSchema(NamedTuple):
    """What may stand where a function is named.

    Attributes:
        systems: the built-in ones.
        besides: keys that each of them takes beside its parameters.
        others: forms of entries that stand for none of them.
        bare: whether a name alone will do.
    """

    phase: Phase
    systems: Sequence[System]
    extra_keys: Mapping[str, Key] = {}
    other_entries: tuple[JsonSchema, ...] = ()
    allows_bare_name: bool = True


class ScenarioFormat(NamedTuple):
    """The scenario files of a domain.

    Attributes:
        keys: their keys.
        functions: what `function` leaves open, by its name there.
        mixed: keys of those that are mixtures.
    """

    keys: KeyTable
    functions: Mapping[str, FunctionSchema]
    mixture_keys: Mapping[str, Key] = {}


def integer_schema(least: int, most: int) -> JsonSchema:
    """A whole number within bounds."""
    return {"type": "integer", "minimum": least, "maximum": most}


def enum_schema(names: Iterable[str]) -> JsonSchema:
    """One of several names."""
    return {"enum": list(names)}


def any_of(*forms: JsonSchema) -> JsonSchema:
    """Any of several forms."""
    return {"anyOf": list(forms)}


def list_of(form: JsonSchema, **limits: Any) -> JsonSchema:
    """A list."""
    return {"type": "array", "items": form, **limits}


def unique_list(form: JsonSchema) -> JsonSchema:
    """A list of at least one, and none twice."""
    return list_of(form, minItems=1, uniqueItems=True)


def map_of(form: JsonSchema, **limits: Any) -> JsonSchema:
    """A mapping whose keys are the author's own."""
    return {"type": "object", "additionalProperties": form, **limits}


def object_schema(keys: KeyTable) -> JsonSchema:
    """A mapping with such keys."""
    form: dict[str, Any] = {
        "type": "object",
        "properties": {
            name: {"description": key.description, **key.schema} for name, key in keys.items()
        },
        "additionalProperties": False,
    }
    if required := [name for name, key in keys.items() if key.required]:
        form["required"] = required
    return form


def function_schema(phase: Phase) -> JsonSchema:
    """A function of a phase, as `{name: …}` or by its name alone."""
    return definition_ref(f"{phase.name.lower()}_function")


def definition_ref(name: str) -> JsonSchema:
    """What the schema defines under a name."""
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
"""Forms that recur; a text may be any scalar, as it keeps its own."""

TEXT, NUMBER, INTEGER, BOOLEAN, PLAIN, PAIR, AREA, COLOR, OBJECT, ACTION = map(
    definition_ref, DEFINITIONS
)
REFERENCE: JsonSchema = {"type": "string", "pattern": ":"}
"""`./rules.py:name` or `module:name`."""
SCENARIO = definition_ref("scenario")
"""A whole scenario in place."""
VARIANT = definition_ref("scenario_changed")
"""What a scenario says otherwise than the one below it."""
