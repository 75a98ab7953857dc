"""Transitions of objects that move, change or spread by themselves."""

import numpy as np
from numpy.typing import NDArray

from components.core import FLOOR
from components.objects import WALL
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import BACKWARD, ORIENTATIONS, rotate
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.system import TRANSITION, system
from gv_engine.rules.world import World
from systems.building import put
from systems.queries import (
    MOVES,
    all_of,
    any_on_grid,
    beside,
    can_enter,
    has_room,
    has_space_for,
    here,
    neighbours,
    object_steps_from,
    stands_on,
    towards,
)


def check_is_oriented(types: ObjectTypes, object_type: int) -> str:
    """Return an error message if the states of a type are not the four orientations, else ""."""
    kind = types[object_type]
    if kind.is_oriented:
        return ""
    return f"{kind.name} has no orientations; its states must be {', '.join(ORIENTATIONS)}"


@system(TRANSITION, when=any_on_grid, check=check_is_oriented)
def patrol(w: World, object_type: int) -> None:
    """Objects of a type move in the direction they face, and turn round where an object or blocking
    ground is ahead. An object with an agent on it stays."""
    for thing in all_of(w, object_type):
        direction = w.state_of(thing)
        y, x = beside(w.position.y[thing], w.position.x[thing], direction)
        if not has_space_for(w, object_type, y, x):
            w.set_state(thing, rotate(direction, BACKWARD))
        elif w.agent_at(w.position.y[thing], w.position.x[thing]) == NOTHING:
            w.place(thing, y, x)


@system(TRANSITION, when=any_on_grid)
def chase(w: World, object_type: int) -> None:
    """Objects of a type in their last state move one step closer to the nearest agent that is not
    done, around everything that they cannot enter: also objects that agents walk over, such as
    coins and open doors. If these leave no path, the objects come as near as they can."""
    last = w.num_states(object_type) - 1
    things = [thing for thing in all_of(w, object_type) if w.state_of(thing) == last]
    for can_wait in (False, True):
        if len(things) > 0:
            paths = measure_paths(w, object_type, can_wait)
            things = [thing for thing in things if not move_closer(w, thing, paths)]


def measure_paths(w: World, object_type: int, can_wait: bool) -> NDArray[np.int64]:
    """Return (A + 1, H, W) path lengths: from each cell to each of the A agents, for an object of
    this type. All are -1 for an agent that is done or out of play. With `can_wait`, paths may lead
    through cells where the object has to wait."""
    paths = np.full((len(w.agents()) + 1, w.height, w.width), -1)
    for agent in w.agents():
        y, x = w.position.y[agent], w.position.x[agent]
        if not w.done[agent] and y >= 0:
            paths[agent] = object_steps_from(w, object_type, y, x, can_wait)
    return paths


def move_closer(w: World, entity: int, paths: NDArray[np.int64]) -> bool:
    """Move an object one step closer to the nearest agent (the first of several at equal distance)
    if the next cell has space. Return False if no path leads to an agent. `paths` is the result of
    `measure_paths`.

    Args:
        paths: (A + 1, H, W) path length from each cell to each agent, -1 without a path.
    """
    y, x = w.position.y[entity], w.position.x[entity]
    nearest = NOTHING
    for agent in w.agents():
        is_nearer = nearest == NOTHING or paths[agent, y, x] < paths[nearest, y, x]
        if paths[agent, y, x] >= 0 and is_nearer:
            nearest = agent
    if nearest == NOTHING:
        return False
    for to_y, to_x in neighbours(y, x):
        is_closer = w.inside(to_y, to_x) and paths[nearest, to_y, to_x] == paths[nearest, y, x] - 1
        if is_closer and has_space_for(w, w.kind.value[entity], to_y, to_x):
            w.place(entity, to_y, to_x)
            break
    return True


def check_probability(chance: float) -> str:
    """Return an error message if a probability is not from 0 to 1, else ""."""
    return "" if 0 <= chance <= 1 else f"found chance {chance}: allowed are 0 to 1"


@system(TRANSITION, check=check_probability)
def spread(w: World, object_type: int, other_type: int = FLOOR, chance: float = 1.0) -> None:
    """An object of a type takes the place of every object of another type beside it (by default, it
    fills every free cell beside it) with a probability of `chance`. If it lies in the ground layer,
    objects above it do not stop it, except walls."""
    for thing in all_of(w, object_type):
        for y, x in neighbours(w.position.y[thing], w.position.x[thing]):
            in_the_way = w.on_layer_of(object_type, y, x)
            replaced = in_the_way if other_type == FLOOR else w.on_layer_of(other_type, y, x)
            is_free = in_the_way == NOTHING or w.kind.value[in_the_way] == other_type
            spreads = w.inside(y, x) and is_free and w.kind.value[replaced] == other_type
            if w.on_ground(object_type):
                spreads = spreads and w.kind.value[w.at[y, x]] != WALL
            if spreads and (chance == 1 or w.rng.random() < chance):
                if other_type != FLOOR:
                    w.remove(replaced)
                put(w, object_type, y, x, w.color.value[thing])


def can_enter_one_way(w: World, agent: int, action: int, object_type: int) -> bool:
    """Return True if the MOVE action leads into an object of this type in the direction that the
    object faces."""
    if action not in MOVES:
        return False
    y, x = towards(w, agent, action)
    if not w.inside(y, x) or w.kind.value[w.at[y, x]] != object_type:
        return False
    return w.state_of(w.at[y, x]) == rotate(w.agent.facing[agent], action)


def can_enter_or_leave_one_way(w: World, agent: int, action: int, object_type: int) -> bool:
    """Return True if the MOVE action leads into an object of this type in the object's own
    direction, or the agent stands on one and moves off."""
    leaves = action in MOVES and stands_on(w, agent, object_type)
    return leaves or can_enter_one_way(w, agent, action, object_type)


def check_one_way(types: ObjectTypes, object_type: int, agents: int) -> str:
    """Return an error message if there are several agents, or if the states of the type are not
    orientations; else "".

    A one-way cell that opens for one agent would be open for all of them.
    """
    if agents > 1:
        return f"it opens a cell for all agents, and there are {agents}; allowed is one"
    return check_is_oriented(types, object_type)


@system(TRANSITION, when=can_enter_or_leave_one_way, check=check_one_way)
def let_pass(w: World, agent: int, object_type: int) -> None:
    """An object of a type lets the agent in only in the direction that it faces. List this rule
    before `move_agent`."""
    if stands_on(w, agent, object_type):
        w.add(here(w, agent), "solid")
    if can_enter_one_way(w, agent, w.action[agent], object_type):
        w.take(w.at[towards(w, agent, w.action[agent])], "solid")


@system(TRANSITION, check=check_is_oriented)
def convey(w: World, object_type: int) -> None:
    """Objects of a type, whose states are directions, move every agent and object on them one cell
    in that direction, once per step, if there is room."""
    belts = all_of(w, object_type)
    is_moved = np.zeros(w.capacity, np.bool_)
    is_moved[NOTHING] = True
    has_changed = True
    while has_changed:  # an object may have to wait until another has moved
        has_changed = False
        for belt in belts:
            y, x = w.position.y[belt], w.position.x[belt]
            to_y, to_x = beside(y, x, w.state_of(belt))
            thing = w.at[y, x]
            if thing != belt and not is_moved[thing] and has_room(w, to_y, to_x):
                w.place(thing, to_y, to_x)
                is_moved[thing] = has_changed = True
            for agent in w.agents():
                is_here = w.position.y[agent] == y and w.position.x[agent] == x
                is_blocked = is_moved[agent] or w.is_taken(to_y, to_x)
                if is_here and not is_blocked and can_enter(w, to_y, to_x):
                    w.stand(agent, to_y, to_x)
                    is_moved[agent] = has_changed = True
