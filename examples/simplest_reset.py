"""Smallest possible level, from the GridVerse documents: the exit is right ahead."""

from typing import Optional

import numpy.random as rnd

from gv_engine.gridverse import (
    Action,
    Agent,
    Exit,
    Floor,
    Grid,
    Orientation,
    Position,
    State,
    Wall,
    reset_function_registry,
    transition_function_registry,
)


@reset_function_registry.register
def simplest(*, rng: Optional[rnd.Generator] = None) -> State:  # noqa: UP045  # as printed there
    """smallest possible room with exit right in front of agent"""

    # constructed the grid directly from objects
    grid = Grid(
        [
            [Wall(), Wall(), Wall()],
            [Wall(), Exit(), Wall()],
            [Wall(), Floor(), Wall()],
            [Wall(), Wall(), Wall()],
        ]
    )

    # positioning the agent in the above grid
    agent = Agent(Position(2, 1), Orientation.F)

    return State(grid, agent)


if __name__ == "__main__":
    state = reset_function_registry["simplest"]()
    transition_function_registry["move_agent"](state, Action.MOVE_FORWARD)
    print(state.agent, "stands on", state.grid[state.agent.position])
