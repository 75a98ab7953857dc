"""Backend of compiled worlds: rows of one array, stepped by compiled code."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from copy import deepcopy
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from gv_engine.compiler import parameters
from gv_engine.compiler.program_cache import uses_name
from gv_engine.rules.errors import RuleError
from gv_engine.rules.frame import Frame
from gv_engine.rules.system import OBSERVATION, RENDERING, VISIBILITY, System
from gv_engine.scenario.layout import RNG
from gv_engine.scenario.rule_modules import make_system_error
from gv_engine.vector.backend import Backend, StepArrays, view_as_words
from gv_engine.world.columns import RowWorld
from gv_engine.world.rng import generator_to_row
from gv_engine.world.simulation import BUSY, KEEP, LOOK, NEXT_STEP, Simulation, WorldIndex
from gv_engine.world.view import make_view_record

if TYPE_CHECKING:
    from gv_engine.compiler.programs import Program
    from gv_engine.scenario.scenario import Scenario


_MIN_CHUNK = 512
"""Worlds that take less time to step than waking another thread."""

_CHUNKS_PER_THREAD = 8
"""Chunks per thread, if there are several threads; more chunks balance the load."""

_MAX_SINGLE_WORLDS = 32
"""Worlds up to which `show_worlds` runs them one by one instead of scanning all."""


@cache
def _get_thread_pool(size: int, process: int) -> ThreadPoolExecutor:
    """Return the pool of `size` worker threads of the process with the id `process`, which is part
    of the cache key because a forked process needs its own pool."""
    return ThreadPoolExecutor(size, "gv-engine")


class Lane(NamedTuple):
    """Compiled program with the arguments that one thread passes to it.

    Attributes:
        program: program of some members of the scenario.
        systems: by the id of a call, which a checked program stores while the call runs: the call's
            parameter field, and the systems of the call and its nested calls, by their ids.
        records: parameter records of this thread.
        address: address of the record with the addresses of all arrays.
        inputs: all arrays by name, and the record of their addresses as "addresses".
    """

    program: Program
    systems: dict[int, tuple[str, dict[int, System]]]
    records: NDArray[Any]
    address: int
    inputs: dict[str, NDArray[Any]]

    def write_into(self, outputs: StepArrays) -> Lane:
        """Return a copy of this lane that writes into the arrays of `outputs`."""
        arrays = {name: array for name, array in self.inputs.items() if name != "addresses"}
        for name in arrays.keys() & vars(outputs).keys():
            arrays[name] = getattr(outputs, name).reshape(arrays[name].shape)
        addresses = parameters.make_address_record(arrays)
        inputs = arrays | {"addresses": addresses}
        return self._replace(address=addresses.ctypes.data, inputs=inputs)

    def get_running_system(self, member: int) -> System | None:
        """Return the system (rule) that ran last in the parameter record with index `member`: the
        one of that scenario in a mixture of scenarios. Only programs with bounds checks note it;
        else None."""
        record = self.records[member]
        field, systems = self.systems.get(int(record["running"]), ("", {}))
        return systems.get(int(record[field]["running"])) if field else None


class CompiledBatch(Backend):
    """N worlds as rows of one array, stepped by compiled code.

    Programs with rules of authors have bounds checks, also in the engine's own functions, as these
    may be called with any index. Results do not depend on the number of threads; masks take a tenth
    of the time.

    Attributes:
        rows: (N,) records of `scenario.layout.dtype`, for example `rows["door"]["status"]` is (N,
            E). Read-only for callers; write by `restore`.
        derived_rows: (N,) records of `scenario.layout.looks_dtype`: the rows with their derived
            fields.
        looks: (N, H + 1, W + 1) uint32 look of each cell.
        programs: different programs of the members, loaded or compiled by `prepare`.
    """

    world = "compiled"
    uses_compiled_code = True
    _member_programs: tuple[Program, ...] = ()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Return an independent copy of the worlds that shares the compiled programs: looking them
        up again would take most of the time."""
        memo[id(self)] = copied = type(self).__new__(type(self))
        copied._member_programs = self._member_programs
        copied.__setstate__(deepcopy(self.__getstate__(), memo))
        return copied

    def make_worlds(self, num_worlds: int) -> None:
        """Allocate the records of `num_worlds` worlds, and the arrays that the compiled programs
        get."""
        from gv_engine.compiler import programs  # imports llvmlite

        scenario, num_threads = self.scenario, self.num_threads
        programs.check_compilable(scenario)
        whole = self._make_rows(num_worlds)
        turns = np.zeros(num_worlds if scenario.mixture else 1, np.int64)
        drawing = np.zeros(num_worlds if len(self.levels) else 1, RNG)
        tables: dict[Program, tuple[Scenario, NDArray[Any]]] = {}

        def arrays(member: Scenario, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
            """Return by name the arrays that the compiled program of a member scenario gets;
            `records` are those of its thread."""
            calls = (*member.calls(VISIBILITY), *member.calls(OBSERVATION))
            looking = [call.system for call in calls]
            rows = all(system.rows for system in looking)
            entities = any(uses_name(system.function, "entity") for system in looking)
            views = make_view_record(member.area, rows, entities)
            shown: dict[str, NDArray[Any]] = vars(self.outputs)
            unwanted = self.outputs.unused_names
            own: dict[str, NDArray[Any]] = {"actions": self._actions, "playing": self._members}
            own |= {"turns": turns, "levels": self.levels, "asked": self.requested_levels}
            own["drawing"] = drawing
            own |= {name: shown[name] for name in shown if name not in unwanted}
            # flat, so that programs do not depend on the number of rewards
            own |= {name: own[name].reshape(-1) for name in ("terms", "final_terms")}
            # arrays that all programs have come first
            lines = {name: array for name, array in own.items() if array.ndim == 1}
            return {"parameters": records} | lines | {"rows": whole, "views": views} | own

        # a world may run the rules of any member, one after the other
        self.checked |= not scenario.runs_engine_rules_only
        for number, member in enumerate(scenario.members):
            records = parameters.make_parameters(scenario, number, self.masks, self.checked)
            if number == len(self._member_programs):  # or this is a copy
                slots = [scenario.reward_names.index(name) for name in member.reward_names]
                elements = parameters.get_array_dtypes(arrays(member, records))
                self._member_programs += (programs.get_program(member, slots, elements),)
            program = self._member_programs[number]
            tables.setdefault(program, (member, records))[1][number] = records[number]
        self.programs = tuple(tables)
        # each thread has its own views
        self._lanes: list[list[Any]] = []
        for _ in range(num_threads):
            lanes = []
            for program, (member, records) in tables.items():
                systems = {}
                for field, call in parameters.list_call_fields(member):
                    inside = parameters.iter_calls(call.name, call)
                    own_marks = {parameters.rule_id(prefix): part.system for prefix, part in inside}
                    systems[parameters.rule_id(field)] = field, own_marks
                inputs = arrays(member, records.copy())
                records, addresses = inputs["parameters"], parameters.make_address_record(inputs)
                inputs |= {"addresses": addresses}
                lanes.append(Lane(program, systems, records, addresses.ctypes.data, inputs))
            # a program samples the next member of a world, which another program may have to start
            self._lanes.append([*lanes, *lanes[:-1]])
        self._lanes_by_outputs = {id(self.outputs): (self.outputs, self._lanes)}
        # the reward terms of a mixture are not all written in every step
        self.can_switch_outputs = not scenario.mixture
        self._errors: dict[int, Exception] = {}
        self._mirror: Simulation | None = None
        self._set_chunks(num_worlds, len(tables))

    def _set_chunks(self, num_worlds: int, num_programs: int) -> None:
        """Set the number of worlds that a thread takes at once: several chunks per thread, so that
        fast threads take over work."""
        pieces = _CHUNKS_PER_THREAD * self.num_threads if self.num_threads > 1 else 1
        self._chunk = max(_MIN_CHUNK, -(-num_worlds // pieces))
        fits = self.num_threads == 1 or num_worlds <= self._chunk
        self._single_chunk = num_programs == 1 and fits
        self.can_run_loop = num_programs == self.num_threads == self._seats == 1

    def _make_rows(self, num_worlds: int) -> NDArray[Any]:
        """Allocate the records and actions of `num_worlds` worlds; return the records with their
        derived fields."""
        scenario = self.scenario
        # one spare row, as views read past the end of the last grid row
        whole = np.zeros(num_worlds + 1, scenario.layout.looks_dtype)[:-1]
        self.rows = np.ndarray(num_worlds, scenario.layout.dtype, whole, strides=whole.strides)
        self._words = np.ndarray(
            (num_worlds, self.rows.itemsize // 8), np.uint64, whole, strides=(*whole.strides, 8)
        )
        self.rows[:] = scenario.layout.defaults()
        self.derived_rows, self.looks, self._stale = whole, whole["looks"], whole["stale"]
        self._damaged = whole["damaged"]
        for name in scenario.layout.look_arrays:
            whole[name] = FLOOR
        # a state of zeros would sample the same number for ever
        generator_to_row(np.random.default_rng(0), self.rows["rng"])
        self._seats = scenario.layout.agents
        self._actions = np.full(num_worlds * self._seats, KEEP)
        self._first_actions = self._actions[:: self._seats]  # (N,) actions of the first agents
        self._members = np.zeros(num_worlds, np.int16)
        return whole

    def write_into(self, outputs: StepArrays) -> None:
        """Write the results of later steps into `outputs`; see `Backend.write_into`."""
        try:
            self.outputs, self._lanes = self._lanes_by_outputs[id(outputs)]
        except KeyError:
            self._lanes = [[lane.write_into(outputs) for lane in each] for each in self._lanes]
            self.outputs = outputs
            self._lanes_by_outputs[id(outputs)] = outputs, self._lanes

    @property
    def lanes(self) -> list[Any]:
        """Programs with their arrays, in the order in which a step of one thread runs them."""
        return self._lanes[0]

    def prepare(self) -> None:
        """Load the compiled programs from the cache, or compile them now."""
        for program in self.programs:
            program.prepare()

    def load(self) -> bool:
        """Load the compiled programs that are in the cache; return True if none is missing, so that
        `prepare` takes no time."""
        return all(program.load() for program in self.programs)

    def __len__(self) -> int:
        """Return the number of worlds."""
        return len(self.rows)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        """Apply the actions to all worlds by the compiled programs; `mode` is the autoreset mode.
        See `Backend.step`."""
        self._actions[:] = actions
        if self._single_chunk:
            failed = self._run_program(self._lanes[0][0], 0, len(self.rows), mode)
        else:
            failed = self._run_in_chunks(mode)
        if failed:
            self._raise_error(np.flatnonzero(actions[:: self._seats] != KEEP))

    def reset(self, mask: NDArray[np.bool_]) -> None:
        """Start a new episode in each world that `mask` marks; see `Backend.reset`."""
        self._stale[mask] = 0  # nothing of their rows is read, which may be damaged
        super().reset(mask)

    def run_loop(self, play: Callable[[int, int, NDArray[np.int64]], tuple[int, int, int]]) -> None:
        """Step worlds of one agent in a loop of compiled code, which `play` calls; results are in
        `outputs` as after `step`.

        Args:
            play: function that gets the addresses of the program's loop (`object_loader.Loaded`)
                and of its arrays, and the (N,) actions, which are KEEP; the loop sets them to KEEP
                again. It returns (result, start, stop) of the last call of the loop; a result other
                than 0 has ended the loop.

        Raises:
            RuleError: as for `step`.
        """
        lane = self._lanes[0][0]
        failed, start, stop = play(lane.program.loop, lane.address, self._actions)
        if failed < 0:
            self._record_error(lane, start, stop, lane.program.exception(failed))
        if failed:
            self._raise_error(np.arange(start, stop))

    def show_worlds(self, worlds: WorldIndex) -> None:
        """Write the observations and action masks of `worlds` into `outputs` without a step: one
        call of the program per world if they are few, else one call for all."""
        chosen = np.atleast_1d(worlds)
        if chosen.size > _MAX_SINGLE_WORLDS:
            super().show_worlds(worlds)
            return
        self._first_actions[chosen] = LOOK
        failed = 0
        for i in chosen.tolist():
            for lane in self._lanes[0]:
                failed += self._run_program(lane, i, i + 1, NEXT_STEP)
        if failed:
            self._raise_error(np.sort(chosen))

    def _run_program(self, lane: Lane, start: int, stop: int, mode: int) -> int:
        """Run the program of `lane` (one thread's program and arrays) on the worlds `start` to
        `stop` - 1, in autoreset `mode`; return how many of them failed.

        Worlds that failed before the last Python error are not counted.
        """
        broken = 0
        while (failed := lane.program.run(lane.address, start, stop, mode)) < 0:
            start = self._record_error(lane, start, stop, lane.program.exception(failed))
            broken = 1
        return failed + broken  # type: ignore[no-any-return]  # a program not loaded has no `run`

    def _record_error(self, lane: Lane, start: int, stop: int, error: Exception) -> int:
        """Store `error` for the world that raised it while the program of `lane` ran the worlds
        `start` to `stop - 1`; return the index of the next world."""
        busy = np.flatnonzero(self._first_actions[start:stop] == BUSY)
        if not busy.size:
            raise error
        i = start + int(busy[0])
        row = self.rows[i]
        if not 0 <= row["member"] < len(lane.records):  # set by a rule; a reset would not repair it
            row["member"] = self._members[i] = 0
        if self.checked and (system := lane.get_running_system(row["member"])):
            system.attach_to_error(error)
        self._errors[i] = error
        row["error"] = 1
        self._first_actions[i] = KEEP
        return i + 1

    def _run_in_chunks(self, mode: int) -> int:
        """Run all programs on all worlds in autoreset `mode`, with several threads that take chunks
        of worlds; return how many worlds failed."""
        num_worlds, chunk = len(self.rows), self._chunk
        starts = count(0, chunk)

        def work(thread: int) -> int:
            """Run chunks of worlds in thread number `thread` until no chunk is left; return how
            many worlds failed."""
            failed = 0
            while (start := next(starts)) < num_worlds:
                stop = min(start + chunk, num_worlds)
                for lane in self._lanes[thread]:
                    failed += self._run_program(lane, start, stop, mode)
            return failed

        size = min(self.num_threads, -(-num_worlds // chunk))
        others = [
            _get_thread_pool(self.num_threads - 1, os.getpid()).submit(work, thread)
            for thread in range(1, size)
        ]
        try:
            failed = work(0)
        finally:
            wait(others)  # no thread may write after an exception here
        return failed + sum(other.result() for other in others)

    def _raise_error(self, acted: NDArray[np.int64]) -> None:
        """Raise the error of the first world that failed in this step, with a list of all failed
        worlds; `acted` has the indices of the worlds that ran.

        Args:
            acted: (n,) indices of the worlds that ran.
        """
        failed = acted[self.rows["error"][acted] != 0].tolist()
        self._damaged[failed] = 1
        broken, self._errors = self._errors.get(failed[0]), {}
        if broken:
            rule_error = broken if isinstance(broken, RuleError) else make_system_error(broken)
            raise RuleError.in_worlds(failed, rule_error) from broken
        code = int(self.rows["error"][failed[0]])
        errors = (lane.program.errors for lane in self._lanes[0])
        error = next(each[code] for each in errors if code in each)
        raise RuleError.in_worlds(failed, error)

    def snapshot(self, worlds: WorldIndex) -> NDArray[Any]:
        """Return a record (row) of the state of each of `worlds`; shape () for one world number,
        (K,) for several."""
        rows: NDArray[Any] = self._words[np.atleast_1d(worlds)].view(self.rows.dtype)
        return rows.reshape(np.shape(worlds))

    def set_rows(self, worlds: WorldIndex, rows: NDArray[Any]) -> None:
        """Set `worlds` to the states in `rows`; the cached appearances of their cells are updated
        in the next step."""
        self._words[worlds] = view_as_words(rows)
        self._members[worlds] = rows["member"]
        self._stale[worlds] = self._damaged[worlds] = 1

    def set_generators(self, worlds: WorldIndex, records: NDArray[Any]) -> None:
        """Set the random generators of `worlds` to the states in `records`: a single record, (),
        for all of them, or (K,) records."""
        self.rows["rng"][worlds] = records

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        """Draw world number `i` with the scenario's rendering systems; the finished frame is passed
        to `show`."""
        scenario, seat = self.scenario, i * self._seats
        shown, terms = self.outputs.grid[seat], self.outputs.terms[seat].tolist()
        calls = scenario.members[int(self.rows["member"][i])].calls(RENDERING)
        if all(call.system.rows for call in calls):
            world = RowWorld(scenario.layout, self.rows[i : i + 1].reshape(()))
            canvas = scenario.canvas(world, show, shown, terms)
            for call in calls:
                call.system.function(world, canvas.agent, canvas, *call.bind_arguments())
        else:  # a rendering system may read any part of a world
            if self._mirror is None:
                self._mirror = Simulation(scenario)
            self._mirror.world.restore(self.snapshot(i))
            self._mirror.set_terms(1, terms)
            self._mirror.render(show, shown)
