"""GV Engine: gridworlds to play, to write and to train on.

>>> import gymnasium
>>> import gv_engine
>>> env = gymnasium.make("GV-Keydoor-9x9-v0", world="object")
>>> observation, info = env.reset(seed=0)
>>> observation["grid"].shape
(7, 7, 3)
"""

from gv_engine.resources import check_neighbours, end_quietly

end_quietly()
check_neighbours()

from typing import TYPE_CHECKING, Any  # noqa: E402

from gv_engine.component import (  # noqa: E402
    NOTHING,
    Coordinate,
    EntityId,
    Float64,
    Int8,
    Int16,
    Int32,
    component,
)
from gv_engine.environment import GridEnv  # noqa: E402
from gv_engine.errors import (  # noqa: E402
    CapacityError,
    DoesNotCompileError,
    GVEngineError,
    RuleError,
    ScenarioError,
)
from gv_engine.objects import object_type  # noqa: E402
from gv_engine.registration import register_all  # noqa: E402
from gv_engine.scenario import Scenario  # noqa: E402
from gv_engine.simulation import Simulation  # noqa: E402
from gv_engine.system import (  # noqa: E402
    OBSERVATION,
    RENDERING,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Phase,
    system,
)
from gv_engine.vector_environment import GridVectorEnv  # noqa: E402
from gv_engine.world import AGENT, World  # noqa: E402

if TYPE_CHECKING:
    from gv_engine.gridverse import (
        Action,
        State,
        debugging,
        observation_function_registry,
        reset_function_registry,
        reward_function_registry,
        terminating_function_registry,
        transition_function_registry,
        visibility_function_registry,
    )

__version__ = "0.1.0"
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
    "CapacityError",
    "Coordinate",
    "DoesNotCompileError",
    "EntityId",
    "Float64",
    "GVEngineError",
    "GridEnv",
    "GridVectorEnv",
    "Int8",
    "Int16",
    "Int32",
    "Phase",
    "RuleError",
    "Scenario",
    "ScenarioError",
    "Simulation",
    "State",
    "World",
    "component",
    "debugging",
    "object_type",
    "observation_function_registry",
    "reset_function_registry",
    "reward_function_registry",
    "system",
    "terminating_function_registry",
    "transition_function_registry",
    "visibility_function_registry",
]

register_all()


def __getattr__(name: str) -> Any:
    # what works on objects is loaded when it is asked for
    if name in __all__:
        from gv_engine import gridverse

        return getattr(gridverse, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
