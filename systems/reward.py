"""Rewards: what a step was worth (GridVerse specification, section 4)."""

from typing import Any

from components.doors import OPEN
from gv_engine.component import NOTHING
from gv_engine.geometry import ACTUATE, manhattan
from gv_engine.system import REWARD, system
from systems.queries import ahead, distance_to, here


@system(REWARD)
def living_reward(w: Any, agent: int, reward: float = -1.0) -> float:
    """The same for every step."""
    return reward


@system(REWARD)
def reach_exit(w: Any, agent: int, reward_on: float = 1.0, reward_off: float = 0.0) -> float:
    """Whether the agent stands on an exit."""
    return reward_on if w.exit.has[here(w, agent)] else reward_off


@system(REWARD, remember=distance_to)
def getting_closer(
    w: Any,
    agent: int,
    was: float,
    object_type: int,
    distance_function: Any = manhattan,
    reward_closer: float = 1.0,
    reward_further: float = -1.0,
) -> float:
    """Whether the step led closer to the one object of a type, or away from it."""
    now = distance_to(w, agent, object_type, distance_function)
    if now < was:
        return reward_closer
    if now > was:
        return reward_further
    return 0.0


def door_ahead(w: Any, agent: int) -> float:
    """Where the door is that the agent is about to actuate: 1 + cell number, negative if shut."""
    if w.action != ACTUATE:
        return 0
    e = ahead(w, agent)
    if not w.door.has[e]:
        return 0
    place = 1 + w.position.y[e] * w.width + w.position.x[e]
    return place if w.door.status[e] == OPEN else -place  # type: ignore[no-any-return]


@system(REWARD, remember=door_ahead)
def actuate_door(
    w: Any, agent: int, was: float, reward_open: float = 1.0, reward_close: float = -1.0
) -> float:
    """Whether the step opened the door ahead, or closed it."""
    if was == 0:
        return 0.0
    cell = abs(int(was)) - 1
    e = w.at[cell // w.width, cell % w.width]
    if not w.door.has[e]:
        return 0.0
    now = w.door.status[e] == OPEN
    if now and was < 0:
        return reward_open
    if was > 0 and not now:
        return reward_close
    return 0.0


def holds(w: Any, agent: int, object_type: int) -> float:
    """Whether the agent holds an object of a type."""
    held = w.agent.holding[agent]
    return held != NOTHING and w.kind.value[held] == object_type  # type: ignore[no-any-return]


@system(REWARD, remember=holds)
def pickndrop(
    w: Any,
    agent: int,
    was: float,
    object_type: int,
    reward_pick: float = 1.0,
    reward_drop: float = -1.0,
) -> float:
    """Whether the agent came to hold an object of a type, or let go of it."""
    now = holds(w, agent, object_type)
    if now and not was:
        return reward_pick
    if was and not now:
        return reward_drop
    return 0.0
