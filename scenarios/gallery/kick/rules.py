"""Kicks."""

from gv_engine import TRANSITION, World, system
from gv_engine.geometry import FORWARD, named_action
from systems.queries import ahead, beside, is_free, towards

KICK = named_action("KICK")


def can_kick(w: World, agent: int, action: int, object_type: int) -> bool:
    """Whether KICK meets an object of the type with room behind it."""
    y, x = beside(*towards(w, agent, FORWARD), w.agent.facing[agent])
    return action == KICK and w.kind.value[ahead(w, agent)] == object_type and is_free(w, y, x)


@system(TRANSITION, when=can_kick)
def kick(w: World, agent: int, object_type: int) -> None:
    """An object of a type ahead flies on until something is in its way."""
    ball = ahead(w, agent)
    y, x = beside(w.position.y[ball], w.position.x[ball], w.agent.facing[agent])
    while is_free(w, y, x):
        w.place(ball, y, x)
        y, x = beside(y, x, w.agent.facing[agent])
