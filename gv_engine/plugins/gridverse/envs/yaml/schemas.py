"""Schemas of the parts of a YAML file.

Files of `Scenario.load` may have more; `gv-engine schema` prints their schema.
"""

from __future__ import annotations

from typing import Any

from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.grid_object import Color
from gv_engine.rules.errors import shorten

Form = dict[str, Any]


class SchemaError(ValueError):
    """Data does not fit a schema; the message says where, what was found, and what is allowed."""


class Schema:
    """Form of data, as a JSON schema.

    Args:
        form: JSON schema with the keys `type`, `properties`, `required`, `additionalProperties`,
            `items`, `enum`, `minItems`, `maxItems`, `uniqueItems` and `minimum`.
    """

    def __init__(self, form: Form) -> None:
        self.form = form

    def validate(self, data: Any) -> Any:
        """Return a copy of `data`.

        Raises:
            SchemaError: it does not fit.
        """
        return _check(self.form, data, "it")

    def is_valid(self, data: Any) -> bool:
        """Return True if `data` fits."""
        try:
            self.validate(data)
        except SchemaError:
            return False
        return True

    def json_schema(self, schema_id: str) -> Form:
        """Return the form as a JSON schema with this `$id`."""
        return {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "$id": schema_id,
            **self.form,
        }


_TYPES: dict[str, type] = {"object": dict, "array": list, "string": str, "integer": int}


def _check(form: Form, data: Any, where: str) -> Any:
    """Return a copy of `data`, which the message of an error calls `where`."""

    def refuse(allowed: str) -> SchemaError:
        return SchemaError(f"{where} is {shorten(repr(data), 60)}: expected {allowed}")

    kind = form.get("type")
    if kind and (not isinstance(data, _TYPES[kind]) or isinstance(data, bool)):
        raise refuse(f"an {kind}" if kind[0] in "aio" else f"a {kind}")
    if "enum" in form and data not in form["enum"]:
        raise refuse(f"one of {', '.join(form['enum'])}")
    if data.__class__ is int and data < form.get("minimum", data):
        raise refuse(f"at least {form['minimum']}")
    if isinstance(data, list):
        few, many = form.get("minItems", 0), form.get("maxItems", len(data))
        if not few <= len(data) <= many:
            raise refuse(f"{few} items" if few == many else f"at least {few} items")
        if form.get("uniqueItems") and any(item in data[:i] for i, item in enumerate(data)):
            raise refuse("different items")
        return [_check(form.get("items", {}), item, f"an item of {where}") for item in data]
    if isinstance(data, dict):
        known = form.get("properties", {})
        for name in form.get("required", ()):
            if name not in data:
                raise refuse(f"a key {name!r}")
        if form.get("additionalProperties") is False and (unknown := data.keys() - known):
            raise SchemaError(f"{where} has the key {min(unknown)!r}: allowed: {', '.join(known)}")
        return {name: _check(known.get(name, {}), data[name], repr(name)) for name in data}
    return data


def _list_of(form: Form, **rest: Any) -> Form:
    return {"type": "array", "items": form, "minItems": 1, **rest}


def _mapping(properties: dict[str, Form], *optional: str) -> Form:
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


_PAIR: Form = {"minItems": 2, "maxItems": 2}
_COUNTS = _list_of({"type": "integer", "minimum": 1}, **_PAIR)
_NAMES: dict[str, Form] = {
    "action": {"enum": [action.name for action in Action]},
    "color": {"enum": [color.name for color in Color]},
    "object_type": {"type": "string"},
}
_LISTS = {f"{name}s": _list_of(form, uniqueItems=True) for name, form in _NAMES.items()}
_VALUES: dict[str, Form] = {
    "shape": _COUNTS,
    "layout": _COUNTS,
    "area": _list_of(_list_of({"type": "integer"}, **_PAIR), **_PAIR),
    "object_type": _NAMES["object_type"],
    "colors": _LISTS["colors"],
    "distance_function": {"enum": ["manhattan", "euclidean"]},
}
_KINDS = "reset", "transition", "reward", "observation", "visibility", "terminating"
_FUNCTION: Form = {
    "type": "object",
    "properties": {"name": {"type": "string"}, **_VALUES},
    "required": ["name"],
}
_FUNCTIONS = {f"{kind}_function": _FUNCTION for kind in _KINDS}
# functions can be parameters of functions
_FUNCTION["properties"] |= {name: {"type": "object", "required": ["name"]} for name in _FUNCTIONS}
_SPACE = _mapping({"objects": _LISTS["object_types"], "colors": _LISTS["colors"]})
_SPACES: dict[str, Form] = {
    "state_space": _SPACE,
    "observation_space": _SPACE,
    "action_space": _LISTS["actions"],
}
_LISTED = {f"{name}s": _list_of(form) for name, form in _FUNCTIONS.items()}
_ENV = _mapping(
    {
        **_SPACES,
        **{f"{kind}_function": _FUNCTION for kind in ("reset", "observation", "terminating")},
        **{f"{kind}_functions": _list_of(_FUNCTION) for kind in ("transition", "reward")},
    },
    "action_space",
)

schemas = {
    name: Schema(form)
    for name, form in {
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
