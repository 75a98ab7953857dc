"""Simultaneous moves of several agents: each agent chooses a target cell, then a rule moves all of
them.

    transition_functions: [aim_move, move_block_both]

The rules differ in which agents stay if several want the same cell. The target is a neighbouring
cell that no object blocks; agents there do not count, even solid ones. Agents that begin in
different cells never come to share one, except with `move_unless_contested`.
"""

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import NOOP
from gv_engine.rules.system import TRANSITION, system
from gv_engine.rules.world import World
from systems.queries import MOVES, can_enter, neighbours, towards


def can_move_or_wait(w: World, agent: int, action: int) -> bool:
    """Return True if the action is NOOP, or a MOVE to a cell that no object blocks."""
    if action not in MOVES:
        return action == NOOP
    y, x = towards(w, agent, action)
    return can_enter(w, y, x)


@system(TRANSITION, when=can_move_or_wait)
def aim_move(w: World, agent: int) -> None:
    """Aim at the cell that a MOVE action leads to. A rule such as `move_soft` then moves all
    agents."""
    if w.action[agent] in MOVES:
        w.aim.y[agent], w.aim.x[agent] = towards(w, agent, w.action[agent])


def target_cell(w: World, agent: int) -> tuple[int, int]:
    """Return the target cell (y, x) of an agent, or its current cell if it has no target."""
    if w.aim.y[agent] < 0:
        return w.position.y[agent], w.position.x[agent]
    return w.aim.y[agent], w.aim.x[agent]


def wants_cell(w: World, agent: int, y: int, x: int) -> bool:
    """Return True if cell (y, x) is the target of `agent`, or its own cell if it has no target.
    False if `agent` is NOTHING."""
    if agent == NOTHING:
        return False
    target_y, target_x = target_cell(w, agent)
    return target_y == y and target_x == x


def find_rival(w: World, agent: int) -> int:
    """Return another agent whose target is the target cell of `agent`; NOTHING if there is none. It
    is searched only in that cell and its four neighbours, from where agents can get there."""
    y, x = target_cell(w, agent)
    other = w.agent_at(y, x)
    if other != agent and wants_cell(w, other, y, x):
        return other
    for near_y, near_x in neighbours(y, x):
        other = w.agent_at(near_y, near_x) if w.inside(near_y, near_x) else NOTHING
        if other != agent and wants_cell(w, other, y, x):
            return other
    return NOTHING


def is_target_contested(w: World, agent: int) -> bool:
    """Return True if another agent has the same target cell as `agent`."""
    y, x = target_cell(w, agent)
    for other in w.agents():
        if other != agent and wants_cell(w, other, y, x):
            return True
    return False


def stay(w: World, agent: int) -> None:
    """Clear the target cell of an agent, so that it stays."""
    w.aim.y[agent] = w.aim.x[agent] = -1


def go(w: World, agent: int) -> None:
    """Move an agent to its target cell, if it has one, and clear the target."""
    if w.aim.y[agent] >= 0:
        w.stand(agent, w.aim.y[agent], w.aim.x[agent])
    stay(w, agent)


def move_agents_if(w: World, can_go: NDArray[np.bool_]) -> None:
    """Move each agent to its target cell if `can_go[agent]` is True."""
    for agent in w.agents():
        if not can_go[agent]:
            stay(w, agent)
        go(w, agent)


@system(TRANSITION)
def move_priority(w: World) -> None:
    """Move the agents one after the other, each into the cell it aims at unless an agent is there
    by then."""
    for agent in w.agents():
        if w.aim.y[agent] >= 0 and w.agent_at(w.aim.y[agent], w.aim.x[agent]) != NOTHING:
            stay(w, agent)
        go(w, agent)


@system(TRANSITION)
def move_block_both(w: World) -> None:
    """Move each agent into the cell it aims at unless an agent was there before the step, even one
    that leaves, or another agent aims at the same cell."""
    can_go = np.zeros(len(w.agents()) + 1, np.bool_)
    for agent in w.agents():
        if w.aim.y[agent] >= 0 and w.agent_at(w.aim.y[agent], w.aim.x[agent]) == NOTHING:
            can_go[agent] = find_rival(w, agent) == NOTHING
    move_agents_if(w, can_go)


@system(TRANSITION)
def move_soft(w: World) -> None:
    """Move all agents at once. Agents can follow each other in a row or a circle. Two agents that
    would change places stay. If several agents aim at one cell, the first in the order of agents
    goes there. An agent that aims at the cell of an agent that stays, stays too."""
    for agent in w.agents():
        if w.aim.y[agent] >= 0:
            other = w.agent_at(w.aim.y[agent], w.aim.x[agent])
            if wants_cell(w, other, w.position.y[agent], w.position.x[agent]):
                stay(w, agent)  # so that the other finds a rival
    for number in range(len(w.agents())):
        stopped = len(w.agents()) - number  # from the last agent on, as the first has priority
        if w.position.y[stopped] >= 0 and find_rival(w, stopped) != NOTHING:
            while stopped != NOTHING:  # an agent that stays may stop another one
                stay(w, stopped)
                stopped = find_rival(w, stopped)
    for agent in w.agents():
        go(w, agent)


@system(TRANSITION)
def move_unless_contested(w: World) -> None:
    """Move each agent into the cell it aims at unless another agent wants to be there. Two agents
    can change places, and an agent can enter the cell of another agent that was kept from
    moving."""
    can_go = np.zeros(len(w.agents()) + 1, np.bool_)
    for agent in w.agents():
        can_go[agent] = not is_target_contested(w, agent)
    move_agents_if(w, can_go)


@system(TRANSITION)
def move_all_or_none(w: World) -> None:
    """Move all agents into the cells they aim at, or none if any two want the same cell or would
    change places."""
    can_all_go = True
    for agent in w.agents():
        y, x = target_cell(w, agent)
        is_on_grid = w.position.y[agent] >= 0
        can_all_go = can_all_go and not (is_on_grid and is_target_contested(w, agent))
        for other in range(1, agent):
            is_there = w.position.y[other] == y and w.position.x[other] == x
            swaps = is_there and wants_cell(w, other, w.position.y[agent], w.position.x[agent])
            can_all_go = can_all_go and not (is_on_grid and swaps)
    for agent in w.agents():
        if not can_all_go:
            stay(w, agent)
        go(w, agent)
