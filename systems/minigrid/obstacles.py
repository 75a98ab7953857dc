"""Dynamic-Obstacles: balls that wander, and must not be bumped into."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.appearance import BLUE
from components.minigrid import BALL
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import FORWARD, MOVE_FORWARD
from gv_engine.rules.system import RESET, REWARD, TERMINATING, TRANSITION, system
from gv_engine.rules.world import World
from systems.minigrid.levels import empty
from systems.minigrid.placing import draw_free_cell, place, whole
from systems.queries import towards

_ATTEMPTS = 101
"""After which a ball stays where it is: one more than the reference says."""


@system(RESET)
def obstacles(
    w: World, shape: Sequence[int], num_obstacles: int, random_start: bool = False
) -> None:
    """An empty room where balls wander."""
    empty(w, shape, random_start)
    for _ in range(num_obstacles):
        place(w, BALL, BLUE, whole(w))


def by_age(w: World, object_type: int) -> NDArray[np.int64]:
    """The objects of a type on the grid of a level that nothing is taken out of, as they came."""
    found = np.empty(w.placed[object_type], np.int64)
    count = 0
    for e in range(w.capacity):
        if count == len(found):
            break
        if w.kind.value[e] == object_type:
            found[count] = e
            count += 1
    return found[:count]


@system(TRANSITION)
def move_balls(w: World) -> None:
    """Every ball goes to a free cell beside it or across a corner, unless it finds none."""
    for ball in by_age(w, BALL):
        around = w.position.y[ball] - 1, w.position.x[ball] - 1, 3, 3
        y, x = draw_free_cell(w, around, 1, _ATTEMPTS)
        if y >= 0:
            w.place(ball, y, x)


def would_hit(w: World, agent: int, action: int) -> bool:
    """Whether the agent would walk into something, a wall too, be it a ball that is about to
    leave."""
    thing = w.at[towards(w, agent, FORWARD)]
    return action == MOVE_FORWARD and thing != NOTHING and not w.exit.has[thing]


def hits(w: World, agent: int) -> bool:
    """Whether the agent walks into something."""
    return would_hit(w, agent, w.action[agent])


@system(REWARD, remember=hits, answers=would_hit)
def hit(w: World, agent: int, was: float) -> float:
    """Costs 1 to walk into something."""
    return -1.0 if was else 0.0


@system(TERMINATING, remember=hits, answers=would_hit, says="You walked into something")
def hit_something(w: World, agent: int, was: float) -> bool:
    """The agent walked into something."""
    return was != 0
