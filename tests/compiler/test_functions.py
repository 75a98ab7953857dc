"""Compiled functions: forms of the arguments, results, errors, memory and threads."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

from gv_engine.compiler.addresses import copy_bytes, make_byte_copy
from gv_engine.compiler.compiled_function import CompiledFunction
from gv_engine.rules.errors import DoesNotCompileError
from gv_engine.scenario.memory.layout import RNG


def add(a: Any, b: Any = 10) -> Any:
    return a + b


def weigh(values: Any, weights: Any) -> Any:
    scale, shift = weights
    total = 0.0
    for value in values:
        total += value * scale
    return total, len(values), total > shift, None


def write_halves(values: Any, out: Any) -> None:
    for y in range(values.shape[0]):
        for x in range(values.shape[1]):
            out[y, x] = values[y, x] / 2


def advance(records: Any) -> Any:
    for i in range(len(records)):
        records[i].state_low += np.uint64(1)
    return records[0].state_low


def divide(a: Any, b: Any) -> Any:
    if b < 0:
        raise ValueError("b is negative")
    return a // b


def call(function: Any) -> CompiledFunction:
    return CompiledFunction(function)


def test_numbers() -> None:
    compiled = call(add)
    assert [compiled(1, 2), compiled(1.5, 2), compiled(True, 1), compiled(3)] == [3, 3.5, 2, 13]
    assert compiled(np.int16(1), np.float32(0.5)) == 1.5
    assert isinstance(compiled(1, 2.0), float)
    with pytest.raises(OverflowError):
        compiled(1 << 63, 1)
    with pytest.raises(TypeError):
        compiled(1, 2, 3)
    with pytest.raises(DoesNotCompileError, match="in place of a number"):
        compiled("1", 1)


@pytest.mark.parametrize("dtype", ["u1", "i2", "i4", "i8", "f4", "f8", "?"])
def test_arrays_of_all_dtypes_with_gaps_and_without(dtype: str) -> None:
    compiled, values = call(write_halves), np.arange(48).reshape(6, 8).astype(dtype)
    for part in (values, values[::2, 1::3], values.T, values[:1], values[:, :0]):
        out = np.zeros(part.shape, np.float32)
        assert compiled(part, out) is None
        assert (out == part.astype(float) / 2).all()


def test_tuples_and_results_of_all_kinds() -> None:
    compiled = call(weigh)
    for values in (np.arange(4), np.ones(3, np.float32), np.ones(6)[::2]):
        assert compiled(values, (2, 5.5)) == weigh(values, (2, 5.5))
        assert compiled(values, (0.5, 1)) == weigh(values, (0.5, 1))


def test_records_of_equal_dtypes_share_a_version() -> None:
    compiled = call(advance)
    for _ in range(3):
        records = np.zeros(2, np.dtype(RNG.descr))
        records["state_low"] = 2**64 - 2
        assert compiled(records) == 2**64 - 1
    assert len(compiled._versions) == 1


def test_errors_are_those_of_python() -> None:
    compiled = call(divide)
    assert compiled(-7, 2) == -4
    with pytest.raises(ZeroDivisionError, match="division"):
        compiled(1, 0)
    with pytest.raises(ValueError, match="b is negative"):
        compiled(1, -1)


def test_arguments_and_results_are_released() -> None:
    compiled, weights, values = call(weigh), (2.0, 3.0), np.arange(3.0)
    failing = call(divide)
    counts = [sys.getrefcount(each) for each in (weights, values)]
    for _ in range(1000):
        compiled(values, weights)
        with pytest.raises(ZeroDivisionError):
            failing(1, 0)
    after = [sys.getrefcount(each) for each in (weights, values)]
    assert all(abs(one - two) < 100 for one, two in zip(counts, after, strict=True))


def test_errors_leave_no_memory_behind() -> None:
    failing = call(divide)

    def fail_often() -> int:
        for _ in range(1000):
            with suppress(ZeroDivisionError):
                failing(1, 0)
        return sys.getallocatedblocks()

    before = fail_often()
    assert fail_often() - before < 100


def test_threads_compile_and_run_at_once() -> None:
    compiled = call(write_halves)
    values = [np.full((200, 200), k, np.int64) for k in range(8)]
    outs = [np.zeros((200, 200)) for _ in values]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(compiled, values, outs))
    assert all((out == k / 2).all() for k, out in enumerate(outs))


def test_copies_of_bytes() -> None:
    copy = make_byte_copy(3)

    def move(source: Any, goal: Any, at: int, to: int) -> None:
        copy(source, 2, goal, 1)
        copy_bytes(to, at, 2)

    source, goal = np.arange(8, dtype=np.uint8), np.zeros(8, np.uint8)
    call(move)(source, goal, source.ctypes.data, goal.ctypes.data + 5)
    assert goal.tolist() == [0, 2, 3, 4, 0, 0, 1, 0]
