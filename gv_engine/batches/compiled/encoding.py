"""One number for each cell, many cells at once.

The number of a type in a state and a colour grows evenly but for a few steps: it is found without a
table, 64 cells at a time.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import make_array
from numpy.typing import NDArray

from gv_engine.batches.compiled.intrinsics import intrinsic

# what numba says of their types leads nowhere
_types, _cgutils, _make_array = cast(Any, (types, cgutils, make_array))

_BYTE, _LANE, _INDEX = (ir.IntType(size) for size in (8, 32, 64))
PORTION = 64
"""Cells at once."""

_CELLS = ir.VectorType(_BYTE, PORTION)

STEP = np.dtype([(name, np.uint8) for name in ("of_color", "low", "count", "rise", "wrong")])
"""From `low` on, so many types or colours have a number that is higher by `rise` than it would be
by growing evenly, within 8 bits; or they are `wrong`."""


def steps(of_color: bool, numbers: NDArray[Any], stride: int, unlisted: int) -> NDArray[Any]:
    """(n,) records `STEP`.

    Args:
        of_color: what is numbered: colours, not types.
        numbers: (256,) those of all types or colours; 0 for the first.
        stride: from one to the next where they grow evenly.
        unlisted: in place of the number of one that may not occur.
    """
    listed = np.flatnonzero(numbers != unlisted)
    more = numbers[listed].astype(np.int64) - stride * listed
    found = [
        (of_color, low, 256 - low, (after - before) % 256, 0)
        for low, (before, after) in zip(listed[1:].tolist(), pairwise(more.tolist()))
        if after != before
    ]
    found += [
        (of_color, low + 1, high - low - 1, 0, 1)
        for low, high in pairwise([*listed.tolist(), 256])
        if high - low > 1
    ]
    return np.array(found, STEP)


def encode(cells: Any, steps: Any, stride: int, out: Any) -> bool:
    """Fill (M,) uint8 with the numbers of (M, 3) cells, as far as whole portions of 64 go; whether
    one is not listed."""
    wrong = False
    for start in range(0, len(cells) - PORTION + 1, PORTION):
        wrong |= _portion(cells, start, steps, stride, out)
    return wrong


@intrinsic
def _portion(typing_context: Any, cells: Any, start: Any, steps: Any, stride: Any, out: Any) -> Any:
    """`(cells, start, steps, stride, out)`: the same for 64 of them."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        given, first, marks, even, place = arguments
        given, marks, place = (
            _make_array(kind)(context, builder, array)
            for kind, array in ((cells, given), (steps, marks), (out, place))
        )
        wide = ir.VectorType(_BYTE, 3 * PORTION)
        source = builder.gep(given.data, [builder.mul(first, _INDEX(3))])
        shown = builder.load(builder.bitcast(source, wide.as_pointer()), align=1)
        kind, state, color = (
            _pick(builder, shown, range(channel, 3 * PORTION, 3)) for channel in range(3)
        )
        stride_of_all = _all(builder, builder.trunc(even, _BYTE))
        number = builder.add(builder.mul(stride_of_all, builder.add(kind, state)), color)
        numbers = _cgutils.alloca_once_value(builder, number)
        wrong = _cgutils.alloca_once_value(builder, ir.Constant(_CELLS, [0] * PORTION))
        with _cgutils.for_range(builder, builder.extract_value(marks.shape, 0)) as loop:
            step = builder.bitcast(builder.gep(marks.data, [loop.index]), _BYTE.as_pointer())
            of_color, low, count, rise, is_wrong = (
                builder.load(builder.gep(step, [_INDEX(field.offset)]))
                for field in steps.dtype.fields.values()
            )
            value = builder.select(builder.icmp_unsigned("!=", of_color, _BYTE(0)), color, kind)
            above = builder.sub(value, _all(builder, low))
            within = builder.icmp_unsigned("<", above, _all(builder, count))
            within = builder.sext(within, _CELLS)
            for found, of_step, join in (
                (numbers, rise, builder.add),
                (wrong, is_wrong, builder.or_),
            ):
                part = builder.and_(within, _all(builder, of_step))
                builder.store(join(builder.load(found), part), found)
        goal = builder.bitcast(builder.gep(place.data, [first]), _CELLS.as_pointer())
        builder.store(builder.load(numbers), goal, align=1)
        whole = ir.IntType(8 * PORTION)
        return builder.icmp_unsigned("!=", builder.bitcast(builder.load(wrong), whole), whole(0))

    return _types.boolean(cells, types.intp, steps, types.intp, out), generate


def _pick(builder: Any, vector: Any, lanes: Any) -> Any:
    order = ir.Constant(ir.VectorType(_LANE, len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _all(builder: Any, value: Any) -> Any:
    """Emit a vector of one value."""
    one = builder.insert_element(ir.Constant(_CELLS, ir.Undefined), value, _LANE(0))
    return _pick(builder, one, [0] * PORTION)
