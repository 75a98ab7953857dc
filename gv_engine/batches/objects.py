"""Many worlds at once as objects, for rules that do not compile."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.autoreset import (
    KEEP,
    NEXT_STEP,
    Which,
    begins,
    begins_at_once,
    clear,
    looking,
    tell,
)
from gv_engine.batches.step_arrays import StepArrays
from gv_engine.batches.worlds import Worlds
from gv_engine.language.errors import RuleError
from gv_engine.language.frame import Frame
from gv_engine.reading.rule_files import in_words
from gv_engine.worlds.rng import generator_from_row
from gv_engine.worlds.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


class ObjectBatch(Worlds):
    """N object worlds: any Python, at the speed of Python.

    They take turns in one thread, and refuse an index beyond their columns in any rule.
    """

    world = "object"

    def __init__(
        self,
        scenario: Scenario,
        num_worlds: int,
        num_threads: int = 1,
        masks: bool = True,
        checked: bool = False,
    ) -> None:
        self.scenario = scenario
        self._masks = masks
        self.outputs = StepArrays.of(scenario, num_worlds)
        self.simulations = [Simulation(scenario) for _ in range(num_worlds)]

    def __len__(self) -> int:
        return len(self.simulations)

    def set_generator(self, i: int, generator: np.random.Generator) -> None:
        self.simulations[i].world.rng = copy.deepcopy(generator)

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
                self._show(i, out.final_grid, out.final_item, out.final_mask, out.final_member)
                out.final_terms[i] = out.terms[i]
                self._begin(i)
        self._show(i, out.grid, out.item, out.mask, out.member)

    def _begin(self, i: int) -> None:
        self.simulations[i].reset()
        self.outputs.terms[i] = 0.0

    def _show(self, i: int, grid: Any, item: Any, mask: Any, member: Any) -> None:
        self.simulations[i].observe(grid[i], item[i])
        if self._masks:
            self.simulations[i].valid_actions(mask[i])
        member[i] = self.simulations[i].world.member

    def snapshot(self, worlds: Which) -> NDArray[Any]:
        chosen = np.atleast_1d(worlds).tolist()
        rows = np.empty(len(chosen), self.scenario.layout.dtype)
        for k, i in enumerate(chosen):
            rows[k] = self.simulations[i].world.snapshot()
        return rows.reshape(np.shape(worlds))

    def restore(self, worlds: Which, rows: NDArray[Any]) -> None:
        self.scenario.check(rows)
        chosen = np.atleast_1d(worlds).tolist()
        each = [
            row.reshape(()) for row in np.split(np.broadcast_to(rows, len(chosen)), len(chosen))
        ]
        for i, row in zip(chosen, each, strict=True):
            self.simulations[i].world.restore(row)
        self.outputs.terms[worlds] = 0.0
        self.step(looking(len(self), worlds), NEXT_STEP)
        for i, row in zip(chosen, each, strict=True):
            self.simulations[i].world.rng = generator_from_row(row["rng"])
        self.outputs.success[worlds] = rows["success"]

    def render(self, i: int, show: Callable[[Frame], None]) -> None:
        self.simulations[i].render(show, self.outputs.grid[i])

    def __getstate__(self) -> tuple[Any, ...]:
        return self.scenario, self.snapshot(np.arange(len(self))), self.outputs, self._masks

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        scenario, rows, outputs, masks = state
        self.__init__(scenario, len(rows), masks=masks)  # type: ignore[misc]  # esper keeps worlds in a context
        for i, simulation in enumerate(self.simulations):
            simulation.world.restore(rows[i : i + 1].reshape(()))
            simulation.terms = outputs.terms[i].tolist()
        self.outputs.become(outputs)
