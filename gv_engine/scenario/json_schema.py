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
from gv_engine.scenario.fields import LARGEST, LONGEST_SIDE, SMALLEST

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

    says: str
    form: JsonSchema
    required: bool = False
    below: Mapping[str, Key] = {}


KeyTable = Mapping[str, Key]


class Functions(NamedTuple):
    """What may stand where a function is named.

    Attributes:
        systems: the built-in ones.
        besides: keys that each of them takes beside its parameters.
        others: forms of entries that stand for none of them.
        bare: whether a name alone will do.
    """

    phase: Phase
    systems: Sequence[System]
    besides: Mapping[str, Key] = {}
    others: tuple[JsonSchema, ...] = ()
    bare: bool = True


class Format(NamedTuple):
    """The scenario files of a domain.

    Attributes:
        keys: their keys.
        functions: what `function` leaves open, by its name there.
        mixed: keys of those that are mixtures.
    """

    keys: KeyTable
    functions: Mapping[str, Functions]
    mixed: Mapping[str, Key] = {}


def whole(least: int, most: int) -> JsonSchema:
    """A whole number within bounds."""
    return {"type": "integer", "minimum": least, "maximum": most}


def named(names: Iterable[str]) -> JsonSchema:
    """One of several names."""
    return {"enum": list(names)}


def either(*forms: JsonSchema) -> JsonSchema:
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
        "properties": {name: {"description": key.says, **key.form} for name, key in keys.items()},
        "additionalProperties": False,
    }
    if required := [name for name, key in keys.items() if key.required]:
        form["required"] = required
    return form


def function(phase: Phase) -> JsonSchema:
    """A function of a phase, as `{name: …}` or by its name alone."""
    return defined(f"{phase.name.lower()}_function")


def defined(name: str) -> JsonSchema:
    """What the schema defines under a name."""
    return {"$ref": f"#/definitions/{name}"}


DEFINITIONS: Mapping[str, JsonSchema] = {
    "text": {"type": ["string", "number", "boolean", "null"]},
    "number": {"type": "number"},
    "whole": whole(SMALLEST, LARGEST),
    "truth": {"type": "boolean"},
    "plain": {"type": ["number", "boolean", "array"]},
    "pair": list_of(whole(1, LONGEST_SIDE), minItems=2, maxItems=2),
    "area": list_of(
        list_of(whole(-LONGEST_SIDE, LONGEST_SIDE), minItems=2, maxItems=2), minItems=2, maxItems=2
    ),
    "color": named(COLORS),
    "object": either(
        named(kind.name for kind in built_in_types() if kind.in_grid), {"type": "string"}
    ),
    "action": either(named(ACTIONS), {"type": "string"}),
}
"""Forms that recur; a text may be any scalar, as it keeps its own."""

TEXT, NUMBER, WHOLE, TRUTH, PLAIN, PAIR, AREA, COLOR, OBJECT, ACTION = map(defined, DEFINITIONS)
REFERENCE: JsonSchema = {"type": "string", "pattern": ":"}
"""`./rules.py:name` or `module:name`."""
SCENARIO = defined("scenario")
"""A whole scenario in place."""
VARIANT = defined("scenario_changed")
"""What a scenario says otherwise than the one below it."""
