"""Built-in object types in order of their index (GridVerse specification, section 2).

New types go to the end: saved worlds, observations and replays store these indices.
"""

from functools import cache

from components.core import FLOOR, HIDDEN, NONE_GRID_OBJECT, Agent, Color, Mission
from components.items import (
    Absence,
    Aim,
    Beacon,
    Bodiless,
    Box,
    Door,
    Exit,
    Forgotten,
    Key,
    MovingObstacle,
    Opaque,
    Portable,
    Solid,
    Telepod,
)
from gv_engine.rules.component import list_components
from gv_engine.rules.geometry import ORIENTATIONS
from gv_engine.rules.objects import OBJECT_TYPES, ObjectType, object_type

OBJECT_TYPES.common = __name__
assert object_type("NoneGridObject", Opaque, in_grid=False) == NONE_GRID_OBJECT
assert object_type("Hidden", Opaque, in_grid=False) == HIDDEN
assert object_type("Floor") == FLOOR
WALL = object_type("Wall", Solid, Opaque)
EXIT = object_type("Exit", Exit, Color)
DOOR = object_type(
    "Door", Door, Color, states=tuple(Door.Status.__members__), state=(Door, "status")
)
KEY = object_type("Key", Key, Portable, Color)
MOVING_OBSTACLE = object_type("MovingObstacle", MovingObstacle)
BOX = object_type("Box", Box, Solid)
TELEPOD = object_type("Telepod", Telepod, Color)
BEACON = object_type("Beacon", Beacon, Color)

# only in levels that name this module
_MINIGRID = "components.minigrid"
BALL = object_type("Ball", Portable, Color, module=_MINIGRID)
PARCEL = object_type("Parcel", Box, Portable, Color, module=_MINIGRID)
LAVA = object_type("Lava", module=_MINIGRID)

# type of an agent as other agents see it
AGENT_TYPE = object_type(
    "Agent",
    Agent,
    Color,
    states=ORIENTATIONS,
    state=(Agent, "facing"),
    in_grid=False,
    module=Agent.__module__,
)


OPTIONAL = Absence, Aim, Bodiless, Forgotten
"""Built-in components that only agents of some scenarios have."""


def built_in_types() -> tuple[ObjectType, ...]:
    """Return the object types that this module declares."""
    return tuple(kind for kind in OBJECT_TYPES if kind.module == __name__)


@cache
def built_in_components() -> tuple[type, ...]:
    """Return the component classes of this package for which every world has columns: all except
    Mission and the classes in `OPTIONAL`, which only some scenarios use."""
    optional = Mission, *OPTIONAL
    return tuple(cls for cls in list_components(__package__) if cls not in optional)
