"""Backend of compiled worlds by the engine's own compiler: rows of one array, stepped by machine
code. It takes the place of `compiled_backend` once all tests pass on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler import parameters
from gv_engine.rules.errors import RuleError
from gv_engine.scenario.layout import RNG
from gv_engine.scenario.rule_modules import make_system_error
from gv_engine.vector.backend import StepArrays
from gv_engine.vector.compiled_backend import CompiledBatch
from gv_engine.world.simulation import Simulation

ARENA_SIZE = 1 << 22
"""Bytes of memory for the arrays of the rules of one world, in one step."""


class NativeLane(NamedTuple):
    """Arrays that one thread passes to the program.

    Attributes:
        address: address of the record with the addresses of all arrays.
        arrays: all arrays by name, and the record of their addresses as "addresses".
    """

    address: int
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def over(cls, arrays: Mapping[str, NDArray[Any]]) -> NativeLane:
        """Return a lane over arrays, with memory of its own for the arrays of rules and for the
        first failure."""
        from gv_engine.compiler.batch import FAILURE
        from gv_engine.compiler.language.memory import ARENA_HEAD

        arena = np.zeros(ARENA_SIZE, np.uint8)
        arena[:16].view(np.int64)[:] = ARENA_HEAD, ARENA_SIZE
        failures = np.zeros(1, FAILURE)
        failures["world"] = -1
        own = dict(sorted({**arrays, "arena": arena, "failures": failures}.items()))
        addresses = parameters.make_address_record(own)
        return cls(addresses.ctypes.data, own | {"addresses": addresses})

    def write_into(self, outputs: StepArrays) -> NativeLane:
        """Return a copy of this lane that writes into the arrays of `outputs`."""
        arrays = {name: array for name, array in self.arrays.items() if name != "addresses"}
        arrays |= {name: getattr(outputs, name) for name in arrays.keys() & vars(outputs).keys()}
        addresses = parameters.make_address_record(arrays)
        return NativeLane(addresses.ctypes.data, arrays | {"addresses": addresses})


class NativeBatch(CompiledBatch):
    """Worlds of `CompiledBatch` with one program for all members of a mixture.

    Attributes:
        program: compiled by `prepare`.
    """

    def make_worlds(self, num_worlds: int) -> None:
        """Allocate the records of `num_worlds` worlds, and the arrays that the program gets."""
        from gv_engine.compiler import batch_program, programs  # imports llvmlite

        scenario, num_threads = self.scenario, self.num_threads
        programs.check_compilable(scenario)
        whole = self._make_rows(num_worlds)
        shown: dict[str, NDArray[Any]] = vars(self.outputs)
        unused = self.outputs.unused_names
        arrays = {"rows": whole, "actions": self._actions}
        arrays |= {name: shown[name] for name in shown if name not in unused}
        if len(self.levels):
            arrays |= {"levels": self.levels, "requested_levels": self.requested_levels}
            arrays["drawing"] = np.zeros(num_worlds, RNG)
        # a world may run the rules of any member, one after the other
        self.checked |= not scenario.runs_engine_rules_only
        own = NativeLane.over(arrays).arrays
        del own["addresses"]
        self.program, records = batch_program.get_batch_program(
            scenario, own, self.masks, self.checked
        )
        self._lanes = [[NativeLane.over(arrays | records)] for _ in range(num_threads)]
        self._lanes_by_outputs = {id(self.outputs): (self.outputs, self._lanes)}
        # the reward terms of a mixture are not all written in every step
        self.can_switch_outputs = not scenario.mixture
        self._mirror: Simulation | None = None
        self._set_chunks(num_worlds, 1)

    def prepare(self) -> None:
        """Compile the program, unless an equal one is compiled already."""
        self.program.prepare()

    def run_loop(self, play: Callable[[int, int, NDArray[np.int64]], tuple[int, int, int]]) -> None:
        """Step worlds in a loop of compiled code, see `CompiledBatch.run_loop`; `play` gets the
        address of the program and returns the number of failed worlds."""
        failed, start, stop = play(self.program.address, self._lanes[0][0].address, self._actions)
        if failed:
            self._raise_error(np.arange(start, stop))

    def _run_program(self, lane: Any, start: int, stop: int, mode: int) -> int:
        return int(self.program.run(lane.address, start, stop, mode))

    def _raise_error(self, acted: NDArray[np.int64]) -> None:
        """Raise the error of the first world that failed among `acted`, (n,) indices of the worlds
        that ran."""
        failed = acted[self.rows["error"][acted] != 0].tolist()
        self._damaged[failed] = 1
        failures = [lane.arrays["failures"][0] for (lane,) in self._lanes]
        row = self.rows[failed[0]]
        (first,) = (each for each in failures if each["world"] == failed[0])
        error = self.program.make_error(int(row["error"]), first, int(row["member"]))
        for each in failures:
            each["world"] = -1
        rule_error = error if isinstance(error, RuleError) else make_system_error(error)
        raise RuleError.in_worlds(failed, rule_error) from error
