"""Transitions: what an action does to the world (GridVerse specification, section 3)."""

from typing import Any

import numpy as np

from components.doors import CLOSED, LOCKED, OPEN
from gv_engine.language.component import NOTHING
from gv_engine.language.geometry import (
    ACTUATE,
    BACKWARD,
    FORWARD,
    LEFT,
    MOVE_RIGHT,
    PICK_N_DROP,
    RIGHT,
    TURN_LEFT,
    TURN_RIGHT,
    step_x,
    step_y,
    turned,
)
from gv_engine.language.system import TRANSITION, system
from systems.queries import ahead, blocks_movement, here, towards


def can_move(w: Any, agent: int, action: int) -> bool:
    """Whether a MOVE action leads to a cell that can be entered."""
    if action > MOVE_RIGHT:
        return False
    y, x = towards(w, agent, action)
    return w.inside(y, x) and not blocks_movement(w, w.at[y, x])


@system(TRANSITION, when=can_move)
def move_agent(w: Any, agent: int) -> None:
    """Go one cell forward, backward, left or right, without turning, unless something blocks."""
    y, x = towards(w, agent, w.action)
    w.position.y[agent] = y
    w.position.x[agent] = x


def can_turn(w: Any, agent: int, action: int) -> bool:
    """Turning is always possible."""
    return action in (TURN_LEFT, TURN_RIGHT)


@system(TRANSITION, when=can_turn)
def turn_agent(w: Any, agent: int) -> None:
    """Turn by a quarter."""
    way = LEFT if w.action == TURN_LEFT else RIGHT
    w.agent.facing[agent] = turned(w.agent.facing[agent], way)


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


@system(TRANSITION, when=can_open)
def actuate_door(w: Any, agent: int) -> None:
    """Open the door ahead; a locked one needs a key of its colour in hand, which is kept."""
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


@system(TRANSITION, when=can_pick_or_drop)
def pickndrop(w: Any, agent: int) -> None:
    """Pick up what is ahead, drop what is held, or swap the two."""
    y, x = towards(w, agent, FORWARD)
    thing = w.at[y, x]
    held = w.agent.holding[agent]
    w.lift(thing)
    if held != NOTHING:
        w.place(held, y, x)
    w.agent.holding[agent] = thing


def can_unbox(w: Any, agent: int, action: int) -> bool:
    """Whether there is a box ahead."""
    return action == ACTUATE and w.box.has[ahead(w, agent)]


@system(TRANSITION, when=can_unbox)
def actuate_box(w: Any, agent: int) -> None:
    """Open the box ahead: its content takes its place."""
    box = ahead(w, agent)
    content = w.box.content[box]
    y, x = w.position.y[box], w.position.x[box]
    w.remove(box)
    if content != NOTHING:
        w.place(content, y, x)


@system(TRANSITION)
def move_obstacles(w: Any) -> None:
    """Every moving obstacle wanders to a free floor cell beside it."""
    obstacles = np.empty(w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            if w.moving_obstacle.has[w.at[y, x]]:
                obstacles[count] = w.at[y, x]
                count += 1
    ways = np.empty(4, np.int64)
    for obstacle in obstacles[:count]:
        y, x = w.position.y[obstacle], w.position.x[obstacle]
        free = 0
        for way in (FORWARD, RIGHT, BACKWARD, LEFT):
            to_y, to_x = y + step_y(way), x + step_x(way)
            if w.inside(to_y, to_x) and w.at[to_y, to_x] == NOTHING:
                ways[free] = way
                free += 1
        if free > 0:
            way = ways[w.rng.choice(free)]
            w.place(obstacle, y + step_y(way), x + step_x(way))


def on_a_telepod(w: Any, agent: int) -> bool:
    """Whether the agent stands on a telepod."""
    return w.telepod.has[here(w, agent)]  # type: ignore[no-any-return]


@system(TRANSITION, when=on_a_telepod)
def teleport(w: Any, agent: int) -> None:
    """An agent on a telepod goes to another one of its colour; with no other it stays."""
    telepod = here(w, agent)
    others = np.empty(w.height * w.width, np.int64)
    count = 0
    for y in range(w.height):
        for x in range(w.width):
            other = w.at[y, x]
            alike = w.telepod.has[other] and w.color.value[other] == w.color.value[telepod]
            if alike and other != telepod:
                others[count] = other
                count += 1
    if count > 0:
        other = others[w.rng.choice(count)]
        w.position.y[agent] = w.position.y[other]
        w.position.x[agent] = w.position.x[other]


@system(TRANSITION)
def chain(w: Any, transition_functions: Any) -> None:
    """Several transitions in a row; they have run when it is this one's turn."""
