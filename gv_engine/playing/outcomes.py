"""What each action would do and pay, tried on a copy of the world."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from gv_engine.language.component import AGENT
from gv_engine.language.errors import Stopped
from gv_engine.language.geometry import named_action
from gv_engine.playing.changes import BEING, FACING, HELD, LOOK, PLACE, Change, changes
from gv_engine.reading.rule_files import failure
from gv_engine.worlds.simulation import Simulation

if TYPE_CHECKING:
    from gv_engine.reading.scenario import Scenario


class Outcome(NamedTuple):
    """What an action would bring.

    Attributes:
        effects: what would be different, in words.
        reward: all of it.
        terms: the reward by rule, without those that give nothing.
        ending: how the episode would end; empty if it would go on.
        problem: which rule would fail; then the rest says nothing.
    """

    effects: tuple[str, ...]
    reward: float
    terms: Mapping[str, float]
    ending: str
    problem: str = ""


class Trial:
    """Tries actions in worlds of a scenario, on copies; what is drawn is what would be drawn.

    Args:
        scenario: whose worlds they are.
    """

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario
        self._before, self._after = Simulation(scenario), Simulation(scenario)

    def outcomes(self, row: NDArray[Any]) -> dict[str, Outcome]:
        """The outcome of each of the scenario's actions in the world of a () row, by name."""
        self._before.world.restore(row)
        return {action: self._outcome(action, row) for action in self._scenario.action_names}

    def _outcome(self, action: str, row: NDArray[Any]) -> Outcome:
        simulation, world = self._after, self._after.world
        try:
            world.restore(row)
            simulation.step(named_action(action))
            names = self._scenario.reward_names
            terms = {n: v for n, v in zip(names, simulation.terms, strict=True) if v}
            effects = tuple(map(_effect, changes(self._before.world, world)))
            ending = self._scenario.ending(world, AGENT)
            return Outcome(effects, float(world.reward[AGENT]), terms, ending)
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            return Outcome((), 0.0, {}, "", str(failure(error)))


def _effect(change: Change) -> str:
    """What an action does, in words."""
    entity, thing, aspect, was, now = change
    of = "" if entity == AGENT else f"the {thing} "
    if aspect == PLACE:
        return f"{of}goes to {now}" if now else f"{of}leaves the grid"
    if aspect == FACING:
        return f"looks {now}"
    if aspect == HELD:
        return f"takes the {now}" if now else "puts down what it holds"
    if aspect == BEING:
        return f"a {now} appears" if now else f"the {was} is gone"
    if aspect == LOOK:
        return f"the {was} becomes a {now}"
    if "." not in aspect:
        return f"{of}{'gets' if now else 'loses'} {aspect}"
    return f"{of}{aspect} becomes {now}, was {was}"
