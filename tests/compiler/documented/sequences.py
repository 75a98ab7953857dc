"""Lists and arrays that compile."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.compiler.documented.tables import shows


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
