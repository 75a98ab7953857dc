"""MiniGrid's environments, with habits of the reference that no scenario could say.

The last step that the limit leaves is truncated even if it ends the episode; a level that takes
fewer actions than others takes its first for the rest; and wrappers that draw share the generator
that levels and rules draw from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gv_engine.envs.environment import GridEnv
from gv_engine.envs.minigrid_form import WAYS
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_vector_env import VectorStep
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.language.component import AGENT
from gv_engine.worlds.rng import generator_from_row

_USUAL_ACTIONS = 7


class MiniGridEnv(GridEnv):
    """One world of a level of MiniGrid; all that `GridEnv` says holds for it, too.

    What wrappers of MiniGrid ask of it is there under the same names, to be read.
    """

    _lent = False
    """Whether others may have drawn from the generator since the world did."""

    @property
    def np_random(self) -> np.random.Generator:
        """What levels and rules draw from; whatever is drawn from it by others counts."""
        if self._started and not self._lent:
            self._np_random, self._lent = generator_from_row(self._row["rng"]), True
        return super().np_random

    @np_random.setter
    def np_random(self, generator: np.random.Generator) -> None:
        self._np_random, self._np_random_seed, self._lent = generator, -1, True

    @property
    def max_steps(self) -> int | None:
        """The limit of steps."""
        return self.scenario.max_steps

    @property
    def step_count(self) -> int:
        """Steps since the level began."""
        return int(self._batch.outputs.lengths.item())

    @property
    def width(self) -> int:
        """Columns of the grid."""
        return int(self._row["width"])

    @property
    def height(self) -> int:
        """Rows of the grid."""
        return int(self._row["height"])

    @property
    def agent_pos(self) -> tuple[int, int]:
        """x and y of the agent."""
        position = self._row["position"]
        return int(position["x"][AGENT]), int(position["y"][AGENT])

    @property
    def agent_dir(self) -> int:
        """Where the agent looks, as `direction` tells it."""
        return int(WAYS[self._row["agent"]["facing"][AGENT]])

    @property
    def _row(self) -> NDArray[Any]:
        return super().snapshot()

    def snapshot(self) -> NDArray[Any]:
        self._take_back()
        return self._row

    def restore(self, row: NDArray[Any]) -> tuple[Any, dict[str, Any]]:
        self._lent = False
        return super().restore(row)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._take_back()
        self._lent = True  # what seeds it is no row
        shown = super().reset(seed=seed, options=options)
        self._lent = False
        return shown

    def _run(self, action: int) -> None:
        self._take_back()
        super()._run(action)

    def _take_back(self) -> None:
        """The world goes on with its generator as others have left it."""
        if self._started and self._lent:
            self._batch.set_generator(0, self.np_random)
            self._lent = False

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        truncated |= self._batch.outputs.lengths.item() >= (self.scenario.max_steps or np.inf)
        return observation, reward, terminated, truncated, info

    def _checked(self, action: Any) -> int:
        lacking = self.num_actions < _USUAL_ACTIONS and isinstance(action, int | np.integer)
        return super()._checked(0 if lacking and action >= self.num_actions else action)


class MiniGridVectorEnv(GridVectorEnv):
    """N worlds of a level of MiniGrid; all that `GridVectorEnv` says holds for them, too."""

    def _told(self, given: Arrays) -> VectorStep:
        out = self._batch.outputs
        out.truncated |= out.lengths >= (self.scenario.max_steps or np.inf)
        return super()._told(given)

    def _checked(self, actions: ArrayLike) -> NDArray[np.int64]:
        if self.num_actions < _USUAL_ACTIONS:
            actions = np.where(np.asarray(actions) < self.num_actions, actions, 0)
        return super()._checked(actions)
