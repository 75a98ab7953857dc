"""The one runner of calls: for object worlds, for states, and for expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from gv_engine.rules.call import Call, is_nested_call
from gv_engine.rules.system import (
    TERMINATING,
    TRANSITION,
    System,
    has_parameter,
    to_measurement,
)

Wrap = Callable[[System, str, Callable[..., Any]], Callable[..., Any]]
"""Takes a system, what of it is called (`function`, `remember` or `when`) and what is called now;
returns what is called instead."""


class BoundCall:
    """A call ready to run in worlds: those among its arguments run first, it gets their results.

    What it remembers lasts from one `measure` to the next.

    Args:
        call: the system and its arguments; an attribute too.
        agents: how many there are.

    Attributes:
        acts: `(w, agent, action)` → whether the transition, the reward or the terminating function,
            or one that is nested in it, would answer the action.
    """

    def __init__(self, call: Call, agents: int = 1) -> None:
        self.call = call
        self._agents = range(agents + 1)
        self._result: Any = None
        self._system = call.system
        self._function = call.system.function
        self._remember = call.system.remember
        self._number = to_measurement if call.system.objects is None else _as_it_is
        self._remembered = self._by_agent(self._remember, call.bind_arguments(self._remember))
        self._until = call.system.until
        self._holds = call.make_condition(call.system.when)
        answers = call.system.answers
        self._answers = None if answers is None else call.make_condition(answers)
        self._otherwise = call.masked_value
        self._by_itself = call.system.is_spontaneous
        self._arguments = call.bind_arguments()
        # where nothing comes between
        self._given = self._by_agent(self._function, self._arguments)
        self._first = self._by_agent(self._function, ())
        self._was: list[tuple[Any, ...]] = [()] * (agents + 1)  # by agent, () or one value
        self._nested: dict[int, Nested] = {
            position: _bind(argument, agents)
            for position, argument in enumerate(self._arguments)
            # functions of states call what is nested in them themselves
            if is_nested_call(argument) and call.system.objects is None
        }
        self._more = bool(self._remember or self._nested)
        self._inside = [
            each
            for nested in self._nested.values()
            for each in _each(nested)
            if (each._system.phase is TRANSITION) is (call.system.phase is TRANSITION)
        ]
        self.acts = self._asked()

    def _by_agent(
        self, function: Callable[..., Any] | None, arguments: tuple[Any, ...]
    ) -> list[tuple[Any, ...]]:
        """What a function, or None, is called with after the world, by whose turn it is."""
        asks = function is not None and has_parameter(function, "agent")
        return [(agent, *arguments) if asks else arguments for agent in self._agents]

    def measure(self, w: Any, agent: int) -> None:
        """Before the transitions: what rewards and terminating functions remember of a world."""
        for nested in self._nested.values():
            for call in _each(nested):
                call.measure(w, agent)
        if self._remember:
            try:
                was = self._remember(w, *self._remembered[agent])
            except Exception as error:
                self._system.attach_to_error(error)
                raise
            self._was[agent] = (self._number(was),)

    def watch(self, wrap: Wrap) -> None:
        """See `Simulation.watch`; those that are nested in the arguments are watched too."""
        self._function = wrap(self._system, "function", self._function)
        if self._remember:
            self._remember = wrap(self._system, "remember", self._remember)
        if self._holds:
            self._holds = wrap(self._system, "when", self._holds)
        if self._answers:
            self._answers = wrap(self._system, "answers", self._answers)
        self.acts = self._asked()
        for nested in self._nested.values():
            for call in _each(nested):
                call.watch(wrap)

    @property
    def can_act(self) -> bool:
        """Whether there is an action that it, or one that is nested in it, may answer."""
        own = not self._by_itself if self._system.phase is TRANSITION else self._answers is not None
        return own or any(call.can_act for call in self._inside)

    def _asked(self) -> Callable[[Any, int, int], bool]:
        """See `acts`: the condition itself, if there is no more to ask."""
        if self._system.phase is not TRANSITION:
            return self._would_tell
        if self._holds is None or self._by_itself:
            return self._would_act
        return self._holds

    def _would_tell(self, w: Any, agent: int, action: int) -> bool:
        if self._holds is not None and not self._holds(w, agent, action):  # another one's
            return False
        own = self._answers is not None and self._answers(w, agent, action)
        return own or answered(self._inside, w, agent, action)

    def _would_act(self, w: Any, agent: int, action: int) -> bool:
        holds = self._holds is None or self._holds(w, agent, action)
        return holds and (not self._by_itself or answered(self._inside, w, agent, action))

    def run(self, w: Any, agent: int, *between: Any) -> Any:
        """Call the function if its condition holds; `between` precedes its parameters: a view."""
        try:
            holds = self._holds
            if holds is not None and not holds(w, agent, w.action[agent]):
                return self._otherwise
            given = self._given[agent]
            if between or self._more:
                arguments = self._results(w, agent) if self._nested else self._arguments
                given = (*self._first[agent], *self._was[agent], *between, *arguments)
            self._result = self._function(w, *given)
        except Exception as error:
            self._system.attach_to_error(error)
            raise
        return self._result

    def _results(self, w: Any, agent: int) -> list[Any]:
        """The arguments, with results in place of what is nested in them."""
        results = list(self._arguments)
        for tried in count(1):
            for position, nested in self._nested.items():
                several = tuple(call.run(w, agent) for call in _each(nested))
                results[position] = several if isinstance(nested, tuple) else several[0]
            if self._until is None or self._until(w, tried, *self.call.bind_arguments(self._until)):
                break
            w.clear()
        return results

    def cause(self, agent: int) -> Call:
        """Why a terminating function was true for an agent, just now: the innermost one that was,
        the first of several."""
        for nested in self._nested.values():
            for call in _each(nested):
                asked = not call.call.agent_mask or call.call.agent_mask[agent]
                if asked and call._system.phase is TERMINATING and call._result:
                    return call.cause(agent)
        return self.call


def answered(calls: Iterable[BoundCall], w: Any, agent: int, action: int) -> bool:
    """Whether one of several calls would answer an action."""
    for call in calls:  # a loop, as `any` costs the mask a third of its time
        try:
            if call.acts(w, agent, action):
                return True
        except Exception as error:
            call._system.attach_to_error(error)
            raise
    return False


def mark_answered(
    calls: Iterable[BoundCall], w: Any, agent: int, actions: Iterable[int], mask: Any
) -> None:
    """Write 1 for each of several actions that one of the calls would answer, else 0."""
    mask[...] = 0
    for position, action in enumerate(actions):
        # not by `answered`, as calls of it cost a tenth of the mask's time
        for call in calls:
            try:
                if call.acts(w, agent, action):
                    mask[position] = 1
                    break
            except Exception as error:
                call._system.attach_to_error(error)
                raise


def _as_it_is(value: Any) -> Any:
    return value


Nested = BoundCall | tuple[BoundCall, ...]


def _bind(argument: Any, agents: int) -> Nested:
    if isinstance(argument, Call):
        return BoundCall(argument, agents)
    return tuple(BoundCall(part, agents) for part in argument)


def _each(nested: Nested) -> tuple[BoundCall, ...]:
    return nested if isinstance(nested, tuple) else (nested,)
