"""Forward pass of a trained network in NumPy, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from gv_engine.envs.rollout.network_spec import NetworkSpec

GRU, LSTM = "gru", "lstm"
"""Cells of recurrent layers; the names of their weights begin with them."""
NUM_HEADS = 4
"""Attention heads of a network that reads a mission, each of which scores the cells."""

Floats = NDArray[np.float64]

_MAX_BLOCK = 2**18
"""Multiplications in a matrix product above which NumPy's libraries start threads, which cost more
than they save."""


class NumpyNet:
    """A trained network, computed with NumPy instead of torch.

    It computes in float64: the rounding depends on the number of worlds, and in float64 it is too
    small to change an action.

    Args:
        spec: sizes of the network's inputs and outputs.
        weights: arrays by their names and with their axes in `ActorCritic.state_dict()`.
        layer_norm: normalise the hidden layers.
        epsilon: share of random actions, if the actor's outputs are action values; None if they
            are logits.
        activation: "relu" or "tanh", after each hidden layer.

    Attributes:
        memory_size: length of the state of the recurrent layer.

    Raises:
        Exception: of any kind, if weights are missing or have other shapes.
    """

    def __init__(
        self,
        spec: NetworkSpec,
        weights: Mapping[str, NDArray[Any]],
        layer_norm: bool = False,
        epsilon: float | None = None,
        activation: str = "relu",
    ) -> None:
        """Prepare the layers. `weights` has the trained weights by name; the class docstring
        explains the other arguments."""
        self._has_layer_norm, self._epsilon = layer_norm, epsilon
        self._activation: Any = {"relu": _relu, "tanh": np.tanh}[activation]
        arrays = {name: array.astype(np.float64) for name, array in weights.items()}
        self._spec, self._first_bias = spec, arrays["first_bias"]
        self._table = first_layer_table(spec, arrays)  # (codes of all slots, hidden)
        self._picture: _Linear | None = None
        if "picture.weight" in arrays:  # encoder "cnn"
            self._picture = _Linear(arrays, "picture.weight", "picture.bias")
            self._convolutions = [
                _Convolution(arrays, "convolution_1"),
                _Convolution(arrays, "convolution_2"),
            ]
            self._embedding = arrays["embedding"]
        self._has_match = bool(spec.mission) and "embedding" in arrays
        if self._has_match:
            self._queries = arrays["queries"].reshape(sum(spec.mission), NUM_HEADS, -1)
            self._codes = arrays["embedding"][: spec.codes].T
            self._match = _Linear(arrays, "match.weight", "match.bias")
        self._second = _Linear(arrays, "second.weight", "second.bias")
        self._actor = _Linear(arrays, "actor.weight", "actor.bias")
        self._critic: _Linear | None = None
        if "critic.weight" in arrays:  # else it reads the observations of all agents
            self._critic = _Linear(arrays, "critic.weight", "critic.bias")
        cell, self._recurrent = find_cell_kind(arrays), None
        if cell:
            self._recurrent = _LSTM(arrays) if cell == LSTM else _GRU(arrays)
        self.memory_size = find_memory_size(cell, len(self._first_bias))
        if (actions := self._actor.outputs) != spec.actions:
            raise ValueError(f"the actor has {actions} actions, expected {spec.actions}")

    def forward(
        self, rows: NDArray[np.int32], memory: Floats, masks: NDArray[Any]
    ) -> tuple[Floats, Floats | None, Floats]:
        """Return action probabilities, values and new states of the recurrent layer for N agents.

        Args:
            rows: (N, slots) encoded observations, see `NetworkSpec.encode`.
            memory: (N, memory size) state of the recurrent layer.
            masks: (N, actions) action masks; a mask of zeros allows all actions.

        Returns:
            (N, actions) probabilities; (N,) values, None if the critic reads the observations of
                all agents; and (N, memory size) state.
        """
        features = self._compute_features(rows)
        if self._recurrent is not None:
            memory = self._recurrent(features, memory)
            features = features + memory[:, : features.shape[1]]
        outputs = self._actor(features)
        outputs[(masks == 0) & (masks != 0).any(1, keepdims=True)] = -np.inf
        if self._epsilon is not None:  # the outputs are action values
            is_allowed = np.isfinite(outputs)
            probabilities: Floats = self._epsilon * is_allowed / is_allowed.sum(1, keepdims=True)
            probabilities[range(len(outputs)), outputs.argmax(1)] += 1 - self._epsilon
            return probabilities, outputs.max(1), memory
        exponentials: Floats = np.exp(outputs - outputs.max(1, keepdims=True))
        values = self._critic(features)[:, 0] if self._critic else None
        return exponentials / exponentials.sum(1, keepdims=True), values, memory

    def _compute_features(self, rows: NDArray[np.int32]) -> Floats:
        """Return the output of the first two layers, (N, hidden). `rows` (N, inputs) are
        observations, encoded as indices of first-layer weights."""
        sums, summand = np.zeros((2, len(rows), len(self._first_bias)))
        cells, codes, table_rows = self._spec.cells, self._spec.codes, rows
        if self._picture:
            picture = self._embedding[rows[:, :cells] % codes]
            picture = picture.reshape(len(rows), self._spec.height, -1, picture.shape[-1])
            for convolution in self._convolutions:
                picture = _relu(convolution(picture))
            sums += self._picture(np.moveaxis(picture, -1, 1).reshape(len(rows), -1))
            table_rows = rows[:, cells:] - cells * codes  # the table has no rows of these cells
        for column in table_rows.T.astype(np.intp):
            sums += np.take(self._table, column, axis=0, out=summand, mode="clip")
        if self._has_match:
            sums += self._match(self._score_cells(rows))
        hidden = self._activate(sums + self._first_bias)
        return self._activate(self._second(hidden))

    def _activate(self, sums: Floats) -> Floats:
        activated: Floats = self._activation(_normalise(sums) if self._has_layer_norm else sums)
        return activated

    def _score_cells(self, rows: NDArray[np.int32]) -> Floats:
        """Return a score (N, heads * cells) for how well each cell matches the mission. `rows` (N,
        inputs) are observations, encoded as indices of first-layer weights."""
        cells, mission = self._spec.split_rows(rows)
        queries = self._queries[mission].sum(1)
        scores = _relu(queries @ self._codes)
        matches: Floats = np.take_along_axis(scores, cells[:, None].astype(np.intp), 2)
        return matches.reshape(len(rows), -1)


def first_layer_table(spec: NetworkSpec, weights: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return the weights of the first layer as a table with a row for each input code. `weights`
    are those of the network, by name."""
    if "table" in weights:  # encoder "mlp"
        return weights["table"].reshape(sum(spec.sizes), -1)
    embedding, first = weights["embedding"], weights["first"]
    # slots of cells, and of the carried item, share the embeddings
    num_shared = 1 if "picture.weight" in weights else spec.cells + 1
    ends = np.cumsum((spec.codes, *spec.extra_sizes))
    found, expected = (len(first), len(embedding)), (num_shared + len(spec.extra_sizes), ends[-1])
    if found != expected:
        raise ValueError(f"the network has {found} slots and codes, expected {expected}")
    shared, *extra = np.split(embedding, ends[:-1])
    shared_rows = (shared @ first[:num_shared]).reshape(-1, first.shape[2])
    extra_rows = [codes @ layer for codes, layer in zip(extra, first[num_shared:])]
    return np.concatenate([shared_rows, *extra_rows])


class _Linear:
    """Linear layer, or K linear layers of equal size that are computed together."""

    def __init__(
        self, weights: Mapping[str, Floats], weight: str, bias: str, num_layers: int = 1
    ) -> None:
        """Take the arrays named `weight` and `bias` from `weights`. They hold `num_layers` layers
        of equal size."""
        matrix = weights[weight]
        self.outputs, inputs = len(matrix) // num_layers, matrix.shape[1]
        transposed = matrix.reshape(num_layers, 1, self.outputs, inputs).transpose(0, 1, 3, 2)
        self._weight = np.ascontiguousarray(transposed)
        self._bias = weights[bias].reshape(num_layers, 1, self.outputs)
        self._block_size = max(1, _MAX_BLOCK // (self.outputs * inputs))

    def all_layers(self, inputs: Floats) -> Floats:
        """Return the outputs of K layers for the same `inputs` (N, inputs), as (K, N, outputs)."""
        num_rows, width = inputs.shape
        num_blocks = -(-num_rows // self._block_size)  # rounded up
        blocks = np.zeros((num_blocks, self._block_size, width))
        blocks.reshape(-1, width)[:num_rows] = inputs
        products = (blocks @ self._weight).reshape(len(self._bias), -1, self.outputs)
        outputs: Floats = products[:, :num_rows] + self._bias
        return outputs

    def __call__(self, inputs: Floats) -> Floats:
        """Return the (N, outputs) outputs of the first layer for (N, inputs)."""
        outputs: Floats = self.all_layers(inputs)[0]
        return outputs


class _Convolution:
    """Convolution with 3 x 3 filters and zero padding, with weights from torch."""

    def __init__(self, weights: Mapping[str, Floats], name: str) -> None:
        """Take the weights and biases of the layer called `name` from `weights`."""
        kernels = weights[f"{name}.weight"]
        flat = {"weight": kernels.reshape(len(kernels), -1), "bias": weights[f"{name}.bias"]}
        self._linear = _Linear(flat, "weight", "bias")

    def __call__(self, pictures: Floats) -> Floats:
        """Return the output (N, h, w, outputs) for `pictures` (N, h, w, inputs)."""
        padded = np.pad(pictures, ((0, 0), (1, 1), (1, 1), (0, 0)))
        windows = sliding_window_view(padded, (3, 3), (1, 2))  # (N, h, w, inputs, 3, 3)
        flat = windows.reshape(-1, windows[0, 0, 0].size)
        return self._linear(flat).reshape(*pictures.shape[:3], -1)


class _GRU:
    """Gated recurrent unit (Cho et al., 2014) with weights from torch."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._input_gates = _Linear(weights, "gru.weight_ih", "gru.bias_ih", 3)
        self._hidden_gates = _Linear(weights, "gru.weight_hh", "gru.bias_hh", 3)

    def __call__(self, inputs: Floats, memory: Floats) -> Floats:
        """Return the new state (N, hidden) for `inputs` (N, hidden) and the old state `memory` (N,
        hidden)."""
        input_reset, input_update, input_new = self._input_gates.all_layers(inputs)
        hidden_reset, hidden_update, hidden_new = self._hidden_gates.all_layers(memory)
        update = _sigmoid(input_update + hidden_update)
        new = np.tanh(input_new + _sigmoid(input_reset + hidden_reset) * hidden_new)
        state: Floats = new + update * (memory - new)
        return state


class _LSTM:
    """Long short-term memory (Hochreiter and Schmidhuber, 1997) with weights from torch."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._input_gates = _Linear(weights, "lstm.weight_ih", "lstm.bias_ih", 4)
        self._hidden_gates = _Linear(weights, "lstm.weight_hh", "lstm.bias_hh", 4)

    def __call__(self, inputs: Floats, memory: Floats) -> Floats:
        """Return the new output and cell state (N, 2 * hidden) for `inputs` (N, hidden) and the old
        ones, `memory`."""
        output, cell = np.split(memory, 2, 1)
        gates = self._input_gates.all_layers(inputs) + self._hidden_gates.all_layers(output)
        input_gate, forget_gate, candidate, output_gate = gates
        cell = _sigmoid(forget_gate) * cell + _sigmoid(input_gate) * np.tanh(candidate)
        return np.concatenate([_sigmoid(output_gate) * np.tanh(cell), cell], 1)


def find_cell_kind(weights: Mapping[str, Any]) -> str:
    """Return the kind of recurrent cell that a network with these weights has, "gru" or "lstm"; ""
    without one."""
    return next((cell for cell in (GRU, LSTM) if f"{cell}.weight_ih" in weights), "")


def find_memory_size(cell: str, hidden_size: int) -> int:
    """Return the length of a recurrent layer's state: that of its output, and with an LSTM as much
    for the cell state behind it."""
    return hidden_size * (2 if cell == LSTM else 1)


def _relu(numbers: Floats) -> Floats:
    return np.maximum(numbers, 0.0)


def _normalise(numbers: Floats) -> Floats:
    centered = numbers - numbers.mean(1, keepdims=True)
    normalised: Floats = centered / np.sqrt(centered.var(1, keepdims=True) + 1e-5)
    return normalised


def _sigmoid(numbers: Floats) -> Floats:
    values: Floats = 0.5 + 0.5 * np.tanh(0.5 * numbers)
    return values
