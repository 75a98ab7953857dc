"""Systems as functions of states, as the documents of the GridVerse family call them, and back.

What an author writes of states reads and writes the live world through its `State`; rewards and
terminating functions get a copy of the state before the step, made once and only if one of them is
there. Any Python may be in it, so it does not compile.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.gridverse.action import Action
from gv_engine.gridverse.arguments import to_objects, to_systems
from gv_engine.gridverse.geometry import Position
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.grid_object import Hidden
from gv_engine.gridverse.object_store import household, new_world, playing
from gv_engine.gridverse.observation import Observation
from gv_engine.gridverse.protocols import Rng, call, further_parameters, leading, name_of
from gv_engine.gridverse.state import State, become, state_of
from gv_engine.rules.call import Call
from gv_engine.rules.component import AGENT, NOTHING, OUTSIDE
from gv_engine.rules.errors import RuleError
from gv_engine.rules.geometry import Area
from gv_engine.rules.objects import OBJECT_TYPES
from gv_engine.rules.system import (
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Parameter,
    Phase,
    System,
    system_of,
)
from gv_engine.scenario.layout import Layout
from gv_engine.world.bound_call import BoundCall
from gv_engine.world.view import ObjectView
from gv_engine.world.world import ObjectWorld
from systems.queries import blocks_vision

_LARGEST = 64, 64
"""The grid of a reset that takes no shape."""


class BuiltInFunction:
    """A system as a function of states or grids, with the parameters that scenarios set.

    >>> from gv_engine.gridverse import transition_function_registry
    >>> import inspect
    >>> print(inspect.signature(transition_function_registry["move_agent"]))
    (state, action, *, rng=None)

    Raises:
        TypeError: wrong arguments.
        ValueError: what its own check says about them.
        RuleError: the rule is not defined on the state.
    """

    def __init__(self, system: System) -> None:
        self.system = system
        self.__name__ = system.name
        self.__doc__ = system.function.__doc__
        self.__module__ = system.function.__module__
        kind = inspect.Parameter
        first = [kind(name, kind.POSITIONAL_OR_KEYWORD) for name in leading(system.phase)]
        # resets take nothing else, so theirs may be given by position
        own = kind.KEYWORD_ONLY if first else kind.POSITIONAL_OR_KEYWORD
        self.__signature__ = inspect.Signature(
            [
                *first,
                # those without a default first, as signatures want it
                *sorted(
                    (
                        kind(p.name, own, default=p.default)
                        for p in system.parameters
                        if p.name not in system.tables
                    ),
                    key=lambda p: p.default is not kind.empty,
                ),
                kind("rng", kind.KEYWORD_ONLY, default=None),
            ]
        )

    def __call__(self, *given: Any, **named: Any) -> Any:
        try:
            bound = self.__signature__.bind(*given, **named).arguments
        except TypeError as error:
            raise TypeError(f"{self.__name__}{self.__signature__}: {error}") from None
        rng = bound.pop("rng", None)
        first = [bound.pop(name) for name in leading(self.system.phase)]
        return run(_call(self.system, bound), *first, rng=rng)

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, (self.system.phase, self.system.name)

    def __repr__(self) -> str:
        return f"<{self.system.phase.label} {self.__name__}{self.__signature__}>"


def _found(phase: Phase, name: str) -> Any:
    from gv_engine.gridverse.registry import FUNCTION_REGISTRIES  # which is made of these

    return FUNCTION_REGISTRIES[phase][name]


def _call(system: System, given: dict[str, Any]) -> Call:
    """The call of a system with arguments as authors write them.

    Raises:
        TypeError: one means nothing; the message names it.
    """
    arguments = {}
    for name, value in given.items():
        try:
            arguments[name] = to_systems(name, value, call_of)
        except (TypeError, ValueError, KeyError) as error:
            said = error.args[0] if error.args else error
            raise TypeError(f"{system.name}: {name}={value!r}: {said}") from None
    return Call.of(system, arguments)


def call_of(function: Callable[..., Any], phase: Phase) -> Call:
    """A function of states or grids as a call of a system, without the tables of an area."""
    plain, given = function, {}
    if isinstance(function, functools.partial) and not function.args:
        plain, given = function.func, function.keywords
    system = system_of(plain)
    return Call(_adapted(function, phase), {}) if system is None else _call(system, given)


def function_of(call_: Call, layout: Layout | None = None) -> Callable[..., Any]:
    """A scenario's call as a function of states or grids.

    Args:
        layout: of the worlds that a reset makes, if not one of all types.

    Raises:
        RuleError: it is an esper.Processor, or an observation function of columns.
    """
    system = call_.system
    if system.is_processor:
        raise RuleError(f"{system.name} is an esper.Processor; only functions work on states")
    if system.phase is OBSERVATION and system.objects is None:
        raise RuleError(
            f"{system.name} is an observation function of columns; the object API asks for one of "
            f"states, `(state, *, rng=None)`"
        )
    if system.phase not in (OBSERVATION, VISIBILITY):
        return functools.partial(run, call_, layout=layout)
    given = {k: v for k, v in call_.arguments.items() if k not in system.tables}
    types = OBJECT_TYPES if layout is None else layout.object_types
    own = {name: to_objects(name, value, function_of, types) for name, value in given.items()}
    if system.objects is None:
        return functools.partial(BuiltInFunction(system), **own)
    return lambda *first, rng=None: call(system.objects, first, own, rng)


# ---- systems on states ---------------------------------------------------------------------------


def run(call_: Call, *first: Any, rng: Rng = None, layout: Layout | None = None) -> Any:
    """Run a call of a system on states or grids.

    Args:
        first: what the protocol of its phase gives it.
        rng: to draw from; None for the generator of the world.
        layout: of the world that a reset makes, if not one of all types.
    """
    if call_.system.phase is RESET:
        return _run_reset(call_, rng, layout)
    return _RUNNERS[call_.system.phase](call_, *first, rng)


@contextmanager
def _inside(world: ObjectWorld, rng: Rng, action: int | None = None) -> Iterator[None]:
    """Let a world draw from a generator, and an action be the current one; its own for None."""
    before = world.rng, world.action[AGENT]
    world.rng = before[0] if rng is None else rng
    world.action[AGENT] = before[1] if action is None else int(action)
    try:
        with world.context:
            yield
    finally:
        world.rng, world.action[AGENT] = before


def _run_transition(call_: Call, state: State, action: int, rng: Rng) -> None:
    bound = BoundCall(call_)
    with _inside(state.world, rng, action):
        bound.measure(state.world, AGENT)
        bound.run(state.world, AGENT)


def _run_reward(call_: Call, state: State, action: int, next_state: State, rng: Rng) -> Any:
    bound, home = BoundCall(call_), household(state.world)
    with _inside(state.world, rng, action):
        home.before = state
        bound.measure(state.world, AGENT)
        home.before = None
    with _inside(next_state.world, rng, action):
        value = bound.run(next_state.world, AGENT)
    return float(value) if call_.system.phase is REWARD else bool(value)


def _run_reset(call_: Call, rng: Rng, layout: Layout | None) -> State:
    _refuse_faults(call_)
    if layout is None:
        world = new_world(*call_.arguments.get("shape", _LARGEST))
        world.clear()
    else:
        world = ObjectWorld(layout)
    # nobody else draws from a fresh one
    with _inside(world, np.random.default_rng() if rng is None else rng):
        BoundCall(call_).run(world, AGENT)
    return state_of(world)


def _run_visibility(
    call_: Call, grid: Grid, position: tuple[int, int], rng: Rng
) -> NDArray[np.bool_]:
    height, width = grid.shape
    y, x = position
    view = ObjectView(Area(-y, height - 1 - y, -x, width - 1 - x))
    above, below = (cells[:height, :width] for cells in (grid.world.at, grid.world.ground))
    view.entity[...] = np.where(above == NOTHING, below, above)
    for cell, e in np.ndenumerate(above):
        view.opaque[cell] = blocks_vision(grid.world, e) | blocks_vision(grid.world, below[cell])
    _see(call_, grid.world, view, rng)
    return view.seen.astype(np.bool_)


def _see(call_: Call, world: ObjectWorld, view: ObjectView, rng: Rng) -> None:
    whole = Call.of(call_.system, call_.arguments, view.area)
    _refuse_faults(whole, view.area)
    with _inside(world, rng):
        BoundCall(whole).run(world, AGENT, view)


def _refuse_faults(call_: Call, area: Area | None = None) -> None:
    if fault := call_.run_check(area):
        raise ValueError(f"{call_.name}: {fault}")


_RUNNERS: dict[Phase, Callable[..., Any]] = {
    TRANSITION: _run_transition,
    REWARD: _run_reward,
    TERMINATING: _run_reward,
    VISIBILITY: _run_visibility,
}


def look_with(
    visibility: Callable[..., Any], world: ObjectWorld, view: ObjectView, rng: Rng
) -> None:
    """Let a visibility function of grids say what is seen of a view.

    Raises:
        RuleError: it returns something else than (h, w) bool.
    """
    _see(call_of(visibility, VISIBILITY), world, view, rng)


# ---- functions of states as systems --------------------------------------------------------------


def system_from(function: Callable[..., Any], phase: Phase, name: str = "") -> System:
    """The system that a function of states or grids is.

    Args:
        name: by default the function's own.

    Raises:
        TypeError: it does not fit the protocol of the phase.
    """
    return _adapted(function, phase, further_parameters(function, phase), name)


def _adapted(
    function: Callable[..., Any],
    phase: Phase,
    parameters: tuple[Parameter, ...] = (),
    name: str = "",
) -> System:
    def adapted(w: Any, agent: int, *further: Any) -> Any:
        def ask(first: tuple[Any, ...], arguments: tuple[Any, ...], rng: Any) -> Any:
            given = zip((p.name for p in parameters), arguments, strict=True)
            types = w.layout.object_types
            named = {name: to_objects(name, value, function_of, types) for name, value in given}
            with playing(w.layout):
                return call(function, first, named, rng)

        return _ADAPTERS[phase](system, ask, w, agent, *further)

    adapted.__name__ = name or name_of(function)
    adapted.__doc__ = function.__doc__
    remember = _before if phase in (REWARD, TERMINATING) else None
    system = System(adapted, phase, adapted.__name__, parameters, remember, objects=function)
    return system


def _before(w: Any, agent: int) -> Any:
    """A copy of the state, the same for all that ask within a step."""
    home = household(w)
    if home.before is None:
        home.before = state_of(w).copy()
    return home.before


_Ask = Callable[[tuple[Any, ...], tuple[Any, ...], Any], Any]


def _transition(system: System, ask: _Ask, w: Any, agent: int, *arguments: Any) -> Any:
    return ask((state_of(w), Action(w.action[agent])), arguments, w.rng)


def _reward(system: System, ask: _Ask, w: Any, agent: int, was: State, *arguments: Any) -> Any:
    return ask((was, Action(w.action[agent]), state_of(w)), arguments, w.rng)


def _reset(system: System, ask: _Ask, w: Any, agent: int, *arguments: Any) -> None:
    found = ask((), arguments, w.rng)
    if not isinstance(found, State):
        raise RuleError(
            f"the reset function {system.title} returned {type(found).__name__}, expected a State"
        )
    become(w, found)


def _visibility(system: System, ask: _Ask, w: Any, agent: int, view: Any, *arguments: Any) -> None:
    seen = np.asarray(ask((_cut(w, view), Position(view.y, view.x)), arguments, w.rng))
    if seen.shape != view.seen.shape or seen.dtype.kind not in "biu":
        raise RuleError(
            f"the visibility function {system.name} returned shape {seen.shape} and dtype "
            f"{seen.dtype}, expected {view.seen.shape} bool"
        )
    view.seen[...] = seen


def _cut(world: ObjectWorld, view: ObjectView) -> Grid:
    """What a view shows as a grid of its own, with copies of the objects."""
    home = household(world)
    return Grid(
        [
            [Hidden() if e == OUTSIDE else home.thing(e).copy() for e in row]
            for row in view.entity.tolist()
        ]
    )


def _observation(
    system: System, ask: _Ask, w: Any, agent: int, view: Any, out: Any, *arguments: Any
) -> None:
    found = ask((state_of(w),), arguments, w.rng)
    if not isinstance(found, Observation):
        raise RuleError(
            f"the observation function {system.name} returned {type(found).__name__}, expected an "
            f"Observation"
        )
    arrays = found.to_arrays()
    grid, item = out
    if arrays["grid"].shape != grid.shape:
        raise RuleError(
            f"the observation function {system.name} shows {arrays['grid'].shape[:2]} cells, the "
            f"scenario's area has {grid.shape[:2]}"
        )
    grid[...], item[...] = arrays["grid"], arrays["item"]


_ADAPTERS: dict[Phase, Callable[..., Any]] = {
    RESET: _reset,
    TRANSITION: _transition,
    REWARD: _reward,
    TERMINATING: _reward,
    VISIBILITY: _visibility,
    OBSERVATION: _observation,
}
