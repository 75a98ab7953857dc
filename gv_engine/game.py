"""A scenario as a game for somebody at a keyboard: one object world, episode after episode."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.frame import Frame
from gv_engine.geometry import ACTIONS
from gv_engine.pictures import sprite_folders, sprite_name
from gv_engine.rng import generator_from_row
from gv_engine.scenario import Scenario
from gv_engine.simulation import Simulation

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_SEEDS = 10_000  # drawn ones are short enough to be typed again


class Played(NamedTuple):
    """How an episode went."""

    seed: int
    steps: int
    total: float
    outcome: str
    """`terminated`, `truncated`, or empty if it was left."""


class Game:
    """What the window plays, a `gv_engine.frontend.window.Game`.

    Episode k is that of an environment with `reset(seed=seed + k)`: the same actions lead to the
    same rewards, observations and end.

    Args:
        scenario: what is played.
        seed: of the first episode; drawn by chance if None.

    Attributes:
        seed: of the episode that is played now.
        message: what the frame says to the player.
    """

    names = staticmethod(sprite_name)

    def __init__(self, scenario: Scenario, seed: int | None = None) -> None:
        self.scenario = scenario
        self.title = scenario.name
        self.sprite_folders: tuple[Path, ...] = sprite_folders(scenario)
        self.seed = int(np.random.default_rng().integers(_SEEDS)) if seed is None else seed
        self.message = ""
        self._simulation = Simulation(scenario)
        self._observation = np.zeros((*scenario.area.shape, 3), np.uint8)
        self._item = np.zeros(3, np.uint8)
        self._earlier: list[Played] = []
        self._begin()

    def frame(self) -> Frame:
        """Return what is to be seen now."""
        frames: list[Frame] = []
        self._simulation.render(frames.append, self._observation, self.message)
        return frames[-1]

    def step(self, action: str) -> None:
        """Take an action; one that the scenario does not have leaves no more than a message.

        Args:
            action: one of `gv_engine.geometry.ACTIONS`.

        Raises:
            RuleError: a rule is not defined on this world.
        """
        number = ACTIONS.index(action)
        if number not in self.scenario.actions:
            self.message = f"{action.replace('_', ' ').capitalize()}: not in this level"
            return
        self.message = ""
        self._simulation.step(number)
        self._observe()

    def reset(self) -> None:
        """Begin the episode of the next seed, or this one again if it has had no step."""
        if self._simulation.world.steps:
            self._earlier.append(self._played())
            self.seed += 1
        self._begin()

    def restore(self, row: NDArray[Any]) -> None:
        """Go on with the world of a row of `scenario.layout.dtype`.

        Raises:
            ValueError: the row is not one of this scenario's.
        """
        self.scenario.check(row)
        self._simulation.world.restore(row)
        self._observe()
        self._simulation.world.rng = generator_from_row(row["rng"])  # looking may have drawn

    @property
    def played(self) -> list[Played]:
        """All episodes that had a step, the present one last."""
        present = [self._played()] if self._simulation.world.steps else []
        return self._earlier + present

    def _begin(self) -> None:
        # the line is short, and the goal stands at the end of a description
        self.message = _SENTENCE_END.split(self.scenario.description)[-1]
        self._simulation.reset(np.random.default_rng(self.seed))
        self._observe()

    def _observe(self) -> None:
        # once a step, like an environment: looking may draw from the world's generator
        self._simulation.observe(self._observation, self._item)

    def _played(self) -> Played:
        world = self._simulation.world
        outcome = "terminated" if world.terminated else "truncated" if world.truncated else ""
        return Played(self.seed, world.steps, world.total, outcome)
