"""What all forms of observations have in common."""

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
"""What observations call what the agent is asked to do."""


class ObservationEncoder:
    """How an environment shows what its agents see.

    Attributes:
        space: of one observation.
        made_of: names of the arrays in `StepArrays` that it is made of.
        kept: the arrays that change from step to step, and that a caller may bring along, by name.
        recorded: those of its arrays that rollouts keep, without the mission.
        lasting: whether an observation follows when its arrays are written into again.
        asks: whether it shows by itself what the agent is asked to do.
    """

    space: spaces.Space[Any]
    made_of: tuple[str, ...] = ("grid", "item")
    kept: tuple[str, ...] = ("grid", "item")
    recorded: tuple[str, ...] = ("grid", "item")
    lasting = True
    asks = False

    def __init__(self, representation: Representation) -> None:
        self._representation = representation

    @property
    def space_among_many(self) -> spaces.Space[Any]:
        """The space of one observation among those of many worlds."""
        return self.space

    def belongs_to(self, worlds: Backend) -> None:
        """Compiled code fills the arrays of worlds that are compiled themselves."""
        self._representation.belongs_to(worlds)

    def arrays(self, *many: int) -> Arrays:
        """Arrays for one observation, or for so many."""
        raise NotImplementedError

    def sharing(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> Arrays:
        """Arrays for N observations; these, (N, h, w, 3) and (N, 3), where they hold the same."""
        return self.arrays(len(item))

    def write(self, out: Arrays, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        """Fill arrays.

        Args:
            out: as `arrays` makes them.
            grid, item: (…, h, w, 3) and (…, 3) type, state and colour indices.

        Raises:
            ValueError: a type or colour that the space does not list; `default` does not look.
        """
        raise NotImplementedError

    def told(self, arrays: Arrays) -> Any:
        """What users are handed: one observation, or those of many worlds."""
        raise NotImplementedError

    def beside(self, missions: Missions) -> spaces.Space[Any]:
        """The space of observations with what the agent is asked to do beside them."""
        shown = self.space.spaces if isinstance(self.space, spaces.Dict) else {}
        shown = shown or dict.fromkeys(self.kept, self.space)
        return spaces.Dict(
            {**shown, MISSION: spaces.Box(missions.low, missions.high, dtype=np.int32)}
        )

    def told_beside(self, arrays: Arrays, missions: Missions) -> Any:
        """What users are handed, if `mission` is among the arrays."""
        return arrays.copy()

    def one(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> Any:
        """The observation of one world."""
        arrays = self.arrays()
        self.write(arrays, grid, item)
        return self.told(arrays)

    def each(self, arrays: Arrays) -> NDArray[np.object_]:
        """(K,) the observations of single worlds, as views of the arrays of many."""
        found = np.empty(len(next(iter(arrays.values()))), object)
        for i, parts in enumerate(zip(*arrays.values(), strict=True)):
            found[i] = self.told(dict(zip(arrays, parts, strict=True)))
        return found


def compiled(function: Any) -> Any:
    """A function of arrays, compiled."""
    from gv_engine.compiler.compiler import compile_function

    return compile_function(function)
