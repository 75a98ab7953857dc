"""MiniGrid's Memory: an object to remember, and the choice between two at the end of a hallway."""

from collections.abc import Sequence

from components.core import FLOOR, GREEN
from components.minigrid import BALL
from components.objects import KEY, WALL
from gv_engine.plugins.minigrid.systems.placing import random_type, set_cell, set_column, set_row
from gv_engine.plugins.minigrid.systems.steps import success_reward
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.geometry import RIGHT
from gv_engine.rules.system import RESET, REWARD, TERMINATING, system
from gv_engine.rules.world import World
from systems.building import build_room, check_odd_shape, put, put_agent

_ROOM_END = 5
"""First column behind the small room."""


@system(RESET, check=check_odd_shape)
def hallway(w: World, shape: Sequence[int], random_length: bool = False) -> None:
    """Build a small room with a green object, and a hallway that ends between two objects, one of
    the same type."""
    build_room(w, shape)
    middle = w.height // 2
    end = w.rng.integers(4, w.width - 2) if random_length else w.width - 3
    set_row(w, WALL, middle - 2, 1, _ROOM_END)
    set_row(w, WALL, middle + 2, 1, _ROOM_END)
    set_row(w, WALL, middle - 1, _ROOM_END - 1, end)
    set_row(w, WALL, middle + 1, _ROOM_END - 1, end)
    set_column(w, WALL, end, 0, w.height)
    set_cell(w, FLOOR, middle, end)
    set_column(w, WALL, end + 2, 0, w.height)
    put_agent(w, AGENT, middle, w.rng.integers(1, end + 1), RIGHT)
    put(w, random_type(w, 2), middle - 1, 1, GREEN)
    ball_above = w.rng.integers(0, 2) == 0
    put(w, BALL if ball_above else KEY, middle - 2, end + 1, GREEN)
    put(w, KEY if ball_above else BALL, middle + 2, end + 1, GREEN)


def chosen_object(w: World, agent: int) -> int:
    """Return the object at the end of the hallway next to which the agent stands; NOTHING if it
    stands elsewhere."""
    y, x = w.position.y[agent], w.position.x[agent]
    aside = y - w.height // 2
    if aside == 0 or x < _ROOM_END:  # in the hallway or in the small room
        return NOTHING
    return w.at[y + aside, x]


def matches_first_object(w: World, thing: int) -> bool:
    """Return True if an object has the type of the object in the small room."""
    return thing != NOTHING and w.kind.value[thing] == w.kind.value[w.at[w.height // 2 - 1, 1]]


@system(REWARD)
def choose_its_like(w: World, agent: int, max_steps: int) -> float:
    """Pays for choosing the object of the same type as the one in the small room; more for fewer
    steps."""
    return success_reward(w, max_steps) if matches_first_object(w, chosen_object(w, agent)) else 0.0


@system(TERMINATING, says="You chose the other thing")
def choose(w: World, agent: int) -> bool:
    """The agent has chosen one of the objects at the end of the hallway."""
    return chosen_object(w, agent) != NOTHING


@system(TERMINATING)
def chose_its_like(w: World, agent: int) -> bool:
    """The agent has chosen the object of the same type as the one in the small room."""
    return matches_first_object(w, chosen_object(w, agent))
