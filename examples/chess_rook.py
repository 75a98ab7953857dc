"""Transition function: the agent moves like a rook in chess, until something stops it."""

import numpy as np

from gv_engine.gridverse import (
    Action,
    Orientation,
    Position,
    Shape,
    State,
    Wall,
    reset_function_registry,
    transition_function_registry,
)


@transition_function_registry.register
def chess_rook(state: State, action: Action, *, rng: np.random.Generator | None = None) -> None:
    """Move the agent in the direction of the action as far as the way is free."""
    if not action.is_move():
        return
    # MOVE actions are numbered like the orientations that they go to
    step = Position.from_orientation(state.agent.orientation * Orientation(action))
    while not state.grid.get(state.agent.position + step, Wall).blocks_movement:
        state.agent.position += step


if __name__ == "__main__":
    state = reset_function_registry["empty"](shape=Shape(6, 9))
    for action in (Action.MOVE_FORWARD, Action.MOVE_RIGHT, Action.MOVE_BACKWARD):
        chess_rook(state, action)
        print(action.name, tuple(state.agent.position))
