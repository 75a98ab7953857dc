"""Searches of object worlds keep each state as a whole record of a world."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.backend import Backend, expand_states, hash_states, view_as_words


class Successors(NamedTuple):
    """States after each of a actions in each of n states, in this order.

    Attributes:
        words: (n * a, k) uint64, the states, as `expand` takes them.
        keys: (n * a,) uint64 hashes of the states.
    """

    words: NDArray[np.uint64]
    keys: NDArray[np.uint64]


class RowStates:
    """Expands states that are stored as whole records; for object worlds. See `CompactStates`."""

    def __init__(
        self,
        worlds: Backend,
        starts: NDArray[Any],
        actions: NDArray[np.int64],
        by_generator: bool,
        by_steps: bool,
    ) -> None:
        """Store the arguments, which are those of `CompactStates`."""
        self._worlds, self._actions, self._dtype = worlds, actions, starts.dtype
        self._hash = partial(hash_states, by_generator=by_generator, by_steps=by_steps)
        self.starts = view_as_words(starts)
        self.start_keys = self._hash(starts, use_compiled_code=False)

    def widen(self, states: NDArray[np.uint64]) -> NDArray[np.uint64]:
        """Return `states`."""
        return states

    def expand(self, states: NDArray[np.uint64]) -> Successors:
        """Take each action in each of the `states`, see `CompactStates.expand`."""
        rows = self.read_heads(states)
        successors = expand_states(self._worlds, rows, self._actions).rows.reshape(-1)
        keys = self._hash(successors, use_compiled_code=False)
        return Successors(view_as_words(successors), keys)

    def read_heads(self, states: NDArray[np.uint64]) -> NDArray[Any]:
        """Return the whole records of `states`, see `CompactStates.read_heads`."""
        rows: NDArray[Any] = states.view(self._dtype)
        return rows[:, 0]
