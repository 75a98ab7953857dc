"""Environments that show arrays."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from gv_engine.gridverse.action import Action
from gv_engine.gridverse.envs.inner_env import InnerEnv
from gv_engine.gridverse.observation import Observation
from gv_engine.gridverse.spaces import ActionSpace
from gv_engine.gridverse.state import State


class StateRepresentation(Protocol):
    """Turns states into arrays."""

    def convert(self, state: State, /) -> dict[str, NDArray[Any]]: ...


class ObservationRepresentation(Protocol):
    """Turns observations into arrays."""

    def convert(self, observation: Observation, /) -> dict[str, NDArray[Any]]: ...


class OuterEnv:
    """An inner environment whose state and observation are dictionaries of arrays.

    Args:
        inner_env: what happens.
        state_representation, observation_representation: how it is shown; without one, asking for
            the state, or the observation, is an error.
    """

    def __init__(
        self,
        inner_env: InnerEnv,
        state_representation: StateRepresentation | None = None,
        observation_representation: ObservationRepresentation | None = None,
    ) -> None:
        self.inner_env = inner_env
        self.state_representation = state_representation
        self.observation_representation = observation_representation

    @property
    def action_space(self) -> ActionSpace:
        """The actions that may be taken."""
        return self.inner_env.action_space

    def set_seed(self, seed: int | None = None) -> None:
        """Begin a new stream of chance; the state stays."""
        self.inner_env.set_seed(seed)

    def reset(self) -> None:
        """Begin an episode."""
        self.inner_env.reset()

    def step(self, action: Action) -> tuple[float, bool]:
        """Take an action; returns the reward and whether the episode is over.

        Raises:
            ValueError: the action is not in the action space, or nothing was reset yet.
        """
        return self.inner_env.step(action)

    @property
    def state(self) -> dict[str, NDArray[Any]]:
        """The current state.

        Raises:
            ValueError: nothing was reset yet, or there is no state representation.
        """
        if self.state_representation is None:
            raise ValueError("no state_representation was given to this OuterEnv")
        return self.state_representation.convert(self.inner_env.state)

    @property
    def observation(self) -> dict[str, NDArray[Any]]:
        """The current observation.

        Raises:
            ValueError: nothing was reset yet, or there is no observation representation.
        """
        if self.observation_representation is None:
            raise ValueError("no observation_representation was given to this OuterEnv")
        return self.observation_representation.convert(self.inner_env.observation)
