"""Queries for rules: find objects, test cells, and compare objects with missions."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from components.core import NONE, NONE_GRID_OBJECT
from components.items import OPEN
from components.objects import WALL
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import (
    ASSIST,
    BACKWARD,
    FORWARD,
    LEFT,
    MOVE_BACKWARD,
    MOVE_FORWARD,
    MOVE_LEFT,
    MOVE_RIGHT,
    RIGHT,
    rotate,
    step_x,
    step_y,
)
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.world import Columns, World, verb

MOVES = MOVE_FORWARD, MOVE_BACKWARD, MOVE_LEFT, MOVE_RIGHT
"""MOVE actions. Each has the number of its direction, relative to the agent's orientation."""


def is_assisted(w: World, agent: int, action: int) -> bool:
    """Return True if nobody plays the agent: a transition with this condition, before all others,
    chooses the agent's action and writes it into `w.action[agent]`."""
    return action == ASSIST


def here(w: World, agent: int) -> int:
    """Return the object in the agent's cell, else the ground object there, else NOTHING."""
    y, x = w.position.y[agent], w.position.x[agent]
    thing = top_of(w, y, x) if w.between else w.at[y, x]
    return thing if thing != NOTHING else w.ground[y, x]


def here_with(w: World, agent: int, columns: Columns) -> int:
    """Return the object in the agent's cell, or else the ground object there, that has the
    component of `columns`, or NOTHING if neither has."""
    return object_with_at(w, w.position.y[agent], w.position.x[agent], columns)


def object_with_at(w: World, y: int, x: int, columns: Columns) -> int:
    """Return the object in cell (y, x) that has a component, given by its `columns` such as
    `w.door`: the object above, or else the one on the ground. Return NOTHING if neither has it."""
    thing, below = w.at[y, x], w.ground[y, x]
    if columns.has[thing]:
        return thing
    for cells in w.between:
        if columns.has[cells[y, x]]:
            return cells[y, x]
    return below if below != NOTHING and columns.has[below] else NOTHING


def beside(y: int, x: int, direction: int) -> tuple[int, int]:
    """Return the neighbouring cell (y, x) in a direction, which may be off the grid."""
    return y + step_y(direction), x + step_x(direction)


def neighbours(y: int, x: int) -> tuple[tuple[int, int], ...]:
    """Return the four neighbouring cells (y, x), clockwise from the one above. They may be off the
    grid."""
    return beside(y, x, FORWARD), beside(y, x, RIGHT), beside(y, x, BACKWARD), beside(y, x, LEFT)


def ahead(w: World, agent: int) -> int:
    """Return the object in front of the agent, or NOTHING if there is none or the cell is off the
    grid. Objects of the ground layer do not count."""
    if w.between:
        return top_of(w, *towards(w, agent, FORWARD))
    return w.at[beside(w.position.y[agent], w.position.x[agent], w.agent.facing[agent])]


def top_of(w: World, y: int, x: int) -> int:
    """Return the topmost object in a cell that does not lie on the ground, or NOTHING."""
    thing = w.at[y, x]
    for cells in w.between:
        thing = thing if thing != NOTHING else cells[y, x]
    return thing


def towards(w: World, agent: int, direction: int) -> tuple[int, int]:
    """Return the cell (y, x) next to the agent in `direction`, which is relative to the agent's
    orientation."""
    absolute = rotate(w.agent.facing[agent], direction)
    # not by `beside`, because object worlds call this function most often
    return w.position.y[agent] + step_y(absolute), w.position.x[agent] + step_x(absolute)


def is_free(w: World, y: int, x: int) -> bool:
    """Return True if a cell is on the grid and has no object. Objects of its ground layer do not
    count."""
    return w.inside(y, x) and w.at[y, x] == NOTHING


def all_with(w: World, columns: Columns) -> NDArray[np.int64]:
    """Return the objects on the grid that have a component, in row order: `all_with(w,
    w.telepod)`."""
    return w.having(columns)


def all_of(w: World, object_type: int) -> NDArray[np.int64]:
    """Return the objects of a type on the grid, row by row."""
    return w.of_type(object_type)


def any_on_grid(w: World, object_type: int) -> bool:
    """Return True if an object of the type is on the grid."""
    return w.placed[object_type] > 0


def first_with(w: World, columns: Columns) -> int:
    """Return the first object on the grid, in row order, that has the component of `columns`, or
    NOTHING if there is none."""
    objects = w.having(columns)
    return objects[0] if len(objects) > 0 else NOTHING


def same_color(w: World, entity: int, other: int) -> bool:
    """Return True if two objects have the same colour."""
    return w.color.value[entity] == w.color.value[other]


def can_enter(w: World, y: int, x: int) -> bool:
    """Return True if cell (y, x) is on the grid, and no object in it blocks movement.

    Agents do not count; `w.is_taken` returns whether an agent blocks the cell.
    """
    if not w.inside(y, x) or blocks_movement(w, w.at[y, x]):
        return False
    for cells in w.between:
        if blocks_movement(w, cells[y, x]):
            return False
    below = w.ground[y, x]
    return below == NOTHING or not blocks_movement(w, below)


def has_space_for(w: World, object_type: int, y: int, x: int) -> bool:
    """Return True if an object of a type can move into a cell: the cell has no object on the type's
    layer and none that blocks movement. Agents do not count."""
    return can_enter(w, y, x) and w.on_layer_of(object_type, y, x) == NOTHING


def has_room(w: World, y: int, x: int) -> bool:
    """Return True if an object can be moved into a cell: the cell has no object, no blocking ground
    object and no agent."""
    return is_free(w, y, x) and can_enter(w, y, x) and w.agent_at(y, x) == NOTHING


def has_layer_for(w: World, e: int, y: int, x: int, replaced: int = NOTHING) -> bool:
    """Return True if a cell has no object on the layer of object `e`, or no other one than
    `replaced`."""
    return w.on_layer_of(w.kind.value[e], y, x) in (NOTHING, replaced)


def is_at(w: World, y: int, x: int, object_type: int) -> bool:
    """Return True if a cell has an object of this type."""
    e = w.on_layer_of(object_type, y, x)
    return e != NOTHING and w.kind.value[e] == object_type


def count_covered(w: World, agent: int, object_type: int, other_type: int) -> int:
    """Return how many objects of `object_type` are in one cell with an object of `other_type`.
    `agent` is not used."""
    count = 0
    for e in all_of(w, object_type):
        count += is_at(w, w.position.y[e], w.position.x[e], other_type)
    return count


def are_all_covered(w: World, agent: int, object_type: int, other_type: int) -> bool:
    """Return True if there are objects of `object_type` and each shares its cell with an object of
    `other_type`. `agent` is ignored."""
    count = w.placed[object_type]
    return count > 0 and count_covered(w, agent, object_type, other_type) == count


def check_layers_differ(types: ObjectTypes, object_type: int, other_type: int) -> str:
    """Return an error message if objects of two types can never share a cell, because the types
    have the same layer, else ""."""
    first, second = types[object_type], types[other_type]
    if first.layer != second.layer:
        return ""
    names = f"{first.name} and {second.name}"
    return f"{names} have the same layer, {first.layer}, and a cell holds one of each"


@verb
def blocks_movement(w: World, entity: int) -> bool:
    """Return True if the object keeps agents and objects out of its cell: it is solid, or a door
    that is not open."""
    return w.solid.has[entity] | (w.door.status[entity] != OPEN)


@verb
def blocks_vision(w: World, entity: int) -> bool:
    """Return True if the object hides cells behind it: it is opaque, or a door that is not open."""
    return w.opaque.has[entity] | (w.door.status[entity] != OPEN)


@verb
def write_distances(
    w: World,
    y: int,
    x: int,
    distances: NDArray[np.int64],
    object_type: int = NONE_GRID_OBJECT,
    can_wait: bool = False,
) -> None:
    """Write the length of the shortest path from cell (y, x) to each cell of the grid into
    `distances` (height, width), found by breadth-first search; -1 where there is no path.

    Args:
        distances: (at least H, at least W) array to fill; -1 where no path leads.
        object_type, can_wait: see `can_pass`.
    """
    queue = np.empty(w.height * w.width, np.int64)
    distances[: w.height, : w.width] = -1
    distances[y, x] = 0
    queue[0] = y * w.width + x
    queue_length, num_visited = 1, 0
    while num_visited < queue_length:
        cell = queue[num_visited]
        near_y, near_x = cell // w.width, cell % w.width
        num_visited += 1
        for direction in range(4):
            to_y, to_x = beside(near_y, near_x, direction)
            if can_pass(w, object_type, to_y, to_x, can_wait) and distances[to_y, to_x] < 0:
                distances[to_y, to_x] = distances[near_y, near_x] + 1
                queue[queue_length] = to_y * w.width + to_x
                queue_length += 1


def can_pass(w: World, object_type: int, y: int, x: int, can_wait: bool) -> bool:
    """Return True if a path may lead through cell (y, x): for objects of a type, or for agents if
    it is NONE_GRID_OBJECT. `can_wait` also allows cells that agents can enter, where an object may
    have to wait until the cell is free."""
    if object_type == NONE_GRID_OBJECT:
        return can_enter(w, y, x)
    if has_space_for(w, object_type, y, x) or (can_wait and can_enter(w, y, x)):
        return True
    thing = w.on_layer_of(object_type, y, x) if w.inside(y, x) else NOTHING
    is_mover = w.kind.value[thing] == object_type
    return is_mover and w.state_of(thing) == w.num_states(object_type) - 1


def object_steps_from(
    w: World, object_type: int, y: int, x: int, can_wait: bool = False
) -> NDArray[np.int64]:
    """Return (H, W) the shortest path length from the cell (y, x) to each cell for an object of a
    type: over cells that have space for it, and over objects of the type in their last state, which
    move on themselves. It is -1 where no path leads. `can_wait`: also over cells that agents can
    enter, where an object has to wait until another is gone."""
    distances = np.empty((w.height, w.width), np.int64)
    write_distances(w, y, x, distances, object_type, can_wait)
    return distances


def stands_on(w: World, agent: int, object_type: int) -> bool:
    """Return True if the agent's cell has an object of this type. Floor matches a cell without an
    object."""
    y, x = w.position.y[agent], w.position.x[agent]
    return w.kind.value[w.on_layer_of(object_type, y, x)] == object_type


def matches_mission(w: World, agent: int, entity: int) -> bool:
    """Return True if an object has the type and colour in the agent's mission. A type or colour
    that is not set matches all."""
    kind = w.mission.kind[agent]
    color = w.mission.color[agent]
    return (
        entity != NOTHING
        and (kind == NONE_GRID_OBJECT or w.kind.value[entity] == kind)
        and (color == NONE or w.color.value[entity] == color)
    )


def holds_mission_target(w: World, agent: int) -> bool:
    """Return True if the agent holds an object that its mission names."""
    return matches_mission(w, agent, w.agent.holding[agent])


def holds_wrong_object(w: World, agent: int) -> bool:
    """Return True if the agent holds an object that does not match its mission."""
    held = w.agent.holding[agent]
    return held != NOTHING and not matches_mission(w, agent, held)


def reaches_mission_target(w: World, agent: int) -> bool:
    """Return True if the agent stands on an object that its mission names, or in front of one."""
    return matches_mission(w, agent, here(w, agent)) or matches_mission(w, agent, ahead(w, agent))


def matches_beacon(w: World, entity: int) -> bool:
    """Return True if an object has the colour of the first beacon on the grid."""
    beacon = first_with(w, w.beacon)
    return beacon != NOTHING and same_color(w, beacon, entity)


def hits_wall(w: World, agent: int) -> bool:
    """Return True if the agent's current action moves it into a wall, or if the action is no move
    and the agent stands in a wall."""
    return would_hit_wall(w, agent, w.action[agent])


def would_hit_wall(w: World, agent: int, action: int) -> bool:
    """Return True if `action` moves the agent into a wall, or if it is no move and the agent stands
    in a wall."""
    y, x = w.position.y[agent], w.position.x[agent]
    if action in MOVES:
        y, x = towards(w, agent, action)
    return w.inside(y, x) and w.kind.value[w.at[y, x]] == WALL


def distance_to(
    w: World, agent: int, object_type: int, distance_function: Callable[[int, int], float]
) -> float:
    """Return the distance from the agent to the only object of this type, computed by
    `distance_function(dy, dx)`, such as `math.hypot`.

    The level fails unless there is exactly one such object.
    """
    e = w.unique(object_type)
    if e == NOTHING:
        w.fail("needs exactly one object of its object_type on the grid, found none or several")
    dy = w.position.y[agent] - w.position.y[e]
    dx = w.position.x[agent] - w.position.x[e]
    return distance_function(dy, dx)
