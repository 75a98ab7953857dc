"""Things with a use."""

from gv_engine.rules.component import NOTHING, EntityId, component


@component(often=True)
class Key:
    """Opens locked doors of its colour."""


@component
class Box:
    """Holds one object, an entity without a place."""

    content: EntityId = NOTHING
