"""Transition function that applies another one with some probability."""

import numpy as np

from gv_engine import Scenario
from gv_engine.gridverse import Action, State, get_gv_rng_if_none, transition_function_registry
from gv_engine.plugins.gridverse.functions import TransitionFunction


@transition_function_registry.register
def random_transition(
    state: State,
    action: Action,
    *,
    transition_function: TransitionFunction,
    probability: float = 0.5,
    rng: np.random.Generator | None = None,
) -> None:
    """Apply `transition_function` with this probability."""
    rng = get_gv_rng_if_none(rng)
    if rng.random() < probability:
        transition_function(state, action, rng=rng)


SCENARIO = {
    "map": "#########\n#>.....E#\n#########",
    "transition_functions": [
        {
            "name": "random_transition",
            "transition_function": {"name": "move_agent"},
            "probability": 0.7,
        },
        "turn_agent",
    ],
    "reward_functions": ["reach_exit"],
    "observation_function": {"name": "partially_occluded", "area": [[-6, 0], [-3, 3]]},
    "terminating_function": "reach_exit",
}

if __name__ == "__main__":
    env = Scenario.load(SCENARIO).inner_env()
    env.set_seed(0)
    env.reset()
    steps, terminal = 0, False
    while not terminal:
        _, terminal = env.step(Action.MOVE_FORWARD)
        steps += 1
    print(f"six cells in {steps} steps")
