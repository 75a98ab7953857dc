"""An example for each line of the tables in `docs/compiling.md`.

`EXAMPLES` has a function by the code in the first cell of a line; `REFUSED` has a function that
does not compile, with a part of its error. Each function takes two numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from gv_engine.geometry import add_up

EXAMPLES: dict[str, list[tuple[Callable[..., Any], type]]] = {}
"""Functions, and the types of their arguments, by the code that they show."""
REFUSED: dict[str, tuple[Callable[..., Any], str]] = {}
"""Functions that do not compile, and a part of the error, by the code that they show."""
PRICES = {1: 5, 4: 7, -3: 0}
MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))
WEIGHTS = np.array([3, 1, 4, 1, 5])


class Item(IntEnum):
    """Items with numbers."""

    APPLE = 1
    PEAR = 2


def shows(*codes: str, of: type = int) -> Callable[[Any], Any]:
    """Return a decorator for a function of two numbers of type `of` that shows some code."""

    def add(function: Any) -> Any:
        for code in codes:
            EXAMPLES.setdefault(code, []).append((function, of))
        return function

    return add


def refused(code: str, error: str) -> Callable[[Any], Any]:
    """Return a decorator for a function that does not compile."""

    def add(function: Any) -> Any:
        REFUSED[code] = function, error
        return function

    return add


# ---- statements ----------------------------------------------------------------------------------


@shows("x = 1", "x = y = 1", "x: int = 1", "x += 1")
def assign(a: Any, b: Any) -> Any:
    x = y = a % 100
    z: int = b % 100
    x += z
    y -= 1
    z *= 3
    x //= 2
    y %= 7
    z <<= 1
    z |= 5
    return x, y, z


@shows("x, (y, z) = 1, (2, 3)", "first, *rest = values")
def unpack(a: Any, b: Any) -> Any:
    x, (y, z) = a, (b, 3)
    x, y = y, x
    first, *rest = (z, y, x)
    *most, last = rest
    return first, rest[0], len(rest), most[0], last


@shows("if, elif, else")
def branch(a: Any, b: Any) -> Any:
    if a > b:
        x = 1
    elif a == b:
        x = 2
    else:
        x = a % 5
    return x


@shows("while, else", "break, continue, pass")
def repeat(a: Any, b: Any) -> Any:
    n, steps = abs(a % 50), 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 20:
            break
        if steps == b:
            continue
        if steps < 0:
            pass
    else:
        steps = -steps
    while True:
        steps += 1
        if steps % 7 == 3:
            found = steps
            break
    return found, steps


@shows("for, else", "for k in range(...)")
def count(a: Any, b: Any) -> Any:
    total: Any = 0
    for k in range(a % 9):
        total += k
    for k in range(b % 5, 20, 3):
        if k == a % 20:
            break
        total = total * 2 + k
    else:
        total = -total
    for k in range(9, a % 9 - 2, -2):
        for x in range(k):
            if x * k > 30:
                break
        else:
            total += 1
    return total


@shows("for x in values", "for k, x in enumerate(values)", "for x, y in zip(...)")
@shows("for x in reversed(values)")
def iterate(a: Any, b: Any) -> Any:
    total: Any = 0
    for x in (a % 5, 7, b % 5):
        total = total * 3 + x
    for x in WEIGHTS:
        total += int(x)
    for k, x in enumerate([y + 1 for y in range(a % 6)], 2):
        total += k * x
    for x, (k, y) in zip(range(3, 9), enumerate((b % 3, 5, 6))):
        total += x * k + y
    for x in reversed(range(b % 4)):
        total = total % 1000 * 2 + x
    for x in reversed((1, a % 2)):
        total = total % 1000 * 2 + x
    return total


@shows("return x", "return")
def give_back(a: Any, b: Any) -> Any:
    def check(x: int) -> Any:
        if x > 3:
            return

    check(a)
    for k in range(5):
        if k == a:
            return k, b
    return -1, a


@shows("assert test, text", 'raise ValueError("text")', "raise RuleError(text)")
def fail(a: Any, b: Any) -> Any:
    assert a != 7, f"found {7}"
    if a > b:
        raise ValueError("too large")
    if a == b:
        raise KeyError
    return a


@shows("def within a function", "lambda x: ...", "def f(x, y=1, *, z=2)", "def f(*values)")
@shows("f(x, z=3)", "f(*values)")
def define(a: Any, b: Any) -> Any:
    scale = b % 7

    def weigh(x: int, y: int = 4, *, z: int = 5) -> Any:
        return (x * 10 + y) * scale + z

    def total(*values: int) -> Any:
        return sum(values)

    def apply(function: Any, x: int) -> Any:
        return function(x) + 1

    scale += 1
    pair = (a % 9, 2)
    return weigh(a % 10), weigh(1, z=a % 3), total(*pair, 3), apply(lambda x: x * scale, a % 5)


# ---- expressions ---------------------------------------------------------------------------------


@shows("a + b, a - b, a * b")
def add(a: Any, b: Any) -> Any:
    return a + b, a - b, a * b


@shows("-a, +a, ~a")
def negate(a: Any, b: Any) -> Any:
    return -a, +b, ~a


@shows("a / b")
def divide(a: Any, b: Any) -> Any:
    return a % 1000 / (b % 1000)


@shows("a // b, a % b", "divmod(a, b)")
def divide_down(a: Any, b: Any) -> Any:
    return a // b, a % b, divmod(a, b), a // 8, b % -3


@shows("a ** b", "pow(a, b)")
def raise_power(a: Any, b: Any) -> Any:
    return (a % 7) ** (b % 9), (a % 100) ** 2, pow(a % 5, 3), (a % 9 + 1) ** -1.0


@shows("a << b, a >> b")
def shift(a: Any, b: Any) -> Any:
    return a >> b, (a & 7) << (b & 15)


@shows("a & b, a | b, a ^ b")
def combine(a: Any, b: Any) -> Any:
    return a & b, a | b, a ^ b, (a > 0) & (b > 0), (a > 0) ^ True


@shows("a < b, a <= b, a > b, a >= b", "a == b, a != b", "0 <= a < b")
def compare(a: Any, b: Any) -> Any:
    half = (b % 100) / 2
    orders = a < b, a <= b, a > b, a >= b, a % 100 < half
    return *orders, a == b, a != b, a % 100 == half, 0 <= a < b


@shows("a in values, a not in values")
def find(a: Any, b: Any) -> Any:
    found = a in (1, 7, b), a not in [2, 3], a in {1, 62, b}, a in PRICES
    return *found, a in range(5), a in range(1, 70, 3), a in [2 * k for k in range(b % 9)]


@shows("a and b, a or b, not a")
def decide(a: Any, b: Any) -> Any:
    return a and b, a or b, not a, b != 0 and a // b > 1, (b == 0) or a % b == 1


@shows("a if test else b", "(x := a)")
def pick(a: Any, b: Any) -> Any:
    if (half := a // 2) > 3:
        return half, 1
    return (a if a > b else b), (1, 2)[1 if a else 0]


@shows("x is None, x is not None")
def is_none(a: Any, b: Any) -> Any:
    return helper_of_none(a % 5, None), helper_of_none(a % 5, 3)


def helper_of_none(x: int, limit: Any) -> Any:
    return x if limit is None else min(x, limit)


@shows("True, False, None, 1, 1.5", 'f"text {known}"', "Item.APPLE", "{1: 5, 4: 7}[a]")
@shows("prices.get(a, 0)")
def use_constants(a: Any, b: Any) -> Any:
    price = PRICES[a] if a in (1, 4) else -1
    return True, 1.5, None, f"text {3:02d}", a == Item.APPLE, price, PRICES.get(b, 2)


@shows("(a, b)", "values[k], values[-1]", "values[1:3], values[::2]", "a < b for tuples")
@shows("(1, 2) + (3,), (1,) * 3", "len(values)")
def use_tuples(a: Any, b: Any) -> Any:
    pair = a % 4, b % 4
    y, x = MOVES[a % 4]
    longer = (*pair, 5) + pair * 2
    parts = longer[1:3], longer[::2], longer[::-1][0], longer[-1], longer[b % 7]
    return y, x, parts, len(longer), pair < (b % 4, a % 4), pair == (1, 1), pair >= (2,)


# ---- lists ---------------------------------------------------------------------------------------


@shows("[a, b]", "[x for x in values if test]", "[(y, x) for y in (1, 2) for x in (3, 4)]")
def use_lists(a: Any, b: Any) -> Any:
    odd = [k * k for k in range(a % 9) if k % 2]
    pairs = [(k, k / 2) for k in range(b % 5)]
    cells: Any = [(y, x) for y in (1, 2) for x in (3, a % 4)]
    total = sum(odd) + len(pairs)
    for k, half in pairs:
        total += k
        if half > 1:
            break
    return total, cells[1], cells[3], [a, b][b % 2], [1] + [a] == [1, b], len(odd[1:])


@shows("values.append(x)", "values.pop()", "values.clear()", "values[k] = x")
@shows("while values: ...", "for x in values: values.append(y)")
def grow_lists(a: Any, b: Any) -> Any:
    found = []
    for k in range(a % 30):
        if k % 3 == b % 3:
            found.append((k, k / 2))
    queue = [1]
    for x in queue:
        if x < 30:
            queue.append(2 * x + b % 2)
            queue.append(3 * x)
    stack = [a % 6]
    turns = 0
    while stack:
        turns += 1
        x = stack.pop()
        if x > 0:
            stack.append(x - 1)
            stack.append(x - 2)
    tally = [0] * 5
    tally[a % 5] += b % 9
    tally[-1] = 3
    stack.clear()
    last = found[-1] if found else (0, 0.0)
    return len(found), last, sum(queue), len(queue), turns, sum(tally), tally[a % 7], len(stack)


@shows("min(a, b), max(a, b)", "min(values), max(values, default=0)", "sum(values)", "abs(a)")
@shows("sorted(values)", "any(values), all(values)", "sum(x for x in values)")
@shows("any(test for x in values)", "list(values), tuple(values)")
def reduce_values(a: Any, b: Any) -> Any:
    values = [k * 7 % 5 - 2 for k in range(a % 6)]
    ordered = sorted((a % 9, b % 9, 4))
    ends = min(a, b), max(a, b, 3), min((a, 2)), max(values, default=9), min(3, a % 5 / 2)
    sums = sum(values), sum(k * k for k in range(b % 7) if k != 3), sum((a % 9, 2), 5)
    tests = (
        any(10 // k > 3 for k in range(1, 4 + a % 5)),
        all(x * y < 30 for x in range(a % 9) for y in range(b % 9)),
        any([a > 1, b > 1]),
        all(values),
    )
    copied = list(range(a % 5))
    return ends, sums, tests, abs(a % 100 - 50), ordered[0], ordered[2], len(copied), tuple([1, b])  # noqa: C409


@shows("min(a, b), max(a, b)", "abs(a)", of=float)
def reduce_fractions(a: Any, b: Any) -> Any:
    return min(a, b), max(a, b), abs(a), max(a, 1)


# ---- conversions and math ------------------------------------------------------------------------


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


# ---- arrays --------------------------------------------------------------------------------------


@shows("np.zeros, ones, empty, full", "np.zeros_like, full_like, empty_like", "np.arange(a, b)")
@shows("np.array(values)", "array.shape, ndim, size, dtype", "array[y, x], array[y]")
@shows("array[y, x] = a", "array[1:, 0], array[::2]", "array[:] = other")
def use_arrays(a: Any, b: Any) -> Any:
    n = a % 6
    cells = np.zeros((n + 1, 3), np.int64)
    for y in range(n):
        cells[y, 1] = y * y
        cells[y][2] = b % 5
    cells[n] = 4
    cells[:, 0] = 1
    other = np.full_like(cells, 2)
    other[:1] = cells[-1:]
    line = np.arange(b % 9)
    line[::2] = 9
    made = np.array([a % 50, 7]), np.ones(2), np.full(2, b % 3), np.empty(1, np.int8)
    made[3][0] = -5
    blank = np.zeros_like(line)
    sizes = cells.shape[0], cells.size, cells.ndim, len(line), made[0].dtype == np.int64
    items = int(cells[n, 1]), int(other[0, 1]), int(made[0][a % 2]), float(made[1][1])
    return sizes, items, int(made[2][0]), int(made[3][0]), int(line[1:].sum()), int(blank.sum())


@shows("array.sum(), min(), max()", "array.argmin(), argmax()", "array.any(), all()")
@shows("array.copy(), ravel(), tolist()", "array.fill(a)", "np.sort(array)", "for x in array")
@shows("np.take(table, indices)")
def use_array_methods(a: Any, b: Any) -> Any:
    values = np.array([a % 9, b % 9, 4, a % 5])
    grid = np.zeros((2, 3), np.int64)
    grid.fill(b % 4)
    flat = grid.copy().ravel()
    flat[1] = 8
    total: Any = 0
    for x in values:
        total = total * 10 + int(x)
    ordered = np.sort(values)
    taken = np.take(values, np.array([3, a % 4, -1]))
    total = total * 10 + int(taken[1]) + int(taken[2])
    found = int(values.sum()), int(values.min()), int(values.max()), int(np.argmax(values))
    tests = bool(values.any()), bool(np.all(values)), int(values.argmin())
    return total, found, tests, int(ordered[0]), int(grid.sum()), sum(flat.tolist())


@shows("array + a, array * other", "array > a", "array[array > a]", "array[array > a] = b")
def use_whole_arrays(a: Any, b: Any) -> Any:
    values = np.arange(6) * (a % 4) + 1
    marked = values > 3
    few = values[marked]
    values[values == 1] = b % 7
    return len(few), int(few.sum()), int(values.sum()), bool(marked[2])


@shows("np.int8, int16, int32, uint8, uint16, uint32, float32, bool")
def use_narrow_arrays(a: Any, b: Any) -> Any:
    small = np.zeros(2, np.int8)
    small[0] = a % 200
    flags = np.zeros(2, bool)
    flags[1] = a > b
    counts = np.zeros(2, np.uint16)
    counts[0] = b % 70000
    part = np.zeros(1, np.float32)
    part[0] = (a % 100) / 7
    numbers = int(small[0]) + 1, small[0] == 5, bool(flags[1]), int(counts[0])
    return *numbers, float(part[0]), small.tolist()[0] * 2


# ---- refused -------------------------------------------------------------------------------------


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
    return give_back(**{"a": a, "b": b})


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


# ---- the world -----------------------------------------------------------------------------------

OF_WORLD: dict[str, list[Callable[..., Any]]] = {}
"""Functions of a world by the code that they show; the world is the start of `keydoor-5x5`."""


def of_world(*codes: str) -> Callable[[Any], Any]:
    """Return a decorator for a function of a world that shows some code."""

    def add(function: Any) -> Any:
        for code in codes:
            OF_WORLD.setdefault(code, []).append(function)
        return function

    return add


@of_world("w.height, width, capacity, steps, terminated", "w.at[y, x], w.ground[y, x]")
@of_world("w.inside(y, x)", "w.agent_at(y, x), w.is_taken(y, x)", "w.agents(), w.world")
@of_world("w.blocks_movement(e), w.blocks_vision(e)")
def look_around(w: Any) -> Any:
    total = 0
    for y in range(w.height):
        for x in range(w.width):
            total = (total * 3 + w.at[y, x] + w.ground[y, x] + w.agent_at(y, x)) % 100003
            if w.inside(y, x + 1) and not w.is_taken(y, x):
                total += w.at[y, x + 1]
            if w.blocks_movement(w.at[y, x]) or w.blocks_vision(w.at[y, x]):
                total += 7
    agents = [agent for agent in w.agents()]  # noqa: C416
    return total, w.capacity > 5, w.steps, w.terminated == 0, len(agents), agents[0], w.world


@of_world("w.key.has[e], w.position.y[e], w.door.status[e] = 1", "w[column][field]")
@of_world("w.reward[agent], w.action[agent]")
def use_columns(w: Any) -> Any:
    total = 0
    for e in range(1, w.capacity):
        if w.door.has[e]:
            w.door.status[e] = 1
            total += w.position.y[e] * 10 + w.position.x[e]
        total += w["color"]["value"][e] + w.kind.value[e]
    w.reward[1] += 0.5
    w.agent.facing[1] = (w.agent.facing[1] + 1) % 4
    return total, w.reward[1], w.action[1], w.position.y[-1]


@of_world("w.having(w.key), w.of_type(kind)", "w.unique(kind)", "w.placed[kind], w.recent[kind]")
def find_objects(w: Any) -> Any:
    doors, keys = w.having(w.door), w.of_type(6)
    total = 0
    for e in w.having(w.color):
        total = total * 7 % 1000 + e
    walls = len(w.of_type(3)), w.placed[3], w.recent[3]
    return len(doors), doors[0] % 5, keys[0], w.unique(6) == keys[0], total, walls


@of_world("w.steps_from(y, x)")
def measure(w: Any) -> Any:
    steps = w.steps_from(w.position.y[1], w.position.x[1])
    total = 0
    for y in range(w.height):
        for x in range(w.width):
            total = total * 5 % 10007 + steps[y, x]
    return total


@of_world("w.spawn(kind)", "w.place(e, y, x), w.lift(e)", "w.remove(e), w.use_up(e)")
@of_world("w.stand(agent, y, x)")
def change_objects(w: Any) -> Any:
    wall = w.spawn(3)
    key = w.unique(6)
    w.lift(key)
    w.place(wall, 1, 1) if w.at[1, 1] == 0 else None
    box = w.spawn(8)
    w.remove(box)
    w.use_up(w.having(w.door)[0])
    w.stand(1, 2, 2)
    return wall, box, w.at[1, 1]


@of_world("w.set_shape(height, width)", "w.enclose(kind)", "w.clear()")
def build(w: Any) -> Any:
    w.clear()
    w.set_shape(4, 5)
    w.enclose(3)
    return w.height, w.width, w.at[0, 0], w.at[1, 1]


@of_world("w.state_of(e), w.set_state(e, state)", "w.num_states(kind), w.left_by(kind)")
@of_world("w.terrain_of(kind), w.is_terrain(e)", "w.on_ground(kind), w.on_layer_of(kind, y, x)")
@of_world("w.pave(y, x, kind)")
def use_types(w: Any) -> Any:
    door = w.having(w.door)[0]
    w.set_state(door, 1)
    w.pave(1, 1, 2)
    types = w.num_states(5), w.left_by(6), w.terrain_of(3), w.is_terrain(door), w.on_ground(3)
    return w.state_of(door), types, w.on_layer_of(3, 0, 0)


@of_world('w.add(e, "key"), w.take(e, "key")', "w.forget(agent)")
def change_components(w: Any) -> Any:
    key = w.unique(6)
    w.add(key, "solid")
    w.take(key, "portable")
    w.forget(1)
    return w.solid.has[key], w.portable.has[key]


@of_world("w.fail(text)")
def fail_world(w: Any) -> Any:
    w.agent.facing[1] = 3
    if w.height > 2:
        w.fail("no way")
    return 1


@of_world("w.rng.integers(a, b), random(), choice(n)", "w.rng.choice(n, size=k, replace=False)")
@of_world("w.rng.random(size), w.rng.shuffle(array)", "w.rng_state(), w.set_rng_state(state)")
def draw(w: Any) -> Any:
    state = w.rng_state()
    first = w.rng.integers(100), w.rng.integers(3, 9), w.rng.random(), w.rng.choice(7)
    w.set_rng_state(state)
    again = w.rng.integers(100)
    few = w.rng.choice(10, size=4, replace=False)
    order = np.arange(6)
    w.rng.shuffle(order)
    total: Any = 0
    for x in order:
        total = total * 7 + int(x)
    many = w.rng.random(3), w.rng.choice(5, size=2)
    return first, again == first[0], int(few[3]), total, float(many[0][2]), int(many[1][1])


# ---- results that could differ -------------------------------------------------------------------

SETTLED: dict[str, tuple[Callable[..., Any], str]] = {}
"""Functions of a world by what they do, and what both worlds do about it: "same" result, "error" in
both, "compiled" for an error where Python goes on, or "refused" when the rule is compiled."""


def settled(text: str, outcome: str) -> Callable[[Any], Any]:
    """Return a decorator for a function of a world whose results could differ."""

    def add(function: Any) -> Any:
        SETTLED[text] = function, outcome
        return function

    return add


@settled("reading a variable that no branch has set", "error")
def read_unset(w: Any) -> Any:
    if w.height > 100:
        x = 1
    return x


@settled("`math.sqrt(-1.0)`", "error")
def take_root_below(w: Any) -> Any:
    return math.sqrt(-1.0 * w.height)


@settled("`math.exp(1000.0)`", "error")
def take_large_exponential(w: Any) -> Any:
    return math.exp(200.0 * w.height)


@settled("`x // 0`, `x % 0`, `x / 0`", "error")
def divide_by_nothing(w: Any) -> Any:
    return w.width // w.at[1, 1] if w.at[1, 1] == 0 else w.width % w.steps


@settled("division by zero with elements of arrays", "error")
def divide_by_element(w: Any) -> Any:
    values = np.zeros(3, np.int64)
    return w.height // values[1]


@settled("division of what `w.having` and others return", "error")
def divide_by_entity(w: Any) -> Any:
    return w.having(w.door)[0] // w.steps_from(w.position.y[1], w.position.x[1])[0, 0] // w.steps


@settled("`abs` and `-` of the least number of a small column", "same")
def negate_least(w: Any) -> Any:
    w.agent.facing[1] = -128
    return abs(w.agent.facing[1]), -w.agent.facing[1], math.gcd(w.agent.facing[1], 96)


@settled("`abs`, `-` and `math.gcd` of the least 64-bit number", "compiled")
def negate_least_of_all(w: Any) -> Any:
    return abs(-(1 << 62) * (w.height - 3)) % 7


@settled("results beyond 64 bits", "compiled")
def grow_large(w: Any) -> Any:
    x = w.height
    for _ in range(40):
        x = x * 3
    return x % 7


@settled("`2 ** n` with a negative n", "compiled")
def raise_negative(w: Any) -> Any:
    return 2**-w.height


@settled("`x >> n` of an element of an array, with a negative n", "compiled")
def shift_back(w: Any) -> Any:
    return int(np.ones(3, np.int64)[1] >> -w.height)


@settled("`w.fail` within `try`", "refused")
def catch_failure(w: Any) -> Any:
    try:
        w.fail("no way")
    except Exception:
        return 1
    return 0


@settled("the order of a set", "refused")
def loop_over_set(w: Any) -> Any:
    total = 0
    for x in {3, 1, 2}:
        total = total * 10 + x
    return total


@settled("`math.floor(1e300)`, `int(1e300)`", "compiled")
def floor_large(w: Any) -> Any:
    return math.floor(1e299 * w.height) % 7


@settled("`w.num_states(99)`", "error")
def ask_unknown_type(w: Any) -> Any:
    return w.num_states(94 + w.height)


@settled("arithmetic with the words of `w.rng_state()`", "refused")
def add_to_state(w: Any) -> Any:
    return w.rng_state()[0] + 1


@settled("a number that does not fit into its column", "error")
def write_too_much(w: Any) -> Any:
    w.agent.facing[1] = 100 * w.height
    return 0


@settled("a nan in `sorted`", "compiled")
def sort_nan(w: Any) -> Any:
    return sorted((3.0, 1.0, w.height * math.nan, 2.0))[0]


@settled("a nan in `==`, `<` and `in` of tuples and lists", "compiled")
def compare_nan(w: Any) -> Any:
    x = w.height * math.nan
    return x in (1.0, x), (x, 1) == (x, 1), (x, 1) < (x, 2), x in [x * k for k in range(w.height)]


@settled("a number that does not fit into its array", "error")
def fill_too_much(w: Any) -> Any:
    values = np.zeros(3, np.int8)
    values[0] = 100 * w.height
    return 0


@settled("`[1] == (1,)`", "same")
def compare_list(w: Any) -> Any:
    values: Any = [w.height, 2]
    return values == (w.height, 2), values == [w.height, 2]


@settled("`~` of a truth value", "refused")
def invert(w: Any) -> Any:
    return ~(w.height > 2)


@settled("adding truth values", "refused")
def add_flags(w: Any) -> Any:
    return (w.height > 2) + (w.width > 2)


@settled("`sum` of fractions", "refused")
def add_parts(w: Any) -> Any:
    return sum([w.height / 3, 0.1])


@settled("arithmetic with elements of fewer than 64 bits", "refused")
def add_small(w: Any) -> Any:
    values = np.zeros(3, np.uint8)
    return values[w.height - 4] - 1


@settled("an index outside of an array or a column", "error")
def read_outside(w: Any) -> Any:
    return w.kind.value[w.capacity]


@settled("a negative index", "same")
def read_from_end(w: Any) -> Any:
    return w.kind.value[-w.height], w.at[-1, -1]
