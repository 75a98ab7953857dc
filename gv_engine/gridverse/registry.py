"""The registries of functions, by name: what the engine brings, and what authors register.

>>> @reward_function_registry.register
... def step_costs(state, action, next_state, *, costs: float = 0.1):
...     '''So much for every step.'''
...     return -costs
>>> reward_function_registry["step_costs"] is step_costs
True
>>> cheap = reward_function_registry.factory("step_costs", costs=0.01)
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any, TypeVar, overload

import systems  # noqa: F401  # fills the registries of systems
from gv_engine.gridverse.functions import BuiltInFunction, system_from
from gv_engine.gridverse.observation_functions import SHORTHANDS, from_visibility
from gv_engine.gridverse.protocols import PROTOCOLS, leading
from gv_engine.rules.errors import describe_allowed
from gv_engine.rules.system import (
    OBSERVATION,
    REGISTRIES,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Phase,
    system_of,
)

_F = TypeVar("_F", bound=Callable[..., Any])


class FunctionRegistry(Mapping[str, Callable[..., Any]]):
    """The functions of one kind, by name.

    The very systems that scenarios name, as functions of states or grids; what is registered here
    can be named in scenarios.
    """

    def __init__(self, phase: Phase) -> None:
        self.phase = phase
        self._built_in: dict[str, BuiltInFunction] = {}

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The function of that name.

        Raises:
            KeyError: unknown; the message lists the names and the nearest.
        """
        system = REGISTRIES[self.phase][name]
        if system.objects is not None:
            return system.objects
        known = self._built_in.get(name)
        if known is None or known.system is not system:
            known = self._built_in[name] = BuiltInFunction(system)
        return known

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
        """Add a function, of states or grids or a system of columns: in one of three forms.

            @registry.register
            @registry.register(name="…")
            registry.register(function, name="…")

        Args:
            name: by default the function's own.

        Raises:
            TypeError: its signature does not fit; the message says what is wrong.
            ValueError: the name is taken.
        """
        if function is None:
            return functools.partial(self.register, name=name)
        system = system_of(function)
        if system is None:
            system = system_from(function, self.phase, name or "")
        elif system.phase is not self.phase:
            raise TypeError(
                f"{system.name} is a {system.phase.name} system, registered among the "
                f"{self.phase.label}s"
            )
        REGISTRIES[self.phase].add(dataclasses.replace(system, name=name or system.name))
        return function

    def factory(self, name: str, **parameters: Any) -> Callable[..., Any]:
        """The function of that name with parameters bound.

        Raises:
            KeyError: no such function.
            TypeError: a parameter is missing, or it takes none of that name.
        """
        function = self[name]
        taken = [*inspect.signature(function).parameters.values()][len(leading(self.phase)) :]
        known = {parameter.name: parameter for parameter in taken if parameter.name != "rng"}
        for key in parameters:
            if key not in known:
                there_are = describe_allowed(key, known) if known else "it takes none"
                raise TypeError(f"{name} takes no parameter {key!r}: {there_are}")
        for key, parameter in known.items():
            if parameter.default is parameter.empty and key not in parameters:
                raise TypeError(f"{name} needs the parameter {key!r} (it takes {', '.join(known)})")
        return functools.partial(function, **parameters)


class _Functions(ModuleType):
    """A module of functions by their names, such as `gv_engine.gridverse.envs.reset_functions`."""

    def __init__(self, registry: FunctionRegistry) -> None:
        kind, protocol = registry.phase.name.lower(), PROTOCOLS[registry.phase]
        super().__init__(
            f"gv_engine.gridverse.envs.{kind}_functions",
            f"The {kind} functions: every name in the registry can be imported from here.",
        )
        self._registry = registry
        self.__all__ = [protocol.__name__, "factory", f"{kind}_function_registry"]
        self.__dict__.update(zip(self.__all__, (protocol, registry.factory, registry), strict=True))

    def __getattr__(self, name: str) -> Any:
        if name in self._registry:
            return self._registry[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


FUNCTION_REGISTRIES = {phase: FunctionRegistry(phase) for phase in PROTOCOLS}
reset_function_registry = FUNCTION_REGISTRIES[RESET]
transition_function_registry = FUNCTION_REGISTRIES[TRANSITION]
reward_function_registry = FUNCTION_REGISTRIES[REWARD]
terminating_function_registry = FUNCTION_REGISTRIES[TERMINATING]
observation_function_registry = FUNCTION_REGISTRIES[OBSERVATION]
visibility_function_registry = FUNCTION_REGISTRIES[VISIBILITY]

reset_functions = _Functions(reset_function_registry)
transition_functions = _Functions(transition_function_registry)
reward_functions = _Functions(reward_function_registry)
terminating_functions = _Functions(terminating_function_registry)
observation_functions = _Functions(observation_function_registry)
visibility_functions = _Functions(visibility_function_registry)

observation_function_registry.register(from_visibility)
for _shorthand in SHORTHANDS.values():
    observation_function_registry.register(_shorthand)
