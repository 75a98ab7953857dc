"""Scenario files, or mappings like them, as trees of values with their places."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import numpy as np
import yaml

from gv_engine.rules.errors import (
    FaultPlace,
    ScenarioError,
    TrustError,
    nearest,
    printable,
)
from gv_engine.rules.geometry import Area
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.files import check_line

# ---- values --------------------------------------------------------------------------------------

MAX_SIDE = 512
"""Cells of a grid."""
MAX_CELLS = 2**22
"""Cells of all maps of a scenario together, each as large as the largest."""
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
"""Whole numbers that columns can hold."""
_MAX_VIEW_SIDE = 129
"""Cells of a view's side: the whole of a 65x65 grid from any of its cells."""
_MAX_PROBLEMS = 200
"""With so many, the reading of a scenario ends."""

Value: TypeAlias = "dict[str, YamlNode] | list[YamlNode] | str | bool | int | float | None"


_T = TypeVar("_T")


@dataclass(frozen=True)
class YamlNode:
    """A value in a scenario and where it stands.

    Attributes:
        value: a mapping, a list, or a scalar.
        path: as messages give it, `reward_functions[0].name`; "" for the whole scenario.
        line: of its key or list item, from 1; None in a scenario that is no file.
        text: the scalar as written.
        first_row: line of the first row of a text whose line breaks count, else None.
        folded: a text over several lines whose line breaks do not count.
        file: where it stands, if that is another file than the scenario's.
        cell: y, x of the cell that it stands for, if it is part of a map.
    """

    value: Value
    path: str = ""
    line: int | None = None
    text: str = ""
    first_row: int | None = None
    folded: bool = False
    file: str = ""
    cell: tuple[int, int] | None = None

    @property
    def place(self) -> FaultPlace:
        """Where it stands, for errors."""
        cells = () if self.cell is None else (self.cell,)
        return FaultPlace(self.path, self.line, self.file, cells)

    @property
    def plain(self) -> Any:
        """The value without its places: a dict, a list or a scalar."""
        if isinstance(self.value, dict):
            return {key: node.plain for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value

    @property
    def summary(self) -> str:
        """The value, in short, for a message."""
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return f"a list of {len(self.value)}"
        if self.value is None:
            return "nothing"
        short = self.text if len(self.text) <= 40 else self.text[:37] + "..."
        return repr(short) if isinstance(self.value, str) else short


class FieldError(Exception):
    """One problem; an empty message stands for one that has been reported before."""

    def __init__(self, node: YamlNode, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


class UntrustedCodeError(FieldError):
    """Python that may not run; an empty message as for `FieldError`."""


class ErrorCollector:
    """Collects what is wrong with a scenario, to be raised at once."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._messages: list[tuple[FaultPlace, str]] = []
        self._error_class = ScenarioError

    def add(self, node: YamlNode, message: str) -> None:
        """Note a problem.

        Raises:
            ScenarioError: there are so many that the rest is not worth the time.
        """
        if message:
            self._messages.append((node.place, format_message(self._label, node, message)))
        if len(self) == _MAX_PROBLEMS:
            self.raise_if_any()

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Note a `FieldError` and go on behind the block."""
        try:
            yield
        except FieldError as wrong:
            self.add(wrong.node, wrong.message)
            if isinstance(wrong, UntrustedCodeError):
                self._error_class = TrustError

    def __len__(self) -> int:
        return len(self._messages)

    def raise_if_any(self) -> None:
        """Raise all problems, in order of their lines.

        Raises:
            ScenarioError: there are some; a `TrustError` if Python is among them that may not run.
        """
        if self._messages:
            raise self._combined_error()

    def error_with(self, wrong: FieldError) -> ScenarioError:
        """The error of all problems and one more, behind which nothing can be read."""
        self.add(wrong.node, wrong.message)
        return self._combined_error()

    def _combined_error(self) -> ScenarioError:
        found = sorted(self._messages, key=lambda found: found[0].line or 0)
        error = self._error_class(text for _, text in found)
        error.places = tuple(place for place, _ in found)
        return error


def format_message(label: str, node: YamlNode, message: str) -> str:
    """`file:line: key.path: message`."""
    label = node.file or label
    place = label if node.line is None else f"{label}:{node.line}"
    said = ": ".join(" ".join(part.split()) for part in (place, node.path, message) if part)
    return printable(said)


def suggestion(name: str, allowed: Iterable[str], label: str = "allowed") -> str:
    """The end of a message about a wrong name: the nearest right one, and all of them."""
    names = list(allowed)
    if not names:
        return ""
    hint = nearest(name, names).replace("(allowed", f"({label}", 1)
    return f" {hint}" if hint.startswith("(") else f"; {hint}"


def mapping(node: YamlNode) -> dict[str, YamlNode]:
    """The entries of a mapping."""
    if not isinstance(node.value, dict):
        raise FieldError(node, f"found {node.summary}, expected a mapping of names to values")
    return node.value


def items(node: YamlNode, expected: str = "a list") -> list[YamlNode]:
    """The items of a list; of what, for people."""
    if not isinstance(node.value, list):
        raise FieldError(node, f"found {node.summary}, expected {expected}")
    return node.value


def optional_text(node: YamlNode) -> str:
    """A text, as written, maybe empty."""
    if isinstance(node.value, dict | list):
        raise FieldError(node, f"found {node.summary}, expected a text")
    return node.text.strip()


def text(node: YamlNode) -> str:
    """A name or other text, as written."""
    if isinstance(node.value, dict | list) or not node.text.strip():
        raise FieldError(node, f"found {node.summary}, expected a text")
    return node.text


def read_name(node: YamlNode) -> str:
    """Return a name, one line of text."""
    try:
        return check_line(text(node), "name")
    except ValueError as error:
        raise FieldError(node, str(error)) from None


def integer(node: YamlNode, least: int, most: int) -> int:
    """A whole number within bounds."""
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        raise FieldError(node, f"found {node.summary}, expected a whole number")
    if not least <= node.value <= most:
        raise FieldError(node, f"found {node.summary}, allowed are {least} to {most}")
    return node.value


def number(node: YamlNode) -> float:
    """A finite number."""
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise FieldError(node, f"found {node.summary}, expected a number")
    try:
        value = float(node.value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise FieldError(node, f"found {node.summary}, expected a finite number")
    return value


def boolean(node: YamlNode) -> bool:
    """true or false."""
    if not isinstance(node.value, bool):
        raise FieldError(node, f"found {node.summary}, expected true or false")
    return node.value


def read_choice(node: YamlNode, choices: Iterable[str], what: str) -> int:
    """The position of a name in a list of names."""
    known = list(choices)
    name = text(node)
    if name not in known:
        raise FieldError(node, f"no {what} {name!r}{suggestion(name, known)}")
    return known.index(name)


def read_fields(
    problems: ErrorCollector,
    node: YamlNode,
    allowed: Iterable[str],
    other_allowed: Iterable[str] = (),
) -> dict[str, YamlNode]:
    """The entries of a mapping; a problem for each that is not allowed.

    Args:
        read_before: keys that are allowed as well, but have been taken out already.
    """
    known = list(allowed)
    entries = mapping(node)
    unknown = [key for key in entries if key not in known]
    for key in unknown:
        hint = suggestion(key, [*(other for other in other_allowed if other != key), *known])
        if key is not unknown[0]:  # all that is allowed is said once
            hint, _, _ = hint.partition(" (")
        problems.add(entries[key], f"unknown key {key!r}{hint}")
    return {key: value for key, value in entries.items() if key in known}


def make_unique(names: Iterable[str]) -> tuple[str, ...]:
    """Names in order, each one that is taken followed by `_2`, `_3`, …"""
    found: dict[str, int] = {}  # and the last number that was given to it
    for name in names:
        number, free = found.get(name, 1), name
        while free in found:
            number += 1
            free = f"{name}_{number}"
        found[name] = number
        found.setdefault(free, 1)
    return tuple(found)


def read_color(node: YamlNode) -> int:
    """The index of a colour."""
    return read_choice(node, COLORS, "colour")


def read_colors(problems: ErrorCollector, node: YamlNode) -> tuple[int, ...]:
    """Indices of colours, in order of index."""
    return tuple(sorted(read_distinct(problems, node, read_color)))


def read_distinct(
    problems: ErrorCollector, node: YamlNode, read: Callable[[YamlNode], _T]
) -> tuple[_T, ...]:
    """The items of a list, read one by one: at least one, and none twice."""
    found: dict[_T, None] = {}
    for item in items(node):
        with problems.collect():
            value = read(item)
            if value in found:
                raise FieldError(item, f"{item.text} stands here a second time")
            found[value] = None
    if not items(node):
        raise FieldError(node, "found an empty list, expected at least one name")
    return tuple(found)


def read_pair(node: YamlNode) -> tuple[int, int]:
    """(height, width), or rows and columns of rooms."""
    expected = "two numbers: [height, width]"
    pair = items(node, expected)
    if len(pair) != 2:
        raise FieldError(node, f"found {node.summary}, expected {expected}")
    return integer(pair[0], 1, MAX_SIDE), integer(pair[1], 1, MAX_SIDE)


def read_area(node: YamlNode) -> Area:
    """Inclusive ranges `[[ymin, ymax], [xmin, xmax]]`."""
    expected = "two ranges: [[ymin, ymax], [xmin, xmax]]"
    ranges = items(node, expected)
    sides = [items(limits, "a range: [least, most]") for limits in ranges]
    if [len(limits) for limits in sides] != [2, 2]:
        raise FieldError(node, f"expected {expected}")
    bounds = []
    for limits, ends in zip(ranges, sides, strict=True):
        low, high = (integer(limit, -MAX_SIDE, MAX_SIDE) for limit in ends)
        if low > high:
            raise FieldError(limits, f"found [{low}, {high}], expected the smaller number first")
        if high - low >= _MAX_VIEW_SIDE:
            raise FieldError(
                limits, f"found {high - low + 1} cells, a view has at most {_MAX_VIEW_SIDE}"
            )
        bounds += [low, high]
    return Area(*bounds)


def read_int32(node: YamlNode) -> int:
    """A whole number that columns can hold."""
    return integer(node, INT32_MIN, INT32_MAX)


def read_plain(node: YamlNode) -> Any:
    """A number, a truth value, or (nested) lists of them as tuples."""
    if isinstance(node.value, list):
        return tuple(read_plain(item) for item in node.value)
    for kind, read in ((bool, boolean), (int, read_int32), (float, number)):
        if isinstance(node.value, kind):
            return read(node)
    raise FieldError(
        node, f"found {node.summary}, expected a number, true, false, or a list of them"
    )


# ---- yaml nodes ----------------------------------------------------------------------------------

_MAX_VALUES = 50_000
_MAX_CHARACTERS = 2**21
"""Characters of all values, with those of aliases."""
_MAX_NUMBER_LENGTH = 1000
"""Characters."""
_MAX_DEPTH = 50
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the fast one, where it was built
_MAX_SLOW_CHARACTERS = 20_000
"""Characters within which a mistake is looked for again, by the slow loader with better words."""


def parse_yaml(raw: bytes, problems: ErrorCollector) -> YamlNode:
    """The mapping in a YAML file. Keys that stand there twice are noted, and the first one holds.

    Raises:
        Wrong: no UTF-8, no YAML, no mapping, or more than a scenario may have.
        ScenarioError: something else in it is no value of a scenario.
    """
    builder, root = NodeBuilder(problems), YamlNode(None, line=1)
    before = len(problems)
    tree = _compose(decode_utf8(raw))
    if tree is not None:
        root = builder.from_yaml(tree, root)
    if len(problems) - before > builder.duplicate_keys:
        problems.raise_if_any()
    mapping(root)
    return root


def parse_value(text: str) -> Any:
    """What a text in a scenario stands for, such as `9`, `RED` or `[5, 7]`.

    Raises:
        ValueError: it is no YAML.
    """
    problems = ErrorCollector("")
    try:
        tree = _compose(text)
        found = NodeBuilder(problems).from_yaml(tree, YamlNode(None)) if tree is not None else None
        problems.raise_if_any()
    except FieldError as wrong:
        raise ValueError(wrong.message) from None
    return found.plain if found else None


def decode_utf8(raw: bytes) -> str:
    """The text of a file.

    Raises:
        Wrong: it is no UTF-8.
    """
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        found = f"byte {raw[error.start]:#x} is not UTF-8 text"
        raise FieldError(YamlNode(None, line=line), found) from None


def _compose(text: str) -> yaml.Node | None:
    try:
        try:
            _check_limits(text, _LOADER)
            return yaml.compose(text, Loader=_LOADER)
        except yaml.YAMLError:
            if len(text) > _MAX_SLOW_CHARACTERS:
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
        line, message = 1, f"nested deeper than {_MAX_DEPTH} levels"
    except (ValueError, OverflowError):  # of chr(), and PyYAML does not say where
        escape = re.search(r"\\U(?!000|0010)", text)
        line = text.count("\n", 0, escape.start()) + 1 if escape else 1
        message = r"not valid YAML: found an escape beyond the last character, \U0010FFFF"
    raise FieldError(YamlNode(None, line=line), message)


def _check_limits(text: str, loader: Any) -> None:
    """Count values and levels before anything is built of them."""
    values = depth = 0
    for event in yaml.parse(text, loader):
        values += isinstance(event, yaml.NodeEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        at = YamlNode(None, line=event.start_mark.line + 1 if event.start_mark else 1)
        if depth > _MAX_DEPTH:
            raise FieldError(at, f"nested deeper than {_MAX_DEPTH} levels")
        if values > 2 * _MAX_VALUES:  # keys, too
            raise FieldError(at, f"more than {_MAX_VALUES} values")


class NodeBuilder:
    """Makes nodes of YAML's nodes or of Python's values.

    Attributes:
        repeated: how many of the problems are keys that stand there twice.
    """

    def __init__(self, problems: ErrorCollector) -> None:
        self.duplicate_keys = 0
        self._problems = problems
        self._values = self._characters = 0

    def _count_value(self, at: YamlNode, depth: int, characters: int = 0) -> None:
        # aliases can make a short file a huge or an endless one
        self._values += 1
        self._characters += characters
        if depth > _MAX_DEPTH:
            raise FieldError(at, f"nested deeper than {_MAX_DEPTH} levels; does it contain itself?")
        if self._values > _MAX_VALUES:
            first = self._values == _MAX_VALUES + 1
            raise FieldError(at, f"more than {_MAX_VALUES} values, with those of aliases" * first)
        if self._characters > _MAX_CHARACTERS:
            first = self._characters - characters <= _MAX_CHARACTERS
            raise FieldError(at, f"more than {_MAX_CHARACTERS:,} characters, with aliases" * first)

    def from_yaml(self, tree: yaml.Node, at: YamlNode, depth: int = 0) -> YamlNode:
        """The node of a YAML node; `at` gives its path and line."""
        self._count_value(at, depth, len(tree.value) if isinstance(tree, yaml.ScalarNode) else 0)
        if not tree.tag.startswith("tag:yaml.org,2002:") or "python" in tree.tag:
            raise FieldError(at, f"found the tag {tree.tag!r}; scenario files have none")
        if isinstance(tree, yaml.MappingNode):
            return YamlNode(self._read_entries(tree, at, depth), at.path, at.line)
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
            tree.value if tree.style else _resolve_scalar(tree.value),
            at.path,
            at.line,
            text=tree.value,
            first_row=rows if block else None,
            folded=several and not block,
        )

    def _read_entries(
        self, tree: yaml.MappingNode, at: YamlNode, depth: int
    ) -> dict[str, YamlNode]:
        merged: dict[str, YamlNode] = {}
        entries: dict[str, YamlNode] = {}
        lines: dict[str, int] = {}
        for key, value in tree.value:
            line = key.start_mark.line + 1
            if key.tag == "tag:yaml.org,2002:merge":
                for other in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                    place = YamlNode(None, _join_path(at.path, "<<"), line)
                    if not isinstance(other, yaml.MappingNode):
                        raise FieldError(place, "only mappings can be merged with <<")
                    self._count_value(place, depth)
                    for name, node in self._read_entries(other, at, depth + 1).items():
                        merged.setdefault(name, node)
                continue
            if not isinstance(key, yaml.ScalarNode):
                self._problems.add(YamlNode(None, at.path, line), "keys must be single words")
                continue
            place = YamlNode(None, _join_path(at.path, key.value), line)
            if key.value in entries:
                self.duplicate_keys += 1
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
        self._count_value(at, depth)
        if isinstance(data, np.generic):
            data = data.item()
        if isinstance(data, Mapping):
            entries = {}
            for key, value in data.items():
                with self._problems.collect():
                    if isinstance(key, bool) or not isinstance(key, str | int):
                        raise FieldError(at, f"found the key {key!r}, expected a text")
                    place = YamlNode(None, _join_path(at.path, str(key)))
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
        raise FieldError(at, f"found a {type(data).__name__}, which no scenario file can hold")


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


def _resolve_scalar(text: str) -> str | bool | int | float | None:
    """What an unquoted scalar means; other than YAML 1.1, `1e-3` is a number and 1:30 is none."""
    if text.lower() in _NAMED_SCALARS:
        return _NAMED_SCALARS[text.lower()]
    if len(text) <= _MAX_NUMBER_LENGTH and any(character.isdigit() for character in text):
        try:
            return int(text, 0)
        except ValueError:
            try:
                return float(text)
            except ValueError:
                pass
    return text
