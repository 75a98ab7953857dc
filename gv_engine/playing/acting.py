"""Agents that act in games: what one would do now, whichever way the game has come there."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gv_engine.language.errors import GVEngineError
from gv_engine.playing.episode import Seen
from gv_engine.playing.game import Game
from gv_engine.reading.families import hooks_of
from gv_engine.reading.rule_files import failure
from gv_engine.rollouts.policy import SOLVER as SOLVER
from gv_engine.rollouts.policy import load_policies


class ActorError(GVEngineError):
    """An actor knows nothing to do."""


class Choice(NamedTuple):
    """What an actor would do."""

    action: str
    chances: Mapping[str, float]
    """How likely each action was; empty where that is not told."""


class Actor(Protocol):
    """Acts in a game as long as nobody else does.

    Attributes:
        name: of it, for people.
    """

    name: str

    def choose(self, game: Game) -> Choice | None:
        """What it would do in the present state of the game; None while it thinks. The same every
        time that the game comes there on the same way.

        Raises:
            GVEngineError: it knows nothing to do here; the message says why.
        """

    def close(self) -> None:
        """It acts no more."""


class PolicyActor:
    """A policy as it acts in a rollout: in the game of seed S as in episode 0 with that seed. Where
    there are several agents, it acts for all of them.

    Whoever else has acted before, it has seen all that happened, and drawn for every step.

    Args:
        game: that it is to act in, or another one of the same scenario.
        named: the policy, see `gv_engine.rollouts.policy.load_policy`.

    Raises:
        PolicyError: there is no such policy.
    """

    def __init__(self, game: Game, named: str) -> None:
        self.name = named
        self._num_actions = game.seen()[1]["action_mask"].shape[-1]
        self._policy = load_policies(named, game.scenario, 1, self._num_actions, more=[SOLVER])
        self._way: list[str] = []
        self._seen: list[Seen] = []
        self._choices: list[Choice] = []

    def choose(self, game: Game) -> Choice:
        """What it would do; see `Actor.choose`."""
        way = game.way()
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(way, self._way)))
        if shared < len(way):
            if shared < len(self._way) or not shared:
                self._begin_again(game.seed, shared)
            self._look_on(game, way)
        return self._choices[game.position]

    def close(self) -> None:
        """It acts no more."""

    def _begin_again(self, seed: int, shared: int) -> None:
        """Be as it was after so many of the states that it has seen."""
        del self._way[shared:], self._seen[shared:], self._choices[shared:]
        self._policy.begin([0], seed, [0])
        for seen in self._seen:
            self._act(seen)

    def _look_on(self, game: Game, way: tuple[str, ...]) -> None:
        """See the states from the last one that it knows to the present one."""
        position, message = game.position, game.message
        for number in range(len(self._way), len(way)):
            if number != game.position:
                game.seek(number)
            seen = game.seen()
            action = game.action_of(self._act(seen))
            chances = self._policy.chances
            told = () if chances is None else zip(game.actions, chances[0].tolist())
            self._choices.append(Choice(action, dict(told)))
            self._seen.append(seen)
            self._way.append(way[number])
        if game.position != position:
            game.seek(position)
        game.message = message

    def _act(self, seen: Seen) -> NDArray[np.int64]:
        try:
            chosen: NDArray[np.int64] = self._policy.act(*seen)[0]
        except GVEngineError:
            raise
        except Exception as error:  # whatever a policy of one's own may raise
            raise failure(error) from error
        return chosen


class Way(NamedTuple):
    """A way to win from a state."""

    actions: tuple[str, ...]
    """The first ones at least; () if none was found."""
    says: str
    """Why there is none; or what there is to say of it."""


class Adviser(Protocol):
    """Finds ways to win games of one scenario, while these go on."""

    def ask(self, game: Game) -> None:
        """Look for a way from the present state; what was asked before is forgotten."""

    def answer(self) -> Way | None:
        """What was found, once; None as long as it is looked for."""

    def close(self) -> None:
        """Ask no more."""


class SolverActor:
    """Goes a shortest way from wherever the game is.

    Args:
        adviser: which finds it.
    """

    name = SOLVER

    def __init__(self, adviser: Adviser) -> None:
        self._adviser = adviser
        self._ways: dict[str, Way] = {}  # by digest of the state
        self._asked = ""

    def way(self, game: Game) -> Way | None:
        """The way from the present state; None while it is looked for."""
        *_, before, state = ("", *game.way())
        action = game.taken[-1].action if game.taken else ""
        known = self._ways.get(before, Way((), ""))
        if known.actions[1:] and known.actions[0] == action:
            self._ways.setdefault(state, Way(known.actions[1:], ""))
        if state not in self._ways:
            if self._asked != state:
                self._adviser.ask(game)
                self._asked = state
            if (found := self._adviser.answer()) is None:
                return None
            self._ways[state] = found
        return self._ways[state]

    def choose(self, game: Game) -> Choice | None:
        """The next step of the way; see `Actor.choose`."""
        way = self.way(game)
        if way is None:
            return None
        if not way.actions:
            raise ActorError(way.says)
        return Choice(way.actions[0], {})

    def close(self) -> None:
        """Ask no more."""
        self._adviser.close()


def actor_of(game: Game, named: str) -> Actor:
    """An actor by name.

    Args:
        game: that it is to act in.
        named: `solver`, or a policy, see `gv_engine.rollouts.policy.load_policy`.

    Raises:
        PolicyError: there is none of that name.
    """
    if named == SOLVER:
        return SolverActor(hooks_of(game.scenario).adviser(game.scenario))
    return PolicyActor(game, named)
