"""Functions with sequences and arrays, which test_language.py runs by Python and compiled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def index_tuple(a: Any, b: Any) -> Any:
    table = (5, 6, 7)
    return table[a % 3], table[-1], (a, b, 9)[b % 3], len(table)


def compare_sequences(a: Any, b: Any) -> Any:
    x, y = a % 3, b % 3
    pair: Any = [x, y]
    return (
        pair == (x, y),
        [x, y] == [y, x],
        [x] + [1] != [1, y],
        (x, y) < (y, x),
        (x, y, 1) >= (x, 1),
        (x,) < (x, y),
        [x, (y, 2)] <= [y, (x, 2)],
        isinstance([x], tuple),
        pair == [1, y],
    )


def index_tables(a: Any, b: Any) -> Any:
    moves = ((0, 1), (1, 0), (0, -1), (-1, 0))
    y, x = moves[a % 4]
    mixed = (1, 2.5, True, b % 5, 0)[b % 5]
    return y, x, mixed, (a > b, False, True)[a % 3], ((a, b), (b, a))[b % 2], [4, 5, 6][a % 3]


def index_out_of_tuple(a: Any, b: Any) -> Any:
    return (5, 6, 7)[a]


def index_array(a: Any, b: Any) -> Any:
    values = np.arange(5)
    values[1] = 8
    return int(values[a % 5] * 10 + values[-1])


def index_out_of_array(a: Any, b: Any) -> Any:
    return int(np.zeros(4, np.int64)[a])


def fill_array(a: Any, b: Any) -> Any:
    n = a % 6
    cells = np.zeros((n, 3), np.int64)
    for y in range(n):
        cells[y, 1] = y * y
        cells[y][2] = b % 5
    total: Any = 0
    for row in cells:
        for value in row:
            total = total * 3 % 1000 + value
    other = cells.copy()
    other.fill(2)
    cells[:] = other
    return total, int(cells.size), cells.shape[0], int(cells.sum()) if n == 0 else int(cells[0, 0])


def slice_array(a: Any, b: Any) -> Any:
    values = np.arange(8)
    part = values[a % 12 - 2 : b % 12 - 3]
    part[:] = 1
    return len(part), int(values[2]), int(values[5]), len(values[3:]), len(values[:-2])


def narrow(a: Any, b: Any) -> Any:
    values = np.zeros(2, np.int8)
    values[0] = a % 100
    values[1] = -(b % 100)
    flags = np.zeros(2, bool)
    flags[1] = a > b
    return int(values[0]), int(values[1]), bool(flags[1])


def sort_array(a: Any, b: Any) -> Any:
    values = np.array([a % 50, b % 50, 7, 7, -1])
    ordered = np.sort(values)
    return int(ordered[0]), int(ordered[1]), int(ordered[4]), int(values[3]), int(max(values))


def call(function: Any, x: Any) -> Any:
    return function(x)


def name_parameters_of_lambdas(a: Any, b: Any) -> Any:
    """The parameter of a lambda is another variable than that of the comprehension around it."""
    doubled = [call(lambda k: k * 2, b % 7) for k in range(3)]
    below = sum(k for k in (1, 2, 3) if k < call(lambda k: k + b % 2, a % 5))
    return doubled[2], below


def measure_ranges(a: Any, b: Any) -> Any:
    steps = range(a % 3)
    return len(steps) > 0, len(range(b % 5, 3, 2)) > 0, len(range(3, b % 7, -2)) < 1


def comprehend(a: Any, b: Any) -> Any:
    odd = [k * k for k in range(a % 9) if k % 2]
    pairs = [x + 1 for x in (1, 2, 3)]
    return len(odd), sum(odd), pairs[1], sum(k for k in range(b % 7))


def quantify(a: Any, b: Any) -> Any:
    return (
        any(10 // k > 3 for k in range(1, 4 + a % 5)),
        all(k < b for k in range(4)),
        any(k == a for k in (1, 2, 7)),
        all(k > 0 for k in (1, 2)),
    )


def zip_and_count(a: Any, b: Any) -> Any:
    total: Any = 0
    values = np.arange(a % 5)
    for k, value in enumerate(values):
        total += k * value
    for x, y in zip(values, range(2, 9)):
        total += x * y
    for k in reversed(range(b % 4)):
        total = total * 2 + k
    return int(total)


def take_extremes(a: Any, b: Any) -> Any:
    return min(a, b), max(a, b, 3), abs(a) if a > -5 else 0, min((a, 2)), max(5, 6)


def divide_together(a: Any, b: Any) -> Any:
    return divmod(a, b)


def find_divisor(a: Any, b: Any) -> Any:
    return math.gcd(a % 1000, b % 1000)


def sum_from_start(a: Any, b: Any) -> Any:
    x, y = a % 9, b % 9
    return sum((k for k in (x, 2)), start=10), sum((k * y for k in range(x)), y), sum((x, 2), y)


def read_dict(a: Any, b: Any) -> Any:
    prices: Any = {1: 5, 2: 7}
    total = sum(k * price for k, price in prices.items())
    for key in prices.keys():  # noqa: SIM118
        total += key
    return total + prices.get(a, b % 5), len(prices.values())


def filter_items_once(a: Any, b: Any) -> Any:
    left = [5, 0, 7, 0, a]
    kept = [x for x in (1, 2, 3) if left.pop() > 1]
    seen: Any = [0]
    some = [x for x in (1, 2, 3) if x > 1 if not seen.append(x)]
    return len(left), len(kept), len(seen), len(some)


def slice_lists(a: Any, b: Any) -> Any:
    rows = [(k, k / 2) for k in range(a % 7)]
    values: Any = [a, b, 3]
    total = sum(k for k, _ in rows[1:3])
    return len(rows[1:]), 1 if rows[5:] else 0, total, values[1:] == [b, 3], values[1:] == (b, 3)


def keep_sign_of_zero(a: Any, b: Any) -> Any:
    pair = (0.0, 1) if a > 0 else (-0.0, 1)
    table = {0: 0.0, 1: -0.0}
    return math.copysign(1.0, 0.0 if b > 0 else -0.0), pair, table[a % 2], give_zero(a)


def give_zero(a: Any) -> Any:
    if a > 2:
        return 0.0
    return -0.0


def copy_or_view(a: Any, b: Any) -> Any:
    values = np.zeros(4, np.int64)
    same, other = np.asarray(values), np.asarray(values, float)
    line = values[1:].ravel()
    values[:] = b % 9
    small = np.full(2, a % 100, np.int8)
    wide = np.array(small.tolist())
    wide[0] = 300
    listed = [k for k in range(a % 5 + 1)]  # noqa: C416
    copied = listed.copy()
    copied[0] = 7
    return int(same[0]), float(other[0]), int(line[0]), int(wide[0]), listed[0], copied[0]


def copy_grown_list(a: Any, b: Any) -> Any:
    values = [1, 2]
    values.append(a)
    copied = values.copy()
    copied[0] = 7
    copied.append(b)
    return len(values), values[0], len(copied), copied[0]


SMALL = np.array([100, 2], np.int8)


def use_narrow_constants(a: Any, b: Any) -> Any:
    cells = np.zeros(SMALL[1], np.int64)
    return (
        len(cells),
        int(SMALL[1]) + a % 9,
        a == SMALL[1],
        (5, 6, 7)[SMALL[1]],
        bool(SMALL[0] > b),
        int(SMALL[0] + 20),
    )


def unpack_rest(a: Any, b: Any) -> Any:
    rest: Any
    first, *rest = (a, b, 3)
    second, *few = (1, 2)
    return first, rest == [b, 3], rest == (b, 3), few == [2], second


def make_unsigned(a: Any, b: Any) -> Any:
    return int(np.uint64(a) >> np.uint64(60))


def calculate_unsigned(a: Any, b: Any) -> Any:
    word = np.uint64(a & 7) * np.uint64(5) - np.uint64(2)
    words = np.array([a & 7, 2], np.uint64) * np.uint64(1 << 63) * np.uint64(3)
    return int(word), int(word + 3), int(words[0] >> np.uint64(60))


def overflow_unsigned(a: Any, b: Any) -> Any:
    return int(-np.uint64(a & 1) * np.uint64(b & 3) >> np.uint64(60))


def add_in_place(a: Any, b: Any) -> Any:
    flags = np.zeros(3, bool)
    flags |= flags
    flags[a % 3] += 1
    flags[1:] |= b > 0
    return bool(flags[0]), bool(flags[1]), bool(flags[2])


def fill_nothing(a: Any, b: Any) -> Any:
    small = np.zeros(3, np.uint8)
    small[small > 1] = a
    none = np.zeros(0, np.int8)
    none[:] = b
    return int(small[0])


def shorten_floats(a: Any, b: Any) -> Any:
    short = np.full(2, a, np.float32)
    short[0] = b
    return float(short[0]), float(short[1])


def shorten_infinite(a: Any, b: Any) -> Any:
    short = np.zeros(2, np.float32)
    short[0] = math.inf if a > 0 else math.nan
    return float(short[0])


def find_nan(a: Any, b: Any) -> Any:
    values = np.array([1.0, a % 5.0, b * math.nan, 2.0, math.nan])
    ordered = np.sort(values)
    places = int(values.argmax()), int(values.argmin()), int(np.argmax(values[:2]))
    return *places, float(values.max()), float(values[:2].min()), float(ordered[2]), ordered[3] == 0
