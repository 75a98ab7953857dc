"""Actions that nothing comes of: no rule names them, or their scenario has not declared them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

from gv_engine.batches.compiled.program_functions import functions_of, strings
from gv_engine.language.call import Call
from gv_engine.language.geometry import DROP, PICK_UP, TOGGLE, Action
from gv_engine.language.system import Phase, source_place
from gv_engine.reading.families import from_here
from gv_engine.reading.scenario import Scenario
from gv_engine.reading.values import instead


def unanswered(scenario: Scenario) -> list[str]:
    """A sentence for each action that asks for a rule, and that none of the rules names."""
    calls = list(_calls(scenario))
    if any(call.system.is_processor for call in calls):  # whose code is anywhere
        return []
    named = {name for call in calls for name in _names(call)}
    return [
        f"nothing acts on {action.name}; give a rule {{name: …, on_action: {action.name}}}, or "
        f"take it out of the action_space"
        for action in map(Action, scenario.actions)
        if (action.is_own or action in (PICK_UP, DROP, TOGGLE)) and action.name not in named
    ]


def undeclared(scenario: Scenario) -> list[str]:
    """A sentence for each function that names an action which the scenario has not declared."""
    own = [command.name for command in scenario.own_actions]
    said = {
        f"{from_here(*source_place(function))}: {function.__name__} asks for {action.name}, which "
        f"no action_space declares{instead(action.name, own, 'declared')}"
        for call in _calls(scenario)
        for function, uses in _functions(call).items()
        for _, value in uses
        for action in _actions(value)
        if action.is_own and action.name not in own
    }
    return sorted(said)


def _calls(scenario: Scenario) -> Iterator[Call]:
    """All calls of a scenario, also those within others."""
    for member in scenario.members:
        for phase in Phase:
            for call in member.calls(phase):
                yield from call.parts()


def _functions(call: Call) -> Mapping[FunctionType, list[tuple[str, Any]]]:
    """The functions that a call leads to, with the names that they use."""
    system = call.system
    return functions_of([*system.functions, system.objects, *call.arguments.values()])


def _actions(value: Any) -> Iterator[Action]:
    for part in value if isinstance(value, tuple | list) else (value,):
        if isinstance(part, Action):
            yield part


def _names(call: Call) -> Iterator[str]:
    """The names in a call, and in the functions that it leads to."""
    found = _functions(call)
    values = [*call.arguments.values(), *(value for uses in found.values() for _, value in uses)]
    yield from (action.name for value in values for action in _actions(value))
    yield from strings(found)
    for function in found:
        yield from function.__code__.co_names
