"""NumPy's PCG64 generator in compiled code: methods of `w.rng`, bit for bit like
`numpy.random.Generator`."""

from __future__ import annotations

from typing import Any

import numpy as np

# ---- PCG64 ---------------------------------------------------------------------------------------

_U = np.uint64
MULTIPLIER_HIGH = _U(2549297995355413924)
MULTIPLIER_LOW = _U(4865540595714422341)
_MASK32 = _U(0xFFFFFFFF)
_0, _1, _2, _4, _8, _16 = _U(0), _U(1), _U(2), _U(4), _U(8), _U(16)
_11, _32, _58, _63, _64 = _U(11), _U(32), _U(58), _U(63), _U(64)
_TO_UNIT = 1.0 / 9007199254740992.0


def high_product(a: Any, b: Any) -> Any:
    """Return the upper 64 bits of the 128-bit product of two uint64 numbers."""
    a0, a1, b0, b1 = a & _MASK32, a >> _32, b & _MASK32, b >> _32
    middle = a1 * b0 + ((a0 * b0) >> _32)
    low = a0 * b1 + (middle & _MASK32)
    return a1 * b1 + (middle >> _32) + (low >> _32)


def next64(r: Any) -> Any:
    """Advance the random generator and return 64 new random bits. `r` is the record with its
    state."""
    high, low = r.state_high, r.state_low
    new_low = low * MULTIPLIER_LOW
    new_high = high_product(low, MULTIPLIER_LOW) + high * MULTIPLIER_LOW + low * MULTIPLIER_HIGH
    total = new_low + r.inc_low
    new_high = new_high + r.inc_high
    if total < new_low:
        new_high = new_high + _1
    r.state_high = new_high
    r.state_low = total
    word = new_high ^ total
    turn = new_high >> _58
    return (word >> turn) | (word << ((_64 - turn) & _63))


def next32(r: Any) -> Any:
    """Return 32 random bits. The generator makes 64 at a time: `r`, the record with its state,
    keeps the second half for the next call."""
    if r.has_half:
        r.has_half = _0
        half = r.half
        r.half = _0
        return half
    word = next64(r)
    r.has_half = _1
    r.half = word >> _32
    return word & _MASK32


def random(r: Any) -> Any:
    """Return a random float64 in [0, 1) from the generator state `r`, as NumPy's `random` does."""
    return np.float64(next64(r) >> _11) * _TO_UNIT


def integers(r: Any, low: int, high: int) -> Any:
    """Compiled version of NumPy's `Generator.integers`: return a random int64 in [low, high). `r`
    is the record with the generator's state. If only one value is possible, the state does not
    change."""
    if high <= low:
        if low == 0:
            raise ValueError("high <= 0")
        raise ValueError("low >= high")
    last = _U(high - low - 1)
    if last == _0:
        return np.int64(low)
    n = last + _1
    if last > _MASK32:
        word = next64(r)
        if word * n < n:
            threshold = (_0 - n) % n
            while word * n < threshold:
                word = next64(r)
        return np.int64(low) + np.int64(high_product(word, n))
    scaled = next32(r) * n
    rest = scaled & _MASK32
    if rest < n:
        threshold = (_MASK32 - last) % n
        while rest < threshold:
            scaled = next32(r) * n
            rest = scaled & _MASK32
    return np.int64(low) + np.int64(scaled >> _32)


def choice(r: Any, n: int) -> Any:
    """Return a random int64 in [0, n), as NumPy's `choice(n)` does."""
    if n <= 0:
        raise ValueError("a must be a positive integer unless no samples are taken")
    return integers(r, 0, n)


def _sample_up_to(r: Any, last: int) -> Any:
    """Return a random int64 from 0 to `last`, both included. Random bits are drawn again while
    their number is too large. `r` is the record with the generator's state."""
    if last == 0:
        return np.int64(0)
    top = _U(last)
    mask = top
    mask |= mask >> _1
    mask |= mask >> _2
    mask |= mask >> _4
    mask |= mask >> _8
    mask |= mask >> _16
    value = next32(r) & mask
    while value > top:
        value = next32(r) & mask
    return np.int64(value)


def shuffle(r: Any, values: Any) -> None:
    """Shuffle a one-dimensional array in place, as NumPy's `shuffle` does, with the generator state
    `r`."""
    for i in range(len(values) - 1, 0, -1):
        _swap(values, i, _sample_up_to(r, i))


def _swap(values: Any, i: int, j: int) -> None:
    swapped = values[i]
    values[i] = values[j]
    values[j] = swapped


def sample_without_replacement(r: Any, n: int, size: int) -> Any:
    """Compiled version of NumPy's `Generator.choice(n, size, replace=False)`: return an array of
    `size` different random integers in [0, n), in random order. `r` is the record with the
    generator's state."""
    if size > n:
        raise ValueError("Cannot take a larger sample than population when replace is False")
    if n > 10_000 and size > n // 50:
        everything = np.arange(n)
        _shuffle_tail(r, everything, max(n - size, 1))
        return everything[n - size :].copy()
    picked = np.empty(size, np.int64)
    for i in range(size):
        value = integers(r, 0, n - size + i + 1)
        for k in range(i):
            if picked[k] == value:
                value = np.int64(n - size + i)
                break
        picked[i] = value
    _shuffle_tail(r, picked, 1)
    return picked


def _shuffle_tail(r: Any, values: Any, first: int) -> None:
    for i in range(len(values) - 1, first - 1, -1):
        _swap(values, i, integers(r, 0, i + 1))
