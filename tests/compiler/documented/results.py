"""What could differ from Python, and what happens instead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tests.compiler.documented.tables import settled


@settled("reading a variable that no branch has set", "error")
def read_unset(w: Any) -> Any:
    if w.height > 100:
        x = 1
    return x


@settled("`math.sqrt(-1.0)`", "error")
def take_root_below(w: Any) -> Any:
    return math.sqrt(-1.0 * w.height)


@settled("`math.exp(1000.0)`", "error")
def take_large_exponential(w: Any) -> Any:
    return math.exp(200.0 * w.height)


@settled("`x // 0`, `x % 0`, `x / 0`", "error")
def divide_by_nothing(w: Any) -> Any:
    return w.width // w.at[1, 1] if w.at[1, 1] == 0 else w.width % w.steps


@settled("division by zero with elements of arrays", "error")
def divide_by_element(w: Any) -> Any:
    values = np.zeros(3, np.int64)
    return w.height // values[1]


@settled("division of what `w.having` and others return", "error")
def divide_by_entity(w: Any) -> Any:
    return w.having(w.door)[0] // w.steps_from(w.position.y[1], w.position.x[1])[0, 0] // w.steps


@settled("`abs` and `-` of the least number of a small column", "same")
def negate_least(w: Any) -> Any:
    w.agent.facing[1] = -128
    return abs(w.agent.facing[1]), -w.agent.facing[1], math.gcd(w.agent.facing[1], 96)


@settled("`abs`, `-` and `math.gcd` of the least 64-bit number", "compiled")
def negate_least_of_all(w: Any) -> Any:
    return abs(-(1 << 62) * (w.height - 3)) % 7


@settled("results beyond 64 bits", "compiled")
def grow_large(w: Any) -> Any:
    x = w.height
    for _ in range(40):
        x = x * 3
    return x % 7


@settled("`2 ** n` with a negative n", "compiled")
def raise_negative(w: Any) -> Any:
    return 2**-w.height


@settled("`x >> n` of an element of an array, with a negative n", "compiled")
def shift_back(w: Any) -> Any:
    return int(np.ones(3, np.int64)[1] >> -w.height)


@settled("`w.fail` within `try`", "refused")
def catch_failure(w: Any) -> Any:
    try:
        w.fail("no way")
    except Exception:
        return 1
    return 0


@settled("the order of a set", "refused")
def loop_over_set(w: Any) -> Any:
    total = 0
    for x in {3, 1, 2}:
        total = total * 10 + x
    return total


@settled("`math.floor(1e300)`, `int(1e300)`", "compiled")
def floor_large(w: Any) -> Any:
    return math.floor(1e299 * w.height) % 7


@settled("`w.num_states(99)`", "error")
def ask_unknown_type(w: Any) -> Any:
    return w.num_states(94 + w.height)


@settled("arithmetic with the words of `w.rng_state()`", "refused")
def add_to_state(w: Any) -> Any:
    return w.rng_state()[0] + 1


@settled("a number that does not fit into its column", "error")
def write_too_much(w: Any) -> Any:
    w.agent.facing[1] = 100 * w.height
    return 0


@settled("a nan in `sorted`", "compiled")
def sort_nan(w: Any) -> Any:
    return sorted((3.0, 1.0, w.height * math.nan, 2.0))[0]


@settled("a nan in `==`, `<` and `in` of tuples and lists", "compiled")
def compare_nan(w: Any) -> Any:
    x = w.height * math.nan
    return x in (1.0, x), (x, 1) == (x, 1), (x, 1) < (x, 2), x in [x * k for k in range(w.height)]


@settled("a number that does not fit into its array", "error")
def fill_too_much(w: Any) -> Any:
    values = np.zeros(3, np.int8)
    values[0] = 100 * w.height
    return 0


@settled("`[1] == (1,)`", "same")
def compare_list(w: Any) -> Any:
    values: Any = [w.height, 2]
    return values == (w.height, 2), values == [w.height, 2]


@settled("`~` of a truth value", "refused")
def invert(w: Any) -> Any:
    return ~(w.height > 2)


@settled("adding truth values", "refused")
def add_flags(w: Any) -> Any:
    return (w.height > 2) + (w.width > 2)


@settled("`sum` of fractions", "refused")
def add_parts(w: Any) -> Any:
    return sum([w.height / 3, 0.1])


@settled("arithmetic with elements of fewer than 64 bits", "refused")
def add_small(w: Any) -> Any:
    values = np.zeros(3, np.uint8)
    return values[w.height - 4] - 1


@settled("an index outside of an array or a column", "error")
def read_outside(w: Any) -> Any:
    return w.kind.value[w.capacity]


@settled("a negative index", "same")
def read_from_end(w: Any) -> Any:
    return w.kind.value[-w.height], w.at[-1, -1]
