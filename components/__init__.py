"""Components: small dataclasses by topic, and the object types made of them."""

import gv_engine.rules  # noqa: F401  # first, as the engine makes the object types of all below
from components.agent import Agent
from components.appearance import Color, Kind
from components.doors import Door
from components.items import Box, Key
from components.matter import Opaque, Portable, Solid
from components.mission import Mission
from components.places import Beacon, Exit, Telepod
from components.space import Position
from components.wildlife import MovingObstacle

__all__ = [
    "Agent",
    "Beacon",
    "Box",
    "Color",
    "Door",
    "Exit",
    "Key",
    "Kind",
    "Mission",
    "MovingObstacle",
    "Opaque",
    "Portable",
    "Position",
    "Solid",
    "Telepod",
]
