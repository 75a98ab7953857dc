"""A rule on an action of its scenario's own, by its name and by what the scenario says."""

from gv_engine import TRANSITION, World, system
from gv_engine.rules.geometry import FORWARD, Action, named_action
from systems.queries import ahead, is_free, towards

KICK = named_action("KICK")


def can_kick(w: World, agent: int, action: int) -> bool:
    """Whether KICK meets something that can be carried, with room behind it."""
    y, x = towards(w, agent, FORWARD)
    behind_y, behind_x = 2 * y - w.position.y[agent], 2 * x - w.position.x[agent]
    return action == KICK and w.portable.has[ahead(w, agent)] and is_free(w, behind_y, behind_x)


@system(TRANSITION, when=can_kick)
def kick(w: World, agent: int) -> None:
    """What is kicked goes one cell further."""
    y, x = towards(w, agent, FORWARD)
    w.place(w.at[y, x], 2 * y - w.position.y[agent], 2 * x - w.position.x[agent])


def can_vanish(w: World, agent: int, action: int, on_action: Action) -> bool:
    """Whether there is something ahead that can be carried."""
    return action == on_action and w.portable.has[ahead(w, agent)]


@system(TRANSITION, when=can_vanish)
def vanish(w: World, agent: int, on_action: Action) -> None:
    """What is ahead is gone."""
    w.remove(ahead(w, agent))
