"""Machine code of a program, made ready to run by LLVM alone: Numba takes half a second to load."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from llvmlite import binding

from gv_engine.compiler.program_cache import KeptProgram

ENTRY = "gv_engine_run"
"""The name of the function that is called."""


class _Method(ctypes.Structure):
    """A function as Python is told of it (`PyMethodDef`)."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("convention", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


_FAST = 0x80
"""The convention `METH_FASTCALL`: what is kept, the arguments, and how many they are."""

_new_function = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.POINTER(_Method), ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))


class Loaded(NamedTuple):
    """Machine code that is ready to run.

    Attributes:
        run: (address, start, stop, mode) → how many of the worlds start … stop - 1 failed; where an
            exception broke off, less than 0. Other threads of Python run while it does.
        exception: what broke off, from what `run` returned.
    """

    run: Callable[[int, int, int, int], int]
    exception: Callable[[int], Exception]


def machine() -> str:
    """The processor and what it can do, as LLVM tells processors apart."""
    features = ""
    with suppress(RuntimeError):  # LLVM does not know for all processors
        features = binding.get_host_cpu_features().flatten()
    return f"{binding.get_process_triple()} {binding.get_host_cpu_name()} {features}"


def loaded(program: KeptProgram) -> Loaded | None:
    """A program, ready to run; None if its code asks for what is not there."""
    _wake()
    target = binding.Target.from_default_triple().create_target_machine(jit=True)
    # owns the target, and lets names be found that are Python's
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target)
    if not all(map(_is_there, program.symbols)):
        return None
    engine.add_object_file(binding.ObjectFileRef.from_data(program.code))
    engine.finalize_object()
    method = _Method(ENTRY.encode(), engine.get_function_address(ENTRY), _FAST, None)

    def exception(returned: int) -> Exception:
        from gv_engine.compiler.exceptions import exception_at

        return exception_at(-returned, map(engine.get_global_value_address, program.environments))

    return Loaded(_new_function(method, (engine, method), None), exception)


def _is_there(symbol: str) -> bool:
    if binding.address_of_symbol(symbol) is None:
        from gv_engine.compiler import exceptions  # noqa: F401  # brings what is Numba's
    return binding.address_of_symbol(symbol) is not None


@cache
def _wake() -> None:
    with suppress(RuntimeError):  # it needs no telling any more
        binding.initialize()
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
