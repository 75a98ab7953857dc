"""Terminating functions: when an episode is over (GridVerse specification, section 5)."""

from typing import Any

from gv_engine.system import TERMINATING, system
from systems.queries import here


@system(TERMINATING)
def reach_exit(w: Any, agent: int) -> bool:
    """The agent stands on an exit."""
    return w.exit.has[here(w, agent)]  # type: ignore[no-any-return]
