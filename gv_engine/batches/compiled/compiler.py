"""From a scenario to compiled code."""

from __future__ import annotations

import gc
import linecache
import os
import platform
import re
import sys
import threading
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba import njit
from numba.core.errors import NumbaError, UnsupportedBytecodeError

from gv_engine.batches.compiled import (
    addresses,
    bounds,
    intrinsics,
    parts,
    program_functions,
    record_methods,
    records,
    rng_kernels,
    sight,
    units,
    vectors,
)
from gv_engine.batches.compiled.addresses import Elements
from gv_engine.batches.compiled.loop import link
from gv_engine.batches.compiled.program_cache import (
    NotKeptError,
    ProgramCache,
    keep_until_exit,
    loading_only,
)
from gv_engine.language.errors import (
    BuiltInDoesNotCompileError,
    CapacityError,
    DoesNotCompileError,
    RuleError,
)
from gv_engine.language.system import Phase, System
from gv_engine.language.verbs import VERBS
from gv_engine.reading.rule_files import is_engine_module
from gv_engine.worlds.world import CAPACITY, TO_NOTHING, UNKNOWN_TYPE

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


@dataclass(eq=False)
class Program:
    """A scenario's systems as one compiled function over the rows of a batch.

    Attributes:
        run: (address, start, stop, mode) → how many of the worlds start … stop - 1 failed; the
            address is that of the record that `addresses` makes.
        errors: what the numbers in `row["error"]` stand for.
        functions: all that it is made of.
        checked: whether it refuses an index beyond its array.
        key: a digest of all that it is made of; equal in every process.
        surroundings: a digest of the code, and the settings, that all programs have in common.
        failure: why it does not compile, once that has been found out.
    """

    run: Any
    errors: dict[int, RuleError]
    functions: tuple[FunctionType, ...]
    checked: bool
    key: str
    surroundings: str
    failure: str = ""

    def prepare(self) -> None:
        """Compile, or load from the cache.

        Raises:
            DoesNotCompileError: with the function, file, line and cause.
            BuiltInDoesNotCompileError: the same, where no function is an author's.
        """
        if not self.failure:
            self.failure = self._try()
        if self.failure:
            if all(is_engine_module(function.__module__) for function in self.functions):
                raise BuiltInDoesNotCompileError(f"{self.failure}; {_OWN_FAULT}")
            raise DoesNotCompileError(f"{self.failure}; {_ADVICE}")

    def load(self) -> bool:
        """Load from the cache, if it is kept there; whether `prepare` no longer takes its time.

        Raises:
            DoesNotCompileError: as for `prepare`.
        """
        try:
            with loading_only():
                self.prepare()
        except NotKeptError:
            return False
        return True

    def _try(self) -> str:
        """Compile; what is wrong, if anything is."""
        if numba.config.DISABLE_JIT:  # type: ignore[attr-defined]  # set by name
            return "Numba is switched off, by NUMBA_DISABLE_JIT"
        # chains are as deep as lists of systems are long, and Numba recurses ten times a link
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, 20_000))
        collecting = gc.isenabled()
        gc.disable()  # a sixth of the time otherwise, for garbage that is not there
        try:
            with (
                parts.unobserved(),
                bounds.checking(self.checked),
                units.among(self.surroundings),
            ):
                self.run(0, 0, 0, 0)
        except (NumbaError, UnsupportedBytecodeError) as error:
            return self._brief(error)
        except KeyError as error:  # what Numba raises for a field that a record does not have
            return self._unknown_name(error.args[0])
        finally:
            sys.setrecursionlimit(limit)
            if collecting:
                gc.enable()
        return ""

    def _brief(self, error: Exception) -> str:
        """File, line and cause out of a message of several thousand characters."""
        lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
        causes = [
            line
            for line in lines
            if line and not line.startswith(_NOISE) and "nopython" not in line
        ]
        cause = (causes or lines)[0]
        if missing := re.match(r"NameError: .*'(\w+)'", cause):
            return self._unknown_name(missing[1])
        files = {
            os.path.realpath(function.__code__.co_filename)
            for function in self.functions
            if not function.__module__.startswith(__package__)
        }
        found = re.findall(
            r'File "(.+)", line (\d+):|(?:Raised from| at) (.+) \((\d+)\)', "\n".join(lines)
        )
        places = [(os.path.realpath(file or other), line or at) for file, line, other, at in found]
        own = [(file, line) for file, line in places if file in files]
        where = " ({}, line {})".format(*own[0]) if own else ""
        if cause == "No match." and own:  # no function of Numba's takes this
            cause = f"`{linecache.getline(own[0][0], int(own[0][1])).strip()}`"
        kinds = [words for pattern, words in _KINDS.items() if re.search(pattern, cause)]
        what = f"{kinds[0]} cannot be compiled" if kinds else cause
        return f"a rule cannot be compiled{where}: {what}"

    def _unknown_name(self, name: object) -> str:
        for function in self.functions:
            if name in function.__code__.co_names:
                return f"{_told(function)}: {function.__name__} asks for {name!r}"
        return f"a rule cannot be compiled: it asks for {name!r}"


_SETTINGS = (
    *("BOUNDSCHECK", "DISABLE_JIT", "OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    *("DISABLE_INTEL_SVML", "FULL_TRACEBACKS", "DEBUGINFO_DEFAULT", "EXTEND_VARIABLE_LIFETIMES"),
    *("DEBUG_NRT", "NRT_STATS", "DEBUG_ARRAY_OPT_RUNTIME", "ENABLE_PROFILING"),
    *("LLVM_REFPRUNE_PASS", "LLVM_REFPRUNE_FLAGS"),
)
"""Settings of Numba by which compiled code differs; most come of variables such as NUMBA_OPT."""

_WIDEST = 62
"""Columns whose bits a number holds, with room for a carry."""

_EMITTING = addresses, bounds, intrinsics, parts, record_methods, records, units, vectors
"""Modules whose functions emit code, so that no name leads to them."""

_LOCK = threading.Lock()
_PROGRAMS: dict[str, Program] = {}


def check_compilable(scenario: Scenario) -> None:
    """Make sure that all systems of a scenario are functions of columns.

    Raises:
        DoesNotCompileError: one is any Python; the message names it.
    """
    for system in (
        part.system
        for member in scenario.members
        for phase in Phase
        for call in member.calls(phase)
        for part in call.parts()
    ):
        if system.is_processor:
            raise DoesNotCompileError(
                f"{system.name} is an esper.Processor and runs in object worlds only"
            )
        if system.objects is not None:
            where = ":".join(map(str, system.place))
            raise DoesNotCompileError(
                f"{system.name} ({where}) is a function of states or grids, which is any Python"
            )


def compile_scenario(scenario: Scenario, slots: Sequence[int], elements: Elements) -> Program:
    """The program of a scenario; `Program.prepare` compiles it, or loads it from the cache.

    Args:
        scenario: whose systems it runs.
        slots: where the terms of its rewards go.
        elements: of the arrays that hold the worlds and what they show.

    Raises:
        DoesNotCompileError: the view is too wide for its visibility function; all else is found
            out in `Program.prepare`.
    """
    record_methods.know(scenario.layout)
    run, units_ = link(scenario, slots, elements)
    around = [*_functions(rng_kernels), *VERBS.values(), *_functions(sight)]
    roots = [run, *(unit.function for unit in units_), *around]
    functions = program_functions.functions_of(roots)
    width = scenario.area.shape[1]
    if width > _WIDEST and any("clear_row" in function.__code__.co_names for function in functions):
        raise DoesNotCompileError(
            f"{scenario.visibility.name} takes views by rows of bits and compiles for up to "
            f"{_WIDEST} columns; the observation area has {width}"
        )
    checked = "running" in (elements["parameters"].names or ())
    unbounded = [function for function in functions if "flat" in function.__code__.co_names]
    if checked and unbounded:
        raise DoesNotCompileError(
            f"{_told(unbounded[0])}: {unbounded[0].__name__} asks for .flat, which has no bounds "
            f"where it is compiled; say .ravel()"
        )
    digest = program_functions.program_digest(
        [*around, *chain.from_iterable(map(_functions, _EMITTING))], *_compiler(), str(checked)
    )
    key = program_functions.program_digest(roots, str(elements), digest)
    with _LOCK:
        if key not in _PROGRAMS:
            run = _kept(run, key, functions, scenario.name)
            errors = _errors(functions)
            _PROGRAMS[key] = Program(run, errors, tuple(functions), checked, key, digest)
        return _PROGRAMS[key]


def asks_for(system: System, name: str) -> bool:
    """Whether a system's function, or one that it leads to, says this name."""
    functions = program_functions.functions_of([system.function])
    named = (function.__code__.co_names for function in functions)
    return any(name in names for names in named) or name in program_functions.strings(functions)


@cache
def compile_function(function: FunctionType) -> Any:
    """A function of numbers and arrays, compiled for what it is called with, or from the cache."""
    functions = program_functions.functions_of([function])
    return _kept(function, function_key(function), functions, function.__name__)


def function_key(function: FunctionType) -> str:
    """A digest of a function, and of what emits code for it."""
    uses = chain.from_iterable(program_functions.functions_of([function]).values())
    emitting = [used._defn for _, used in uses if hasattr(used, "_defn")]
    return program_functions.program_digest([function, *emitting], *_compiler())


def _compiler() -> Iterator[str]:
    """Settings that make other machine code of the same functions; Numba tells processors apart."""
    yield from (sys.version, numba.__version__, np.__version__)
    yield from (f"{name}={getattr(numba.config, name, None)}" for name in _SETTINGS)


def _kept(function: FunctionType, key: str, functions: Iterable[FunctionType], name: str) -> Any:
    """The function, to be compiled or loaded when it is called."""

    def on_miss() -> None:
        text = f"compiling {name} for this machine, once; later runs load it"
        print(f"gv-engine: {text}", file=sys.stderr)
        parts.mark_parts(functions)

    compiled: Any = njit(nogil=True)(function)
    try:
        try:
            compiled._cache = ProgramCache(function, key, on_miss, _not_kept)
        except OSError as error:
            _not_kept(error)
            keep_until_exit()
            compiled._cache = ProgramCache(function, key, on_miss, _not_kept)
    except OSError:  # nor is there room for what goes with this process
        on_miss()
    return compiled


def _not_kept(error: OSError) -> None:
    warnings.warn(
        f"compiled programs cannot be kept ({error}); every process will compile anew. "
        f"Set GV_ENGINE_CACHE_DIR to a folder that can be written",
        RuntimeWarning,
        stacklevel=3,
    )


def _errors(functions: dict[FunctionType, Any]) -> dict[int, RuleError]:
    """What `row["error"]` can hold: the texts in the functions, and what spawning says."""
    errors = {
        record_methods.message_code(text): RuleError(text)
        for text in program_functions.strings(functions)
    }
    errors[record_methods.CAPACITY_CODE] = CapacityError(CAPACITY)
    errors[record_methods.UNKNOWN_TYPE_CODE] = RuleError(UNKNOWN_TYPE)
    errors[record_methods.TO_NOTHING_CODE] = RuleError(TO_NOTHING)
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

_ADVICE = 'see "What compiles" in docs/authors.md'
_OWN_FAULT = (
    "all rules here are built-in, so that this is a fault of the engine or of its installation "
    f"(Python {platform.python_version()}, Numba {numba.__version__}, NumPy {np.__version__}); "
    'world="object" plays without compiling, a thousand times slower'
)


def _told(function: FunctionType) -> str:
    code = function.__code__
    return f"a rule cannot be compiled ({code.co_filename}, line {code.co_firstlineno})"


def _functions(module: Any) -> Iterator[FunctionType]:
    # an intrinsic keeps what it generates code by under `_defn`
    things = (getattr(thing, "_defn", thing) for thing in vars(module).values())
    return (thing for thing in things if isinstance(thing, FunctionType))
