"""Checks of arguments of environments, and output arrays in the caller's memory.

>>> buffers = {"reward": bytearray(16)}
>>> as_output_arrays(buffers, {"reward": ((2,), np.dtype(np.float64))})["reward"][:] = 1, 2
>>> np.frombuffer(buffers["reward"]).tolist()
[1.0, 2.0]
"""

from __future__ import annotations

import ctypes
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import DTypeLike, NDArray

from gv_engine.rules.errors import describe_allowed

# ---- arguments -----------------------------------------------------------------------------------


def check_at_least(minimum: int, **named_value: Any) -> int:
    """Return the value of the only keyword argument: `check_at_least(1, workers=4)` returns 4.
    Raise an error unless it is an integer of at least `minimum`.

    Args:
        minimum: least allowed value.
        named_value: one keyword argument; its name is used in the message.

    Raises:
        ValueError: the value is no integer or less than `minimum`.
    """
    ((name, value),) = named_value.items()
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or number < minimum or isinstance(value, bool):
        raise ValueError(f"{name}={value!r}: allowed are whole numbers from {minimum} on")
    return number


def check_time_limit(max_episode_steps: int | None) -> int | None:
    """Return the argument `max_episode_steps`, checked as by `gymnasium.make`; None for -1, which
    means no limit.

    Raises:
        ValueError: the value is no positive integer.
    """
    if max_episode_steps in (None, -1):
        return None
    return check_at_least(1, max_episode_steps=max_episode_steps)


def check_options(options: Any, *names: str) -> dict[str, Any]:
    """Return the argument `options` of `reset` as a dictionary, {} for None. Raise an error if a
    key is not among `names`.

    Raises:
        ValueError: an option is not among `names`, or `options` is no mapping.
    """
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise ValueError(f"options={options!r}: allowed are a dictionary and None")
    for name in options:
        if name not in names:
            known = describe_allowed(name, names) or "; it takes none here"
            raise ValueError(f"reset: no option {name!r}{known}")
    return dict(options)


Seeds = int | Sequence[int | None] | Mapping[int, int] | None
"""Seeds of a reset: an integer s gives world i the seed s + i; a sequence has one entry per world;
a mapping has entries by world and may lack some."""


def resolve_seeds(seed: Seeds, count: int, noun: str) -> list[int | None]:
    """Return one seed for each of `count` worlds, None for a world without one, from the argument
    `seed` of `reset`: None, an integer, a sequence, or a mapping by world index. `noun` is the word
    for a world in messages.

    Args:
        seed: seeds as `reset` takes them.
        count: number of worlds.
        noun: word for a world in messages.

    Raises:
        ValueError: a seed is no integer from 0 on, or their number is not `count`.
    """
    if seed is None:
        return [None] * count
    seeds: list[int | None]
    if isinstance(seed, Mapping):
        seeds = [None] * count
        for i, world_seed in seed.items():
            if i not in range(count):
                raise ValueError(f"seed[{i!r}]: the {noun}s are 0 to {count - 1}")
            seeds[i] = check_at_least(0, **{f"seed[{i}]": world_seed})
        return seeds
    if not isinstance(seed, Iterable):
        first_seed = check_at_least(0, seed=seed)
        return [first_seed + i for i in range(count)]
    seeds = [
        None if world_seed is None else check_at_least(0, **{f"seed[{i}]": world_seed})
        for i, world_seed in enumerate(seed)
    ]
    if len(seeds) != count:
        raise ValueError(
            f"{len(seeds)} seeds for {count} {noun}s; give one number, or a list of {count}"
        )
    return seeds


def describe_action_fault(array: NDArray[Any], shape: tuple[int, ...], noun: str = "world") -> str:
    """Return an error message for `array`, actions that are no integers or do not have this
    `shape`. `noun` says what the first axis counts, such as "world"."""
    fix = f", one for each of the {shape[0]} {noun}s" if len(shape) == 1 else ""
    if array.shape == shape:
        fix = "; use .astype(int)" if array.dtype.kind == "f" else ""
    elif array.size == math.prod(shape) and array.dtype.kind in "iu":
        fix = f"; use .reshape({', '.join(map(str, shape))})"
    found = f"shape {array.shape} and dtype {array.dtype}"
    return f"actions have {found}: expected {shape} integers{fix}"


def check_reward_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return `dtype` as a NumPy dtype. Raise an error unless it is float64 or float32, the dtypes
    that rewards can have.

    Raises:
        ValueError: the dtype is neither float64 nor float32.
    """
    with suppress(TypeError):
        if (reward_dtype := np.dtype(dtype)) in (np.float64, np.float32):
            return reward_dtype
    raise ValueError(f"reward_dtype={dtype!r}: allowed are 'float64' and 'float32'")


def parse_autoreset_mode(mode: AutoresetMode | str) -> AutoresetMode:
    """Return Gymnasium's `AutoresetMode` for `mode`, which is one already, or its name such as
    "NextStep".

    Raises:
        ValueError: there is no such mode.
    """
    try:
        return AutoresetMode(mode)
    except ValueError:
        names = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise ValueError(f"autoreset_mode={mode!r}: allowed are {names}") from None


# ---- outputs -------------------------------------------------------------------------------------

ArraySpecs = Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]
"""Shape and dtype of arrays, by name."""


def as_output_arrays(out: Any, specs: ArraySpecs) -> dict[str, NDArray[Any]]:
    """Return the caller's arrays in `out`, by name, as NumPy arrays that share their memory. Raise
    an error if one does not have the (shape, dtype) that `specs` names.

    Args:
        out: mapping of names to NumPy arrays, buffers, or CPU tensors with `__dlpack__`; a buffer
            of bytes fits any array of its size. None for no output.
        specs: shape and dtype of the outputs that may be named.

    Raises:
        ValueError: a name is unknown, or an array has another shape or dtype, is read-only, is not
            contiguous, or shares memory with another.
        TypeError: a value is nothing that can be written into.
    """
    if out is None:
        return {}
    if not isinstance(out, Mapping):
        raise TypeError(f"out is a {type(out).__name__}: expected a mapping of names to arrays")
    arrays = {}
    for name, buffer in out.items():
        if name not in specs:
            raise ValueError(f"out has {name!r}, which is no output{describe_allowed(name, specs)}")
        arrays[name] = _as_output_array(f"out[{name!r}]", buffer, *specs[name])
    for first, second in combinations(arrays, 2):
        if np.may_share_memory(arrays[first], arrays[second]):
            raise ValueError(f"out[{first!r}] and out[{second!r}] share memory: give each its own")
    return arrays


def _as_output_array(
    label: str, buffer: Any, shape: tuple[int, ...], dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Return a NumPy array that shares the memory of `buffer`. Raise an error unless it has this
    shape and dtype. `label` is the word for `buffer` in messages.

    Raises:
        ValueError: shape, dtype or memory layout does not fit, or the memory is read-only.
    """
    array = _view_memory(label, buffer)
    is_bytes = array.ndim == 1 and array.dtype.itemsize == 1 and array.dtype.kind in "iuSV"
    num_bytes = math.prod(shape) * dtype.itemsize
    if array is not buffer and is_bytes and array.nbytes == num_bytes:
        array = array.view(dtype).reshape(shape)
    if array.shape != shape or array.dtype != dtype:
        raise ValueError(
            f"{label} has shape {array.shape} and dtype {array.dtype}: expected {shape} {dtype}"
        )
    if not array.flags.writeable:
        raise ValueError(f"{label} is read-only: expected memory that can be written")
    if not array.flags.c_contiguous:
        raise ValueError(f"{label} is not contiguous, strides {array.strides}: expected C order")
    return array


def _view_memory(label: str, buffer: Any) -> NDArray[Any]:
    """Return a NumPy array that shares the memory of `buffer`: an array, a buffer, or a tensor with
    DLPack. `label` is the word for `buffer` in messages."""
    if isinstance(buffer, np.ndarray):
        return buffer
    try:
        if not hasattr(buffer, "__dlpack__"):
            return np.asarray(memoryview(buffer))
        array: NDArray[Any] = np.from_dlpack(buffer)
    except TypeError:
        raise TypeError(
            f"{label} is a {type(buffer).__name__}: expected a NumPy array, a buffer, or a tensor "
            f"with __dlpack__"
        ) from None
    except (BufferError, RuntimeError, ValueError) as error:
        raise ValueError(f"{label} is not memory that this process can write: {error}") from error
    return array if array.flags.writeable or _reports_read_only(buffer) else _make_writable(array)


def _reports_read_only(buffer: Any) -> bool:
    """Return True if the tensor `buffer` can say that its memory is read-only, which needs DLPack
    1.0."""
    try:
        capsule = buffer.__dlpack__(max_version=(1, 0))
    except TypeError:
        return False
    return "versioned" in repr(capsule)


def _make_writable(array: NDArray[Any]) -> NDArray[Any]:
    """Return a writable array with the memory of `array`, which must be writable memory."""
    memory = (ctypes.c_uint8 * array.nbytes).from_address(array.ctypes.data)
    memory._array = array  # type: ignore[attr-defined]  # keeps the memory alive
    return np.ndarray(array.shape, array.dtype, memoryview(memory), strides=array.strides)
