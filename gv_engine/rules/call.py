"""Calls: systems with the arguments that a scenario gives them."""

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
    """A system with the arguments that a scenario gives it: one entry of an ordered list.

    Attributes:
        system: what to call.
        arguments: a value for every parameter. Numbers, tuples and arrays of them are data;
            functions and actions become part of what is compiled.
        ending_message: what the scenario tells the player in place of the system's own words.
        whose: by agent, whether it runs in the agent's turn; () if it does in all turns.
    """

    system: System
    arguments: dict[str, Any]
    ending_message: str = field(default="", compare=False)
    agent_mask: tuple[bool, ...] = ()

    @classmethod
    def of(cls, system: System, given: Mapping[str, Any], area: Area | None = None) -> Call:
        """The call with these arguments, and for others their defaults, or what an area makes.

        Raises:
            TypeError: one that has no default is missing.
            ValueError: something cannot be made.
        """
        for p in system.parameters:
            if p.required and p.name not in (*given, *system.tables):
                raise TypeError(f"{system.name} needs {p.name!r}")
        own = {p.name: p.default for p in system.parameters if not p.required}
        made = {} if area is None else system.make_tables(area)
        return cls(system, {**own, **given, **made})

    def run_check(
        self, area: Area | None = None, agents: int = 1, types: ObjectTypes = OBJECT_TYPES
    ) -> str:
        """What the system's check says against the arguments, as text; empty if nothing.

        Args:
            area: of the observation; without it, a check that asks for it is left out.
            agents: how many there are.
            types: of the scenario.
        """
        check, asked = self.system.check, self.system.check_parameters
        if check is None or (area is None and "area" in asked):
            return ""
        given = {"area": area, "agents": agents, "types": types, **self.arguments}
        return check(**{name: given[name] for name in asked if name in given})

    @property
    def name(self) -> str:
        return self.system.name

    @property
    def is_per_agent(self) -> bool:
        """Whether it, or one that is nested in it, asks for an agent; if not, it runs once a step,
        whoever acts."""
        return any(
            has_parameter(function, "agent")
            for part in self.walk()
            for function in part.system.functions
        )

    @property
    def masked_value(self) -> float | bool | None:
        """What comes of it in the turn of an agent that it is not for."""
        return {REWARD: 0.0, TERMINATING: False}.get(self.system.phase)

    def argument_names(self, helper: Callable[..., Any] | None = None) -> tuple[str, ...]:
        """Names of the arguments that the system's function takes, or one of its helpers."""
        own = tuple(p.name for p in self.system.parameters)
        if helper is None:
            return own
        return tuple(name for name in inspect.signature(helper).parameters if name in own)

    def bind_arguments(self, helper: Callable[..., Any] | None = None) -> tuple[Any, ...]:
        """The trailing arguments for the system's function, or for one of its helpers."""
        return tuple(self.arguments[name] for name in self.argument_names(helper))

    def make_condition(
        self, helper: Callable[..., bool] | None
    ) -> Callable[[Any, int, int], bool] | None:
        """`(w, agent, action)` → whether it runs in this turn, and its `when` or `answers` is true
        of a world; None if neither is asked."""
        if agent_mask := self.agent_mask:
            holds = replace(self, agent_mask=()).make_condition(helper)
            return lambda w, agent, action: (
                agent_mask[agent] and (holds is None or holds(w, agent, action))
            )
        if helper is None:
            return None
        given, agents, acting = (
            self.bind_arguments(helper),
            has_parameter(helper, "agent"),
            has_parameter(helper, "action"),
        )
        # as most are: asked for each action of each step
        if agents and acting and given == (helper.__defaults__ or ()):
            return helper
        return lambda w, agent, action: helper(w, *(agent,) * agents, *(action,) * acting, *given)

    def walk(self) -> Iterator[Call]:
        """The call itself and all that are nested in its arguments."""
        return (path[-1] for path in self.walk_paths())

    def walk_paths(self) -> Iterator[tuple[Call, ...]]:
        """For each of its `parts`, the calls from this one down to it."""
        yield (self,)
        for argument in self.arguments.values():
            if is_nested_call(argument):
                for part in argument if isinstance(argument, tuple) else (argument,):
                    yield from ((self, *path) for path in part.walk_paths())


def is_nested_call(argument: Any) -> bool:
    """Whether an argument is a call, or a list of calls, whose results the system gets."""
    if isinstance(argument, tuple):
        return any(isinstance(part, Call) for part in argument)
    return isinstance(argument, Call)
