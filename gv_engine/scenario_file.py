"""Scenario files as trees of values that know where they stand, and the problems found in them.

Scalars keep their text as written, so that a key `NO` or `on` stays a name although YAML 1.1 reads
a truth value there; numbers and truth values are read from the text when one is expected.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import yaml

from gv_engine.errors import ScenarioError, nearest

_MOST_VALUES = 50_000
_DEEPEST = 50

Value: TypeAlias = "dict[str, Node] | list[Node] | str | bool | int | float | None"


@dataclass(frozen=True)
class Node:
    """A value in a scenario and where it stands.

    Attributes:
        value: a mapping, a list, or a scalar.
        path: as messages give it, `reward_functions[0].name`; "" for the whole scenario.
        line: of its key or list item, from 1; None in a scenario that is no file.
        text: the scalar as written.
        first_row: line of the first row of a text whose line breaks count, else None.
        folded: a text over several lines whose line breaks do not count.
    """

    value: Value
    path: str = ""
    line: int | None = None
    text: str = ""
    first_row: int | None = None
    folded: bool = False

    @property
    def found(self) -> str:
        """The value, in short, for a message."""
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return f"a list of {len(self.value)}"
        if self.value is None:
            return "nothing"
        short = self.text if len(self.text) <= 40 else self.text[:37] + "..."
        return repr(short) if isinstance(self.value, str) else short


@dataclass(frozen=True)
class Document:
    """A scenario before anything in it is understood.

    Attributes:
        root: the whole.
        label: what messages call it.
        folder: relative names of rule files start here.
        source: the file, None for a mapping.
    """

    root: Node
    label: str
    folder: Path
    source: Path | None = None


class Wrong(Exception):
    """One problem; an empty message stands for one that has been reported before."""

    def __init__(self, node: Node, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


class Problems:
    """Collects what is wrong with a scenario, to be raised at once."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._found: list[tuple[int, str]] = []

    def add(self, node: Node, message: str) -> None:
        if message:
            self._found.append((node.line or 0, located(self._label, node, message)))

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Note a `Wrong` and go on behind the block."""
        try:
            yield
        except Wrong as wrong:
            self.add(wrong.node, wrong.message)

    def __len__(self) -> int:
        return len(self._found)

    def raise_if_any(self) -> None:
        """Raise all problems, in order of their lines.

        Raises:
            ScenarioError: there are some.
        """
        if self._found:
            raise ScenarioError(text for _, text in sorted(self._found, key=lambda found: found[0]))


def located(label: str, node: Node, message: str) -> str:
    """`file:line: key.path: message`."""
    place = label if node.line is None else f"{label}:{node.line}"
    return ": ".join(part for part in (place, node.path, " ".join(message.split())) if part)


def instead(found: str, allowed: Iterable[str], which: str = "allowed") -> str:
    """The end of a message about a wrong name: the nearest right one, and all of them."""
    names = list(allowed)
    if not names:
        return ""
    hint = nearest(found, names).replace("allowed", which, 1)
    return f" {hint}" if hint.startswith("(") else f"; {hint}"


# ---- what is expected of a value -------------------------------------------------------------


def mapping(node: Node) -> dict[str, Node]:
    """The entries of a mapping."""
    if not isinstance(node.value, dict):
        raise Wrong(node, f"found {node.found}, expected a mapping of names to values")
    return node.value


def items(node: Node) -> list[Node]:
    """The items of a list."""
    if not isinstance(node.value, list):
        raise Wrong(node, f"found {node.found}, expected a list")
    return node.value


def words(node: Node) -> str:
    """A text, as written, maybe empty."""
    if isinstance(node.value, dict | list):
        raise Wrong(node, f"found {node.found}, expected a text")
    return node.text.strip()


def word(node: Node) -> str:
    """A name or other text, as written."""
    if isinstance(node.value, dict | list) or not node.text.strip():
        raise Wrong(node, f"found {node.found}, expected a text")
    return node.text


def integer(node: Node, least: int, most: int) -> int:
    """A whole number within bounds."""
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        raise Wrong(node, f"found {node.found}, expected a whole number")
    if not least <= node.value <= most:
        raise Wrong(node, f"found {node.found}, allowed are {least} to {most}")
    return node.value


def number(node: Node) -> float:
    """A finite number."""
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise Wrong(node, f"found {node.found}, expected a number")
    try:
        value = float(node.value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise Wrong(node, f"found {node.found}, expected a finite number")
    return value


def truth(node: Node) -> bool:
    """true or false."""
    if not isinstance(node.value, bool):
        raise Wrong(node, f"found {node.found}, expected true or false")
    return node.value


def one_of(node: Node, names: Iterable[str], what: str) -> int:
    """The position of a name in a list of names."""
    known = list(names)
    name = word(node)
    if name not in known:
        raise Wrong(node, f"no {what} {name!r}{instead(name, known)}")
    return known.index(name)


def check_keys(problems: Problems, node: Node, allowed: Iterable[str]) -> dict[str, Node]:
    """The entries of a mapping; a problem for each that is not allowed."""
    known = list(allowed)
    entries = mapping(node)
    for key, value in entries.items():
        if key not in known:
            problems.add(value, f"unknown key {key!r}{instead(key, known)}")
    return {key: value for key, value in entries.items() if key in known}


# ---- reading ---------------------------------------------------------------------------------


def read_file(path: Path) -> Document:
    """Read a YAML file.

    Raises:
        ScenarioError: no such file, no UTF-8, no YAML, or keys that appear twice.
    """
    label = str(path)
    problems = Problems(label)
    root = Node(None, line=1)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ScenarioError([f"{label}: cannot be read: {error.strerror}"]) from None
    text = ""
    try:
        text = raw.decode("utf-8-sig")
        tree = yaml.compose(text, Loader=yaml.SafeLoader)
        if tree is not None:
            root = _Builder(problems).from_yaml(tree, Node(None, line=1))
        mapping(root)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        problems.add(Node(None, line=line), f"byte {raw[error.start]:#x} is not UTF-8 text")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        hint = "; indent with spaces, not tabs" if r"'\t'" in str(error.problem) else ""
        context = f"{error.context}, " if error.context else ""
        problems.add(Node(None, line=line), f"not valid YAML: {context}{error.problem}{hint}")
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        problems.add(Node(None, line=line), f"the character {error.character:#x} is not allowed")
    except RecursionError:
        problems.add(root, f"nested deeper than {_DEEPEST} levels")
    except Wrong as wrong:
        problems.add(wrong.node, wrong.message)
    problems.raise_if_any()
    return Document(root, label, path.absolute().parent, path.absolute())


def read_mapping(data: Mapping[str, Any], folder: Path) -> Document:
    """Take a mapping for a scenario.

    Raises:
        ScenarioError: it holds something that no scenario file can.
    """
    label = "<mapping>"
    problems = Problems(label)
    root = Node(None)
    with problems.collect():
        root = _Builder(problems).from_python(data, Node(None))
        mapping(root)
    problems.raise_if_any()
    return Document(root, label, folder.absolute())


class _Builder:
    """Makes nodes of YAML's nodes or of Python's values."""

    def __init__(self, problems: Problems) -> None:
        self._problems = problems
        self._values = 0

    def _count(self, at: Node, depth: int) -> None:
        # aliases can make a short file a huge or an endless one
        self._values += 1
        if depth > _DEEPEST:
            raise Wrong(at, f"nested deeper than {_DEEPEST} levels; does it contain itself?")
        if self._values > _MOST_VALUES:
            raise Wrong(at, f"more than {_MOST_VALUES} values, counting those of aliases")

    def from_yaml(self, tree: yaml.Node, at: Node, depth: int = 0) -> Node:
        """The node of a YAML node; `at` gives its path and line."""
        self._count(at, depth)
        if not tree.tag.startswith("tag:yaml.org,2002:") or "python" in tree.tag:
            raise Wrong(at, f"found the tag {tree.tag!r}; scenario files have none")
        if isinstance(tree, yaml.MappingNode):
            return Node(self._entries(tree, at, depth), at.path, at.line)
        if isinstance(tree, yaml.SequenceNode):
            nodes = []
            for number, item in enumerate(tree.value):
                place = Node(None, f"{at.path}[{number}]", item.start_mark.line + 1)
                with self._problems.collect():
                    nodes.append(self.from_yaml(item, place, depth + 1))
            return Node(nodes, at.path, at.line)
        assert isinstance(tree, yaml.ScalarNode)
        block = tree.style == "|"
        rows = tree.start_mark.line + (2 if block else 1)
        several = tree.end_mark.line > tree.start_mark.line
        return Node(
            tree.value if tree.style else _resolved(tree.value),
            at.path,
            at.line,
            text=tree.value,
            first_row=rows if block else None,
            folded=several and not block,
        )

    def _entries(self, tree: yaml.MappingNode, at: Node, depth: int) -> dict[str, Node]:
        merged: dict[str, Node] = {}
        entries: dict[str, Node] = {}
        lines: dict[str, int] = {}
        for key, value in tree.value:
            line = key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                for other in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    place = Node(None, _join(at.path, "<<"), line)
                    if not isinstance(other, yaml.MappingNode):
                        raise Wrong(place, "only mappings can be merged with <<")
                    self._count(place, depth)
                    for name, node in self._entries(other, at, depth + 1).items():
                        merged.setdefault(name, node)
                continue
            if not isinstance(key, yaml.ScalarNode):
                self._problems.add(Node(None, at.path, line), "keys must be single words")
                continue
            place = Node(None, _join(at.path, key.value), line)
            if key.value in entries:
                self._problems.add(
                    place, f"the key stands here a second time, first in line {lines[key.value]}"
                )
                continue
            lines[key.value] = line
            with self._problems.collect():
                entries[key.value] = self.from_yaml(value, place, depth + 1)
        return merged | entries

    def from_python(self, data: Any, at: Node, depth: int = 0) -> Node:
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
                    place = Node(None, _join(at.path, str(key)))
                    entries[str(key)] = self.from_python(value, place, depth + 1)
            return Node(entries, at.path)
        if isinstance(data, list | tuple):
            nodes = []
            for number, item in enumerate(data):
                with self._problems.collect():
                    place = Node(None, f"{at.path}[{number}]")
                    nodes.append(self.from_python(item, place, depth + 1))
            return Node(nodes, at.path)
        if data is None or isinstance(data, str | bool | int | float):
            return Node(data, at.path, text="" if data is None else str(data))
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
    if any(character.isdigit() for character in text):
        try:
            return int(text, 0)
        except ValueError:
            try:
                return float(text)
            except ValueError:
                pass
    return text
