"""Policies of trained runs, which need NumPy alone: the file `policy.npz`, the forward pass of its
network, and the policy that acts with it, `TrainedPolicy`.

- `about`: JSON with `scenario`, the name of the scenario, `scenario_spec`, `mask_actions`,
  `layer_norm` and `epsilon`;
- `cells` (codes, 3) uint8: type, state and colour that each cell code stands for;
- `net.…`: the weights of `ActorCritic` by their names there, float32.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import MISSION, STATE, Arrays
from gv_engine.rules.errors import GVEngineError, error_text, shorten
from gv_engine.rules.objects import COLORS
from gv_engine.scenario.array_files import ArrayError, NpzArchive
from gv_engine.scenario.files import atomic_write, parse_json
from gv_engine.scenario.plugin import AnyScenario
from gv_engine.scenario.scenario import Scenario

_MAX_TEXT = 200
"""Characters of a message that describes one scenario."""
_MAX_VALUES = 256
"""Values of a mission's or a state vector's number that have embeddings of their own; the values of
a mission beyond them share these."""
_BINS, BINS_PER_UNIT = 128, 8
"""Number of bins of a number with more values or without bounds, and bins per unit of its logarithm
if it has no bounds."""
NUM_HEADS = 4
"""Attention heads of a network that reads a mission, each of which scores the cells."""


class NumberSpec(NamedTuple):
    """Number of a state vector: its name, its least and greatest value, None for no bound, and
    whether it is a float."""

    name: str
    low: float | None
    high: float | None
    is_float: bool


class ScenarioSpec(NamedTuple):
    """Meaning of the numbers that a policy of a scenario reads and returns.

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
        """Return what a policy must know about a scenario: actions, view, agents, object types and
        missions."""
        types = {kind.index: (kind.name, *kind.states) for kind in scenario.types}
        agents = scenario.layout.agents
        state: tuple[NumberSpec, ...] = ()
        if vector := scenario.observed_state:
            low, high = (
                [bound if math.isfinite(bound) else None for bound in bounds.tolist()]
                for bounds in (vector.low, vector.high)
            )
            is_float = [number.is_float for number in vector.numbers]
            state = tuple(map(NumberSpec, vector.names, low, high, is_float))
        area = scenario.area
        spec = cls(scenario.action_names, area.shape, agents, types, (), (), state, area.turns)
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
        view, agents = (int(height), int(width)), int(document["agents"])
        actions, texts = (tuple(map(str, document[key])) for key in ("actions", "mission_texts"))
        items = document["types"].items()
        types = {int(index): (str(name), *map(str, states)) for index, (name, *states) in items}
        fields = tuple((str(name), int(size)) for name, size in document["mission_fields"])
        state = tuple(
            NumberSpec(
                str(name),
                None if low is None else float(low),
                None if high is None else float(high),
                bool(is_float),
            )
            for name, low, high, is_float in document["state"]
        )
        return cls(
            actions, view, agents, types, fields, texts, state, bool(document.get("turns", True))
        )

    def describe_cell(self, kind: int, state: int, color: int) -> str:
        """Return a text for type, state and colour of a cell, such as "Door LOCKED in RED"."""
        name, *states = self.types[kind]
        state_text = f" {states[state]}" if states else ""
        return f"{name}{state_text}" + (f" in {COLORS[color]}" if color else "")

    def find_mismatch(self, other: ScenarioSpec) -> tuple[str, str] | None:
        """Return None if a policy for this specification can act in `other`; else the first
        obstacle as two texts, which describe this specification and `other`.

        `other` may have fewer object types, and only the first of the mission texts.
        """
        if self.actions != other.actions:
            return _describe_actions(self.actions), _describe_actions(other.actions)
        views = (self.view, self.turns), (other.view, other.turns)
        if views[0] != views[1]:
            return _describe_view(*views[0]), _describe_view(*views[1])
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
        if self.state != other.state:
            return _describe_state(self.state), _describe_state(other.state)
        return None


def _describe_actions(names: tuple[str, ...]) -> str:
    """Return words for the actions of a scenario."""
    return shorten(f"the actions {', '.join(names)}", _MAX_TEXT)


def _describe_view(shape: tuple[int, int], turns: bool) -> str:
    """Return words for the size of a view, and for one that does not turn."""
    return f"a view of {shape[0]}×{shape[1]} cells{'' if turns else ' that does not turn'}"


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


def _describe_state(state: tuple[NumberSpec, ...]) -> str:
    """Return words for the numbers of a state vector, with their bounds."""
    if not state:
        return "no state vector"
    texts = (f"{name} from {low} to {high}" for name, low, high, _ in state)
    return shorten(f"the state {', '.join(texts)}".replace("None", "no bound"), _MAX_TEXT)


class StateCodes(NamedTuple):
    """Codes of a number of the state vector.

    Attributes:
        low, high: least and greatest value, which have the first and the last code, with equal
            steps between them. None for steps of sign(x) * log(1 + |x|), with 0 in the middle: for
            numbers without bounds, or integers of too many values.
        size: number of codes.
    """

    low: float | None
    high: float | None
    size: int

    @classmethod
    def of_number(cls, number: NumberSpec) -> StateCodes:
        """Return the codes of a number."""
        _, low, high, is_float = number
        if low is None or high is None or low == high:
            return cls(None, None, _BINS)
        if is_float:
            return cls(low, high, _BINS)
        values = round(high - low) + 1
        return cls(low, high, values) if values <= _MAX_VALUES else cls(None, None, _BINS)

    def encode(self, values: NDArray[Any]) -> NDArray[np.int32]:
        """Return the codes of an array of values, 0 to `size` - 1: in equal steps between the
        bounds, else of the signed logarithm; values beyond the ends have the first or last code.

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
    """Sizes of a network's inputs and outputs.

    An input slot is a cell of the view, the carried item, an integer of the mission, a number of
    the state vector, or, with several agents, the agent's index. Each slot holds a code.

    Attributes:
        cells: number of cells in the view.
        codes: number of codes for a cell or a carried item.
        mission: number of values of each integer of the mission; () without one.
        actions: number of actions.
        agents: number of agents in a world.
        state: codes of each number of the state vector; () without one.
    """

    cells: int
    codes: int
    mission: tuple[int, ...]
    actions: int
    agents: int = 1
    state: tuple[StateCodes, ...] = ()

    @classmethod
    def of_scenario(cls, scenario: ScenarioSpec, codes: int) -> NetworkSpec:
        """Return the sizes of a network for a scenario whose cells are observed as numbers below
        `codes`."""
        height, width = scenario.view
        mission = tuple(min(size, _MAX_VALUES) for _, size in scenario.mission_fields)
        state = tuple(map(StateCodes.of_number, scenario.state))
        return cls(height * width, codes, mission, len(scenario.actions), scenario.agents, state)

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
        first = cells + 1 + len(self.mission)
        for slot, codes in enumerate(self.state, first):
            out[:, slot] = codes.encode(observation[STATE][:, slot - first])
        if self.agents > 1:
            out[:, -1] = agents
        out += self.first_rows

    def split_rows(self, rows: Any) -> tuple[Any, Any]:
        """Return two parts of (N, slots) rows that `encode` has written, as arrays or tensors.

        Returns:
            (N, cells + 1) codes of the cells and the carried item: row number k * `codes` + c of
                slot k stands for code c. (N, integers) codes of the mission, as if all its integers
                shared one list of codes: those of the second follow those of the first.
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
        """Number of codes of the slots with embeddings of their own: mission, state vector and
        agent index."""
        agents = (self.agents,) if self.agents > 1 else ()
        return (*self.mission, *(codes.size for codes in self.state), *agents)

    @property
    def first_rows(self) -> NDArray[np.int32]:
        """(slots,) table row of each slot's first code."""
        return np.cumsum((0, *self.sizes[:-1])).astype(np.int32)


Floats = NDArray[np.float64]

_MAX_BLOCK = 2**18
"""Multiplications in a matrix product above which NumPy's libraries start threads, which cost more
than they save."""


class NumpyNet:
    """Trained `ActorCritic` for NumPy arrays.

    It computes in float64: the rounding depends on the number of worlds, and in float64 it is too
    small to change an action.

    Args:
        spec: sizes of the network's inputs and outputs.
        weights: arrays by their names and with their axes in `ActorCritic.state_dict()`.
        layer_norm: normalise the hidden layers.
        epsilon: share of random actions, if the actor's outputs are action values; None if they
            are logits.

    Attributes:
        hidden_size: width of the GRU state.

    Raises:
        Exception: of any kind, if weights are missing or have other shapes.
    """

    def __init__(
        self,
        spec: NetworkSpec,
        weights: Mapping[str, NDArray[Any]],
        layer_norm: bool = False,
        epsilon: float | None = None,
    ) -> None:
        self._normalise = _layer_norm if layer_norm else _same
        self._epsilon = epsilon
        arrays = {name: array.astype(np.float64) for name, array in weights.items()}
        self.hidden_size = len(arrays["first_bias"])
        self._table = _first_layer_table(spec, arrays["embedding"], arrays["first"])
        self._spec, self._first_bias = spec, arrays["first_bias"]
        if spec.mission:
            self._queries = arrays["queries"].reshape(sum(spec.mission), NUM_HEADS, -1)
            self._codes = arrays["embedding"][: spec.codes].T
            self._match = _Linear(arrays, "match.weight", "match.bias")
        self._second = _Linear(arrays, "second.weight", "second.bias")
        self._actor = _Linear(arrays, "actor.weight", "actor.bias")
        self._critic: _Linear | None = None
        if "critic.weight" in arrays:  # else it reads the observations of all agents
            self._critic = _Linear(arrays, "critic.weight", "critic.bias")
        self._gru = _GRU(arrays) if "gru.weight_ih" in arrays else None
        if (actions := self._actor.outputs) != spec.actions:
            raise ValueError(f"the actor has {actions} actions, expected {spec.actions}")

    def forward(
        self, rows: NDArray[np.int32], memory: Floats, masks: NDArray[Any]
    ) -> tuple[Floats, Floats | None, Floats]:
        """Return action probabilities and values of N agents, and the new state of the GRU.

        Args:
            rows: (N, slots) encoded observations, see `NetworkSpec.encode`.
            memory: (N, hidden) state of the GRU.
            masks: (N, actions) action masks; a mask of zeros allows all actions.

        Returns:
            (N, actions) probabilities; (N,) values, None if the critic reads the observations of
                all agents; and (N, hidden) state.
        """
        features = self._features(rows)
        if self._gru is not None:
            memory = self._gru(features, memory)
            features = features + memory
        logits = self._actor(features)
        logits[(masks == 0) & (masks != 0).any(1, keepdims=True)] = -np.inf
        if self._epsilon is not None:
            random = self._epsilon * np.isfinite(logits)
            probabilities: Floats = random / np.isfinite(logits).sum(1, keepdims=True)
            probabilities[range(len(logits)), logits.argmax(1)] += 1 - self._epsilon
            return probabilities, logits.max(1), memory
        exponentials: Floats = np.exp(logits - logits.max(1, keepdims=True))
        values = self._critic(features)[:, 0] if self._critic else None
        return exponentials / exponentials.sum(1, keepdims=True), values, memory

    def _features(self, rows: NDArray[np.int32]) -> Floats:
        """Return the (N, hidden) output of the first two layers for N encoded observations."""
        sums, summand = np.zeros((2, len(rows), self.hidden_size))
        for column in rows.T.astype(np.intp):
            sums += np.take(self._table, column, axis=0, out=summand, mode="clip")
        if self._spec.mission:
            sums += self._match(self._scores(rows))
        hidden = _relu(self._normalise(sums + self._first_bias))
        return _relu(self._normalise(self._second(hidden)))

    def _scores(self, rows: NDArray[np.int32]) -> Floats:
        """Return how well each cell matches the mission, as (N, heads * cells), for N encoded
        observations."""
        cells, mission = self._spec.split_rows(rows)
        queries = self._queries[mission].sum(1)
        scores = _relu(queries @ self._codes)
        matches: Floats = np.take_along_axis(scores, cells[:, None].astype(np.intp), 2)
        return matches.reshape(len(rows), -1)


def _first_layer_table(spec: NetworkSpec, embedding: Floats, first: Floats) -> Floats:
    """Return the array that `ActorCritic.first_layer_table` computes, from the weights `embedding`
    and `first`."""
    cells, ends = spec.cells + 1, np.cumsum((spec.codes, *spec.extra_sizes))
    found, expected = (len(first), len(embedding)), (cells + len(spec.extra_sizes), ends[-1])
    if found != expected:
        raise ValueError(f"the network has {found} slots and codes, expected {expected}")
    shared, *extra = np.split(embedding, ends[:-1])
    parts = [codes @ layer for codes, layer in zip(extra, first[cells:])]
    return np.concatenate([(shared @ first[:cells]).reshape(-1, first.shape[2]), *parts])


class _Linear:
    """Linear layer, or K side by side; products are computed in blocks, see `_MAX_BLOCK`."""

    def __init__(self, weights: Mapping[str, Floats], weight: str, bias: str, k: int = 1) -> None:
        """Take the arrays called `weight` and `bias` from `weights`; they hold `k` layers of equal
        size."""
        matrix = weights[weight]
        self.outputs, inputs = len(matrix) // k, matrix.shape[1]
        transposed = matrix.reshape(k, 1, self.outputs, inputs).transpose(0, 1, 3, 2)
        self._weight = np.ascontiguousarray(transposed)
        self._bias = weights[bias].reshape(k, 1, self.outputs)
        self._block = max(1, _MAX_BLOCK // (self.outputs * inputs))

    def all_layers(self, inputs: Floats) -> Floats:
        """Return the outputs of K stacked linear layers for the same (N, inputs) array, as (K, N,
        outputs)."""
        number, width = inputs.shape
        blocks = np.zeros((-(-number // self._block), self._block, width))
        blocks.reshape(-1, width)[:number] = inputs
        products = (blocks @ self._weight).reshape(len(self._bias), -1, self.outputs)
        outputs: Floats = products[:, :number] + self._bias
        return outputs

    def __call__(self, inputs: Floats) -> Floats:
        """Return the (N, outputs) outputs of the first layer for (N, inputs)."""
        outputs: Floats = self.all_layers(inputs)[0]
        return outputs


class _GRU:
    """Gated recurrent unit (Cho et al., 2014) with torch's weights."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._input_gates = _Linear(weights, "gru.weight_ih", "gru.bias_ih", 3)
        self._hidden_gates = _Linear(weights, "gru.weight_hh", "gru.bias_hh", 3)

    def __call__(self, inputs: Floats, memory: Floats) -> Floats:
        """Return the new (N, hidden) state of the GRU for (N, hidden) inputs and the state
        `memory`."""
        input_reset, input_update, input_new = self._input_gates.all_layers(inputs)
        hidden_reset, hidden_update, hidden_new = self._hidden_gates.all_layers(memory)
        update = _sigmoid(input_update + hidden_update)
        new = np.tanh(input_new + _sigmoid(input_reset + hidden_reset) * hidden_new)
        state: Floats = new + update * (memory - new)
        return state


def _relu(numbers: Floats) -> Floats:
    """Return the positive part of each number."""
    return np.maximum(numbers, 0.0)


def _same(numbers: Floats) -> Floats:
    """Return the argument."""
    return numbers


def _layer_norm(numbers: Floats) -> Floats:
    """Return each line shifted and scaled to mean 0 and deviation 1 (Ba et al., 2016)."""
    centered = numbers - numbers.mean(1, keepdims=True)
    normalised: Floats = centered / np.sqrt(centered.var(1, keepdims=True) + 1e-5)
    return normalised


def _sigmoid(numbers: Floats) -> Floats:
    """Return the logistic function, in a form that does not overflow."""
    values: Floats = 0.5 + 0.5 * np.tanh(0.5 * numbers)
    return values


POLICY_FILE = "policy.npz"
_MAX_BYTES = 2**28
"""Bytes of the file, and of each array."""
_MAX_ABOUT = 2**20
_MAX_SIZE = 2**24
"""Of each number in a network specification."""
_NET = "net."


class RunError(GVEngineError):
    """A folder holds no run, a damaged run, or a run that does not fit the scenario."""


class PolicyFile(NamedTuple):
    """Contents of a policy file: all that is needed to act.

    Attributes:
        scenario: name of the scenario that the policy was trained on.
        scenario_spec: specification of that scenario.
        mask_actions: keep to the actions that the action mask allows.
        cells: (codes, 3) uint8 type, state and colour that each cell code stands for.
        weights: weights of the network by their names in `ActorCritic`.
        layer_norm, epsilon: see `NumpyNet`.
    """

    scenario: str
    scenario_spec: ScenarioSpec
    mask_actions: bool
    cells: NDArray[np.uint8]
    weights: Mapping[str, NDArray[np.float32]]
    layer_norm: bool = False
    epsilon: float | None = None

    @property
    def network_spec(self) -> NetworkSpec:
        """Sizes of the network's inputs and outputs."""
        return NetworkSpec.of_scenario(self.scenario_spec, len(self.cells))

    def write(self, run: Path) -> None:
        """Write the policy file into the folder of a training run. The write is atomic.

        Raises:
            OSError: the file cannot be written; the previous one is unchanged.
        """
        about = {
            "scenario": self.scenario,
            "scenario_spec": self.scenario_spec._asdict(),
            "mask_actions": self.mask_actions,
            "layer_norm": self.layer_norm,
            "epsilon": self.epsilon,
        }
        arrays: dict[str, Any] = {"about": np.array(json.dumps(about)), "cells": self.cells}
        arrays |= {f"{_NET}{name}": each for name, each in self.weights.items()}
        with atomic_write(run / POLICY_FILE, follow_links=False) as draft, draft.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)

    @classmethod
    def read(cls, run: Path) -> PolicyFile:
        """Return the contents of the policy file in the folder of a training run.

        Raises:
            RunError: there is no file, or it is damaged.
        """
        path = run / POLICY_FILE
        if not path.exists():
            if several := sorted(run.glob(f"*/{POLICY_FILE}")):
                raise RunError(f"{run} holds several runs: name one, as {several[0].parent}")
            raise RunError(
                f"{run} holds no run that is a policy: there is no {POLICY_FILE}, which gv-engine "
                f"train writes, and gv-engine train --resume where it is gone"
            )
        try:
            with NpzArchive(path, _MAX_BYTES, "policies") as file:
                about = parse_json(file.read_text("about", _MAX_ABOUT))
                weights = {
                    name.removeprefix(_NET): _check_array(file.read_array(name), np.float32)
                    for name in file.array_names
                    if name.startswith(_NET)
                }
                policy = cls(
                    str(about["scenario"]),
                    ScenarioSpec.from_json(about["scenario_spec"]),
                    bool(about["mask_actions"]),
                    _check_array(file.read_array("cells"), np.uint8).reshape(-1, 3),
                    weights,
                    bool(about.get("layer_norm")),
                    None if (epsilon := about.get("epsilon")) is None else float(epsilon),
                )
            spec = policy.network_spec
            sizes = spec.cells, spec.codes, *spec.extra_sizes, spec.actions, spec.agents
            if not all(0 < size < _MAX_SIZE for size in sizes):
                raise ArrayError(f"its network sizes are {tuple(spec)}")
            return policy
        except OSError as error:
            raise RunError(error_text(error)) from None
        except Exception as error:  # values from a file may be anything
            raise damaged_file_error(path, error) from None


def _check_array(array: NDArray[Any], dtype: type[np.generic]) -> NDArray[Any]:
    """Return `array` unchanged; raise ArrayError if it is empty or has another dtype.

    Raises:
        ArrayError: the array is empty, or has another dtype.
    """
    if array.dtype != dtype or not array.size:
        raise ArrayError(f"an array is of {array.dtype}, shape {array.shape}")
    return array


def damaged_file_error(path: Path, error: Exception) -> RunError:
    """Return the error for a file whose reading raised `error`."""
    cause = str(error) if isinstance(error, ArrayError) else f"{type(error).__name__}: {error}"
    return RunError(f"{path} is damaged, or of another version: {shorten(cause, 200)}")


UNKNOWN_CODE = -1


class TrainedPolicy:
    """Policy of a trained run for any number of worlds: a function `act` of observations, infos and
    random generators, with a GRU state for each world if the run has a GRU.

    Args:
        path: folder of the run.
        scenario: scenario that the policy acts in; None if it need not be checked.
        greedy: take the most probable action instead of sampling.

    Attributes:
        probabilities: (N, actions) float64 probabilities of the last `act`, also if `greedy`; None
            before.
        values: (N,) float64 values of the critic in the last `act`, in units of the scaled rewards
            of the training; None before, and if the critic reads the observations of all agents.
        agents: (N,) index of each line's agent in its world; by default 0, 1 … in turn.

    Raises:
        RunError: there is no run, it is damaged, or it does not fit the scenario.
    """

    def __init__(
        self, path: str | Path, scenario: AnyScenario | None = None, greedy: bool = False
    ) -> None:
        self._path, self._greedy = Path(path), greedy
        self._file = file = PolicyFile.read(self._path)
        self._spec = spec = file.network_spec
        try:
            self._net = NumpyNet(spec, file.weights, file.layer_norm, file.epsilon)
            self._memory = np.zeros((1, self._net.hidden_size))
            self._net.forward(spec.first_rows[None], self._memory, np.ones((1, spec.actions)))
            self._codes = codes_by_cell(file.cells)
        except Exception as error:  # weights from a file may be anything
            raise damaged_file_error(self._path / POLICY_FILE, error) from None
        self._scenario_spec = file.scenario_spec
        if scenario is not None:
            self.require_fit(scenario)
        self.agents = np.zeros(0, np.int64)
        self.probabilities: NDArray[np.float64] | None = None
        self.values: NDArray[np.float64] | None = None

    def require_fit(self, scenario: AnyScenario | None) -> None:
        """Raise an error unless the policy can act in a scenario.

        Raises:
            RunError: the policy does not fit the scenario, or there is none.
        """
        self._scenario_spec = _check_scenario(self._path, self._file, scenario)

    def allocate(self, num_envs: int) -> None:
        """Prepare to act in `num_envs` worlds, each at the start of an episode; do nothing if the
        policy acts in as many already."""
        if len(self.agents) != num_envs:
            self._memory = np.zeros((num_envs, self._net.hidden_size))
            self.agents = np.arange(num_envs) % self._spec.agents

    @property
    def num_agents(self) -> int:
        """Number of agents in a world."""
        return self._spec.agents

    def begin(self, worlds: Sequence[int]) -> None:
        """Reset the GRU states of worlds where episodes begin."""
        if len(self.agents):
            self._memory[list(worlds)] = 0

    def act(
        self,
        observation: Arrays,
        info: Mapping[str, Any],
        rngs: Sequence[np.random.Generator] = (),
    ) -> NDArray[np.int64]:
        """Return an action for each of N worlds as (N,) int64.

        Args:
            observation: (N, …) arrays in the representation `default`.
            info: infos of the vector environment, with `action_mask`.
            rngs: N random generators; unused by a greedy policy.

        Raises:
            RunError: an observation shows an object that the run was not trained with.
            ValueError: there are not N generators.
        """
        number = len(observation["grid"])
        self.allocate(number)
        rows = np.zeros((number, len(self._spec.sizes)), np.int32)
        self._spec.encode(self._to_codes(observation), self.agents, rows)
        masks = info["action_mask"]
        masks = masks if self._file.mask_actions else np.ones_like(masks)
        probabilities, self.values, self._memory = self._net.forward(rows, self._memory, masks)
        self.probabilities = probabilities
        if self._greedy:
            greedy_actions: NDArray[np.int64] = probabilities.argmax(1)
            return greedy_actions
        if len(rngs) != number:
            raise ValueError(f"found {len(rngs)} generators, expected {number}, one for each world")
        samples = np.array([rng.random() for rng in rngs])
        below = probabilities.cumsum(1) <= samples[:, None]
        # rounding may leave the sum of all below a sample: take the last possible action then
        last = probabilities.shape[1] - 1 - (probabilities[:, ::-1] > 0).argmax(1)
        actions: NDArray[np.int64] = np.minimum(below.sum(1), last)
        return actions

    def _to_codes(self, observation: Arrays) -> Arrays:
        """Return the observation with cells and item as the codes with which the network was
        trained."""
        encoded = {}
        for name in ("grid", "item"):
            cells = observation[name]
            encoded[name] = cells_to_codes(cells, self._codes)
            unknown = encoded[name] == UNKNOWN_CODE
            if unknown.any():
                cell = self._scenario_spec.describe_cell(*cells[unknown][0].tolist())
                trained_on = self._file.scenario
                raise RunError(
                    f"{self._path} was trained on {trained_on} and has never seen {cell}, which is "
                    f"shown here: let it act in {trained_on}, or in one that shows the same"
                )
        return {**observation, **encoded}


class CheckpointPolicy:
    """Policy of a trained run for N worlds, each with its own generator and GRU state.

    Args:
        path: folder of the run.
        num_envs: N.
        scenario: scenario that the policy acts in.
        greedy: take the most probable action instead of sampling.

    Raises:
        RunError: there is no run, it is damaged, or it does not fit the scenario.
    """

    def __init__(
        self, path: Path, num_envs: int, scenario: AnyScenario | None, greedy: bool = False
    ) -> None:
        self._policy = TrainedPolicy(path, greedy=greedy)
        self._policy.require_fit(scenario)
        self._policy.allocate(num_envs)
        self._rngs = [np.random.default_rng(0)] * num_envs

    @property
    def probabilities(self) -> NDArray[np.float64] | None:
        """(N, actions) probabilities of the last `act`, also if `greedy`; None before."""
        return self._policy.probabilities

    def begin(self, worlds: Sequence[int], seed: int, numbers: Sequence[int]) -> None:
        """Start new episodes in some worlds: reset their GRU states, and seed their random
        generators by `seed` and episode number.

        With A agents, episode n has the numbers A * n to A * n + A - 1.
        """
        self._policy.begin(worlds)
        self._policy.agents[list(worlds)] = np.array(numbers) % self._policy.num_agents
        for world, number in zip(worlds, numbers, strict=True):
            self._rngs[world] = np.random.default_rng([seed, number])

    def act(self, observation: Arrays, info: dict[str, Any]) -> NDArray[np.int64]:
        """Return an action for each of N worlds as (N,) int64, for observations in the
        representation `default`.

        Raises:
            RunError: an observation shows an object that the run was not trained with.
        """
        return self._policy.act(observation, info, self._rngs)


def _check_scenario(path: Path, file: PolicyFile, scenario: AnyScenario | None) -> ScenarioSpec:
    """Return the specification of a scenario; raise RunError if the policy in `file` cannot act
    there.

    Raises:
        RunError: the policy does not fit the scenario.
    """
    if not isinstance(scenario, Scenario):
        raise RunError(f"{path} was trained on {file.scenario}, and acts in grids alone")
    spec = ScenarioSpec.of_scenario(scenario)
    if mismatch := file.scenario_spec.find_mismatch(spec):
        trained_with, found = mismatch
        raise RunError(
            f"{path} was trained on {file.scenario} with {trained_with}, and {scenario.name} has "
            f"{found}: let it act where that is the same, or train a run on {scenario.name}"
        )
    return spec


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
