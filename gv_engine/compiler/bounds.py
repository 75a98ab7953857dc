"""Compiled code that refuses an index beyond its array, and says which one it was.

Numba's own check does not say, and holds for one function alone. Here it holds for a whole program:
all that is compiled in `checking()`, down to Numba's own functions, also where NUMBA_BOUNDSCHECK
asks for none.
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
def checking(checked: bool = True) -> Iterator[None]:
    """Whether what this thread compiles in here refuses an index beyond its array."""
    token = _CHECKED.set(checked)
    try:
        yield
    finally:
        _CHECKED.reset(token)


class _Options(cpu.CPUTargetOptions):
    def finalize(self, flags: Any, options: Any) -> None:
        if _CHECKED.get():
            flags.boundscheck = True
        super().finalize(flags, options)  # type: ignore[no-untyped-call]  # numba is


def _is_checked(context: Any) -> Any:
    return _CHECKED.get() or _numbas_answer.__get__(context)


def _check(context: Any, builder: Any, index: Any, size: Any, axis: Any = None) -> None:
    if _CHECKED.get():
        axis = axis if isinstance(axis, int) else 0
        refuse_beyond(context, builder, index, size, axis, wrapped=True)
    else:
        _numbas_check(context, builder, index, size, axis)


# what numba says of their types leads nowhere
_cgutils: Any = cgutils
_numbas_check = _cgutils.do_boundscheck
_cgutils.do_boundscheck = _check
_context: Any = base.BaseContext
_numbas_answer = _context.enable_boundscheck
_context.enable_boundscheck = _numbas_answer.getter(_is_checked)
registry.cpu_target.options = _Options


def refuse_beyond(
    context: Any, builder: Any, index: Any, size: Any, axis: int = 0, wrapped: bool = False
) -> None:
    """Emit code that raises unless 0 <= index < size.

    Args:
        wrapped: an index that counts from the end has had the size added to it.
    """
    # one comparison without a sign is two with it
    with _cgutils.if_unlikely(builder, builder.icmp_unsigned(">=", index, size)):
        given = index
        if wrapped:
            negative = builder.icmp_signed("<", index, index.type(0))
            given = builder.select(negative, builder.sub(index, size), index)
        signature = types.none(types.intp, types.intp, types.intp)
        compiled = _refusal.get_compile_result(signature)
        context.active_code_library.add_linking_library(compiled.library)
        arguments = given, context.get_constant(types.intp, axis), size
        status, _ = context.call_internal_no_propagate(
            builder, compiled.fndesc, signature, arguments
        )
        # leaves at once, so that LLVM knows the index from here on and asks no second time
        calls, handler = context.call_conv, getattr(builder, "_in_try_block", None)
        builder.store(status.excinfoptr, calls._get_excinfo_argument(builder.function))
        if handler:
            builder.branch(handler["target"])
        else:
            calls._return_errcode_raw(builder, status.code)


def _refuse(index: int, axis: int, size: int) -> None:
    raise OutOfBoundsError(index, axis, size)


_refusal: Any = njit(_refuse)
