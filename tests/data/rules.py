"""Rules that the tests add to the built-in ones."""

from components.items import CLOSED, OPEN
from gv_engine.rules.geometry import ACTUATE
from gv_engine.rules.system import TERMINATING, TRANSITION, system
from gv_engine.rules.world import World
from systems.building import put_agent
from systems.queries import ahead


def can_slam(w: World, agent: int, action: int, on: bool) -> bool:
    """Whether there is an open door ahead."""
    e = ahead(w, agent)
    return on and action == ACTUATE and w.door.has[e] and w.door.status[e] == OPEN


@system(TRANSITION, when=can_slam)
def slam_door(w: World, agent: int, on: bool = True) -> None:
    """Close the open door ahead."""
    w.door.status[ahead(w, agent)] = CLOSED


@system(TRANSITION)
def break_door(w: World, agent: int) -> None:
    """On ACTUATE, take away what is ahead."""
    if w.action[agent] == ACTUATE:
        w.remove(ahead(w, agent))


@system(TRANSITION)
def leap(w: World, agent: int, dy: int = 0, dx: int = 0) -> None:
    """On ACTUATE, jump over whatever lies between."""
    if w.action[agent] == ACTUATE:
        y, x = w.position.y[agent] + dy, w.position.x[agent] + dx
        put_agent(w, agent, y, x, w.agent.facing[agent])


@system(TERMINATING)
def nobody_is_left(w: World, agent: int) -> bool:
    """An end without words of its own."""
    return True


@system(TERMINATING, says="Your luck has run out")
def out_of_luck(w: World, agent: int) -> bool:
    """An end with words of its own."""
    return True


@system(TERMINATING)
def far_along(w: World, agent: int) -> bool:
    """True, but for numbers of 64 bits."""
    return w.steps << 62 >= 0
