"""One object world and its schedule: esper's processors, phase by phase, in scenario order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import esper
import numpy as np
from numpy.typing import NDArray

from components.appearance import HIDDEN, NONE_GRID_OBJECT
from gv_engine.rules.call import Call
from gv_engine.rules.component import NOTHING
from gv_engine.rules.errors import RuleError
from gv_engine.rules.frame import Frame
from gv_engine.rules.system import (
    OBSERVATION,
    RENDERING,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    Phase,
)
from gv_engine.rules.turns import (
    ANY,
    LEAVE,
    TURNS,
    TurnPolicy,
    begin_step,
    clear_step_results,
    is_episode_over,
    set_turn_order,
)
from gv_engine.rules.world import check_agent_placed
from gv_engine.world.bound_call import BoundCall, Wrap, mark_answered
from gv_engine.world.rng import draw_member
from gv_engine.world.view import ObjectView
from gv_engine.world.world import ObjectWorld

if TYPE_CHECKING:
    from gv_engine.scenario.scenario import Scenario


# ---- bound scenario ------------------------------------------------------------------------------


def in_turns(
    run: Callable[[Any, int], Any], world: Any, agents: Sequence[int]
) -> Callable[[], Any]:
    """What runs for each of the agents that are there when it is called, in their order."""
    if world.is_alone or NOTHING in agents:  # nobody ever comes or goes
        return partial(run, world, *agents)

    def each() -> None:
        for agent in agents:
            run(world, agent)

    return each


class SystemProcessor(esper.Processor):
    """Runs one system, in a step or to draw; one subclass each, as esper keys by class."""

    def __init__(self, world: Any, call: Call) -> None:
        self.world = world
        self.bound = BoundCall(call, world.layout.agents)
        # one that asks for no agent runs once
        agents: Sequence[int] = world.acting if call.is_per_agent else (NOTHING,)
        self.turns = in_turns(self.bound.run, world, agents)

    def process(self, canvas: Any = None) -> None:
        if canvas is None:
            self.turns()


class RenderingProcessor(SystemProcessor):
    """Draws on the canvas, when there is one."""

    def process(self, canvas: Any = None) -> None:
        if canvas is not None:
            self.bound.run(self.world, canvas.agent, canvas)


class RewardProcessor(SystemProcessor):
    """Adds its term to the step's reward of each agent that takes part.

    Attributes:
        terms: by agent.
    """

    def __init__(self, world: Any, call: Call) -> None:
        super().__init__(world, call)
        self.terms = [0.0] * (world.layout.agents + 1)
        self.playing = world.playing

    def process(self, canvas: Any = None) -> None:
        if canvas is None:
            world, terms = self.world, self.terms
            for agent in self.playing:
                reward = self.bound.run(world, agent)
                try:
                    term = float(reward)
                except (TypeError, ValueError):
                    title = self.bound.call.system.title
                    raise RuleError(f"{title} returned {reward!r}, a reward is a number") from None
                terms[agent] = term
                world.reward[agent] += term


class TerminatingProcessor(SystemProcessor):
    """Ends the episode for an agent when its test is true."""

    def __init__(self, world: Any, call: Call) -> None:
        super().__init__(world, call)
        self._numbers = {id(part): number for number, part in enumerate(call.walk(), 1)}

    def process(self, canvas: Any = None) -> None:
        if canvas is None:
            world = self.world
            for agent in world.playing:
                if self.bound.run(world, agent):
                    world.done[agent] = True
                    world.ended_by[agent] = self._numbers[id(self.bound.cause(agent))]


class EnsurePlaced(esper.Processor):
    """Between transitions and rewards: makes sure that agents stand somewhere."""

    def __init__(self, world: Any) -> None:
        self.turns = in_turns(check_agent_placed, world, world.playing)

    def process(self, canvas: Any = None) -> None:
        if canvas is None:
            self.turns()


_PROCESSORS = {
    REWARD: RewardProcessor,
    TERMINATING: TerminatingProcessor,
    RENDERING: RenderingProcessor,
}


def processor(
    world: Any, call: Call, phase: Phase, kinds: Mapping[Phase, type[SystemProcessor]] = _PROCESSORS
) -> Any:
    """The processor of a call: a `SystemProcessor` of the kind for its phase, or an author's."""
    function: Any = call.system.function
    if not call.system.is_processor:
        base = kinds.get(phase, SystemProcessor)
        return type(call.name, (base,), {})(world, call)

    def process(self: Any, canvas: Any = None) -> None:
        if (canvas is None) == (phase is not RENDERING):
            before = [*world.reward]
            try:
                function.process(self)
            except Exception as error:
                call.system.attach_to_error(error)
                raise
            world.adopt()
            self.terms = [now - was for now, was in zip(world.reward, before, strict=True)]

    guest = type(function.__name__, (function,), {"process": process})
    made = guest(*call.bind_arguments())
    made.world = world
    return made


class BoundScenario:
    """All that a scenario does in one world, phase by phase, in its order.

    Attributes:
        scenario: which one; a mixture has one of these for each of its members.
        share: where its part of [0, 1) ends when a reset draws a member.
        resets, observations, visibility: what runs on demand.
        rewards: those of its processors that are rewards.
        measuring: called before the transitions, of which something is remembered.
        slots: the position of each reward among all of the mixture.
        success: what is true where an episode ends well; None if the scenario does not say.
        answering: asked for the action mask; those that may answer an action.
    """

    def __init__(
        self, scenario: Scenario, world: ObjectWorld, share: float, reward_names: tuple[str, ...]
    ) -> None:
        self.scenario = scenario
        self.share = share
        bind = partial(BoundCall, agents=scenario.layout.agents)
        self.resets = [bind(call) for call in scenario.calls(RESET)]
        self.visibility = bind(scenario.visibility)
        self.observations = [bind(call) for call in scenario.calls(OBSERVATION)]
        self.answering = [
            bound
            for phase in (TRANSITION, REWARD, TERMINATING)
            for bound in map(bind, scenario.calls(phase))
            if bound.can_act
        ]
        self.slots = [reward_names.index(name) for name in scenario.reward_names]
        self.rewards: list[RewardProcessor] = []
        self.measuring: list[Callable[[], None]] = []
        self.success = bind(scenario.success) if scenario.success else None
        self._rules: list[BoundCall] = [self.success] if self.success else []
        self._processors: list[Any] = []
        if self.success and any(part.system.remember for part in self.success.call.walk()):
            self.measuring.append(in_turns(self.success.measure, world, world.playing))
        for phase in (TRANSITION, REWARD, TERMINATING, RENDERING):
            if phase is REWARD:
                self._processors.append(EnsurePlaced(world))
            for call in scenario.calls(phase):
                made = processor(world, call, phase)
                self._processors.append(made)
                if phase is REWARD:
                    self.rewards.append(made)
                if any(part.system.remember for part in call.walk()):
                    self.measuring.append(in_turns(made.bound.measure, world, world.playing))
                if phase is not RENDERING and not call.system.is_processor:
                    self._rules.append(made.bound)

    def enter(self) -> None:
        """Hand the processors to esper, in the context of the moment."""
        for made in self._processors:
            esper.add_processor(made)

    def leave(self) -> None:
        """Take them from there again."""
        for made in self._processors:
            esper.remove_processor(type(made))

    def watch(self, wrap: Wrap) -> None:
        """See `Simulation.watch`."""
        for bound in (*self.resets, *self._rules, self.visibility, *self.observations):
            bound.watch(wrap)


# ---- simulation ----------------------------------------------------------------------------------


class Simulation:
    """Plays a scenario in an object world.

    Attributes:
        scenario: what is played; see `member` for a mixture.
        world: its state; see `ObjectWorld` for reward, flags and components.
        view: what an agent sees at the moment, filled by `observe`.
        agents: their entities, of those too that a member of a mixture has not.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.world = ObjectWorld(scenario.layout)
        self.view = ObjectView(scenario.area)
        self.agents = scenario.layout.everyone
        self.world.context.belong_to(self)
        self._members = [
            BoundScenario(member, self.world, share, scenario.reward_names)
            for member, share in zip(scenario.members, scenario.cumulative_weights, strict=True)
        ]
        self._entered = self._members[0]
        with self.world.context:
            self._entered.enter()

    @property
    def member(self) -> Scenario:
        """The scenario that the world plays; of a mixture, the member which the reset drew."""
        return self._playing.scenario

    @property
    def _playing(self) -> BoundScenario:
        playing = self._members[self.world.member]
        if playing is not self._entered:
            with self.world.context:
                self._entered.leave()
                playing.enter()
            self._entered = playing
        return playing

    def watch(self, wrap: Wrap) -> None:
        """Put something around every function of the scenario, and around its `remember` and
        `when`, but for rendering and processors.
        """
        for member in self._members:
            member.watch(wrap)

    def reset(self, generator: np.random.Generator | None = None) -> None:
        """Draw a new level, from this generator if one is given, else from the world's own."""
        world = self.world
        if generator is not None:
            world.rng = generator
        if len(self._members) > 1:
            world.member = draw_member(world.rng, self._members)
        world.present = len(self.member.sharing.names)
        with world.context:
            world.clear()
            for reset in self._playing.resets:
                for agent in world.agents() if reset.call.is_per_agent else (NOTHING,):
                    reset.run(world, agent)
        self._forget_terms()

    def step(self, *actions: int) -> None:
        """Let the agents act and everything else happen; an episode that is over goes on.

        Args:
            actions: for each agent the number of a `gv_engine.rules.geometry.Action`, not in
                the action space.

        Raises:
            RuleError: a rule is not defined on this world.
        """
        world, playing = self.world, self._playing
        alone = world.is_alone
        if alone:
            (world.action[1],) = actions
            clear_step_results(world, 1)
        else:
            self._arrange(actions, playing.scenario.sharing)
        world.terminated = world.truncated = False
        if world.objects is not None:
            world.objects.before = None
        with world.context:
            for measure in playing.measuring:
                measure()
            esper.process()
            for agent in world.playing:
                if world.done[agent] and playing.success:
                    world.success[agent] = bool(playing.success.run(world, agent))
                world.total[agent] += world.reward[agent]
        scenario = playing.scenario
        world.terminated = (
            world.done[1] if alone else is_episode_over(world, scenario.sharing.ends == ANY)
        )
        world.steps += 1
        limit = scenario.max_steps
        goes_on = not world.terminated or scenario.always_truncates
        world.truncated = limit is not None and world.steps >= limit and goes_on

    def _arrange(self, actions: Sequence[int], sharing: TurnPolicy) -> None:
        """Find out which of several agents take part in a step, and in which order."""
        world = self.world
        for agent, action in zip(self.agents, actions, strict=True):
            world.action[agent] = action
        begin_step(world, sharing.done == LEAVE)
        set_turn_order(world, TURNS.index(sharing.turns))
        there = world.agents()
        world.playing[:] = [agent for agent in there if world.live[agent]]
        world.acting[:] = [
            agent for agent in world.order[: len(there)].tolist() if world.live[agent]
        ]
        self._forget_terms()

    def terms_of(self, agent: int) -> tuple[float, ...]:
        """An agent's reward of the last step, function by function as in the scenario's
        `reward_names`."""
        if len(self._members) == 1:
            return tuple([reward.terms[agent] for reward in self._entered.rewards])
        playing, values = self._playing, [0.0] * len(self.scenario.reward_names)
        for slot, reward in zip(playing.slots, playing.rewards, strict=True):
            values[slot] = reward.terms[agent]
        return tuple(values)

    def set_terms(self, agent: int, values: Iterable[float]) -> None:
        """Make these an agent's terms."""
        playing, given = self._playing, list(values)
        for slot, reward in zip(playing.slots, playing.rewards, strict=True):
            reward.terms[agent] = given[slot]

    def _forget_terms(self) -> None:
        for agent in self.agents:
            self.set_terms(agent, (0.0,) * len(self.scenario.reward_names))

    @property
    def terms(self) -> tuple[float, ...]:
        """Those of the first agent."""
        return self.terms_of(1)

    @terms.setter
    def terms(self, values: Iterable[float]) -> None:
        self.set_terms(1, values)

    def look(self, agent: int = 1) -> ObjectView:
        """Look around as an agent does: fill and return the view."""
        self.view.look(self.world, agent)
        self._playing.visibility.run(self.world, agent, self.view)
        return self.view

    def observe(self, grid: NDArray[np.uint8], item: NDArray[np.uint8], agent: int = 1) -> None:
        """Write an agent's observation into arrays of (h, w, 3) and (3,) uint8; if it has left, or
        is not there, nothing is seen."""
        if self._is_away(agent):
            grid[...], item[...] = (HIDDEN, 0, 0), (NONE_GRID_OBJECT, 0, 0)
            return
        self.look(agent).show(self.world, agent, grid, item)
        for observation in self._entered.observations:
            observation.run(self.world, agent, self.view, (grid, item))

    def _is_away(self, agent: int) -> bool:
        """Whether one of several agents has left, or is not there."""
        return not self.world.is_alone and self.world.position.y[agent] < 0

    def render(
        self,
        show: Callable[[Frame], None],
        observation: NDArray[np.uint8] | None = None,
        message: str = "",
        agent: int = 1,
    ) -> None:
        """Run the rendering systems, which change nothing.

        Args:
            show: takes the finished frame.
            observation: (h, w, 3) uint8 that the agent was shown last; looked for anew if None.
            message: a note for the player.
            agent: whose view is shown.
        """
        if observation is None:
            observation = np.zeros((*self.scenario.area.shape, 3), np.uint8)
            self.observe(observation, np.zeros(3, np.uint8), agent)
        terms = self.terms_of(agent)
        canvas = self.scenario.canvas(self.world, show, observation, terms, message, agent)
        with self.world.context:
            esper.process(canvas)

    def valid_actions(self, mask: NDArray[np.int8], agent: int = 1) -> None:
        """Write 1 for every action that some rule would answer, else 0, into (actions,); 0 for all
        if the agent is away, or done and others are not."""
        world, answering = self.world, self._playing.answering
        if (world.done[agent] and not world.terminated) or self._is_away(agent):
            mask[...] = 0
            return
        mark_answered(answering, world, agent, self.scenario.actions, mask)

    def __reduce__(self) -> tuple[Any, ...]:
        terms = [self.terms_of(agent) for agent in self.agents]
        return _thaw, (self.scenario, self.world.snapshot(), terms)


def _thaw(scenario: Scenario, row: NDArray[Any], terms: list[tuple[float, ...]]) -> Simulation:
    simulation = Simulation(scenario)
    simulation.world.restore(row)
    for agent, values in zip(simulation.agents, terms, strict=True):
        simulation.set_terms(agent, values)
    return simulation
