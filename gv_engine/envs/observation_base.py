"""Base class of observation encoders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gv_engine.envs.representations import Arrays, Representation

if TYPE_CHECKING:
    from gv_engine.scenario.missions import Missions
    from gv_engine.vector.backend import Backend

MISSION = "mission"
"""Key of the mission in observations."""


class ObservationEncoder:
    """Encoder of the observations that an environment returns.

    Attributes:
        space: space of one observation.
        source_arrays: names of the arrays in `StepArrays` that an observation is made of.
        buffer_names: names of the arrays that change in every step and that a caller may provide.
        recorded: names of the arrays that rollouts record, without the mission.
        shares_memory: an observation changes when its arrays are overwritten.
        has_mission: observations include the mission already.
    """

    space: spaces.Space[Any]
    source_arrays: tuple[str, ...] = ("grid", "item")
    buffer_names: tuple[str, ...] = ("grid", "item")
    recorded: tuple[str, ...] = ("grid", "item")
    shares_memory = True
    has_mission = False

    def __init__(self, representation: Representation) -> None:
        self._representation = representation

    @property
    def single_observation_space(self) -> spaces.Space[Any]:
        """Space of one world's observation in a vector environment."""
        return self.space

    def bind_backend(self, backend: Backend) -> None:
        """Use compiled code to fill the arrays if the worlds of this backend are compiled."""
        self._representation.bind_backend(backend)

    def make_arrays(self, *batch_shape: int) -> Arrays:
        """Return zeroed arrays for one observation, or for a batch of this shape."""
        raise NotImplementedError

    def make_shared_arrays(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> Arrays:
        """Return arrays for N observations that reuse `grid` (N, h, w, 3) and `item` (N, 3) where
        the content is the same."""
        return self.make_arrays(len(item))

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        """Write encoded observations into arrays.

        Args:
            out: arrays from `make_arrays`.
            grid, item: (…, h, w, 3) and (…, 3) type, state and colour indices.

        Raises:
            ValueError: the space has no such type or colour; `default` does not check this.
        """
        raise NotImplementedError

    def to_observation(self, arrays: Arrays) -> Any:
        """Return the observation, or those of many worlds, for the user."""
        raise NotImplementedError

    def space_with_mission(self, missions: Missions) -> spaces.Space[Any]:
        """Return the space of observations with the mission added."""
        parts = self.space.spaces if isinstance(self.space, spaces.Dict) else {}
        parts = parts or dict.fromkeys(self.buffer_names, self.space)
        return spaces.Dict(
            {**parts, MISSION: spaces.Box(missions.low, missions.high, dtype=np.int32)}
        )

    def to_observation_with_mission(self, arrays: Arrays, missions: Missions) -> Any:
        """Return the observation for the user from arrays that include `mission`."""
        return arrays.copy()

    def encode(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> Any:
        """Return the observation of one world."""
        arrays = self.make_arrays()
        self.write(arrays, grid, item)
        return self.to_observation(arrays)

    def split(self, arrays: Arrays) -> NDArray[np.object_]:
        """Return (K,) observations of single worlds, as views of the arrays of many."""
        observations = np.empty(len(next(iter(arrays.values()))), object)
        for i, parts in enumerate(zip(*arrays.values(), strict=True)):
            observations[i] = self.to_observation(dict(zip(arrays, parts, strict=True)))
        return observations


def get_compiled(function: Any) -> Any:
    """Return a function compiled by Numba; each function is compiled once."""
    from gv_engine.compiler.compiler import compile_function

    return compile_function(function)
