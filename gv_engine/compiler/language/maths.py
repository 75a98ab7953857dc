"""Functions of `math`, each with CPython's result, bit for bit, or its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic
from gv_engine.compiler.language.body import LIBRARY, Body, emits
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.values import Kind, Scalar, is_known, kind_of


@emits(int, np.int64)
def to_integer(body: Body, value: Any = 0) -> Any:
    """Return `int(value)`."""
    if is_known(value):
        return int(value)
    number = arithmetic.to_number(body, value)
    if number.kind is Kind.UINT:
        if body.is_checked:
            negative = body.emit.value(f"icmp slt i64 {number.operand}, 0")
            body.fail_if(Scalar(Kind.BOOL, negative), arithmetic.TOO_LARGE)
        return Scalar(Kind.INT, number.operand)
    if number.kind is not Kind.FLOAT:
        return replace(arithmetic.to_int(body, number), narrow_dtype="")
    nothing = body.emit.value(f"fcmp uno double {number.operand}, {number.operand}")
    body.fail_if(Scalar(Kind.BOOL, nothing), "ValueError: cannot convert float NaN to integer")
    edge = constant(float(1 << 63)).operand
    size = fabs(body, number)
    fits = body.emit.value(f"fcmp olt double {size.operand}, {edge}")
    body.fail_if(
        arithmetic.emit_not(body, Scalar(Kind.BOOL, fits)),
        "OverflowError: a float is no 64-bit integer",
    )
    return Scalar(Kind.INT, body.emit.value(f"fptosi double {number.operand} to i64"))


def emit_float_call(body: Body, name: str, *values: Any, attributes: str = "") -> Scalar:
    """Return the result of a function of LLVM or of the C library that takes and returns floats."""
    numbers = [f"double {arithmetic.to_kind(body, value, Kind.FLOAT).operand}" for value in values]
    text = body.call_external(name, "double", *numbers, attributes=attributes)
    return Scalar(Kind.FLOAT, text)


def _make_intrinsic(name: str) -> Callable[..., Any]:
    return lambda body, *values: emit_float_call(body, f"llvm.{name}.f64", *values)


fabs = _make_intrinsic("fabs")
LIBRARY[math.fabs] = fabs
LIBRARY[arithmetic.floor] = _make_intrinsic("floor")
LIBRARY[arithmetic.copysign] = LIBRARY[math.copysign] = _make_intrinsic("copysign")


@emits(arithmetic.fmod)
def _fmod(body: Body, a: Scalar, b: Scalar) -> Scalar:
    text = body.emit.value(f"frem double {a.operand}, {b.operand}")
    return Scalar(Kind.FLOAT, text)


def emit_c_call(body: Body, name: str, *values: Any) -> Scalar:
    """Return the result of a function of the C library, the one that CPython calls."""
    return emit_float_call(body, name, *values, attributes="nobuiltin")


def _make_c_function(name: str) -> Callable[..., Any]:
    """Return the code of a function of `math` with one or two arguments. Like Python, it fails
    where finite arguments have no finite result, or numbers have none."""
    error = "OverflowError: math range error" if name in _OVERFLOWING else DOMAIN_ERROR

    def emit(body: Body, *values: Any) -> Any:
        numbers = [arithmetic.to_kind(body, value, Kind.FLOAT) for value in values]
        result = emit_c_call(body, name, *numbers)
        are_numbers: Any = True
        are_finite: Any = True
        for number in numbers:
            are_numbers = arithmetic.emit_and(
                body, are_numbers, arithmetic.emit_not(body, _isnan(body, number))
            )
            are_finite = arithmetic.emit_and(body, are_finite, _isfinite(body, number))
        body.fail_if(arithmetic.emit_and(body, are_numbers, _isnan(body, result)), DOMAIN_ERROR)
        body.fail_if(arithmetic.emit_and(body, are_finite, _isinf(body, result)), error)
        return result

    return emit


DOMAIN_ERROR = "ValueError: math domain error"
_OVERFLOWING = ["cosh", "exp", "expm1", "sinh", "atan2", "fmod"]
_C_FUNCTIONS = "sin cos tan asin acos atan atan2 sinh cosh tanh exp expm1 log1p fmod"
for _name in _C_FUNCTIONS.split():
    LIBRARY[getattr(math, _name)] = _make_c_function(_name)


@emits(math.sqrt)
def _sqrt(body: Body, value: Any) -> Any:
    if is_known(value):
        return math.sqrt(value)
    number = arithmetic.to_kind(body, value, Kind.FLOAT)
    negative = body.emit.value(f"fcmp olt double {number.operand}, {constant(0.0).operand}")
    body.fail_if(Scalar(Kind.BOOL, negative), DOMAIN_ERROR)
    return _make_intrinsic("sqrt")(body, number)


def _make_logarithm(name: str) -> Callable[..., Any]:
    """Return the code of a logarithm."""

    def emit(body: Body, value: Any) -> Any:
        number = arithmetic.to_kind(body, value, Kind.FLOAT)
        low = body.emit.value(f"fcmp ole double {number.operand}, {constant(0.0).operand}")
        body.fail_if(Scalar(Kind.BOOL, low), DOMAIN_ERROR)
        return emit_c_call(body, name, number)

    return emit


for _name in ("log", "log2", "log10"):
    LIBRARY[getattr(math, _name)] = _make_logarithm(_name)


def _make_rounding(name: str) -> Callable[..., Any]:
    """Return the code of `math.floor`, `math.ceil` or `math.trunc`, which return an integer."""

    def emit(body: Body, value: Any) -> Any:
        if kind_of(value) is not Kind.FLOAT:
            return arithmetic.to_int(body, value)
        return to_integer(body, _make_intrinsic(name)(body, value))

    return emit


LIBRARY[math.floor], LIBRARY[math.ceil] = _make_rounding("floor"), _make_rounding("ceil")
LIBRARY[math.trunc] = _make_rounding("trunc")


@emits(math.isnan)
def _isnan(body: Body, value: Any) -> Any:
    number = arithmetic.to_kind(body, value, Kind.FLOAT)
    return body.emit.condition(f"fcmp uno double {number.operand}, {number.operand}")


@emits(math.isinf)
def _isinf(body: Body, value: Any) -> Any:
    size = fabs(body, value)
    return body.emit.condition(f"fcmp oeq double {size.operand}, {INFINITY}")


@emits(math.isfinite)
def _isfinite(body: Body, value: Any) -> Any:
    size = fabs(body, value)
    return body.emit.condition(f"fcmp olt double {size.operand}, {INFINITY}")


INFINITY = constant(math.inf).operand


def _to_radians(degrees: float) -> float:
    return degrees * (math.pi / 180)


def _to_degrees(radians: float) -> float:
    return radians * (180 / math.pi)


def _isqrt(n: int) -> int:
    """Return the root of an integer, rounded down."""
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))  # but for rounding
    while root > 0 and root > n // root:
        root -= 1
    while root + 1 <= n // (root + 1):
        root += 1
    return root


def scale_of(most: float) -> float:
    """Return the power of two that scales a positive float into [0.5, 1); replaced by code."""
    return math.ldexp(1.0, -math.frexp(most)[1])


@emits(scale_of)
def _scale_of(body: Body, most: Scalar) -> Scalar:
    get = body.emit.value
    exponent = get(f"lshr i64 {get(f'bitcast double {most.operand} to i64')}, 52")
    bits = get(f"shl i64 {get(f'sub i64 2045, {exponent}')}, 52")
    is_huge = get(f"icmp eq i64 {exponent}, 2046")
    bits = get(f"select i1 {is_huge}, i64 {1 << 50}, i64 {bits}")
    is_tiny = get(f"icmp eq i64 {exponent}, 0")
    is_less = get(f"fcmp olt double {most.operand}, {constant(2.0**-1023).operand}")
    tiny = get(f"select i1 {is_less}, i64 {2046 << 52}, i64 {2045 << 52}")
    bits = get(f"select i1 {is_tiny}, i64 {tiny}, i64 {bits}")
    return Scalar(Kind.FLOAT, get(f"bitcast i64 {bits} to double"))


def _square(x: float) -> tuple[float, float]:
    """Return `x * x` and what rounding has lost of it, by Dekker's splitting."""
    split = x * 134217729.0
    high = split - (split - x)
    low = x - high
    product = x * x
    return product, ((high * high - product) + 2.0 * high * low) + low * low


def _two_sum(a: float, b: float) -> tuple[float, float]:
    total = a + b
    return total, (a - total) + b


def _vector_norm(a: float, b: float, most: float) -> float:
    """Return the length of a vector, as CPython's `vector_norm`."""
    scale = scale_of(most)
    total, lost, rest = 1.0, 0.0, 0.0
    for x in (a * scale, b * scale):
        square, low = _square(x)
        total, less = _two_sum(total, square)
        lost, rest = lost + low, rest + less
    length = math.sqrt(total - 1.0 + (lost + rest))
    square, low = _square(length)
    total, less = _two_sum(total, -square)
    lost, rest = lost - low, rest + less
    return (length + (total - 1.0 + (lost + rest)) / (2.0 * length)) / scale


_LEAST = 2.0**-1022


def _hypot(a: float, b: float) -> float:
    """Return `math.hypot(a, b)`, which CPython computes more exactly than the C library."""
    a, b = abs(a), abs(b)
    if math.isinf(a) or math.isinf(b):
        return math.inf
    most = a if a > b else b
    if math.isnan(a) or math.isnan(b) or most == 0.0:
        return a + b
    if most < _LEAST / 4.0:
        return _LEAST * _vector_norm(a / _LEAST, b / _LEAST, most / _LEAST)
    return _vector_norm(a, b, most)


def _make_float_function(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the code of a call of a function of the language with `count` floats."""

    def emit(body: Body, *values: Any) -> Any:
        if len(values) != count:
            body.refuse(f"takes {count} numbers in compiled code, found {len(values)}")
        return body.call_function(
            function, *(arithmetic.to_kind(body, each, Kind.FLOAT) for each in values)
        )

    return emit


LIBRARY[math.radians] = _make_float_function(_to_radians, 1)
LIBRARY[math.degrees] = _make_float_function(_to_degrees, 1)
LIBRARY[math.hypot] = _make_float_function(_hypot, 2)


def _gcd(a: int, b: int) -> int:
    """Return the greatest common divisor, by Euclid's algorithm."""
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


LIBRARY[arithmetic.call_pow] = lambda body, a, b: emit_c_call(body, "pow", a, b)
LIBRARY[math.isqrt] = lambda body, n: body.call_function(_isqrt, arithmetic.to_int(body, n))
LIBRARY[math.gcd] = lambda body, a, b: body.call_function(_gcd, a, b)
