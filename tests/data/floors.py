"""Rules that build another floor in the middle of an episode."""

from gv_engine import AGENT, NOTHING, TRANSITION, World, system
from gv_engine.geometry import ACTUATE, PICK_N_DROP
from systems.building import build_room, put_agent


def asks_for_map(w: World, agent: int, action: int) -> bool:
    """Return True if the agent throws its map away."""
    return action == ACTUATE


@system(TRANSITION, when=asks_for_map)
def forget(w: World, agent: int) -> None:
    """Forget the cells that have been seen."""
    w.forget(agent)


def asks_for_floor(w: World, agent: int, action: int) -> bool:
    """Return True if the agent goes down."""
    return action == PICK_N_DROP


@system(TRANSITION, when=asks_for_floor)
def descend(w: World, agent: int, height: int = 3, width: int = 5) -> None:
    """Build an empty room in place of the level."""
    for y in range(w.height):
        for x in range(w.width):
            if w.at[y, x] != NOTHING:
                w.remove(w.at[y, x])
    build_room(w, (height, width))
    put_agent(w, AGENT, 1, 1, 0)
