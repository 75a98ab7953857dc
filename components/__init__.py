"""Components, and the object types made of them."""

import gv_engine.rules  # noqa: F401  # first, as the engine makes the object types of all below
from components.core import Agent as Agent
from components.core import Color as Color
from components.core import Kind as Kind
from components.core import Mission as Mission
from components.core import Position as Position
from components.items import Beacon as Beacon
from components.items import Box as Box
from components.items import Door as Door
from components.items import Exit as Exit
from components.items import Key as Key
from components.items import MovingObstacle as MovingObstacle
from components.items import Opaque as Opaque
from components.items import Portable as Portable
from components.items import Solid as Solid
from components.items import Telepod as Telepod
