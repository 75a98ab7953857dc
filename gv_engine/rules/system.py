"""Systems: the rules of a game, one small function each, marked with the phase they belong to.

A system takes the world, the agent and its own parameters, and acts. When it does, a condition
beside it says, of which the action mask is made too:

>>> def is_tired(w, agent, action):
...     return action == MOVE_FORWARD
>>> @system(TRANSITION, when=is_tired)
... def sleep(w, agent, hours: int = 8):
...     '''Doing nothing is a rule too.'''
>>> sleep.system.phase.name, [p.name for p in sleep.system.parameters]
('TRANSITION', ['hours'])

The same function runs over esper's components and, compiled, over the rows of a batch.
"""

from __future__ import annotations

import enum
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol, TypeVar, cast, get_type_hints

import numpy as np

from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import Area


class Phase(enum.Enum):
    """The parts of a step, in order; a scenario lists the systems of each.

    SUCCESS holds a system of TERMINATING, asked where one has ended the episode. VISIBILITY runs
    within the making of an observation, RENDERING on demand only.
    """

    RESET = enum.auto()
    TRANSITION = enum.auto()
    REWARD = enum.auto()
    TERMINATING = enum.auto()
    SUCCESS = enum.auto()
    VISIBILITY = enum.auto()
    OBSERVATION = enum.auto()
    RENDERING = enum.auto()

    @property
    def label(self) -> str:
        """What messages call a system of the phase."""
        return f"{self.name.lower()} function"


RESET = Phase.RESET
TRANSITION = Phase.TRANSITION
REWARD = Phase.REWARD
TERMINATING = Phase.TERMINATING
SUCCESS = Phase.SUCCESS
VISIBILITY = Phase.VISIBILITY
OBSERVATION = Phase.OBSERVATION
RENDERING = Phase.RENDERING

_EXTRA = {VISIBILITY: ("view",), OBSERVATION: ("view", "out"), RENDERING: ("canvas",)}


@dataclass(frozen=True)
class Parameter:
    """Name, annotated type and default of what scenarios set (`inspect.Parameter.empty`: none)."""

    name: str
    type: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class System:
    """A marked function.

    Attributes:
        function: `(w, agent, …)`, or `(w, …)` if it runs once a step, whoever acts; see `system`
            for what each phase adds.
        phase: when it runs.
        name: as scenario files write it.
        parameters: what a scenario may set, in order of the signature.
        remember: measured before the transitions and handed to the reward as `was`.
        when: the condition of a transition: `(w, agent, action, …)`, would it do something, were
            this the action? Without `action`, it is that of something that happens by itself.
        until: what must hold after a reset, `(w, tried, …)`; until it does, all that is nested in
            the reset runs again, in an empty world. `tried` says how often it has run.
        answers: `(w, agent, action, …)`, before the transitions: would a reward or a terminating
            function tell something of this action, whatever else comes of it?
        check: `(…)` of parameters: what is wrong with them, as text; empty if nothing is.
        tables: parameters that are made from the observation area, by the functions given here.
        rows: a visibility function that takes the view by rows of bits; a rendering system that
            asks the world for values, `cells` and `appearance` alone, which its row tells too.
        says: what a terminating function tells the player about the end; "" for its name.
        objects: the function of states or grids that `function` adapts (see
            `gv_engine.gridverse`); None for a system of columns.
    """

    function: Callable[..., Any]
    phase: Phase
    name: str
    parameters: tuple[Parameter, ...]
    remember: Callable[..., Measured] | None = None
    when: Callable[..., bool] | None = None
    check: Callable[..., str] | None = None
    tables: Mapping[str, Callable[[Area], Any]] = field(default_factory=dict)
    rows: bool = False
    says: str = ""
    until: Callable[..., bool] | None = None
    answers: Callable[..., bool] | None = None
    objects: Callable[..., Any] | None = None

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """Its function, and its helpers that are called with a world."""
        helpers = self.remember, self.when, self.until, self.answers
        return (self.function, *(helper for helper in helpers if helper is not None))

    @property
    def place(self) -> tuple[str, int]:
        """File and line of its source."""
        return source_location(self.objects or self.function)

    @property
    def title(self) -> str:
        """Its name, with file and line."""
        return "{} ({}:{})".format(self.name, *self.place)

    def attach_to_error(self, error: Exception) -> None:
        """Let an error carry the system that it came out of, the innermost one of several."""
        if system_of(error) is None:
            error.system = self  # type: ignore[attr-defined]  # errors carry attributes

    @property
    def is_processor(self) -> bool:
        """Whether it is an author's `esper.Processor` instead of a function."""
        return isinstance(self.function, type)

    @property
    def is_spontaneous(self) -> bool:
        """Whether what it does is no answer to an action, so that it makes none valid."""
        if self.when is not None:
            return not has_parameter(self.when, "action")
        return not (self.is_processor or has_parameter(self.function, "agent"))

    @property
    def check_parameters(self) -> tuple[str, ...]:
        """Names of what its check asks for."""
        return () if self.check is None else tuple(inspect.signature(self.check).parameters)

    def make_tables(self, area: Area) -> dict[str, Any]:
        """Its parameters that are made from the observation area.

        Raises:
            ValueError: one cannot be made.
        """
        found = {}
        for name, table in self.tables.items():
            try:
                found[name] = _make_table(table, area)
            except Exception as error:  # whatever an author's function may raise
                raise ValueError(f"{self.name}: {name} of {area}: {error}") from error
        return found


@functools.lru_cache(maxsize=64)
def _make_table(table: Callable[[Area], Any], area: Area) -> Any:
    made = table(area)
    if isinstance(made, np.ndarray):
        made.flags.writeable = False  # all worlds share it
    return made


@functools.lru_cache(maxsize=1024)
def has_parameter(function: Callable[..., Any], name: str) -> bool:
    """Whether a rule, or one of its helpers, asks for `agent` or for `action`."""
    return name in inspect.signature(function).parameters


def to_measurement(value: Measured) -> Measured:
    """Return the result of `remember` as the rule gets it: an int or a float, or a tuple as it is.

    A truth value is 1 or 0.
    """
    return value if isinstance(value, tuple) else 0 + value


def unwrap_partials(function: Any) -> Any:
    """The plain function behind partials."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def source_location(function: Any) -> tuple[str, int]:
    """File and line of a function's source."""
    function = unwrap_partials(function)
    try:
        return inspect.getsourcefile(function) or "?", inspect.getsourcelines(function)[1]
    except (OSError, TypeError):  # typed in, or a built-in one with parameters
        return "?", 0


class SystemFunction(Protocol):
    """A function that carries its `System`."""

    system: System

    def __call__(self, *args: Any) -> Any: ...


_F = TypeVar("_F", bound=Callable[..., Any])
Measured = float | tuple[float, ...]


def system(
    phase: Phase,
    *,
    remember: Callable[..., Measured] | None = None,
    when: Callable[..., bool] | None = None,
    check: Callable[..., str] | None = None,
    tables: Mapping[str, Callable[[Area], Any]] | None = None,
    rows: bool = False,
    says: str = "",
    until: Callable[..., bool] | None = None,
    answers: Callable[..., bool] | None = None,
    valid: None = None,
) -> Callable[[_F], _F]:
    """Mark a function as a system of a phase; the function itself stays as it is.

    The first arguments are `(w, agent)`; a rule that is nobody's takes `w` alone, runs once a step
    and makes no action valid. A REWARD with `remember` takes `was` next, what `remember(w, agent)`
    measured before the transitions. VISIBILITY takes `view`, an OBSERVATION `view` and `out`,
    RENDERING `canvas`; these three are always an agent's. All further arguments are parameters for
    scenarios to set; helpers may ask for parameters of the system by the same names.

    Args:
        phase: when the system runs.
        remember: for rewards that compare before and after: a number, or a tuple of numbers.
        when: for transitions, the condition under which the function is called, with what is
            nested in it: `(w, agent, action, …)`. The action mask asks it too; a transition of an
            agent's without it may act on any action, so that nothing can be masked. `(w, agent, …)`
            is the condition of what happens by itself, and makes no action valid.
        check: asks for parameters by name (and for `area`, in a VISIBILITY, for the scenario's
            object `types`, or how many `agents` there are) when a scenario is loaded and returns
            what is wrong with them, or "".
        tables: for visibility functions, parameters that no scenario sets: each is made once,
            by a function of the observation area.
        rows: a visibility function that uses `view.clear_row` and `view.see_row` alone, not cells:
            faster where it is compiled, for views of up to 62 columns. A rendering system that
            asks the world for values, `cells` and `appearance` alone: no world is made for it.
        says: for terminating functions, what the player is told about the end, a sentence without
            its full stop: "You walked into a wall".
        until: for resets, a condition `(w, tried, …)`: what is nested in the reset runs again, in
            an empty world, until it is true. It ends that by `tried`, how often it has run.
        answers: for rewards and terminating functions that tell something of an action by itself,
            as that it ends the episode, though no transition may act on it: `(w, agent, action,
            …)`, before the transitions, for which actions. The action mask asks it.
        valid: the former name of `when`, refused.

    Raises:
        TypeError: the signature does not fit the phase; the message shows both.
    """
    if valid is not None:
        raise TypeError(
            "valid= is when=: the rule runs only where its condition holds; write "
            f"when={getattr(valid, '__name__', valid)} and take the question out of the rule"
        )
    for what, given, wanted in (
        ("when= is the condition", when, (TRANSITION,)),
        ("until= is the condition", until, (RESET,)),
        ("answers= tells the actions", answers, (REWARD, TERMINATING)),
    ):
        if given is not None and phase not in wanted:
            named = " or ".join(each.name for each in wanted)
            raise TypeError(f"{what} of a {named}, found phase {phase.name}")

    def mark(function: _F) -> _F:
        own = ("agent",) if phase in _EXTRA or has_parameter(function, "agent") else ()
        leading = ("w", *own, *(("was",) if remember else ()), *_EXTRA.get(phase, ()))
        parameters = _read_parameters(function, leading)
        names = [p.name for p in parameters]
        acting = (*own, *(("action",) if own else ()))
        asking = (remember, own), (when, acting), (until, ("tried",)), (answers, acting)
        for helper, first in asking:
            if helper is not None:
                _check_helper(function, helper, first, names)
        function.system = System(  # type: ignore[attr-defined]  # functions carry attributes
            function,
            phase,
            function.__name__,
            parameters,
            remember,
            when,
            check,
            tables or {},
            rows,
            says,
            until,
            answers,
        )
        return function

    return mark


def _check_helper(
    function: Callable[..., Any],
    helper: Callable[..., Any],
    leading: tuple[str, ...],
    names: list[str],
) -> None:
    """Refuse a helper that asks for what its system cannot give, or in another order."""
    asked = list(inspect.signature(helper).parameters)[1:]
    first = [name for name in leading if name in asked]
    for position, name in enumerate(asked):
        if position < len(first) and name != first[position]:
            raise TypeError(
                f"{function.__name__}: its helper {helper.__name__}{inspect.signature(helper)} "
                f"must begin with ({', '.join(('w', *first))})"
            )
        if name not in first and name not in names:
            raise TypeError(
                f"{function.__name__}: its helper {helper.__name__} asks for "
                f"{name!r}, no parameter of the system {describe_allowed(name, names)}"
            )


def _read_parameters(
    function: Callable[..., Any], leading: tuple[str, ...]
) -> tuple[Parameter, ...]:
    signature = inspect.signature(function)
    given = list(signature.parameters.values())
    want = f"{function.__name__}({', '.join((*leading, '…parameters'))})"
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if len(given) < len(leading) or any(p.kind is not positional for p in given):
        raise TypeError(
            f"{function.__name__}{signature} is no system: expected {want}, without *, ** and "
            f"keyword-only arguments"
        )
    for position, name in enumerate(leading):
        if name in (p.name for p in given) and given[position].name != name:
            raise TypeError(f"{function.__name__}{signature} is no system: expected {want}")
        if given[position].default is not inspect.Parameter.empty:
            raise TypeError(
                f"{function.__name__}{signature} is no system: argument {given[position].name!r} "
                f"stands for {name!r} and takes no default; expected {want}"
            )
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError:  # a name that only type checkers import
        hints = {}
    return tuple(
        Parameter(p.name, hints.get(p.name, Any), p.default) for p in given[len(leading) :]
    )


class Registry:
    """The systems of one phase by name: a read-only mapping filled from modules."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self._systems: dict[str, System] = {}

    def collect(self, module: ModuleType) -> None:
        """Add every system of the phase that the module itself defines."""
        for thing in vars(module).values():
            found = getattr(thing, "system", None)
            own = getattr(thing, "__module__", None) == module.__name__
            if own and isinstance(found, System) and found.phase is self.phase:
                self._systems[found.name] = found

    def add(self, new: System) -> None:
        """Add a system under its name.

        Raises:
            ValueError: the name is taken.
        """
        old = self._systems.get(new.name)
        if old is not None and not _is_reload(old, new):
            raise ValueError(
                f"the {self.phase.label} {new.name!r} is registered already, from "
                f"{':'.join(map(str, old.place))}; choose another name"
            )
        self._systems[new.name] = new

    def __getitem__(self, name: str) -> System:
        """The system of that name.

        Raises:
            KeyError: unknown; the message lists the names and the nearest.
        """
        if name not in self._systems:
            raise KeyError(f"no {self.phase.label} {name!r}: {describe_allowed(name, self)}")
        return self._systems[name]

    def __contains__(self, name: object) -> bool:
        return name in self._systems

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def keys(self) -> list[str]:
        return list(self._systems)


def _is_reload(old: System, new: System) -> bool:
    """Whether a module was imported again, in a new namespace, and so registers again."""
    spaces = [getattr(s.objects or s.function, "__globals__", {}) for s in (old, new)]
    return spaces[0] is not spaces[1] and (
        spaces[0].get("__name__", "") == spaces[1].get("__name__")
    )


REGISTRIES = {phase: Registry(phase) for phase in Phase}


def system_of(thing: object) -> System | None:
    """The `System` that a function or an error carries, or None."""
    found = getattr(thing, "system", None)
    return found if isinstance(found, System) else None


def as_system_function(function: Callable[..., Any]) -> SystemFunction:
    """For type checkers: a function that `system` has marked."""
    return cast(SystemFunction, function)
