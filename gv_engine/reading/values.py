"""Values of a scenario with the place where they stand, and the problems found in them.

A scalar keeps its text, so that a key `NO` or `on` stays a name although YAML 1.1 reads a truth
value there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

from gv_engine.language.area import Area
from gv_engine.language.errors import (
    FaultPlace,
    ScenarioError,
    TrustError,
    nearest,
    printable,
)
from gv_engine.language.objects import COLORS
from gv_engine.reading.untrusted import checked_line

LONGEST_SIDE = 512
"""Cells of a grid."""
MOST_CELLS = 2**22
"""Cells of all maps of a scenario together, each as large as the largest."""
SMALLEST, LARGEST = -(2**31), 2**31 - 1
"""Whole numbers that columns can hold."""
_WIDEST_VIEW = 129
"""Cells of a view's side: the whole of a 65x65 grid from any of its cells."""
_MOST_PROBLEMS = 200
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


class Wrong(Exception):
    """One problem; an empty message stands for one that has been reported before."""

    def __init__(self, node: YamlNode, message: str) -> None:
        super().__init__(message)
        self.node = node
        self.message = message


class Refused(Wrong):
    """Python that may not run; an empty message as for `Wrong`."""


class Problems:
    """Collects what is wrong with a scenario, to be raised at once."""

    def __init__(self, label: str) -> None:
        self._label = label
        self._found: list[tuple[FaultPlace, str]] = []
        self._error = ScenarioError

    def add(self, node: YamlNode, message: str) -> None:
        """Note a problem.

        Raises:
            ScenarioError: there are so many that the rest is not worth the time.
        """
        if message:
            self._found.append((node.place, located(self._label, node, message)))
        if len(self) == _MOST_PROBLEMS:
            self.raise_if_any()

    @contextmanager
    def collect(self) -> Iterator[None]:
        """Note a `Wrong` and go on behind the block."""
        try:
            yield
        except Wrong as wrong:
            self.add(wrong.node, wrong.message)
            if isinstance(wrong, Refused):
                self._error = TrustError

    def __len__(self) -> int:
        return len(self._found)

    def raise_if_any(self) -> None:
        """Raise all problems, in order of their lines.

        Raises:
            ScenarioError: there are some; a `TrustError` if Python is among them that may not run.
        """
        if self._found:
            raise self._whole()

    def with_(self, wrong: Wrong) -> ScenarioError:
        """The error of all problems and one more, behind which nothing can be read."""
        self.add(wrong.node, wrong.message)
        return self._whole()

    def _whole(self) -> ScenarioError:
        found = sorted(self._found, key=lambda found: found[0].line or 0)
        error = self._error(text for _, text in found)
        error.places = tuple(place for place, _ in found)
        return error


def located(label: str, node: YamlNode, message: str) -> str:
    """`file:line: key.path: message`."""
    label = node.file or label
    place = label if node.line is None else f"{label}:{node.line}"
    said = ": ".join(" ".join(part.split()) for part in (place, node.path, message) if part)
    return printable(said)


def instead(found: str, allowed: Iterable[str], which: str = "allowed") -> str:
    """The end of a message about a wrong name: the nearest right one, and all of them."""
    names = list(allowed)
    if not names:
        return ""
    hint = nearest(found, names).replace("(allowed", f"({which}", 1)
    return f" {hint}" if hint.startswith("(") else f"; {hint}"


def mapping(node: YamlNode) -> dict[str, YamlNode]:
    """The entries of a mapping."""
    if not isinstance(node.value, dict):
        raise Wrong(node, f"found {node.found}, expected a mapping of names to values")
    return node.value


def items(node: YamlNode, expected: str = "a list") -> list[YamlNode]:
    """The items of a list; of what, for people."""
    if not isinstance(node.value, list):
        raise Wrong(node, f"found {node.found}, expected {expected}")
    return node.value


def words(node: YamlNode) -> str:
    """A text, as written, maybe empty."""
    if isinstance(node.value, dict | list):
        raise Wrong(node, f"found {node.found}, expected a text")
    return node.text.strip()


def word(node: YamlNode) -> str:
    """A name or other text, as written."""
    if isinstance(node.value, dict | list) or not node.text.strip():
        raise Wrong(node, f"found {node.found}, expected a text")
    return node.text


def read_name(node: YamlNode) -> str:
    """Return a name, one line of text."""
    try:
        return checked_line(word(node), "name")
    except ValueError as error:
        raise Wrong(node, str(error)) from None


def integer(node: YamlNode, least: int, most: int) -> int:
    """A whole number within bounds."""
    if isinstance(node.value, bool) or not isinstance(node.value, int):
        raise Wrong(node, f"found {node.found}, expected a whole number")
    if not least <= node.value <= most:
        raise Wrong(node, f"found {node.found}, allowed are {least} to {most}")
    return node.value


def number(node: YamlNode) -> float:
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


def truth(node: YamlNode) -> bool:
    """true or false."""
    if not isinstance(node.value, bool):
        raise Wrong(node, f"found {node.found}, expected true or false")
    return node.value


def one_of(node: YamlNode, names: Iterable[str], what: str) -> int:
    """The position of a name in a list of names."""
    known = list(names)
    name = word(node)
    if name not in known:
        raise Wrong(node, f"no {what} {name!r}{instead(name, known)}")
    return known.index(name)


def check_keys(
    problems: Problems, node: YamlNode, allowed: Iterable[str], read_before: Iterable[str] = ()
) -> dict[str, YamlNode]:
    """The entries of a mapping; a problem for each that is not allowed.

    Args:
        read_before: keys that are allowed as well, but have been taken out already.
    """
    known = list(allowed)
    entries = mapping(node)
    unknown = [key for key in entries if key not in known]
    for key in unknown:
        hint = instead(key, [*(other for other in read_before if other != key), *known])
        if key is not unknown[0]:  # all that is allowed is said once
            hint, _, _ = hint.partition(" (")
        problems.add(entries[key], f"unknown key {key!r}{hint}")
    return {key: value for key, value in entries.items() if key in known}


def unique(names: Iterable[str]) -> tuple[str, ...]:
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
    return one_of(node, COLORS, "colour")


def read_colors(problems: Problems, node: YamlNode) -> tuple[int, ...]:
    """Indices of colours, in order of index."""
    return tuple(sorted(distinct(problems, node, read_color)))


def distinct(problems: Problems, node: YamlNode, read: Callable[[YamlNode], _T]) -> tuple[_T, ...]:
    """The items of a list, read one by one: at least one, and none twice."""
    found: dict[_T, None] = {}
    for item in items(node):
        with problems.collect():
            value = read(item)
            if value in found:
                raise Wrong(item, f"{item.text} stands here a second time")
            found[value] = None
    if not items(node):
        raise Wrong(node, "found an empty list, expected at least one name")
    return tuple(found)


def read_pair(node: YamlNode) -> tuple[int, int]:
    """(height, width), or rows and columns of rooms."""
    expected = "two numbers: [height, width]"
    pair = items(node, expected)
    if len(pair) != 2:
        raise Wrong(node, f"found {node.found}, expected {expected}")
    return integer(pair[0], 1, LONGEST_SIDE), integer(pair[1], 1, LONGEST_SIDE)


def read_area(node: YamlNode) -> Area:
    """Inclusive ranges `[[ymin, ymax], [xmin, xmax]]`."""
    expected = "two ranges: [[ymin, ymax], [xmin, xmax]]"
    ranges = items(node, expected)
    sides = [items(limits, "a range: [least, most]") for limits in ranges]
    if [len(limits) for limits in sides] != [2, 2]:
        raise Wrong(node, f"expected {expected}")
    bounds = []
    for limits, ends in zip(ranges, sides, strict=True):
        low, high = (integer(limit, -LONGEST_SIDE, LONGEST_SIDE) for limit in ends)
        if low > high:
            raise Wrong(limits, f"found [{low}, {high}], expected the smaller number first")
        if high - low >= _WIDEST_VIEW:
            raise Wrong(limits, f"found {high - low + 1} cells, a view has at most {_WIDEST_VIEW}")
        bounds += [low, high]
    return Area(*bounds)


def read_integer(node: YamlNode) -> int:
    """A whole number that columns can hold."""
    return integer(node, SMALLEST, LARGEST)


def read_plain(node: YamlNode) -> Any:
    """A number, a truth value, or (nested) lists of them as tuples."""
    if isinstance(node.value, list):
        return tuple(read_plain(item) for item in node.value)
    for kind, read in ((bool, truth), (int, read_integer), (float, number)):
        if isinstance(node.value, kind):
            return read(node)
    raise Wrong(node, f"found {node.found}, expected a number, true, false, or a list of them")
