"""Returns of episodes."""

from collections.abc import Callable


def make_return_computer(discount: float) -> Callable[[float], float]:
    """Return a function that is called with each reward of an episode in turn, and returns the
    discounted return so far."""
    total, weight = 0.0, 1.0

    def add_reward(reward: float) -> float:
        nonlocal total, weight
        total += weight * reward
        weight *= discount
        return total

    return add_reward
