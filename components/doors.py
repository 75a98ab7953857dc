"""Doors."""

from enum import IntEnum

from gv_engine.rules.component import Int8, component

OPEN, CLOSED, LOCKED = range(3)


@component(often=True)
class Door:
    """Lets pass and see through while OPEN; LOCKED asks for a key of its colour."""

    class Status(IntEnum):
        """How a door stands."""

        OPEN = OPEN
        CLOSED = CLOSED
        LOCKED = LOCKED

    status: Int8 = OPEN
