"""Interface of environments whose states and observations are objects."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.debugging import gv_debug
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.spaces import ActionSpace, ObservationSpace, StateSpace
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules.errors import STEP_AFTER_END


@dataclass(eq=False, repr=False)
class InnerEnv(ABC):
    """Base class of environments with a current state. Subclasses implement three functional
    methods and `set_seed`.

    The functional methods do not change their arguments. While `gv_engine.debugging()` is on,
    states, actions and observations are checked against their spaces.

    Args:
        state_space, action_space, observation_space: spaces of the environment.
    """

    state_space: StateSpace
    action_space: ActionSpace
    observation_space: ObservationSpace
    _state: State | None = field(default=None, init=False)
    _observation: Observation | None = field(default=None, init=False)
    _is_over: bool = field(default=False, init=False)
    _has_warned: bool = field(default=False, init=False)

    @abstractmethod
    def set_seed(self, seed: int | None = None) -> None:
        """Seed the random generator; the current state does not change."""

    @abstractmethod
    def functional_reset(self) -> State:
        """Return a random initial state."""

    @abstractmethod
    def functional_step(self, state: State, action: Action) -> tuple[State, float, bool]:
        """Return the state that an action leads to, the reward, and True if the episode is over;
        `state` is unchanged.

        Raises:
            ValueError: the action is not in the action space.
        """

    @abstractmethod
    def functional_observation(self, state: State) -> Observation:
        """Return the observation of a state."""

    def reset(self) -> None:
        """Begin an episode."""
        self._state = self._check_state(self.functional_reset())
        self._observation, self._is_over = None, False

    def step(self, action: Action) -> tuple[float, bool]:
        """Take an action in the current state; return the reward, and True if the episode is over.

        A step after the end of the episode goes on; the first one warns.

        Raises:
            ValueError: the action is not in the action space.
            RuntimeError: `reset` was not called yet.
        """
        if self._is_over and not self._has_warned:
            self._has_warned = True
            warnings.warn(STEP_AFTER_END, stacklevel=2)
        next_state, reward, terminal = self.functional_step(self.state, action)
        self._state = self._check_state(next_state)
        self._observation, self._is_over = None, self._is_over or terminal
        return reward, terminal

    @property
    def state(self) -> State:
        """Return the current state. Each step creates a new state object.

        Raises:
            RuntimeError: `reset` was not called yet.
        """
        if self._state is None:
            raise RuntimeError("there is no state yet: call reset() first")
        return self._state

    @property
    def observation(self) -> Observation:
        """Return the observation of the current state. It is computed on first access and then
        cached.

        Raises:
            RuntimeError: `reset` was not called yet.
        """
        if self._observation is None:
            observation = self.functional_observation(self.state)
            if gv_debug() and (fault := self.observation_space.find_fault(observation)):
                raise ValueError(f"the observation is not in the observation space: {fault}")
            self._observation = observation
        return self._observation

    def _check_state(self, state: State) -> State:
        if gv_debug() and (fault := self.state_space.find_fault(state)):
            raise ValueError(f"the state is not in the state space: {fault}")
        return state
