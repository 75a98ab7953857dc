"""A thing whose states are orientations."""

from gv_engine import Int8, component, object_type
from gv_engine.rules.geometry import ORIENTATIONS


@component
class Belt:
    """Leads in a direction."""

    way: Int8 = 0


BELT = object_type("Belt", Belt, states=ORIENTATIONS, state=(Belt, "way"))
