"""Objects that move by themselves."""

from gv_engine.rules.component import component


@component
class MovingObstacle:
    """Moving obstacle: goes to a random free floor cell beside it in every step."""
