"""Spaces of states, actions and observations of an environment."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.core import HIDDEN, NONE, NONE_GRID_OBJECT
from gv_engine.gridverse.action import Action
from gv_engine.gridverse.geometry import Shape
from gv_engine.gridverse.grid_object import Color, GridObject, class_of, index_of
from gv_engine.gridverse.observation import Observation
from gv_engine.gridverse.state import State
from gv_engine.rules.objects import COLORS, OBJECT_TYPES, ObjectTypes

_is_on = False


class debugging:
    """Switch for the checks that states, actions and observations lie in their spaces: it turns
    them on or off, permanently or for a `with` block.

    While the checks are on, every `InnerEnv` checks each step and raises a `ValueError` that
    describes the fault.
    """

    def __init__(self, on: bool = True) -> None:
        global _is_on
        self._before = _is_on
        _is_on = on

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        global _is_on
        _is_on = self._before


def is_debugging() -> bool:
    """Return True if `debugging` has turned the checks on."""
    return _is_on


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

    def __repr__(self) -> str:
        return f"ActionSpace([{', '.join(action.name for action in self.actions)}])"


class _GridSpace:
    """Base class of spaces of grids with a given shape and certain object types and colours.

    Attributes:
        grid_shape: (height, width), None for any.
        object_types: object types allowed in cells and hands.
        colors: allowed colours, with NONE.
    """

    _always_allowed: tuple[int, ...] = ()

    def __init__(
        self,
        grid_shape: tuple[int, int] | None,
        object_types: Iterable[type[GridObject] | int],
        colors: Iterable[int],
        types: ObjectTypes = OBJECT_TYPES,
    ) -> None:
        object_types = [*object_types]
        self.grid_shape = None if grid_shape is None else Shape(*grid_shape)
        own = [kind.kind for kind in object_types if isinstance(kind, type)]
        self._types = ObjectTypes((*own, *types))
        kinds = sorted({index_of(kind, types) for kind in object_types})
        self.object_types = tuple(class_of(self._types[kind]) for kind in kinds)
        self.colors = tuple(Color(color) for color in sorted({NONE, *map(int, colors)}))

    def contains(self, shown: State | Observation) -> bool:
        """Return True if a state or observation lies in the space."""
        return not self.fault(shown)

    def fault(self, shown: State | Observation) -> str:
        """Return a sentence on why a state or observation is not in this space; an empty text if it
        is."""
        arrays = shown.to_arrays()
        grid, item = arrays["grid"], arrays["item"]
        if self.grid_shape is not None and grid.shape[:2] != self.grid_shape:
            return f"the grid has {grid.shape[:2]} cells, the space's {tuple(self.grid_shape)}"
        kinds = [kind.type_index() for kind in self.object_types]
        return (
            self._unlisted(grid[..., 0], (*kinds, *self._always_allowed), "type", "the grid")
            or self._unlisted(item[0], (*kinds, NONE_GRID_OBJECT), "type", "the hand")
            or self._unlisted(grid[..., 2], self.colors, "colour", "the grid")
            or self._unlisted(item[2], self.colors, "colour", "the hand")
        )

    def _unlisted(self, values: NDArray[Any], allowed: Iterable[int], kind: str, where: str) -> str:
        """Return a sentence on the first of `values` that is not `allowed`; an empty text if all
        are. In the sentence, `kind` names the values and `where` their position."""
        for index in np.setdiff1d(values, [int(value) for value in allowed]).tolist():
            types = self._types
            name = COLORS[index] if kind != "type" else index
            name = types[index].name if kind == "type" and index in types else name
            return f"the {kind} {name} is in {where}, which the space does not list"
        return ""

    def __repr__(self) -> str:
        types = ", ".join(kind.__name__ for kind in self.object_types)
        colors = ", ".join(color.name for color in self.colors)
        return f"{type(self).__name__}({self.grid_shape}, [{types}], [{colors}])"


class StateSpace(_GridSpace):
    """States on grids of a shape with certain object types and colours."""


class ObservationSpace(_GridSpace):
    """Observations of a shape with certain object types and colours; Hidden is always allowed."""

    _always_allowed = (HIDDEN,)
