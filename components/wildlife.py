"""Things that move by themselves."""

from gv_engine.rules.component import component


@component
class MovingObstacle:
    """Wanders over free floor, one cell a step."""
