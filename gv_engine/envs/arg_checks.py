"""Memory of a caller's, for environments to write results into.

>>> kept = {"reward": bytearray(16)}
>>> places(kept, {"reward": ((2,), np.dtype(np.float64))})["reward"][:] = 1, 2
>>> np.frombuffer(kept["reward"]).tolist()
[1.0, 2.0]
"""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import DTypeLike, NDArray

from gv_engine.rules.errors import describe_allowed

# ---- requests ------------------------------------------------------------------------------------


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
            known = describe_allowed(name, names) if names else "allowed are none here"
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


# ---- outputs -------------------------------------------------------------------------------------

Wanted = Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]
"""Shapes and dtypes of results, by their names."""


def places(out: Any, wanted: Wanted) -> dict[str, NDArray[Any]]:
    """Arrays over a caller's memory, by the names of what is to be written there.

    Args:
        out: a mapping of names to NumPy arrays, buffers, or tensors on the CPU that have
            `__dlpack__`; a buffer of bytes may stand for any array of its size. None for nothing.
        wanted: what there is to be written.

    Raises:
        ValueError: there is no such result, or what is to hold it has another shape or dtype,
            cannot be written, is not in one piece, or is the memory of another.
        TypeError: that is nothing that can be written into.
    """
    if out is None:
        return {}
    if not isinstance(out, Mapping):
        raise TypeError(f"out is a {type(out).__name__}: expected a mapping of names to arrays")
    found = {}
    for name, thing in out.items():
        if name not in wanted:
            raise ValueError(
                f"out has {name!r}, which is not written: {describe_allowed(name, wanted)}"
            )
        found[name] = _place(f"out[{name!r}]", thing, *wanted[name])
    for one, other in combinations(found, 2):
        if np.may_share_memory(found[one], found[other]):
            raise ValueError(f"out[{one!r}] and out[{other!r}] share memory: give each its own")
    return found


def written(place: NDArray[Any] | None, result: NDArray[Any]) -> NDArray[Any]:
    """The result itself, or its place, if it has one, with the result in it."""
    if place is None:
        return result
    np.copyto(place, result)
    return place


def _place(called: str, thing: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    array = _array(called, thing)
    is_bytes = array.dtype.kind in "iuSV" and array.dtype.itemsize == 1 and array.ndim == 1
    size = int(np.prod(shape)) * dtype.itemsize
    if is_bytes and not isinstance(thing, np.ndarray) and array.nbytes == size:
        array = array.view(dtype).reshape(shape)
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{called} has shape {array.shape} and dtype {array.dtype}: expected {shape} {dtype}"
        )
    if not array.flags.writeable:
        raise ValueError(f"{called} is read-only: expected memory that can be written")
    if not array.flags.c_contiguous:
        raise ValueError(f"{called} has gaps, strides {array.strides}: expected it in one piece")
    return array


def _array(called: str, thing: Any) -> NDArray[Any]:
    """An array over the memory of a thing."""
    if isinstance(thing, np.ndarray):
        return thing
    try:
        if not hasattr(thing, "__dlpack__"):
            return np.asarray(memoryview(thing))
        array: NDArray[Any] = np.from_dlpack(thing)
    except TypeError:
        raise TypeError(
            f"{called} is a {type(thing).__name__}: expected a NumPy array, a buffer, or a tensor "
            f"with __dlpack__"
        ) from None
    except (BufferError, RuntimeError, ValueError) as error:
        raise ValueError(f"{called} is no memory that this process can write: {error}") from error
    return array if array.flags.writeable or _tells(thing) else _to_write(array)


def _tells(thing: Any) -> bool:
    """Whether it would say that it is read-only, which DLPack does from 1.0 on."""
    try:
        capsule = thing.__dlpack__(max_version=(1, 0))
    except TypeError:
        return False
    return "versioned" in repr(capsule)


def _to_write(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory; NumPy takes that of which nothing is known for read-only."""
    memory = (ctypes.c_uint8 * array.nbytes).from_address(array.ctypes.data)
    memory._array = array  # type: ignore[attr-defined]  # whose memory it is
    return np.ndarray(array.shape, array.dtype, memoryview(memory), strides=array.strides)
