"""Episodes and scenarios as games know them, whichever domain of worlds they are of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gv_engine.scenario.plugin import DOMAINS, AnyScenario, KeyCommand

if TYPE_CHECKING:
    from gv_engine.rollout.policy import Policy

AND = " | "
"""Between what several agents do at once."""

Seen = tuple[dict[str, NDArray[Any]], dict[str, Any]]
"""(1, …) arrays of an observation by name, and an info whose values have that axis, too."""


class Episode(Protocol):
    """One episode at a time of one scenario, without a window.

    Actions are texts: names in a grid, there of several agents `ann MOVE_FORWARD | bob TOGGLE`,
    where those who are not named wait; a rule and a node in algebra. What a snapshot holds is the
    domain's own business; it stays within the process.
    """

    @property
    def actions(self) -> Sequence[str]:
        """All actions that there are now, in order."""

    @property
    def agents(self) -> Sequence[str]:
        """The names of those who act."""

    controlled: int
    """Which of them a player's actions are for, whose view is shown, too."""
    partners: dict[str, Policy]
    """What acts for some of the others, by their names."""

    def joint(self, action: str) -> str:
        """What all agents do when a player has said what one of them does: others act as their
        policies say, or wait.

        Raises:
            PolicyError: a policy answers with something that is no action.
        """

    def numbers(self, action: str) -> Any:
        """The numbers of `actions` that an action, which is not refused, is made of; (A,) where
        there may be several agents, 0 for those who are done.

        Raises:
            ValueError: somebody waits, which has no number.
        """

    def among(self, action: str, others: str) -> str:
        """What all agents do when a player has said something: those whom it does not name, but for
        the one that is controlled, do as is said for others."""

    @property
    def commands(self) -> tuple[KeyCommand, ...]:
        """What keys do in this level alone."""

    @property
    def wait(self) -> str:
        """The action that lets time pass and does nothing itself; empty if there is none."""

    @property
    def steps(self) -> int:
        """Since the reset."""

    @property
    def reward(self) -> float:
        """Of the last step."""

    @property
    def total(self) -> float:
        """The sum of the rewards since the reset."""

    @property
    def outcome(self) -> str:
        """Empty, `terminated` or `truncated`."""

    @property
    def ending(self) -> str:
        """How it ended, for the player; empty while it goes on."""

    def reset(self, seed: int) -> None:
        """Begin the episode of a seed, the one that an environment gives for it."""

    def refusal(self, action: str) -> str:
        """Why an action is none here, as a sentence for the player; empty if it is one."""

    def step(self, action: str) -> None:
        """Take an action that is not refused."""

    def mask(self) -> Mapping[str, bool]:
        """Whether each of the actions would do something now."""

    def seen(self) -> Seen:
        """The observation and info of the present state, as a vector environment of this world
        alone hands them to a policy; with an axis of agents behind that of worlds, if there may be
        several."""

    def frame(self, message: str) -> Any:
        """The frame of the present state, in a grid a `gv_engine.rules.frame.Frame`."""

    def row(self) -> Any:
        """The state as the domain has it, a () array of `scenario.layout.dtype` in a grid."""

    def become(self, row: Any) -> None:
        """Begin with a state that `row` has returned, maybe in another process.

        Raises:
            ValueError: it is not one of the scenario's.
        """

    def state(self) -> str:
        """16 hexadecimal digits that stand for the whole state, equal in every process."""

    @property
    def sight(self) -> int:
        """A number for what agents are shown beside the state, equal where that is the same."""

    def differences(self, was: Any) -> list[str]:
        """What is different here from another episode of the domain, maybe of another scenario, in
        words, what matters most first; of all but rewards, end and mission."""

    def snapshot(self) -> Any:
        """The whole episode as it is now, small, for `restore`."""

    def restore(self, snapshot: Any) -> None:
        """Become what a snapshot holds; what follows is what would have followed there."""


class Told:
    """Figures of an episode, as its world has them."""

    world: Any
    actions: Any
    controlled = 0
    partners: dict[str, Policy]

    @property
    def agents(self) -> Sequence[str]:
        """The only one."""
        return ("agent",)

    @property
    def sight(self) -> int:
        """The same for all states: they are all there is to be seen."""
        return 0

    @property
    def commands(self) -> tuple[KeyCommand, ...]:
        """None: what keys do is the same in all its levels."""
        return ()

    def joint(self, action: str) -> str:
        """The action itself."""
        return action

    def numbers(self, action: str) -> Any:
        """That of the action; see `gv_engine.session.episode.Episode`."""
        return [*self.actions].index(action)

    def among(self, action: str, others: str) -> str:
        """The action itself."""
        return action

    @property
    def steps(self) -> int:
        """Since the reset."""
        return int(self.world.steps)

    @property
    def reward(self) -> float:
        """Of the last step."""
        return float(self.world.reward)

    @property
    def total(self) -> float:
        """The sum of the rewards since the reset."""
        return float(self.world.total)

    @property
    def outcome(self) -> str:
        """Empty, `terminated` or `truncated`."""
        return "terminated" if self.world.terminated else "truncated" * bool(self.world.truncated)


def of_one_world(observation: Mapping[str, Any], info: Mapping[str, Any]) -> Seen:
    """What an environment hands out, with an axis for its one world."""
    return (
        {name: np.asarray(array)[None] for name, array in observation.items()},
        {
            name: of_one_world(told, {})[0] if isinstance(told, Mapping) else np.asarray(told)[None]
            for name, told in info.items()
        },
    )


class Playable(AnyScenario, Protocol):
    """A scenario of any domain, with its files."""

    @property
    def source(self) -> Path | None:
        """The file it comes from."""

    def watched_files(self) -> Sequence[Path]:
        """The files that it was made of and those that could become part of it."""

    def reload(self) -> Playable:
        """The same scenario as its files say it now.

        Raises:
            ScenarioError: all that is wrong with them.
        """


def episode_of(scenario: AnyScenario) -> Episode:
    """Something to play a scenario in, before its first reset."""
    made: Episode = resolve_name(DOMAINS[scenario.domain].episode)(scenario)
    return made
