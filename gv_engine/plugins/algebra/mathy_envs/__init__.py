"""The package mathy_envs 0.12.5 by its own names, on our algebra: change the package's name in an
import, from `mathy_envs` to `gv_engine.mathy_envs`.

The older document of MathyEnv, with flat masks and numbered actions, is at `gv_engine.mathy`.

>>> env = envs.PolySimplify()
>>> state = MathyEnvState(problem="4x + 2x")
>>> state, timestep, change = env.get_next_state(state, (3, 3))
>>> state.agent.problem, env.get_valid_moves(state)[0]
('(4 + 2) * x', [0, 1, 0, 0, 0])
"""

from gv_engine.plugins.algebra.mathy_envs import env, envs, state, time_step, types, util
from gv_engine.plugins.algebra.mathy_envs.env import INVALID_ACTION_RESPONSES, MathyEnv
from gv_engine.plugins.algebra.mathy_envs.state import (
    MathyAgentState,
    MathyEnvState,
    MathyEnvStateStep,
    MathyGraphObservation,
    MathyHierarchicalObservation,
    MathyMessagePassingObservation,
    MathyObservation,
    ObservationType,
)
from gv_engine.plugins.algebra.mathy_envs.time_step import (
    StepType,
    TimeStep,
    is_terminal_transition,
    termination,
    transition,
)
from gv_engine.plugins.algebra.mathy_envs.types import (
    ActionType,
    EnvRewards,
    MathyEnvDifficulty,
    MathyEnvProblem,
    MathyEnvProblemArgs,
)
from gv_engine.plugins.algebra.mathy_envs.util import pad_array

__all__ = [
    "INVALID_ACTION_RESPONSES",
    "ActionType",
    "EnvRewards",
    "MathyAgentState",
    "MathyEnv",
    "MathyEnvDifficulty",
    "MathyEnvProblem",
    "MathyEnvProblemArgs",
    "MathyEnvState",
    "MathyEnvStateStep",
    "MathyGraphObservation",
    "MathyHierarchicalObservation",
    "MathyMessagePassingObservation",
    "MathyObservation",
    "ObservationType",
    "StepType",
    "TimeStep",
    "env",
    "envs",
    "is_terminal_transition",
    "pad_array",
    "state",
    "termination",
    "time_step",
    "transition",
    "types",
    "util",
]
