"""What each action would do and pay, tried on a copy of the world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import NDArray

from gv_engine.language.component import AGENT, NOTHING
from gv_engine.language.errors import Stopped
from gv_engine.language.geometry import ORIENTATIONS, named_action
from gv_engine.reading.rule_files import failure
from gv_engine.reading.text import object_words
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
            effects = tuple(_differences(self._before.world, world))
            ending = self._scenario.ending(world, AGENT)
            return Outcome(effects, float(world.reward[AGENT]), terms, ending)
        except (Exception, Stopped) as error:  # whatever an author's rule may raise
            return Outcome((), 0.0, {}, "", str(failure(error)))


def _differences(before: Any, after: Any) -> Iterator[str]:
    """What is different in a world, in words; the agent first."""
    was, now = (_place(world, AGENT) for world in (before, after))
    if was != now:
        yield f"goes to row {now[0]}, column {now[1]}"
    if before.agent.facing[AGENT] != after.agent.facing[AGENT]:
        yield f"looks {ORIENTATIONS[after.agent.facing[AGENT]].lower()}"
    held = [world.agent.holding[AGENT] for world in (before, after)]
    if held[0] != held[1]:
        taken = held[1] not in (NOTHING, AGENT)
        yield f"takes the {_words(after, held[1])}" if taken else "puts down what it holds"
    for e in range(AGENT + 1, after.capacity):
        if e not in held or before.alive[e] != after.alive[e]:
            yield from _change(before, after, e)


def _change(before: Any, after: Any, e: int) -> Iterator[str]:
    """What has become of a thing."""
    if not (before.alive[e] and after.alive[e]):
        if before.alive[e]:
            yield f"the {_words(before, e)} is gone"
        elif after.alive[e]:
            yield f"a {_words(after, e)} appears"
        return
    if before.appearance(e) != after.appearance(e):
        yield f"the {_words(before, e)} becomes a {_words(after, e)}"
    if _place(before, e) != (place := _place(after, e)):
        yield f"the {_words(after, e)} goes to row {place[0]}, column {place[1]}"


def _place(world: Any, e: int) -> tuple[int, int]:
    return world.position.y[e], world.position.x[e]


def _words(world: Any, e: int) -> str:
    return object_words(world.layout.known, *world.appearance(e))
