"""Conversion between systems and functions of states, as the GridVerse documents define them.

A user-defined function of states reads and writes the live world through a `State`. Reward and
terminating functions receive a copy of the state before the step, made once per step if needed.
Such functions are not compiled.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

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


def list_positional(phase: Phase) -> tuple[str, ...]:
    """Return the names of the positional arguments that functions of a phase receive."""
    names = list(inspect.signature(PROTOCOLS[phase].__call__).parameters)
    return tuple(names[1:-1])  # without self and rng


_ALL_POSITIONAL = {name for phase in PROTOCOLS for name in list_positional(phase)}
"""Names of positional arguments, which scenario parameters must not have."""


def read_parameters(function: Callable[..., Any], phase: Phase) -> tuple[Parameter, ...]:
    """Return the parameters of a user-defined function that a scenario can set. The arguments that
    the engine passes, such as `state` and `rng`, are not included.

    Raises:
        TypeError: the function does not fit; the message says why, and the expected signature.
    """
    if fault := _find_signature_fault(function, phase):
        name = function_name(function)
        expected = f"{name}({', '.join((*list_positional(phase), '*', 'rng=None'))})"
        raise TypeError(
            f"{name} is no {phase.label}: {fault}; expected {expected}, where further "
            f"parameters have defaults or are given by scenarios"
        )
    hints = _read_hints(function)
    parameters = [*inspect.signature(function).parameters.values()]
    return tuple(
        Parameter(each.name, hints.get(each.name, Any), each.default)
        for each in parameters[len(list_positional(phase)) :]
        if each.name != "rng"
    )


def _find_signature_fault(function: Any, phase: Phase) -> str:
    """Return a sentence on what is wrong with the signature of a user-defined function of this
    phase; "" if nothing is."""
    if isinstance(function, type):
        return "it is a class"
    if not callable(function):
        return "it is not callable"
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        return str(error)
    parameters = list(signature.parameters.values())
    if parameters and parameters[0].name == "w":
        return f"it takes a world w; decorate it with @system({phase.name})"
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            return f"it takes {parameter}, and parameters are bound by name"
    return (
        _find_positional_fault(f"{function_name(function)}{signature}", parameters, phase)
        or _find_further_fault(parameters[len(list_positional(phase)) :])
        or _find_return_fault(function, phase)
    )


def _find_positional_fault(
    signature: str, parameters: Sequence[inspect.Parameter], phase: Phase
) -> str:
    """Return a sentence on why `function(*positional)` fails for the positional arguments that the
    engine passes in this phase; "" if it works."""
    expected = list_positional(phase)
    positional = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if len(positional) < len(expected):
        return f"{signature} lacks {', '.join(map(repr, expected[len(positional) :]))}"
    for index, parameter in enumerate(positional):
        if parameter.name in expected and expected.index(parameter.name) != index:
            return f"{parameter.name!r} is argument {index + 1} of {signature}"
        if parameter.name == "rng" and index < len(expected):
            return f"'rng' stands where {expected[index]!r} is expected"
        if index >= len(expected) and parameter.kind is parameter.POSITIONAL_ONLY:
            return f"{parameter.name!r} can only be given by position"
    return ""


def _find_further_fault(parameters: Iterable[inspect.Parameter]) -> str:
    """Return a sentence on what is wrong with the keyword parameters of a user-defined function; ""
    if nothing is."""
    for parameter in parameters:
        if parameter.name in _ALL_POSITIONAL:
            return f"it takes {parameter.name!r} too, which no caller passes"
        if parameter.name == "rng" and parameter.default is parameter.empty:
            return "'rng' needs the default None"
    return ""


def _find_return_fault(function: Callable[..., Any], phase: Phase) -> str:
    """Return a sentence on a wrong return annotation, such as `-> str` for a reward function; "" if
    it is right or missing."""
    returned = _read_hints(function).get("return", Any)
    if phase is Phase.TRANSITION and returned not in (Any, None, type(None)):
        return "it says that it returns something, and transitions edit the state instead"
    return ""


def _read_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the type hints of a function by parameter name; {} for a callable object that is no
    function."""
    try:
        return system.read_type_hints(system.unwrap_partials(function))
    except TypeError:
        return {}


def function_name(function: Callable[..., Any]) -> str:
    """Return the name of a function, or of its class for a callable object."""
    plain = system.unwrap_partials(function)
    return getattr(plain, "__name__", type(plain).__name__)


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rng: Any) -> Any:
    """Call a user-defined function with these arguments. `rng`, a random generator, is passed as
    well if the function has a parameter `rng`."""
    try:
        takes_rng = has_parameter(function, "rng")
    except TypeError:  # a partial of unhashable arguments, which the cache cannot look up
        takes_rng = "rng" in system.list_parameters.__wrapped__(function)
    return function(*args, **kwargs, rng=rng) if takes_rng else function(*args, **kwargs)


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
    """Return the length of the shortest path from one cell to every cell as an (H, W) float array.
    It is infinite for a cell without a path.

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
    """Return the distance function with this name, such as "manhattan". A function is returned
    unchanged."""
    metric = _METRICS.get(value, value)
    if not callable(metric):
        raise TypeError(f"no distance function {value!r}{describe_allowed(value, DISTANCES)}")
    return metric


class _Converter(NamedTuple):
    """Conversion of the values of a parameter between functions of states and systems."""

    to_system: Callable[[Any], Any]
    to_function: Callable[[Any], Any] = lambda value: value


_CONVERTERS = {
    "shape": _Converter(_to_pair, lambda shape: Shape(*shape)),
    "layout": _Converter(_to_pair),
    "area": _Converter(as_area, as_area),
    **dict.fromkeys(TYPES, _Converter(index_of)),
    "color": _Converter(lambda color: int(Color(color)), Color),
    "colors": _Converter(
        lambda colors: tuple(sorted({int(Color(color)) for color in colors})),
        lambda colors: tuple(Color(color) for color in colors),
    ),
    "distance_function": _Converter(_to_metric),
}
"""Converters of parameters whose names have a meaning."""


def to_system_arg(name: str, value: Any, make_call: Callable[[Any, Phase], Call]) -> Any:
    """Convert an argument of a GridVerse function to the form that the engine's systems use. For
    example, the class `Door` becomes its type index, and a function becomes a `Call`.

    Args:
        name: name of the parameter.
        value: argument as users write it.
        make_call: function that converts a nested function of states to a call.

    Raises:
        TypeError, ValueError, KeyError: the value is not allowed for this parameter.
    """
    if phase := NESTED.get(name) or NESTED.get(name.removesuffix("s")):
        if callable(value):
            return make_call(value, phase)
        return tuple(make_call(function, phase) for function in value)
    return _CONVERTERS[name].to_system(value) if name in _CONVERTERS else value


def to_function_arg(name: str, value: Any, types: ObjectTypes) -> Any:
    """Convert an argument of a system to the form that GridVerse functions use. For example, a type
    index becomes the class `Door`. This is the inverse of `to_system_arg`.

    Args:
        name: name of the parameter.
        value: argument as scenarios store it.
        types: object types of the scenario.
    """
    if system.is_nested_call(value):
        return list(map(to_function, value)) if isinstance(value, tuple) else to_function(value)
    if name in TYPES and value is not None:
        return class_of(types[value])
    if name in _CONVERTERS and value is not None:
        return _CONVERTERS[name].to_function(value)
    return value


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
        """Wrap a system of the engine in a function with GridVerse's signature for its phase, such
        as `(state, action, next_state)` for a reward."""
        self.system = system
        self.__name__ = system.name
        self.__doc__ = system.function.__doc__
        self.__module__ = system.function.__module__
        names, make = list_positional(system.phase), inspect.Parameter
        positional = [make(name, make.POSITIONAL_OR_KEYWORD) for name in names]
        # a reset has no positional arguments, so its parameters may be given by position
        kind = make.KEYWORD_ONLY if positional else make.POSITIONAL_OR_KEYWORD
        parameters = [p for p in system.parameters if p.name not in system.tables]
        parameters.sort(key=lambda p: not p.required)  # those without a default must come first
        further = [make(p.name, kind, default=p.default) for p in parameters]
        rng = make("rng", make.KEYWORD_ONLY, default=None)
        self.__signature__ = inspect.Signature([*positional, *further, rng])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the system. The arguments are those of the GridVerse function, such as state, action
        and next state for a reward."""
        try:
            bound = self.__signature__.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise TypeError(f"{self.__name__}{self.__signature__}: {error}") from None
        rng = bound.pop("rng", None)
        positional = [bound.pop(name) for name in list_positional(self.system.phase)]
        return run_call(_make_call(self.system, bound), *positional, rng=rng)

    def __reduce__(self) -> tuple[Any, ...]:
        return _load_function, (self.system.phase, self.system.name)

    def __repr__(self) -> str:
        return f"<{self.system.phase.label} {self.__name__}{self.__signature__}>"


def _load_function(phase: Phase, name: str) -> Any:
    from gv_engine.plugins.gridverse.registry import FUNCTION_REGISTRIES  # imports this module

    return FUNCTION_REGISTRIES[phase][name]


def _make_call(system: System, values: dict[str, Any]) -> Call:
    """Return `system` with the arguments `values`, by name, as a `Call`. The arguments are written
    as for GridVerse functions, with classes such as `Door` instead of type indices.

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
    """Convert a GridVerse function of this phase to a `Call`: a system of the engine with its
    arguments. This is the inverse of `to_function`."""
    plain, values = function, {}
    if isinstance(function, functools.partial) and not function.args:
        plain, values = function.func, function.keywords
    system = system_of(plain)
    return Call(_as_system(function, phase), {}) if system is None else _make_call(system, values)


def to_function(call: Call, layout: Layout | None = None) -> Callable[..., Any]:
    """Convert `call`, a system of the engine with its arguments, to a function with GridVerse's
    signature, which works on states or grids. This is the inverse of `to_call`.

    Args:
        layout: layout of the worlds that a reset creates; None for one with all types.

    Raises:
        RuleError: the system is an esper.Processor, or an observation function of columns.
    """
    system = call.system
    if system.is_processor:
        raise RuleError(f"{system.name} is an esper.Processor; only functions work on states")
    if system.phase is Phase.OBSERVATION and system.objects is None:
        raise RuleError(
            f"{system.name} is an observation function of columns; the object API asks for one of "
            f"states, `(state, *, rng=None)`"
        )
    if system.phase not in (Phase.OBSERVATION, Phase.VISIBILITY):
        return functools.partial(run_call, call, layout=layout)
    types = OBJECT_TYPES if layout is None else layout.object_types
    arguments = {
        name: to_function_arg(name, value, types)
        for name, value in call.arguments.items()
        if name not in system.tables
    }
    if system.objects is None:
        return functools.partial(BuiltInFunction(system), **arguments)
    return lambda *positional, rng=None: call_function(system.objects, positional, arguments, rng)


# ---- systems on states ---------------------------------------------------------------------------


def run_call(call: Call, *positional: Any, rng: Rng = None, layout: Layout | None = None) -> Any:
    """Run a scenario's call of a system on states or grids, and return its result.

    Args:
        positional: positional arguments of the phase's protocol.
        rng: generator; None for the world's own.
        layout: layout of the world that a reset creates; None for one with all types.
    """
    if call.system.phase is Phase.RESET:
        return _run_reset(call, rng, layout)
    return _RUNNERS[call.system.phase](call, *positional, rng)


@contextmanager
def _use_rng_and_action(world: ObjectWorld, rng: Rng, action: int | None = None) -> Iterator[None]:
    """Within a `with` block, make the world use the random generator `rng` and the agent's action
    `action`. If `action` is None, the world keeps its own."""
    previous_rng, previous_action = world.rng, world.action[AGENT]
    if rng is not None:
        world.rng = rng
    if action is not None:
        world.action[AGENT] = int(action)
    try:
        with world.context:
            yield
    finally:
        world.rng, world.action[AGENT] = previous_rng, previous_action


def _run_transition(call: Call, state: State, action: int, rng: Rng) -> None:
    """Change `state` as the transition function `call` does when the agent takes `action`."""
    bound = BoundCall(call)
    with _use_rng_and_action(state.world, rng, action):
        bound.remember_before_step(state.world, AGENT)
        bound.run(state.world, AGENT)


def _run_reward(
    call: Call, state: State | None, action: int, next_state: State | None, rng: Rng
) -> float | bool:
    """Return the result of `call`, a reward or terminating function, for a step from `state` to
    `next_state`. A state may be None if the function does not read it."""
    bound = BoundCall(call)
    if isinstance(state, State):
        store = get_store(state.world)
        with _use_rng_and_action(state.world, rng, action):
            store.before = state
            bound.remember_before_step(state.world, AGENT)
            store.before = None
    after = next_state if isinstance(next_state, State) else state
    world = after.world if isinstance(after, State) else new_world(1, 1)
    with _use_rng_and_action(world, rng, action):
        value = bound.run(world, AGENT)
    return float(value) if call.system.phase is Phase.REWARD else bool(value)


def _run_reset(call: Call, rng: Rng, layout: Layout | None) -> State:
    """Return a new state made by the reset function `call`. `layout` has size and object types of
    its world; None allows all registered types."""
    _check_arguments(call)
    if layout is None:
        world = new_world(*call.arguments.get("shape", _MAX_SHAPE))
        world.clear()
    else:
        world = ObjectWorld(layout)
    with _use_rng_and_action(world, get_gv_rng_if_none(rng)):
        BoundCall(call).run(world, AGENT)
    return state_of(world)


def _run_visibility(
    call: Call, grid: Grid, position: tuple[int, int], rng: Rng
) -> NDArray[np.bool_]:
    """Return which cells of `grid` an agent at `position`, (y, x), sees according to the visibility
    function `call`, as an (h, w) bool mask."""
    height, width = grid.shape
    y, x = position
    whole_grid = Area(-y, height - 1 - y, -x, width - 1 - x)  # relative to the agent
    view = ObjectView(whole_grid)
    # a world's arrays may be larger than its grid
    objects, ground = (cells[:height, :width] for cells in (grid.world.at, grid.world.ground))
    view.entity[...] = np.where(objects == NOTHING, ground, objects)
    for cell, e in np.ndenumerate(objects):
        view.opaque[cell] = blocks_vision(grid.world, e) | blocks_vision(grid.world, ground[cell])
    run_on_view(call, grid.world, view, rng)  # fills `view.seen`
    return view.seen.astype(np.bool_)


def run_on_view(call: Call, world: ObjectWorld, view: ObjectView, rng: Rng) -> None:
    """Run the visibility function `call` on `view`, the cells around an agent. It sets `view.seen`,
    (h, w) bool, to True for the cells that the agent sees.

    Raises:
        RuleError: the function returned something else than (h, w) bool.
    """
    call_with_area = Call.of(call.system, call.arguments, view.area)
    _check_arguments(call_with_area, view.area)
    with _use_rng_and_action(world, rng):
        BoundCall(call_with_area).run(world, AGENT, (view,))


def _check_arguments(call: Call, area: Area | None = None) -> None:
    if fault := call.run_check(area):
        raise ValueError(f"{call.name}: {fault}")


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
    return _as_system(function, phase, read_parameters(function, phase), name)


def _as_system(
    function: Callable[..., Any],
    phase: Phase,
    parameters: tuple[Parameter, ...] = (),
    name: str = "",
) -> System:
    """Wrap a function with GridVerse's signature in a system of the engine, without checking the
    signature. Scenarios can set the given `parameters`."""

    def run_function(w: Any, agent: int, *further: Any) -> Any:
        def call(positional: tuple[Any, ...], arguments: tuple[Any, ...], rng: Any) -> Any:
            kwargs = {
                parameter.name: to_function_arg(parameter.name, value, w.layout.object_types)
                for parameter, value in zip(parameters, arguments, strict=True)
            }
            with use_object_types(w.layout):
                return call_function(function, positional, kwargs, rng)

        return _ADAPTERS[phase](system, call, w, agent, *further)

    run_function.__name__ = name or function_name(function)
    run_function.__doc__ = function.__doc__
    remember = _copy_state if phase in (Phase.REWARD, Phase.TERMINATING) else None
    system = System(
        run_function, phase, run_function.__name__, parameters, remember, objects=function
    )
    return system


def _copy_state(w: ObjectWorld, agent: int) -> Any:
    """Return a copy of the state before the step. The copy is made once per step and shared by all
    reward and terminating functions."""
    store = get_store(w)
    if store.before is None:
        store.before = state_of(w).copy()
    return store.before


_UserFunction = Callable[[tuple[Any, ...], tuple[Any, ...], Any], Any]
"""Function that calls a user's function of states with positional arguments, values of its
parameters in order, and a generator."""


def _call_transition(
    system: System, function: _UserFunction, w: ObjectWorld, agent: int, *args: Any
) -> Any:
    return function((state_of(w), Action(w.action[agent])), args, w.rng)


def _call_reward(
    system: System, function: _UserFunction, w: ObjectWorld, agent: int, before: State, *args: Any
) -> Any:
    return function((before, Action(w.action[agent]), state_of(w)), args, w.rng)


def _call_reset(system: System, function: _UserFunction, w: Any, agent: int, *args: Any) -> None:
    """Call the user's reset function with the arguments `args`, and copy the state that it returns
    into the world `w`."""
    state = function((), args, w.rng)
    if not isinstance(state, State):
        raise RuleError(
            f"the reset function {system.title} returned {type(state).__name__}, expected a State"
        )
    load_state(w, state)


def _call_visibility(
    system: System, function: _UserFunction, w: Any, agent: int, view: ObjectView, *args: Any
) -> None:
    """Call the user's visibility function with the arguments `args`, and write its mask of seen
    cells into `view.seen`, (h, w) bool."""
    seen = np.asarray(function((_copy_view(w, view), Position(view.y, view.x)), args, w.rng))
    if seen.shape != view.seen.shape or seen.dtype.kind not in "biu":
        raise RuleError(
            f"the visibility function {system.name} returned shape {seen.shape} and dtype "
            f"{seen.dtype}, expected {view.seen.shape} bool"
        )
    view.seen[...] = seen


def _copy_view(world: ObjectWorld, view: ObjectView) -> Grid:
    """Return the cells around an agent as a separate grid, with copies of the objects. Cells
    outside the world's grid are Hidden."""

    def copy_object(e: int) -> GridObject:
        return Hidden() if e == OUTSIDE else get_store(world).get_object(e).copy()

    return Grid([list(map(copy_object, row)) for row in view.entity.tolist()])


def _call_observation(
    system: System, function: _UserFunction, w: Any, agent: int, view: Any, out: Any, *args: Any
) -> None:
    """Call the user's observation function with the arguments `args`, and copy its arrays into
    `out`: grid (h, w, 3) and held object (3,), both uint8."""
    observation = function((state_of(w),), args, w.rng)
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
