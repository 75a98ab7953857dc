"""What an observer can tell about an object."""

from gv_engine.language.component import Int8, component

NONE, RED, GREEN, BLUE, YELLOW = range(5)
FLOOR = 2
"""Type index of the floor, which needs no entity: what an empty cell reads."""


@component
class Kind:
    """Index of the object's type."""

    value: Int8 = FLOOR


@component
class Color:
    """One of NONE, RED, GREEN, BLUE, YELLOW."""

    value: Int8 = NONE
