"""Bounds of arrays."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray


class SpaceType(Enum):
    """Kind of the numbers in an array."""

    CATEGORICAL = 0
    DISCRETE = 1
    CONTINUOUS = 2


def is_dtype_integer(x: NDArray[Any]) -> bool:
    """Return True for an array of integers."""
    return np.issubdtype(x.dtype, np.integer)


def is_dtype_floating(x: NDArray[Any]) -> bool:
    """Return True for an array of floating-point numbers."""
    return np.issubdtype(x.dtype, np.floating)


def is_dtype_compatible(x: NDArray[Any], space_type: SpaceType) -> bool:
    """Return True if a space of this type can have the dtype of an array."""
    is_continuous = space_type is SpaceType.CONTINUOUS
    return is_dtype_floating(x) if is_continuous else is_dtype_integer(x)


class Space:
    """Space of the arrays between two bounds, inclusive.

    Args:
        space_type: kind of the numbers: integers, or floating-point numbers for CONTINUOUS.
        lower_bound, upper_bound: arrays of the same shape.

    Raises:
        ValueError: a dtype or the shapes do not fit, or a lower bound is above the upper one.
    """

    def __init__(
        self, space_type: SpaceType, lower_bound: NDArray[Any], upper_bound: NDArray[Any]
    ) -> None:
        """Make a space of arrays between two bounds, both included. Raise ValueError if the bounds
        have different shapes or a lower bound exceeds an upper one."""
        for bound in (lower_bound, upper_bound):
            if not is_dtype_compatible(bound, space_type):
                raise ValueError(f"a bound has dtype {bound.dtype}, not that of {space_type.name}")
        if lower_bound.shape != upper_bound.shape:
            raise ValueError(f"the bounds have shapes {lower_bound.shape}, {upper_bound.shape}")
        if (lower_bound > upper_bound).any():
            raise ValueError(f"a lower bound is above the upper one: {lower_bound}, {upper_bound}")
        self.space_type = space_type
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    @classmethod
    def make_categorical_space(cls, upper_bound: NDArray[Any]) -> Space:
        """Return the space of categories from 0 to `upper_bound`."""
        return cls(SpaceType.CATEGORICAL, np.zeros_like(upper_bound), upper_bound)

    @classmethod
    def make_discrete_space(cls, lower_bound: NDArray[Any], upper_bound: NDArray[Any]) -> Space:
        """Return the space of integers between two bounds."""
        return cls(SpaceType.DISCRETE, lower_bound, upper_bound)

    @classmethod
    def make_continuous_space(cls, lower_bound: NDArray[Any], upper_bound: NDArray[Any]) -> Space:
        """Return the space of floating-point numbers between two bounds."""
        return cls(SpaceType.CONTINUOUS, lower_bound, upper_bound)

    @property
    def shape(self) -> tuple[int, ...]:
        """Return the shape of the arrays."""
        return self.lower_bound.shape

    def contains(self, x: NDArray[Any]) -> bool:
        """Return True if an array lies in the space."""
        fits = x.shape == self.shape and is_dtype_compatible(x, self.space_type)
        return fits and bool(((self.lower_bound <= x) & (x <= self.upper_bound)).all())

    def __eq__(self, other: object) -> bool:
        """Return True for a space with the same type and bounds."""
        if not isinstance(other, Space):
            return NotImplemented
        return (
            self.space_type is other.space_type
            and np.array_equal(self.lower_bound, other.lower_bound)
            and np.array_equal(self.upper_bound, other.upper_bound)
        )

    __hash__ = None  # type: ignore[assignment]  # arrays have none

    def __repr__(self) -> str:
        bounds = f"{self.lower_bound!r}, {self.upper_bound!r}"
        return f"Space(SpaceType.{self.space_type.name}, {bounds})"
