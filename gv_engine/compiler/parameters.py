"""Data that a compiled program reads: addresses of a batch's arrays, and a scenario's parameters as
a record.

The record has all data of a scenario, apart from the code of its rules. Nothing here imports the
compiler.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.rules.geometry import Action
from gv_engine.rules.system import RENDERING, Call, Phase, is_nested_call
from gv_engine.rules.turns import ANY, LEAVE, TURNS
from gv_engine.scenario.scenario import Scenario

_ADDRESS_AND_LENGTH = np.dtype([("address", np.int64), ("length", np.int64)])


def make_address_record(arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a record that tells compiled code where `arrays` are: a field for each array by name,
    with its memory `address` and its `length`, both int64. The shape is ().

    The record does not keep the arrays alive.
    """
    record = np.zeros((), address_record_dtype(arrays))
    for name, array in arrays.items():
        assert array.flags.c_contiguous or name == "rows", name  # a row is followed by a spare one
        record[name] = array.ctypes.data, len(array)
    return record


def address_record_dtype(names: Mapping[str, Any]) -> np.dtype[Any]:
    """Return the dtype of the address record of arrays with these names."""
    return np.dtype([(name, _ADDRESS_AND_LENGTH) for name in names])


def iter_nested_calls(prefix: str, call: Call) -> Iterator[tuple[str, Call]]:
    """Yield (field prefix, call) for each rule that is directly an argument of the rule in `call`.
    Prefixes name fields of the parameter record: if `call` has the prefix "reduce_any", its first
    nested rule has "reduce_any_terminating_functions_0"."""
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


_COMPILED_PHASES = [phase for phase in Phase if phase is not RENDERING]


def list_call_fields(scenario: Scenario, *phases: Phase) -> list[tuple[str, Call]]:
    """Return (name of the field, call) for each rule of a scenario that is listed in `phases`, such
    as ("REWARD_0", call). The field of the parameter record has the arguments of the rule. Without
    `phases`, all compiled phases are included."""
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


def make_parameters(scenario: Scenario, scenario_index: int = 0) -> NDArray[Any]:
    """Return the arguments of a scenario's rules as a record array, which compiled code reads. A
    mixture has one record for each of its scenarios, all with the same dtype; only the record
    `scenario_index` is filled in, so that callers can combine several arrays.

    The filled record has the arguments of each call in its own sub-record, the step limit and the
    number of the first mission text. All other records are 0, except for their `share` of a
    mixture.

    Args:
        scenario_index: index of the member.
    """
    member = scenario.members[scenario_index]
    values = {"mine": np.asarray(1, np.uint8)}
    if len(scenario.members) > 1:
        values["share"] = np.asarray(0.0)
    values |= {
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
        values["first_text"] = np.asarray(scenario.missions.firsts[scenario_index])
    for field, call in list_call_fields(member):
        data = {
            # NumPy takes an empty list for floats, and it may be one of indices
            f"{prefix}_{name}": np.asarray(value, np.int64 if np.size(value) == 0 else None)
            for prefix, part in iter_calls(call.name, call)
            for name, value in part.arguments.items()
            if is_data(value)
        }
        if data:
            values[field] = _make_record(data)
    records = np.zeros(len(scenario.members), _make_record(values).dtype)
    for name, value in values.items():
        records[scenario_index][name] = value
    if len(scenario.members) > 1:
        records["share"] = scenario.cumulative_weights
    return records


def _make_record(values: dict[str, NDArray[Any]]) -> NDArray[Any]:
    """Return a structured array of shape () with these `values` in fields of the same names."""
    record = np.zeros((), np.dtype([(n, v.dtype, v.shape) for n, v in values.items()], align=True))
    for name, value in values.items():
        record[name] = value
    return record
