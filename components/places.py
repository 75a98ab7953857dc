"""Places that mean something to whoever stands there or sees them."""

from gv_engine.rules.component import component


@component(often=True)
class Exit:
    """Where one wants to be."""


@component
class Telepod:
    """Sends whoever steps on it to another one of its colour."""


@component
class Beacon:
    """Shows by its colour which exit is the good one."""
