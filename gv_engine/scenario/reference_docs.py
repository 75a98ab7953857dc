"""Documents generated from the keys that readers declare: the JSON schema of scenario files, and
the reference of all names that scenario files and rules can use.

The schema is draft 7, which YAML editors support. `$name` or `$(…)` may replace every value. A
variant, and a scenario that extends another one, may be incomplete, may change lists by the names
of their items, and may remove an entry with null.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import components.objects  # noqa: F401  # declares the built-in types
from components.core import FLOOR, Mission
from components.objects import DOOR, OPTIONAL, built_in_components, built_in_types
from gv_engine.rules.component import column_name, fields_of, to_snake_case
from gv_engine.rules.geometry import Action
from gv_engine.rules.objects import COLORS, OBJECT_TYPES, ObjectType, ObjectTypes
from gv_engine.rules.system import Call, Parameter, Phase, System, source_location
from gv_engine.rules.world import View, World
from gv_engine.scenario.documents.document import EXTENDS, FILE_KEYS
from gv_engine.scenario.domains import DOMAINS, Schedules
from gv_engine.scenario.library import VARIANTS
from gv_engine.scenario.missions.mission_reader import find_mission_languages
from gv_engine.scenario.missions.missions import reads_mission
from gv_engine.scenario.mixture import MIXTURE
from gv_engine.scenario.readers.calls import (
    TYPES,
    find_value_kind,
    list_built_in,
    needs_number,
)
from gv_engine.scenario.readers.map import LEGEND
from gv_engine.scenario.storage.resources import HOME
from gv_engine.scenario.syntax import json_schema as schema
from gv_engine.scenario.syntax.json_schema import (
    JsonSchema,
    Key,
    any_of,
    definition_ref,
    object_schema,
)
from systems import building, queries

_ANY_OBJECT: JsonSchema = {"type": "object"}
_PARAMETER_VALUE: JsonSchema = {
    "description": "The value of a parameter, or what is worked out from some.",
    "type": "string",
    "pattern": r"\$[A-Za-z_(]",
}


def load_formats() -> dict[str, schema.ScenarioFormat]:
    """Return the format of the scenario files of each domain whose library is installed, by name of
    the domain."""
    present = [domain for domain in DOMAINS.values() if not domain.missing_message]
    return {domain.name: resolve_name(domain.format) for domain in present}


def make_schema() -> dict[str, Any]:
    """Return one JSON schema for the scenario files of all domains. A domain whose library is not
    installed allows any content."""
    formats = load_formats()
    missing = [_ANY_OBJECT] * (len(DOMAINS) - len(formats))
    changed = any_of(*(definition_ref(_changed_name(name)) for name in formats), *missing)
    definitions: dict[str, JsonSchema] = {
        "value": _PARAMETER_VALUE,
        "changed": any_of(_PARAMETER_VALUE, {"type": "null"}),
        "scenario": _scenario_schema(formats),
        _changed_name("scenario"): changed,
    }
    for name, common in schema.DEFINITIONS.items():
        definitions[name] = _Expander().expand_value(common)
        definitions[_changed_name(name)] = _Expander(is_changed=True).expand_value(common)
    for name, file_format in formats.items():
        definitions |= _format_definitions(name, file_format)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A scenario of GV Engine",
        "allOf": [schema.SCENARIO],
        "definitions": definitions,
    }


def _format_definitions(name: str, file_format: schema.ScenarioFormat) -> dict[str, JsonSchema]:
    """Return the JSON schema definitions for one domain: its functions, complete scenarios,
    mixtures, and scenarios that override parts of others."""
    definitions: dict[str, JsonSchema] = {}
    for function_name, functions in file_format.functions.items():
        # functions nested in functions are those of the domain, too
        names = {_definition_name(schema.function_schema(functions.phase)): function_name}
        entry = _function_entry(functions)
        definitions[function_name] = _Expander(names).expand_value(entry)
        definitions[_changed_name(function_name)] = _Expander(names, True).expand_value(entry)
    expander = _Expander({_definition_name(schema.VARIANT): _changed_name(name)})
    complete = object_schema({**FILE_KEYS, **file_format.keys})
    mixture = object_schema({**FILE_KEYS, **file_format.mixture_keys})
    any_keys = object_schema({**FILE_KEYS, **file_format.mixture_keys, **file_format.keys})
    definitions[name] = expander.expand_parts(complete)
    definitions[_mixture_name(name)] = expander.expand_parts(mixture)
    definitions[_changed_name(name)] = replace(expander, is_changed=True).expand_parts(any_keys)
    return definitions


def _scenario_schema(formats: Mapping[str, schema.ScenarioFormat]) -> JsonSchema:
    """Return the JSON schema of a scenario file, which selects the definition for the file's
    domain. `formats` has the format of each domain."""
    default, *other_domains = DOMAINS
    by_domain = _domain_schema(default, formats)
    for name in other_domains:
        condition = {"properties": {"domain": {"const": name}}, "required": ["domain"]}
        by_domain = {"if": condition, "then": _domain_schema(name, formats), "else": by_domain}
    return {
        "if": _has_key(EXTENDS),
        "then": definition_ref(_changed_name("scenario")),
        "else": by_domain,
    }


def _domain_schema(name: str, formats: Mapping[str, schema.ScenarioFormat]) -> JsonSchema:
    """Return the JSON schema of one domain's scenarios: complete ones, mixtures, or files with
    variants. `formats` has the format of each domain."""
    if name not in formats:
        return _ANY_OBJECT
    return {
        "if": _has_key(VARIANTS),
        "then": definition_ref(_changed_name(name)),
        "else": {
            "if": _has_key(MIXTURE),
            "then": definition_ref(_mixture_name(name)),
            "else": definition_ref(name),
        },
    }


def _has_key(key: str) -> JsonSchema:
    return {"required": [key]}


def _changed_name(name: str) -> str:
    return f"{name.removesuffix('_changed')}_changed"


def _mixture_name(name: str) -> str:
    return f"mixed_{name}"


def _definition_name(reference: JsonSchema) -> str:
    return str(reference["$ref"].rpartition("/")[2])


# ---- functions -----------------------------------------------------------------------------------


def _function_entry(functions: schema.FunctionSchema) -> JsonSchema:
    """Return the JSON schema of a list item that names one of `functions`: only the name, or a
    mapping of name and parameters."""
    names = {
        "enum": [system.name for system in functions.systems],
        "enumDescriptions": [first_paragraph(system.function) for system in functions.systems],
    }
    name = Key(f"Of the {functions.phase.label}.", any_of(names, schema.REFERENCE), required=True)
    entry = {
        **object_schema({"name": name, **functions.extra_keys}),
        "additionalProperties": True,
        "allOf": [_parameters_schema(system, functions.extra_keys) for system in functions.systems],
    }
    names_alone = [names, schema.REFERENCE] if functions.allows_bare_name else []
    return any_of(*names_alone, entry, *functions.other_entries)


def argument_keys(system: System) -> schema.KeyTable:
    """Return the keys with which a scenario file sets a system's arguments, with their descriptions
    and schemas."""
    keys = {}
    for parameter in _list_parameters(system):
        kind = find_value_kind(parameter)
        keys[parameter.name] = Key(kind.description, kind.json_schema, parameter.required)
    return keys


def _list_parameters(system: System) -> list[Parameter]:
    return [p for p in system.parameters if p.name not in system.tables]


def _parameters_schema(system: System, extra_keys: schema.KeyTable) -> JsonSchema:
    """Return a JSON schema condition for one system: an entry with its name may have only its
    parameters and `extra_keys`."""
    parameters = argument_keys(system)
    condition = {"properties": {"name": {"const": system.name}}, "required": ["name"]}
    names = ["name", *extra_keys, *parameters]
    then = {**object_schema(parameters), "propertyNames": {"enum": names}}
    del then["additionalProperties"]
    return {"if": condition, "then": then}


# ---- parameters and overrides --------------------------------------------------------------------


@dataclass(frozen=True)
class _Expander:
    """Converter of JSON schemas that also allows a parameter `$name` in place of every value, and,
    for scenarios that extend another one, partial values.

    Attributes:
        definitions: replacements of definitions, by name.
        is_changed: True for a scenario that overrides parts of another one.
    """

    definitions: Mapping[str, str] = field(default_factory=dict)
    is_changed: bool = False

    def expand_value(self, schema: JsonSchema) -> JsonSchema:
        """Return a JSON schema that also accepts a parameter such as `$size` in place of any value,
        and, in a file that extends another, a change of that file's value."""
        expanded = dict(self.expand_parts(schema))
        described = {}
        if "description" in expanded:
            described["description"] = expanded.pop("description")
        if "$ref" in expanded:
            return {**described, "allOf": [expanded]} if described else expanded
        if self.is_changed:
            return {**described, **any_of(expanded, definition_ref("changed"))}
        if _accepts_any_text(schema):
            return {**described, **expanded}
        return {**described, **any_of(expanded, definition_ref("value"))}

    def expand_parts(self, schema: JsonSchema) -> JsonSchema:
        """Return a copy of a JSON schema with `expand_value` applied to all schemas nested in
        it."""
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
        """Return the name of the schema definition that references use in place of the definition
        `name`."""
        name = self.definitions.get(name, name)
        return _changed_name(name) if self.is_changed else name


def _accepts_any_text(schema: JsonSchema) -> bool:
    """Return True if a JSON schema accepts every string, and therefore also a parameter such as
    `$size`."""
    if "anyOf" in schema:
        return any(map(_accepts_any_text, schema["anyOf"]))
    is_restricted = schema.keys() & {"enum", "pattern", "$ref"}
    return not is_restricted and "string" in schema.get("type", ["string"])


# ---- reference -----------------------------------------------------------------------------------

_KEYS = {
    Phase.RESET: "reset_function: {}",
    Phase.TRANSITION: "transition_functions:\n  - {}",
    Phase.REWARD: "reward_functions:\n  - {}",
    Phase.TERMINATING: "terminating_function: {}",
    Phase.VISIBILITY: "observation_function: {}",
}
"""Example entry of a system in a scenario file, by phase."""


class Topic(NamedTuple):
    """Documentation of one name that authors can use.

    Attributes:
        name: the name.
        summary: one sentence.
        docstring: the whole docstring.
        parts: (name, allowed values, default or "") of its parameters, fields or states.
        place: `file:line` of its source, relative to the project's folder; "" for none.
        example: example of its use.
    """

    name: str
    summary: str
    docstring: str
    parts: tuple[tuple[str, str, str], ...] = ()
    place: str = ""
    example: str = ""


Chapter = tuple[str, list[Topic]]
"""Title and topics of a chapter."""


def list_chapters() -> list[Chapter]:
    """Return the chapters of the reference manual: keys of scenario files, built-in systems,
    objects, components, and methods of the world."""
    chapters: list[Chapter] = [("Scenario files: all", _list_key_topics(FILE_KEYS))]
    for name, file_format in load_formats().items():
        title = f"Scenario files: {DOMAINS[name].title}"
        chapters.append((title, _list_key_topics(file_format.keys)))
        if mixture_keys := file_format.mixture_keys:
            chapters.append(("Scenario files: mixtures", _list_key_topics(mixture_keys)))
    chapters += [
        (f"{phase.name}: {phase.label}s", [*map(_system_topic, list_built_in(phase))])
        for phase in _KEYS
    ]
    grid_types = (kind for kind in built_in_types() if kind.in_grid)
    return [
        *chapters,
        ("Objects", [*map(_object_topic, grid_types)]),
        ("Components", [*map(_component_topic, (*built_in_components(), *OPTIONAL, Mission))]),
        ("Map characters", list(_iter_character_topics())),
        ("The world: what rules call on `w`", list(_iter_method_topics(World))),
        ("The view: what a visibility function fills in", list(_iter_view_topics())),
        ("Queries, in `systems.queries`", list(_iter_function_topics(queries))),
        ("Building, in `systems.building`", list(_iter_function_topics(building))),
    ]


def _list_key_topics(keys: schema.KeyTable) -> list[Topic]:
    """Return an entry of the reference manual for each key of scenario files in the table
    `keys`."""
    topics = []
    for name, key in keys.items():
        description = _describe_key(key)
        parts = tuple((inner, _describe_key(nested), "") for inner, nested in key.nested.items())
        topics.append(Topic(name, description, description, parts))
    return topics


def _describe_key(key: Key) -> str:
    return f"{key.description} Needed." if key.required else key.description


def _system_topic(system: System) -> Topic:
    """Return the reference manual's entry about a built-in system, with an example for a scenario
    file."""
    parts, values = [], []
    for parameter in _list_parameters(system):
        kind, default = find_value_kind(parameter), format_default(parameter)
        parts.append((parameter.name, kind.description, default))
        if parameter.default != "":
            values.append(f"{parameter.name}: {default or kind.example}")
    if system.phase is Phase.VISIBILITY:
        values.insert(0, "area: [[-6, 0], [-3, 3]]")
    entry = "{" + ", ".join([f"name: {system.name}", *values]) + "}" if values else system.name
    example = _KEYS[system.phase].format(entry)
    language = next((lang for lang in find_mission_languages() if lang.is_needed_by(system)), None)
    if language:
        if system.phase is not Phase.TRANSITION:
            example = f"transition_functions: [{language.verifier}]\n{example}"
        example = f"mission: {language.examples[0]}\n{example}"
    elif reads_mission(system):
        example = f'mission: {{text: "fetch the {{object}}", object: Key}}\n{example}'
    if needs_number(system):
        example = _RAT + example.replace("object_type: Door", "object_type: Rat")
    elif _refuses_doors(system):
        example = _BELT + example.replace("object_type: Door", "object_type: Belt")
    return _make_topic(system.name, system.function, parts, example)


def _refuses_doors(system: System) -> bool:
    """Return True if the check of a system refuses doors, the type in examples."""
    doors = {p.name: DOOR for p in _list_parameters(system) if p.required and p.name in TYPES}
    is_known = doors.keys() >= {*system.check_parameters} - {"types"}
    return bool(system.check and is_known and Call(system, doors).run_check())


_RAT = (
    "components: {Health: {points: 3}}\nagents: {components: [Health]}\n"
    "objects:\n  Rat: {components: [Health]}\n"
)
"""Component, agent and object type for examples of rules about numbers."""
_BELT = "objects:\n  Belt: {layer: ground, states: [FORWARD, BACKWARD, LEFT, RIGHT]}\n"
"""Object type for examples of rules about types other than doors."""


def format_default(parameter: Parameter) -> str:
    """Return the default value of a parameter as scenario files write it; "" if it has none."""
    return "" if parameter.required else format_value(parameter.name, parameter.default)


def format_value(name: str, value: Any, types: ObjectTypes = OBJECT_TYPES) -> str:
    """Return the value of a system's parameter `name` as it is written in a scenario file: a type
    index becomes `Door`, for example.

    Args:
        name: name of the parameter.
        value: the value.
        types: object types of the scenario.
    """
    if name in TYPES:
        return types[value].name if value in types else str(value)
    if name == "color":
        return str(COLORS[value])
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Action):
        return value.name
    if isinstance(value, tuple | list):
        parts = (format_value(name.removesuffix("s"), item, types) for item in value)
        return f"[{', '.join(parts)}]"
    return str(getattr(value, "__name__", value))


def _object_topic(kind: ObjectType) -> Topic:
    """Return the reference manual's entry about a built-in object type."""
    components = ", ".join(cls.__name__ for cls, _ in kind.components)
    summary = f"Components: {components}." if components else "No components."
    characters = [c for c, symbol in LEGEND.items() if symbol.kind == kind.index]
    if characters and kind.index != FLOOR:
        summary += f" On maps: {' '.join(characters)}"
    states = tuple((state, "State.", "") for state in kind.states)
    initial_state = f", state: {kind.states[0]}" if kind.states else ""
    example = f"legend:\n  x: {{object: {kind.name}{initial_state}}}"
    return Topic(kind.name, summary, summary, states, "", example)


def _component_topic(cls: type) -> Topic:
    """Return the topic (entry of the reference) about a component class."""
    parts = [(f.name, describe_dtype(f.dtype), str(f.default)) for f in fields_of(cls)]
    first_column = parts[0][0] if parts else "has"
    return _make_topic(cls.__name__, cls, parts, f"w.{column_name(cls)}.{first_column}[e]")


def describe_dtype(dtype: Any) -> str:
    """Return a text that describes the values of a component's field with this dtype."""
    names = {"entity": "an entity", "coordinate": "a row or column, or -1"}
    return names.get(str(dtype), str(dtype))


def _iter_character_topics() -> Iterator[Topic]:
    """Yield an entry of the reference manual for each map character that needs no legend."""
    for character, symbol in LEGEND.items():
        kind = OBJECT_TYPES[symbol.kind]
        summary = kind.name
        if kind.states:
            summary += f", {kind.states[symbol.state]}"
        if symbol.color:
            summary += f", {COLORS[symbol.color]}"
        if symbol.facing is not None:
            summary = "the agent, looking that way"
        yield Topic(character if character != " " else "blank", summary, summary)


_ATTRIBUTE = re.compile(r"^    ([\w, ]+): (.+(?:\n {8}.+)*)$", re.MULTILINE)


def _iter_view_topics() -> Iterator[Topic]:
    """Yield the reference manual's entries about the class `View` and its methods."""
    attributes = _ATTRIBUTE.findall(inspect.getdoc(View) or "")
    parts = [(names, " ".join(description.split()), "") for names, description in attributes]
    yield _make_topic("view", View, parts, "view.seen[i, j] = 1")
    yield from _iter_method_topics(View, "view")


def _iter_method_topics(cls: type, instance: str = "w") -> Iterator[Topic]:
    """Yield an entry of the reference manual for each public method and property of a class. In
    examples, an instance is called `instance`."""
    for name, member in vars(cls).items():
        full_name = f"{instance}.{name}"
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            yield _make_topic(full_name, member.fget, (), full_name)
        elif callable(member):
            yield _make_topic(full_name, member, (), _format_call(full_name, member, skip=1))


def _iter_function_topics(module: Any) -> Iterator[Topic]:
    """Yield an entry of the reference manual for each public function of a module."""
    for name, member in vars(module).items():
        is_own = inspect.isfunction(member) and member.__module__ == module.__name__
        if is_own and not name.startswith("_"):
            yield _make_topic(name, member, (), _format_call(name, member))


def _format_call(name: str, function: Callable[..., Any], skip: int = 0) -> str:
    parameters = list(inspect.signature(function).parameters)
    return f"{name}({', '.join(parameters[skip:])})"


def _make_topic(
    name: str, source: Any, parts: Iterable[tuple[str, str, str]], example: str
) -> Topic:
    """Return an entry of the reference manual about a function or class, `source`, with its
    docstring and source location. `parts` are rows of a table, `example` is code."""
    docstring = inspect.getdoc(source) or ""
    file, line = source_location(source)
    path = Path(file)
    place = path.relative_to(HOME).as_posix() if path.is_relative_to(HOME) else path.name
    return Topic(name, first_paragraph(source), docstring, tuple(parts), f"{place}:{line}", example)


# ---- descriptions of rules -----------------------------------------------------------------------

Section = tuple[str, list[tuple[str, str]]]
"""Heading, and (rule, description) of the rules below it."""

_HEADINGS = {
    Phase.TRANSITION: "What happens",
    Phase.REWARD: "What pays",
    Phase.TERMINATING: "What ends it",
    Phase.SUCCESS: "What wins",
}

_TYPE_PHRASE = (
    r"(?i)(?P<article>\b(?:an?|the|one|every|each) )?(?P<placeholder>objects?|those|one) of {} type"
)
_TYPE_PARAMETERS = {
    name: rf"{_TYPE_PHRASE.format(article)}\b(, such as \w+(,|(?=\.)))?"
    for name, article in zip(TYPES, ("a", "another", "a third"), strict=True)
}
"""Patterns of the phrases by which docstrings refer to a rule's type parameters, by parameter."""
_TYPES_WITHOUT_NOUNS = [OBJECT_TYPES[kind].name for kind in range(FLOOR + 1)]
"""Types that stand for no object in a cell."""
_MASS_NOUNS = ("ice", "lava", "water", "slime", "sand", "mud", "grass", "snow", "fire", "floor")
"""Types whose names have no plural."""


def list_rule_sections(
    schedules: Schedules, types: ObjectTypes = OBJECT_TYPES, absent: Collection[int] = ()
) -> list[Section]:
    """Describe a level's rules as (heading, rules) pairs, each rule as (name, sentence). Rules
    about the object types `absent` are left out, as these do not occur in the level.

    Args:
        schedules: the rules by phase.
        types: object types of the level.
        absent: object types that the level has no objects of; rules about these are left out.
    """
    sections = []
    for phase, heading in _HEADINGS.items():
        calls = [call for _, schedule in schedules for call in schedule.get(phase, ())]
        parts = [part for call in calls for part in _list_alternatives(call)]
        rules = [describe_rule(part, types) for part in parts if not _refers_to_types(part, absent)]
        if rules:
            sections.append((heading, list(dict.fromkeys(rules))))
    return sections


def _list_alternatives(call: Call) -> list[Call]:
    inner_calls = _list_inner(call) if call.name == "reduce_any" else []
    return inner_calls or [call]


def _list_inner(call: Call) -> list[Call]:
    return [path[1] for path in call.iter_call_paths() if len(path) == 2]


def _refers_to_types(call: Call, kinds: Collection[int]) -> bool:
    return any(call.arguments.get(name, -1) in kinds for name in ("object_type", "other_type"))


def describe_rule(call: Call, types: ObjectTypes) -> tuple[str, str]:
    """Return name and description of a rule. The description names the actual arguments of `call`,
    such as "a crate" in place of "an object of a type"."""
    texts = {
        name: f"{value:g}" if isinstance(value, float) else format_value(name, value, types)
        for name, value in call.arguments.items()
        if isinstance(value, int | float)
    }
    summary = first_paragraph(call.system.objects or call.system.function)
    description, used = fill_in(summary, texts)
    if inner := [describe_rule(part, types)[1].rstrip(".") for part in _list_inner(call)]:
        description = f"{description} Made of: {'; '.join(inner)}."
    if unused := [f"{name} {text}" for name, text in texts.items() if name not in used]:
        description = f"{description} ({', '.join(unused).replace('_', ' ')})"
    return call.name.replace("_", " "), description


def fill_in(sentence: str, texts: Mapping[str, str]) -> tuple[str, set[str]]:
    """Replace the names of a rule's parameters, and phrases that stand for them, in a sentence by
    values: "an object of a type" becomes "a crate". `texts` has the values by parameter name.
    Return the sentence, and the names that were replaced.

    >>> fill_in("Push an object of a type, at most `most` times.", {"object_type": "Crate"})
    ('Push a crate, at most `most` times.', {'object_type'})
    """
    used = set()
    for name, text in texts.items():
        filled = sentence
        if name in _TYPE_PARAMETERS and text.isidentifier() and text not in _TYPES_WITHOUT_NOUNS:
            noun = to_snake_case(text).replace("_", " ")
            filled = _insert_noun(filled, _TYPE_PARAMETERS[name], noun)
        if text not in ("yes", "no", "true", "false"):
            pattern = rf"(the )?`{name}`" + (rf"|\b{name}\b" if "_" in name else "")
            filled = re.sub(pattern, text.replace("\\", r"\\"), filled)
        if filled != sentence:
            used.add(name)
        sentence = filled
    return sentence[:1].upper() + sentence[1:], used


def _insert_noun(sentence: str, pattern: str, noun: str) -> str:
    """Replace phrases such as "an object of a type" in a sentence by `noun`, the name of an object
    type: "a crate", "the crates". `pattern` is the regular expression that finds the phrases."""

    def replace_phrase(match: re.Match[str]) -> str:
        article, placeholder = match["article"] or "", match["placeholder"]
        if placeholder.lower() in ("objects", "those"):
            phrase = article + _pluralize(noun)
        elif article.lower() in ("an ", ""):
            phrase = _add_article(noun)
        else:
            phrase = article + noun
        return phrase[0].upper() + phrase[1:] if match[0][0].isupper() else phrase

    return re.sub(pattern, replace_phrase, sentence)


def _pluralize(noun: str) -> str:
    """Return the plural of an English noun."""
    if noun in _MASS_NOUNS:
        return noun
    ending = "es" if noun[-1] in "sxh" else "s"
    return re.sub("(?<![aeiou])ys$", "ies", noun + ending)


def _add_article(noun: str) -> str:
    """Return an English noun with "a" or "an" before it."""
    if noun in _MASS_NOUNS:
        return noun
    starts_with_vowel = noun[0] in "aeiou" and not noun.startswith("one")
    return f"an {noun}" if starts_with_vowel else f"a {noun}"


def first_paragraph(function: Any) -> str:
    """Return the first paragraph of a function's docstring as one line."""
    return " ".join((inspect.getdoc(function) or "").partition("\n\n")[0].split())
