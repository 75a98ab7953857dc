"""Where a run fits: what a scenario has in common with the one that it was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from gv_engine.language.errors import shortened
from gv_engine.language.objects import COLORS
from gv_engine.reading.scenario import Scenario

_MOST = 200
"""Characters of a message that say what one of two scenarios has."""


class Fit(NamedTuple):
    """What the numbers stand for that a run sees and answers with.

    Attributes:
        actions: their names, in order.
        view: (height, width) of what is seen.
        agents: of a world.
        types: by the numbers of object types, their names, with those of their states behind.
        asked: the names of a mission's numbers, and how many values each has; () without one.
        texts: templates of missions.
    """

    actions: tuple[str, ...]
    view: tuple[int, int]
    agents: int
    types: Mapping[int, tuple[str, ...]]
    asked: tuple[tuple[str, int], ...]
    texts: tuple[str, ...]

    @classmethod
    def of(cls, scenario: Scenario) -> Fit:
        """What they stand for in a scenario."""
        missions, texts = scenario.missions, tuple[str, ...]()
        asked = tuple[tuple[str, int], ...]()
        if missions:
            values = missions.high.astype(np.int64) - missions.low + 1
            asked, texts = tuple(zip(missions.names, values.tolist())), tuple(missions.texts)
        return cls(
            scenario.action_names,
            scenario.area.shape,
            scenario.layout.agents,
            {kind.index: (kind.name, *kind.states) for kind in scenario.types},
            asked,
            texts,
        )

    @classmethod
    def read(cls, given: Any) -> Fit:
        """The same from what JSON has made of `_asdict`.

        Raises:
            Exception: of any kind, if it is something else.
        """
        height, width = given["view"]
        return cls(
            tuple(map(str, given["actions"])),
            (int(height), int(width)),
            int(given["agents"]),
            {
                int(number): (str(name), *map(str, states))
                for number, (name, *states) in given["types"].items()
            },
            tuple((str(name), int(values)) for name, values in given["asked"]),
            tuple(map(str, given["texts"])),
        )

    def thing(self, kind: int, state: int, color: int) -> str:
        """What people call these numbers of a cell."""
        name, *states = self.types[kind]
        of_state = f" {states[state]}" if states else ""
        return f"{name}{of_state} in {COLORS[color]}" if color else f"{name}{of_state}"

    def lacking(self, here: Fit) -> tuple[str, str] | None:
        """What a scenario lacks that this is known of, and what it has instead; None if it fits.

        It may have fewer types, and only the first of the texts.
        """
        if self.actions != here.actions:
            return _actions(self.actions), _actions(here.actions)
        if self.view != here.view:
            return _view(self.view), _view(here.view)
        if self.agents != here.agents:
            return _agents(self.agents), _agents(here.agents)
        for number, said in self.types.items():
            if number in here.types and here.types[number] != said:
                return _type(number, said), _type(number, here.types[number])
        first = self.texts[: len(here.texts)]
        if bool(self.texts) != bool(here.texts) or first != here.texts:
            return _missions(self.texts), _missions(here.texts)
        known = dict(self.asked)
        if [*known] != [*dict(here.asked)] or any(most > known[name] for name, most in here.asked):
            return _numbers(self.asked), _numbers(here.asked)
        return None


def _actions(names: tuple[str, ...]) -> str:
    return shortened(f"the actions {', '.join(names)}", _MOST)


def _view(shape: tuple[int, int]) -> str:
    return f"a view of {shape[0]}×{shape[1]} cells"


def _agents(number: int) -> str:
    return f"{number} agents" if number > 1 else "one agent"


def _type(number: int, said: tuple[str, ...]) -> str:
    name, *states = said
    of_states = f" ({', '.join(states)})" if states else ""
    return shortened(f"{name}{of_states} as object type {number}", _MOST)


def _missions(texts: tuple[str, ...]) -> str:
    return (
        shortened(f"the missions {', '.join(map(repr, texts))}", _MOST) if texts else "no mission"
    )


def _numbers(asked: tuple[tuple[str, int], ...]) -> str:
    each = ", ".join(f"{name} of {values}" for name, values in asked)
    return shortened(f"missions in other numbers, {each}", _MOST)
