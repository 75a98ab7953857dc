"""Pictures of views, put together by compiled code from pictures of cells."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any, cast

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.np.arrayobj import make_array

from gv_engine.batches.compiled.intrinsics import intrinsic

# what numba says of their types leads nowhere
_cgutils, _make_array = cast(Any, (cgutils, make_array))

_INDEX = ir.IntType(64)


def _moving(count: int) -> Callable[[Any, int, Any, int], None]:
    """`(source, start, goal, place)`: copy so many bytes from one array of bytes to another."""

    @intrinsic
    def move(typing_context: Any, source: Any, start: Any, goal: Any, place: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            at, to = (
                builder.gep(_make_array(kind)(context, builder, array).data, [offset])
                for kind, array, offset in ((source, *arguments[:2]), (goal, *arguments[2:]))
            )
            _cgutils.raw_memcpy(builder, to, at, _INDEX(count), 1)
            return context.get_dummy_value()

        return types.none(source, types.intp, goal, types.intp), generate

    # so that programs can be told apart
    move.__name__ = f"move {count}"
    return move


@cache
def painter(run: int) -> FunctionType:
    """The function `paint`, to be compiled, for cells whose lines have so many bytes."""
    move = _moving(run)

    def paint(codes: Any, cells: Any, out: Any) -> None:
        """Fill pictures.

        Args:
            codes: (N, h, w) the number of each cell's picture.
            cells: (n, planes, side, run) uint8 pictures of cells.
            out: (N, planes, h, side, w * run) uint8.
        """
        many, height, width = codes.shape
        planes, side = cells.shape[1:3]
        place = 0
        for i in range(many):
            for plane in range(planes):
                for y in range(height):
                    for line in range(side):
                        for x in range(width):
                            picture = (codes[i, y, x] * planes + plane) * side + line
                            move(cells, picture * run, out, place)
                            place += run

    return paint  # type: ignore[return-value]  # mypy does not know it as a FunctionType
