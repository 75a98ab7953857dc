"""Actions that nothing comes of: no rule of their scenario names them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gv_engine.batches.compiled.program_functions import functions_of, strings
from gv_engine.language.call import Call
from gv_engine.language.geometry import DROP, PICK_UP, TOGGLE, Action
from gv_engine.language.system import Phase
from gv_engine.reading.scenario import Scenario


def unanswered(scenario: Scenario) -> list[str]:
    """A sentence for each action that asks for a rule, and that none of the rules names."""
    calls = [
        part
        for member in scenario.members
        for phase in Phase
        for call in member.calls(phase)
        for part in call.parts()
    ]
    if any(call.system.is_processor for call in calls):  # whose code is anywhere
        return []
    named = {name for call in calls for name in _names(call)}
    return [
        f"nothing acts on {action.name}; give a rule {{name: …, on_action: {action.name}}}, or "
        f"take it out of the action_space"
        for action in map(Action, scenario.actions)
        if (action.is_own or action in (PICK_UP, DROP, TOGGLE)) and action.name not in named
    ]


def _names(call: Call) -> Iterator[str]:
    """The names in a call, and in the functions that it leads to."""
    system = call.system
    roots: list[Any] = [system.function, system.objects, system.remember, system.when]
    found = functions_of([*roots, *call.arguments.values()])
    values = [*call.arguments.values(), *(value for uses in found.values() for _, value in uses)]
    yield from (value.name for value in values if isinstance(value, Action))
    yield from strings(found)
    for function in found:
        yield from function.__code__.co_names
