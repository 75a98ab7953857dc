"""How an object stands in the way."""

from gv_engine.rules.component import component


@component(often=True)
class Solid:
    """Blocks movement."""


@component(often=True)
class Opaque:
    """Blocks vision."""


@component(often=True)
class Portable:
    """Can be picked up."""
