"""Loading of a program's object code with LLVM alone, as importing Numba takes half a second."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from llvmlite import binding

from gv_engine.compiler.program_cache import ENTRY, LOOP, CachedProgram


class _PyMethodDef(ctypes.Structure):
    """C structure `PyMethodDef` of a function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("convention", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


_METH_FASTCALL = 0x80
"""Calling convention METH_FASTCALL: self, argument array, number of arguments."""

_new_function = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.POINTER(_PyMethodDef), ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))


Loaded = tuple[Callable[[int, int, int, int], int], Callable[[int], Exception], int]
"""Entry points of a loaded program: (run, exception, address). `run(address, start, stop, mode)`
releases the GIL, runs the worlds start to stop - 1, and returns how many of them failed, or a
negative number if an exception ended it. `exception` returns the exception for a negative number.
`address` is the address of the function `LOOP`, for calls from compiled code."""


def describe_processor() -> str:
    """Return LLVM's target triple, processor name and features of this machine."""
    features = ""
    with suppress(RuntimeError):  # LLVM cannot tell for some processors
        features = binding.get_host_cpu_features().flatten()
    return f"{binding.get_process_triple()} {binding.get_host_cpu_name()} {features}"


def load_program(program: CachedProgram) -> Loaded | None:
    """Load a compiled program's object code into memory and return its functions; None if a symbol
    that the code needs is missing."""
    _initialize_llvm()
    target = binding.Target.from_default_triple().create_target_machine(jit=True)
    # owns the target and finds Python's symbols
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target)
    if not all(map(_has_symbol, program.symbols)):
        return None
    engine.add_object_file(binding.ObjectFileRef.from_data(program.code))
    engine.finalize_object()
    method = _PyMethodDef(ENTRY.encode(), engine.get_function_address(ENTRY), _METH_FASTCALL, None)

    def exception(returned: int) -> Exception:
        """Return the Python exception for a negative result `returned` of the program."""
        from gv_engine.compiler.exceptions import read_exception

        return read_exception(-returned, map(engine.get_global_value_address, program.environments))

    loop = engine.get_function_address(LOOP)
    return _new_function(method, (engine, method), None), exception, loop


def _has_symbol(symbol: str) -> bool:
    """Return True if LLVM finds a function or variable named `symbol`; imports Numba's helper
    functions if needed."""
    if binding.address_of_symbol(symbol) is None:
        from gv_engine.compiler import exceptions  # noqa: F401  # registers Numba's symbols
    return binding.address_of_symbol(symbol) is not None


@cache
def _initialize_llvm() -> None:
    """Initialise LLVM for this processor, once."""
    with suppress(RuntimeError):  # newer versions of llvmlite initialise themselves
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
