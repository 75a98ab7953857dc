"""The rules of a level that is edited: what happens, what pays, what ends it and what wins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from gv_engine.editor.form_fields import parameter_keys
from gv_engine.editor.symbols import Vocabulary
from gv_engine.editor.yaml_text import EditError, KeyPath, has, insert, move, put, remove
from gv_engine.rules.modules import is_engine_module
from gv_engine.rules.system import (
    REWARD,
    TERMINATING,
    TRANSITION,
    Parameter,
    Phase,
    System,
    system_of,
)
from gv_engine.scenario.calls import NESTED, TYPES, find_value_kind
from gv_engine.scenario.document import Document
from gv_engine.scenario.fields import FieldError, YamlNode, parse_value
from gv_engine.scenario.json_schema import FunctionSchema, KeyTable
from gv_engine.scenario.reference_docs import first_sentence
from gv_engine.scenario.rule_modules import list_defined_names

_SEVERAL = {"reduce_any": "any of these", "reduce_all": "all of these"}
_INNER = "terminating_functions"


class RulePart(NamedTuple):
    """A part of a scenario's rules.

    Attributes:
        key: of the scenario file.
        title: for people.
        phase: of its rules.
        is_list: whether it is a list; else one function, which may be made of several.
    """

    key: str
    title: str
    phase: Phase
    is_list: bool


RULE_PARTS = (
    RulePart("transition_functions", "What happens", TRANSITION, True),
    RulePart("reward_functions", "What pays", REWARD, True),
    RulePart("terminating_function", "What ends it", TERMINATING, False),
    RulePart("success_function", "What wins", TERMINATING, False),
)


class Rule(NamedTuple):
    """A rule that a text lists.

    Attributes:
        part: that it belongs to.
        path: to its entry.
        name: as the text has it.
        arguments: what is said besides.
        system: None if there is none of that name.
    """

    part: RulePart
    path: KeyPath
    name: str
    arguments: dict[str, Any]
    system: System | None

    @property
    def says(self) -> str:
        """Its sentence, and the values that the text gives it."""
        if self.system is None:
            return "There is no rule of this name"
        said = first_sentence(self.system.objects or self.system.function)
        told = [f"{key.replace('_', ' ')} {_short(self.arguments[key])}" for key in self.arguments]
        return f"{said} ({', '.join(told)})" if told else said


class KnownRule(NamedTuple):
    """A rule that a text may list.

    Attributes:
        name: to write.
        system: that it names.
    """

    name: str
    system: System

    @property
    def says(self) -> str:
        """Its sentence."""
        return first_sentence(self.system.objects or self.system.function)


class RuleList:
    """The rules of a manuscript, and changes of them; each makes a new text.

    Args:
        text: of the file.
        document: the same, read, with what it extends.
        words: the names that it may use.
        functions: what may stand there, by the names of the schema.
    """

    def __init__(
        self, text: str, document: Document, words: Vocabulary, functions: dict[str, FunctionSchema]
    ) -> None:
        self._text, self._words, self._functions = text, words, functions
        value = document.root.value
        self._top: dict[str, YamlNode] = value if isinstance(value, dict) else {}

    def rules(self, part: RulePart) -> list[Rule]:
        """The rules of a part, in their order."""
        node = self._top.get(part.key)
        if node is None:
            return []
        if part.is_list:
            nodes = node.value if isinstance(node.value, list) else []
            return [self._rule(part, (part.key, n), each) for n, each in enumerate(nodes)]
        inner = self._inner(part)
        if inner is None:
            return [self._rule(part, (part.key,), node)]
        return [self._rule(part, (part.key, _INNER, n), each) for n, each in enumerate(inner)]

    def how(self, part: RulePart) -> str:
        """How the rules of a part go together, if that has to be said."""
        return _SEVERAL[_name(self._top[part.key])] if self._inner(part) is not None else ""

    def _inner(self, part: RulePart) -> list[YamlNode] | None:
        node = self._top.get(part.key)
        if part.is_list or node is None or _name(node) not in _SEVERAL:
            return None
        entries = node.value
        inner = entries.get(_INNER) if isinstance(entries, dict) else None
        return inner.value if inner and isinstance(inner.value, list) else None

    def _rule(self, part: RulePart, path: KeyPath, node: YamlNode) -> Rule:
        plain = node.plain
        arguments = dict(plain) if isinstance(plain, dict) else {}
        arguments.pop("name", None)
        return Rule(part, path, _name(node), arguments, self._system(part.phase, node))

    def _system(self, phase: Phase, node: YamlNode) -> System | None:
        names = self._words.names
        named = node.value.get("name") if isinstance(node.value, dict) else node
        if names is None or named is None:
            return None
        with suppress(FieldError):
            return names.resolve_system(named, phase, processors=True)
        return None

    def known(self, part: RulePart) -> Iterator[KnownRule]:
        """The rules that may be listed: those of the scenario's own files, then those built in."""
        modules = self._words.names.modules if self._words.names else {}
        for where, module in modules.items():
            if not is_engine_module(module.__name__):
                for name in list_defined_names(module):
                    system = system_of(getattr(module, name))
                    if system is not None and system.phase is part.phase:
                        yield KnownRule(f"{where}:{name}", system)
        for system in self._of_schema(part).systems:
            yield KnownRule(system.name, system)

    def _of_schema(self, part: RulePart) -> FunctionSchema:
        return self._functions[f"{part.phase.name.lower()}_function"]

    def keys(self, rule: Rule) -> KeyTable:
        """What may stand in the entry of a rule."""
        told = parameter_keys(rule.system) if rule.system is not None else {}
        return {**told, **self._of_schema(rule.part).extra_keys}

    # ---- changes -------------------------------------------------------------------------

    def added(self, part: RulePart, known: KnownRule) -> str:
        """The text with one more rule at the end of a part; what it must be given is an example."""
        given = {
            parameter.name: self._example(parameter)
            for parameter in known.system.parameters
            if parameter.required and parameter.name not in known.system.tables
        }
        entry: Any = {"name": known.name, **given} if given else known.name
        text, there = self._own(part.key), self.rules(part)
        if part.is_list:
            return insert(text, (part.key,), len(there), entry)
        if self._inner(part) is not None:
            return insert(text, (part.key, _INNER), len(there), entry)
        if not there:
            return put(text, (part.key,), entry)
        both = {"name": "reduce_any", _INNER: [self._top[part.key].plain, entry]}
        return put(text, (part.key,), both)

    def _example(self, parameter: Parameter) -> Any:
        """Something that a parameter may be given."""
        name, example = parameter.name, find_value_kind(parameter).example
        if phase := NESTED.get(name.removesuffix("s")):
            inner = self._functions[f"{phase.name.lower()}_function"].systems
            plain = next(s for s in inner if not any(p.required for p in s.parameters))
            return [plain.name] if name.endswith("s") else plain.name
        own = [self._words.types[kind].name for kind in self._words.objects]
        if name in TYPES and example not in own and own:
            return own[-1]
        return parse_value(example)

    def removed(self, rule: Rule) -> str:
        """The text without a rule."""
        text = self._own(rule.part.key)
        others = [each for each in self.rules(rule.part) if each.path != rule.path]
        if rule.part.is_list or len(others) > 1:
            return remove(text, rule.path)
        if not others:
            if rule.part.phase is TERMINATING and rule.part.key == "terminating_function":
                raise EditError("Something has to end it; add another end first")
            return remove(text, rule.path)
        return put(text, (rule.part.key,), self._node(others[0].path).plain)

    def _node(self, path: KeyPath) -> YamlNode:
        found = self._top[str(path[0])]
        for step in path[1:]:
            inside: Any = found.value
            found = inside[step]
        return found

    def moved(self, rule: Rule, by: int) -> str:
        """The text with a rule further up or down in its part."""
        *above, number = rule.path
        count = len(self.rules(rule.part))
        if not isinstance(number, int) or not 0 <= number + by < count:
            return self._text
        return move(self._own(rule.part.key), tuple(above), number, number + by)

    def said(self, rule: Rule, key: str, value: Any) -> str:
        """The text with another value in the entry of a rule; None takes it out."""
        text = self._own(rule.part.key)
        path = (*rule.path, key)
        if value is None:
            return remove(text, path) if has(text, path) else text
        if not rule.arguments and not has(text, (*rule.path, "name")):
            return put(text, rule.path, {"name": rule.name, key: value})
        return put(text, path, value)

    def _own(self, key: str) -> str:
        """The text, which says itself what it has from a file that it extends."""
        if has(self._text, (key,)) or key not in self._top:
            return self._text
        return put(self._text, (key,), self._top[key].plain)


def _name(node: YamlNode) -> str:
    if isinstance(node.value, dict):
        return node.value["name"].text if "name" in node.value else ""
    return node.text


def _short(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("name", "…"))
    if isinstance(value, list | tuple):
        return ", ".join(map(_short, value))
    return str(value)


def faulty(rule: Rule, paths: Sequence[str]) -> bool:
    """Whether something at one of these places, as messages give them, is about a rule."""
    own = path_words(rule.path)
    return any(path == own or path.startswith((f"{own}.", f"{own}[")) for path in paths)


def path_words(path: KeyPath) -> str:
    """A way to a value, as messages give it."""
    said = ""
    for step in path:
        said += f"[{step}]" if isinstance(step, int) else f"{'.' * bool(said)}{step}"
    return said
