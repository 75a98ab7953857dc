"""Terminating rules: conditions that end an episode (GridVerse specification, section 5)."""

from collections.abc import Callable, Sequence

from gv_engine.rules.component import NOTHING
from gv_engine.rules.system import TERMINATING, system
from gv_engine.rules.world import World
from systems.movers import check_is_oriented
from systems.queries import (
    all_of,
    are_all_covered,
    beside,
    blocks_vision,
    check_layers_differ,
    here,
    here_with,
    hits_wall,
    holds_mission_target,
    holds_wrong_object,
    matches_beacon,
    reaches_mission_target,
    stands_on,
    would_hit_wall,
)


@system(TERMINATING)
def overlap(w: World, agent: int, object_type: int) -> bool:
    """The agent stands on an object of a type."""
    return stands_on(w, agent, object_type)


@system(TERMINATING, says="You reached the exit")
def reach_exit(w: World, agent: int) -> bool:
    """The agent stands on an exit."""
    return here_with(w, agent, w.exit) != NOTHING


@system(TERMINATING)
def reach_exit_memory(w: World, agent: int) -> bool:
    """The agent stands on the exit of the beacon's colour."""
    e = here_with(w, agent, w.exit)
    return e != NOTHING and matches_beacon(w, e)


@system(TERMINATING, says="You bumped into an obstacle")
def bump_moving_obstacle(w: World, agent: int) -> bool:
    """A moving obstacle is in the agent's cell."""
    return w.moving_obstacle.has[here(w, agent)]


@system(TERMINATING, remember=hits_wall, answers=would_hit_wall, says="You walked into a wall")
def bump_into_wall(w: World, agent: int, was: float) -> bool:
    """The agent tried to walk into a wall."""
    return was != 0


@system(TERMINATING)
def none_left(w: World, agent: int, object_type: int, spare: int = 0) -> bool:
    """No more than `spare` objects of a type are left on the grid."""
    return w.placed[object_type] <= spare


@system(TERMINATING, check=check_is_oriented, says="You were seen")
def seen(w: World, agent: int, object_type: int, reach: int = 3) -> bool:
    """An object of a type faces the agent, at most `reach` cells away, with nothing opaque between
    them."""
    for watcher in all_of(w, object_type):
        y, x = w.position.y[watcher], w.position.x[watcher]
        for _ in range(reach):
            y, x = beside(y, x, w.state_of(watcher))
            if not w.inside(y, x):
                break
            if y == w.position.y[agent] and x == w.position.x[agent]:
                return True
            if blocks_vision(w, w.at[y, x]):
                break
    return False


@system(TERMINATING, says="You fetched what was asked for")
def fetch_mission(w: World, agent: int) -> bool:
    """The agent holds the object of its mission."""
    return holds_mission_target(w, agent)


@system(TERMINATING, says="You fetched something else than was asked for")
def fetch_other(w: World, agent: int) -> bool:
    """The agent holds an object that its mission does not name."""
    return holds_wrong_object(w, agent)


@system(TERMINATING, says="You reached what was asked for")
def reach_mission(w: World, agent: int) -> bool:
    """The agent stands on the object of its mission, or in front of it."""
    return reaches_mission_target(w, agent)


@system(TERMINATING, check=check_layers_differ)
def all_covered(w: World, agent: int, object_type: int, other_type: int) -> bool:
    """There are objects of a type, and each shares its cell with an object of another type."""
    return are_all_covered(w, agent, object_type, other_type)


@system(TERMINATING)
def reduce_any(w: World, agent: int, terminating_functions: Sequence[bool]) -> bool:
    """At least one of several conditions holds."""
    for is_over in terminating_functions:
        if is_over:
            return True
    return False


@system(TERMINATING)
def reduce_all(w: World, agent: int, terminating_functions: Sequence[bool]) -> bool:
    """All of several conditions hold."""
    for is_over in terminating_functions:
        if not is_over:
            return False
    return True


def check_reduction(terminating_functions: Sequence[bool], reduction: Callable[..., bool]) -> str:
    """Return an error message if the reduction is `max` or `min` and the list is empty; else ""."""
    if terminating_functions or reduction not in (max, min):
        return ""
    return f"there is no {reduction.__name__} of no terminating_functions; list at least one"


@system(TERMINATING, check=check_reduction)
def reduce(
    w: World, agent: int, terminating_functions: Sequence[bool], reduction: Callable[..., bool]
) -> bool:
    """A function of several conditions, such as `builtins:any`, returns True."""
    return reduction(terminating_functions)
