"""A scenario tied to an object world: its systems with their arguments, as esper's processors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import esper

from gv_engine.language.errors import RuleError
from gv_engine.language.system import (
    OBSERVATION,
    RENDERING,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    Call,
    Phase,
    System,
)
from gv_engine.worlds.bound_call import BoundCall
from gv_engine.worlds.canvas import Canvas
from gv_engine.worlds.world import ObjectWorld

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


class SystemProcessor(esper.Processor):
    """Runs one system when its phase is processed; one subclass each, as esper keys by class."""

    phase: Phase

    def __init__(self, world: ObjectWorld, call: Call) -> None:
        self.world = world
        self.system = call.system
        self.bound = BoundCall(call, world)
        self.measure = self.bound.measure

    def process(self, phase: Phase) -> None:
        if phase is self.phase:
            self.bound.run()


class RewardProcessor(SystemProcessor):
    """Adds its term to the step's reward."""

    term = 0.0

    def process(self, phase: Phase) -> None:
        if phase is REWARD:
            reward = self.bound.run()
            try:
                self.term = float(reward)
            except (TypeError, ValueError):
                file, line = self.system.place
                raise RuleError(
                    f"{self.system.name} ({file}:{line}) returned {reward!r}, a reward is a number"
                ) from None
            self.world.reward += self.term


class TerminatingProcessor(SystemProcessor):
    """Ends the episode when its test is true."""

    def __init__(self, world: ObjectWorld, call: Call) -> None:
        super().__init__(world, call)
        self._numbers = {id(part): number for number, part in enumerate(call.parts(), 1)}

    def process(self, phase: Phase) -> None:
        if phase is TERMINATING and self.bound.run():
            self.world.terminated = True
            self.world.ended_by = self._numbers[id(self.bound.cause())]


class RenderingProcessor(SystemProcessor):
    """Draws on the canvas of the moment."""

    canvas: Canvas | None = None

    def process(self, phase: Phase) -> None:
        if phase is RENDERING:
            self.bound.run(self.canvas)


_PROCESSORS = {
    RENDERING: RenderingProcessor,
    REWARD: RewardProcessor,
    TERMINATING: TerminatingProcessor,
}


def _processor(world: ObjectWorld, call: Call, phase: Phase) -> esper.Processor:
    function: Any = call.system.function
    if not call.system.is_processor:
        base = _PROCESSORS.get(phase, SystemProcessor)
        return type(call.name, (base,), {"phase": phase})(world, call)  # type: ignore[no-any-return]

    def process(self: Any, current: Phase) -> None:
        if current is phase:
            before = world.reward
            try:
                function.process(self)
            except Exception as error:
                call.system.blame(error)
                raise
            world.adopt()
            self.term = world.reward - before

    guest = type(function.__name__, (function,), {"process": process})
    processor = guest(*call.bound())
    processor.world = world
    return processor  # type: ignore[no-any-return]


class BoundScenario:
    """All that a scenario does in one world, phase by phase, in its order.

    Attributes:
        scenario: which one; a mixture has one of these for each of its members.
        share: where its part of [0, 1) ends when a reset draws a member.
        resets, observations, visibility: what runs on demand.
        rewards, rendering: those of its processors that are rewards, and that draw.
        measuring: what remembers something from before the transitions.
        slots: the position of each reward among all of the mixture.
        success: what is true where an episode ends well; None if the scenario does not say.
        transitions: asked for the action mask.
    """

    def __init__(
        self, scenario: Scenario, world: ObjectWorld, share: float, reward_names: tuple[str, ...]
    ) -> None:
        self.scenario = scenario
        self.share = share
        self.resets = [BoundCall(call, world) for call in scenario.calls(RESET)]
        self.visibility = BoundCall(scenario.visibility, world)
        self.observations = [BoundCall(call, world) for call in scenario.calls(OBSERVATION)]
        self.transitions = [BoundCall(call, world) for call in scenario.calls(TRANSITION)]
        self.slots = [reward_names.index(name) for name in scenario.reward_names]
        self.rewards: list[RewardProcessor] = []
        self.rendering: list[RenderingProcessor] = []
        self.measuring: list[Any] = []
        self.success = BoundCall(scenario.success, world) if scenario.success else None
        self._rules: list[BoundCall] = [self.success] if self.success else []
        self._processors: list[Any] = []
        if self.success and any(part.system.remember for part in self.success.call.parts()):
            self.measuring.append(self.success)
        for phase in (TRANSITION, REWARD, TERMINATING, RENDERING):
            for call in scenario.calls(phase):
                processor: Any = _processor(world, call, phase)
                self._processors.append(processor)
                if phase is REWARD:
                    self.rewards.append(processor)
                if any(part.system.remember for part in call.parts()):
                    self.measuring.append(processor)
                if phase is not RENDERING and not call.system.is_processor:
                    self._rules.append(processor.bound)
                if phase is RENDERING:
                    self.rendering.append(processor)

    def enter(self) -> None:
        """Hand the processors to esper, in the context of the moment."""
        for processor in self._processors:
            esper.add_processor(processor)

    def leave(self) -> None:
        """Take them from there again."""
        for processor in self._processors:
            esper.remove_processor(type(processor))

    def watch(self, wrap: Callable[[System, Callable[..., Any]], Callable[..., Any]]) -> None:
        """See `Simulation.watch`."""
        for bound in (*self.resets, *self._rules, self.visibility, *self.observations):
            bound.watch(wrap)
