"""The JSON schema of scenario files, made of what reads them, for editors that complete and check.

It is draft 7, which editors of YAML know. A value may be `$name` or `$(…)` wherever one stands.
What extends another scenario, and a variant, says only what differs: it need not be whole, lists
may be changed by the names of their items, and null takes something out.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import Any

from gv_engine.rules.system import System
from gv_engine.scenario.calls import kind_of
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
    """The formats of the domains whose libraries are there, by name."""
    present = [domain for domain in DOMAINS.values() if not domain.missing_message]
    return {domain.name: resolve_name(domain.format) for domain in present}


def make_schema() -> dict[str, Any]:
    """The schema of all scenario files; those of a domain whose library is missing may say all."""
    found = load_formats()
    unknown = [_ANY_OBJECT] * (len(DOMAINS) - len(found))
    any_changed = any_of(*(definition_ref(_changed_name(name)) for name in found), *unknown)
    definitions: dict[str, JsonSchema] = {
        "scenario": _scenario_schema(found),
        _changed_name("scenario"): any_changed,
    }
    for name, form in DEFINITIONS.items():
        definitions[name] = _SchemaExpander().expand_value(form)
        definitions[_changed_name(name)] = _SchemaExpander(is_changed=True).expand_value(form)
    for name, each in found.items():
        for own, functions in each.functions.items():
            same = {_definition_name(function_schema(functions.phase)): own}
            definitions[own] = _SchemaExpander(same).expand_value(_function_entry(functions))
            definitions[_changed_name(own)] = _SchemaExpander(same, True).expand_value(
                _function_entry(functions)
            )
        variants = {_definition_name(VARIANT): _changed_name(name)}
        for key, keys in ((name, each.keys), (_mixture_name(name), each.mixture_keys)):
            definitions[key] = _SchemaExpander(variants).expand_parts(
                object_schema({**FILE_KEYS, **keys})
            )
        every = {**FILE_KEYS, **each.mixture_keys, **each.keys}
        definitions[_changed_name(name)] = _SchemaExpander(variants, True).expand_parts(
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


def _scenario_schema(found: Mapping[str, ScenarioFormat]) -> JsonSchema:
    """Which definition holds for a file, by what it says."""
    usual, *others = DOMAINS
    chosen = _domain_schema(usual, found)
    for name in others:
        named = {"properties": {"domain": {"const": name}}, "required": ["domain"]}
        chosen = {"if": named, "then": _domain_schema(name, found), "else": chosen}
    return {
        "if": _has_key(EXTENDS),
        "then": definition_ref(_changed_name("scenario")),
        "else": chosen,
    }


def _domain_schema(name: str, found: Mapping[str, ScenarioFormat]) -> JsonSchema:
    if name not in found:
        return _ANY_OBJECT
    whole = {
        "if": _has_key(MIXTURE),
        "then": definition_ref(_mixture_name(name)),
        "else": definition_ref(name),
    }
    return {"if": _has_key(VARIANTS), "then": definition_ref(_changed_name(name)), "else": whole}


def _has_key(key: str) -> JsonSchema:
    return {"required": [key]}


def _changed_name(name: str) -> str:
    """The definition that need not be whole."""
    return f"{name.removesuffix('_changed')}_changed"


def _mixture_name(name: str) -> str:
    """The definition of mixtures."""
    return f"mixed_{name}"


def _definition_name(reference: JsonSchema) -> str:
    return str(reference["$ref"].rpartition("/")[2])


# ---- functions -------------------------------------------------------------------------------


def _function_entry(functions: FunctionSchema) -> JsonSchema:
    """An entry of a function: its name alone, or a mapping with its parameters."""
    told = {
        "enum": [system.name for system in functions.systems],
        "enumDescriptions": [_summarize(system) for system in functions.systems],
    }
    name = Key(f"Of the {functions.phase.label}.", any_of(told, REFERENCE), required=True)
    entry = {
        **object_schema({"name": name, **functions.extra_keys}),
        "additionalProperties": True,
        "allOf": [_parameters_schema(system, functions.extra_keys) for system in functions.systems],
    }
    bare = name.schema["anyOf"] if functions.allows_bare_name else ()
    return any_of(*bare, entry, *functions.other_entries)


def _summarize(system: System) -> str:
    return " ".join((inspect.getdoc(system.function) or "").partition("\n\n")[0].split())


def _parameters_schema(system: System, besides: KeyTable) -> JsonSchema:
    """What stands beside the name of a built-in system."""
    known: KeyTable = {
        parameter.name: Key(kind.words, kind.form, parameter.required)
        for parameter in system.parameters
        if parameter.name not in system.tables
        for kind in [kind_of(parameter)]
    }
    named = {"properties": {"name": {"const": system.name}}, "required": ["name"]}
    then = {**object_schema(known), "propertyNames": {"enum": ["name", *besides, *known]}}
    return {"if": named, "then": {key: then[key] for key in then if key != "additionalProperties"}}


# ---- parameters, and what extends another ----------------------------------------------------


@dataclass(frozen=True)
class _SchemaExpander:
    """Opens forms for what may stand in place of what their readers get.

    Attributes:
        own: the definition that stands for another one.
        changed: whether it is said over another scenario.
    """

    definitions: Mapping[str, str] = field(default_factory=dict)
    is_changed: bool = False

    def expand_value(self, form: JsonSchema) -> JsonSchema:
        """What may stand where such a value does."""
        opened = dict(self.expand_parts(form))
        said = {"description": opened.pop("description")} if "description" in opened else {}
        if "$ref" in opened:
            return {**said, "allOf": [opened]} if said else opened
        if self.is_changed:
            return {**said, **any_of(opened, definition_ref("changed"))}
        return (
            {**said, **opened}
            if _accepts_any_text(form)
            else {**said, **any_of(opened, definition_ref("value"))}
        )

    def expand_parts(self, form: JsonSchema) -> JsonSchema:
        """The form, with what may stand in its parts."""
        opened = dict(form)
        if "$ref" in form:
            return {**opened, **definition_ref(self.map_definition(_definition_name(form)))}
        if self.is_changed:
            opened.pop("required", None)
        for key, inner in form.items():
            match key, inner:
                case "properties", _:
                    opened[key] = {name: self.expand_value(part) for name, part in inner.items()}
                case (("items" | "additionalProperties"), dict()):
                    opened[key] = self.expand_value(inner)
                case (("anyOf" | "allOf"), _):
                    opened[key] = [self.expand_parts(part) for part in inner]
                case "then", _:
                    opened[key] = self.expand_parts(inner)
        if self.is_changed and form.get("type") == "array":
            return any_of(opened, {"type": "object", "additionalProperties": opened["items"]})
        return opened

    def map_definition(self, name: str) -> str:
        """The one that holds here in place of another one."""
        name = self.definitions.get(name, name)
        return _changed_name(name) if self.is_changed else name


def _accepts_any_text(form: JsonSchema) -> bool:
    """Whether any text may stand there, and so `$name`."""
    parts = form.get("anyOf", ())
    free = not form.keys() & {"enum", "pattern", "$ref", "anyOf"}
    return any(map(_accepts_any_text, parts)) or (free and "string" in form.get("type", ["string"]))
