"""One object world and its schedule: esper's processors, phase by phase, in scenario order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import esper
import numpy as np
from numpy.typing import NDArray

from gv_engine.bound_call import BoundCall
from gv_engine.canvas import Canvas
from gv_engine.errors import RuleError
from gv_engine.frame import Frame
from gv_engine.system import (
    OBSERVATION,
    RENDERING,
    RESET,
    REWARD,
    TERMINATING,
    TRANSITION,
    Call,
    Phase,
    System,
    marked,
)
from gv_engine.verbs import stands_somewhere
from gv_engine.view import View
from gv_engine.world import AGENT, World
from systems.rendering import draw_state_and_observation

if TYPE_CHECKING:
    from gv_engine.scenario import Scenario


class SystemProcessor(esper.Processor):
    """Runs one system when its phase is processed; one subclass each, as esper keys by class."""

    phase: Phase

    def __init__(self, world: World, call: Call) -> None:
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

    def process(self, phase: Phase) -> None:
        if phase is TERMINATING and self.bound.run():
            self.world.terminated = True


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


_DEFAULTS = {RENDERING: (Call(marked(draw_state_and_observation).system, {}),)}


def _processor(world: World, call: Call, phase: Phase) -> esper.Processor:
    function: Any = call.system.function
    if not call.system.is_processor:
        base = _PROCESSORS.get(phase, SystemProcessor)
        return type(call.name, (base,), {"phase": phase})(world, call)  # type: ignore[no-any-return]

    def process(self: Any, current: Phase) -> None:
        if current is phase:
            before = world.reward
            function.process(self)
            world.adopt()
            self.term = world.reward - before

    guest = type(function.__name__, (function,), {"process": process})
    processor = guest(*call.bound())
    processor.world = world
    return processor  # type: ignore[no-any-return]


class Simulation:
    """Plays a scenario in an object world.

    Attributes:
        scenario: what is played.
        world: its state; see `World` for reward, flags and components.
        view: what the agent sees at the moment, filled by `observe`.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.world = World(scenario.layout)
        self.view = View(scenario.area)
        self._rewards: list[RewardProcessor] = []
        self._rendering: list[RenderingProcessor] = []
        self._rules: list[BoundCall] = []
        self._measuring: list[Any] = []
        self._resets = [BoundCall(call, self.world) for call in scenario.calls(RESET)]
        self._visibility = BoundCall(scenario.visibility, self.world)
        self._observations = [BoundCall(call, self.world) for call in scenario.calls(OBSERVATION)]
        self._valid = [
            (part.system.valid, part.bound(part.system.valid) if part.system.valid else ())
            for call in scenario.calls(TRANSITION)
            for part in call.parts()
        ]
        self.world.context.belong_to(self)
        with self.world.context:
            for phase in (TRANSITION, REWARD, TERMINATING, RENDERING):
                for call in scenario.calls(phase) or _DEFAULTS.get(phase, ()):
                    processor: Any = _processor(self.world, call, phase)
                    esper.add_processor(processor)
                    if phase is REWARD:
                        self._rewards.append(processor)
                    if any(part.system.remember for part in call.parts()):
                        self._measuring.append(processor)
                    if phase is not RENDERING and not call.system.is_processor:
                        self._rules.append(processor.bound)
                    if phase is RENDERING:
                        self._rendering.append(processor)

    def watch(self, wrap: Callable[[System, Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put something around every function of the scenario, but for rendering and processors.

        Args:
            wrap: takes the system and its function, returns what is called instead.
        """
        for bound in (*self._resets, *self._rules, self._visibility, *self._observations):
            bound.watch(wrap)

    def reset(self, generator: np.random.Generator | None = None) -> None:
        """Draw a new level, from this generator if one is given, else from the world's own."""
        world = self.world
        if generator is not None:
            world.rng = generator
        with world.context:
            world.clear()
            for reset in self._resets:
                reset.run()
        self.terms = (0.0,) * len(self._rewards)

    def step(self, action: int) -> None:
        """Let the agent act and everything else happen; an episode that is over goes on.

        Args:
            action: number in `gv_engine.geometry.ACTIONS`, not in the scenario's action space.

        Raises:
            RuleError: a rule is not defined on this world.
        """
        world = self.world
        world.action = action
        world.reward = 0.0
        world.terminated = False
        if world.objects is not None:
            world.objects.before = None
        with world.context:
            for processor in self._measuring:
                processor.measure()
            esper.process(TRANSITION)
            stands_somewhere(world, AGENT)
            esper.process(REWARD)
            esper.process(TERMINATING)
        world.steps += 1
        world.total += world.reward
        limit = self.scenario.max_steps
        world.truncated = limit is not None and world.steps >= limit and not world.terminated

    @property
    def terms(self) -> tuple[float, ...]:
        """The reward of the last step, function by function in the scenario's order."""
        return tuple(reward.term for reward in self._rewards)

    @terms.setter
    def terms(self, values: Iterable[float]) -> None:
        for reward, term in zip(self._rewards, values, strict=True):
            reward.term = term

    def look(self) -> View:
        """Look around: fill and return the view."""
        self.view.look(self.world, AGENT)
        self._visibility.run(self.view)
        return self.view

    def observe(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        """Write the agent's observation into arrays of (h, w, 3) and (3,) uint8."""
        self.look().show(self.world, AGENT, grid, item)
        for observation in self._observations:
            observation.run(self.view, (grid, item))

    def render(
        self,
        show: Callable[[Frame], None],
        observation: NDArray[np.uint8] | None = None,
        message: str = "",
    ) -> None:
        """Run the rendering systems, which change nothing.

        Args:
            show: takes the finished frame.
            observation: (h, w, 3) uint8 that the agent was shown last; looked for anew if None.
            message: a note for the player.
        """
        if observation is None:
            observation = np.zeros((*self.scenario.area.shape, 3), np.uint8)
            self.observe(observation, np.zeros(3, np.uint8))
        canvas = Canvas(show, self.scenario, self.view, observation, self.terms, message)
        with self.world.context:
            for processor in self._rendering:
                processor.canvas = canvas
            esper.process(RENDERING)
            for processor in self._rendering:
                processor.canvas = None

    def valid_actions(self, mask: NDArray[np.int8]) -> None:
        """Write 1 for every action that some transition would act on, else 0, into (actions,)."""
        for position, action in enumerate(self.scenario.actions):
            mask[position] = 0
            for valid, arguments in self._valid:
                if valid is None or valid(self.world, AGENT, action, *arguments):
                    mask[position] = 1
                    break

    def __reduce__(self) -> tuple[Any, ...]:
        return _thaw, (self.scenario, self.world.snapshot(), self.terms)


def _thaw(scenario: Scenario, row: NDArray[Any], terms: tuple[float, ...]) -> Simulation:
    simulation = Simulation(scenario)
    simulation.world.restore(row)
    simulation.terms = terms
    return simulation
