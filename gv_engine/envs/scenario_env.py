"""The base of Gymnasium environments of all domains: one world of a scenario."""

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
    """One world of a scenario. Domains add the world, its spaces and how it is drawn.

    Args:
        render_mode: one of `metadata["render_modes"]`, or None.

    Attributes:
        scenario: what is played.
        world: the name of the backend that steps, such as "compiled".
        num_actions: of the action space.

    Raises:
        ValueError: no such render mode.
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
        """What the numbers of actions stand for, for messages."""
        raise NotImplementedError

    def _new_renderer(self, mode: str) -> Renderer:
        """The renderer of the world."""
        raise NotImplementedError

    def _generator(self, seed: int | None) -> np.random.Generator | None:
        """The generator of a reset; None to go on with the world's own."""
        if seed is None and self._started:
            return None
        gymnasium.Env.reset(self, seed=seed)
        self._started = True
        return self.np_random

    def _checked(self, action: Any) -> int:
        """The number of an action.

        Raises:
            ValueError: it is none of the action space, or nothing was reset yet.
        """
        try:
            chosen = operator.index(action)
        except TypeError:
            chosen = -1
        if not 0 <= chosen < self.num_actions:
            found, last = shorten(repr(action), 100), self.num_actions - 1
            raise ValueError(f"action {found}: allowed are 0 to {last}, {self._action_legend}")
        if not self._started:
            raise ValueError("call reset() before the first step()")
        return chosen

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.scenario.name}, {self.world}>"

    __str__ = __repr__  # which wrappers show

    def fork(self) -> Self:
        """An independent environment with the same world, and the same future."""
        return copy.deepcopy(self)

    def render(self) -> Any:
        """A picture of the world, as the render mode says.

        Returns:
            (H, W, 3) uint8 for "rgb_array", str for "ansi", None for "human".

        Raises:
            ValueError: nothing was reset yet.
            NoDisplay: "human", and there is no screen.
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
