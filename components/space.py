"""Position of an object."""

from gv_engine.rules.component import Coordinate, component


@component(often=True)
class Position:
    """Cell (y, x), or (-1, -1) for an entity without a cell; change it through `w.place`."""

    y: Coordinate = -1
    x: Coordinate = -1
