"""Transitions of things that move, change or spread by themselves."""

import numpy as np

from components.appearance import FLOOR
from gv_engine.language.component import AGENT, NOTHING
from gv_engine.language.geometry import BACKWARD, MOVE_RIGHT, ORIENTATIONS, turned
from gv_engine.language.objects import OBJECT_TYPES
from gv_engine.language.system import TRANSITION, system
from gv_engine.language.world import World
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


def looks_nowhere(object_type: int) -> str:
    """What is wrong with a type that has no ways to look; empty if nothing is."""
    kind = OBJECT_TYPES[object_type]
    if kind.states == ORIENTATIONS:
        return ""
    return f"{kind.name} looks nowhere; its states have to be {', '.join(ORIENTATIONS)}"


@system(TRANSITION, when=are_there, check=looks_nowhere)
def patrol(w: World, agent: int, object_type: int) -> None:
    """Objects of a type go on over free floor the way they look, and turn round where it ends; one
    that the agent stands on stays."""
    for thing in all_of(w, object_type):
        way = w.state_of(thing)
        y, x = beside(w.position.y[thing], w.position.x[thing], way)
        if not is_free(w, y, x):
            w.set_state(thing, turned(way, BACKWARD))
        elif thing != here(w, agent):
            w.place(thing, y, x)


@system(TRANSITION, when=are_there)
def chase(w: World, agent: int, object_type: int) -> None:
    """Objects of a type in their last state go a step closer to the agent, over free floor around
    what blocks."""
    steps = w.steps_from(w.position.y[agent], w.position.x[agent])
    for thing in all_of(w, object_type):
        if w.state_of(thing) == w.num_states(object_type) - 1:
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
    as likely as chance says."""
    for thing in all_of(w, object_type):
        for y, x in neighbours(w.position.y[thing], w.position.x[thing]):
            fits = w.inside(y, x) and w.kind.value[w.at[y, x]] == other_type
            if fits and (chance == 1 or w.rng.random() < chance):
                if other_type != FLOOR:
                    w.remove(w.at[y, x])
                put(w, object_type, y, x, w.color.value[thing])


def lets_in(w: World, agent: int, action: int, object_type: int) -> bool:
    """Whether a MOVE action leads into an object of the type, the way that it looks."""
    if action > MOVE_RIGHT:
        return False
    y, x = towards(w, agent, action)
    if not w.inside(y, x) or w.kind.value[w.at[y, x]] != object_type:
        return False
    return w.state_of(w.at[y, x]) == turned(w.agent.facing[agent], action)


def passes(w: World, agent: int, action: int, object_type: int) -> bool:
    """Whether a MOVE action leads into an object of the type, the way that it looks, or out."""
    leaves = action <= MOVE_RIGHT and stands_on(w, agent, object_type)
    return leaves or lets_in(w, agent, action, object_type)


@system(TRANSITION, when=passes, check=looks_nowhere)
def let_pass(w: World, agent: int, object_type: int) -> None:
    """A solid object of a type lets the agent in the way that it looks, and no other way, if this
    comes before `move_agent`."""
    if stands_on(w, agent, object_type):
        w.add(here(w, agent), "solid")
    if lets_in(w, agent, w.action, object_type):
        w.take(w.at[towards(w, agent, w.action)], "solid")


@system(TRANSITION, check=looks_nowhere)
def convey(w: World, object_type: int) -> None:
    """Objects of a type, whose states are directions, move what stands on them by one cell that
    way: the agent and things, each once, where there is room."""
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
            agent_is_here = w.position.y[AGENT] == y and w.position.x[AGENT] == x
            if agent_is_here and not is_moved[AGENT] and can_enter(w, to_y, to_x):
                w.position.y[AGENT] = to_y
                w.position.x[AGENT] = to_x
                is_moved[AGENT] = changes = True
