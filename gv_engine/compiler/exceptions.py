"""Error codes of compiled rules, and exceptions of compiled code rebuilt in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from zlib import crc32

from numba.core import registry
from numba.core.runtime.nrt import rtsys

from gv_engine.compiler.numba_pipeline import njit, raise_exception_at, types
from gv_engine.world.world import (
    CAPACITY,
    NOT_OF_OBJECTS,
    TERRAIN_IS_SHARED,
    TO_NOTHING,
    UNKNOWN_TYPE,
)

# ---- error codes ---------------------------------------------------------------------------------


def message_code(message: str) -> int:
    """Return the code in `row["error"]` for a message of `w.fail`: its CRC-32, never 0."""
    return crc32(message.encode()) or 1


CAPACITY_CODE = message_code(CAPACITY)
UNKNOWN_TYPE_CODE = message_code(UNKNOWN_TYPE)
TO_NOTHING_CODE = message_code(TO_NOTHING)
METHOD_MESSAGES = UNKNOWN_TYPE, TO_NOTHING, NOT_OF_OBJECTS, TERRAIN_IS_SHARED
"""Messages of errors that compiled methods of worlds report, in addition to those of rules."""


# ---- raising -------------------------------------------------------------------------------------

# exceptions in compiled code allocate memory from it
rtsys.initialize(registry.cpu_target.target_context)


def _raise_at(address: int) -> None:
    """Raise the exception described at an address; compiled as `_compiled_raiser`."""
    raise_exception_at(address)


_compiled_raiser = njit(_raise_at)


def read_exception(address: int, environments: Iterable[int]) -> Exception:
    """Return the Python exception that compiled code has described in memory at `address`;
    `environments` are the addresses of the code's Numba environment variables.

    Args:
        address: address that compiled code returned.
        environments: addresses of the Numba environment variables, which are set here: Numba
            requires them to be set when it rebuilds the exception's arguments, but does not read
            them.
    """
    _compiled_raiser.compile((types.int64,))
    (result,) = _compiled_raiser.overloads.values()
    for place in environments:
        ctypes.c_void_p.from_address(place).value = id(result.environment)
    try:
        _compiled_raiser(address)
    except Exception as error:  # any exception of a rule
        return error
    raise AssertionError(f"there is no exception at {address}")
