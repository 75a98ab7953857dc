"""Races: somebody else's game of the same level, step by step beside one's own."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from gv_engine.rollout.policy import SOLVER as SOLVER
from gv_engine.rollout.policy import load_policies
from gv_engine.rules.errors import GVEngineError
from gv_engine.scenario.map import format_reward
from gv_engine.scenario.plugin import get_plugin
from gv_engine.scenario.rule_modules import make_rule_error
from gv_engine.session.episode import Seen
from gv_engine.session.replay import SUFFIX, Replay, ReplayError
from gv_engine.session.session import Session

# ---- acting --------------------------------------------------------------------------------------


class ActorError(GVEngineError):
    """An actor knows nothing to do."""


class Choice(NamedTuple):
    """What an actor would do."""

    action: str
    chances: Mapping[str, float]
    """How likely each action was; empty where that is not told."""


class Autoplayer(Protocol):
    """Acts in a game as long as nobody else does.

    Attributes:
        name: of it, for people.
    """

    name: str

    def choose(self, game: Session) -> Choice | None:
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
        named: the policy, see `gv_engine.rollout.policy.load_policy`.

    Raises:
        PolicyError: there is no such policy.
    """

    def __init__(self, game: Session, named: str) -> None:
        self.name = named
        self._num_actions = game.seen()[1]["action_mask"].shape[-1]
        self._policy = load_policies(named, game.scenario, 1, self._num_actions, more=[SOLVER])
        self._way: list[str] = []
        self._seen: list[Seen] = []
        self._choices: list[Choice] = []

    def choose(self, game: Session) -> Choice:
        """What it would do; see `Autoplayer.choose`."""
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

    def _look_on(self, game: Session, way: tuple[str, ...]) -> None:
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
            raise make_rule_error(error) from error
        return chosen


class Way(NamedTuple):
    """A way to win from a state."""

    actions: tuple[str, ...]
    """The first ones at least; () if none was found."""
    says: str
    """Why there is none; or what there is to say of it."""


class HintProvider(Protocol):
    """Finds ways to win games of one scenario, while these go on."""

    def ask(self, game: Session) -> None:
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

    def __init__(self, adviser: HintProvider) -> None:
        self._adviser = adviser
        self._ways: dict[str, Way] = {}  # by digest of the state
        self._asked = ""

    def way(self, game: Session) -> Way | None:
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

    def choose(self, game: Session) -> Choice | None:
        """The next step of the way; see `Autoplayer.choose`."""
        way = self.way(game)
        if way is None:
            return None
        if not way.actions:
            raise ActorError(way.says)
        return Choice(way.actions[0], {})

    def close(self) -> None:
        """Ask no more."""
        self._adviser.close()


def actor_of(game: Session, named: str) -> Autoplayer:
    """An actor by name.

    Args:
        game: that it is to act in.
        named: `solver`, or a policy, see `gv_engine.rollout.policy.load_policy`.

    Raises:
        PolicyError: there is none of that name.
    """
    if named == SOLVER:
        return SolverActor(get_plugin(game.scenario).make_hint_provider(game.scenario))
    return PolicyActor(game, named)


# ---- racing --------------------------------------------------------------------------------------


class Opponent:
    """The game of somebody else, which is always as many steps old as one's own.

    Args:
        name: of whoever plays it.
        game: what was played so far; no one else takes steps in it.
        actor: who goes on with it; None if it is as long as it is.

    Attributes:
        name, game: the same.
    """

    def __init__(self, name: str, game: Session, actor: Autoplayer | None = None) -> None:
        self.name, self.game = name, game
        self._actor = actor

    @classmethod
    def named(cls, named: str, own: Session) -> Opponent:
        """A rival for the level of one's own game.

        Args:
            named: the file of a replay, or an agent, see `actor_of`.
            own: the game.

        Raises:
            GVEngineError: there is no such agent, or the replay is of another level.
            OSError: the file cannot be read.
        """
        file = Path(named)
        if file.suffix == SUFFIX:
            replay = Replay.load(file)
            if replay.seed != own.seed:
                raise ReplayError(
                    f"{file} is of seed {replay.seed}, and here is {own.seed}: race it on its own"
                )
            return cls(file.stem, Session.of(replay, own.scenario))
        game = Session(own.scenario, own.seed)
        return cls(named, game, actor_of(game, named))

    @property
    def is_over(self) -> bool:
        """Whether it is at its end, and nobody goes on."""
        game = self.game
        over = bool(game.taken and game.taken[-1].outcome)
        return game.position == game.length and (over or self._actor is None)

    def go_to(self, steps: int) -> bool:
        """Be as it is after so many steps, or at its end; False if somebody thinks about a step.

        Raises:
            GVEngineError: the actor knows nothing to do.
        """
        game = self.game
        if game.position > steps or game.length >= steps:
            game.seek(min(steps, game.length))
        while game.position < steps and not self.is_over:
            if game.position < game.length:
                game.redo()
                continue
            assert self._actor is not None  # or it was over
            if (choice := self._actor.choose(game)) is None:
                return False
            before = game.position
            game.step(choice.action)
            if game.position == before:
                raise ActorError(game.message)  # it would be refused again
        return True

    def close(self) -> None:
        """Nobody goes on with it."""
        if self._actor is not None:
            self._actor.close()

    def begins_again(self, own: Session) -> bool:
        """Play the level that one's own game has now, if it is another; False if it cannot."""
        if (own.seed, own.scenario) == (self.game.seed, self.game.scenario):
            return True
        if self._actor is None or own.scenario is not self.game.scenario:
            return False
        self.game = Session(own.scenario, own.seed)
        return True


def standing(name: str, game: Session) -> str:
    """How a game stands, in a line."""
    total = format_reward(sum(taken.reward for taken in game.taken))
    steps = "1 step" if game.position == 1 else f"{game.position} steps"
    return f"{name}: {steps}, return {total}"


def verdict(own: Session, rival: Opponent) -> str:
    """Who was better: whoever got more, and with the same in fewer steps."""
    mine, theirs = (
        (round(sum(taken.reward for taken in game.taken), 9), -game.position)
        for game in (own, rival.game)
    )
    if mine == theirs:
        return f"As good as {rival.name}"
    return f"Better than {rival.name}" if mine > theirs else f"{rival.name} was better"
