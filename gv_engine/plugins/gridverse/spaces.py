"""Spaces of states, actions and observations of an environment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import HIDDEN, NONE, NONE_GRID_OBJECT
from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.geometry import Area, Position, Shape, as_area
from gv_engine.plugins.gridverse.grid_object import Color, GridObject, class_of, index_of
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.state import State
from gv_engine.rules.objects import COLORS, OBJECT_TYPES, ObjectTypes


def _max_object_type(kinds: Iterable[type[GridObject]]) -> int:
    return max((kind.type_index() for kind in kinds), default=NONE_GRID_OBJECT)


def _max_object_status(kinds: Iterable[type[GridObject]]) -> int:
    return max((kind.num_states() for kind in kinds), default=1)


def _max_color_index(colors: Iterable[int]) -> int:
    return int(max(colors))


class ActionSpace:
    """Allowed actions; their order gives each action its index.

    Args:
        actions: distinct actions.
    """

    def __init__(self, actions: Iterable[int]) -> None:
        self.actions = tuple(Action(action) for action in actions)

    def contains(self, action: object) -> bool:
        """Return True if an action is allowed."""
        return action in self.actions

    @property
    def num_actions(self) -> int:
        """Return the number of allowed actions."""
        return len(self.actions)

    def int_to_action(self, action: int) -> Action:
        """Return the action with this index."""
        return self.actions[action]

    def action_to_int(self, action: Action) -> int:
        """Return the index of an action; raise ValueError if it is not allowed."""
        return self.actions.index(action)

    def __repr__(self) -> str:
        return f"ActionSpace([{', '.join(action.name for action in self.actions)}])"


class _GridSpace:
    """Base class of spaces of grids with a given shape and certain object types and colours.

    Attributes:
        grid_shape: (height, width), None for any.
        object_types: object types allowed in cells and hands.
        colors: allowed colours, with NONE.
        registry: types that the indices in arrays refer to.
    """

    _always_allowed: tuple[int, ...] = ()
    _agent_is_inside = True

    def __init__(
        self,
        grid_shape: tuple[int, int] | None,
        object_types: Iterable[type[GridObject] | int],
        colors: Iterable[int],
        registry: ObjectTypes = OBJECT_TYPES,
    ) -> None:
        """Make a space of grids of this shape; None allows any. `object_types` are classes of grid
        objects, or indices of types in `registry`."""
        self.grid_shape = None if grid_shape is None else Shape(*grid_shape)
        allowed = [*object_types]
        # the types of classes need not be in `registry`, and win against others of their index
        own_types = [cls.kind for cls in allowed if isinstance(cls, type)]
        self.registry = ObjectTypes((*own_types, *registry))
        indices = sorted({index_of(each, registry) for each in allowed})
        self.object_types = tuple(class_of(self.registry[index]) for index in indices)
        self.colors = tuple(Color(color) for color in sorted({NONE, *map(int, colors)}))

    def contains(self, shown: State | Observation) -> bool:
        """Return True if a state or observation lies in the space."""
        return not self.find_fault(shown)

    def find_fault(self, shown: State | Observation) -> str:
        """Return a sentence on why `shown` is not in this space; "" if it is."""
        arrays = shown.to_arrays()
        grid, item = arrays["grid"], arrays["item"]
        if self.grid_shape is not None and grid.shape[:2] != self.grid_shape:
            return f"the grid has {grid.shape[:2]} cells, the space's {tuple(self.grid_shape)}"
        if self._agent_is_inside and not _is_in_grid(grid.shape, arrays["agent"]):
            return f"the agent is at {tuple(arrays['agent'][:2].tolist())}, outside the grid"
        types = [kind.type_index() for kind in self.object_types]
        return (
            self._find_unlisted(grid[..., 0], (*types, *self._always_allowed), "type", "the grid")
            or self._find_unlisted(item[0], (*types, NONE_GRID_OBJECT), "type", "the hand")
            or self._find_unlisted(grid[..., 2], self.colors, "colour", "the grid")
            or self._find_unlisted(item[2], self.colors, "colour", "the hand")
        )

    def _find_unlisted(
        self, indices: NDArray[Any], allowed: Iterable[int], noun: str, location: str
    ) -> str:
        """Return a sentence about the first of `indices` that is not `allowed`; "" if all are.
        `noun` ("type" or "colour") and `location` are words for the sentence."""
        unlisted = np.setdiff1d(indices, [int(index) for index in allowed]).tolist()
        if not unlisted:
            return ""
        name = unlisted[0]
        if noun == "colour":
            name = COLORS[name]
        elif name in self.registry:
            name = self.registry[name].name
        return f"the {noun} {name} is in {location}, which the space does not list"

    # ---- largest numbers in arrays -----------------------------------------------------------

    @property
    def max_grid_object_type(self) -> int:
        """Return the largest type index of an object in a cell or in the hand."""
        return max(_max_object_type(self.object_types), *self._always_allowed, NONE_GRID_OBJECT)

    @property
    def max_grid_object_status(self) -> int:
        """Return the largest number of states of a type."""
        return _max_object_status(self.object_types)

    max_type_index = max_agent_object_type = max_grid_object_type
    max_state_index = max_agent_object_status = max_grid_object_status

    @property
    def max_object_color(self) -> int:
        """Return the largest colour."""
        return _max_color_index(self.colors)

    @property
    def grid_state_shape(self) -> Shape | None:
        """Return (height, width) of the grid."""
        return self.grid_shape

    @property
    def agent_state_size(self) -> tuple[int, ...]:
        """Return (height, width, largest type index, number of states, colour) of what describes
        the agent."""
        highest = self.max_agent_object_type, self.max_agent_object_status, self.max_object_color
        return *(self.grid_shape or ()), *highest

    @property
    def agent_state_shape(self) -> int:
        """Return the number of values that describe the agent."""
        return len(self.agent_state_size)

    def __repr__(self) -> str:
        types = ", ".join(kind.__name__ for kind in self.object_types)
        colors = ", ".join(color.name for color in self.colors)
        return f"{type(self).__name__}({self.grid_shape}, [{types}], [{colors}])"


def _is_in_grid(shape: tuple[int, ...], agent: NDArray[Any]) -> bool:
    return bool((agent[:2] >= 0).all() and (agent[:2] < shape[:2]).all())


class StateSpace(_GridSpace):
    """States on grids of a shape with certain object types and colours."""

    @property
    def can_be_represented(self) -> bool:
        """Return True if arrays of type, state and colour describe every state completely."""
        return all(kind.can_be_represented_in_state() for kind in self.object_types)


class ObservationSpace(_GridSpace):
    """Observations of a shape with certain object types and colours; Hidden is always allowed.

    Args:
        area: cells that are observed, relative to an agent that looks up; by default the agent is
            in the middle of the bottom row.

    Raises:
        ValueError: the width is even, and no area is given.
    """

    _always_allowed = (HIDDEN,)

    def __init__(
        self,
        grid_shape: tuple[int, int],
        object_types: Iterable[type[GridObject] | int],
        colors: Iterable[int],
        registry: ObjectTypes = OBJECT_TYPES,
        area: Any = None,
    ) -> None:
        """Make a space of observations of `area`, relative to the agent. By default, it is an area
        of `grid_shape` in front of the agent."""
        super().__init__(grid_shape, object_types, colors, registry)
        height, width = grid_shape
        if area is None and width % 2 == 0:
            raise ValueError(f"grid_shape={tuple(grid_shape)}: expected an odd width")
        half = width // 2
        self.area = Area((1 - height, 0), (-half, half)) if area is None else as_area(area)
        self.agent_position = Position(*self.area.observer)
        self._agent_is_inside = self.area.contains((0, 0))
