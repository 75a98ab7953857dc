"""Signatures of user-defined functions, one for each phase, and the check that a function fits."""

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
from gv_engine.rules.system import Parameter, Phase, has_parameter, unwrap_partials

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
    """Returns the (h, w) bool cells that are seen from a position."""

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
    arguments which its phase requires.

    Raises:
        TypeError: the function does not fit; the message says why, and the expected signature.
    """
    name, first = function_name(function), arg_names(phase)
    expected = f"{name}({', '.join((*first, '*', 'rng=None'))})"

    def refuse(fault: str) -> TypeError:
        """Return the TypeError for a function whose signature does not fit, with the reason
        `fault`."""
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
    hints = _get_type_hints(function)
    if phase is Phase.TRANSITION and hints.get("return", Any) not in (Any, None, type(None)):
        raise refuse("it says that it returns something, and transitions edit the state instead")
    return tuple(
        Parameter(p.name, hints.get(p.name, Any), p.default) for p in further if p.name != "rng"
    )


def _get_type_hints(function: Any) -> dict[str, Any]:
    """Return the type hints of a function by parameter; an empty dictionary if they cannot be
    resolved."""
    try:
        return get_type_hints(unwrap_partials(function), include_extras=True)
    except (NameError, TypeError):  # a name that only type checkers import, or no plain function
        return {}


def function_name(function: Any) -> str:
    """Return the name of a function, or of its class for a callable object."""
    plain = unwrap_partials(function)
    return getattr(plain, "__name__", type(plain).__name__)


def call_function(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], rng: Any) -> Any:
    """Call a user-defined function with these arguments, and with the generator `rng` if the
    function has a parameter `rng`."""
    try:
        takes_rng = has_parameter(function, "rng")
    except TypeError:  # partials of unhashable arguments
        takes_rng = has_parameter.__wrapped__(function, "rng")
    return function(*args, **kwargs, **({"rng": rng} if takes_rng else {}))
