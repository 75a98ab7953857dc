"""Rewards: what a step was worth (GridVerse specification, section 4)."""

from collections.abc import Callable, Sequence

import numpy as np

from components.doors import OPEN
from components.objects import BEACON
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import Action, manhattan
from gv_engine.rules.system import REWARD, system
from gv_engine.rules.world import World
from systems.queries import (
    ahead,
    bumps,
    count_covered,
    distance_to,
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


@system(REWARD)
def living_reward(w: World, agent: int, reward: float = -1.0) -> float:
    """The same for every step."""
    return reward


@system(REWARD)
def overlap(
    w: World, agent: int, object_type: int, reward_on: float = 1.0, reward_off: float = 0.0
) -> float:
    """Pays reward_on on an object of a type, reward_off elsewhere."""
    return reward_on if stands_on(w, agent, object_type) else reward_off


@system(REWARD)
def bump_moving_obstacle(w: World, agent: int, reward: float = -1.0) -> float:
    """For standing where a moving obstacle is."""
    return reward if w.moving_obstacle.has[here(w, agent)] else 0.0


@system(REWARD, remember=bumps, answers=would_bump)
def bump_into_wall(w: World, agent: int, was: float, reward: float = -1.0) -> float:
    """For trying to walk into a wall."""
    return reward if was else 0.0


@system(REWARD)
def reach_exit(w: World, agent: int, reward_on: float = 1.0, reward_off: float = 0.0) -> float:
    """Pays reward_on on an exit, reward_off elsewhere."""
    return reward_on if here_with(w, agent, w.exit) != NOTHING else reward_off


@system(REWARD)
def proportional_to_distance(
    w: World,
    agent: int,
    object_type: int,
    distance_function: Callable[[int, int], float] = manhattan,
    reward_per_unit_distance: float = -1.0,
) -> float:
    """In proportion to the distance to the one object of a type."""
    return reward_per_unit_distance * distance_to(w, agent, object_type, distance_function)


@system(REWARD, remember=distance_to)
def getting_closer(
    w: World,
    agent: int,
    was: float,
    object_type: int,
    distance_function: Callable[[int, int], float] = manhattan,
    reward_closer: float = 1.0,
    reward_further: float = -1.0,
) -> float:
    """Pays for a step closer to the one object of a type, or away from it."""
    now = distance_to(w, agent, object_type, distance_function)
    return for_change(was, now, reward_closer, reward_further)


def for_change(was: float, now: float, reward_less: float, reward_more: float) -> float:
    """One reward if a distance has become less, another if more, 0 if neither."""
    return reward_less if now < was else reward_more if now > was else 0.0


def path_length_to(w: World, agent: int, object_type: int) -> float:
    """Steps from the one object of a type to the agent, around what blocks; infinity if cut off."""
    e = w.unique(object_type)
    if e == NOTHING:
        w.fail("needs exactly one object of its object_type on the grid, found none or several")
        return 0.0
    steps = w.steps_from(w.position.y[e], w.position.x[e])
    length = steps[w.position.y[agent], w.position.x[agent]]
    return np.inf if length < 0 else float(length)


@system(REWARD, remember=path_length_to)
def getting_closer_shortest_path(
    w: World,
    agent: int,
    was: float,
    object_type: int,
    reward_closer: float = 1.0,
    reward_further: float = -1.0,
) -> float:
    """Pays where the way to the one object of a type got shorter, or longer."""
    now = path_length_to(w, agent, object_type)
    return for_change(was, now, reward_closer, reward_further)


def door_ahead(w: World, agent: int, on_action: Action = Action.ACTUATE) -> tuple[int, int, bool]:
    """The cell (y, x) of the door that the agent is about to actuate, and whether it is open."""
    e = ahead(w, agent)
    if w.action[agent] != on_action or not w.door.has[e]:
        return -1, -1, False
    return w.position.y[e], w.position.x[e], w.door.status[e] == OPEN


@system(REWARD, remember=door_ahead)
def actuate_door(
    w: World,
    agent: int,
    was: tuple[int, int, bool],
    reward_open: float = 1.0,
    reward_close: float = -1.0,
    on_action: Action = Action.ACTUATE,
) -> float:
    """Pays for opening the door ahead, or closing it."""
    y, x, was_open = was
    if not w.inside(y, x) or not w.door.has[w.at[y, x]]:
        return 0.0
    is_open = w.door.status[w.at[y, x]] == OPEN
    if is_open == was_open:
        return 0.0
    return reward_open if is_open else reward_close


def holds(w: World, agent: int, object_type: int) -> bool:
    """Whether the agent holds an object of a type."""
    held = w.agent.holding[agent]
    return held != NOTHING and w.kind.value[held] == object_type


@system(REWARD, remember=holds)
def pickndrop(
    w: World,
    agent: int,
    was: float,
    object_type: int,
    reward_pick: float = 1.0,
    reward_drop: float = -1.0,
) -> float:
    """Pays for coming to hold an object of a type, or letting go of it."""
    now = holds(w, agent, object_type)
    if now and not was:
        return reward_pick
    if was and not now:
        return reward_drop
    return 0.0


@system(REWARD)
def reach_exit_memory(
    w: World, agent: int, reward_good: float = 1.0, reward_bad: float = -1.0
) -> float:
    """Pays reward_good on the exit of the beacon's colour, reward_bad on another one."""
    if w.placed[BEACON] == 0:
        w.fail("reach_exit_memory: there is no Beacon on the grid to tell the good exit")
        return 0.0
    e = here_with(w, agent, w.exit)
    if e == NOTHING:
        return 0.0
    return reward_good if matches_beacon(w, e) else reward_bad


def count_of(w: World, agent: int, object_type: int) -> int:
    """How many objects of a type are on the grid."""
    return w.placed[object_type]


@system(REWARD, remember=count_of)
def use_up(w: World, agent: int, was: float, object_type: int, reward: float = 1.0) -> float:
    """Pays reward for every object of a type by which there are fewer on the grid."""
    return reward * max(0.0, was - w.placed[object_type])


@system(REWARD, remember=count_covered, check=on_one_layer)
def cover(
    w: World, agent: int, was: float, object_type: int, other_type: int, reward: float = 1.0
) -> float:
    """Pays reward for every object of a type that comes to share its cell with one of another type,
    and takes it back for every one that does no longer."""
    return reward * (count_covered(w, agent, object_type, other_type) - was)


@system(REWARD)
def fetch_mission(
    w: World, agent: int, reward_good: float = 1.0, reward_bad: float = -1.0
) -> float:
    """Pays reward_good for holding what the mission is about, reward_bad for anything else."""
    if holds_other(w, agent):
        return reward_bad
    return reward_good if holds_asked(w, agent) else 0.0


@system(REWARD)
def reach_mission(w: World, agent: int, reward_on: float = 1.0, reward_off: float = 0.0) -> float:
    """Pays reward_on on what the mission is about, or in front of it, reward_off elsewhere."""
    return reward_on if reaches_asked(w, agent) else reward_off


@system(REWARD)
def reduce_sum(w: World, agent: int, reward_functions: Sequence[float]) -> float:
    """The sum of several rewards, from left to right."""
    total = 0.0
    for reward in reward_functions:
        total += reward
    return total


def nothing_to_reduce(reward_functions: Sequence[float], reduction: Callable[..., float]) -> str:
    """What is wrong if there is no largest or least of nothing."""
    if reward_functions or reduction not in (max, min):
        return ""
    return f"there is no {reduction.__name__} of no reward_functions; list at least one"


@system(REWARD, check=nothing_to_reduce)
def reduce(
    w: World, agent: int, reward_functions: Sequence[float], reduction: Callable[..., float]
) -> float:
    """Several rewards made one by a function of all of them, such as `builtins:max`."""
    return reduction(reward_functions)
