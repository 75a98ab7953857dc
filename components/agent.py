"""The agent."""

from gv_engine.rules.component import NOTHING, EntityId, Int8, component
from gv_engine.rules.geometry import FORWARD


@component(often=True)
class Agent:
    """Agent: faces a direction and holds at most one object."""

    facing: Int8 = FORWARD
    holding: EntityId = NOTHING
