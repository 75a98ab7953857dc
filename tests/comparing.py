"""Equality of what environments return."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

STEPS_ON = pytest.mark.filterwarnings("ignore:.*after the end of the episode")
"""Mark of tests that step worlds on after the ends of their episodes."""


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal at any depth, in type and dtype too."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, np.ndarray) and one.dtype == other.dtype == object:
        return one.shape == other.shape and same(tuple(one.ravel()), tuple(other.ravel()))
    dtypes = getattr(one, "dtype", None) == getattr(other, "dtype", None)
    return dtypes and np.array_equal(one, other)


def drop_terms(result: Any, mode: AutoresetMode) -> Any:
    """Return a step's result, in SAME_STEP without `reward_terms`: ours are those of the step, as
    the reward; Gymnasium's are those of the reset."""
    *parts, infos = result
    if mode != AutoresetMode.SAME_STEP:
        return result
    return *parts, {k: value for k, value in infos.items() if not k.endswith("reward_terms")}
