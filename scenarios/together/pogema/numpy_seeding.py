"""Seeds of NumPy's generators in rules: `SeedSequence` (O'Neill's seed_seq_fe, 2015) and PCG64."""

import numpy as np

from gv_engine import World

_WORD = 0xFFFFFFFF


def seed_generator(w: World, seed: int) -> None:
    """Set `w.rng` to the state of NumPy's `default_rng(seed)`; the seed has at most 32 bits."""
    words = make_words(seed)
    state, step = np.zeros(4, np.int64), np.zeros(4, np.int64)
    carry, bit = 0, 1
    for k in range(4):  # 128-bit numbers, the lowest 32 bits first
        word = int(words[4 + (k ^ 2)])
        step[k] = (word << 1 | bit) & _WORD  # the increment is odd
        bit = word >> 31
        total = int(words[k ^ 2]) + int(step[k]) + carry
        state[k] = total & _WORD
        carry = total >> 32
    w.set_rng_state((join(state, 2), join(state, 0), join(step, 2), join(step, 0), 0, 0))
    w.rng.random()  # the seeded state is one step further


def join(words: np.ndarray, k: int) -> np.uint64:
    """Return 64 bits: the 32-bit words `k`, the lower half, and `k + 1`."""
    return np.uint64(int(words[k + 1])) << np.uint64(32) | np.uint64(int(words[k]))


def make_words(seed: int) -> np.ndarray:
    """Return the first eight 32-bit words of NumPy's `SeedSequence(seed)`."""
    pool, words = np.zeros(4, np.int64), np.zeros(8, np.int64)
    pool[0] = seed
    salt = 0x43B0D7E5
    for k in range(4):
        next_salt = multiply(salt, 0x931E8875)
        pool[k] = hash_word(int(pool[k]), salt, next_salt)
        salt = next_salt
    for source in range(4):
        for k in range(4):
            if k != source:
                next_salt = multiply(salt, 0x931E8875)
                hashed = hash_word(int(pool[source]), salt, next_salt)
                mixed = multiply(int(pool[k]), 0xCA01F9DD) - multiply(hashed, 0x4973F715) & _WORD
                pool[k] = mixed ^ mixed >> 16
                salt = next_salt
    salt = 0x8B51F9DD
    for k in range(8):
        next_salt = multiply(salt, 0x58F38DED)
        words[k] = hash_word(int(pool[k % 4]), salt, next_salt)
        salt = next_salt
    return words


def hash_word(word: int, salt: int, factor: int) -> int:
    """Return the hash of a 32-bit word."""
    mixed = multiply(word ^ salt, factor)
    return mixed ^ mixed >> 16


def multiply(a: int, b: int) -> int:
    """Return the last 32 bits of the product of two 32-bit words; no step takes 64 bits."""
    return ((a * (b >> 16) & 0xFFFF) << 16) + a * (b & 0xFFFF) & _WORD
