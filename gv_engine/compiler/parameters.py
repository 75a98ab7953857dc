"""Arguments of a program: addresses of a batch's arrays, and the parameter record of a scenario.

The record has all data of a scenario, apart from the code of its rules. Nothing here imports Numba.

The arrays are declared once, by the dtypes of their elements. A program gets the address of a
record with the address and length of each array; `intrinsics` has the Numba type of that record.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.geometry import USUAL_ACTIONS, WAIT, Action
from gv_engine.rules.system import RENDERING, Call, Phase, is_nested_call
from gv_engine.rules.turns import ANY, LEAVE, TURNS
from gv_engine.scenario.scenario import Scenario

Dtypes = Mapping[str, np.dtype[Any]]
"""Dtypes of the elements of a batch's arrays, by array name."""

_ADDRESS_AND_LENGTH = np.dtype([("address", np.int64), ("length", np.int64)])


def get_array_dtypes(arrays: Mapping[str, NDArray[Any]]) -> Dtypes:
    """Return the dtype of one element of each array. For an array of more than one dimension it is
    a record with one field `row`."""
    return {
        name: np.dtype([("row", array.dtype, array.shape[1:])]) if array.ndim > 1 else array.dtype
        for name, array in arrays.items()
    }


def make_address_record(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a zero-dimensional record array with the memory `address` and the `length` of each
    array, both int64.

    The record does not keep the arrays alive.
    """
    record = np.zeros((), address_record_dtype(arrays))
    for name, array in arrays.items():
        record[name] = array.ctypes.data, len(array)
    return record


def address_record_dtype(names: Mapping[str, Any]) -> np.dtype[Any]:
    """Return the dtype of the address record of arrays with these names."""
    return np.dtype([(name, _ADDRESS_AND_LENGTH) for name in names])


def rule_id(rule: str) -> int:
    """Return the number that stands for the rule with the prefix `rule` in the field `running` of a
    parameter record: its CRC-32; 0 for "", no rule."""
    return crc32(rule.encode())


def iter_nested_calls(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """Yield (field prefix, call) for each rule call that is directly an argument of `call`;
    `prefix` is the field prefix of `call` itself."""
    for name, value in call.arguments.items():
        if isinstance(value, Call):
            yield f"{prefix}_{name}", value
        elif is_nested_call(value):
            for number, part in enumerate(value):
                yield f"{prefix}_{name}_{number}", part


def iter_calls(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """Yield (field prefix, call) for `call` and all rule calls nested in its arguments; `prefix` is
    the field prefix of `call` itself."""
    yield prefix, call
    for part in iter_nested_calls(prefix, call):
        yield from iter_calls(*part)


_MIN_SIZE = 8192
"""Minimum bytes of a parameter record."""
_PADDING = 64
"""Extra bytes, so that the members' records do not compete for the same cache lines."""

_COMMON = (
    *("num_terms", "mine", "running", "share", "actions", "places", "max_steps"),
    *("always_truncates", "time_limit", "turns", "leaves", "one_suffices", "present", "first_text"),
)
"""Fields that do not belong to a rule; they come first."""

_COMPILED_PHASES = [phase for phase in Phase if phase is not RENDERING]


def list_call_fields(scenario: Scenario, *phases: Phase) -> list[tuple[str, Call]]:
    """Return (field of the parameter record, rule call) for all calls of the given phases; without
    `phases`, of all compiled phases."""
    return [
        (f"{phase.name}_{number}", call)
        for phase in phases or _COMPILED_PHASES
        for number, call in enumerate(scenario.calls(phase))
    ]


def is_data(value: Any) -> bool:
    """Return True if an argument of a rule is stored in the parameter record; False if it is
    compiled into the code."""
    compiled = callable(value) or is_nested_call(value) or isinstance(value, str | Action)
    return not (compiled or value is None)


def list_mask_actions(scenario: Scenario) -> tuple[int, ...]:
    """Return the actions that a compiled action mask tests: `USUAL_ACTIONS`, and after them the
    scenario's other actions."""
    return (*USUAL_ACTIONS, *sorted(set(scenario.actions) - {*USUAL_ACTIONS}))


def make_parameters(
    scenario: Scenario, number: int = 0, masks: bool = True, checked: bool = False
) -> NDArray[Any]:
    """Return a (members,) array of parameter records, one for each scenario of a mixture (one if
    `scenario` is no mixture). Only the record of scenario `number` is filled in, so that callers
    can combine several arrays.

    The filled record has the arguments of each call in its own sub-record, the actions, the step
    limit and the number of the first mission text. All other records are 0, except for their
    `share` of a mixture. `places` has for each of `list_mask_actions` its index in the mask, or -1.
    The actions end with WAIT, for an agent that does nothing.

    Args:
        number: index of the member.
        masks: False if no action mask is computed.
        checked: add fields that note which call and which part of a call is running.
    """
    member = scenario.members[number]
    order = list_mask_actions(member)
    actions, places = np.full(len(order) + 1, WAIT, np.int64), np.full(len(order), -1)
    actions[: len(member.actions)] = member.actions
    if masks:
        places[[order.index(action) for action in member.actions]] = range(len(member.actions))
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
        "time_limit": np.asarray(member.time_limit or np.iinfo(np.int64).max),
    }
    if member.layout.agents > 1:
        agent_group = member.agent_group
        values["turns"] = np.asarray(TURNS.index(agent_group.turns))
        values["leaves"] = np.asarray(agent_group.done == LEAVE)
        values["one_suffices"] = np.asarray(agent_group.ends == ANY)
        if member.layout.has_smaller_members:
            values["present"] = np.asarray(len(agent_group.names))
    if scenario.missions:
        values["first_text"] = np.asarray(scenario.missions.firsts[number])
    for field, call in list_call_fields(member):
        data = {
            # NumPy takes an empty list for floats, and it may be one of indices
            f"{prefix}_{name}": np.asarray(value, np.int64 if np.size(value) == 0 else None)
            for prefix, part in iter_calls(call.name, call)
            for name, value in part.arguments.items()
            if is_data(value)
        }
        values[field] = _make_record({**running, **data} or {"none": np.asarray(0, np.uint8)})
    records = np.zeros(len(scenario.members), _pad_dtype(_make_record(values).dtype))
    for name, value in values.items():
        records[number][name] = value
    if len(scenario.members) > 1:
        records["share"] = scenario.cumulative_weights
    return records


def get_common_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a parameter dtype with only the fields that do not belong to a rule."""
    places: Mapping[str, Any] = dtype.fields or {}
    return _make_dtype({name: places[name] for name in _COMMON if name in places}, dtype.itemsize)


def _pad_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return a dtype padded to one of few sizes, so that programs share the loop's code."""
    size = max(_MIN_SIZE, 1 << (dtype.itemsize - 1).bit_length()) + _PADDING
    return _make_dtype(dtype.fields or {}, size)


def _make_dtype(places: Mapping[str, tuple[Any, ...]], size: int) -> np.dtype[Any]:
    """Return an aligned dtype of `size` bytes with the fields in `places`, given as (dtype, offset,
    ...) by name."""
    formats, offsets = zip(*(place[:2] for place in places.values()))
    parts = {"names": [*places], "formats": formats, "offsets": offsets, "itemsize": size}
    return np.dtype(parts, align=True)  # type: ignore[call-overload, no-any-return]  # mixed values


def _make_record(values: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a zero-dimensional record array with the given field values."""
    record = np.zeros((), np.dtype([(n, v.dtype, v.shape) for n, v in values.items()], align=True))
    for name, value in values.items():
        record[name] = value
    return record
