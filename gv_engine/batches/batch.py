"""Many worlds at once: compiled rows, or object worlds where a rule does not compile.

Both kinds show the same thing in the same arrays (`Outputs`), so that environments do not know
which one they drive.
"""

from __future__ import annotations

import copy
import warnings
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.autoreset import KEEP, LOOK, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.batches.outputs import Outputs
from gv_engine.batches.team import Team
from gv_engine.language.errors import DoesNotCompileError, RuleError
from gv_engine.worlds.rng import generator_from_row, generator_to_row
from gv_engine.worlds.simulation import Simulation
from gv_engine.worlds.view import view_record

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


Worlds = int | NDArray[np.int64]
"""The number of one, or (K,) numbers."""

_LEAST = 512
"""Worlds that are done sooner than another thread wakes up."""


class Batch:
    """N worlds as rows of one array, run by compiled code.

    Args:
        num_threads: how many threads share the work; the results are the same for any number.
        masks: whether to find out which actions would do something, a tenth of the work.

    Attributes:
        rows: (N,) records of `scenario.layout.dtype`; `rows["door"]["status"]` is (N, E).
        outputs: what the worlds show.

    Raises:
        DoesNotCompileError: a rule of the scenario cannot be compiled; it says which and why.
    """

    def __init__(
        self, scenario: Scenario, num_worlds: int, num_threads: int = 1, masks: bool = True
    ) -> None:
        from gv_engine.batches.compiled import (
            chains,
            compiler,  # the one place that brings in numba
        )

        compiler.check(scenario)
        self.scenario = scenario
        self.rows = np.repeat(scenario.layout.defaults()[None], num_worlds, axis=0)
        # as in `World`; a generator of zeros would draw the same for ever
        generator_to_row(np.random.default_rng(0), self.rows["rng"])
        self.outputs = Outputs.of(scenario, num_worlds)
        self._actions = np.zeros(num_worlds, np.int64)
        shown = [_as_records(array) for array in vars(self.outputs).values()]
        tables: dict[compiler.Program, tuple[Scenario, NDArray[Any]]] = {}

        def arrays(member: Scenario, records: NDArray[Any]) -> tuple[NDArray[Any], ...]:
            view = view_record(member.area, member.visibility.system.rows)
            return self.rows, records, view, self._actions, *shown

        for number, member in enumerate(scenario.members):
            records = chains.parameters(scenario, number, masks)
            slots = [scenario.reward_names.index(name) for name in member.reward_names]
            dtypes = [array.dtype for array in arrays(member, records)]
            program = compiler.compile_scenario(member, slots, dtypes)
            tables.setdefault(program, (member, records))[1][number] = records[number]
        # for each thread, which looks into views of its own: (program, its arrays, their addresses)
        self._lanes: list[list[tuple[compiler.Program, Any, NDArray[np.int64]]]] = []
        for _ in range(num_threads):
            lane = []
            for program, (member, records) in tables.items():
                own = arrays(member, records)
                addresses = np.array([array.ctypes.data for array in own], np.int64)
                program.prepare(addresses)
                lane.append((program, own, addresses))
            # a program draws what its worlds play next, and leaves that to the member's program
            self._lanes.append([*lane, *lane[:-1]])
        self._masks = masks
        self._team = Team(num_threads)
        # two pieces for each thread, so that a quick one can help out
        self._chunk = max(_LEAST, -(-num_worlds // (2 * num_threads)))
        self._at_once = len(tables) == 1 and (num_threads == 1 or num_worlds <= self._chunk)

    def __len__(self) -> int:
        return len(self.rows)

    def set_generator(self, i: int, generator: np.random.Generator) -> None:
        """Give world i the state of a PCG64 generator, from which its next level is drawn."""
        generator_to_row(generator, self.rows["rng"][i])

    def run(self, actions: NDArray[np.int64], mode: int) -> None:
        """Let every world act, or RESTART, LOOK or KEEP where the action says so.

        Args:
            actions: (N,) int64 positions in the scenario's action space; not checked.
            mode: one of `gv_engine.batches.autoreset`.

        Raises:
            RuleError: a rule is not defined on one of the worlds; the others have gone on.
        """
        self._actions[:] = actions
        if self._at_once:
            program, _, addresses = self._lanes[0][0]
            failed = program.run(addresses, 0, len(self.rows), mode)
        else:
            failed = self._run_in_chunks(mode)
        if failed:
            self._raise()

    def _run_in_chunks(self, mode: int) -> int:
        num_worlds, chunk = len(self.rows), self._chunk
        starts = count(0, chunk)

        def work(thread: int) -> int:
            failed = 0
            while (start := next(starts)) < num_worlds:
                stop = min(start + chunk, num_worlds)
                for program, _, addresses in self._lanes[thread]:
                    failed += program.run(addresses, start, stop, mode)
            return failed

        return self._team.run(work, min(self._team.size, -(-num_worlds // chunk)))

    def _raise(self) -> None:
        failed = int(np.flatnonzero(self.rows["error"])[0])
        code = int(self.rows["error"][failed])
        error = next(p.errors[code] for p, _, _ in self._lanes[0] if code in p.errors)
        raise type(error)(f"world {failed}: {error}")

    def snapshot(self, worlds: Worlds) -> NDArray[Any]:
        """These worlds as rows, () or (K,) like `worlds`, independent of the batch."""
        rows: NDArray[Any] = self.rows[np.atleast_1d(worlds)]
        return rows.reshape(np.shape(worlds))

    def restore(self, worlds: Worlds, rows: NDArray[Any]) -> None:
        """Make these worlds, all different, the worlds of rows, or all of them that of one row.

        Raises:
            ValueError: the rows have another layout.
        """
        self.scenario.check(rows)
        self.rows[worlds] = rows
        self.run(looking(len(self), worlds), NEXT_STEP)
        self.rows["rng"][worlds] = rows["rng"]  # looking may have drawn

    def __getstate__(self) -> tuple[Any, ...]:
        return self.scenario, self.rows, self.outputs, self._team.size, self._masks

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        scenario, rows, outputs, *more = state
        self.__init__(scenario, len(rows), *more)  # type: ignore[misc]  # its addresses are those of now
        self.rows[:] = rows
        self.outputs.become(outputs)


def _as_records(array: NDArray[Any]) -> NDArray[Any]:
    """(N,) records with one field `row` over an (N, …) array; arrays of numbers as they are."""
    if array.ndim == 1:
        return array
    record = np.dtype([("row", array.dtype, array.shape[1:])])
    return np.ndarray(len(array), record, array.data if array.size else None)


def looking(num_worlds: int, worlds: Worlds) -> NDArray[np.int64]:
    """(N,) for `run`: these worlds are looked at, the others left alone."""
    actions = np.full(num_worlds, KEEP)
    actions[worlds] = LOOK
    return actions


class ObjectBatch:
    """N object worlds behind the interface of `Batch`: any Python, at the speed of Python."""

    def __init__(self, scenario: Scenario, num_worlds: int, masks: bool = True) -> None:
        self.scenario = scenario
        self._masks = masks
        self.outputs = Outputs.of(scenario, num_worlds)
        self.simulations = [Simulation(scenario) for _ in range(num_worlds)]

    def __len__(self) -> int:
        return len(self.simulations)

    def set_generator(self, i: int, generator: np.random.Generator) -> None:
        """Give world i the state of a generator, from which its next level is drawn."""
        self.simulations[i].world.rng = copy.deepcopy(generator)

    def run(self, actions: NDArray[np.int64], mode: int) -> None:
        """As `Batch.run`."""
        failed = None
        for i, action in enumerate(actions.tolist()):
            if action != KEEP:
                try:
                    self._run(i, action, mode)
                except RuleError as error:
                    failed = failed or error
        if failed:
            raise failed

    def _run(self, i: int, action: int, mode: int) -> None:
        out, simulation = self.outputs, self.simulations[i]
        world = simulation.world
        try:
            if action == RESTART or (
                action >= 0 and mode == NEXT_STEP and (world.terminated or world.truncated)
            ):
                simulation.reset()
                out.rewards[i] = out.terms[i] = 0.0
                out.terminated[i] = out.truncated[i] = False
                out.returns[i] = out.lengths[i] = 0
            elif action >= 0:
                simulation.step(self.scenario.actions[action])
                out.rewards[i] = world.reward
                out.terms[i] = simulation.terms
                out.terminated[i], out.truncated[i] = world.terminated, world.truncated
                out.returns[i], out.lengths[i] = world.total, world.steps
                if mode == SAME_STEP and (world.terminated or world.truncated):
                    simulation.observe(out.final_grid[i], out.final_item[i])
                    if self._masks:
                        simulation.valid_actions(out.final_mask[i])
                    out.final_terms[i] = out.terms[i]
                    out.final_member[i] = world.member
                    simulation.reset()
                    out.terms[i] = 0.0
            simulation.observe(out.grid[i], out.item[i])
            if self._masks:
                simulation.valid_actions(out.mask[i])
            out.member[i] = world.member
        except RuleError as error:
            raise type(error)(f"world {i}: {error}") from error

    def snapshot(self, worlds: Worlds) -> NDArray[Any]:
        """As `Batch.snapshot`."""
        chosen = np.atleast_1d(worlds).tolist()
        rows = np.empty(len(chosen), self.scenario.layout.dtype)
        for k, i in enumerate(chosen):
            rows[k] = self.simulations[i].world.snapshot()
        return rows.reshape(np.shape(worlds))

    def restore(self, worlds: Worlds, rows: NDArray[Any]) -> None:
        """As `Batch.restore`."""
        self.scenario.check(rows)
        chosen = np.atleast_1d(worlds).tolist()
        each = [
            row.reshape(()) for row in np.split(np.broadcast_to(rows, len(chosen)), len(chosen))
        ]
        for i, row in zip(chosen, each, strict=True):
            self.simulations[i].world.restore(row)
        self.run(looking(len(self), worlds), NEXT_STEP)
        for i, row in zip(chosen, each, strict=True):
            self.simulations[i].world.rng = generator_from_row(row["rng"])

    def __getstate__(self) -> tuple[Any, ...]:
        return self.scenario, self.snapshot(np.arange(len(self))), self.outputs, self._masks

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        scenario, rows, outputs, masks = state
        self.__init__(scenario, len(rows), masks)  # type: ignore[misc]  # esper keeps worlds in a context
        for i, simulation in enumerate(self.simulations):
            simulation.world.restore(rows[i : i + 1].reshape(()))
            simulation.terms = outputs.terms[i].tolist()
        self.outputs.become(outputs)


def make_batch(
    scenario: Scenario,
    num_worlds: int,
    world: str = "auto",
    num_threads: int = 1,
    masks: bool = True,
) -> Batch | ObjectBatch:
    """Compiled worlds, or object worlds where that is asked for or a rule does not compile.

    Args:
        world: "compiled", "object", or "auto": compiled if possible, with a warning if not.
        num_threads: for compiled worlds; objects take turns in one.
        masks: whether to find out which actions would do something.

    Raises:
        DoesNotCompileError: "compiled" was asked for and a rule cannot be compiled.
        ValueError: `world` is none of the three.
    """
    if world not in ("auto", "compiled", "object"):
        raise ValueError(f"world={world!r}: allowed are 'auto', 'compiled' and 'object'")
    if world != "object":
        try:
            return Batch(scenario, num_worlds, num_threads, masks)
        except DoesNotCompileError as error:
            if world == "compiled":
                raise
            warnings.warn(f"{error}; stepping object worlds instead", RuntimeWarning, stacklevel=3)
    return ObjectBatch(scenario, num_worlds, masks)
