"""Goals."""

from gv_engine import REWARD, TERMINATING, World, system
from systems.queries import all_of


def has_the_ball(w: World, object_type: int) -> bool:
    """Whether a goal of a type is in its last state."""
    for goal in all_of(w, object_type):
        if w.state_of(goal) == w.num_states(object_type) - 1:
            return True
    return False


@system(REWARD)
def goal(w: World, object_type: int, reward: float = 1.0) -> float:
    """Pays for the ball in a goal of a type."""
    return reward if has_the_ball(w, object_type) else 0.0


@system(TERMINATING)
def scored(w: World, object_type: int) -> bool:
    """The ball is in a goal of a type."""
    return has_the_ball(w, object_type)
