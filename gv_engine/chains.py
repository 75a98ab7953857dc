"""A scenario's systems as one function over the rows of a batch, ready to be compiled.

Nothing is generated as text. Chains of closures call one system after the other, with its
parameters read from a record; so only another list of systems, another layout or another view asks
for a new compilation, never other parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.autoreset import KEEP, NEXT_STEP, RESTART, SAME_STEP
from gv_engine.system import RESET, REWARD, TERMINATING, TRANSITION, Call
from gv_engine.world import AGENT
from systems.observation import look, show

if TYPE_CHECKING:
    from gv_engine.scenario import Scenario


def _calls(scenario: Scenario) -> dict[str, tuple[Call, ...]]:
    """The scenario's calls by the prefix of their fields in the parameter record."""
    calls = {phase.name: scenario.calls(phase) for phase in (RESET, TRANSITION, REWARD)}
    return {**calls, "TERMINATING": scenario.calls(TERMINATING), "SEE": (scenario.visibility,)}


def _is_data(value: Any) -> bool:
    return not callable(value) and not isinstance(value, str) and value is not None


def parameters(scenario: Scenario) -> NDArray[Any]:
    """(1,) record of everything about a scenario that is data: the arguments of its systems, its
    actions and its step limit."""
    actions = np.zeros(8, np.int16)
    actions[: len(scenario.actions)] = scenario.actions
    values: dict[str, NDArray[Any]] = {
        "actions": actions,
        "num_actions": np.asarray(len(scenario.actions)),
        "max_steps": np.asarray(scenario.max_steps or np.iinfo(np.int64).max),
    }
    for prefix, calls in _calls(scenario).items():
        for number, call in enumerate(calls):
            for name, value in call.arguments.items():
                if _is_data(value):
                    values[f"{prefix}_{number}_{name}"] = np.asarray(value)
    dtype = np.dtype([(name, v.dtype, v.shape) for name, v in values.items()], align=True)
    record = np.zeros(1, dtype)
    for name, value in values.items():
        record[0][name] = value
    return record


# ---- chains ----------------------------------------------------------------------------------
# Each link is a closure over the one before it. `p` is the parameter record.


def _arguments(prefix: str, call: Call, helper: Callable[..., Any] | None = None) -> Any:
    """`(p)` → tuple of a call's arguments, or of those that its helper asks for."""

    def none(p: Any) -> Any:
        return ()

    values = none
    for name in call.names(helper):
        value = call.arguments[name]
        values = _data(values, f"{prefix}_{name}") if _is_data(value) else _constant(values, value)
    return values


def _data(before: Any, field: str) -> Any:
    def values(p: Any) -> Any:
        return (*before(p), p[field])

    return values


def _constant(before: Any, value: Any) -> Any:
    def values(p: Any) -> Any:
        return (*before(p), value)

    return values


def _nothing(w: Any, p: Any) -> None:
    pass


def _then(before: Any, function: Any, values: Any) -> Any:
    """RESET and TRANSITION: one system after the other."""

    def run(w: Any, p: Any) -> None:
        before(w, p)
        function(w, AGENT, *values(p))

    return run


def _unmeasured(w: Any, p: Any) -> Any:
    return ()


def _measure(before: Any, remember: Any, values: Any) -> Any:
    """REWARD, first half: (what is before, what this one remembers)."""
    if remember is None:

        def measured(w: Any, p: Any) -> Any:
            return (before(w, p), 0.0)

    else:

        def measured(w: Any, p: Any) -> Any:
            return (before(w, p), 1.0 * remember(w, AGENT, *values(p)))

    return measured


def _no_reward(w: Any, p: Any, was: Any, terms: Any) -> float:
    return 0.0


def _add(before: Any, number: int, call: Call, values: Any) -> Any:
    """REWARD, second half: add the terms from left to right."""
    function = call.system.function
    if call.system.remember:

        def total(w: Any, p: Any, was: Any, terms: Any) -> float:
            reward = before(w, p, was[0], terms)
            term = 1.0 * function(w, AGENT, was[1], *values(p))
            terms[number] = term
            return reward + term  # type: ignore[no-any-return]

    else:

        def total(w: Any, p: Any, was: Any, terms: Any) -> float:
            reward = before(w, p, was[0], terms)
            term = 1.0 * function(w, AGENT, *values(p))
            terms[number] = term
            return reward + term  # type: ignore[no-any-return]

    return total


def _never(w: Any, p: Any) -> bool:
    return False


def _or(before: Any, function: Any, values: Any) -> Any:
    """TERMINATING: whether any test is true; all of them run."""

    def over(w: Any, p: Any) -> bool:
        earlier = before(w, p)
        return bool(function(w, AGENT, *values(p))) or earlier

    return over


def _no_action(w: Any, p: Any, action: int) -> bool:
    return False


def _or_valid(before: Any, valid: Any, values: Any) -> Any:
    """Action mask: whether any transition would act."""
    if valid is None:

        def would_act(w: Any, p: Any, action: int) -> bool:
            return True

    else:

        def would_act(w: Any, p: Any, action: int) -> bool:
            return before(w, p, action) or bool(valid(w, AGENT, action, *values(p)))

    return would_act


def _see(call: Call, values: Any) -> Any:
    function = call.system.function

    def see(w: Any, p: Any, view: Any) -> None:
        look(w, AGENT, view)
        function(w, AGENT, view, *values(p))

    return see


# ---- the program -----------------------------------------------------------------------------


def link(scenario: Scenario, table: Any, dtypes: Sequence[np.dtype[Any]]) -> FunctionType:
    """The kernel, not compiled yet.

    Args:
        scenario: whose systems it runs.
        table: `(address, length, dtype)` → array over the memory there, for compiled code.
        dtypes: of the arrays whose addresses the kernel will be given, in its order.
    """
    calls = _calls(scenario)

    def chain(prefix: str, first: Any, add: Callable[[Any, int, Call, str], Any]) -> Any:
        last = first
        for number, call in enumerate(calls[prefix]):
            last = add(last, number, call, f"{prefix}_{number}")
        return last

    def then(before: Any, number: int, call: Call, fields: str) -> Any:
        return _then(before, call.system.function, _arguments(fields, call))

    def or_valid(before: Any, number: int, call: Call, fields: str) -> Any:
        valid = call.system.valid
        return _or_valid(before, valid, valid and _arguments(fields, call, valid))

    def and_measure(before: Any, number: int, call: Call, fields: str) -> Any:
        remember = call.system.remember
        return _measure(before, remember, remember and _arguments(fields, call, remember))

    def and_add(before: Any, number: int, call: Call, fields: str) -> Any:
        return _add(before, number, call, _arguments(fields, call))

    def or_over(before: Any, number: int, call: Call, fields: str) -> Any:
        return _or(before, call.system.function, _arguments(fields, call))

    begin = chain("RESET", _nothing, then)
    move = chain("TRANSITION", _nothing, then)
    valid = chain("TRANSITION", _no_action, or_valid)
    measure = chain("REWARD", _unmeasured, and_measure)
    score = chain("REWARD", _no_reward, and_add)
    over = chain("TERMINATING", _never, or_over)
    see = _see(scenario.visibility, _arguments("SEE_0", scenario.visibility))

    def restart(w: Any, p: Any) -> None:
        for e in range(1, w.capacity):
            if w.alive[e]:
                w.remove(e)
        w.at[:, :] = 0
        w.placed[:] = 0
        w.alive[AGENT] = 1
        w.become_agent(AGENT)
        w.free = AGENT + 1
        w.error = 0
        w.steps = 0
        w.reward = 0.0
        w.total = 0.0
        w.terminated = 0
        w.truncated = 0
        begin(w, p)

    def observe(w: Any, p: Any, view: Any, grid: Any, item: Any, mask: Any) -> None:
        see(w, p, view)
        show(w, AGENT, view, grid, item)
        for k in range(p.num_actions):
            mask[k] = valid(w, p, p.actions[k])

    (row, parameter, view, action, grid, item, mask, term, reward) = dtypes[:9]
    flag = dtypes[9]

    def run(addresses: Any, start: int, stop: int, mode: int) -> int:
        rows = table(addresses[0], stop, row)
        p = table(addresses[1], 1, parameter)[0]
        look_at = table(addresses[2], 1, view)[0]
        actions = table(addresses[3], stop, action)
        grids = table(addresses[4], stop, grid)
        items = table(addresses[5], stop, item)
        masks = table(addresses[6], stop, mask)
        terms = table(addresses[7], stop, term)
        rewards = table(addresses[8], stop, reward)
        terminated = table(addresses[9], stop, flag)
        truncated = table(addresses[10], stop, flag)
        final_grids = table(addresses[11], stop, grid)
        final_items = table(addresses[12], stop, item)
        final_masks = table(addresses[13], stop, mask)
        final_terms = table(addresses[14], stop, term)
        failed = 0
        for i in range(start, stop):
            w = rows[i]
            chosen = actions[i]
            if chosen == KEEP:
                continue
            if chosen == RESTART or (
                chosen >= 0 and mode == NEXT_STEP and (w.terminated or w.truncated)
            ):
                restart(w, p)
                rewards[i] = 0.0
                terms[i].row[:] = 0.0
                terminated[i] = False
                truncated[i] = False
            elif chosen >= 0:
                w.action = p.actions[chosen]
                w.terminated = 0
                w.truncated = 0
                was = measure(w, p)
                move(w, p)
                w.reward = score(w, p, was, terms[i].row)
                w.terminated = over(w, p)
                w.steps += 1
                w.total += w.reward
                w.truncated = w.steps >= p.max_steps and not w.terminated
                rewards[i] = w.reward
                terminated[i] = w.terminated != 0
                truncated[i] = w.truncated != 0
                if mode == SAME_STEP and (w.terminated or w.truncated) and w.error == 0:
                    observe(
                        w, p, look_at, final_grids[i].row, final_items[i].row, final_masks[i].row
                    )
                    final_terms[i].row[:] = terms[i].row
                    restart(w, p)
                    terms[i].row[:] = 0.0
            observe(w, p, look_at, grids[i].row, items[i].row, masks[i].row)
            failed += w.error != 0
        return failed

    return run  # type: ignore[return-value]  # mypy does not know it as a FunctionType
