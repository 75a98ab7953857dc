"""GV Engine: gridworlds to play, to write and to train on.

>>> import gymnasium
>>> import gv_engine
>>> env = gymnasium.make("GV-Keydoor-9x9-v0", world="object")
>>> observation, info = env.reset(seed=0)
>>> observation["grid"].shape
(7, 7, 3)
"""

from gv_engine.resources import check_neighbours

check_neighbours()

from gv_engine.component import NOTHING, EntityId, Float64, Int8, Int16, Int32, component  # noqa: E402
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
    "CapacityError",
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
    "World",
    "component",
    "object_type",
    "system",
]

register_all()
