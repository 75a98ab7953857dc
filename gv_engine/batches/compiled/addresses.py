"""Addresses of a batch's arrays, each under its name, as they cross into a program.

They are declared once, by what their elements are. A program is given the address of a record that
says where each array is and how long; in compiled code that is `b`, and `b.rewards` the array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.core.typing.templates import AttributeTemplate
from numba.np.numpy_support import from_dtype
from numpy.typing import NDArray

from gv_engine.batches.compiled.intrinsics import array_at, intrinsic
from gv_engine.batches.compiled.records import ours

Elements = Mapping[str, np.dtype[Any]]
"""Dtypes of a batch's arrays, by their names."""

_PLACE = np.dtype([("address", np.int64), ("length", np.int64)])

# what numba says of its types leads nowhere
_extending, _cgutils = cast(Any, (extending, cgutils))


def elements_of(arrays: Mapping[str, NDArray[Any]]) -> Elements:
    """Dtypes of (n,) arrays; of (n, …) ones, records with one field `row`."""
    return {
        name: np.dtype([("row", array.dtype, array.shape[1:])]) if array.ndim > 1 else array.dtype
        for name, array in arrays.items()
    }


def places_of(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """() record with the `address` and the `length` of each array; it does not keep them alive."""
    places = np.zeros((), _record(arrays))
    for name, array in arrays.items():
        places[name] = array.ctypes.data, len(array)
    return places


def _record(names: Mapping[str, Any]) -> np.dtype[Any]:
    return np.dtype([(name, _PLACE) for name in names])


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
        fields: Any = _record(declared).fields
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
