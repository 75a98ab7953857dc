"""Components of grid objects that only rules read: physical properties and uses."""

from gv_engine.rules.component import NOTHING, Coordinate, EntityId, Int8, Int16, component
from gv_engine.rules.geometry import NamedNumber


@component(often=True)
class Solid:
    """Tag of objects that block movement."""


@component(often=True)
class Opaque:
    """Tag of objects that block vision."""


@component(often=True)
class Portable:
    """Tag of objects that can be picked up."""


@component(often=True)
class Key:
    """Key: opens locked doors of its colour."""


@component
class Box:
    """Box: contains one object, an entity without a position."""

    content: EntityId = NOTHING


OPEN, CLOSED, LOCKED = range(3)


@component(often=True)
class Door:
    """Door: passable and transparent while OPEN. A LOCKED door needs a key of its colour."""

    class Status(NamedNumber):
        """Status of a door."""

        OPEN = OPEN
        CLOSED = CLOSED
        LOCKED = LOCKED

    status: Int8 = OPEN


@component(often=True)
class Exit:
    """Exit: the goal of most levels."""


@component
class Telepod:
    """Telepod: sends an agent that steps on it to another telepod of its colour."""


@component
class Beacon:
    """Beacon: its colour is the colour of the good exit."""


@component
class MovingObstacle:
    """Moving obstacle: goes to a random free floor cell next to it in every step."""


@component
class Aim:
    """Cell (y, x) that an agent aims at, for the rules that move all agents at once, or (-1, -1)
    for none. Agents have this component in scenarios that use such a rule or list the component."""

    y: Coordinate = -1
    x: Coordinate = -1


@component
class Absence:
    """Steps for which an agent is out of play, 0 for none, and the cell (y, x) and direction in
    which it began the episode. Agents have this component in scenarios that use a rule of
    `systems.absence` or list the component."""

    steps: Int16 = 0
    y: Coordinate = -1
    x: Coordinate = -1
    facing: Int8 = 0


@component
class Forgotten:
    """Number of times that an agent has forgotten which cells it has seen, see `w.forget`. Agents
    have this component in scenarios with a transition that calls `w.forget` or `w.set_shape`."""

    count: int = 0


@component
class Bodiless:
    """Tag of an agent that stands in no cell: its actions move other objects, as in the game 2048.
    Its position is (-1, -1). Agents have this tag in scenarios that list it under `agents`."""
