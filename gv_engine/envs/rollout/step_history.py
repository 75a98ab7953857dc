"""Recorded steps of many worlds, in blocks that the episodes of all worlds share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays

RowSpec = tuple[Any, tuple[int, ...]]
"""Dtype and shape of one step, or one episode, in a recorded array."""

CopiedColumns = tuple[NDArray[np.int64], NDArray[np.int64]]
"""(C, 5) columns that compiled code records before a step, and others after it, see
`compiled_play.copy_row`."""

NO_COLUMNS: CopiedColumns = np.zeros((0, 5), np.int64), np.zeros((0, 5), np.int64)

_AFTER_STEP = "reward", "reward_terms", "terminated", "truncated"
"""Recorded values that are known after a step; all others are known before it."""

_MAX_BLOCK_STEPS = 256
_MAX_BLOCK_BYTES = 2**26


class Steps(Mapping[str, NDArray[Any]]):
    """Recorded steps of one episode: arrays (T, …) by name, see `rollout.describe_step_arrays`.

    Each array is concatenated on access; safe in other threads.
    """

    def __init__(self, parts: Sequence[tuple[_Block, slice]], world: int) -> None:
        self._parts, self._world = parts, world
        for block, _ in parts:
            block.users.add(self)

    __hash__ = object.__hash__

    def pieces(self, name: str) -> list[NDArray[Any]]:
        """Return views of the recorded array `name`, one for each block of steps, in order. The
        views change after the last reference to these steps is gone."""
        return [block.arrays[name][self._world, rows] for block, rows in self._parts]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return np.concatenate(self.pieces(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts[0][0].arrays)

    def __len__(self) -> int:
        return len(self._parts[0][0].arrays)


class _Block:
    """Part of the history: arrays (N, steps, …) by name, with the same steps of all worlds, and the
    episodes that use them."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.users: WeakSet[Steps] = WeakSet()


class StepHistory:
    """Recorded steps of all worlds that the episodes in progress still need. They are kept in
    blocks of steps.

    Args:
        row_specs: dtype and shape of the recorded values, by name.
        num_envs: N.

    Attributes:
        block_steps: number of steps in a block.
        stop: number of steps in the last block so far.
    """

    def __init__(self, row_specs: Mapping[str, RowSpec], num_envs: int) -> None:
        """Make an empty history; `row_specs` has (dtype, shape) of one step of one world for each
        array."""
        self._row_specs, self._num_envs = row_specs, num_envs
        step_bytes = num_envs * sum(np.dtype(spec).itemsize for spec in row_specs.values())
        self.block_steps = min(_MAX_BLOCK_STEPS, max(1, _MAX_BLOCK_BYTES // step_bytes))
        self.stop = self.block_steps  # as if a block were full, so that the first step starts one
        self._blocks: list[_Block] = []
        self._old_blocks: list[_Block] = []  # that finished episodes may still use

    def start_block(self, longest: int) -> None:
        """Begin a new block, and drop blocks that no episode in progress needs. `longest` is the
        length of the longest of these episodes so far."""
        num_needed = -(-longest // self.block_steps)  # rounded up
        first = len(self._blocks) - num_needed
        self._old_blocks += self._blocks[:first]
        self._blocks = [*self._blocks[first:], self._find_unused_block() or self._make_block()]
        self.stop = 0

    def _find_unused_block(self) -> _Block | None:
        """Return an old block that no episode needs, to be written again, which is faster than new
        memory. None if there is none."""
        for index, block in enumerate(self._old_blocks):
            if not block.users:
                return self._old_blocks.pop(index)
        return None

    def _make_block(self) -> _Block:
        size = self._num_envs, self.block_steps
        specs = self._row_specs.items()
        return _Block({name: np.empty((*size, *shape), dtype) for name, (dtype, shape) in specs})

    def start_step(self, longest: int) -> None:
        """Go on to the next step of all worlds; `longest` as for `start_block`."""
        if self.stop == self.block_steps:
            self.start_block(longest)
        self.stop += 1

    def record(self, values: Mapping[str, Any]) -> None:
        """Store the `values` of the current step in all worlds, by name; ignore values that the
        rollout does not record."""
        arrays = self._blocks[-1].arrays
        for name in values.keys() & arrays.keys():
            arrays[name][:, self.stop - 1] = values[name]

    def make_columns(self, sources: Mapping[str, NDArray[Any]]) -> CopiedColumns:
        """Return columns that tell compiled code to copy values from `sources`, arrays (N, …) by
        name, into the last block."""
        before: list[Any] = []
        after: list[Any] = []
        for name, target in self._blocks[-1].arrays.items():
            source = sources[name].ctypes.data, sources[name].strides[0]
            columns = after if name in _AFTER_STEP else before
            columns.append((*source, target.ctypes.data, *target.strides[:2]))
        return np.array(before, np.int64), np.array(after, np.int64)

    def get_steps(self, world: int, num_steps: int, stop: int) -> Steps:
        """Return the last `num_steps` steps of world number `world`, up to index `stop` (excluded)
        of the last block."""
        parts = []
        remaining = num_steps
        for block in reversed(self._blocks):
            start = max(0, stop - remaining)
            parts.append((block, slice(start, stop)))
            remaining -= stop - start
            if not remaining:
                break
            stop = self.block_steps
        return Steps(parts[::-1], world)
