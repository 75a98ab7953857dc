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

from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import AnnotateTypes, NativeLowering
from numba.extending import register_jitable


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
        state.library = part_library(
            _PartCodegen(state.targetctx.codegen()), state.func_id.func_name
        )
        state.library.enable_object_caching()
        return bool(super().run_pass(state))  # type: ignore[no-untyped-call]  # numba is


class _PartCompiler(Compiler):
    def define_pipelines(self) -> list[Any]:
        (pipeline,) = super().define_pipelines()  # type: ignore[no-untyped-call]  # numba is
        pipeline.passes = [
            (_PartLowering if step is NativeLowering else step, says)
            for step, says in pipeline.passes
            if step is not AnnotateTypes
        ]
        pipeline._finalized = False
        pipeline.finalize()
        return [pipeline]


PARTS: dict[str, Any] = {
    "forceinline": True,
    "no_cfunc_wrapper": True,
    "no_cpython_wrapper": True,
    "pipeline_class": _PartCompiler,
}
"""Options of functions within compiled code."""


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
