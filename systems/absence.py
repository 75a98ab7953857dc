"""Transition rules of agents that are out of play for some steps, then come back.

    transition_functions:
      - come_back
      - move_agent
      - {name: leave_when_caught, by: hunters, for: runners, steps: 10}

An agent that a rule sends out still gets the reward of the step, and is taken off the grid at its
end. It keeps what it holds, sees nothing and does nothing, and its episode goes on.
"""

from gv_engine.rules.system import RESET, REWARD, TRANSITION, AgentMask, ObjectTypeIndex, system
from gv_engine.rules.world import World
from systems.building import cell_of, reachable_cells
from systems.queries import has_room, stands_on


def check_absence(agents: int, steps: int) -> str:
    """Return an error message if the scenario has only one agent, or if `steps` is not between 1
    and 9999; else ""."""
    if agents == 1:
        return "an agent that is alone is never out of play; list more under `agents`"
    return "" if 1 <= steps <= 9999 else f"found steps {steps}: allowed are 1 to 9999"


@system(RESET)
def note_starts(w: World) -> None:
    """Note where each agent begins, for `come_back`."""
    for agent in w.agents():
        w.absence.y[agent], w.absence.x[agent] = w.position.y[agent], w.position.x[agent]
        w.absence.facing[agent] = w.agent.facing[agent]


def is_caught(w: World, agent: int, by: AgentMask) -> bool:
    """Return True if an agent from `by`, a mask of agents, is in the agent's cell or in one of its
    four neighbouring cells."""
    y, x = w.position.y[agent], w.position.x[agent]
    for other in w.agents():
        distance = abs(w.position.y[other] - y) + abs(w.position.x[other] - x)
        if by[other] and other != agent and w.position.y[other] >= 0 and distance <= 1:
            return True
    return False


@system(TRANSITION, when=is_caught, check=check_absence)
def leave_when_caught(w: World, agent: int, by: AgentMask, steps: int = 10) -> None:
    """Send the agent out of play for `steps` steps if one of the agents `by` is in its cell or in a
    cell beside it."""
    w.absence.steps[agent] = steps


@system(TRANSITION, when=stands_on, check=check_absence)
def leave_when_on(w: World, agent: int, object_type: ObjectTypeIndex, steps: int = 10) -> None:
    """Send the agent out of play for `steps` steps if it stands on an object of a type."""
    w.absence.steps[agent] = steps


def return_to_grid(w: World, agent: int, y: int, x: int) -> None:
    """Place an agent back on the grid in the cell (y, x), facing its start direction, and set its
    number of steps out of play to 0."""
    w.absence.steps[agent] = 0
    w.agent.facing[agent] = w.absence.facing[agent]
    w.stand(agent, y, x)


@system(TRANSITION)
def come_back(w: World, anywhere: bool = False) -> None:
    """Count down the steps for which each agent is out of play. Then put the agent back on its
    start cell as soon as it is free; with `anywhere`, on a random free cell that can be reached
    from there."""
    for agent in w.agents():
        if w.position.y[agent] < 0 < w.absence.steps[agent] and not w.done[agent]:
            y, x = w.absence.y[agent], w.absence.x[agent]
            if w.absence.steps[agent] > 1:
                w.absence.steps[agent] -= 1
            elif anywhere:
                cells = reachable_cells(w, w.steps_from(y, x))
                if len(cells) > 0:
                    y, x = cell_of(w, cells[w.rng.choice(len(cells))])
                    return_to_grid(w, agent, y, x)
            elif has_room(w, y, x):
                return_to_grid(w, agent, y, x)


@system(REWARD)
def sent_out(w: World, agent: int, of: AgentMask, reward: float = 1.0) -> float:
    """Pays `reward` for each agent of the mask `of` that was sent out of play in this step."""
    count = 0
    for other in w.agents():
        count += of[other] and w.absence.steps[other] > 0 and w.position.y[other] >= 0
    return reward * count
