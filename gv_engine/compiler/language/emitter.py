"""Text of LLVM IR: the blocks of one function, and the globals of a module."""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.language.values import Kind, Scalar, narrow_of

NOTHING_MORE = "!0"
"""Empty metadata."""
BURN = "gv_engine_burn"
"""Function that stops a program whose loops have taken too many turns."""


class Emitter:
    """Instructions of one function, block by block.

    Args:
        guards_loops: call `BURN` in each turn of a loop.

    Attributes:
        block: label of the block that instructions go into; None after a branch.
        has_loops: True after a jump back.
    """

    has_loops = False

    def __init__(self, guards_loops: bool = False) -> None:
        self._guards_loops, self._started = guards_loops, set[str]()
        self._lines: dict[str, list[str]] = {}
        self._head: list[str] = []
        self._count = 0
        self._dead: set[str] = set()
        self.block: str | None = None
        self._lines["entry"] = []
        self.start("entry")

    def new_block(self) -> str:
        """Return the label of a new, empty block."""
        self._count += 1
        label = f"b{self._count}"
        self._lines[label] = []
        return label

    def start(self, label: str) -> None:
        """Let the next instructions go into a block."""
        self.block = label
        self._started.add(label)

    def start_dead(self) -> None:
        """Let the next instructions go into a block that is never reached."""
        self.start(self.new_block())
        assert self.block is not None
        self._dead.add(self.block)

    def is_open(self) -> bool:
        """Return True if the program can reach the next instruction; else end the block."""
        if self.block in self._dead:
            self.end("unreachable")
        return self.block is not None

    def do(self, text: str) -> None:
        """Add an instruction without a result."""
        assert self.block is not None
        self._lines[self.block].append(text)

    def get(self, text: str) -> str:
        """Add an instruction; return the name of its result."""
        name = self.new_name()
        self.do(f"{name} = {text}")
        return name

    def test(self, text: str) -> Scalar:
        """Add an instruction whose result is an i1; return it as a truth value."""
        return Scalar(Kind.BOOL, self.get(text), 0, 1)

    def offset(self, pointer: str, offset: int | str) -> str:
        """Return an address some bytes behind another one."""
        if offset in (0, "0"):
            return pointer
        return self.get(f"getelementptr i8, ptr {pointer}, i64 {offset}")

    def call(self, name: str, returns: Sequence[str], arguments: Sequence[str]) -> list[str]:
        """Call a function of the module whose results have these types; return its results."""
        kind = join_types(returns)
        text = f'call {kind} @"{name}"({", ".join(arguments)})'
        if not returns:
            self.do(text)
            return []
        whole = self.get(text)
        if len(returns) == 1:
            return [whole]
        return [self.get(f"extractvalue {kind} {whole}, {k}") for k in range(len(returns))]

    def new_name(self) -> str:
        """Return a name for the result of an instruction."""
        self._count += 1
        return f"%v{self._count}"

    def slot(self, llvm: str) -> str:
        """Return the address of new memory for one value, for the whole run of the function."""
        self._count += 1
        name = f"%s{self._count}"
        self._head.append(f"{name} = alloca {llvm}")
        return name

    def get_first(self, text: str) -> str:
        """Add an instruction at the begin of the function; return the name of its result."""
        name = self.new_name()
        self._head.append(f"{name} = {text}")
        return name

    def reserve(self) -> Callable[[str], str]:
        """Return a function that adds an instruction in this place, as `get` does."""
        assert self.block is not None
        lines = self._lines[self.block]
        place = len(lines)

        def get_here(text: str) -> str:
            name = self.new_name()
            lines.insert(place, f"{name} = {text}")
            return name

        return get_here

    def jump(self, label: str) -> None:
        """End the block with a jump."""
        if label in self._started:
            self.has_loops = True
            if self._guards_loops:
                self.do(f"call void @{BURN}()")
        self.end(f"br label %{label}")

    def branch(self, condition: str, then: str, otherwise: str) -> None:
        """End the block with a branch on an i1."""
        self.end(f"br i1 {condition}, label %{then}, label %{otherwise}")

    def end(self, text: str) -> None:
        """End the block with a return or `unreachable`."""
        self.do(text)
        self.block = None

    def phi(self, llvm: str, sources: Iterable[tuple[str, str]]) -> str:
        """Return the value among (value, block) pairs of the block that the program came from."""
        pairs = ", ".join(f"[ {text}, %{block} ]" for text, block in sources)
        return self.get(f"phi {llvm} {pairs}")

    def write(self) -> str:
        """Return the text of all blocks."""
        (_, first), *others = self._lines.items()
        blocks = [f"{label}:\n  " + "\n  ".join(lines) for label, lines in others if lines]
        return "\n".join(["entry:", *self._head, *first, *blocks])


def join_types(returns: Sequence[str]) -> str:
    """Return the LLVM type of a function with results of these types."""
    if len(returns) < 2:
        return returns[0] if returns else "void"
    return "{" + ", ".join(returns) + "}"


def float_text(value: float) -> str:
    """Return a float as an LLVM constant, all bits exact."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def constant(value: bool | int | float | np.uint64) -> Scalar:
    """Return a known number as a number of the running program."""
    if isinstance(value, bool | np.bool_):
        return Scalar(Kind.BOOL, "true" if value else "false", int(value), int(value))
    if isinstance(value, np.uint64):
        return Scalar(Kind.UINT, str(int(value)))
    if isinstance(value, int | np.integer):
        return Scalar(Kind.INT, str(int(value)), int(value), int(value), narrow_of(value))
    return Scalar(Kind.FLOAT, float_text(float(value)), narrow=narrow_of(value))


ATTRIBUTES = "nounwind"
"""Attributes of functions, behind their arguments."""
LARGEST = 1500
"""Lines of a function, with those that become part of it, that becomes part of its only caller."""
_DEFINED, _CALLED = re.compile(r'^define [^@]*@"([^"]+)"'), re.compile(r'call [^@\n]*@"([^"]+)"')


class Module:
    """Functions, constant arrays and declarations of one LLVM module.

    Attributes:
        guards_loops: True to call `BURN`, which the module does not define, in each turn of a loop.
        inlined: length of the text of functions that become part of their callers; and of those
            with one call.
    """

    guards_loops = False
    inlined = (0.0, math.inf)

    def __init__(self) -> None:
        self.functions: list[str] = []
        self._declarations: dict[str, str] = {}
        self._arrays: dict[tuple[str, bytes], str] = {}
        self._tables: dict[str, str] = {}

    def declare(self, name: str, result: str, arguments: str, attributes: str = "") -> str:
        """Declare a function of the C library or of LLVM; return its name in calls."""
        text = f"declare {result} @{name}({arguments}) nounwind willreturn {attributes}".rstrip()
        self._declarations[name] = text
        return f"@{name}"

    def array(self, values: NDArray[Any]) -> str:
        """Return the address of constant memory with the elements of a C-contiguous array."""
        key = values.dtype.str, values.tobytes()
        return self._arrays.setdefault(key, f"@array{len(self._arrays)}")

    def table(self, llvm: str, values: Sequence[str]) -> str:
        """Return the address of constant memory with LLVM values of one type."""
        text = f"[{len(values)} x {llvm}] [" + ", ".join(f"{llvm} {each}" for each in values) + "]"
        return self._tables.setdefault(text, f"@table{len(self._tables)}")

    def write(self) -> str:
        """Return the text of the module.

        A function with one call becomes part of its caller before LLVM simplifies any code. Else it
        would be simplified again with every caller around it, which takes three times as long. Only
        large ones stay apart: the time for a function grows faster than its size.
        """
        called = {text: _CALLED.findall(text) for text in self.functions}
        calls = Counter(chain.from_iterable(called.values()))
        sizes: dict[str, int] = {}
        functions = []
        for text, names in called.items():  # callers follow what they call
            name = _DEFINED.findall(text)[0]
            size = text.count("\n") + sum(sizes.get(each, 0) for each in names)
            if len(text) < self.inlined[calls[name] == 1]:
                word = "noinline" if size > LARGEST else "alwaysinline"
                text = text.replace(ATTRIBUTES, f"{ATTRIBUTES} {word}", 1)
                if size <= LARGEST:
                    sizes[name] = size
            functions.append(text)
        if self.guards_loops:
            functions.append(f"declare void @{BURN}() nounwind")
        kind = "private unnamed_addr constant"
        arrays = [f"{name} = {kind} {text}" for text, name in self._tables.items()]
        for (_, data), name in self._arrays.items():
            text = "".join(map("\\{:02X}".format, data))
            arrays.append(f'{name} = {kind} [{len(data)} x i8] c"{text}", align 64')
        arrays.append(f"{NOTHING_MORE} = !{{}}")
        return "\n".join([*arrays, *self._declarations.values(), *functions])
