"""Terminating functions: when an episode is over (GridVerse specification, section 5)."""

from collections.abc import Callable, Sequence

from gv_engine.rules.component import NOTHING
from gv_engine.rules.system import TERMINATING, system
from gv_engine.rules.world import World
from systems.movers import looks_nowhere
from systems.queries import (
    all_of,
    beside,
    blocks_vision,
    bumps,
    count_covered,
    here,
    here_with,
    holds_asked,
    holds_other,
    matches_beacon,
    on_one_layer,
    reaches_asked,
    stands_on,
    would_bump,
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
    """The agent stands where a moving obstacle is."""
    return w.moving_obstacle.has[here(w, agent)]


@system(TERMINATING, remember=bumps, answers=would_bump, says="You walked into a wall")
def bump_into_wall(w: World, agent: int, was: float) -> bool:
    """The agent tried to walk into a wall."""
    return was != 0


@system(TERMINATING)
def none_left(w: World, agent: int, object_type: int, spare: int = 0) -> bool:
    """There is no object of a type on the grid any more, or no more than some to spare."""
    return w.placed[object_type] <= spare


@system(
    TERMINATING,
    check=looks_nowhere,
    says="You were seen",
)
def seen(w: World, agent: int, object_type: int, reach: int = 3) -> bool:
    """The agent stands within reach on the line along which an object of a type looks, whose states
    are FORWARD, BACKWARD, LEFT and RIGHT; what is opaque is in the way."""
    for thing in all_of(w, object_type):
        y, x = w.position.y[thing], w.position.x[thing]
        for _ in range(reach):
            y, x = beside(y, x, w.state_of(thing))
            if not w.inside(y, x):
                break
            if y == w.position.y[agent] and x == w.position.x[agent]:
                return True
            if blocks_vision(w, w.at[y, x]):
                break
    return False


@system(TERMINATING, says="You fetched what was asked for")
def fetch_mission(w: World, agent: int) -> bool:
    """The agent holds what its mission is about."""
    return holds_asked(w, agent)


@system(TERMINATING, says="You fetched something else than was asked for")
def fetch_other(w: World, agent: int) -> bool:
    """The agent holds something that its mission is not about."""
    return holds_other(w, agent)


@system(TERMINATING, says="You reached what was asked for")
def reach_mission(w: World, agent: int) -> bool:
    """The agent stands on what its mission is about, or in front of it."""
    return reaches_asked(w, agent)


@system(TERMINATING, check=on_one_layer)
def all_covered(w: World, agent: int, object_type: int, other_type: int) -> bool:
    """There are objects of a type, and each shares its cell with one of another type: every target
    has a crate on it."""
    count = w.placed[object_type]
    return count > 0 and count_covered(w, agent, object_type, other_type) == count


@system(TERMINATING)
def reduce_any(w: World, agent: int, terminating_functions: Sequence[bool]) -> bool:
    """Any of several."""
    for over in terminating_functions:
        if over:
            return True
    return False


@system(TERMINATING)
def reduce_all(w: World, agent: int, terminating_functions: Sequence[bool]) -> bool:
    """All of several."""
    for over in terminating_functions:
        if not over:
            return False
    return True


def nothing_to_reduce(terminating_functions: Sequence[bool], reduction: Callable[..., bool]) -> str:
    """What is wrong if there is no largest or least of nothing."""
    if terminating_functions or reduction not in (max, min):
        return ""
    return f"there is no {reduction.__name__} of no terminating_functions; list at least one"


@system(TERMINATING, check=nothing_to_reduce)
def reduce(
    w: World, agent: int, terminating_functions: Sequence[bool], reduction: Callable[..., bool]
) -> bool:
    """Several made one by a function of all of them, such as `builtins:any`."""
    return reduction(terminating_functions)
