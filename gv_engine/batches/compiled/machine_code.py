"""Machine code of a program, made ready to run by LLVM alone: Numba takes half a second to load."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from llvmlite import binding

from gv_engine.batches.compiled.program_cache import KeptProgram

ENTRY = "gv_engine_run"
"""The name of the function that is called."""

_Entry = ctypes.CFUNCTYPE(ctypes.c_int64, *(ctypes.c_int64,) * 4)
"""Its type; other threads of Python run while it does."""


def machine() -> str:
    """The processor and what it can do, as LLVM tells processors apart."""
    features = ""
    with suppress(RuntimeError):  # LLVM does not know for all processors
        features = binding.get_host_cpu_features().flatten()
    return f"{binding.get_process_triple()} {binding.get_host_cpu_name()} {features}"


def run_of(program: KeptProgram) -> Callable[[int, int, int, int], int] | None:
    """A program as a function of four numbers; None if its code asks for what is not there."""
    if not all(map(_is_there, program.symbols)):
        return None
    _wake()
    target = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target)  # owns the target
    engine.add_object_file(binding.ObjectFileRef.from_data(program.code))
    engine.finalize_object()
    entry = _Entry(engine.get_function_address(ENTRY))

    def run(address: int, start: int, stop: int, mode: int) -> int:
        failed: int = entry(address, start, stop, mode)
        if failed < 0:
            from gv_engine.batches.compiled.raising import raise_from

            raise_from(-failed, map(engine.get_global_value_address, program.environments))
        return failed

    return run


def _is_there(symbol: str) -> bool:
    if binding.address_of_symbol(symbol) is None:
        from gv_engine.batches.compiled import raising  # noqa: F401  # brings what is Numba's
    return binding.address_of_symbol(symbol) is not None


@cache
def _wake() -> None:
    with suppress(RuntimeError):  # it needs no telling any more
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
