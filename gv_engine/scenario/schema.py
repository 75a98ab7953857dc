"""JSON schema of scenario files, built from the keys that their readers declare, for editors.

The schema is draft 7, which YAML editors support. `$name` or `$(…)` may replace every value. A
variant, and a scenario that extends another one, may be incomplete, may change lists by the names
of their items, and may remove an entry with null.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from gv_engine.rules.system import System
from gv_engine.scenario.calls import find_value_kind
from gv_engine.scenario.document import EXTENDS, FILE_KEYS
from gv_engine.scenario.json_schema import (
    DEFINITIONS,
    REFERENCE,
    SCENARIO,
    VARIANT,
    FunctionSchema,
    JsonSchema,
    Key,
    KeyTable,
    ScenarioFormat,
    any_of,
    definition_ref,
    function_schema,
    object_schema,
)
from gv_engine.scenario.mixture import MIXTURE
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.scenario.variants import VARIANTS

_ANY_OBJECT: JsonSchema = {"type": "object"}
_NULL: JsonSchema = {"type": "null"}
_PARAMETER_VALUE: JsonSchema = {
    "description": "The value of a parameter, or what is worked out from some.",
    "type": "string",
    "pattern": r"\$[A-Za-z_(]",
}


def load_formats() -> dict[str, ScenarioFormat]:
    """Return the scenario formats of the domains whose libraries are installed, by domain name."""
    present = [domain for domain in DOMAINS.values() if not domain.missing_message]
    return {domain.name: resolve_name(domain.format) for domain in present}


def make_schema() -> dict[str, Any]:
    """Return the JSON schema of all scenario files; domains with missing libraries accept
    anything."""
    formats = load_formats()
    missing = [_ANY_OBJECT] * (len(DOMAINS) - len(formats))
    any_changed = any_of(*(definition_ref(_changed_name(name)) for name in formats), *missing)
    definitions: dict[str, JsonSchema] = {
        "scenario": _scenario_schema(formats),
        _changed_name("scenario"): any_changed,
    }
    for name, common in DEFINITIONS.items():
        definitions[name] = _Expander().expand_value(common)
        definitions[_changed_name(name)] = _Expander(is_changed=True).expand_value(common)
    for name, file_format in formats.items():
        for own, functions in file_format.functions.items():
            same = {_definition_name(function_schema(functions.phase)): own}
            definitions[own] = _Expander(same).expand_value(_function_entry(functions))
            definitions[_changed_name(own)] = _Expander(same, True).expand_value(
                _function_entry(functions)
            )
        variants = {_definition_name(VARIANT): _changed_name(name)}
        for key, keys in (
            (name, file_format.keys),
            (_mixture_name(name), file_format.mixture_keys),
        ):
            definitions[key] = _Expander(variants).expand_parts(
                object_schema({**FILE_KEYS, **keys})
            )
        every = {**FILE_KEYS, **file_format.mixture_keys, **file_format.keys}
        definitions[_changed_name(name)] = _Expander(variants, True).expand_parts(
            object_schema(every)
        )
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A scenario of GV Engine",
        "allOf": [SCENARIO],
        "definitions": {
            "value": _PARAMETER_VALUE,
            "changed": any_of(_PARAMETER_VALUE, _NULL),
            **definitions,
        },
    }


def _scenario_schema(formats: Mapping[str, ScenarioFormat]) -> JsonSchema:
    """Return the schema of a file: the definition of the domain that the file declares."""
    default, *others = DOMAINS
    by_domain = _domain_schema(default, formats)
    for name in others:
        condition = {"properties": {"domain": {"const": name}}, "required": ["domain"]}
        by_domain = {"if": condition, "then": _domain_schema(name, formats), "else": by_domain}
    return {
        "if": _has_key(EXTENDS),
        "then": definition_ref(_changed_name("scenario")),
        "else": by_domain,
    }


def _domain_schema(name: str, formats: Mapping[str, ScenarioFormat]) -> JsonSchema:
    """Return the schema of a domain's scenarios: complete ones, mixtures, or scenarios with
    variants."""
    if name not in formats:
        return _ANY_OBJECT
    whole = {
        "if": _has_key(MIXTURE),
        "then": definition_ref(_mixture_name(name)),
        "else": definition_ref(name),
    }
    return {"if": _has_key(VARIANTS), "then": definition_ref(_changed_name(name)), "else": whole}


def _has_key(key: str) -> JsonSchema:
    """Return the schema of mappings that have a key."""
    return {"required": [key]}


def _changed_name(name: str) -> str:
    """Return the name of the definition whose entries are all optional."""
    return f"{name.removesuffix('_changed')}_changed"


def _mixture_name(name: str) -> str:
    """Return the name of the definition of a domain's mixtures."""
    return f"mixed_{name}"


def _definition_name(reference: JsonSchema) -> str:
    """Return the name of the definition that a reference refers to."""
    return str(reference["$ref"].rpartition("/")[2])


# ---- functions -----------------------------------------------------------------------------------


def _function_entry(functions: FunctionSchema) -> JsonSchema:
    """Return the schema of a function's entry: a name alone, or a mapping with its parameters."""
    names = {
        "enum": [system.name for system in functions.systems],
        "enumDescriptions": [_summarize(system) for system in functions.systems],
    }
    name = Key(f"Of the {functions.phase.label}.", any_of(names, REFERENCE), required=True)
    entry = {
        **object_schema({"name": name, **functions.extra_keys}),
        "additionalProperties": True,
        "allOf": [_parameters_schema(system, functions.extra_keys) for system in functions.systems],
    }
    bare = name.schema["anyOf"] if functions.allows_bare_name else ()
    return any_of(*bare, entry, *functions.other_entries)


def _summarize(system: System) -> str:
    """Return the first paragraph of a system's docstring as one line."""
    return " ".join((inspect.getdoc(system.function) or "").partition("\n\n")[0].split())


def _parameters_schema(system: System, extra_keys: KeyTable) -> JsonSchema:
    """Return a condition: the keys that are allowed if `name` is this built-in system."""
    parameters: KeyTable = {
        parameter.name: Key(kind.words, kind.form, parameter.required)
        for parameter in system.parameters
        if parameter.name not in system.tables
        for kind in [find_value_kind(parameter)]
    }
    condition = {"properties": {"name": {"const": system.name}}, "required": ["name"]}
    names = ["name", *extra_keys, *parameters]
    then = {**object_schema(parameters), "propertyNames": {"enum": names}}
    del then["additionalProperties"]
    return {"if": condition, "then": then}


# ---- parameters and overrides --------------------------------------------------------------------


@dataclass(frozen=True)
class _Expander:
    """Expander of schemas, which allows parameters, and parts of overriding scenarios, in all
    places.

    Attributes:
        definitions: replacements of definitions, by name.
        is_changed: True for a scenario that overrides parts of another one.
    """

    definitions: Mapping[str, str] = field(default_factory=dict)
    is_changed: bool = False

    def expand_value(self, schema: JsonSchema) -> JsonSchema:
        """Return the schema of a value that may also be a parameter or an override."""
        expanded = dict(self.expand_parts(schema))
        keep = {"description": expanded.pop("description")} if "description" in expanded else {}
        if "$ref" in expanded:
            return {**keep, "allOf": [expanded]} if keep else expanded
        if self.is_changed:
            return {**keep, **any_of(expanded, definition_ref("changed"))}
        if _accepts_any_text(schema):
            return {**keep, **expanded}
        return {**keep, **any_of(expanded, definition_ref("value"))}

    def expand_parts(self, schema: JsonSchema) -> JsonSchema:
        """Return the schema with all its nested schemas expanded."""
        expanded = dict(schema)
        if "$ref" in schema:
            return {**expanded, **definition_ref(self.map_definition(_definition_name(schema)))}
        if self.is_changed:
            expanded.pop("required", None)
        for key, inner in schema.items():
            match key, inner:
                case "properties", _:
                    expanded[key] = {name: self.expand_value(part) for name, part in inner.items()}
                case (("items" | "additionalProperties"), dict()):
                    expanded[key] = self.expand_value(inner)
                case (("anyOf" | "allOf"), _):
                    expanded[key] = [self.expand_parts(part) for part in inner]
                case "then", _:
                    expanded[key] = self.expand_parts(inner)
        if self.is_changed and schema.get("type") == "array":
            items = expanded["items"]
            return any_of(expanded, {"type": "object", "additionalProperties": items})
        return expanded

    def map_definition(self, name: str) -> str:
        """Return the name of the definition that replaces another one here."""
        name = self.definitions.get(name, name)
        return _changed_name(name) if self.is_changed else name


def _accepts_any_text(schema: JsonSchema) -> bool:
    """Return True if a schema accepts every text, and so also `$name`."""
    parts = schema.get("anyOf", ())
    is_free = not schema.keys() & {"enum", "pattern", "$ref", "anyOf"}
    is_text = is_free and "string" in schema.get("type", ["string"])
    return any(map(_accepts_any_text, parts)) or is_text
