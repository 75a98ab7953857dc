"""Many worlds at once: compiled rows, or object worlds where a rule does not compile.

Both kinds show the same thing in the same arrays (`Outputs`), so that environments do not know
which one they drive.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.autoreset import KEEP, LOOK, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.errors import DoesNotCompileError, RuleError
from gv_engine.rng import generator_to_row
from gv_engine.simulation import Simulation
from gv_engine.system import REWARD
from gv_engine.view import view_record

if TYPE_CHECKING:
    from gv_engine.scenario import Scenario


@dataclass
class Outputs:
    """What N worlds show after a step, overwritten by the next one.

    Attributes:
        grid: (N, h, w, 3) uint8, type, state and colour of every observed cell.
        item: (N, 3) uint8, the held object.
        mask: (N, actions) int8, 1 for every action that would do something.
        terms: (N, functions) float64, the reward function by function.
        rewards: (N,) float64.
        terminated, truncated: (N,) bool.
        final_grid, final_item, final_mask, final_terms: the same at the end of the episodes that
            a SAME_STEP reset has just ended.
    """

    grid: NDArray[np.uint8]
    item: NDArray[np.uint8]
    mask: NDArray[np.int8]
    terms: NDArray[np.float64]
    rewards: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    final_grid: NDArray[np.uint8]
    final_item: NDArray[np.uint8]
    final_mask: NDArray[np.int8]
    final_terms: NDArray[np.float64]

    @classmethod
    def of(cls, scenario: Scenario, num_worlds: int) -> Outputs:
        """Empty arrays for this many worlds."""
        n, actions, terms = num_worlds, len(scenario.actions), len(scenario.calls(REWARD))

        def shown() -> tuple[Any, Any, Any, Any]:
            return (
                np.zeros((n, *scenario.area.shape, 3), np.uint8),
                np.zeros((n, 3), np.uint8),
                np.zeros((n, actions), np.int8),
                np.zeros((n, terms)),
            )

        flags = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        return cls(*shown(), np.zeros(n), *flags, *shown())

    def become(self, other: Outputs) -> None:
        """Show what another one shows, in the same arrays."""
        for mine, theirs in zip(vars(self).values(), vars(other).values(), strict=True):
            mine[...] = theirs


class Batch:
    """N worlds as rows of one array, run by compiled code.

    Attributes:
        rows: (N,) records of `scenario.layout.dtype`; `rows["door"]["status"]` is (N, E).
        outputs: what the worlds show.

    Raises:
        DoesNotCompileError: a rule of the scenario cannot be compiled; it says which and why.
    """

    def __init__(self, scenario: Scenario, num_worlds: int) -> None:
        from gv_engine import chains, compiler  # the one place that brings in numba

        compiler.check(scenario)
        self.scenario = scenario
        self.rows = np.repeat(scenario.layout.defaults()[None], num_worlds, axis=0)
        # as in `World`; a generator of zeros would draw the same for ever
        generator_to_row(np.random.default_rng(0), self.rows["rng"])
        self.outputs = Outputs.of(scenario, num_worlds)
        self._actions = np.zeros(num_worlds, np.int64)
        self._arrays = (
            self.rows,
            chains.parameters(scenario),
            view_record(scenario.area, scenario.visibility.system.rows),
            self._actions,
            *(_as_records(array) for array in vars(self.outputs).values()),
        )
        self._addresses = np.array([array.ctypes.data for array in self._arrays], np.int64)
        self._program = compiler.compile_scenario(
            scenario, tuple(array.dtype for array in self._arrays)
        )
        self._program.prepare()

    def __len__(self) -> int:
        return len(self.rows)

    def set_generator(self, i: int, generator: np.random.Generator) -> None:
        """Give world i the state of a PCG64 generator, from which its next level is drawn."""
        generator_to_row(generator, self.rows["rng"][i])

    def run(self, actions: NDArray[np.int64], mode: int) -> None:
        """Let every world act, or RESTART, LOOK or KEEP where the action says so.

        Args:
            actions: (N,) int64 positions in the scenario's action space; not checked.
            mode: one of `gv_engine.autoreset`.

        Raises:
            RuleError: a rule is not defined on one of the worlds; the others have gone on.
        """
        self._actions[:] = actions
        if self._program.run(self._addresses, 0, len(self.rows), mode):
            failed = int(np.flatnonzero(self.rows["error"])[0])
            error = self._program.errors[int(self.rows["error"][failed])]
            raise type(error)(f"world {failed}: {error}")

    def snapshot(self, i: int) -> NDArray[Any]:
        """World i as one row, independent of the batch."""
        return self.rows[i : i + 1].copy().reshape(())

    def restore(self, i: int, row: NDArray[Any]) -> None:
        """Make world i the world of a row and show it.

        Raises:
            ValueError: the row has another layout.
        """
        self.scenario.layout.check(row)
        self.rows[i] = row
        actions = np.full(len(self), KEEP)
        actions[i] = LOOK
        self.run(actions, NEXT_STEP)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.scenario, self.rows, self.outputs

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        scenario, rows, outputs = state
        self.__init__(scenario, len(rows))  # type: ignore[misc]  # its addresses are those of now
        self.rows[:] = rows
        self.outputs.become(outputs)


def _as_records(array: NDArray[Any]) -> NDArray[Any]:
    """(N,) records with one field `row` over an (N, …) array; arrays of numbers as they are."""
    if array.ndim == 1:
        return array
    record = np.dtype([("row", array.dtype, array.shape[1:])])
    return np.ndarray(len(array), record, array.data if array.size else None)


class ObjectBatch:
    """N object worlds behind the interface of `Batch`: any Python, at the speed of Python."""

    def __init__(self, scenario: Scenario, num_worlds: int) -> None:
        self.scenario = scenario
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
            elif action >= 0:
                simulation.step(self.scenario.actions[action])
                out.rewards[i] = world.reward
                out.terms[i] = simulation.terms
                out.terminated[i], out.truncated[i] = world.terminated, world.truncated
                if mode == SAME_STEP and (world.terminated or world.truncated):
                    simulation.observe(out.final_grid[i], out.final_item[i])
                    simulation.valid_actions(out.final_mask[i])
                    out.final_terms[i] = out.terms[i]
                    simulation.reset()
                    out.terms[i] = 0.0
            simulation.observe(out.grid[i], out.item[i])
            simulation.valid_actions(out.mask[i])
        except RuleError as error:
            raise type(error)(f"world {i}: {error}") from error

    def snapshot(self, i: int) -> NDArray[Any]:
        """World i as one row, independent of the batch."""
        return self.simulations[i].world.snapshot()

    def restore(self, i: int, row: NDArray[Any]) -> None:
        """Make world i the world of a row and show it."""
        self.simulations[i].world.restore(row)
        self._run(i, LOOK, NEXT_STEP)

    def __getstate__(self) -> tuple[Any, ...]:
        return self.scenario, [self.snapshot(i) for i in range(len(self))], self.outputs

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        scenario, rows, outputs = state
        self.__init__(scenario, len(rows))  # type: ignore[misc]  # esper keeps worlds in a context
        for simulation, row, terms in zip(self.simulations, rows, outputs.terms, strict=True):
            simulation.world.restore(row)
            simulation.terms = tuple(terms.tolist())
        self.outputs.become(outputs)


def make_batch(scenario: Scenario, num_worlds: int, world: str = "auto") -> Batch | ObjectBatch:
    """Compiled worlds, or object worlds where that is asked for or a rule does not compile.

    Args:
        world: "compiled", "object", or "auto": compiled if possible, with a warning if not.

    Raises:
        DoesNotCompileError: "compiled" was asked for and a rule cannot be compiled.
        ValueError: `world` is none of the three.
    """
    if world not in ("auto", "compiled", "object"):
        raise ValueError(f"world={world!r}: allowed are 'auto', 'compiled' and 'object'")
    if world != "object":
        try:
            return Batch(scenario, num_worlds)
        except DoesNotCompileError as error:
            if world == "compiled":
                raise
            warnings.warn(f"{error}; stepping object worlds instead", RuntimeWarning, stacklevel=3)
    return ObjectBatch(scenario, num_worlds)
