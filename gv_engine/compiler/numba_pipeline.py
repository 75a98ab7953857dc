"""How functions within a program are compiled: typed, and lowered to LLVM code, but not further.

Numba makes machine code of every function by itself, although only the whole program is ever run.
Functions compiled by `PARTS` are optimised and made into machine code with the program that they
are linked into, which takes two thirds of the time.
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

_LONG = 115
"""Statements of Numba's, from which on LLVM decides whether a function becomes part of its callers.
Were it told to, rules that call many of these would take it ten times as long."""


class _PartCodegen:
    """The code generator of a part: nothing of it is ever in memory to be run."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing: there is no code that would look for its environment."""


class PartLibrary(JITCodeLibrary):
    """The code of a part, to be linked into that of others."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """0: Python cannot call it."""
        self._ensure_finalized()  # type: ignore[no-untyped-call]  # numba is
        return 0


part_library = cast(Callable[[Any, str], Any], PartLibrary)
"""`(codegen, name)`: a library without code."""


@cast(Any, register_pass)(mutates_CFG=True, analysis_only=False)
class _PartLowering(NativeLowering):
    _name = "part_lowering"

    def run_pass(self, state: Any) -> bool:
        statements = sum(len(block.body) for block in state.func_ir.blocks.values())
        state.flags.forceinline &= statements < _LONG
        state.library = part_library(
            _PartCodegen(state.targetctx.codegen()), state.func_id.func_name
        )
        state.library.enable_object_caching()
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call]  # numba is


class _Passes(PassManager):
    """Passes, without the clocks and records that Numba keeps of each."""

    def _runPass(self, index: int, step: Any, state: Any) -> None:
        step.analysis = self._analysis
        step.run_initialization(state)
        step.run_pass(state)
        step.run_finalizer(state)


class _PartCompiler(Compiler):
    def define_pipelines(self) -> list[Any]:
        (numbas,) = super().define_pipelines()  # type: ignore[no-untyped-call]  # numba is
        pipeline = cast(Any, _Passes)(numbas.pipeline_name)
        pipeline.passes = [
            (_PartLowering if step is NativeLowering else step, says)
            for step, says in numbas.passes
            if step is not AnnotateTypes
        ]
        pipeline.finalize()
        return [pipeline]


PARTS: dict[str, Any] = {
    "forceinline": True,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "pipeline_class": _PartCompiler,
}
"""Options of functions within compiled code."""


_NUMBAS = {name: option for name, option in PARTS.items() if name != "forceinline"}
"""Options of Numba's own functions within compiled code."""

# what numba says of them leads nowhere
_types, _overload = cast(Any, (types, _OverloadFunctionTemplate))
_implementation = _overload._get_impl
_NARROW = (types.int8, types.int16, types.int32, types.uint8, types.uint16)


@contextmanager
def few() -> Iterator[None]:
    """In here numbers out of narrow columns are passed on as those of Python are, so that a part is
    compiled once for all of them; and Numba's own functions are parts, too."""
    _overload._get_impl = _one_for_all
    try:
        yield
    finally:
        _overload._get_impl = _implementation


def _one_for_all(template: Any, args: Any, kws: Any) -> Any:
    if template._jit_options.get("pipeline_class") is _PartCompiler:
        args, kws = map(_widened, args), {name: _widened(kind) for name, kind in kws.items()}
    else:
        template._jit_options = {**template._jit_options, **_NUMBAS}
    return _implementation(template, tuple(args), kws)


def _widened(kind: Any) -> Any:
    if type(kind) in (types.Tuple, types.UniTuple):
        return _types.Tuple(tuple(map(_widened, kind)))
    return types.int64 if kind in _NARROW else kind


_UNOBSERVED = threading.RLock()


@contextmanager
def unobserved() -> Iterator[None]:
    """In here Numba tells nobody of its locks and passes.

    Each function in a chain of calls has timers that are told of all below it, which takes a
    fifteenth of the time.
    """
    with _UNOBSERVED:
        before = event.start_event, event.end_event
        event.start_event = event.end_event = _tell_nobody
        try:
            yield
        finally:
            event.start_event, event.end_event = before


def _tell_nobody(*_: Any, **__: Any) -> None:
    pass


def mark_parts(functions: Iterable[FunctionType]) -> None:
    """Let functions be called in programs from now on, with what their names stand for now."""
    for function in functions:
        register_jitable(**PARTS)(function)
