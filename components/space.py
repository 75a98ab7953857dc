"""Where things are."""

from gv_engine.component import Int16, component


@component
class Position:
    """Cell (y, x), or (-1, -1) for an entity without a place; change it through `w.place`."""

    y: Int16 = -1
    x: Int16 = -1
