"""Converts the cells of observations to integer codes, 64 cells at once with vector instructions,
for the representation `cells`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.language import arithmetic, arrays, flow
from gv_engine.compiler.language.body import Body, emits
from gv_engine.compiler.language.values import ArrayValue, Scalar

CHUNK = 64
"""Number of cells that are encoded at once."""
CODE_STEP = "of_color", "low", "count", "rise", "wrong"
"""Columns of `make_code_steps`: a step says of the `count` types (colours if `of_color`) from index
`low` on that it adds `rise` (modulo 256) to their evenly spaced codes, or that they have no code if
`wrong`, 255."""


def make_code_steps(
    of_color: bool, code_table: NDArray[Any], stride: int, unlisted_code: int
) -> NDArray[np.uint8]:
    """Describe the lookup table `code_table` of cell codes as a few steps that vector code can
    compute, (n, 5) uint8 with the columns `CODE_STEP`. For example, the codes 1, 2, 3, 7, 8 are
    index + 1, and from index 3 on 3 more.

    Args:
        of_color: the table has the codes of colours, not of types.
        code_table: (256,) codes of all types or colours; the first is 0.
        stride: distance of two codes that are evenly spaced.
        unlisted_code: value in `code_table` for a type or colour without a code.
    """
    listed = np.flatnonzero(code_table != unlisted_code)
    offsets = code_table[listed].astype(np.int64) - stride * listed
    steps = [
        (of_color, low, 256 - low, (offset - previous) % 256, 0)
        for low, (previous, offset) in zip(listed[1:].tolist(), pairwise(offsets.tolist()))
        if offset != previous
    ]
    steps += [
        (of_color, low + 1, high - low - 1, 0, 255)
        for low, high in pairwise([*listed.tolist(), 256])
        if high - low > 1
    ]
    return np.array(steps, np.uint8).reshape(-1, len(CODE_STEP))


def encode_cells(
    cells: NDArray[np.uint8], steps: NDArray[np.uint8], stride: int, out: NDArray[np.uint8]
) -> bool:
    """Write the code of each of the `cells` (M, 3), given as (type, state, colour), into `out`
    (M,). Return True if a cell has a type or colour without a code. `steps` is the result of
    `make_code_steps` for the same `stride`.

    Only whole chunks of 64 cells are encoded; the caller encodes the rest.
    """
    has_unlisted = False
    for chunk in range(len(cells) // CHUNK):
        has_unlisted |= _encode_chunk(cells, chunk * CHUNK, steps, stride, out)
    return has_unlisted


def _encode_chunk(cells: Any, start: int, steps: Any, stride: int, out: Any) -> bool:
    raise NotImplementedError


_CELLS = f"<{CHUNK} x i8>"


@emits(_encode_chunk)
def _emit_chunk(
    body: Body,
    cells: ArrayValue,
    start: Any,
    steps: ArrayValue,
    stride: Any,
    out: ArrayValue,
) -> Scalar:
    """Emit vector code that encodes the 64 `cells` from index `start` on and writes the codes into
    `out`, as `encode_cells` does. Return a flag, true if a cell has no code."""
    value, do = body.emit.value, body.emit.do
    pointer = arrays.element_address(body, cells, (start,), is_inside=True)
    channels = value(f"load <{3 * CHUNK} x i8>, ptr {pointer}, align 1")
    types, states, colors = (
        _pick_lanes(body, f"<{3 * CHUNK} x i8>", channels, range(channel, 3 * CHUNK, 3))
        for channel in range(3)
    )
    strides = _broadcast(body, value(f"trunc i64 {arithmetic.to_int(body, stride).operand} to i8"))
    even_codes = value(f"mul {_CELLS} {strides}, {value(f'add {_CELLS} {types}, {states}')}")
    sums = {name: body.emit.alloca(_CELLS) for name in ("rise", "wrong")}
    do(f"store {_CELLS} {value(f'add {_CELLS} {even_codes}, {colors}')}, ptr {sums['rise']}")
    do(f"store {_CELLS} zeroinitializer, ptr {sums['wrong']}")

    def emit_step(k: Scalar) -> None:
        step_pointer = arrays.element_address(body, steps, (k,), is_inside=True)
        step = {
            name: value(f"load i8, ptr {body.emit.offset(step_pointer, column)}")
            for column, name in enumerate(CODE_STEP)
        }
        is_color = value(f"icmp ne i8 {step['of_color']}, 0")
        indices = value(f"select i1 {is_color}, {_CELLS} {colors}, {_CELLS} {types}")
        distance = value(f"sub {_CELLS} {indices}, {_broadcast(body, step['low'])}")
        is_in_range = value(f"icmp ult {_CELLS} {distance}, {_broadcast(body, step['count'])}")
        mask = value(f"sext <{CHUNK} x i1> {is_in_range} to {_CELLS}")
        for opcode, name in (("add", "rise"), ("or", "wrong")):
            change = value(f"and {_CELLS} {mask}, {_broadcast(body, step[name])}")
            old_sum = value(f"load {_CELLS}, ptr {sums[name]}")
            new_sum = value(f"{opcode} {_CELLS} {old_sum}, {change}")
            do(f"store {_CELLS} {new_sum}, ptr {sums[name]}")

    flow.emit_loop(body, steps.shape[0], emit_step)
    target = arrays.element_address(body, out, (start,), is_inside=True)
    codes = value(f"load {_CELLS}, ptr {sums['rise']}")
    do(f"store {_CELLS} {codes}, ptr {target}, align 1")
    wrong_bits = value(f"load i{8 * CHUNK}, ptr {sums['wrong']}")
    return body.emit.condition(f"icmp ne i{8 * CHUNK} {wrong_bits}, 0")


def _pick_lanes(body: Body, llvm: str, vector: str, lanes: Iterable[int]) -> str:
    indices = ", ".join(f"i32 {lane}" for lane in lanes)
    mask = f"<{CHUNK} x i32> <{indices}>"
    return body.emit.value(f"shufflevector {llvm} {vector}, {llvm} poison, {mask}")


def _broadcast(body: Body, byte: str) -> str:
    """Emit a vector with the same `byte` in all its elements; return the vector's LLVM name."""
    first = body.emit.value(f"insertelement {_CELLS} poison, i8 {byte}, i64 0")
    return body.emit.value(
        f"shufflevector {_CELLS} {first}, {_CELLS} poison, <{CHUNK} x i32> zeroinitializer"
    )
