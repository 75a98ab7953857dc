"""Conversion between systems and functions of states, as the GridVerse documents define them.

A user-defined function of states reads and writes the live world through a `State`. Reward and
terminating functions receive a copy of the state before the step, made once per step if needed.
Such functions are not compiled.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.gridverse.action import Action
from gv_engine.plugins.gridverse.geometry import Position, Shape, as_area
from gv_engine.plugins.gridverse.grid import Grid
from gv_engine.plugins.gridverse.grid_object import Color, GridObject, Hidden, class_of, index_of
from gv_engine.plugins.gridverse.object_store import get_store, new_world, use_object_types
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.rng import get_gv_rng_if_none
from gv_engine.plugins.gridverse.state import State, load_state, state_of
from gv_engine.rules import system
from gv_engine.rules.component import AGENT, NOTHING, OUTSIDE
from gv_engine.rules.errors import RuleError, describe_allowed
from gv_engine.rules.geometry import Area
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.rules.system import Call, Parameter, Phase, System, has_parameter, system_of
from gv_engine.scenario.memory.layout import Layout
from gv_engine.scenario.readers.calls import NESTED, TYPES
from gv_engine.scenario.readers.resolver import DISTANCES
from gv_engine.world.bound_call import BoundCall
from gv_engine.world.view import ObjectView
from gv_engine.world.world import ObjectWorld
from systems.queries import blocks_vision

Rng = np.random.Generator | None


class ResetFunction(Protocol):
    """Creates an initial state."""

    def __call__(self, *, rng: Rng = None) -> State: ...


class TransitionFunction(Protocol):
    """Changes the state in place."""

    def __call__(self, state: State, action: Action, *, rng: Rng = None) -> None: ...


class RewardFunction(Protocol):
    """Returns the reward of a step from its states and action, and changes nothing."""

    def __call__(
        self, state: State, action: Action, next_state: State, *, rng: Rng = None
    ) -> float: ...


class TerminatingFunction(Protocol):
    """Returns True if a step ends the episode, from its states and action, and changes nothing."""

    def __call__(
        self, state: State, action: Action, next_state: State, *, rng: Rng = None
    ) -> bool: ...


class ObservationFunction(Protocol):
    """Returns the observation of a state, and changes nothing."""

    def __call__(self, state: State, *, rng: Rng = None) -> Observation: ...


class VisibilityFunction(Protocol):
    """Returns an (h, w) bool mask of the cells that are seen from a position."""

    def __call__(self, grid: Grid, position: Position, *, rng: Rng = None) -> NDArray[np.bool_]: ...


PROTOCOLS: dict[Phase, type] = {
    Phase.RESET: ResetFunction,
    Phase.TRANSITION: TransitionFunction,
    Phase.REWARD: RewardFunction,
    Phase.TERMINATING: TerminatingFunction,
    Phase.OBSERVATION: ObservationFunction,
    Phase.VISIBILITY: VisibilityFunction,
}


def arg_names(phase: Phase) -> tuple[str, ...]:
    """Return the names of the positional arguments that functions of a phase receive."""
    names = list(inspect.signature(PROTOCOLS[phase].__call__).parameters)
    return tuple(names[1:-1])  # without self and rng


_POSITIONAL = {name for phase in PROTOCOLS for name in arg_names(phase)}
"""Names of positional arguments, which scenario parameters must not have."""


def parameters_of(function: Any, phase: Phase) -> tuple[Parameter, ...]:
    """Return the parameters of a user-defined function that scenarios can set: those after the
    arguments that the engine passes in this phase.

    Raises:
        TypeError: the function does not fit; the message says why, and the expected signature.
    """
    name, first = function_name(function), arg_names(phase)
    expected = f"{name}({', '.join((*first, '*', 'rng=None'))})"

    def refuse(fault: str) -> TypeError:
        return TypeError(
            f"{name} is no {phase.label}: {fault}; expected {expected}, where further "
            f"parameters have defaults or are given by scenarios"
        )

    if not callable(function) or isinstance(function, type):
        raise refuse(f"it is {'a class' if isinstance(function, type) else 'not callable'}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise refuse(str(error)) from None
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].name == "w":
        raise refuse(f"it takes a world w; decorate it with @system({phase.name})")
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise refuse(f"it takes {parameter}, and parameters are bound by name")
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if len(positional) < len(first):
        missing = ", ".join(map(repr, first[len(positional) :]))
        raise refuse(f"{name}{signature} lacks {missing}")
    for position, parameter in enumerate(positional):
        if parameter.name in first and first.index(parameter.name) != position:
            raise refuse(f"{parameter.name!r} is argument {position + 1} of {name}{signature}")
        if parameter.name == "rng" and position < len(first):
            raise refuse(f"'rng' stands where {first[position]!r} is expected")
        if position >= len(first) and parameter.kind is parameter.POSITIONAL_ONLY:
            raise refuse(f"{parameter.name!r} can only be given by position")
    further = parameters[len(first) :]
    for parameter in further:
        if parameter.name in _POSITIONAL:
            raise refuse(f"it takes {parameter.name!r} too, which no caller passes")
        if parameter.name == "rng" and parameter.default is parameter.empty:
            raise refuse("'rng' needs the default None")
    try:
        hints = system.read_type_hints(system.unwrap_partials(function))
    except TypeError:  # no plain function
        hints = {}
    if phase is Phase.TRANSITION and hints.get("return", Any) not in (Any, None, type(None)):
        raise refuse("it says that it returns something, and transitions edit the state instead")
    return tuple(
        Parameter(p.name, hints.get(p.name, Any), p.default) for p in further if p.name != "rng"
    )


def function_name(function: Any) -> str:
    """Return the name of a function, or of its class for a callable object."""
    plain = system.unwrap_partials(function)
    return getattr(plain, "__name__", type(plain).__name__)


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rng: Any) -> Any:
    """Call a user-defined function with these arguments, and with the generator `rng` if the
    function has a parameter `rng`."""
    try:
        takes_rng = has_parameter(function, "rng")
    except TypeError:  # partials of unhashable arguments
        takes_rng = has_parameter.__wrapped__(function, "rng")
    return function(*args, **kwargs, **({"rng": rng} if takes_rng else {}))


def transition_with_copy(
    transition_function: TransitionFunction, state: State, action: Action, *, rng: Rng = None
) -> State:
    """Return a copy of `state`, changed by a transition function."""
    next_state = state.copy()
    call_function(transition_function, (next_state, action), {}, rng)
    return next_state


def dijkstra(
    layout: Sequence[Sequence[bool]], source_position: tuple[int, int]
) -> NDArray[np.float64]:
    """Return (H, W) the length of the shortest path from a cell to every cell; infinity where there
    is none.

    Args:
        layout: (H, W) True for the cells that can be entered.
        source_position: (y, x) of the first cell.
    """
    is_free = np.pad(np.array(layout, np.bool_), 1)
    distances = np.full(is_free.shape, np.inf)
    frontier = [(source_position[0] + 1, source_position[1] + 1)]
    distances[frontier[0]] = 0.0
    for y, x in frontier:
        for cell in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
            if is_free[cell] and distances[cell] == np.inf:
                distances[cell] = distances[y, x] + 1
                frontier.append(cell)
    return distances[1:-1, 1:-1]


_METRICS: dict[Any, Any] = {
    Position.manhattan_distance: DISTANCES["manhattan"],
    Position.euclidean_distance: DISTANCES["euclidean"],
    **DISTANCES,
}


def _to_pair(value: Any) -> tuple[int, int]:
    first, second = value
    return int(first), int(second)


def _to_metric(value: Any) -> Any:
    """Return the distance function with this name; a function is returned unchanged."""
    metric = _METRICS.get(value, value)
    if not callable(metric):
        raise TypeError(f"no distance function {value!r}{describe_allowed(value, DISTANCES)}")
    return metric


_CONVERTERS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "shape": (_to_pair, lambda shape: Shape(*shape)),
    "layout": (_to_pair, lambda layout: layout),
    "area": (as_area, as_area),
    **dict.fromkeys(TYPES, (index_of, lambda cls: cls)),
    "color": (lambda color: int(Color(color)), Color),
    "colors": (
        lambda colors: tuple(sorted({int(Color(color)) for color in colors})),
        lambda colors: tuple(Color(color) for color in colors),
    ),
    "distance_function": (_to_metric, lambda metric: metric),
}
"""Converters of reserved parameter names: (to systems, to functions of states)."""


def to_system_arg(name: str, value: Any, call: Callable[[Any, Phase], Call]) -> Any:
    """Return an argument of a GridVerse function, converted to an argument of a system: a class of
    objects becomes a type index, for example.

    Args:
        name: name of the parameter.
        value: argument as users write it.
        call: function that converts a nested function of states to a call.

    Raises:
        TypeError, ValueError, KeyError: the value is not allowed for this parameter.
    """
    if phase := NESTED.get(name) or NESTED.get(name.removesuffix("s")):
        return call(value, phase) if callable(value) else tuple(call(one, phase) for one in value)
    return _CONVERTERS[name][0](value) if name in _CONVERTERS else value


def to_function_arg(name: str, value: Any, fn: Callable[[Call], Any], types: ObjectTypes) -> Any:
    """Return an argument of a system, converted to an argument of a GridVerse function: a type
    index becomes a class of objects, for example. The inverse of `to_system_arg`.

    Args:
        name: name of the parameter.
        value: argument as scenarios store it.
        fn: function that converts a nested call to a function of states.
        types: object types of the scenario.
    """
    if system.is_nested_call(value):
        return [fn(part) for part in value] if isinstance(value, tuple) else fn(value)
    if name in TYPES and value is not None:
        return class_of(types[value])
    return _CONVERTERS[name][1](value) if name in _CONVERTERS and value is not None else value


_MAX_SHAPE = 64, 64
"""Largest grid of a reset function without a `shape` parameter."""


class BuiltInFunction:
    """Callable that runs a system on states or grids, with the parameters that scenarios set.

    >>> from gv_engine.plugins.gridverse import transition_function_registry
    >>> import inspect
    >>> print(inspect.signature(transition_function_registry["move_agent"]))
    (state, action, *, rng=None)

    Raises:
        TypeError: the arguments do not fit the signature.
        ValueError: the system's own check rejects the arguments.
        RuleError: the rule is not defined on the state.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.__name__ = system.name
        self.__doc__ = system.function.__doc__
        self.__module__ = system.function.__module__
        kind = inspect.Parameter
        first = [kind(name, kind.POSITIONAL_OR_KEYWORD) for name in arg_names(system.phase)]
        # resets have no arg_names arguments, so their parameters may be positional
        own = kind.KEYWORD_ONLY if first else kind.POSITIONAL_OR_KEYWORD
        given = [p for p in system.parameters if p.name not in system.tables]
        given.sort(key=lambda p: not p.required)  # without a default first, as signatures require
        further = [kind(p.name, own, default=p.default) for p in given]
        rng = kind("rng", kind.KEYWORD_ONLY, default=None)
        self.__signature__ = inspect.Signature([*first, *further, rng])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            bound = self.__signature__.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{self.__name__}{self.__signature__}: {error}") from None
        rng = bound.pop("rng", None)
        first = [bound.pop(name) for name in arg_names(self.system.phase)]
        return run(_make_call(self.system, bound), *first, rng=rng)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_function, (self.system.phase, self.system.name)

    def __repr__(self) -> str:
        return f"<{self.system.phase.label} {self.__name__}{self.__signature__}>"


def _load_function(phase: Phase, name: str) -> Any:
    from gv_engine.plugins.gridverse.registry import FUNCTION_REGISTRIES  # imports this module

    return FUNCTION_REGISTRIES[phase][name]


def _make_call(system: System, values: dict[str, Any]) -> Call:
    """Return a call of a system with `values`, arguments as users of GridVerse functions write
    them, by name.

    Raises:
        TypeError: an argument has no meaning; the message names it.
    """
    arguments = {}
    for name, value in values.items():
        try:
            arguments[name] = to_system_arg(name, value, to_call)
        except (TypeError, ValueError, KeyError) as error:
            reason = error.args[0] if error.args else error
            raise TypeError(f"{system.name}: {name}={value!r}: {reason}") from None
    return Call.of(system, arguments)


def to_call(function: Callable[..., Any], phase: Phase) -> Call:
    """Return a call of a system that is equivalent to `function`, a GridVerse function of this
    phase. The inverse of `to_function`."""
    plain, values = function, {}
    if isinstance(function, functools.partial) and not function.args:
        plain, values = function.func, function.keywords
    system = system_of(plain)
    return Call(_as_system(function, phase), {}) if system is None else _make_call(system, values)


def to_function(call_: Call, layout: Layout | None = None) -> Callable[..., Any]:
    """Return a GridVerse function (of states or grids) that is equivalent to `call_`, a scenario's
    call of a system.

    Args:
        layout: layout of the worlds that a reset creates; None for one with all types.

    Raises:
        RuleError: the system is an esper.Processor, or an observation function of columns.
    """
    system = call_.system
    if system.is_processor:
        raise RuleError(f"{system.name} is an esper.Processor; only functions work on states")
    if system.phase is Phase.OBSERVATION and system.objects is None:
        raise RuleError(
            f"{system.name} is an observation function of columns; the object API asks for one of "
            f"states, `(state, *, rng=None)`"
        )
    if system.phase not in (Phase.OBSERVATION, Phase.VISIBILITY):
        return functools.partial(run, call_, layout=layout)
    types = OBJECT_TYPES if layout is None else layout.object_types
    values = {k: v for k, v in call_.arguments.items() if k not in system.tables}
    arguments = {k: to_function_arg(k, v, to_function, types) for k, v in values.items()}
    if system.objects is None:
        return functools.partial(BuiltInFunction(system), **arguments)
    return lambda *first, rng=None: call_function(system.objects, first, arguments, rng)


# ---- systems on states ---------------------------------------------------------------------------


def run(call_: Call, *first: Any, rng: Rng = None, layout: Layout | None = None) -> Any:
    """Run a scenario's call of a system on states or grids, and return its result.

    Args:
        first: positional arguments of the phase's protocol.
        rng: generator; None for the world's own.
        layout: layout of the world that a reset creates; None for one with all types.
    """
    if call_.system.phase is Phase.RESET:
        return _run_reset(call_, rng, layout)
    return _RUNNERS[call_.system.phase](call_, *first, rng)


@contextmanager
def _use_rng_and_action(world: ObjectWorld, rng: Rng, action: int | None = None) -> Iterator[None]:
    """Context manager: within the `with` block, the world uses the generator `rng`, and `action` as
    the agent's action; with None the world keeps its own."""
    before = world.rng, world.action[AGENT]
    world.rng = before[0] if rng is None else rng
    world.action[AGENT] = before[1] if action is None else int(action)
    try:
        with world.context:
            yield
    finally:
        world.rng, world.action[AGENT] = before


def _run_transition(call_: Call, state: State, action: int, rng: Rng) -> None:
    """Change a state by running the transition `call_` with an action."""
    bound = BoundCall(call_)
    with _use_rng_and_action(state.world, rng, action):
        bound.measure(state.world, AGENT)
        bound.run(state.world, AGENT)


def _run_reward(call_: Call, state: State, action: int, next_state: State, rng: Rng) -> Any:
    """Return the value of the reward or terminating function `call_` for the step from `state` by
    `action` to `next_state`. A state that the function does not look at may be None."""
    bound = BoundCall(call_)
    given: tuple[Any, ...] = state, next_state
    states = [each for each in given if isinstance(each, State)]
    if states and states[0] is state:
        store = get_store(state.world)
        with _use_rng_and_action(state.world, rng, action):
            store.before = state
            bound.measure(state.world, AGENT)
            store.before = None
    world = states[-1].world if states else new_world(1, 1)
    with _use_rng_and_action(world, rng, action):
        value = bound.run(world, AGENT)
    return float(value) if call_.system.phase is Phase.REWARD else bool(value)


def _run_reset(call_: Call, rng: Rng, layout: Layout | None) -> State:
    """Return a new state, created by the reset function `call_` in a world with this layout, or
    with all object types if `layout` is None."""
    _check_arguments(call_)
    if layout is None:
        world = new_world(*call_.arguments.get("shape", _MAX_SHAPE))
        world.clear()
    else:
        world = ObjectWorld(layout)
    with _use_rng_and_action(world, get_gv_rng_if_none(rng)):
        BoundCall(call_).run(world, AGENT)
    return state_of(world)


def _run_visibility(
    call_: Call, grid: Grid, position: tuple[int, int], rng: Rng
) -> NDArray[np.bool_]:
    """Return an (h, w) bool mask of the cells of the grid that an agent at `position`, (y, x), sees
    by the visibility function `call_`."""
    height, width = grid.shape
    y, x = position
    view = ObjectView(Area(-y, height - 1 - y, -x, width - 1 - x))
    above, below = (cells[:height, :width] for cells in (grid.world.at, grid.world.ground))
    view.entity[...] = np.where(above == NOTHING, below, above)
    for cell, e in np.ndenumerate(above):
        view.opaque[cell] = blocks_vision(grid.world, e) | blocks_vision(grid.world, below[cell])
    run_on_view(call_, grid.world, view, rng)
    return view.seen.astype(np.bool_)


def run_on_view(call_: Call, world: ObjectWorld, view: ObjectView, rng: Rng) -> None:
    """Run the visibility function `call_` on a view (the cells around an agent); it marks the cells
    that are seen in `view.seen`.

    Raises:
        RuleError: the function returned something else than (h, w) bool.
    """
    whole = Call.of(call_.system, call_.arguments, view.area)
    _check_arguments(whole, view.area)
    with _use_rng_and_action(world, rng):
        BoundCall(whole).run(world, AGENT, (view,))


def _check_arguments(call_: Call, area: Area | None = None) -> None:
    if fault := call_.run_check(area):
        raise ValueError(f"{call_.name}: {fault}")


_RUNNERS: dict[Phase, Callable[..., Any]] = {
    Phase.TRANSITION: _run_transition,
    Phase.REWARD: _run_reward,
    Phase.TERMINATING: _run_reward,
    Phase.VISIBILITY: _run_visibility,
}


# ---- functions of states as systems --------------------------------------------------------------


def make_system(function: Callable[..., Any], phase: Phase, name: str = "") -> System:
    """Return a system that calls `function`, a user-defined function of states or grids, in this
    phase.

    Args:
        name: name of the system; by default that of the function.

    Raises:
        TypeError: the function does not fit the protocol of the phase.
    """
    return _as_system(function, phase, parameters_of(function, phase), name)


def _as_system(
    function: Callable[..., Any],
    phase: Phase,
    parameters: tuple[Parameter, ...] = (),
    name: str = "",
) -> System:
    """Return the system of `make_system` without a check of the function's signature; scenarios can
    set only the given `parameters`."""

    def adapted(w: Any, agent: int, *further: Any) -> Any:
        def fn(first: tuple[Any, ...], arguments: tuple[Any, ...], rng: Any) -> Any:
            kwargs = {
                p.name: to_function_arg(p.name, value, to_function, w.layout.object_types)
                for p, value in zip(parameters, arguments, strict=True)
            }
            with use_object_types(w.layout):
                return call_function(function, first, kwargs, rng)

        return _ADAPTERS[phase](system, fn, w, agent, *further)

    adapted.__name__ = name or function_name(function)
    adapted.__doc__ = function.__doc__
    remember = _state_before if phase in (Phase.REWARD, Phase.TERMINATING) else None
    system = System(adapted, phase, adapted.__name__, parameters, remember, objects=function)
    return system


def _state_before(w: Any, agent: int) -> Any:
    """Return a copy of the state before the step, which is made once and shared by all functions
    that need it."""
    store = get_store(w)
    if store.before is None:
        store.before = state_of(w).copy()
    return store.before


_Fn = Callable[[tuple[Any, ...], tuple[Any, ...], Any], Any]


def _call_transition(system: System, fn: _Fn, w: Any, agent: int, *args: Any) -> Any:
    return fn((state_of(w), Action(w.action[agent])), args, w.rng)


def _call_reward(system: System, fn: _Fn, w: Any, agent: int, before: State, *args: Any) -> Any:
    return fn((before, Action(w.action[agent]), state_of(w)), args, w.rng)


def _call_reset(system: System, fn: _Fn, w: Any, agent: int, *args: Any) -> None:
    """Call the user's reset function `fn` and copy the state that it returns into the world `w`."""
    state = fn((), args, w.rng)
    if not isinstance(state, State):
        raise RuleError(
            f"the reset function {system.title} returned {type(state).__name__}, expected a State"
        )
    load_state(w, state)


def _call_visibility(system: System, fn: _Fn, w: Any, agent: int, view: Any, *args: Any) -> None:
    """Call the user's visibility function `fn` and mark in `view` which cells are seen."""
    seen = np.asarray(fn((_view_grid(w, view), Position(view.y, view.x)), args, w.rng))
    if seen.shape != view.seen.shape or seen.dtype.kind not in "biu":
        raise RuleError(
            f"the visibility function {system.name} returned shape {seen.shape} and dtype "
            f"{seen.dtype}, expected {view.seen.shape} bool"
        )
    view.seen[...] = seen


def _view_grid(world: ObjectWorld, view: ObjectView) -> Grid:
    """Return the cells of a view (the area around an agent) as a separate grid, with copies of the
    objects."""

    def copy_of(e: int) -> GridObject:
        return Hidden() if e == OUTSIDE else get_store(world).get_object(e).copy()

    return Grid([list(map(copy_of, row)) for row in view.entity.tolist()])


def _call_observation(
    system: System, fn: _Fn, w: Any, agent: int, view: Any, out: Any, *args: Any
) -> None:
    """Call the user's observation function `fn` and write its arrays into `out`, a pair (grid,
    item)."""
    observation = fn((state_of(w),), args, w.rng)
    if not isinstance(observation, Observation):
        raise RuleError(
            f"the observation function {system.name} returned {type(observation).__name__}, "
            f"expected an Observation"
        )
    arrays = observation.to_arrays()
    grid, item = out
    if arrays["grid"].shape != grid.shape:
        raise RuleError(
            f"the observation function {system.name} shows {arrays['grid'].shape[:2]} cells, the "
            f"scenario's area has {grid.shape[:2]}"
        )
    grid[...], item[...] = arrays["grid"], arrays["item"]


_ADAPTERS: dict[Phase, Callable[..., Any]] = {
    Phase.RESET: _call_reset,
    Phase.TRANSITION: _call_transition,
    Phase.REWARD: _call_reward,
    Phase.TERMINATING: _call_reward,
    Phase.VISIBILITY: _call_visibility,
    Phase.OBSERVATION: _call_observation,
}
