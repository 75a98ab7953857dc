"""Environment that is composed of functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.envs.inner_env import InnerEnv
from gv_engine.plugins.gridverse.functions import call_function, to_function
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.registry import from_visibility
from gv_engine.plugins.gridverse.rng import make_rng
from gv_engine.plugins.gridverse.spaces import ActionSpace, ObservationSpace, StateSpace
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules.errors import RuleError
from gv_engine.rules.system import OBSERVATION, RESET, REWARD, TERMINATING, TRANSITION, VISIBILITY

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


class GridWorld(InnerEnv):
    """Environment composed of reset, transition, observation, reward and terminating functions,
    which share one random generator.

    Args:
        state_space, action_space, observation_space: spaces of the environment.
        reset_function, transition_function, observation_function, reward_function,
            termination_function: functions of the protocols in `gv_engine.gridverse.functions`.
    """

    def __init__(
        self,
        state_space: StateSpace,
        action_space: ActionSpace,
        observation_space: ObservationSpace,
        reset_function: Callable[..., State],
        transition_function: Callable[..., None],
        observation_function: Callable[..., Observation],
        reward_function: Callable[..., float],
        termination_function: Callable[..., bool],
    ) -> None:
        """Make an environment of spaces and functions. The class docstring explains the
        arguments."""
        super().__init__(state_space, action_space, observation_space)
        self._reset_function = reset_function
        self._transition_function = transition_function
        self._observation_function = observation_function
        self._reward_function = reward_function
        self._termination_function = termination_function
        self._rng: np.random.Generator = make_rng()

    @classmethod
    def from_scenario(cls, scenario: Scenario) -> GridWorld:
        """Return an environment with the rules of a scenario, but without its step limit.

        Raises:
            RuleError: the scenario lists an esper.Processor, is a mixture, or has views that do
                not turn.
            SeveralAgentsError: the scenario has several agents.
        """
        scenario.require_single_agent("a state")
        if scenario.mixture:
            raise RuleError(
                f"{scenario.name} is a mixture, and states do not say which of its scenarios they "
                f"belong to; take an inner environment of one of {list(scenario.members)}"
            )
        if not scenario.area.turns:
            raise RuleError(
                f"{scenario.name} has views with `turns: no`, and GridVerse's always turn with the "
                f"agent; leave `turns` out"
            )
        (reset_call,) = scenario.calls(RESET)
        shape = reset_call.arguments.get("shape")
        return cls(
            StateSpace(shape and tuple(shape), scenario.objects, scenario.colors, scenario.types),
            ActionSpace(scenario.actions),
            ObservationSpace(
                scenario.area.shape,
                scenario.observation_objects,
                scenario.observation_colors,
                scenario.types,
                scenario.area,
            ),
            to_function(reset_call, scenario.layout),
            _make_transition(scenario),
            _make_observation(scenario),
            _make_reward(scenario),
            _make_terminating(scenario),
        )

    def set_seed(self, seed: int | None = None) -> None:
        """Seed the random generator; the current state does not change."""
        self._rng = make_rng(seed)

    def functional_reset(self) -> State:
        """Return a random initial state."""
        return call_function(self._reset_function, (), {}, self._rng)  # type: ignore[no-any-return]

    def functional_step(self, state: State, action: Action) -> tuple[State, float, bool]:
        """Return the next state, the reward, and True if the episode is over. `state` itself does
        not change."""
        if not self.action_space.contains(action):
            raise ValueError(f"action {action!r} is not in {self.action_space}")
        action = Action(action)
        next_state = state.copy()
        call_function(self._transition_function, (next_state, action), {}, self._rng)
        step = state, action, next_state
        reward = float(call_function(self._reward_function, step, {}, self._rng))
        terminal = bool(call_function(self._termination_function, step, {}, self._rng))
        next_state.world.steps += 1
        return next_state, reward, terminal

    def functional_observation(self, state: State) -> Observation:
        """Return the observation of a state."""
        return call_function(self._observation_function, (state,), {}, self._rng)  # type: ignore[no-any-return]


def _make_transition(scenario: Scenario) -> Callable[..., None]:
    """Return one function `(state, action)` that runs all transition functions of the scenario in
    order."""
    functions = [to_function(call) for call in scenario.calls(TRANSITION)]

    def transition(state: State, action: Action, *, rng: Any) -> None:
        for function in functions:
            function(state, action, rng=rng)

    return transition


def _make_reward(scenario: Scenario) -> Callable[..., float]:
    """Return one function that returns the sum of all rewards of the scenario."""
    functions = [to_function(call) for call in scenario.calls(REWARD)]

    def sum_rewards(state: State, action: Action, next_state: State, *, rng: Any) -> float:
        total = 0.0
        for function in functions:
            total += function(state, action, next_state, rng=rng)
        return total

    return sum_rewards


def _make_terminating(scenario: Scenario) -> Callable[..., bool]:
    """Return one function that returns True if any terminating function of the scenario returns
    True."""
    functions = [to_function(call) for call in scenario.calls(TERMINATING)]

    def terminating(state: State, action: Action, next_state: State, *, rng: Any) -> bool:
        return any(function(state, action, next_state, rng=rng) for function in functions)

    return terminating


def _make_observation(scenario: Scenario) -> Callable[..., Observation]:
    """Return the observation function of the scenario. If the scenario has none, return a function
    that shows the cells that its visibility function lets the agent see."""
    for call in scenario.calls(OBSERVATION):
        return to_function(call)
    visibility = to_function(scenario.calls(VISIBILITY)[0])
    return partial(from_visibility, area=scenario.area, visibility_function=visibility)
