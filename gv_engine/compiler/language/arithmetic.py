"""Python's operators on numbers: the same result as in Python, the same error, or a refusal.

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
    Kind,
    ListValue,
    Scalar,
    bounds_of,
    describe,
    is_known,
    is_number,
    kind_of,
    narrow_of,
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

_PLAIN = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
_BITS = {ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor"}
_FLOAT = {ast.Add: "fadd", ast.Sub: "fsub", ast.Mult: "fmul"}
_COMPARISONS = {
    **{ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
}
_ORDER = {Kind.BOOL: 0, Kind.INT: 1, Kind.UINT: 1, Kind.FLOAT: 2}

CONVERT = "NumPy calculates with {} in its few bits: write int(...), or float(...), around it"
OF_TRUTHS = "NumPy and Python calculate with truth values in different ways: write int(...)"
INVERTED = "`~` of a truth value is -1 or -2 in Python: write `not`"
TOO_LARGE = "OverflowError: an integer needs more than 64 bits"


def to_number(body: Body, value: Any) -> Scalar:
    """Return a number of the running program."""
    if isinstance(value, Scalar):
        return value
    if not is_number(value):
        body.refuse(f"found {describe(value)} in place of a number")
    if kind_of(value) is Kind.INT and not LOWEST <= value <= HIGHEST:
        body.refuse(f"the integer {value} needs more than 64 bits")
    return constant(value)


def convert(body: Body, value: Any, kind: Kind) -> Scalar:
    """Return a number as another kind of number with the same value."""
    number = to_number(body, value)
    if number.kind is kind:
        return number
    if kind is Kind.FLOAT and number.kind in (Kind.BOOL, Kind.INT):
        if isinstance(value, bool | int):
            return constant(float(value))
        return Scalar(kind, body.emit.get(f"sitofp i64 {to_int(body, number).text} to double"))
    if kind is Kind.INT and number.kind is Kind.BOOL:
        return to_int(body, number)
    if kind is Kind.UINT and number.kind is Kind.INT and number.low >= 0:
        return Scalar(kind, number.text)
    body.refuse(f"found {describe(number)} in place of {describe(Scalar(kind, ''))}")


def to_int(body: Body, value: Any) -> Scalar:
    """Return a truth value or an integer as an INT."""
    number = to_number(body, value)
    if number.kind is Kind.BOOL:
        text = {"true": "1", "false": "0"}.get(number.text)
        text = text or body.emit.get(f"zext i1 {number.text} to i64")
        return Scalar(Kind.INT, text, 0, 1)
    if number.kind is not Kind.INT:
        body.refuse(f"found {describe(number)} in place of an integer")
    return number


def to_exact_float(body: Body, value: Any) -> Scalar:
    """Return a number as a FLOAT; an integer that is not exact as a float fails."""
    if kind_of(value) is Kind.INT and body.is_checked:
        low, high = bounds_of(value)
        if low < -EXACT or high > EXACT:
            moved = body.emit.get(f"add i64 {to_number(body, value).text}, {EXACT}")
            outside = body.emit.get(f"icmp ugt i64 {moved}, {2 * EXACT}")
            body.fail_if(
                Scalar(Kind.BOOL, outside),
                "OverflowError: an integer beyond 2**53 meets a fraction",
            )
    return convert(body, value, Kind.FLOAT)


def truth(body: Body, value: Any) -> Scalar | bool:
    """Return the truth of a value, known or not."""
    if isinstance(value, Scalar):
        match value.kind:
            case Kind.BOOL:
                return value
            case Kind.FLOAT:
                text = f"fcmp une double {value.text}, {constant(0.0).text}"
            case _:
                text = f"icmp ne i64 {value.text}, 0"
        return body.emit.test(text)
    if is_known(value) or isinstance(value, tuple | list):
        return bool(value)
    if isinstance(value, ListValue):
        return emit_scalar_comparison(body, ast.NotEq(), value.length, 0)  # type: ignore[no-any-return]
    body.refuse(f"{describe(value)} has no truth value: compare it, or take its length")


def negate(body: Body, value: Any) -> Scalar | bool:
    """Return `not value`."""
    found = truth(body, value)
    if isinstance(found, bool):
        return not found
    return body.emit.test(f"xor i1 {found.text}, true")


def join_kinds(body: Body, first: Kind, second: Kind) -> Kind:
    """Return the kind of a variable that holds numbers of two kinds."""
    if Kind.UINT in (first, second) and first is not second:
        body.refuse("a variable cannot be a uint64 here and another number there")
    return max(first, second, key=_ORDER.__getitem__)


def emit_arithmetic(body: Body, op: ast.operator, a: Any, b: Any) -> Any:
    """Emit code for a binary operator on numbers; return the result."""
    if is_known(a) and is_known(b):
        return compute(body, op, a, b)
    for value in (a, b):
        if not is_number(value):
            body.refuse(f"found {describe(value)} in place of a number")
    if narrow := narrow_of(a, b):
        body.refuse(CONVERT.format(narrow))
    kinds = kind_of(a), kind_of(b)
    if Kind.UINT in kinds:
        is_whole = isinstance(op, ast.FloorDiv | ast.Mod) or type(op) in _PLAIN
        has_int = any(isinstance(x, Scalar) and x.kind is Kind.INT for x in (a, b))
        if is_whole and has_int and not body.is_own:
            body.refuse("uint64 and int64 make a fraction in NumPy: write np.uint64(...)")
        return _unsigned(body, op, convert(body, a, Kind.UINT), convert(body, b, Kind.UINT))
    if kinds == (Kind.BOOL, Kind.BOOL) and type(op) not in _BITS:
        body.refuse(OF_TRUTHS)
    if kinds == (Kind.BOOL, Kind.BOOL):
        if isinstance(op, ast.BitXor):
            x, y = to_number(body, a), to_number(body, b)
            return body.emit.test(f"xor i1 {x.text}, {y.text}")
        return both(body, a, b) if isinstance(op, ast.BitAnd) else either(body, a, b)
    if Kind.FLOAT in kinds or isinstance(op, ast.Div):
        return _float(body, op, a, b)
    return _integer(body, op, to_int(body, a), to_int(body, b))


def unary(body: Body, op: ast.unaryop, value: Any) -> Any:
    """Return the result of `-`, `+`, `~` or `not`."""
    if isinstance(op, ast.Not):
        return negate(body, value)
    if isinstance(value, bool) and isinstance(op, ast.Invert):
        body.refuse(INVERTED)
    if is_known(value):
        return compute(body, op, value)
    number = to_number(body, value)
    if number.narrow:
        body.refuse(CONVERT.format(number.narrow))
    if number.kind is Kind.BOOL:
        body.refuse(INVERTED if isinstance(op, ast.Invert) else OF_TRUTHS)
    if isinstance(op, ast.UAdd):
        return number
    if isinstance(op, ast.USub) and number.kind is Kind.FLOAT:
        return Scalar(Kind.FLOAT, body.emit.get(f"fneg double {number.text}"))
    if isinstance(op, ast.USub):
        return emit_arithmetic(
            body, ast.Sub(), np.uint64(0) if number.kind is Kind.UINT else 0, number
        )
    if number.kind is Kind.UINT:
        return Scalar(Kind.UINT, body.emit.get(f"xor i64 {number.text}, -1"))
    whole = to_int(body, number)
    text = body.emit.get(f"xor i64 {whole.text}, -1")
    return Scalar(Kind.INT, text, ~whole.high, ~whole.low)


def emit_scalar_comparison(body: Body, op: ast.cmpop, a: Any, b: Any) -> Any:
    """Emit code for a comparison of numbers; return the result, known or not."""
    if is_known(a) and is_known(b):
        return compute(body, op, a, b)
    if not (is_number(a) and is_number(b)):
        body.refuse(f"found a comparison of {describe(a)} with {describe(b)}")
    if narrow_of(a, b) == "float32":
        body.refuse(CONVERT.format("float32"))
    word, kinds = _COMPARISONS[type(op)], (kind_of(a), kind_of(b))
    if Kind.FLOAT in kinds:
        x, y = to_exact_float(body, a), to_exact_float(body, b)
        order = "une" if word == "ne" else f"o{word}"
        return body.emit.test(f"fcmp {order} double {x.text}, {y.text}")
    if Kind.UINT in kinds:
        x, y = convert(body, a, Kind.UINT), convert(body, b, Kind.UINT)
        sign = "" if word in ("eq", "ne") else "u"
    else:
        x, y = to_int(body, a), to_int(body, b)
        sign = "" if word in ("eq", "ne") else "s"
    return body.emit.test(f"icmp {sign}{word} i64 {x.text}, {y.text}")


def require_no_nan(body: Body, item: Any) -> None:
    """Fail for nan, which Python takes for equal to the same object in a tuple or a list."""
    if is_number(item) and kind_of(item) is Kind.FLOAT and body.is_checked:
        text = to_number(body, item).text
        is_nan = body.emit.test(f"fcmp uno double {text}, {text}")
        body.fail_if(is_nan, "ValueError: nan is compared in a tuple or a list")


def both(body: Body, a: Scalar | bool, b: Scalar | bool) -> Scalar | bool:
    """Return `a and b` for two truth values that are both computed."""
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    return body.emit.test(f"and i1 {a.text}, {b.text}")


def either(body: Body, a: Scalar | bool, b: Scalar | bool) -> Scalar | bool:
    """Return `a or b` for two truth values that are both computed."""
    if isinstance(a, bool):
        return True if a else b
    if isinstance(b, bool):
        return True if b else a
    return body.emit.test(f"or i1 {a.text}, {b.text}")


def select(body: Body, condition: Scalar | bool, a: Any, b: Any) -> Any:
    """Return number `a` if a condition holds, else `b`."""
    if isinstance(condition, bool):
        return a if condition else b
    kind = join_kinds(body, kind_of(a), kind_of(b))
    x, y = convert(body, a, kind), convert(body, b, kind)
    operands = f"{kind.llvm} {x.text}, {kind.llvm} {y.text}"
    text = body.emit.get(f"select i1 {condition.text}, {operands}")
    return Scalar(kind, text, min(x.low, y.low), max(x.high, y.high), narrow_of(a, b))


def compute(body: Body, op: ast.AST, *values: Any) -> Any:
    """Return the result of an operator on known values."""
    try:
        return to_known(KNOWN_OPERATORS[type(op)](*values))
    except (ArithmeticError, TypeError, ValueError) as error:
        body.refuse(f"{type(error).__name__}: {error}")


def _integer(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Return the result of an operator on INTs."""
    match op:
        case ast.Add():
            low, high = a.low + b.low, a.high + b.high
        case ast.Sub():
            low, high = a.low - b.high, a.high - b.low
        case ast.Mult():
            products = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
            low, high = min(products), max(products)
        case ast.FloorDiv() | ast.Mod():
            return _divide(body, op, a, b)
        case ast.LShift() | ast.RShift():
            return _shift(body, op, a, b)
        case ast.BitAnd() | ast.BitOr() | ast.BitXor():
            return _bits(body, op, a, b)
        case ast.Pow():
            return _power(body, a, b)
        case _:
            body.refuse(f"integers have no operator {type(op).__name__}")
    word = _PLAIN[type(op)]
    if low >= LOWEST and high <= HIGHEST:
        return Scalar(Kind.INT, body.emit.get(f"{word} i64 {a.text}, {b.text}"), low, high)
    if not body.is_checked:
        return Scalar(Kind.INT, body.emit.get(f"{word} i64 {a.text}, {b.text}"))
    text = _without_overflow(body, f"s{word}", a, b, TOO_LARGE)
    return Scalar(Kind.INT, text, max(low, LOWEST), min(high, HIGHEST))


def _without_overflow(body: Body, word: str, a: Scalar, b: Scalar, error: str) -> str:
    """Return the result of an instruction that tells if 64 bits hold it; fail if not."""
    name, numbers = f"llvm.{word}.with.overflow.i64", (f"i64 {a.text}", f"i64 {b.text}")
    pair = body.call_external(name, "{i64, i1}", *numbers)
    over = body.emit.get(f"extractvalue {{i64, i1}} {pair}, 1")
    body.fail_if(Scalar(Kind.BOOL, over), error)
    return body.emit.get(f"extractvalue {{i64, i1}} {pair}, 0")


def _bits(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Return the result of `&`, `|` or `^`."""
    text = body.emit.get(f"{_BITS[type(op)]} i64 {a.text}, {b.text}")
    if isinstance(op, ast.BitAnd) and (a.low >= 0 or b.low >= 0):
        return Scalar(Kind.INT, text, 0, min(x.high for x in (a, b) if x.low >= 0))
    widest = max(x.bit_length() for x in (a.low, a.high, b.low, b.high))
    low = 0 if a.low >= 0 and b.low >= 0 else -(1 << widest)
    return Scalar(Kind.INT, text, max(low, LOWEST), min((1 << widest) - 1, HIGHEST))


def _divide(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Return `a // b` or `a % b`, rounded down as in Python."""
    is_quotient = isinstance(op, ast.FloorDiv)
    if b.low <= 0 <= b.high:
        zero = body.emit.test(f"icmp eq i64 {b.text}, 0")
        body.fail_if(zero, "ZeroDivisionError: integer division or modulo by zero")
    if a.low == LOWEST and b.low <= -1 <= b.high:
        extreme = body.emit.test(f"icmp eq i64 {a.text}, {LOWEST}")
        minus = body.emit.test(f"icmp eq i64 {b.text}, -1")
        body.fail_if(both(body, extreme, minus), TOO_LARGE)
    shift = b.low.bit_length() - 1
    if b.low == b.high == 1 << max(shift, 0):
        if is_quotient:
            text = body.emit.get(f"ashr i64 {a.text}, {shift}")
            return Scalar(Kind.INT, text, a.low >> shift, a.high >> shift)
        text = body.emit.get(f"and i64 {a.text}, {b.low - 1}")
        return Scalar(Kind.INT, text, 0, b.low - 1)
    if a.low >= 0 and b.low >= 0:
        text = body.emit.get(f"{'udiv' if is_quotient else 'urem'} i64 {a.text}, {b.text}")
        return Scalar(Kind.INT, text, 0, a.high if is_quotient else b.high - 1)
    rest = body.emit.get(f"srem i64 {a.text}, {b.text}")
    some = body.emit.test(f"icmp ne i64 {rest}, 0")
    mixed = body.emit.get(f"xor i64 {rest}, {b.text}")
    wrong = both(body, some, body.emit.test(f"icmp slt i64 {mixed}, 0"))
    if not is_quotient:
        raised = _select_int(body, wrong, body.emit.get(f"add i64 {rest}, {b.text}"), rest)
        return Scalar(Kind.INT, raised, min(0, b.low + 1), max(0, b.high - 1))
    quotient = body.emit.get(f"sdiv i64 {a.text}, {b.text}")
    less = to_int(body, wrong).text
    return Scalar(Kind.INT, body.emit.get(f"sub i64 {quotient}, {less}"))


def _select_int(body: Body, condition: Any, then: str, otherwise: str) -> str:
    return body.emit.get(f"select i1 {condition.text}, i64 {then}, i64 {otherwise}")


def _shift(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Return `a << b` or `a >> b`."""
    if b.low < 0:
        negative = body.emit.test(f"icmp slt i64 {b.text}, 0")
        body.fail_if(negative, "ValueError: negative shift count")
    far = b.high > 63
    wide = body.emit.test(f"icmp ugt i64 {b.text}, 63") if far else False
    least, most = (min(max(end, 0), 63) for end in (b.low, b.high))
    if isinstance(op, ast.RShift):
        by = _select_int(body, wide, "63", b.text) if far else b.text
        ends = [x >> y for x in (a.low, a.high) for y in (least, most)]
        text = body.emit.get(f"ashr i64 {a.text}, {by}")
        return Scalar(Kind.INT, text, min(ends), max(ends))
    by = _select_int(body, wide, "0", b.text) if far else b.text
    text = body.emit.get(f"shl i64 {a.text}, {by}")
    if far:  # zero shifted by any number of bits is zero
        text = _select_int(body, wide, "0", text)
    ends = [x << y for x in (a.low, a.high) for y in (least, most)]
    if not far and min(ends) >= LOWEST and max(ends) <= HIGHEST:
        return Scalar(Kind.INT, text, min(ends), max(ends))
    if body.is_checked:
        back = body.emit.get(f"ashr i64 {text}, {by}")
        body.fail_if(body.emit.test(f"icmp ne i64 {back}, {a.text}"), TOO_LARGE)
    return Scalar(Kind.INT, text)


def _power(body: Body, a: Scalar, b: Scalar) -> Scalar:
    """Return `a ** b` for an exponent that is not negative."""
    if b.low < 0:
        negative = body.emit.test(f"icmp slt i64 {b.text}, 0")
        body.fail_if(negative, "ValueError: a negative power of an integer is a fraction")
    return body.call_function(raise_to_power, a, b)  # type: ignore[no-any-return]


def _unsigned(body: Body, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
    """Return the result of an operator on NumPy's uint64. In arrays it wraps, its numbers fail
    in code of authors."""
    if type(op) in _PLAIN and not (body.is_own or body.is_array):
        error = "FloatingPointError: overflow of a uint64"
        return Scalar(Kind.UINT, _without_overflow(body, f"u{_PLAIN[type(op)]}", a, b, error))
    if type(op) in (*_PLAIN, *_BITS):
        word = {**_PLAIN, **_BITS}[type(op)]
    elif isinstance(op, ast.FloorDiv | ast.Mod):
        zero = body.emit.test(f"icmp eq i64 {b.text}, 0")
        body.fail_if(zero, "ZeroDivisionError: integer division or modulo by zero")
        word = "udiv" if isinstance(op, ast.FloorDiv) else "urem"
    elif isinstance(op, ast.LShift | ast.RShift):
        far = body.emit.test(f"icmp ugt i64 {b.text}, 63")
        word = "shl" if isinstance(op, ast.LShift) else "lshr"
        moved = body.emit.get(f"{word} i64 {a.text}, {_select_int(body, far, '0', b.text)}")
        return Scalar(Kind.UINT, _select_int(body, far, "0", moved))
    else:
        body.refuse(f"a uint64 has no operator {type(op).__name__} here")
    return Scalar(Kind.UINT, body.emit.get(f"{word} i64 {a.text}, {b.text}"))


def _float(body: Body, op: ast.operator, a: Any, b: Any) -> Any:
    """Return the result of an operator on floats, or of `/`."""
    if isinstance(op, ast.Div):
        x, y = to_exact_float(body, a), to_exact_float(body, b)
    else:
        x, y = convert(body, a, Kind.FLOAT), convert(body, b, Kind.FLOAT)
    if type(op) in _FLOAT:
        word = _FLOAT[type(op)]
        return Scalar(Kind.FLOAT, body.emit.get(f"{word} double {x.text}, {y.text}"))
    if isinstance(op, ast.Div | ast.FloorDiv | ast.Mod):
        zero = body.emit.test(f"fcmp oeq double {y.text}, {constant(0.0).text}")
        body.fail_if(zero, "ZeroDivisionError: division by zero")
    match op:
        case ast.Div():
            return Scalar(Kind.FLOAT, body.emit.get(f"fdiv double {x.text}, {y.text}"))
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


def power(a: float, b: float) -> float:
    """Return C's `pow(a, b)`; replaced by a call of it."""
    return float(np.float_power(a, b))


def divide_floats(a: float, b: float) -> float:
    """Return `a // b` for floats, as CPython's float_divmod."""
    rest = fmod(a, b)
    quotient = (a - rest) / b
    if rest != 0.0 and (b < 0.0) != (rest < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return copysign(0.0, a / b)
    whole = floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


def take_remainder(a: float, b: float) -> float:
    """Return `a % b` for floats, as CPython's float_rem."""
    rest = fmod(a, b)
    if rest == 0.0:
        return copysign(0.0, b)
    return rest + b if (b < 0.0) != (rest < 0.0) else rest


def raise_float(a: float, b: float) -> float:
    """Return `a ** b` for floats; fail where Python does, or gives a complex number."""
    if a == 0.0 and b < 0.0:
        raise ZeroDivisionError("zero to a negative power")
    if a < 0.0 and b != floor(b) and abs(a) != float("inf") and abs(b) != float("inf"):
        raise ValueError("a negative number to a fractional power is complex")
    result = power(a, b)
    if abs(result) == float("inf") and abs(a) != float("inf") and abs(b) != float("inf"):
        raise OverflowError("(34, 'Numerical result out of range')")
    return result
