"""Some of the games of a vector environment, in this process or in one of their own."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gv_engine.batches.autoreset import KEEP, begins, begins_at_once
from gv_engine.envs.representations import Arrays
from gv_engine.families.algebra.gym_env import ExpressionEnv
from gv_engine.families.algebra.world import Token

_PATIENCE = 5.0  # seconds that a process has to end by itself

Finished = tuple[int, Arrays, dict[str, Any]]
"""A game, and the last that it has shown before it began anew."""


class Shown(NamedTuple):
    """Step results of n games, as arrays over them."""

    observation: Arrays
    info: dict[str, Any]
    reward: NDArray[np.float64]
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    finished: list[Finished]

    @staticmethod
    def joined(parts: Sequence[Shown], firsts: Sequence[int]) -> Shown:
        """One after the other; `firsts` are the numbers of each one's first game."""
        if len(parts) == 1:
            return parts[0]
        finished = [
            (game + first, observation, info)
            for part, first in zip(parts, firsts, strict=False)
            for game, observation, info in part.finished
        ]
        arrays = [_merged(each, np.concatenate) for each in zip(*(part[:-1] for part in parts))]
        return Shown._make([*arrays, finished])


def _merged(parts: Sequence[Any], merge: Callable[[Sequence[Any]], Any]) -> Any:
    """One of several, within mappings as well."""
    if isinstance(parts[0], dict):
        return {key: _merged([part[key] for part in parts], merge) for key in parts[0]}
    return merge(parts)


def _array(values: Sequence[Any]) -> NDArray[Any]:
    return np.array(values, object if isinstance(values[0], str) else None)


class Chunk:
    """Plays some games in this process.

    Args:
        count: how many.
        mode: when finished ones begin anew, by the rules of `gv_engine.batches.autoreset`.
        options: what their environments are made with.
    """

    def __init__(self, count: int, mode: int, *options: Any) -> None:
        self._envs = [ExpressionEnv(*options) for _ in range(count)]
        self._mode = mode
        self._now: list[tuple[Arrays, dict[str, Any]]] = [({}, {})] * count
        self._answer: Any = None

    def ask(self, what: str, *arguments: Any) -> None:
        """Do something; `answer` returns what came of it."""
        self._answer = getattr(self, what)(*arguments)

    def answer(self) -> Any:
        """The answer to the last `ask`."""
        return self._answer

    def step(self, actions: NDArray[np.int64], seeds: Sequence[int | None]) -> Shown:
        """Take a step in every game, or begin a new episode there; KEEP leaves a game alone."""
        kinds = np.float64, np.bool_, np.bool_, np.float64, np.int64
        told = tuple(np.zeros(len(self._envs), kind) for kind in kinds)
        reward, terminated, truncated, returns, lengths = told
        finished: list[Finished] = []
        for i, (env, action) in enumerate(zip(self._envs, actions.tolist(), strict=True)):
            if action == KEEP:
                continue
            if begins(action, self._mode, bool(env.simulation.outcome)):
                self._now[i] = env.reset(seed=seeds[i])
                continue
            shown, reward[i], terminated[i], truncated[i], info = env.step(action)
            returns[i], lengths[i] = env.simulation.total, env.simulation.steps
            if begins_at_once(self._mode, bool(env.simulation.outcome)):
                finished.append((i, shown, info))
                kept = {name: info[name] for name in info.keys() & {"success", "is_success"}}
                shown, info = env.reset()
                info |= kept  # that of the step, as `terminated` is
            self._now[i] = shown, info
        observations, infos = zip(*self._now)
        return Shown._make([_merged(observations, _array), _merged(infos, _array), *told, finished])

    def snapshot(self, i: int) -> Token:
        """The whole of a game."""
        return self._envs[i].snapshot()

    def restore(self, i: int, token: Token) -> None:
        """Make a game that of a snapshot."""
        self._now[i] = self._envs[i].restore(token)

    def render(self, i: int) -> Any:
        """A game as the render mode has it."""
        return self._envs[i].render()

    def close(self) -> None:
        """Nothing to let go of."""


class Remote:
    """A chunk in a process of its own.

    Args:
        context: how processes are started.
        arguments: those of the chunk.
    """

    def __init__(self, context: SpawnContext, *arguments: Any) -> None:
        self._pipe, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, *arguments), daemon=True)
        process.start()
        theirs.close()
        self._end = weakref.finalize(self, _end, self._pipe, process)

    def ask(self, what: str, *arguments: Any) -> None:
        """Have something done."""
        self._pipe.send((what, arguments))

    def answer(self) -> Any:
        """The answer to the last `ask`.

        Raises:
            Exception: what was raised there.
        """
        try:
            failed, answer = self._pipe.recv()
        except EOFError:
            raise RuntimeError("the process of these games has ended") from None
        if failed:
            raise answer
        return answer

    def close(self) -> None:
        """End the process."""
        self._end()


def _serve(pipe: Connection, *arguments: Any) -> None:
    """Answer for a chunk until nobody asks any more."""
    chunk = Chunk(*arguments)
    while True:
        try:
            what, given = pipe.recv()
        except EOFError:
            return
        try:
            chunk.ask(what, *given)
            pipe.send((False, chunk.answer()))
        except Exception as error:  # it belongs to whoever has asked
            pipe.send((True, error))


def _end(pipe: Connection, process: Any) -> None:
    pipe.close()
    process.join(_PATIENCE)
    if process.is_alive():
        process.terminate()
