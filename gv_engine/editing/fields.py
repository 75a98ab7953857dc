"""Fields of forms, made from the schema: what may stand in each, and what stands there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from gv_engine.editing.vocabulary import Vocabulary
from gv_engine.editing.yaml_text import EditError
from gv_engine.language.objects import COLORS
from gv_engine.reading.forms import COLOR, DEFINITIONS, OBJECT, TEXT, JsonForm, Key, KeyTable
from gv_engine.reading.yaml_nodes import value_of


class FormField(NamedTuple):
    """A field of a form.

    Attributes:
        name: of the key.
        says: what it is, in a sentence.
        value: what stands there, plain; None if nothing does.
        choices: all that may stand there; () if it is more than names.
        expects: what may stand there, in words.
        is_text: whether what is typed is a text whatever it looks like.
        required: whether it has to be there.
        below: the keys of what stands there, if it is filled in by a form of its own.
    """

    name: str
    says: str
    value: Any
    choices: tuple[Any, ...]
    expects: str
    is_text: bool
    required: bool
    below: KeyTable

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
            return value_of(text)
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
    choices = tuple(_choices(key.form, words))
    below = key.below if "properties" in key.form and isinstance(value, dict | None) else {}
    expects = " or ".join(dict.fromkeys(_expected(key.form)))
    text = key.form is TEXT or key.form == TEXT
    return FormField(name, key.says, value, choices, expects, text, key.required, below)


def _opened(form: JsonForm) -> JsonForm:
    reference = str(form.get("$ref", "")).rpartition("/")[2]
    return DEFINITIONS.get(reference, form)


def _choices(form: JsonForm, words: Vocabulary) -> Sequence[Any]:
    """All that may stand there, if these are names."""
    if form == OBJECT:
        return [words.types[kind].name for kind in words.usual]
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


def _expected(form: JsonForm) -> list[str]:
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
