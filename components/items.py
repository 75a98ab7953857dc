"""Objects with a use."""

from gv_engine.rules.component import NOTHING, EntityId, component


@component(often=True)
class Key:
    """Key: opens locked doors of its colour."""


@component
class Box:
    """Box: contains one object, an entity without a position."""

    content: EntityId = NOTHING
