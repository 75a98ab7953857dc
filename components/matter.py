"""Physical properties of an object."""

from gv_engine.rules.component import component


@component(often=True)
class Solid:
    """Tag of objects that block movement."""


@component(often=True)
class Opaque:
    """Tag of objects that block vision."""


@component(often=True)
class Portable:
    """Tag of objects that can be picked up."""
