"""Arrays that vector environments return without a copy, and reuse when no caller has them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from sys import getrefcount
from typing import Any

from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays, ObservationEncoder
from gv_engine.vector.backend import StepArrays


class StepResults:
    """Buffers of one step: the arrays that a backend writes, and the observations and `info` that
    an environment returns from them.

    Args:
        outputs: arrays of the backend.
        encoder: encoder of the observations.
        make_info: function that returns the dictionary `info` over the arrays of `outputs`.

    Attributes:
        outputs: as given.
        observed: those arrays of `outputs` that observations are made of.
        arrays: arrays of the observations, by name; some are those of `outputs`.
    """

    def __init__(
        self,
        outputs: StepArrays,
        encoder: ObservationEncoder,
        make_info: Callable[[StepArrays], dict[str, Any]],
    ) -> None:
        """Make the arrays of observations, and `info`; the class says what each argument means."""
        self.outputs = outputs
        self.observed = outputs.get_arrays(encoder.source_arrays)
        self.arrays: Arrays = encoder.make_shared_arrays(*self.observed)
        self._info = make_info(outputs)
        self._nested = [name for name, value in self._info.items() if isinstance(value, dict)]
        fixed = self.arrays.keys() - encoder.buffer_names
        self._constants = [(self.arrays[name], self.arrays[name].copy()) for name in fixed]
        self._counted: list[NDArray[Any]] = []
        self._counts: list[int] = []

    def copy_info(self) -> dict[str, Any]:
        """Return a new dictionary `info`, with new nested dictionaries, but the same arrays."""
        info = self._info.copy()
        for name in self._nested:
            info[name] = info[name].copy()
        return info

    def write_constants(self) -> None:
        """Restore the arrays that no step writes, as a caller may have changed them."""
        for array, values in self._constants:
            array[...] = values

    def record_reference_counts(self) -> None:
        """Store the number of references to each returned array, as the baseline of `is_unused`.

        Call it after `Backend.write_into`, as the backend's references are part of the baseline,
        and before any array is returned.
        """
        names = "rewards", "terminated", "truncated", "terms"  # `info` has views of the terms
        own = dict(zip(names, self.outputs.get_arrays(names), strict=True))
        returned = _iter_arrays({"outputs": own, "arrays": self.arrays, "info": self._info})
        self._counted = [*{id(array): array for array in returned}.values()]
        del own  # its references must not be counted
        self._counts = self._count_references()

    def _count_references(self) -> list[int]:
        """Return the number of references to each array that may have been returned."""
        return [*map(getrefcount, self._counted)]

    def is_unused(self) -> bool:
        """Return True if no caller holds a reference to a returned array or to a view of one; needs
        `record_reference_counts`."""
        return self._count_references() == self._counts


def _iter_arrays(nested: dict[str, Any]) -> Iterator[NDArray[Any]]:
    """Yield the writeable arrays in nested dictionaries."""
    for value in nested.values():
        if isinstance(value, dict):
            yield from _iter_arrays(value)
        elif value.flags.writeable:
            yield value
