"""Registries of functions by name: the built-in ones, and those that users register.

>>> @reward_function_registry.register
... def step_costs(state, action, next_state, *, costs: float = 0.1):
...     '''Pay -costs in every step.'''
...     return -costs
>>> reward_function_registry["step_costs"] is step_costs
True
>>> cheap = reward_function_registry.factory("step_costs", costs=0.01)
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, TypeVar, overload

import numpy as np

import systems  # noqa: F401  # fills the registries of systems
from gv_engine.plugins.gridverse import functions
from gv_engine.plugins.gridverse.functions import (
    PROTOCOLS,
    BuiltInFunction,
    Rng,
    VisibilityFunction,
)
from gv_engine.plugins.gridverse.geometry import as_area
from gv_engine.plugins.gridverse.observation import Observation
from gv_engine.plugins.gridverse.state import State
from gv_engine.plugins.gridverse.utils.custom import import_if_custom
from gv_engine.plugins.gridverse.utils.functions import select_kwargs
from gv_engine.rules.component import AGENT
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.geometry import FORWARD
from gv_engine.rules.system import REGISTRIES, Phase, system_of
from gv_engine.world.view import ObjectView


def from_visibility(
    state: State, *, area: Any, visibility_function: VisibilityFunction, rng: Rng = None
) -> Observation:
    """Return an observation of the area around the agent. `visibility_function` decides which cells
    are visible; the others are Hidden.

    Args:
        area: area relative to an agent that looks up.
        visibility_function: function that decides which cells of the area are seen.
        rng: generator of stochastic visibility functions; by default that of the state.

    Raises:
        RuleError: the visibility function returned something else than (h, w) bool.
    """
    view = ObjectView(as_area(area))
    view.look(state.world, AGENT)
    call = functions.to_call(visibility_function, Phase.VISIBILITY)
    functions.run_on_view(call, state.world, view, rng)
    cells, item = np.zeros((*view.area.shape, 3), np.uint8), np.zeros(3, np.uint8)
    view.show(state.world, AGENT, cells, item)
    agent = np.array([view.y, view.x, FORWARD])
    return Observation.from_valid_arrays(cells, agent, item, state.world.layout.object_types)


def make_shorthand(visibility: BuiltInFunction) -> Callable[..., Observation]:
    """Return an observation function `(state, *, area, rng=None)` that uses this visibility
    function."""

    def observe(state: State, *, area: Any, rng: Rng = None) -> Observation:
        return from_visibility(state, area=area, visibility_function=visibility, rng=rng)

    observe.__name__ = observe.__qualname__ = visibility.__name__
    observe.__doc__ = visibility.__doc__
    return observe


SHORTHANDS = {
    name: make_shorthand(BuiltInFunction(REGISTRIES[Phase.VISIBILITY][name]))
    for name in REGISTRIES[Phase.VISIBILITY]
}
"""Observation function of each built-in visibility function, by name."""


_F = TypeVar("_F", bound=Callable[..., Any])


class FunctionRegistry(Mapping[str, Callable[..., Any]]):
    """Functions of one phase by name.

    The registry contains the systems that scenarios name, as functions of states or grids.
    Registered functions can be named in scenarios.
    """

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self._built_in: dict[str, BuiltInFunction] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return the registered function with this name.

        Raises:
            KeyError: the name is unknown; the message suggests the nearest name.
        """
        system = REGISTRIES[self.phase][name]
        if system.objects is not None:
            return system.objects
        function = self._built_in.get(name)
        if function is None or function.system is not system:  # it may be registered again
            function = self._built_in[name] = BuiltInFunction(system)
        return function

    def __contains__(self, name: object) -> bool:
        return name in REGISTRIES[self.phase]

    def __iter__(self) -> Iterator[str]:
        return iter(REGISTRIES[self.phase])

    def __len__(self) -> int:
        return len(REGISTRIES[self.phase].keys())

    def __repr__(self) -> str:
        return f"<{self.phase.label}s: {', '.join(self)}>"

    @overload
    def register(self, function: _F, *, name: str | None = None) -> _F: ...
    @overload
    def register(self, function: None = None, *, name: str | None = None) -> Callable[[_F], _F]: ...
    def register(self, function: Any = None, *, name: str | None = None) -> Any:
        """Register a GridVerse function or a system of the engine under a name that scenarios can
        use. Works as a decorator too.

            @registry.register
            @registry.register(name="…")
            registry.register(function, name="…")

        Args:
            name: name in scenarios; by default that of the function.

        Raises:
            TypeError: its signature does not fit; the message says what is wrong.
            ValueError: the name is taken.
        """
        if function is None:
            return functools.partial(self.register, name=name)
        system = system_of(function)
        if system is None:
            system = functions.make_system(function, self.phase, name or "")
        elif system.phase is not self.phase:
            raise TypeError(
                f"{system.name} is a {system.phase.name} system, registered among the "
                f"{self.phase.label}s"
            )
        REGISTRIES[self.phase].add(dataclasses.replace(system, name=name or system.name))
        return function

    def check_signature(self, function: Callable[..., Any]) -> None:
        """Raise TypeError if the signature of a function does not fit; the message says what is
        wrong."""
        functions.read_parameters(function, self.phase)

    def get_protocol_parameters(self, signature: inspect.Signature) -> list[inspect.Parameter]:
        """Return the parameters that the engine passes: the first ones, and `rng`."""
        parameters = [*signature.parameters.values()]
        count = len(functions.list_positional(self.phase))
        return [*parameters[:count], *(each for each in parameters[count:] if each.name == "rng")]

    def get_nonprotocol_parameters(self, signature: inspect.Signature) -> list[inspect.Parameter]:
        """Return the parameters that a scenario sets."""
        passed = self.get_protocol_parameters(signature)
        return [each for each in signature.parameters.values() if each not in passed]

    def _get_parameters(self, name: str) -> dict[str, inspect.Parameter]:
        parameters = self.get_nonprotocol_parameters(inspect.signature(self[name]))
        return {parameter.name: parameter for parameter in parameters}

    def factory(self, name: str, **parameters: Any) -> Callable[..., Any]:
        """Return the registered function `name` with some parameters fixed, like
        `functools.partial`.

        Raises:
            KeyError: the name is unknown.
            TypeError: a parameter is missing or unknown.
        """
        allowed = self._get_parameters(name)
        for key in parameters:
            if key not in allowed:
                hint = describe_allowed(key, allowed) or "; it takes none"
                raise TypeError(f"{name} takes no parameter {key!r}{hint}")
        for key, parameter in allowed.items():
            if parameter.default is parameter.empty and key not in parameters:
                raise TypeError(f"{name} needs {key!r} (it takes {', '.join(allowed)})")
        return functools.partial(self[name], **parameters)

    def bind(self, name: str, **parameters: Any) -> Callable[..., Any]:
        """Like `factory`, but ignore parameters that the function does not have, with a warning, as
        the `factory` functions of GridVerse do.

        Args:
            name: name of the function; for `module:name` the module is imported first.

        Raises:
            ValueError: the name is unknown, or a parameter is missing.
        """
        name = import_if_custom(name)
        if name not in self:
            raise ValueError(f"no {self.phase.label} {name!r}{describe_allowed(name, tuple(self))}")
        allowed = self._get_parameters(name)
        if unknown := ", ".join(sorted(parameters.keys() - allowed)):
            hint = f"it takes {', '.join(allowed) or 'none'}"
            warnings.warn(f"{name} takes no parameter {unknown}; {hint}", stacklevel=2)
        try:
            return self.factory(name, **select_kwargs(parameters, allowed))
        except TypeError as error:
            raise ValueError(str(error)) from None


_OTHER_NAMES: dict[Phase, dict[str, Any]] = {
    Phase.TRANSITION: {"transition_with_copy": functions.transition_with_copy},
    Phase.REWARD: {
        "dijkstra": functions.dijkstra,
        "RewardReductionFunction": Callable[[Iterator[float]], float],
    },
    Phase.TERMINATING: {"TerminatingReductionFunction": Callable[[Iterator[bool]], bool]},
}
"""Names in the module of a phase beside the registered functions."""


class _FunctionModule(ModuleType):
    """Module from which all registered functions of one phase can be imported, such as
    `gv_engine.plugins.gridverse.envs.reset_functions`."""

    def __init__(self, registry: FunctionRegistry) -> None:
        """Make a module, such as `reward_functions`, that offers the functions in `registry` as
        attributes."""
        kind, protocol = registry.phase.name.lower(), PROTOCOLS[registry.phase]
        super().__init__(
            f"gv_engine.plugins.gridverse.envs.{kind}_functions",
            f"The {kind} functions: every name in the registry can be imported from here.",
        )
        self._registry = registry
        names: dict[str, Any] = {
            protocol.__name__: protocol,
            "factory": registry.bind,
            f"{kind}_function_registry": registry,
            f"{kind.title()}FunctionRegistry": type(registry),
            **_OTHER_NAMES.get(registry.phase, {}),
        }
        self.__dict__.update(names)
        self.__all__ = list(names)

    def __getattr__(self, name: str) -> Any:
        if name in self._registry:
            return self._registry[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


FUNCTION_REGISTRIES = {phase: FunctionRegistry(phase) for phase in PROTOCOLS}
reset_function_registry = FUNCTION_REGISTRIES[Phase.RESET]
transition_function_registry = FUNCTION_REGISTRIES[Phase.TRANSITION]
reward_function_registry = FUNCTION_REGISTRIES[Phase.REWARD]
terminating_function_registry = FUNCTION_REGISTRIES[Phase.TERMINATING]
observation_function_registry = FUNCTION_REGISTRIES[Phase.OBSERVATION]
visibility_function_registry = FUNCTION_REGISTRIES[Phase.VISIBILITY]

FUNCTION_MODULES = {
    f"{phase.name.lower()}_functions": _FunctionModule(registry)
    for phase, registry in FUNCTION_REGISTRIES.items()
}
"""Modules of the functions of a registry, by name."""

observation_function_registry.register(from_visibility)
for _shorthand in SHORTHANDS.values():
    observation_function_registry.register(_shorthand)
