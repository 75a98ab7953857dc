"""Text of LLVM IR: instructions of one function in basic blocks, and globals of a module."""

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

from gv_engine.compiler.language.values import Kind, Scalar, narrow_dtype_of

EMPTY_METADATA = "!0"
BURN = "gv_engine_burn"
"""Function that stops a program whose loops have taken too many turns."""


class Emitter:
    """Writer of the LLVM instructions of one function, block by block. A block is a sequence of
    instructions without jumps.

    Args:
        guards_loops: call `BURN` in each turn of a loop.

    Attributes:
        block: label of the block that instructions are added to; None after its last one.
        has_loops: True after a jump back.
    """

    has_loops = False

    def __init__(self, guards_loops: bool = False) -> None:
        """Begin an empty function. If `guards_loops`, each loop calls a function that can stop the
        program."""
        self._guards_loops = guards_loops
        self._blocks: dict[str, list[str]] = {"entry": []}
        self._entry_lines: list[str] = []  # before those of the block "entry"
        self._started: set[str] = set()
        self._unreachable: set[str] = set()
        self._count = 0
        self.block: str | None = None
        self.start_block("entry")

    def new_block(self) -> str:
        """Return a new label for a block that is written later, with `start_block`."""
        self._count += 1
        label = f"b{self._count}"
        self._blocks[label] = []
        return label

    def start_block(self, label: str) -> None:
        """Let the next instructions go into a block."""
        self.block = label
        self._started.add(label)

    def start_unreachable(self) -> None:
        """Let the next instructions go into a new block that is never reached."""
        label = self.new_block()
        self.start_block(label)
        self._unreachable.add(label)

    def is_reachable(self) -> bool:
        """Return True if the program can reach the next instruction; else end the block."""
        if self.block in self._unreachable:
            self.terminate("unreachable")
        return self.block is not None

    def do(self, instruction: str) -> None:
        """Emit an instruction without a result."""
        assert self.block is not None
        self._blocks[self.block].append(instruction)

    def value(self, instruction: str) -> str:
        """Emit an instruction; return the name of its result."""
        name = self.new_name()
        self.do(f"{name} = {instruction}")
        return name

    def condition(self, instruction: str) -> Scalar:
        """Emit an instruction whose result is an i1; return it as a BOOL."""
        return Scalar(Kind.BOOL, self.value(instruction), 0, 1)

    def offset(self, pointer: str, num_bytes: int | str) -> str:
        """Emit the address `num_bytes` behind a pointer."""
        if num_bytes in (0, "0"):
            return pointer
        return self.value(f"getelementptr i8, ptr {pointer}, i64 {num_bytes}")

    def call(self, name: str, returns: Sequence[str], arguments: Sequence[str]) -> list[str]:
        """Emit a call of a function of this module; return the LLVM names of its results, which
        have the LLVM types `returns`."""
        return_type = join_types(returns)
        call = f'call {return_type} @"{name}"({", ".join(arguments)})'
        if not returns:
            self.do(call)
            return []
        result = self.value(call)
        if len(returns) == 1:
            return [result]
        indices = range(len(returns))
        return [self.value(f"extractvalue {return_type} {result}, {k}") for k in indices]

    def new_name(self) -> str:
        """Return a name for the result of an instruction."""
        self._count += 1
        return f"%v{self._count}"

    def alloca(self, llvm_type: str) -> str:
        """Emit an allocation of stack memory for a value of this LLVM type; return the LLVM name of
        its address. The memory exists until the function returns."""
        self._count += 1
        name = f"%s{self._count}"
        self._entry_lines.append(f"{name} = alloca {llvm_type}")
        return name

    def value_at_entry(self, instruction: str) -> str:
        """Emit an instruction at the start of the function; return the name of its result."""
        name = self.new_name()
        self._entry_lines.append(f"{name} = {instruction}")
        return name

    def reserve_position(self) -> Callable[[str], str]:
        """Return a function that inserts an instruction at the present position, to be called
        later. It returns the LLVM name of the instruction's result."""
        assert self.block is not None
        lines = self._blocks[self.block]
        position = len(lines)

        def insert_value(instruction: str) -> str:
            name = self.new_name()
            lines.insert(position, f"{name} = {instruction}")
            return name

        return insert_value

    def jump(self, label: str) -> None:
        """End the present block with a jump to the block `label`."""
        if label in self._started:
            self.has_loops = True
            if self._guards_loops:
                self.do(f"call void @{BURN}()")
        self.terminate(f"br label %{label}")

    def branch(self, condition: str, then_label: str, else_label: str) -> None:
        """End the block with a branch on an i1."""
        self.terminate(f"br i1 {condition}, label %{then_label}, label %{else_label}")

    def terminate(self, instruction: str) -> None:
        """End the block with a jump, a branch, a return or `unreachable`."""
        self.do(instruction)
        self.block = None

    def phi(self, llvm_type: str, incoming: Iterable[tuple[str, str]]) -> str:
        """Emit a phi node; `incoming` are (operand, label of the block that it comes from)."""
        pairs = ", ".join(f"[ {operand}, %{label} ]" for operand, label in incoming)
        return self.value(f"phi {llvm_type} {pairs}")

    def to_ir(self) -> str:
        """Return the text of all blocks that have instructions."""
        (_, entry), *others = self._blocks.items()
        blocks = [f"{label}:\n  " + "\n  ".join(lines) for label, lines in others if lines]
        return "\n".join(["entry:", *self._entry_lines, *entry, *blocks])


def join_types(returns: Sequence[str]) -> str:
    """Return the LLVM type of a function with results of these types."""
    if len(returns) < 2:
        return returns[0] if returns else "void"
    return "{" + ", ".join(returns) + "}"


def format_float(value: float) -> str:
    """Return a float as an LLVM constant, all bits exact."""
    return f"0x{struct.unpack('>Q', struct.pack('>d', value))[0]:016X}"


def constant(value: bool | int | float | np.uint64) -> Scalar:
    """Return the `Scalar` for a number that is a constant, such as 3 for `i64 3`."""
    if isinstance(value, bool | np.bool_):
        return Scalar(Kind.BOOL, "true" if value else "false", int(value), int(value))
    if isinstance(value, np.uint64):
        return Scalar(Kind.UINT, str(int(value)))
    if isinstance(value, int | np.integer):
        return Scalar(Kind.INT, str(int(value)), int(value), int(value), narrow_dtype_of(value))
    return Scalar(Kind.FLOAT, format_float(float(value)), narrow_dtype=narrow_dtype_of(value))


ATTRIBUTES = "nounwind"
"""Attributes of functions, behind their arguments."""
_MAX_INLINED_LINES = 1500
"""Lines of a function, with those inlined into it, up to which it is inlined itself."""
_DEFINED, _CALLED = re.compile(r'^define [^@]*@"([^"]+)"'), re.compile(r'call [^@\n]*@"([^"]+)"')


class Module:
    """Functions, constant arrays and declarations that make up one LLVM module.

    Attributes:
        guards_loops: True to call `BURN`, which the module does not define, in each turn of a loop.
        max_inlined_chars: length of the text below which functions are inlined; and of functions
            with one call.
        functions: texts of the functions, callers behind what they call.
    """

    guards_loops = False
    max_inlined_chars = (0.0, math.inf)

    def __init__(self) -> None:
        """Make an empty module."""
        self.functions: list[str] = []
        self._declarations: dict[str, str] = {}
        self._arrays: dict[tuple[str, bytes], str] = {}  # names by dtype and contents
        self._tables: dict[str, str] = {}  # names by text

    def declare(self, name: str, result: str, arguments: str, attributes: str = "") -> str:
        """Declare a function of the C library or of LLVM; return its name in calls."""
        declaration = f"declare {result} @{name}({arguments}) nounwind willreturn {attributes}"
        self._declarations[name] = declaration.rstrip()
        return f"@{name}"

    def array(self, values: NDArray[Any]) -> str:
        """Return the address of constant memory with the elements of a C-contiguous array."""
        key = values.dtype.str, values.tobytes()
        return self._arrays.setdefault(key, f"@array{len(self._arrays)}")

    def table(self, llvm_type: str, operands: Sequence[str]) -> str:
        """Return the address of constant memory with LLVM values of one type."""
        elements = ", ".join(f"{llvm_type} {operand}" for operand in operands)
        text = f"[{len(operands)} x {llvm_type}] [{elements}]"
        return self._tables.setdefault(text, f"@table{len(self._tables)}")

    def to_ir(self) -> str:
        """Return the LLVM IR of the module."""
        functions = self._mark_inlined_functions()
        if self.guards_loops:
            functions.append(f"declare void @{BURN}() nounwind")
        linkage = "private unnamed_addr constant"
        constants = [f"{name} = {linkage} {text}" for text, name in self._tables.items()]
        for (_, data), name in self._arrays.items():
            escaped = "".join(map("\\{:02X}".format, data))
            constants.append(f'{name} = {linkage} [{len(data)} x i8] c"{escaped}", align 64')
        constants.append(f"{EMPTY_METADATA} = !{{}}")
        return "\n".join([*constants, *self._declarations.values(), *functions])

    def _mark_inlined_functions(self) -> list[str]:
        """Return the LLVM IR of all functions. Each is marked to be copied into its callers
        (inlined), or not, depending on its length.

        A function with one call is inlined before LLVM simplifies any code. Else it would be
        simplified again with every caller around it, which takes three times as long. Only large
        ones stay apart: the time for a function grows faster than its size.
        """
        callees = {text: _CALLED.findall(text) for text in self.functions}
        num_calls = Counter(chain.from_iterable(callees.values()))
        inlined_lines: dict[str, int] = {}
        functions = []
        for text, names in callees.items():
            name = _DEFINED.findall(text)[0]
            num_lines = text.count("\n") + sum(inlined_lines.get(callee, 0) for callee in names)
            if len(text) < self.max_inlined_chars[num_calls[name] == 1]:
                is_inlined = num_lines <= _MAX_INLINED_LINES
                attribute = "alwaysinline" if is_inlined else "noinline"
                text = text.replace(ATTRIBUTES, f"{ATTRIBUTES} {attribute}", 1)
                if is_inlined:
                    inlined_lines[name] = num_lines
            functions.append(text)
        return functions
