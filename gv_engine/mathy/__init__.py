"""Algebra as a game: expressions as worlds, rewrite rules as moves.

Needs mathy_core, which the extra `math` brings; where it is missing, the error says how to get it.

>>> env = PolySimplify(seed=1)
>>> state = MathyEnvState(problem="4x + 2x", max_moves=10)
>>> state, timestep, change = env.get_next_state(state, (3, 3))
>>> state.agent.problem, state.agent.moves_remaining, timestep.reward
('(4 + 2) * x', 9, 0.01)
"""

from gv_engine.mathy.env import MathyEnv
from gv_engine.mathy.environments import (
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
from gv_engine.mathy.gym_env import ExpressionEnv
from gv_engine.mathy.parsing import ExpressionError
from gv_engine.mathy.scenario import MathyScenario
from gv_engine.mathy.state import (
    MathyAgentState,
    MathyEnvState,
    MathyEnvStateStep,
    MathyObservation,
)
from gv_engine.mathy.types import (
    EnvRewards,
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
    StepType,
    TimeStep,
    is_terminal_transition,
    termination,
    transition,
)
from gv_engine.mathy.world import ExpressionWorld

__all__ = [
    "ENVIRONMENTS",
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
    "MathyScenario",
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
