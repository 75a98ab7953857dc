"""Arrays that vector environments return without a copy, and reuse when no caller has them."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from sys import getrefcount
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.backend import Backend, StepArrays
from gv_engine.envs.representations import Arrays, ObservationEncoder

_MIN_POOL_SIZE = 3
"""Step results that a pool may hold, however large they are."""

_MAX_POOL_BYTES = 2**24
"""Bytes of arrays up to which a pool may hold more step results than `_MIN_POOL_SIZE`."""


class StepResults:
    """One set of arrays for the results of a step: those that a backend writes, and the
    observations and `info` made from them.

    Args:
        encoder: encoder of the observations.
        make_info: function that returns the dictionary `info` over the arrays of `outputs`.
        constants: values of the arrays that no step writes, by name, which are added here; all
            results of an environment share them, as memory in the CPU cache is copied faster.
        outputs: arrays of the backend.

    Attributes:
        outputs: as given.
        observed: those arrays of `outputs` that observations are made of.
        arrays: arrays of the observations, by name; some are those of `outputs`.
    """

    def __init__(
        self,
        encoder: ObservationEncoder,
        make_info: Callable[[StepArrays], dict[str, Any]],
        constants: dict[str, bytes],
        outputs: StepArrays,
    ) -> None:
        """Create the observations and `info` around the arrays in `outputs`; the class docstring
        explains the arguments."""
        self.outputs = outputs
        self.observed = outputs.get_arrays(encoder.source_arrays)
        self.arrays: Arrays = encoder.make_shared_arrays(*self.observed)
        self._info = make_info(outputs)
        self._nested_names = [name for name, value in self._info.items() if isinstance(value, dict)]
        # the memory of each array that no step writes, and its first content
        self._constants: list[tuple[memoryview, bytes]] = []
        for name in self.arrays.keys() - encoder.buffer_names:
            memory = self.arrays[name].reshape(-1).view(np.uint8).data  # copied faster than arrays
            self._constants.append((memory, constants.setdefault(name, memory.tobytes())))
        # all arrays that callers get, and the number of references to them if no caller has any
        self._returned: tuple[NDArray[Any], ...] = ()
        self._baseline_count = 0

    def copy_info(self) -> dict[str, Any]:
        """Return a copy of `info`: new dictionaries with the same arrays."""
        info = self._info.copy()
        for name in self._nested_names:
            info[name] = info[name].copy()
        return info

    def record_reference_counts(self) -> int:
        """Store the present number of references to each returned array, which `reclaim` compares.
        Return the size of the arrays in bytes.

        Call it after `Backend.write_into`, as the backend's references are part of the baseline,
        and before any array is returned.
        """
        names = "rewards", "terminated", "truncated", "terms"  # `info` has views of the terms
        outputs = dict(zip(names, self.outputs.get_arrays(names), strict=True))
        arrays = _iter_arrays({"outputs": outputs, "arrays": self.arrays, "info": self._info})
        self._returned = (*{id(array): array for array in arrays}.values(),)
        del outputs  # its references must not be counted
        self._baseline_count = sum(map(getrefcount, self._returned))
        return sum(array.nbytes for array in self._returned)

    def reclaim(self) -> bool:
        """Return True if the arrays can be used for another step, because no caller has a reference
        to one of them or to a view of one. Arrays that steps do not write are set to their first
        values again.

        Call `record_reference_counts` once before the first call.
        """
        if sum(map(getrefcount, self._returned)) != self._baseline_count:
            return False
        for memory, content in self._constants:
            memory[:] = content
        return True


class StepResultsPool:
    """Several sets of result arrays, so that callers of `step` get arrays without a copy. A set is
    used again when no caller has a reference to it.

    References are counted with `sys.getrefcount`, which is the fastest way: with up to 64 worlds,
    new arrays that give their memory back when they are deleted reach 0.6 to 0.75 of its speed, and
    copies 0.3 to 0.6.

    Args:
        backend: backend that writes into the results.
        make: function that returns the results over some arrays of the backend.
    """

    def __init__(self, backend: Backend, make_results: Callable[[StepArrays], StepResults]) -> None:
        """Make an empty pool. `make_results` makes a new set around the arrays that `backend`
        writes."""
        self._backend, self._make = backend, make_results
        self._given: deque[StepResults] = deque()  # that callers got, the oldest ones first
        self._spare: list[StepResults] = []  # that no caller holds
        self._num_bytes = 0

    def acquire(self) -> StepResults | None:
        """Return a set of arrays for the next step. Return None if the pool is full and callers use
        all of it, or if the backend can only write into its own arrays."""
        results = self._reclaim_results() or self._make_results()
        if results is not None:
            self._given.append(results)
        return results

    def _reclaim_results(self) -> StepResults | None:
        """Return a set of result arrays that no caller uses any more; None if there is none."""
        given = self._given
        if not given or not given[0].reclaim():
            given.rotate(-1)  # try the next ones later, as a caller may hold these for ever
            return self._spare.pop() if self._spare else None
        results = given.popleft()
        if len(given) > 1 and given[0].reclaim():  # callers hold fewer results than before
            self._spare.append(given.popleft())
        return results

    def _make_results(self) -> StepResults | None:
        """Return a new set of result arrays. Return None if the pool is full, or if the backend can
        only write into its own arrays."""
        is_full = len(self._given) >= _MIN_POOL_SIZE and self._num_bytes >= _MAX_POOL_BYTES
        if is_full or not self._backend.can_switch_outputs:
            return None
        results = self._make(self._backend.outputs.make_similar())
        self._backend.write_into(results.outputs)  # its references must be counted, too
        self._num_bytes += results.record_reference_counts()
        return results


def _iter_arrays(nested: dict[str, Any]) -> Iterator[NDArray[Any]]:
    """Yield the writeable arrays in nested dictionaries."""
    for value in nested.values():
        if isinstance(value, dict):
            yield from _iter_arrays(value)
        elif value.flags.writeable:
            yield value
