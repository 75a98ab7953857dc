"""Terminating function: the episode ends when no key is left."""

import numpy as np

from gv_engine.gridverse import (
    Action,
    Box,
    Floor,
    Key,
    Shape,
    State,
    make_rng,
    reset_function_registry,
    terminating_function_registry,
)


@terminating_function_registry.register
def out_of_keys(
    state: State, action: Action, next_state: State, *, rng: np.random.Generator | None = None
) -> bool:
    """Return True if no cell, box or hand has a key."""
    things = [*next_state.grid, next_state.agent.grid_object]
    things += [thing.content for thing in things if isinstance(thing, Box)]
    return not any(isinstance(thing, Key) for thing in things)


if __name__ == "__main__":
    state = reset_function_registry["keydoor"](shape=Shape(5, 6), rng=make_rng(0))
    (position,) = state.grid.positions(Key)
    for thing in (state.grid[position], Box(state.grid[position]), Floor()):
        state.grid[position] = thing
        print(thing, out_of_keys(state, Action.ACTUATE, state))
