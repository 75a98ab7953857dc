"""MiniGrid's Dynamic-Obstacles: moving balls that the agent must not bump into."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.core import BLUE
from components.minigrid import BALL
from gv_engine.plugins.minigrid.systems.levels import empty
from gv_engine.plugins.minigrid.systems.placing import place, random_free_cell, whole_grid
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import FORWARD, MOVE_FORWARD
from gv_engine.rules.system import RESET, REWARD, TERMINATING, TRANSITION, system
from gv_engine.rules.world import World
from systems.queries import towards

_ATTEMPTS = 101
"""Attempts after which a ball stays in its cell: one more than the reference's constant."""


@system(RESET)
def obstacles(
    w: World, shape: Sequence[int], num_obstacles: int, random_start: bool = False
) -> None:
    """Build an empty room where balls move at random."""
    empty(w, shape, random_start)
    for _ in range(num_obstacles):
        place(w, BALL, BLUE, whole_grid(w))


def in_spawn_order(w: World, object_type: int) -> NDArray[np.int64]:
    """Return the objects of a type on the grid in the order in which they were created (by entity
    number).

    The level must not remove objects.
    """
    objects = np.empty(w.placed[object_type], np.int64)
    count = 0
    for entity in range(w.capacity):
        if count == len(objects):
            break
        if w.kind.value[entity] == object_type:
            objects[count] = entity
            count += 1
    return objects[:count]


@system(TRANSITION)
def move_balls(w: World) -> None:
    """Every ball goes to a random free cell next to it, diagonals included, if a few attempts find
    one."""
    for ball in in_spawn_order(w, BALL):
        around = w.position.y[ball] - 1, w.position.x[ball] - 1, 3, 3
        y, x = random_free_cell(w, around, 1, _ATTEMPTS)
        if y >= 0:
            w.place(ball, y, x)


def would_hit_object(w: World, agent: int, action: int) -> bool:
    """Return True if the action moves the agent ahead into an object other than the goal, such as a
    wall.

    Balls count in the cell where they were before they move.
    """
    thing = w.at[towards(w, agent, FORWARD)]
    return action == MOVE_FORWARD and thing != NOTHING and not w.exit.has[thing]


def hits_object(w: World, agent: int) -> bool:
    """Return True if the agent walks into an object."""
    return would_hit_object(w, agent, w.action[agent])


@system(REWARD, remember=hits_object, answers=would_hit_object)
def hit(w: World, agent: int, was: float) -> float:
    """Costs 1 for walking into something."""
    return -1.0 if was else 0.0


@system(
    TERMINATING, remember=hits_object, answers=would_hit_object, says="You walked into something"
)
def hit_something(w: World, agent: int, was: float) -> bool:
    """The agent walked into something."""
    return was != 0
