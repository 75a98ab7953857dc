"""Conversions and functions of numbers that compile."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gv_engine.geometry import add_up
from tests.compiler.documented.tables import shows


@shows("int(a), float(a), bool(a)", "round(a)", of=float)
def convert(a: Any, b: Any) -> Any:
    return int(a % 1e6), float(a), bool(a), round(b % 1e6), int(a > b), float(3)


@shows("a + b, a - b, a * b", "-a, +a, ~a", "a / b", of=float)
def calculate(a: Any, b: Any) -> Any:
    return a + b, a - b, a * b, -a, +b, a / b


@shows("a // b, a % b", "divmod(a, b)", of=float)
def divide_fractions(a: Any, b: Any) -> Any:
    return a // b, a % b, divmod(a, b)


@shows("a ** b", of=float)
def raise_fractions(a: Any, b: Any) -> Any:
    return (a % 10.0) ** (b % 5.0 - 2.0), a**2


@shows("a < b, a <= b, a > b, a >= b", "a == b, a != b", of=float)
def compare_fractions(a: Any, b: Any) -> Any:
    return a < b, a <= b, a > b, a >= b, a == b, a != b, a == 1


@shows("math.sqrt, math.isqrt", of=float)
def take_roots(a: Any, b: Any) -> Any:
    return math.sqrt(a), math.isqrt(int(b % 1e9))


@shows("math.sin, cos, tan, asin, acos, atan, atan2", of=float)
def take_angles(a: Any, b: Any) -> Any:
    x = b % 2.0 - 1.0
    plain = math.sin(a), math.cos(a), math.tan(a), math.atan(a), math.atan2(a, b)
    return *plain, math.asin(x), math.acos(x)


@shows("math.sinh, cosh, tanh", "math.exp, expm1, log, log2, log10, log1p", of=float)
def take_exponentials(a: Any, b: Any) -> Any:
    x = b % 10.0
    grown = math.exp(x), math.expm1(x), math.sinh(x), math.cosh(x), math.tanh(a)
    return *grown, math.log(a), math.log2(x + 1.0), math.log10(x + 1.0), math.log1p(x)


@shows("math.exp, expm1, log, log2, log10, log1p", of=float)
def take_large_exponentials(a: Any, b: Any) -> Any:
    return math.exp(a), math.exp(b)


@shows("math.hypot(a, b)", "math.fabs, fmod, copysign", "math.degrees, radians", of=float)
@shows("math.isnan, isinf, isfinite", "math.pi, math.inf", of=float)
def take_lengths(a: Any, b: Any) -> Any:
    x = a % 1000.0
    tests = math.isnan(a), math.isinf(a / 3.0), math.isfinite(b)
    parts = math.fabs(a), math.copysign(a, b), math.degrees(x), math.radians(x), x * math.pi
    return *tests, *parts, math.hypot(a, b), math.hypot(x, b % 7.0), math.fmod(x, b), a < math.inf


@shows("math.floor, ceil, trunc", of=float)
def round_fractions(a: Any, b: Any) -> Any:
    return math.floor(a % 1e9), math.ceil(b % 1e9), math.trunc(-(a % 1e9))


@shows("math.gcd(a, b)", "math.sqrt, math.isqrt")
def take_divisors(a: Any, b: Any) -> Any:
    return math.gcd(a % 1000, b % 1000), math.isqrt(a), math.isqrt(abs(b % 10000))


@shows("add_up(values)", of=float)
def add_fractions(a: Any, b: Any) -> Any:
    return add_up(np.array([a, 0.1, b, 0.2]))
