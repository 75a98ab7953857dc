"""Parser of YAML, or of Python values, into nodes with source positions, within fixed limits."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np
import yaml

from gv_engine.rules.errors import ScenarioError
from gv_engine.scenario.syntax.fields import ErrorCollector, FieldError, YamlNode, mapping
from gv_engine.scenario.syntax.yaml_mistakes import explain_syntax_error, find_lost_row

_MAX_VALUES = 50_000  # maximum number of values of a scenario, including those of YAML aliases
_MAX_CHARACTERS = 2**21
"""Maximum number of characters of all values, including those of YAML aliases."""
_MAX_NUMBER_LENGTH = 1000  # maximum number of characters of a number
_MAX_DEPTH = 50
_MAX_KEY, _MAX_PATH = 200, 1000
"""Maximum number of characters of a key, and of a whole key path, which each value stores."""
_MAX_CACHED_BYTES = 65_536  # size of the files up to which parsed YAML is cached
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the fast one, if built
_MAX_SLOW_CHARACTERS = 20_000
"""Length of a text up to which a syntax error is parsed again by the slow loader, for its better
message."""


def parse_yaml(raw: bytes, problems: ErrorCollector) -> YamlNode:
    """Return the mapping in `raw`, the bytes of a YAML file, as a node. If a key occurs twice, its
    first value is used and an error is added to `problems`.

    Raises:
        FieldError: the file is not UTF-8, not YAML, no mapping, or exceeds a size limit.
        ScenarioError: the file holds other values that no scenario can have.
    """
    if len(raw) <= _MAX_CACHED_BYTES and (cached := _parse_valid_yaml(raw)):
        return cached
    return _parse_yaml(raw, problems)


@lru_cache(maxsize=64)
def _parse_valid_yaml(raw: bytes) -> YamlNode | None:
    """Parse the content of a YAML file and return its mapping as a node. None if it has an error.

    Cached, as many scenarios extend the same files.
    """
    problems = ErrorCollector("")
    try:
        root = _parse_yaml(raw, problems)
    except (FieldError, ScenarioError):
        return None
    return None if len(problems) else root


def _parse_yaml(raw: bytes, problems: ErrorCollector) -> YamlNode:
    """Parse the content of a YAML file and return its mapping as a node. Unlike `parse_yaml`, it
    does not use a cache."""
    builder, root = NodeBuilder(problems), YamlNode(None, line=1)
    num_problems = len(problems)
    text = decode_utf8(raw)
    tree = _compose(text)
    if lost_row := find_lost_row(text):
        line, message = lost_row
        raise YamlNode(None, line=line).error(message)
    if tree is None:
        raise root.error("the file is empty; `gv-engine new cave` writes one to start from")
    root = builder.from_yaml(tree, root)
    if len(problems) - num_problems > builder.duplicate_keys:
        problems.raise_if_any()
    mapping(root)
    return root


def parse_value(text: str, keeps_words: bool = False) -> Any:
    """Parse a piece of YAML such as `9`, `RED` or `[5, 7]` to a Python value. An empty text gives
    None. With `keeps_words`, words such as `on` stay strings.

    Args:
        text: the YAML text.
        keeps_words: True to read `[OFF, ON]` as names, see `YamlNode.written`.

    Raises:
        ValueError: the text is not valid YAML.
    """
    problems = ErrorCollector("")
    try:
        tree = _compose(text)
        if tree is None:
            return None
        node = NodeBuilder(problems).from_yaml(tree, YamlNode(None))
        problems.raise_if_any()
    except FieldError as error:
        raise ValueError(error.message) from None
    return node.written if keeps_words else node.plain


def decode_utf8(raw: bytes) -> str:
    """Decode the content of a file from UTF-8. Raise an error that names the line of an invalid
    byte.

    Raises:
        FieldError: the bytes are not UTF-8; the error has the line.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        message = f"byte {raw[error.start]:#x} is not UTF-8 text"
        raise YamlNode(None, line=line).error(message) from None


def _compose(text: str) -> yaml.Node | None:
    """Parse YAML text to PyYAML's tree of nodes. None for an empty text.

    Raises:
        FieldError: the text is not valid YAML, or exceeds a size limit.
    """
    try:
        try:
            _check_limits(text, _LOADER)
            return yaml.compose(text, Loader=_LOADER)
        except yaml.YAMLError as error:
            if "nesting depth" in str(error):  # of libyaml; the slow loader would take a second
                raise RecursionError from None
            if len(text) > _MAX_SLOW_CHARACTERS:
                raise
            return yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line, message = explain_syntax_error(text, error)
        message = f"not valid YAML: {message}"
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        message = f"not valid YAML: found the character {error.character:#x}"
    except RecursionError:
        line, message = 1, f"nested deeper than {_MAX_DEPTH} levels"
    except (ValueError, OverflowError):  # raised by chr(), without a position
        escape = re.search(r"\\U(?!000|0010)", text)
        line = text.count("\n", 0, escape.start()) + 1 if escape else 1
        message = r"not valid YAML: found an escape beyond the last character, \U0010FFFF"
    raise YamlNode(None, line=line).error(message)


def _check_limits(text: str, loader: Any) -> None:
    """Raise FieldError if a YAML text has too many values or nesting levels. `loader` is the PyYAML
    loader class that parses it."""
    num_values = depth = 0
    for event in yaml.parse(text, loader):
        if isinstance(event, yaml.NodeEvent):
            num_values += 1
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH or num_values > 2 * _MAX_VALUES:  # keys count too
            node = YamlNode(None, line=event.start_mark.line + 1 if event.start_mark else 1)
            if depth > _MAX_DEPTH:
                raise node.error(f"nested deeper than {_MAX_DEPTH} levels")
            raise node.error(f"more than {_MAX_VALUES} values")


class NodeBuilder:
    """Builder of `YamlNode` trees from PyYAML's nodes or from Python values.

    Attributes:
        problems: receives errors.
        duplicate_keys: number of the added errors that are about duplicate keys.
    """

    def __init__(self, problems: ErrorCollector) -> None:
        self.problems = problems
        self.duplicate_keys = 0
        self._num_values = self._num_characters = 0

    def count_value(self, node: YamlNode, depth: int, num_characters: int = 0) -> None:
        """Add the value `node` to the document's counts of values and characters. Raise FieldError
        if a count, or the nesting level `depth`, exceeds its limit."""
        # aliases can make a short file huge or endless
        self._num_values += 1
        self._num_characters += num_characters
        if depth > _MAX_DEPTH:
            raise node.error(f"nested deeper than {_MAX_DEPTH} levels; does it contain itself?")
        if self._num_values > _MAX_VALUES:
            is_first = self._num_values == _MAX_VALUES + 1
            message = f"more than {_MAX_VALUES} values, with those of aliases"
            raise node.error(message if is_first else "")
        if self._num_characters > _MAX_CHARACTERS:
            is_first = self._num_characters - num_characters <= _MAX_CHARACTERS
            message = f"more than {_MAX_CHARACTERS:,} characters, with aliases"
            raise node.error(message if is_first else "")

    def _make_value_node(self, at: YamlNode, key: str, line: int | None = None) -> YamlNode:
        """Return an empty node for the value of `key` in the mapping `at`, and count the key's
        characters. Raise FieldError if the key or the resulting path is too long."""
        path = _join_path(at.path, key)
        if len(key) > _MAX_KEY or len(path) > _MAX_PATH:
            message = f"a key of more than {_MAX_KEY} characters, or {_MAX_PATH} with its path"
            raise FieldError(YamlNode(None, at.path[:_MAX_KEY], line), message)
        self._num_characters += len(key)
        return YamlNode(None, path, line)

    def from_yaml(self, tree: yaml.Node, at: YamlNode, depth: int = 0) -> YamlNode:
        """Convert a PyYAML node to a `YamlNode`. Path and line come from `at`, the node to replace;
        `depth` is the nesting level."""
        self.count_value(at, depth, len(tree.value) if isinstance(tree, yaml.ScalarNode) else 0)
        if not tree.tag.startswith("tag:yaml.org,2002:") or "python" in tree.tag:
            raise at.error(f"found the tag {tree.tag!r}; scenario files have none")
        if isinstance(tree, yaml.MappingNode):
            return YamlNode(self._read_entries(tree, at, depth), at.path, at.line)
        if isinstance(tree, yaml.SequenceNode):
            nodes = []
            for index, item in enumerate(tree.value):
                item_at = YamlNode(None, f"{at.path}[{index}]", item.start_mark.line + 1)
                with self.problems.collect():
                    nodes.append(self.from_yaml(item, item_at, depth + 1))
            return YamlNode(nodes, at.path, at.line)
        assert isinstance(tree, yaml.ScalarNode)
        is_block = tree.style == "|"
        has_line_breaks = tree.end_mark.line > tree.start_mark.line
        return YamlNode(
            tree.value if tree.style else _resolve_scalar(tree.value),
            at.path,
            at.line,
            text=tree.value,
            first_row=tree.start_mark.line + 2 if is_block else None,
            folded=has_line_breaks and not is_block,
        )

    def _read_entries(
        self, tree: yaml.MappingNode, at: YamlNode, depth: int
    ) -> dict[str, YamlNode]:
        """Return the entries of a YAML mapping, including those merged in by `<<`. Report keys that
        occur twice. `at` gives the mapping's key path, `depth` its nesting level."""
        merged: dict[str, YamlNode] = {}
        entries: dict[str, YamlNode] = {}
        lines: dict[str, int] = {}
        for key, value in tree.value:
            line = key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                for name, node in self._read_merged(value, at, line, depth).items():
                    merged.setdefault(name, node)
            elif not isinstance(key, yaml.ScalarNode):
                self.problems.add(YamlNode(None, at.path, line), "keys must be single words")
            elif tree.flow_style and ":" in key.value and not (key.style or value.value):
                name, _, rest = key.value.partition(":")
                fault = f"put a space after the colon: {name}: {rest}"
                self.problems.add(YamlNode(None, at.path, line), fault)
            else:
                node = self._make_value_node(at, key.value, line)
                if key.value in entries:
                    self.duplicate_keys += 1
                    first_line = lines[key.value]
                    fault = f"the key is given twice, first in line {first_line}"
                    self.problems.add(node, fault)
                    continue
                lines[key.value] = line
                with self.problems.collect():
                    entries[key.value] = self.from_yaml(value, node, depth + 1)
        return merged | entries

    def _read_merged(
        self, tree: yaml.Node, at: YamlNode, line: int, depth: int
    ) -> dict[str, YamlNode]:
        """Return the entries that a YAML key `<<` merges into the mapping `at`. Its value `tree` is
        a mapping, or a list of mappings of which earlier ones win."""
        merged: dict[str, YamlNode] = {}
        for other in tree.value if isinstance(tree, yaml.SequenceNode) else [tree]:
            node = YamlNode(None, _join_path(at.path, "<<"), line)
            if not isinstance(other, yaml.MappingNode):
                raise node.error("only mappings can be merged with <<")
            self.count_value(node, depth)
            for name, entry in self._read_entries(other, at, depth + 1).items():
                merged.setdefault(name, entry)
        return merged

    def from_python(self, data: Any, at: YamlNode, depth: int = 0) -> YamlNode:
        """Convert a Python value to a `YamlNode`. Its path comes from `at`, the node to replace;
        `depth` is the nesting level."""
        self.count_value(at, depth, len(data) if isinstance(data, str) else 0)
        if isinstance(data, np.generic):
            data = data.item()
        if isinstance(data, Mapping):
            entries = {}
            for key, value in data.items():
                with self.problems.collect():
                    if isinstance(key, bool) or not isinstance(key, str | int):
                        raise at.error(f"found the key {key!r}, expected a text")
                    node = self._make_value_node(at, str(key))
                    entries[str(key)] = self.from_python(value, node, depth + 1)
            return YamlNode(entries, at.path)
        if isinstance(data, list | tuple):
            nodes = []
            for index, item in enumerate(data):
                with self.problems.collect():
                    item_at = YamlNode(None, f"{at.path}[{index}]")
                    nodes.append(self.from_python(item, item_at, depth + 1))
            return YamlNode(nodes, at.path)
        if data is None or isinstance(data, str | bool | int | float):
            return YamlNode(data, at.path, text="" if data is None else str(data))
        raise at.error(f"found a {type(data).__name__}, which a scenario file cannot hold")


def _join_path(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


_NAMED_SCALARS = {
    **dict.fromkeys(("true", "yes", "on"), True),
    **dict.fromkeys(("false", "no", "off"), False),
    **dict.fromkeys(("null", "~", "")),
    **dict.fromkeys((".inf", "+.inf"), math.inf),
    "-.inf": -math.inf,
    ".nan": math.nan,
}
"""Values of unquoted words that are no texts, by word in lower case."""


def _resolve_scalar(text: str) -> str | bool | int | float | None:
    """Return the value of an unquoted YAML scalar: None, a bool, a number or a string. Unlike in
    YAML 1.1, `1e-3` is a number and `1:30` a string."""
    if text.lower() in _NAMED_SCALARS:
        return _NAMED_SCALARS[text.lower()]
    if len(text) <= _MAX_NUMBER_LENGTH and any(character.isdigit() for character in text):
        with suppress(ValueError):
            return int(text, 0)
        with suppress(ValueError):
            return float(text)
    return text
