"""Functions that do not compile: the cause in the error, and its line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gv_engine.compiler.language.compiler import Compiler
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.values import Kind, Scalar
from gv_engine.rules.errors import DoesNotCompileError
from tests.compiler.sequence_functions import SMALL


def recurse(a: int) -> Any:
    return recurse(a - 1) if a else 0


def use_set(a: int) -> Any:
    total = 0
    for k in set((1, 2, 3)):  # noqa: C405
        total += k
    return total


def use_with(a: int) -> Any:
    with np.errstate():
        return a


def use_try(a: int) -> Any:
    try:
        return a
    except ValueError:
        return 0


def use_text(a: Any) -> Any:
    return a == "DROP"


def use_none(a: int) -> Any:
    best = None
    if a > 0:
        best = a
    return best


def use_undefined(a: Any) -> Any:
    return undefined + a  # type: ignore[name-defined]  # noqa: F821


def use_before(a: Any) -> Any:
    b = c + a  # type: ignore[has-type, used-before-def]  # noqa: F821
    c = 1  # noqa: F841
    return b


def invert_truth(a: Any) -> Any:
    return ~(a > 0)


def compare_list_order(a: Any) -> Any:
    return [a] < (a, 1)  # type: ignore[operator]


def add_fractions(a: int) -> Any:
    return sum([a / 2, 0.1, 0.2])


def sum_from_fraction(a: int) -> Any:
    return sum((x for x in (a, 2)), 0.5)


def sum_from_truth(a: int) -> Any:
    return sum((x for x in (a, 2)), True)


def sum_from_call(a: int) -> Any:
    left = [1, 2, a]
    return sum((x for x in (left.pop(), 2)), left.pop())


def sum_columns(a: int) -> Any:
    return np.ones((2, 2), np.int64).sum(0)[a]


def ask_nothing(a: int) -> Any:
    return any()  # type: ignore[call-arg]


PRICES = {1: 2}


def change_constant(a: int) -> Any:
    if a > 0:
        PRICES.pop(1)
    return PRICES[1]


def sort_list(a: int) -> Any:
    values = [3, 1]
    values.append(a)
    values.sort()
    return values[0]


def sum_list(a: int) -> Any:
    values: Any = [k for k in range(a)]  # noqa: C416
    return values.sum()


def repeat_copy(a: int) -> Any:
    values = [k for k in range(a)]  # noqa: C416
    return len(values.copy() * 2)


def fill_part_of_list(a: int) -> Any:
    values: Any = [1, 2, 3, a]
    values[1:3] = 9
    return values[1]


def add_to_name(a: int) -> Any:
    values = [1, 2]
    other = values
    values += [a]
    return len(other)


def add_to_truths(a: int) -> Any:
    flags = np.zeros(3, bool)
    flags[1:] += a
    return flags[1]


def iterate_again(a: int) -> Any:
    numbers, total = map(abs, (1, -2)), 0
    for _ in range(a):
        for x in numbers:
            total += x
    return total


def mix_unsigned(a: int) -> Any:
    return np.uint64(5) + (np.arange(5)[a] & 7)


def mark_list(a: int) -> Any:
    values: Any = [1, 2, 3, a]
    return len(values[np.zeros(4, bool)])


def ravel_gaps(a: int) -> Any:
    return np.zeros(9)[::2].ravel()[a]


def list_rows(a: int) -> Any:
    return np.zeros((2, 2)).tolist()[a][0]


def list_narrow(a: int) -> Any:
    values = list(np.full(2, a, np.int8))
    return values[0]


def full_of_narrow(a: int) -> Any:
    return np.full(2, np.full(2, a, np.uint8)[0])[1]


def append_narrow(a: int) -> Any:
    values = []
    values.append(np.full(2, a, np.uint8)[0])
    return values[0]


def set_narrow_item(a: int) -> Any:
    values = [1, a]
    values[0] = np.full(2, a, np.uint8)[0]
    return values[0]


def scale_narrow_constant(a: int) -> Any:
    return np.float32(0.1) * a


def add_narrow_constant(a: int) -> Any:
    return SMALL[0] + 100 + a


def add_to_narrow_constant(a: int) -> Any:
    return SMALL[0] + a


REFUSED = {
    sum_from_fraction: "found 0.5 in place of an integer that `sum` begins with",
    sum_from_truth: "found True in place of an integer that `sum` begins with",
    sum_from_call: "name it before",
    sum_columns: "takes 2 positional arguments but 3 were given",
    ask_nothing: "missing 1 required positional argument",
    change_constant: "the function pop does not compile",
    sort_list: "a list has no 'sort'",
    sum_list: "a list has no 'sum'",
    repeat_copy: "operators do not take lists",
    fill_part_of_list: "found 9 for a part of a list",
    add_to_name: "`+=` changes a list",
    add_to_truths: "an array of truth values does not take numbers",
    iterate_again: "the function map does not compile",
    mix_unsigned: "write np.uint64(...)",
    mark_list: "found an array of bool in place of a number",
    ravel_gaps: "this part of an array has gaps",
    list_rows: "a list of rows does not compile",
    list_narrow: "NumPy calculates with int8",
    full_of_narrow: "NumPy calculates with uint8",
    append_narrow: "NumPy calculates with uint8",
    set_narrow_item: "NumPy calculates with uint8",
    scale_narrow_constant: "NumPy calculates with float32",
    add_narrow_constant: "FloatingPointError: overflow",
    add_to_narrow_constant: "NumPy calculates with int8",
    recurse: "recurse calls itself",
    use_set: "a set has no order",
    use_with: "`with` does not compile",
    use_try: "`try` does not compile",
    use_text: "comparison of an integer with 'DROP'",
    use_none: "'best' is an integer or None",
    use_undefined: "the name 'undefined' is not defined",
    use_before: "'c' is not set here",
    invert_truth: "write `not`",
    compare_list_order: "a comparison of a list of 1 with a tuple of 2",
    add_fractions: "`sum` of fractions",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda each: each.__name__)
def test_refused(function: Any) -> None:
    with pytest.raises(DoesNotCompileError) as caught:
        Compiler(LIBRARY).compile(function, {"a": Scalar(Kind.INT, "")})
    assert REFUSED[function] in str(caught.value)
    file, line, _ = str(caught.value).split(":", 2)
    first = function.__code__.co_firstlineno
    assert file == __file__
    assert first < int(line) <= first + 6
