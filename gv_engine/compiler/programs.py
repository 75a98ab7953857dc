"""Programs: a scenario's systems, compiled. What is kept is found and run without Numba.

A program is found by a digest of all that goes into it: the rules, function by function; how the
scenario calls them; the arrays that they work on; and the files of the engine. Where Numba has been
imported before, its settings and the engine may have been changed since, so that a digest of the
very functions that would be compiled has the last word.
"""

from __future__ import annotations

import hashlib
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np

from gv_engine.compiler.array_args import Elements
from gv_engine.compiler.object_loader import loaded, machine
from gv_engine.compiler.parameters import asked_actions, fields_of_calls, is_data, parts
from gv_engine.compiler.program_cache import (
    KeptProgram,
    keep_program,
    kept_program,
    make_place,
)
from gv_engine.rules.call import Call, is_nested_call
from gv_engine.rules.errors import DoesNotCompileError, RuleError, complain
from gv_engine.rules.modules import is_engine_module
from gv_engine.rules.system import Phase

if TYPE_CHECKING:
    from gv_engine.compiler.compiler import Linked
    from gv_engine.scenario.scenario import Scenario


# ---- program functions ---------------------------------------------------------------------------

_FOREIGN = {"numpy", "numba", "llvmlite", "esper"} | set(sys.stdlib_module_names)
_PLAIN = (int, float, str, bool, bytes, type(None), np.generic)


def functions_of(roots: Iterable[Any]) -> dict[FunctionType, list[tuple[str, Any]]]:
    """Every function of the engine or of authors that the roots lead to, with the names it uses."""
    found: dict[FunctionType, list[tuple[str, Any]]] = {}
    waiting = [root for root in roots if isinstance(root, FunctionType)]
    while waiting:
        function = waiting.pop()
        if function in found or function.__module__.partition(".")[0] in _FOREIGN:
            continue
        found[function] = list(_uses(function))
        for _, value in found[function]:
            waiting += [part for part in _flat(value) if isinstance(part, FunctionType)]
    return found


def strings(functions: Iterable[FunctionType]) -> set[str]:
    """All texts written out in the functions."""
    return {
        constant
        for function in functions
        for code in codes_within(function.__code__)
        for constant in code.co_consts
        if isinstance(constant, str)
    }


def asks_for(function: Any, name: str) -> bool:
    """Whether a function, or one that it leads to, says this name."""
    functions = functions_of([function])
    named = (each.__code__.co_names for each in functions)
    return any(name in names for names in named) or name in strings(functions)


def program_digest(roots: Iterable[Any], *more: str) -> str:
    """24 hexadecimal digits that stand for the code and the constants of all that is reached."""
    return digest_of(functions_of(roots), *more)


def digest_of(functions: Mapping[FunctionType, list[tuple[str, Any]]], *more: str) -> str:
    """The digest of functions as `functions_of` tells of them, and of texts."""
    lines = sorted(_describe(function, uses) for function, uses in functions.items())
    return hashlib.sha256("\n".join([*lines, *more]).encode()).hexdigest()[:24]


def complaint_about(function: FunctionType) -> str:
    """How a message about a function begins."""
    code = function.__code__
    return f"a rule cannot be compiled ({code.co_filename}, line {code.co_firstlineno})"


def _describe(function: FunctionType, uses: list[tuple[str, Any]]) -> str:
    codes = [
        (c.co_name, c.co_code.hex(), c.co_names, c.co_varnames, _constants(c))
        for c in codes_within(function.__code__)
    ]
    values = sorted((name, text_of(value)) for name, value in uses)
    return repr((function.__qualname__, codes, values))


def _uses(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """(name, value) of globals, attributes of modules, closure cells and defaults."""
    for code in codes_within(function.__code__):
        modules = []
        for name in code.co_names:
            if name in function.__globals__:
                value = function.__globals__[name]
                yield name, value
                if (
                    isinstance(value, ModuleType)
                    and value.__name__.partition(".")[0] not in _FOREIGN
                ):
                    modules.append(value)
        for module in modules:
            for name in code.co_names:
                if hasattr(module, name):
                    yield f"{module.__name__.rpartition('.')[2]}.{name}", getattr(module, name)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, cell.cell_contents
    for number, value in enumerate(function.__defaults__ or ()):
        yield f"default {number}", value


def codes_within(code: CodeType) -> Iterator[CodeType]:
    """The code itself and all that is written inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_within(constant)


def _constants(code: CodeType) -> list[str]:
    return [repr(c) for c in code.co_consts if not isinstance(c, CodeType)]


def _flat(value: Any) -> Iterator[Any]:
    if isinstance(value, tuple | list):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def text_of(value: Any) -> str:
    """A text that is equal in every process for equal constants; functions speak for themselves."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, tuple | list):
        return "(" + ",".join(text_of(part) for part in value) + ")"
    if isinstance(value, FunctionType | type):
        return value.__qualname__
    if isinstance(value, _PLAIN):
        return repr(value)
    return f"{type(value).__qualname__} {getattr(value, '__name__', '')}"


# ---- programs ------------------------------------------------------------------------------------

_WIDEST = 62
"""Columns whose bits a number holds, with room for a carry."""

_ROOMS = "language", "reading", "worlds", "batches"
"""Where all code of the engine is that programs can be made of, or by."""


class Program:
    """A scenario's systems as one compiled function over the rows of a batch.

    Attributes:
        key: a digest of all that it is made of; equal in every process.
        run, exception: as of `Loaded`, for the address of the record that `places` makes; None
            before `load` or `prepare`.
        errors: what the numbers in `row["error"]` stand for.
        failure: why it does not compile, once that has been found out.
    """

    def __init__(
        self, name: str, asked: str, link: Callable[[], Linked], built_in: bool = False
    ) -> None:
        """A program that is neither loaded nor compiled yet.

        Args:
            name: of the scenario.
            asked: the digest of all that goes into it.
            link: puts together what is to be compiled.
            built_in: whether no rule in it is an author's.
        """
        self.run: Any = None
        self.exception: Any = None
        self.errors: Mapping[int, RuleError] = {}
        self.failure = ""
        self._name, self._built_in, self._turn = name, built_in, threading.Lock()
        self._link: Any = cache(link)
        self._made_of = ""
        if "numba" in sys.modules:
            with suppress(DoesNotCompileError):  # `prepare` links again, and tells
                self._made_of = self._link().made_of
        self._asked, self.key = asked, self._made_of or asked

    def load(self) -> bool:
        """Load from the cache, if it is kept there; whether `prepare` no longer takes its time."""
        if self.run is None and not self.failure and not self._take(self.key, self._asked):
            make_place(self.key)
        return self.run is not None or bool(self.failure)

    def prepare(self) -> None:
        """Load from the cache, or compile.

        Raises:
            DoesNotCompileError: with the function, file, line and cause.
            BuiltInDoesNotCompileError: the same, where no function is an author's.
        """
        with self._turn:
            link = self._link  # which goes as soon as it is loaded
            if self.load() and not self.failure:
                return
            from gv_engine.compiler import compiler

            try:
                if self.failure:
                    raise DoesNotCompileError(self.failure)
                linked = link()
                self._made_of = linked.made_of
                # if no more than a comment of the engine has changed, it is kept under this
                if not (kept := self._take(linked.made_of)):
                    complain(f"compiling {self._name} for this machine, once; later runs load it")
                    self._become(kept := compiler.compile_linked(linked))
                keep_program(self.key, kept)
            except DoesNotCompileError as error:
                self.failure = str(error)
                self._settle()
                raise compiler.refusal(self.failure, self._built_in) from error.__cause__

    def _take(self, *keys: str) -> KeptProgram | None:
        """Become what is kept under one of these; None if it is not there."""
        for kept in map(kept_program, keys):
            if kept and self._made_of in ("", kept.made_of) and self._become(kept):
                return kept
        return None

    def _become(self, kept: KeptProgram) -> bool:
        if found := loaded(kept):
            (self.run, self.exception), self.errors = found, kept.errors
            self._settle()
        return found is not None

    def _settle(self) -> None:
        """Stay for ever, as nothing is left to be found out, and let the scenario go."""
        self._link = None
        _SETTLED.add(self)


_LOCK = threading.Lock()
_PROGRAMS: WeakValueDictionary[str, Program] = WeakValueDictionary()
_SETTLED: set[Program] = set()


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
        for part in call.walk()
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


def program_of(scenario: Scenario, slots: Sequence[int], elements: Elements) -> Program:
    """The program of a scenario; `Program.prepare` compiles it, or loads it from the cache.

    Args:
        scenario: whose systems it runs.
        slots: where the terms of its rewards go.
        elements: of the arrays that hold the worlds and what they show.

    Raises:
        DoesNotCompileError: the view is too wide for its visibility function, or a rule asks for
            what has no bounds; all else is found out in `Program.prepare`.
    """
    calls = [call for _, whole in fields_of_calls(scenario) for call in whole.walk()]
    functions = functions_of(part for call in calls for part in _functions_in(call))
    checked = "running" in (elements["parameters"].names or ())
    _check(scenario, functions, checked)
    asked = digest_of(
        functions, _surroundings(), *_spelled(scenario), str(list(slots)), str(elements)
    )
    found_by = " ".join([asked, *_numba_settings()])
    with _LOCK:
        # Numba keeps all that is linked, so that it is linked once
        if known := _PROGRAMS.get(found_by):
            return known
        link = partial(_link, scenario, slots, elements)
        built_in = all(is_engine_module(function.__module__) for function in functions)
        name = f"{scenario.name} with checks" if checked else scenario.name
        program = Program(name, asked, link, built_in)
        program = _PROGRAMS[found_by] = _PROGRAMS.setdefault(program.key, program)
        return program


def _numba_settings() -> Iterator[str]:
    """Yield the settings of Numba by which programs differ; none before it has been imported."""
    if "numba" in sys.modules:
        from gv_engine.compiler.compiler import compiler_settings

        yield from compiler_settings()


def _link(*given: Any) -> Linked:
    from gv_engine.compiler import compiler

    try:
        return compiler.link_scenario(*given)
    except Exception as error:
        raise compiler.unforeseen(error) from error


def _functions_in(call: Call) -> Iterator[Any]:
    yield from (*call.system.functions, *call.arguments.values())


def _check(scenario: Scenario, functions: Mapping[FunctionType, Any], checked: bool) -> None:
    width = scenario.area.shape[1]
    if width > _WIDEST and any("clear_row" in function.__code__.co_names for function in functions):
        raise DoesNotCompileError(
            f"{scenario.visibility.name} takes views by rows of bits and compiles for up to "
            f"{_WIDEST} columns; the observation area has {width}"
        )
    unbounded = [function for function in functions if "flat" in function.__code__.co_names]
    if checked and unbounded:
        where = complaint_about(unbounded[0])
        raise DoesNotCompileError(
            f"{where}: {unbounded[0].__name__} asks for .flat, which has no bounds where it is "
            f"compiled; say .ravel()"
        )


def _spelled(scenario: Scenario) -> Iterator[str]:
    """How a scenario calls its rules, and what its worlds are, in texts equal in every process."""
    for field, whole in fields_of_calls(scenario):
        for prefix, call in parts(whole.name, whole):
            system = call.system
            helpers = [getattr(each, "__qualname__", "") for each in _functions_in(call)]
            constants = [
                (name, text_of(value))
                for name, value in call.arguments.items()
                if not (is_data(value) or is_nested_call(value))
            ]
            yield str((field, prefix, system.phase.name, system.is_spontaneous, helpers, constants))
    yield str(asked_actions(scenario))
    layout = scenario.layout
    yield str(
        (layout.signature, layout.states, layout.type_table_length, layout.height, layout.width)
    )


def _surroundings() -> str:
    """A text that tells the engine's own code apart, what compiles it, and what that is told."""
    told = sorted((name, text) for name, text in os.environ.items() if name.startswith("NUMBA_"))
    file = Path(".numba_config.yaml")  # which Numba reads, too
    written = file.read_bytes() if file.is_file() else b""
    return str((_engine(), sys.version, np.__version__, machine(), told, written))


@cache
def _engine() -> str:
    rooms = Path(__file__).parents[2]
    files = [path for room in _ROOMS for path in sorted((rooms / room).rglob("*.py"))]
    if numba := find_spec("numba"):
        files.append(Path(numba.origin or "").with_name("_version.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()
