"""Algebra as a game: expressions as worlds, rewrite rules as moves.

Needs mathy_core, which the extra `math` brings: `pip install 'gv-engine[math]'`.

>>> env = PolySimplify(seed=1)
>>> state = MathyEnvState(problem="4x + 2x", max_moves=10)
>>> state, timestep, change = env.get_next_state(state, (3, 3))
>>> state.agent.problem, state.agent.moves_remaining, timestep.reward
('(4 + 2) * x', 9, 0.01)
"""

from gv_engine.families.algebra.env import MathyEnv
from gv_engine.families.algebra.environments import (
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
from gv_engine.families.algebra.gym_env import ExpressionEnv
from gv_engine.families.algebra.parsing import ExpressionError
from gv_engine.families.algebra.scenario import MathyScenario
from gv_engine.families.algebra.state import (
    MathyAgentState,
    MathyEnvState,
    MathyEnvStateStep,
    MathyObservation,
)
from gv_engine.families.algebra.types import (
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
from gv_engine.families.algebra.world import ExpressionWorld

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
