"""Codes of cells, 64 at once with vectors, for the representation `cells`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.language import arithmetic, arrays, flow
from gv_engine.compiler.language.body import Body, emits
from gv_engine.compiler.language.values import ArrayValue, Kind, Scalar

CHUNK = 64
"""Number of cells that are encoded at once."""
CODE_STEP = "of_color", "low", "count", "rise", "wrong"
"""Columns of `make_code_steps`: a step says of the `count` types (colours if `of_color`) from index
`low` on that it adds `rise` (modulo 256) to their evenly spaced codes, or that they have no code if
`wrong`, 255."""


def make_code_steps(
    of_color: bool, numbers: NDArray[Any], stride: int, unlisted: int
) -> NDArray[np.uint8]:
    """Return (n, 5) steps with the columns `CODE_STEP`, by which `encode_cells` computes codes
    without reading a table: for ranges of types (of colours if `of_color`) the difference between
    the code in the table `numbers` and index * `stride`, or that they are `unlisted`.

    Args:
        of_color: the table has the codes of colours, not of types.
        numbers: (256,) codes of all types or colours; the first is 0.
        stride: distance of two codes that are evenly spaced.
        unlisted: value in `numbers` for a type or colour without a code.
    """
    listed = np.flatnonzero(numbers != unlisted)
    more = numbers[listed].astype(np.int64) - stride * listed
    steps = [
        (of_color, low, 256 - low, (after - before) % 256, 0)
        for low, (before, after) in zip(listed[1:].tolist(), pairwise(more.tolist()))
        if after != before
    ]
    steps += [
        (of_color, low + 1, high - low - 1, 0, 255)
        for low, high in pairwise([*listed.tolist(), 256])
        if high - low > 1
    ]
    return np.array(steps, np.uint8).reshape(-1, len(CODE_STEP))


def encode_cells(cells: Any, steps: Any, stride: int, out: Any) -> bool:
    """Write the code of each of the (M, 3) uint8 `cells` (type, state, colour) into (M,) uint8
    `out`; return True if a cell has a type or colour without a code. `stride` and `steps` are the
    argument and the result of `make_code_steps`.

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
    get, do = body.emit.value, body.emit.do
    place = arrays.element_address(body, cells, (start,), is_inside=True)
    shown = get(f"load <{3 * CHUNK} x i8>, ptr {place}, align 1")
    kind, state, color = (
        _pick(body, f"<{3 * CHUNK} x i8>", shown, range(channel, 3 * CHUNK, 3))
        for channel in range(3)
    )
    even = _repeat(body, get(f"trunc i64 {arithmetic.to_int(body, stride).operand} to i8"))
    number = get(f"mul {_CELLS} {even}, {get(f'add {_CELLS} {kind}, {state}')}")
    sums = {name: body.emit.alloca(_CELLS) for name in ("rise", "wrong")}
    do(f"store {_CELLS} {get(f'add {_CELLS} {number}, {color}')}, ptr {sums['rise']}")
    do(f"store {_CELLS} zeroinitializer, ptr {sums['wrong']}")

    def take(k: Scalar) -> None:
        step = arrays.element_address(body, steps, (k,), is_inside=True)
        values = {
            name: get(f"load i8, ptr {body.emit.offset(step, column)}")
            for column, name in enumerate(CODE_STEP)
        }
        is_color = get(f"icmp ne i8 {values['of_color']}, 0")
        value = get(f"select i1 {is_color}, {_CELLS} {color}, {_CELLS} {kind}")
        above = get(f"sub {_CELLS} {value}, {_repeat(body, values['low'])}")
        within = get(f"icmp ult {_CELLS} {above}, {_repeat(body, values['count'])}")
        mask = get(f"sext <{CHUNK} x i1> {within} to {_CELLS}")
        for operator, name in (("add", "rise"), ("or", "wrong")):
            part = get(f"and {_CELLS} {mask}, {_repeat(body, values[name])}")
            before = get(f"load {_CELLS}, ptr {sums[name]}")
            do(f"store {_CELLS} {get(f'{operator} {_CELLS} {before}, {part}')}, ptr {sums[name]}")

    flow.emit_loop(body, steps.shape[0], take)
    goal = arrays.element_address(body, out, (start,), is_inside=True)
    do(f"store {_CELLS} {get(f'load {_CELLS}, ptr ' + sums['rise'])}, ptr {goal}, align 1")
    wrong = get(f"load i{8 * CHUNK}, ptr {sums['wrong']}")
    return Scalar(Kind.BOOL, get(f"icmp ne i{8 * CHUNK} {wrong}, 0"), 0, 1)


def _pick(body: Body, llvm: str, vector: str, lanes: Iterable[int]) -> str:
    order = ", ".join(f"i32 {lane}" for lane in lanes)
    mask = f"<{CHUNK} x i32> <{order}>"
    return body.emit.value(f"shufflevector {llvm} {vector}, {llvm} poison, {mask}")


def _repeat(body: Body, byte: str) -> str:
    """Return a vector with a byte in all lanes."""
    first = body.emit.value(f"insertelement {_CELLS} poison, i8 {byte}, i64 0")
    return body.emit.value(
        f"shufflevector {_CELLS} {first}, {_CELLS} poison, <{CHUNK} x i32> zeroinitializer"
    )
