"""Checks of arguments to environments: numbers, options, seeds and modes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import DTypeLike

from gv_engine.language.errors import nearest


def at_least(least: int, **given: Any) -> int:
    """The one number that is given, by its name.

    Raises:
        ValueError: it is no whole number, or less.
    """
    ((name, value),) = given.items()
    try:
        number = -1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = -1
    if number < least:
        raise ValueError(f"{name}={value!r}: allowed are whole numbers from {least} on")
    return number


def known_options(options: Any, *names: str) -> dict[str, Any]:
    """The options of a reset, all of them known.

    Raises:
        ValueError: one is not, or they are no mapping.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options={options!r}: allowed are a dictionary and None")
    for name in options:
        if name not in names:
            known = nearest(name, names) if names else "allowed are none here"
            raise ValueError(f"reset: no option {name!r}: {known}")
    return dict(options)


Seeds = int | Sequence[int | None] | Mapping[int, int] | None
"""World i has `seed + i`, or `seed[i]`; a mapping need not have all."""


def seeds_of(seed: Seeds, count: int, what: str) -> list[int | None]:
    """The seed of each of so many worlds; None for none.

    Args:
        what: the worlds are called.

    Raises:
        ValueError: one is no whole number from 0 on, or there are more or fewer than worlds.
    """
    if seed is None:
        return [None] * count
    if isinstance(seed, Mapping):
        found: list[int | None] = [None] * count
        for i, own in seed.items():
            if i not in range(count):
                raise ValueError(f"seed[{i!r}]: the {what}s are 0 to {count - 1}")
            found[i] = at_least(0, **{f"seed[{i}]": own})
        return found
    if not isinstance(seed, Iterable):
        first = at_least(0, seed=seed)
        return [first + i for i in range(count)]
    given = enumerate(seed)
    seeds = [None if s is None else at_least(0, **{f"seed[{i}]": s}) for i, s in given]
    if len(seeds) != count:
        raise ValueError(f"{len(seeds)} seeds for {count} {what}s")
    return seeds


def floats_of(dtype: DTypeLike) -> np.dtype[Any]:
    """The dtype of rewards.

    Raises:
        ValueError: it is neither float64 nor float32.
    """
    with suppress(TypeError):
        if (found := np.dtype(dtype)) in (np.float64, np.float32):
            return found
    raise ValueError(f"reward_dtype={dtype!r}: allowed are 'float64' and 'float32'")


def autoreset_mode_of(given: AutoresetMode | str) -> AutoresetMode:
    """The mode of a name.

    Raises:
        ValueError: there is none of that name.
    """
    try:
        return AutoresetMode(given)
    except ValueError:
        names = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise ValueError(f"autoreset_mode={given!r}: allowed are {names}") from None
