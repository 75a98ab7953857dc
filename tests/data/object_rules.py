"""Functions of states and grids for tests, some of which break their promises."""

import functools
import random

import numpy as np

from gv_engine import REWARD, TRANSITION, system
from gv_engine.gridverse import (
    Agent,
    Area,
    Color,
    Exit,
    Floor,
    Grid,
    GridObject,
    Hidden,
    Observation,
    Orientation,
    Position,
    Shape,
    State,
    Wall,
    choice,
    get_gv_rng_if_none,
    make_rng,
    reward_function_registry,
)


class Gem(GridObject):
    """Picked up and carried."""

    holdable = True
    carats: int = 1


def gem_room(*, shape, carats=3, rng=None):
    """A room with a gem somewhere."""
    assert isinstance(shape, Shape)
    rng = get_gv_rng_if_none(rng)
    grid = Grid.from_shape(shape)
    for position in grid.area.positions("border"):
        grid[position] = Wall()
    grid[shape.height - 2, shape.width - 2] = Exit()
    free = list(grid.positions(Floor))
    grid[choice(rng, free)] = Gem(carats)
    return State(grid, Agent(choice(rng, free), Orientation.R))


def drift(state, action, *, distance: int = 1, rng=None):
    """A wall appears somewhere, or goes."""
    for _ in range(distance):
        position = choice(get_gv_rng_if_none(rng), list(state.grid.area.positions("inside")))
        if position != state.agent.position and isinstance(state.grid[position], Floor | Wall):
            state.grid[position] = Floor() if state.grid[position] == Wall() else Wall()


def mostly(state, action, *, transition_function, rng=None):
    """Another transition, most of the time."""
    if rng.random() < 0.8:
        transition_function(state, action, rng=rng)


def worth(state, action, next_state, *, object_type, factor: float = 2.0):
    """What the agent now holds, if it did not."""
    now = next_state.agent.grid_object
    before = state.agent.grid_object
    if isinstance(now, object_type) and not isinstance(before, object_type):
        return factor * now.carats
    return 0.0


def moved(state, action, next_state, *, rng=None):
    """Whether anything has changed."""
    return float(state != next_state)


scarcely = functools.partial(worth, factor=0.5)
bold = functools.partial(reward_function_registry["living_reward"], reward=-0.125)


def rich(state, action, next_state):
    """The agent holds a gem."""
    return isinstance(next_state.agent.grid_object, Gem)


def stripes(grid, position, *, every: int = 2, rng=None):
    """Every so many columns are seen."""
    assert grid[position].type_index() != Hidden.type_index()
    seen = np.zeros(grid.shape, bool)
    seen[:, ::every] = True
    return seen


def darkness(grid, position, *, rng=None):
    """Cells are seen by chance."""
    return rng.random(grid.shape) < 0.5


def looking_glass(state, *, area, rng=None):
    """What is seen upside down."""
    assert isinstance(area, Area)
    cut = state.grid.subgrid(area + state.agent.position)
    agent = Agent(Position(0, 0), Orientation.F, state.agent.grid_object)
    return Observation((cut * Orientation.R) * Orientation.R, agent)


def too_small(state, *, rng=None):
    """Shows one cell."""
    return Observation(Grid([[Floor()]]), Agent(Position(0, 0), Orientation.F))


def blind(grid, position):
    """Says nothing of use."""
    return True


START = State(Grid([[Floor(), Exit(Color.RED)]]), Agent(Position(0, 0), Orientation.R))


def start(*, rng=None):
    """Always the same state."""
    return START


def nowhere(*, rng=None):
    """No state at all."""


# ---- broken promises -----------------------------------------------------------------------------


def edits_next(state, action, next_state):
    next_state.agent.orientation = Orientation.F
    return 0.0


def edits_before(state, action, next_state):
    state.grid[0, 0] = Floor()
    return False


def draws(state, action, next_state, *, rng=None):
    return rng.random()


def returns(state, action):
    return state


def global_random(state, action, *, rng=None):
    random.random()


def global_numpy(grid, position, *, rng=None):
    return np.random.rand(*grid.shape) < 0.5  # noqa: NPY002  # the broken promise


@system(REWARD)
def column_edits(w, agent):
    w.agent.facing[agent] = 0
    return 0.0


@system(TRANSITION)
def column_sound(w, agent):
    """Nothing."""


def fresh(state, action):
    """Draws from a generator of its own, which nobody can see."""
    make_rng(0).random()


def two_arguments(state, action):
    return 0.0
