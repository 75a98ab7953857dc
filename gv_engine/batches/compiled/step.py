"""A scenario's systems as functions of one world, ready to be compiled.

Nothing is generated as text. Chains of closures call one system after the other, with its
parameters read from a record; so only another list of systems, another layout or another view asks
for a new compilation, never other parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gv_engine.batches.compiled.calls import Past, arguments, inner, nested, parts
from gv_engine.batches.compiled.intrinsics import fields
from gv_engine.batches.compiled.sight import look, write_view
from gv_engine.language.call import Call
from gv_engine.language.component import AGENT, NOTHING
from gv_engine.language.system import RESET, REWARD, TERMINATING, TRANSITION
from gv_engine.language.world import stands_somewhere

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


# ---- chains ----------------------------------------------------------------------------------


def _nothing(w: Any, p: Any) -> None:
    pass


def _then(before: Any, measure: Any, run: Any) -> Any:
    """RESET and TRANSITION: one system after the other."""

    def both(w: Any, p: Any) -> None:
        before(w, p)
        run(w, p, measure(w, p))

    return both


def _no_reward(w: Any, p: Any, was: Any, terms: Any) -> float:
    return 0.0


def _add(before: Any, number: int, function: Any, values: Any) -> Any:
    """REWARD: the terms from left to right."""

    def total(w: Any, p: Any, was: Any, terms: Any) -> float:
        reward = before(w, p, was, terms)
        term = 1.0 * function(w, *values(w, p, was))
        terms[number] = term
        return reward + term  # type: ignore[no-any-return]

    return total


def _never(w: Any, p: Any, was: Any) -> bool:
    return False


def _no_action(w: Any, p: Any, action: int) -> bool:
    return False


def _any_action(w: Any, p: Any, action: int) -> bool:
    return True


def _or_acts(before: Any, when: Any, asked: Any, inside: Any) -> Any:
    def acts(w: Any, p: Any, action: int) -> bool:
        if before(w, p, action):
            return True
        return bool(when(w, *asked(w, p, (action,)))) and inside(w, p, action)

    return acts


def _answers(before: Any, prefix: str, call: Call) -> Any:
    """Action mask: whether an action is answered before, or by a transition or one inside it."""
    when, inside = call.system.when, _any_action
    if call.system.by_itself:
        inside = before if when is None else _no_action
        for field, part in inner(prefix, call):
            if part.system.phase is TRANSITION:
                inside = _answers(inside, field, part)
    if when is None:
        return inside
    if inside is _no_action:
        return before
    return _or_acts(before, when, arguments(prefix, call, Past(), when), inside)


# ---- one world ---------------------------------------------------------------------------------


class BoundSystems(NamedTuple):
    """A scenario's systems as what is done with one world.

    Attributes:
        begin: `(w, p, terms)`: draw a new level.
        act: `(w, p, action, terms)`: let the agent act, and everything else happen.
        reveal: `(w, p, view, grid, item, mask)`: write what the agent sees, and what it could do.
    """

    begin: Any
    act: Any
    reveal: Any


def bind(scenario: Scenario, slots: Sequence[int]) -> BoundSystems:
    """The systems of a scenario; `slots` says where the terms of its rewards go."""
    reset: Any = _nothing
    for number, call in enumerate(scenario.calls(RESET)):
        past = Past()
        run = nested(f"RESET_{number}", call, past)
        reset = _then(reset, past.measure, run)
    move: Any = _nothing
    valid: Any = _no_action
    for number, call in enumerate(scenario.calls(TRANSITION)):
        past = Past()
        run = nested(f"TRANSITION_{number}", call, past)
        move = _then(move, past.measure, run)
        valid = _answers(valid, f"TRANSITION_{number}", call)
    past = Past()
    score: Any = _no_reward
    for number, call in enumerate(scenario.calls(REWARD)):
        values = arguments(f"REWARD_{number}", call, past)
        score = _add(score, slots[number], call.system.function, values)
    (call,) = scenario.calls(TERMINATING)
    past.ends = {
        prefix: number
        for number, ((prefix, _), path) in enumerate(
            zip(parts("TERMINATING_0", call), call.paths(), strict=True), 1
        )
        if all(part.system.phase is TERMINATING for part in path)
    }
    over = nested("TERMINATING_0", call, past)
    well = nested("SUCCESS_0", scenario.success, past) if scenario.success else _never
    visibility = scenario.visibility
    values = arguments("VISIBILITY_0", visibility, Past())
    act = _acting(past.measure, move, score, over, well)
    return BoundSystems(_beginning(reset), act, _showing(visibility.system.function, values, valid))


def _beginning(reset: Any) -> Any:
    def begin(w: Any, p: Any, terms: Any) -> None:
        w.capacity = len(w.alive)
        for e in range(1, w.capacity):
            if w.alive[e]:
                w.become_nothing(e)
        for y in range(w.at.shape[0]):  # loops, as `fill` would be compiled for each of these
            for x in range(w.at.shape[1]):
                w.at[y, x] = NOTHING
        for kind in range(len(w.placed)):
            w.placed[kind] = 0
            w.recent[kind] = NOTHING
        w.alive[AGENT] = 1
        w.become_agent(AGENT)
        w.free = AGENT + 1
        w.error = 0
        w.steps = 0
        w.action = 0
        w.reward = 0.0
        w.total = 0.0
        w.terminated = 0
        w.truncated = 0
        w.success = 0
        w.ended_by = 0
        reset(w, p)
        for k in range(len(terms)):
            terms[k] = 0.0

    return begin


def _acting(measure: Any, move: Any, score: Any, over: Any, well: Any) -> Any:
    def act(w: Any, p: Any, action: int, terms: Any) -> None:
        w.action = action
        w.terminated = 0
        w.truncated = 0
        w.success = 0
        w.ended_by = 0
        was = measure(w, p)
        move(w, p)
        if stands_somewhere(w, AGENT):
            w.reward = score(w, p, was, terms)
            w.terminated = over(w, p, was)
            if w.terminated and w.error == 0:
                w.success = well(w, p, was)
        w.steps += 1
        w.total += w.reward
        w.truncated = w.steps >= p.max_steps and not w.terminated

    return act


def _showing(function: Any, values: Any, valid: Any) -> Any:
    def reveal(w: Any, p: Any, view: Any, grid: Any, item: Any, mask: Any) -> None:
        nobody(w, p, ())
        look(w, AGENT, view)
        function(w, *values(w, p, (view,)))
        nobody(w, p, ())
        write_view(w, AGENT, view, grid, item)
        for k in range(p.num_actions):
            mask[k] = valid(w, p, p.actions[k])

    return reveal


nobody: Any = fields([], rule="")
"""`(w, p, ())`: from here on no rule runs."""
