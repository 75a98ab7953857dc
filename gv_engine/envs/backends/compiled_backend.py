"""Backend of compiled worlds: records of one array, stepped by machine code."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.compiler import parameters
from gv_engine.envs.backends.backend import Backend, StepArrays, view_as_words
from gv_engine.rules.errors import RuleError
from gv_engine.rules.frame import Frame
from gv_engine.rules.system import RENDERING
from gv_engine.scenario.documents.rule_errors import make_system_error
from gv_engine.scenario.memory.layout import RNG
from gv_engine.world.columns import RowWorld
from gv_engine.world.rng import generator_to_row
from gv_engine.world.simulation import KEEP, LOOK, NEXT_STEP, Simulation, WorldIndex

ARENA_SIZE = 1 << 24
"""Bytes of memory for the arrays of the rules of one world, in one step."""

_MIN_CHUNK = 512
"""Worlds that take less time to step than waking another thread."""

_CHUNKS_PER_THREAD = 8
"""Chunks per thread, if there are several threads; more chunks balance the load."""

_MAX_SINGLE_WORLDS = 32
"""Worlds up to which `show_worlds` runs them one by one instead of scanning all."""


@cache
def _get_thread_pool(size: int, process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, "gv-engine")


NO_WORLD = -1
"""World of a failure record that holds no failure."""


class Lane(NamedTuple):
    """Arguments that one thread passes to the compiled program: the addresses of all arrays, and
    scratch memory of its own.

    Attributes:
        address: address of the record with the addresses of all arrays.
        arrays: all arrays by name, and the record of their addresses as "addresses".
    """

    address: int
    arrays: dict[str, NDArray[Any]]

    @classmethod
    def over_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Lane:
        """Return a lane for these arrays, with new scratch memory for the arrays that rules
        allocate, and a new record for the first error."""
        from gv_engine.compiler.batch import FAILURE
        from gv_engine.compiler.language.body import ARENA_HEAD

        arena = np.empty(ARENA_SIZE, np.uint8)
        arena[:ARENA_HEAD] = 0
        arena[:16].view(np.int64)[:] = ARENA_HEAD, ARENA_SIZE
        failures = np.zeros(1, FAILURE)
        failures["world"] = NO_WORLD
        all_arrays = dict(sorted({**arrays, "arena": arena, "failures": failures}.items()))
        addresses = parameters.make_address_record(all_arrays)
        return cls(addresses.ctypes.data, all_arrays | {"addresses": addresses})

    def write_into(self, outputs: StepArrays) -> Lane:
        """Return a copy of this lane with which the program writes into the arrays of `outputs`."""
        arrays = {name: array for name, array in self.arrays.items() if name != "addresses"}
        arrays |= {name: getattr(outputs, name) for name in arrays.keys() & vars(outputs).keys()}
        addresses = parameters.make_address_record(arrays)
        return Lane(addresses.ctypes.data, arrays | {"addresses": addresses})


class CompiledBatch(Backend):
    """Backend whose N worlds are records of one array, stepped by compiled code.

    Programs with rules of authors have bounds checks, also in the engine's own functions, as these
    may be called with any index. Results do not depend on the number of threads; masks take a tenth
    of the time.

    Attributes:
        rows: (N,) records of `scenario.layout.dtype`, for example `rows["door"]["status"]` is (N,
            E). Read-only for callers; write by `restore`.
        derived_rows: (N,) records of `scenario.layout.batch_dtype`: the rows with their derived
            fields.
        looks: (N, H + 1, W + 1) uint32 look of each cell.
        program: program of all members of the scenario, compiled by `prepare`.
    """

    world = "compiled"
    uses_compiled_code = True
    can_switch_outputs = True

    def make_worlds(self, num_worlds: int) -> None:
        """Allocate the records of the worlds, and all arrays that the compiled program reads and
        writes."""
        from gv_engine.compiler import batch_program  # imports llvmlite

        scenario, num_threads = self.scenario, self.num_threads
        batch_program.check_compilable(scenario)
        arrays = self._make_arrays(num_worlds)
        # a world may run the rules of any member, one after the other
        self.checked |= not scenario.runs_engine_rules_only
        passed_arrays = Lane.over_arrays(arrays).arrays
        del passed_arrays["addresses"]
        self.program, records = batch_program.get_batch_program(
            scenario, passed_arrays, self.masks, self.checked
        )
        self._lanes = [Lane.over_arrays(arrays | records) for _ in range(num_threads)]
        # keeps the outputs alive, so that their ids stay unique
        self._lanes_by_outputs = {id(self.outputs): (self.outputs, self._lanes)}
        self._render_simulation: Simulation | None = None
        # several chunks per thread, so that fast threads take over work
        num_chunks = _CHUNKS_PER_THREAD * num_threads if num_threads > 1 else 1
        self._chunk_size = max(_MIN_CHUNK, -(-num_worlds // num_chunks))
        self._is_single_chunk = num_threads == 1 or num_worlds <= self._chunk_size
        self.can_run_loop = num_threads == self._num_agents == 1

    def _make_arrays(self, num_worlds: int) -> dict[str, NDArray[Any]]:
        """Allocate the records of the worlds. Return them and the other arrays that the compiled
        program uses, by name."""
        arrays = {"rows": self._make_rows(num_worlds), "actions": self._actions}
        for name, array in vars(self.outputs).items():
            if name not in self.outputs.unused_names:
                arrays[name] = array
        if len(self.levels):
            arrays |= {"levels": self.levels, "requested_levels": self.requested_levels}
            arrays["drawing"] = np.zeros(num_worlds, RNG)
        return arrays

    def _make_rows(self, num_worlds: int) -> NDArray[Any]:
        """Allocate the records and the actions of the worlds. Return the records, in an array with
        the layout of compiled worlds."""
        scenario = self.scenario
        # one spare row, as views read past the end of the last grid row
        derived = np.zeros(num_worlds + 1, scenario.layout.batch_dtype)[:-1]
        # views of the same memory without the derived fields, as records and as 64-bit words
        self.rows = np.ndarray(num_worlds, scenario.layout.dtype, derived, strides=derived.strides)
        self._words = np.ndarray(
            (num_worlds, self.rows.itemsize // 8), np.uint64, derived, strides=(*derived.strides, 8)
        )
        self.rows[:] = scenario.layout.defaults()
        self.derived_rows, self.looks = derived, derived["looks"]
        # 1 for worlds whose derived fields must be computed again, and whose record may be invalid
        self._stale, self._damaged = derived["stale"], derived["damaged"]
        for name in scenario.layout.look_arrays:
            derived[name] = FLOOR
        # a state of zeros would sample the same number for ever
        generator_to_row(np.random.default_rng(0), self.rows["rng"])
        self._num_agents = scenario.layout.agents
        self._actions = np.full(num_worlds * self._num_agents, KEEP)
        self._first_actions = self._actions[:: self._num_agents]  # (N,) actions of the first agents
        return derived

    def write_into(self, outputs: StepArrays) -> None:
        """Let later steps write their results into `outputs` instead of the present arrays."""
        try:
            self.outputs, self._lanes = self._lanes_by_outputs[id(outputs)]
        except KeyError:
            self._lanes = [lane.write_into(outputs) for lane in self._lanes]
            self.outputs = outputs
            self._lanes_by_outputs[id(outputs)] = outputs, self._lanes

    @property
    def lane(self) -> Lane:
        """Arrays of the first thread."""
        return self._lanes[0]

    def prepare(self) -> None:
        """Compile the program, unless an equal one is compiled already."""
        self.program.prepare()

    def __len__(self) -> int:
        """Return the number of worlds."""
        return len(self.rows)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        """Step all worlds by these actions in the compiled program. `mode` is the autoreset
        mode."""
        self._actions[:] = actions
        if self._is_single_chunk:
            num_failed = self._run_program(self._lanes[0], 0, len(self.rows), mode)
        else:
            num_failed = self._run_in_chunks(mode)
        if num_failed:
            self._raise_error(np.flatnonzero(actions[:: self._num_agents] != KEEP))

    def reset(self, mask: NDArray[np.bool_]) -> None:
        """Start a new episode in each world that `mask` marks; see `Backend.reset`."""
        self._stale[mask] = 0  # nothing of their rows is read, which may be damaged
        super().reset(mask)

    def run_loop(self, play: Callable[[int, int, NDArray[np.int64]], tuple[int, int, int]]) -> None:
        """Let compiled code take many steps without returning to Python: `play` calls it. The
        worlds must have a single agent. Afterwards, `outputs` holds the results as after `step`.

        Args:
            play: function that gets the addresses of the program and of its arrays, and the (N,)
                actions, which are KEEP; the program sets them to KEEP again. It returns (number of
                failed worlds, start, stop) of the last call of the program; a failure ends it.

        Raises:
            RuleError: as for `step`.
        """
        address = self.program.address
        num_failed, start, stop = play(address, self._lanes[0].address, self._actions)
        if num_failed:
            self._raise_error(np.arange(start, stop))

    def show_worlds(self, worlds: WorldIndex) -> None:
        """Write the results of the last step of these worlds, and what their agents observe now,
        into `outputs`, without a step."""
        indices = np.atleast_1d(worlds)
        if indices.size > _MAX_SINGLE_WORLDS:
            super().show_worlds(worlds)
            return
        self._first_actions[indices] = LOOK
        num_failed = 0
        for i in indices.tolist():
            num_failed += self._run_program(self._lanes[0], i, i + 1, NEXT_STEP)
        if num_failed:
            self._raise_error(np.sort(indices))

    def _run_program(self, lane: Lane, start: int, stop: int, mode: int) -> int:
        return int(self.program.run(lane.address, start, stop, mode))

    def _run_in_chunks(self, mode: int) -> int:
        """Run the compiled program on all worlds, in several threads that take one chunk of worlds
        after the other. Return the number of worlds that failed. `mode` is the autoreset mode."""
        num_worlds, chunk_size = len(self.rows), self._chunk_size
        starts = count(0, chunk_size)

        def run_chunks(thread: int) -> int:
            num_failed = 0
            while (start := next(starts)) < num_worlds:
                stop = min(start + chunk_size, num_worlds)
                num_failed += self._run_program(self._lanes[thread], start, stop, mode)
            return num_failed

        num_chunks = -(-num_worlds // chunk_size)
        futures = [
            _get_thread_pool(self.num_threads - 1, os.getpid()).submit(run_chunks, thread)
            for thread in range(1, min(self.num_threads, num_chunks))
        ]
        try:
            num_failed = run_chunks(0)
        finally:
            wait(futures)  # no thread may write after an exception here
        return num_failed + sum(future.result() for future in futures)

    def _raise_error(self, acted: NDArray[np.int64]) -> None:
        """Raise the error of the first world that failed in this step; it names all failed worlds.
        `acted` (n,) has the indices of the worlds that took part in the step."""
        failed = acted[self.rows["error"][acted] != 0].tolist()
        self._damaged[failed] = 1
        row = self.rows[failed[0]]
        failures = [lane.arrays["failures"][0] for lane in self._lanes]
        # no lane has it if Ctrl-C has interrupted an earlier error
        first_failure: Any = np.zeros((), failures[0].dtype)[()]
        for failure in failures:
            if failure["world"] == failed[0]:
                first_failure = failure.copy()
            failure["world"] = NO_WORLD
        error = self.program.make_error(int(row["error"]), first_failure, int(row["member"]))
        rule_error = error if isinstance(error, RuleError) else make_system_error(error)
        raise RuleError.from_worlds(failed, rule_error) from error

    def snapshot(self, worlds: WorldIndex) -> NDArray[Any]:
        """Return a record (row) of the state of each of `worlds`; shape () for one world number,
        (K,) for several."""
        rows: NDArray[Any] = self._words[np.atleast_1d(worlds)].view(self.rows.dtype)
        return rows.reshape(np.shape(worlds))

    def set_rows(self, worlds: WorldIndex, rows: NDArray[Any]) -> None:
        """Set `worlds` to the states in `rows`; the cached appearances of their cells are updated
        in the next step."""
        self._words[worlds] = view_as_words(rows)
        self._stale[worlds] = self._damaged[worlds] = 1

    def set_generators(self, worlds: WorldIndex, records: NDArray[Any]) -> None:
        """Set the random generators of `worlds` to the states in `records`: a single record, (),
        for all of them, or (K,) records."""
        self.rows["rng"][worlds] = records

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        """Draw world `i` with the scenario's rendering rules, and pass the finished frame to
        `show`."""
        scenario, line = self.scenario, i * self._num_agents  # of the first agent
        shown, terms = self.outputs.grid[line], self.outputs.terms[line].tolist()
        calls = scenario.members[int(self.rows["member"][i])].calls(RENDERING)
        if all(call.system.rows for call in calls):
            world = RowWorld(scenario.layout, self.rows[i : i + 1].reshape(()))
            canvas = scenario.canvas(world, show, shown, terms)
            for call in calls:
                call.system.function(world, canvas.agent, canvas, *call.bind_arguments())
        else:  # a rendering system may read any part of a world
            simulation = self._render_simulation = self._render_simulation or Simulation(scenario)
            simulation.world.restore(self.snapshot(i))
            simulation.set_terms(1, terms)
            simulation.render(show, shown)
