"""Parts that representations of states and observations are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs import representations as codes
from gv_engine.plugins.gridverse.debugging import gv_debug
from gv_engine.plugins.gridverse.grid import Grid
from gv_engine.plugins.gridverse.grid_object import GridObject
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.representations.spaces import Space
from gv_engine.plugins.gridverse.spaces import ObservationSpace, StateSpace
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import ORIENTATIONS

AnySpace = StateSpace | ObservationSpace
T = TypeVar("T", State, Observation, State | Observation, GridObject)


class ArrayRepresentation(ABC, Generic[T]):
    """Converter of states, observations or objects to one array."""

    @property
    @abstractmethod
    def space(self) -> Space:
        """Return the space of the arrays."""

    @abstractmethod
    def convert(self, obj: T, /) -> NDArray[Any]:
        """Return the array for a state, an observation or an object."""


class _DictRepresentation:
    """Converter to arrays by name, each from a converter of its own."""

    representations: Mapping[str, ArrayRepresentation[Any]] = {}

    @property
    def space(self) -> dict[str, Space]:
        """Return the spaces of the arrays by name."""
        return {name: part.space for name, part in self.representations.items()}

    def _convert_all(self, space: AnySpace, shown: State | Observation) -> codes.Arrays:
        if gv_debug() and (fault := space.find_fault(shown)):
            raise ValueError(f"the {type(shown).__name__} is not in the space: {fault}")
        return {name: part.convert(shown) for name, part in self.representations.items()}


class StateRepresentation(_DictRepresentation):
    """Base class of converters of states to arrays by name.

    Raises:
        ValueError: the space has objects that arrays do not describe completely.
    """

    def __init__(self, state_space: StateSpace) -> None:
        """Make a converter from states to arrays, for states in this space."""
        if not state_space.can_be_represented:
            kinds = state_space.object_types
            names = [kind.__name__ for kind in kinds if not kind.can_be_represented_in_state()]
            raise ValueError(
                f"states with {', '.join(names)} cannot be represented, as arrays do not describe "
                f"these objects completely; represent observations only"
            )
        self.state_space = state_space

    def convert(self, state: State, /) -> codes.Arrays:
        """Return the arrays for a state."""
        return self._convert_all(self.state_space, state)


class ObservationRepresentation(_DictRepresentation):
    """Base class of converters of observations to arrays by name."""

    def __init__(self, observation_space: ObservationSpace) -> None:
        self.observation_space = observation_space

    def convert(self, observation: Observation, /) -> codes.Arrays:
        """Return the arrays for an observation."""
        return self._convert_all(self.observation_space, observation)


# ---- objects -------------------------------------------------------------------------------------


class GridObjectRepresentation(ArrayRepresentation[GridObject]):
    """Base class of converters of objects to arrays."""

    def convert_grid(self, grid: Grid) -> NDArray[Any]:
        """Return the arrays for all objects of a grid, in one array (H, W, …)."""
        return np.array([[self.convert(obj) for obj in row] for row in grid.objects])


class _EncodedObject(GridObjectRepresentation):
    """Converter of an object to the code numbers of its type, state and colour, (3,) int64."""

    name: ClassVar[str]

    def __init__(self, space: AnySpace) -> None:
        """Make a converter from single objects to arrays, for the object types and colours in
        `space`."""
        self._codes = codes.Representation(
            self.name,
            [kind.type_index() for kind in space.object_types],
            space.colors,
            space.grid_shape or (1, 1),
            is_state=isinstance(space, StateSpace),
            types=space.registry,
        )

    @property
    def space(self) -> Space:
        """Return the space of the code numbers."""
        item: Any = self._codes.space["item"]
        return Space.make_categorical_space(item.high.astype(np.int64))

    def convert(self, grid_object: GridObject, /) -> NDArray[np.int64]:
        """Return the code numbers of an object."""
        return self._codes.codes(np.array(grid_object.appearance, np.uint8)).astype(np.int64)

    def convert_grid(self, grid: Grid) -> NDArray[np.int64]:
        """Return (H, W, 3) code numbers."""
        return self._codes.codes(grid.to_array()).astype(np.int64)


class DefaultGridObject(_EncodedObject):
    """Converter of an object to its type, state and colour index."""

    name = "default"


class NoOverlapGridObject(_EncodedObject):
    """Converter of an object to indices of type, state and colour that do not overlap."""

    name = "no-overlap"


class CompactGridObject(_EncodedObject):
    """Converter of an object to indices of type, state and colour without overlaps and gaps."""

    name = "compact"


_BY_NAME = {cls.name: cls for cls in (DefaultGridObject, NoOverlapGridObject, CompactGridObject)}


# ---- states and observations ---------------------------------------------------------------------


class ShownArray(ArrayRepresentation[State | Observation]):
    """Base class of the parts of a representation.

    Args:
        space: space of the states or observations.
        grid_object_representation: converter of objects, for the parts that show objects.
    """

    def __init__(
        self,
        space: AnySpace,
        grid_object_representation: GridObjectRepresentation | None = None,
    ) -> None:
        self._shape = space.grid_shape or (1, 1)
        self.grid_object_representation = grid_object_representation or DefaultGridObject(space)


class GridArray(ShownArray):
    """Converter to (H, W, 3) numbers of the objects in the cells."""

    @property
    def space(self) -> Space:
        """Return the space of the grid array: the space of one object, repeated for every cell."""
        object_space = self.grid_object_representation.space
        repeats = *self._shape, 1
        lower = np.tile(object_space.lower_bound, repeats)
        upper = np.tile(object_space.upper_bound, repeats)
        return Space(object_space.space_type, lower, upper)

    def convert(self, shown: State | Observation, /) -> NDArray[Any]:
        """Return the numbers of all objects."""
        return self.grid_object_representation.convert_grid(shown.grid)


class ItemArray(ShownArray):
    """Converter to the numbers of the object in the hand."""

    @property
    def space(self) -> Space:
        """Return the space of the objects."""
        return self.grid_object_representation.space

    def convert(self, shown: State | Observation, /) -> NDArray[Any]:
        """Return the numbers of the object in the hand."""
        return self.grid_object_representation.convert(shown.agent.grid_object)


class AgentIDGridArray(ShownArray):
    """Converter to (H, W) numbers: 1 in the cell of the agent, 0 elsewhere."""

    @property
    def space(self) -> Space:
        """Return the space of zeros and ones."""
        zeros = np.zeros(self._shape, np.int64)
        return Space.make_discrete_space(zeros, zeros + 1)

    def convert(self, shown: State | Observation, /) -> NDArray[Any]:
        """Return the grid with a 1 for the agent."""
        agent = shown.agent.to_arrays()["agent"]
        return codes.agent_id_grid(shown.grid.shape, agent).astype(np.int64)


class AgentArray(ShownArray):
    """Converter to (6,) numbers: y and x of the agent from -1 to 1, and its orientation one-hot."""

    @property
    def space(self) -> Space:
        """Return the space of the numbers."""
        lower = np.array([-1.0, -1.0, *[0.0] * len(ORIENTATIONS)])
        return Space.make_continuous_space(lower, np.ones_like(lower))

    def convert(self, shown: State | Observation, /) -> NDArray[Any]:
        """Return the numbers of the agent."""
        return codes.encode_agent(shown.grid.shape, shown.agent.to_arrays()["agent"])


def make_arrays(name: str, space: AnySpace) -> dict[str, ArrayRepresentation[Any]]:
    """Return the converters for the representation `name`, such as "compact". The keys are the
    names of the arrays that they make.

    Raises:
        ValueError: the name is unknown.
    """
    if name not in _BY_NAME:
        raise ValueError(f"no representation {name!r}{describe_allowed(name, _BY_NAME)}")
    objects = _BY_NAME[name](space)
    return {
        "grid": GridArray(space, objects),
        "agent_id_grid": AgentIDGridArray(space),
        **({"agent": AgentArray(space)} if isinstance(space, StateSpace) else {}),
        "item": ItemArray(space, objects),
    }
