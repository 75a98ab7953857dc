"""Forward pass of `ActorCritic` in NumPy, so that trained policies act without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.learning.spec import NetworkSpec

Floats = NDArray[np.float64]

_MAX_BLOCK = 2**18
"""Multiplications in a matrix product above which NumPy's libraries start threads, which cost more
than they save."""


class NumpyNet:
    """Actor of a trained `ActorCritic` for NumPy arrays.

    It computes in float64: the rounding depends on the number of worlds, and in float64 it is too
    small to change an action.

    Args:
        spec: sizes of the network's inputs and outputs.
        weights: arrays by their names and with their axes in `ActorCritic.state_dict()`.

    Attributes:
        hidden_size: width of the GRU state.

    Raises:
        Exception: of any kind, if weights are missing or have other shapes.
    """

    def __init__(self, spec: NetworkSpec, weights: Mapping[str, NDArray[Any]]) -> None:
        arrays = {name: array.astype(np.float64) for name, array in weights.items()}
        self.hidden_size = len(arrays["first_bias"])
        self._table = _first_layer_table(spec, arrays["embedding"], arrays["first"])
        self._first_bias = arrays["first_bias"]
        self._second = _Linear(arrays, "second.weight", "second.bias")
        self._actor = _Linear(arrays, "actor.weight", "actor.bias")
        self._gru = _GRU(arrays) if "gru.weight_ih" in arrays else None
        if self._actor.outputs != spec.actions:
            raise ValueError(
                f"the actor has {self._actor.outputs} actions, expected {spec.actions}"
            )

    def forward(
        self, rows: NDArray[np.int32], memory: Floats, masks: NDArray[Any]
    ) -> tuple[Floats, Floats]:
        """Return the action probabilities of N agents, and the new state of the GRU.

        Args:
            rows: (N, slots) encoded observations, see `NetworkSpec.encode`.
            memory: (N, hidden) state of the GRU.
            masks: (N, actions) action masks; a mask of zeros allows all actions.

        Returns:
            (N, actions) probabilities and (N, hidden) state.
        """
        features = self._features(rows)
        if self._gru is not None:
            memory = self._gru(features, memory)
            features = features + memory
        logits = self._actor(features)
        logits[(masks == 0) & (masks != 0).any(1, keepdims=True)] = -np.inf
        exponentials: Floats = np.exp(logits - logits.max(1, keepdims=True))
        return exponentials / exponentials.sum(1, keepdims=True), memory

    def _features(self, rows: NDArray[np.int32]) -> Floats:
        """Return the (N, hidden) features of encoded observations."""
        sums, summand = np.zeros((2, len(rows), self.hidden_size))
        for column in rows.T.astype(np.intp):
            sums += np.take(self._table, column, axis=0, out=summand, mode="clip")
        return _relu(self._second(_relu(sums + self._first_bias)))


def _first_layer_table(spec: NetworkSpec, embedding: Floats, first: Floats) -> Floats:
    """Return the same array as `ActorCritic.first_layer_table`."""
    cells, ends = spec.cells + 1, np.cumsum((spec.codes, *spec.extra_sizes))
    expected = cells + len(spec.extra_sizes), ends[-1]
    if (len(first), len(embedding)) != expected:
        raise ValueError(
            f"the network has {len(first), len(embedding)} slots and codes, expected {expected}"
        )
    shared, *extra = np.split(embedding, ends[:-1])
    parts = [codes @ layer for codes, layer in zip(extra, first[cells:])]
    return np.concatenate([(shared @ first[:cells]).reshape(-1, first.shape[2]), *parts])


class _Linear:
    """Linear layer, or K side by side; products are computed in blocks, see `_MAX_BLOCK`."""

    def __init__(self, weights: Mapping[str, Floats], weight: str, bias: str, k: int = 1) -> None:
        matrix = weights[weight]
        self.outputs, inputs = len(matrix) // k, matrix.shape[1]
        self._weight = np.ascontiguousarray(
            matrix.reshape(k, 1, self.outputs, inputs).transpose(0, 1, 3, 2)
        )
        self._bias = weights[bias].reshape(k, 1, self.outputs)
        self._block = max(1, _MAX_BLOCK // (self.outputs * inputs))

    def all_layers(self, inputs: Floats) -> Floats:
        """Apply K linear layers, which were stacked for speed, to the same (N, inputs) rows; return
        their outputs, (K, N, outputs)."""
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
        """Return the (N, hidden) new state for (N, hidden) inputs."""
        input_reset, input_update, input_new = self._input_gates.all_layers(inputs)
        hidden_reset, hidden_update, hidden_new = self._hidden_gates.all_layers(memory)
        update = _sigmoid(input_update + hidden_update)
        new = np.tanh(input_new + _sigmoid(input_reset + hidden_reset) * hidden_new)
        state: Floats = new + update * (memory - new)
        return state


def _relu(numbers: Floats) -> Floats:
    """Return the positive part of each number."""
    return np.maximum(numbers, 0.0)


def _sigmoid(numbers: Floats) -> Floats:
    """Return the logistic function, in a form that does not overflow."""
    values: Floats = 0.5 + 0.5 * np.tanh(0.5 * numbers)
    return values
