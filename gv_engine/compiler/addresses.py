"""Addresses of a batch's arrays, each under its name, as they cross into a program.

A program is given the address of a record of places; in compiled code that is `b`, and `b.rewards`
the array. Within it, a world's row is passed on as an address to where its type is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.np.numpy_support import from_dtype

from gv_engine.compiler.array_args import Elements, places_in
from gv_engine.compiler.intrinsics import array_at, intrinsic
from gv_engine.compiler.records import ours

# what numba says of its types leads nowhere
_extending, _cgutils = cast(Any, (extending, cgutils))


class Batch(types.Type):
    """The type of `b`.

    Attributes:
        arrays: types of its attributes.
        offsets: of their places in the record that says where they are.
    """

    def __init__(self, declared: Elements) -> None:
        self.arrays = {
            name: types.Array(_element(dtype), 1, "C") for name, dtype in declared.items()
        }
        fields: Any = places_in(declared).fields
        self.offsets = {name: offset for name, (_, offset) in fields.items()}
        super().__init__(f"Batch({declared})")  # by which types are told apart

    @property
    def mangling_args(self) -> Any:
        """A short name for the names of functions."""
        return "Batch", (cast(Any, self)._code,)


def _element(dtype: np.dtype[Any]) -> Any:
    kind = from_dtype(dtype)
    return ours(kind) if isinstance(kind, types.Record) else kind


_extending.register_model(Batch)(_extending.models.OpaqueModel)


@_extending.infer_getattr
class _Arrays(AttributeTemplate):
    key = Batch

    def generic_resolve(self, batch: Any, name: str) -> Any:  # type: ignore[override]  # a constant
        return batch.arrays.get(name)


@_extending.lower_getattr_generic(Batch)  # type: ignore[untyped-decorator]  # numba's are
def _array(context: Any, builder: Any, batch: Any, value: Any, name: str) -> Any:
    start = builder.gep(value, [context.get_constant(types.intp, batch.offsets[name])])
    kind = batch.arrays[name]
    pointer = context.get_data_type(kind.dtype).as_pointer()
    place = builder.bitcast(start, ir.LiteralStructType([pointer, ir.IntType(64)]).as_pointer())
    address, length = (builder.load(_cgutils.gep_inbounds(builder, place, 0, k)) for k in range(2))
    return array_at(context, builder, kind, address, length)


def batch_at(declared: Elements) -> Callable[[int], Any]:
    """`(address)`: the batch whose record of addresses is there."""

    @intrinsic
    def batch(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(kind))

        kind = Batch(declared)
        return kind(types.intp), generate

    return cast(Callable[[int], Any], batch)


def record_at(dtype: np.dtype[Any]) -> Callable[[int], Any]:
    """`(address)`: the record that is there."""

    @intrinsic
    def record(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(kind))

        kind = _element(dtype)
        return kind(types.intp), generate

    return cast(Callable[[int], Any], record)


@intrinsic
def address_of(typing_context: Any, record: Any) -> Any:
    """`(record)`: where it is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], context.get_value_type(types.intp))

    return types.intp(record), generate
