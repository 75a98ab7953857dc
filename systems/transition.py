"""Transitions: what an action does to the world (GridVerse specification, section 3)."""

from typing import Any

from components.doors import CLOSED, LOCKED, OPEN
from gv_engine.component import NOTHING
from gv_engine.geometry import (
    ACTUATE,
    FORWARD,
    LEFT,
    MOVE_RIGHT,
    PICK_N_DROP,
    RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
    turned,
)
from gv_engine.system import TRANSITION, system
from systems.queries import ahead, blocks_movement, towards


def can_move(w: Any, agent: int, action: int) -> bool:
    """Whether a MOVE action leads to a cell that can be entered."""
    if action > MOVE_RIGHT:
        return False
    y, x = towards(w, agent, action)
    return w.inside(y, x) and not blocks_movement(w, w.at[y, x])


@system(TRANSITION, valid=can_move)
def move_agent(w: Any, agent: int) -> None:
    """Go one cell forward, backward, left or right, without turning, unless something blocks."""
    if can_move(w, agent, w.action):
        y, x = towards(w, agent, w.action)
        w.position.y[agent] = y
        w.position.x[agent] = x


def can_turn(w: Any, agent: int, action: int) -> bool:
    """Turning is always possible."""
    return action in (TURN_LEFT, TURN_RIGHT)


@system(TRANSITION, valid=can_turn)
def turn_agent(w: Any, agent: int) -> None:
    """Turn by a quarter."""
    if w.action == TURN_LEFT:
        w.agent.facing[agent] = turned(w.agent.facing[agent], LEFT)
    elif w.action == TURN_RIGHT:
        w.agent.facing[agent] = turned(w.agent.facing[agent], RIGHT)


def can_open(w: Any, agent: int, action: int) -> bool:
    """Whether the door ahead is closed, or locked and the agent holds a key of its colour."""
    if action != ACTUATE:
        return False
    door = ahead(w, agent)
    held = w.agent.holding[agent]
    return w.door.status[door] == CLOSED or (  # type: ignore[no-any-return]
        w.door.status[door] == LOCKED
        and w.key.has[held]
        and w.color.value[held] == w.color.value[door]
    )


@system(TRANSITION, valid=can_open)
def actuate_door(w: Any, agent: int) -> None:
    """Open the door ahead; a locked one needs a key of its colour in hand, which is kept."""
    if can_open(w, agent, w.action):
        w.door.status[ahead(w, agent)] = OPEN


def can_pick_or_drop(w: Any, agent: int, action: int) -> bool:
    """Whether there is something to pick up ahead, or room to drop what the agent holds."""
    if action != PICK_N_DROP:
        return False
    y, x = towards(w, agent, FORWARD)
    if not w.inside(y, x):
        return False
    thing = w.at[y, x]
    if thing == NOTHING:
        return w.agent.holding[agent] != NOTHING  # type: ignore[no-any-return]
    return w.portable.has[thing]  # type: ignore[no-any-return]


@system(TRANSITION, valid=can_pick_or_drop)
def pickndrop(w: Any, agent: int) -> None:
    """Pick up what is ahead, drop what is held, or swap the two."""
    if not can_pick_or_drop(w, agent, w.action):
        return
    y, x = towards(w, agent, FORWARD)
    thing = w.at[y, x]
    held = w.agent.holding[agent]
    w.lift(thing)
    if held != NOTHING:
        w.place(held, y, x)
    w.agent.holding[agent] = thing
