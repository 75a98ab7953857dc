"""Random level from the GridVerse documents: one of four keys opens the door."""

from typing import Optional

import numpy.random as rnd

from gv_engine.gridverse import (
    Agent,
    Color,
    Door,
    Exit,
    Floor,
    Grid,
    Key,
    Orientation,
    Position,
    State,
    Wall,
    choice,
    get_gv_rng_if_none,
    make_rng,
    reset_function_registry,
    shuffle,
)


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
