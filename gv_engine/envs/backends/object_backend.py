"""Backend of object worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from struct import Struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.backend import Backend
from gv_engine.rules.errors import RuleError
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import WAIT
from gv_engine.scenario.documents.rule_errors import make_system_error
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
