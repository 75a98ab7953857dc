"""Questions that rules ask: what is here, what is ahead, does it block?"""

from typing import Any

from components.doors import OPEN
from components.objects import WALL
from gv_engine.language.geometry import MOVE_RIGHT, step_x, step_y, turned
from gv_engine.language.verbs import verb


def here(w: Any, agent: int) -> int:
    """The object that the agent stands on, or NOTHING."""
    e: int = w.at[w.position.y[agent], w.position.x[agent]]
    return e


def ahead(w: Any, agent: int) -> int:
    """The object in front of the agent, or NOTHING (also beyond the grid)."""
    facing = w.agent.facing[agent]
    e: int = w.at[w.position.y[agent] + step_y(facing), w.position.x[agent] + step_x(facing)]
    return e


def towards(w: Any, agent: int, direction: int) -> tuple[int, int]:
    """The cell next to the agent in a direction relative to where it looks."""
    absolute = turned(w.agent.facing[agent], direction)
    return w.position.y[agent] + step_y(absolute), w.position.x[agent] + step_x(absolute)


def blocks_movement(w: Any, e: int) -> bool:
    """Whether nobody can enter the cell of this object."""
    return w.solid.has[e] | (w.door.status[e] != OPEN)  # type: ignore[no-any-return]


@verb
def blocks_vision(w: Any, e: int) -> bool:
    """Whether nobody can see past this object."""
    return w.opaque.has[e] | (w.door.status[e] != OPEN)  # type: ignore[no-any-return]


def stands_on(w: Any, agent: int, object_type: int) -> bool:
    """Whether the agent's cell holds an object of a type; Floor if it is free."""
    return w.kind.value[here(w, agent)] == object_type  # type: ignore[no-any-return]


def matches_beacon(w: Any, e: int) -> bool:
    """Whether an object has the colour of the first beacon on the grid."""
    for y in range(w.height):
        for x in range(w.width):
            if w.beacon.has[w.at[y, x]]:
                return w.color.value[w.at[y, x]] == w.color.value[e]  # type: ignore[no-any-return]
    return False


def bumps(w: Any, agent: int) -> bool:
    """Whether the cell that the action leads to is a wall; for other actions, the agent's own."""
    y, x = w.position.y[agent], w.position.x[agent]
    if w.action <= MOVE_RIGHT:
        y, x = towards(w, agent, w.action)
    return w.inside(y, x) and w.kind.value[w.at[y, x]] == WALL  # type: ignore[no-any-return]


def distance_to(w: Any, agent: int, object_type: int, distance_function: Any) -> float:
    """From the agent to the one object of a type, by a function of (dy, dx)."""
    e = w.unique(object_type)
    if e == 0:
        w.fail("needs exactly one object of its object_type on the grid, found none or several")
    dy = w.position.y[agent] - w.position.y[e]
    dx = w.position.x[agent] - w.position.x[e]
    return distance_function(dy, dx)  # type: ignore[no-any-return]
