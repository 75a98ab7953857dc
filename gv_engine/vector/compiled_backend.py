"""Many worlds at once as rows of one array, run by compiled code."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from functools import cache
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from gv_engine.compiler import array_args, parameters
from gv_engine.compiler.programs import asks_for
from gv_engine.rules.errors import RuleError
from gv_engine.rules.frame import Frame
from gv_engine.rules.system import OBSERVATION, RENDERING, VISIBILITY, System
from gv_engine.scenario.layout import RNG
from gv_engine.scenario.rule_modules import make_system_error
from gv_engine.vector.backend import Backend, words_of
from gv_engine.world.autoreset import BUSY, KEEP, LOOK, NEXT_STEP, Which
from gv_engine.world.columns import RowWorld
from gv_engine.world.rng import generator_to_row
from gv_engine.world.simulation import Simulation
from gv_engine.world.view import view_record

if TYPE_CHECKING:
    from gv_engine.compiler.programs import Program
    from gv_engine.scenario.scenario import Scenario


_LEAST = 512
"""Worlds that are done sooner than another thread wakes up."""

_PIECES = 8
"""So many for each of several threads; the last one is waited for."""

_FEW = 32
"""Worlds that are looked at one by one sooner than among all others."""


@cache
def _pool(size: int, process: int) -> ThreadPoolExecutor:
    """Threads beside the one that steps; of another process, as none outlives a fork."""
    return ThreadPoolExecutor(size, "gv-engine")


class _Lane(NamedTuple):
    """The arguments of a program that one thread runs.

    Attributes:
        program: compiled from the systems of some members of the scenario.
        systems: by the marks that say in `records` which one runs.
        records: its parameters, for this thread alone.
        address: of the record of places of the arrays that it works on.
        kept: these, where they are.
    """

    program: Program
    systems: dict[int, tuple[str, dict[int, System]]]
    records: NDArray[Any]
    address: int
    kept: tuple[NDArray[Any], ...]

    def running(self, member: int) -> System | None:
        """The system that is running, or was the last one to run, of a checked program."""
        record = self.records[member]
        field, systems = self.systems.get(int(record["running"]), ("", {}))
        return systems.get(int(record[field]["running"])) if field else None


class CompiledBatch(Backend):
    """N worlds as rows of one array, run by compiled code.

    Programs of rules that do not come with the engine refuse an index beyond its array, in the
    engine's own functions too, as these may be called with any number.

    Results are the same for any number of threads; masks are a tenth of the work.

    Attributes:
        rows: (N,) records of `scenario.layout.dtype`; `rows["door"]["status"]` is (N, E). To be
            read: who writes them uses `restore`.
        beside: (N,) records of `scenario.layout.looks_dtype`, the rows with what is derived.
        looks: (N, H + 1, W + 1) uint32 of these, how each cell looks.
        programs: that step them, of whose rules `prepare` makes sure.
    """

    world = "compiled"
    compiles = True

    def make(self, num_worlds: int) -> None:
        from gv_engine.compiler import programs  # the one place that brings in llvmlite

        scenario, num_threads = self.scenario, self.num_threads
        programs.check_compilable(scenario)
        # one more, as rows of a view are read without asking whether they end on the grid
        whole = np.zeros(num_worlds + 1, scenario.layout.looks_dtype)[:-1]
        self.rows = np.ndarray(num_worlds, scenario.layout.dtype, whole, strides=whole.strides)
        self._words = np.ndarray(
            (num_worlds, self.rows.itemsize // 8), np.uint64, whole, strides=(*whole.strides, 8)
        )
        self.rows[:] = scenario.layout.defaults()
        self.beside, self.looks, self._stale = whole, whole["looks"], whole["stale"]
        for name in scenario.layout.looked_at:
            whole[name] = FLOOR
        # as in `World`; a generator of zeros would draw the same for ever
        generator_to_row(np.random.default_rng(0), self.rows["rng"])
        self._seats = scenario.layout.agents
        self._actions = np.zeros(num_worlds * self._seats, np.int64)
        self._told = self._actions[:: self._seats]  # (N,) what the first agents say
        self._playing = np.zeros(num_worlds, np.int16)
        turns = np.zeros(num_worlds if scenario.mixture else 1, np.int64)
        drawing = np.zeros(num_worlds if len(self.levels) else 1, RNG)
        tables: dict[Program, tuple[Scenario, NDArray[Any]]] = {}

        def arrays(member: Scenario, records: NDArray[Any]) -> dict[str, NDArray[Any]]:
            calls = (*member.calls(VISIBILITY), *member.calls(OBSERVATION))
            looking = [call.system for call in calls]
            rows = all(system.rows for system in looking)
            entities = any(asks_for(system.function, "entity") for system in looking)
            views = view_record(member.area, rows, entities)
            shown: dict[str, NDArray[Any]] = vars(self.outputs)
            unwanted = self.outputs.unwanted
            own: dict[str, NDArray[Any]] = {"actions": self._actions, "playing": self._playing}
            own |= {"turns": turns, "levels": self.levels, "asked": self.asked}
            own["drawing"] = drawing
            own |= {name: shown[name] for name in shown if name not in unwanted}
            # in one line, as programs that are the same otherwise may have other rewards
            own |= {name: own[name].reshape(-1) for name in ("terms", "final_terms")}
            # what all programs have comes first
            lines = {name: array for name, array in own.items() if array.ndim == 1}
            return {"parameters": records} | lines | {"rows": whole, "views": views} | own

        # a world is played by one member's rules after the other's
        self.checked |= not all(
            parameters.runs_engine_rules_only(member) for member in scenario.members
        )
        for number, member in enumerate(scenario.members):
            records = parameters.parameters(scenario, number, self.masks, self.checked)
            slots = [scenario.reward_names.index(name) for name in member.reward_names]
            elements = array_args.elements_of(arrays(member, records))
            program = programs.program_of(member, slots, elements)
            tables.setdefault(program, (member, records))[1][number] = records[number]
        self.programs = tuple(tables)
        # for each thread, which looks into views of its own
        self._lanes: list[list[_Lane]] = []
        for _ in range(num_threads):
            lanes = []
            for program, (member, records) in tables.items():
                systems = {}
                for field, call in parameters.fields_of_calls(member):
                    inside = parameters.parts(call.name, call)
                    own_marks = {parameters.mark(prefix): part.system for prefix, part in inside}
                    systems[parameters.mark(field)] = field, own_marks
                own = arrays(member, records.copy())
                at = array_args.places_of(own)
                kept = at, *own.values()
                lanes.append(_Lane(program, systems, own["parameters"], at.ctypes.data, kept))
            # a program draws what its worlds play next, and leaves that to the member's program
            self._lanes.append([*lanes, *lanes[:-1]])
        self._errors: dict[int, Exception] = {}
        self._mirror: Simulation | None = None
        # pieces for each thread, so that a quick one can help out
        pieces = _PIECES * num_threads if num_threads > 1 else 1
        self._chunk = max(_LEAST, -(-num_worlds // pieces))
        self._at_once = len(tables) == 1 and (num_threads == 1 or num_worlds <= self._chunk)

    def prepare(self) -> None:
        for program in self.programs:
            program.prepare()

    def load(self) -> bool:
        """Load programs that are kept; whether they all are, so that `prepare` takes no time."""
        return all(program.load() for program in self.programs)

    def __len__(self) -> int:
        return len(self.rows)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        self._actions[:] = actions
        if self._at_once:
            failed = self._run(self._lanes[0][0], 0, len(self.rows), mode)
        else:
            failed = self._run_in_chunks(mode)
        if failed:
            self._raise(np.flatnonzero(actions[:: self._seats] != KEEP))

    def look(self, worlds: Which) -> None:
        chosen = np.atleast_1d(worlds)
        if chosen.size > _FEW:
            super().look(worlds)
            return
        self._told[chosen] = LOOK
        failed = 0
        for i in chosen.tolist():
            for lane in self._lanes[0]:
                failed += self._run(lane, i, i + 1, NEXT_STEP)
        if failed:
            self._raise(np.sort(chosen))

    def _run(self, lane: _Lane, start: int, stop: int, mode: int) -> int:
        """Run a program over some of the worlds; how many have failed since the last that broke
        off, and that one."""
        broken = 0
        while (failed := lane.program.run(lane.address, start, stop, mode)) < 0:
            start = self._break_off(lane, start, stop, lane.program.exception(failed))
            broken = 1
        return failed + broken  # type: ignore[no-any-return]  # a program not loaded has no `run`

    def _break_off(self, lane: _Lane, start: int, stop: int, error: Exception) -> int:
        """Blame an error on the world that is being run; the number of the next one."""
        busy = np.flatnonzero(self._told[start:stop] == BUSY)
        if not busy.size:
            raise error
        i = start + int(busy[0])
        row = self.rows[i]
        if not 0 <= row["member"] < len(lane.records):  # a rule's doing, and no reset mends it
            row["member"] = self._playing[i] = 0
        if self.checked and (system := lane.running(row["member"])):
            system.blame(error)
        self._errors[i] = error
        row["error"] = 1
        self._told[i] = KEEP
        return i + 1

    def _run_in_chunks(self, mode: int) -> int:
        num_worlds, chunk = len(self.rows), self._chunk
        starts = count(0, chunk)

        def work(thread: int) -> int:
            failed = 0
            while (start := next(starts)) < num_worlds:
                stop = min(start + chunk, num_worlds)
                for lane in self._lanes[thread]:
                    failed += self._run(lane, start, stop, mode)
            return failed

        size = min(self.num_threads, -(-num_worlds // chunk))
        others = [
            _pool(self.num_threads - 1, os.getpid()).submit(work, thread)
            for thread in range(1, size)
        ]
        try:
            failed = work(0)
        finally:
            wait(others)  # whatever happens here, nobody goes on writing behind our back
        return failed + sum(other.result() for other in others)

    def _raise(self, acted: NDArray[np.int64]) -> None:
        failed = acted[self.rows["error"][acted] != 0].tolist()
        broken, self._errors = self._errors.get(failed[0]), {}
        if broken:
            told = broken if isinstance(broken, RuleError) else make_system_error(broken)
            raise RuleError.of_worlds(failed, told) from broken
        code = int(self.rows["error"][failed[0]])
        errors = (lane.program.errors for lane in self._lanes[0])
        error = next(each[code] for each in errors if code in each)
        raise RuleError.of_worlds(failed, error)

    def snapshot(self, worlds: Which) -> NDArray[Any]:
        rows: NDArray[Any] = self._words[np.atleast_1d(worlds)].view(self.rows.dtype)
        return rows.reshape(np.shape(worlds))

    def put(self, worlds: Which, rows: NDArray[Any]) -> None:
        self._words[worlds] = words_of(rows)
        self._playing[worlds] = rows["member"]
        self._stale[worlds] = 1

    def put_generators(self, worlds: Which, records: NDArray[Any]) -> None:
        self.rows["rng"][worlds] = records

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        scenario, seat = self.scenario, i * self._seats
        shown, terms = self.outputs.grid[seat], self.outputs.terms[seat].tolist()
        calls = scenario.members[int(self.rows["member"][i])].calls(RENDERING)
        if all(call.system.rows for call in calls):
            world = RowWorld(scenario.layout, self.rows[i : i + 1].reshape(()))
            canvas = scenario.canvas(world, show, shown, terms)
            for call in calls:
                call.system.function(world, canvas.agent, canvas, *call.bound())
        else:  # one that may want any part of a world
            if self._mirror is None:
                self._mirror = Simulation(scenario)
            self._mirror.world.restore(self.snapshot(i))
            self._mirror.terms = terms
            self._mirror.render(show, shown)
