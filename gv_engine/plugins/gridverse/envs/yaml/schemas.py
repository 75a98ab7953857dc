"""Schemas of the parts of a YAML file.

Files of `Scenario.load` may have more; `gv-engine schema` prints their schema.
"""

from __future__ import annotations

from typing import Any

from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.grid_object import Color
from gv_engine.rules.errors import shorten

Definition = dict[str, Any]
"""JSON schema."""


class SchemaError(ValueError):
    """Data does not fit a schema; the message says where, what was found, and what is allowed."""


class Schema:
    """JSON schema that data must fit.

    Args:
        definition: JSON schema with the keys `type`, `properties`, `required`,
            `additionalProperties`, `items`, `enum`, `minItems`, `maxItems`, `uniqueItems` and
            `minimum`.
    """

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    def validate(self, data: Any) -> Any:
        """Return a copy of `data`.

        Raises:
            SchemaError: it does not fit.
        """
        return _copy_valid(self.definition, data, "it")

    def is_valid(self, data: Any) -> bool:
        """Return True if `data` conforms to the schema."""
        try:
            self.validate(data)
        except SchemaError:
            return False
        return True

    def json_schema(self, schema_id: str) -> Definition:
        """Return this schema as a JSON schema with the given `$id`."""
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": schema_id,
            **self.definition,
        }


_TYPES: dict[str, type] = {"object": dict, "array": list, "string": str, "integer": int}


def _copy_valid(definition: Definition, data: Any, location: str) -> Any:
    """Return a copy of `data` if it conforms to the JSON schema `definition`, else raise
    SchemaError. The message begins with `location`, the place of `data` in the file."""

    def make_error(expected: str) -> SchemaError:
        return SchemaError(f"{location} is {shorten(repr(data), 60)}: expected {expected}")

    json_type = definition.get("type")
    if json_type and (not isinstance(data, _TYPES[json_type]) or isinstance(data, bool)):
        raise make_error(f"an {json_type}" if json_type[0] in "aio" else f"a {json_type}")
    if "enum" in definition and data not in definition["enum"]:
        raise make_error(f"one of {', '.join(definition['enum'])}")
    if data.__class__ is int and data < definition.get("minimum", data):
        raise make_error(f"at least {definition['minimum']}")
    if isinstance(data, list):
        least, most = definition.get("minItems", 0), definition.get("maxItems", len(data))
        if not least <= len(data) <= most:
            raise make_error(f"{least} items" if least == most else f"at least {least} items")
        if definition.get("uniqueItems") and any(item in data[:i] for i, item in enumerate(data)):
            raise make_error("different items")
        items = definition.get("items", {})
        return [_copy_valid(items, item, f"an item of {location}") for item in data]
    if isinstance(data, dict):
        properties = definition.get("properties", {})
        for name in definition.get("required", ()):
            if name not in data:
                raise make_error(f"a key {name!r}")
        if definition.get("additionalProperties") is False and (
            unknown := data.keys() - properties
        ):
            allowed = ", ".join(properties)
            raise SchemaError(f"{location} has the key {min(unknown)!r}: allowed: {allowed}")
        return {key: _copy_valid(properties.get(key, {}), data[key], repr(key)) for key in data}
    return data


def _list_of(items: Definition, **keys: Any) -> Definition:
    return {"type": "array", "items": items, "minItems": 1, **keys}


def _mapping(properties: dict[str, Definition], *optional: str) -> Definition:
    """Return the JSON schema of a mapping with the given properties. All are required except those
    named in `optional`."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


_PAIR: Definition = {"minItems": 2, "maxItems": 2}
_COUNTS = _list_of({"type": "integer", "minimum": 1}, **_PAIR)
_NAMES: dict[str, Definition] = {
    "action": {"enum": [action.name for action in Action]},
    "color": {"enum": [color.name for color in Color]},
    "object_type": {"type": "string"},
}
_LISTS = {f"{name}s": _list_of(definition, uniqueItems=True) for name, definition in _NAMES.items()}
_VALUES: dict[str, Definition] = {
    "shape": _COUNTS,
    "layout": _COUNTS,
    "area": _list_of(_list_of({"type": "integer"}, **_PAIR), **_PAIR),
    "object_type": _NAMES["object_type"],
    "colors": _LISTS["colors"],
    "distance_function": {"enum": ["manhattan", "euclidean"]},
}
_PHASES = "reset", "transition", "reward", "observation", "visibility", "terminating"
_FUNCTION: Definition = {
    "type": "object",
    "properties": {"name": {"type": "string"}, **_VALUES},
    "required": ["name"],
}
_FUNCTIONS = {f"{phase}_function": _FUNCTION for phase in _PHASES}
# functions can be parameters of functions
_FUNCTION["properties"] |= {name: {"type": "object", "required": ["name"]} for name in _FUNCTIONS}
_SPACE = _mapping({"objects": _LISTS["object_types"], "colors": _LISTS["colors"]})
_SPACES: dict[str, Definition] = {
    "state_space": _SPACE,
    "observation_space": _SPACE,
    "action_space": _LISTS["actions"],
}
_LISTED = {f"{name}s": _list_of(definition) for name, definition in _FUNCTIONS.items()}
_ENV = _mapping(
    {
        **_SPACES,
        **{f"{phase}_function": _FUNCTION for phase in ("reset", "observation", "terminating")},
        **{f"{phase}_functions": _list_of(_FUNCTION) for phase in ("transition", "reward")},
    },
    "action_space",
)

schemas = {
    name: Schema(definition)
    for name, definition in {
        **_NAMES,
        **_LISTS,
        **_VALUES,
        **_SPACES,
        **_FUNCTIONS,
        **_LISTED,
        "env": _ENV,
    }.items()
}
"""Schemas by the names of the parts; `env` is that of a whole file."""
