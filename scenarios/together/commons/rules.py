"""Gathering."""

from gv_engine import TERMINATING, World, system


@system(TERMINATING)
def has_gathered(w: World, agent: int, wanted: float) -> bool:
    """The agent has been paid as much as it wants."""
    return w.total[agent] + w.reward[agent] >= wanted
