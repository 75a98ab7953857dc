"""Observations as MiniGrid's agents have them.

>>> from gv_engine import Scenario
>>> MiniGridForm(Scenario.load("keydoor-5x5")).space["image"]
Box(0, 255, (7, 7, 3), uint8)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from components.appearance import (
    BLUE,
    FLOOR,
    GREEN,
    GREY,
    HIDDEN,
    NONE_GRID_OBJECT,
    PURPLE,
    RED,
    YELLOW,
)
from components.minigrid import BALL, LAVA, PARCEL
from components.objects import BOX, DOOR, EXIT, KEY, WALL
from gv_engine.envs.observation_base import MISSION, ObservationEncoder, compiled
from gv_engine.envs.representations import Arrays, Representation
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT, RIGHT
from gv_engine.rules.objects import COLORS, MOST_TYPES

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario

_AGENT = 10
"""The number of the agent, where it shows in its cell."""
_FIRST_OTHER = _AGENT + 1
"""From here on come the numbers of types that MiniGrid lacks."""
_TYPES = np.zeros((MOST_TYPES, 2), np.uint8)
"""By our index: the number of a type, and that of the colour that all its objects have."""
_TYPES[:, 0] = np.arange(_FIRST_OTHER, _FIRST_OTHER + MOST_TYPES)
_TYPES[[NONE_GRID_OBJECT, HIDDEN, FLOOR, WALL, DOOR, KEY, BALL], 0] = 1, 0, 1, 2, 4, 5, 6
_TYPES[[PARCEL, BOX, EXIT, LAVA], 0] = 7, 7, 8, 9
_TYPES[WALL, 1] = 5
_COLORS = np.zeros(len(COLORS), np.uint8)
"""By our index: the number of a colour."""
_COLORS[[RED, GREEN, BLUE, PURPLE, YELLOW, GREY]] = range(6)
WAYS = np.zeros(4, np.int64)
"""By our number: that of a direction."""
WAYS[[RIGHT, BACKWARD, LEFT, FORWARD]] = range(4)
_NO_NUMBERS = np.zeros((2, 0), np.int32)
"""The least and the greatest numbers of missions where nothing is asked."""


def minigrid_codes(looks: NDArray[Any], types: NDArray[np.uint8] = _TYPES) -> NDArray[np.uint8]:
    """(…, 3) type, colour and state of (…, 3) type, state and colour."""
    of_type = types[looks[..., 0]]
    found = np.empty(looks.shape, np.uint8)
    found[..., 0], found[..., 2] = of_type[..., 0], looks[..., 1]
    found[..., 1] = of_type[..., 1] + _COLORS[looks[..., 2]]
    return found


class MiniGridForm(ObservationEncoder):
    """What MiniGrid shows: `image` (w, h, 3) uint8, `direction` and `mission`.

    The image has type, colour and state of the cells that are seen, in columns from left to right,
    and in each from far to near; in the agent's own cell is what it holds. The direction is 0 for
    right, then clockwise. The mission is a text; among many worlds it is (k,) int32 numbers, for
    which `GridVectorEnv.missions` has the texts.

    Args:
        scenario: whose observations they are.
        fully_observable: the image is of the whole grid instead, seen or not, its columns from left
            to right and in each from top to bottom; where the agent stands it has type 10, and the
            direction as state.
    """

    made_of: tuple[str, ...] = ("grid", "item", "facing", MISSION)
    kept = "image", "direction", MISSION
    recorded = "image", "direction"
    lasting = False  # a direction alone is a number
    asks = True
    space: spaces.Dict

    def __init__(self, scenario: Scenario, fully_observable: bool = False) -> None:
        super().__init__(Representation.of_observation(scenario))
        self._fully = bool(fully_observable)
        (height, width), (y, x) = scenario.area.shape, scenario.area.observer
        self._own = (x, y) if 0 <= y < height and 0 <= x < width else None
        self._types = _TYPES.copy()
        if self._fully:
            self.made_of = "whole", "item", "facing", MISSION
            height, width = scenario.largest_shape
            self._own = None
            self._types[NONE_GRID_OBJECT, 0] = _AGENT
        elif all(member.visibility.name == "fully_transparent" for member in scenario.members):
            # all that is not seen is beyond the grid
            self._types[HIDDEN] = _TYPES[WALL]
        self._missions = missions = scenario.missions
        self._low, self._high = (missions.low, missions.high) if missions else _NO_NUMBERS
        self._image = width, height, 3
        self.space = spaces.Dict(
            {
                "image": spaces.Box(0, 255, self._image, np.uint8),
                "direction": spaces.Discrete(len(WAYS)),
                MISSION: spaces.Text(
                    min_length=0,
                    max_length=missions.max_text_length if missions else 1,
                    charset=missions.characters if missions else " ",
                ),
            }
        )
        kinds = np.resize(self._types, (256, 2)).astype(np.uint32)
        colors = np.resize(_COLORS, 256).astype(np.uint32)
        self._numbers = kinds[:, 0] + (kinds[:, 1] << 8), colors << 8
        self._cells = np.arange(height * width, dtype=np.uint64).reshape(height, width).T.ravel()
        self._own_cell = x * height + y if self._own else -1

    @property
    def space_among_many(self) -> spaces.Dict:
        numbers = spaces.Box(self._low, self._high, dtype=np.int32)
        return spaces.Dict({**self.space.spaces, MISSION: numbers})

    def arrays(self, *many: int) -> Arrays:
        return {
            "image": np.zeros((*many, *self._image), np.uint8),
            "direction": np.zeros(many, np.int64),
            MISSION: np.zeros((*many, len(self._low)), np.int32),
        }

    def sharing(self, *observed: NDArray[Any]) -> Arrays:
        *_, mission = observed
        return {**self.arrays(len(mission)), MISSION: mission}

    def write(self, out: Arrays, *observed: NDArray[Any]) -> None:
        grid, item, facing, mission = observed
        WAYS.take(facing, out=out["direction"], mode="clip")
        if out[MISSION] is not mission:
            np.copyto(out[MISSION], mission)
        image = out["image"]
        if self._representation.compiles:
            shape = -1, self._cells.size, 3
            where = self._cells, self._own_cell, image.reshape(shape)
            paint_all = compiled(paint)
            paint_all(grid.reshape(shape), item.reshape(-1, 3), *self._numbers, *where)
        else:
            np.copyto(image, minigrid_codes(np.swapaxes(grid, -3, -2), self._types))
            if self._own:
                image[..., *self._own, :] = minigrid_codes(item)
        if self._fully:
            agents = np.nonzero(image[..., 0] == _AGENT)
            image[..., 2][agents] = out["direction"][agents[:-2]]

    def told(self, arrays: Arrays) -> Arrays:
        return arrays.copy()

    def one(self, *observed: NDArray[Any]) -> dict[str, Any]:
        arrays = self.arrays()
        self.write(arrays, *observed)
        asked = self._missions.to_text(arrays[MISSION]) if self._missions else ""
        return {**arrays, "direction": arrays["direction"].item(), MISSION: asked}


def paint(
    grid: NDArray[np.uint8],
    item: NDArray[np.uint8],
    of_types: NDArray[np.uint32],
    of_colors: NDArray[np.uint32],
    cells: NDArray[np.uint64],
    own: int,
    out: NDArray[np.uint8],
) -> None:
    """Fill images.

    Args:
        grid: (N, M, 3) type, state and colour of the cells that are shown.
        item: (N, 3) the same of what is held.
        of_types, of_colors: (256,) whose sum has the number of the type in its lowest byte, and
            that of the colour in the next one.
        cells: (M,) which of the cells comes where.
        own: where the held one comes instead; -1 for nowhere.
        out: (N, M, 3) to be filled with type, colour and state.
    """
    for n in range(len(grid)):
        for k in range(len(cells)):
            cell = cells[k]
            code = of_types[grid[n, cell, 0]] + of_colors[grid[n, cell, 2]]
            out[n, k, 0], out[n, k, 1], out[n, k, 2] = code, code >> 8, grid[n, cell, 1]
        if own >= 0:
            code = of_types[item[n, 0]] + of_colors[item[n, 2]]
            out[n, own, 0], out[n, own, 1], out[n, own, 2] = code, code >> 8, item[n, 1]
