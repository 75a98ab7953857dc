"""Builders of spaces, which take one property after the other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar

from gv_engine.plugins.gridverse.grid_object import GridObject
from gv_engine.plugins.gridverse.spaces import ObservationSpace, StateSpace

T = TypeVar("T", StateSpace, ObservationSpace)


class _Builder(Generic[T]):
    """Base class of the builders.

    Attributes:
        grid_shape, object_types, colors: properties of the space; None until they are set.
    """

    _space: ClassVar[type[Any]]

    def __init__(self) -> None:
        self.grid_shape: tuple[int, int] | None = None
        self.object_types: Iterable[type[GridObject]] | None = None
        self.colors: Iterable[int] | None = None

    def set_grid_shape(self, grid_shape: tuple[int, int]) -> None:
        """Set the (height, width) of the grids."""
        self.grid_shape = grid_shape

    def set_object_types(self, object_types: Iterable[type[GridObject]]) -> None:
        """Set the types of the objects."""
        self.object_types = object_types

    def set_colors(self, colors: Iterable[int]) -> None:
        """Set the colours of the objects."""
        self.colors = colors

    def build(self) -> T:
        """Return the finished space.

        Raises:
            RuntimeError: a property was not set.
        """
        missing = [name for name, value in vars(self).items() if value is None]
        if missing:
            raise RuntimeError(f"not set: {', '.join(missing)}")
        space: T = self._space(self.grid_shape, self.object_types, self.colors)
        return space


class StateSpaceBuilder(_Builder[StateSpace]):
    """Builder of state spaces."""

    _space = StateSpace


class ObservationSpaceBuilder(_Builder[ObservationSpace]):
    """Builder of observation spaces."""

    _space = ObservationSpace
