"""Mission component of MiniGrid's levels, and helpers that assign missions."""

from components.core import NONE, NONE_GRID_OBJECT
from components.core import Mission as PlainMission
from gv_engine.rules.component import Coordinate, Int8, component
from gv_engine.rules.world import World


@component
class Mission(PlainMission):
    """Mission with a second object, and with the cell (y, x) where one of the two objects was at
    the reset."""

    other_kind: Int8 = NONE_GRID_OBJECT
    other_color: Int8 = NONE
    y: Coordinate = -1
    x: Coordinate = -1


def set_target(w: World, thing: int) -> None:
    """Write the type and colour of the object `thing` into the mission of all agents."""
    for agent in w.agents():
        w.mission.kind[agent] = w.kind.value[thing]
        w.mission.color[agent] = w.color.value[thing]


def set_second_target(w: World, thing: int) -> None:
    """Write the type and colour of the object `thing` into the mission of all agents as the second
    object."""
    for agent in w.agents():
        w.mission.other_kind[agent] = w.kind.value[thing]
        w.mission.other_color[agent] = w.color.value[thing]


def set_target_cell(w: World, thing: int) -> None:
    """Write the current cell of the object `thing` into the mission of all agents."""
    for agent in w.agents():
        w.mission.y[agent] = w.position.y[thing]
        w.mission.x[agent] = w.position.x[thing]


def set_wording(w: World, wording: int) -> None:
    """Select the mission text with index `wording` for all agents."""
    for agent in w.agents():
        w.mission.wording[agent] = wording
