"""Single functions of numbers and arrays as machine code, called from Python.

A function is compiled once for each form of its arguments: the types of numbers, and dtype, number
of axes and contiguity of arrays. The machine code reads Python's objects itself, and returns
`_OTHER` for arguments of another form; so a call costs less than a microsecond.
"""

from __future__ import annotations

import builtins
import ctypes
import math
from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from inspect import signature
from itertools import chain
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
_OTHER = object()
"""Result of machine code for arguments of another form."""
_HEAD = object.__basicsize__
_NUMBERS = {int: Kind.INT, bool: Kind.BOOL, float: Kind.FLOAT}
_POINTER = ctypes.sizeof(ctypes.c_void_p)
_CONTIGUOUS = 1


class CompiledFunction:
    """Compiled version of a Python function of numbers, arrays and tuples of them. It runs without
    the GIL and without tests of indices."""

    def __init__(self, function: FunctionType) -> None:
        self.__wrapped__ = function
        self._versions: dict[Any, _Version] = {}
        self._dtypes: dict[np.dtype[Any], np.dtype[Any]] = {}
        self._kept: list[Any] = []
        self._lock = Lock()

    def __call__(self, *values: Any) -> Any:
        """Return the result for these arguments.

        Raises:
            DoesNotCompileError: the function has no compiled version for them.
        """
        for version in [*self._versions.values()]:
            if (result := version.run(*values)) is not _OTHER:
                return result
        plain = tuple(map(self._to_plain, values))
        form = tuple(map(_describe, plain))
        with self._lock:
            if form not in self._versions:
                self._versions[form] = _Version(self.__wrapped__, plain)
        return self._versions[form].run(*plain)

    def _to_plain(self, value: Any) -> Any:
        """Return an argument as a number of Python, or an array whose dtype is the very object that
        the machine code compares with."""
        if isinstance(value, tuple):
            return tuple(map(self._to_plain, value))
        if isinstance(value, np.ndarray):
            return value.view(np.ndarray).view(self._dtypes.setdefault(value.dtype, value.dtype))
        return value.item() if isinstance(value, np.generic) else value


class _Version:
    """Machine code for one form of the arguments.

    Attributes:
        run: returns the result, or `_OTHER` for arguments of another form.
    """

    def __init__(self, function: FunctionType, values: tuple[Any, ...]) -> None:
        compiler = Compiler(_LIBRARY, is_checked=False)
        forms = tuple(map(_make_form, values))
        bound = signature(function).bind(*forms)
        bound.apply_defaults()
        compiled = compiler.compile(function, bound.arguments)
        assert compiled is not None

        def make_error(code: int) -> Any:
            kind, _, message = compiler.failures[code].text.partition(": ")
            return getattr(builtins, kind)(message)

        text = _Entry(forms, compiled, make_error).write()
        code = MachineCode("\n".join([compiler.module.to_ir(), text]), level=3)
        # the code has the addresses of these objects
        self.run = code.python_function("entry", (forms, make_error))


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
    of a new form compiles it, in some milliseconds."""
    return CompiledFunction(function)


def _describe(value: Any) -> Any:
    """Return a key that is equal for values of one form."""
    if isinstance(value, tuple):
        return tuple(map(_describe, value))
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.c_contiguous
    return type(value) if type(value) in _NUMBERS else id(value)


def _make_form(value: Any) -> Any:
    """Return an argument of the compiled function, with blank LLVM values."""
    if isinstance(value, tuple):
        return tuple(map(_make_form, value))
    if isinstance(value, np.ndarray):
        record = RecordType(value.dtype) if value.dtype.names else None
        sizes = [Scalar(Kind.INT, "", 0) for _ in range(2 * value.ndim)]
        parts = tuple(sizes[: value.ndim]), tuple(sizes[value.ndim :])
        contiguous = value.flags.c_contiguous
        if contiguous and value.ndim:
            parts = parts[0], (*parts[1][:-1], value.dtype.itemsize)
        array = ArrayValue("", *parts, value.dtype, record=record, is_contiguous=contiguous)
        return replace(array, is_numpy=False)
    return Scalar(_NUMBERS[type(value)], "") if type(value) in _NUMBERS else value


class _Entry:
    """Writes the function that Python calls: METH_FASTCALL, with an array of Python's objects."""

    def __init__(
        self, forms: Sequence[Any], version: Compiled, make_error: Callable[[int], Exception]
    ) -> None:
        self._forms, self._version, self._emit = forms, version, Emitter()
        self._make_error = make_error
        self._other = self._emit.new_block()
        self._has_integers = False

    def write(self) -> str:
        """Return the text of the function."""
        emit, version = self._emit, self._version
        self._require(f"icmp eq i64 %count, {len(self._forms)}")
        items = [self._load("ptr", "%args", _POINTER * k) for k in range(len(self._forms))]
        values = [self._unbox(form, item) for form, item in zip(self._forms, items)]
        if self._has_integers:
            pending = emit.value(f"call ptr {_address('PyErr_Occurred')}()")
            none, more = emit.new_block(), emit.new_block()
            emit.branch(emit.value(f"icmp eq ptr {pending}, null"), more, none)
            emit.start_block(none)
            emit.terminate("ret ptr null")
            emit.start_block(more)
        arena = emit.alloca(f"[{ARENA_BYTES} x i8], align 16")
        emit.do(f"store i64 {ARENA_HEAD}, ptr {arena}")
        emit.do(f"store i64 {ARENA_BYTES}, ptr {self._emit.offset(arena, 8)}")
        state = emit.value(f"call ptr {_address('PyEval_SaveThread')}()")
        parts = chain.from_iterable(leaves(value) for value in values)
        texts = [f"ptr {arena}", *(f"{leaf.llvm} {leaf.operand}" for leaf in parts)]
        found = emit.call(version.name, version.returns, texts)
        emit.do(f"call void {_address('PyEval_RestoreThread')}(ptr {state})")
        if version.fails:
            self._raise_if(found.pop(0))
        emit.terminate(f"ret ptr {self._box(rebuild(version.result, iter(found)))}")
        emit.start_block(self._other)
        emit.terminate(f"ret ptr {self._share(_OTHER)}")
        head = "define ptr @entry(ptr %self, ptr %args, i64 %count) nounwind"
        return f"{head} {{\n{emit.to_ir()}\n}}"

    # ---- arguments -------------------------------------------------------------------------------

    def _unbox(self, form: Any, item: str) -> Any:
        """Return an argument with the LLVM values of a Python object; leave the function if it is
        of another form."""
        match form:
            case Scalar(kind=Kind.BOOL):
                truth = self._emit.value(f"icmp eq ptr {item}, {_pointer(True)}")
                lie = self._emit.value(f"icmp eq ptr {item}, {_pointer(False)}")
                self._require(f"or i1 {truth}, {lie}")
                return Scalar(Kind.BOOL, truth)
            case Scalar(kind=Kind.INT):
                self._require_type(item, int)
                self._has_integers = True
                call = f"call i64 {_address('PyLong_AsLongLong')}(ptr {item})"
                return Scalar(Kind.INT, self._emit.value(call))
            case Scalar():
                self._require_type(item, float)
                call = f"call double {_address('PyFloat_AsDouble')}(ptr {item})"
                return Scalar(Kind.FLOAT, self._emit.value(call))
            case ArrayValue():
                return self._unbox_array(form, item)
            case tuple():
                self._require_type(item, tuple)
                self._require(f"icmp eq i64 {self._load('i64', item, _HEAD)}, {len(form)}")
                start = tuple.__basicsize__
                parts = [self._load("ptr", item, start + _POINTER * k) for k in range(len(form))]
                return tuple(map(self._unbox, form, parts))
        self._require(f"icmp eq ptr {item}, {_pointer(form)}")
        return form

    def _unbox_array(self, form: ArrayValue, item: str) -> ArrayValue:
        """Return an array with its address, lengths and strides, which stand in C's
        `PyArrayObject`."""
        self._require_type(item, np.ndarray)
        axes, contiguous = len(form.shape), int(form.is_contiguous)
        names = "data", "nd", "dimensions", "strides", "base", "descr", "flags"
        place = {name: _HEAD + _POINTER * k for k, name in enumerate(names)}
        self._require(f"icmp eq i32 {self._load('i32', item, place['nd'])}, {axes}")
        descr = self._load("ptr", item, place["descr"])
        self._require(f"icmp eq ptr {descr}, {_pointer(form.dtype)}")
        flags = self._load("i32", item, place["flags"])
        flag = self._emit.value(f"and i32 {flags}, {_CONTIGUOUS}")
        self._require(f"icmp eq i32 {flag}, {contiguous}")
        texts = [self._load("ptr", item, place["data"])]
        dimensions = self._load("ptr", item, place["dimensions"])
        lengths = [self._load("i64", dimensions, 8 * k) for k in range(axes)]
        if contiguous:
            strides = [str(form.dtype.itemsize)] * axes
            for k in range(axes - 2, -1, -1):
                strides[k] = self._emit.value(f"mul i64 {lengths[k + 1]}, {strides[k + 1]}")
            strides = strides[:-1]
        else:
            start = self._load("ptr", item, place["strides"])
            strides = [self._load("i64", start, 8 * k) for k in range(axes)]
        array: ArrayValue = rebuild(form, iter([*texts, *lengths, *strides]))
        return array

    def _require_type(self, item: str, cls: type) -> None:
        kind = self._load("ptr", item, _HEAD - _POINTER)
        self._require(f"icmp eq ptr {kind}, {_pointer(cls)}")

    def _require(self, condition: str) -> None:
        more = self._emit.new_block()
        self._emit.branch(self._emit.value(condition), more, self._other)
        self._emit.start_block(more)

    def _load(self, llvm: str, pointer: str, offset: int) -> str:
        return self._emit.value(f"load {llvm}, ptr {self._emit.offset(pointer, offset)}")

    # ---- results ---------------------------------------------------------------------------------

    def _box(self, value: Any) -> str:
        """Return a new reference to a Python object."""
        if isinstance(value, Scalar):
            return self._box_number(value)
        if isinstance(value, tuple | list) and not is_known(value):
            kind = "PyList" if isinstance(value, list) else "PyTuple"
            made = self._emit.value(f"call ptr {_address(f'{kind}_New')}(i64 {len(value)})")
            for k, part in enumerate(value):
                put = f"ptr {made}, i64 {k}, ptr {self._box(part)}"
                self._emit.value(f"call i32 {_address(f'{kind}_SetItem')}({put})")
            return made
        return self._share(value)

    def _box_number(self, value: Scalar) -> str:
        match value.kind:
            case Kind.FLOAT:
                return self._emit.value(
                    f"call ptr {_address('PyFloat_FromDouble')}(double {value.operand})"
                )
            case Kind.BOOL:
                wide = self._emit.value(f"zext i1 {value.operand} to i64")
                return self._emit.value(f"call ptr {_address('PyBool_FromLong')}(i64 {wide})")
            case Kind.INT:
                name = "PyLong_FromLongLong"
            case Kind.UINT:
                name = "PyLong_FromUnsignedLongLong"
        return self._emit.value(f"call ptr {_address(name)}(i64 {value.operand})")

    def _share(self, value: Any) -> str:
        self._emit.do(f"call void {_address('Py_IncRef')}(ptr {_pointer(value)})")
        return _pointer(value)

    def _raise_if(self, code: str) -> None:
        """Leave the function with an exception if the error code is not 0."""
        failed, more = self._emit.new_block(), self._emit.new_block()
        self._emit.branch(self._emit.value(f"icmp ne i32 {code}, 0"), failed, more)
        self._emit.start_block(failed)
        number = self._box(Scalar(Kind.INT, self._emit.value(f"zext i32 {code} to i64")))
        values = f"ptr {_pointer(self._make_error)}, ptr {number}"
        error = self._emit.value(f"call ptr {_address('PyObject_CallOneArg')}({values})")
        pair = f"ptr {self._load('ptr', error, _HEAD - _POINTER)}, ptr {error}"
        self._emit.do(f"call void {_address('PyErr_SetObject')}({pair})")
        for each in (number, error):
            self._emit.do(f"call void {_address('Py_DecRef')}(ptr {each})")
        self._emit.terminate("ret ptr null")
        self._emit.start_block(more)


@cache
def _address(name: str) -> str:
    function = getattr(ctypes.pythonapi, name)
    return f"inttoptr (i64 {ctypes.cast(function, ctypes.c_void_p).value} to ptr)"


def _pointer(value: Any) -> str:
    return f"inttoptr (i64 {id(value)} to ptr)"
