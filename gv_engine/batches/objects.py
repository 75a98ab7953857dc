"""Many worlds at once as objects, for rules that do not compile."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.autoreset import KEEP, Which, begins, begins_at_once, clear, tell
from gv_engine.batches.worlds import Worlds
from gv_engine.language.component import AGENT
from gv_engine.language.errors import RuleError
from gv_engine.language.frame import Frame
from gv_engine.reading.rule_files import in_words
from gv_engine.worlds.rng import generator_from_row
from gv_engine.worlds.simulation import Simulation
from gv_engine.worlds.view import show_whole
from gv_engine.worlds.world import ObjectWorld


class ObjectBatch(Worlds):
    """N object worlds: any Python, at the speed of Python.

    They take turns in one thread, and refuse an index beyond their columns in any rule.
    """

    world = "object"

    def make(self, num_worlds: int) -> None:
        self.simulations = [Simulation(self.scenario) for _ in range(num_worlds)]
        out = self.outputs
        # views of what each world shows: taking them anew at every step would take longer
        self._shown = list(zip(out.mask, *out.observed))
        self._last_shown = list(zip(out.final_mask, *out.final_observed))

    def __len__(self) -> int:
        return len(self.simulations)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        failed: dict[int, Exception] = {}
        for i, action in enumerate(actions.tolist()):
            if action != KEEP:
                try:
                    self._turn(i, action, mode)
                except Exception as error:  # whatever comes out of a rule
                    failed[i] = error
        if failed:
            first = next(iter(failed.values()))
            told = first if isinstance(first, RuleError) else in_words(first)
            raise RuleError.of_worlds(failed, told) from first

    def _turn(self, i: int, action: int, mode: int) -> None:
        out, simulation = self.outputs, self.simulations[i]
        world = simulation.world
        if begins(action, mode, world.terminated or world.truncated):
            clear(out, i)
            self._begin(i)
        elif action >= 0:
            simulation.step(self.scenario.actions[action])
            tell(out, i, world)
            out.terms[i] = simulation.terms
            if begins_at_once(mode, world.terminated or world.truncated):
                self._show(i, self._last_shown[i], out.final_member, out.final_facing)
                out.final_terms[i] = out.terms[i]
                self._begin(i)
        self._show(i, self._shown[i], out.member, out.facing)

    def _begin(self, i: int) -> None:
        self.simulations[i].reset()
        self.outputs.terms[i] = 0.0

    def _show(
        self,
        i: int,
        shown: tuple[NDArray[Any], ...],
        member: NDArray[Any],
        facing: NDArray[Any],
    ) -> None:
        simulation, (mask, grid, item, *more) = self.simulations[i], shown
        simulation.observe(grid, item)
        rest = iter(more)
        if "ground" in self.more:
            simulation.view.show_ground(simulation.world, grid, next(rest))
        if "whole" in self.more:
            show_whole(simulation.world, next(rest))
        if missions := self.scenario.missions:
            next(rest)[...] = missions.numbers(simulation.world)
        if self.masks:
            simulation.valid_actions(mask)
        member[i] = simulation.world.member
        facing[i] = simulation.world.agent.facing[AGENT]

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
        self.simulations[i].terms = self.outputs.terms[i].tolist()
        self.simulations[i].render(show, self.outputs.grid[i])
