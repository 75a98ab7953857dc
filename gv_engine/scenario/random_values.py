"""Values that a level draws once and uses in several places.

    draw:
      color: [RED, GREEN, BLUE]
      other: {one_of: [RED, GREEN, BLUE], not: $color}
      n: {from: 2, to: 4}

`$color` stands for the value: `{object: Key, color: $color}`. In the tables of `systems.chance` it
is -1 - k, and `w.drawn[k]` in a world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.call import Call
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import marked
from gv_engine.scenario.fields import (
    ErrorCollector,
    FieldError,
    YamlNode,
    integer,
    items,
    mapping,
    read_choice,
    read_color,
    read_fields,
    suggestion,
    text,
)
from gv_engine.scenario.resolver import NameResolver
from systems.chance import draw_values

COLOR, OBJECT, STATE, WAY, NUMBER = "colour", "object", "state", "orientation", "whole number"
"""What a value may be."""
_MAX_RANDOM_VALUES = 60
_MAX_OPTIONS = 1000
MAX_WEIGHT = 10_000
"""Weight of an option."""
_MAX_SAMPLED_NUMBER = 2**31 - 2


@dataclass(frozen=True)
class RandomValue:
    """A value that is drawn.

    Attributes:
        number: its place among all.
        what: it is, one of the words above.
        options: all that it may be; of a range of numbers, the least and the greatest.
        words: the names of the options.
        weights: how likely each option is; () for a range.
        unlike: numbers of values that it differs from.
        ends: of a range, as tables have them.
    """

    number: int
    kind: str
    options: tuple[int, ...]
    option_names: tuple[str, ...] = ()
    weights: tuple[int, ...] = ()
    excluded: tuple[int, ...] = ()
    bounds: tuple[int, int] = (0, 0)


def make_table(fill: int, *sizes: int) -> NDArray[np.int64]:
    """A table of at least these sizes; rounded up, so that those of about the same size share one
    program."""
    return np.full([1 << max(0, size - 1).bit_length() for size in sizes], fill, np.int64)


def read_weights(node: YamlNode, count: int) -> tuple[int, ...]:
    """How likely each of several options is, as whole numbers."""
    weights = tuple(integer(weight, 1, MAX_WEIGHT) for weight in items(node))
    if len(weights) != count:
        raise FieldError(
            node, f"found {len(weights)} weights for {count} options; give one for each"
        )
    return weights


class RandomValues:
    """The values that a scenario draws.

    Args:
        names: that options may have.
    """

    def __init__(self, problems: ErrorCollector, names: NameResolver) -> None:
        self._problems = problems
        self._names = names
        self._values: list[RandomValue] = []
        self._named: dict[str, RandomValue | None] = {}  # None where its own entry is wrong

    def read(self, node: YamlNode) -> None:
        """Take what stands under `draw`."""
        entries = mapping(node)
        if len(entries) > _MAX_RANDOM_VALUES:
            raise FieldError(
                node, f"found {len(entries)} values, a level draws at most {_MAX_RANDOM_VALUES}"
            )
        for name, entry in entries.items():
            with self._problems.collect():
                made = None
                try:
                    if not name.isidentifier():
                        raise FieldError(
                            entry, f"found the name {name!r}, expected letters, digits, _"
                        )
                    made = self._add(self._read_entry(entry))
                finally:
                    self._named[name] = made

    def add_numbers(self, options: Iterable[int]) -> int:
        """One more value, that is any of these numbers; as tables have it."""
        found = tuple(options)
        if len(found) == 1:
            return found[0]
        weights = (1,) * len(found)
        return -1 - self._add(RandomValue(0, NUMBER, found, weights=weights)).number

    def _add(self, value: RandomValue) -> RandomValue:
        self._values.append(RandomValue(len(self._values), *list(vars(value).values())[1:]))
        return self._values[-1]

    def __len__(self) -> int:
        return len(self._values)

    def _read_entry(self, node: YamlNode) -> RandomValue:
        if not isinstance(node.value, dict | list):
            hint = "expected a list of options, or {from: …, to: …}"
            raise FieldError(node, f"found {node.summary}, {hint}")
        if isinstance(node.value, list):
            return self._read_options(node, {"one_of": node})
        entries = read_fields(self._problems, node, ("one_of", "weights", "not", "from", "to"))
        if "one_of" in entries:
            for key in ("from", "to"):
                if key in entries:
                    raise FieldError(entries[key], f"a value has either `one_of` or `{key}`")
            return self._read_options(node, entries)
        if not ("from" in entries and "to" in entries):
            raise FieldError(node, "expected a list of options, {one_of: […]}, or {from: …, to: …}")
        for key in ("weights", "not"):
            if key in entries:
                raise FieldError(entries[key], f"`{key}` goes with `one_of`, not with a range")
        low, high = self.read_range(entries["from"], entries["to"], _MAX_SAMPLED_NUMBER)
        options = min(self.list_possible_values(low)), max(self.list_possible_values(high))
        return RandomValue(0, NUMBER, options, bounds=(low, high))

    def _read_options(self, node: YamlNode, entries: dict[str, YamlNode]) -> RandomValue:
        options = items(entries["one_of"])
        if not 1 <= len(options) <= _MAX_OPTIONS:
            raise FieldError(node, f"found {len(options)} options, expected 1 to {_MAX_OPTIONS}")
        what, read = self._find_option_reader(options)
        found = []
        for option in options:
            found.append(read(option))
            if found[-1] in found[:-1]:
                raise FieldError(
                    option, f"{option.text} stands here a second time; give it a weight"
                )
        weights = (1,) * len(found)
        if "weights" in entries:
            weights = read_weights(entries["weights"], len(found))
        unlike: list[int] = []
        if "not" in entries:
            others = entries["not"]
            listed = others.value if isinstance(others.value, list) else [others]
            unlike = [-1 - self.read_value(other, (what,), self._expect_random) for other in listed]
        if len({*unlike}) >= len(found):
            raise FieldError(entries["not"], "it may leave nothing; give `one_of` more options")
        words = tuple(option.text for option in options)
        return RandomValue(0, what, tuple(found), words, weights, tuple(unlike))

    def _expect_random(self, node: YamlNode) -> int:
        raise FieldError(
            node, f"found {node.summary}, expected the name of a value drawn above: $color"
        )

    def _find_option_reader(self, options: list[YamlNode]) -> tuple[str, Callable[[YamlNode], int]]:
        """What options are, by the first of them, and what reads one."""
        first = options[0]
        if isinstance(first.value, int) and not isinstance(first.value, bool):
            return NUMBER, lambda node: integer(node, 0, _MAX_SAMPLED_NUMBER)
        name = text(first)
        if name in COLORS:
            return COLOR, read_color
        if name in ORIENTATIONS:
            return WAY, lambda node: read_choice(node, ORIENTATIONS, WAY)
        having = [known for known in self._names.types if name in known.states]
        if not having or name in self._names.types:
            return OBJECT, self._names.resolve_object_type
        fits = [k for k in having if all(option.text in k.states for option in options)]
        states = (fits or having)[0].states
        return STATE, lambda node: read_choice(node, states, f"state of {(fits or having)[0].name}")

    # ---- where values are used -------------------------------------------------------------------

    def read_value(
        self, node: YamlNode, wanted: tuple[str, ...], read: Callable[[YamlNode], int]
    ) -> int:
        """A value as tables have it, of one of the wanted kinds.

        Args:
            read: reads it if it is not drawn.
        """
        drawn = self._find_random_value(node)
        if drawn is None:
            return read(node)
        if drawn.kind not in wanted:
            raise FieldError(
                node, f"{node.text} is a {drawn.kind}, expected {_with_article(wanted[0])}"
            )
        return -1 - drawn.number

    def _find_random_value(self, node: YamlNode) -> RandomValue | None:
        if isinstance(node.value, dict | list) or not node.text.startswith("$"):
            return None
        name = node.text[1:]
        if name not in self._named:
            known = suggestion(name, self._named) or "; nothing stands under `draw`"
            raise FieldError(node, f"no drawn value {name!r}{known}")
        found = self._named[name]
        if found is None:
            raise FieldError(node, "")
        return found

    def read_state(self, node: YamlNode, kind: int) -> int:
        """The state of an object of a type, as tables have it."""
        known = self._names.types[kind]
        if not known.states:
            raise FieldError(node, f"{known.name} has no states")
        what = f"state of {known.name}"
        drawn = self._find_random_value(node)
        if drawn is None:
            return read_choice(node, known.states, what)
        value = self.read_value(node, (STATE, WAY), self._expect_random)
        for option, name in zip(drawn.options, drawn.option_names, strict=True):
            if name not in known.states or known.states.index(name) != option:
                hint = suggestion(name, known.states)
                raise FieldError(
                    node, f"{node.text} may be {name!r}, no {what} in this place{hint}"
                )
        return value

    def read_number(self, node: YamlNode, most: int) -> int:
        """A whole number from 0 on, as tables have it."""
        value = self.read_value(node, (NUMBER,), lambda node: integer(node, 0, most))
        for option in self.list_possible_values(value):
            if option > most:
                raise FieldError(node, f"{node.text} may be {option}, allowed are 0 to {most}")
        return value

    def read_range(self, low: YamlNode, high: YamlNode, most: int) -> tuple[int, int]:
        """The least and the greatest number of a range, as tables have them."""
        found = self.read_number(low, most), self.read_number(high, most)
        if max(self.list_possible_values(found[0])) > min(self.list_possible_values(found[1])):
            raise FieldError(low, f"a range from {low.text} to {high.text} may be empty")
        return found

    def list_possible_values(self, value: int) -> tuple[int, ...]:
        """All that a value in a table may be; of a range of numbers, its ends."""
        return (value,) if value >= 0 else self._values[-1 - value].options

    def make_call(self) -> Call:
        """The reset that draws them all."""
        values = self._values
        most = max([2, *(len(value.weights) for value in values)])
        options, weights = make_table(0, len(values), most), make_table(0, len(values), most)
        unlike = make_table(0, len(values), len(values))
        for value in values:
            given = value.options if value.weights else value.bounds
            options[value.number, : len(given)] = given
            weights[value.number, : len(value.weights)] = value.weights
            unlike[value.number, list(value.excluded)] = 1
        return Call(
            marked(draw_values).system,
            {"options": options, "weights": weights, "unlike": unlike},
        )

    @property
    def capacity(self) -> int:
        """How many values the rows of worlds hold."""
        return len(make_table(0, max(8, len(self._values))))


def _with_article(what: str) -> str:
    return f"{'an' if what[0] in 'aeiou' else 'a'} {what}"
