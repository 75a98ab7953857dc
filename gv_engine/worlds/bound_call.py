"""A call of a scenario tied to an object world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gv_engine.language.component import AGENT
from gv_engine.language.system import (
    TERMINATING,
    TRANSITION,
    Call,
    System,
    is_nested,
    measured,
    subject,
)
from gv_engine.worlds.world import ObjectWorld


class BoundCall:
    """Runs a system in a world; calls among its arguments run first and it gets their results.

    Args:
        call: the system and its arguments; an attribute too.
        world: where it runs.
    """

    def __init__(self, call: Call, world: ObjectWorld) -> None:
        self._world = world
        self.call = call
        self._result: Any = None
        self._system = call.system
        self._function = call.system.function
        self._remember = call.system.remember
        self._number = measured if call.system.objects is None else _as_it_is
        self._remembered: tuple[Any, ...] = ()
        if self._remember:
            self._remembered = subject(self._remember, world, AGENT) + call.bound(self._remember)
        self._first = subject(self._function, world, AGENT)
        self._holds = call.holds(world, AGENT)
        self._was: tuple[Any, ...] = ()
        self._arguments = call.bound()
        self._nested: dict[int, Nested] = {
            position: _bind(argument, world)
            for position, argument in enumerate(self._arguments)
            # functions of states call what is nested in them themselves
            if is_nested(argument) and call.system.objects is None
        }

    def measure(self) -> None:
        """Before the transitions: what rewards and terminating functions remember."""
        for nested in self._nested.values():
            for call in _each(nested):
                call.measure()
        if self._remember:
            try:
                was = self._remember(*self._remembered)
            except Exception as error:
                self._system.blame(error)
                raise
            self._was = (self._number(was),)

    def watch(self, wrap: Callable[[System, Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put something around the function, and around those that are nested in its arguments."""
        self._function = wrap(self._system, self._function)
        for nested in self._nested.values():
            for call in _each(nested):
                call.watch(wrap)

    def holds(self, action: int) -> bool:
        """Whether the system's condition is true, were this the action."""
        try:
            return self._holds(action)
        except Exception as error:
            self._system.blame(error)
            raise

    def acts(self, action: int) -> bool:
        """Whether the transition, or one that is nested in it, would answer this action."""
        if not self.holds(action):
            return False
        return not self._system.by_itself or any(
            call.acts(action)
            for nested in self._nested.values()
            for call in _each(nested)
            if call._system.phase is TRANSITION
        )

    def run(self, *between: Any) -> Any:
        """Call the function if its condition holds; `between` precedes its parameters: a view."""
        if not self.holds(self._world.action):
            return None
        arguments = self._arguments
        if self._nested:
            results = list(arguments)
            for position, nested in self._nested.items():
                several = tuple(call.run() for call in _each(nested))
                results[position] = several if isinstance(nested, tuple) else several[0]
            arguments = tuple(results)
        try:
            self._result = self._function(*self._first, *self._was, *between, *arguments)
        except Exception as error:
            self._system.blame(error)
            raise
        return self._result

    def cause(self) -> Call:
        """Why a terminating function was true: the innermost one that was, the first of several."""
        for nested in self._nested.values():
            for call in _each(nested):
                if call._system.phase is TERMINATING and call._result:
                    return call.cause()
        return self.call


def _as_it_is(value: Any) -> Any:
    return value


Nested = BoundCall | tuple[BoundCall, ...]


def _bind(argument: Any, world: ObjectWorld) -> Nested:
    if isinstance(argument, Call):
        return BoundCall(argument, world)
    return tuple(BoundCall(part, world) for part in argument)


def _each(nested: Nested) -> tuple[BoundCall, ...]:
    return nested if isinstance(nested, tuple) else (nested,)
