"""What does not compile."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.documented.tables import refused


@refused("pairs = zip(a, b)", "an iterator has no name")
def name_iterator(a: Any, b: Any) -> Any:
    pairs = zip((a, 1), (b, 2))
    return sum(x * y for x, y in pairs)


@refused("values[0] = values.pop()", "one statement changes 'values' and reads it")
def read_changed_list(a: Any, b: Any) -> Any:
    values = [a, b]
    values[0] = values.pop()
    return values[0]


@refused("try, with, match, del, global, yield, class", "`try` does not compile")
def use_try(a: Any, b: Any) -> Any:
    try:
        return a
    except ValueError:
        return 0


@refused("a function that calls itself", "call_itself calls itself")
def call_itself(a: Any, b: Any) -> Any:
    return call_itself(a - 1, b) if a else 0


@refused("**values", "`**values` does not compile")
def use_keywords(a: Any, b: Any) -> Any:
    return int(**{"a": a, "b": b})


@refused("for x in a_set", "a set has no order")
def iterate_set(a: Any, b: Any) -> Any:
    total = 0
    for k in {1, 2, 3}:
        total += k
    return total


@refused('a == "DROP"', "comparison of an integer with 'DROP'")
def compare_text(a: Any, b: Any) -> Any:
    return a == "DROP"


@refused('f"{a}"', "a text in compiled code is known before the program runs")
def write_text(a: Any, b: Any) -> Any:
    return f"{a}"


@refused("None or a number in one variable", "'best' is an integer or None")
def find_or_none(a: Any, b: Any) -> Any:
    best = None
    if a > 0:
        best = a
    return best


@refused("~ of a truth value", "write `not`")
def invert_truth(a: Any, b: Any) -> Any:
    return ~(a > 0)


@refused("True + True of unknown truth values", "write int(...)")
def add_truths(a: Any, b: Any) -> Any:
    return (a > 0) + (b > 0)


@refused("sum of fractions", "`sum` of fractions")
def sum_fractions(a: Any, b: Any) -> Any:
    return sum([a / 2, 0.1, 0.2])


@refused("arithmetic of narrow elements", "NumPy calculates with int8 in its few bits")
def add_narrow(a: Any, b: Any) -> Any:
    values = np.zeros(3, np.int8)
    return values[a] + 1


@refused("narrow elements in lists, np.array and np.full", "NumPy calculates with uint8")
def keep_narrow(a: Any, b: Any) -> Any:
    values = np.full(3, a, np.uint8)
    return np.array([values[0], values[1]])[b]


@refused("a truth value as index of an array", "write int(...)")
def index_by_truth(a: Any, b: Any) -> Any:
    values = np.zeros(3)
    values[a > b] = 7
    return values[0]


@refused("numbers in a list that begins with truth values", "begin it with numbers")
def count_in_truths(a: Any, b: Any) -> Any:
    seen: Any = [False] * 4
    seen[a] += 1
    return seen[b]


@refused("values += [a] of a list", "`+=` changes a list")
def add_in_place(a: Any, b: Any) -> Any:
    values = [a]
    values += [b]
    return values[1]


@refused("values.pop(a), update and others of a dict", "the function update does not compile")
def change_dict(a: Any, b: Any) -> Any:
    values = {1: 2}
    if a > 0:
        values.update({1: 9})
    return values[b]


@refused("array.tolist() of rows, array[::2].ravel()", "a list of rows does not compile")
def list_rows(a: Any, b: Any) -> Any:
    return np.zeros((2, 2)).tolist()[a][b]


@refused("a second name for a list that is changed", "a list that grows has one name")
def name_twice(a: Any, b: Any) -> Any:
    values = [a]
    values.append(b)
    other = values
    return len(other)


@refused("numbers and tuples in one list", "are numbers here and tuples there")
def mix_items(a: Any, b: Any) -> Any:
    values: Any = [1]
    values.append((a, b))
    return len(values)


@refused("a dict or set with unknown keys", "are known before the program runs")
def make_dict(a: Any, b: Any) -> Any:
    return {a: 1}[b]


@refused("a list of several `for` over unknown items", "write loops")
def make_cells(a: Any, b: Any) -> Any:
    return len([(y, x) for y in range(a) for x in range(b)])


@refused("an operator on lists", "operators do not take lists")
def add_to_list(a: Any, b: Any) -> Any:
    return len([k for k in range(a)] + [k for k in range(b)])  # noqa: C416


@refused("isinstance(a, int)", "isinstance asks for tuples alone")
def ask_type(a: Any, b: Any) -> Any:
    return isinstance(a, int)


@refused("round(a, 2)", "`round` takes no digits")
def round_digits(a: Any, b: Any) -> Any:
    return round(a / 3, 2)


@refused("min(values, key=...)", "take no key")
def pick_by_key(a: Any, b: Any) -> Any:
    return min(a, b, key=abs)


@refused("print, input, open and other functions", "the function print does not compile")
def print_number(a: Any, b: Any) -> Any:
    print(a)


@refused("a variable that nothing sets before", "'c' is not set here")
def read_before(a: Any, b: Any) -> Any:
    d = c + a  # type: ignore[has-type, used-before-def]  # noqa: F821
    c = 1  # noqa: F841
    return d


@refused("a name that is not defined", "the name 'undefined' is not defined")
def use_undefined(a: Any, b: Any) -> Any:
    return undefined + a  # type: ignore[name-defined]  # noqa: F821
