"""Rules that the tests add to the built-in ones."""

from typing import Any

from components.doors import CLOSED, OPEN
from gv_engine.geometry import ACTUATE
from gv_engine.system import TRANSITION, system
from systems.queries import ahead


@system(TRANSITION)
def slam_door(w: Any, agent: int, on: bool = True) -> None:
    """Instead of being opened, an open door ahead is closed."""
    e = ahead(w, agent)
    if on and w.action == ACTUATE and w.door.has[e] and w.door.status[e] == OPEN:
        w.door.status[e] = CLOSED
