"""Compiled programs: the systems of scenarios as machine code that steps the worlds of a batch."""

from __future__ import annotations

import builtins
import ctypes
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.compiler.batch import BatchPlan, Elements, compile_batch, make_cache_key, make_plan
from gv_engine.compiler.language.body import Failure
from gv_engine.compiler.language.machine import MachineCode
from gv_engine.compiler.parameters import make_parameters
from gv_engine.rules import errors
from gv_engine.rules.errors import BuiltInDoesNotCompileError, DoesNotCompileError
from gv_engine.rules.functions import uses_name
from gv_engine.rules.system import Phase, System
from gv_engine.scenario.scenario import Scenario

_MAX_WIDTH = 62
"""Columns of a view whose bits fit into an int64, with room for a carry."""

_ENGINE_FAULT = (
    'a fault of the engine or of its installation; world="object" runs without compiling'
)


def check_compilable(scenario: Scenario) -> None:
    """Raise an error if a scenario cannot be compiled, for example because a rule may be any Python
    code, or because the view is too wide for its visibility rule.

    Raises:
        DoesNotCompileError: with the name of the system.
    """
    for system in _walk_systems(scenario, Phase):
        if system.is_processor:
            raise DoesNotCompileError(
                f"{system.name} is an esper.Processor and runs in object worlds only"
            )
        if system.objects is not None:
            raise DoesNotCompileError(
                f"{system.title} is a function of states or grids, which is any Python"
            )
    for system in _walk_systems(scenario, [Phase.TERMINATING]):
        if uses_name(system.function, "ended_by"):
            raise DoesNotCompileError(
                f"{system.title} reads w.ended_by before it is known; only later rules may"
            )
    width = scenario.area.shape[1]
    if width > _MAX_WIDTH and uses_name(scenario.visibility.system.function, "clear_row"):
        raise DoesNotCompileError(
            f"{scenario.visibility.name} takes views by rows of bits and compiles for up to "
            f"{_MAX_WIDTH} columns; the observation area has {width}"
        )


_starts_quickly = False


def start_quickly() -> None:
    """Let all programs of this process first run code that is not optimized, which compiles in half
    the time, while a thread compiles the optimized code."""
    global _starts_quickly
    _starts_quickly = True


def _walk_systems(scenario: Scenario, phases: Iterable[Phase]) -> Iterator[System]:
    """Yield the systems (rule functions with their helpers) that a scenario uses in `phases`,
    including those nested in arguments."""
    for member in scenario.members:
        for phase in phases:
            for call in member.calls(phase):
                yield from (part.system for part in call.walk())


class BatchProgram:
    """Machine code that steps all worlds of a scenario.

    Attributes:
        run: (address of the batch's record, start, stop, mode) → number of failed worlds; None
            before `prepare`.
        address: address of `run`, for other compiled code.
        plan: systems of the scenario and of its members.
    """

    def __init__(
        self, scenario: Scenario, plan: BatchPlan, elements: Elements, checked: bool
    ) -> None:
        """Store what `prepare` will compile. `elements` has the shape and dtype of one element of
        each array in the batch. `checked` code tests indices and overflow."""
        self.run: Any = None
        self.address = 0
        self._compile_arguments = scenario.layout, plan, elements, checked
        self.plan = plan
        self._compile_error: DoesNotCompileError | None = None
        self._codes: list[MachineCode] = []
        self._failures: Mapping[int, Failure] = {}
        self._lock = threading.Lock()
        self._is_built_in = scenario.runs_engine_rules_only

    def prepare(self) -> None:
        """Compile the program if that was not done before.

        Raises:
            DoesNotCompileError: with the function, file, line and cause.
            BuiltInDoesNotCompileError: the same, if all rules come with the engine.
        """
        with self._lock:
            if self.run is None and not self._compile_error:
                try:
                    text, self._failures = self._generate_ir()
                    if _starts_quickly:
                        self._use_code(MachineCode(text, optimization_level=0))
                        threading.Thread(target=self._use_optimized_code, args=[text]).start()
                    else:
                        self._use_optimized_code(text)
                except DoesNotCompileError as error:
                    self._compile_error = error
                except RuntimeError as error:  # LLVM refuses the module
                    self._compile_error = DoesNotCompileError(f"LLVM: {error}; {_ENGINE_FAULT}")
            if self._compile_error:
                raise self._compile_error.with_traceback(None)

    def _use_code(self, code: MachineCode) -> None:
        """Run `code` from now on. Earlier code is kept, as another thread may be running it."""
        self.run = code.function("run", ctypes.c_int64, *[ctypes.c_int64] * 4)
        self.address = ctypes.cast(self.run, ctypes.c_void_p).value or 0
        self._codes.append(code)

    def _use_optimized_code(self, text: str) -> None:
        """Compile the LLVM IR `text` with optimization, and run that code from then on."""
        self._use_code(MachineCode(text))

    def write_for_web(self) -> tuple[str, Mapping[int, Failure]]:
        """Return the program as LLVM IR for `link_texts`, and the errors that it can end with, by
        code.

        Raises:
            DoesNotCompileError: as for `prepare`.
        """
        return self._generate_ir(for_web=True)

    def _generate_ir(self, for_web: bool = False) -> tuple[str, Mapping[int, Failure]]:
        """Return the LLVM IR of the program, and the errors that it can end with, by error code.
        `for_web` makes smaller code."""
        try:
            compiler, text = compile_batch(*self._compile_arguments, for_web)
        except DoesNotCompileError as error:
            if self._is_built_in:
                raise BuiltInDoesNotCompileError(f"{error}; {_ENGINE_FAULT}") from error
            raise DoesNotCompileError(f"{error} (see docs/compiling.md)") from error
        return text, compiler.failures

    def make_error(self, code: int, failure: np.void, scenario_index: int) -> Exception:
        """Return the Python exception for the error `code` that a compiled world has returned. The
        exception names the rule that failed. `failure` is a record of dtype `batch.FAILURE`;
        `scenario_index` says which scenario of a mixture the world plays."""
        text = self._failures[code].fill_in(failure["numbers"].tolist())
        class_name, _, message = text.partition(": ")
        cls: Any = getattr(errors, class_name, None) or getattr(builtins, class_name, None)
        if class_name == "OutOfBoundsError":  # its constructor takes the parts of the message
            cls = IndexError
        try:
            error: Exception = cls(message)
        except TypeError:  # a class of the rule's file, or one that takes other arguments
            error = type(class_name, (Exception,), {})(message)
        system = self._find_system(int(failure["blame"]), scenario_index)
        if system is not None:
            system.attach_to_error(error)
        return error

    def _find_system(self, mark: int, member: int) -> System | None:
        marked = self.plan.groups[self.plan.group_of[member]].plan.marked
        return marked[mark - 1] if mark else None


_LOCK = threading.Lock()
_PROGRAMS: dict[Any, BatchProgram] = {}
_MAX_PROGRAMS = 256
"""Programs that stay, the last ones, even if no batch runs them."""


def get_batch_program(
    scenario: Scenario, arrays: Mapping[str, NDArray[Any]], masks: bool, checked: bool
) -> tuple[BatchProgram, dict[str, NDArray[Any]]]:
    """Return the program that steps a scenario's worlds (a new one is compiled when it is first
    used), and the parameter arrays of its rules by name, which the caller adds to the arrays of the
    batch.

    Args:
        arrays: arrays of the batch by name.
        masks: False to compute no action masks.
        checked: True to test indices, overflow and other errors of rules.
    """
    records = [make_parameters(scenario, k) for k in range(len(scenario.members))]
    plan = make_plan(scenario, arrays, [each.dtype for each in records], masks)
    parameters: dict[str, NDArray[Any]] = {}
    for number, group in enumerate(plan.group_of):
        name = plan.groups[group].parameters
        parameters.setdefault(name, records[number])[number] = records[number][number]
    elements = {
        name: (array.shape[1:], array.dtype) for name, array in {**arrays, **parameters}.items()
    }
    key = make_cache_key(plan), make_cache_key(scenario.layout), tuple(elements.items()), checked
    with _LOCK:
        program = _PROGRAMS.get(key)
        if program is None:
            program = _PROGRAMS[key] = BatchProgram(scenario, plan, elements, checked)
            if len(_PROGRAMS) > _MAX_PROGRAMS:
                del _PROGRAMS[next(iter(_PROGRAMS))]
    return program, parameters
