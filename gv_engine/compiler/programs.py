"""Programs: a scenario's systems as one compiled function, loaded from the cache without Numba.

The cache key is a digest of all inputs: the code of the rules, their calls in the scenario, the
dtypes of the arrays, and the engine's files. If Numba has been imported before, its settings or the
engine may have changed in memory. Then the key is a digest of the functions that would be compiled.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from gv_engine.compiler import parameters
from gv_engine.compiler.object_loader import describe_processor, load_program
from gv_engine.compiler.program_cache import (
    CachedProgram,
    constant_text,
    describe_location,
    ensure_writable,
    find_functions,
    hash_functions,
    read_program,
    write_program,
)
from gv_engine.rules.errors import DoesNotCompileError, RuleError, complain
from gv_engine.rules.objects import is_engine_module
from gv_engine.rules.system import Call, Phase, is_nested_call

if TYPE_CHECKING:
    from gv_engine.compiler.compiler import LinkedProgram
    from gv_engine.scenario.scenario import Scenario


# ---- programs ------------------------------------------------------------------------------------

_MAX_WIDTH = 62
"""Columns of a view whose bits fit into an int64, with room for a carry."""

_ENGINE_PACKAGES = "rules", "scenario", "world", "vector", "compiler"
"""Packages with all engine code that programs contain or are compiled by."""


class Program:
    """A scenario's systems as one compiled function over the rows of a batch.

    Attributes:
        key: cache key, a digest of all inputs; equal in every process.
        run, exception, loop: see `Loaded`; `run` takes the address that `make_address_record`
            gives. None before `load` or `prepare`.
        errors: errors that the codes in `row["error"]` stand for.
        link: function that returns the functions to compile; None once the program is loaded.
        failure: reason why the program does not compile; "" if none is known.
    """

    def __init__(
        self, name: str, digest: str, link: Callable[[], LinkedProgram], is_built_in: bool = False
    ) -> None:
        """Make a program that is not loaded or compiled yet.

        Args:
            name: name of the scenario.
            digest: digest of all inputs.
            link: returns the functions to compile.
            is_built_in: True if all rules come with the engine.
        """
        self.run: Any = None
        self.exception: Any = None
        self.loop: Any = None
        self.errors: Mapping[int, RuleError] = {}
        self.failure = ""
        self._name, self._built_in, self._prepare_lock = name, is_built_in, threading.Lock()
        self.link: Any = cache(link)
        self._digest = ""
        if "numba" in sys.modules:
            with suppress(DoesNotCompileError):  # `prepare` links again and raises the error
                self._digest = self.link().digest
        self._request, self.key = digest, self._digest or digest

    def load(self) -> bool:
        """Load the program from the disk cache if it is there. Return False if `prepare` would have
        to compile it, True if it is loaded or known not to compile."""
        if self.run is None and not self.failure and not self._load_first(self.key, self._request):
            ensure_writable(self.key)
        return self.run is not None or bool(self.failure)

    def prepare(self) -> None:
        """Load the program from the disk cache, or compile it and store it there.

        Raises:
            DoesNotCompileError: with the function, file, line and cause.
            BuiltInDoesNotCompileError: the same, if all rules come with the engine.
        """
        with self._prepare_lock:
            link = self.link  # `load` sets it to None
            if self.load() and not self.failure:
                return
            from gv_engine.compiler import compiler

            try:
                if self.failure:
                    raise DoesNotCompileError(self.failure)
                linked = link()
                self._digest = linked.digest
                # cached under this digest if only comments of the engine have changed
                if not (cached := self._load_first(linked.digest)):
                    complain(f"compiling {self._name} for this machine, once; later runs load it")
                    if not self._load(cached := compiler.compile_linked(linked)):
                        raise DoesNotCompileError("the code calls functions that do not exist")
                write_program(self.key, cached)
            except DoesNotCompileError as error:
                self.failure = str(error)
                self._keep_forever()
                raise compiler.make_compile_error(self.failure, self._built_in) from error.__cause__

    def _load_first(self, *keys: str) -> CachedProgram | None:
        """Load the program from the disk cache under the first of these `keys` that is found there;
        return the cached program, or None."""
        for cached in map(read_program, keys):
            if cached and self._digest in ("", cached.digest) and self._load(cached):
                return cached
        return None

    def _load(self, cached: CachedProgram) -> bool:
        """Load a program's object code into memory and set `run` and `errors`; return False if a
        symbol that the code needs is missing."""
        if loaded := load_program(cached):
            (self.run, self.exception, self.loop), self.errors = loaded, cached.errors
            self._keep_forever()
        return loaded is not None

    def _keep_forever(self) -> None:
        """Keep this program for the life of the process and drop the reference to its scenario."""
        self.link = None
        _FINISHED.add(self)


_LOCK = threading.Lock()
_PROGRAMS: WeakValueDictionary[str, Program] = WeakValueDictionary()
_FINISHED: set[Program] = set()


def check_compilable(scenario: Scenario) -> None:
    """Raise `DoesNotCompileError` if a system of the scenario is arbitrary Python: an esper
    processor, or a function of state or grid objects.

    Raises:
        DoesNotCompileError: a system is arbitrary Python; the message names it.
    """
    calls = (c for member in scenario.members for phase in Phase for c in member.calls(phase))
    for system in (part.system for call in calls for part in call.walk()):
        if system.is_processor:
            raise DoesNotCompileError(
                f"{system.name} is an esper.Processor and runs in object worlds only"
            )
        if system.objects is not None:
            where = ":".join(map(str, system.place))
            raise DoesNotCompileError(
                f"{system.name} ({where}) is a function of states or grids, which is any Python"
            )


def get_program(scenario: Scenario, slots: Sequence[int], dtypes: parameters.Dtypes) -> Program:
    """Return the compiled program of a scenario, which is loaded or compiled by `Program.prepare`.

    Args:
        scenario: scenario whose systems run.
        slots: position of each reward function among the reward terms.
        dtypes: element dtypes of the batch's arrays.

    Raises:
        DoesNotCompileError: the view is too wide for its visibility function, or a checked rule
            uses `.flat`. `Program.prepare` finds all other problems.
    """
    calls = [call for _, whole in parameters.list_call_fields(scenario) for call in whole.walk()]
    functions = find_functions(part for call in calls for part in _iter_call_functions(call))
    checked = "running" in (dtypes["parameters"].names or ())
    _check_limits(scenario, functions, checked)
    texts = _environment_text(), *_iter_scenario_texts(scenario), str(list(slots)), str(dtypes)
    digest = hash_functions(functions, *texts)
    registry_key = " ".join([digest, *_iter_numba_settings()])
    with _LOCK:
        # Numba keeps linked functions for ever, so a program is linked only once
        if program := _PROGRAMS.get(registry_key):
            return program
        link = partial(_link_scenario, scenario, slots, dtypes)
        built_in = all(is_engine_module(function.__module__) for function in functions)
        name = f"{scenario.name} with checks" if checked else scenario.name
        program = Program(name, digest, link, built_in)
        program = _PROGRAMS[registry_key] = _PROGRAMS.setdefault(program.key, program)
        return program


def _iter_numba_settings() -> Iterator[str]:
    """Yield the Numba settings on which compiled code depends, as texts; none before Numba is
    imported."""
    if "numba" in sys.modules:
        from gv_engine.compiler.compiler import compiler_settings

        yield from compiler_settings()


def _link_scenario(*arguments: Any) -> LinkedProgram:
    """Return `compiler.link_scenario(*arguments)`; raise any exception as a
    `DoesNotCompileError`."""
    from gv_engine.compiler import compiler

    try:
        return compiler.link_scenario(*arguments)
    except Exception as error:
        raise compiler.wrap_error(error) from error


def _iter_call_functions(call: Call) -> Iterator[Any]:
    """Yield the functions of a call and its arguments."""
    yield from (*call.system.functions, *call.arguments.values())


def _check_limits(scenario: Scenario, functions: Mapping[FunctionType, Any], checked: bool) -> None:
    """Raise `DoesNotCompileError` if the view has too many columns to be stored as bits, or if a
    function uses `.flat` in a program with bounds checks (`checked`)."""
    width = scenario.area.shape[1]
    if width > _MAX_WIDTH and any("clear_row" in f.__code__.co_names for f in functions):
        raise DoesNotCompileError(
            f"{scenario.visibility.name} takes views by rows of bits and compiles for up to "
            f"{_MAX_WIDTH} columns; the observation area has {width}"
        )
    unbounded = [function for function in functions if "flat" in function.__code__.co_names]
    if checked and unbounded:
        where = describe_location(unbounded[0])
        raise DoesNotCompileError(
            f"{where}: {unbounded[0].__name__} uses .flat, which has no bounds check where it is "
            f"compiled; use .ravel()"
        )


def _iter_scenario_texts(scenario: Scenario) -> Iterator[str]:
    """Yield texts that describe a scenario's rule calls and layout, for the cache key. They are the
    same in every process."""
    for field, whole in parameters.list_call_fields(scenario):
        for prefix, call in parameters.iter_calls(whole.name, whole):
            system = call.system
            helpers = [getattr(each, "__qualname__", "") for each in _iter_call_functions(call)]
            constants = [
                (name, constant_text(value))
                for name, value in call.arguments.items()
                if not (parameters.is_data(value) or is_nested_call(value))
            ]
            yield str((field, prefix, system.phase.name, system.is_spontaneous, helpers, constants))
    yield str(parameters.list_mask_actions(scenario))
    yield str(scenario.state_numbers)
    layout = scenario.layout
    yield str(
        (layout.signature, layout.states, layout.type_table_length, layout.height, layout.width)
    )


def _environment_text() -> str:
    """Return a text of engine, Python, NumPy, processor and Numba settings, for the digest."""
    options = sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))
    return str((_hash_engine(), sys.version, np.__version__, describe_processor(), options))


@cache
def _hash_engine() -> str:
    """Return the SHA-256 digest of the engine's source files and of Numba's version."""
    folder = Path(__file__).parents[1]
    files = [path for room in _ENGINE_PACKAGES for path in sorted((folder / room).rglob("*.py"))]
    if numba := find_spec("numba"):
        files.append(Path(numba.origin or "").with_name("_version.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
