"""A scenario tied to an object world: its systems with their arguments, as esper's processors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import esper

from gv_engine.language.call import Call
from gv_engine.language.component import NOTHING
from gv_engine.language.errors import RuleError
from gv_engine.language.system import (
    OBSERVATION,
    RENDERING,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    Phase,
)
from gv_engine.language.world import stands_somewhere
from gv_engine.worlds.bound_call import BoundCall, Wrap
from gv_engine.worlds.world import ObjectWorld

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


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
        agents: Sequence[int] = world.acting if call.is_an_agents else (NOTHING,)
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
        self._numbers = {id(part): number for number, part in enumerate(call.parts(), 1)}

    def process(self, canvas: Any = None) -> None:
        if canvas is None:
            world = self.world
            for agent in world.playing:
                if self.bound.run(world, agent):
                    world.done[agent] = True
                    world.ended_by[agent] = self._numbers[id(self.bound.cause(agent))]


class Standing(esper.Processor):
    """Between transitions and rewards: makes sure that agents stand somewhere."""

    def __init__(self, world: Any) -> None:
        self.turns = in_turns(stands_somewhere, world, world.playing)

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
                call.system.blame(error)
                raise
            world.adopt()
            self.terms = [now - was for now, was in zip(world.reward, before, strict=True)]

    guest = type(function.__name__, (function,), {"process": process})
    made = guest(*call.bound())
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
        if self.success and any(part.system.remember for part in self.success.call.parts()):
            self.measuring.append(in_turns(self.success.measure, world, world.playing))
        for phase in (TRANSITION, REWARD, TERMINATING, RENDERING):
            if phase is REWARD:
                self._processors.append(Standing(world))
            for call in scenario.calls(phase):
                made = processor(world, call, phase)
                self._processors.append(made)
                if phase is REWARD:
                    self.rewards.append(made)
                if any(part.system.remember for part in call.parts()):
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
