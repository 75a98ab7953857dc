"""Meetings."""

from gv_engine import REWARD, TERMINATING, World, system
from gv_engine.rules.component import NOTHING
from systems.queries import neighbours


def is_beside(w: World, agent: int, color: int) -> bool:
    """Whether an agent of a colour stands in a cell beside."""
    for y, x in neighbours(w.position.y[agent], w.position.x[agent]):
        other = w.agent_at(y, x)
        if other != NOTHING and w.color.value[other] == color:
            return True
    return False


@system(REWARD)
def meet(w: World, agent: int, color: int, reward: float = 1.0) -> float:
    """Pays for standing beside an agent of a colour."""
    return reward if is_beside(w, agent, color) else 0.0


@system(TERMINATING)
def met(w: World, agent: int, color: int) -> bool:
    """The agent stands beside one of a colour."""
    return is_beside(w, agent, color)
