"""Random level from the GridVerse documents: one of four keys opens the door."""

from typing import Optional

import numpy.random as rnd

from gv_engine.gridverse import reset_function_registry
from gv_engine.gridverse.agent import Agent
from gv_engine.gridverse.geometry import Orientation, Position
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.grid_object import Color, Door, Exit, Floor, Key, Wall
from gv_engine.gridverse.rng import choice, get_gv_rng_if_none, make_rng, shuffle
from gv_engine.gridverse.state import State


@reset_function_registry.register
def choose_key(*, rng: Optional[rnd.Generator] = None) -> State:  # noqa: UP045  # as printed there
    """the agent has to pick the correct key to open a randomly colored door"""

    rng = get_gv_rng_if_none(rng)  # necessary to use rng object!

    # only consider these colors
    colors = [Color.RED, Color.GREEN, Color.BLUE, Color.YELLOW]

    # randomly select key locations
    keys = shuffle(rng, [Key(color) for color in colors])
    # randomly select door color
    color = choice(rng, colors)

    # grids can be constructed directly from objects
    door = Door(Door.Status.LOCKED, color)
    grid = Grid(
        [
            [Wall(), Wall(), Wall(), Wall(), Wall()],
            [Wall(), Wall(), Exit(), Wall(), Wall()],
            [Wall(), Wall(), door, Wall(), Wall()],
            [Wall(), keys[0], Floor(), keys[1], Wall()],
            [Wall(), keys[2], Floor(), keys[3], Wall()],
            [Wall(), Wall(), Wall(), Wall(), Wall()],
        ]
    )

    # positioning the agent in the above grid
    agent = Agent(Position(4, 2), Orientation.F)

    return State(grid, agent)


if __name__ == "__main__":
    state = reset_function_registry["choose_key"](rng=make_rng(0))
    print("the door is", state.grid[2, 2])
    for position in state.grid.positions(Key):
        print(tuple(position), state.grid[position])
