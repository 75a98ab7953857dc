"""Doors."""

from enum import IntEnum

from gv_engine.rules.component import Int8, component

OPEN, CLOSED, LOCKED = range(3)


@component(often=True)
class Door:
    """Door: passable and transparent while OPEN; a LOCKED one needs a key of its colour."""

    class Status(IntEnum):
        """Status of a door."""

        OPEN = OPEN
        CLOSED = CLOSED
        LOCKED = LOCKED

    status: Int8 = OPEN
