"""Calls: systems together with the arguments that a scenario gives them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gv_engine.rules.geometry import Area
from gv_engine.rules.objects import OBJECT_TYPES, ObjectTypes
from gv_engine.rules.system import REWARD, TERMINATING, System, has_parameter


@dataclass(frozen=True)
class Call:
    """System with the arguments that a scenario gives it: one entry of a scenario's function list.

    Attributes:
        system: the function to call, with its condition and helpers.
        arguments: a value for every parameter. Numbers, tuples and arrays of them are data;
            functions and actions become part of what is compiled.
        ending_message: text for the player if this call ends the episode; "" for the system's.
        agent_mask: by agent number, True if the call runs in that agent's turn; () for all turns.
    """

    system: System
    arguments: dict[str, Any]
    ending_message: str = field(default="", compare=False)
    agent_mask: tuple[bool, ...] = ()

    @classmethod
    def of(cls, system: System, arguments: Mapping[str, Any], area: Area | None = None) -> Call:
        """Return a call of a system with these arguments, defaults for the others, and tables for
        an area.

        Raises:
            TypeError: an argument without a default is missing.
            ValueError: a table cannot be made for the area.
        """
        for p in system.parameters:
            if p.required and p.name not in (*arguments, *system.tables):
                raise TypeError(f"{system.name} needs {p.name!r}")
        defaults = {p.name: p.default for p in system.parameters if not p.required}
        tables = {} if area is None else system.make_tables(area)
        return cls(system, {**defaults, **arguments, **tables})

    def run_check(
        self, area: Area | None = None, agents: int = 1, types: ObjectTypes = OBJECT_TYPES
    ) -> str:
        """Run the system's own `check` on the arguments; return its error message, or "".

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
        """Return True if the system, or a call nested in its arguments, takes `agent`. Other calls
        run once a step."""
        functions = (function for part in self.walk() for function in part.system.functions)
        return any(has_parameter(function, "agent") for function in functions)

    @property
    def masked_value(self) -> float | bool | None:
        """Result of the call for agents that `agent_mask` excludes: 0.0 for rewards, False for
        terminations, else None."""
        return {REWARD: 0.0, TERMINATING: False}.get(self.system.phase)

    def argument_names(self, helper: Callable[..., Any] | None = None) -> tuple[str, ...]:
        """Return the names of the scenario's arguments that the system's function takes, or that
        `helper` takes."""
        own = tuple(p.name for p in self.system.parameters)
        if helper is None:
            return own
        return tuple(name for name in inspect.signature(helper).parameters if name in own)

    def bind_arguments(self, helper: Callable[..., Any] | None = None) -> tuple[Any, ...]:
        """Return the values of the scenario's arguments for the system's function, or for `helper`,
        in order."""
        return tuple(self.arguments[name] for name in self.argument_names(helper))

    def make_condition(
        self, helper: Callable[..., bool] | None
    ) -> Callable[[Any, int, int], bool] | None:
        """Return a function `(w, agent, action)` that evaluates a `when` or `answers` helper and
        the agent mask; None if there is neither."""
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
        return (path[-1] for path in self.walk_paths())

    def walk_paths(self) -> Iterator[tuple[Call, ...]]:
        """Yield, for each call of `walk`, the chain of calls from this one down to it."""
        yield (self,)
        for argument in self.arguments.values():
            if is_nested_call(argument):
                for part in argument if isinstance(argument, tuple) else (argument,):
                    yield from ((self, *path) for path in part.walk_paths())


def is_nested_call(argument: Any) -> bool:
    """Return True for an argument that is a call, or a tuple of calls: the system gets their
    results."""
    if isinstance(argument, tuple):
        return any(isinstance(part, Call) for part in argument)
    return isinstance(argument, Call)
