"""Programs as one WebAssembly module, which runs in a browser without Python.

Programs come as LLVM bitcode for 32-bit WebAssembly, see `numba_pipeline.switch_to_wasm`. LLVM
alone links the programs of one page: the object file of a single module already is a WebAssembly
module, apart from the list of exports.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from pathlib import Path

from llvmlite import binding

from gv_engine.compiler.language.wasm import (
    C_MATH,
    WASM_TRIPLE,
    add_exports,
    make_wasm_machine,
)
from gv_engine.compiler.program_cache import ENTRY, CachedProgram
from gv_engine.rules.errors import DoesNotCompileError

_HEAP = "gv_engine_set_heap"

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
    missing = {name for name in declared if not name.startswith("llvm.")} - C_MATH
    if missing:
        raise DoesNotCompileError(f"browsers have no function {', '.join(sorted(missing))}")
    return add_exports(machine.emit_object(whole), [*entries, _HEAP])


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
