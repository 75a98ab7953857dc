"""What crosses into a program: arrays by their names, and bytes of a row as they are."""

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from gv_engine.compiler.intrinsics import make_batch_cast, make_row_fill
from gv_engine.compiler.parameters import get_array_dtypes, make_address_record


def arrays(n=3):
    return {
        "numbers": np.arange(n) * 10,
        "pairs": np.arange(2.0 * n).reshape(n, 2),
        "flags": np.zeros(n, np.bool_),
        "rows": np.zeros(n, [("y", np.int8), ("x", np.int64)]),
    }


def compiled(function, declared):
    batch = make_batch_cast(get_array_dtypes(declared))

    @numba.njit
    def run(address):
        return function(batch(address))

    function = numba.njit(function)
    return run


def write(b):
    b.numbers[1] += 5
    b.pairs[2].row[0] = 0.5
    b.flags[0] = True
    b.rows[2].x = b.rows[2].y + 7
    return len(b.numbers), len(b.rows)


def test_every_array_is_found_under_its_name_in_any_order():
    given = arrays()
    run = compiled(write, given)
    turned = {name: given[name].copy() for name in given}
    backwards = dict(reversed(turned.items()))
    for declared, kernel in ((given, run), (backwards, compiled(write, backwards))):
        places = make_address_record(declared)
        assert kernel(places.ctypes.data) == (3, 3)
        assert declared["numbers"].tolist() == [0, 15, 20]
        assert declared["pairs"].tolist() == [[0, 1], [2, 3], [0.5, 5]]
        assert declared["flags"].tolist() == [True, False, False]
        assert declared["rows"].tolist() == [(0, 0), (0, 0), (0, 7)]


def test_a_program_takes_arrays_of_any_length():
    run = compiled(write, arrays())
    places = make_address_record(longer := arrays(5))
    assert run(places.ctypes.data) == (5, 5)
    assert longer["numbers"].tolist() == [0, 15, 20, 30, 40]


def test_a_name_that_is_not_declared_does_not_compile():
    without = arrays()
    del without["flags"]
    with pytest.raises(TypingError, match="flags"):
        compiled(write, without)(make_address_record(without).ctypes.data)


LONG_RUNS = b"\0" * 100 + b"\3\0" * 20 + b"\377" * 16 + b"\7" * 15


@pytest.mark.parametrize(
    ("start", "values"),
    [(0, b""), (3, LONG_RUNS), (9, bytes(range(20)) + b"\1" * 40), (5, b"\2" * 40 + b"\4")],
)
def test_bytes_are_written_where_they_belong(start, values):
    dtype = np.dtype([("before", np.uint8, (10,)), ("bytes", np.uint8, (400,))])
    fill, batch = make_row_fill(start, values), make_batch_cast({"rows": dtype})

    @numba.njit
    def fill_first(address):
        fill(batch(address).rows[0])

    rows = np.full(2, 9, np.uint8).repeat(dtype.itemsize).view(dtype)
    expected = rows.copy().view(np.uint8)
    expected[start : start + len(values)] = np.frombuffer(values, np.uint8)
    fill_first(make_address_record({"rows": rows}).ctypes.data)
    assert rows.tobytes() == expected.tobytes()
