"""Systems: rules of a game, one small function each; and calls: systems with their arguments.

A system takes the world, the agent and its own parameters. The optional condition `when` decides
whether it runs; the action mask is computed from the same condition:

>>> def is_tired(w, agent, action):
...     return action == MOVE_FORWARD
>>> @system(TRANSITION, when=is_tired)
... def sleep(w, agent, hours: int = 8):
...     '''Doing nothing is a rule too.'''
>>> sleep.system.phase.name, [p.name for p in sleep.system.parameters]
('TRANSITION', ['hours'])

The same function runs on the object world and, compiled, on the rows of a batch.
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, TypeVar, get_type_hints

import numpy as np

from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.functions import names_of
from gv_engine.rules.geometry import Area
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.rules.source import find_function_nodes


class Phase(enum.Enum):
    """Phases of a step, in order; a scenario lists the systems of each.

    SUCCESS holds a system of TERMINATING that runs when the episode has ended. VISIBILITY runs
    while an observation is made, RENDERING on demand only.
    """

    RESET = enum.auto()
    TRANSITION = enum.auto()
    REWARD = enum.auto()
    TERMINATING = enum.auto()
    SUCCESS = enum.auto()
    VISIBILITY = enum.auto()
    OBSERVATION = enum.auto()
    RENDERING = enum.auto()

    __hash__ = object.__hash__  # Enum's is a Python function, which each look-up by phase calls

    @property
    def label(self) -> str:
        """Name for messages of a system that runs in this phase, such as "reward function"."""
        return f"{self.name.lower()} function"


RESET, TRANSITION, REWARD, TERMINATING, SUCCESS, VISIBILITY, OBSERVATION, RENDERING = Phase

_TRUTH = "True or False"
_RESULTS = {REWARD: "a number", TERMINATING: _TRUTH}
"""What rules of a phase return, for messages."""
_EXTRA = {VISIBILITY: ("view",), OBSERVATION: ("view", "out"), RENDERING: ("canvas",)}


ObjectTypeIndex = Annotated[int, "object type"]
"""Annotation of a parameter of a rule: the index of the object type that the scenario names."""
ColorIndex = Annotated[int, "colour"]
"""Annotation of a parameter: the index of the colour that the scenario names."""
StateIndex = Annotated[int, "state"]
"""Annotation of a parameter: the index of the state that the scenario names, as `Gate.OPEN`."""
AgentNumber = Annotated[str, "number of an agent"]
"""Annotation of a parameter: the number of the agent that the scenario names, as `Health.points`,
for `w.numbers`."""
ObjectNumber = Annotated[str, "number of an object"]
"""Annotation of a parameter: the number of an object or agent that the scenario names, for
`w.numbers`."""
AgentMask = Annotated[tuple[bool, ...], "agents"]
"""Annotation of a parameter: a tuple by agent number, True for agents and members of teams that the
scenario names."""
FilePath = Annotated[str, "file"]
"""Annotation of a parameter: the path of a file that the scenario names. Functions in `tables` read
it."""
PackedNumbers = Annotated[tuple[int, ...], "packed numbers"]
"""Annotation of a parameter: a long tuple of integers, which the scenario gives as a text of
`gv_engine.scenario.syntax.packed_numbers`."""


@dataclass(frozen=True)
class Parameter:
    """Parameter of a system that scenarios set: name, annotated type and default."""

    name: str
    type: Any
    default: Any

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class System:
    """A rule function decorated by `system`, with its phase, its parameters, and helper functions
    such as `when`.

    Attributes:
        function: `(w, agent, …)`, or `(w, …)` if it runs once a step; see `system` for the
            arguments that each phase adds.
        phase: part of the step in which it runs.
        name: name in scenario files.
        parameters: parameters that a scenario may set, in order of the signature.
        remember: measurement before the transitions, passed to the function as `was`.
        when: condition of a transition: `(w, agent, action, …)` is true if the transition would do
            something for this action. Without `action`, the transition ignores the action.
        until: postcondition of a reset, `(w, tried, …)`; until it is true, the nested resets run
            again in an empty world. `tried` is the number of runs so far.
        answers: `(w, agent, action, …)`, before the transitions: true if the reward or terminating
            function depends on this action itself.
        check: `(…)` of parameters: returns an error message, or "".
        tables: functions that compute parameters once, by parameter name: of a visibility function
            from the observation area, of others from the parameters that they take.
        rows: True for a visibility function that reads the view as rows of bits, or a rendering
            system that only reads values, `cells` and `appearance` of the world.
        ending_message: sentence of a terminating function for the player; "" for its name.
        objects: function of object states or grids that `function` wraps (see
            `gv_engine.plugins.gridverse`); None for a system of columns.
    """

    function: Callable[..., Any]
    phase: Phase
    name: str
    parameters: tuple[Parameter, ...]
    remember: Callable[..., Measured] | None = None
    when: Callable[..., bool] | None = None
    check: Callable[..., str] | None = None
    tables: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    rows: bool = False
    ending_message: str = ""
    until: Callable[..., bool] | None = None
    answers: Callable[..., bool] | None = None
    objects: Callable[..., Any] | None = None

    @property
    def functions(self) -> tuple[Callable[..., Any], ...]:
        """The system's rule function, and its helper functions that take a world."""
        helpers = self.remember, self.when, self.until, self.answers
        return (self.function, *(helper for helper in helpers if helper is not None))

    @property
    def reads_only_view(self) -> bool:
        """True for a visibility rule that reads neither the world nor the agent, so that its result
        can be cached."""
        if self.objects:
            return False
        names, parameters = names_of(self.function), [*inspect.signature(self.function).parameters]
        reads = [name in names.variables for name in parameters[:3]]
        return names.is_known and reads == [False, False, True]  # w, agent, view

    @property
    def place(self) -> tuple[str, int]:
        """File and line of the function's source."""
        return source_location(self.objects or self.function)

    @property
    def title(self) -> str:
        """Name of the system, with file and line."""
        return "{} ({}:{})".format(self.name, *self.place)

    def attach_to_error(self, error: Exception) -> None:
        """Store this system in `error.system`, to be named in the message, unless a nested system
        is stored there already."""
        if system_of(error) is None:
            error.system = self  # type: ignore[attr-defined]  # errors carry attributes

    @property
    def is_processor(self) -> bool:
        """True for an author's `esper.Processor` instead of a function."""
        return isinstance(self.function, type)

    @property
    def is_spontaneous(self) -> bool:
        """True if the system runs without regard to the agent's action, so that it makes no action
        valid in the action mask."""
        if self.when is not None:
            return not has_parameter(self.when, "action")
        return not (self.is_processor or has_parameter(self.function, "agent"))

    @property
    def check_parameters(self) -> tuple[str, ...]:
        """Names of the parameters that `check` takes."""
        return () if self.check is None else tuple(inspect.signature(self.check).parameters)

    def describe_missing_return(self) -> str:
        """Return an error message if the rule's function, or a helper such as `when`, needs a
        result and has no `return` with a value; else ""."""
        results: list[tuple[Any, str]] = [(self.remember, "numbers")]
        results += [(helper, _TRUTH) for helper in (self.when, self.until, self.answers)]
        results += [(self.function, _RESULTS[self.phase])] if self.phase in _RESULTS else []
        for function, expected in results:
            if _returns_nothing(function):
                file, line = source_location(function)
                place = f"{function.__name__} in line {line} of {Path(file).name}"
                return f"{place} returns nothing, expected {expected}; is a `return` missing?"
        return ""

    def make_tables(self, area: Area | None, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Compute the parameters in `tables`: of a visibility function from the observation `area`
        (none without it), of other rules from their `arguments`, such as a file. Return them by
        name.

        Raises:
            ValueError: a table function raises.
        """
        computed: dict[str, Any] = {}
        for name, table in self.tables.items():
            try:
                if self.phase is not VISIBILITY:
                    names = inspect.signature(table).parameters
                    computed[name] = table(**{each: arguments[each] for each in names})
                elif area is not None:
                    computed[name] = _make_table(table, area)
            except Exception as error:  # whatever an author's function may raise
                source = f" of {area}" if self.phase is VISIBILITY else ""
                raise ValueError(f"{self.name}: {name}{source}: {error}") from error
        return computed


@functools.lru_cache(maxsize=64)
def _make_table(compute_table: Callable[[Area], Any], area: Area) -> Any:
    """Return the lookup table `compute_table(area)` for a parameter of a rule. It is cached; an
    array is made read-only."""
    value = compute_table(area)
    if isinstance(value, np.ndarray):
        value.flags.writeable = False  # all worlds share it
    return value


@functools.lru_cache(maxsize=1024)
def list_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of the parameters of a function."""
    return tuple(inspect.signature(function).parameters)


def has_parameter(function: Callable[..., Any], name: str) -> bool:
    """Return True if a system's function, or one of its helpers, has a parameter of this name."""
    return name in list_parameters(function)


def to_measurement(value: Measured) -> Measured:
    """Return `value`, a result of `remember`, in the form in which rewards get it: a number, or a
    tuple unchanged.

    A bool becomes 1 or 0.
    """
    return value if isinstance(value, tuple) else 0 + value


def unwrap_partials(function: Any) -> Any:
    """Return the plain function that is wrapped in `functools.partial` objects, of which several
    may be nested."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def source_location(function: Any) -> tuple[str, int]:
    """Return (file, line number) where a function is defined; ("?", 0) if unknown."""
    function = unwrap_partials(function)
    try:
        return inspect.getsourcefile(function) or "?", inspect.getsourcelines(function)[1]
    except (OSError, TypeError):  # typed in, or a built-in one with parameters
        return "?", 0


@functools.lru_cache(maxsize=1024)
def _returns_nothing(function: Any) -> bool:
    """Return True if no `return` of a function has a value; False if its source is not at hand."""
    code = getattr(function, "__code__", None)
    if code is None or None not in code.co_consts:  # faster than reading the source
        return False
    nodes = find_function_nodes(function)
    return bool(nodes) and not any(map(_has_result, nodes))


def _has_result(node: ast.FunctionDef | ast.Lambda) -> bool:
    if isinstance(node, ast.Lambda):
        return True
    ends = (part.value for part in ast.walk(node) if isinstance(part, ast.Return | ast.Yield))
    return any(end and not (isinstance(end, ast.Constant) and end.value is None) for end in ends)


_F = TypeVar("_F", bound=Callable[..., Any])
Measured = float | tuple[float, ...]


def system(
    phase: Phase,
    *,
    remember: Callable[..., Measured] | None = None,
    when: Callable[..., bool] | None = None,
    check: Callable[..., str] | None = None,
    tables: Mapping[str, Callable[..., Any]] | None = None,
    rows: bool = False,
    says: str = "",
    until: Callable[..., bool] | None = None,
    answers: Callable[..., bool] | None = None,
) -> Callable[[_F], _F]:
    """Return a decorator that declares a function as a rule of `phase`. The function itself stays
    unchanged, and gets an attribute `system`, a `System`.

    The first arguments are `(w, agent)`. A system without `agent` runs once a step and makes no
    action valid. A REWARD or TERMINATING with `remember` takes `was` next, the result of
    `remember(w, agent)` before the transitions. VISIBILITY takes `view`, OBSERVATION `view` and
    `out`, RENDERING `canvas`; these three always take `agent`. All further arguments are parameters
    that scenarios set; helpers may take parameters of the system by the same names. Object worlds
    keep the results of a VISIBILITY by opaque cells if it reads no `w`, `agent` and `view.entity`.

    >>> @system(REWARD)
    ... def step_cost(w: World, agent: int, cost: float = 0.1) -> float:
    ...     return -cost
    >>> step_cost.system.phase.name, step_cost.system.parameters[0].default
    ('REWARD', 0.1)

    Args:
        phase: part of the step in which the system runs.
        remember: for reward and terminating functions that compare the world before and after the
            step: returns a number, or a tuple of numbers.
        when: for transitions, the condition under which the function runs: `(w, agent, action, …)`.
            The action mask uses it, too; an agent's transition without it may act on any action,
            so that no action is masked. A condition `(w, agent, …)` ignores the action and makes
            no action valid.
        check: runs when a scenario is loaded; takes parameters by name (and `area` in a VISIBILITY,
            the scenario's object `types`, or the number of `agents`) and returns an error
            message, or "".
        tables: parameters that no scenario sets: each is computed once by its function, which takes
            the observation area in a visibility function, and else other parameters by name, such
            as a `FilePath`.
        rows: True for a visibility function that only uses `view.clear_row` and `view.see_row`:
            faster when compiled, for views of up to 62 columns. True for a rendering system that
            only reads values, `cells` and `appearance`: no object world is made for it.
        says: for terminating functions, a sentence for the player about the end, without its full
            stop: "You walked into a wall".
        until: for resets, a condition `(w, tried, …)`: the nested resets run again in an empty
            world until it is true. `tried`, the number of runs so far, lets it give up.
        answers: for rewards and terminating functions that depend on an action itself, such as one
            that ends the episode, though no transition acts on it: `(w, agent, action, …)`,
            before the transitions. Such actions are valid in the action mask.

    Raises:
        TypeError: the signature does not fit the phase; the message shows both. Or `phase` is none,
            or a helper no function.
    """
    given: Any = phase
    if not isinstance(given, Phase):
        name = getattr(given, "__name__", given)
        fix = "write @system(TRANSITION), or another phase" if callable(given) else "no quotes"
        names = ", ".join(each.name for each in Phase)
        raise TypeError(f"@system: found {name!r}, expected a phase ({names}): {fix}")
    helpers: dict[str, Any] = {"remember": remember, "when": when, "until": until}
    for name, helper in helpers.items():
        if helper is not None and not callable(helper):
            raise TypeError(f"@system: {name} is {helper!r}, expected a function of the world")
    for use, option, phases in (
        ("when= is the condition", when, (TRANSITION,)),
        ("until= is the condition", until, (RESET,)),
        ("answers= tells the actions", answers, (REWARD, TERMINATING)),
    ):
        if option is not None and phase not in phases:
            names = " or ".join(each.name for each in phases)
            raise TypeError(f"{use} of a {names}, found phase {phase.name}")

    def attach_record(function: _F) -> _F:
        """Check the signature of `function`, and attach its `System` record as the attribute
        `system`."""
        own = ("agent",) if phase in _EXTRA or has_parameter(function, "agent") else ()
        leading = ("w", *own, *(("was",) if remember else ()), *_EXTRA.get(phase, ()))
        parameters = _read_parameters(function, leading)
        names = [p.name for p in parameters]
        acting = (*own, *(("action",) if own else ()))
        asking = (remember, own), (when, acting), (until, ("tried",)), (answers, acting)
        for helper, first in asking:
            if helper is not None:
                _check_helper(function, helper, first, names)
        options = remember, when, check, tables or {}, rows, says, until, answers
        attached = System(function, phase, function.__name__, parameters, *options)
        function.system = attached  # type: ignore[attr-defined]  # functions carry attributes
        return function

    return attach_record


def _check_helper(
    function: Callable[..., Any],
    helper: Callable[..., Any],
    leading: tuple[str, ...],
    names: list[str],
) -> None:
    """Raise a TypeError unless the signature of a rule's `helper`, such as its condition `when`, is
    valid: first the parameters `leading`, then any of `names`, the rule's own parameters."""
    arguments = list(inspect.signature(helper).parameters)[1:]
    first = [name for name in leading if name in arguments]
    for position, name in enumerate(arguments):
        if position < len(first) and name != first[position]:
            raise TypeError(
                f"{function.__name__}: its helper {helper.__name__}{inspect.signature(helper)} "
                f"must begin with ({', '.join(('w', *first))})"
            )
        if name not in first and name not in names:
            raise TypeError(
                f"{function.__name__}: its helper {helper.__name__} asks for "
                f"{name!r}, no parameter of the system{describe_allowed(name, names)}"
            )


def _read_parameters(
    function: Callable[..., Any], leading: tuple[str, ...]
) -> tuple[Parameter, ...]:
    """Return the parameters of a rule that scenarios can set, which follow the `leading` ones, such
    as `w` and `agent`. Raise a TypeError if the signature is wrong."""
    signature = inspect.signature(function)
    listed = list(signature.parameters.values())
    expected = f"{function.__name__}({', '.join((*leading, '…parameters'))})"
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    if len(listed) < len(leading) or any(p.kind is not positional for p in listed):
        raise TypeError(
            f"{function.__name__}{signature} is no system: expected {expected}, without *, ** and "
            f"keyword-only arguments"
        )
    for position, name in enumerate(leading):
        if name in (p.name for p in listed) and listed[position].name != name:
            raise TypeError(f"{function.__name__}{signature} is no system: expected {expected}")
        if listed[position].default is not inspect.Parameter.empty:
            raise TypeError(
                f"{function.__name__}{signature} is no system: argument {listed[position].name!r} "
                f"stands for {name!r} and takes no default; expected {expected}"
            )
    hints = read_type_hints(function)
    return tuple(
        Parameter(p.name, hints.get(p.name, Any), p.default) for p in listed[len(leading) :]
    )


def read_type_hints(function: Any) -> dict[str, Any]:
    """Return the type hints of a function by parameter; an empty dictionary if a name in them is
    unknown.

    Raises:
        TypeError: a hint is no type, or `function` is no plain function.
    """
    try:
        return get_type_hints(function, include_extras=True)
    except NameError:  # a name that only type checkers import
        return {}


class Registry:
    """Read-only mapping from name to system for one phase. Modules add their systems to it."""

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self._systems: dict[str, System] = {}

    def collect(self, module: ModuleType) -> None:
        """Add all systems of this phase that `module` itself defines, but not those that it
        imports."""
        for thing in vars(module).values():
            new = system_of(thing)
            own = getattr(thing, "__module__", None) == module.__name__
            if own and new is not None and new.phase is self.phase:
                self._systems[new.name] = new

    def add(self, new: System) -> None:
        """Register the system `new` under its name.

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
        """Return the system called `name`; raise a KeyError with a suggestion if the phase has
        none.

        Raises:
            KeyError: unknown; the message lists the names and suggests the most similar one.
        """
        if name not in self._systems:
            raise KeyError(f"no {self.phase.label} {name!r}{describe_allowed(name, self)}")
        return self._systems[name]

    def __contains__(self, name: object) -> bool:
        return name in self._systems

    def __iter__(self) -> Iterator[str]:
        return iter(self._systems)

    def keys(self) -> list[str]:
        return list(self._systems)


def _is_reload(old: System, new: System) -> bool:
    """Return True if `new` is the same system as `old`, defined again because its module was
    imported again."""
    spaces = [getattr(s.objects or s.function, "__globals__", {}) for s in (old, new)]
    return spaces[0] is not spaces[1] and (
        spaces[0].get("__name__", "") == spaces[1].get("__name__")
    )


REGISTRIES = {phase: Registry(phase) for phase in Phase}


def system_of(owner: object) -> System | None:
    """Return the `System` attached to a function or an exception, or None."""
    attached = getattr(owner, "system", None)
    return attached if isinstance(attached, System) else None


def get_system(function: Any) -> System:
    """Return the system that the decorator `system` attached to a function."""
    attached: System = function.system
    return attached


@dataclass(frozen=True)
class Call:
    """A rule with the arguments that a scenario file gives it: one entry of the scenario's list.

    Attributes:
        system: the function to call, with its condition and helpers.
        arguments: a value for every parameter. Numbers, tuples and arrays of them are data;
            functions and actions are compiled in as constants.
        ending_message: text for the player if this call ends the episode; "" for the system's.
        agent_mask: by agent number, True if the call runs in that agent's turn; () for all turns.
        pays: False for a reward function that only measures: its value is a reward term, but no
            part of the reward.
    """

    system: System
    arguments: dict[str, Any]
    ending_message: str = field(default="", compare=False)
    agent_mask: tuple[bool, ...] = ()
    pays: bool = True

    @classmethod
    def of(cls, system: System, arguments: Mapping[str, Any], area: Area | None = None) -> Call:
        """Return a call of `system` with these arguments, with defaults for all others, and with
        the tables that depend on them or on `area`.

        Raises:
            TypeError: an argument without a default is missing.
            ValueError: a table cannot be made.
        """
        for p in system.parameters:
            if p.required and p.name not in (*arguments, *system.tables):
                raise TypeError(f"{system.name} needs {p.name!r}")
        defaults = {p.name: p.default for p in system.parameters if not p.required}
        known = {**defaults, **arguments}
        return cls(system, {**known, **system.make_tables(area, known)})

    def run_check(
        self, area: Area | None = None, agents: int = 1, types: ObjectTypes = OBJECT_TYPES
    ) -> str:
        """Check the arguments by the rule's own `check` function. Return its error message, or ""
        if they are right.

        Args:
            area: observation area; without it, a check that takes `area` is skipped.
            agents: number of agents in the scenario.
            types: object types of the scenario.
        """
        check, parameters = self.system.check, self.system.check_parameters
        if check is None or (area is None and "area" in parameters):
            return ""
        values = {"area": area, "agents": agents, "types": types, **self.arguments}
        return check(**{name: values[name] for name in parameters if name in values})

    @property
    def name(self) -> str:
        return self.system.name

    @property
    def is_per_agent(self) -> bool:
        """True if the system, or one nested in its arguments, takes `agent` and so runs for each
        agent; a call without it runs once a step."""
        functions = (function for part in self.walk() for function in part.system.functions)
        return any(has_parameter(function, "agent") for function in functions)

    @property
    def masked_value(self) -> float | bool | None:
        """Result of this call for agents to which it does not apply: 0.0 for a reward, False for a
        terminating function, else None."""
        return {REWARD: 0.0, TERMINATING: False}.get(self.system.phase)

    def argument_names(self, helper: Callable[..., Any] | None = None) -> tuple[str, ...]:
        """Return the names of the arguments from the scenario that `helper` takes. Without
        `helper`, return those of the rule's own function."""
        own = tuple(p.name for p in self.system.parameters)
        return own if helper is None else tuple(n for n in list_parameters(helper) if n in own)

    def bind_arguments(self, helper: Callable[..., Any] | None = None) -> tuple[Any, ...]:
        """Return the values of the scenario's arguments in the order of the parameters of `helper`;
        if `helper` is None, of the system's own function."""
        return tuple(self.arguments[name] for name in self.argument_names(helper))

    def make_condition(
        self, helper: Callable[..., bool] | None
    ) -> Callable[[Any, int, int], bool] | None:
        """Return a function `(w, agent, action) -> bool` that is True if this rule applies to the
        agent and `helper` (its `when` or `answers`) holds. Return None if that is always true."""
        if mask := self.agent_mask:
            holds = replace(self, agent_mask=()).make_condition(helper)
            return lambda w, agent, action: (
                mask[agent] and (holds is None or holds(w, agent, action))
            )
        if helper is None:
            return None
        agents, acting = has_parameter(helper, "agent"), has_parameter(helper, "action")
        values = self.bind_arguments(helper)
        # most helpers fit as they are; this runs for each action of each step
        if agents and acting and values == (helper.__defaults__ or ()):
            return helper
        return lambda w, agent, action: helper(w, *(agent,) * agents, *(action,) * acting, *values)

    def walk(self) -> Iterator[Call]:
        """Yield the call itself and all calls nested in its arguments, depth first."""
        return (path[-1] for path in self.iter_call_paths())

    def iter_call_paths(self) -> Iterator[tuple[Call, ...]]:
        """Yield a tuple of calls for this rule and for each rule nested in its arguments: the path
        from this one down to it. For `f(g(h))`: (f,), (f, g), (f, g, h)."""
        yield (self,)
        for argument in self.arguments.values():
            if is_nested_call(argument):
                for part in argument if isinstance(argument, tuple) else (argument,):
                    yield from ((self, *path) for path in part.iter_call_paths())


def is_nested_call(argument: Any) -> bool:
    """Return True if an argument is a call or contains calls in a tuple; the system then gets the
    results of these calls."""
    if isinstance(argument, tuple):
        return any(isinstance(part, Call) for part in argument)
    return isinstance(argument, Call)
