"""Chance for authors: helpers around the generator that every function is handed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


def make_rng(seed: int | None = None) -> np.random.Generator:
    """A generator over PCG64, of the kind that worlds draw from."""
    return np.random.default_rng(seed)


def get_gv_rng_if_none(rng: np.random.Generator | None) -> np.random.Generator:
    """The generator itself; without one, a fresh one that nothing else draws from.

    There is no global generator: a scenario always hands over the world's own, and whoever calls a
    function without one gets something that no seed repeats.
    """
    return make_rng() if rng is None else rng


def choice(rng: np.random.Generator, data: Sequence[T]) -> T:
    """One of several.

    Raises:
        ValueError: there are none.
    """
    return data[rng.choice(len(data))]


def choices(
    rng: np.random.Generator, data: Sequence[T], *, size: int, replace: bool = True
) -> list[T]:
    """So many of several, each at most once unless they are replaced.

    Raises:
        ValueError: there are too few.
    """
    return [data[i] for i in rng.choice(len(data), size=size, replace=replace)]


def shuffle(rng: np.random.Generator, data: Iterable[T]) -> list[T]:
    """All of them in another order, as a new list."""
    items = list(data)
    indices = list(range(len(items)))
    rng.shuffle(indices)
    return [items[i] for i in indices]
