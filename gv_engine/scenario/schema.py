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
from gv_engine.scenario.calls import find_value_kind
from gv_engine.scenario.document import EXTENDS, FILE_KEYS
from gv_engine.scenario.json_schema import (
    DEFINITIONS,
    REFERENCE,
    SCENARIO,
    VARIANT,
    Format,
    Functions,
    JsonSchema,
    Key,
    KeyTable,
    defined,
    either,
    function,
    object_schema,
)
from gv_engine.scenario.mixture import MIXTURE
from gv_engine.scenario.plugin import DOMAINS
from gv_engine.scenario.variants import VARIANTS

_ANY: JsonSchema = {"type": "object"}
_NULL: JsonSchema = {"type": "null"}
_VALUE: JsonSchema = {
    "description": "The value of a parameter, or what is worked out from some.",
    "type": "string",
    "pattern": r"\$[A-Za-z_(]",
}


def formats() -> dict[str, Format]:
    """The formats of the domains whose libraries are there, by name."""
    present = [domain for domain in DOMAINS.values() if not domain.missing]
    return {domain.name: resolve_name(domain.format) for domain in present}


def schema() -> dict[str, Any]:
    """The schema of all scenario files; those of a domain whose library is missing may say all."""
    found = formats()
    unknown = [_ANY] * (len(DOMAINS) - len(found))
    any_changed = either(*(defined(_changed(name)) for name in found), *unknown)
    definitions: dict[str, JsonSchema] = {
        "scenario": _chosen(found),
        _changed("scenario"): any_changed,
    }
    for name, form in DEFINITIONS.items():
        definitions[name] = _Opened().place(form)
        definitions[_changed(name)] = _Opened(changed=True).place(form)
    for name, each in found.items():
        for own, functions in each.functions.items():
            same = {_name(function(functions.phase)): own}
            definitions[own] = _Opened(same).place(_function(functions))
            definitions[_changed(own)] = _Opened(same, True).place(_function(functions))
        variants = {_name(VARIANT): _changed(name)}
        for key, keys in ((name, each.keys), (_mixed(name), each.mixed)):
            definitions[key] = _Opened(variants).within(object_schema({**FILE_KEYS, **keys}))
        every = {**FILE_KEYS, **each.mixed, **each.keys}
        definitions[_changed(name)] = _Opened(variants, True).within(object_schema(every))
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A scenario of GV Engine",
        "allOf": [SCENARIO],
        "definitions": {"value": _VALUE, "changed": either(_VALUE, _NULL), **definitions},
    }


def _chosen(found: Mapping[str, Format]) -> JsonSchema:
    """Which definition holds for a file, by what it says."""
    usual, *others = DOMAINS
    chosen = _domain(usual, found)
    for name in others:
        named = {"properties": {"domain": {"const": name}}, "required": ["domain"]}
        chosen = {"if": named, "then": _domain(name, found), "else": chosen}
    return {"if": _has(EXTENDS), "then": defined(_changed("scenario")), "else": chosen}


def _domain(name: str, found: Mapping[str, Format]) -> JsonSchema:
    if name not in found:
        return _ANY
    whole = {"if": _has(MIXTURE), "then": defined(_mixed(name)), "else": defined(name)}
    return {"if": _has(VARIANTS), "then": defined(_changed(name)), "else": whole}


def _has(key: str) -> JsonSchema:
    return {"required": [key]}


def _changed(name: str) -> str:
    """The definition that need not be whole."""
    return f"{name.removesuffix('_changed')}_changed"


def _mixed(name: str) -> str:
    """The definition of mixtures."""
    return f"mixed_{name}"


def _name(reference: JsonSchema) -> str:
    return str(reference["$ref"].rpartition("/")[2])


# ---- functions -------------------------------------------------------------------------------


def _function(functions: Functions) -> JsonSchema:
    """An entry of a function: its name alone, or a mapping with its parameters."""
    told = {
        "enum": [system.name for system in functions.systems],
        "enumDescriptions": [_says(system) for system in functions.systems],
    }
    name = Key(f"Of the {functions.phase.label}.", either(told, REFERENCE), required=True)
    entry = {
        **object_schema({"name": name, **functions.besides}),
        "additionalProperties": True,
        "allOf": [_parameters(system, functions.besides) for system in functions.systems],
    }
    bare = name.form["anyOf"] if functions.bare else ()
    return either(*bare, entry, *functions.others)


def _says(system: System) -> str:
    return " ".join((inspect.getdoc(system.function) or "").partition("\n\n")[0].split())


def _parameters(system: System, besides: KeyTable) -> JsonSchema:
    """What stands beside the name of a built-in system."""
    known: KeyTable = {
        parameter.name: Key(kind.words, kind.form, parameter.required)
        for parameter in system.parameters
        if parameter.name not in system.tables
        for kind in [find_value_kind(parameter)]
    }
    named = {"properties": {"name": {"const": system.name}}, "required": ["name"]}
    then = {**object_schema(known), "propertyNames": {"enum": ["name", *besides, *known]}}
    return {"if": named, "then": {key: then[key] for key in then if key != "additionalProperties"}}


# ---- parameters, and what extends another ----------------------------------------------------


@dataclass(frozen=True)
class _Opened:
    """Opens forms for what may stand in place of what their readers get.

    Attributes:
        own: the definition that stands for another one.
        changed: whether it is said over another scenario.
    """

    own: Mapping[str, str] = field(default_factory=dict)
    changed: bool = False

    def place(self, form: JsonSchema) -> JsonSchema:
        """What may stand where such a value does."""
        opened = dict(self.within(form))
        said = {"description": opened.pop("description")} if "description" in opened else {}
        if "$ref" in opened:
            return {**said, "allOf": [opened]} if said else opened
        if self.changed:
            return {**said, **either(opened, defined("changed"))}
        return (
            {**said, **opened}
            if _takes_texts(form)
            else {**said, **either(opened, defined("value"))}
        )

    def within(self, form: JsonSchema) -> JsonSchema:
        """The form, with what may stand in its parts."""
        opened = dict(form)
        if "$ref" in form:
            return {**opened, **defined(self.definition(_name(form)))}
        if self.changed:
            opened.pop("required", None)
        for key, inner in form.items():
            match key, inner:
                case "properties", _:
                    opened[key] = {name: self.place(part) for name, part in inner.items()}
                case (("items" | "additionalProperties"), dict()):
                    opened[key] = self.place(inner)
                case (("anyOf" | "allOf"), _):
                    opened[key] = [self.within(part) for part in inner]
                case "then", _:
                    opened[key] = self.within(inner)
        if self.changed and form.get("type") == "array":
            return either(opened, {"type": "object", "additionalProperties": opened["items"]})
        return opened

    def definition(self, name: str) -> str:
        """The one that holds here in place of another one."""
        name = self.own.get(name, name)
        return _changed(name) if self.changed else name


def _takes_texts(form: JsonSchema) -> bool:
    """Whether any text may stand there, and so `$name`."""
    parts = form.get("anyOf", ())
    free = not form.keys() & {"enum", "pattern", "$ref", "anyOf"}
    return any(map(_takes_texts, parts)) or (free and "string" in form.get("type", ["string"]))
