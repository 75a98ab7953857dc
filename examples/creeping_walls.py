"""Transition function: in every step one more floor cell turns into a wall."""

import numpy as np

from gv_engine.gridverse import (
    Action,
    Floor,
    Shape,
    State,
    Wall,
    choice,
    get_gv_rng_if_none,
    make_rng,
    reset_function_registry,
    transition_function_registry,
)


@transition_function_registry.register
def creeping_walls(state: State, action: Action, *, rng: np.random.Generator | None = None) -> None:
    """Turn a random floor cell into a wall, except the agent's cell."""
    rng = get_gv_rng_if_none(rng)
    free = [p for p in state.grid.positions(Floor) if p != state.agent.position]
    if free:
        state.grid[choice(rng, free)] = Wall()


if __name__ == "__main__":
    rng = make_rng(0)
    state = reset_function_registry["empty"](shape=Shape(5, 8), rng=rng)
    for _ in range(4):
        creeping_walls(state, Action.ACTUATE, rng=rng)
        print(sum(1 for _ in state.grid.positions(Wall)), "walls")
