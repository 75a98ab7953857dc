"""Specifications that a trained policy keeps: of its scenario, and of its network's inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import MISSION, Arrays
from gv_engine.rules.errors import shorten
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.scenario import Scenario

_MAX_TEXT = 200
"""Characters of a message that describes one scenario."""
_MAX_MISSION_VALUES = 256
"""Values of a mission field that have embeddings of their own; greater values share them."""


class ScenarioSpec(NamedTuple):
    """Meaning of the numbers that a policy of a scenario reads and returns.

    Attributes:
        actions: names of the actions, in order.
        view: (height, width) of the observed area.
        agents: number of agents in a world.
        types: object type index to the type's name, followed by the names of its states.
        mission_fields: name and number of values of each integer of the mission; () without one.
        mission_texts: templates of the mission's texts.
    """

    actions: tuple[str, ...]
    view: tuple[int, int]
    agents: int
    types: Mapping[int, tuple[str, ...]]
    mission_fields: tuple[tuple[str, int], ...]
    mission_texts: tuple[str, ...]

    @classmethod
    def of_scenario(cls, scenario: Scenario) -> ScenarioSpec:
        """Return what a policy must know about a scenario: actions, view, agents, object types and
        missions."""
        spec = cls(
            scenario.action_names,
            scenario.area.shape,
            scenario.layout.agents,
            {kind.index: (kind.name, *kind.states) for kind in scenario.types},
            mission_fields=(),
            mission_texts=(),
        )
        if not (missions := scenario.missions):
            return spec
        sizes = missions.high.astype(np.int64) - missions.low + 1
        fields = tuple(zip(missions.names, sizes.tolist()))
        return spec._replace(mission_fields=fields, mission_texts=tuple(missions.texts))

    @classmethod
    def from_json(cls, document: Any) -> ScenarioSpec:
        """Return the specification that was saved as JSON of `_asdict()`.

        Raises:
            Exception: of any kind, if the document is something else.
        """
        height, width = document["view"]
        return cls(
            tuple(map(str, document["actions"])),
            (int(height), int(width)),
            int(document["agents"]),
            {
                int(index): (str(name), *map(str, states))
                for index, (name, *states) in document["types"].items()
            },
            tuple((str(name), int(size)) for name, size in document["mission_fields"]),
            tuple(map(str, document["mission_texts"])),
        )

    def describe_cell(self, kind: int, state: int, color: int) -> str:
        """Return a text for type, state and colour of a cell, such as "Door LOCKED in RED"."""
        name, *states = self.types[kind]
        state_text = f" {states[state]}" if states else ""
        return f"{name}{state_text}" + (f" in {COLORS[color]}" if color else "")

    def find_mismatch(self, other: ScenarioSpec) -> tuple[str, str] | None:
        """Return two texts on the first difference that keeps a policy for this specification from
        acting in `other`: what is here, and what is there. Return None if the policy can act there.

        `other` may have fewer object types, and only the first of the mission texts.
        """
        if self.actions != other.actions:
            return _describe_actions(self.actions), _describe_actions(other.actions)
        if self.view != other.view:
            return _describe_view(self.view), _describe_view(other.view)
        if self.agents != other.agents:
            return _describe_agents(self.agents), _describe_agents(other.agents)
        for index, names in self.types.items():
            if index in other.types and other.types[index] != names:
                return _describe_type(index, names), _describe_type(index, other.types[index])
        texts = self.mission_texts[: len(other.mission_texts)]
        if bool(self.mission_texts) != bool(other.mission_texts) or texts != other.mission_texts:
            return _describe_texts(self.mission_texts), _describe_texts(other.mission_texts)
        sizes, other_sizes = dict(self.mission_fields), dict(other.mission_fields)
        fits = [*sizes] == [*other_sizes] and all(other_sizes[n] <= sizes[n] for n in sizes)
        if not fits:
            return _describe_fields(self.mission_fields), _describe_fields(other.mission_fields)
        return None


def _describe_actions(names: tuple[str, ...]) -> str:
    """Return words for the actions of a scenario."""
    return shorten(f"the actions {', '.join(names)}", _MAX_TEXT)


def _describe_view(shape: tuple[int, int]) -> str:
    """Return words for the size of a view."""
    return f"a view of {shape[0]}×{shape[1]} cells"


def _describe_agents(number: int) -> str:
    """Return words for a number of agents."""
    return f"{number} agents" if number > 1 else "one agent"


def _describe_type(index: int, names: tuple[str, ...]) -> str:
    """Return a text for an object type: its name, the names of its states, and its index."""
    name, *states = names
    state_text = f" ({', '.join(states)})" if states else ""
    return shorten(f"{name}{state_text} as object type {index}", _MAX_TEXT)


def _describe_texts(texts: tuple[str, ...]) -> str:
    """Return a text that lists the templates of a mission; "no mission" without templates."""
    if not texts:
        return "no mission"
    return shorten(f"the missions {', '.join(map(repr, texts))}", _MAX_TEXT)


def _describe_fields(fields: tuple[tuple[str, int], ...]) -> str:
    """Return words for the fields of a mission, with their numbers of values."""
    sizes = ", ".join(f"{name} of {size}" for name, size in fields)
    return shorten(f"missions with other fields, {sizes}", _MAX_TEXT)


class NetworkSpec(NamedTuple):
    """Sizes of a network's inputs and outputs.

    An input slot is a cell of the view, the carried item, an integer of the mission, or, with
    several agents, the agent's index. Each slot holds a code.

    Attributes:
        cells: number of cells in the view.
        codes: number of codes for a cell or a carried item.
        mission: number of values of each integer of the mission; () without one.
        actions: number of actions.
        agents: number of agents in a world.
    """

    cells: int
    codes: int
    mission: tuple[int, ...]
    actions: int
    agents: int = 1

    @classmethod
    def of_scenario(cls, scenario: ScenarioSpec, codes: int) -> NetworkSpec:
        """Return the sizes of a network for a scenario whose cells are observed as numbers below
        `codes`."""
        height, width = scenario.view
        mission = tuple(min(size, _MAX_MISSION_VALUES) for _, size in scenario.mission_fields)
        return cls(height * width, codes, mission, len(scenario.actions), scenario.agents)

    def encode(
        self, observation: Arrays, agents: NDArray[np.int64], out: NDArray[np.int32]
    ) -> None:
        """Write into `out` (N, inputs) the rows of `ActorCritic.first_layer_table` that encode N
        observations. `agents` (N,) has the index of each agent in its world."""
        cells, number = self.cells, len(out)
        out[:, :cells] = observation["grid"].reshape(number, cells)
        out[:, cells] = observation["item"].reshape(number)
        if self.mission:
            mission = slice(cells + 1, cells + 1 + len(self.mission))
            out[:, mission] = observation[MISSION] % self.mission
        if self.agents > 1:
            out[:, -1] = agents
        out += self.first_rows

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each input slot: cells, carried item, then `extra_sizes`."""
        return (*(self.codes,) * (self.cells + 1), *self.extra_sizes)

    @property
    def extra_sizes(self) -> tuple[int, ...]:
        """Number of codes of the slots with embeddings of their own: mission and agent index."""
        return (*self.mission, self.agents) if self.agents > 1 else self.mission

    @property
    def first_rows(self) -> NDArray[np.int32]:
        """(slots,) table row of each slot's first code."""
        return np.cumsum((0, *self.sizes[:-1])).astype(np.int32)
