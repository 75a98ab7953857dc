"""Recorded steps of many worlds, in blocks that the episodes of all worlds share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from sys import getrefcount
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays

RowKind = tuple[Any, tuple[int, ...]]
"""Dtype and shape of one step, or one episode, in a recorded array."""

CopiedColumns = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Columns that compiled code records before a step and after it, see `compiled_play.copy_row`."""

NO_COLUMNS: CopiedColumns = np.zeros((0, 5), np.int64), np.zeros((0, 5), np.int64)

_AFTER_STEP = "reward", "reward_terms", "terminated", "truncated"
"""Recorded values that are known after a step; all others are known before it."""

_MAX_BLOCK_STEPS = 256
_MAX_BLOCK_BYTES = 2**26


class Steps(Mapping[str, NDArray[Any]]):
    """Recorded steps of an episode: (T, …) arrays by the names of `rollout.describe_step_arrays`.

    Each array is concatenated on access; safe in other threads.
    """

    def __init__(self, parts: Sequence[tuple[Arrays, slice]], world: int) -> None:
        self._parts, self._world = parts, world

    def pieces(self, name: str) -> list[NDArray[Any]]:
        """Return views of the recorded array `name`, one for each block of steps, in order."""
        return [block[name][self._world, rows] for block, rows in self._parts]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return np.concatenate(self.pieces(name))

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts[0][0])

    def __len__(self) -> int:
        return len(self._parts[0][0])


class StepHistory:
    """Latest steps of all worlds, in blocks back to the first step of the longest running episode.

    Args:
        kinds: dtype and shape of the recorded values, by name.
        num_envs: N.

    Attributes:
        block_steps: number of steps in a block.
        stop: number of steps in the last block so far.
    """

    def __init__(self, kinds: Mapping[str, RowKind], num_envs: int) -> None:
        """Make an empty history; the class says what each argument means."""
        self._kinds, self._num_envs = kinds, num_envs
        step_bytes = num_envs * sum(np.dtype(kind).itemsize for kind in kinds.values())
        fitting = max(1, _MAX_BLOCK_BYTES // step_bytes)
        self.stop = self.block_steps = min(_MAX_BLOCK_STEPS, fitting)
        self._blocks: list[Arrays] = []  # arrays (N, steps, …) by name
        self._old_blocks: list[Arrays] = []  # that episodes may still use

    def start_block(self, longest: int) -> None:
        """Go on to a new block, and drop the blocks that no running episode needs. `longest` is the
        number of recorded steps of the longest running episode."""
        first = len(self._blocks) - -(-longest // self.block_steps)  # rounded up
        self._old_blocks += self._blocks[:first]
        counts = _count_references(self._old_blocks)
        if _UNUSED in counts:  # memory that is in use already is faster than new memory
            block = self._old_blocks.pop(counts.index(_UNUSED))
        else:
            size = self._num_envs, self.block_steps
            block = {name: np.empty((*size, *s), d) for name, (d, s) in self._kinds.items()}
        self._blocks = [*self._blocks[first:], block]
        self.stop = 0

    def start_step(self, longest: int) -> None:
        """Go on to the next step of all worlds; `longest` as for `start_block`."""
        if self.stop == self.block_steps:
            self.start_block(longest)
        self.stop += 1

    def record(self, values: Mapping[str, Any]) -> None:
        """Store the `values` of the current step in all worlds, by name; ignore values that the
        rollout does not record."""
        arrays = self._blocks[-1]
        for name in values.keys() & arrays.keys():
            arrays[name][:, self.stop - 1] = values[name]

    def make_columns(self, sources: Mapping[str, NDArray[Any]]) -> CopiedColumns:
        """Return the columns by which compiled code copies values from `sources`, (N, …) arrays by
        name, into the last block."""
        tables: tuple[list[Any], ...] = [], []
        for name, target in self._blocks[-1].items():
            source = sources[name].ctypes.data, sources[name].strides[0]
            tables[name in _AFTER_STEP].append((*source, target.ctypes.data, *target.strides[:2]))
        before, after = (np.array(table, np.int64) for table in tables)
        return before, after

    def steps_of(self, world: int, length: int, stop: int) -> Steps:
        """Return `length` steps of world number `world`: the steps before index `stop` of the last
        block, which may begin in earlier blocks."""
        parts = []
        for block in reversed(self._blocks):
            start = max(0, stop - length)
            parts.append((block, slice(start, stop)))
            length, stop = length - (stop - start), self.block_steps
            if not length:
                break
        return Steps(parts[::-1], world)


def _count_references(blocks: list[Arrays]) -> list[int]:
    """Return the number of references to each block."""
    return [getrefcount(block) for block in blocks]


_UNUSED = _count_references([{}])[0]
"""Number of references to a block that no episode uses."""
