"""Statements that compile."""

from __future__ import annotations

from typing import Any

from tests.compiler.documented.tables import WEIGHTS, shows


@shows("x = 1", "x = y = 1", "x: int = 1", "x += 1")
def assign(a: Any, b: Any) -> Any:
    x = y = a % 100
    z: int = b % 100
    x += z
    y -= 1
    z *= 3
    x //= 2
    y %= 7
    z <<= 1
    z |= 5
    return x, y, z


@shows("x, (y, z) = 1, (2, 3)", "first, *rest = values")
def unpack(a: Any, b: Any) -> Any:
    x, (y, z) = a, (b, 3)
    x, y = y, x
    first, *rest = (z, y, x)
    *most, last = rest
    return first, rest[0], len(rest), most[0], last


@shows("if, elif, else")
def branch(a: Any, b: Any) -> Any:
    if a > b:
        x = 1
    elif a == b:
        x = 2
    else:
        x = a % 5
    return x


@shows("while, else", "break, continue, pass")
def repeat(a: Any, b: Any) -> Any:
    n, steps = abs(a % 50), 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 20:
            break
        if steps == b:
            continue
        if steps < 0:
            pass
    else:
        steps = -steps
    while True:
        steps += 1
        if steps % 7 == 3:
            found = steps
            break
    return found, steps


@shows("for, else", "for k in range(...)")
def count(a: Any, b: Any) -> Any:
    total: Any = 0
    for k in range(a % 9):
        total += k
    for k in range(b % 5, 20, 3):
        if k == a % 20:
            break
        total = total * 2 + k
    else:
        total = -total
    for k in range(9, a % 9 - 2, -2):
        for x in range(k):
            if x * k > 30:
                break
        else:
            total += 1
    return total


@shows("for x in values", "for k, x in enumerate(values)", "for x, y in zip(...)")
@shows("for x in reversed(values)")
def iterate(a: Any, b: Any) -> Any:
    total: Any = 0
    for x in (a % 5, 7, b % 5):
        total = total * 3 + x
    for x in WEIGHTS:
        total += int(x)
    for k, x in enumerate([y + 1 for y in range(a % 6)], 2):
        total += k * x
    for x, (k, y) in zip(range(3, 9), enumerate((b % 3, 5, 6))):
        total += x * k + y
    for x in reversed(range(b % 4)):
        total = total % 1000 * 2 + x
    for x in reversed((1, a % 2)):
        total = total % 1000 * 2 + x
    return total


@shows("return x", "return")
def give_back(a: Any, b: Any) -> Any:
    def check(x: int) -> Any:
        if x > 3:
            return

    check(a)
    for k in range(5):
        if k == a:
            return k, b
    return -1, a


@shows("assert test, text", 'raise ValueError("text")', "raise RuleError(text)")
def fail(a: Any, b: Any) -> Any:
    assert a != 7, f"found {7}"
    if a > b:
        raise ValueError("too large")
    if a == b:
        raise KeyError
    return a


@shows("def within a function", "lambda x: ...", "def f(x, y=1, *, z=2)", "def f(*values)")
@shows("f(x, z=3)", "f(*values)")
def define(a: Any, b: Any) -> Any:
    scale = b % 7

    def weigh(x: int, y: int = 4, *, z: int = 5) -> Any:
        return (x * 10 + y) * scale + z

    def total(*values: int) -> Any:
        return sum(values)

    def apply(function: Any, x: int) -> Any:
        return function(x) + 1

    scale += 1
    pair = (a % 9, 2)
    return weigh(a % 10), weigh(1, z=a % 3), total(*pair, 3), apply(lambda x: x * scale, a % 5)
