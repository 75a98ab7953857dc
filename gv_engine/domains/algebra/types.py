"""Types of mathy environments: difficulties, problems, rewards, timesteps."""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from gv_engine.rules.errors import GVEngineError
from gv_engine.rules.rewriting import EnvRewards as EnvRewards

MathyAction = int | tuple[int, int]
"""`node * number_of_rules + rule`, or the pair `(rule, node)`; nodes are numbered in order."""

INVALID_ACTION_RESPONSES = ("penalize", "raise", "terminal")
"""Answers to an invalid action."""


class MathyEnvDifficulty(enum.StrEnum):
    """How hard the problems are that an environment draws; plain strings do as well."""

    easy = "easy"
    normal = "normal"
    hard = "hard"


@dataclass(frozen=True)
class MathyEnvProblemArgs:
    """Arguments for drawing a problem.

    Raises:
        ValueError: no such difficulty.
    """

    difficulty: MathyEnvDifficulty | str = MathyEnvDifficulty.easy

    def __post_init__(self) -> None:
        allowed = [each.value for each in MathyEnvDifficulty]
        if self.difficulty not in allowed:
            raise ValueError(f"difficulty={self.difficulty!r}: allowed are {', '.join(allowed)}")
        object.__setattr__(self, "difficulty", MathyEnvDifficulty(self.difficulty))


class ProblemError(GVEngineError, ValueError):
    """A problem that no episode can begin with."""


def code_place(thing: Any) -> str:
    """`file:line` of a function or class, for messages; its name if it has none."""
    try:
        return f"{inspect.getsourcefile(thing)}:{inspect.getsourcelines(thing)[1]}"
    except (OSError, TypeError):  # typed in, or built in
        return str(getattr(thing, "__qualname__", thing))


class MathyEnvProblem(NamedTuple):
    """A problem that an environment has drawn."""

    text: str
    complexity: int
    """By default the number of its terms; the moves that are allowed depend on it."""
    type: str
    """The environment's namespace, such as `mathy.polynomials.simplify`."""


class StepType(enum.IntEnum):
    """Position of a timestep in its episode: first, middle or last."""

    FIRST = 0
    MID = 1
    LAST = 2


class TimeStep:
    """The outcome of a move.

    Attributes:
        step_type: LAST at the end of an episode.
        reward: of the move.
        discount: of what is to come; reported, not applied.
    """

    __slots__ = ("_observation", "discount", "reward", "step_type")

    def __init__(self, step_type: int, reward: float, discount: float, observation: Any) -> None:
        self.step_type = StepType(step_type)
        self.reward = reward
        self.discount = discount
        self._observation = observation

    @property
    def observation(self) -> Any:
        """What there is to be seen now; worked out when somebody looks."""
        if isinstance(self._observation, Late):
            self._observation = self._observation.make()
        return self._observation

    def __iter__(self) -> Iterator[Any]:
        return iter((self.step_type, self.reward, self.discount, self.observation))

    def __repr__(self) -> str:
        return f"TimeStep({self.step_type.name}, reward={self.reward}, discount={self.discount})"


@dataclass(slots=True)
class Late:
    """Something that is made when it is asked for."""

    make: Callable[[], Any]


def transition(observation: Any, reward: float, discount: float = 1.0) -> TimeStep:
    """A timestep after which the episode goes on."""
    return TimeStep(StepType.MID, reward, discount, observation)


def termination(observation: Any, reward: float) -> TimeStep:
    """A timestep that ends the episode."""
    return TimeStep(StepType.LAST, reward, 0.0, observation)


def is_terminal_transition(timestep: TimeStep) -> bool:
    """Whether a timestep ends the episode."""
    return timestep.step_type is StepType.LAST
