"""Calls of a scenario's systems as functions of one world, ready to be compiled.

Each function returns a closure that calls closures which earlier calls have returned. `p` is the
parameter record. `was` is the tuple of measurements from before the transitions; conditions get
(action,) instead, and visibility and observation functions (view,). `values` returns the arguments
after `w`. Numba takes 40 ms per closure, so there are few of them.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

import numpy as np

from gv_engine.compiler import parameters
from gv_engine.compiler.intrinsics import current_agent, make_field_getter
from gv_engine.rules.geometry import Action
from gv_engine.rules.system import Call, Phase, has_parameter, is_nested_call, to_measurement


def number_end_tests(call: Call) -> dict[str, int]:
    """Number the nested tests of `call` that can end an episode; return {prefix of the test's
    fields in the parameter record: number, from 1}."""
    return {
        prefix: number
        for number, ((prefix, _), path) in enumerate(
            zip(parameters.iter_calls(call.name, call), call.walk_paths(), strict=True), 1
        )
        if all(part.system.phase is Phase.TERMINATING for part in path)
    }


def _add_constant(before: Any, value: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that returns the tuple that `before`
    returns, with the constant `value` appended."""

    def values(w: Any, p: Any, was: Any) -> Any:
        """Return the values with the constant appended."""
        return (*before(w, p, was), value)

    return values


def _add_result(before: Any, run_nested: Any, restore_rule: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that returns the tuple that `before`
    returns, with the result of the nested call `run_nested` appended. Then it calls `restore_rule`,
    which marks the outer rule as the running rule again."""

    def values(w: Any, p: Any, was: Any) -> Any:
        """Return the values with the nested call's result appended."""
        return (*before(w, p, was), run_nested(w, p, was), *restore_rule(w, p, was))

    return values


def _join_values(before: Any, after: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that returns the concatenation of the
    tuples that `before` and `after` return."""

    def values(w: Any, p: Any, was: Any) -> Any:
        """Return the concatenation of both tuples."""
        return before(w, p, was) + after(w, p, was)

    return values


def _add_measurement(before: Any, remember: Any, values: Any) -> Any:
    """Return a function `(world, parameters)` that returns the tuple that `before` returns, with
    the result of `remember` appended. `values` returns the arguments of `remember`."""

    def measure(w: Any, p: Any) -> Any:
        """Return the measurements with one more appended."""
        return (*before(w, p), to_measurement(remember(w, *values(w, p, ()))))

    return measure


class PreStepMeasurements:
    """Measurements that a rule call needs and that are taken before the transitions of a step.

    Attributes:
        measure: function `(world, parameters)` that returns all measurements as a tuple.
        length: number of measurements.
        end_numbers: numbers of the tests that can end an episode, by field prefix.
    """

    def __init__(self, end_numbers: dict[str, int] | None = None) -> None:
        """Start without measurements. `end_numbers` has the numbers of the tests that can end an
        episode."""
        self.measure: Any = lambda w, p: ()
        self.length = 0
        self.end_numbers = end_numbers or {}

    def add_measurement(self, helper: Any, values: Any) -> int:
        """Add the measurement `helper`, a rule's `remember` function, which runs before a step;
        return the index of its result. `values` returns the arguments of `helper`."""
        self.measure = _add_measurement(self.measure, helper, values)
        self.length += 1
        return self.length - 1


def _call_function(function: Any, values: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that calls `function` with the
    arguments from `values` and returns its result."""

    def run(w: Any, p: Any, was: Any) -> Any:
        """Return the result of the function."""
        return function(w, *values(w, p, was))

    return run


def _call_and_convert(convert: type, function: Any, values: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that calls `function` with the
    arguments from `values` and converts its result by the type `convert`."""

    def run(w: Any, p: Any, was: Any) -> Any:
        """Return the converted result of the function."""
        return convert(function(w, *values(w, p, was)))

    return run


def _call_end_test(function: Any, values: Any, test_number: int) -> Any:
    """Return a test `(world, parameters, measurements)` that calls `function`. If it is the first
    true test, it writes `test_number` into `w.ended_by`."""

    def truth(w: Any, p: Any, was: Any) -> bool:
        """Return the result of the test; if it is the first true one, write its number into
        `w.ended_by`."""
        over = bool(function(w, *values(w, p, was)))
        if over and w.ended_by[current_agent(w)] == 0:
            w.ended_by[current_agent(w)] = test_number
        return over

    return truth


def _undo_end_if_false(truth: Any) -> Any:
    """Return a test `(world, parameters, measurements)` that calls the test `truth` and, if it is
    False, restores `w.ended_by`, which nested tests may have set."""

    def whole(w: Any, p: Any, was: Any) -> bool:
        """Return the result of the test; restore `w.ended_by` if the result is False."""
        before = w.ended_by[current_agent(w)]
        over = truth(w, p, was)
        if not over:
            w.ended_by[current_agent(w)] = before
        return over  # type: ignore[no-any-return]

    return whole


def _run_if(when: Any, condition_values: Any, function: Any, values: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that calls `function` only if the
    condition `when` is true. `condition_values` and `values` return the arguments of the two."""

    def transition(w: Any, p: Any, was: Any) -> None:
        """Run the function if its condition holds for the agent's action."""
        if when(w, *condition_values(w, p, (np.int64(w.action[current_agent(w)]),))):
            function(w, *values(w, p, was))

    return transition


def _run_until(until: Any, values_of_until: Any, function: Any, values: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that clears the world and repeats the
    nested resets until the condition `until` is true, and then calls `function`."""

    def reset(w: Any, p: Any, was: Any) -> None:
        """Run the nested resets in a cleared world until `until` is true, then call `function`."""
        reset_values = values(w, p, was)
        tries = 1
        while w.error == 0 and not until(w, *values_of_until(w, p, (tries,))):
            w.clear()
            reset_values = values(w, p, was)
            tries += 1
        function(w, *reset_values)

    return reset


def _run_in_turns(call: Call, run: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that calls `run` in the turns of the
    agents to which `call` applies, and returns a default value in other turns."""
    runs_for_agent, otherwise = call.agent_mask, call.masked_value

    def run_masked(w: Any, p: Any, was: Any) -> Any:
        """Return the result of `run` in the turn of an agent to which the call applies, else the
        default."""
        return run(w, p, was) if runs_for_agent[current_agent(w)] else otherwise

    return run_masked


_RESULT_TYPES = {Phase.REWARD: np.float64, Phase.TERMINATING: bool}
"""Types of results by phase; others stay as they are. Numba's `float` takes no truth values."""


def make_argument_getter(
    prefix: str, call: Call, past: PreStepMeasurements, helper: Callable[..., Any] | None = None
) -> Any:
    """Return a function `(world, parameters, measurements)` that returns the positional arguments
    of a rule call, or of its `helper`, except for the first one, the world. Measurements that the
    call needs are added to `past`.

    Args:
        prefix: prefix of the call's fields in the parameter record.
        past: gets the measurement of the call's `remember` helper added.
        helper: called function if it is not the system's own: a `when`, `until` or `remember`
            helper.
    """
    values: Any = None
    number = None
    agent = has_parameter(helper or call.system.function, "agent")
    restore = make_field_getter([], rule=prefix)
    if helper is None and (remember := call.system.remember) is not None:
        number = past.add_measurement(remember, make_argument_getter(prefix, call, past, remember))
    elif call.system.phase in (Phase.VISIBILITY, Phase.OBSERVATION) or (
        helper and any(has_parameter(helper, name) for name in ("action", "tried"))
    ):
        number = 0
    names = list(call.argument_names(helper))
    while names or values is None:
        data = list(takewhile(lambda name: parameters.is_data(call.arguments[name]), names))
        picked = make_field_getter([f"{prefix}_{name}" for name in data], number, prefix, agent)
        number, agent = None, False
        if values is None:
            values = picked
        elif data:
            values = _join_values(values, picked)
        names = names[len(data) :]
        if names:
            value, field = call.arguments[names[0]], f"{prefix}_{names.pop(0)}"
            if isinstance(value, tuple):
                values = _add_result(values, _make_tuple(field, value, past), restore)
            elif is_nested_call(value):
                values = _add_result(values, make_call_runner(field, value, past), restore)
            else:
                values = _add_constant(values, int(value) if isinstance(value, Action) else value)
    return values


def _make_tuple(prefix: str, calls: tuple[Call, ...], past: PreStepMeasurements) -> Any:
    """Return a function `(world, parameters, measurements)` that runs the nested `calls` and
    returns the tuple of their results."""
    values: Any = make_field_getter([])
    for number, call in enumerate(calls):
        run = make_call_runner(f"{prefix}_{number}", call, past)
        values = _add_result(values, run, make_field_getter([]))
    return values


def make_call_runner(prefix: str, call: Call, past: PreStepMeasurements) -> Any:
    """Return a function `(world, parameters, measurements)` that runs a rule call and returns its
    result. In turns of agents to which the call does not apply, it returns a default."""
    run = _make_runner(prefix, call, past)
    return _run_in_turns(call, run) if call.agent_mask else run


def _make_runner(prefix: str, call: Call, past: PreStepMeasurements) -> Any:
    """Return a function `(world, parameters, measurements)` that runs a rule call, with its `when`
    or `until` condition, whichever agent's turn it is."""
    function, when, until = call.system.function, call.system.when, call.system.until
    values = make_argument_getter(prefix, call, past)
    if prefix in past.end_numbers:
        end = _call_end_test(function, values, past.end_numbers[prefix])
        return _undo_end_if_false(end) if any(map(is_nested_call, call.arguments.values())) else end
    if until is not None:
        return _run_until(until, make_argument_getter(prefix, call, past, until), function, values)
    if when is not None:
        return _run_if(when, make_argument_getter(prefix, call, past, when), function, values)
    if kind := _RESULT_TYPES.get(call.system.phase):
        return _call_and_convert(kind, function, values)
    return _call_function(function, values)
