"""Worlds that nobody waits for: objects, until their program is compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.errors import BuiltInDoesNotCompileError, DoesNotCompileError, RuleError
from gv_engine.rules.frame import Frame
from gv_engine.scenario.rule_modules import make_system_error
from gv_engine.vector.backend import Backend
from gv_engine.world.autoreset import DRAWN, KEEP, Which, begins, begins_at_once, clear, tell
from gv_engine.world.rng import generator_from_row
from gv_engine.world.simulation import Simulation
from gv_engine.world.view import show_whole
from gv_engine.world.world import ObjectWorld

if TYPE_CHECKING:
    from gv_engine.vector.background_compile import Compilation
    from gv_engine.vector.compiled_backend import CompiledBatch


# ---- objects -------------------------------------------------------------------------------------


class ObjectBatch(Backend):
    """N object worlds: any Python, at the speed of Python.

    They take turns in one thread, and refuse an index beyond their columns in any rule.
    """

    world = "object"

    def make(self, num_worlds: int) -> None:
        self.simulations = [Simulation(self.scenario) for _ in range(num_worlds)]
        self._agents = self.scenario.layout.agents
        # the agents of each world, with their lines in the arrays
        self._seats = [
            [(k + 1, i * self._agents + k) for k in range(self._agents)] for i in range(num_worlds)
        ]
        self._number = self.scenario.actions.__getitem__
        out = self.outputs
        # NumPy takes five times as long for so few numbers
        self._write_terms = Struct(f"{len(self.scenario.reward_names)}d").pack_into
        self._lines_of_terms = [memoryview(line) for line in out.terms]
        # views of what each world shows: taking them anew at every step would take longer
        self._shown = list(zip(out.mask, *out.observed))
        self._last_shown = list(zip(out.final_mask, *out.final_observed))

    def __len__(self) -> int:
        return len(self.simulations)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        failed: dict[int, Exception] = {}
        one_by_one = iter(actions.tolist())
        for i, chosen in enumerate(zip(*(one_by_one,) * self._agents)):
            if chosen[0] != KEEP:
                try:
                    self._turn(i, chosen, mode)
                except Exception as error:  # whatever comes out of a rule
                    failed[i] = error
        if failed:
            first = next(iter(failed.values()))
            told = first if isinstance(first, RuleError) else make_system_error(first)
            raise RuleError.of_worlds(failed, told) from first

    def _turn(self, i: int, told: tuple[int, ...], mode: int) -> None:
        out, simulation = self.outputs, self.simulations[i]
        world, seats, first = simulation.world, self._seats[i], told[0]
        if begins(first, mode, world.terminated or world.truncated):
            for _, seat in seats:
                clear(out, seat)
            self._begin(i)
        elif first >= 0:
            simulation.step(*map(self._number, told))
            for agent, seat in seats:
                tell(out, seat, world, agent)
                self._write_terms(self._lines_of_terms[seat], 0, *simulation.terms_of(agent))
            if begins_at_once(mode, world.terminated or world.truncated):
                self._show(i, self._last_shown, out.final_member, out.final_facing)
                for _, seat in seats:
                    out.final_terms[seat] = out.terms[seat]
                self._begin(i)
        self._show(i, self._shown, out.member, out.facing)

    def _begin(self, i: int) -> None:
        simulation = self.simulations[i]
        if len(self.levels):
            own = simulation.world.rng
            simulation.reset(generator_from_row(self.levels[self._level(i, own), ...]))
            simulation.world.rng = own
        else:
            simulation.reset()
        for _, seat in self._seats[i]:
            self.outputs.terms[seat] = 0.0

    def _level(self, i: int, rng: np.random.Generator) -> int:
        """The number of the listed level that a world begins with."""
        level, self.asked[i] = int(self.asked[i]), DRAWN
        return level if level != DRAWN else int(rng.random() * len(self.levels))

    def _show(
        self,
        i: int,
        shown: list[tuple[NDArray[Any], ...]],
        member: NDArray[Any],
        facing: NDArray[Any],
    ) -> None:
        simulation = self.simulations[i]
        world = simulation.world
        for agent, seat in self._seats[i]:
            mask, grid, item, *more = shown[seat]
            simulation.observe(grid, item, agent)
            if more:
                self._show_more(simulation, agent, grid, iter(more))
            if self.masks:
                simulation.valid_actions(mask, agent)
            member[seat] = world.member
            facing[seat] = world.agent.facing[agent]

    def _show_more(
        self,
        simulation: Simulation,
        agent: int,
        grid: NDArray[Any],
        more: Iterator[NDArray[Any]],
    ) -> None:
        if "ground" in self.more:
            simulation.view.show_ground(simulation.world, agent, grid, next(more))
        if "whole" in self.more:
            show_whole(simulation.world, agent, next(more))
        if missions := self.scenario.missions:
            next(more)[...] = missions.numbers(simulation.world, agent)

    def snapshot(self, worlds: Which) -> NDArray[Any]:
        chosen = np.atleast_1d(worlds).tolist()
        rows = np.empty(len(chosen), self.scenario.layout.dtype)
        for k, i in enumerate(chosen):
            rows[k] = self.simulations[i].world.snapshot()
        return rows.reshape(np.shape(worlds))

    def put(self, worlds: Which, rows: NDArray[Any]) -> None:
        for world, row in self._each(worlds, rows):
            world.restore(row)

    def put_generators(self, worlds: Which, records: NDArray[Any]) -> None:
        for world, record in self._each(worlds, records):
            world.rng = generator_from_row(record)

    def _each(
        self, worlds: Which, rows: NDArray[Any]
    ) -> Iterator[tuple[ObjectWorld, NDArray[Any]]]:
        chosen = np.atleast_1d(worlds).tolist()
        each = np.broadcast_to(rows, len(chosen))
        for k, i in enumerate(chosen):
            yield self.simulations[i].world, each[k : k + 1].reshape(())

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        seat = i * self.scenario.layout.agents
        self.simulations[i].terms = self.outputs.terms[seat].tolist()
        self.simulations[i].render(show, self.outputs.grid[seat])


# ---- at once -------------------------------------------------------------------------------------


class DeferredBackend(Backend):
    """N worlds that are compiled if their program is kept, and objects until it is compiled.

    They move over between two steps, and nothing that they show or do tells when. They stay
    objects, with a warning, if an author's rule does not compile.

    Attributes:
        now: the worlds that step.
    """

    now: Backend
    _coming: tuple[CompiledBatch, Compilation] | None = None

    def make(self, num_worlds: int) -> None:
        from gv_engine.vector.compiled_backend import CompiledBatch

        settings = self.num_threads, self.masks, self.checked, self.more, self.levels
        given = self.scenario, num_worlds, *settings, self.outputs
        self._coming = None
        try:
            compiled = CompiledBatch(*given)
            self._coming = self._awaited(compiled)
            if not self._coming:
                compiled.prepare()
        except DoesNotCompileError as error:
            self._stay_objects(error)
            self._take(ObjectBatch(*given))
        else:
            self._take(ObjectBatch(*given) if self._coming else compiled)

    def _awaited(self, compiled: CompiledBatch) -> tuple[CompiledBatch, Compilation] | None:
        """The compiled worlds, and what compiles them; None if they need not or cannot wait."""
        if compiled.load():
            return None
        from gv_engine.vector.background_compile import compilation_of

        try:
            return compiled, compilation_of(compiled)
        except Exception:  # whatever cannot be told to another process is compiled here
            return None

    @property
    def settled(self) -> Backend:
        return self if self._coming else self.now

    def _take(self, worlds: Backend) -> None:
        self.now, self.world, self.compiles = worlds, worlds.world, worlds.compiles
        self.asked = worlds.asked

    def _move(self, compiled: CompiledBatch, compilation: Compilation) -> None:
        """Go on with compiled worlds, if they compile."""
        self._coming = None
        for program in compiled.programs:
            program.failure = (compilation.failures or {}).get(program.key, program.failure)
        try:
            compiled.prepare()
        except DoesNotCompileError as error:
            self._stay_objects(error)
            return
        every = np.arange(len(self))
        compiled.put(every, self.now.snapshot(every))
        self._take(compiled)
        compilation.tell()

    def _stay_objects(self, error: DoesNotCompileError) -> None:
        """Warn that the worlds stay objects, and why.

        Raises:
            BuiltInDoesNotCompileError: no rule is an author's, so that it is a fault.
        """
        if isinstance(error, BuiltInDoesNotCompileError):
            raise error
        message = f"{self.scenario.name}: {error}; stepping object worlds instead"
        warnings.warn(message, RuntimeWarning, stacklevel=6)

    def __len__(self) -> int:
        return len(self.now)

    def set_generator(self, i: int, generator: np.random.Generator) -> None:
        self.now.set_generator(i, generator)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        if self._coming and self._coming[1].over():
            self._move(*self._coming)
        self.now.step(actions, mode)

    def snapshot(self, worlds: Which) -> NDArray[Any]:
        return self.now.snapshot(worlds)

    def put(self, worlds: Which, rows: NDArray[Any]) -> None:
        self.now.put(worlds, rows)

    def put_generators(self, worlds: Which, rows: NDArray[Any]) -> None:
        self.now.put_generators(worlds, rows)

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        self.now.render(i, show)
