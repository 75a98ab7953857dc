"""MiniGrid's environments, with habits of the reference that no scenario could say.

The last step that the limit leaves is truncated even if it ends the episode; and a level that takes
fewer actions than others takes its first for the rest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gv_engine.envs.environment import GridEnv
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_vector_env import VectorStep
from gv_engine.envs.vector_environment import GridVectorEnv

_USUAL_ACTIONS = 7


class MiniGridEnv(GridEnv):
    """One world of a level of MiniGrid; all that `GridEnv` says holds for it, too."""

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
