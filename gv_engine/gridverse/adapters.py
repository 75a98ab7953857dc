"""Functions of states or grids as systems, so that scenarios can list them.

They read and write the live world through its `State`; rewards and terminating functions get a copy
of the state before the step, made once and only if one of them is there. Any Python may be in them,
so they do not compile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gv_engine.gridverse.action import Action
from gv_engine.gridverse.arguments import to_objects
from gv_engine.gridverse.functions import checked_state, function_of, look_with
from gv_engine.gridverse.household import household
from gv_engine.gridverse.observation import Observation
from gv_engine.gridverse.protocols import call, check, name_of
from gv_engine.gridverse.state import State, become, state_of
from gv_engine.language.errors import RuleError
from gv_engine.language.system import (
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Phase,
    System,
)


def system_from(function: Callable[..., Any], phase: Phase, name: str = "") -> System:
    """The system that a function of states or grids is.

    Args:
        name: by default the function's own.

    Raises:
        TypeError: it does not fit the protocol of the phase.
    """
    parameters = check(function, phase)
    names = [p.name for p in parameters]

    def ask(first: tuple[Any, ...], arguments: tuple[Any, ...], rng: Any) -> Any:
        given = zip(names, arguments, strict=True)
        named = {name: to_objects(name, value, function_of) for name, value in given}
        return call(function, first, named, rng)

    def adapted(w: Any, agent: int, *further: Any) -> Any:
        return _ADAPTERS[phase](system, ask, w, agent, *further)

    remember = _before if phase in (REWARD, TERMINATING) else None
    called = name or name_of(function)
    adapted.__name__ = called
    adapted.__doc__ = function.__doc__
    system = System(adapted, phase, called, parameters, remember, objects=function)
    return system


def _before(w: Any, agent: int) -> Any:
    """A copy of the state, the same for all that ask within a step."""
    home = household(w)
    if home.before is None:
        home.before = state_of(w).copy()
    return home.before


_Ask = Callable[[tuple[Any, ...], tuple[Any, ...], Any], Any]


def _transition(system: System, ask: _Ask, w: Any, agent: int, *arguments: Any) -> Any:
    return ask((state_of(w), Action(w.action)), arguments, w.rng)


def _reward(system: System, ask: _Ask, w: Any, agent: int, was: State, *arguments: Any) -> Any:
    return ask((was, Action(w.action), state_of(w)), arguments, w.rng)


def _reset(system: System, ask: _Ask, w: Any, agent: int, *arguments: Any) -> None:
    become(w, checked_state(system, ask((), arguments, w.rng)))


def _visibility(system: System, ask: _Ask, w: Any, agent: int, view: Any, *arguments: Any) -> None:
    def visibility(grid: Any, position: Any, *, rng: Any) -> Any:
        return ask((grid, position), arguments, rng)

    visibility.__name__ = system.name
    look_with(visibility, w, view, None)


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
