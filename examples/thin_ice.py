"""Custom object type with states: ice that cracks below the agent and cannot be entered again."""

from enum import IntEnum

import numpy as np

from gv_engine.gridverse import (
    Action,
    Agent,
    Floor,
    Grid,
    GridObject,
    Orientation,
    Position,
    State,
    Wall,
    transition_function_registry,
)


class Ice(GridObject):
    """Ice that carries the agent once."""

    class Status(IntEnum):
        """Damage of the ice."""

        WHOLE = 0
        CRACKED = 1
        BROKEN = 2

    status: Status = Status.WHOLE


@transition_function_registry.register
def crack_ice(state: State, action: Action, *, rng: np.random.Generator | None = None) -> None:
    """Crack the ice below the agent, and break the cracked ice that the agent has left."""
    for position in state.grid.positions(Ice):
        ice = state.grid[position]
        assert isinstance(ice, Ice)
        if position == state.agent.position:
            ice.status = Ice.Status.CRACKED
        elif ice.status == Ice.Status.CRACKED:
            ice.status = Ice.Status.BROKEN
            ice.blocks_movement = True


if __name__ == "__main__":
    row = [Wall(), Floor(), Ice(), Ice(), Wall()]
    state = State(Grid([row]), Agent(Position(0, 1), Orientation.R))
    move = transition_function_registry["move_agent"]
    forth, back = Action.MOVE_FORWARD, Action.MOVE_BACKWARD
    for action in (forth, forth, back):
        move(state, action)
        crack_ice(state, action)
        print(action.name, tuple(state.agent.position), *list(state.grid)[2:4])
