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
from gv_engine.rules.geometry import ASSIST, WAIT
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
    """Backend whose N worlds consist of Python objects. It runs any Python rule, but slowly.

    The worlds are stepped in one thread, with bounds checks in all rules.
    """

    world = "object"

    def make_worlds(self, num_worlds: int) -> None:
        """Create one simulation, which has a world of Python objects, for each world."""
        self.simulations = [Simulation(self.scenario) for _ in range(num_worlds)]
        agents = self._num_agents = self.scenario.layout.agents
        # for each world, (number from 1, line in `outputs`) of each of its agents
        self._agent_lines = [
            [(k + 1, i * agents + k) for k in range(agents)] for i in range(num_worlds)
        ]
        # indices behind the last action, as in compiled worlds
        self._get_action = (*self.scenario.actions, WAIT, ASSIST).__getitem__
        out = self.outputs
        # the arrays as memory views, which take a half to a fifth of the time for a few numbers
        self._output_views: Any = copy(out)
        for name, array in vars(out).items():
            setattr(self._output_views, name, array.data)
        self._write_terms = Struct(f"{len(self.scenario.reward_names)}d").pack_into
        self._term_views = [line.data for line in out.terms]
        # views of each world's arrays, made once because slicing at every step is slow
        self._observed_views = list(zip((line.data for line in out.mask), *out.observed))
        final_masks = (line.data for line in out.final_mask)
        self._final_views = list(zip(final_masks, *out.final_observed))

    def make_planning_backend(self, num_worlds: int) -> Backend:
        """Return a new backend of few worlds, as many are no faster and take seconds to make."""
        return super().make_planning_backend(min(num_worlds, 16))

    def __len__(self) -> int:
        """Return the number of worlds."""
        return len(self.simulations)

    def step(self, actions: NDArray[np.int64], mode: int) -> None:
        """Step the worlds one by one by these actions. `mode` is the autoreset mode."""
        errors: dict[int, Exception] = {}
        remaining = iter(actions.tolist())
        actions_of_worlds = zip(*(remaining,) * self._num_agents)
        for i, world_actions in enumerate(actions_of_worlds):
            if world_actions[0] != KEEP:
                try:
                    self._step_world(i, world_actions, mode)
                except Exception as error:  # any exception of a rule
                    errors[i] = error
        if errors:
            first = next(iter(errors.values()))
            rule_error = first if isinstance(first, RuleError) else make_system_error(first)
            raise RuleError.from_worlds(errors, rule_error) from first

    def _step_world(self, i: int, actions: tuple[int, ...], mode: int) -> None:
        """Step, reset or only observe world `i`, as the actions of its agents and the autoreset
        `mode` say. Write the results into `outputs`."""
        out, views, simulation = self.outputs, self._output_views, self.simulations[i]
        world, agent_lines, first_action = simulation.world, self._agent_lines[i], actions[0]
        if starts_episode(first_action, mode, world.terminated or world.truncated):
            for _, line in agent_lines:
                clear_outputs(views, line)
            self._begin_episode(i)
        elif first_action >= 0:
            simulation.step(*map(self._get_action, actions))
            for agent, line in agent_lines:
                write_outputs(views, line, world, agent)
                self._write_terms(self._term_views[line], 0, *simulation.terms_of(agent))
            if resets_in_step(mode, world.terminated or world.truncated):
                self._write_observed(i, self._final_views, views.final_member, views.final_facing)
                for _, line in agent_lines:
                    out.final_terms[line] = out.terms[line]
                self._begin_episode(i)
        else:  # the world was restored
            for agent, line in agent_lines:
                write_outputs(views, line, world, agent)
                out.terms[line] = 0.0
        self._write_observed(i, self._observed_views, views.member, views.facing)

    def _begin_episode(self, i: int) -> None:
        """Start an episode in world `i`: with a level from the list of levels if there is one, else
        with a random level."""
        simulation = self.simulations[i]
        if len(self.levels):
            world_rng = simulation.world.rng
            simulation.reset(generator_from_row(self.levels[self._pick_level(i, world_rng), ...]))
            simulation.world.rng = world_rng
        else:
            simulation.reset()
        for _, line in self._agent_lines[i]:
            self.outputs.terms[line] = 0.0

    def _pick_level(self, i: int, rng: np.random.Generator) -> int:
        level = int(self.requested_levels[i])
        self.requested_levels[i] = RANDOM_LEVEL
        return level if level != RANDOM_LEVEL else int(rng.random() * len(self.levels))

    def _write_observed(
        self, i: int, shown: list[Any], member: memoryview, facing: memoryview
    ) -> None:
        """Write the observations and action masks of world `i` into the arrays in `shown`, the
        directions of its agents into `facing`, and the index of its scenario in a mixture into
        `member`.

        Args:
            shown: for each line its mask and observation arrays.
        """
        simulation = self.simulations[i]
        world = simulation.world
        for agent, line in self._agent_lines[i]:
            mask, grid, item, *extra_arrays = shown[line]
            simulation.observe(grid, item, agent)
            if extra_arrays:
                self._write_extra_arrays(simulation, agent, grid, iter(extra_arrays))
            if self.masks:
                simulation.valid_actions(mask, agent)
            member[line] = world.member
            facing[line] = world.agent.facing[agent]

    def _write_extra_arrays(
        self, simulation: Simulation, agent: int, grid: NDArray[Any], out: Iterator[NDArray[Any]]
    ) -> None:
        """Write the optional parts of an agent's observation into the next arrays of `out`: ground,
        whole grid, mission and state vector, as far as the scenario has them. `grid` is its
        observed grid."""
        world = simulation.world
        if "ground" in self.extra_names:
            simulation.view.show_ground(world, agent, grid, next(out))
        if "whole" in self.extra_names:
            write_object_cells(world, agent, next(out))
        if missions := self.scenario.missions:
            next(out)[...] = missions.encode(world, agent)
        if state := self.scenario.observed_state:
            next(out)[...] = state.encode(world, agent)

    def snapshot(self, worlds: WorldIndex) -> NDArray[Any]:
        """Return the state of world number `worlds` as a record of shape (), or of several worlds
        as (K,) records."""
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
        """Yield (world, record) for each of the world indices in `worlds`. If `rows` is a single
        record, all worlds get it."""
        chosen = np.atleast_1d(worlds).tolist()
        rows_of_worlds = np.broadcast_to(rows, len(chosen))
        for k, i in enumerate(chosen):
            yield self.simulations[i].world, rows_of_worlds[k : k + 1].reshape(())

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        """Run the rendering systems on world number `i`; the finished frame is passed to `show`."""
        line = i * self._num_agents  # of the first agent
        self.simulations[i].set_terms(1, self.outputs.terms[line].tolist())
        self.simulations[i].render(show, self.outputs.grid[line])
