"""Questions that rules ask: what is here, what is ahead, does it block?"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from components.appearance import NONE, NONE_GRID_OBJECT
from components.doors import OPEN
from components.objects import WALL
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import (
    BACKWARD,
    FORWARD,
    LEFT,
    MOVE_RIGHT,
    RIGHT,
    rotate,
    step_x,
    step_y,
)
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.world import Columns, World, verb


def here(w: World, agent: int) -> int:
    """The object that the agent stands on, the thing there or else what is on the ground; or
    NOTHING."""
    y, x = w.position.y[agent], w.position.x[agent]
    thing = w.at[y, x]
    return thing if thing != NOTHING else w.ground[y, x]


def here_with(w: World, agent: int, columns: Columns) -> int:
    """The object in the agent's cell, on whichever layer, that has a component, or NOTHING."""
    return with_at(w, w.position.y[agent], w.position.x[agent], columns)


def with_at(w: World, y: int, x: int, columns: Columns) -> int:
    """The object in a cell, on whichever layer, that has a component, or NOTHING."""
    thing, below = w.at[y, x], w.ground[y, x]
    if columns.has[thing]:
        return thing
    return below if below != NOTHING and columns.has[below] else NOTHING


def beside(y: int, x: int, way: int) -> tuple[int, int]:
    """The next cell in a direction, which may be off the grid."""
    return y + step_y(way), x + step_x(way)


def neighbours(y: int, x: int) -> tuple[tuple[int, int], ...]:
    """The four cells beside a cell, clockwise from the one above; some may be off the grid."""
    return beside(y, x, FORWARD), beside(y, x, RIGHT), beside(y, x, BACKWARD), beside(y, x, LEFT)


def ahead(w: World, agent: int) -> int:
    """The object in front of the agent, or NOTHING (also beyond the grid)."""
    return w.at[beside(w.position.y[agent], w.position.x[agent], w.agent.facing[agent])]


def towards(w: World, agent: int, direction: int) -> tuple[int, int]:
    """The cell next to the agent in a direction relative to where it looks."""
    way = rotate(w.agent.facing[agent], direction)
    return beside(w.position.y[agent], w.position.x[agent], way)


def is_free(w: World, y: int, x: int) -> bool:
    """Whether there is such a cell, and no object in it but maybe on the ground."""
    return w.inside(y, x) and w.at[y, x] == NOTHING


def all_with(w: World, columns: Columns) -> NDArray[np.int64]:
    """The objects on the grid that have a component, row by row: `all_with(w, w.telepod)`."""
    return w.having(columns)


def all_of(w: World, object_type: int) -> NDArray[np.int64]:
    """The objects of a type on the grid, row by row."""
    return w.of_type(object_type)


def are_there(w: World, object_type: int) -> bool:
    """Whether there are objects of a type on the grid."""
    return w.placed[object_type] > 0


def first_with(w: World, columns: Columns) -> int:
    """The first object on the grid that has a component, row by row, or NOTHING."""
    found = w.having(columns)
    return found[0] if len(found) > 0 else NOTHING


def same_color(w: World, e: int, other: int) -> bool:
    """Whether two objects have the same colour."""
    return w.color.value[e] == w.color.value[other]


def can_enter(w: World, y: int, x: int) -> bool:
    """Whether there is such a cell, and no object in it that blocks; `w.is_taken` tells whether an
    agent does."""
    if not w.inside(y, x) or blocks_movement(w, w.at[y, x]):
        return False
    below = w.ground[y, x]
    return below == NOTHING or not blocks_movement(w, below)


def has_room(w: World, y: int, x: int) -> bool:
    """Whether a thing can come into a cell: none is there, nothing blocks, and no agent stands
    there."""
    return is_free(w, y, x) and can_enter(w, y, x) and w.agent_at(y, x) == NOTHING


def is_at(w: World, y: int, x: int, object_type: int) -> bool:
    """Whether an object of a type is in a cell, on its layer."""
    e = w.on_layer_of(object_type, y, x)
    return e != NOTHING and w.kind.value[e] == object_type


def count_covered(w: World, agent: int, object_type: int, other_type: int) -> int:
    """How many objects of a type share their cell with one of another type, on another layer."""
    count = 0
    for e in all_of(w, object_type):
        count += is_at(w, w.position.y[e], w.position.x[e], other_type)
    return count


def on_one_layer(types: ObjectTypes, object_type: int, other_type: int) -> str:
    """What is wrong if objects of two types never share a cell."""
    kinds = types[object_type], types[other_type]
    if kinds[0].layer != kinds[1].layer:
        return ""
    names = " and ".join(kind.name for kind in kinds)
    return f"{names} have the same layer, {kinds[0].layer}, and a cell holds one of each"


@verb
def blocks_movement(w: World, e: int) -> bool:
    """Whether nobody can enter the cell of this object."""
    return w.solid.has[e] | (w.door.status[e] != OPEN)


@verb
def blocks_vision(w: World, e: int) -> bool:
    """Whether nobody can see past this object."""
    return w.opaque.has[e] | (w.door.status[e] != OPEN)


@verb
def walk_from(w: World, y: int, x: int, steps: NDArray[np.int64]) -> None:
    """Find the steps from a cell to each around what blocks, for `w.steps_from(y, x)`.

    Args:
        steps: (H, W) or more, to be filled; -1 where no way leads.
    """
    cells = np.empty(w.height * w.width, np.int64)
    steps[: w.height, : w.width] = -1
    steps[y, x] = 0
    cells[0] = y * w.width + x
    count = 1
    at = 0
    while at < count:
        near_y, near_x = cells[at] // w.width, cells[at] % w.width
        at += 1
        for way in range(4):
            to_y, to_x = beside(near_y, near_x, way)
            if can_enter(w, to_y, to_x) and steps[to_y, to_x] < 0:
                steps[to_y, to_x] = steps[near_y, near_x] + 1
                cells[count] = to_y * w.width + to_x
                count += 1


def stands_on(w: World, agent: int, object_type: int) -> bool:
    """Whether the agent's cell holds an object of a type, on the layer of that; Floor if there is
    no thing in it."""
    y, x = w.position.y[agent], w.position.x[agent]
    return w.kind.value[w.on_layer_of(object_type, y, x)] == object_type


def is_asked_for(w: World, agent: int, e: int) -> bool:
    """Whether an object is one that the agent's mission is about: of its type, if it has one, and
    of its colour."""
    kind = w.mission.kind[agent]
    color = w.mission.color[agent]
    return (
        e != NOTHING
        and (kind == NONE_GRID_OBJECT or w.kind.value[e] == kind)
        and (color == NONE or w.color.value[e] == color)
    )


def holds_asked(w: World, agent: int) -> bool:
    """Whether the agent holds what its mission is about."""
    return is_asked_for(w, agent, w.agent.holding[agent])


def holds_other(w: World, agent: int) -> bool:
    """Whether the agent holds something that its mission is not about."""
    held = w.agent.holding[agent]
    return held != NOTHING and not is_asked_for(w, agent, held)


def reaches_asked(w: World, agent: int) -> bool:
    """Whether the agent stands on what its mission is about, or in front of it."""
    return is_asked_for(w, agent, here(w, agent)) or is_asked_for(w, agent, ahead(w, agent))


def matches_beacon(w: World, e: int) -> bool:
    """Whether an object has the colour of the first beacon on the grid."""
    beacon = first_with(w, w.beacon)
    return beacon != NOTHING and same_color(w, beacon, e)


def bumps(w: World, agent: int) -> bool:
    """Whether a move would end in a wall; for other actions, whether the agent stands in one."""
    return would_bump(w, agent, w.action[agent])


def would_bump(w: World, agent: int, action: int) -> bool:
    """The same, were this the action."""
    y, x = w.position.y[agent], w.position.x[agent]
    if action <= MOVE_RIGHT:
        y, x = towards(w, agent, action)
    return w.inside(y, x) and w.kind.value[w.at[y, x]] == WALL


def distance_to(
    w: World, agent: int, object_type: int, distance_function: Callable[[int, int], float]
) -> float:
    """From the agent to the one object of a type, by a function of (dy, dx)."""
    e = w.unique(object_type)
    if e == NOTHING:
        w.fail("needs exactly one object of its object_type on the grid, found none or several")
    dy = w.position.y[agent] - w.position.y[e]
    dx = w.position.x[agent] - w.position.x[e]
    return distance_function(dy, dx)
