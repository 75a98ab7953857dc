"""Observations in MiniGrid's format.

>>> from gv_engine import Scenario
>>> MiniGridEncoder(Scenario.load("keydoor-5x5")).space["image"]
Box(0, 255, (7, 7, 3), uint8)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from components.core import BLUE, FLOOR, GREEN, GREY, HIDDEN, NONE_GRID_OBJECT, PURPLE, RED, YELLOW
from components.minigrid import BALL, LAVA, PARCEL
from components.objects import BOX, DOOR, EXIT, KEY, WALL
from gv_engine.envs import representations
from gv_engine.rules.geometry import BACKWARD, FORWARD, LEFT, RIGHT
from gv_engine.rules.objects import COLORS, MOST_TYPES

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario

_AGENT = 10
"""MiniGrid's type number of the agent in its cell."""
_FIRST_OTHER = _AGENT + 1
"""First number of the types that MiniGrid does not have."""
_TYPES = np.zeros((MOST_TYPES, 2), np.uint8)
"""(types, 2) MiniGrid's type number by type index of this engine, and the colour number of types
with a fixed colour."""
_TYPES[:, 0] = np.arange(_FIRST_OTHER, _FIRST_OTHER + MOST_TYPES)
_TYPES[[NONE_GRID_OBJECT, HIDDEN, FLOOR, WALL, DOOR, KEY, BALL], 0] = 1, 0, 1, 2, 4, 5, 6
_TYPES[[PARCEL, BOX, EXIT, LAVA], 0] = 7, 7, 8, 9
_TYPES[WALL, 1] = 5
_COLORS = np.zeros(len(COLORS), np.uint8)
"""MiniGrid's colour number by colour index."""
_COLORS[[RED, GREEN, BLUE, PURPLE, YELLOW, GREY]] = range(6)
MINIGRID_DIRECTIONS = np.zeros(4, np.int64)
"""MiniGrid's direction number by orientation."""
MINIGRID_DIRECTIONS[[RIGHT, BACKWARD, LEFT, FORWARD]] = range(4)
_NO_NUMBERS = np.zeros((2, 0), np.int32)
"""Bounds of the mission numbers in scenarios without missions."""


def encode_minigrid(cells: NDArray[Any], types: NDArray[np.uint8] = _TYPES) -> NDArray[np.uint8]:
    """Convert this engine's cells, (…, 3) with type, state and colour, to MiniGrid's encoding:
    type, colour and state. `types` maps type indices, like `_TYPES`."""
    type_codes = types[cells[..., 0]]
    codes = np.empty(cells.shape, np.uint8)
    codes[..., 0] = type_codes[..., 0]
    codes[..., 1] = type_codes[..., 1] + _COLORS[cells[..., 2]]
    codes[..., 2] = cells[..., 1]
    return codes


class MiniGridEncoder(representations.ObservationEncoder):
    """Encoder of MiniGrid's observation: `image` (w, h, 3) uint8, `direction` and `mission`.

    The image has type, colour and state of the visible cells: columns from left to right, cells
    from far to near; the agent's own cell shows the object in hand. The direction is 0 for right,
    then clockwise. The mission is a text; in a vector environment it is (k,) int32 numbers, whose
    texts `GridVectorEnv.missions` returns.

    Args:
        scenario: scenario that is observed.
        fully_observable: encode the whole grid instead, columns from left to right, cells from top
            to bottom; the agent's cell has type 10 and the direction as state.
    """

    source_arrays: tuple[str, ...] = ("grid", "item", "facing", representations.MISSION)
    buffer_names = "image", "direction", representations.MISSION
    recorded = "image", "direction"
    shares_memory = False  # a single direction is an int
    has_mission = True
    space: spaces.Dict

    def __init__(self, scenario: Scenario, fully_observable: bool = False) -> None:
        """Make the encoder and its observation space. The image shows the agent's view, or the
        whole level if `fully_observable`."""
        super().__init__(representations.Representation.of_observation(scenario))
        self._fully_observable = bool(fully_observable)
        (height, width), (y, x) = scenario.area.shape, scenario.area.observer
        self._agent_cell = (x, y) if 0 <= y < height and 0 <= x < width else None
        self._types = _TYPES.copy()
        if self._fully_observable:
            self.source_arrays = "whole", "item", "facing", representations.MISSION
            height, width = scenario.largest_shape
            self._agent_cell = None
            self._types[NONE_GRID_OBJECT, 0] = _AGENT
        elif all(member.visibility.name == "fully_transparent" for member in scenario.members):
            # all hidden cells are beyond the grid
            self._types[HIDDEN] = _TYPES[WALL]
        self._missions = missions = scenario.missions
        self._low, self._high = (missions.low, missions.high) if missions else _NO_NUMBERS
        self._image = width, height, 3
        self.space = spaces.Dict(
            {
                "image": spaces.Box(0, 255, self._image, np.uint8),
                "direction": spaces.Discrete(len(MINIGRID_DIRECTIONS)),
                representations.MISSION: spaces.Text(
                    min_length=0,
                    max_length=missions.max_text_length if missions else 1,
                    charset=missions.characters if missions else " ",
                ),
            }
        )
        # tables for `paint_images`, with an entry for each uint8
        types = np.resize(self._types, (256, 2)).astype(np.uint32)
        colors = np.resize(_COLORS, 256).astype(np.uint32)
        self._codes = types[:, 0] + (types[:, 1] << 8), colors << 8
        self._cells = np.arange(height * width).reshape(height, width).T.ravel()
        self._agent_cell_index = x * height + y if self._agent_cell else -1

    @property
    def single_observation_space(self) -> spaces.Dict:
        """Space of one world's observation in a vector environment, where missions are numbers."""
        numbers = spaces.Box(self._low, self._high, dtype=np.int32)
        return spaces.Dict({**self.space.spaces, representations.MISSION: numbers})

    def make_arrays(self, *batch_shape: int) -> representations.Arrays:
        """Return new arrays `image`, `direction` and `mission` filled with zeros. `batch_shape` is
        their leading shape; () for a single observation."""
        return {
            "image": np.zeros((*batch_shape, *self._image), np.uint8),
            "direction": np.zeros(batch_shape, np.int64),
            representations.MISSION: np.zeros((*batch_shape, len(self._low)), np.int32),
        }

    def make_shared_arrays(self, *observed: NDArray[Any]) -> representations.Arrays:
        """Return arrays for N observations; `mission` is the observed array, not a copy."""
        *_, mission = observed
        return {**self.make_arrays(len(mission)), representations.MISSION: mission}

    def write(self, out: representations.Arrays, *observed: NDArray[Any]) -> None:
        """Convert this engine's observation arrays, `observed`, to MiniGrid's image, direction and
        mission, and write these into `out`."""
        grid, item, facing, mission = observed
        MINIGRID_DIRECTIONS.take(facing, out=out["direction"], mode="clip")
        if out[representations.MISSION] is not mission:
            np.copyto(out[representations.MISSION], mission)
        image = out["image"]
        if self._representation.is_compiled:
            shape = -1, self._cells.size, 3
            representations.get_compiled(paint_images)(
                grid.reshape(shape),
                item.reshape(-1, 3),
                *self._codes,
                self._cells,
                self._agent_cell_index,
                image.reshape(shape),
            )
        else:
            np.copyto(image, encode_minigrid(np.swapaxes(grid, -3, -2), self._types))
            if self._agent_cell:
                image[..., *self._agent_cell, :] = encode_minigrid(item)
        if self._fully_observable:
            agents = np.nonzero(image[..., 0] == _AGENT)
            image[..., 2][agents] = out["direction"][agents[:-2]]

    def encode(self, *observed: NDArray[Any]) -> dict[str, Any]:
        """Convert this engine's observation arrays of one world to MiniGrid's observation, with the
        mission as text."""
        arrays = self.make_arrays()
        self.write(arrays, *observed)
        mission = self._missions.to_text(arrays[representations.MISSION]) if self._missions else ""
        return {**arrays, "direction": arrays["direction"].item(), representations.MISSION: mission}


def paint_images(
    grid: NDArray[np.uint8],
    item: NDArray[np.uint8],
    type_codes: NDArray[np.uint32],
    color_codes: NDArray[np.uint32],
    cells: NDArray[np.int64],
    agent: int,
    out: NDArray[np.uint8],
) -> None:
    """Write MiniGrid's images of N observations into `out`. Each cell gets (type, colour, state).
    The function is plain Python that can also be compiled.

    Args:
        grid: (N, M, 3) type, state and colour of the cells.
        item: (N, 3) type, state and colour of the object in hand.
        type_codes, color_codes: (256,) numbers whose sum has the type in its lowest byte and the
            colour in the next one.
        cells: (M,) source cell of each image cell.
        agent: image cell of the agent, which shows the object in hand; -1 for none.
        out: (N, M, 3) array to fill with type, colour and state.
    """
    for n in range(len(grid)):
        for k in range(len(cells)):
            cell = cells[k]
            code = type_codes[grid[n, cell, 0]] + color_codes[grid[n, cell, 2]]
            out[n, k, 0], out[n, k, 1], out[n, k, 2] = code, code >> 8, grid[n, cell, 1]
        if agent >= 0:
            code = type_codes[item[n, 0]] + color_codes[item[n, 2]]
            out[n, agent, 0], out[n, agent, 1], out[n, agent, 2] = (code, code >> 8, item[n, 1])
