"""Random values that a level samples once and uses in several places.

    draw:
      color: [RED, GREEN, BLUE]
      other: {one_of: [RED, GREEN, BLUE], not: $color}
      n: {from: 2, to: 4}

`$color` stands for the value: `{object: Key, color: $color}`. In the arrays for
`systems.procedural`, the code -1 - k stands for random value k, which worlds store in `w.drawn[k]`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import Call, get_system
from gv_engine.scenario.readers.resolver import NameResolver
from gv_engine.scenario.syntax import fields
from gv_engine.scenario.syntax.fields import YamlNode
from systems.procedural import sample_values

COLOR, OBJECT, STATE, WAY, NUMBER = "colour", "object", "state", "orientation", "whole number"
"""Kinds of random values."""
_MAX_RANDOM_VALUES = 60
_MAX_OPTIONS = 1000
MAX_WEIGHT = 10_000
_MAX_SAMPLED_NUMBER = 2**31 - 2


@dataclass(frozen=True)
class RandomValue:
    """A value that is sampled at each reset.

    Attributes:
        kind: COLOR, OBJECT, STATE, WAY or NUMBER.
        options: all possible values; for a range of numbers, the smallest and the largest.
        option_names: names of the options.
        weights: relative probabilities of the options; () for a range.
        excluded: indices of other random values, from which this one must differ.
        bounds: the ends of a range, as codes.
    """

    kind: str
    options: tuple[int, ...]
    option_names: tuple[str, ...] = ()
    weights: tuple[int, ...] = ()
    excluded: tuple[int, ...] = ()
    bounds: tuple[int, int] = (0, 0)


def make_table(fill: int, *sizes: int) -> NDArray[np.int64]:
    """Return an array filled with `fill`, of at least these sizes, each rounded up to a power of
    two: arrays of similar sizes then share one compiled program."""
    return np.full([1 << max(0, size - 1).bit_length() for size in sizes], fill, np.int64)


def make_row(numbers: Sequence[int], fill: int = -1) -> NDArray[np.int64]:
    """Return a one-dimensional array that begins with `numbers` and is filled up with `fill` to a
    length that is a power of two."""
    row: NDArray[np.int64] = make_padded_table(fill, [numbers])[0]
    return row


def make_padded_table(
    fill: int, rows: Sequence[Sequence[Any]], *item_shape: int
) -> NDArray[np.int64]:
    """Return lists of different lengths as one array, each padded with `fill`. Items are integers,
    or arrays of `item_shape`. Sizes are rounded up, so that similar scenarios share compiled
    code."""
    table = make_table(fill, len(rows), max(map(len, rows)) or 1, *item_shape)
    for index, row in enumerate(rows):
        table[index, : len(row)] = np.reshape(row, (len(row), *item_shape))
    return table


def read_weights(node: YamlNode, count: int) -> tuple[int, ...]:
    """Return the weights in a YAML list, positive integers. Raise FieldError if there are not
    exactly `count`, one for each option."""
    weights = tuple(fields.integer(weight, 1, MAX_WEIGHT) for weight in fields.items(node))
    if len(weights) != count:
        raise node.error(f"found {len(weights)} weights for {count} options; give one for each")
    return weights


class RandomValues:
    """The random values of a scenario.

    Attributes:
        names: resolver of the names of options.
        problems: collector of the scenario's errors.
    """

    def __init__(self, names: NameResolver) -> None:
        """Make an empty collection of random values. `names` resolves names in the scenario
        file."""
        self.names = names
        self.problems = names.problems
        self._values: list[RandomValue] = []
        self._indices: dict[str, int | None] = {}  # by name, None for an entry with an error

    def read(self, node: YamlNode) -> None:
        """Read the key `draw` of a scenario file, which defines named random values. They are
        sampled anew for each level."""
        entries = fields.mapping(node)
        if len(entries) > _MAX_RANDOM_VALUES:
            raise node.error(f"found {len(entries)} values, expected at most {_MAX_RANDOM_VALUES}")
        for name, entry in entries.items():
            index = None
            with self.problems.collect():
                if not name.isidentifier():
                    raise entry.error(f"found the name {name!r}, expected letters, digits, _")
                index = self._add(self._read_entry(entry))
            self._indices[name] = index

    def add_numbers(self, options: Iterable[int]) -> int:
        """Define a random value that is one of `options` with equal probability. Return its
        negative code, or, if there is only one option, that number itself."""
        numbers = tuple(options)
        if len(numbers) == 1:
            return numbers[0]
        return -1 - self._add(RandomValue(NUMBER, numbers, weights=(1,) * len(numbers)))

    def add_index(self, count: int) -> int:
        """Add a random value from 0 to `count` - 1, all equally likely, and return its code."""
        bounds = 0, count - 1
        return -1 - self._add(RandomValue(NUMBER, bounds, bounds=bounds))

    def _add(self, value: RandomValue) -> int:
        self._values.append(value)
        return len(self._values) - 1

    def __len__(self) -> int:
        return len(self._values)

    def _read_entry(self, node: YamlNode) -> RandomValue:
        """Return the random value that an entry of the key `draw` defines, by a list of options or
        a range of numbers."""
        if not isinstance(node.value, dict | list):
            hint = "expected a list of options, or {from: …, to: …}"
            raise node.error(f"found {node.summary}, {hint}")
        if isinstance(node.value, list):
            return self._read_options(node, {"one_of": node})
        entries = fields.read_fields(
            self.problems, node, ("one_of", "weights", "not", "from", "to")
        )
        if "one_of" in entries:
            for key in ("from", "to"):
                if key in entries:
                    raise entries[key].error(f"a value has either `one_of` or `{key}`")
            return self._read_options(node, entries)
        if not ("from" in entries and "to" in entries):
            raise node.error("expected a list of options, {one_of: […]}, or {from: …, to: …}")
        for key in ("weights", "not"):
            if key in entries:
                raise entries[key].error(f"`{key}` goes with `one_of`, not with a range")
        low, high = self.read_range(entries["from"], entries["to"], _MAX_SAMPLED_NUMBER)
        options = min(self.list_possible_values(low)), max(self.list_possible_values(high))
        return RandomValue(NUMBER, options, bounds=(low, high))

    def _read_options(self, node: YamlNode, entries: dict[str, YamlNode]) -> RandomValue:
        """Return the random value that picks one of the options in a YAML mapping with `one_of` and
        optionally `weights` and `not`."""
        options = fields.items(entries["one_of"])
        if not 1 <= len(options) <= _MAX_OPTIONS:
            raise node.error(f"found {len(options)} options, expected 1 to {_MAX_OPTIONS}")
        kind, read_option = self._find_option_reader(options)
        values: list[int] = []
        for option in options:
            value = read_option(option)
            if value in values:
                raise option.error(f"{option.text} is listed twice; give it a weight")
            values.append(value)
        weights = (1,) * len(values)
        if "weights" in entries:
            weights = read_weights(entries["weights"], len(values))
        excluded: list[int] = []
        if "not" in entries:
            names = fields.list_or_single(entries["not"])
            excluded = [-1 - self.read_value(name, (kind,), _expect_random) for name in names]
        if len({*excluded}) >= len(values):
            raise entries["not"].error("it may leave nothing; give `one_of` more options")
        option_names = tuple(option.text for option in options)
        return RandomValue(kind, tuple(values), option_names, weights, tuple(excluded))

    def _find_option_reader(self, options: list[YamlNode]) -> tuple[str, Callable[[YamlNode], int]]:
        """Return the kind of the options, such as colour or number, and the function that reads one
        of them. The first option decides."""
        first = options[0]
        if isinstance(first.value, int) and not isinstance(first.value, bool):
            return NUMBER, lambda node: fields.integer(node, 0, _MAX_SAMPLED_NUMBER)
        name = fields.text(first)
        if name in COLORS:
            return COLOR, fields.read_color
        if name in ORIENTATIONS:
            return WAY, lambda node: fields.read_choice(node, ORIENTATIONS, WAY)
        types = [kind for kind in self.names.types if name in kind.states]
        if not types or name in self.names.types:
            return OBJECT, self.names.resolve_object_type
        # a type with all of the states, else one with the first
        complete = [t for t in types if all(option.text in t.states for option in options)]
        owner = (complete or types)[0]
        return STATE, lambda node: fields.read_choice(node, owner.states, f"state of {owner.name}")

    def read_value(
        self, node: YamlNode, kinds: tuple[str, ...], read: Callable[[YamlNode], int]
    ) -> int:
        """Return the code of the value in a YAML node: -1 - k for the name of random value k, else
        the fixed value itself, read by `read`. The random value must be of one of the given kinds.

        Args:
            node: the value, or `$name` of a random value.
            kinds: the allowed kinds of random values.
            read: reads a fixed value.
        """
        if isinstance(node.value, dict | list) or not node.text.startswith("$"):
            return read(node)
        name = node.text[1:]
        if name not in self._indices:
            hint = describe_allowed(name, self._indices) or "; `draw` is empty"
            raise node.error(f"no drawn value {name!r}{hint}")
        index = self._indices[name]
        if index is None:
            raise node.error("")
        kind = self._values[index].kind
        if kind not in kinds:
            raise node.error(f"{node.text} is a {kind}, expected {_with_article(kinds[0])}")
        return -1 - index

    def read_state(self, node: YamlNode, kind: int) -> int:
        """Return the code of a state name in a YAML node: its index, or the negative code of a
        random value. `kind` is the object's type index."""
        object_type = self.names.types[kind]
        states, label = object_type.states, f"state of {object_type.name}"
        if not states:
            raise node.error(f"{object_type.name} has no states")
        read_fixed = partial(fields.read_choice, choices=states, label=label)
        code = self.read_value(node, (STATE, WAY), read_fixed)
        if code < 0:
            value = self._values[-1 - code]
            for option, name in zip(value.options, value.option_names, strict=True):
                if name not in states or states.index(name) != option:
                    hint = describe_allowed(name, states)
                    raise node.error(
                        f"{node.text} may be {name!r}, which is not a {label} here{hint}"
                    )
        return code

    def read_number(self, node: YamlNode, maximum: int) -> int:
        """Return the code of an integer in a YAML node: the number itself, or the negative code of
        a random value. Raise FieldError if it is not in 0 to `maximum`."""
        read_fixed = partial(fields.integer, minimum=0, maximum=maximum)
        code = self.read_value(node, (NUMBER,), read_fixed)
        for option in self.list_possible_values(code):
            if option > maximum:
                raise node.error(f"{node.text} may be {option}, allowed are 0 to {maximum}")
        return code

    def read_range(self, low: YamlNode, high: YamlNode, maximum: int) -> tuple[int, int]:
        """Return the codes of the two bounds of a range within 0 to `maximum`. Each is a number
        itself, or the negative code of a random value."""
        codes = self.read_number(low, maximum), self.read_number(high, maximum)
        if max(self.list_possible_values(codes[0])) > min(self.list_possible_values(codes[1])):
            raise low.error(f"a range from {low.text} to {high.text} may be empty")
        return codes

    def list_possible_values(self, code: int) -> tuple[int, ...]:
        """Return the values that `code` (see `read_value`) may stand for: a fixed value alone, all
        options of a random value, or the smallest and the largest number of a range."""
        return (code,) if code >= 0 else self._values[-1 - code].options

    def make_call(self) -> Call:
        """Return the reset function, with its arguments, that samples all random values when a
        level begins."""
        count = len(self._values)
        max_options = max([2, *(len(value.weights) for value in self._values)])
        options, weights = make_table(0, count, max_options), make_table(0, count, max_options)
        unlike = make_table(0, count, count)
        for index, value in enumerate(self._values):
            numbers = value.options if value.weights else value.bounds
            options[index, : len(numbers)] = numbers
            weights[index, : len(value.weights)] = value.weights
            unlike[index, list(value.excluded)] = 1
        tables = {"options": options, "weights": weights, "unlike": unlike}
        return Call(get_system(sample_values), tables)

    @property
    def capacity(self) -> int:
        """Number of random values for which worlds have space: at least 8, and a power of two."""
        return len(make_table(0, max(8, len(self._values))))


def _expect_random(node: YamlNode) -> int:
    raise node.error(f"found {node.summary}, expected the name of a value drawn above: $color")


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"
