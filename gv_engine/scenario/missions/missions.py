"""Missions of agents as numbers and as text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from string import digits
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import NONE, Mission, Phrase, join_phrases, list_longest_phrases
from gv_engine.rules.component import Field, column_name, fields_of, to_snake_case
from gv_engine.rules.functions import uses_name
from gv_engine.rules.objects import COLORS
from gv_engine.rules.system import System
from gv_engine.rules.turns import reaches_mission_limit, reaches_step_limit
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.missions.mission_tokens import MAX_VALUES, MissionTokens
from gv_engine.scenario.readers.map import format_mission

STEP_LIMIT_FIELD = "max_steps"
"""Name of the mission field that can lower the step limit of an episode."""


def is_field_for(field: str, attribute: str) -> bool:
    """Return True if the mission field `field` holds an `attribute` ("kind" or "color"): it has
    this name, or ends with it, as `target_kind`."""
    return field == attribute or field.endswith(f"_{attribute}")


def public_field_name(field: str) -> str:
    """Return the name of a mission field in files and texts: `target_object` for `target_kind`."""
    return f"{field.removesuffix('kind')}object" if is_field_for(field, "kind") else field


def list_observed_fields(component: type) -> tuple[Field, ...]:
    """Return the fields of a mission class that agents observe: integers and booleans. Arrays,
    positions, entities and the step limit are not observed."""
    return tuple(
        field
        for field in fields_of(component)
        if isinstance(field.dtype, np.dtype) and field.dtype.kind in "ib"
        if field.name != STEP_LIMIT_FIELD and not field.items
    )


def has_step_limit(component: type | None) -> bool:
    """Return True if the mission class `component` has the step limit of the episode."""
    return component is not None and any(f.name == STEP_LIMIT_FIELD for f in fields_of(component))


def get_limit_test(component: type | None) -> Callable[[Any, int], Any]:
    """Return the function `(world, max_steps)` that returns True once an episode has reached its
    step limit; it works interpreted and compiled.

    The limit is `max_steps`, or the mission's field `max_steps` if that is positive and lower;
    `component` is the class of the scenario's missions, None without missions.
    """
    return reaches_mission_limit if has_step_limit(component) else reaches_step_limit


class Missions:
    """Missions of a scenario's agents as numbers and as text.

    Args:
        layout: layout of its worlds.
        texts: templates of each of its members, () for a member without missions.

    Attributes:
        names: names of the numbers. `wording` is 1 + the index of the template in `texts`, 0 for no
            mission; the others are fields of the component `Mission`.
        texts: templates of all members, without repetition; `wording` k + 1 is text k.
        firsts: for each member the `wording` of its first template, 0 without missions.
        low, high: (k,) int32 least and greatest value of each number.
        dtype: int32.
        phrases: phrases by placeholder, for the placeholders of templates that stand for phrases
            instead of a field, from the class `Mission`.
    """

    dtype: Any = np.int32

    def __init__(self, layout: Layout, texts: Sequence[tuple[str, ...]]) -> None:
        """Store the text templates and compute the bounds of the mission's numbers. The class
        docstring explains the arguments."""
        assert layout.mission
        fields = list_observed_fields(layout.mission)
        self.phrases: Mapping[str, Sequence[Phrase]] = getattr(layout.mission, "phrases", {})
        self._last_text = b"", ""
        self._agents = layout.agents + 1
        self._read_wording = np.array([max(1, len(own)) for own in texts])
        self.names = tuple(field.name for field in fields)
        self.firsts: tuple[int, ...] = ()
        self.texts: list[str] = []
        for own in texts:
            starts = (k for k in range(len(self.texts)) if self.texts[k : k + len(own)] == [*own])
            start = next(starts, len(self.texts))  # equal templates share one number
            self.firsts += (start + 1 if own else 0,)
            self.texts[start : start + len(own)] = own
        self._types = {k.index: to_snake_case(k.name).replace("_", " ") for k in layout.types}
        limits = [self._find_limits(field, layout) for field in fields]
        self.low, self.high = (np.array(ends, np.int32) for ends in zip(*limits, strict=True))

    def _find_limits(self, field: Field, layout: Layout) -> tuple[int, int]:
        """Return minimum and maximum of a mission field in worlds with this layout."""
        if field.name == "wording":
            return 0, len(self.texts)
        if is_field_for(field.name, "kind"):
            return 0, layout.type_table_length - 1
        if is_field_for(field.name, "color"):
            return 0, len(COLORS) - 1
        low, high = field.bounds
        return int(low), int(high)

    def encode(self, w: Any, agent: int = 1) -> NDArray[np.int32]:
        """Return the mission of an agent in world `w` as a (k,) int32 array: the number of the
        mission's text, then the values of its fields."""
        numbers = np.array([getattr(w.mission, name)[agent] for name in self.names], np.int32)
        numbers[0] += self.firsts[w.member]
        return numbers

    def find_fault(self, rows: NDArray[Any]) -> str:
        """Return a message about the first invalid mission number in `rows`, an array of world
        records; "" if all are valid.

        Args:
            rows: rows of the layout with valid members.
        """
        missions: Any = rows["mission"]
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            values = missions[name][:, 1 : self._agents]
            most = self._read_wording[rows["member"]][:, None] - 1 if name == "wording" else high
            if (wrong := (values < low) | (values > most)).any():
                return f"mission.{name} is {values[wrong][0]}"
        return ""

    def to_text(self, numbers: NDArray[np.int32]) -> str:
        """Return the mission as text, given its fields as numbers from `encode`; "" if there is no
        mission."""
        key = numbers.tobytes()
        rendered, text = self._last_text  # the mission is mostly that of the step before
        if rendered != key:
            text = self._render(numbers)
            self._last_text = key, text
        return text

    def _render(self, numbers: NDArray[np.int32]) -> str:
        """Compute the mission text for `to_text`, which caches it."""
        wording, *values = numbers.tolist()
        if not 0 < wording <= len(self.texts):
            return ""
        words = {
            public_field_name(name): self._describe_value(name, value)
            for name, value in zip(self.names[1:], values, strict=True)
        }
        fields = dict(zip(self.names[1:], values, strict=True))
        words |= {name: join_phrases(own, fields) for name, own in self.phrases.items()}
        # the colour NONE leaves two blanks
        return " ".join(self.texts[wording - 1].format_map(words).split())

    def _describe_value(self, field: str, value: int) -> str:
        """Return the word for the value of a mission field: the name of a type or colour, or the
        number itself."""
        if is_field_for(field, "kind"):
            return self._types.get(value, "object")
        if is_field_for(field, "color"):
            return COLORS[value].lower() if NONE < value < len(COLORS) else ""
        return str(value)

    def to_line(self, numbers: NDArray[np.int32]) -> str:
        """Return the line of a text observation that states the mission with these numbers; "" for
        no mission."""
        text = self.to_text(numbers)
        return format_mission(text) if text else ""

    @property
    def max_line_length(self) -> int:
        """Upper bound of the length of a line of `to_line`, in characters."""
        return len(format_mission("")) + self.max_text_length

    @property
    def line_characters(self) -> frozenset[str]:
        """Set of all characters that lines of `to_line` may have."""
        return self.characters.union(format_mission(""))

    def list_words(self, name: str) -> list[str]:
        """Return the texts that can replace `{name}` in a template. If the name stands for phrases,
        return the words of each phrase and the longest sequences of phrases instead of all
        combinations.

        Raises:
            ValueError: there are too many, as for a number of 32 bits.
        """
        if name in self.phrases:
            own = self.phrases[name]
            return [
                *(words for phrase in own for words in phrase.words.values()),
                *list_longest_phrases(own),
            ]
        index = [*map(public_field_name, self.names)].index(name)
        values = range(int(self.low[index]), int(self.high[index]) + 1)
        if len(values) > MAX_VALUES:
            raise ValueError(f"mission: {{{name}}} has too many values for token ids")
        return [self._describe_value(self.names[index], value) for value in values]

    def _phrase_words(self) -> Iterator[str]:
        for own in self.phrases.values():
            yield " ".join(words for phrase in own for words in phrase.words.values())

    @cached_property
    def tokens(self) -> MissionTokens:
        """Converter of missions to token ids; raises the ValueErrors of `MissionTokens`."""
        return MissionTokens(self.texts, self.list_words, self.to_text)

    @property
    def characters(self) -> frozenset[str]:
        """Set of all characters that may occur in the scenario's mission texts."""
        words = *self._types.values(), *COLORS, *self._phrase_words()
        return frozenset("".join((*self.texts, *words)).lower()).union(
            "".join(self.texts), digits, "-"
        )

    @property
    def max_text_length(self) -> int:
        """Upper bound of the length of the scenario's mission texts, in characters."""
        words = *self._types.values(), *COLORS, *self._phrase_words()
        word = max(map(len, (*words, str(np.iinfo(np.int32).min))))
        return max(len(text) + text.count("{") * word for text in self.texts)


def reads_mission(system: System, component: type = Mission) -> bool:
    """Return True if `system`, or a function that it calls, reads the columns of `component`, by
    default `w.mission`; always False for a system in the style of `gv_engine.plugins.gridverse`."""
    return system.objects is None and uses_any_name(system, column_name(component))


def uses_any_name(system: System, *names: str) -> bool:
    """Return True if `system`, or a function that it calls, uses one of `names`, for example as an
    attribute of the world."""
    functions = [system.objects] if system.objects else system.functions
    return any(uses_name(function, *names) for function in functions)
