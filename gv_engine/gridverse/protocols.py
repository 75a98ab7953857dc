"""Signatures that functions of each kind have, and whether one of an author's fits."""

from __future__ import annotations

import inspect
from typing import Any, Protocol, get_type_hints

import numpy as np
from numpy.typing import NDArray

from gv_engine.gridverse.action import Action
from gv_engine.gridverse.geometry import Position
from gv_engine.gridverse.grid import Grid
from gv_engine.gridverse.observation import Observation
from gv_engine.gridverse.state import State
from gv_engine.rules.system import (
    OBSERVATION,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Parameter,
    Phase,
    has_parameter,
    unwrap_partials,
)

Rng = np.random.Generator | None


class ResetFunction(Protocol):
    """Draws an initial state."""

    def __call__(self, *, rng: Rng = None) -> State: ...


class TransitionFunction(Protocol):
    """Edits the state."""

    def __call__(self, state: State, action: Action, *, rng: Rng = None) -> None: ...


class RewardFunction(Protocol):
    """Says what a step was worth, from its states and action alone, and edits nothing."""

    def __call__(
        self, state: State, action: Action, next_state: State, *, rng: Rng = None
    ) -> float: ...


class TerminatingFunction(Protocol):
    """Says whether a step ended the episode, from its states and action alone; edits nothing."""

    def __call__(
        self, state: State, action: Action, next_state: State, *, rng: Rng = None
    ) -> bool: ...


class ObservationFunction(Protocol):
    """Makes an observation and edits nothing."""

    def __call__(self, state: State, *, rng: Rng = None) -> Observation: ...


class VisibilityFunction(Protocol):
    """Says which cells are seen from a position: (h, w) bool."""

    def __call__(self, grid: Grid, position: Position, *, rng: Rng = None) -> NDArray[np.bool_]: ...


PROTOCOLS: dict[Phase, type] = {
    RESET: ResetFunction,
    TRANSITION: TransitionFunction,
    REWARD: RewardFunction,
    TERMINATING: TerminatingFunction,
    OBSERVATION: ObservationFunction,
    VISIBILITY: VisibilityFunction,
}


def leading(phase: Phase) -> tuple[str, ...]:
    """Names of the arguments that functions of a phase are called with by position."""
    names = list(inspect.signature(PROTOCOLS[phase].__call__).parameters)
    return tuple(names[1:-1])  # without self and rng


_GIVEN = {name for phase in PROTOCOLS for name in leading(phase)}
"""Names that no parameter has which scenarios set."""


def further_parameters(function: Any, phase: Phase) -> tuple[Parameter, ...]:
    """The parameters of a function beyond those of its protocol.

    Raises:
        TypeError: it does not fit; the message says what is wrong and what is expected.
    """
    name, first = name_of(function), leading(phase)
    wanted = f"{name}({', '.join((*first, '*', 'rng=None'))})"

    def refuse(fault: str) -> TypeError:
        return TypeError(
            f"{name} is no {phase.label}: {fault}; expected {wanted}, where further "
            f"parameters have defaults or are given by scenarios"
        )

    if not callable(function) or isinstance(function, type):
        raise refuse(f"it is {'a class' if isinstance(function, type) else 'not callable'}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError) as error:
        raise refuse(str(error)) from None
    given = list(signature.parameters.values())
    if given and given[0].name == "w":
        raise refuse(f"it takes a world w; decorate it with @system({phase.name})")
    for parameter in given:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise refuse(f"it takes {parameter}, and parameters are bound by name")
    positional = [p for p in given if p.kind is not p.KEYWORD_ONLY]
    if len(positional) < len(first):
        missing = ", ".join(repr(each) for each in first[len(positional) :])
        raise refuse(f"{name}{signature} lacks {missing}")
    for position, parameter in enumerate(positional):
        if parameter.name in first and first.index(parameter.name) != position:
            raise refuse(f"{parameter.name!r} is argument {position + 1} of {name}{signature}")
        if parameter.name == "rng" and position < len(first):
            raise refuse(f"'rng' stands where {first[position]!r} is expected")
        if position >= len(first) and parameter.kind is parameter.POSITIONAL_ONLY:
            raise refuse(f"{parameter.name!r} can only be given by position")
    further = given[len(first) :]
    for parameter in further:
        if parameter.name in _GIVEN:
            raise refuse(f"it takes {parameter.name!r} too, which nobody gives it")
        if parameter.name == "rng" and parameter.default is parameter.empty:
            raise refuse("'rng' needs the default None")
    hints = _hints(function)
    if phase is TRANSITION and hints.get("return", Any) not in (Any, None, type(None)):
        raise refuse("it says that it returns something, and transitions edit the state instead")
    return tuple(
        Parameter(p.name, hints.get(p.name, Any), p.default) for p in further if p.name != "rng"
    )


def _hints(function: Any) -> dict[str, Any]:
    try:
        return get_type_hints(unwrap_partials(function), include_extras=True)
    except (NameError, TypeError):  # a name that only type checkers import, or no plain function
        return {}


def name_of(function: Any) -> str:
    """What to call a function."""
    plain = unwrap_partials(function)
    return getattr(plain, "__name__", type(plain).__name__)


def call(function: Any, first: tuple[Any, ...], arguments: dict[str, Any], rng: Any) -> Any:
    """Call a function of any kind, with the generator if it takes one."""
    try:
        takes_rng = has_parameter(function, "rng")
    except TypeError:  # partials of unhashable arguments
        takes_rng = has_parameter.__wrapped__(function, "rng")
    return function(*first, **arguments, **({"rng": rng} if takes_rng else {}))
