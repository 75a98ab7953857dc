"""How an object stands in the way."""

from gv_engine.language.component import component


@component
class Solid:
    """Blocks movement."""


@component
class Opaque:
    """Blocks vision."""


@component
class Portable:
    """Can be picked up."""
