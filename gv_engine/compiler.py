"""From a scenario to compiled code: the systems' own functions, chained by closures.

Nothing is generated as text. A chain calls one system after the other, with its parameters read
from a record; so only another list of systems, another layout or another view asks for a new
compilation, never other parameters.
"""

from __future__ import annotations

import os
import re
import secrets
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
import platformdirs
from numba import njit
from numba.core.bytecode import FunctionIdentity
from numba.core.errors import NumbaError
from numba.extending import register_jitable
from numpy.typing import NDArray

from gv_engine import reach, record_methods, rng_kernels, verbs
from gv_engine.autoreset import KEEP, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.errors import CapacityError, DoesNotCompileError, RuleError
from gv_engine.system import RESET, REWARD, TERMINATING, TRANSITION, Call, Phase
from gv_engine.view import view_dtype
from gv_engine.world import AGENT, CAPACITY, UNKNOWN_TYPE
from systems.observation import look, show

if TYPE_CHECKING:
    from gv_engine.scenario import Scenario

_LOCK = threading.Lock()

# Numba numbers its symbols from 1 in every process, so two programs from the cache may use one name
# for different functions, and the first one loaded would serve both (numba issue 10486).
FunctionIdentity._unique_ids = iter(partial(secrets.randbits, 64), -1)


@dataclass(frozen=True)
class Program:
    """A scenario's systems as one compiled function over the rows of a batch.

    Attributes:
        run: (rows, parameters, views, actions, mode, *outputs) → number of failed worlds.
        errors: what the numbers in `row["error"]` stand for.
        name: of the scenario, for messages.
    """

    run: Any
    errors: dict[int, RuleError]
    name: str

    def prepare(self, *arguments: Any) -> None:
        """Compile for arguments like these, or load from the cache; one line says which is slow.

        Raises:
            DoesNotCompileError: with the function, file, line and cause.
        """
        if not any(Path(self.run._cache.cache_path).glob("*.nbi")):
            print(
                f"gv-engine: compiling {self.name} for this machine, once; later runs load it",
                file=sys.stderr,
            )
        try:
            self.run(*arguments)
        except NumbaError as error:
            raise DoesNotCompileError(_brief(error)) from None


def _brief(error: NumbaError) -> str:
    """Function, file, line and cause out of a message of several thousand characters."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    places = [match for line in lines if (match := re.match(r'File "(.+)", line (\d+):', line))]
    noise = ("Failed in", "No implementation", "There are", "- Of which", "Overload", "With arg")
    noise += ("Rejected", "raised from", ">>>", "During", "File", "-", "<source", "Enable", "This")
    causes = [line for line in lines if line and not line.startswith(noise)]
    cause = causes[0] if causes else lines[0]
    where = f" ({places[0][1]}, line {places[0][2]})" if places else ""
    return f"a rule cannot be compiled{where}: {cause}"


# ---- parameters as data ----------------------------------------------------------------------


def _calls(scenario: Scenario) -> dict[str, tuple[Call, ...]]:
    """The scenario's calls by the prefix of their fields in the parameter record."""
    calls = {phase.name: scenario.calls(phase) for phase in (RESET, TRANSITION, REWARD)}
    return {**calls, "TERMINATING": scenario.calls(TERMINATING), "SEE": (scenario.visibility,)}


def _is_data(value: Any) -> bool:
    return not callable(value) and not isinstance(value, str) and value is not None


def parameters(scenario: Scenario) -> NDArray[Any]:
    """(1,) record of everything about a scenario that is data: the arguments of its systems, its
    actions and its step limit."""
    actions = np.zeros(8, np.int16)
    actions[: len(scenario.actions)] = scenario.actions
    values: dict[str, NDArray[Any]] = {
        "actions": actions,
        "num_actions": np.asarray(len(scenario.actions)),
        "max_steps": np.asarray(scenario.max_steps or np.iinfo(np.int64).max),
    }
    for prefix, calls in _calls(scenario).items():
        for number, call in enumerate(calls):
            for name, value in call.arguments.items():
                if _is_data(value):
                    values[f"{prefix}_{number}_{name}"] = np.asarray(value)
    dtype = np.dtype([(name, v.dtype, v.shape) for name, v in values.items()], align=True)
    record = np.zeros(1, dtype)
    for name, value in values.items():
        record[0][name] = value
    return record


# ---- chains ----------------------------------------------------------------------------------
# Each link is a closure over the one before it. `p` is the parameter record.


def _arguments(prefix: str, call: Call, helper: Callable[..., Any] | None = None) -> Any:
    """`(p)` → tuple of a call's arguments, or of those that its helper asks for."""

    def none(p: Any) -> Any:
        return ()

    values = none
    for name in call.names(helper):
        value = call.arguments[name]
        values = _data(values, f"{prefix}_{name}") if _is_data(value) else _constant(values, value)
    return values


def _data(before: Any, field: str) -> Any:
    def values(p: Any) -> Any:
        return (*before(p), p[field])

    return values


def _constant(before: Any, value: Any) -> Any:
    def values(p: Any) -> Any:
        return (*before(p), value)

    return values


def _nothing(w: Any, p: Any) -> None:
    pass


def _then(before: Any, function: Any, values: Any) -> Any:
    """RESET and TRANSITION: one system after the other."""

    def run(w: Any, p: Any) -> None:
        before(w, p)
        function(w, AGENT, *values(p))

    return run


def _unmeasured(w: Any, p: Any) -> Any:
    return ()


def _measure(before: Any, remember: Any, values: Any) -> Any:
    """REWARD, first half: (what is before, what this one remembers)."""
    if remember is None:

        def measured(w: Any, p: Any) -> Any:
            return (before(w, p), 0.0)

    else:

        def measured(w: Any, p: Any) -> Any:
            return (before(w, p), 1.0 * remember(w, AGENT, *values(p)))

    return measured


def _no_reward(w: Any, p: Any, was: Any, terms: Any) -> float:
    return 0.0


def _add(before: Any, number: int, call: Call, values: Any) -> Any:
    """REWARD, second half: add the terms from left to right."""
    function = call.system.function
    if call.system.remember:

        def total(w: Any, p: Any, was: Any, terms: Any) -> float:
            reward = before(w, p, was[0], terms)
            term = 1.0 * function(w, AGENT, was[1], *values(p))
            terms[number] = term
            return reward + term  # type: ignore[no-any-return]

    else:

        def total(w: Any, p: Any, was: Any, terms: Any) -> float:
            reward = before(w, p, was[0], terms)
            term = 1.0 * function(w, AGENT, *values(p))
            terms[number] = term
            return reward + term  # type: ignore[no-any-return]

    return total


def _never(w: Any, p: Any) -> bool:
    return False


def _or(before: Any, function: Any, values: Any) -> Any:
    """TERMINATING: whether any test is true; all of them run."""

    def over(w: Any, p: Any) -> bool:
        earlier = before(w, p)
        return bool(function(w, AGENT, *values(p))) or earlier

    return over


def _no_action(w: Any, p: Any, action: int) -> bool:
    return False


def _or_valid(before: Any, valid: Any, values: Any) -> Any:
    """Action mask: whether any transition would act."""
    if valid is None:

        def would_act(w: Any, p: Any, action: int) -> bool:
            return True

    else:

        def would_act(w: Any, p: Any, action: int) -> bool:
            return before(w, p, action) or bool(valid(w, AGENT, action, *values(p)))

    return would_act


def _see(call: Call, values: Any) -> Any:
    function = call.system.function

    def see(w: Any, p: Any, view: Any) -> None:
        look(w, AGENT, view)
        function(w, AGENT, view, *values(p))

    return see


# ---- the program -----------------------------------------------------------------------------


def _link(scenario: Scenario) -> FunctionType:
    """The kernel, not compiled yet."""
    calls = _calls(scenario)

    def chain(prefix: str, first: Any, link: Callable[..., Any]) -> Any:
        last = first
        for number, call in enumerate(calls[prefix]):
            last = link(last, number, call, f"{prefix}_{number}")
        return last

    begin = chain("RESET", _nothing, lambda b, n, c, f: _then(b, c.system.function, _arguments(f, c)))
    move = chain(
        "TRANSITION", _nothing, lambda b, n, c, f: _then(b, c.system.function, _arguments(f, c))
    )
    valid = chain(
        "TRANSITION",
        _no_action,
        lambda b, n, c, f: _or_valid(
            b, c.system.valid, _arguments(f, c, c.system.valid) if c.system.valid else None
        ),
    )
    measure = chain(
        "REWARD",
        _unmeasured,
        lambda b, n, c, f: _measure(
            b, c.system.remember, _arguments(f, c, c.system.remember) if c.system.remember else None
        ),
    )
    score = chain("REWARD", _no_reward, lambda b, n, c, f: _add(b, n, c, _arguments(f, c)))
    over = chain(
        "TERMINATING", _never, lambda b, n, c, f: _or(b, c.system.function, _arguments(f, c))
    )
    see = _see(scenario.visibility, _arguments("SEE_0", scenario.visibility))

    def restart(w: Any, p: Any) -> None:
        for e in range(1, w.capacity):
            if w.alive[e]:
                w.remove(e)
        w.at[:, :] = 0
        w.placed[:] = 0
        w.alive[AGENT] = 1
        w.become_agent(AGENT)
        w.free = AGENT + 1
        w.error = 0
        w.steps = 0
        w.reward = 0.0
        w.total = 0.0
        w.terminated = 0
        w.truncated = 0
        begin(w, p)


    def observe(w: Any, p: Any, view: Any, grid: Any, item: Any, mask: Any, i: int) -> None:
        see(w, p, view)
        show(w, AGENT, view, grid[i].row, item[i].row)
        for k in range(p.num_actions):
            mask[i].row[k] = valid(w, p, p.actions[k])

    def run(
        rows: Any,
        parameters: Any,
        views: Any,
        actions: Any,
        mode: int,
        grid: Any,
        item: Any,
        mask: Any,
        terms: Any,
        rewards: Any,
        terminated: Any,
        truncated: Any,
        final_grid: Any,
        final_item: Any,
        final_mask: Any,
        final_terms: Any,
    ) -> int:
        view = views[0]
        p = parameters[0]
        failed = 0
        for i in range(len(rows)):
            w = rows[i]
            action = actions[i]
            if action == KEEP:
                continue
            if action == RESTART or (
                action >= 0 and mode == NEXT_STEP and (w.terminated or w.truncated)
            ):
                restart(w, p)
                rewards[i] = 0.0
                terms[i].row[:] = 0.0
                terminated[i] = False
                truncated[i] = False
            elif action >= 0:
                w.action = p.actions[action]
                w.terminated = 0
                w.truncated = 0
                was = measure(w, p)
                move(w, p)
                w.reward = score(w, p, was, terms[i].row)
                w.terminated = over(w, p)
                w.steps += 1
                w.total += w.reward
                w.truncated = w.steps >= p.max_steps and not w.terminated
                rewards[i] = w.reward
                terminated[i] = w.terminated != 0
                truncated[i] = w.truncated != 0
                if mode == SAME_STEP and (w.terminated or w.truncated) and w.error == 0:
                    observe(w, p, view, final_grid, final_item, final_mask, i)
                    final_terms[i].row[:] = terms[i].row
                    restart(w, p)
                    terms[i].row[:] = 0.0
            observe(w, p, view, grid, item, mask, i)
            failed += w.error != 0
        return failed

    return run  # type: ignore[return-value]  # mypy does not know it as a FunctionType


def compile_scenario(scenario: Scenario) -> Program:
    """Prepare a scenario's program; its first call compiles it or loads it from the cache.

    Raises:
        DoesNotCompileError: a system is no function; others fail in `Program.prepare`.
    """
    for phase in Phase:
        for call in scenario.calls(phase):
            if isinstance(call.system.function, type):
                raise DoesNotCompileError(f"{call.name} is an esper.Processor, which runs as Python")
    record_methods.record_type(scenario.layout)
    run = _link(scenario)
    roots = [run, *_functions(rng_kernels), *_functions(verbs)]
    functions = reach.reached(roots)
    for function in functions:
        register_jitable(function)
    key = reach.digest(
        [*roots, *_functions(record_methods)],
        str(scenario.layout.dtype),
        str(scenario.layout.prefabs and scenario.layout.mark),
        str(view_dtype(scenario.area)),
        str(parameters(scenario).dtype),
        sys.version,
        numba.__version__,
        np.__version__,
    )
    errors: dict[int, RuleError] = {
        record_methods.message_code(text): RuleError(text) for text in reach.strings(functions)
    }
    errors[record_methods.CAPACITY_CODE] = CapacityError(CAPACITY)
    errors[record_methods.UNKNOWN_TYPE_CODE] = RuleError(UNKNOWN_TYPE)
    with _cached_in(cache_folder() / key):
        return Program(njit(cache=True, nogil=True)(run), errors, scenario.name)


def as_records(array: NDArray[Any]) -> NDArray[Any]:
    """(N,) records with one field `row` over an (N, …) array: compiled code takes their rows
    without counting references. Arrays of numbers stay as they are."""
    if array.ndim == 1:
        return array
    record = np.dtype([("row", array.dtype, array.shape[1:])])
    return np.ndarray(len(array), record, array.data if array.size else None)


def _functions(module: Any) -> Iterator[FunctionType]:
    return (thing for thing in vars(module).values() if isinstance(thing, FunctionType))


def cache_folder() -> Path:
    """Where compiled programs are kept, per user: `GV_ENGINE_CACHE_DIR` if that is set."""
    given = os.environ.get("GV_ENGINE_CACHE_DIR")
    return Path(given or platformdirs.user_cache_dir("gv-engine")) / "compiled"


@contextmanager
def _cached_in(folder: Path) -> Iterator[None]:
    """Numba notes where a function's cache is while it decorates the function."""
    with _LOCK:
        before = numba.config.CACHE_DIR
        numba.config.CACHE_DIR = str(folder)
        try:
            yield
        finally:
            numba.config.CACHE_DIR = before
