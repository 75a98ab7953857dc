"""Numba pipeline that types a function and lowers it to LLVM IR, without machine code.

Numba compiles every function to machine code, although only the whole program runs. A function
compiled with `PART_OPTIONS` is optimised and compiled only as part of the program it is linked
into, which saves a third of the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, cast

from numba.core import event, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import AnnotateTypes, NativeLowering
from numba.core.typing.templates import _OverloadFunctionTemplate
from numba.extending import register_jitable

_MIN_LONG_STATEMENTS = 115
"""Number of Numba statements from which LLVM decides about inlining. Forced inlining of long
functions takes ten times as long."""


class _PartCodegen:
    """Code generator of a part, which is never loaded into memory."""

    def __init__(self, whole: Any) -> None:
        """Wrap Numba's code generator."""
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of Numba's code generator."""
        return getattr(self._whole, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Do nothing; a part needs no environment in memory."""


class PartLibrary(JITCodeLibrary):
    """LLVM IR of a part, to be linked into other libraries."""

    def _optimize_final_module(self) -> None:
        """Do nothing; the linked program is optimised as a whole."""
        pass

    def _finalize_final_module(self) -> None:
        """Mark the library as finished, without machine code."""
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0; Python cannot call a part."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]  # numba is
        return 0


part_library = cast(Callable[[Any, str], Any], PartLibrary)
"""Return an empty library `(codegen, name)`."""


@cast(Any, register_pass)(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    """Lowering pass that writes into a `PartLibrary` and limits forced inlining."""

    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function into a part library."""
        statements = sum(len(block.body) for block in state.func_ir.blocks.values())
        state.flags.forceinline &= statements < _MIN_LONG_STATEMENTS
        state.library = part_library(
            _PartCodegen(state.targetctx.codegen()), state.func_id.func_name
        )
        state.library.enable_object_caching()
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call]  # numba is


class _Passes(PassManager):
    """Pass manager without Numba's timers and records."""

    def _runPass(self, index: int, step: Any, state: Any) -> None:
        """Run one compiler pass."""
        step.analysis = self._analysis
        step.run_initialization(state)
        step.run_pass(state)
        step.run_finalizer(state)


class _PartCompiler(Compiler):
    """Numba compiler with the passes of a part."""

    def define_pipelines(self) -> list[Any]:
        """Return Numba's pipeline with `_PartLowering` and without the annotation pass."""
        (pipeline_of_numba,) = super().define_pipelines()  # type: ignore[no-untyped-call]  # numba is
        pipeline = cast(Any, _Passes)(pipeline_of_numba.pipeline_name)
        pipeline.passes = [
            (_PartLowering if step is NativeLowering else step, description)
            for step, description in pipeline_of_numba.passes
            if step is not AnnotateTypes
        ]
        pipeline.finalize()
        return [pipeline]


PART_OPTIONS: dict[str, Any] = {
    "forceinline": True,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "pipeline_class": _PartCompiler,
}
"""Options of functions that are only called from compiled code."""


_NUMBA_OPTIONS = {name: option for name, option in PART_OPTIONS.items() if name != "forceinline"}
"""Options of Numba's own functions within compiled code."""

# Numba's type hints do not help here
_types, _overload = cast(Any, (types, _OverloadFunctionTemplate))
_implementation = _overload._get_impl
_NARROW_INTEGERS = (types.int8, types.int16, types.int32, types.uint8, types.uint16)


@contextmanager
def widen_integers() -> Iterator[None]:
    """Context manager: narrow integers are passed as int64, so that one compiled part serves all
    widths.

    Numba's own functions become parts, too.
    """
    _overload._get_impl = _get_widened_implementation
    try:
        yield
    finally:
        _overload._get_impl = _implementation


def _get_widened_implementation(template: Any, args: Any, kws: Any) -> Any:
    """Replace Numba's `_get_impl`: look up an overload's implementation for widened argument
    types."""
    if template._jit_options.get("pipeline_class") is _PartCompiler:
        args, kws = map(_widen_type, args), {name: _widen_type(kind) for name, kind in kws.items()}
    else:
        template._jit_options = {**template._jit_options, **_NUMBA_OPTIONS}
    return _implementation(template, tuple(args), kws)


def _widen_type(kind: Any) -> Any:
    """Return int64 for a narrow integer type, also inside tuples; other types unchanged."""
    if type(kind) in (types.Tuple, types.UniTuple):
        return _types.Tuple(tuple(map(_widen_type, kind)))
    return types.int64 if kind in _NARROW_INTEGERS else kind


_EVENTS_LOCK = threading.RLock()


@contextmanager
def without_events() -> Iterator[None]:
    """Context manager that disables Numba's compiler event hooks (7 % faster compilation)."""
    with _EVENTS_LOCK:
        before = event.start_event, event.end_event
        event.start_event = event.end_event = _ignore_event
        try:
            yield
        finally:
            event.start_event, event.end_event = before


def _ignore_event(*_: Any, **__: Any) -> None:
    """Do nothing; replaces Numba's event hooks."""
    pass


def register_parts(functions: Iterable[FunctionType]) -> None:
    """Register functions as callable from compiled code, with the current values of their
    globals."""
    for function in functions:
        register_jitable(**PART_OPTIONS)(function)
