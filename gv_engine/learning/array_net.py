"""What `Net` would do, without torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.learning.shape import Shape

Floats = NDArray[np.float64]

_BLOCK = 2**18
"""Multiplications of matrices up to which NumPy's libraries start no threads, which cost more."""


class ArrayNet:
    """A `Net` that has learned, for arrays of NumPy.

    It reckons in float64: what is rounded depends on how many worlds there are, and is then too
    little to change an action.

    Args:
        shape: of the net.
        weights: by their names in `Net`, which has their axes.

    Attributes:
        hidden: numbers of a memory.

    Raises:
        Exception: whatever comes of weights that are missing, or of other shapes.
    """

    def __init__(self, shape: Shape, weights: Mapping[str, NDArray[Any]]) -> None:
        given = {name: array.astype(np.float64) for name, array in weights.items()}
        self.hidden = len(given["first_bias"])
        self._table = _table(shape, given["embedding"], given["first"])
        self._first_bias = given["first_bias"]
        self._second = _Linear(given, "second.weight", "second.bias")
        self._actor = _Linear(given, "actor.weight", "actor.bias")
        self._gru = _GRU(given) if "memory.weight_ih" in given else None
        if self._actor.outputs != shape.actions:
            raise ValueError(f"it weighs {self._actor.outputs} actions of {shape.actions}")

    def look(
        self, rows: NDArray[np.int32], memory: Floats, masks: NDArray[Any]
    ) -> tuple[Floats, Floats]:
        """Look at what N agents see, who remember.

        Args:
            rows: (N, places) see `Shape.places`.
            memory: (N, hidden) before.
            masks: (N, actions) which are open; where none is all are.

        Returns:
            (N, actions) how likely each action is, and (N, hidden) the memory then.
        """
        features = self._features(rows)
        if self._gru is not None:
            memory = self._gru(features, memory)
            features = features + memory
        scores = self._actor(features)
        scores[(masks == 0) & (masks != 0).any(1, keepdims=True)] = -np.inf
        chances: Floats = np.exp(scores - scores.max(1, keepdims=True))
        return chances / chances.sum(1, keepdims=True), memory

    def _features(self, rows: NDArray[np.int32]) -> Floats:
        sums, found = np.zeros((2, len(rows), self.hidden))
        for column in rows.T.astype(np.intp):
            sums += np.take(self._table, column, axis=0, out=found, mode="clip")
        return _above_0(self._second(_above_0(sums + self._first_bias)))


def _table(shape: Shape, embedding: Floats, first: Floats) -> Floats:
    """(codes of all places, hidden) what each adds to the first layer."""
    seen, ends = shape.cells + 1, np.cumsum((shape.codes, *shape.rest))
    wanted = seen + len(shape.rest), ends[-1]
    if (len(first), len(embedding)) != wanted:
        raise ValueError(f"its places and codes are {len(first), len(embedding)}, not {wanted}")
    cells, *rest = np.split(embedding, ends[:-1])
    parts = [codes @ layer for codes, layer in zip(rest, first[seen:])]
    return np.concatenate([(cells @ first[:seen]).reshape(-1, first.shape[2]), *parts])


class _Linear:
    """A layer, or K side by side; products go block by block, see `_BLOCK`."""

    def __init__(self, weights: Mapping[str, Floats], weight: str, bias: str, k: int = 1) -> None:
        whole = weights[weight]
        self.outputs, inputs = len(whole) // k, whole.shape[1]
        self._weight = np.ascontiguousarray(
            whole.reshape(k, 1, self.outputs, inputs).transpose(0, 1, 3, 2)
        )
        self._bias = weights[bias].reshape(k, 1, self.outputs)
        self._block = max(1, _BLOCK // (self.outputs * inputs))

    def each(self, given: Floats) -> Floats:
        """(K, N, outputs) of (N, inputs)."""
        number, inputs = given.shape
        blocks = np.zeros((-(-number // self._block), self._block, inputs))
        blocks.reshape(-1, inputs)[:number] = given
        found = (blocks @ self._weight).reshape(len(self._bias), -1, self.outputs)
        sums: Floats = found[:, :number] + self._bias
        return sums

    def __call__(self, given: Floats) -> Floats:
        """(N, outputs) of (N, inputs), where there is one."""
        found: Floats = self.each(given)[0]
        return found


class _GRU:
    """A gated recurrent unit (Cho et al., 2014), as torch has it."""

    def __init__(self, weights: Mapping[str, Floats]) -> None:
        self._seen = _Linear(weights, "memory.weight_ih", "memory.bias_ih", 3)
        self._known = _Linear(weights, "memory.weight_hh", "memory.bias_hh", 3)

    def __call__(self, seen: Floats, memory: Floats) -> Floats:
        """(N, hidden) the memory after what was seen."""
        (reset, keep, new), (reset_by, keep_by, old) = (
            self._seen.each(seen),
            self._known.each(memory),
        )
        kept = _between_0_and_1(keep + keep_by)
        fresh = np.tanh(new + _between_0_and_1(reset + reset_by) * old)
        found: Floats = fresh + kept * (memory - fresh)
        return found


def _above_0(numbers: Floats) -> Floats:
    return np.maximum(numbers, 0.0)


def _between_0_and_1(numbers: Floats) -> Floats:
    """The logistic function, which overflows nowhere in this form."""
    found: Floats = 0.5 + 0.5 * np.tanh(0.5 * numbers)
    return found
