"""Systems called with states, as the documents of the GridVerse family call functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.gridverse.action import Action
from gv_engine.gridverse.arguments import nested_phase, to_objects, to_systems
from gv_engine.gridverse.geometry import Position
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.grid_object import Hidden
from gv_engine.gridverse.household import household, new_world
from gv_engine.gridverse.protocols import Rng, call, leading
from gv_engine.gridverse.state import State, become, state_of
from gv_engine.language.area import Area
from gv_engine.language.component import AGENT, OUTSIDE
from gv_engine.language.errors import RuleError
from gv_engine.language.system import (
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Call,
    Phase,
    System,
    measured,
    subject,
)
from gv_engine.worlds.layout import Layout
from gv_engine.worlds.view import ObjectView
from gv_engine.worlds.world import ObjectWorld
from systems.queries import blocks_vision

_LARGEST = 64, 64
"""The grid of a reset that takes no shape."""


class BuiltIn:
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
            bound = self.__signature__.bind(*given, **named)
        except TypeError as error:
            raise TypeError(f"{self.__name__}{self.__signature__}: {error}") from None
        bound.apply_defaults()
        rng = bound.arguments.pop("rng")
        first = tuple(bound.arguments.pop(name) for name in leading(self.system.phase))
        arguments = {}
        for name, value in bound.arguments.items():
            try:
                arguments[name] = to_systems(name, value)
            except (TypeError, ValueError, KeyError) as error:
                said = error.args[0] if error.args else error
                raise TypeError(f"{self.__name__}: {name}={value!r}: {said}") from None
        return run(self.system, first, arguments, rng)

    def __reduce__(self) -> tuple[Any, ...]:
        return _found, (self.system.phase, self.system.name)

    def __repr__(self) -> str:
        return f"<{self.system.phase.name.lower()} function {self.__name__}{self.__signature__}>"


def _found(phase: Phase, name: str) -> Any:
    from gv_engine.gridverse.registry import FUNCTION_REGISTRIES  # which is made of these

    return FUNCTION_REGISTRIES[phase][name]


def function_of(call_: Call, layout: Layout | None = None) -> Callable[..., Any]:
    """A scenario's call as a function of states or grids.

    Args:
        layout: of the worlds that a reset makes, if not one of all types.

    Raises:
        RuleError: it is an esper.Processor.
    """
    system = call_.system
    if system.is_processor:
        raise RuleError(f"{system.name} is an esper.Processor; only functions work on states")
    nested = functools.partial(function_of, layout=layout)
    if system.objects is not None:
        own = {name: to_objects(name, v, nested) for name, v in call_.arguments.items()}

        def run_own(*first: Any, rng: Rng = None) -> Any:
            found = call(system.objects, first, own, rng)
            if system.phase is RESET and layout is not None:
                return housed(checked_state(system, found), layout, found.world.rng)
            return found

        return run_own
    arguments = {
        name: to_objects(name, v, nested) if nested_phase(name) else v
        for name, v in call_.arguments.items()
        if name not in system.tables
    }
    if system.phase is VISIBILITY:
        return functools.partial(BuiltIn(system), **arguments)

    def run_system(*first: Any, rng: Rng = None) -> Any:
        return run(system, first, arguments, rng, layout)

    return run_system


def housed(state: State, layout: Layout, rng: np.random.Generator) -> State:
    """The state in a world of a layout; itself if it is in one."""
    if state.world.layout is layout:
        return state
    world = ObjectWorld(layout)
    become(world, state)
    world.rng = rng
    return state_of(world)


def checked_state(system: System, found: Any) -> State:
    """What a reset function returned.

    Raises:
        RuleError: it is no state.
    """
    if not isinstance(found, State):
        file, line = system.place
        raise RuleError(
            f"the reset function {system.name} ({file}:{line}) returned "
            f"{type(found).__name__}, expected a State"
        )
    return found


# ---- running systems -----------------------------------------------------------------------------


def run(
    system: System,
    first: tuple[Any, ...],
    arguments: dict[str, Any],
    rng: Rng,
    layout: Layout | None = None,
) -> Any:
    """Run a system of columns; functions among its arguments run first and it gets their results.

    Args:
        first: what the protocol of the phase gives it.
        arguments: by name, as scenarios give them; for nested functions, those of objects.
        rng: to draw from; None for the generator of the world.
        layout: of the world that a reset makes, if not one of all types.
    """
    if layout is not None and system.phase is RESET:
        return _run_reset(system, arguments, rng, layout)
    return _RUNNERS[system.phase](system, *first, arguments, rng)


@contextmanager
def _drawing(world: ObjectWorld, rng: Rng) -> Iterator[None]:
    """Let a world draw from a generator for a while, its own if that is None."""
    own = world.rng
    world.rng = own if rng is None else rng
    try:
        with world.context:
            yield
    finally:
        world.rng = own


@contextmanager
def _acting(world: ObjectWorld, action: int) -> Iterator[None]:
    """Let an action be the current one for a while."""
    before, world.action = world.action, int(action)
    try:
        yield
    finally:
        world.action = before


def _results(
    system: System, arguments: dict[str, Any], ask: Callable[[Any], Any]
) -> dict[str, Any]:
    """The arguments of a system, with results in place of functions."""
    found = dict(arguments)
    for name, value in arguments.items():
        if nested_phase(name):
            found[name] = ask(value) if callable(value) else tuple(ask(each) for each in value)
    return found


def _run_transition(
    system: System, state: State, action: int, arguments: dict[str, Any], rng: Rng
) -> None:
    world = state.world
    with _drawing(world, rng), _acting(world, action):
        source = world.rng
        if Call(system, arguments).holds(world, AGENT)(int(action)):
            first = state, Action(action)
            found = _results(system, arguments, lambda f: call(f, first, {}, source))
            system.function(*subject(system.function, world, AGENT), *Call(system, found).bound())


def _run_reward(
    system: System,
    state: State,
    action: int,
    next_state: State,
    arguments: dict[str, Any],
    rng: Rng,
) -> Any:
    first = (state, Action(action), next_state)
    found = Call(system, _results(system, arguments, lambda f: call(f, first, {}, rng)))
    was: tuple[Any, ...] = ()
    if system.remember is not None:
        with _drawing(state.world, None), _acting(state.world, action):
            begun = subject(system.remember, state.world, AGENT)
            was = (measured(system.remember(*begun, *found.bound(system.remember))),)
    with _drawing(next_state.world, None), _acting(next_state.world, action):
        begun = subject(system.function, next_state.world, AGENT)
        value = system.function(*begun, *was, *found.bound())
    return float(value) if system.phase is REWARD else bool(value)


def _run_reset(
    system: System, arguments: dict[str, Any], rng: Rng, layout: Layout | None = None
) -> State:
    _complain(system, arguments)
    if layout is None:
        world = new_world(*arguments.get("shape", _LARGEST))
        world.clear()
    else:
        world = ObjectWorld(layout)
    # nobody else draws from a fresh one
    with _drawing(world, np.random.default_rng() if rng is None else rng):
        source = world.rng
        found = _results(system, arguments, lambda f: become(world, call(f, (), {}, source)))
        system.function(*subject(system.function, world, AGENT), *Call(system, found).bound())
    return state_of(world)


def _complain(system: System, given: dict[str, Any]) -> None:
    if system.check is not None:
        asked = inspect.signature(system.check).parameters
        problem = system.check(**{name: given[name] for name in asked if name in given})
        if problem:
            raise ValueError(f"{system.name}: {problem}")


def _run_visibility(
    system: System, grid: Grid, position: tuple[int, int], arguments: dict[str, Any], rng: Rng
) -> NDArray[np.bool_]:
    height, width = grid.shape
    y, x = position
    view = ObjectView(Area(-y, height - 1 - y, -x, width - 1 - x))
    view.entity = grid.world.at[:height, :width].copy()
    for cell, e in np.ndenumerate(view.entity):
        view.opaque[cell] = blocks_vision(grid.world, e)
    see(system, grid.world, view, arguments, rng)
    return view.seen.astype(np.bool_)


def see(
    system: System, world: ObjectWorld, view: ObjectView, arguments: dict[str, Any], rng: Rng
) -> None:
    """Let a system say what is seen of a view."""
    area = Area(view.area.ymin, view.area.ymax, view.area.xmin, view.area.xmax)
    _complain(system, {"area": area, **arguments})
    tables = {name: _table(table, area) for name, table in system.tables.items()}
    with _drawing(world, rng):
        system.function(world, AGENT, view, *Call(system, {**arguments, **tables}).bound())


@functools.lru_cache(maxsize=64)
def _table(table: Callable[[Area], Any], area: Area) -> Any:
    return table(area)


_RUNNERS: dict[Phase, Callable[..., Any]] = {
    TRANSITION: _run_transition,
    REWARD: _run_reward,
    TERMINATING: _run_reward,
    RESET: _run_reset,
    VISIBILITY: _run_visibility,
}


# ---- looking -------------------------------------------------------------------------------------


def look_with(visibility: Any, world: ObjectWorld, view: ObjectView, rng: Rng) -> None:
    """Let a visibility function of grids say what is seen of a view.

    Raises:
        RuleError: it returns something else than (h, w) bool.
    """
    function, arguments = visibility, {}
    if isinstance(visibility, functools.partial) and not visibility.args:
        function, arguments = visibility.func, visibility.keywords
    if isinstance(function, BuiltIn):
        given = {p.name: p.default for p in function.system.parameters}
        own = {name: value for name, value in given.items() if name not in function.system.tables}
        see(function.system, world, view, {**own, **arguments}, rng)
        return
    source = world.rng if rng is None else rng
    seen = np.asarray(call(visibility, (cut(world, view), Position(view.y, view.x)), {}, source))
    if seen.shape != view.seen.shape or seen.dtype.kind not in "biu":
        name = getattr(visibility, "__name__", visibility)
        raise RuleError(
            f"the visibility function {name} returned shape {seen.shape} and dtype {seen.dtype}, "
            f"expected {view.seen.shape} bool"
        )
    view.seen[...] = seen


def cut(world: ObjectWorld, view: ObjectView) -> Grid:
    """What a view shows as a grid of its own, with copies of the objects."""
    home = household(world)
    return Grid(
        [
            [Hidden() if e == OUTSIDE else home.thing(e).copy() for e in row]
            for row in view.entity.tolist()
        ]
    )
