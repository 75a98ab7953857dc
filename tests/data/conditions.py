"""Rules of every kind: with and without a condition, an agent's and nobody's."""

from gv_engine import REWARD, TERMINATING, TRANSITION, system
from gv_engine.rules.geometry import ACTUATE
from systems.building import put
from systems.queries import ahead, here


def on_an_exit(w, agent):
    return w.exit.has[here(w, agent)]


@system(TRANSITION, when=on_an_exit)
def on_exits(w, agent, transition_functions):
    """On an exit, some transitions happen, and nowhere else."""


def may_act(w, agent, action, allowed: bool):
    return allowed and action == ACTUATE


@system(TRANSITION, when=may_act)
def on_leave(w, agent, transition_functions, allowed: bool = True):
    """ACTUATE makes some transitions happen, where it is allowed."""


def room_for_more(w, most: int):
    return w.steps < most


@system(TRANSITION, when=room_for_more)
def grow(w, object_type: int, most: int = 100):
    """Nobody's: at each step one more object in the top row, from the left."""
    put(w, object_type, 0, w.steps)


def place_ahead(w, agent):
    e = ahead(w, agent)
    return w.position.y[e], w.position.x[e] + 0.5, w.door.has[e]


@system(REWARD, remember=place_ahead)
def was_ahead(w, agent, was, factor: float = 1.0):
    """Where the thing was that was ahead, and whether it was a door."""
    y, x, door = was
    return factor * (100 * y + x + 1000 * door)


def steps(w):
    return w.steps


@system(REWARD, remember=steps)
def growth(w, was, each: float = 1.0):
    """Nobody's: so much for each step that came before."""
    return each * was


@system(TERMINATING)
def grown(w, size: int):
    """Nobody's: over when so much has grown."""
    return w.steps + 1 >= size
