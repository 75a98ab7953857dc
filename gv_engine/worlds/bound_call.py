"""The one runner of calls: for object worlds, for states, and for expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from gv_engine.language.call import Call, is_nested, subject
from gv_engine.language.component import AGENT
from gv_engine.language.system import (
    TERMINATING,
    TRANSITION,
    System,
    measured,
)

Wrap = Callable[[System, str, Callable[..., Any]], Callable[..., Any]]
"""Takes a system, what of it is called (`function`, `remember` or `when`) and what is called now;
returns what is called instead."""


class BoundCall:
    """A call ready to run in worlds: those among its arguments run first, it gets their results.

    What it remembers lasts from one `measure` to the next.

    Args:
        call: the system and its arguments; an attribute too.

    Attributes:
        acts: `(w, agent, action)` → whether the transition, or one that is nested in it, would
            answer the action.
    """

    def __init__(self, call: Call) -> None:
        self.call = call
        self._result: Any = None
        self._system = call.system
        self._function = call.system.function
        self._remember = call.system.remember
        self._number = measured if call.system.objects is None else _as_it_is
        self._remembered: tuple[Any, ...] = ()
        if self._remember:
            self._remembered = subject(self._remember, AGENT) + call.bound(self._remember)
        self._first = subject(self._function, AGENT)
        self._until = call.system.until
        self._holds = call.condition()
        self._by_itself = call.system.by_itself
        self._was: tuple[Any, ...] = ()
        self._arguments = call.bound()
        self._given = (*self._first, *self._arguments)  # where nothing else comes between
        self._nested: dict[int, Nested] = {
            position: _bind(argument)
            for position, argument in enumerate(self._arguments)
            # functions of states call what is nested in them themselves
            if is_nested(argument) and call.system.objects is None
        }
        self._inside = [
            each
            for nested in self._nested.values()
            for each in _each(nested)
            if each._system.phase is TRANSITION
        ]
        self.acts = self._asked()

    def measure(self, w: Any) -> None:
        """Before the transitions: what rewards and terminating functions remember of a world."""
        for nested in self._nested.values():
            for call in _each(nested):
                call.measure(w)
        if self._remember:
            try:
                was = self._remember(w, *self._remembered)
            except Exception as error:
                self._system.blame(error)
                raise
            self._was = (self._number(was),)

    def watch(self, wrap: Wrap) -> None:
        """See `Simulation.watch`; those that are nested in the arguments are watched too."""
        self._function = wrap(self._system, "function", self._function)
        if self._remember:
            self._remember = wrap(self._system, "remember", self._remember)
        if self._holds:
            self._holds = wrap(self._system, "when", self._holds)
            self.acts = self._asked()
        for nested in self._nested.values():
            for call in _each(nested):
                call.watch(wrap)

    @property
    def can_act(self) -> bool:
        """Whether there is an action that it, or one that is nested in it, may answer."""
        return not self._by_itself or any(call.can_act for call in self._inside)

    def _asked(self) -> Callable[[Any, int, int], bool]:
        """See `acts`: the condition itself, if there is no more to ask."""
        if self._holds is None or self._by_itself:
            return self._would_act
        return self._holds

    def _would_act(self, w: Any, agent: int, action: int) -> bool:
        holds = self._holds is None or self._holds(w, agent, action)
        return holds and (not self._by_itself or answered(self._inside, w, action))

    def run(self, w: Any, *between: Any) -> Any:
        """Call the function if its condition holds; `between` precedes its parameters: a view."""
        given = self._given
        try:
            if self._holds is not None and not self._holds(w, AGENT, w.action):
                return None
            if between or self._was or self._nested:
                arguments = self._results(w) if self._nested else self._arguments
                given = (*self._first, *self._was, *between, *arguments)
            self._result = self._function(w, *given)
        except Exception as error:
            self._system.blame(error)
            raise
        return self._result

    def _results(self, w: Any) -> list[Any]:
        """The arguments, with results in place of what is nested in them."""
        results = list(self._arguments)
        for tried in count(1):
            for position, nested in self._nested.items():
                several = tuple(call.run(w) for call in _each(nested))
                results[position] = several if isinstance(nested, tuple) else several[0]
            if self._until is None or self._until(w, tried, *self.call.bound(self._until)):
                break
            w.clear()
        return results

    def cause(self) -> Call:
        """Why a terminating function was true: the innermost one that was, the first of several."""
        for nested in self._nested.values():
            for call in _each(nested):
                if call._system.phase is TERMINATING and call._result:
                    return call.cause()
        return self.call


def answered(transitions: Iterable[BoundCall], w: Any, action: int) -> bool:
    """Whether one of several transitions would answer an action."""
    for call in transitions:  # a loop, as `any` costs the mask a third of its time
        try:
            if call.acts(w, AGENT, action):
                return True
        except Exception as error:
            call._system.blame(error)
            raise
    return False


def _as_it_is(value: Any) -> Any:
    return value


Nested = BoundCall | tuple[BoundCall, ...]


def _bind(argument: Any) -> Nested:
    if isinstance(argument, Call):
        return BoundCall(argument)
    return tuple(BoundCall(part) for part in argument)


def _each(nested: Nested) -> tuple[BoundCall, ...]:
    return nested if isinstance(nested, tuple) else (nested,)
