"""Returns of episodes."""

from collections.abc import Callable


def make_return_computer(discount: float) -> Callable[[float], float]:
    """Return a function that takes the rewards of an episode one by one, and returns the discounted
    sum so far."""
    total, weight = 0.0, 1.0

    def add_reward(reward: float) -> float:
        nonlocal total, weight
        total += weight * reward
        weight *= discount
        return total

    return add_reward
