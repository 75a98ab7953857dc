from .envs.environment import GridEnv
from .envs.multi_agent import AgentsVectorEnv, EachAgentVectorEnv
from .envs.text_actions import TextActions
from .envs.vector_environment import GridVectorEnv
from .plugins.adapters import parallel_env
from .plugins.gridverse import (
    State,
    observation_function_registry,
    reset_function_registry,
    reward_function_registry,
    terminating_function_registry,
    transition_function_registry,
    visibility_function_registry,
)
from .plugins.gridverse.debugging import debugging
from .rules.component import (
    AGENT,
    NOTHING,
    Array,
    Bounds,
    Coordinate,
    EntityId,
    Float64,
    Int8,
    Int16,
    Int32,
    component,
)
from .rules.errors import (
    CapacityError,
    DoesNotCompileError,
    GVEngineError,
    RuleError,
    ScenarioError,
)
from .rules.geometry import Action
from .rules.objects import object_type
from .rules.system import (
    OBSERVATION,
    RENDERING,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    AgentMask,
    AgentNumber,
    ColorIndex,
    FilePath,
    ObjectNumber,
    ObjectTypeIndex,
    Phase,
    StateIndex,
    system,
)
from .rules.world import World
from .scenario.documents.loading import load_scenario
from .scenario.scenario import Scenario
from .world.simulation import Simulation

__version__: str
__all__ = [
    "AGENT",
    "NOTHING",
    "OBSERVATION",
    "RENDERING",
    "RESET",
    "REWARD",
    "TERMINATING",
    "TRANSITION",
    "VISIBILITY",
    "Action",
    "AgentMask",
    "AgentNumber",
    "AgentsVectorEnv",
    "Array",
    "Bounds",
    "CapacityError",
    "ColorIndex",
    "Coordinate",
    "DoesNotCompileError",
    "EachAgentVectorEnv",
    "EntityId",
    "FilePath",
    "Float64",
    "GVEngineError",
    "GridEnv",
    "GridVectorEnv",
    "Int8",
    "Int16",
    "Int32",
    "ObjectNumber",
    "ObjectTypeIndex",
    "Phase",
    "RuleError",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "State",
    "StateIndex",
    "TextActions",
    "World",
    "component",
    "debugging",
    "load_scenario",
    "object_type",
    "observation_function_registry",
    "parallel_env",
    "reset_function_registry",
    "reward_function_registry",
    "system",
    "terminating_function_registry",
    "transition_function_registry",
    "visibility_function_registry",
]
