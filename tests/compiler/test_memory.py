"""Lists, arrays and their memory in compiled functions: Python's results, or a refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gv_engine.rules.errors import DoesNotCompileError
from tests.compiler.language import compile_functions, run_python

LOG = [1]


def change_new_list(n: Any) -> Any:
    values = list(range(n))
    values.append(5)
    other = [0, n]
    other[0] = 3
    return values[0] * 100 + values[1]


def change_two_lists(n: Any) -> Any:
    todo = list(range(n))
    seen = [k * 10 for k in range(n)]
    todo[0] = 5
    seen[0] = 7
    return todo[0] * 1000 + todo[1] * 100 + seen[0]


def change_list_of_tuples(n: Any) -> Any:
    pairs = [(k, k * 10) for k in range(n)]
    pairs.append((n, 3))
    other = np.full(9, 99)
    total = int(other[0])
    for a, b in pairs:
        total = total * 3 + a + b
    return total


def shorten_array(x: Any) -> Any:
    values = np.zeros(10 + (x & 7), np.int64)
    if x > 3:
        values = np.zeros(x & 1, np.int64)
    return int(values[9])


def lengthen_range(x: Any) -> Any:
    turns = range(x & 3)
    if x > 3:
        turns = range(x * 10)
    table = np.zeros(4, np.int64)
    total = 0
    for k in turns:
        total += 1 + int(table[k])
    return total


def carry_array(n: Any) -> Any:
    a: Any
    total = 0
    for c in (0, 1, 2):
        if c > 0:
            b = np.full(3, 100 + c + n)
            total += int(a[0]) * 1000 + int(b[0])  # noqa: F821
        a = np.full(3, c + n)
    return total


def carry_list(n: Any) -> Any:
    a: Any
    total = 0
    for c in (0, 1, 2):
        if c > 0:
            b = [k + 500 for k in range(n)]
            total += a[0] * 1000 + b[0]  # noqa: F821
        a = [k + c for k in range(n)]
    return total


def slice_changed_list(a: Any) -> Any:
    values = [k + a for k in range(3)]
    before = values[:2]
    values[0] = a + 7
    after = values[:2]
    return before[0] * 1000 + after[0]


EQUAL = (
    *(change_new_list, change_two_lists, change_list_of_tuples, shorten_array, lengthen_range),
    *(carry_array, carry_list, slice_changed_list),
)


@pytest.mark.parametrize("function", EQUAL, ids=lambda each: each.__name__)
def test_results_are_those_of_python(function: Callable[[int], Any]) -> None:
    compiled = compile_functions([(function, [int])])[function, (int,)]
    for n in (2, 3, 4, 5, 8):
        found, wanted = compiled(n), run_python(function, n)
        assert str(found).partition(":")[0] == str(wanted).partition(":")[0]


def change_while_adding(a: Any) -> Any:
    values = [1, 2, a]
    values[-1] += values.pop()
    return values[0]


def change_index(a: Any) -> Any:
    values = [7, 8, a]
    return values[values.pop()]


def measure(values: Any, last: Any) -> Any:
    return len(values) + last


def change_argument(a: Any) -> Any:
    values = [7, 8, a]
    return measure(values, values.pop())


def change_what_is_read(n: Any) -> Any:
    values = list(range(n))
    found = [values.pop() for _ in values]
    return len(found)


def give_back(values: Any) -> Any:
    return values


def change_result(a: Any) -> Any:
    values = [a, 2]
    same = give_back(values)
    same.append(3)
    return len(values)


def name_iterator(n: Any) -> Any:
    pairs = enumerate([n, 2])
    return sum(k for k, _ in pairs)


def name_generator(n: Any) -> Any:
    turns = (10 // k for k in range(n))
    return sum(turns)


def pass_generator(n: Any) -> Any:
    return give_back(k for k in range(n))


def pass_iterator(n: Any) -> Any:
    return give_back(enumerate([n]))


def fail_with_braces(a: Any) -> Any:
    if a > 0:
        raise ValueError("use {0} here")
    return a


def change_global(a: Any) -> Any:
    LOG.append(a)
    return a


def descend(k: Any, n: Any) -> Any:
    return n if n < 0 else descend(k + 1, n - 1)


def call_itself(n: Any) -> Any:
    return descend(0, n)


TWICE = "one statement changes 'values' and reads it"
REFUSED: dict[Any, str] = {
    change_while_adding: TWICE,
    change_index: TWICE,
    change_argument: TWICE,
    change_what_is_read: TWICE,
    change_result: "begins as a new list",
    name_iterator: "an iterator has no name",
    name_generator: "an iterator has no name",
    pass_generator: "an iterator is no argument",
    pass_iterator: "an iterator is no argument",
    fail_with_braces: "has no {0}",
    change_global: "the function append does not compile",
    call_itself: "descend calls itself",
}


@pytest.mark.parametrize("function", REFUSED, ids=lambda each: each.__name__)
def test_what_would_differ_is_refused(function: Callable[[int], Any]) -> None:
    with pytest.raises(DoesNotCompileError, match=REFUSED[function].replace("{", r"\{")):
        compile_functions([(function, [int])])
