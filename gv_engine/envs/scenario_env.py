"""Base class of Gymnasium environments of all domains: one world of a scenario."""

from __future__ import annotations

import copy
import operator
from typing import Any, Self, TypeVar

import gymnasium
import numpy as np

from gv_engine.envs.render_modes import Renderer, with_usable_modes
from gv_engine.rules.errors import shorten
from gv_engine.scenario.plugin import AnyScenario

_Observation = TypeVar("_Observation")


class ScenarioEnv(gymnasium.Env[_Observation, np.int64]):
    """Environment with one world of a scenario. Domains add the world, its spaces and its
    rendering.

    Args:
        render_mode: one of `metadata["render_modes"]`, or None.

    Attributes:
        scenario: scenario that is played.
        world: name of the current backend, such as "compiled".
        num_actions: size of the action space.

    Raises:
        ValueError: there is no such render mode.
    """

    scenario: AnyScenario
    world: str
    num_actions: int

    def __init__(self, render_mode: str | None) -> None:
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            raise ValueError(
                f"render_mode={render_mode!r}: allowed are None and {', '.join(modes)}"
            )
        self.metadata = with_usable_modes(self.metadata)
        self.render_mode = render_mode
        self._renderer: Renderer | None = None
        self._started = False

    @property
    def _action_legend(self) -> str:
        """Names of the actions, for messages."""
        raise NotImplementedError

    def _new_renderer(self, mode: str) -> Renderer:
        """Return a renderer of the world."""
        raise NotImplementedError

    def _reset_generator(self, seed: int | None) -> np.random.Generator | None:
        """Return the RNG for a reset; None to continue with the world's RNG."""
        if seed is None and self._started:
            return None
        gymnasium.Env.reset(self, seed=seed)
        self._started = True
        return self.np_random

    def _check_action(self, action: Any) -> int:
        """Return an action as an integer.

        Raises:
            ValueError: the action is not in the action space, or `reset` was not called yet.
        """
        try:
            number = operator.index(action)
        except TypeError:
            number = -1
        if not 0 <= number < self.num_actions:
            shown, last = shorten(repr(action), 100), self.num_actions - 1
            raise ValueError(f"action {shown}: allowed are 0 to {last}, {self._action_legend}")
        if not self._started:
            raise ValueError("call reset() before the first step()")
        return number

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.scenario.name}, {self.world}>"

    __str__ = __repr__  # shown by wrappers

    def fork(self) -> Self:
        """Return an independent copy of the environment with the same world and the same future."""
        return copy.deepcopy(self)

    def render(self) -> Any:
        """Return a picture of the world in the render mode.

        Returns:
            (H, W, 3) uint8 for "rgb_array", str for "ansi", None for "human".

        Raises:
            ValueError: `reset` was not called yet.
            NoDisplay: the mode is "human" and there is no screen.
        """
        if self.render_mode is None:
            gymnasium.logger.warn("render() needs a render_mode, given to gymnasium.make")
            return None
        if not self._started:
            raise ValueError("call reset() before the first render()")
        if self._renderer is None:
            self._renderer = self._new_renderer(self.render_mode)
        return self._renderer.draw(0)

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
