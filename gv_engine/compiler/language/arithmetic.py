"""Python's operators on numbers: the same result as in Python, the same error, or a refusal.

INT is a 64-bit integer. A result that could need more bits fails at run time, so that no number
silently differs from Python's. Bounds that are known while compiling save most of these tests.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from gv_engine.compiler.language.emitter import Emitter, Module, constant
from gv_engine.compiler.language.values import (
    EXACT,
    HIGHEST,
    LOWEST,
    Kind,
    ListValue,
    Range,
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


class Arithmetic:
    """Emits instructions for operators.

    Attributes:
        is_checked: True to add tests for overflow and bounds.
        is_own: True for code of the engine, where uint64 wraps.
        is_array: True while an operator takes the elements of an array, where uint64 wraps, too.
    """

    emit: Emitter
    module: Module
    is_checked: bool
    is_own: bool
    is_array = False

    def refuse(self, message: str) -> NoReturn:
        """Raise an error for the expression that is being compiled."""
        raise NotImplementedError

    def fail_if(self, condition: Scalar | bool, error: str, *numbers: Scalar) -> None:
        """Let the running program fail with an error if a condition holds; `numbers` stand in its
        text as {0}, {1} …"""
        raise NotImplementedError

    def call_function(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a Python function, which is compiled."""
        raise NotImplementedError

    # ---- conversions -----------------------------------------------------------------------------

    def to_number(self, value: Any) -> Scalar:
        """Return a number of the running program."""
        if isinstance(value, Scalar):
            return value
        if not is_number(value):
            self.refuse(f"found {describe(value)} in place of a number")
        if kind_of(value) is Kind.INT and not LOWEST <= value <= HIGHEST:
            self.refuse(f"the integer {value} needs more than 64 bits")
        return constant(value)

    def convert(self, value: Any, kind: Kind) -> Scalar:
        """Return a number as another kind of number with the same value."""
        number = self.to_number(value)
        if number.kind is kind:
            return number
        if kind is Kind.FLOAT and number.kind in (Kind.BOOL, Kind.INT):
            if isinstance(value, bool | int):
                return constant(float(value))
            return Scalar(kind, self.emit.get(f"sitofp i64 {self.to_int(number).text} to double"))
        if kind is Kind.INT and number.kind is Kind.BOOL:
            return self.to_int(number)
        if kind is Kind.UINT and number.kind is Kind.INT and number.low >= 0:
            return Scalar(kind, number.text)
        self.refuse(f"found {describe(number)} in place of {describe(Scalar(kind, ''))}")

    def to_int(self, value: Any) -> Scalar:
        """Return a truth value or an integer as an INT."""
        number = self.to_number(value)
        if number.kind is Kind.BOOL:
            text = {"true": "1", "false": "0"}.get(number.text)
            text = text or self.emit.get(f"zext i1 {number.text} to i64")
            return Scalar(Kind.INT, text, 0, 1)
        if number.kind is not Kind.INT:
            self.refuse(f"found {describe(number)} in place of an integer")
        return number

    def to_exact_float(self, value: Any) -> Scalar:
        """Return a number as a FLOAT; an integer that is not exact as a float fails."""
        if kind_of(value) is Kind.INT and self.is_checked:
            low, high = bounds_of(value)
            if low < -EXACT or high > EXACT:
                moved = self.emit.get(f"add i64 {self.to_number(value).text}, {EXACT}")
                outside = self.emit.get(f"icmp ugt i64 {moved}, {2 * EXACT}")
                self.fail_if(
                    Scalar(Kind.BOOL, outside),
                    "OverflowError: an integer beyond 2**53 meets a fraction",
                )
        return self.convert(value, Kind.FLOAT)

    def truth(self, value: Any) -> Scalar | bool:
        """Return the truth of a value, known or not."""
        if isinstance(value, Scalar):
            match value.kind:
                case Kind.BOOL:
                    return value
                case Kind.FLOAT:
                    text = f"fcmp une double {value.text}, {constant(0.0).text}"
                case _:
                    text = f"icmp ne i64 {value.text}, 0"
            return Scalar(Kind.BOOL, self.emit.get(text), 0, 1)
        if is_known(value) or isinstance(value, tuple | list):
            return bool(value)
        if isinstance(value, ListValue):
            return self.compare(ast.NotEq(), value.length, 0)  # type: ignore[no-any-return]
        self.refuse(f"{describe(value)} has no truth value: compare it, or take its length")

    def negate(self, value: Any) -> Scalar | bool:
        """Return `not value`."""
        truth = self.truth(value)
        if isinstance(truth, bool):
            return not truth
        return self._bool(f"xor i1 {truth.text}, true")

    def join_kinds(self, first: Kind, second: Kind) -> Kind:
        """Return the kind of a variable that holds numbers of two kinds."""
        if Kind.UINT in (first, second) and first is not second:
            self.refuse("a variable cannot be a uint64 here and another number there")
        return max(first, second, key=_ORDER.__getitem__)

    # ---- operators -------------------------------------------------------------------------------

    def binary(self, op: ast.operator, a: Any, b: Any) -> Any:
        """Return the result of a binary operator."""
        if is_known(a) and is_known(b):
            return self._compute(op, a, b)
        if isinstance(op, ast.Add) and are_alike(a, b):
            return a + b
        if isinstance(op, ast.Mult) and isinstance(a, tuple | list) and isinstance(b, int):
            return a * b
        for value in (a, b):
            if not is_number(value):
                self.refuse(f"found {describe(value)} in place of a number")
        if narrow := narrow_of(a, b):
            self.refuse(CONVERT.format(narrow))
        kinds = kind_of(a), kind_of(b)
        if Kind.UINT in kinds:
            is_whole = isinstance(op, ast.FloorDiv | ast.Mod) or type(op) in _PLAIN
            has_int = any(isinstance(x, Scalar) and x.kind is Kind.INT for x in (a, b))
            if is_whole and has_int and not self.is_own:
                self.refuse("uint64 and int64 make a fraction in NumPy: write np.uint64(...)")
            return self._unsigned(op, self.convert(a, Kind.UINT), self.convert(b, Kind.UINT))
        if kinds == (Kind.BOOL, Kind.BOOL) and type(op) not in _BITS:
            self.refuse(OF_TRUTHS)
        if kinds == (Kind.BOOL, Kind.BOOL):
            if isinstance(op, ast.BitXor):
                x, y = self.to_number(a), self.to_number(b)
                return self._bool(f"xor i1 {x.text}, {y.text}")
            return self.both(a, b) if isinstance(op, ast.BitAnd) else self.either(a, b)
        if Kind.FLOAT in kinds or isinstance(op, ast.Div):
            return self._float(op, a, b)
        return self._integer(op, self.to_int(a), self.to_int(b))

    def unary(self, op: ast.unaryop, value: Any) -> Any:
        """Return the result of `-`, `+`, `~` or `not`."""
        if isinstance(op, ast.Not):
            return self.negate(value)
        if isinstance(value, bool) and isinstance(op, ast.Invert):
            self.refuse(INVERTED)
        if is_known(value):
            return self._compute(op, value)
        number = self.to_number(value)
        if number.narrow:
            self.refuse(CONVERT.format(number.narrow))
        if number.kind is Kind.BOOL:
            self.refuse(INVERTED if isinstance(op, ast.Invert) else OF_TRUTHS)
        if isinstance(op, ast.UAdd):
            return number
        if isinstance(op, ast.USub) and number.kind is Kind.FLOAT:
            return Scalar(Kind.FLOAT, self.emit.get(f"fneg double {number.text}"))
        if isinstance(op, ast.USub):
            return self.binary(ast.Sub(), np.uint64(0) if number.kind is Kind.UINT else 0, number)
        if number.kind is Kind.UINT:
            return Scalar(Kind.UINT, self.emit.get(f"xor i64 {number.text}, -1"))
        whole = self.to_int(number)
        text = self.emit.get(f"xor i64 {whole.text}, -1")
        return Scalar(Kind.INT, text, ~whole.high, ~whole.low)

    def compare(self, op: ast.cmpop, a: Any, b: Any) -> Any:
        """Return the result of a comparison, known or not."""
        if isinstance(op, ast.In | ast.NotIn):
            return self._is_in(a, b, isinstance(op, ast.NotIn))
        if isinstance(op, ast.Is | ast.IsNot) and (a is None or b is None):
            return (a is b) is isinstance(op, ast.Is)
        if is_known(a) and is_known(b):
            return self._compute(op, a, b)
        if isinstance(op, ast.Is | ast.IsNot):
            self.refuse("`is` compares with None, or values that are known: write ==")
        if isinstance(a, tuple | list) and isinstance(b, tuple | list) and not are_alike(a, b):
            if isinstance(op, ast.Eq | ast.NotEq):
                return isinstance(op, ast.NotEq)
        elif are_alike(a, b) and isinstance(op, ast.Eq | ast.NotEq):
            equal: Any = len(a) == len(b)
            for x, y in zip(a, b) if equal else ():
                equal = self.both(equal, self._are_equal(x, y))
            return equal if isinstance(op, ast.Eq) else self.negate(equal)
        elif are_alike(a, b):
            return self._order(op, tuple(a), tuple(b))
        if not (is_number(a) and is_number(b)):
            self.refuse(f"found a comparison of {describe(a)} with {describe(b)}")
        if narrow_of(a, b) == "float32":
            self.refuse(CONVERT.format("float32"))
        word, kinds = _COMPARISONS[type(op)], (kind_of(a), kind_of(b))
        if Kind.FLOAT in kinds:
            x, y = self.to_exact_float(a), self.to_exact_float(b)
            order = "une" if word == "ne" else f"o{word}"
            return self._bool(f"fcmp {order} double {x.text}, {y.text}")
        if Kind.UINT in kinds:
            x, y = self.convert(a, Kind.UINT), self.convert(b, Kind.UINT)
            sign = "" if word in ("eq", "ne") else "u"
        else:
            x, y = self.to_int(a), self.to_int(b)
            sign = "" if word in ("eq", "ne") else "s"
        return self._bool(f"icmp {sign}{word} i64 {x.text}, {y.text}")

    def _order(self, op: ast.cmpop, a: tuple[Any, ...], b: tuple[Any, ...]) -> Any:
        """Return `a < b`, `a <= b`, `a > b` or `a >= b` for tuples: the first items that differ
        decide."""
        if not (a and b):
            return KNOWN_OPERATORS[type(op)](len(a), len(b))
        strict = ast.Lt() if isinstance(op, ast.Lt | ast.LtE) else ast.Gt()
        first, same = self.compare(strict, a[0], b[0]), self._are_equal(a[0], b[0])
        return self.either(first, self.both(same, self._order(op, a[1:], b[1:])))

    def _are_equal(self, a: Any, b: Any) -> Any:
        """Return `a == b` for items of tuples and lists."""
        self.require_no_nan(a)
        return self.compare(ast.Eq(), a, b)

    def require_no_nan(self, item: Any) -> None:
        """Fail for nan, which Python takes for equal to the same object in a tuple or a list."""
        if is_number(item) and kind_of(item) is Kind.FLOAT and self.is_checked:
            text = self.to_number(item).text
            is_nan = self._bool(f"fcmp uno double {text}, {text}")
            self.fail_if(is_nan, "ValueError: nan is compared in a tuple or a list")

    def both(self, a: Scalar | bool, b: Scalar | bool) -> Scalar | bool:
        """Return `a and b` for two truth values that are both computed."""
        if isinstance(a, bool):
            return b if a else False
        if isinstance(b, bool):
            return a if b else False
        return self._bool(f"and i1 {a.text}, {b.text}")

    def either(self, a: Scalar | bool, b: Scalar | bool) -> Scalar | bool:
        """Return `a or b` for two truth values that are both computed."""
        if isinstance(a, bool):
            return True if a else b
        if isinstance(b, bool):
            return True if b else a
        return self._bool(f"or i1 {a.text}, {b.text}")

    def select(self, condition: Scalar | bool, a: Any, b: Any) -> Any:
        """Return number `a` if a condition holds, else `b`."""
        if isinstance(condition, bool):
            return a if condition else b
        kind = self.join_kinds(kind_of(a), kind_of(b))
        x, y = self.convert(a, kind), self.convert(b, kind)
        operands = f"{kind.llvm} {x.text}, {kind.llvm} {y.text}"
        text = self.emit.get(f"select i1 {condition.text}, {operands}")
        return Scalar(kind, text, min(x.low, y.low), max(x.high, y.high), narrow_of(a, b))

    def _bool(self, text: str) -> Scalar:
        return Scalar(Kind.BOOL, self.emit.get(text), 0, 1)

    def _compute(self, op: ast.AST, *values: Any) -> Any:
        """Return the result of an operator on known values."""
        try:
            return to_known(KNOWN_OPERATORS[type(op)](*values))
        except (ArithmeticError, TypeError, ValueError) as error:
            self.refuse(f"{type(error).__name__}: {error}")

    def _is_in(self, value: Any, values: Any, is_negated: bool) -> Any:
        """Return `value in values`, for known items or a range."""
        if is_known(value) and is_known(values):
            return (value in values) is not is_negated
        if is_known(values) and len(values) == 0:
            return is_negated
        if isinstance(values, range | Range) and isinstance(step := values.step, int):
            if kind_of(value) is Kind.FLOAT:
                self.refuse("found a fraction in place of an integer before `in`")
            ends = (ast.GtE(), ast.Lt()) if step > 0 else (ast.LtE(), ast.Gt())
            above = self.compare(ends[0], value, values.start)
            found = self.both(above, self.compare(ends[1], value, values.stop))
            if abs(step) != 1:
                rest = self.binary(ast.Mod(), value, abs(step))
                first = self.binary(ast.Mod(), values.start, abs(step))
                found = self.both(found, self.compare(ast.Eq(), rest, first))
        elif isinstance(values, tuple | list | set | frozenset | dict):
            found = False
            self.require_no_nan(value)
            for each in values:
                found = self.either(found, self.compare(ast.Eq(), value, each))
        else:
            self.refuse(f"`in` takes a tuple, a list, a set or a range, found {describe(values)}")
        return self.negate(found) if is_negated else found

    # ---- integers --------------------------------------------------------------------------------

    def _integer(self, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
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
                return self._divide(op, a, b)
            case ast.LShift() | ast.RShift():
                return self._shift(op, a, b)
            case ast.BitAnd() | ast.BitOr() | ast.BitXor():
                return self._bits(op, a, b)
            case ast.Pow():
                return self._power(a, b)
            case _:
                self.refuse(f"integers have no operator {type(op).__name__}")
        word = _PLAIN[type(op)]
        if low >= LOWEST and high <= HIGHEST:
            return Scalar(Kind.INT, self.emit.get(f"{word} i64 {a.text}, {b.text}"), low, high)
        if not self.is_checked:
            return Scalar(Kind.INT, self.emit.get(f"{word} i64 {a.text}, {b.text}"))
        text = self._without_overflow(f"s{word}", a, b, TOO_LARGE)
        return Scalar(Kind.INT, text, max(low, LOWEST), min(high, HIGHEST))

    def _without_overflow(self, word: str, a: Scalar, b: Scalar, error: str) -> str:
        """Return the result of an instruction that tells if 64 bits hold it; fail if not."""
        name = f"llvm.{word}.with.overflow.i64"
        function = self.module.declare(name, "{i64, i1}", "i64, i64")
        pair = self.emit.get(f"call {{i64, i1}} {function}(i64 {a.text}, i64 {b.text})")
        over = self.emit.get(f"extractvalue {{i64, i1}} {pair}, 1")
        self.fail_if(Scalar(Kind.BOOL, over), error)
        return self.emit.get(f"extractvalue {{i64, i1}} {pair}, 0")

    def _bits(self, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
        """Return the result of `&`, `|` or `^`."""
        text = self.emit.get(f"{_BITS[type(op)]} i64 {a.text}, {b.text}")
        if isinstance(op, ast.BitAnd) and (a.low >= 0 or b.low >= 0):
            return Scalar(Kind.INT, text, 0, min(x.high for x in (a, b) if x.low >= 0))
        widest = max(x.bit_length() for x in (a.low, a.high, b.low, b.high))
        low = 0 if a.low >= 0 and b.low >= 0 else -(1 << widest)
        return Scalar(Kind.INT, text, max(low, LOWEST), min((1 << widest) - 1, HIGHEST))

    def _divide(self, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
        """Return `a // b` or `a % b`, rounded down as in Python."""
        is_quotient = isinstance(op, ast.FloorDiv)
        if b.low <= 0 <= b.high:
            zero = self._bool(f"icmp eq i64 {b.text}, 0")
            self.fail_if(zero, "ZeroDivisionError: integer division or modulo by zero")
        if a.low == LOWEST and b.low <= -1 <= b.high:
            extreme = self._bool(f"icmp eq i64 {a.text}, {LOWEST}")
            minus = self._bool(f"icmp eq i64 {b.text}, -1")
            self.fail_if(self.both(extreme, minus), TOO_LARGE)
        shift = b.low.bit_length() - 1
        if b.low == b.high == 1 << max(shift, 0):
            if is_quotient:
                text = self.emit.get(f"ashr i64 {a.text}, {shift}")
                return Scalar(Kind.INT, text, a.low >> shift, a.high >> shift)
            text = self.emit.get(f"and i64 {a.text}, {b.low - 1}")
            return Scalar(Kind.INT, text, 0, b.low - 1)
        if a.low >= 0 and b.low >= 0:
            text = self.emit.get(f"{'udiv' if is_quotient else 'urem'} i64 {a.text}, {b.text}")
            return Scalar(Kind.INT, text, 0, a.high if is_quotient else b.high - 1)
        rest = self.emit.get(f"srem i64 {a.text}, {b.text}")
        some = self._bool(f"icmp ne i64 {rest}, 0")
        mixed = self.emit.get(f"xor i64 {rest}, {b.text}")
        wrong = self.both(some, self._bool(f"icmp slt i64 {mixed}, 0"))
        if not is_quotient:
            raised = self._bool_select(wrong, self.emit.get(f"add i64 {rest}, {b.text}"), rest)
            return Scalar(Kind.INT, raised, min(0, b.low + 1), max(0, b.high - 1))
        quotient = self.emit.get(f"sdiv i64 {a.text}, {b.text}")
        less = self.to_int(wrong).text
        return Scalar(Kind.INT, self.emit.get(f"sub i64 {quotient}, {less}"))

    def _bool_select(self, condition: Any, then: str, otherwise: str) -> str:
        return self.emit.get(f"select i1 {condition.text}, i64 {then}, i64 {otherwise}")

    def _shift(self, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
        """Return `a << b` or `a >> b`."""
        if b.low < 0:
            negative = self._bool(f"icmp slt i64 {b.text}, 0")
            self.fail_if(negative, "ValueError: negative shift count")
        far = b.high > 63
        wide = self._bool(f"icmp ugt i64 {b.text}, 63") if far else False
        least, most = (min(max(end, 0), 63) for end in (b.low, b.high))
        if isinstance(op, ast.RShift):
            by = self._bool_select(wide, "63", b.text) if far else b.text
            ends = [x >> y for x in (a.low, a.high) for y in (least, most)]
            text = self.emit.get(f"ashr i64 {a.text}, {by}")
            return Scalar(Kind.INT, text, min(ends), max(ends))
        by = self._bool_select(wide, "0", b.text) if far else b.text
        text = self.emit.get(f"shl i64 {a.text}, {by}")
        if far:  # zero shifted by any number of bits is zero
            text = self._bool_select(wide, "0", text)
        ends = [x << y for x in (a.low, a.high) for y in (least, most)]
        if not far and min(ends) >= LOWEST and max(ends) <= HIGHEST:
            return Scalar(Kind.INT, text, min(ends), max(ends))
        if self.is_checked:
            back = self.emit.get(f"ashr i64 {text}, {by}")
            self.fail_if(self._bool(f"icmp ne i64 {back}, {a.text}"), TOO_LARGE)
        return Scalar(Kind.INT, text)

    def _power(self, a: Scalar, b: Scalar) -> Scalar:
        """Return `a ** b` for an exponent that is not negative."""
        if b.low < 0:
            negative = self._bool(f"icmp slt i64 {b.text}, 0")
            self.fail_if(negative, "ValueError: a negative power of an integer is a fraction")
        return self.call_function(raise_to_power, a, b)  # type: ignore[no-any-return]

    def _unsigned(self, op: ast.operator, a: Scalar, b: Scalar) -> Scalar:
        """Return the result of an operator on NumPy's uint64. In arrays it wraps, its numbers fail
        in code of authors."""
        if type(op) in _PLAIN and not (self.is_own or self.is_array):
            error = "FloatingPointError: overflow of a uint64"
            return Scalar(Kind.UINT, self._without_overflow(f"u{_PLAIN[type(op)]}", a, b, error))
        if type(op) in (*_PLAIN, *_BITS):
            word = {**_PLAIN, **_BITS}[type(op)]
        elif isinstance(op, ast.FloorDiv | ast.Mod):
            zero = self._bool(f"icmp eq i64 {b.text}, 0")
            self.fail_if(zero, "ZeroDivisionError: integer division or modulo by zero")
            word = "udiv" if isinstance(op, ast.FloorDiv) else "urem"
        elif isinstance(op, ast.LShift | ast.RShift):
            far = self._bool(f"icmp ugt i64 {b.text}, 63")
            word = "shl" if isinstance(op, ast.LShift) else "lshr"
            moved = self.emit.get(f"{word} i64 {a.text}, {self._bool_select(far, '0', b.text)}")
            return Scalar(Kind.UINT, self._bool_select(far, "0", moved))
        else:
            self.refuse(f"a uint64 has no operator {type(op).__name__} here")
        return Scalar(Kind.UINT, self.emit.get(f"{word} i64 {a.text}, {b.text}"))

    # ---- floats ----------------------------------------------------------------------------------

    def _float(self, op: ast.operator, a: Any, b: Any) -> Any:
        """Return the result of an operator on floats, or of `/`."""
        if isinstance(op, ast.Div):
            x, y = self.to_exact_float(a), self.to_exact_float(b)
        else:
            x, y = self.convert(a, Kind.FLOAT), self.convert(b, Kind.FLOAT)
        if type(op) in _FLOAT:
            word = _FLOAT[type(op)]
            return Scalar(Kind.FLOAT, self.emit.get(f"{word} double {x.text}, {y.text}"))
        if isinstance(op, ast.Div | ast.FloorDiv | ast.Mod):
            zero = self._bool(f"fcmp oeq double {y.text}, {constant(0.0).text}")
            self.fail_if(zero, "ZeroDivisionError: division by zero")
        match op:
            case ast.Div():
                return Scalar(Kind.FLOAT, self.emit.get(f"fdiv double {x.text}, {y.text}"))
            case ast.FloorDiv():
                return self.call_function(divide_floats, x, y)
            case ast.Mod():
                return self.call_function(take_remainder, x, y)
            case ast.Pow():
                return self.call_function(raise_float, x, y)
        self.refuse(f"floats have no operator {type(op).__name__}")


def are_alike(a: Any, b: Any) -> bool:
    """Return True for two tuples, and for two lists."""
    return any(isinstance(a, kind) and isinstance(b, kind) for kind in (tuple, list))


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
