"""Components: small dataclasses by topic, and the object types made of them."""

import gv_engine.rules  # noqa: F401  # first, as the engine makes the object types of all below
from components.agent import Agent as Agent
from components.appearance import Color as Color
from components.appearance import Kind as Kind
from components.doors import Door as Door
from components.items import Box as Box
from components.items import Key as Key
from components.matter import Opaque as Opaque
from components.matter import Portable as Portable
from components.matter import Solid as Solid
from components.mission import Mission as Mission
from components.places import Beacon as Beacon
from components.places import Exit as Exit
from components.places import Telepod as Telepod
from components.space import Position as Position
from components.wildlife import MovingObstacle as MovingObstacle
