"""Races: somebody else's game of the same level, step by step beside one's own."""

from __future__ import annotations

from pathlib import Path

from gv_engine.playing.acting import Actor, ActorError, actor_of
from gv_engine.playing.game import Game
from gv_engine.playing.replay import SUFFIX, Replay, ReplayError
from gv_engine.reading.text import signed


class Rival:
    """The game of somebody else, which is always as many steps old as one's own.

    Args:
        name: of whoever plays it.
        game: what was played so far; no one else takes steps in it.
        actor: who goes on with it; None if it is as long as it is.

    Attributes:
        name, game: the same.
    """

    def __init__(self, name: str, game: Game, actor: Actor | None = None) -> None:
        self.name, self.game = name, game
        self._actor = actor

    @classmethod
    def named(cls, named: str, own: Game) -> Rival:
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
            return cls(file.stem, Game.of(replay, own.scenario))
        game = Game(own.scenario, own.seed)
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

    def begins_again(self, own: Game) -> bool:
        """Play the level that one's own game has now, if it is another; False if it cannot."""
        if (own.seed, own.scenario) == (self.game.seed, self.game.scenario):
            return True
        if self._actor is None or own.scenario is not self.game.scenario:
            return False
        self.game = Game(own.scenario, own.seed)
        return True


def standing(name: str, game: Game) -> str:
    """How a game stands, in a line."""
    total = signed(sum(taken.reward for taken in game.taken))
    steps = "1 step" if game.position == 1 else f"{game.position} steps"
    return f"{name}: {steps}, return {total}"


def verdict(own: Game, rival: Rival) -> str:
    """Who was better: whoever got more, and with the same in fewer steps."""
    mine, theirs = (
        (round(sum(taken.reward for taken in game.taken), 9), -game.position)
        for game in (own, rival.game)
    )
    if mine == theirs:
        return f"As good as {rival.name}"
    return f"Better than {rival.name}" if mine > theirs else f"{rival.name} was better"
