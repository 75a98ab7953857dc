"""Generators of many worlds at once, from seeds: bit for bit `numpy.random.default_rng(seed)`.

Source of the algorithms: seed_seq_fe (O'Neill 2015) and PCG64 XSL-RR (O'Neill 2014), as NumPy
documents them under `SeedSequence` and `PCG64`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.rng import (
    MULTIPLIER_HIGH,
    MULTIPLIER_LOW,
    high_product,
)
from gv_engine.scenario.layout import RNG
from gv_engine.world.rng import generator_to_row

_FEW = 12
"""Seeds that NumPy is as quick with, one by one."""

_POOL = 4
"""Words of a seed sequence."""


def _powers(first: int, factor: int, count: int) -> NDArray[np.uint32]:
    """(count, 1): first, first * factor and so on, within 32 bits."""
    values = accumulate(repeat(factor, count - 1), lambda a, b: a * b & 0xFFFFFFFF, initial=first)
    return np.array(list(values), np.uint32)[:, None]


_GATHERING = _powers(0x43B0D7E5, 0x931E8875, _POOL + _POOL * (_POOL - 1) + 1)
_HANDING_OUT = _powers(0x8B51F9DD, 0x58F38DED, 2 * _POOL + 1)
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_HALF = np.uint32(16)
_1, _32, _63 = np.uint64(1), np.uint64(32), np.uint64(63)


def seeded(seeds: Sequence[int]) -> NDArray[Any]:
    """(K,) records `gv_engine.scenario.layout.RNG`, each as `default_rng` of its seed has it.

    Args:
        seeds: numbers from 0 on; larger ones than 64 bits take longer.
    """
    try:
        words = np.array(seeds, np.uint64)
    except OverflowError:
        return _one_by_one(seeds)
    return sown(words, words >> _32) if len(words) > _FEW else _one_by_one(seeds)


def seeded_pairs(seed: int, numbers: Sequence[int]) -> NDArray[Any]:
    """(K,) records, each as `default_rng([seed, number])` has it."""
    if len(numbers) <= _FEW or max(seed, *numbers) >> 32:
        return _one_by_one([[seed, number] for number in numbers])
    words = np.array(numbers, np.uint64)
    return sown(np.full_like(words, seed), words)


def _one_by_one(seeds: Sequence[int | list[int]]) -> NDArray[Any]:
    records = np.zeros(len(seeds), RNG)
    for k, seed in enumerate(seeds):
        generator_to_row(np.random.default_rng(seed), records[k : k + 1].reshape(()))
    return records


def sown(*words: NDArray[np.uint64]) -> NDArray[Any]:
    """(K,) records, each as `default_rng` of these words has it: up to four, (K,), of which the
    lower 32 bits count."""
    pool = np.zeros((_POOL, len(words[0])), np.uint32)
    for line, word in zip(pool, words, strict=False):
        line[:] = word.astype(np.uint32)
    pool = _hashed(pool, _GATHERING, 0, _POOL)
    for source in range(_POOL):
        others = [k for k in range(_POOL) if k != source]
        hashed = _hashed(pool[source], _GATHERING, _POOL + source * len(others), len(others))
        mixed = _MIX_LEFT * pool[others] - _MIX_RIGHT * hashed
        pool[others] = mixed ^ mixed >> _HALF
    given = _hashed(np.tile(pool, (2, 1)), _HANDING_OUT, 0, 2 * _POOL).astype(np.uint64)
    high, low, line_high, line_low = given[::2] | given[1::2] << _32
    records = np.zeros(len(high), RNG)
    records["inc_high"] = line_high << _1 | line_low >> _63
    records["inc_low"] = line_low << _1 | _1
    high, low = _added(high, low, records)
    step = high_product(low, MULTIPLIER_LOW) + high * MULTIPLIER_LOW + low * MULTIPLIER_HIGH
    records["state_high"], records["state_low"] = _added(step, low * MULTIPLIER_LOW, records)
    return records


def _hashed(words: NDArray[np.uint32], by: NDArray[np.uint32], at: int, count: int) -> Any:
    """(count, K): words, each hashed by a constant of its own from `at` on."""
    mixed = (words ^ by[at : at + count]) * by[at + 1 : at + count + 1]
    return mixed ^ mixed >> _HALF


def _added(high: Any, low: Any, records: NDArray[Any]) -> Any:
    """The two halves of numbers of 128 bits, and the increments added to them."""
    total = low + records["inc_low"]
    return high + records["inc_high"] + (total < low), total
