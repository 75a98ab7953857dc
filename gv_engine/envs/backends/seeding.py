"""Seeds of levels and of all other purposes, and seeding of many generators at once.

The level of seed S is sampled with `numpy.random.default_rng(S)`, which `default_rng([S, 0])`
equals. Everything else that a seed decides has random numbers of its own: those of
`make_rng(S, purpose)`, which are never the ones of a level.

Source of the algorithms: seed_seq_fe (O'Neill 2015) and PCG64 XSL-RR (O'Neill 2014), as NumPy
documents them under `SeedSequence` and `PCG64`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, repeat
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.rng import MULTIPLIER_HIGH, MULTIPLIER_LOW, high_product
from gv_engine.scenario.memory.layout import RNG
from gv_engine.world.rng import generator_to_row

_FEW = 12
"""Number of seeds up to which it is as fast to let NumPy seed one by one."""

_POOL_WORDS = 4
"""Words in the pool of a seed sequence."""


def _make_constants(first: int, factor: int, count: int) -> NDArray[np.uint32]:
    values = accumulate(repeat(factor, count - 1), lambda a, b: a * b & 0xFFFFFFFF, initial=first)
    return np.array(list(values), np.uint32)[:, None]


_MAX_WORDS = 6
"""Words of a seed that are hashed here: of a number up to 64 bits, a purpose and another number."""
_POOL_SALTS = _make_constants(0x43B0D7E5, 0x931E8875, _POOL_WORDS * _MAX_WORDS + 1)
_OUTPUT_SALTS = _make_constants(0x8B51F9DD, 0x58F38DED, 2 * _POOL_WORDS + 1)
_MIX_LEFT, _MIX_RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
_HALF_WORD = np.uint32(16)
_1, _32, _63 = np.uint64(1), np.uint64(32), np.uint64(63)


def make_seeded_generators(seeds: Sequence[int]) -> NDArray[Any]:
    """Return (K,) records of random generators, one for each seed, each equal to NumPy's
    `default_rng(seed)`. The dtype is `gv_engine.scenario.memory.layout.RNG`.

    Args:
        seeds: integers from 0 on; seeds above 64 bits take longer.
    """
    try:
        words = np.array(seeds, np.uint64)
    except OverflowError:
        return _seed_by_numpy(seeds)
    return seed_from_words(words, words >> _32) if len(words) > _FEW else _seed_by_numpy(seeds)


POLICY = "policy"
"""Purpose of the random numbers with which policies sample actions, one stream per episode."""


def make_seed_sequence(seed: int, purpose: str, *numbers: int) -> np.random.SeedSequence:
    """Return NumPy's `SeedSequence(seed, spawn_key=(crc32(purpose), *numbers))`."""
    return np.random.SeedSequence(seed, spawn_key=(crc32(purpose.encode()), *numbers))


def make_rng(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    """Return the random number generator for one purpose of a seed, such as "policy" in the episode
    with the first of `numbers`. No level of a seed below 2**128 is sampled with the same numbers.

    >>> make_rng(3, "policy", 0).random() == make_rng(3, "weights").random()
    False
    """
    return np.random.default_rng(make_seed_sequence(seed, purpose, *numbers))


def derive_seeds(seed: int, purpose: str, count: int = 1) -> list[int]:
    """Return `count` seeds from 0 to 2**63 - 1 for one purpose of a seed. Those of other seeds and
    purposes are others."""
    words = make_seed_sequence(seed, purpose).generate_state(count, np.uint64)
    return [int(word) >> 1 for word in words]


def make_purpose_generators(seed: int, purpose: str, numbers: Sequence[int]) -> NDArray[Any]:
    """Return (K,) records of random generators, each equal to `make_rng(seed, purpose, number)` for
    one of `numbers`. `purpose` is a word that separates uses of the same seed."""
    if len(numbers) <= _FEW or seed >> 64 or max(numbers) >> 32:
        return _seed_by_numpy([make_seed_sequence(seed, purpose, number) for number in numbers])
    # as a seed sequence lists them: the seed in four words, and the two numbers of the spawn key
    words = seed, seed >> 32, 0, 0, crc32(purpose.encode())
    last_words = np.array(numbers, np.uint64)
    first_words = (np.full_like(last_words, word & 0xFFFFFFFF) for word in words)
    return seed_from_words(*first_words, last_words)


def _seed_by_numpy(seeds: Sequence[int | np.random.SeedSequence]) -> NDArray[Any]:
    """Return (K,) records of random generators, seeded by NumPy one by one. This is slow, but works
    for seeds of any size."""
    records = np.zeros(len(seeds), RNG)
    for k, seed in enumerate(seeds):
        generator_to_row(np.random.default_rng(seed), records[k : k + 1].reshape(()))
    return records


def seed_from_words(*words: NDArray[np.uint64]) -> NDArray[Any]:
    """Return (K,) records of random generators. Each seed is given in one to six 32-bit words, one
    array per word. The result is that of NumPy, computed for all seeds at once.

    Args:
        words: arrays (K,) uint64; only the lower 32 bits of a word count.
    """
    # `SeedSequence.mix_entropy`
    size = _POOL_WORDS
    pool = np.zeros((size, len(words[0])), np.uint32)
    for pool_word, word in zip(pool, words, strict=False):
        pool_word[:] = word.astype(np.uint32)
    pool = _hash(pool, _POOL_SALTS, 0, size)
    for source in range(size):
        targets = [k for k in range(size) if k != source]
        hashed = _hash(pool[source], _POOL_SALTS, size + source * len(targets), len(targets))
        pool[targets] = _mix(pool[targets], hashed)
    for k, word in enumerate(words[size:], size):
        pool = _mix(pool, _hash(word.astype(np.uint32), _POOL_SALTS, k * size, size))
    # `SeedSequence.generate_state`
    output_words = _hash(np.tile(pool, (2, 1)), _OUTPUT_SALTS, 0, 2 * size).astype(np.uint64)
    high, low, stream_high, stream_low = output_words[::2] | output_words[1::2] << _32
    # `PCG64` seeded with a state and a stream
    records = np.zeros(len(high), RNG)
    records["inc_high"] = stream_high << _1 | stream_low >> _63
    records["inc_low"] = stream_low << _1 | _1
    high, low = _add_increment(high, low, records)
    step = high_product(low, MULTIPLIER_LOW) + high * MULTIPLIER_LOW + low * MULTIPLIER_HIGH
    high, low = _add_increment(step, low * MULTIPLIER_LOW, records)
    records["state_high"], records["state_low"] = high, low
    return records


def _hash(words: NDArray[np.uint32], salts: NDArray[np.uint32], start: int, count: int) -> Any:
    mixed = (words ^ salts[start : start + count]) * salts[start + 1 : start + count + 1]
    return mixed ^ mixed >> _HALF_WORD


def _mix(words: NDArray[np.uint32], hashed: NDArray[np.uint32]) -> Any:
    mixed = _MIX_LEFT * words - _MIX_RIGHT * hashed
    return mixed ^ mixed >> _HALF_WORD


def _add_increment(high: Any, low: Any, records: NDArray[Any]) -> Any:
    """Return the halves of a 128-bit number plus the increments in `records`."""
    total = low + records["inc_low"]
    carry = total < low
    return high + records["inc_high"] + carry, total
