"""Programs as one WebAssembly module, which runs in a browser without Python.

Programs come as LLVM bitcode for 32-bit WebAssembly, see `numba_pipeline.switch_to_wasm`. LLVM
alone links the programs of one page: the object file of a single module already is a WebAssembly
module, apart from the list of exports.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

from llvmlite import binding

from gv_engine.compiler.program_cache import ENTRY, CachedProgram
from gv_engine.rules.errors import DoesNotCompileError

WASM_TRIPLE = "wasm32-unknown-unknown"
"""LLVM's name of the target."""
STACK_TOP = 2**20
"""Address below which a module's constants and its stack lie; all other memory is the host's."""

_MAX_CONSTANTS = STACK_TOP // 2  # bytes
_FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
_HEAP = "gv_engine_set_heap"
_MATH = {
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp"),
    *("expm1", "fmod", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh"),
}
"""Functions of the C library that the page imports: `fmod`, and functions that JavaScript's `Math`
has under the same name. All but `fmod` may differ in the last digit between browsers."""


def make_wasm_machine() -> Any:
    """Return LLVM's target machine for WebAssembly, with the features that all browsers of today
    have."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(WASM_TRIPLE).create_target_machine(opt=3, features=_FEATURES)


# ---- modules -------------------------------------------------------------------------------------


def link_module(programs: Sequence[CachedProgram], guarded: Container[int] = ()) -> bytes:
    """Link `programs`, whose code is LLVM bitcode, and return them as one WebAssembly module.

    It exports `run0`, `run1`, ... for the programs in order, each a function of four i64 (address,
    start, stop, mode) as in `object_loader.Loaded`, and `gv_engine_set_heap`, to be called with the
    address of free memory before each run. It imports its memory, and functions of the C library
    such as `log` by name. Programs whose indices are in `guarded` stop with a trap if one of their
    loops does not end.

    Raises:
        DoesNotCompileError: a rule uses a function that browsers do not have, or the constants do
            not fit into the memory kept for them.
    """
    machine = make_wasm_machine()
    layout = str(machine.target_data)
    head = f'target datalayout = "{layout}"\ntarget triple = "{WASM_TRIPLE}"\n'
    runtime = Path(__file__).with_name("runtime.ll").read_text(encoding="utf-8")
    whole = binding.parse_assembly(head + runtime)
    entries = [f"run{k}" for k in range(len(programs))]
    for number, (entry, program) in enumerate(zip(entries, programs, strict=True)):
        text = _strip_module(str(binding.parse_bitcode(program.code)))
        module = binding.parse_assembly(_guard_loops(text) if number in guarded else text)
        for part in (*module.functions, *module.global_variables):
            if part.name == ENTRY:
                part.name = entry
            elif not part.is_declaration:
                part.linkage = "internal"
        options = binding.create_pipeline_tuning_options(speed_level=2)
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        whole.link_in(module)
    declared = [part.name for part in whole.functions if part.is_declaration]
    missing = {name for name in declared if not name.startswith("llvm.")} - _MATH
    if missing:
        raise DoesNotCompileError(f"browsers have no function {', '.join(sorted(missing))}")
    return _add_exports(machine.emit_object(whole), [*entries, _HEAP])


def _strip_module(text: str) -> str:
    """Return the text of an LLVM module after two changes: its functions for reference counting do
    nothing, as all memory is freed at once; and it has no pickled exceptions, as these name files
    of this machine."""
    text = re.sub(
        r"^(define [^\n]*@NRT_(?:inc|dec)ref(?:\.\d+)?\([^\n]*\{)$.*?^}$",
        r"\1\n  ret void\n}",
        text,
        flags=re.M | re.S,
    )
    return re.sub(
        r'^(@"?\.const\.pickledata[^\n]* constant )(\[\d+ x i8\]) c"[^"]*"',
        r"\1\2 zeroinitializer",
        text,
        flags=re.M,
    )


def _guard_loops(text: str) -> str:
    """Return the text of an LLVM module with a call of `gv_engine_burn`, which counts iterations,
    inserted before each branch to an earlier block; every loop has such a branch."""
    lines: list[str] = []
    seen: set[str] = set()
    for line in text.splitlines():
        if line.startswith("define "):
            seen = set()
        elif label := _LABEL.match(line):
            seen.add(label[1])
        elif line.startswith(("  br ", "  switch ")):
            start = len(lines)  # targets of a switch stand in further lines
        lines.append(line)
        if not seen.isdisjoint(_TARGET.findall(line)) and not lines[start].startswith(_BURN):
            lines.insert(start, _BURN)
    return "\n".join([*lines, "declare void @gv_engine_burn()", ""])


_BURN = "  call void @gv_engine_burn()"
_LABEL = re.compile(r'("[^"]*"|[\w.$-]+):')
_TARGET = re.compile(r'label %("[^"]*"|[\w.$-]+)')

_DATA, _EXPORT, _CUSTOM, _FUNCTION_EXPORT = 11, 7, 0, b"\0"
_ORDER = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11]
"""Section numbers of a WebAssembly module in their required order."""
_UNDEFINED, _EXPLICIT_NAME = 0x10, 0x40


def _add_exports(code: bytes, names: Sequence[str]) -> bytes:
    """Return LLVM's object file `code` as a module that exports the functions `names`, without the
    sections for linkers.

    The indices and addresses in an object file are provisional, as a linker may move them. As
    nothing else is linked in, they are final here.

    Source: the WebAssembly Core Specification, 5.5, and its tool conventions, "Linking".
    """
    sections = [*_read_sections(code)]
    known: dict[str, int] = {}
    for kind, body in sections:
        if kind == _CUSTOM:
            length, start = _read_number(body, 0)
            if body[start : start + length] == b"linking":
                known = _find_functions(body[start + length :])
        elif kind == _DATA and len(body) > _MAX_CONSTANTS:
            raise DoesNotCompileError(f"{len(body)} bytes of constants, at most {_MAX_CONSTANTS}")
    listed = (
        _encode(len(name)) + name.encode() + _FUNCTION_EXPORT + _encode(known[name])
        for name in names
    )
    kept = [(kind, body) for kind, body in sections if kind != _CUSTOM]
    kept.append((_EXPORT, _encode(len(names)) + b"".join(listed)))
    kept.sort(key=lambda section: _ORDER.index(section[0]))
    return code[:8] + b"".join(bytes([kind]) + _encode(len(body)) + body for kind, body in kept)


def _read_sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the (number, contents) of each section of a module."""
    at = 8
    while at < len(code):
        size, start = _read_number(code, at + 1)
        yield code[at], code[start : start + size]
        at = start + size


def _find_functions(linking: bytes) -> dict[str, int]:
    """Return the indices of the functions that a module defines, by name, read from the contents of
    its section `linking`."""
    found: dict[str, int] = {}
    _, at = _read_number(linking, 0)
    while at < len(linking):
        kind = linking[at]
        size, start = _read_number(linking, at + 1)
        at = start + size
        if kind == _SYMBOL_TABLE:
            found.update(_read_symbols(linking, start))
    return found


_SYMBOL_TABLE = 8
_FUNCTION_SYMBOL, _DATA_SYMBOL, _SECTION_SYMBOL = 0, 1, 3


def _read_symbols(linking: bytes, at: int) -> Iterator[tuple[str, int]]:
    """Yield the (name, index) of each function that is defined, from the symbol table at `at`."""
    count, at = _read_number(linking, at)
    for _ in range(count):
        kind = linking[at]
        flags, at = _read_number(linking, at + 1)
        index, name = 0, ""
        is_defined = not flags & _UNDEFINED
        if kind != _DATA_SYMBOL:
            index, at = _read_number(linking, at)
        if kind == _DATA_SYMBOL or (
            kind != _SECTION_SYMBOL and (is_defined or flags & _EXPLICIT_NAME)
        ):
            length, at = _read_number(linking, at)
            name, at = linking[at : at + length].decode(), at + length
        if kind == _DATA_SYMBOL and is_defined:
            for _ in range(3):  # segment, offset and size
                _, at = _read_number(linking, at)
        if kind == _FUNCTION_SYMBOL and is_defined:
            yield name, index


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned LEB128 number at index `at`, and the index of the byte after it."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def _encode(value: int) -> bytes:
    """Return a non-negative number as unsigned LEB128 bytes."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
