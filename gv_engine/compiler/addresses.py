"""Numba type of a batch's arrays, built from their addresses, and casts from an address to a
record.

A program gets the address of an address record (`array_args.make_address_record`). In compiled code
that is `b`, and `b.rewards` is an array. Inside a program, a world's row is passed as an int64
address.
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

from gv_engine.compiler.array_args import Dtypes, address_record_dtype
from gv_engine.compiler.intrinsics import emit_array, intrinsic
from gv_engine.compiler.records import to_engine_record

# Numba's type hints do not help here
_extending, _cgutils = cast(Any, (extending, cgutils))


class BatchType(types.Type):
    """Numba type of `b`, the arrays of a batch.

    Attributes:
        arrays: Numba array type of each attribute, by name.
        offsets: byte offset of each attribute in the address record, by name.
    """

    def __init__(self, dtypes: Dtypes) -> None:
        """Make the type from the element dtypes of the arrays."""
        self.arrays = {
            name: types.Array(_element_type(dtype), 1, "C") for name, dtype in dtypes.items()
        }
        fields: Any = address_record_dtype(dtypes).fields
        self.offsets = {name: offset for name, (_, offset) in fields.items()}
        super().__init__(f"Batch({dtypes})")  # the name identifies the type

    @property
    def mangling_args(self) -> Any:
        """Return the short name that Numba uses in symbol names."""
        return "Batch", (cast(Any, self)._code,)


def _element_type(dtype: np.dtype[Any]) -> Any:
    """Return the Numba type of an array element; a record becomes an `EngineRecord`."""
    kind = from_dtype(dtype)
    return to_engine_record(kind) if isinstance(kind, types.Record) else kind


_extending.register_model(BatchType)(_extending.models.OpaqueModel)


@_extending.infer_getattr
class _BatchAttributes(AttributeTemplate):
    """Typing of `b.<name>` for Numba."""

    key = BatchType

    def generic_resolve(self, batch: Any, name: str) -> Any:  # type: ignore[override]  # a constant
        """Return the array type of the attribute; None if there is no such array."""
        return batch.arrays.get(name)


@_extending.lower_getattr_generic(BatchType)  # type: ignore[untyped-decorator]  # numba's are
def _lower_array_attribute(context: Any, builder: Any, batch: Any, value: Any, name: str) -> Any:
    """Emit the array `b.<name>` from the address and length in the address record."""
    start = builder.gep(value, [context.get_constant(types.intp, batch.offsets[name])])
    kind = batch.arrays[name]
    pointer = context.get_data_type(kind.dtype).as_pointer()
    place = builder.bitcast(start, ir.LiteralStructType([pointer, ir.IntType(64)]).as_pointer())
    address, length = (builder.load(_cgutils.gep_inbounds(builder, place, 0, k)) for k in range(2))
    return emit_array(context, builder, kind, address, length)


def make_batch_cast(dtypes: Dtypes) -> Callable[[int], Any]:
    """Return an intrinsic `(address)` that casts the int64 address of an address record to a
    batch."""
    return _make_cast(BatchType, dtypes)


def make_record_cast(dtype: np.dtype[Any]) -> Callable[[int], Any]:
    """Return an intrinsic `(address)` that casts an int64 address to a record of this dtype."""
    return _make_cast(_element_type, dtype)


def _make_cast(make_type: Callable[[Any], Any], description: Any) -> Callable[[int], Any]:
    """Return an intrinsic `(address)` that casts an int64 address to `make_type(description)`."""

    @intrinsic
    def cast_address(typing_context: Any, address: Any) -> Any:
        """Type check the cast; return its signature and code generator."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            """Emit the conversion of the address to a pointer."""
            return builder.inttoptr(arguments[0], context.get_value_type(kind))

        kind = make_type(description)
        return kind(types.intp), generate

    return cast(Callable[[int], Any], cast_address)


@intrinsic
def get_address(typing_context: Any, record: Any) -> Any:
    """Intrinsic `(record)`: return the int64 address of a record."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        """Emit LLVM IR for a call of `get_address` and return the result."""
        return builder.ptrtoint(arguments[0], context.get_value_type(types.intp))

    return types.intp(record), generate
