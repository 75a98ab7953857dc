"""Random helpers for user-defined functions, which all receive a generator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def make_rng(seed: int | None = None) -> np.random.Generator:
    """Return a new PCG64 generator."""
    return np.random.default_rng(seed)


_common: np.random.Generator | None = None


def reset_gv_rng(seed: int | None = None) -> np.random.Generator:
    """Replace the generator of functions that are called without one, and return it."""
    global _common
    _common = make_rng(seed)
    return _common


def get_gv_rng() -> np.random.Generator:
    """Return the generator of functions that are called without one.

    Scenarios and environments never use it: they always pass the generator of the world.
    """
    return reset_gv_rng() if _common is None else _common


def get_gv_rng_if_none(rng: np.random.Generator | None) -> np.random.Generator:
    """Return `rng`; if it is None, return the result of `get_gv_rng()`."""
    return get_gv_rng() if rng is None else rng


def choice(rng: np.random.Generator, data: Sequence[T]) -> T:
    """Return a random item of `data`.

    Raises:
        ValueError: there are no items.
    """
    return data[rng.choice(len(data))]


def choices(
    rng: np.random.Generator, data: Sequence[T], *, size: int, replace: bool = True
) -> list[T]:
    """Return `size` random items of `data`; without `replace` each at most once.

    Raises:
        ValueError: there are too few items.
    """
    return [data[i] for i in rng.choice(len(data), size=size, replace=replace)]


def shuffle(rng: np.random.Generator, data: Iterable[T]) -> list[T]:
    """Return the items of `data` as a new list in random order."""
    items = list(data)
    indices = list(range(len(items)))
    rng.shuffle(indices)
    return [items[i] for i in indices]
