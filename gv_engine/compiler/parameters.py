"""Everything about a scenario that is data, as the record of parameters of its program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.call import Call, is_nested_call
from gv_engine.rules.geometry import USUAL_ACTIONS, Action
from gv_engine.rules.modules import is_engine_module
from gv_engine.rules.system import (
    OBSERVATION,
    RESET,
    REWARD,
    SUCCESS,
    TERMINATING,
    TRANSITION,
    VISIBILITY,
    Phase,
)
from gv_engine.rules.turns import ANY, LEAVE, TURNS

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


def mark(rule: str) -> int:
    """The number by which a parameter record says which rule runs; 0 for none."""
    return crc32(rule.encode())


def inner(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """The calls among the arguments of a call, by the prefix of their fields in the record."""
    for name, value in call.arguments.items():
        if isinstance(value, Call):
            yield f"{prefix}_{name}", value
        elif is_nested_call(value):
            for number, part in enumerate(value):
                yield f"{prefix}_{name}_{number}", part


def parts(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """The call and all nested in its arguments, by the prefix of their fields in the record."""
    yield prefix, call
    for part in inner(prefix, call):
        yield from parts(*part)


_LEAST = 8192
"""Bytes of a record of parameters."""
_APART = 64
"""More bytes, so that caches do not keep those of all members of a mixture in one place."""

_COMMON = "num_terms", "mine", "running", "share"
"""What the loop over worlds wants to know; it comes first."""

_COMPILED = RESET, TRANSITION, REWARD, TERMINATING, SUCCESS, VISIBILITY, OBSERVATION


def fields_of_calls(scenario: Scenario, *phases: Phase) -> list[tuple[str, Call]]:
    """Calls of phases, or all that are compiled, by their fields in the record of parameters."""
    return [
        (f"{phase.name}_{number}", call)
        for phase in phases or _COMPILED
        for number, call in enumerate(scenario.calls(phase))
    ]


def functions_of_calls(scenario: Scenario, *phases: Phase) -> Iterator[Callable[..., Any]]:
    """Functions, helpers and functions among the arguments of calls, those in others included."""
    for _, whole in fields_of_calls(scenario, *phases):
        for call in whole.walk():
            yield from filter(callable, (*call.system.functions, *call.arguments.values()))


def runs_engine_rules_only(scenario: Scenario) -> bool:
    """Whether all rules that a scenario compiles come with the engine."""
    return all(
        is_engine_module(getattr(function, "__module__", None) or "")
        for function in functions_of_calls(scenario)
    )


def is_data(value: Any) -> bool:
    """Whether an argument is a value in the record; all others are compiled."""
    compiled = callable(value) or is_nested_call(value) or isinstance(value, str | Action)
    return not (compiled or value is None)


def asked_actions(scenario: Scenario) -> tuple[int, ...]:
    """The actions that a compiled mask asks for: the usual ones, and what others there are."""
    return (*USUAL_ACTIONS, *sorted(set(scenario.actions) - {*USUAL_ACTIONS}))


def parameters(
    scenario: Scenario, number: int = 0, masks: bool = True, checked: bool = False
) -> NDArray[Any]:
    """(members,) records of everything about a scenario that is data.

    That of the given member has the arguments of its systems, each call's in a record of its own,
    its actions, its step limit and its first text; in the others all is 0 but their share of a
    mixture. Each of the `asked_actions` has its place in the mask there, -1 for none, as all have
    without masks. What is checked says there which call runs, and in the call's record which of its
    parts.
    """
    member = scenario.members[number]
    asked = asked_actions(member)
    actions, places = np.zeros(len(asked), np.int64), np.full(len(asked), -1)
    actions[: len(member.actions)] = member.actions
    if masks:
        places[[asked.index(action) for action in member.actions]] = range(len(member.actions))
    running = {"running": np.asarray(0, np.uint32)} if checked else {}
    values = {"num_terms": np.asarray(len(scenario.reward_names)), "mine": np.asarray(1, np.uint8)}
    values |= running
    if len(scenario.members) > 1:
        values["share"] = np.asarray(0.0)
    values |= {
        "actions": actions,
        "places": places,
        "max_steps": np.asarray(member.max_steps or np.iinfo(np.int64).max),
        "always_truncates": np.asarray(member.always_truncates),
    }
    if member.layout.agents > 1:
        sharing = member.sharing
        values["turns"] = np.asarray(TURNS.index(sharing.turns))
        values["leaves"] = np.asarray(sharing.done == LEAVE)
        values["one_suffices"] = np.asarray(sharing.ends == ANY)
        if member.layout.has_smaller_members:
            values["present"] = np.asarray(len(sharing.names))
    if scenario.missions:
        values["first_text"] = np.asarray(scenario.missions.firsts[number])
    for field, call in fields_of_calls(member):
        own = {
            f"{prefix}_{name}": np.asarray(value)
            for prefix, part in parts(call.name, call)
            for name, value in part.arguments.items()
            if is_data(value)
        }
        values[field] = _record({**running, **own} or {"none": np.asarray(0, np.uint8)})
    records = np.zeros(len(scenario.members), _padded(_record(values).dtype))
    for name, value in values.items():
        records[number][name] = value
    if len(scenario.members) > 1:
        records["share"] = scenario.cumulative_weights
    return records


def common_part(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """A dtype of parameters with those alone that the loop over worlds wants to know."""
    places: Mapping[str, Any] = dtype.fields or {}
    return _placed({name: places[name] for name in _COMMON if name in places}, dtype.itemsize)


def _padded(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Of one of few sizes, so that its common part is that of many others."""
    size = max(_LEAST, 1 << (dtype.itemsize - 1).bit_length()) + _APART
    return _placed(dtype.fields or {}, size)


def _placed(places: Mapping[str, tuple[Any, ...]], size: int) -> np.dtype[Any]:
    """A dtype of so many bytes whose fields are (dtype, offset, …)."""
    formats, offsets = zip(*(place[:2] for place in places.values()))
    parts = {"names": [*places], "formats": formats, "offsets": offsets, "itemsize": size}
    return np.dtype(parts, align=True)  # type: ignore[call-overload, no-any-return]  # mixed values


def _record(values: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """() record of these values."""
    record = np.zeros((), np.dtype([(n, v.dtype, v.shape) for n, v in values.items()], align=True))
    for name, value in values.items():
        record[name] = value
    return record
