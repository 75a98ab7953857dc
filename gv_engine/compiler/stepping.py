"""Resets and steps one world in compiled code, by calling the systems of its scenario.

The calls are known while compiling: loops over them are unrolled, and tests of what a system has
cost nothing. `p` is the record of a scenario's parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gv_engine.compiler.cells import WorldRow
from gv_engine.compiler.language.intrinsics import call_marked, call_or_zeros, new_record, tabulate
from gv_engine.compiler.parameters import is_data, iter_calls, list_call_fields
from gv_engine.compiler.rows import clear
from gv_engine.compiler.sight import cut_view, make_view_type, write_ground_seen, write_seen
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.functions import uses_name
from gv_engine.rules.geometry import ASSIST, WAIT, Action
from gv_engine.rules.system import Call, Phase, System, has_parameter, is_nested_call
from gv_engine.rules.turns import (
    begin_step,
    clear_step_results,
    is_episode_over,
    lift_absent_agents,
    set_turn_order,
)
from gv_engine.rules.world import check_agent_placed
from gv_engine.scenario.missions.missions import get_limit_test, list_observed_fields
from gv_engine.scenario.readers.observed_state import WORLD
from gv_engine.scenario.scenario import Scenario

Params = Any
"""Record of the parameters of a scenario's calls, see `make_parameters`."""


@dataclass(frozen=True, eq=False)
class Argument:
    """Compile-time description of one argument of a rule: its value comes from a field of the
    parameter record, from the results of nested rules, or is a constant.

    Attributes:
        name: name of the parameter.
        value: known value, if the argument is one.
        group, field: names of a sub-record of the parameter record, and of its field.
        call: nested call, of which the system gets the result.
        calls: nested calls, of which it gets a tuple of results.
    """

    name: str
    value: Any = None
    group: str = ""
    field: str = ""
    call: CallPlan | None = None
    calls: tuple[CallPlan, ...] = ()


@dataclass(frozen=True, eq=False)
class CallPlan:
    """Compile-time description of a rule in the scenario's list: its system (the function and its
    helpers) and where its arguments come from.

    Attributes:
        system: the system.
        arguments: arguments of the function, in order.
        is_per_agent: True if the call runs for each agent.
        number: number of the test that can end the episode, 0 for none.
        agent_mask: by agent, True in whose turns the call runs; () for all.
        masked_value: result in other turns.
        result_type: type of the result, None to leave it as it is.
        has_nested: True if arguments are calls.
        mark: number of the call among the scenario's, from 1, which errors name.
        pays: False for a reward function whose value is no part of the reward.
    """

    system: System
    arguments: tuple[Argument, ...]
    is_per_agent: bool
    number: int
    agent_mask: tuple[bool, ...]
    masked_value: Any
    result_type: Any
    has_nested: bool
    mark: int
    pays: bool

    @property
    def nested(self) -> tuple[CallPlan, ...]:
        """Plans of the calls among the arguments."""
        parts = (part for each in self.arguments for part in (each.call, *each.calls))
        return tuple(part for part in parts if part is not None)

    def takes(self, helper: Any, name: str) -> bool:
        """Return True if a function of the system has a parameter of this name."""
        return has_parameter(helper, name)

    def of(self, helper: Any) -> tuple[Argument, ...]:
        """Return the arguments that the function `helper` of the system takes, such as its
        condition `when`."""
        return tuple(each for each in self.arguments if has_parameter(helper, each.name))


_RESULT_TYPES = {Phase.REWARD: float, Phase.TERMINATING: bool}


class Planner:
    """Makes the compile-time descriptions (`CallPlan`) of a scenario's rules.

    Attributes:
        marked: the systems of the calls planned so far, by their marks less 1.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self.marked: list[System] = []

    def plan_phase(self, phase: Phase) -> tuple[CallPlan, ...]:
        """Return the descriptions of the rules that the scenario lists in `phase`, in order."""
        plans = []
        for field, call in list_call_fields(self._scenario, phase):
            numbers = number_tests(call) if phase is Phase.TERMINATING else {}
            plan = self._plan(field, call.name, call, numbers)
            plans.append(replace(plan, result_type=_RESULT_TYPES.get(phase)))
        return tuple(plans)

    def _plan(self, group: str, prefix: str, call: Call, tests: dict[str, int]) -> CallPlan:
        """Return the description of the rule in `call`. Its argument `name` is in the parameter
        record, in the field `{prefix}_{name}` of the sub-record `group`. `tests` is the result of
        `number_tests`."""
        arguments = []
        for name in call.argument_names():
            value, field = call.arguments[name], f"{prefix}_{name}"
            if isinstance(value, Call):
                argument = Argument(name, call=self._plan(group, field, value, tests))
            elif is_nested_call(value):
                nested = (
                    self._plan(group, f"{field}_{k}", part, tests) for k, part in enumerate(value)
                )
                argument = Argument(name, calls=tuple(nested))
            elif is_data(value):
                argument = Argument(name, group=group, field=field)
            else:
                argument = Argument(name, int(value) if isinstance(value, Action) else value)
            arguments.append(argument)
        system = call.system
        self.marked.append(system)
        return CallPlan(
            system,
            tuple(arguments),
            is_per_agent=call.is_per_agent,
            number=tests.get(prefix, 0),
            agent_mask=call.agent_mask,
            masked_value=call.masked_value,
            result_type=None,
            has_nested=any(argument.call or argument.calls for argument in arguments),
            mark=len(self.marked),
            pays=call.pays,
        )


def number_tests(call: Call) -> dict[str, int]:
    """Return a number, from 1 on, for each nested terminating rule of `call` that can end the
    episode. Keys are field prefixes such as "reduce_any_terminating_functions_0"."""
    parts = zip(iter_calls(call.name, call), call.iter_call_paths())
    return {
        prefix: number
        for number, ((prefix, _), path) in enumerate(parts, 1)
        if all(part.system.phase is Phase.TERMINATING for part in path)
    }


class ScenarioPlan:
    """Compile-time description of a scenario: its rules by phase, and everything else that a step
    depends on.

    Attributes:
        resets, transitions, rewards, visibility, observations: calls of these phases.
        ending, success: the terminating call, and that of success or None.
        measured: calls of rewards, of the end and of success, which may remember something.
        slots: index of each reward among the reward terms.
        actions: numbers of the actions, then WAIT for an agent that does nothing, and ASSIST for
            one that nobody plays.
        alone: number of the only agent, () for several.
        numbers, mission: (column, field, object type, item) of the numbers that agents observe.
        marked: systems by their marks less 1.
        view: record type of the agents' views.
    """

    def __init__(self, scenario: Scenario, reward_names: Sequence[str]) -> None:
        """Describe the scenario. `reward_names` are the names of all reward terms: in a mixture, of
        all its scenarios."""
        planner = Planner(scenario)
        self.resets = planner.plan_phase(Phase.RESET)
        self.transitions = planner.plan_phase(Phase.TRANSITION)
        self.rewards = planner.plan_phase(Phase.REWARD)
        (self.ending,) = planner.plan_phase(Phase.TERMINATING)
        successes = planner.plan_phase(Phase.SUCCESS)
        self.success = successes[0] if successes else None
        (self.visibility,) = planner.plan_phase(Phase.VISIBILITY)
        self.observations = planner.plan_phase(Phase.OBSERVATION)
        self.measured = (*self.rewards, self.ending, *successes)
        self.marked = tuple(planner.marked)
        self.slots = tuple(map([*reward_names].index, scenario.reward_names))
        layout = scenario.layout
        self.actions = (*map(int, scenario.actions), WAIT, ASSIST)
        self.reaches_limit = get_limit_test(layout.mission)
        self.is_bodiless = layout.is_bodiless
        self.has_absence = layout.has_absence
        self.has_smaller_members = layout.has_smaller_members
        self.agents = layout.agents
        self.alone = (AGENT,) if layout.agents == 1 else ()
        self.numbers = tuple((n.column, n.field, n.kind, n.item) for n in scenario.state_numbers)
        fields = list_observed_fields(layout.mission) if layout.mission else ()
        self.mission = tuple(("mission", field.name, None, None) for field in fields)
        view_systems = [call.system for call in (self.visibility, *self.observations)]
        by_rows = all(system.rows for system in view_systems)
        with_entities = any(uses_name(system.function, "entity") for system in view_systems)
        self.view = make_view_type(scenario.area, by_rows, with_entities)


# ---- calls of systems, compiled ------------------------------------------------------------------


def read_argument(w: WorldRow, p: Params, argument: Argument, agent: int, past: Any) -> Any:
    """Return the value of one argument of a rule for `agent`: from the parameter record `p`, or by
    running the nested rules. `past` holds what nested rules remembered before the step, or is
    None."""
    if argument.field:
        return p[argument.group][argument.field]
    if argument.call is not None:
        return run_call(w, p, argument.call, agent, past)
    if argument.calls:
        return tuple(
            run_call(w, p, call, agent, None if past is None else past[k])
            for k, call in enumerate(argument.calls)
        )
    return argument.value


def evaluate_condition(
    w: WorldRow, p: Params, call: CallPlan, helper: Any, agent: int, action: int
) -> bool:
    """Return the result of `helper`, a condition of the rule in `call` (its `when` or `answers`),
    for an agent and its action. The condition gets those of the rule's arguments that it takes."""
    agents = (agent,) if call.takes(helper, "agent") else ()
    actions = (action,) if call.takes(helper, "action") else ()
    values = tuple(read_argument(w, p, each, agent, None) for each in call.of(helper))
    return bool(helper(w, *agents, *actions, *values))


def remember_before_step(w: WorldRow, p: Params, call: CallPlan, agent: int) -> Any:
    """Before a step changes the world, run the `remember` functions of the rule in `call` and of
    its nested rules. Return (own result or None, results of the arguments), which `run_call` takes
    as `past`."""
    return (
        call_marked(call.mark, run_remember_function, w, p, call, agent)
        if call.system.remember is not None
        else None,
        tuple(remember_argument(w, p, each, agent) for each in call.arguments),
    )


def remember_argument(w: WorldRow, p: Params, argument: Argument, agent: int) -> Any:
    """Run the `remember` functions of the rules nested in an argument; return their results."""
    if argument.call is not None:
        return remember_before_step(w, p, argument.call, agent)
    return tuple(remember_before_step(w, p, call, agent) for call in argument.calls)


def run_remember_function(w: WorldRow, p: Params, call: Any, agent: int) -> Any:
    """Run the `remember` function of the rule in `call`, a `CallPlan`. Return its result, a number
    or a tuple of numbers."""
    agents = (agent,) if call.takes(call.system.remember, "agent") else ()
    values = tuple(read_argument(w, p, each, agent, None) for each in call.of(call.system.remember))
    measured = call.system.remember(w, *agents, *values)
    return measured if isinstance(measured, tuple) else 0 + measured


def run_call(w: WorldRow, p: Params, call: CallPlan, agent: int, past: Any) -> Any:
    """Run a rule in an agent's turn and return its result, or None if its condition `when` does not
    hold. `past` is the result of `remember_before_step`; None for rules that remember nothing."""
    if call.agent_mask and not call.agent_mask[agent]:
        return call.masked_value
    if call.system.until is not None:
        return call_marked(call.mark, run_until, w, p, call, agent)
    if call.system.when is not None and not call_marked(
        call.mark, evaluate_condition, w, p, call, call.system.when, agent, w.action[agent]
    ):
        return None
    ended_by = w.ended_by[agent]
    result = call_marked(call.mark, call_function, w, p, call, agent, past)
    if call.number:
        record_ending(w, call, agent, result, ended_by)
    return result if call.result_type is None else call.result_type(result)


def call_function(w: WorldRow, p: Params, call: CallPlan, agent: int, past: Any) -> Any:
    """Call the rule's function with the world, the agent, what it remembered before the step, and
    its arguments, as far as it takes them. Return its result. `past` is the result of
    `remember_before_step`."""
    agents = (agent,) if call.takes(call.system.function, "agent") else ()
    was = (past[0],) if call.system.remember is not None else ()
    values = tuple(
        read_argument(w, p, each, agent, None if past is None else past[1][k])
        for k, each in enumerate(call.arguments)
    )
    return call.system.function(w, *agents, *was, *values)


def record_ending(w: WorldRow, call: CallPlan, agent: int, result: Any, ended_by: int) -> None:
    """Write into `w.ended_by[agent]` the number of the rule that ended the agent's episode: the
    innermost one if rules are nested. `result` is the result of the rule in `call`; if it is false,
    restore `ended_by`, the value from before the call."""
    is_over = bool(result)
    if is_over and w.ended_by[agent] == 0:
        w.ended_by[agent] = call.number
    if call.has_nested and not is_over:
        w.ended_by[agent] = ended_by


def run_until(w: WorldRow, p: Params, call: CallPlan, agent: int) -> None:
    """Run the nested reset rules of `call` again and again, each time in an empty world, until its
    condition `until` holds. Then call its function once."""
    tries = 0
    while True:  # what a try has made is free again after it
        if tries > 0:
            clear(w)
        values = read_arguments(w, p, call, agent)
        tries += 1
        if ends_repetition(w, p, call, tries):
            agents = (agent,) if call.takes(call.system.function, "agent") else ()
            call.system.function(w, *agents, *values)
            return


def read_arguments(w: WorldRow, p: Params, call: CallPlan, agent: int) -> Any:
    """Return a tuple of the argument values of a rule for `agent`; nested rules run."""
    return tuple(read_argument(w, p, each, agent, None) for each in call.arguments)


def ends_repetition(w: WorldRow, p: Params, call: Any, tries: int) -> bool:
    """Return True if the repeated resets of `run_until` may stop: the condition `until` of the rule
    in `call`, a `CallPlan`, holds. `tries` is the number of resets so far."""
    tried = (tries,) if call.takes(call.system.until, "tried") else ()
    values = tuple(read_argument(w, p, each, NOTHING, None) for each in call.of(call.system.until))
    return bool(call.system.until(w, *tried, *values))


# ---- resets and steps, compiled ------------------------------------------------------------------


def reset_world(w: WorldRow, p: Params, plan: ScenarioPlan) -> None:
    """Start an episode: clear the world and run the reset rules, which build a new level. `p` is
    the record of the rules' parameters."""
    if plan.has_smaller_members:
        w.present = p.present
    w.steps = 0
    w.terminated = 0
    w.truncated = 0
    for agent in range(1, plan.agents + 1):
        w.action[agent] = 0
        w.total[agent] = 0.0
        clear_step_results(w, agent)
        w.done[agent] = agent > len(w.agents())
    clear(w)
    for call in plan.resets:
        if call.is_per_agent:
            for agent in w.agents():
                run_call(w, p, call, agent, None)
        else:
            run_call(w, p, call, NOTHING, None)


def step_world(w: WorldRow, p: Params, plan: ScenarioPlan, terms: Any) -> None:
    """Step a world once: each agent takes its action in `w.action`. Write the value of each reward
    function into `terms`, an array of shape (agents, reward functions). `p` is the record of the
    rules' parameters."""
    if plan.alone:
        clear_step_results(w, AGENT)
    else:
        begin_step(w, p.leaves)
        set_turn_order(w, p.turns)
    w.terminated = 0
    w.truncated = 0
    run_systems(w, p, plan, terms)
    w.steps += 1
    is_over = w.terminated != 0
    w.truncated = plan.reaches_limit(w, p.max_steps) and (not is_over or p.always_truncates != 0)
    w.truncated |= w.steps >= p.time_limit


def remember_for_agent(k: int, w: WorldRow, p: Params, call: CallPlan) -> Any:
    """Run `remember_before_step` for the agent k + 1, and return the result; zeros if the agent
    takes no part in the step."""
    return call_or_zeros(w.live[k + 1] != 0, remember_before_step, w, p, call, k + 1)


def run_systems(w: WorldRow, p: Params, plan: ScenarioPlan, terms: Any) -> None:
    """Run the transition, reward and terminating rules of one step, in this order. Write the value
    of each reward function into `terms`, an array of shape (agents, reward functions)."""
    pasts = tuple(
        (remember_before_step(w, p, call, AGENT),)
        if plan.alone
        else tabulate(plan.agents, remember_for_agent, w, p, call)
        for call in plan.measured
    )
    ended, done = pasts[len(plan.rewards)], pasts[-1]
    for call in plan.transitions:
        if not call.is_per_agent:
            run_call(w, p, call, NOTHING, None)
        elif plan.alone:
            run_call(w, p, call, AGENT, None)
        else:
            for k in range(len(w.agents())):
                if w.live[w.order[k]]:
                    run_call(w, p, call, w.order[k], None)
    if not plan.is_bodiless:
        check_agents_placed(w, plan)
    rewards = tuple(
        run_reward(w, p, plan, call, pasts[k], None if plan.alone else terms, plan.slots[k])
        for k, call in enumerate(plan.rewards)
    )
    end_agents(w, p, plan, ended)
    finish_agents(w, p, plan, done)
    if plan.alone:
        w.terminated = w.done[AGENT]
        for k, term in enumerate(rewards):  # a rule that fails leaves them as they were
            terms[0, plan.slots[k]] = term
    else:
        w.terminated = is_episode_over(w, p.one_suffices)
        if plan.has_absence:
            lift_absent_agents(w)


def check_agents_placed(w: WorldRow, plan: ScenarioPlan) -> None:
    """Fail unless all agents that take part are on the grid."""
    for agent in plan.alone or w.agents():
        if plan.alone or w.live[agent]:
            check_agent_placed(w, agent)


def end_agents(w: WorldRow, p: Params, plan: ScenarioPlan, pasts: Any) -> None:
    """Store in `w.done` for each agent whether the terminating rule ends its episode. `pasts[agent
    - 1]` holds what the rule remembered before the step."""
    for agent in plan.alone or w.agents():
        if plan.alone or w.live[agent]:
            w.done[agent] = run_call(w, p, plan.ending, agent, pasts[agent - 1])


def finish_agents(w: WorldRow, p: Params, plan: ScenarioPlan, past: Any) -> None:
    """Store in `w.success` whether each agent that is done has succeeded, and add the reward of
    this step to its return. `past[agent - 1]` holds what the success rule remembered before the
    step."""
    for agent in plan.alone or w.agents():
        if plan.alone or w.live[agent]:
            if plan.success is not None and w.done[agent]:
                w.success[agent] = run_call(w, p, plan.success, agent, past[agent - 1])
            w.total[agent] += w.reward[agent]


def run_reward(
    w: WorldRow, p: Params, plan: ScenarioPlan, call: CallPlan, past: Any, terms: Any, slot: int
) -> Any:
    """Call one reward function for every agent. Add its value to the agent's reward, if it pays,
    and store it in column `slot` of `terms`, an array of shape (agents, reward functions). With a
    single agent, return the value instead of storing it. `past` holds what the function remembered
    before the step."""
    term = 0.0
    for agent in plan.alone or w.agents():
        if plan.alone or w.live[agent]:
            term = run_call(w, p, call, agent, past[agent - 1])
            if call.pays:
                w.reward[agent] += term
            if not plan.alone:
                terms[agent - 1, slot] = term
    return term


# ---- action masks and observations, compiled -----------------------------------------------------


def reacts_to_action(w: WorldRow, p: Params, call: CallPlan, agent: int, action: int) -> Any:
    """Return True if the transition rule in `call` would do something if the agent took this action
    now."""
    if call.agent_mask and not call.agent_mask[agent]:
        return False
    reacts = nested_calls_react(w, p, call, agent, action) if call.system.is_spontaneous else True
    if call.system.when is None:
        return reacts
    return reacts and call_marked(
        call.mark, evaluate_condition, w, p, call, call.system.when, agent, action
    )


def nested_calls_react(w: WorldRow, p: Params, call: CallPlan, agent: int, action: int) -> Any:
    """Return True if a transition rule nested in the arguments of `call` would do something if the
    agent took this action now."""
    if not call.has_nested:
        return False
    is_effective = False
    for part in call.nested:
        if part.system.phase is Phase.TRANSITION:
            is_effective = is_effective or reacts_to_action(w, p, part, agent, action)
    return is_effective


def answers_action(w: WorldRow, p: Params, call: CallPlan, agent: int, action: int) -> Any:
    """Return True if the reward or terminating rule in `call` declares by its helper `answers` that
    it reacts to this action, even if the action changes nothing in the world."""
    if call.agent_mask and not call.agent_mask[agent]:
        return False
    if call.system.answers is None and not call.has_nested:
        return False
    is_effective = False
    if call.system.answers is not None:
        is_effective = call_marked(
            call.mark, evaluate_condition, w, p, call, call.system.answers, agent, action
        )
    for part in call.nested:
        is_effective = is_effective or answers_action(w, p, part, agent, action)
    return is_effective


def is_valid(w: WorldRow, p: Params, plan: ScenarioPlan, agent: int, action: int) -> Any:
    """Return True if the agent's action would have an effect now: a transition rule would do
    something, or a reward or terminating rule reacts to the action."""
    is_effective = False
    for test, calls in (
        (reacts_to_action, plan.transitions),
        (answers_action, (*plan.rewards, plan.ending)),
    ):
        for call in calls:
            if w.is_checked:
                is_effective = is_effective or test(w, p, call, agent, action)
            else:  # a test takes less time than a branch that is predicted badly
                is_effective = is_effective | test(w, p, call, agent, action)
    return is_effective


def write_mask(w: WorldRow, p: Params, plan: ScenarioPlan, agent: int, mask: Any) -> None:
    """Write the action mask of an agent into `mask`: 1 for each action that would have an effect
    now, else 0."""
    for k, action in enumerate(plan.actions[:-2]):
        mask[k] = True if action == WAIT else is_valid(w, p, plan, agent, action)


def write_observation(
    w: WorldRow, p: Params, plan: ScenarioPlan, agent: int, grid: Any, item: Any, ground: Any
) -> None:
    """Write what an agent sees into the arrays `grid` (h, w, 3) and `item` (3,), and what lies on
    the ground into `ground` (h, w, 3), unless it is None. Each entry is (type, state, colour)."""
    view = new_record(plan.view)
    cut_view(w, agent, view)
    call_marked(plan.visibility.mark, run_visibility, w, p, plan.visibility, agent, view)
    write_seen(w, agent, view, grid, item)
    for call in plan.observations:
        call_marked(call.mark, observe_view, w, p, call, agent, view, grid, item)
    if ground is not None:
        write_ground_seen(w, agent, view, grid, ground)


def run_visibility(w: WorldRow, p: Params, call: CallPlan, agent: int, view: Any) -> None:
    """Run the visibility rule in `call`, which marks the cells of `view` that the agent sees."""
    call.system.function(w, agent, view, *read_arguments(w, p, call, agent))


def observe_view(
    w: WorldRow, p: Params, call: CallPlan, agent: int, view: Any, grid: Any, item: Any
) -> None:
    """Run the observation rule in `call`, which changes the observation arrays `grid` and
    `item`."""
    call.system.function(w, agent, view, (grid, item), *read_arguments(w, p, call, agent))


def write_numbers(w: WorldRow, agent: int, sources: Any, out: Any) -> None:
    """Write component fields into the vector `out`. `sources` lists them as (column, field, object
    type, item): the field of the agent if the type is None, of the world, or of the only object of
    the type. Without such an object, or with several, write the default."""
    for k, (column, field, object_type, item) in enumerate(sources):
        e = (
            agent
            if object_type is None
            else w.world
            if object_type == WORLD
            else w.unique(object_type)
        )
        out[k] = w[column][field][e] if item is None else w[column][field][e, item]
