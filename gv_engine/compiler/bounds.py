"""Bounds checks in compiled code that raise an error with the index, axis and size.

Numba's own check omits these numbers and is set per function. Here it is set for a whole program:
all code compiled inside `bounds_checking()`, including Numba's own functions, whatever
NUMBA_BOUNDSCHECK says.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from numba import njit, types
from numba.core import base, cgutils, cpu, registry

from gv_engine.rules.errors import OutOfBoundsError

_CHECKED = ContextVar("_CHECKED", default=False)


@contextmanager
def bounds_checking(checked: bool = True) -> Iterator[None]:
    """Context manager: code that this thread compiles inside has bounds checks if `checked`."""
    token = _CHECKED.set(checked)
    try:
        yield
    finally:
        _CHECKED.reset(token)


class _BoundsCheckOptions(cpu.CPUTargetOptions):
    """Numba target options that switch bounds checks on inside `bounds_checking()`."""

    def finalize(self, flags: Any, options: Any) -> None:
        """Set the compiler flag `boundscheck` inside `bounds_checking()`."""
        if _CHECKED.get():
            flags.boundscheck = True
        super().finalize(flags, options)  # type: ignore[no-untyped-call]  # numba is


def _is_bounds_check_enabled(context: Any) -> Any:
    """Return True inside `bounds_checking()`, else Numba's own setting."""
    return _CHECKED.get() or _numba_enable_boundscheck.__get__(context)


def _emit_array_bounds_check(
    context: Any, builder: Any, index: Any, size: Any, axis: Any = None
) -> None:
    """Emit the bounds check of an array access: the engine's inside `bounds_checking()`, else
    Numba's."""
    if _CHECKED.get():
        axis = axis if isinstance(axis, int) else 0
        emit_bounds_check(context, builder, index, size, axis, wrapped=True)
    else:
        _numba_boundscheck(context, builder, index, size, axis)


# Numba's type hints do not help here
_cgutils: Any = cgutils
_numba_boundscheck = _cgutils.do_boundscheck
_cgutils.do_boundscheck = _emit_array_bounds_check
_context: Any = base.BaseContext
_numba_enable_boundscheck = _context.enable_boundscheck
_context.enable_boundscheck = _numba_enable_boundscheck.getter(_is_bounds_check_enabled)
registry.cpu_target.options = _BoundsCheckOptions


def emit_bounds_check(
    context: Any, builder: Any, index: Any, size: Any, axis: int = 0, wrapped: bool = False
) -> None:
    """Emit code that raises `OutOfBoundsError` unless 0 <= index < size.

    Args:
        axis: axis of the array, shown in the error.
        wrapped: True if the size was already added to a negative index.
    """
    # one unsigned comparison stands for two signed ones
    with _cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", index, size)):
        shown_index = index
        if wrapped:
            negative = builder.icmp_signed("<", index, index.type(0))
            shown_index = builder.select(negative, builder.sub(index, size), index)
        signature = types.none(types.intp, types.intp, types.intp)
        compiled = _compiled_raise.get_compile_result(signature)
        context.active_code_library.add_linking_library(compiled.library)
        arguments = shown_index, context.get_constant(types.intp, axis), size
        status, _ = context.call_internal_no_propagate(
            builder, compiled.fndesc, signature, arguments
        )
        # returns at once, so that LLVM knows the index afterwards and checks it only once
        calls, handler = context.call_conv, getattr(builder, "_in_try_block", None)
        builder.store(status.excinfoptr, calls._get_excinfo_argument(builder.function))
        if handler:
            builder.branch(handler["target"])
        else:
            calls._return_errcode_raw(builder, status.code)


def _raise_out_of_bounds(index: int, axis: int, size: int) -> None:
    """Raise the error of an index; compiled as `_compiled_raise`."""
    raise OutOfBoundsError(index, axis, size)


_compiled_raise: Any = njit(_raise_out_of_bounds)
