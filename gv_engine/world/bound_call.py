"""Runs rule calls (systems with their arguments) in object worlds and in other kinds of worlds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import count
from typing import Any

from gv_engine.rules.geometry import WAIT
from gv_engine.rules.system import (
    Call,
    Phase,
    System,
    has_parameter,
    is_nested_call,
    to_measurement,
)

FunctionWrapper = Callable[[System, str, Callable[..., Any]], Callable[..., Any]]
"""Function (system, name of the helper: `function`, `remember`, `when` or `answers`, current
function) that returns the function to call instead."""


class BoundCall:
    """A rule with its arguments from the scenario, ready to run in worlds of Python objects. If
    arguments are rules themselves (nested), they run first, and the function gets their results.

    Remembered values are kept until the next `remember_before_step`.

    Args:
        call: system and arguments.
        agents: number of agents.

    Attributes:
        call: system and arguments.
        acts: function `(w, agent, action)` that is True if the call, or a nested one, has an effect
            for the action in the present state.
    """

    def __init__(self, call: Call, agents: int = 1) -> None:
        """Prepare the rule in `call`, a system with its arguments, to run in worlds with this
        number of agents."""
        self.call = call
        self._agents = range(agents + 1)
        self._result: Any = None
        self._system = call.system
        self._function = call.system.function
        self._remember = call.system.remember
        self._remembered = self._list_by_agent(self._remember, call.bind_arguments(self._remember))
        self._until = call.system.until
        self._condition = call.make_condition(call.system.when)
        answers = call.system.answers
        self._answers = None if answers is None else call.make_condition(answers)
        self._masked_value = call.masked_value
        self._is_spontaneous = call.system.is_spontaneous
        self._arguments = call.bind_arguments()
        # arguments of calls without nested calls or leading values; `measure` adds what it measures
        self._arguments_by_agent = self._list_by_agent(self._function, self._arguments)
        self._leading = self._list_by_agent(self._function, ())
        self._measurements: list[tuple[Any, ...]] = [()] * (agents + 1)  # by agent, () or one value
        # by index of the argument; functions of states run their nested calls themselves
        self._nested = {
            position: [BoundCall(part, agents) for part in _as_tuple(argument)]
            for position, argument in enumerate(self._arguments)
            if is_nested_call(argument) and call.system.objects is None
        }
        self._parts = [part for calls in self._nested.values() for part in calls]
        # those that decide about the action mask: transitions in a transition, others in others
        is_transition = call.system.phase is Phase.TRANSITION
        self._acting_parts = [
            part
            for part in self._parts
            if (part._system.phase is Phase.TRANSITION) is is_transition
        ]
        self.acts = self._make_action_test()

    def _list_by_agent(
        self, function: Callable[..., Any] | None, arguments: tuple[Any, ...]
    ) -> list[tuple[Any, ...]]:
        """Return by agent the arguments of a function of the system, after the agent if it takes
        one."""
        takes_agent = function is not None and has_parameter(function, "agent")
        return [(agent, *arguments) if takes_agent else arguments for agent in self._agents]

    def remember_before_step(self, w: Any, agent: int) -> None:
        """Before a step changes the world, run the `remember` functions of this rule and of the
        rules among its arguments. Rewards and terminating rules compare the results with the world
        after the step."""
        for part in self._parts:
            part.remember_before_step(w, agent)
        if self._remember:
            try:
                measurement = self._remember(*((w,) + self._remembered[agent]))
            except Exception as error:
                self._system.attach_to_error(error)
                raise
            if self._system.objects is None:
                measurement = to_measurement(measurement)
            self._measurements[agent] = measured = (measurement,)
            self._arguments_by_agent[agent] = self._leading[agent] + measured + self._arguments

    def ignores(self, agent: int, action: int) -> bool:
        """Return True if the call never runs when the agent takes the action, in any state of the
        world; False if it may run."""
        test = self._condition
        return test is not None and find_constant_result(test, agent, action) is False

    def watch(self, wrap: FunctionWrapper) -> None:
        """Replace the functions of this rule and of nested rules by `wrap(system, name, function)`,
        for example to count or time calls. `Simulation.watch` does this for all rules."""
        roles = {"_function": "function", "_remember": "remember", "_condition": "when"}
        for attribute, role in {**roles, "_answers": "answers"}.items():
            if function := getattr(self, attribute):
                setattr(self, attribute, wrap(self._system, role, function))
        self.acts = self._make_action_test()
        for part in self._parts:
            part.watch(wrap)

    @property
    def can_act(self) -> bool:
        """True if an action may be valid because of this rule or a nested one, so that the action
        mask depends on it. False for a reward without `answers`, for example."""
        if self._system.phase is Phase.TRANSITION:
            can_act_itself = not self._is_spontaneous
        else:
            can_act_itself = self._answers is not None
        return can_act_itself or any(call.can_act for call in self._acting_parts)

    def _make_action_test(self) -> Callable[[Any, int, int], bool]:
        """Return a function `(w, agent, action) -> bool`. It is True if this rule would have an
        effect when the agent takes the action."""
        if self._system.phase is not Phase.TRANSITION:
            return self._reacts_to_action
        if self._condition is None or self._is_spontaneous:
            return self._test_transition
        return self._condition

    def _reacts_to_action(self, w: Any, agent: int, action: int) -> bool:
        """Return True if this reward or terminating rule, or a nested one, declares by its helper
        `answers` that it reacts to the action, even if the action changes nothing in the world."""
        if self._condition is not None and not self._condition(w, agent, action):
            return False  # the turn of another agent
        answers = self._answers is not None and self._answers(w, agent, action)
        return answers or any_call_acts(self._acting_parts, w, agent, action)

    def _test_transition(self, w: Any, agent: int, action: int) -> bool:
        if self._condition is not None and not self._condition(w, agent, action):
            return False
        return not self._is_spontaneous or any_call_acts(self._acting_parts, w, agent, action)

    def run(self, w: Any, agent: int, leading: tuple[Any, ...] = ()) -> Any:
        """Call the rule's function with world `w`, then the arguments `leading` such as the view,
        then the rule's own arguments; return its result. If its condition does not hold, return 0,
        False or None without a call.

        Args:
            leading: values before the call's own arguments, such as a view.
        """
        try:
            holds = self._condition
            if holds is not None and not holds(w, agent, w.action[agent]):
                return self._masked_value
            values = self._arguments_by_agent[agent]
            if leading or self._nested:
                arguments = self._run_nested(w, agent) if self._nested else self._arguments
                values = (*self._leading[agent], *self._measurements[agent], *leading, *arguments)
            self._result = self._function(*((w,) + values))  # faster than `(w, *values)`
        except Exception as error:
            self._system.attach_to_error(error)
            raise
        return self._result

    def _run_nested(self, w: Any, agent: int) -> list[Any]:
        """Return the rule's arguments, in which nested rules are replaced by their results. If the
        rule has a condition `until`, repeat the nested resets in an empty world until it holds."""
        results = list(self._arguments)
        for tried in count(1):
            for position, calls in self._nested.items():
                values = tuple([call.run(w, agent) for call in calls])
                is_tuple = isinstance(self._arguments[position], tuple)
                results[position] = values if is_tuple else values[0]
            if self._until is None or self._until(w, tried, *self.call.bind_arguments(self._until)):
                break
            w.clear()
        return results

    def find_cause(self, agent: int) -> Call:
        """Return the rule that made this terminating rule true for the agent: the rule itself, or
        its first nested rule that was true, down to the innermost one."""
        for part in self._parts:
            runs = not part.call.agent_mask or part.call.agent_mask[agent]
            if runs and part._system.phase is Phase.TERMINATING and part._result:
                return part.find_cause(agent)
        return self.call


def any_call_acts(calls: Iterable[BoundCall], w: Any, agent: int, action: int) -> bool:
    """Return True if one of the rules in `calls` has an effect when the agent takes this action in
    world `w` now."""
    for call in calls:  # a loop, as `any` would take a third of the mask's time
        try:
            if call.acts(w, agent, action):
                return True
        except Exception as error:
            call._system.attach_to_error(error)
            raise
    return False


class _UnreadWorld:
    """Stand-in for a world, to find out if a rule reads it: each read of an attribute raises an
    error, and is recorded in `vars(world)`."""

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError, and note the attempt."""
        vars(self)["read"] = name
        raise AttributeError(name)


def find_constant_result(test: Callable[..., bool], agent: int, action: int) -> bool | None:
    """Call a condition, `test(w, agent, action)`, with a stand-in for the world, and return its
    result. Return None if it reads the world, so that the result can change."""
    world = _UnreadWorld()
    with suppress(Exception):  # of a test that reads the world
        result = bool(test(world, agent, action))
        return None if vars(world) else result
    return None


def find_acting_calls(calls: list[BoundCall], agent: int, action: int) -> tuple[bool, list[Any]]:
    """Return (True, []) if one of the rules in `calls` has an effect in every world when the agent
    takes the action. Else return (False, rules whose conditions must be tested in the present
    world, in order). Waiting has an effect, as time goes on without the others."""
    if action == WAIT:
        return True, []
    results = {call: find_constant_result(call.acts, agent, action) for call in calls}
    acting = [call for call in calls if results[call] is not False]
    always_acts = bool(acting) and results[acting[0]] is True
    return always_acts, [] if always_acts else acting


def _as_tuple(argument: Any) -> tuple[Call, ...]:
    return argument if isinstance(argument, tuple) else (argument,)
