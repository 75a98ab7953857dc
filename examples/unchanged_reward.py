"""Reward function with parameters, from the GridVerse documents: a penalty for actions without
effect."""

import functools

from gv_engine.gridverse import (
    Action,
    Shape,
    State,
    reset_function_registry,
    reward_function_registry,
    transition_function_registry,
)


@reward_function_registry.register
def unchanged(
    state: State,
    action: Action,
    next_state: State,
    *,
    reward_if_equals: float = -1.0,
    reward_if_not_equals: float = 0.0,
) -> float:
    """Return `reward_if_equals` if the step has changed nothing, else `reward_if_not_equals`."""
    return reward_if_equals if state == next_state else reward_if_not_equals


unchanged_stronger = functools.partial(unchanged, reward_if_equals=-5.0, reward_if_not_equals=1.0)
reward_function_registry.register(unchanged_stronger, name="unchanged_stronger")

if __name__ == "__main__":
    state = reset_function_registry["empty"](shape=Shape(4, 4))
    for action in (Action.MOVE_LEFT, Action.MOVE_FORWARD):
        next_state = state.copy()
        transition_function_registry["move_agent"](next_state, action)
        rewards = (
            unchanged(state, action, next_state),
            unchanged_stronger(state, action, next_state),
        )
        print(action.name, *rewards)
