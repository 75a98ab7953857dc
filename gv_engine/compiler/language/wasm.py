"""Compilation of LLVM modules to one WebAssembly module, which runs in a browser without Python.

The programs are text of LLVM IR that names no processor. LLVM alone links the programs of one page:
the object file of a single module already is a WebAssembly module, apart from the list of exports.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from llvmlite import binding

from gv_engine.compiler.language.emitter import BURN
from gv_engine.rules.errors import DoesNotCompileError

WASM_TRIPLE = "wasm32-unknown-unknown"
"""LLVM's name of the target."""
STACK_TOP = 2**20
"""Address below which a module's constants and its stack lie; all other memory is the host's."""
START_FUNCTION = "gv_engine_start"
"""Exported function that the host calls before each run."""

_MAX_CONSTANTS = STACK_TOP // 2  # bytes
_FEATURES = "+simd128,+bulk-memory,+sign-ext,+nontrapping-fptoint,+mutable-globals"
C_MATH = {
    *("acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "exp"),
    *("expm1", "fmod", "log", "log10", "log1p", "log2", "pow", "sin", "sinh", "tan", "tanh"),
}
"""Functions of the C library that the page imports: `fmod`, and functions that JavaScript's `Math`
has under the same name. All but `fmod` may differ in the last digit between browsers."""
_TURNS = 1 << 28
"""Turns of all loops in one run, at most, where loops are guarded."""
_RUNTIME = f"""
; the first constant, so that nothing has the address 0
@null = global [64 x i8] zeroinitializer
@fuel = internal global i64 0

define void @{START_FUNCTION}() {{
  store i64 {_TURNS}, ptr @fuel
  ret void
}}

define void @{BURN}() {{
  %left = load i64, ptr @fuel
  %less = sub i64 %left, 1
  store i64 %less, ptr @fuel
  %is_empty = icmp slt i64 %less, 0
  br i1 %is_empty, label %stop, label %go_on
stop:
  call void @llvm.trap()
  unreachable
go_on:
  ret void
}}

declare void @llvm.trap()

; LLVM calls it for products of 128 bits
define void @__multi3(ptr %out, i64 %a, i64 %a_high, i64 %b, i64 %b_high) {{
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %low = mul i64 %a0, %b0
  %low_high = lshr i64 %low, 32
  %one = mul i64 %a1, %b0
  %middle = add i64 %one, %low_high
  %middle_low = and i64 %middle, 4294967295
  %middle_high = lshr i64 %middle, 32
  %other = mul i64 %a0, %b1
  %sum = add i64 %other, %middle_low
  %sum_high = lshr i64 %sum, 32
  %high = mul i64 %a1, %b1
  %high_1 = add i64 %high, %middle_high
  %high_2 = add i64 %high_1, %sum_high
  %cross_1 = mul i64 %a, %b_high
  %cross_2 = mul i64 %a_high, %b
  %high_3 = add i64 %high_2, %cross_1
  %high_4 = add i64 %high_3, %cross_2
  %whole = mul i64 %a, %b
  store i64 %whole, ptr %out
  %above = getelementptr i8, ptr %out, i32 8
  store i64 %high_4, ptr %above
  ret void
}}
"""


def make_wasm_machine() -> Any:
    """Return LLVM's target machine for WebAssembly, with the features that all current browsers
    have."""
    with suppress(RuntimeError):  # newer versions of llvmlite initialise themselves
        binding.initialize()
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    return binding.Target.from_triple(WASM_TRIPLE).create_target_machine(opt=2, features=_FEATURES)


# ---- modules -------------------------------------------------------------------------------------


def link_texts(ir_modules: Sequence[str], exported: Sequence[str]) -> bytes:
    """Compile modules, given as LLVM IR, and link them into one WebAssembly module; return its
    bytes.

    It exports the functions `exported` of each module with the index of the module behind their
    names, such as `run0`, and `gv_engine_start`, to be called before each run: where loops are
    guarded, a run stops with a trap after too many turns of them. It imports its memory, and
    functions of the C library such as `log` by name.

    Raises:
        DoesNotCompileError: a rule uses a function that browsers do not have, or the constants do
            not fit into the memory kept for them.
    """
    machine = make_wasm_machine()
    head = f'target datalayout = "{machine.target_data}"\ntarget triple = "{WASM_TRIPLE}"\n'
    linked, exports = binding.parse_assembly(head + _RUNTIME), [START_FUNCTION]
    for number, text in enumerate(ir_modules):
        module = binding.parse_assembly(head + text)
        for name in exported:
            exports.append(f"{name}{number}")
            module.get_function(name).name = exports[-1]
        _simplify(module, machine)
        linked.link_in(module)
    declared = [function.name for function in linked.functions if function.is_declaration]
    missing = {name for name in declared if not name.startswith("llvm.")} - C_MATH
    if missing:
        raise DoesNotCompileError(f"browsers have no function {', '.join(sorted(missing))}")
    return add_exports(machine.emit_object(linked), exports)


def _simplify(module: Any, machine: Any) -> None:
    """Run a few of LLVM's optimization passes on a module, those with most effect on its size and
    speed. All passes would take six times as long."""
    passes = binding.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_new_gvn_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes.run(module, builder)


_DATA, _EXPORT, _CUSTOM, _FUNCTION_EXPORT = 11, 7, 0, b"\0"
_SECTION_ORDER = [1, 2, 3, 4, 5, 13, 6, 7, 8, 9, 12, 10, 11]
"""Section numbers of a WebAssembly module in their required order."""
_UNDEFINED, _EXPLICIT_NAME = 0x10, 0x40
"""Flags of a symbol."""
_HEADER_SIZE = 8
"""Bytes of a module before its sections: magic number and version."""


def add_exports(object_file: bytes, names: Sequence[str]) -> bytes:
    """Turn LLVM's WebAssembly object file into a module that exports the functions `names`; return
    its bytes.

    The indices and addresses in an object file are provisional, as a linker may move them. As
    nothing else is linked in, they are final here.

    Source: the WebAssembly Core Specification, 5.5, and its tool conventions, "Linking".
    """
    sections = [*_read_sections(object_file)]
    function_indices: dict[str, int] = {}
    for section_id, contents in sections:
        if section_id == _CUSTOM:
            length, start = _read_number(contents, 0)
            if contents[start : start + length] == b"linking":
                function_indices = _find_functions(contents[start + length :])
        elif section_id == _DATA and len(contents) > _MAX_CONSTANTS:
            size = f"{len(contents)} bytes of constants"
            raise DoesNotCompileError(f"{size}, at most {_MAX_CONSTANTS}")
    exports = (
        _leb128(len(name)) + name.encode() + _FUNCTION_EXPORT + _leb128(function_indices[name])
        for name in names
    )
    kept = [section for section in sections if section[0] != _CUSTOM]
    kept.append((_EXPORT, _leb128(len(names)) + b"".join(exports)))
    kept.sort(key=lambda section: _SECTION_ORDER.index(section[0]))
    return object_file[:_HEADER_SIZE] + b"".join(
        bytes([section_id]) + _leb128(len(contents)) + contents for section_id, contents in kept
    )


def _read_sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield (section id, contents) for each section of a WebAssembly module, given as bytes."""
    index = _HEADER_SIZE
    while index < len(code):
        size, start = _read_number(code, index + 1)
        yield code[index], code[start : start + size]
        index = start + size


def _find_functions(linking: bytes) -> dict[str, int]:
    """Return the index of each function in a WebAssembly module by its name, from the contents of
    the module's section `linking`."""
    function_indices: dict[str, int] = {}
    _, index = _read_number(linking, 0)  # the version
    while index < len(linking):
        subsection_id = linking[index]
        size, start = _read_number(linking, index + 1)
        index = start + size
        if subsection_id == _SYMBOL_TABLE:
            function_indices.update(_read_symbols(linking, start))
    return function_indices


_SYMBOL_TABLE = 8
_FUNCTION_SYMBOL, _DATA_SYMBOL, _SECTION_SYMBOL = 0, 1, 3


def _read_symbols(linking: bytes, index: int) -> Iterator[tuple[str, int]]:
    """Yield (name, function index) for each function in the symbol table of a WebAssembly module.
    The table begins at byte `index` of the section `linking`."""
    count, index = _read_number(linking, index)
    for _ in range(count):
        symbol_type = linking[index]
        flags, index = _read_number(linking, index + 1)
        function_index, name = 0, ""
        is_defined = not flags & _UNDEFINED
        if symbol_type != _DATA_SYMBOL:
            function_index, index = _read_number(linking, index)
        has_name = symbol_type != _SECTION_SYMBOL and (is_defined or flags & _EXPLICIT_NAME)
        if symbol_type == _DATA_SYMBOL or has_name:
            length, index = _read_number(linking, index)
            name, index = linking[index : index + length].decode(), index + length
        if symbol_type == _DATA_SYMBOL and is_defined:
            for _ in range(3):  # segment, offset and size
                _, index = _read_number(linking, index)
        if symbol_type == _FUNCTION_SYMBOL and is_defined:
            yield name, function_index


def _read_number(data: bytes, index: int) -> tuple[int, int]:
    """Read a number in LEB128 encoding (7 bits per byte) at byte `index`. Return the number, and
    the index of the byte after it."""
    value = shift = 0
    while True:
        byte = data[index]
        index += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:  # the highest bit says that the number goes on
            return value, index


def _leb128(value: int) -> bytes:
    """Return a non-negative integer in LEB128 encoding (7 bits per byte)."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
