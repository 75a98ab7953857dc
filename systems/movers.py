"""Transitions of things that move, change or spread by themselves."""

import numpy as np
from numpy.typing import NDArray

from components.appearance import FLOOR
from components.objects import WALL
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import BACKWARD, MOVE_RIGHT, ORIENTATIONS, rotate
from gv_engine.rules.objects import ObjectTypes
from gv_engine.rules.system import TRANSITION, system
from gv_engine.rules.world import World
from systems.building import put
from systems.queries import (
    all_of,
    are_there,
    beside,
    can_enter,
    has_room,
    here,
    is_free,
    neighbours,
    stands_on,
    towards,
)


def looks_nowhere(types: ObjectTypes, object_type: int) -> str:
    """What is wrong with a type that has no ways to look; empty if nothing is."""
    kind = types[object_type]
    if kind.is_oriented:
        return ""
    return f"{kind.name} looks nowhere; its states have to be {', '.join(ORIENTATIONS)}"


@system(TRANSITION, when=are_there, check=looks_nowhere)
def patrol(w: World, object_type: int) -> None:
    """Objects of a type go on over free floor the way they look, and turn round where it ends; one
    that an agent stands on stays."""
    for thing in all_of(w, object_type):
        way = w.state_of(thing)
        y, x = beside(w.position.y[thing], w.position.x[thing], way)
        if not is_free(w, y, x):
            w.set_state(thing, rotate(way, BACKWARD))
        elif w.agent_at(w.position.y[thing], w.position.x[thing]) == NOTHING:
            w.place(thing, y, x)


def nearest_agents(w: World, things: NDArray[np.int64]) -> NDArray[np.int64]:
    """For each of some things the agent to which it has the fewest steps, the first of several, of
    those that are not done; NOTHING if no way leads to any."""
    found = np.zeros(len(things), np.int64)
    least = np.full(len(things), -1)
    for agent in w.agents():
        if not w.done[agent]:
            steps = w.steps_from(w.position.y[agent], w.position.x[agent])
            for k in range(len(things)):
                left = steps[w.position.y[things[k]], w.position.x[things[k]]]
                if left >= 0 and (left < least[k] or found[k] == NOTHING):
                    found[k] = agent
                    least[k] = left
    return found


@system(TRANSITION, when=are_there)
def chase(w: World, object_type: int) -> None:
    """Objects of a type in their last state go a step closer to the nearest agent that is not done,
    over free floor around what blocks."""
    things = all_of(w, object_type)
    chased = nearest_agents(w, things) if len(w.agents()) > 1 else np.ones(len(things), np.int64)
    for agent in w.agents():
        if np.any(chased == agent):
            steps = w.steps_from(w.position.y[agent], w.position.x[agent])
            for k in range(len(things)):
                if chased[k] == agent:
                    step_closer(w, things[k], steps)


def step_closer(w: World, thing: int, steps: NDArray[np.int64]) -> None:
    """An object in its last state goes a step, over free floor, to where these steps begin."""
    if w.state_of(thing) == w.num_states(w.kind.value[thing]) - 1:
        left = steps[w.position.y[thing], w.position.x[thing]]
        for y, x in neighbours(w.position.y[thing], w.position.x[thing]):
            if is_free(w, y, x) and steps[y, x] == left - 1:
                w.place(thing, y, x)
                break


def is_no_share(chance: float) -> str:
    """What is wrong with a chance; empty if nothing is."""
    return "" if 0 <= chance <= 1 else f"found chance {chance}: allowed are 0 to 1"


@system(TRANSITION, check=is_no_share)
def spread(w: World, object_type: int, other_type: int = FLOOR, chance: float = 1.0) -> None:
    """Objects of a type spread to the objects of another type, or free cells, beside them, to each
    as likely as chance says; on the ground also beneath things, but for walls."""
    for thing in all_of(w, object_type):
        for y, x in neighbours(w.position.y[thing], w.position.x[thing]):
            own = w.on_layer_of(object_type, y, x)
            other = own if other_type == FLOOR else w.on_layer_of(other_type, y, x)
            free = own == NOTHING or w.kind.value[own] == other_type
            fits = w.inside(y, x) and free and w.kind.value[other] == other_type
            if w.on_ground(object_type):
                fits = fits and w.kind.value[w.at[y, x]] != WALL
            if fits and (chance == 1 or w.rng.random() < chance):
                if other_type != FLOOR:
                    w.remove(other)
                put(w, object_type, y, x, w.color.value[thing])


def lets_in(w: World, agent: int, action: int, object_type: int) -> bool:
    """Whether a MOVE action leads into an object of the type, the way that it looks."""
    if action > MOVE_RIGHT:
        return False
    y, x = towards(w, agent, action)
    if not w.inside(y, x) or w.kind.value[w.at[y, x]] != object_type:
        return False
    return w.state_of(w.at[y, x]) == rotate(w.agent.facing[agent], action)


def passes(w: World, agent: int, action: int, object_type: int) -> bool:
    """Whether a MOVE action leads into an object of the type, the way that it looks, or out."""
    leaves = action <= MOVE_RIGHT and stands_on(w, agent, object_type)
    return leaves or lets_in(w, agent, action, object_type)


def is_no_door(types: ObjectTypes, object_type: int, agents: int) -> str:
    """What is wrong with a type of doors that only one agent at a time can find open; empty if
    nothing is."""
    if agents > 1:
        return f"it opens a cell to all, and there are {agents} agents; allowed is one"
    return looks_nowhere(types, object_type)


@system(TRANSITION, when=passes, check=is_no_door)
def let_pass(w: World, agent: int, object_type: int) -> None:
    """An object of a type lets the agent in the way that it looks, and no other way, if this comes
    before `move_agent`."""
    if stands_on(w, agent, object_type):
        w.add(here(w, agent), "solid")
    if lets_in(w, agent, w.action[agent], object_type):
        w.take(w.at[towards(w, agent, w.action[agent])], "solid")


@system(TRANSITION, check=looks_nowhere)
def convey(w: World, object_type: int) -> None:
    """Objects of a type, whose states are directions, move what stands on them by one cell that
    way: agents and things, each once, where there is room."""
    belts = all_of(w, object_type)
    is_moved = np.zeros(w.capacity, np.bool_)
    is_moved[NOTHING] = True
    changes = True
    while changes:  # what is in the way of another may have to go first
        changes = False
        for belt in belts:
            y, x = w.position.y[belt], w.position.x[belt]
            to_y, to_x = beside(y, x, w.state_of(belt))
            thing = w.at[y, x]
            if thing != belt and not is_moved[thing] and has_room(w, to_y, to_x):
                w.place(thing, to_y, to_x)
                is_moved[thing] = changes = True
            for agent in w.agents():
                is_here = w.position.y[agent] == y and w.position.x[agent] == x
                is_held = is_moved[agent] or w.is_taken(to_y, to_x)
                if is_here and not is_held and can_enter(w, to_y, to_x):
                    w.stand(agent, to_y, to_x)
                    is_moved[agent] = changes = True
