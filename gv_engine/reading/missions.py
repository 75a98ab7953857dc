"""Missions: what agents are asked to do, in numbers and in words.

The component `Mission` of the agent holds it; the text is a template over the component's fields,
by their names in files: there a type is an `object`, whatever is called `kind` in rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import digits
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.appearance import NONE
from gv_engine.language.component import Field, fields_of, snake_case
from gv_engine.language.objects import COLORS
from gv_engine.reading.layout import Layout


def is_about(field: str, what: str) -> bool:
    """Whether a field, by its name in rules, holds a `kind` or a `color`."""
    return field == what or field.endswith(f"_{what}")


def name_in_text(field: str) -> str:
    """What a field is called in files and texts: `target_kind` is `target_object`."""
    return f"{field.removesuffix('kind')}object" if is_about(field, "kind") else field


def shown_fields(component: type) -> tuple[Field, ...]:
    """Those that agents see: whole numbers, and no place or entity."""
    return tuple(
        field
        for field in fields_of(component)
        if isinstance(field.dtype, np.dtype) and field.dtype.kind in "ib"
    )


class Missions:
    """What the agents of a scenario are asked, in numbers and in words.

    Args:
        layout: of its worlds.
        texts: templates of each of its members, () for one that asks nothing.

    Attributes:
        names: of the numbers: `wording` is one more than the number of the text among those of all
            members, which have equal ones in common, 0 if nothing is asked; the others are fields
            as they are.
        texts: the templates of all members; `wording` k + 1 is text k.
        firsts: for each member what `wording` is with its first text, 0 if it asks nothing.
        low, high: (k,) int32 the least and the greatest that they can be.
    """

    def __init__(self, layout: Layout, texts: Sequence[tuple[str, ...]]) -> None:
        assert layout.mission
        fields = shown_fields(layout.mission)
        self._agents = layout.agents + 1
        self._wordings = np.array([max(1, len(own)) for own in texts])
        self.names = tuple(field.name for field in fields)
        self.firsts: tuple[int, ...] = ()
        self.texts: list[str] = []
        for own in texts:
            starts = (k for k in range(len(self.texts)) if self.texts[k : k + len(own)] == [*own])
            start = next(starts, len(self.texts))  # what is asked alike has one number
            self.firsts += (start + 1 if own else 0,)
            self.texts[start : start + len(own)] = own
        self._types = {kind.index: snake_case(kind.name).replace("_", " ") for kind in layout.types}
        limits = [self._limits(field, layout) for field in fields]
        self.low, self.high = (np.array(ends, np.int32) for ends in zip(*limits, strict=True))

    def _limits(self, field: Field, layout: Layout) -> tuple[int, int]:
        if field.name == "wording":
            return 0, len(self.texts)
        if is_about(field.name, "kind"):
            return 0, layout.kinds - 1
        if is_about(field.name, "color"):
            return 0, len(COLORS) - 1
        kind: Any = field.dtype
        return (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)

    def numbers(self, w: Any, agent: int = 1) -> NDArray[np.int32]:
        """(k,) what an agent of a world is asked; of a `World` or a `RowWorld`."""
        found = np.array([getattr(w.mission, name)[agent] for name in self.names], np.int32)
        found[0] += self.firsts[w.member]
        return found

    def find_fault(self, rows: NDArray[Any]) -> str:
        """Return what agents of (n,) rows are asked that nobody is, as a clause; empty if nothing.

        Args:
            rows: of the layout, whose members there are.
        """
        for name, low, high in zip(self.names, self.low, self.high, strict=True):
            asked = rows["mission"][name][:, 1 : self._agents]
            most = self._wordings[rows["member"]][:, None] - 1 if name == "wording" else high
            if (wrong := (asked < low) | (asked > most)).any():
                return f"mission.{name} is {asked[wrong][0]}"
        return ""

    def text(self, numbers: NDArray[np.int32]) -> str:
        """What these numbers ask, in words; empty if it is nothing."""
        wording, *values = numbers.tolist()
        if not 0 < wording <= len(self.texts):
            return ""
        words = {
            name_in_text(name): self._word(name, value)
            for name, value in zip(self.names[1:], values, strict=True)
        }
        # a colour that is NONE leaves two blanks
        return " ".join(self.texts[wording - 1].format_map(words).split())

    def _word(self, field: str, value: int) -> str:
        if is_about(field, "kind"):
            return self._types.get(value, "object")
        if is_about(field, "color"):
            return COLORS[value].lower() if NONE < value < len(COLORS) else ""
        return str(value)

    @property
    def characters(self) -> frozenset[str]:
        """All that texts may be made of."""
        return frozenset("".join((*self.texts, *self._types.values(), *COLORS)).lower()).union(
            "".join(self.texts), digits, "-"
        )

    @property
    def longest(self) -> int:
        """At least as many characters as the longest text has."""
        word = max(map(len, (*self._types.values(), *COLORS, str(np.iinfo(np.int32).min))))
        return max(len(text) + text.count("{") * word for text in self.texts)
