"""Functions of Python's `math` in compiled code, with exactly CPython's results and errors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gv_engine.compiler.language import arithmetic
from gv_engine.compiler.language.body import LIBRARY, Body, emits
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.values import AnyValue, Kind, Scalar, is_known, kind_of


@emits(int, np.int64)
def to_integer(body: Body, value: AnyValue = 0) -> AnyValue:
    """Emit code for `int(value)`. The program fails if a float does not fit into 64 bits. Return
    the result, a Python int if `value` is a constant."""
    if is_known(value):
        return int(value)
    number = arithmetic.to_number(body, value)
    if number.kind is Kind.UINT:
        if body.is_checked:
            is_negative = body.emit.condition(f"icmp slt i64 {number.operand}, 0")
            body.fail_if(is_negative, arithmetic.TOO_LARGE)
        return Scalar(Kind.INT, number.operand)
    if number.kind is not Kind.FLOAT:
        return replace(arithmetic.to_int(body, number), narrow_dtype="")
    is_nan = _isnan(body, number)
    body.fail_if(is_nan, "ValueError: cannot convert float NaN to integer")
    limit = constant(float(1 << 63)).operand
    fits = body.emit.condition(f"fcmp olt double {fabs(body, number).operand}, {limit}")
    does_not_fit = arithmetic.emit_not(body, fits)
    body.fail_if(does_not_fit, "OverflowError: a float is no 64-bit integer")
    return Scalar(Kind.INT, body.emit.value(f"fptosi double {number.operand} to i64"))


def emit_float_call(body: Body, name: str, *values: AnyValue, attributes: str = "") -> Scalar:
    """Emit a call of the LLVM or C function `name`, whose arguments and result are floats; return
    the result."""
    arguments = [
        f"double {arithmetic.to_kind(body, value, Kind.FLOAT).operand}" for value in values
    ]
    result = body.call_external(name, "double", *arguments, attributes=attributes)
    return Scalar(Kind.FLOAT, result)


def _make_intrinsic(name: str) -> Callable[..., Any]:
    return lambda body, *values: emit_float_call(body, f"llvm.{name}.f64", *values)


fabs = _make_intrinsic("fabs")
LIBRARY[math.fabs] = fabs
LIBRARY[arithmetic.floor] = _make_intrinsic("floor")
LIBRARY[arithmetic.copysign] = LIBRARY[math.copysign] = _make_intrinsic("copysign")


@emits(arithmetic.fmod)
def _fmod(body: Body, a: Scalar, b: Scalar) -> Scalar:
    return Scalar(Kind.FLOAT, body.emit.value(f"frem double {a.operand}, {b.operand}"))


def emit_c_call(body: Body, name: str, *values: AnyValue) -> Scalar:
    """Emit a call of a function of the C library, the one that CPython calls; return the float."""
    return emit_float_call(body, name, *values, attributes="nobuiltin")


def _make_c_function(name: str) -> Callable[..., Any]:
    """Return the function that emits code for a function of `math` such as `math.sin`, by a call of
    the C library. The program fails where Python raises ValueError or OverflowError."""
    overflow_error = "OverflowError: math range error" if name in _OVERFLOWING else DOMAIN_ERROR

    def emit(body: Body, *values: AnyValue) -> AnyValue:
        arguments = [arithmetic.to_kind(body, value, Kind.FLOAT) for value in values]
        result = emit_c_call(body, name, *arguments)
        has_no_nan: Any = True
        are_finite: Any = True
        for argument in arguments:
            is_number = arithmetic.emit_not(body, _isnan(body, argument))
            has_no_nan = arithmetic.emit_and(body, has_no_nan, is_number)
            are_finite = arithmetic.emit_and(body, are_finite, _isfinite(body, argument))
        is_undefined = arithmetic.emit_and(body, has_no_nan, _isnan(body, result))
        body.fail_if(is_undefined, DOMAIN_ERROR)
        overflows = arithmetic.emit_and(body, are_finite, _isinf(body, result))
        body.fail_if(overflows, overflow_error)
        return result

    return emit


DOMAIN_ERROR = "ValueError: math domain error"
_OVERFLOWING = ["cosh", "exp", "expm1", "sinh", "atan2", "fmod"]
_C_FUNCTIONS = "sin cos tan asin acos atan atan2 sinh cosh tanh exp expm1 log1p fmod"
for _name in _C_FUNCTIONS.split():
    LIBRARY[getattr(math, _name)] = _make_c_function(_name)


@emits(math.sqrt)
def _sqrt(body: Body, value: AnyValue) -> AnyValue:
    """Emit code for `math.sqrt(value)`."""
    if is_known(value):
        return math.sqrt(value)
    number = arithmetic.to_kind(body, value, Kind.FLOAT)
    is_negative = body.emit.condition(f"fcmp olt double {number.operand}, {constant(0.0).operand}")
    body.fail_if(is_negative, DOMAIN_ERROR)
    return _make_intrinsic("sqrt")(body, number)


def _make_logarithm(name: str) -> Callable[..., Any]:
    """Return the function that emits code for a logarithm such as `math.log2`. The program fails
    for numbers that are not positive."""

    def emit(body: Body, value: AnyValue) -> AnyValue:
        number = arithmetic.to_kind(body, value, Kind.FLOAT)
        zero = constant(0.0).operand
        is_undefined = body.emit.condition(f"fcmp ole double {number.operand}, {zero}")
        body.fail_if(is_undefined, DOMAIN_ERROR)
        return emit_c_call(body, name, number)

    return emit


for _name in ("log", "log2", "log10"):
    LIBRARY[getattr(math, _name)] = _make_logarithm(_name)


def _make_rounding(name: str) -> Callable[..., Any]:
    """Return the function that emits code for `math.floor`, `math.ceil` or `math.trunc`. The result
    is an integer."""

    def emit(body: Body, value: AnyValue) -> AnyValue:
        if kind_of(value) is not Kind.FLOAT:
            return arithmetic.to_int(body, value)
        return to_integer(body, _make_intrinsic(name)(body, value))

    return emit


LIBRARY[math.floor], LIBRARY[math.ceil] = _make_rounding("floor"), _make_rounding("ceil")
LIBRARY[math.trunc] = _make_rounding("trunc")


@emits(math.isnan)
def _isnan(body: Body, value: AnyValue) -> AnyValue:
    number = arithmetic.to_kind(body, value, Kind.FLOAT)
    return body.emit.condition(f"fcmp uno double {number.operand}, {number.operand}")


@emits(math.isinf)
def _isinf(body: Body, value: AnyValue) -> AnyValue:
    return body.emit.condition(f"fcmp oeq double {fabs(body, value).operand}, {INFINITY}")


@emits(math.isfinite)
def _isfinite(body: Body, value: AnyValue) -> AnyValue:
    return body.emit.condition(f"fcmp olt double {fabs(body, value).operand}, {INFINITY}")


INFINITY = constant(math.inf).operand


def _to_radians(degrees: float) -> float:
    return degrees * (math.pi / 180)


def _to_degrees(radians: float) -> float:
    return radians * (180 / math.pi)


def _isqrt(n: int) -> int:
    """Return `math.isqrt(n)`. This function is itself compiled."""
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))  # right, but for the rounding of large numbers
    while root > 0 and root > n // root:
        root -= 1
    while root + 1 <= n // (root + 1):
        root += 1
    return root


def scale_of(x: float) -> float:
    """Return the power of two that scales a positive float into [0.5, 1); replaced by code."""
    return math.ldexp(1.0, -math.frexp(x)[1])


@emits(scale_of)
def _emit_scale(body: Body, x: Scalar) -> Scalar:
    """Emit code that returns a power of two, such that `x` times this power is near 1."""
    # by the exponent, the bits from 52 on, with the bias 1023: 2**(1022 - e) has 2045 - exponent
    value = body.emit.value
    exponent = value(f"lshr i64 {value(f'bitcast double {x.operand} to i64')}, 52")
    bits = value(f"shl i64 {value(f'sub i64 2045, {exponent}')}, 52")
    is_huge = value(f"icmp eq i64 {exponent}, 2046")
    bits = value(f"select i1 {is_huge}, i64 {1 << 50}, i64 {bits}")
    is_subnormal = value(f"icmp eq i64 {exponent}, 0")
    is_less = value(f"fcmp olt double {x.operand}, {constant(2.0**-1023).operand}")
    subnormal_bits = value(f"select i1 {is_less}, i64 {2046 << 52}, i64 {2045 << 52}")
    bits = value(f"select i1 {is_subnormal}, i64 {subnormal_bits}, i64 {bits}")
    return Scalar(Kind.FLOAT, value(f"bitcast i64 {bits} to double"))


def _square(x: float) -> tuple[float, float]:
    """Return `x * x` rounded, and its rounding error, computed by Dekker's algorithm."""
    split = x * 134217729.0  # 2**27 + 1
    high = split - (split - x)
    low = x - high
    product = x * x
    return product, ((high * high - product) + 2.0 * high * low) + low * low


def _two_sum(a: float, b: float) -> tuple[float, float]:
    """Return `a + b` and its rounding error, for abs(a) >= abs(b)."""
    total = a + b
    return total, (a - total) + b


def _vector_norm(a: float, b: float, largest: float) -> float:
    """Return the length of a vector, computed as CPython's `vector_norm`: with corrections of
    rounding errors and one step of Newton's method."""
    scale = scale_of(largest)
    total, mul_errors, add_errors = 1.0, 0.0, 0.0
    for x in (a * scale, b * scale):
        square, mul_error = _square(x)
        total, add_error = _two_sum(total, square)
        mul_errors, add_errors = mul_errors + mul_error, add_errors + add_error
    length = math.sqrt(total - 1.0 + (mul_errors + add_errors))
    square, mul_error = _square(length)
    total, add_error = _two_sum(total, -square)
    mul_errors, add_errors = mul_errors - mul_error, add_errors + add_error
    return (length + (total - 1.0 + (mul_errors + add_errors)) / (2.0 * length)) / scale


_MIN_NORMAL = 2.0**-1022


def _hypot(a: float, b: float) -> float:
    """Return `math.hypot(a, b)`, which CPython computes more exactly than the C library."""
    a, b = abs(a), abs(b)
    if math.isinf(a) or math.isinf(b):
        return math.inf
    largest = a if a > b else b
    if math.isnan(a) or math.isnan(b) or largest == 0.0:
        return a + b
    if largest < _MIN_NORMAL / 4.0:
        return _MIN_NORMAL * _vector_norm(a / _MIN_NORMAL, b / _MIN_NORMAL, largest / _MIN_NORMAL)
    return _vector_norm(a, b, largest)


def _make_float_function(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """Return the function that emits a call of `function`, a Python function of `count` floats that
    is compiled."""

    def emit(body: Body, *values: AnyValue) -> AnyValue:
        if len(values) != count:
            body.refuse(f"takes {count} numbers in compiled code, found {len(values)}")
        arguments = [arithmetic.to_kind(body, value, Kind.FLOAT) for value in values]
        return body.call_function(function, *arguments)

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
