"""Compilation of LLVM modules to machine code of this processor."""

from __future__ import annotations

import ctypes
from contextlib import suppress
from typing import Any

from llvmlite import binding


def _initialize() -> None:
    for prepare in (binding.initialize_native_target, binding.initialize_native_asmprinter):
        with suppress(RuntimeError):
            prepare()


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


class MachineCode:
    """Machine code of an LLVM module. It stays in memory as long as this object lives."""

    def __init__(self, ir: str, optimization_level: int = 1) -> None:
        """Compile a module, given as LLVM IR, with LLVM's optimization level 0 to 3."""
        _initialize()
        target = binding.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=binding.get_host_cpu_name(),
            features=binding.get_host_cpu_features().flatten(),
            opt=min(2 * optimization_level, 2),
        )
        head = f'target triple = "{binding.get_process_triple()}"\n'
        head += f'target datalayout = "{machine.target_data}"\n'
        module = binding.parse_assembly(head + ir)
        module.verify()
        options = binding.create_pipeline_tuning_options(speed_level=optimization_level)
        options.loop_vectorization = True
        passes = binding.create_pass_builder(machine, options)
        passes.getModulePassManager().run(module, passes)
        self._engine = binding.create_mcjit_compiler(module, machine)
        self._engine.finalize_object()

    def function(self, name: str, result: Any, *arguments: Any) -> Any:
        """Return a function of the program as a ctypes function, which runs without the GIL."""
        address = self._engine.get_function_address(name)
        return ctypes.CFUNCTYPE(result, *arguments)(address)

    def python_function(self, name: str, *kept: Any) -> Any:
        """Return a function of the program, with the calling convention METH_FASTCALL, as a Python
        function, which keeps this object and the objects `kept`."""
        address = self._engine.get_function_address(name)
        method = _PyMethodDef(name.encode(), address, _METH_FASTCALL, None)
        return _new_function(method, (self, method, kept), None)
