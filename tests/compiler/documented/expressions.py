"""Expressions that compile."""

from __future__ import annotations

from typing import Any

from tests.compiler.documented.tables import MOVES, PRICES, Item, shows


@shows("a + b, a - b, a * b")
def add(a: Any, b: Any) -> Any:
    return a + b, a - b, a * b


@shows("-a, +a, ~a")
def negate(a: Any, b: Any) -> Any:
    return -a, +b, ~a


@shows("a / b")
def divide(a: Any, b: Any) -> Any:
    return a % 1000 / (b % 1000)


@shows("a // b, a % b", "divmod(a, b)")
def divide_down(a: Any, b: Any) -> Any:
    return a // b, a % b, divmod(a, b), a // 8, b % -3


@shows("a ** b", "pow(a, b)")
def raise_power(a: Any, b: Any) -> Any:
    return (a % 7) ** (b % 9), (a % 100) ** 2, pow(a % 5, 3), (a % 9 + 1) ** -1.0


@shows("a << b, a >> b")
def shift(a: Any, b: Any) -> Any:
    return a >> b, (a & 7) << (b & 15)


@shows("a & b, a | b, a ^ b")
def combine(a: Any, b: Any) -> Any:
    return a & b, a | b, a ^ b, (a > 0) & (b > 0), (a > 0) ^ True


@shows("a < b, a <= b, a > b, a >= b", "a == b, a != b", "0 <= a < b")
def compare(a: Any, b: Any) -> Any:
    half = (b % 100) / 2
    orders = a < b, a <= b, a > b, a >= b, a % 100 < half
    return *orders, a == b, a != b, a % 100 == half, 0 <= a < b


@shows("a in values, a not in values")
def find(a: Any, b: Any) -> Any:
    found = a in (1, 7, b), a not in [2, 3], a in {1, 62, b}, a in PRICES
    return *found, a in range(5), a in range(1, 70, 3), a in [2 * k for k in range(b % 9)]


@shows("a and b, a or b, not a")
def decide(a: Any, b: Any) -> Any:
    return a and b, a or b, not a, b != 0 and a // b > 1, (b == 0) or a % b == 1


@shows("a if test else b", "(x := a)")
def pick(a: Any, b: Any) -> Any:
    if (half := a // 2) > 3:
        return half, 1
    return (a if a > b else b), (1, 2)[1 if a else 0]


@shows("x is None, x is not None")
def is_none(a: Any, b: Any) -> Any:
    return helper_of_none(a % 5, None), helper_of_none(a % 5, 3)


def helper_of_none(x: int, limit: Any) -> Any:
    return x if limit is None else min(x, limit)


@shows("True, False, None, 1, 1.5", 'f"text {known}"', "Item.APPLE", "{1: 5, 4: 7}[a]")
@shows("prices.get(a, 0)")
def use_constants(a: Any, b: Any) -> Any:
    price = PRICES[a] if a in (1, 4) else -1
    return True, 1.5, None, f"text {3:02d}", a == Item.APPLE, price, PRICES.get(b, 2)


@shows("(a, b)", "values[k], values[-1]", "values[1:3], values[::2]", "a < b for tuples")
@shows("(1, 2) + (3,), (1,) * 3", "len(values)")
def use_tuples(a: Any, b: Any) -> Any:
    pair = a % 4, b % 4
    y, x = MOVES[a % 4]
    longer = (*pair, 5) + pair * 2
    parts = longer[1:3], longer[::2], longer[::-1][0], longer[-1], longer[b % 7]
    return y, x, parts, len(longer), pair < (b % 4, a % 4), pair == (1, 1), pair >= (2,)
