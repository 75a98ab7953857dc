"""Rules of an edited level: transitions, rewards, ends and success; edits return the new text of
the file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from gv_engine.play.editor import text_buffer
from gv_engine.play.editor.text_buffer import EditError, KeyPath, has_value
from gv_engine.play.editor.vocabulary import Vocabulary
from gv_engine.rules import system
from gv_engine.rules.objects import is_engine_module
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION, Phase, System, system_of
from gv_engine.scenario.documents.document import Document
from gv_engine.scenario.documents.rule_files import list_defined_names
from gv_engine.scenario.readers.calls import (
    NESTED,
    NUMBER_KINDS,
    OBJECT_KIND,
    TYPES,
    find_value_kind,
    list_whole_numbers,
    needs_number,
)
from gv_engine.scenario.reference_docs import argument_keys, fill_in, first_paragraph
from gv_engine.scenario.syntax.fields import FieldError, YamlNode
from gv_engine.scenario.syntax.json_schema import FunctionSchema, KeyTable
from gv_engine.scenario.syntax.yaml_parser import parse_value

_COMBINATIONS = {"reduce_any": "any of these", "reduce_all": "all of these"}
_NESTED = "terminating_functions"


class RulePart(NamedTuple):
    """Part of a scenario's rules.

    Attributes:
        key: key of the scenario file.
        title: title for people.
        phase: phase of its rules.
        is_list: True if the value is a list of rules, False if it is one rule, which may combine
            several.
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
    """Rule in the text of a level.

    Attributes:
        part: part with the rule.
        path: path to its entry.
        name: name in the text.
        arguments: arguments in the text.
        system: system of that name; None if there is none.
    """

    part: RulePart
    path: KeyPath
    name: str
    arguments: dict[str, Any]
    system: System | None

    @property
    def entry(self) -> Any:
        """Entry in the file: the name, or a mapping with name and arguments."""
        return {"name": self.name, **self.arguments} if self.arguments else self.name

    @property
    def description(self) -> str:
        """First paragraph of the docstring of the rule's function, with the rule's arguments filled
        in, and arguments that it does not mention appended; an error message if there is
        no such function."""
        if self.system is None:
            return "There is no rule of this name"
        defaults = {
            parameter.name: parameter.default
            for parameter in self.system.parameters
            if parameter.name not in TYPES and type(parameter.default) in (int, float)
        }
        values: dict[str, Any] = {**defaults, **self.arguments}
        texts = {name: _format_value(value) for name, value in values.items() if value is not None}
        summary, mentioned = fill_in(_summarize(self.system), texts)
        omitted = [name for name in self.arguments if name in texts and name not in mentioned]
        remarks = ", ".join(f"{name.replace('_', ' ')} {texts[name]}" for name in omitted)
        return f"{summary} ({remarks})" if remarks else summary


class AvailableRule(NamedTuple):
    """Rule that can be added to a level.

    Attributes:
        name: name in scenario files.
        system: system of that name.
    """

    name: str
    system: System

    @property
    def description(self) -> str:
        """Sentence about the rule."""
        return _summarize(self.system)


def _summarize(system: System) -> str:
    return first_paragraph(system.objects or system.function)


class RuleList:
    """Rules of a level; edits return a new text.

    Args:
        text: text of the file.
        document: parsed text, with files it extends.
        vocab: object types and names of the level.
        functions: allowed functions by name in the JSON schema.
    """

    def __init__(
        self, text: str, document: Document, vocab: Vocabulary, functions: dict[str, FunctionSchema]
    ) -> None:
        self._text, self._vocab, self._functions = text, vocab, functions
        entries = document.root.value
        self._entries: dict[str, YamlNode] = entries if isinstance(entries, dict) else {}

    def rules(self, part: RulePart) -> list[Rule]:
        """Return the rules in `part` of the scenario, such as all rewards, in the order of the
        file."""
        node = self._entries.get(part.key)
        if node is None:
            return []
        if part.is_list:
            nodes = node.value if isinstance(node.value, list) else []
            return [self._make_rule(part, (part.key, k), item) for k, item in enumerate(nodes)]
        nested = self._nested_nodes(part)
        if nested is None:
            return [self._make_rule(part, (part.key,), node)]
        return [
            self._make_rule(part, (part.key, _NESTED, k), item) for k, item in enumerate(nested)
        ]

    def combination(self, part: RulePart) -> str:
        """Return how several rules of a kind are combined, for display: "any of these" for `or`,
        "all of these" for `and`, "" for other parts."""
        return (
            ""
            if self._nested_nodes(part) is None
            else _COMBINATIONS[_rule_name(self._entries[part.key])]
        )

    def _nested_nodes(self, part: RulePart) -> list[YamlNode] | None:
        """Return the YAML nodes of the rules that a part of the scenario combines by `or` or `and`.
        None if it does not combine rules."""
        node = self._entries.get(part.key)
        if part.is_list or node is None or _rule_name(node) not in _COMBINATIONS:
            return None
        entries = node.value
        nested = entries.get(_NESTED) if isinstance(entries, dict) else None
        return nested.value if nested and isinstance(nested.value, list) else None

    def _make_rule(self, part: RulePart, path: KeyPath, node: YamlNode) -> Rule:
        entry = node.written if isinstance(node.value, dict) else {}
        arguments = {key: value for key, value in entry.items() if key != "name"}
        return Rule(part, path, _rule_name(node), arguments, self._find_system(part.phase, node))

    def _find_system(self, phase: Phase, node: YamlNode) -> System | None:
        """Return the registered function for `phase`, such as REWARD, that the YAML `node` names;
        None if there is none."""
        names = self._vocab.names
        named = node.value.get("name") if isinstance(node.value, dict) else node
        if names is None or named is None:
            return None
        with suppress(FieldError):
            return names.resolve_system(named, phase, allows_processors=True)
        return None

    def available_rules(self, part: RulePart) -> Iterator[AvailableRule]:
        """Yield the rules that can be added to `part`, such as the rewards: first the rules of
        Python modules that the scenario uses, then the built-in rules."""
        modules = self._vocab.names.modules if self._vocab.names else {}
        for module_name, module in modules.items():
            if not is_engine_module(module.__name__):
                for name in list_defined_names(module):
                    system = system_of(getattr(module, name))
                    if system is not None and system.phase is part.phase:
                        yield AvailableRule(f"{module_name}:{name}", system)
        for system in self._allowed_functions(part).systems:
            if self._list_numbers() or not needs_number(system):
                yield AvailableRule(system.name, system)

    def _list_numbers(self) -> list[str]:
        """Return the whole numbers of the components that the file declares, such as
        "Health.points"."""
        declared = self._vocab.names.declared_components if self._vocab.names else {}
        numbers = {name: list_whole_numbers(cls) for name, cls in declared.items()}
        return [f"{name}.{field}" for name, fields in numbers.items() for field in fields]

    def _allowed_functions(self, part: RulePart) -> FunctionSchema:
        return self._functions[f"{part.phase.name.lower()}_function"]

    def argument_table(self, rule: Rule) -> KeyTable:
        """Return the keys that the entry of `rule` in the scenario file can have, with their JSON
        schemas."""
        keys = argument_keys(rule.system) if rule.system is not None else {}
        return {**keys, **self._allowed_functions(rule.part).extra_keys}

    # ---- changes -------------------------------------------------------------------------

    def add_rule(self, part: RulePart, rule: AvailableRule) -> str:
        """Return the file's text with `rule` added at the end of `part`, such as the rewards; its
        required parameters get example values."""
        arguments = {
            parameter.name: self._example(parameter)
            for parameter in rule.system.parameters
            if parameter.required and parameter.name not in rule.system.tables
        }
        new = Rule(part, (), rule.name, arguments, rule.system)
        return self.insert_entry(part, len(self.rules(part)), new.entry)

    def insert_entry(self, part: RulePart, index: int, entry: Any, joins_all: bool = True) -> str:
        """Return the file's text with the rule of the YAML `entry` inserted at `index` into `part`,
        such as the rewards. A further termination or success rule becomes an alternative to the
        existing ones (`reduce_any`); with `joins_all`, it is added to an existing `reduce_all`
        instead."""
        text, combination = self._with_inherited_key(part.key), self.combination(part)
        if part.is_list:
            return text_buffer.insert(text, (part.key,), index, entry)
        if combination == _COMBINATIONS["reduce_any"] or (combination and joins_all):
            return text_buffer.insert(text, (part.key, _NESTED), index, entry)
        if part.key not in self._entries:
            return text_buffer.put(text, (part.key,), entry)
        combined = {"name": "reduce_any", _NESTED: [self._entries[part.key].written, entry]}
        return text_buffer.put(text, (part.key,), combined)

    def _example(self, parameter: system.Parameter) -> Any:
        """Return an example value for `parameter`, valid in this level."""
        name, kind = parameter.name, find_value_kind(parameter)
        if phase := NESTED.get(name.removesuffix("s")):
            functions = self._functions[f"{phase.name.lower()}_function"].systems
            simplest = next(s for s in functions if not any(p.required for p in s.parameters))
            return [simplest.name] if name.endswith("s") else simplest.name
        object_names = [self._vocab.types[kind].name for kind in self._vocab.objects]
        if kind is OBJECT_KIND and kind.example not in object_names and object_names:
            return object_names[-1]
        if kind in NUMBER_KINDS:
            return self._list_numbers()[0]
        return parse_value(kind.example)

    def remove_rule(self, rule: Rule) -> str:
        """Return the file's text without `rule`; raise an error if no rule would be left that ends
        episodes.

        Raises:
            EditError: the rule is the only end of episodes.
        """
        text = self._with_inherited_key(rule.part.key)
        remaining = [other for other in self.rules(rule.part) if other.path != rule.path]
        if not remaining and rule.part.key == "terminating_function":
            raise EditError("Something has to end it; add another end first")
        if rule.part.is_list or len(remaining) != 1:
            return text_buffer.remove(text, rule.path)
        nested = self._nested_nodes(rule.part) or []
        return text_buffer.put(text, (rule.part.key,), nested[int(remaining[0].path[-1])].written)

    def move_rule(self, rule: Rule, offset: int) -> str:
        """Return the file's text with `rule` moved by `offset` positions in its list of rules;
        unchanged if the new position is outside the list."""
        *list_path, index = rule.path
        count = len(self.rules(rule.part))
        if not isinstance(index, int) or not 0 <= index + offset < count:
            return self._text
        text = self._with_inherited_key(rule.part.key)
        return text_buffer.move(text, tuple(list_path), index, index + offset)

    def set_argument(self, rule: Rule, key: str, value: Any) -> str:
        """Return the file's text with the argument `key` of `rule` set to `value`; None removes the
        argument."""
        text = self._with_inherited_key(rule.part.key)
        path = (*rule.path, key)
        if value is None:
            return text_buffer.remove(text, path) if has_value(text, path) else text
        if not rule.arguments and not has_value(text, (*rule.path, "name")):
            return text_buffer.put(text, rule.path, {"name": rule.name, key: value})
        return text_buffer.put(text, path, value)

    def _with_inherited_key(self, key: str) -> str:
        """Return the file's text; with a copy of the value of `key` if only the files that it
        extends have that key."""
        if has_value(self._text, (key,)) or key not in self._entries:
            return self._text
        return text_buffer.put(self._text, (key,), self._entries[key].written)


def _rule_name(node: YamlNode) -> str:
    name = node.value.get("name") if isinstance(node.value, dict) else node
    return name.text if name else ""


def _format_value(value: Any) -> str:
    """Return `value`, a rule's argument, as a short text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return str(value.get("name", "…"))
    if isinstance(value, list | tuple):
        return ", ".join(map(_format_value, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def has_fault(rule: Rule, paths: Sequence[str]) -> bool:
    """Return True if one of `paths`, key paths of errors in the file, is the entry of `rule` or
    lies inside it."""
    rule_path = text_buffer.format_key_path(rule.path)
    return any(_is_inside(path, rule_path) for path in paths)


def _is_inside(path: str, other: str) -> bool:
    return path == other or path.startswith((f"{other}.", f"{other}["))


def swap_fault_path(path: str, key_path: KeyPath, offset: int) -> str:
    """Update the key path of an error after the rule at `key_path` has changed places with its
    neighbour at `offset`, 1 or -1. Paths of other rules are returned unchanged."""
    *list_path, index = key_path
    if not isinstance(index, int):
        return path
    rule_path = text_buffer.format_key_path(key_path)
    neighbor_path = text_buffer.format_key_path((*list_path, index + offset))
    if _is_inside(path, rule_path):
        return neighbor_path + path.removeprefix(rule_path)
    if _is_inside(path, neighbor_path):
        return rule_path + path.removeprefix(neighbor_path)
    return path
