"""Scenario files, or mappings like them, as trees of values with their places."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import yaml

from gv_engine.reading.values import Problems, Wrong, YamlNode, mapping

_MOST_VALUES = 50_000
_MOST_CHARACTERS = 2**21
"""Characters of all values, with those of aliases."""
_LONGEST_NUMBER = 1000
"""Characters."""
_DEEPEST = 50
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the fast one, where it was built
_TELLS_MORE = 20_000
"""Characters within which a mistake is looked for again, by the slow loader with better words."""


def parsed(raw: bytes, problems: Problems) -> YamlNode:
    """The mapping in a YAML file. Keys that stand there twice are noted, and the first one holds.

    Raises:
        Wrong: no UTF-8, no YAML, no mapping, or more than a scenario may have.
        ScenarioError: something else in it is no value of a scenario.
    """
    builder, root = Builder(problems), YamlNode(None, line=1)
    before = len(problems)
    tree = _composed(decoded(raw))
    if tree is not None:
        root = builder.from_yaml(tree, root)
    if len(problems) - before > builder.repeated:
        problems.raise_if_any()
    mapping(root)
    return root


def value_of(text: str) -> Any:
    """What a text in a scenario stands for, such as `9`, `RED` or `[5, 7]`.

    Raises:
        ValueError: it is no YAML.
    """
    problems = Problems("")
    try:
        tree = _composed(text)
        found = Builder(problems).from_yaml(tree, YamlNode(None)) if tree is not None else None
        problems.raise_if_any()
    except Wrong as wrong:
        raise ValueError(wrong.message) from None
    return found.plain if found else None


def decoded(raw: bytes) -> str:
    """The text of a file.

    Raises:
        Wrong: it is no UTF-8.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = f"byte {raw[error.start]:#x} is not UTF-8 text"
        raise Wrong(YamlNode(None, line=line), found) from None


def _composed(text: str) -> yaml.Node | None:
    try:
        try:
            _check_size(text, _LOADER)
            return yaml.compose(text, Loader=_LOADER)
        except yaml.YAMLError:
            if len(text) > _TELLS_MORE:
                raise
            return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        context = f"{error.context}, " if error.context else ""
        hint = "; indent with spaces, not tabs" if r"'\t'" in str(error.problem) else ""
        begins = error.context_mark.line + 1 if error.context_mark else line
        hint += f"; it begins in line {begins}" if begins != line else ""
        message = f"not valid YAML: {context}{error.problem}{hint}"
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not valid YAML: found the character {error.character:#x}"
    except RecursionError:
        line, message = 1, f"nested deeper than {_DEEPEST} levels"
    except (ValueError, OverflowError):  # of chr(), and PyYAML does not say where
        escape = re.search(r"\\U(?!000|0010)", text)
        line = text.count("\n", 0, escape.start()) + 1 if escape else 1
        message = r"not valid YAML: found an escape beyond the last character, \U0010FFFF"
    raise Wrong(YamlNode(None, line=line), message)


def _check_size(text: str, loader: Any) -> None:
    """Count values and levels before anything is built of them."""
    values = depth = 0
    for event in yaml.parse(text, loader):
        values += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        at = YamlNode(None, line=event.start_mark.line + 1 if event.start_mark else 1)
        if depth > _DEEPEST:
            raise Wrong(at, f"nested deeper than {_DEEPEST} levels")
        if values > 2 * _MOST_VALUES:  # keys, too
            raise Wrong(at, f"more than {_MOST_VALUES} values")


class Builder:
    """Makes nodes of YAML's nodes or of Python's values.

    Attributes:
        repeated: how many of the problems are keys that stand there twice.
    """

    def __init__(self, problems: Problems) -> None:
        self.repeated = 0
        self._problems = problems
        self._values = self._characters = 0

    def _count(self, at: YamlNode, depth: int, characters: int = 0) -> None:
        # aliases can make a short file a huge or an endless one
        self._values += 1
        self._characters += characters
        if depth > _DEEPEST:
            raise Wrong(at, f"nested deeper than {_DEEPEST} levels; does it contain itself?")
        if self._values > _MOST_VALUES:
            first = self._values == _MOST_VALUES + 1
            raise Wrong(at, f"more than {_MOST_VALUES} values, with those of aliases" * first)
        if self._characters > _MOST_CHARACTERS:
            first = self._characters - characters <= _MOST_CHARACTERS
            raise Wrong(at, f"more than {_MOST_CHARACTERS:,} characters, with aliases" * first)

    def from_yaml(self, tree: yaml.Node, at: YamlNode, depth: int = 0) -> YamlNode:
        """The node of a YAML node; `at` gives its path and line."""
        self._count(at, depth, len(tree.value) if isinstance(tree, yaml.ScalarNode) else 0)
        if not tree.tag.startswith("tag:yaml.org,2002:") or "python" in tree.tag:
            raise Wrong(at, f"found the tag {tree.tag!r}; scenario files have none")
        if isinstance(tree, yaml.MappingNode):
            return YamlNode(self._entries(tree, at, depth), at.path, at.line)
        if isinstance(tree, yaml.SequenceNode):
            nodes = []
            for number, item in enumerate(tree.value):
                place = YamlNode(None, f"{at.path}[{number}]", item.start_mark.line + 1)
                with self._problems.collect():
                    nodes.append(self.from_yaml(item, place, depth + 1))
            return YamlNode(nodes, at.path, at.line)
        assert isinstance(tree, yaml.ScalarNode)
        block = tree.style == "|"
        rows = tree.start_mark.line + (2 if block else 1)
        several = tree.end_mark.line > tree.start_mark.line
        return YamlNode(
            tree.value if tree.style else _resolved(tree.value),
            at.path,
            at.line,
            text=tree.value,
            first_row=rows if block else None,
            folded=several and not block,
        )

    def _entries(self, tree: yaml.MappingNode, at: YamlNode, depth: int) -> dict[str, YamlNode]:
        merged: dict[str, YamlNode] = {}
        entries: dict[str, YamlNode] = {}
        lines: dict[str, int] = {}
        for key, value in tree.value:
            line = key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                for other in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    place = YamlNode(None, _join(at.path, "<<"), line)
                    if not isinstance(other, yaml.MappingNode):
                        raise Wrong(place, "only mappings can be merged with <<")
                    self._count(place, depth)
                    for name, node in self._entries(other, at, depth + 1).items():
                        merged.setdefault(name, node)
                continue
            if not isinstance(key, yaml.ScalarNode):
                self._problems.add(YamlNode(None, at.path, line), "keys must be single words")
                continue
            place = YamlNode(None, _join(at.path, key.value), line)
            if key.value in entries:
                self.repeated += 1
                self._problems.add(
                    place, f"the key stands here a second time, first in line {lines[key.value]}"
                )
                continue
            lines[key.value] = line
            with self._problems.collect():
                entries[key.value] = self.from_yaml(value, place, depth + 1)
        return merged | entries

    def from_python(self, data: Any, at: YamlNode, depth: int = 0) -> YamlNode:
        """The node of a Python value; `at` gives its path."""
        self._count(at, depth)
        if isinstance(data, np.generic):
            data = data.item()
        if isinstance(data, Mapping):
            entries = {}
            for key, value in data.items():
                with self._problems.collect():
                    if isinstance(key, bool) or not isinstance(key, str | int):
                        raise Wrong(at, f"found the key {key!r}, expected a text")
                    place = YamlNode(None, _join(at.path, str(key)))
                    entries[str(key)] = self.from_python(value, place, depth + 1)
            return YamlNode(entries, at.path)
        if isinstance(data, list | tuple):
            nodes = []
            for number, item in enumerate(data):
                with self._problems.collect():
                    place = YamlNode(None, f"{at.path}[{number}]")
                    nodes.append(self.from_python(item, place, depth + 1))
            return YamlNode(nodes, at.path)
        if data is None or isinstance(data, str | bool | int | float):
            return YamlNode(data, at.path, text="" if data is None else str(data))
        raise Wrong(at, f"found a {type(data).__name__}, which no scenario file can hold")


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


_WORDS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
    **dict.fromkeys(("null", "~", "")),
    **dict.fromkeys((".inf", "+.inf"), math.inf),
    "-.inf": -math.inf,
    ".nan": math.nan,
}


def _resolved(text: str) -> str | bool | int | float | None:
    """What an unquoted scalar means; other than YAML 1.1, `1e-3` is a number and 1:30 is none."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) <= _LONGEST_NUMBER and any(character.isdigit() for character in text):
        try:
            return int(text, 0)
        except ValueError:
            try:
                return float(text)
            except ValueError:
                pass
    return text
