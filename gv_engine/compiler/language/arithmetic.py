"""Python's operators on numbers in compiled code, with the same results and errors as in Python;
what cannot be compiled raises an error.

INT is a 64-bit integer. A result that could need more bits fails at run time, so that no number
silently differs from Python's. Bounds that are known while compiling save most of these tests.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from gv_engine.compiler.language.body import Body
from gv_engine.compiler.language.emitter import constant
from gv_engine.compiler.language.values import (
    EXACT,
    HIGHEST,
    LOWEST,
    AnyValue,
    Kind,
    ListValue,
    Scalar,
    bounds_of,
    describe,
    is_known,
    is_number,
    kind_of,
    narrow_dtype_of,
    to_known,
)

KNOWN_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul},
    **{ast.Div: operator.truediv, ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod},
    **{ast.Pow: operator.pow, ast.LShift: operator.lshift, ast.RShift: operator.rshift},
    **{ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le},
    **{ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not},
    **{ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert},
}
"""Python's own functions for the operators of the AST."""

_INT_OPCODES = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_BITWISE_OPCODES = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_UINT_OPCODES = {**_INT_OPCODES, **_BITWISE_OPCODES, ast.FloorDiv: "udiv", ast.Mod: "urem"}
_FLOAT_OPCODES = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul", ast.Div: "fdiv"}
_PREDICATES = {
    **{ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
}
_MIXED_SIGN_OPERATORS = ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod
"""Operators of which NumPy makes a float if one number is a uint64 and the other an int64."""
_KIND_RANKS = {Kind.BOOL: 0, Kind.INT: 1, Kind.UINT: 1, Kind.FLOAT: 2}
"""A variable that holds numbers of two kinds has the kind of the higher rank."""

NARROW_ARITHMETIC = (
    "NumPy calculates with {} in its few bits: write int(...), or float(...), around it"
)
BOOL_ARITHMETIC = "NumPy and Python calculate with truth values in different ways: write int(...)"
INVERTED = "`~` of a truth value is -1 or -2 in Python: write `not`"
TOO_LARGE = "OverflowError: an integer needs more than 64 bits"


def to_number(body: Body, value: AnyValue) -> Scalar:
    """Return a number as a `Scalar`, the compile-time form of a run-time number. Raise an error if
    `value` is no number."""
    if isinstance(value, Scalar):
        return value
    if not is_number(value):
        body.refuse(f"found {describe(value)} in place of a number")
    if kind_of(value) is Kind.INT and not LOWEST <= value <= HIGHEST:
        body.refuse(f"the integer {value} needs more than 64 bits")
    return constant(value)


def to_kind(body: Body, value: AnyValue, kind: Kind) -> Scalar:
    """Emit the conversion of a number to another kind, such as INT to FLOAT; raise an error unless
    that kind can represent all values."""
    number = to_number(body, value)
    if number.kind is kind:
        return number
    if kind is Kind.FLOAT and number.kind in (Kind.BOOL, Kind.INT):
        if isinstance(value, bool | int):
            return constant(float(value))
        return Scalar(kind, body.emit.value(f"sitofp i64 {to_int(body, number).operand} to double"))
    if kind is Kind.INT and number.kind is Kind.BOOL:
        return to_int(body, number)
    if kind is Kind.UINT and number.kind is Kind.INT and number.low >= 0:
        return Scalar(kind, number.operand)
    body.refuse(f"found {describe(number)} in place of {describe(Scalar(kind, ''))}")


def to_int(body: Body, value: AnyValue) -> Scalar:
    """Emit the conversion of a BOOL or INT to an INT; raise an error for other values."""
    number = to_number(body, value)
    if number.kind is Kind.BOOL:
        if number.operand in ("true", "false"):
            return Scalar(Kind.INT, "1" if number.operand == "true" else "0", 0, 1)
        return Scalar(Kind.INT, body.emit.value(f"zext i1 {number.operand} to i64"), 0, 1)
    if number.kind is not Kind.INT:
        body.refuse(f"found {describe(number)} in place of an integer")
    return number


def to_exact_float(body: Body, value: AnyValue) -> Scalar:
    """Emit the conversion of a number to a FLOAT. The program fails if an integer has no exact
    float, such as 2 ** 53 + 1."""
    if kind_of(value) is Kind.INT and body.is_checked:
        low, high = bounds_of(value)
        if low < -EXACT or high > EXACT:
            # one unsigned comparison for both ends of the range
            shifted = body.emit.value(f"add i64 {to_number(body, value).operand}, {EXACT}")
            is_inexact = body.emit.value(f"icmp ugt i64 {shifted}, {2 * EXACT}")
            error = "OverflowError: an integer beyond 2**53 meets a fraction"
            body.fail_if(Scalar(Kind.BOOL, is_inexact), error)
    return to_kind(body, value, Kind.FLOAT)


def emit_truth(body: Body, value: AnyValue) -> Scalar | bool:
    """Emit code for `bool(value)`. Return the result, a Python `bool` if it is constant at compile
    time."""
    if isinstance(value, Scalar):
        match value.kind:
            case Kind.BOOL:
                return value
            case Kind.FLOAT:
                test = f"fcmp une double {value.operand}, {constant(0.0).operand}"
            case _:
                test = f"icmp ne i64 {value.operand}, 0"
        return body.emit.condition(test)
    if is_known(value) or isinstance(value, tuple | list):
        return bool(value)
    if isinstance(value, ListValue):
        return emit_scalar_comparison(body, ast.NotEq(), value.length, 0)  # type: ignore[no-any-return]
    body.refuse(f"{describe(value)} has no truth value: compare it, or take its length")


def emit_not(body: Body, value: AnyValue) -> Scalar | bool:
    """Emit code for `not value`. Return the result, a Python `bool` if it is constant at compile
    time."""
    truth = emit_truth(body, value)
    if isinstance(truth, bool):
        return not truth
    return body.emit.condition(f"xor i1 {truth.operand}, true")


def join_kinds(body: Body, first: Kind, second: Kind) -> Kind:
    """Return the kind of a variable that holds numbers of two kinds."""
    if Kind.UINT in (first, second) and first is not second:
        body.refuse("a variable cannot be a uint64 here and another number there")
    return max(first, second, key=_KIND_RANKS.__getitem__)


def emit_arithmetic(body: Body, op: ast.operator, a: AnyValue, b: AnyValue) -> AnyValue:
    """Emit code for a binary operator such as `+` on two numbers. Return the result, a Python
    number if both operands are constants."""
    if is_known(a) and is_known(b):
        return fold_constants(body, op, a, b)
    for value in (a, b):
        if not is_number(value):
            body.refuse(f"found {describe(value)} in place of a number")
    if narrow_dtype := narrow_dtype_of(a, b):
        body.refuse(NARROW_ARITHMETIC.format(narrow_dtype))
    kinds = kind_of(a), kind_of(b)
    if Kind.UINT in kinds:
        has_int = any(isinstance(x, Scalar) and x.kind is Kind.INT for x in (a, b))
        if has_int and isinstance(op, _MIXED_SIGN_OPERATORS) and not body.is_engine_code:
            body.refuse("uint64 and int64 make a fraction in NumPy: write np.uint64(...)")
        return _emit_uint_operation(
            body, op, to_kind(body, a, Kind.UINT), to_kind(body, b, Kind.UINT)
        )
    if kinds == (Kind.BOOL, Kind.BOOL):
        return _emit_bool_operation(body, op, a, b)
    if Kind.FLOAT in kinds or isinstance(op, ast.Div):
        return _emit_float_operation(body, op, a, b)
    return _emit_int_operation(body, op, to_int(body, a), to_int(body, b))


def emit_unary(body: Body, op: ast.unaryop, value: AnyValue) -> AnyValue:
    """Emit code for `-`, `+`, `~` or `not`. Return the result, a Python number if the operand is a
    constant."""
    if isinstance(op, ast.Not):
        return emit_not(body, value)
    if isinstance(value, bool) and isinstance(op, ast.Invert):
        body.refuse(INVERTED)
    if is_known(value):
        return fold_constants(body, op, value)
    number = to_number(body, value)
    if number.narrow_dtype:
        body.refuse(NARROW_ARITHMETIC.format(number.narrow_dtype))
    if number.kind is Kind.BOOL:
        body.refuse(INVERTED if isinstance(op, ast.Invert) else BOOL_ARITHMETIC)
    if isinstance(op, ast.UAdd):
        return number
    if isinstance(op, ast.USub) and number.kind is Kind.FLOAT:
        return Scalar(Kind.FLOAT, body.emit.value(f"fneg double {number.operand}"))
    if isinstance(op, ast.USub):
        zero = np.uint64(0) if number.kind is Kind.UINT else 0
        return emit_arithmetic(body, ast.Sub(), zero, number)
    if number.kind is Kind.UINT:
        return Scalar(Kind.UINT, body.emit.value(f"xor i64 {number.operand}, -1"))
    integer = to_int(body, number)
    inverted = body.emit.value(f"xor i64 {integer.operand}, -1")
    return Scalar(Kind.INT, inverted, ~integer.high, ~integer.low)


def emit_scalar_comparison(body: Body, op: ast.cmpop, a: AnyValue, b: AnyValue) -> AnyValue:
    """Emit code for a comparison of two numbers, such as `a < b`. Return the result, a `bool` if
    both are constants."""
    if is_known(a) and is_known(b):
        return fold_constants(body, op, a, b)
    if not (is_number(a) and is_number(b)):
        body.refuse(f"found a comparison of {describe(a)} with {describe(b)}")
    if narrow_dtype_of(a, b) == "float32":
        body.refuse(NARROW_ARITHMETIC.format("float32"))
    predicate, kinds = _PREDICATES[type(op)], (kind_of(a), kind_of(b))
    if Kind.FLOAT in kinds:
        x, y = to_exact_float(body, a), to_exact_float(body, b)
        # all comparisons with nan are false, but for `!=`
        ordered = "une" if predicate == "ne" else f"o{predicate}"
        return body.emit.condition(f"fcmp {ordered} double {x.operand}, {y.operand}")
    if Kind.UINT in kinds:
        x, y, sign = to_kind(body, a, Kind.UINT), to_kind(body, b, Kind.UINT), "u"
    else:
        x, y, sign = to_int(body, a), to_int(body, b), "s"
    if predicate not in ("eq", "ne"):
        predicate = sign + predicate
    return body.emit.condition(f"icmp {predicate} i64 {x.operand}, {y.operand}")


def require_no_nan(body: Body, item: AnyValue) -> None:
    """Emit code that fails if `item`, an item of a tuple or list that is compared, is nan. Python
    finds a nan equal to itself there, which compiled code cannot imitate."""
    if is_number(item) and kind_of(item) is Kind.FLOAT and body.is_checked:
        operand = to_number(body, item).operand
        is_nan = body.emit.condition(f"fcmp uno double {operand}, {operand}")
        body.fail_if(is_nan, "ValueError: nan is compared in a tuple or a list")


def emit_and(body: Body, a: Scalar | bool, b: Scalar | bool) -> Scalar | bool:
    """Emit code for `a and b` of two truth values, without short circuit; return the result."""
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return body.emit.condition(f"and i1 {a.operand}, {b.operand}")


def emit_or(body: Body, a: Scalar | bool, b: Scalar | bool) -> Scalar | bool:
    """Emit code for `a or b` of two truth values, without short circuit; return the result."""
    if isinstance(a, bool):
        return True if a else b
    if isinstance(b, bool):
        return True if b else a
    return body.emit.condition(f"or i1 {a.operand}, {b.operand}")


def emit_select(body: Body, condition: Scalar | bool, a: AnyValue, b: AnyValue) -> AnyValue:
    """Emit code for `a if condition else b` of two numbers, without a branch: both are computed.
    Return the result."""
    if isinstance(condition, bool):
        return a if condition else b
    kind = join_kinds(body, kind_of(a), kind_of(b))
    x, y = to_kind(body, a, kind), to_kind(body, b, kind)
    operands = f"{kind.llvm} {x.operand}, {kind.llvm} {y.operand}"
    selected = body.emit.value(f"select i1 {condition.operand}, {operands}")
    return Scalar(kind, selected, min(x.low, y.low), max(x.high, y.high), narrow_dtype_of(a, b))


def fold_constants(body: Body, op: ast.AST, *values: AnyValue) -> AnyValue:
    """Apply an operator to constants at compile time and return the result; raise a compile error
    if Python raises an error. A negative shift count only fails where the code runs."""
    try:
        return to_known(KNOWN_OPERATORS[type(op)](*values))
    except ValueError as error:
        body.fail_if(True, f"ValueError: {error}")
        return 0
    except (ArithmeticError, TypeError) as error:
        body.refuse(f"{type(error).__name__}: {error}")


def _emit_bool_operation(body: Body, op: ast.operator, a: AnyValue, b: AnyValue) -> Scalar | bool:
    """Emit code for `&`, `|` or `^` of two truth values, of which at most one is a constant."""
    match op:
        case ast.BitAnd():
            return emit_and(body, a, b)
        case ast.BitOr():
            return emit_or(body, a, b)
        case ast.BitXor():
            x, y = to_number(body, a), to_number(body, b)
            return body.emit.condition(f"xor i1 {x.operand}, {y.operand}")
    body.refuse(BOOL_ARITHMETIC)


def _emit_int_operation(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Emit code for a binary operator on two INTs. With checks on, the program fails on
    overflow."""
    match op:
        case ast.Add():
            low, high = a.low + b.low, a.high + b.high
        case ast.Sub():
            low, high = a.low - b.high, a.high - b.low
        case ast.Mult():
            products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            low, high = min(products), max(products)
        case ast.FloorDiv() | ast.Mod():
            return _emit_int_division(body, op, a, b)
        case ast.LShift() | ast.RShift():
            return _emit_shift(body, op, a, b)
        case ast.BitAnd() | ast.BitOr() | ast.BitXor():
            return _emit_bitwise(body, op, a, b)
        case ast.Pow():
            return _emit_int_power(body, a, b)
        case _:
            body.refuse(f"integers have no operator {type(op).__name__}")
    opcode = _INT_OPCODES[type(op)]
    if low >= LOWEST and high <= HIGHEST:
        return Scalar(Kind.INT, _emit_i64(body, opcode, a, b), low, high)
    if not body.is_checked:
        return Scalar(Kind.INT, _emit_i64(body, opcode, a, b))
    result = _emit_or_fail_on_overflow(body, f"s{opcode}", a, b, TOO_LARGE)
    return Scalar(Kind.INT, result, max(low, LOWEST), min(high, HIGHEST))


def _emit_i64(body: Body, opcode: str, a: Scalar, b: Scalar) -> str:
    return body.emit.value(f"{opcode} i64 {a.operand}, {b.operand}")


def _emit_or_fail_on_overflow(body: Body, opcode: str, a: Scalar, b: Scalar, error: str) -> str:
    """Emit the integer operation `opcode`, such as "sadd". If the result needs more than 64 bits,
    the program fails with the message `error`. Return the LLVM name of the result."""
    intrinsic, operands = (
        f"llvm.{opcode}.with.overflow.i64",
        (f"i64 {a.operand}", f"i64 {b.operand}"),
    )
    pair = body.call_external(intrinsic, "{i64, i1}", *operands)
    overflows = body.emit.value(f"extractvalue {{i64, i1}} {pair}, 1")
    body.fail_if(Scalar(Kind.BOOL, overflows), error)
    return body.emit.value(f"extractvalue {{i64, i1}} {pair}, 0")


def _emit_bitwise(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Emit code for `&`, `|` or `^` of INTs."""
    result = _emit_i64(body, _BITWISE_OPCODES[type(op)], a, b)
    if isinstance(op, ast.BitAnd) and (a.low >= 0 or b.low >= 0):
        return Scalar(Kind.INT, result, 0, min(x.high for x in (a, b) if x.low >= 0))
    num_bits = max(x.bit_length() for x in (a.low, a.high, b.low, b.high))
    low = 0 if a.low >= 0 and b.low >= 0 else -(1 << num_bits)
    return Scalar(Kind.INT, result, max(low, LOWEST), min((1 << num_bits) - 1, HIGHEST))


def _emit_int_division(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Emit code for `a // b` or `a % b` of INTs, rounded down as in Python: -7 // 2 is -4."""
    is_quotient = isinstance(op, ast.FloorDiv)
    if b.low <= 0 <= b.high:
        _fail_if_zero(body, b)
    if a.low == LOWEST and b.low <= -1 <= b.high:
        is_lowest = body.emit.condition(f"icmp eq i64 {a.operand}, {LOWEST}")
        is_minus_one = body.emit.condition(f"icmp eq i64 {b.operand}, -1")
        body.fail_if(emit_and(body, is_lowest, is_minus_one), TOO_LARGE)
    exponent = b.low.bit_length() - 1
    if b.low == b.high == 1 << max(exponent, 0):  # a known power of two
        if is_quotient:
            quotient = body.emit.value(f"ashr i64 {a.operand}, {exponent}")
            return Scalar(Kind.INT, quotient, a.low >> exponent, a.high >> exponent)
        remainder = body.emit.value(f"and i64 {a.operand}, {b.low - 1}")
        return Scalar(Kind.INT, remainder, 0, b.low - 1)
    if a.low >= 0 and b.low >= 0:
        result = _emit_i64(body, "udiv" if is_quotient else "urem", a, b)
        return Scalar(Kind.INT, result, 0, a.high if is_quotient else b.high - 1)
    # LLVM rounds towards zero: one less if the remainder is not 0 and its sign is not that of b
    remainder = _emit_i64(body, "srem", a, b)
    has_remainder = body.emit.condition(f"icmp ne i64 {remainder}, 0")
    signs = body.emit.value(f"xor i64 {remainder}, {b.operand}")
    rounds_up = emit_and(body, has_remainder, body.emit.condition(f"icmp slt i64 {signs}, 0"))
    if not is_quotient:
        raised = body.emit.value(f"add i64 {remainder}, {b.operand}")
        remainder = _emit_int_select(body, rounds_up, raised, remainder)
        return Scalar(Kind.INT, remainder, min(0, b.low + 1), max(0, b.high - 1))
    quotient = _emit_i64(body, "sdiv", a, b)
    correction = to_int(body, rounds_up).operand
    return Scalar(Kind.INT, body.emit.value(f"sub i64 {quotient}, {correction}"))


def _fail_if_zero(body: Body, divisor: Scalar) -> None:
    is_zero = body.emit.condition(f"icmp eq i64 {divisor.operand}, 0")
    body.fail_if(is_zero, "ZeroDivisionError: integer division or modulo by zero")


def _emit_int_select(body: Body, condition: AnyValue, then: str, otherwise: str) -> str:
    return body.emit.value(f"select i1 {condition.operand}, i64 {then}, i64 {otherwise}")


def _emit_shift(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Emit code for `a << b` or `a >> b` of INTs."""
    if b.low < 0:
        is_negative = body.emit.condition(f"icmp slt i64 {b.operand}, 0")
        body.fail_if(is_negative, "ValueError: negative shift count")
    # LLVM's shifts take up to 63 bits
    may_be_too_far = b.high > 63
    is_too_far = body.emit.condition(f"icmp ugt i64 {b.operand}, 63") if may_be_too_far else False
    min_count, max_count = (min(max(end, 0), 63) for end in (b.low, b.high))
    if isinstance(op, ast.RShift):
        count = _emit_int_select(body, is_too_far, "63", b.operand) if may_be_too_far else b.operand
        shifted = body.emit.value(f"ashr i64 {a.operand}, {count}")
        bounds = [x >> y for x in (a.low, a.high) for y in (min_count, max_count)]
        return Scalar(Kind.INT, shifted, min(bounds), max(bounds))
    count = _emit_int_select(body, is_too_far, "0", b.operand) if may_be_too_far else b.operand
    shifted = body.emit.value(f"shl i64 {a.operand}, {count}")
    if may_be_too_far:  # zero shifted by any number of bits is zero
        shifted = _emit_int_select(body, is_too_far, "0", shifted)
    bounds = [x << y for x in (a.low, a.high) for y in (min_count, max_count)]
    if not may_be_too_far and min(bounds) >= LOWEST and max(bounds) <= HIGHEST:
        return Scalar(Kind.INT, shifted, min(bounds), max(bounds))
    if body.is_checked:
        restored = body.emit.value(f"ashr i64 {shifted}, {count}")
        body.fail_if(body.emit.condition(f"icmp ne i64 {restored}, {a.operand}"), TOO_LARGE)
    return Scalar(Kind.INT, shifted)


def _emit_int_power(body: Body, a: Scalar, b: Scalar) -> Scalar:
    """Emit code for `a ** b` of INTs, which fails for a negative exponent."""
    if b.low < 0:
        is_negative = body.emit.condition(f"icmp slt i64 {b.operand}, 0")
        body.fail_if(is_negative, "ValueError: a negative power of an integer is a fraction")
    return body.call_function(raise_to_power, a, b)  # type: ignore[no-any-return]


def _emit_uint_operation(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Emit code for a binary operator on UINTs (NumPy's uint64). Elements of arrays wrap around at
    2 ** 64; single numbers make an author's rule fail."""
    if type(op) in _INT_OPCODES and not (body.is_engine_code or body.is_elementwise):
        error = "FloatingPointError: overflow of a uint64"
        opcode = f"u{_INT_OPCODES[type(op)]}"
        return Scalar(Kind.UINT, _emit_or_fail_on_overflow(body, opcode, a, b, error))
    if isinstance(op, ast.LShift | ast.RShift):
        is_too_far = body.emit.condition(f"icmp ugt i64 {b.operand}, 63")
        opcode = "shl" if isinstance(op, ast.LShift) else "lshr"
        count = _emit_int_select(body, is_too_far, "0", b.operand)
        shifted = body.emit.value(f"{opcode} i64 {a.operand}, {count}")
        return Scalar(Kind.UINT, _emit_int_select(body, is_too_far, "0", shifted))
    if isinstance(op, ast.FloorDiv | ast.Mod):
        _fail_if_zero(body, b)
    elif type(op) not in _UINT_OPCODES:
        body.refuse(f"a uint64 has no operator {type(op).__name__} here")
    return Scalar(Kind.UINT, _emit_i64(body, _UINT_OPCODES[type(op)], a, b))


def _emit_float_operation(body: Body, op: ast.operator, a: AnyValue, b: AnyValue) -> AnyValue:
    """Emit code for a binary operator on FLOATs, or for `/` of any two numbers."""
    if isinstance(op, ast.Div):
        x, y = to_exact_float(body, a), to_exact_float(body, b)
    else:
        x, y = to_kind(body, a, Kind.FLOAT), to_kind(body, b, Kind.FLOAT)
    if isinstance(op, ast.Div | ast.FloorDiv | ast.Mod):
        is_zero = body.emit.condition(f"fcmp oeq double {y.operand}, {constant(0.0).operand}")
        body.fail_if(is_zero, "ZeroDivisionError: division by zero")
    if (opcode := _FLOAT_OPCODES.get(type(op))) is not None:
        return Scalar(Kind.FLOAT, body.emit.value(f"{opcode} double {x.operand}, {y.operand}"))
    match op:
        case ast.FloorDiv():
            return body.call_function(divide_floats, x, y)
        case ast.Mod():
            return body.call_function(take_remainder, x, y)
        case ast.Pow():
            return body.call_function(raise_float, x, y)
    body.refuse(f"floats have no operator {type(op).__name__}")


# ---- operators written in the language itself ----------------------------------------------------


def raise_to_power(a: int, n: int) -> int:
    """Return `a ** n` for n >= 0, by repeated squaring."""
    power = 1
    while n > 0:
        if n & 1:
            power = power * a
        n >>= 1
        if n > 0:
            a = a * a
    return power


def fmod(a: float, b: float) -> float:
    """Return the remainder of `a / b` rounded towards zero; replaced by an instruction."""
    return float(np.fmod(a, b))


def floor(a: float) -> float:
    """Return the greatest whole float up to `a`; replaced by an instruction."""
    return float(np.floor(a))


def copysign(a: float, b: float) -> float:
    """Return `a` with the sign of `b`; replaced by an instruction."""
    return float(np.copysign(a, b))


def call_pow(a: float, b: float) -> float:
    """Return C's `pow(a, b)`; replaced by a call of it."""
    return float(np.float_power(a, b))


def divide_floats(a: float, b: float) -> float:
    """Return `a // b` for floats, computed as CPython's `float_divmod` does."""
    remainder = fmod(a, b)
    quotient = (a - remainder) / b
    if remainder != 0.0 and (b < 0.0) != (remainder < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return copysign(0.0, a / b)
    rounded_down = floor(quotient)
    return rounded_down + 1.0 if quotient - rounded_down > 0.5 else rounded_down


def take_remainder(a: float, b: float) -> float:
    """Return `a % b` for floats, computed as CPython's `float_rem` does."""
    remainder = fmod(a, b)
    if remainder == 0.0:
        return copysign(0.0, b)
    return remainder + b if (b < 0.0) != (remainder < 0.0) else remainder


def raise_float(a: float, b: float) -> float:
    """Return `a ** b` for floats; fail where Python raises an error or returns a complex number."""
    if a == 0.0 and b < 0.0:
        raise ZeroDivisionError("zero to a negative power")
    if a < 0.0 and b != floor(b) and abs(a) != float("inf") and abs(b) != float("inf"):
        raise ValueError("a negative number to a fractional power is complex")
    result = call_pow(a, b)
    if abs(result) == float("inf") and abs(a) != float("inf") and abs(b) != float("inf"):
        raise OverflowError("(34, 'Numerical result out of range')")
    return result
