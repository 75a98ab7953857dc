"""Each construct of the language, run by Python and compiled: the same result or the same error."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

from gv_engine.compiler.language.compiler import Compiler
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.values import Kind, Scalar
from tests.compiler.language import compile_functions, run_python
from tests.compiler.sequence_functions import (
    add_in_place,
    calculate_unsigned,
    compare_sequences,
    comprehend,
    copy_grown_list,
    copy_or_view,
    divide_together,
    fill_array,
    fill_nothing,
    filter_items_once,
    find_divisor,
    find_nan,
    index_array,
    index_out_of_array,
    index_out_of_tuple,
    index_tables,
    index_tuple,
    keep_sign_of_zero,
    make_unsigned,
    measure_ranges,
    name_parameters_of_lambdas,
    narrow,
    overflow_unsigned,
    quantify,
    read_dict,
    shorten_floats,
    shorten_infinite,
    slice_array,
    slice_lists,
    sort_array,
    sum_from_start,
    take_extremes,
    unpack_rest,
    use_narrow_constants,
    zip_and_count,
)

WHOLE = [0, 1, -1, 2, -3, 7, -8, 62, 63, 64, 1 << 31, -(1 << 62), (1 << 63) - 1, -(1 << 63)]
ARITHMETIC = ("ZeroDivisionError", "OverflowError", "ValueError")
FRACTIONS = [0.0, -0.0, 1.0, -1.5, 2.5, 1e-300, 1e300, -7.25, 1e16]


# ---- operators -----------------------------------------------------------------------------------


def add(a: Any, b: Any) -> Any:
    return a + b


def subtract(a: Any, b: Any) -> Any:
    return a - b


def multiply(a: Any, b: Any) -> Any:
    return a * b


def divide_down(a: Any, b: Any) -> Any:
    return a // b, a % b


def divide_by_constants(a: Any, b: Any) -> Any:
    return a // 8, a % 8, b // 3, b % 3, a // -3, a % -3, a // 1, b % 1


def divide(a: Any, b: Any) -> Any:
    return (a % 1000) / (b % 1000)


def shift(a: Any, b: Any) -> Any:
    return a >> b, (a & 7) << (b & 15)


def shift_left(a: Any, b: Any) -> Any:
    return a << b


def shift_by_too_little(a: Any, b: Any) -> Any:
    result = 0
    if a > b:
        for count in (2, -1):
            if count > 0 or b == 2:  # else it never runs
                result += 1 << count
    return result


def combine_bits(a: Any, b: Any) -> Any:
    return a & b, a | b, a ^ b, ~a, -(b >> 1), +a


def combine_truths(a: Any, b: Any) -> Any:
    x, y = a > 0, b > 0
    return x & y, x | y, x ^ y, x * 3, 5 - y, not x, int(x) + y


def raise_power(a: Any, b: Any) -> Any:
    return (a % 7) ** (b % 9)


def compare(a: Any, b: Any) -> Any:
    return a < b, a <= b, a > b, a >= b, a == b, a != b, 0 <= a < b, a < b == True  # noqa: E712


def compare_mixed(a: Any, b: Any) -> Any:
    half = (b % 100) / 2
    small = a % 100
    return small < half, small == half, small != half, half >= small, (a > 0) == 1


def use_and_or(a: Any, b: Any) -> Any:
    return a and b, a or b, (a > 1 and b), not a or b, a and 0, a or 5


def stop_early(a: Any, b: Any) -> Any:
    return (b != 0 and a // b > 1) or (b == 0 and a > 0)


def pick(a: Any, b: Any) -> Any:
    return a if a > b else b, 1 if a else 2, (a, b) if a < 0 else (b, a)


def is_member(a: Any, b: Any) -> Any:
    return a in (1, 7, b), a not in (2, 3), a in range(5), b in (3,)


# ---- floats --------------------------------------------------------------------------------------


def add_floats(a: Any, b: Any) -> Any:
    return a + b, a - b, a * b, -a, abs(a)


def divide_floats(a: Any, b: Any) -> Any:
    return a / b


def divide_floats_down(a: Any, b: Any) -> Any:
    return a // b, a % b


def raise_floats(a: Any, b: Any) -> Any:
    return (a % 10.0) ** (b % 5.0 - 2.0)


def compare_floats(a: Any, b: Any) -> Any:
    return a < b, a == b, a != b, not a, a <= b, a >= b


def truncate(a: Any, b: Any) -> Any:
    return int(a), math.floor(a), math.ceil(b), math.trunc(b)


def take_functions(a: Any, b: Any) -> Any:
    x = b % 10.0
    return math.sin(a), math.cos(a), math.atan2(a, b), math.exp(x), math.sqrt(x), math.hypot(a, x)


def take_root(a: Any, b: Any) -> Any:
    return math.sqrt(a) + math.log(b)


def take_exponential(a: Any, b: Any) -> Any:
    return math.exp(a) + math.exp(b)


# ---- variables and control -----------------------------------------------------------------------


def set_in_one_branch(a: Any, b: Any) -> Any:
    if a > b:
        x = a
    return x


def set_in_loop(a: Any, b: Any) -> Any:
    for k in range(a % 5):
        last = k * b % 7
    return last


def set_in_both(a: Any, b: Any) -> Any:
    if a > b:
        x = 1
    elif a == b:
        x = 2
    else:
        x = 3
    return x


def widen(a: Any, b: Any) -> Any:
    x: Any = 0
    for k in range(a % 5):
        x += (k + b % 9) / 2
    return x


def change_type(a: Any, b: Any) -> Any:
    x: Any = True
    if a > 0:
        x = b
    return x


def loop_with_else(a: Any, b: Any) -> Any:
    total = 0
    for k in range(b % 7, a % 20, 3):
        if k == 5:
            continue
        if k > 15:
            break
        total += k
    else:
        total = -total - 1
    return total


def loop_back(a: Any, b: Any) -> Any:
    total = 0
    for k in range(a % 20, b % 7 - 10, -2):
        total = total * 3 + k
        k = 100
    return total + k


def loop_nested(a: Any, b: Any) -> Any:
    found = -1
    for y in range(a % 6):
        for x in range(b % 6):
            if y * x == 6:
                found = y * 10 + x
                break
        else:
            continue
        break
    return found


def loop_while(a: Any, b: Any) -> Any:
    n, steps = abs(a % 1000) + 1, 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 50:
            break
    else:
        steps = -steps
    return steps


def loop_for_ever(a: Any, b: Any) -> Any:
    k = 0
    while True:
        k += 1
        if k * k > a % 1000:
            return k


def leave_with_value(a: Any, b: Any) -> Any:
    k = 0
    while True:
        k += 1
        if k * k > a % 1000:
            found = k
            break
        if k > 20:
            found = -k
            break
    return found


def leave_loops(a: Any, b: Any) -> Any:
    for k in range(2, 5):
        if a % k == 1:
            rest = k
            continue
        if b % k == 2:
            rest = 10 * k
            break
    else:
        return -1
    return rest


def return_or_else(a: Any, b: Any) -> Any:
    for k in range(3):
        if a % 5 == k:
            return k
    else:
        return 9


def read_last_turn(a: Any, b: Any) -> Any:
    total = 0
    for k in range(a % 5 + 2):
        if k > 0:
            total += last * 2 + pair[1]  # type: ignore[has-type]  # noqa: F821
        last = k * b % 9
        pair = (k, last / 2)  # noqa: F841
    return total + last


def read_unset_turn(a: Any, b: Any) -> Any:
    for k in range(a % 3):
        if k != b % 3:
            last = last + k if k > 1 else 3  # type: ignore[has-type]  # noqa: F821
    return last


def make_arrays_in_loops(a: Any, b: Any) -> Any:
    total: Any = 0
    for k in range(50):
        cells = np.zeros(700, np.int64)
        cells[k] = a % 9
        other = cells.copy()
        total += sum([x + k for x in cells if x > 0])
        while total % 7 != 0:
            total += len(np.arange(2000))
        if other[k] > 6:
            break
    for k in (1, 2, 3):
        for _ in range(30):
            total += len([x for x in range(900) if x % 5 == k])
    return int(total)


def keep_array_of_turn(a: Any, b: Any) -> Any:
    last = np.zeros(1, np.int64)
    for k in range(a % 4 + 1):
        new = np.full(40, k + 5)
        if k % 2 == 0:
            kept = new
        last = new
    other = np.zeros(40, np.int64)
    kept += 1
    return int(last[3]), int(kept[39]), int(other[0])


def loop_over_tuple(a: Any, b: Any) -> Any:
    best = -1
    for name, value in (("p", 1), ("q", 7), ("r", -8)):
        if value == a:
            best = len(name) + value
            break
    return best


def loop_over_functions(a: Any, b: Any) -> Any:
    total = 0
    for function in (add_one, double):
        total = function(total + a % 10)
    return total


def add_one(a: int) -> Any:
    return a + 1


def double(a: int) -> Any:
    return a * 2


def unpack(a: Any, b: Any) -> Any:
    (x, y), z = (a, b), 3
    x, y = y, x
    first, *_, last = 1, 2, 3, 4
    return x, y, z, first, last, *(x, 5)


def walrus(a: Any, b: Any) -> Any:
    if (half := a // 2) > 3:
        return half
    return -1


def change_argument(a: Any, b: Any) -> Any:
    a += 1 if a < 100 else 0
    b = a
    return b


def call_with_names(a: Any, b: Any) -> Any:
    return weigh(b=a % 10, a=1) + weigh(2, c=b % 10)


def weigh(a: Any, b: Any = 4, c: int = 5) -> Any:
    return a * 100 + b * 10 + c


def fail_on_purpose(a: Any, b: Any) -> Any:
    if a > b:
        raise ValueError(f"more than {3} {'x'}")
    assert a != b, "equal"
    return a


WHOLE_FUNCTIONS = [
    *(sum_from_start, read_dict, filter_items_once, slice_lists, keep_sign_of_zero, copy_or_view),
    *(copy_grown_list, use_narrow_constants, unpack_rest, make_unsigned, fill_nothing),
    *(calculate_unsigned, overflow_unsigned, add_in_place),
    *(add, subtract, multiply, divide_down, divide_by_constants, divide, shift, shift_left),
    shift_by_too_little,
    *(combine_bits, combine_truths, raise_power, compare, compare_mixed, use_and_or, stop_early),
    *(pick, is_member, set_in_one_branch, set_in_loop, set_in_both, widen, change_type),
    *(loop_with_else, loop_back, loop_nested, loop_while, loop_for_ever, loop_over_tuple),
    *(name_parameters_of_lambdas, measure_ranges),
    *(leave_with_value, leave_loops, return_or_else, read_last_turn, read_unset_turn),
    *(make_arrays_in_loops, keep_array_of_turn),
    *(loop_over_functions, unpack, walrus, change_argument, call_with_names),
    *(
        compare_sequences,
        index_tables,
        fail_on_purpose,
        index_tuple,
        index_out_of_tuple,
        index_array,
        index_out_of_array,
    ),
    *(fill_array, slice_array, narrow, sort_array, comprehend, quantify, zip_and_count),
    *(take_extremes, divide_together, find_divisor),
]
FLOAT_FUNCTIONS = [
    *(add_floats, divide_floats, divide_floats_down, raise_floats, compare_floats, truncate),
    *(take_functions, take_root, take_exponential, find_nan, shorten_floats, shorten_infinite),
]


@pytest.fixture(scope="module")
def compiled() -> dict[Any, Any]:
    functions: list[Any] = [(each, (int, int)) for each in WHOLE_FUNCTIONS]
    functions += [(each, (float, float)) for each in FLOAT_FUNCTIONS]
    return {each: version for (each, _), version in compile_functions(functions).items()}


def is_same(found: Any, wanted: Any) -> Any:
    """Return True for equal results of the same types, and for errors of the same class."""
    if isinstance(wanted, tuple):
        return len(found) == len(wanted) and all(map(is_same, found, wanted))
    if isinstance(wanted, str) or isinstance(found, str):
        classes = [str(each).partition(":")[0] for each in (found, wanted)]
        # NumPy's numbers have an error of their own
        of_numpy = classes[1] == "FloatingPointError" and classes[0] in ARITHMETIC
        # Python names it UnboundLocalError but in generators, where its base class stands
        unset = classes == ["UnboundLocalError", "NameError"]
        return of_numpy or unset or classes[0] == classes[1]
    if isinstance(wanted, float) and math.isnan(wanted):
        return math.isnan(found)
    signs = not isinstance(wanted, float) or math.copysign(1, found) == math.copysign(1, wanted)
    return found == wanted and signs


def is_too_large(found: Any, wanted: Any) -> Any:
    """Return True if the compiled function fails, and Python has a result beyond 64 bits, or
    could have one on the way."""
    return isinstance(found, str) and found.startswith("OverflowError: an integer")


@pytest.mark.parametrize("function", WHOLE_FUNCTIONS, ids=lambda each: each.__name__)
def test_whole_numbers(function: Any, compiled: dict[Any, Any]) -> None:
    compared = 0
    for a in WHOLE:
        for b in WHOLE:
            if function is shift_left and b > 64:
                continue  # Python would need gigabytes
            found, wanted = compiled[function](a, b), run_python(function, a, b)
            if not is_too_large(found, wanted):
                assert is_same(found, wanted), (a, b, found, wanted)
                compared += 1
            else:
                assert function in (
                    add,
                    subtract,
                    multiply,
                    divide_down,
                    shift_left,
                    combine_bits,
                ) or (-(1 << 63) in (a, b) or abs(a) > 1 << 60 or abs(b) > 1 << 60)
    assert compared >= 100


@pytest.mark.parametrize("function", FLOAT_FUNCTIONS, ids=lambda each: each.__name__)
def test_fractions(function: Any, compiled: dict[Any, Any]) -> None:
    for a in FRACTIONS:
        for b in FRACTIONS:
            found, wanted = compiled[function](a, b), run_python(function, a, b)
            if is_too_large(found, wanted) or str(found).startswith("OverflowError: a float is no"):
                assert max(abs(a), abs(b)) >= 1e16
                continue
            assert is_same(found, wanted), (a, b, found, wanted)


def call_once(a: Any, b: Any) -> Any:
    return add_three(a) + add_three(b) + add_three(double(a))


def add_three(a: Any) -> Any:
    return a + 3


def test_functions_with_one_call_become_part_of_the_caller() -> None:
    compiler = Compiler(LIBRARY)
    function: Any = call_once
    compiler.compile(function, {"a": Scalar(Kind.INT, ""), "b": Scalar(Kind.INT, "")})
    heads = [line for line in compiler.module.to_ir().splitlines() if line.startswith("define")]
    assert [head.split('"')[1].split(".")[0] for head in heads if "alwaysinline" in head] == [
        "double"
    ]


def set_by_turns(a: Any, b: Any) -> Any:
    last: Any
    part: Any
    first = -1
    for k in range(b % 4 + 1):
        if k > 0:
            first = first + last * part  # noqa: F821
        if k % 2 == 0:
            part = a % 5 + k
        last = k + 1
    return first, last, part


@pytest.mark.parametrize("is_checked", [True, False])
def test_a_variable_keeps_its_value_where_not_every_way_sets_it(is_checked: bool) -> None:
    """One place sets `part` and `last`; later turns, and what follows the loop, read them."""
    functions = [(set_by_turns, (int, int))]
    compiled = compile_functions(functions, is_checked)[set_by_turns, (int, int)]
    for a, b in itertools.product(range(6), range(8)):
        assert compiled(a, b) == set_by_turns(a, b)


@pytest.mark.parametrize("is_checked", [True, False])
def test_calls_without_effect_leave_errors_and_results(is_checked: bool) -> None:
    """A function that does nothing is not called, but its known result, and the end of a loop that
    calls it, stay."""
    functions = [(call_for_nothing, (int, int))]
    compiled = compile_functions(functions, is_checked)[call_for_nothing, (int, int)]
    assert compiled(3, 4) == call_for_nothing(3, 4) == (7, 9)


def call_for_nothing(a: Any, b: Any) -> Any:
    total = 0
    for _ in range(a):
        do_nothing(b)
        total = total + return_three(b)
    return do_nothing(a) or a + b, total


def do_nothing(a: Any) -> Any:
    if a > 5:
        a = a + 1


def return_three(a: Any) -> int:
    return 3
