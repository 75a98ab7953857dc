"""Bytes of a row are written as they are, runs and all."""

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gv_engine.compiler.intrinsics import make_batch_cast, make_row_fill
from gv_engine.compiler.parameters import make_address_record

pytestmark = pytest.mark.compiled

run = st.tuples(st.integers(0, 255), st.integers(1, 40)).map(lambda run: bytes([run[0]]) * run[1])


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 9), st.lists(st.one_of(run, st.binary(max_size=20)), max_size=6))
@example(0, [])
@example(3, [b"\0" * 100, b"\3\0" * 20, b"\377" * 16, b"\7" * 15])
def test_bytes_are_written_where_they_belong(start, parts):
    values = b"".join(parts)
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
