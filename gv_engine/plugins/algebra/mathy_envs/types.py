"""Types of mathy_envs: problems, difficulties, rewards, actions."""

from typing import Literal

from gv_engine.plugins.algebra.state import (
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
)
from gv_engine.plugins.algebra.systems import EnvRewards as _Rewards

__all__ = [
    "ActionList",
    "ActionType",
    "EnvRewards",
    "MathyEnvDifficulty",
    "MathyEnvDifficultyValue",
    "MathyEnvProblem",
    "MathyEnvProblemArgs",
    "RewardList",
    "ValueList",
]

MathyEnvDifficultyValue = Literal["easy", "normal", "hard"]
ActionType = tuple[int, int]
"""Action: (rule, node)."""
ActionList = list[ActionType]
RewardList = list[float]
ValueList = list[float]


class EnvRewards:
    """Default rewards of moves."""

    LOSE = _Rewards.lose
    WIN = _Rewards.win
    HELPFUL_MOVE = _Rewards.helpful
    UNHELPFUL_MOVE = _Rewards.unhelpful
    TIMESTEP = _Rewards.time
    PREVIOUS_LOCATION = _Rewards.revisit
    INVALID_MOVE = _Rewards.invalid
