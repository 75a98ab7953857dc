"""Fields of forms, made from the schema: what may stand in each, and what stands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gv_engine.editor.symbols import Vocabulary
from gv_engine.editor.yaml_text import EditError
from gv_engine.rules.geometry import ACTIONS, USUAL_ACTIONS
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import System
from gv_engine.scenario.calls import find_value_kind
from gv_engine.scenario.fields import parse_value
from gv_engine.scenario.json_schema import (
    BOOLEAN,
    COLOR,
    DEFINITIONS,
    OBJECT,
    TEXT,
    FunctionSchema,
    JsonSchema,
    Key,
    KeyTable,
    enum_schema,
)
from gv_engine.scenario.reference_docs import first_sentence
from gv_engine.scenario.schema import load_formats


class FormField(NamedTuple):
    """A field of a form.

    Attributes:
        name: of the key.
        says: what it is, in a sentence.
        form: what may stand there.
        value: what stands there, plain; None if nothing does.
        choices: all that may stand there; () if it is more than names.
        expects: what may stand there, in words.
        is_text: whether what is typed is a text whatever it looks like.
        required: whether it has to be there.
        below: the keys of what stands there, if it is filled in by a form of its own.
        parts: how what stands there is filled in one by one, if it is a list or names of one's own.
    """

    name: str
    says: str
    form: JsonSchema
    value: Any
    choices: tuple[Any, ...]
    expects: str
    is_text: bool
    required: bool
    below: KeyTable
    parts: FormParts | None = None

    @property
    def inner(self) -> dict[str, Any]:
        """What stands there, by the keys below; a rule may be said by its name alone."""
        if isinstance(self.value, dict):
            return dict(self.value)
        return {} if self.value is None else {"name": self.value}

    def with_inner(self, name: str, value: Any) -> Any:
        """What stands there with another value for one of the keys below, None for nothing."""
        told = {**self.inner, name: value}
        if name == "name":  # another rule may have other parameters
            known = _function_keys(self.form, value) or self.below
            told = {key: told[key] for key in told if key in known}
        told = {key: part for key, part in told.items() if part is not None}
        functions = _functions(self.form)
        if functions and functions.allows_bare_name and list(told) == ["name"]:
            return told["name"]
        return told or None

    @property
    def shown(self) -> str:
        """What stands there, in a line."""
        return "" if self.value is None else as_typed(self.value)

    def after(self, step: int) -> Any:
        """The choice that follows the one that stands there, or comes before; None for nothing."""
        order = list(self.choices) if self.required else [None, *self.choices]
        number = order.index(self.value) if self.value in order else 0
        return order[(number + step) % len(order)]

    def read(self, text: str) -> Any:
        """The value of what was typed.

        Raises:
            EditError: it is no value.
        """
        if self.is_text:
            return text
        try:
            return parse_value(text)
        except ValueError as error:
            raise EditError(f"{self.name}: {error}; expected {self.expects}") from None


def form_fields(keys: KeyTable, values: Mapping[str, Any], words: Vocabulary) -> list[FormField]:
    """The fields for keys of a mapping.

    Args:
        keys: that may stand there.
        values: what stands there.
        words: names of objects that may be meant.
    """
    return [field(name, key, values.get(name), words) for name, key in keys.items()]


def field(name: str, key: Key, value: Any, words: Vocabulary) -> FormField:
    """The field for one key."""
    form = _fitting(key.schema, value)
    choices = tuple(_choices(key.schema, words))
    below: KeyTable = {}
    if "properties" in form and isinstance(value, dict | None):
        below = key.nested or _keys_of(form)
    elif _functions(form):
        below = _function_keys(form, value["name"] if isinstance(value, dict) else value)
    expects = " or ".join(dict.fromkeys(_expected(key.schema)))
    text = key.schema is TEXT or key.schema == TEXT
    parts = None if choices or below else _parts(form, key, words)
    return FormField(
        name, key.description, form, value, choices, expects, text, key.required, below, parts
    )


def _fitting(form: JsonSchema, value: Any) -> JsonSchema:
    """Of several forms the one that a value has; where there is none yet, of lists or mappings
    alone."""
    told = _opened(form)
    if "anyOf" not in told or "properties" in told:
        return form if _functions(form) else told
    kind = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else ""
    fits = [part for part in map(_opened, told["anyOf"]) if part.get("type") == kind]
    return fits[0] if fits else form


def _keys_of(form: JsonSchema) -> KeyTable:
    """The keys of a mapping, by its form alone."""
    required = form.get("required", ())
    return {
        name: Key(part.get("description", ""), part, name in required)
        for name, part in form["properties"].items()
    }


# ---- rules within rules ----------------------------------------------------------------------


def _functions(form: JsonSchema) -> FunctionSchema | None:
    """The rules that may stand where one is named; None elsewhere."""
    name = str(form.get("$ref", "")).rpartition("/")[2]
    known = (format.functions.get(name) for format in load_formats().values())
    return next(filter(None, known), None)


def _function_keys(form: JsonSchema, name: Any) -> KeyTable:
    """What may stand in the entry of a rule: which one it is, and its parameters."""
    functions = _functions(form)
    if functions is None:
        return {}
    systems = {system.name: system for system in functions.systems}
    says = first_sentence(systems[name].function) if name in systems else "Which rule it is."
    told = {"name": Key(says, enum_schema(systems), required=True), **functions.extra_keys}
    return {**told, **parameter_keys(systems[name])} if name in systems else told


def parameter_keys(system: System) -> KeyTable:
    """The parameters of a rule that texts give."""
    return {
        parameter.name: Key(kind.words, kind.form, parameter.required)
        for parameter in system.parameters
        if parameter.name not in system.tables
        for kind in [find_value_kind(parameter)]
    }


# ---- lists, and mappings of names of one's own -------------------------------------------------


class FormParts(NamedTuple):
    """How a list is filled in, or a mapping of names of one's own: part by part.

    Attributes:
        key: of each part.
        options: what may be in a list, once each, and is chosen from; () for any other parts.
        usual: those of them that count if nothing is said.
        is_list: whether it is a list.
        words: names of objects that may be meant.
    """

    key: Key
    options: tuple[Any, ...]
    usual: tuple[Any, ...]
    is_list: bool
    words: Vocabulary

    def fields(self, value: Any) -> list[FormField]:
        """The fields of what stands there: one for each option, and for each other part."""
        told = Key("Whether it is one of them.", BOOLEAN, required=True)
        there = self.usual if value is None else value
        chosen = [field(str(option), told, option in there, self.words) for option in self.options]
        others = [
            field(name, self.key, part, self.words)
            for name, part in self._named(value)
            if part not in self.options
        ]
        return [*chosen, *others]

    def _named(self, value: Any) -> list[tuple[str, Any]]:
        if self.is_list:
            return [(str(number), part) for number, part in enumerate(value or (), 1)]
        return list((value or {}).items())

    def put(self, value: Any, name: str, part: Any) -> Any:
        """The same with another part, None for nothing."""
        options = {str(option): option for option in self.options}
        if name in options:
            there = self.usual if value is None else value
            others = [other for other in there if other != options[name]]
            return [*others, options[name]] * bool(part) or others or None
        told = dict(self._named(value))
        told[name] = part
        kept = {key: each for key, each in told.items() if each is not None}
        return (list(kept.values()) if self.is_list else kept) or None

    def moved(self, value: Any, name: str, by: int) -> Any:
        """A list with a part further up or down; anything else as it is."""
        names = [key for key, _ in self._named(value)]
        if not self.is_list or name not in names:
            return value
        told = list(value)
        number = names.index(name)
        if 0 <= number + by < len(told):
            told.insert(number + by, told.pop(number))
        return told

    @property
    def example(self) -> Any:
        """What a part is at first."""
        told = [_opened(form) for form in _opened(self.key.schema).get("anyOf", [self.key.schema])]
        if any("properties" in form for form in told):
            return {}
        choices = next(filter(None, (_choices(form, self.words) for form in told)), None)
        if choices:
            return choices[0]
        kinds = [form.get("type") for form in told]
        return [] if ["array", "object"] in kinds else 1 if "integer" in kinds else ""


def _parts(form: JsonSchema, key: Key, words: Vocabulary) -> FormParts | None:
    """How what may stand there is filled in part by part; None if it is not."""
    items, named_parts = form.get("items"), form.get("additionalProperties")
    if form.get("type") == "array" and isinstance(items, dict):
        if items.get("type") in ("array", "integer", "number") or form.get("maxItems") == 2:
            return None  # a shape, an area: typed at once
        alternatives = _opened(items).get("anyOf", [items])
        found = (_choices(part, words) for part in (items, *alternatives))
        options = tuple(next(filter(None, found), ())) if form.get("uniqueItems") else ()
        usual = {
            tuple(ACTIONS): [ACTIONS[action] for action in USUAL_ACTIONS],
            tuple(COLORS): [COLORS[color] for color in words.colors],
            _objects(words): [words.types[kind].name for kind in words.objects],
        }.get(options, ())
        return FormParts(
            Key(key.description, items, nested=key.nested), options, tuple(usual), True, words
        )
    if form.get("type") == "object" and isinstance(named_parts, dict):
        return FormParts(Key(key.description, named_parts, nested=key.nested), (), (), False, words)
    return None


def _opened(form: JsonSchema) -> JsonSchema:
    reference = str(form.get("$ref", "")).rpartition("/")[2]
    return DEFINITIONS.get(reference, form)


def _objects(words: Vocabulary) -> tuple[str, ...]:
    return tuple(words.types[kind].name for kind in words.usual)


def _choices(form: JsonSchema, words: Vocabulary) -> Sequence[Any]:
    """All that may stand there, if these are names."""
    if form == OBJECT:
        return _objects(words)
    if form == COLOR:
        return list(COLORS)
    told = _opened(form)
    if "enum" in told:
        return list(told["enum"])
    if told.get("type") == "boolean":
        return [True, False]
    if "anyOf" in told:
        parts = [_choices(part, words) for part in told["anyOf"]]
        # what may be something else besides is typed
        return [choice for part in parts for choice in part] if all(parts) else []
    return []


_TYPES = {
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "boolean": "true or false",
    "array": "a list, as [1, 2]",
    "object": "a mapping, as {name: value}",
    "null": "nothing",
}


def _expected(form: JsonSchema) -> list[str]:
    """What may stand there, in words."""
    if form == TEXT:
        return ["a text"]
    told = _opened(form)
    if "anyOf" in told:
        return [words for part in told["anyOf"] for words in _expected(part)]
    if "enum" in told:
        return [", ".join(map(str, told["enum"]))]
    if "$ref" in told:
        return ["the name of a rule, or {name: …}"]
    kinds = told.get("type", [])
    words = [_TYPES[kind] for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    if "minimum" in told and "maximum" in told and words == ["a whole number"]:
        return [f"a whole number from {told['minimum']} to {told['maximum']}"]
    return words


def as_typed(value: Any) -> str:
    """A value as it is typed."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {as_typed(part)}' for key, part in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_typed, value))}]"
    return " ".join(str(value).split())
