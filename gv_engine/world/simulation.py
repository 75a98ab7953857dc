"""Object world with its systems as esper processors, run phase by phase in scenario order."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any

import esper
import numpy as np
from numpy.typing import NDArray

from components.core import HIDDEN, NONE_GRID_OBJECT
from gv_engine.rules import turns
from gv_engine.rules.component import AGENT, NOTHING
from gv_engine.rules.errors import RuleError
from gv_engine.rules.frame import Frame
from gv_engine.rules.geometry import ASSIST, WAIT
from gv_engine.rules.system import Call, Phase
from gv_engine.rules.turns import AgentGroup
from gv_engine.rules.world import check_agent_placed
from gv_engine.scenario.missions.missions import get_limit_test
from gv_engine.scenario.scenario import Scenario
from gv_engine.world.bound_call import BoundCall, FunctionWrapper, find_acting_calls
from gv_engine.world.columns import ESPER_LOCK, EsperContext
from gv_engine.world.rng import sample_scenario_index, to_rule_generator
from gv_engine.world.view import ObjectView
from gv_engine.world.world import ObjectWorld

# ---- processors ----------------------------------------------------------------------------------


class SystemProcessor(esper.Processor):
    """Esper processor that runs one rule of the scenario. Each rule has a subclass of its own,
    because esper identifies processors by class."""

    def __init__(self, world: Any, call: Call) -> None:
        """Prepare the rule in `call`, a system with its arguments, to run in `world`."""
        self.world = world
        self.bound = BoundCall(call, world.layout.agents)
        # a system without an agent parameter runs once
        self.agents: Sequence[int] = world.acting if call.is_per_agent else (NOTHING,)

    def process(self, canvas: Any = None) -> None:
        """Run the system for the agents that take part in the step; do nothing when the world is
        drawn on a `canvas`."""
        if canvas is None:
            for agent in self.agents:
                self.bound.run(self.world, agent)


class RenderingProcessor(SystemProcessor):
    """Processor of a rendering system, which paints on the canvas."""

    def process(self, canvas: Any = None) -> None:
        """Draw on the `canvas`; do nothing in a step, where there is none."""
        if canvas is not None:
            self.bound.run(self.world, canvas.agent, (canvas,))


class RewardProcessor(SystemProcessor):
    """Esper processor that adds the value of one reward function to the reward of each agent that
    takes part in the step, unless the function only measures.

    Attributes:
        terms: by agent number, the reward terms of the last step, which all processors share.
        slot: index of this reward among the terms of an agent.
    """

    terms: list[list[float]]
    slot: int

    def process(self, canvas: Any = None) -> None:
        """Call the reward function for each agent that takes part, and add its value to the agent's
        reward. Do nothing if `canvas` is given: then the world is only drawn."""
        if canvas is None:
            world, terms, slot = self.world, self.terms, self.slot
            pays = self.bound.call.pays
            for agent in world.playing:
                reward = self.bound.run(world, agent)
                try:
                    term = float(reward)
                except (TypeError, ValueError):
                    title = self.bound.call.system.title
                    hint = "; does every branch return one?" if reward is None else ""
                    raise RuleError(
                        f"{title} returned {reward!r}; a reward is a number{hint}"
                    ) from None
                terms[agent][slot] = term
                if pays:
                    world.reward[agent] += term


class TerminatingProcessor(SystemProcessor):
    """Esper processor that ends an agent's episode if the terminating rule is true for it."""

    def process(self, canvas: Any = None) -> None:
        """Call the terminating rule for each agent that takes part, and set the agent's `done` and
        `ended_by`. Do nothing if `canvas` is given: then the world is only drawn."""
        if canvas is None:
            world = self.world
            for agent in world.playing:
                if self.bound.run(world, agent):
                    world.done[agent] = True
                    cause = id(self.bound.find_cause(agent))
                    world.ended_by[agent] = 1 + [*map(id, self.bound.call.walk())].index(cause)


class EnsurePlaced(esper.Processor):
    """Esper processor that runs between transitions and rewards. It raises an error if an agent
    stands in no cell."""

    def __init__(self, world: Any) -> None:
        """Make the check for a world's agents."""
        self.world = world

    def process(self, canvas: Any = None) -> None:
        """Check that all agents in a step are on the grid; do nothing when the world is drawn on a
        `canvas`."""
        if canvas is None:
            for agent in self.world.playing:
                check_agent_placed(self.world, agent)


_PROCESSORS = {
    Phase.REWARD: RewardProcessor,
    Phase.TERMINATING: TerminatingProcessor,
    Phase.RENDERING: RenderingProcessor,
}


@cache
def _make_processor_class(base: Any, name: str, index: int) -> Any:
    """Return a subclass for one processor, as esper identifies processors by class."""
    return type(name, (base,), {})


def make_processor(world: Any, call: Call, index: int) -> Any:
    """Return an object that esper runs in each step, for the rule in `call`. If an author's rule is
    itself a processor class, return an instance of that class. `index` is the rule's position among
    the scenario's rules."""
    function: Any = call.system.function
    phase = call.system.phase
    if not call.system.is_processor:
        base = _PROCESSORS.get(phase, SystemProcessor)
        return _make_processor_class(base, call.name, index)(world, call)

    def process(self: Any, canvas: Any = None) -> None:
        if (canvas is None) == (phase is not Phase.RENDERING):
            rewards_before = [*world.reward]
            try:
                function.process(self)
            except Exception as error:
                call.system.attach_to_error(error)
                raise
            world.adopt()
            if phase is Phase.REWARD:
                rewards = zip(self.terms, world.reward, rewards_before, strict=True)
                for terms, reward, reward_before in rewards:
                    terms[self.slot] = reward - reward_before

    processor = type(function.__name__, (function,), {"process": process})(*call.bind_arguments())
    processor.world = world
    return processor


NUMPY_ERRORS: Any = dict.fromkeys(("divide", "over", "invalid"), "raise")
"""What NumPy's numbers do in rules of authors: as Python's, they fail."""


class StrictContext:
    """Context manager in which NumPy numbers raise errors where Python numbers do, for example in a
    division by zero. It enters the context manager `inner` as well."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._error_states: list[np.errstate] = []  # one for each `with` block around

    def __enter__(self) -> None:
        self._inner.__enter__()
        self._error_states.append(np.errstate(**NUMPY_ERRORS))
        self._error_states[-1].__enter__()

    def __exit__(self, *error: Any) -> None:
        self._error_states.pop().__exit__(*error)
        self._inner.__exit__(*error)


def _ignores_action(processor: esper.Processor, action: int) -> bool:
    """Return True if a processor does nothing in a step in which the only agent takes an action."""
    return isinstance(processor, SystemProcessor) and processor.bound.ignores(AGENT, action)


class BoundScenario:
    """All rules of one scenario, prepared to run in one world, by phase. In a mixture, the world
    has one for each scenario.

    Attributes:
        scenario: scenario; a mixture has a `BoundScenario` for each member.
        share: upper end of the member's part of [0, 1), for sampling a member.
        resets, observations, visibility: calls that run on demand.
        sight_cache: see `Scenario.sight_cache`.
        endings: terminating calls, except functions of states.
        measurements: rules that measure before the transitions.
        success: call that tests the success of an ended episode; None if there is none.
        partner: call that chooses actions, see `Scenario.partner`; None if there is none.
        context: context manager of rules: makes the world esper's current one if a rule may call
            esper.
        step_processes: `process` of the processors of a step, in order.
        processes_by_actions: for a single agent, by the actions of a step, those that may do
            something in it.
        mask_tests: by agent number, for each action its index in the mask, its number and the
            results of `find_acting_calls`.
    """

    def __init__(
        self, scenario: Scenario, world: ObjectWorld, share: float, mixture: Scenario, terms: Any
    ) -> None:
        """Prepare the rules of `scenario` for `world`. `mixture` is the scenario that contains it,
        or itself; `share` is the probability of this and all earlier scenarios in it. Values of
        reward functions are written into `terms`, a list for each agent."""
        self.scenario, self.share = scenario, share
        bind = partial(BoundCall, agents=scenario.layout.agents)
        self.resets = [bind(call) for call in scenario.calls(Phase.RESET)]
        self.visibility = bind(scenario.visibility)
        self.sight_cache = scenario.sight_cache
        self.observations = [bind(call) for call in scenario.calls(Phase.OBSERVATION)]
        calls = [
            bound
            for phase in (Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING)
            for bound in map(bind, scenario.calls(phase))
            if bound.can_act
        ]
        self.mask_tests = [
            [(k, a, *find_acting_calls(calls, agent, a)) for k, a in enumerate(mixture.actions)]
            for agent in (NOTHING, *scenario.layout.agent_entities)
        ]
        self.context: Any = world.context if scenario.may_call_esper else ESPER_LOCK
        if not scenario.runs_engine_rules_only:
            self.context = StrictContext(self.context)
        self.endings: list[BoundCall] = []
        self.success = bind(scenario.success) if scenario.success else None
        self.partner: Any = bind(scenario.partner) if scenario.partner else None
        self._rules: list[BoundCall] = [self.success] if self.success else []
        slots = map(mixture.reward_names.index, scenario.reward_names)
        step_processors = self._make_step_processors(world, terms, slots)
        self._processors = [*step_processors]
        for call in scenario.calls(Phase.RENDERING):
            self._processors.append(make_processor(world, call, len(self._processors)))
        self.step_processes = [processor.process for processor in step_processors]
        self.processes_by_actions: dict[tuple[int, ...], list[Any]] = {}
        for action in mixture.actions if scenario.layout.agents == 1 else ():
            self.processes_by_actions[action,] = [
                processor.process
                for processor in step_processors
                if not _ignores_action(processor, action)
            ]
        self.measurements = [
            bound
            for bound in self._rules
            if any(part.system.remember for part in bound.call.walk())
        ]

    def _make_step_processors(
        self, world: ObjectWorld, terms: Any, reward_slots: Iterator[int]
    ) -> list[Any]:
        """Return the processors of a step in order: transitions, rewards, terminating rules. Reward
        number k of the scenario writes its value into `terms` at the k-th index that `reward_slots`
        yields."""
        processors: list[Any] = []
        for phase in (Phase.TRANSITION, Phase.REWARD, Phase.TERMINATING):
            if phase is Phase.REWARD and not self.scenario.layout.is_bodiless:
                processors.append(EnsurePlaced(world))
            for call in self.scenario.calls(phase):
                processor = make_processor(world, call, len(processors))
                processors.append(processor)
                if phase is Phase.REWARD:
                    processor.terms, processor.slot = terms, next(reward_slots)
                if not call.system.is_processor:
                    self._rules.append(processor.bound)
                    if phase is Phase.TERMINATING and not call.system.objects:
                        self.endings.append(processor.bound)
        return processors

    def use_processors(self, context: EsperContext) -> None:
        """Make the processors those of the esper world `context`."""
        context.remove_processors()
        for processor in self._processors:
            context.add_processor(processor)

    def watch(self, wrap: FunctionWrapper) -> None:
        """Replace each rule function by `wrap(system, name, function)`, for example to count or
        time calls."""
        self.sight_cache = None  # which would spare calls
        self.processes_by_actions.clear()
        for bound in (*self.resets, *self._rules, self.visibility, *self.observations):
            bound.watch(wrap)


# ---- simulation ----------------------------------------------------------------------------------


class Simulation:
    """Runs a scenario in a world of Python objects: resets, steps, observations, action masks,
    drawing.

    >>> from gv_engine import Scenario
    >>> simulation = Simulation(Scenario.load("keydoor-5x5"))
    >>> simulation.reset(np.random.default_rng(1))
    >>> simulation.world.height, simulation.world.width
    (5, 5)

    Attributes:
        scenario: scenario; see `member` for a mixture.
        world: state; see `ObjectWorld` for reward, flags and components.
        view: the agent's current view, filled by `observe`.
        agents: entities of all agents, including those that a member of a mixture does not use.
    """

    def __init__(self, scenario: Scenario) -> None:
        """Make an empty world for the scenario. Call `reset` to fill it with a level."""
        if not hasattr(scenario, "layout"):
            raise TypeError(f"scenario={scenario!r}: expected a Scenario, as of Scenario.load")
        self.scenario = scenario
        self.world = ObjectWorld(scenario.layout)
        self.view = ObjectView(scenario.area)
        self.agents = scenario.layout.agent_entities
        self._reaches_limit = get_limit_test(scenario.layout.mission)
        self.world.context.release_with(self)
        self._terms = [[0.0] * len(scenario.reward_names) for _ in (NOTHING, *self.agents)]
        self._members = [
            BoundScenario(member, self.world, share, scenario, self._terms)
            for member, share in zip(scenario.members, scenario.cumulative_weights, strict=True)
        ]
        self._active_member = self._members[0]
        self._active_member.use_processors(self.world.context)

    @property
    def member(self) -> Scenario:
        """Scenario that the world plays; in a mixture, the member scenario that the last reset
        picked."""
        return self._get_bound_scenario().scenario

    def _get_bound_scenario(self) -> BoundScenario:
        """Return the rules of the scenario that the world plays now; in a mixture it changes
        between episodes. Its rules are prepared when it is played for the first time."""
        playing = self._members[self.world.member]
        if playing is not self._active_member:
            playing.use_processors(self.world.context)
            self._active_member = playing
        return playing

    def watch(self, wrap: FunctionWrapper) -> None:
        """Replace each rule function, condition and measurement by `wrap(system, name, function)`,
        so that a debugger sees its calls.

        Rendering systems and processors of authors are not wrapped.
        """
        for member in self._members:
            member.watch(wrap)

    def reset(self, generator: np.random.Generator | None = None) -> None:
        """Start a new episode with a new level, sampled with `generator`; without one the world's
        own random number generator continues."""
        world = self.world
        world.rng = to_rule_generator(generator or world.rng)
        if len(self._members) > 1:
            world.member = sample_scenario_index(world.rng, self._members)
        world.present = len(self.member.agent_group.names)
        playing = self._get_bound_scenario()
        with playing.context:
            world.clear()
            for reset in playing.resets:
                for agent in world.agents() if reset.call.is_per_agent else (NOTHING,):
                    reset.run(world, agent)
        self._clear_terms()

    def step(self, *actions: int) -> None:
        """Apply one action of each agent to the world; an episode that is already over continues.

        Args:
            actions: number of a `gv_engine.rules.geometry.Action` for each agent, not its index in
                the action space.

        Raises:
            RuleError: a rule is not defined on this world.
        """
        world, playing = self.world, self._get_bound_scenario()
        is_alone, scenario = world.is_alone, playing.scenario
        if is_alone:
            (world.action[1],) = actions
            turns.clear_step_results(world, 1)
            if len(self._members) > 1:
                self._clear_terms()  # those of a member that the world played before
        else:
            self._set_turn_order(actions, scenario.agent_group)
        world.terminated = world.truncated = False
        if world.objects is not None:
            world.objects.before = None
        with playing.context:
            for bound in playing.measurements:
                for agent in world.playing:
                    bound.remember_before_step(world, agent)
            # as `esper.process()`, without those that do nothing now
            if scenario.may_call_esper:
                esper.clear_dead_entities()
            for process in playing.processes_by_actions.get(actions, playing.step_processes):
                process()
            for agent in world.playing:
                if world.done[agent] and playing.success:
                    world.success[agent] = bool(playing.success.run(world, agent))
                world.total[agent] += world.reward[agent]
        if not is_alone and scenario.layout.has_absence:
            turns.lift_absent_agents(world)
        one_suffices = scenario.agent_group.ends == turns.ANY
        if is_alone:
            world.terminated = world.done[1]
        else:
            world.terminated = turns.is_episode_over(world, one_suffices)
        world.steps += 1
        goes_on = not world.terminated or scenario.always_truncates
        world.truncated = goes_on and self._reaches_limit(world, scenario.max_steps or sys.maxsize)
        if scenario.time_limit and world.steps >= scenario.time_limit:
            world.truncated = True

    def assist(self, agent: int) -> int:
        """Return the action that the scenario's `partner`, which it must have, chooses for an agent
        now; the world stays as it is."""
        world, playing = self.world, self._get_bound_scenario()
        before, world.action[agent] = world.action[agent], ASSIST
        with playing.context:
            playing.partner.run(world, agent)
        chosen, world.action[agent] = world.action[agent], before
        return int(chosen)

    def _set_turn_order(self, actions: Sequence[int], group: AgentGroup) -> None:
        """Store the agents' `actions`. Then decide which agents take part in this step, and in
        which order, by the settings in `group`."""
        world = self.world
        for agent, action in zip(self.agents, actions, strict=True):
            world.action[agent] = action
        turns.begin_step(world, group.done == turns.LEAVE)
        turns.set_turn_order(world, turns.TURNS.index(group.turns))
        present_agents = world.agents()
        world.playing[:] = [agent for agent in present_agents if world.live[agent]]
        order = world.order[: len(present_agents)].tolist()
        world.acting[:] = [agent for agent in order if world.live[agent]]
        self._clear_terms()

    def terms_of(self, agent: int = 1) -> tuple[float, ...]:
        """Return the agent's reward of each reward function in the last step, in the order of the
        scenario's `reward_names`."""
        return tuple(self._terms[agent])

    def set_terms(self, agent: int, values: Iterable[float]) -> None:
        """Store `values` as the agent's reward of each reward function in the last step, in the
        order of the scenario's `reward_names`."""
        self._terms[agent][:] = values

    def _clear_terms(self) -> None:
        for agent in self.agents:
            self.set_terms(agent, (0.0,) * len(self.scenario.reward_names))

    def look(self, agent: int = 1) -> ObjectView:
        """Return what an agent sees now, as a view object. The simulation has only one view, which
        the next call changes."""
        view, world, playing = self.view, self.world, self._get_bound_scenario()
        view.look(world, agent)
        if playing.sight_cache is None:
            playing.visibility.run(world, agent, (view,))
        else:
            view.see_cached(playing.visibility.run, world, agent, playing.sight_cache)
        return view

    def observe(self, grid: NDArray[np.uint8], item: NDArray[np.uint8], agent: int = 1) -> None:
        """Write what an agent observes: (type, state, colour) of the cells of its view into `grid`
        (h, w, 3), and of the object in its hand into `item` (3,), both uint8.

        Nothing is seen if the agent has left or does not exist.
        """
        if self._is_away(agent):
            grid[...], item[...] = (HIDDEN, 0, 0), (NONE_GRID_OBJECT, 0, 0)
            return
        self.look(agent).show(self.world, agent, grid, item)
        for observation in self._active_member.observations:
            observation.run(self.world, agent, (self.view, (grid, item)))

    def _is_away(self, agent: int) -> bool:
        return not self.world.is_alone and self.world.position.y[agent] < 0

    def render(
        self,
        show: Callable[[Frame], None],
        observation: NDArray[np.uint8] | None = None,
        message: str = "",
        agent: int = 1,
    ) -> None:
        """Draw the world with the rendering rules, which do not change it, and pass the finished
        frame to `show`.

        Args:
            show: gets the finished frame.
            observation: (h, w, 3) uint8 last observation; computed if None.
            message: note for the player.
            agent: agent whose view is shown.
        """
        if observation is None:
            observation = np.zeros((*self.scenario.area.shape, 3), np.uint8)
            self.observe(observation, np.zeros(3, np.uint8), agent)
        terms = self.terms_of(agent)
        canvas = self.scenario.canvas(self.world, show, observation, terms, message, agent)
        with self._get_bound_scenario().context:
            self.world.context.process(canvas)

    def valid_actions(self, mask: NDArray[np.int8] | memoryview, agent: int = 1) -> None:
        """Write the action mask of an agent into `mask`: 1 for each action that has an effect now,
        else 0.

        All are 0 if the agent is away, or done while others are not.
        """
        world, tests = self.world, self._get_bound_scenario().mask_tests[agent]
        if (world.done[agent] and not world.terminated) or self._is_away(agent):
            tests = [(index, action, False, []) for index, action, *_ in tests]
        for index, action, always_acts, calls in tests:
            # not by `any_call_acts`: the calls would take a tenth of the mask's time
            for call in calls:
                try:
                    acts = call.acts  # faster than `call.acts(…)` in CPython
                    if acts(world, agent, action):
                        mask[index] = 1
                        break
                except Exception as error:
                    call.call.system.attach_to_error(error)
                    raise
            else:
                mask[index] = always_acts

    def would_end(self, agent: int = 1) -> bool:
        """Return True if the terminating rules would end the agent's episode now, in the present
        state. GridVerse functions of two states and an action are ignored."""
        self.world.action[agent] = WAIT
        playing = self._get_bound_scenario()
        with playing.context:
            for ending in playing.endings:
                ending.remember_before_step(self.world, agent)
                if ending.run(self.world, agent):
                    return True
        return False

    def __reduce__(self) -> tuple[Any, ...]:
        """Return scenario, row and reward terms for pickling."""
        return _rebuild, (self.scenario, self.world.snapshot(), [*map(self.terms_of, self.agents)])


def _rebuild(scenario: Scenario, row: NDArray[Any], terms: list[tuple[float, ...]]) -> Simulation:
    """Return a simulation from its pickled parts: the scenario, the world's record, and the last
    values of the reward functions for each agent (`terms`)."""
    simulation = Simulation(scenario)
    simulation.world.restore(row)
    for agent, values in zip(simulation.agents, terms, strict=True):
        simulation.set_terms(agent, values)
    return simulation


def make_level(scenario: Scenario, seed: int) -> ObjectWorld:
    """Return an object world with the level that the reset functions make for a seed."""
    simulation = Simulation(scenario)
    simulation.reset(np.random.default_rng(seed))
    return simulation.world


NEXT_STEP, SAME_STEP, DISABLED = range(3)
"""Autoreset modes with the meaning of `gymnasium.vector.AutoresetMode`."""

RESTART, LOOK, KEEP = -1, -2, -3
"""Values in place of an action: start a new episode, show the last results, or change nothing."""
RANDOM_LEVEL = -1
"""Value in place of the index of a listed level: a random one."""


def starts_episode(action: int, mode: int, is_over: bool) -> bool:
    """Return True if a world must start a new episode now, instead of making a step with this
    action. `mode` is the autoreset mode, and `is_over` tells if the episode has ended in an earlier
    step.

    Args:
        action: action index or RESTART, LOOK or KEEP.
        mode: autoreset mode.
        is_over: True if the world's episode has ended in an earlier step.
    """
    return action == RESTART or (action >= 0 and is_over and mode == NEXT_STEP)


def resets_in_step(mode: int, is_over: bool) -> bool:
    """Return True if a step that has ended an episode (`is_over`) also starts the next one at once;
    `mode` is the autoreset mode.

    The last observation of the ended episode then goes into the `final_` arrays. Reward, return,
    length, flags and success remain those of the step that ended it.
    """
    return is_over and mode == SAME_STEP


def clear_outputs(out: Any, line: int) -> None:
    """Set the results of one agent's step, which are at index `line` of the output arrays `out`
    (`StepArrays` or compiled ones), to zero."""
    out.rewards[line] = out.returns[line] = 0.0
    out.terminated[line] = out.truncated[line] = out.success[line] = False
    out.lengths[line] = 0


def write_outputs(outputs: Any, index: int, w: Any, agent: int) -> None:
    """Write the results of one agent's step into index `index` of the arrays of `outputs`: reward,
    done flags, return, and number of steps.

    An agent that is not done is also truncated if the episode ends because of other agents. At the
    step limit, a done agent is truncated as well if the scenario always reports truncation.
    """
    outputs.rewards[index] = w.reward[agent]
    outputs.terminated[index] = w.done[agent] != 0
    is_terminated, is_truncated = w.terminated != 0, w.truncated != 0
    outputs.truncated[index] = (is_truncated and is_terminated) or (
        w.done[agent] == 0 and (is_truncated or is_terminated)
    )
    outputs.success[index] = w.success[agent] != 0
    outputs.returns[index] = w.total[agent]
    outputs.lengths[index] = w.steps


WorldIndex = int | NDArray[np.int64]
"""Index of one world, or (K,) indices."""


def make_look_actions(
    num_worlds: int, num_agents: int, looking_worlds: WorldIndex
) -> NDArray[np.int64]:
    """Return (num_worlds * num_agents,) actions for `Backend.step`: LOOK, which writes the
    results without a step, for `looking_worlds`; KEEP, which changes nothing, for the others."""
    actions = np.full((num_worlds, num_agents), KEEP)
    actions[looking_worlds] = LOOK
    return actions.ravel()
