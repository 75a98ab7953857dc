"""A step of one world, ready to be compiled, from the calls of a scenario's systems.

No source text is generated. Closures call one system after the other with parameters from a record.
So only other systems, another layout or another view need a new compilation; other parameters do
not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial, reduce
from typing import Any, NamedTuple

from components.core import HIDDEN, NONE_GRID_OBJECT
from gv_engine.compiler import parameters
from gv_engine.compiler.call_runners import (
    PreStepMeasurements,
    make_argument_getter,
    make_call_runner,
    number_end_tests,
)
from gv_engine.compiler.intrinsics import allocate_like, current_agent, make_field_getter
from gv_engine.compiler.link_units import (
    Unit,
    agent_value,
    make_call,
    make_mask_writer,
    make_measurement,
    make_reward_sum,
    make_sequence,
)
from gv_engine.compiler.observation import cover_other_agents, cut_view, make_write_view
from gv_engine.rules.system import Call, Phase
from gv_engine.rules.turns import is_episode_over, lift_absent_agents
from gv_engine.rules.world import check_agent_placed
from gv_engine.scenario.layout import Layout
from gv_engine.scenario.missions import list_observed_fields
from gv_engine.scenario.observed_state import WORLD
from gv_engine.scenario.scenario import Scenario

# ---- units -----------------------------------------------------------------------------------


def _phase_units(scenario: Scenario, phase: Phase) -> list[tuple[Unit, Unit | None]]:
    """Return a pair for each system call of `phase`: its function to compile, and the function that
    measures the world before the transitions, or None if nothing is measured."""
    units = []
    for field, call in parameters.list_call_fields(scenario, phase):
        past = PreStepMeasurements(number_end_tests(call) if phase is Phase.TERMINATING else None)
        runs_once = phase in (Phase.RESET, Phase.TRANSITION) and not call.is_per_agent
        unit = Unit(make_call_runner(call.name, call, past), field, runs_once)
        units.append((unit, Unit(past.measure, field) if past.length else None))
    return units


def _measure_and_run(measure: Any, run: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that calls `measure` and passes its
    result to the system `run`."""

    def both(w: Any, p: Any, was: Any) -> Any:
        """Measure, then run the system."""
        return run(w, p, measure(w, p))

    return both


def _phase_runners(scenario: Scenario, phase: Phase) -> list[Unit]:
    """Return a unit to compile for each system call of `phase`. If the system has a `remember`
    function, the unit calls that right before the system, and passes the result to it."""
    return [
        unit._replace(function=_measure_and_run(before.function, unit.function)) if before else unit
        for unit, before in _phase_units(scenario, phase)
    ]


def _always_false(w: Any, p: Any, action: int) -> bool:
    """Return False: no action has an effect."""
    return False


def _always_true(w: Any, p: Any, action: int) -> bool:
    """Return True: every action has an effect."""
    return True


def _make_action_test(when: Any, getter: Any) -> Any:
    """Return a function `(world, parameters, action)` that returns True if the condition `when`
    holds; `getter` returns the arguments of `when`."""

    def acts(w: Any, p: Any, action: int) -> bool:
        """Return True if the condition says that the action has an effect."""
        return bool(when(w, *getter(w, p, (action,))))

    return acts


def _add_action_test(before: Any, when: Any, getter: Any, inside: Any) -> Any:
    """Return a function `(world, parameters, action)` that returns True if the test `before` is
    true, or if both the condition `when` and the test `inside` are."""
    if before is _always_false and inside is _always_true:
        return _make_action_test(when, getter)

    def acts(w: Any, p: Any, action: int) -> bool:
        """Return True if an earlier test or this one says that the action has an effect."""
        if before(w, p, action):
            return True
        return bool(when(w, *getter(w, p, (action,)))) and inside(w, p, action)

    return acts


def _add_turn_test(before: Any, turns: tuple[bool, ...], test: Any) -> Any:
    """Return a function `(world, parameters, action)` that returns True if the test `before` is
    true, or if `test` is true and the current agent's entry in `turns` is True."""

    def acts(w: Any, p: Any, action: int) -> bool:
        """Return True if an earlier test says that the action has an effect, or this one in the
        turn of its agents."""
        return bool(before(w, p, action) or (turns[current_agent(w)] and test(w, p, action)))

    return acts


def _add_transition_tests(before: Any, prefix: str, call: Call) -> Any:
    """Return a function `(world, parameters, action)` that returns True if the test `before` is
    true, or if the transition `call` would react to the action.

    The tests of transitions nested in the call are included. They make up the action mask.
    """
    if call.agent_mask:
        test = _add_transition_tests(_always_false, prefix, replace(call, agent_mask=()))
        return before if test is _always_false else _add_turn_test(before, call.agent_mask, test)
    when, inside = call.system.when, _always_true
    if call.system.is_spontaneous:
        inside = before if when is None else _always_false
        for field, part in parameters.iter_nested_calls(prefix, call):
            if part.system.phase is Phase.TRANSITION:
                inside = _add_transition_tests(inside, field, part)
    if when is None:
        return inside
    if inside is _always_false:
        return before
    getter = make_argument_getter(prefix, call, PreStepMeasurements(), when)
    return _add_action_test(before, when, getter, inside)


def _add_answer_tests(before: Any, prefix: str, call: Call) -> Any:
    """Return a function `(world, parameters, action)` that returns True if the test `before` is
    true, or if the condition `answers` of the reward or terminating `call` holds.

    The tests of calls nested in the call are included. They make up the action mask.
    """
    if call.agent_mask:
        test = _add_answer_tests(_always_false, prefix, replace(call, agent_mask=()))
        return before if test is _always_false else _add_turn_test(before, call.agent_mask, test)
    if (answers := call.system.answers) is not None:
        getter = make_argument_getter(prefix, call, PreStepMeasurements(), answers)
        before = _add_action_test(before, answers, getter, _always_true)
    for field, part in parameters.iter_nested_calls(prefix, call):
        before = _add_answer_tests(before, field, part)
    return before


# ---- one world ---------------------------------------------------------------------------------


class BoundSystems(NamedTuple):
    """Functions that run a scenario's systems in one world. Scenarios with the same layout share
    all other functions of a step.

    Attributes:
        restart: `(world, parameters)`: empty the world and sample a new level.
        advance: `(world, parameters, terms)`: run transitions, rewards and terminating functions;
            the agents' actions are in `w.action`.
        look: `(world, parameters, (view, grid, item))`: write what the current agent sees.
        mark: `(world, parameters, mask)`: write the current agent's action mask.
    """

    restart: Any
    advance: Any
    look: Any
    mark: Any


def bind_systems(scenario: Scenario, slots: Sequence[int]) -> tuple[BoundSystems, list[Unit]]:
    """Return a scenario's systems as functions of one world, and the units (separately compiled
    functions) that they call.

    Args:
        scenario: scenario whose systems run.
        slots: position of each reward function among the reward terms.
    """
    resets = [unit._replace(rare=True) for unit in _phase_runners(scenario, Phase.RESET)]
    moves = _phase_runners(scenario, Phase.TRANSITION)
    rewards = _phase_units(scenario, Phase.REWARD)
    (ending,) = _phase_units(scenario, Phase.TERMINATING)
    success = next(iter(_phase_units(scenario, Phase.SUCCESS)), (Unit(lambda w, was: False), None))
    adders = {Phase.TRANSITION: _add_transition_tests}
    answers = [
        Unit(answer, field)
        for phase in (Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING)
        for field, call in parameters.list_call_fields(scenario, phase)
        if (answer := adders.get(phase, _add_answer_tests)(_always_false, call.name, call))
        is not _always_false
    ]
    ((field, visibility),) = parameters.list_call_fields(scenario, Phase.VISIBILITY)
    values = make_argument_getter(visibility.name, visibility, PreStepMeasurements())
    multi = scenario.layout.agents > 1
    first_look = cut_view_with_agents if multi else cut_view
    writer = make_write_view(scenario.layout)
    looks = [Unit(_make_view_writer(first_look, visibility.system.function, values, writer), field)]
    for field, observation in parameters.list_call_fields(scenario, Phase.OBSERVATION):
        values = make_argument_getter(observation.name, observation, PreStepMeasurements())
        looks.append(Unit(_make_observation_runner(observation.system.function, values), field))
    is_placed = (lambda w, agent: True) if scenario.layout.is_bodiless else check_agent_placed
    make_advance = partial(_make_advance, is_placed)
    if multi:
        take_out = lift_absent_agents if scenario.layout.has_absence else lambda w: None
        make_advance = partial(_make_multi_advance, take_out)
    sources = rewards, [ending], [success]
    measures = [make_measurement([before for _, before in tests]) for tests in sources]
    write_mask = make_mask_writer(answers, parameters.list_mask_actions(scenario))
    transition = make_sequence(moves, acting=True)
    reward = make_reward_sum([unit for unit, _ in rewards], slots)
    end, succeed = make_call(ending[0]), make_call(success[0])
    systems = BoundSystems(
        make_sequence([_CLEAR_UNIT, *resets], acting=False),
        make_advance(*measures, transition=transition, reward=reward, end=end, success=succeed),
        reduce(_run_both, map(make_call, looks)),
        write_mask,
    )
    tests = [unit for each in (*rewards, ending, success) for unit in each if unit]
    return systems, [*resets, *moves, *tests, *answers, *looks, _CLEAR_UNIT]


def _clear_world(w: Any, was: Any) -> None:
    """Remove all objects from a world, and take its agents off the grid. `was`, the measurements
    before the step, is an argument of all units; it is not used."""
    w.clear()


_CLEAR_UNIT = Unit(_clear_world, runs_once=True, rare=True)


def clear_terms(terms: Any) -> None:
    """Set the reward terms of all agents to 0."""
    for k in range(len(terms)):
        terms[k] = 0.0


def _make_advance(
    is_placed: Any, *measures: Any, transition: Any, reward: Any, end: Any, success: Any
) -> Any:
    """Return `advance(world, parameters, terms)`, which steps a world with one agent by calling
    `measures`, `transition`, `is_placed`, `reward`, `end` and `success` in turn."""
    rewarding, ending, succeeding = measures

    def advance(w: Any, p: Any, terms: Any) -> None:
        """Run the systems of a step, and write the rewards by function into `terms`."""
        agent = current_agent(w)
        scored, ended, done = rewarding(w, p), ending(w, p), succeeding(w, p)
        transition(w, p)
        if is_placed(w, agent):
            reward(w, p, scored, terms)
            w.terminated = w.done[agent] = end(w, p, ended[0])
            if w.terminated and w.error == 0:
                w.success[agent] = success(w, p, done[0])

    return advance


def _make_multi_advance(
    take_out: Any, *measures: Any, transition: Any, reward: Any, end: Any, success: Any
) -> Any:
    """Return `advance(world, parameters, terms)`, which steps a world with several agents by
    calling `measures`, `transition`, `reward`, `end` and `success` in turn, and finally `take_out`,
    which takes agents off the grid that a rule has sent out of play."""
    rewarding, ending, succeeding = measures

    def advance(w: Any, p: Any, terms: Any) -> None:
        """Run the systems of a step, and write the rewards by agent and function into `terms`."""
        clear_terms(terms)
        scored, ended, done = rewarding(w, p), ending(w, p), succeeding(w, p)
        transition(w, p)
        standing = True
        for agent in w.agents():
            standing &= w.live[agent] == 0 or check_agent_placed(w, agent)
        if standing:
            reward(w, p, scored, terms)
            for agent in w.agents():
                w.turn = agent
                if w.live[agent]:
                    w.done[agent] = end(w, p, agent_value(w, ended[0]))
                    if w.done[agent] and w.error == 0:
                        w.success[agent] = success(w, p, agent_value(w, done[0]))
                    w.total[agent] += w.reward[agent]
            w.terminated = is_episode_over(w, p.one_suffices)
            take_out(w)

    return advance


def cut_view_with_agents(w: Any, agent: int, view: Any) -> None:
    """Fill a view with the area around an agent, including the other agents."""
    cut_view(w, agent, view)
    cover_other_agents(w, agent, view)


def _make_view_writer(cut_view: Any, visibility: Any, values: Any, write_view: Any) -> Any:
    """Return a function `(world, parameters, arrays)` that writes what the current agent sees into
    observation arrays.

    The arrays are (view, grid, item). The function cuts the view out of the grid, applies the
    visibility system, and writes the seen cells.
    """

    def write_seen(w: Any, p: Any, was: Any) -> None:
        """Write what the current agent sees into `grid` and `item`, where `was` is (view, grid,
        item)."""
        shape, grid, item = was
        view = allocate_like(shape)
        clear_rule(w, p, ())
        cut_view(w, current_agent(w), view)
        visibility(w, *values(w, p, (view,)))
        clear_rule(w, p, ())
        write_view(w, current_agent(w), view, grid, item)

    return write_seen


def _make_observation_runner(function: Any, values: Any) -> Any:
    """Return a function `(world, parameters, arrays)` that runs the observation system `function`,
    whose arguments `values` returns, on the current agent's view and arrays.

    The arrays are (view, grid, item); the visibility system has already run.
    """

    def observes(w: Any, p: Any, was: Any) -> None:
        """Run the observation system, where `was` is (view, grid, item)."""
        view, grid, item = was
        arguments = values(w, p, (view,))
        function(w, arguments[0], view, (grid, item), *arguments[2:])
        clear_rule(w, p, ())

    return observes


def _run_both(first: Any, second: Any) -> Any:
    """Return a function `(world, parameters, measurements)` that calls `first` and then `second`
    with the same arguments."""

    def both(w: Any, p: Any, was: Any) -> None:
        """Call both functions."""
        first(w, p, was)
        second(w, p, was)

    return both


def hide_all(grid: Any, item: Any) -> None:
    """Write the observation of an agent that is off the grid: Hidden in all cells, and no item."""
    item[:] = 0
    item[0] = NONE_GRID_OBJECT
    grid[:] = 0
    grid[:, :, 0] = HIDDEN


def make_mission_writer(layout: Layout) -> Any:
    """Return a function `(world, parameters, out)` that writes the current agent's mission into the
    array `out`, as numbers, see `Missions.numbers`."""
    fields = list_observed_fields(layout.mission) if layout.mission else ()
    write = make_number_writer([("mission", field.name, None, None) for field in fields])

    def write_mission(w: Any, p: Any, out: Any) -> None:
        """Write the mission's numbers; the first one, the number of the text, is counted over all
        scenarios of a mixture."""
        write(w, out)
        out[0] += p.first_text

    return write_mission


def make_number_writer(sources: Sequence[tuple[str, str, int | None, int | None]]) -> Any:
    """Return a function `(world, out)` that writes the component fields `sources`, one number each,
    into the array `out`.

    Args:
        sources: (column, field, kind, item) of each number. `kind` selects the entity to read: an
            object type for the only object of this type (if there are none or several, the field's
            default is written), WORLD for the world's own entity, None for the current agent.
            `item` is an index in an array field, None for a field with a single number.
    """
    # a chain of closures: compiled code cannot index a list of fields of other types
    write: Any = _write_no_numbers
    for position, source in enumerate(sources):
        write = _append_number_write(write, *source, position)
    return write


def _write_no_numbers(w: Any, out: Any) -> None:
    """Do nothing; scenarios without missions or state have no numbers."""


def _append_number_write(
    before: Any, column: str, field: str, kind: int | None, item: int | None, position: int
) -> Any:
    """Return a function `(world, out)` that calls `before` and writes a field into `out[position]`:
    of the current agent, the world, or the only object of a type, see `make_number_writer`."""
    read = _make_number_read(column, field, item)

    def write_of_agent(w: Any, out: Any) -> None:
        """Write the earlier numbers, then the agent's field."""
        before(w, out)
        out[position] = read(w, current_agent(w))

    def write_of_object(w: Any, out: Any) -> None:
        """Write the earlier numbers, then the object's field."""
        before(w, out)
        out[position] = read(w, w.unique(kind))

    def write_of_world(w: Any, out: Any) -> None:
        """Write the earlier numbers, then the world's field."""
        before(w, out)
        out[position] = read(w, w.world)

    return {None: write_of_agent, WORLD: write_of_world}.get(kind, write_of_object)


def _make_number_read(column: str, field: str, item: int | None) -> Any:
    """Return a function `(world, entity)` that returns a component field of an entity, or the
    element with index `item` if the field is an array."""
    if item is None:
        return lambda w, e: w[column][field][e]
    return lambda w, e: w[column][field][e, item]


clear_rule: Any = make_field_getter([], rule="")
"""Intrinsic `(w, p, ())`: note in a checked program that no rule is running."""
