"""Fields of forms, made from the JSON schema of scenario files: possible values and the current
value of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from gv_engine.play.editor.text_buffer import EditError
from gv_engine.play.editor.vocabulary import Vocabulary
from gv_engine.rules.component import to_snake_case
from gv_engine.rules.geometry import ACTIONS, USUAL_ACTIONS
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.reference_docs import argument_keys, first_paragraph, load_formats
from gv_engine.scenario.syntax import json_schema
from gv_engine.scenario.syntax.json_schema import TEXT, FunctionSchema, JsonSchema, Key, KeyTable
from gv_engine.scenario.syntax.yaml_parser import parse_value

VIEW_AREAS = {
    **{f"{n} × {n} ahead": [[1 - n, 0], [-(n // 2), n // 2]] for n in (3, 5, 7, 9)},
    **{f"{n} × {n} around": n // 2 for n in (3, 5, 7, 9)},
}
"""Usual observation areas of agents, by name."""


class FormField(NamedTuple):
    """Field of a form.

    Attributes:
        name: name of the key.
        description: sentence about the key.
        schema: JSON schema of the value.
        value: current plain value; None if there is none.
        choices: all possible values; () if the value is free text.
        expected: possible values in words.
        is_text: whether input is always text, also if it looks like a number.
        required: whether a value is required.
        keys: keys of the value, if it is a mapping or rule that is edited in a nested form.
        parts: parts of the value, if it is a list, or a mapping with free keys.
        is_area: whether the value is the observed area of an agent.
        label: name for people.
    """

    name: str
    description: str
    schema: JsonSchema
    value: Any
    choices: tuple[Any, ...]
    expected: str
    is_text: bool
    required: bool
    keys: KeyTable
    parts: FormParts | None = None
    is_area: bool = False
    label: str = ""

    @property
    def current(self) -> dict[str, Any]:
        """Value of the field as a dict; a rule that is given as a mere name becomes `{"name":
        …}`."""
        if isinstance(self.value, dict):
            return dict(self.value)
        return {} if self.value is None else {"name": self.value}

    def with_current(self, name: str, value: Any) -> Any:
        """Return a copy of the field's value, a mapping, in which the key `name` is set to `value`.
        None removes the key; the result is None if no key is left."""
        values = {**self.current, name: value}
        if name == "name":  # another rule may have other parameters
            allowed_keys = _call_keys(self.schema, value) or self.keys
            values = {key: values[key] for key in values if key in allowed_keys}
        values = {key: part for key, part in values.items() if part is not None}
        functions = _allowed_rules(self.schema)
        if functions and functions.allows_bare_name and list(values) == ["name"]:
            return values["name"]
        return values or None

    @property
    def shown(self) -> str:
        """Value in one line of text."""
        return "" if self.value is None else format_typed_value(self.value)

    @property
    def presets(self) -> Mapping[str, Any]:
        """Values to pick from, by name; other values can be typed if the field allows them."""
        if self.is_area:
            return VIEW_AREAS
        return {to_words(choice): choice for choice in self.choices}

    @property
    def number_schema(self) -> JsonSchema | None:
        """Schema of a field for a whole number, with its limits; None for other fields."""
        schemas = [part for part in _alternatives(self.schema) if part.get("type") != "null"]
        is_number = {str(part.get("type")) for part in schemas} == {"integer"}
        return schemas[0] if is_number and not self.choices else None

    def step_number(self, step: int) -> int:
        """Return the field's number changed by `step` units of its second digit, within its limits:
        120 and `step` 1 give 130."""
        unit = int(10 ** max(0, len(str(abs(self.value))) - 2))
        schema, number = self.number_schema or {}, int(self.value) + step * unit
        lowest, highest = schema.get("minimum", number), schema.get("maximum", number)
        return int(min(max(lowest, number), highest))

    def next_choice(self, step: int) -> Any:
        """Return the choice `step` positions after the current value, wrapping around. None, for no
        value, is among the choices unless a value is required."""
        choices = list(self.choices) if self.required else [None, *self.choices]
        index = choices.index(self.value) if self.value in choices else 0
        return choices[(index + step) % len(choices)]

    def parse(self, text: str) -> Any:
        """Convert the text that the user typed to a value. Raise an error if that fails.

        Raises:
            EditError: the text is no value of the field.
        """
        if self.is_text:
            return text
        try:
            return parse_value(text, keeps_words=True)
        except ValueError as error:
            raise EditError(f"{self.name}: {error}; expected {self.expected}") from None


def form_fields(keys: KeyTable, values: Mapping[str, Any], vocab: Vocabulary) -> list[FormField]:
    """Return a form field for each possible key.

    Args:
        keys: possible keys.
        values: current values.
        vocab: vocabulary of the level.
    """
    return [make_field(name, key, values.get(name), vocab) for name, key in keys.items()]


def make_field(name: str, key: Key, value: Any, vocab: Vocabulary) -> FormField:
    """Return the form field for editing `value`. `key` has the JSON schema of the value, `name` is
    its key in the file, and `vocab` has the level's object types and colours."""
    schema = _matching_schema(key.schema, value)
    choices = tuple(_choices(key.schema, vocab))
    keys: KeyTable = {}
    if "properties" in schema and isinstance(value, dict | None):
        keys = key.nested or _property_keys(schema)
    elif _allowed_rules(schema):
        keys = _call_keys(schema, value["name"] if isinstance(value, dict) else value)
    return FormField(
        name,
        key.description,
        schema,
        value,
        choices,
        expected=" or ".join(dict.fromkeys(_describe_types(key.schema))),
        is_text=key.schema == TEXT,
        required=key.required,
        keys=keys,
        parts=None if choices or keys else _make_parts(schema, key, vocab),
        is_area=key.schema == json_schema.AREA,
        label=name.replace("_", " "),
    )


def _matching_schema(schema: JsonSchema, value: Any) -> JsonSchema:
    """Return the alternative (`anyOf`) in a JSON schema whose type fits `value`, a mapping or list.
    Return the schema itself if there are no alternatives."""
    resolved = _resolve(schema)
    if "anyOf" not in resolved or "properties" in resolved:
        return schema if _allowed_rules(schema) else resolved
    if not isinstance(value, dict | list):
        return schema
    json_type = "object" if isinstance(value, dict) else "array"
    matches = (part for part in _alternatives(schema) if part.get("type") == json_type)
    return next(matches, schema)


def _property_keys(schema: JsonSchema) -> KeyTable:
    """Return the keys that a mapping with this JSON schema can have, with their descriptions, by
    name."""
    required = schema.get("required", ())
    return {
        name: Key(part.get("description", ""), part, name in required)
        for name, part in schema["properties"].items()
    }


# ---- rules within rules ----------------------------------------------------------------------


def _allowed_rules(schema: JsonSchema) -> FunctionSchema | None:
    name = str(schema.get("$ref", "")).rpartition("/")[2]
    candidates = (format.functions.get(name) for format in load_formats().values())
    return next(filter(None, candidates), None)


def _call_keys(schema: JsonSchema, name: Any) -> KeyTable:
    """Return the keys that a rule's mapping in the scenario file can have: `name` and, if that is a
    known rule, its parameters. `schema` says which rules are allowed."""
    functions = _allowed_rules(schema)
    if functions is None:
        return {}
    systems = {system.name: system for system in functions.systems}
    summary = first_paragraph(systems[name].function) if name in systems else "Which rule it is."
    keys = {
        "name": Key(summary, json_schema.enum_schema(systems), required=True),
        **functions.extra_keys,
    }
    return {**keys, **argument_keys(systems[name])} if name in systems else keys


# ---- lists, and mappings with free keys -------------------------------------------------------


class FormParts(NamedTuple):
    """Items of a list, or of a mapping whose keys the user chooses, as parts of a form.

    Attributes:
        key: key of each part.
        options: possible items of a list without repetition; () for other lists and mappings.
        usual: options that are selected by default.
        is_list: whether it is a list.
        vocab: vocabulary of the level.
    """

    key: Key
    options: tuple[Any, ...]
    usual: tuple[Any, ...]
    is_list: bool
    vocab: Vocabulary

    def fields(self, value: Any) -> list[FormField]:
        """Return form fields for the items of a list or mapping, `value`. Each optional item gets a
        yes-or-no field."""
        option_key = Key("Whether it is one of them.", json_schema.BOOLEAN, required=True)
        selected = self.usual if value is None else value
        option_fields = [
            make_field(str(o), option_key, o in selected, self.vocab)._replace(label=to_words(o))
            for o in self.options
        ]
        item_fields = [
            make_field(name, self.key, part, self.vocab)
            for name, part in self._named_parts(value)
            if part not in self.options
        ]
        return [*option_fields, *item_fields]

    def _named_parts(self, value: Any) -> list[tuple[str, Any]]:
        if self.is_list:
            return [(str(number), part) for number, part in enumerate(value or (), 1)]
        return list((value or {}).items())

    def set_part(self, value: Any, name: str, part: Any) -> Any:
        """Return a copy of a list or mapping with the item `name` set to `part`. None removes it.
        An optional list item is added by True and removed by False."""
        options = {str(option): option for option in self.options}
        if name in options:
            selected = self.usual if value is None else value
            items = [item for item in selected if item != options[name]]
            if part:
                items.append(options[name])
            return items or None
        parts = dict(self._named_parts(value))
        parts[name] = part
        kept_parts = {key: item for key, item in parts.items() if item is not None}
        return (list(kept_parts.values()) if self.is_list else kept_parts) or None

    def move_part(self, value: Any, name: str, offset: int) -> Any:
        """Return a copy of a list in which the item `name`, its number counted from 1, is moved by
        `offset` positions. A mapping is returned unchanged."""
        names = [key for key, _ in self._named_parts(value)]
        if not self.is_list or name not in names:
            return value
        items = list(value)
        index = names.index(name)
        if 0 <= index + offset < len(items):
            items.insert(index + offset, items.pop(index))
        return items

    @property
    def example(self) -> Any:
        """Initial value of a newly added item."""
        schemas = _alternatives(self.key.schema)
        if any("properties" in schema for schema in schemas):
            return {}
        choices = next(filter(None, (_choices(schema, self.vocab) for schema in schemas)), None)
        if choices:
            return choices[0]
        json_types = [schema.get("type") for schema in schemas]
        if ["array", "object"] in json_types:
            return []
        return 1 if "integer" in json_types else ""


def _make_parts(schema: JsonSchema, key: Key, vocab: Vocabulary) -> FormParts | None:
    """Return the `FormParts` for editing the items of a list or mapping one by one. None if the
    user types the value as a whole. `key` describes the value."""
    items, named_parts = schema.get("items"), schema.get("additionalProperties")
    if schema.get("type") == "array" and isinstance(items, dict):
        if items.get("type") in ("array", "integer", "number") or schema.get("maxItems") == 2:
            return None  # a shape, an area: typed at once
        alternatives = _resolve(items).get("anyOf", ())
        choices = (_choices(part, vocab) for part in (items, *alternatives))
        options = tuple(next(filter(None, choices), ())) if schema.get("uniqueItems") else ()
        usual_by_options = {
            tuple(ACTIONS): [ACTIONS[action] for action in USUAL_ACTIONS],
            tuple(COLORS): [COLORS[color] for color in vocab.colors],
            _object_names(vocab): [vocab.types[kind].name for kind in vocab.objects],
        }
        usual = usual_by_options.get(options, [])
        part_key = Key(key.description, items, nested=key.nested)
        return FormParts(part_key, options, tuple(usual), True, vocab)
    if schema.get("type") == "object" and isinstance(named_parts, dict):
        part_key = Key(key.description, named_parts, nested=key.nested)
        return FormParts(part_key, (), (), False, vocab)
    return None


def _alternatives(schema: JsonSchema) -> list[JsonSchema]:
    """Return the schemas of `anyOf` in the JSON `schema`, or only the schema itself, resolved."""
    resolved = _resolve(schema)
    return [_resolve(part) for part in resolved.get("anyOf", [resolved])]


def _resolve(schema: JsonSchema) -> JsonSchema:
    return json_schema.DEFINITIONS.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)


def _object_names(vocab: Vocabulary) -> tuple[str, ...]:
    return tuple(vocab.types[kind].name for kind in vocab.usual)


def _choices(schema: JsonSchema, vocab: Vocabulary) -> Sequence[Any]:
    """Return all values that a JSON schema allows, if they can be listed, such as object names or
    true and false. [] if the value must be typed."""
    if schema == json_schema.OBJECT:
        return _object_names(vocab)
    if schema == json_schema.COLOR:
        return list(COLORS)
    resolved = _resolve(schema)
    if "enum" in resolved:
        return list(resolved["enum"])
    if resolved.get("type") == "boolean":
        return [True, False]
    if "anyOf" in resolved:
        choices = [_choices(part, vocab) for part in resolved["anyOf"]]
        # alternatives without choices are typed
        return [*chain.from_iterable(choices)] if all(choices) else []
    return []


_TYPE_NAMES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list, as [1, 2]",
    "object": "a mapping, as {name: value}",
    "null": "nothing",
}


def _describe_types(schema: JsonSchema) -> list[str]:
    """Return phrases such as `a whole number` for the types of values that the JSON `schema`
    allows."""
    if schema == TEXT:
        return ["a text"]
    resolved = _resolve(schema)
    if "anyOf" in resolved:
        return [words for part in resolved["anyOf"] for words in _describe_types(part)]
    if "enum" in resolved:
        return [", ".join(map(str, resolved["enum"]))]
    if "$ref" in resolved:
        return ["the name of a rule, or {name: …}"]
    json_types = resolved.get("type", [])
    json_types = [json_types] if isinstance(json_types, str) else json_types
    if "minimum" in resolved and "maximum" in resolved and json_types == ["integer"]:
        return [f"a whole number from {resolved['minimum']} to {resolved['maximum']}"]
    return [_TYPE_NAMES[json_type] for json_type in json_types]


_WORDS = dict.fromkeys(("pickndrop", "pick_n_drop"), "pick up / drop")


def to_words(value: Any) -> str:
    """Return the text that a form shows for a value: lower-case words for a name, such as
    `MOVE_FORWARD` or `MovingObstacle`; yes or no for a bool; else what a user would type."""
    if isinstance(value, str):
        return _WORDS.get(value.lower()) or to_snake_case(value).replace("_", " ")
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format_typed_value(value)


def format_typed_value(value: Any) -> str:
    """Return `value` as the user would type it in a form."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        pairs = (f"{key}: {format_typed_value(part)}" for key, part in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_typed_value, value))}]"
    return " ".join(str(value).split())
