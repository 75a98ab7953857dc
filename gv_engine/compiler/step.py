"""A scenario's systems as functions of one world, ready to be compiled.

Nothing is generated as text. Chains of closures call one system after the other, with its
parameters read from a record; so only another list of systems, another layout or another view asks
for a new compilation, never other parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

from components.appearance import HIDDEN, NONE_GRID_OBJECT
from gv_engine.compiler.calls import PreStepMeasurements, arguments, ends, nested
from gv_engine.compiler.intrinsics import another, fields, whose
from gv_engine.compiler.link_units import Unit, call, gathered, in_turn, masking, now, summed
from gv_engine.compiler.observation import look, look_at_others, view_writer
from gv_engine.compiler.parameters import asked_actions, fields_of_calls, inner
from gv_engine.rules.call import Call
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
from gv_engine.rules.turns import begin_step, clear_step_results, is_episode_over, set_turn_order
from gv_engine.rules.world import check_agent_placed
from gv_engine.scenario.layout import Layout
from gv_engine.scenario.missions import list_observed_fields

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


# ---- units -----------------------------------------------------------------------------------


class UnitWithMemory(NamedTuple):
    """A unit `(w, p, was)`, and what it wants to know of the time before the transitions.

    Attributes:
        unit: it.
        before: the unit `(w, p)` → `was`, if there is anything to be measured.
    """

    unit: Unit
    before: Unit | None


def _asked(scenario: Scenario, phase: Phase) -> list[UnitWithMemory]:
    """The units of the systems of a phase."""
    asked = []
    for field, given in fields_of_calls(scenario, phase):
        past = PreStepMeasurements(ends(given) if phase is TERMINATING else None)
        once = phase in (RESET, TRANSITION) and not given.is_per_agent
        unit = Unit(nested(given.name, given, past), field, once)
        asked.append(UnitWithMemory(unit, Unit(past.measure, field) if past.length else None))
    return asked


def _measuring(measure: Any, run: Any) -> Any:
    def both(w: Any, p: Any, was: Any) -> Any:
        return run(w, p, measure(w, p))

    return both


def _run(scenario: Scenario, phase: Phase) -> list[Unit]:
    """The units `(w, p, ())` of the systems of a phase; each measures just before it runs."""
    return [
        unit._replace(function=_measuring(before.function, unit.function)) if before else unit
        for unit, before in _asked(scenario, phase)
    ]


def _never(w: Any, was: Any) -> bool:
    return False


def _no_action(w: Any, p: Any, action: int) -> bool:
    return False


def _any_action(w: Any, p: Any, action: int) -> bool:
    return True


def _acts(when: Any, asked: Any) -> Any:
    # without a branch on the answer, which processors cannot guess
    def acts(w: Any, p: Any, action: int) -> bool:
        return bool(when(w, *asked(w, p, (action,))))

    return acts


def _or_acts(before: Any, when: Any, asked: Any, inside: Any) -> Any:
    def acts(w: Any, p: Any, action: int) -> bool:
        if before(w, p, action):
            return True
        return bool(when(w, *asked(w, p, (action,)))) and inside(w, p, action)

    return acts


def _or_in_turns(before: Any, whose_turns: tuple[bool, ...], own: Any) -> Any:
    def acts(w: Any, p: Any, action: int) -> bool:
        return bool(before(w, p, action) or (whose_turns[whose(w)] and own(w, p, action)))

    return acts


def _answers(before: Any, prefix: str, call: Call) -> Any:
    """Action mask: whether an action is answered before, or by a transition or one inside it."""
    if call.agent_mask:
        own = _answers(_no_action, prefix, replace(call, agent_mask=()))
        return before if own is _no_action else _or_in_turns(before, call.agent_mask, own)
    when, inside = call.system.when, _any_action
    if call.system.is_spontaneous:
        inside = before if when is None else _no_action
        for field, part in inner(prefix, call):
            if part.system.phase is TRANSITION:
                inside = _answers(inside, field, part)
    if when is None:
        return inside
    if inside is _no_action:
        return before
    asked = arguments(prefix, call, PreStepMeasurements(), when)
    if before is _no_action and inside is _any_action:
        return _acts(when, asked)
    return _or_acts(before, when, asked, inside)


def _tells(before: Any, prefix: str, call: Call) -> Any:
    """Action mask: whether an action is answered before, or by a reward or a terminating function,
    or one inside it."""
    if call.agent_mask:
        own = _tells(_no_action, prefix, replace(call, agent_mask=()))
        return before if own is _no_action else _or_in_turns(before, call.agent_mask, own)
    if (answers := call.system.answers) is not None:
        asked = arguments(prefix, call, PreStepMeasurements(), answers)
        alone = before is _no_action
        before = _acts(answers, asked) if alone else _or_acts(before, answers, asked, _any_action)
    for field, part in inner(prefix, call):
        before = _tells(before, field, part)
    return before


# ---- one world ---------------------------------------------------------------------------------


class BoundSystems(NamedTuple):
    """A scenario's systems as what is done with one world.

    Attributes:
        begin: `(w, p, terms)`: draw a new level.
        act: `(w, p, action, terms)`: let the first agent act so, others as their numbers say, and
            everything else happen.
        reveal: `(w, p, view, grid, item, mask)`: write what the agent whose turn it is sees, and
            what it could do.
    """

    begin: Any
    act: Any
    reveal: Any


def bind(scenario: Scenario, slots: Sequence[int]) -> tuple[BoundSystems, list[Unit]]:
    """The systems of a scenario, and the units that they are made of.

    Args:
        scenario: whose they are.
        slots: where the terms of its rewards go.
    """
    resets = [unit._replace(seldom=True) for unit in _run(scenario, RESET)]
    moves = _run(scenario, TRANSITION)
    rewards, (over,) = _asked(scenario, REWARD), _asked(scenario, TERMINATING)
    well = next(iter(_asked(scenario, SUCCESS)), UnitWithMemory(Unit(_never), None))
    answers = [
        Unit(answer, field)
        for phase, asks in ((TRANSITION, _answers), (REWARD, _tells), (TERMINATING, _tells))
        for field, given in fields_of_calls(scenario, phase)
        if (answer := asks(_no_action, given.name, given)) is not _no_action
    ]
    ((field, sight),) = fields_of_calls(scenario, VISIBILITY)
    values = arguments(sight.name, sight, PreStepMeasurements())
    several = scenario.layout.agents > 1
    first_look = look_around if several else look
    writer = view_writer(scenario.layout)
    looks = [Unit(_looking(first_look, sight.system.function, values, writer), field)]
    for field, own in fields_of_calls(scenario, OBSERVATION):
        values = arguments(own.name, own, PreStepMeasurements())
        looks.append(Unit(_observing(own.system.function, values), field))
    acting, showing = (_acting_in_turn, _showing_those_left) if several else (_acting, _showing)
    systems = BoundSystems(
        _beginning(
            _count_those_present if scenario.layout.has_smaller_members else _all_are_present,
            call(_CLEAR),
            in_turn(resets, acting=False),
        ),
        acting(
            *(gathered([before for _, before in asked]) for asked in (rewards, [over], [well])),
            move=in_turn(moves, acting=True),
            score=summed([unit for unit, _ in rewards], slots),
            over=call(over.unit),
            well=call(well.unit),
        ),
        showing(reduce(_in_order, map(call, looks)), masking(answers, asked_actions(scenario))),
    )
    asked = [unit for each in (*rewards, over, well) for unit in each if unit]
    return systems, [*resets, *moves, *asked, *answers, *looks, _CLEAR]


def _clear(w: Any, was: Any) -> None:
    """Take everything out of a world."""
    w.clear()


_CLEAR = Unit(_clear, seldom=True)


def _all_are_present(w: Any, p: Any) -> None:
    """Nobody is to be counted."""


def _count_those_present(w: Any, p: Any) -> None:
    """How many agents there are in worlds of this member of a mixture."""
    w.present = p.present


def _beginning(count: Any, clear: Any, reset: Any) -> Any:
    def begin(w: Any, p: Any, terms: Any) -> None:
        count(w, p)
        clear(w, p, ())
        w.error = 0
        w.steps = 0
        w.terminated = 0
        w.truncated = 0
        for agent in range(1, len(w.done)):
            w.action[agent] = 0
            w.total[agent] = 0.0
            clear_step_results(w, agent)
            w.done[agent] = agent > len(w.agents())
        reset(w, p)
        forget_terms(terms)

    return begin


def forget_terms(terms: Any) -> None:
    """Forget the terms of the last step, those of all agents."""
    for k in range(len(terms)):
        terms[k] = 0.0


def _acting(*measures: Any, move: Any, score: Any, over: Any, well: Any) -> Any:
    rewarding, ending, succeeding = measures

    def act(w: Any, p: Any, action: int, terms: Any) -> None:
        agent = whose(w)
        w.action[agent] = action
        w.terminated = 0
        w.truncated = 0
        clear_step_results(w, agent)
        scored, ended, done = rewarding(w, p), ending(w, p), succeeding(w, p)
        move(w, p)
        if check_agent_placed(w, agent):
            score(w, p, scored, terms)
            w.terminated = w.done[agent] = over(w, p, ended[0])
            if w.terminated and w.error == 0:
                w.success[agent] = well(w, p, done[0])
        w.steps += 1
        w.total[agent] += w.reward[agent]
        w.truncated = w.steps >= p.max_steps and (not w.terminated or p.always_truncates)

    return act


def _acting_in_turn(*measures: Any, move: Any, score: Any, over: Any, well: Any) -> Any:
    """The same for several agents."""
    rewarding, ending, succeeding = measures

    def act(w: Any, p: Any, action: int, terms: Any) -> None:
        w.action[1] = action
        begin_step(w, p.leaves)
        set_turn_order(w, p.turns)
        forget_terms(terms)
        w.terminated = 0
        w.truncated = 0
        scored, ended, done = rewarding(w, p), ending(w, p), succeeding(w, p)
        move(w, p)
        standing = True
        for agent in w.agents():
            standing &= w.live[agent] == 0 or check_agent_placed(w, agent)
        if standing:
            score(w, p, scored, terms)
            for agent in w.agents():
                w.turn = agent
                if w.live[agent]:
                    w.done[agent] = over(w, p, now(w, ended[0]))
                    if w.done[agent] and w.error == 0:
                        w.success[agent] = well(w, p, now(w, done[0]))
                    w.total[agent] += w.reward[agent]
            w.terminated = is_episode_over(w, p.one_suffices)
        w.steps += 1
        w.truncated = w.steps >= p.max_steps and (not w.terminated or p.always_truncates)

    return act


def look_around(w: Any, agent: int, view: Any) -> None:
    """Look at the grid, and at the other agents."""
    look(w, agent, view)
    look_at_others(w, agent, view)


def _looking(look: Any, function: Any, values: Any, write_view: Any) -> Any:
    def looks(w: Any, p: Any, was: Any) -> None:
        shape, grid, item = was
        view = another(shape)
        nobody(w, p, ())
        look(w, whose(w), view)
        function(w, *values(w, p, (view,)))
        nobody(w, p, ())
        write_view(w, whose(w), view, grid, item)

    return looks


def _observing(function: Any, values: Any) -> Any:
    """An observation function, which finds the view as visibility functions have left it."""

    def observes(w: Any, p: Any, was: Any) -> None:
        view, grid, item = was
        given = values(w, p, (view,))
        function(w, given[0], view, (grid, item), *given[2:])
        nobody(w, p, ())

    return observes


def _in_order(first: Any, second: Any) -> Any:
    def both(w: Any, p: Any, was: Any) -> None:
        first(w, p, was)
        second(w, p, was)

    return both


def _showing(looks: Any, answer: Any) -> Any:
    def reveal(w: Any, p: Any, view: Any, grid: Any, item: Any, mask: Any) -> None:
        looks(w, p, (view, grid, item))
        answer(w, p, mask)

    return reveal


def _showing_those_left(looks: Any, answer: Any) -> Any:
    """The same for several agents, of which some may be done, have left, or be not there."""

    def reveal(w: Any, p: Any, view: Any, grid: Any, item: Any, mask: Any) -> None:
        if w.position.y[w.turn] >= 0:
            looks(w, p, (view, grid, item))
        else:
            item[:] = 0
            item[0] = NONE_GRID_OBJECT
            grid[:] = 0
            grid[:, :, 0] = HIDDEN
        if w.position.y[w.turn] < 0 or (w.done[w.turn] and not w.terminated):
            mask[:] = 0
        else:
            answer(w, p, mask)

    return reveal


def asking(layout: Layout) -> Any:
    """`(w, p, out)`: write what the agent is asked to do, as `Missions.numbers` tells it."""
    write: Any = _no_numbers
    for number, field in enumerate(list_observed_fields(layout.mission) if layout.mission else ()):
        write = _number(write, field.name, number)

    def ask(w: Any, p: Any, out: Any) -> None:
        write(w, out)
        out[0] += p.first_text

    return ask


def _no_numbers(w: Any, out: Any) -> None:
    """Write nothing."""


def _number(before: Any, name: str, number: int) -> Any:
    def write(w: Any, out: Any) -> None:
        before(w, out)
        out[number] = w["mission"][name][whose(w)]

    return write


nobody: Any = fields([], rule="")
"""`(w, p, ())`: from here on no rule runs."""
