"""MiniGrid's rules for moving and succeeding that differ from the built-in ones."""

from gv_engine.rules.component import NOTHING
from gv_engine.rules.geometry import FORWARD, MOVE_FORWARD
from gv_engine.rules.system import REWARD, TERMINATING, TRANSITION, system
from gv_engine.rules.world import World
from systems.queries import can_enter, here, holds_mission_target, stands_on, towards


def success_reward(w: World, max_steps: int) -> float:
    """Return MiniGrid's reward for success, 1 - 0.9 * steps / max_steps."""
    return 1.0 - 0.9 * ((w.steps + 1) / max_steps)


def can_go(w: World, agent: int, action: int) -> bool:
    """Return True if the action is MOVE_FORWARD and the cell ahead has no wall, portable object or
    agent."""
    if action != MOVE_FORWARD:
        return False
    y, x = towards(w, agent, FORWARD)
    return can_enter(w, y, x) and not (w.portable.has[w.at[y, x]] or w.is_taken(y, x))


@system(TRANSITION, when=can_go)
def go_ahead(w: World, agent: int) -> None:
    """Move one cell forward unless something is in the way; portable objects block as well."""
    y, x = towards(w, agent, FORWARD)
    w.stand(agent, y, x)


def position(w: World, agent: int) -> tuple[int, int]:
    """Return the agent's cell (y, x)."""
    return int(w.position.y[agent]), int(w.position.x[agent])


@system(REWARD, remember=position)
def reach_goal(w: World, agent: int, was: tuple[int, int], max_steps: int) -> float:
    """Pays for going onto the goal; more for fewer steps."""
    reached = w.exit.has[here(w, agent)] and position(w, agent) != was
    return success_reward(w, max_steps) if reached else 0.0


@system(TERMINATING, remember=position)
def entered(w: World, agent: int, was: tuple[int, int], object_type: int) -> bool:
    """The agent has gone onto an object of a type in this step.

    An agent that did not move in this step does not count: a step after the end of an episode must
    not end it again.
    """
    return stands_on(w, agent, object_type) and position(w, agent) != was


@system(REWARD)
def fetch(w: World, agent: int, max_steps: int) -> float:
    """Pays for holding the object of the mission; more for fewer steps."""
    return success_reward(w, max_steps) if holds_mission_target(w, agent) else 0.0


@system(TERMINATING, says="You fetched something else than was asked for")
def holds_anything(w: World, agent: int) -> bool:
    """The agent holds something."""
    return w.agent.holding[agent] != NOTHING
