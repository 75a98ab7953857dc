"""Mission of an agent."""

from components.appearance import NONE, NONE_GRID_OBJECT
from gv_engine.rules.component import Int8, component


@component
class Mission:
    """Mission of an agent: its text, and the type and colour of the objects that the mission is
    about.

    Scenarios may add fields in a subclass of the same name. Fields called `kind` or `…_kind` hold
    types, `color` or `…_color` hold colours. Agents see whole numbers only; entities, coordinates
    and floats are for rules.
    """

    wording: Int8 = 0
    """Index of the mission's text among the texts of the scenario."""
    kind: Int8 = NONE_GRID_OBJECT
    color: Int8 = NONE
