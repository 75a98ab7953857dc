"""One object world and its schedule: esper's processors, phase by phase, in scenario order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import esper
import numpy as np
from numpy.typing import NDArray

from components.appearance import HIDDEN, NONE_GRID_OBJECT
from gv_engine.language.component import NOTHING
from gv_engine.language.frame import Frame
from gv_engine.language.turns import ANY, LEAVE, TURNS, Sharing, arrange, forget, is_over, prepare
from gv_engine.worlds.bound_call import Wrap, mark_answered
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
        world.present = len(self.member.sharing.names)
        with world.context:
            world.clear()
            for reset in self._playing.resets:
                for agent in world.agents() if reset.call.is_an_agents else (NOTHING,):
                    reset.run(world, agent)
        self._forget_terms()

    def step(self, *actions: int) -> None:
        """Let the agents act and everything else happen; an episode that is over goes on.

        Args:
            actions: for each agent the number of a `gv_engine.language.geometry.Action`, not in
                the action space.

        Raises:
            RuleError: a rule is not defined on this world.
        """
        world, playing = self.world, self._playing
        alone = world.is_alone
        if alone:
            (world.action[1],) = actions
            forget(world, 1)
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
        world.terminated = world.done[1] if alone else is_over(world, scenario.sharing.ends == ANY)
        world.steps += 1
        limit = scenario.max_steps
        goes_on = not world.terminated or scenario.always_truncates
        world.truncated = limit is not None and world.steps >= limit and goes_on

    def _arrange(self, actions: Sequence[int], sharing: Sharing) -> None:
        """Find out which of several agents take part in a step, and in which order."""
        world = self.world
        for agent, action in zip(self.agents, actions, strict=True):
            world.action[agent] = action
        prepare(world, sharing.done == LEAVE)
        arrange(world, TURNS.index(sharing.turns))
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
