from .env import MathyEnv
from .environments import (
    ENVIRONMENTS,
    BinomialDistribute,
    ComplexSimplify,
    PolyCombineInPlace,
    PolyCommuteLikeTerms,
    PolyGroupLikeTerms,
    PolyHaystackLikeTerms,
    PolySimplify,
    PolySimplifyBlockers,
)
from .gym_env import ExpressionEnv
from .parser import ExpressionError
from .scenario import AlgebraScenario
from .state import (
    EnvRewards,
    MathyAgentState,
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    MathyEnvState,
    MathyEnvStateStep,
    MathyObservation,
    StepType,
    TimeStep,
    is_terminal_transition,
    termination,
    transition,
)
from .world import ExpressionWorld

__all__ = [
    "ENVIRONMENTS",
    "AlgebraScenario",
    "BinomialDistribute",
    "ComplexSimplify",
    "EnvRewards",
    "ExpressionEnv",
    "ExpressionError",
    "ExpressionWorld",
    "MathyAgentState",
    "MathyEnv",
    "MathyEnvDifficulty",
    "MathyEnvProblem",
    "MathyEnvProblemArgs",
    "MathyEnvState",
    "MathyEnvStateStep",
    "MathyObservation",
    "PolyCombineInPlace",
    "PolyCommuteLikeTerms",
    "PolyGroupLikeTerms",
    "PolyHaystackLikeTerms",
    "PolySimplify",
    "PolySimplifyBlockers",
    "StepType",
    "TimeStep",
    "is_terminal_transition",
    "termination",
    "transition",
]
