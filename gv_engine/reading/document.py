"""Scenario files, or mappings like them, as trees of values before anything is understood."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from gv_engine.language.errors import ScenarioError
from gv_engine.reading import variants
from gv_engine.reading.files import read_bytes
from gv_engine.reading.library import IN_FOLDER, Level
from gv_engine.reading.trust import NAMED, Trust
from gv_engine.reading.values import Problems, Wrong, YamlNode, mapping

LARGEST_SCENARIO = 512 * 1024
"""Bytes of a file, twice as many as the largest map has."""
_MOST_VALUES = 50_000
_DEEPEST = 50
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the fast one, where it was built
_TELLS_MORE = 20_000
"""Characters within which a mistake is looked for again, by the slow loader with better words."""


@dataclass(frozen=True)
class Document:
    """A scenario before anything in it is understood.

    Attributes:
        root: the whole.
        label: what messages call it.
        folder: relative names of rule files start here.
        source: the file, None for a mapping.
        trust: which Python it may run.
        variants: the names of all that the file holds, see `gv_engine.reading.variants`.
        variant: which of them this is; "" if there are none.
    """

    root: YamlNode
    label: str
    folder: Path
    source: Path | None = None
    problems: Problems | None = None
    """Keys that stand there twice, which keep nobody from reading the rest."""
    text: str = ""
    """What the file says."""
    trust: Trust = NAMED
    variants: tuple[str, ...] = ()
    variant: str = ""

    @property
    def default_name(self) -> str:
        """What the scenario is called if it does not say."""
        name = "scenario"
        if self.source is not None:
            folder = self.source.name == IN_FOLDER
            name = self.source.parent.name if folder else self.source.stem
        return "-".join(filter(None, (name, self.variant)))

    @property
    def level(self) -> Level | None:
        """Where it comes from, None for a mapping."""
        return Level(self.source, self.variant) if self.source else None

    @property
    def family(self) -> str:
        """The family of worlds that it says it belongs to, see `gv_engine.reading.families`."""
        entries = self.root.value
        named = entries.get("family") if isinstance(entries, dict) else None
        return "grid" if named is None else named.text

    def again(self) -> Document:
        """The document as its file is now, if it comes from one.

        Raises:
            ScenarioError: as for `read_file`.
        """
        return read_file(self.level, self.trust) if self.level else self


def read_file(level: Level, trust: Trust = NAMED) -> Document:
    """Read a YAML file; of several variants the first, if none is named.

    Raises:
        ScenarioError: no such file, no UTF-8, no YAML, no mapping, or no such variant.
    """
    path, variant = level
    names: tuple[str, ...] = ()
    label = str(path)
    problems = Problems(label)
    root = YamlNode(None, line=1)
    text = ""
    try:
        raw = read_bytes(path, LARGEST_SCENARIO, "scenario files")
    except OSError as error:
        raise ScenarioError([str(error)]) from None
    builder = _Builder(problems)
    with problems.collect():
        text = _decoded(raw)
        tree = _composed(text)
        if tree is not None:
            root = builder.from_yaml(tree, root)
        mapping(root)
        root, names, variant = variants.chosen(root, variant)
    if len(problems) > builder.repeated:
        problems.raise_if_any()
    place = path.absolute()
    return Document(root, label, place.parent, place, problems, text, trust, names, variant)


def _decoded(raw: bytes) -> str:
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
        message = f"not valid YAML: {context}{error.problem}{hint}"
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not valid YAML: found the character {error.character:#x}"
    except RecursionError:
        line, message = 1, f"nested deeper than {_DEEPEST} levels"
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


def read_mapping(data: Mapping[str, Any], folder: Path, trust: Trust = NAMED) -> Document:
    """Take a mapping for a scenario.

    Raises:
        ScenarioError: it holds something that no scenario file can.
    """
    label = "<mapping>"
    problems = Problems(label)
    root = YamlNode(None)
    with problems.collect():
        root = _Builder(problems).from_python(data, YamlNode(None))
        root, names, variant = variants.chosen(root, "")
    problems.raise_if_any()
    text = json.dumps(root.plain, indent=2)
    place = folder.absolute()
    return Document(root, label, place, None, None, text, trust, names, variant)


class _Builder:
    """Makes nodes of YAML's nodes or of Python's values.

    Attributes:
        repeated: how many of the problems are keys that stand there twice.
    """

    def __init__(self, problems: Problems) -> None:
        self.repeated = 0
        self._problems = problems
        self._values = 0

    def _count(self, at: YamlNode, depth: int) -> None:
        # aliases can make a short file a huge or an endless one
        self._values += 1
        if depth > _DEEPEST:
            raise Wrong(at, f"nested deeper than {_DEEPEST} levels; does it contain itself?")
        if self._values > _MOST_VALUES:
            first = self._values == _MOST_VALUES + 1
            raise Wrong(at, f"more than {_MOST_VALUES} values, with those of aliases" * first)

    def from_yaml(self, tree: yaml.Node, at: YamlNode, depth: int = 0) -> YamlNode:
        """The node of a YAML node; `at` gives its path and line."""
        self._count(at, depth)
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
    if any(character.isdigit() for character in text):
        try:
            return int(text, 0)
        except ValueError:
            try:
                return float(text)
            except ValueError:
                pass
    return text
