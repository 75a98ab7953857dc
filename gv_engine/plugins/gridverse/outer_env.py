"""Environments with arrays as states and observations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.envs.inner_env import InnerEnv
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.spaces import ActionSpace
from gv_engine.plugins.gridverse.state import State


class StateConverter(Protocol):
    """Converts states to arrays."""

    def convert(self, state: State, /) -> dict[str, NDArray[Any]]: ...


class ObservationConverter(Protocol):
    """Converts observations to arrays."""

    def convert(self, observation: Observation, /) -> dict[str, NDArray[Any]]: ...


@dataclass(eq=False, repr=False)
class OuterEnv:
    """Wrapper of an inner environment that returns states and observations as arrays by name.

    Args:
        inner_env: environment to wrap.
        state_representation, observation_representation: converters; without a converter, reading
            the state or the observation raises an error.
    """

    inner_env: InnerEnv
    state_representation: StateConverter | None = None
    observation_representation: ObservationConverter | None = None

    @property
    def action_space(self) -> ActionSpace:
        """Return the allowed actions."""
        return self.inner_env.action_space

    def set_seed(self, seed: int | None = None) -> None:
        """Seed the random generator; the current state does not change."""
        self.inner_env.set_seed(seed)

    def reset(self) -> None:
        """Begin an episode."""
        self.inner_env.reset()

    def step(self, action: Action) -> tuple[float, bool]:
        """Take an action in the current state; return the reward, and True if the episode is over.

        Raises:
            ValueError: the action is not in the action space.
            RuntimeError: `reset` was not called yet.
        """
        return self.inner_env.step(action)

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """Return the current state as arrays by name, in the chosen representation.

        Raises:
            RuntimeError: `reset` was not called yet, or there is no state representation.
        """
        if self.state_representation is None:
            raise RuntimeError("no state_representation was given to this OuterEnv")
        return self.state_representation.convert(self.inner_env.state)

    @property
    def observation(self) -> dict[str, NDArray[Any]]:
        """Return the current observation as arrays by name, in the chosen representation.

        Raises:
            RuntimeError: `reset` was not called yet, or there is no observation representation.
        """
        if self.observation_representation is None:
            raise RuntimeError("no observation_representation was given to this OuterEnv")
        return self.observation_representation.convert(self.inner_env.observation)
