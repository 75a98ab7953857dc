"""Backend of object worlds, and the backend that steps them while the program compiles in the
background."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from copy import copy
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import BuiltInDoesNotCompileError, DoesNotCompileError, RuleError
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import WAIT
from gv_engine.scenario.rule_modules import make_system_error
from gv_engine.vector.backend import Backend, StepArrays
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import (
    KEEP,
    RANDOM_LEVEL,
    Simulation,
    WorldIndex,
    clear_outputs,
    resets_in_step,
    starts_episode,
    write_outputs,
)
from gv_engine.world.view import write_object_cells
from gv_engine.world.world import ObjectWorld

if TYPE_CHECKING:
    from gv_engine.vector.background_compile import Compilation
    from gv_engine.vector.compiled_backend import CompiledBatch


# ---- objects -------------------------------------------------------------------------------------


class ObjectBatch(Backend):
    """Backend of N object worlds, which runs any Python rule, at the speed of Python.

    The worlds are stepped in one thread, with bounds checks in all rules.
    """

    world = "object"

    def make_worlds(self, num_worlds: int) -> None:
        """Make `num_worlds` simulations, each of which holds one world of Python objects."""
        self.simulations = [Simulation(self.scenario) for _ in range(num_worlds)]
        self._agents = self.scenario.layout.agents
        # (agent, line in the arrays) for each agent of each world
        self._seats = [
            [(k + 1, i * self._agents + k) for k in range(self._agents)] for i in range(num_worlds)
        ]
        self._action_number = (*self.scenario.actions, WAIT).__getitem__  # as compiled
        out = self.outputs
        # NumPy takes two to five times as long for a few numbers
        self._lines: Any = copy(out)
        for name, array in vars(out).items():
            setattr(self._lines, name, array.data)
        self._write_terms = Struct(f"{len(self.scenario.reward_names)}d").pack_into
        self._lines_of_terms = [line.data for line in out.terms]
        # views of each world's arrays, made once because slicing at every step is slow
        masks, final_masks = ([line.data for line in m] for m in (out.mask, out.final_mask))
        self._shown = list(zip(masks, *out.observed))
        self._last_shown = list(zip(final_masks, *out.final_observed))

    def __len__(self) -> int:
        """Return the number of worlds."""
        return len(self.simulations)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        """Apply the actions to the worlds one by one; `mode` is the autoreset mode. See
        `Backend.step`."""
        failed: dict[int, Exception] = {}
        one_by_one = iter(actions.tolist())
        for i, chosen in enumerate(zip(*(one_by_one,) * self._agents)):
            if chosen[0] != KEEP:
                try:
                    self._step_world(i, chosen, mode)
                except Exception as error:  # any exception of a rule
                    failed[i] = error
        if failed:
            first = next(iter(failed.values()))
            rule_error = first if isinstance(first, RuleError) else make_system_error(first)
            raise RuleError.in_worlds(failed, rule_error) from first

    def _step_world(self, i: int, actions: tuple[int, ...], mode: int) -> None:
        """Step, reset or only observe world number `i`, by its agents' `actions` and the autoreset
        `mode`, and write the results into `outputs`."""
        out, lines, simulation = self.outputs, self._lines, self.simulations[i]
        world, seats, first = simulation.world, self._seats[i], actions[0]
        if starts_episode(first, mode, world.terminated or world.truncated):
            for _, seat in seats:
                clear_outputs(lines, seat)
            self._begin_episode(i)
        elif first >= 0:
            simulation.step(*map(self._action_number, actions))
            for agent, seat in seats:
                write_outputs(lines, seat, world, agent)
                self._write_terms(self._lines_of_terms[seat], 0, *simulation.terms_of(agent))
            if resets_in_step(mode, world.terminated or world.truncated):
                self._write_shown(i, self._last_shown, lines.final_member, lines.final_facing)
                for _, seat in seats:
                    out.final_terms[seat] = out.terms[seat]
                self._begin_episode(i)
        self._write_shown(i, self._shown, lines.member, lines.facing)

    def _begin_episode(self, i: int) -> None:
        """Start an episode in world number `i`, with one of the listed levels if the backend has
        such a list."""
        simulation = self.simulations[i]
        if len(self.levels):
            world_rng = simulation.world.rng
            simulation.reset(generator_from_row(self.levels[self._next_level(i, world_rng), ...]))
            simulation.world.rng = world_rng
        else:
            simulation.reset()
        for _, seat in self._seats[i]:
            self.outputs.terms[seat] = 0.0

    def _next_level(self, i: int, rng: np.random.Generator) -> int:
        """Return the index of the next level of world number `i` in the list of levels: the
        requested one, or one picked by `rng`."""
        level, self.requested_levels[i] = int(self.requested_levels[i]), RANDOM_LEVEL
        return level if level != RANDOM_LEVEL else int(rng.random() * len(self.levels))

    def _write_shown(
        self, i: int, shown: list[Any], member: memoryview, facing: memoryview
    ) -> None:
        """Write what the agents of world number `i` observe and their action masks into the arrays
        `shown`, the index of the scenario that the world plays (in a mixture of scenarios) into
        `member`, and the agents' directions into `facing`.

        Args:
            shown: for each agent of each world its mask and observation arrays.
        """
        simulation = self.simulations[i]
        world = simulation.world
        for agent, seat in self._seats[i]:
            mask, grid, item, *more = shown[seat]
            simulation.observe(grid, item, agent)
            if more:
                self._write_extra_arrays(simulation, agent, grid, iter(more))
            if self.masks:
                simulation.valid_actions(mask, agent)
            member[seat] = world.member
            facing[seat] = world.agent.facing[agent]

    def _write_extra_arrays(
        self, simulation: Simulation, agent: int, grid: NDArray[Any], more: Iterator[NDArray[Any]]
    ) -> None:
        """Write an agent's observations besides `grid` into the arrays `more`: ground, whole grid,
        mission and state, those that are in use, in this order."""
        if "ground" in self.more:
            simulation.view.show_ground(simulation.world, agent, grid, next(more))
        if "whole" in self.more:
            write_object_cells(simulation.world, agent, next(more))
        if missions := self.scenario.missions:
            next(more)[...] = missions.encode(simulation.world, agent)
        if state := self.scenario.observed_state:
            next(more)[...] = state.encode(simulation.world, agent)

    def snapshot(self, worlds: WorldIndex) -> NDArray[Any]:
        """Return a record (row) of the state of each of `worlds`; shape () for one world number,
        (K,) for several."""
        chosen = np.atleast_1d(worlds).tolist()
        rows = np.empty(len(chosen), self.scenario.layout.dtype)
        for k, i in enumerate(chosen):
            rows[k] = self.simulations[i].world.snapshot()
        return rows.reshape(np.shape(worlds))

    def set_rows(self, worlds: WorldIndex, rows: NDArray[Any]) -> None:
        """Set `worlds` to the states in `rows`, records of world states; a single record is used
        for all worlds."""
        for world, row in self._iter_worlds_and_rows(worlds, rows):
            world.restore(row)

    def set_generators(self, worlds: WorldIndex, records: NDArray[Any]) -> None:
        """Set the random number generators of `worlds` to the states in `records`; a single record
        is used for all worlds."""
        for world, record in self._iter_worlds_and_rows(worlds, records):
            world.rng = generator_from_row(record)

    def _iter_worlds_and_rows(
        self, worlds: WorldIndex, rows: NDArray[Any]
    ) -> Iterator[tuple[ObjectWorld, NDArray[Any]]]:
        """Yield (world, record) for each of the world numbers `worlds`; a single record in `rows`
        is used for all worlds."""
        chosen = np.atleast_1d(worlds).tolist()
        rows_of_worlds = np.broadcast_to(rows, len(chosen))
        for k, i in enumerate(chosen):
            yield self.simulations[i].world, rows_of_worlds[k : k + 1].reshape(())

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        """Run the rendering systems on world number `i`; the finished frame is passed to `show`."""
        seat = i * self.scenario.layout.agents
        self.simulations[i].set_terms(1, self.outputs.terms[seat].tolist())
        self.simulations[i].render(show, self.outputs.grid[seat])


# ---- deferred compilation ------------------------------------------------------------------------


class DeferredBackend(Backend):
    """N worlds that are compiled if their program is in the cache; else Python objects until a
    background process has compiled it.

    The switch happens between two steps and changes no result. If an author's rule does not
    compile, the worlds stay objects, with a warning.

    Attributes:
        current: backend that runs the worlds now.
    """

    current: Backend
    _pending: tuple[CompiledBatch, Compilation] | None = None

    def make_worlds(self, num_worlds: int) -> None:
        """Make `num_worlds` compiled worlds if their programs are in the cache. Otherwise make
        worlds of Python objects, and compile in the background."""
        from gv_engine.vector.compiled_backend import CompiledBatch

        arguments = self.scenario, num_worlds, *self.settings, self.outputs
        self._pending = None
        try:
            compiled = CompiledBatch(*arguments)
            self._pending = self._start_compilation(compiled)
            if not self._pending:
                compiled.prepare()
        except DoesNotCompileError as error:
            self._warn_not_compilable(error)
            self._use(ObjectBatch(*arguments))
        else:
            self._use(ObjectBatch(*arguments) if self._pending else compiled)

    @property
    def can_switch_outputs(self) -> bool:  # type: ignore[override]  # an attribute there
        """True if the worlds are compiled for good and `write_into` has an effect."""
        return not self._pending and self.current.can_switch_outputs

    def write_into(self, outputs: StepArrays) -> None:
        """Let the current backend write the results of later steps into `outputs`."""
        self.outputs = outputs
        self.current.write_into(outputs)

    def _start_compilation(
        self, compiled: CompiledBatch
    ) -> tuple[CompiledBatch, Compilation] | None:
        """Start to compile the programs of `compiled` in the background, and return both; None if
        they are in the cache, or must be compiled in this process."""
        if compiled.load():
            return None
        from gv_engine.vector.background_compile import get_compilation

        try:
            return compiled, get_compilation(compiled)
        except Exception:  # cannot be pickled: compile in this process
            return None

    @property
    def resolved(self) -> Backend:
        """Return the current backend if it will not change any more, else this one."""
        return self if self._pending else self.current

    def _use(self, worlds: Backend) -> None:
        """Let `worlds` be the backend that runs all steps from now on."""
        self.current, self.world = worlds, worlds.world
        self.uses_compiled_code = worlds.uses_compiled_code
        self.requested_levels = worlds.requested_levels

    def _switch_to_compiled(self, compiled: CompiledBatch, compilation: Compilation) -> None:
        """Continue with the worlds `compiled` from the present states, if the finished
        `compilation` was successful; else warn and continue with objects."""
        self._pending = None
        for program in compiled.programs:
            program.failure = (compilation.failures or {}).get(program.key, program.failure)
        try:
            compiled.prepare()
        except DoesNotCompileError as error:
            self._warn_not_compilable(error)
            return
        every = np.arange(len(self))
        compiled.set_rows(every, self.current.snapshot(every))
        compiled.requested_levels[:] = self.requested_levels
        self._use(compiled)
        compilation.announce()

    def _warn_not_compilable(self, error: DoesNotCompileError) -> None:
        """Warn that the worlds stay Python objects, which are slow, since a rule of an author does
        not compile; `error` tells why.

        Raises:
            BuiltInDoesNotCompileError: all rules are built-in, so that it is a fault of the engine.
        """
        if isinstance(error, BuiltInDoesNotCompileError):
            raise error
        message = f"{self.scenario.name}: {error}; stepping object worlds instead"
        warnings.warn(message, RuntimeWarning, stacklevel=6)

    def __len__(self) -> int:
        """Return the number of worlds."""
        return len(self.current)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        """Switch to the compiled worlds if they are ready now, then apply the actions; `mode` is
        the autoreset mode. See `Backend.step`."""
        if self._pending and self._pending[1].is_over():
            self._switch_to_compiled(*self._pending)
        self.current.step(actions, mode)

    def snapshot(self, worlds: WorldIndex) -> NDArray[Any]:
        """Return the states of `worlds` in the current backend as records (rows)."""
        return self.current.snapshot(worlds)

    def set_rows(self, worlds: WorldIndex, rows: NDArray[Any]) -> None:
        """Set `worlds` of the current backend to the states in `rows`."""
        self.current.set_rows(worlds, rows)

    def set_generators(self, worlds: WorldIndex, rows: NDArray[Any]) -> None:
        """Set the random number generators of `worlds` of the current backend to the states in
        `rows`."""
        self.current.set_generators(worlds, rows)

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        """Render world i of the current backend."""
        self.current.render(i, show)
