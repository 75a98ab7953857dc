"""Objects that act on agents that stand on them or see them."""

from gv_engine.rules.component import component


@component(often=True)
class Exit:
    """Exit: the goal of most levels."""


@component
class Telepod:
    """Telepod: sends an agent that steps on it to another telepod of its colour."""


@component
class Beacon:
    """Beacon: its colour is the colour of the good exit."""
