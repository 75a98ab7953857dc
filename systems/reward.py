"""Reward rules: the reward of a step (GridVerse specification, section 4)."""

from collections.abc import Callable, Sequence

import numpy as np

from components.items import OPEN
from components.objects import BEACON
from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import Action, add_up, manhattan
from gv_engine.rules.system import REWARD, system
from gv_engine.rules.world import World
from systems.queries import (
    ahead,
    are_all_covered,
    check_layers_differ,
    count_covered,
    distance_to,
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


@system(REWARD)
def living_reward(w: World, agent: int, reward: float = -1.0) -> float:
    """Pays `reward` in every step."""
    return reward


@system(REWARD)
def overlap(
    w: World, agent: int, object_type: int, reward_on: float = 1.0, reward_off: float = 0.0
) -> float:
    """Pays `reward_on` while the agent stands on an object of a type, else `reward_off`."""
    return reward_on if stands_on(w, agent, object_type) else reward_off


@system(REWARD)
def bump_moving_obstacle(w: World, agent: int, reward: float = -1.0) -> float:
    """Pays `reward` while a moving obstacle is in the agent's cell."""
    return reward if w.moving_obstacle.has[here(w, agent)] else 0.0


@system(REWARD, remember=hits_wall, answers=would_hit_wall)
def bump_into_wall(w: World, agent: int, was: float, reward: float = -1.0) -> float:
    """Pays `reward` when the agent tries to walk into a wall."""
    return reward if was else 0.0


@system(REWARD)
def reach_exit(w: World, agent: int, reward_on: float = 1.0, reward_off: float = 0.0) -> float:
    """Pays `reward_on` while the agent stands on an exit, else `reward_off`."""
    return reward_on if here_with(w, agent, w.exit) != NOTHING else reward_off


@system(REWARD)
def proportional_to_distance(
    w: World,
    agent: int,
    object_type: int,
    distance_function: Callable[[int, int], float] = manhattan,
    reward_per_unit_distance: float = -1.0,
) -> float:
    """Pays `reward_per_unit_distance` times the distance to the one object of a type."""
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
    """Pays `reward_closer` for a step closer to the one object of a type, and `reward_further` for
    a step away from it."""
    now = distance_to(w, agent, object_type, distance_function)
    return compare_distances(was, now, reward_closer, reward_further)


def compare_distances(was: float, now: float, reward_less: float, reward_more: float) -> float:
    """Return `reward_less` if a distance has become less, `reward_more` if more, else 0."""
    return reward_less if now < was else reward_more if now > was else 0.0


def shortest_path_length(w: World, agent: int, object_type: int) -> float:
    """Return the length of the shortest path from the agent to the only object of this type;
    infinity if there is no path.

    The level fails unless there is exactly one such object.
    """
    target = w.unique(object_type)
    if target == NOTHING:
        w.fail("needs exactly one object of its object_type on the grid, found none or several")
        return 0.0
    steps = w.steps_from(w.position.y[target], w.position.x[target])
    length = steps[w.position.y[agent], w.position.x[agent]]
    return np.inf if length < 0 else float(length)


@system(REWARD, remember=shortest_path_length)
def getting_closer_shortest_path(
    w: World,
    agent: int,
    was: float,
    object_type: int,
    reward_closer: float = 1.0,
    reward_further: float = -1.0,
) -> float:
    """Pays `reward_closer` if the shortest path to the one object of a type got shorter, and
    `reward_further` if it got longer."""
    now = shortest_path_length(w, agent, object_type)
    return compare_distances(was, now, reward_closer, reward_further)


def door_ahead(w: World, agent: int, on_action: Action = Action.ACTUATE) -> tuple[int, int, bool]:
    """Return (y, x, is_open) of the door ahead if the agent's action is `on_action`; (-1, -1,
    False) for another action, or if there is no door."""
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
    """Pays `reward_open` for opening the door ahead, and `reward_close` for closing it."""
    y, x, was_open = was
    if not w.inside(y, x) or not w.door.has[w.at[y, x]]:
        return 0.0
    is_open = w.door.status[w.at[y, x]] == OPEN
    if is_open == was_open:
        return 0.0
    return reward_open if is_open else reward_close


def holds_type(w: World, agent: int, object_type: int) -> bool:
    """Return True if the agent holds an object of a type."""
    held = w.agent.holding[agent]
    return held != NOTHING and w.kind.value[held] == object_type


@system(REWARD, remember=holds_type)
def pickndrop(
    w: World,
    agent: int,
    was: float,
    object_type: int,
    reward_pick: float = 1.0,
    reward_drop: float = -1.0,
) -> float:
    """Pays `reward_pick` for picking up an object of a type, and `reward_drop` for dropping it."""
    now = holds_type(w, agent, object_type)
    if now and not was:
        return reward_pick
    if was and not now:
        return reward_drop
    return 0.0


@system(REWARD)
def reach_exit_memory(
    w: World, agent: int, reward_good: float = 1.0, reward_bad: float = -1.0
) -> float:
    """Pays `reward_good` on the exit of the beacon's colour, and `reward_bad` on another exit."""
    if w.placed[BEACON] == 0:
        w.fail("reach_exit_memory: there is no Beacon on the grid that shows the good exit")
        return 0.0
    e = here_with(w, agent, w.exit)
    if e == NOTHING:
        return 0.0
    return reward_good if matches_beacon(w, e) else reward_bad


def count_type(w: World, agent: int, object_type: int) -> int:
    """Return the number of objects of a type on the grid."""
    return w.placed[object_type]


@system(REWARD, remember=count_type)
def use_up(w: World, agent: int, was: float, object_type: int, reward: float = 1.0) -> float:
    """Pays `reward` for every object of a type by which there are fewer on the grid than before
    this step."""
    return reward * max(0.0, was - w.placed[object_type])


@system(REWARD, remember=count_covered, check=check_layers_differ)
def cover(
    w: World, agent: int, was: float, object_type: int, other_type: int, reward: float = 1.0
) -> float:
    """Pays `reward` for every object of a type that comes to share its cell with an object of
    another type in this step, and takes it back for every one that stops sharing it."""
    return reward * (count_covered(w, agent, object_type, other_type) - was)


@system(REWARD, check=check_layers_differ)
def all_covered(
    w: World, agent: int, object_type: int, other_type: int, reward: float = 1.0
) -> float:
    """Pays `reward` while there are objects of a type and each shares its cell with an object of
    another type."""
    return reward if are_all_covered(w, agent, object_type, other_type) else 0.0


@system(REWARD)
def fetch_mission(
    w: World, agent: int, reward_good: float = 1.0, reward_bad: float = -1.0
) -> float:
    """Pays `reward_good` for holding the object of the mission, and `reward_bad` for any other
    object."""
    if holds_wrong_object(w, agent):
        return reward_bad
    return reward_good if holds_mission_target(w, agent) else 0.0


@system(REWARD)
def reach_mission(w: World, agent: int, reward_on: float = 1.0, reward_off: float = 0.0) -> float:
    """Pays `reward_on` on the object of the mission or in front of it, else `reward_off`."""
    return reward_on if reaches_mission_target(w, agent) else reward_off


@system(REWARD)
def reduce_sum(w: World, agent: int, reward_functions: Sequence[float]) -> float:
    """Pays the sum of several rewards."""
    return add_up(reward_functions)


def check_reduction(reward_functions: Sequence[float], reduction: Callable[..., float]) -> str:
    """Return an error message if the reduction is `max` or `min` and the list is empty; else ""."""
    if reward_functions or reduction not in (max, min):
        return ""
    return f"there is no {reduction.__name__} of no reward_functions; list at least one"


@system(REWARD, check=check_reduction)
def reduce(
    w: World, agent: int, reward_functions: Sequence[float], reduction: Callable[..., float]
) -> float:
    """Pays the result of a function, such as `builtins:max`, of several rewards."""
    return reduction(reward_functions)
