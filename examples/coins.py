"""Custom object type: coins of different worth, and a reward for picking them up."""

import numpy as np

from gv_engine import Scenario
from gv_engine.gridverse import (
    Action,
    Color,
    Floor,
    GridObject,
    State,
    choices,
    get_gv_rng_if_none,
    reset_function_registry,
    reward_function_registry,
)


class Coin(GridObject):
    """Coin that can be picked up, with a worth."""

    holdable = True
    color = Color.YELLOW
    worth: int = 1  # also a column, w.coin.worth


@reset_function_registry.register
def coin_room(
    *, shape: tuple[int, int], num_coins: int = 3, rng: np.random.Generator | None = None
) -> State:
    """Return an empty room with coins of worth 1, 2, 3 …"""
    rng = get_gv_rng_if_none(rng)
    state: State = reset_function_registry["empty"](shape, rng=rng)
    free = [p for p in state.grid.positions(Floor) if p != state.agent.position]
    for number, position in enumerate(choices(rng, free, size=num_coins, replace=False)):
        state.grid[position] = Coin(worth=number + 1)
    return state


@reward_function_registry.register
def new_coin(state: State, action: Action, next_state: State) -> float:
    """Return the worth of the coin in hand if it was picked up in this step, else 0."""
    before, now = state.agent.grid_object, next_state.agent.grid_object
    return float(now.worth) if isinstance(now, Coin) and not isinstance(before, Coin) else 0.0


SCENARIO = {
    "reset_function": {"name": "coin_room", "shape": [5, 5]},
    "transition_functions": ["move_agent", "turn_agent", "pickndrop"],
    "reward_functions": ["new_coin"],
    "observation_function": {"name": "partially_occluded", "area": [[-4, 0], [-2, 2]]},
    "terminating_function": "reach_exit",
    "success_function": "reach_exit",
    "state_space": {"objects": ["Floor", "Wall", "Exit", "Coin"], "colors": ["NONE", "YELLOW"]},
}

if __name__ == "__main__":
    env = Scenario.load(SCENARIO).inner_env()
    env.set_seed(3)
    env.reset()
    for position in env.state.grid.positions(Coin):
        print(tuple(position), env.state.grid[position])
    total = 0.0
    rng = np.random.default_rng(0)
    for _ in range(200):
        reward, is_over = env.step(Action(int(rng.integers(8))))
        total += reward
        if is_over:
            env.reset()
    print("total", total)
