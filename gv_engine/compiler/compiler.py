"""Compilation of a scenario or a single function with Numba, and messages about code that does not
compile."""

from __future__ import annotations

import gc
import linecache
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from gv_engine.compiler import (
    appearance_cache,
    cell_lists,
    exceptions,
    intrinsics,
    link_units,
    method_registry,
    numba_pipeline,
    observation,
    program_cache,
    records,
    rng,
    spawn_remove,
)
from gv_engine.compiler.language.wasm import WASM_TRIPLE
from gv_engine.compiler.loop import BatchLoop, link_loop
from gv_engine.compiler.object_loader import describe_processor
from gv_engine.compiler.parameters import Dtypes
from gv_engine.compiler.program_cache import CachedProgram
from gv_engine.rules.errors import (
    BuiltInDoesNotCompileError,
    CapacityError,
    DoesNotCompileError,
    RuleError,
)
from gv_engine.rules.world import VERBS
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.world import CAPACITY

_SETTINGS = (
    *("BOUNDSCHECK", "DISABLE_JIT", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    *("DISABLE_INTEL_SVML", "FULL_TRACEBACKS", "DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES"),
    *("DEBUG_NRT", "NRT_STATS", "DEBUG_ARRAY_OPT_RUNTIME", "ENABLE_PROFILING"),
    *("LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS"),
)
"""Numba settings that change the compiled code; most come from variables such as NUMBA_OPT."""

_GENERATORS = (
    *(intrinsics, method_registry, exceptions, spawn_remove, cell_lists, appearance_cache),
    *(numba_pipeline, records, link_units, observation),
)
"""Modules whose functions generate code; rules do not refer to them by name, so `find_functions`
does not find them from the rules."""


class LinkedProgram(NamedTuple):
    """Functions of a scenario's program, ready to be compiled.

    Attributes:
        loop: loop over the worlds of a batch.
        functions: all functions in the program.
        checked: True if the program has bounds checks.
        digest: digest of all functions in the program.
        engine_digest: digest of the code and settings that all programs share.
    """

    loop: BatchLoop
    functions: tuple[FunctionType, ...]
    checked: bool
    digest: str
    engine_digest: str


def link_scenario(scenario: Scenario, slots: Sequence[int], dtypes: Dtypes) -> LinkedProgram:
    """Return the functions to compile for the program of a scenario. `slots` are the positions of
    its reward functions among the reward terms, and `dtypes` the element dtypes of the batch's
    arrays, by name."""
    method_registry.register_layout(scenario.layout)
    loop = link_loop(scenario, slots, dtypes)
    shared = [*_functions_in(rng), *VERBS.values(), *_functions_in(observation)]
    callees = [callee for callee, _ in loop.callees]
    units = [unit.function for unit in loop.units]
    roots = [loop.kernel, *callees, *loop.own, *units, *shared]
    functions = tuple(program_cache.find_functions(roots))
    checked = "running" in (dtypes["parameters"].names or ())
    engine_digest = program_cache.program_digest(
        [*shared, *chain.from_iterable(map(_functions_in, _GENERATORS))],
        *compiler_settings(),
        str(checked),
    )
    digest = program_cache.program_digest(roots, str(dtypes), engine_digest, describe_processor())
    return LinkedProgram(loop, functions, checked, digest, engine_digest)


def compile_linked(linked: LinkedProgram) -> CachedProgram:
    """Compile the functions of a program and return its object code, ready for the cache.

    Raises:
        DoesNotCompileError: with the function, file, line and cause.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # set by name
        raise DoesNotCompileError("Numba is switched off by NUMBA_DISABLE_JIT")
    numba_pipeline.register_parts(linked.functions)
    loop = linked.loop
    # closure chains are as deep as the list of systems, with ten recursions of Numba per closure
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    was_collecting = gc.isenabled()
    gc.disable()  # saves a sixth of the time; some 50 MB of garbage wait for the end
    try:
        with (
            global_compiler_lock,
            numba_pipeline.patch_numba(),
            numba_pipeline.setting(numba_pipeline.CHECKED, linked.checked),
            link_units.linking(linked.engine_digest),
        ):
            whole = link_units.compile_program(loop)
    except (NumbaError, UnsupportedBytecodeError) as error:
        raise DoesNotCompileError(_summarize_error(error, linked.functions)) from None
    except KeyError as error:  # raised by Numba for an unknown field of a record
        raise DoesNotCompileError(_describe_unknown_name(error.args[0], linked.functions)) from None
    except Exception as error:  # any other exception inside Numba
        raise wrap_error(error, linked.functions) from error
    finally:
        sys.setrecursionlimit(limit)
        if was_collecting:
            gc.enable()
    return CachedProgram(linked.digest, *whole, _collect_errors(linked.functions))


def make_compile_error(failure: str, built_in: bool) -> DoesNotCompileError:
    """Return the exception for a program that does not compile, with the reason `failure` and
    advice. If all rules are built-in, it is reported as a fault of the engine."""
    if built_in:
        return BuiltInDoesNotCompileError(f"{failure}; {_ENGINE_FAULT}")
    return DoesNotCompileError(f"{failure}; {_ADVICE}")


def wrap_error(error: Exception, functions: Iterable[FunctionType] = ()) -> DoesNotCompileError:
    """Return a `DoesNotCompileError` with a one-line summary of `error`, an exception that Numba's
    documentation does not name. A function at fault is named if it is among `functions`."""
    return DoesNotCompileError(f"{_summarize_error(error, functions)} ({type(error).__name__})")


def _summarize_error(error: Exception, functions: Iterable[FunctionType]) -> str:
    """Return one line with the file, line and cause of a compilation error, extracted from Numba's
    long message."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    causes = [
        line for line in lines if line and not line.startswith(_NOISE) and "nopython" not in line
    ]
    cause = (causes or lines or ["Numba gives no cause"])[0]
    if missing := re.match(r"NameError: .*'(\w+)'", cause):
        return _describe_unknown_name(missing[1], functions)
    files = {
        os.path.realpath(function.__code__.co_filename)
        for function in functions
        if not function.__module__.startswith(__package__)
    }
    mentions = re.findall(
        r'File "(.+)", line (\d+):|(?:Raised from| at) (.+) \((\d+)\)', "\n".join(lines)
    )
    places = [(os.path.realpath(file or other), line or at) for file, line, other, at in mentions]
    own = [(file, line) for file, line in places if file in files]
    where = " ({}{}, line {})".format(_name_function_at(*own[0], functions), *own[0]) if own else ""
    if cause == "No match." and own:  # no function of Numba accepts the arguments
        cause = f"`{linecache.getline(own[0][0], int(own[0][1])).strip()}`"
    features = [words for pattern, words in _UNSUPPORTED.items() if re.search(pattern, cause)]
    what = f"{features[0]} cannot be compiled" if features else cause
    return f"a rule cannot be compiled{where}: {what}"


def _name_function_at(file: str, line: str, functions: Iterable[FunctionType]) -> str:
    """Return the text "NAME in " for the function that contains line `line` of `file`; an empty
    string if none does."""
    for code in (function.__code__ for function in functions):
        lines = [number for _, _, number in code.co_lines() if number]
        if os.path.realpath(code.co_filename) == file and min(lines) <= int(line) <= max(lines):
            return f"{code.co_name} in "
    return ""


def _describe_unknown_name(name: object, functions: Iterable[FunctionType]) -> str:
    """Return the error message for a name that a rule uses and that is not defined."""
    for function in functions:
        if name in function.__code__.co_names:
            where = program_cache.describe_location(function)
            return f"{where}: {function.__name__} uses {name!r}, which is not defined"
    return f"a rule cannot be compiled: it uses {name!r}, which is not defined"


def compiler_settings() -> Iterator[str]:
    """Yield versions and settings that change the machine code, for the cache key; the processor is
    in Numba's own key."""
    yield from (sys.version, numba.__version__, np.__version__)
    if numba_pipeline.compiles_to_wasm():
        yield WASM_TRIPLE
    yield from (f"{name}={getattr(numba.config, name, None)}" for name in _SETTINGS)


def _collect_errors(functions: Iterable[FunctionType]) -> dict[int, RuleError]:
    """Return the exceptions that a world's error code `w.error` can stand for, by code."""
    errors = {
        exceptions.message_code(text): RuleError(text)
        for text in (*program_cache.find_strings(functions), *exceptions.METHOD_MESSAGES)
    }
    errors[exceptions.CAPACITY_CODE] = CapacityError(CAPACITY)
    return errors


_NOISE = (
    *("Failed in", "No implementation", "There are", "Overload", "With arg", "Rejected"),
    *("raised from", ">>>", "During", "File", "-", "<source", "Enable", "This", "Intrinsic"),
)
"""Beginnings of lines in Numba's messages that do not contain the cause."""


_UNSUPPORTED = {
    r"yield|[Gg]enerator": "a generator",
    r"IMPORT_NAME": "an import inside of a function",
    r"LOAD_BUILD_CLASS": "a class inside of a function",
    r"Exception object|SETUP_FINALLY|'try'|except": "this kind of try/except",
    r"context manager": "`with`",
    r"OptionalType": "a function with a branch that returns nothing",
    r"[Dd]ict|BUILD_MAP": "a dictionary of this kind",
    r"\b[Ss]et\(|BUILD_SET|reflected set": "a set of this kind",
    r"Module\(": "a function of another library",
    r"FORMAT_VALUE|BUILD_STRING": "an f-string",
    r"unicode_type|UnicodeType": "a string in this place",
    r"pyobject|<class 'type'>": "an object of Python",
}
"""Descriptions of unsupported code, by a pattern in Numba's message."""

_ADVICE = "see docs/compiling.md"
_ENGINE_FAULT = (
    "all rules here are built-in, so this is a fault of the engine or of its installation "
    f"(Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}); "
    'world="object" runs without compiling, a thousand times slower'
)


def _functions_in(module: Any) -> Iterator[FunctionType]:
    """Yield the functions of a module, and the code generators of its intrinsics."""
    values = map(numba_pipeline.get_generator, vars(module).values())
    return (value for value in values if isinstance(value, FunctionType))
