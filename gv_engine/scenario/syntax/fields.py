"""Values of scenario files with their source positions, errors about them, and readers of their
fields."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from gv_engine.rules import errors
from gv_engine.rules.geometry import Area
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.storage.files import check_line

# ---- values --------------------------------------------------------------------------------------

MAX_SIDE = 512
"""Maximum height and width of a grid, in cells."""
MAX_CELLS = 2**22
"""Maximum number of cells in all maps of a scenario, where each map counts as large as the largest
one."""
INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
"""Bounds of the integers that columns can hold."""
_MAX_VIEW_SIDE = 129
"""Maximum height and width of a view, in cells: enough to see a whole 65x65 grid from any of its
cells."""
MAX_RADIUS = _MAX_VIEW_SIDE // 2
"""Maximum radius of a view, in cells."""
_MAX_PROBLEMS = 200  # number of errors after which the reading of a scenario stops

Value: TypeAlias = "dict[str, YamlNode] | list[YamlNode] | str | bool | int | float | None"


_T = TypeVar("_T")
_D = TypeVar("_D")


@dataclass(frozen=True)
class YamlNode:
    """A value of a scenario with its source position.

    Attributes:
        value: a mapping, a list, or a scalar.
        path: the key path that messages show, `reward_functions[0].name`; "" for the whole
            scenario.
        line: line of the key or list item, from 1; None in a scenario that comes from no file.
        text: the scalar as written.
        first_row: line of the first row of a literal block (`|`), else None.
        folded: True for a text over several lines whose line breaks do not count.
        file: the file of the value, if it is another file than the scenario's.
        cell: (y, x) of the map cell that the value stands for, if it is part of a map.
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
    def place(self) -> errors.ProblemPlace:
        """Source position for error reports."""
        cells = () if self.cell is None else (self.cell,)
        return errors.ProblemPlace(self.path, self.line, self.file, cells)

    def error(self, message: str) -> FieldError:
        """Return a `FieldError` about this value; `message` is empty if the error has been reported
        before."""
        return FieldError(self, message)

    @contextmanager
    def report(self, *kinds: type[Exception]) -> Iterator[None]:
        """Within a `with` block, convert exceptions of these kinds to a FieldError about this YAML
        value."""
        try:
            yield
        except kinds as error:
            raise self.error(str(error)) from None

    @property
    def plain(self) -> Any:
        """The value as Python objects without source positions: a dict, a list or a scalar."""
        if isinstance(self.value, dict):
            return {key: node.plain for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value

    @property
    def written(self) -> Any:
        """The value as in `plain`, except for words such as `on` and `no`, which YAML reads as
        booleans. They are strings here where they may be names: everywhere in lists, elsewhere only
        in capitals, such as `OFF`."""
        if isinstance(self.value, dict):
            return {key: node.written for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.text if node._is_word else node.written for node in self.value]
        return self.text if self._is_word and self.text.isupper() else self.value

    @property
    def _is_word(self) -> bool:
        return isinstance(self.value, bool) and self.text.lower() not in ("true", "false")

    @property
    def summary(self) -> str:
        """Short description of the value for error messages, such as "a list of 3"."""
        if isinstance(self.value, dict):
            return "a mapping"
        if isinstance(self.value, list):
            return f"a list of {len(self.value)}"
        if self.value is None:
            return "nothing"
        text = self.text if len(self.text) <= 40 else self.text[:37] + "..."
        return repr(text) if isinstance(self.value, str) else text


class FieldError(Exception):
    """Error in one value of a scenario; an empty message means that it has been reported before.

    Attributes:
        is_cause: True if other errors may follow from it, so that it is listed before them.
    """

    is_cause = False

    def __init__(self, node: YamlNode, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


class UntrustedCodeError(FieldError):
    """Error about Python code that may not run; an empty message means that it has been reported
    before."""


class CodeError(FieldError):
    """Error of a Python file that cannot be loaded."""

    is_cause = True


class ErrorCollector:
    """Collector of the errors of a scenario, to raise them together."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._messages: list[tuple[bool, errors.ProblemPlace, str]] = []
        self._error_class = errors.ScenarioError

    def add(self, node: YamlNode, message: str, is_cause: bool = False) -> None:
        """Add an error about the YAML value `node`; other errors may follow from it if `is_cause`.
        Do nothing if the message is empty, which means that the error has been reported before.

        Raises:
            ScenarioError: the number of errors has reached the limit.
        """
        if message:
            text = format_message(self._label, node, message)
            self._messages.append((is_cause, node.place, text))
        if len(self) == _MAX_PROBLEMS:
            self.raise_if_any()

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Within a `with` block, catch a FieldError and add it to the errors. Execution continues
        after the block."""
        try:
            yield
        except FieldError as error:
            self.add(error.node, error.message, error.is_cause)
            if isinstance(error, UntrustedCodeError):
                self._error_class = errors.TrustError

    def read_key(
        self, entries: Mapping[str, YamlNode], key: str, read: Callable[[YamlNode], _T], default: _D
    ) -> _T | _D:
        """Return `read(entries[key])`. If the key is missing, or `read` raises a FieldError, which
        is added to the errors, return `default`."""
        if key in entries:
            with self.collect():
                return read(entries[key])
        return default

    def read_each(
        self, nodes: Iterable[YamlNode], read: Callable[[YamlNode], _T]
    ) -> tuple[_T, ...]:
        """Return `read(node)` for each YAML node, in order. If `read` raises a FieldError, add it
        to the errors and leave the node out."""
        values = []
        for node in nodes:
            with self.collect():
                values.append(read(node))
        return tuple(values)

    def __len__(self) -> int:
        return len(self._messages)

    def raise_if_any(self) -> None:
        """Raise one exception that lists all collected errors, sorted by line; do nothing if there
        are none.

        Raises:
            ScenarioError: there are errors; a `TrustError` if one is about Python code that may not
                run.
        """
        if self._messages:
            raise self._combined_error()

    def error_with(self, error: FieldError) -> errors.ScenarioError:
        """Return one `ScenarioError` that lists the fatal `error` and all errors collected before
        it."""
        self.add(error.node, error.message, error.is_cause)
        return self._combined_error()

    def _combined_error(self) -> errors.ScenarioError:
        """Return one ScenarioError that lists all collected errors with file and line: causes of
        others first, then sorted by line."""
        messages = sorted(self._messages, key=lambda each: (not each[0], each[1].line or 0))
        error = self._error_class(text for *_, text in messages)
        error.places = tuple(place for _, place, _ in messages)
        return error


def format_message(label: str, node: YamlNode, message: str) -> str:
    """Return an error message as one printable line, `file:line: key.path: message`. If the YAML
    node has no file, it begins with `label`."""
    file = node.file or label
    location = file if node.line is None else f"{file}:{node.line}"
    parts = (" ".join(part.split()) for part in (location, node.path, message) if part)
    return errors.escape_unprintable(": ".join(parts))


def mapping(node: YamlNode) -> dict[str, YamlNode]:
    """Return the entries of the mapping in `node`; raise `FieldError` if its value is no
    mapping."""
    if not isinstance(node.value, dict):
        raise node.error(f"found {node.summary}, expected a mapping of names to values")
    return node.value


def items(node: YamlNode, expected: str = "a list") -> list[YamlNode]:
    """Return the items of a YAML list. Raise FieldError if the node is no list; the message says
    that `expected` was expected."""
    if not isinstance(node.value, list):
        if isinstance(node.value, str) and expected == "a list":
            expected += f": [{', '.join(node.value.split())}]"
        raise node.error(f"found {node.summary}, expected {expected}")
    return node.value


def list_or_single(node: YamlNode) -> list[YamlNode]:
    """Return the items of a list; a list of the node itself for any other value."""
    return node.value if isinstance(node.value, list) else [node]


def limited_items(node: YamlNode, maximum: int, label: str, minimum: int = 1) -> list[YamlNode]:
    """Return the items of a YAML list. Raise FieldError if there are not `minimum` to `maximum` of
    them; the message calls the items `label`."""
    nodes = items(node)
    if not minimum <= len(nodes) <= maximum:
        limits = f"{minimum} to {maximum}" if minimum else f"at most {maximum}"
        raise node.error(f"found {len(nodes)} {label}, expected {limits}")
    return nodes


def pair_of(node: YamlNode, expected: str) -> list[YamlNode]:
    """Return the two items of the list in `node`; raise a `FieldError` for other values, whose
    message calls the pair `expected`."""
    if len(pair := items(node, expected)) != 2:
        raise node.error(f"found {node.summary}, expected {expected}")
    return pair


def read_range(node: YamlNode, minimum: int, maximum: int, expected: str) -> tuple[int, int]:
    """Return (low, high) of a range `[low, high]` in a YAML node. Raise FieldError unless `minimum`
    <= low <= high <= `maximum`. `expected` describes the range in the message."""
    low, high = (integer(limit, minimum, maximum) for limit in pair_of(node, expected))
    if low > high:
        raise node.error(f"found [{low}, {high}], expected the smaller number first")
    return low, high


def optional_text(node: YamlNode) -> str:
    """Return the text in `node` without spaces around it, possibly ""; raise `FieldError` for a
    list or mapping."""
    if isinstance(node.value, dict | list):
        raise node.error(f"found {node.summary}, expected a text")
    return node.text.strip()


def text(node: YamlNode) -> str:
    """Return the text in `node` exactly as written; raise `FieldError` if it is blank, a list or a
    mapping."""
    if isinstance(node.value, dict | list) or not node.text.strip():
        raise node.error(f"found {node.summary}, expected a text")
    return node.text


def read_name(node: YamlNode) -> str:
    """Return the name in `node`; raise `FieldError` unless it is one line of text without control
    characters."""
    with node.report(ValueError):
        return check_line(text(node), "name")


def integer(node: YamlNode, minimum: int, maximum: int) -> int:
    """Return the integer in a YAML node. Raise FieldError for any other value, and for one that is
    not in `minimum` to `maximum`."""
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        raise node.error(
            f"found {node.summary}, expected a whole number{errors.suggest_whole(node.value)}"
        )
    if not minimum <= node.value <= maximum:
        raise node.error(f"found {node.summary}, allowed are {minimum} to {maximum}")
    return node.value


def number(node: YamlNode) -> float:
    """Return the number in a YAML node as a float. Raise FieldError if it is no finite number."""
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise node.error(f"found {node.summary}, expected a number")
    try:
        value = float(node.value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise node.error(f"found {node.summary}, expected a finite number")
    return value


def boolean(node: YamlNode) -> bool:
    """Return the boolean in `node`; raise `FieldError` if its value is neither true nor false."""
    if not isinstance(node.value, bool):
        raise node.error(f"found {node.summary}, expected true or false")
    return node.value


def read_choice(node: YamlNode, choices: Iterable[str], label: str) -> int:
    """Return the index in `choices` of the name in a YAML node. Raise FieldError for another name,
    with a suggestion. `label` is the kind of name in the message.

    Args:
        node: the name.
        choices: the allowed names.
        label: kind of name, for the message.
    """
    names = list(choices)
    name = text(node)
    if name not in names:
        raise node.error(f"no {label} {name!r}{errors.describe_allowed(name, names)}")
    return names.index(name)


def choose(node: YamlNode, choices: Sequence[str], label: str) -> str:
    """Return the name in `node`; raise a `FieldError` with a suggestion if the name is not among
    `choices`."""
    return choices[read_choice(node, choices, label)]


def read_fields(
    problems: ErrorCollector,
    node: YamlNode,
    allowed: Iterable[str],
    other_allowed: Iterable[str] = (),
) -> dict[str, YamlNode]:
    """Return those entries of a YAML mapping whose keys are `allowed`. Add an error to `problems`
    for every other key. Keys in `other_allowed` are only mentioned as suggestions in the message.

    Args:
        problems: receives an error for each unknown key.
        node: the mapping.
        allowed: keys to return.
        other_allowed: keys that are allowed too, but that the caller has taken out already; only
            for the suggestions.
    """
    allowed = list(allowed)
    entries = mapping(node)
    unknown = [key for key in entries if key not in allowed]
    for key in unknown:
        suggested = dict.fromkeys(name for name in (*other_allowed, *allowed) if name != key)
        # list the allowed keys only once
        describe = errors.describe_allowed if key is unknown[0] else errors.suggest_similar
        problems.add(entries[key], f"unknown key {key!r}{describe(key, suggested)}")
    return {key: value for key, value in entries.items() if key in allowed}


def make_unique(names: Iterable[str]) -> tuple[str, ...]:
    """Make names distinct by suffixes and return them in order: ("a", "a", "b") gives ("a", "a_2",
    "b")."""
    last_suffixes: dict[str, int] = {}  # tried for each unique name
    for name in names:
        suffix, unique = last_suffixes.get(name, 1), name
        while unique in last_suffixes:
            suffix += 1
            unique = f"{name}_{suffix}"
        last_suffixes[name] = suffix
        last_suffixes.setdefault(unique, 1)
    return tuple(last_suffixes)


def read_color(node: YamlNode) -> int:
    """Return the index of the colour that `node` names."""
    return read_choice(node, COLORS, "colour")


def read_colors(problems: ErrorCollector, node: YamlNode) -> tuple[int, ...]:
    """Return the sorted indices of the distinct colours that the list in `node` names."""
    return tuple(sorted(read_distinct(problems, node, read_color)))


def read_distinct(
    problems: ErrorCollector, node: YamlNode, read: Callable[[YamlNode], _T]
) -> tuple[_T, ...]:
    """Return `read(item)` for each item of a YAML list. For an item that occurs twice, an error is
    added to `problems`.

    Raises:
        FieldError: the list is empty, or the node is no list.
    """
    values: dict[_T, None] = {}
    for item in items(node):
        with problems.collect():
            value = read(item)
            if value in values:
                raise item.error(f"{item.text} is listed twice")
            values[value] = None
    if not items(node):
        raise node.error("found an empty list, expected at least one name")
    return tuple(values)


def read_pair(node: YamlNode) -> tuple[int, int]:
    """Return the two positive integers in `node`: (height, width) of a grid, or (rows, columns) of
    rooms."""
    height, width = pair_of(node, "two numbers: [height, width]")
    return integer(height, 1, MAX_SIDE), integer(width, 1, MAX_SIDE)


def read_area(node: YamlNode) -> Area:
    """Return an agent's view area from a YAML node: `[[ymin, ymax], [xmin, xmax]]` with both ends
    included, or the number of cells in each direction."""
    if isinstance(node.value, int):
        radius = integer(node, 0, MAX_RADIUS)
        return Area(-radius, radius, -radius, radius)
    expected = "two ranges: [[ymin, ymax], [xmin, xmax]], or a radius"
    ranges = items(node, expected)
    if len(ranges) == 4 and all(isinstance(limit.value, int) for limit in ranges):
        a, b, c, d = (limit.value for limit in ranges)
        raise node.error(f"found 4 numbers, expected {expected}; write [[{a}, {b}], [{c}, {d}]]")
    lengths = [len(items(limits, "a range: [least, most]")) for limits in ranges]
    if lengths != [2, 2]:
        raise node.error(f"expected {expected}")
    bounds = []
    for limits in ranges:
        low, high = read_range(limits, -MAX_SIDE, MAX_SIDE, expected)
        if high - low >= _MAX_VIEW_SIDE:
            raise limits.error(f"found {high - low + 1} cells, a view has at most {_MAX_VIEW_SIDE}")
        bounds += [low, high]
    return Area(*bounds)


def read_int32(node: YamlNode) -> int:
    """Return the integer in `node`; raise `FieldError` unless it fits into 32 bits, the size of
    columns."""
    return integer(node, INT32_MIN, INT32_MAX)


def read_plain(node: YamlNode) -> Any:
    """Return the value in a YAML node if it is a number, a boolean, or a nested list of these.
    Lists become tuples. Raise FieldError otherwise."""
    if isinstance(node.value, list):
        return tuple(map(read_plain, node.value))
    if isinstance(node.value, bool):
        return node.value
    if isinstance(node.value, int):
        return read_int32(node)
    if isinstance(node.value, float):
        return number(node)
    raise node.error(f"found {node.summary}, expected a number, true, false, or a list of them")
