"""From a scenario to compiled code."""

from __future__ import annotations

import gc
import linecache
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
from numba import njit
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from gv_engine.compiler import (
    addresses,
    appearance_cache,
    bounds,
    exceptions,
    intrinsics,
    link_units,
    list_methods,
    method_registry,
    numba_pipeline,
    observation,
    programs,
    record_methods,
    records,
    rng,
    simd,
    spawn_remove,
)
from gv_engine.compiler.array_args import Elements
from gv_engine.compiler.function_cache import ProgramCache
from gv_engine.compiler.loop import Loop, link
from gv_engine.compiler.object_loader import machine
from gv_engine.compiler.program_cache import KeptProgram, keep_until_exit, not_kept
from gv_engine.rules.errors import (
    BuiltInDoesNotCompileError,
    CapacityError,
    DoesNotCompileError,
    RuleError,
    complain,
)
from gv_engine.rules.world import VERBS
from gv_engine.world.world import CAPACITY, TO_NOTHING, UNKNOWN_TYPE

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


_SETTINGS = (
    *("BOUNDSCHECK", "DISABLE_JIT", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    *("DISABLE_INTEL_SVML", "FULL_TRACEBACKS", "DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES"),
    *("DEBUG_NRT", "NRT_STATS", "DEBUG_ARRAY_OPT_RUNTIME", "ENABLE_PROFILING"),
    *("LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS"),
)
"""Settings of Numba by which compiled code differs; most come of variables such as NUMBA_OPT."""

_EMITTING = (
    addresses,
    bounds,
    rng,
    exceptions,
    intrinsics,
    spawn_remove,
    list_methods,
    appearance_cache,
    numba_pipeline,
    record_methods,
    records,
    spawn_remove,
    method_registry,
    link_units,
    simd,
)
"""Modules whose functions emit code, so that no name leads to them."""


class Linked(NamedTuple):
    """A scenario's systems put together, to be compiled.

    Attributes:
        loop: over the worlds of a batch.
        functions: all that it is made of.
        checked: whether it refuses an index beyond its array.
        made_of: a digest of all that it is made of.
        surroundings: a digest of the code, and the settings, that all programs have in common.
    """

    loop: Loop
    functions: tuple[FunctionType, ...]
    checked: bool
    made_of: str
    surroundings: str


def link_scenario(scenario: Scenario, slots: Sequence[int], elements: Elements) -> Linked:
    """What is to be compiled; the arguments are those of `programs.program_of`."""
    method_registry.know(scenario.layout)
    loop = link(scenario, slots, elements)
    around = [*_functions(rng), *VERBS.values(), *_functions(observation)]
    roots = [loop.kernel, *loop.given, *(unit.function for unit in loop.units), *around]
    functions = tuple(programs.functions_of(roots))
    checked = "running" in (elements["parameters"].names or ())
    digest = programs.program_digest(
        [*around, *chain.from_iterable(map(_functions, _EMITTING))],
        *compiler_settings(),
        str(checked),
    )
    made_of = programs.program_digest(roots, str(elements), digest, machine())
    return Linked(loop, functions, checked, made_of, digest)


def compile_linked(linked: Linked) -> KeptProgram:
    """Compile.

    Raises:
        DoesNotCompileError: with the function, file, line and cause.
    """
    if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # set by name
        raise DoesNotCompileError("Numba is switched off, by NUMBA_DISABLE_JIT")
    numba_pipeline.mark_parts(linked.functions)
    loop = linked.loop
    # chains are as deep as lists of systems are long, and Numba recurses ten times a link
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 20_000))
    collecting = gc.isenabled()
    gc.disable()  # a sixth of the time otherwise, for garbage that is not there
    try:
        with (
            global_compiler_lock,
            numba_pipeline.unobserved(),
            numba_pipeline.few(),
            bounds.checking(linked.checked),
            link_units.among(linked.surroundings),
        ):
            whole = link_units.compile_whole(loop.kernel, str(loop.elements), loop.given)
    except (NumbaError, UnsupportedBytecodeError) as error:
        raise DoesNotCompileError(_brief(error, linked.functions)) from None
    except KeyError as error:  # what Numba raises for a field that a record does not have
        raise DoesNotCompileError(_unknown_name(error.args[0], linked.functions)) from None
    except Exception as error:  # of what Numba does not foresee
        raise unforeseen(error, linked.functions) from error
    finally:
        sys.setrecursionlimit(limit)
        if collecting:
            gc.enable()
    return KeptProgram(linked.made_of, *whole, _errors(linked.functions))


def refusal(failure: str, built_in: bool) -> DoesNotCompileError:
    """The error that says why a program does not compile."""
    if built_in:
        return BuiltInDoesNotCompileError(f"{failure}; {_OWN_FAULT}")
    return DoesNotCompileError(f"{failure}; {_ADVICE}")


def unforeseen(error: Exception, functions: Iterable[FunctionType] = ()) -> DoesNotCompileError:
    """Return the error that says which other one has ended compiling."""
    return DoesNotCompileError(f"{_brief(error, functions)} ({type(error).__name__})")


def _brief(error: Exception, functions: Iterable[FunctionType]) -> str:
    """File, line and cause out of a message of several thousand characters."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    causes = [
        line for line in lines if line and not line.startswith(_NOISE) and "nopython" not in line
    ]
    cause = (causes or lines or ["no cause is told"])[0]
    if missing := re.match(r"NameError: .*'(\w+)'", cause):
        return _unknown_name(missing[1], functions)
    files = {
        os.path.realpath(function.__code__.co_filename)
        for function in functions
        if not function.__module__.startswith(__package__)
    }
    found = re.findall(
        r'File "(.+)", line (\d+):|(?:Raised from| at) (.+) \((\d+)\)', "\n".join(lines)
    )
    places = [(os.path.realpath(file or other), line or at) for file, line, other, at in found]
    own = [(file, line) for file, line in places if file in files]
    where = " ({}{}, line {})".format(_rule_at(*own[0], functions), *own[0]) if own else ""
    if cause == "No match." and own:  # no function of Numba's takes this
        cause = f"`{linecache.getline(own[0][0], int(own[0][1])).strip()}`"
    kinds = [words for pattern, words in _KINDS.items() if re.search(pattern, cause)]
    what = f"{kinds[0]} cannot be compiled" if kinds else cause
    return f"a rule cannot be compiled{where}: {what}"


def _rule_at(file: str, line: str, functions: Iterable[FunctionType]) -> str:
    """Return the name of the function in which a line is, and "in"; "" if it is in none."""
    for code in (function.__code__ for function in functions):
        lines = [number for _, _, number in code.co_lines() if number]
        if os.path.realpath(code.co_filename) == file and min(lines) <= int(line) <= max(lines):
            return f"{code.co_name} in "
    return ""


def _unknown_name(name: object, functions: Iterable[FunctionType]) -> str:
    for function in functions:
        if name in function.__code__.co_names:
            where = programs.complaint_about(function)
            return f"{where}: {function.__name__} asks for {name!r}"
    return f"a rule cannot be compiled: it asks for {name!r}"


@cache
def compile_function(function: FunctionType) -> Any:
    """A function of numbers and arrays, compiled for what it is called with, or from the cache."""
    functions = programs.functions_of([function])
    return _kept(function, function_key(function), functions, function.__name__)


def function_key(function: FunctionType) -> str:
    """A digest of a function, and of what emits code for it."""
    uses = chain.from_iterable(programs.functions_of([function]).values())
    emitting = [used._defn for _, used in uses if hasattr(used, "_defn")]
    return programs.program_digest([function, *emitting], *compiler_settings())


def compiler_settings() -> Iterator[str]:
    """Yield versions and settings that make other machine code of the same functions; Numba tells
    processors apart."""
    yield from (sys.version, numba.__version__, np.__version__)
    yield from (f"{name}={getattr(numba.config, name, None)}" for name in _SETTINGS)


def _kept(function: FunctionType, key: str, functions: Iterable[FunctionType], name: str) -> Any:
    """The function, to be compiled or loaded when it is called."""

    def on_miss() -> None:
        complain(f"compiling {name} for this machine, once; later runs load it")
        numba_pipeline.mark_parts(functions)

    compiled: Any = njit(nogil=True)(function)
    try:
        try:
            compiled._cache = ProgramCache(function, key, on_miss, not_kept)
        except OSError as error:
            not_kept(error)
            keep_until_exit()
            compiled._cache = ProgramCache(function, key, on_miss, not_kept)
    except OSError:  # nor is there room for what goes with this process
        on_miss()
    return compiled


def _errors(functions: Iterable[FunctionType]) -> dict[int, RuleError]:
    """What `row["error"]` can hold: the texts in the functions, and what spawning says."""
    errors = {
        exceptions.message_code(text): RuleError(text) for text in programs.strings(functions)
    }
    errors[exceptions.CAPACITY_CODE] = CapacityError(CAPACITY)
    errors[exceptions.UNKNOWN_TYPE_CODE] = RuleError(UNKNOWN_TYPE)
    errors[exceptions.TO_NOTHING_CODE] = RuleError(TO_NOTHING)
    return errors


_NOISE = (
    *("Failed in", "No implementation", "There are", "Overload", "With arg", "Rejected"),
    *("raised from", ">>>", "During", "File", "-", "<source", "Enable", "This", "Intrinsic"),
)
"""How the lines of Numba's messages begin that do not say what is wrong."""


_KINDS = {
    r"yield|[Gg]enerator": "a generator",
    r"IMPORT_NAME": "an import inside of a function",
    r"LOAD_BUILD_CLASS": "a class inside of a function",
    r"Exception object|SETUP_FINALLY|'try'|except": "this kind of try/except",
    r"context manager": "`with`",
    r"[Dd]ict|BUILD_MAP": "a dictionary of this kind",
    r"\b[Ss]et\(|BUILD_SET|reflected set": "a set of this kind",
    r"Module\(": "a function of another library",
    r"FORMAT_VALUE|BUILD_STRING": "an f-string",
    r"unicode_type|UnicodeType": "a string in this place",
    r"pyobject|<class 'type'>": "an object of Python",
}
"""What Numba's messages are about, in words."""

_ADVICE = "see docs/compiling.md"
_OWN_FAULT = (
    "all rules here are built-in, so that this is a fault of the engine or of its installation "
    f"(Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}); "
    'world="object" plays without compiling, a thousand times slower'
)


def _functions(module: Any) -> Iterator[FunctionType]:
    # an intrinsic keeps what it generates code by under `_defn`
    things = (getattr(thing, "_defn", thing) for thing in vars(module).values())
    return (thing for thing in things if isinstance(thing, FunctionType))
