"""One object world and its schedule: esper's processors, phase by phase, in scenario order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import esper
import numpy as np
from numpy.typing import NDArray

from gv_engine.language.component import AGENT
from gv_engine.language.frame import Frame
from gv_engine.worlds.bound_call import Wrap, answered
from gv_engine.worlds.bound_scenario import BoundScenario
from gv_engine.worlds.rng import draw_member
from gv_engine.worlds.view import ObjectView
from gv_engine.worlds.world import ObjectWorld

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


class Simulation:
    """Plays a scenario in an object world.

    Attributes:
        scenario: what is played; see `member` for a mixture.
        world: its state; see `ObjectWorld` for reward, flags and components.
        view: what the agent sees at the moment, filled by `observe`.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.world = ObjectWorld(scenario.layout)
        self.view = ObjectView(scenario.area)
        self.world.context.belong_to(self)
        self._members = [
            BoundScenario(member, self.world, share, scenario.reward_names)
            for member, share in zip(scenario.members, scenario.shares, strict=True)
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
        with world.context:
            world.clear()
            for reset in self._playing.resets:
                reset.run(world)
        self.terms = (0.0,) * len(self.scenario.reward_names)

    def step(self, action: int) -> None:
        """Let the agent act and everything else happen; an episode that is over goes on.

        Args:
            action: number of a `gv_engine.language.geometry.Action`, not in the action space.

        Raises:
            RuleError: a rule is not defined on this world.
        """
        world, playing = self.world, self._playing
        world.action = action
        world.reward = 0.0
        world.terminated = world.truncated = world.success = False
        world.ended_by = 0
        if world.objects is not None:
            world.objects.before = None
        with world.context:
            for measure in playing.measuring:
                measure()
            esper.process()
            if world.terminated and playing.success:
                world.success = bool(playing.success.run(world))
        world.steps += 1
        world.total += world.reward
        limit = playing.scenario.max_steps
        world.truncated = limit is not None and world.steps >= limit and not world.terminated

    @property
    def terms(self) -> tuple[float, ...]:
        """The reward of the last step, function by function as in the scenario's `reward_names`."""
        playing = self._playing
        if len(self._members) == 1:
            return tuple([reward.term for reward in playing.rewards])
        values = [0.0] * len(self.scenario.reward_names)
        for slot, reward in zip(playing.slots, playing.rewards, strict=True):
            values[slot] = reward.term
        return tuple(values)

    @terms.setter
    def terms(self, values: Iterable[float]) -> None:
        playing, given = self._playing, list(values)
        for slot, reward in zip(playing.slots, playing.rewards, strict=True):
            reward.term = given[slot]

    def look(self) -> ObjectView:
        """Look around: fill and return the view."""
        self.view.look(self.world, AGENT)
        self._playing.visibility.run(self.world, self.view)
        return self.view

    def observe(self, grid: NDArray[np.uint8], item: NDArray[np.uint8]) -> None:
        """Write the agent's observation into arrays of (h, w, 3) and (3,) uint8."""
        self.look().show(self.world, AGENT, grid, item)
        for observation in self._playing.observations:
            observation.run(self.world, self.view, (grid, item))

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
        canvas = self.scenario.canvas(self.world, show, observation, self.terms, message)
        with self.world.context:
            esper.process(canvas)

    def valid_actions(self, mask: NDArray[np.int8]) -> None:
        """Write 1 for every action that some transition would act on, else 0, into (actions,)."""
        transitions = self._playing.transitions
        for position, action in enumerate(self.scenario.actions):
            mask[position] = answered(transitions, self.world, action)

    def __reduce__(self) -> tuple[Any, ...]:
        return _thaw, (self.scenario, self.world.snapshot(), self.terms)


def _thaw(scenario: Scenario, row: NDArray[Any], terms: tuple[float, ...]) -> Simulation:
    simulation = Simulation(scenario)
    simulation.world.restore(row)
    simulation.terms = terms
    return simulation
