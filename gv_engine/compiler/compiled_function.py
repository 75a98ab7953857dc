"""Single functions of numbers and arrays, compiled to machine code and called from Python.

A function is compiled once for each combination of the types of its arguments: the types of
numbers, and dtype, number of axes and contiguity of arrays. The machine code reads Python's objects
itself, and returns `_NO_MATCH` for arguments of other types, so that a call takes less than a
microsecond.
"""

from __future__ import annotations

import builtins
import ctypes
import math
from collections import ChainMap
from collections.abc import Callable, Sequence
from functools import cache
from inspect import signature
from threading import Lock
from types import FunctionType
from typing import Any

import numpy as np

from gv_engine.compiler.language.body import ARENA_HEAD, Body, Compiled
from gv_engine.compiler.language.compiler import Compiler
from gv_engine.compiler.language.emitter import Emitter
from gv_engine.compiler.language.library import LIBRARY
from gv_engine.compiler.language.machine import MachineCode
from gv_engine.compiler.language.maths import emit_c_call
from gv_engine.compiler.language.values import (
    ArrayValue,
    Kind,
    RecordType,
    Scalar,
    is_known,
    leaves,
    rebuild,
)

ARENA_BYTES = 1 << 16
"""Bytes for the arrays of a function, on the stack."""
_NO_MATCH = object()
"""Result of machine code for arguments of other types."""
_KINDS = {int: Kind.INT, bool: Kind.BOOL, float: Kind.FLOAT}

# memory layout of CPython's objects and of NumPy's `PyArrayObject`
_POINTER_SIZE = ctypes.sizeof(ctypes.c_void_p)
_HEAD_SIZE = object.__basicsize__
_TYPE_OFFSET = _HEAD_SIZE - _POINTER_SIZE
_ARRAY_FIELDS = "data", "nd", "dimensions", "strides", "base", "descr", "flags"
_ARRAY_OFFSETS = {name: _HEAD_SIZE + _POINTER_SIZE * k for k, name in enumerate(_ARRAY_FIELDS)}
"""Offsets of the fields of an array; each takes the size of a pointer, ints are padded."""
_C_CONTIGUOUS_FLAG = 1


class CompiledFunction:
    """Compiled version of a Python function whose arguments are numbers, arrays or tuples of them.
    It runs without the GIL, and does not check array indices."""

    def __init__(self, function: FunctionType) -> None:
        """Wrap a Python function. It is compiled at its first call."""
        self.__wrapped__ = function
        self._versions: dict[Any, _Version] = {}
        self._dtypes: dict[np.dtype[Any], np.dtype[Any]] = {}  # the first of several equal ones
        self._lock = Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code with these arguments and return its result. For arguments of new
        types, the code is compiled first.

        Raises:
            DoesNotCompileError: the function has no compiled version for them.
        """
        for version in [*self._versions.values()]:
            if (result := version.run(*arguments)) is not _NO_MATCH:
                return result
        plain = tuple(map(self._to_plain, arguments))
        key = tuple(map(_make_version_key, plain))
        with self._lock:
            if key not in self._versions:
                self._versions[key] = _Version(self.__wrapped__, plain)
        return self._versions[key].run(*plain)

    def _to_plain(self, value: Any) -> Any:
        """Return the argument `value` as the machine code expects it: a NumPy number as a Python
        number, and an array with the one dtype object that the code compares by identity."""
        if isinstance(value, tuple):
            return tuple(map(self._to_plain, value))
        if isinstance(value, np.ndarray):
            return value.view(np.ndarray).view(self._dtypes.setdefault(value.dtype, value.dtype))
        return value.item() if isinstance(value, np.generic) else value


class _Version:
    """Machine code of a function for one combination of argument types.

    Attributes:
        run: returns the result, or `_NO_MATCH` for arguments of other types.
    """

    def __init__(self, function: FunctionType, arguments: tuple[Any, ...]) -> None:
        """Compile a function for arguments of the same types as `arguments`."""
        compiler = Compiler(_LIBRARY, is_checked=False)
        templates = tuple(map(_make_template, arguments))
        bound = signature(function).bind(*templates)
        bound.apply_defaults()
        compiled = compiler.compile(function, bound.arguments)
        assert compiled is not None

        def make_error(code: int) -> Any:
            error_type, _, message = compiler.failures[code].text.partition(": ")
            return getattr(builtins, error_type)(message)

        entry = _EntryWriter(templates, compiled, make_error).to_ir()
        code = MachineCode("\n".join([compiler.module.to_ir(), entry]), optimization_level=3)
        # the machine code holds the addresses of these objects
        self.run = code.python_function("entry", (templates, make_error))


def _to_int(body: Body, value: Any = 0) -> Any:
    if isinstance(value, Scalar) and value.kind is Kind.FLOAT:
        return Scalar(Kind.INT, body.emit.value(f"fptosi double {value.operand} to i64"))
    return LIBRARY[int](body, value)


_UNTESTED = {
    math.exp: lambda body, value: emit_c_call(body, "exp", value),
    math.log: lambda body, value: emit_c_call(body, "log", value),
    int: _to_int,
}
_LIBRARY: ChainMap[Any, Callable[..., Any]] = ChainMap(_UNTESTED, LIBRARY)
"""The language's library, without tests of what `math` returns and of floats that are no `int`."""


@cache
def compile_function(function: FunctionType) -> CompiledFunction:
    """Return the compiled version of a Python function of numbers and arrays; a call with arguments
    of new types compiles it, in some milliseconds."""
    return CompiledFunction(function)


def _make_version_key(argument: Any) -> Any:
    """Return a hashable key of an argument's type, such as int, or dtype and number of axes of an
    array. Arguments with equal keys use the same machine code."""
    if isinstance(argument, tuple):
        return tuple(map(_make_version_key, argument))
    if isinstance(argument, np.ndarray):
        return argument.dtype, argument.ndim, argument.flags.c_contiguous
    return type(argument) if type(argument) in _KINDS else id(argument)


def _make_template(argument: Any) -> Any:
    """Return the compile-time value that stands for an argument, for example `Scalar(INT, "")` for
    3: with the argument's type, but blank LLVM names."""
    if isinstance(argument, tuple):
        return tuple(map(_make_template, argument))
    if isinstance(argument, np.ndarray):
        length = Scalar(Kind.INT, "", low=0)
        shape = strides = (length,) * argument.ndim
        is_contiguous = argument.flags.c_contiguous
        if is_contiguous and argument.ndim:
            strides = (*strides[:-1], argument.dtype.itemsize)
        return ArrayValue(
            "",
            shape,
            strides,
            argument.dtype,
            record=RecordType(argument.dtype) if argument.dtype.names else None,
            is_contiguous=is_contiguous,
            is_numpy=False,
        )
    return Scalar(_KINDS[type(argument)], "") if type(argument) in _KINDS else argument


class _EntryWriter:
    """Generates the C function that Python calls (METH_FASTCALL: with an array of Python objects).
    It reads the arguments, calls the compiled function without the GIL, and returns a Python
    object."""

    def __init__(
        self, templates: Sequence[Any], compiled: Compiled, make_error: Callable[[int], Exception]
    ) -> None:
        """Prepare the C function around the function `compiled`. `templates` has the compile-time
        value of each argument, with blank LLVM names. `make_error` returns the exception for an
        error code."""
        self._templates, self._version, self._emit = templates, compiled, Emitter()
        self._make_error = make_error
        self._no_match_label = self._emit.new_block()
        self._has_integers = False

    def to_ir(self) -> str:
        """Return the LLVM IR of the C function."""
        emit, version = self._emit, self._version
        self._emit_guard(f"icmp eq i64 %count, {len(self._templates)}")
        objects = [
            self._load("ptr", "%args", _POINTER_SIZE * k) for k in range(len(self._templates))
        ]
        arguments = list(map(self._unbox, self._templates, objects))
        if self._has_integers:
            self._return_if_pending_error()
        arena = emit.alloca(f"[{ARENA_BYTES} x i8], align 16")
        emit.do(f"store i64 {ARENA_HEAD}, ptr {arena}")
        emit.do(f"store i64 {ARENA_BYTES}, ptr {emit.offset(arena, 8)}")
        thread_state = emit.value(f"call ptr {_address('PyEval_SaveThread')}()")
        passed = [f"{leaf.llvm} {leaf.operand}" for value in arguments for leaf in leaves(value)]
        results = emit.call(version.name, version.returns, [f"ptr {arena}", *passed])
        emit.do(f"call void {_address('PyEval_RestoreThread')}(ptr {thread_state})")
        if version.fails:
            self._raise_if(results.pop(0))
        emit.terminate(f"ret ptr {self._box(rebuild(version.result, iter(results)))}")
        emit.start_block(self._no_match_label)
        emit.terminate(f"ret ptr {self._new_reference(_NO_MATCH)}")
        head = "define ptr @entry(ptr %self, ptr %args, i64 %count) nounwind"
        return f"{head} {{\n{emit.to_ir()}\n}}"

    def _return_if_pending_error(self) -> None:
        """Emit a return if Python has raised an exception, for example for an integer of more than
        64 bits."""
        error = self._emit.value(f"call ptr {_address('PyErr_Occurred')}()")
        error_label, next_label = self._emit.new_block(), self._emit.new_block()
        is_none = self._emit.value(f"icmp eq ptr {error}, null")
        self._emit.branch(is_none, next_label, error_label)
        self._emit.start_block(error_label)
        self._emit.terminate("ret ptr null")
        self._emit.start_block(next_label)

    # ---- arguments -------------------------------------------------------------------------------

    def _unbox(self, template: Any, pyobject: str) -> Any:
        """Emit code that reads an argument from a Python object, and return its value. If the
        object has another type than `template`, the C function returns `_NO_MATCH`."""
        match template:
            case Scalar(kind=Kind.BOOL):
                is_true = self._emit.value(f"icmp eq ptr {pyobject}, {_pointer(True)}")
                is_false = self._emit.value(f"icmp eq ptr {pyobject}, {_pointer(False)}")
                self._emit_guard(f"or i1 {is_true}, {is_false}")
                return Scalar(Kind.BOOL, is_true)
            case Scalar(kind=Kind.INT):
                self._guard_type(pyobject, int)
                self._has_integers = True
                call = f"call i64 {_address('PyLong_AsLongLong')}(ptr {pyobject})"
                return Scalar(Kind.INT, self._emit.value(call))
            case Scalar():
                self._guard_type(pyobject, float)
                call = f"call double {_address('PyFloat_AsDouble')}(ptr {pyobject})"
                return Scalar(Kind.FLOAT, self._emit.value(call))
            case ArrayValue():
                self._guard_array(template, pyobject)
                return self._load_array(template, pyobject)
            case tuple():
                return self._unbox_tuple(template, pyobject)
        self._emit_guard(f"icmp eq ptr {pyobject}, {_pointer(template)}")
        return template

    def _unbox_tuple(self, template: tuple[Any, ...], pyobject: str) -> tuple[Any, ...]:
        """Emit code that reads the items of a Python tuple, and return their values. If the items
        have other types than those of `template`, the C function returns `_NO_MATCH`."""
        self._guard_type(pyobject, tuple)
        size = self._load("i64", pyobject, _HEAD_SIZE)
        self._emit_guard(f"icmp eq i64 {size}, {len(template)}")
        items = [
            self._load("ptr", pyobject, tuple.__basicsize__ + _POINTER_SIZE * k)
            for k in range(len(template))
        ]
        return tuple(map(self._unbox, template, items))

    def _guard_array(self, template: ArrayValue, pyobject: str) -> None:
        """Emit code that makes the C function return `_NO_MATCH` unless a Python object is an array
        with the dtype, number of axes and contiguity of `template`."""
        self._guard_type(pyobject, np.ndarray)
        ndim = self._load("i32", pyobject, _ARRAY_OFFSETS["nd"])
        self._emit_guard(f"icmp eq i32 {ndim}, {len(template.shape)}")
        dtype = self._load("ptr", pyobject, _ARRAY_OFFSETS["descr"])
        self._emit_guard(f"icmp eq ptr {dtype}, {_pointer(template.dtype)}")
        flags = self._load("i32", pyobject, _ARRAY_OFFSETS["flags"])
        flag = self._emit.value(f"and i32 {flags}, {_C_CONTIGUOUS_FLAG}")
        self._emit_guard(f"icmp eq i32 {flag}, {int(template.is_contiguous)}")

    def _load_array(self, template: ArrayValue, pyobject: str) -> ArrayValue:
        """Emit loads of the address, shape and strides of a NumPy array, and return its value.
        `template` has its dtype and number of axes."""
        ndim = len(template.shape)
        pointer = self._load("ptr", pyobject, _ARRAY_OFFSETS["data"])
        dimensions = self._load("ptr", pyobject, _ARRAY_OFFSETS["dimensions"])
        lengths = [self._load("i64", dimensions, 8 * k) for k in range(ndim)]
        if template.is_contiguous:
            # computed, as LLVM then knows them; the last one is a constant of the template
            strides = [str(template.dtype.itemsize)] * ndim
            for k in range(ndim - 2, -1, -1):
                strides[k] = self._emit.value(f"mul i64 {lengths[k + 1]}, {strides[k + 1]}")
            strides = strides[:-1]
        else:
            stride_pointer = self._load("ptr", pyobject, _ARRAY_OFFSETS["strides"])
            strides = [self._load("i64", stride_pointer, 8 * k) for k in range(ndim)]
        array: ArrayValue = rebuild(template, iter([pointer, *lengths, *strides]))
        return array

    def _guard_type(self, pyobject: str, cls: type) -> None:
        object_type = self._load("ptr", pyobject, _TYPE_OFFSET)
        self._emit_guard(f"icmp eq ptr {object_type}, {_pointer(cls)}")

    def _emit_guard(self, condition: str) -> None:
        """Emit a test that leaves the function with `_NO_MATCH` if a condition does not hold."""
        next_label = self._emit.new_block()
        self._emit.branch(self._emit.value(condition), next_label, self._no_match_label)
        self._emit.start_block(next_label)

    def _load(self, llvm: str, pointer: str, offset: int) -> str:
        return self._emit.value(f"load {llvm}, ptr {self._emit.offset(pointer, offset)}")

    # ---- results ---------------------------------------------------------------------------------

    def _box(self, value: Any) -> str:
        """Emit code that makes a Python object from the function's result `value`; return the LLVM
        name of the reference."""
        if isinstance(value, Scalar):
            return self._box_number(value)
        if isinstance(value, tuple | list) and not is_known(value):
            prefix = "PyList" if isinstance(value, list) else "PyTuple"
            items = self._emit.value(f"call ptr {_address(f'{prefix}_New')}(i64 {len(value)})")
            for k, item in enumerate(value):
                arguments = f"ptr {items}, i64 {k}, ptr {self._box(item)}"
                self._emit.value(f"call i32 {_address(f'{prefix}_SetItem')}({arguments})")
            return items
        return self._new_reference(value)

    def _box_number(self, number: Scalar) -> str:
        """Emit code that makes a Python number; return the LLVM name of the reference."""
        argument = f"{number.kind.llvm} {number.operand}"
        match number.kind:
            case Kind.FLOAT:
                function = "PyFloat_FromDouble"
            case Kind.BOOL:
                function = "PyBool_FromLong"
                argument = f"i64 {self._emit.value(f'zext {argument} to i64')}"
            case Kind.INT:
                function = "PyLong_FromLongLong"
            case Kind.UINT:
                function = "PyLong_FromUnsignedLongLong"
        return self._emit.value(f"call ptr {_address(function)}({argument})")

    def _new_reference(self, value: Any) -> str:
        self._emit.do(f"call void {_address('Py_IncRef')}(ptr {_pointer(value)})")
        return _pointer(value)

    def _raise_if(self, code: str) -> None:
        """Emit code that raises a Python exception and returns, unless the error code in the LLVM
        value `code` is 0."""
        error_label, next_label = self._emit.new_block(), self._emit.new_block()
        self._emit.branch(self._emit.value(f"icmp ne i32 {code}, 0"), error_label, next_label)
        self._emit.start_block(error_label)
        number = self._box(Scalar(Kind.INT, self._emit.value(f"zext i32 {code} to i64")))
        arguments = f"ptr {_pointer(self._make_error)}, ptr {number}"
        error = self._emit.value(f"call ptr {_address('PyObject_CallOneArg')}({arguments})")
        arguments = f"ptr {self._load('ptr', error, _TYPE_OFFSET)}, ptr {error}"
        self._emit.do(f"call void {_address('PyErr_SetObject')}({arguments})")
        for reference in (number, error):
            self._emit.do(f"call void {_address('Py_DecRef')}(ptr {reference})")
        self._emit.terminate("ret ptr null")
        self._emit.start_block(next_label)


@cache
def _address(name: str) -> str:
    """Return the address of a function of Python's C API as an LLVM constant."""
    function = getattr(ctypes.pythonapi, name)
    return f"inttoptr (i64 {ctypes.cast(function, ctypes.c_void_p).value} to ptr)"


def _pointer(value: Any) -> str:
    """Return the address of a Python object as an LLVM constant."""
    return f"inttoptr (i64 {id(value)} to ptr)"
