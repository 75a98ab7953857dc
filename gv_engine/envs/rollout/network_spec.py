"""Sizes and codes of a network's inputs: what a policy must know about its scenario."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import MISSION, STATE, Arrays
from gv_engine.rules.errors import shorten
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.readers.observed_state import ObservedState
from gv_engine.scenario.scenario import Scenario

UNKNOWN_CODE = -1
"""Code of a cell that the policy was not trained on."""
_MAX_TEXT = 200
"""Characters of a message that describes one scenario."""
_MAX_VALUES = 256
"""Maximum number of values of a mission's or a state vector's number with separate embeddings;
larger values of a mission share these embeddings."""
_BINS, BINS_PER_UNIT = 128, 8
"""Number of bins of a number with more values or without bounds, and bins per unit of its logarithm
if it has no bounds."""


class NumberSpec(NamedTuple):
    """Number in a state vector: its name, its bounds (None if it has none), and whether it is a
    float."""

    name: str
    low: float | None
    high: float | None
    is_float: bool


def _list_numbers(vector: ObservedState) -> tuple[NumberSpec, ...]:
    """Return the name, bounds and type of each number in a state vector."""
    low, high = (
        [bound if math.isfinite(bound) else None for bound in bounds.tolist()]
        for bounds in (vector.low, vector.high)
    )
    return tuple(map(NumberSpec, vector.names, low, high, [n.is_float for n in vector.numbers]))


class ScenarioSpec(NamedTuple):
    """Facts about a scenario that a policy needs to act in it: the meaning of actions and
    observations.

    Attributes:
        actions: names of the actions, in order.
        view: (height, width) of the observed area.
        agents: number of agents in a world.
        types: object type index to the type's name, followed by the names of its states.
        mission_fields: name and number of values of each integer of the mission; () without one.
        mission_texts: templates of the mission's texts.
        state: numbers of the state vector; () without one.
        turns: whether the view turns with the agent.
    """

    actions: tuple[str, ...]
    view: tuple[int, int]
    agents: int
    types: Mapping[int, tuple[str, ...]]
    mission_fields: tuple[tuple[str, int], ...]
    mission_texts: tuple[str, ...]
    state: tuple[NumberSpec, ...] = ()
    turns: bool = True

    @classmethod
    def of_scenario(cls, scenario: Scenario) -> ScenarioSpec:
        """Return the specification of a scenario: its actions, view, agents, object types and
        missions."""
        missions, vector = scenario.missions, scenario.observed_state
        fields: tuple[tuple[str, int], ...] = ()
        if missions:
            sizes = missions.high.astype(np.int64) - missions.low + 1
            fields = tuple(zip(missions.names, sizes.tolist()))
        return cls(
            actions=scenario.action_names,
            view=scenario.area.shape,
            agents=scenario.layout.agents,
            types={kind.index: (kind.name, *kind.states) for kind in scenario.types},
            mission_fields=fields,
            mission_texts=tuple(missions.texts) if missions else (),
            state=_list_numbers(vector) if vector else (),
            turns=scenario.area.turns,
        )

    @classmethod
    def from_json(cls, document: Any) -> ScenarioSpec:
        """Return the specification that `document` holds: JSON data that was made from `_asdict()`.

        Raises:
            Exception: of any kind, if the document is something else.
        """
        height, width = document["view"]
        return cls(
            actions=tuple(map(str, document["actions"])),
            view=(int(height), int(width)),
            agents=int(document["agents"]),
            types={
                int(index): (str(name), *map(str, states))
                for index, (name, *states) in document["types"].items()
            },
            mission_fields=tuple(
                (str(name), int(size)) for name, size in document["mission_fields"]
            ),
            mission_texts=tuple(map(str, document["mission_texts"])),
            state=tuple(
                NumberSpec(
                    str(name),
                    None if low is None else float(low),
                    None if high is None else float(high),
                    bool(is_float),
                )
                for name, low, high, is_float in document["state"]
            ),
            turns=bool(document["turns"]),
        )

    def describe_cell(self, kind: int, state: int, color: int) -> str:
        """Return a text for type, state and colour of a cell, such as "Door LOCKED in RED"."""
        name, *states = self.types[kind]
        state_text = f" {states[state]}" if states else ""
        return f"{name}{state_text}" + (f" in {COLORS[color]}" if color else "")

    def find_mismatch(self, other: ScenarioSpec) -> tuple[str, str] | None:
        """Return None if a policy that was trained for this specification can act in a scenario
        with the specification `other`. Else return the first difference as two texts, about this
        one and about `other`.

        `other` may have fewer object types, and only the first of the mission texts.
        """
        if self.actions != other.actions:
            return _describe_actions(self.actions), _describe_actions(other.actions)
        view, other_view = (self.view, self.turns), (other.view, other.turns)
        if view != other_view:
            return _describe_view(*view), _describe_view(*other_view)
        if self.agents != other.agents:
            return _describe_agents(self.agents), _describe_agents(other.agents)
        for index, names in self.types.items():
            if index in other.types and other.types[index] != names:
                return _describe_type(index, names), _describe_type(index, other.types[index])
        texts = self.mission_texts[: len(other.mission_texts)]
        if bool(self.mission_texts) != bool(other.mission_texts) or texts != other.mission_texts:
            return _describe_texts(self.mission_texts), _describe_texts(other.mission_texts)
        sizes, other_sizes = dict(self.mission_fields), dict(other.mission_fields)
        has_same_fields = [*sizes] == [*other_sizes]
        if not has_same_fields or any(other_sizes[name] > sizes[name] for name in sizes):
            return _describe_fields(self.mission_fields), _describe_fields(other.mission_fields)
        if self.state != other.state:
            return _describe_state(self.state), _describe_state(other.state)
        return None


def _describe_actions(names: tuple[str, ...]) -> str:
    return shorten(f"the actions {', '.join(names)}", _MAX_TEXT)


def _describe_view(shape: tuple[int, int], turns: bool) -> str:
    return f"a view of {shape[0]}×{shape[1]} cells{'' if turns else ' that does not turn'}"


def _describe_agents(number: int) -> str:
    return f"{number} agents" if number > 1 else "one agent"


def _describe_type(index: int, names: tuple[str, ...]) -> str:
    name, *states = names
    state_text = f" ({', '.join(states)})" if states else ""
    return shorten(f"{name}{state_text} as object type {index}", _MAX_TEXT)


def _describe_texts(texts: tuple[str, ...]) -> str:
    if not texts:
        return "no mission"
    return shorten(f"the missions {', '.join(map(repr, texts))}", _MAX_TEXT)


def _describe_fields(fields: tuple[tuple[str, int], ...]) -> str:
    sizes = ", ".join(f"{name} of {size}" for name, size in fields)
    return shorten(f"missions with other fields, {sizes}", _MAX_TEXT)


def _describe_state(state: tuple[NumberSpec, ...]) -> str:
    """Return a text with the name and bounds of each number in a state vector."""
    if not state:
        return "no state vector"
    texts = (f"{name} from {low} to {high}" for name, low, high, _ in state)
    return shorten(f"the state {', '.join(texts)}".replace("None", "no bound"), _MAX_TEXT)


class StateCodes(NamedTuple):
    """Rule for turning a number of the state vector into an integer code, by dividing its range
    into equal parts.

    Attributes:
        low, high: values with the first and the last code; the codes between are evenly spaced.
            None if the codes are evenly spaced in sign(x) * log(1 + |x|), with 0 in the middle: for
            numbers without bounds, or integers with too many values.
        size: number of codes.
    """

    low: float | None
    high: float | None
    size: int

    @classmethod
    def of_number(cls, number: NumberSpec) -> StateCodes:
        """Return the rule for a number with these bounds."""
        _, low, high, is_float = number
        if low is None or high is None or low == high:
            return cls(None, None, _BINS)
        if is_float:
            return cls(low, high, _BINS)
        values = round(high - low) + 1
        return cls(low, high, values) if values <= _MAX_VALUES else cls(None, None, _BINS)

    def encode(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Return the code of each value: 0 to `size` - 1 for equal parts of the range between the
        bounds. A number without bounds is scaled by a signed logarithm first. Values out of range
        get the first or last code.

        NaN has the code of 0. Saved policies depend on these codes.
        """
        values = np.nan_to_num(values.astype(np.float64))
        if self.low is None or self.high is None:
            logarithms = np.sign(values) * np.log1p(np.abs(values))
            bins = logarithms * BINS_PER_UNIT + self.size // 2
        else:
            bins = (values - self.low) * (self.size - 1) / (self.high - self.low)
        codes: NDArray[np.int32] = np.clip(np.rint(bins), 0, self.size - 1).astype(np.int32)
        return codes


class NetworkSpec(NamedTuple):
    """Sizes of the inputs and outputs of a policy's network.

    An input slot is a cell of the view, the carried item, an integer of the mission, a number of
    the state vector, or, with several agents, the agent's index. Each slot holds a code.

    Attributes:
        cells: number of cells in the view.
        codes: number of codes for a cell or a carried item.
        mission: number of values of each integer of the mission; () without one.
        actions: number of actions.
        agents: number of agents in a world.
        state: codes of each number of the state vector; () without one.
        height: rows of the view.
    """

    cells: int
    codes: int
    mission: tuple[int, ...]
    actions: int
    agents: int = 1
    state: tuple[StateCodes, ...] = ()
    height: int = 1

    @classmethod
    def of_scenario(cls, scenario: ScenarioSpec, codes: int) -> NetworkSpec:
        """Return the sizes for a scenario whose cells are observed as code numbers below
        `codes`."""
        height, width = scenario.view
        mission = tuple(min(size, _MAX_VALUES) for _, size in scenario.mission_fields)
        state = tuple(map(StateCodes.of_number, scenario.state))
        sizes = height * width, codes, mission, len(scenario.actions), scenario.agents
        return cls(*sizes, state, height)

    def encode(
        self, observation: Arrays, agents: NDArray[np.int64], out: NDArray[np.int32]
    ) -> None:
        """Write the network's inputs for N observations into `out` (N, inputs): indices of rows of
        the first layer's weights. `agents` (N,) has the index of each agent in its world."""
        cells, num_rows = self.cells, len(out)
        out[:, :cells] = observation["grid"].reshape(num_rows, cells)
        out[:, cells] = observation["item"].reshape(num_rows)
        first_mission, first_state = cells + 1, cells + 1 + len(self.mission)
        if self.mission:
            out[:, first_mission:first_state] = observation[MISSION] % self.mission
        for index, codes in enumerate(self.state):
            out[:, first_state + index] = codes.encode(observation[STATE][:, index])
        if self.agents > 1:
            out[:, -1] = agents
        out += self.first_rows

    def split_rows(self, rows: Any) -> tuple[Any, Any]:
        """Return the codes of the cells and of the mission, read from (N, slots) `rows` that
        `encode` has written; both are arrays or tensors, as `rows` is.

        Returns:
            (N, cells + 1) codes of the cells and the carried item: row k * `codes` + c of slot k
            has the code c. (N, integers) codes of the mission, numbered consecutively: the codes of
            the second integer follow the codes of the first.
        """
        cells = self.cells + 1
        mission = rows[:, cells : cells + len(self.mission)] - cells * self.codes
        return rows[:, :cells] % self.codes, mission

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each input slot: cells, carried item, then `extra_sizes`."""
        return (*(self.codes,) * (self.cells + 1), *self.extra_sizes)

    @property
    def extra_sizes(self) -> tuple[int, ...]:
        """Number of codes of the slots with separate embeddings: mission, state vector and agent
        index."""
        agents = (self.agents,) if self.agents > 1 else ()
        return (*self.mission, *(codes.size for codes in self.state), *agents)

    @property
    def first_rows(self) -> NDArray[np.int32]:
        """(slots,) index of each slot's first row in `ActorCritic.first_layer_table`."""
        return np.cumsum((0, *self.sizes[:-1])).astype(np.int32)


def codes_by_cell(cells: NDArray[np.uint8]) -> NDArray[np.int32]:
    """Return an array that maps type, state and colour to the cell's code, and all unlisted
    combinations to -1."""
    codes = np.full(cells.max(0).astype(int) + 2, UNKNOWN_CODE, np.int32)
    codes[tuple(cells.T)] = np.arange(len(cells))
    return codes


def cells_to_codes(cells: NDArray[np.uint8], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the code of each cell in `cells` (..., 3) of type, state and colour, by the array from
    `codes_by_cell`; -1 for one without a code."""
    indices = np.minimum(cells, np.array(codes.shape) - 1)
    found: NDArray[np.int32] = codes[tuple(np.moveaxis(indices, -1, 0))]
    return found
