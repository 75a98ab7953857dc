"""Code of levels for the web: their programs, compiled for WebAssembly in another process."""

from __future__ import annotations

from multiprocessing.connection import Connection

from gv_engine.compiler.program_cache import CachedProgram, read_program, write_program
from gv_engine.rules.errors import DoesNotCompileError, GVEngineError, complain
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.worker_process import start_worker
from gv_engine.vector.compiled_backend import CompiledBatch

_KEY_SUFFIX = "-wasm"


def get_wasm_programs(batch: CompiledBatch) -> list[CachedProgram]:
    """Return the programs of a batch, compiled for WebAssembly to LLVM bitcode: from the disk
    cache, or compiled now in one other process.

    Raises:
        DoesNotCompileError: with the function, file, line and cause.
    """
    keys = [program.key + _KEY_SUFFIX for program in batch.programs]
    found = [program for program in map(read_program, keys) if program]
    if len(found) < len(keys):
        complain(f"compiling {batch.scenario.name} for the web, once; later exports load it")
        found = _compile_elsewhere(batch.scenario)
        for key, program in zip(keys, found, strict=True):
            write_program(key, program)
    return found


def _compile_elsewhere(scenario: Scenario) -> list[CachedProgram]:
    """Return the compiled programs of a scenario, from a new process.

    Raises:
        DoesNotCompileError: with the function, file, line and cause.
    """
    process, connection = start_worker(_compile, scenario)
    try:
        answer: list[CachedProgram] | Exception = connection.recv()
    except EOFError:
        process.join()
        answer = DoesNotCompileError(
            f"the process that compiles for the web ended with exit code {process.exitcode}"
        )
    process.join()
    if isinstance(answer, Exception):
        raise answer
    return answer


def _compile(connection: Connection, scenario: Scenario) -> None:
    """Compile `scenario` for WebAssembly, and send the list of its `CachedProgram`s, or the
    exception; runs in a process of its own."""
    from gv_engine.compiler import numba_pipeline

    numba_pipeline.switch_to_wasm()
    from gv_engine.compiler.compiler import compile_linked

    try:
        programs = CompiledBatch(scenario, 1).programs
        connection.send([compile_linked(program.link()) for program in programs])
    except GVEngineError as error:
        connection.send(error)
