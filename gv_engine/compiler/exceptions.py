"""Exceptions of compiled code, in Python: what Numba does for functions that it calls itself."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any
from zlib import crc32

from numba import njit, types
from numba.core import registry
from numba.core.callconv import RETCODE_USEREXC
from numba.core.runtime.nrt import rtsys

from gv_engine.compiler.intrinsics import intrinsic
from gv_engine.world.world import CAPACITY, TO_NOTHING, UNKNOWN_TYPE

# ---- error codes ---------------------------------------------------------------------------------


def message_code(message: str) -> int:
    """The number that stands in `row["error"]` for a message of `w.fail`."""
    return crc32(message.encode()) or 1


CAPACITY_CODE = message_code(CAPACITY)
UNKNOWN_TYPE_CODE = message_code(UNKNOWN_TYPE)
TO_NOTHING_CODE = message_code(TO_NOTHING)


# ---- raising -------------------------------------------------------------------------------------

rtsys.initialize(registry.cpu_target.target_context)  # code that raises may ask it for memory


@intrinsic
def _exception_at(typing_context: Any, address: Any) -> Any:
    """`(address)`: leave with the exception that is described there."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        calls = context.call_conv
        place = calls._get_excinfo_argument(builder.function)
        builder.store(builder.inttoptr(arguments[0], place.type.pointee), place)
        with builder.if_then(builder.icmp_signed("!=", arguments[0], arguments[0].type(0))):
            calls._return_errcode_raw(builder, RETCODE_USEREXC)
        return context.get_dummy_value()

    return types.none(types.intp), generate


def _raise(address: int) -> None:
    _exception_at(address)


_raising: Any = njit(_raise)


def exception_at(address: int, environments: Iterable[int]) -> Exception:
    """The exception that is described at an address.

    Args:
        address: as compiled code returns it.
        environments: addresses of the variables that must not be empty while its arguments become
            objects of Python; nothing is looked up there.
    """
    _raising.compile((types.int64,))
    (result,) = _raising.overloads.values()
    for place in environments:
        ctypes.c_void_p.from_address(place).value = id(result.environment)
    try:
        _raising(address)
    except Exception as error:  # whatever it is
        return error
    raise AssertionError(f"there is no exception at {address}")
