"""Types of algebra environments: difficulties, problems, rewards and timesteps."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from gv_engine.rules.errors import GVEngineError
from gv_engine.rules.rewriting import EnvRewards as EnvRewards

MathyAction = int | tuple[int, int]
"""Action: `node * number_of_rules + rule`, or the pair `(rule, node)`. Nodes are numbered in order.
"""

INVALID_ACTION_RESPONSES = ("penalize", "raise", "terminal")
"""Allowed values of `invalid_action_response`."""


class MathyEnvDifficulty(enum.StrEnum):
    """Difficulty of the problems that an environment samples. A plain string is accepted in its
    place."""

    easy = "easy"
    normal = "normal"
    hard = "hard"


@dataclass(frozen=True)
class MathyEnvProblemArgs:
    """Arguments of `problem_fn`, which samples a problem.

    Raises:
        ValueError: the difficulty is unknown.
    """

    difficulty: MathyEnvDifficulty | str = MathyEnvDifficulty.easy

    def __post_init__(self) -> None:
        allowed = [difficulty.value for difficulty in MathyEnvDifficulty]
        if self.difficulty not in allowed:
            raise ValueError(f"difficulty={self.difficulty!r}: allowed are {', '.join(allowed)}")
        object.__setattr__(self, "difficulty", MathyEnvDifficulty(self.difficulty))


class ProblemError(GVEngineError, ValueError):
    """A problem cannot begin an episode."""


class MathyEnvProblem(NamedTuple):
    """Problem that an environment has sampled.

    Attributes:
        text: text of the expression.
        complexity: number of terms by default; the number of allowed moves depends on it.
        type: namespace of the environment, such as `mathy.polynomials.simplify`.
    """

    text: str
    complexity: int
    type: str


class StepType(enum.IntEnum):
    """Position of a timestep in its episode: first, middle or last."""

    FIRST = 0
    MID = 1
    LAST = 2


class TimeStep:
    """Outcome of a move.

    Attributes:
        step_type: LAST at the end of an episode.
        reward: reward of the move.
        discount: discount of future rewards; reported, not applied.
        observation: observation of the state after the move; a `functools.partial` is called when
            the attribute is first read.
    """

    __slots__ = ("_observation", "discount", "reward", "step_type")

    def __init__(self, step_type: int, reward: float, discount: float, observation: Any) -> None:
        self.step_type = StepType(step_type)
        self.reward = reward
        self.discount = discount
        self._observation = observation

    @property
    def observation(self) -> Any:
        """Return the observation of the state, which is computed on first access."""
        if isinstance(self._observation, partial):
            self._observation = self._observation()
        return self._observation

    def __iter__(self) -> Iterator[Any]:
        return iter((self.step_type, self.reward, self.discount, self.observation))

    def __repr__(self) -> str:
        return f"TimeStep({self.step_type.name}, reward={self.reward}, discount={self.discount})"


def transition(observation: Any, reward: float, discount: float = 1.0) -> TimeStep:
    """Return a timestep after which the episode goes on."""
    return TimeStep(StepType.MID, reward, discount, observation)


def termination(observation: Any, reward: float) -> TimeStep:
    """Return a timestep that ends the episode."""
    return TimeStep(StepType.LAST, reward, 0.0, observation)


def is_terminal_transition(timestep: TimeStep) -> bool:
    """Return True if a timestep ends the episode."""
    return timestep.step_type is StepType.LAST
