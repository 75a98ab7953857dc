"""What the one who acts is asked to do."""

from components.appearance import NONE, NONE_GRID_OBJECT
from gv_engine.rules.component import Int8, component


@component
class Mission:
    """What the agent is asked to do, and with what: objects of a type and of a colour, or of any.

    Scenarios may add fields in a class of the same name that is made from this one. Those called
    `kind` or `…_kind` hold types, `color` or `…_color` colours; what agents see are whole numbers,
    so that entities, coordinates and floats are for rules alone.
    """

    wording: Int8 = 0
    """The number of the text that says it, among the scenario's."""
    kind: Int8 = NONE_GRID_OBJECT
    color: Int8 = NONE
