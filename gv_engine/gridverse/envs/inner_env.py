"""The interface of environments of objects."""

from __future__ import annotations

from abc import ABC, abstractmethod

from gv_engine.gridverse.action import Action
from gv_engine.gridverse.debug import is_debugging
from gv_engine.gridverse.observation import Observation
from gv_engine.gridverse.spaces import ActionSpace, ObservationSpace, StateSpace
from gv_engine.gridverse.state import State


class InnerEnv(ABC):
    """Keeps a state, and gets the next ones from the functional trio that implementations have.

    The trio leaves its inputs untouched. While `gv_engine.debugging()` is on, states, actions and
    observations are checked against their spaces.

    Args:
        state_space, action_space, observation_space: what may occur.
    """

    def __init__(
        self,
        state_space: StateSpace,
        action_space: ActionSpace,
        observation_space: ObservationSpace,
    ) -> None:
        self.state_space = state_space
        self.action_space = action_space
        self.observation_space = observation_space
        self._state: State | None = None
        self._observation: Observation | None = None

    @abstractmethod
    def set_seed(self, seed: int | None = None) -> None:
        """Begin a new stream of chance; the state stays."""

    @abstractmethod
    def functional_reset(self) -> State:
        """Draw an initial state."""

    @abstractmethod
    def functional_step(self, state: State, action: Action) -> tuple[State, float, bool]:
        """The next state, the reward, and whether the episode is over.

        Raises:
            ValueError: the action is not in the action space.
        """

    @abstractmethod
    def functional_observation(self, state: State) -> Observation:
        """What the agent sees in a state."""

    def reset(self) -> None:
        """Begin an episode."""
        self._state = self._sound(self.functional_reset())
        self._observation = None

    def step(self, action: Action) -> tuple[float, bool]:
        """Take an action; returns the reward and whether the episode is over.

        Raises:
            ValueError: the action is not in the action space, or nothing was reset yet.
        """
        next_state, reward, terminal = self.functional_step(self.state, action)
        self._state = self._sound(next_state)
        self._observation = None
        return reward, terminal

    @property
    def state(self) -> State:
        """The current state; each step makes a new one.

        Raises:
            ValueError: nothing was reset yet.
        """
        if self._state is None:
            raise ValueError("there is no state yet: call reset() first")
        return self._state

    @property
    def observation(self) -> Observation:
        """The current observation, made when it is first asked for and kept until the next step.

        Raises:
            ValueError: nothing was reset yet.
        """
        if self._observation is None:
            observation = self.functional_observation(self.state)
            if is_debugging() and (fault := self.observation_space.fault(observation)):
                raise ValueError(f"the observation is not in the observation space: {fault}")
            self._observation = observation
        return self._observation

    def _sound(self, state: State) -> State:
        if is_debugging() and (fault := self.state_space.fault(state)):
            raise ValueError(f"the state is not in the state space: {fault}")
        return state
