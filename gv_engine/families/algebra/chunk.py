"""Some of the games of a vector environment, in this process or in one of their own."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Sequence
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import DTypeLike, NDArray

from gv_engine.batches.autoreset import KEEP, begins, begins_at_once
from gv_engine.envs.representations import Arrays
from gv_engine.families.algebra.gym_env import ExpressionEnv
from gv_engine.families.algebra.world import ExpressionWorld, Token

_PATIENCE = 5.0  # seconds that a process has to end by itself

Rows = NDArray[np.void]
"""(n,) rows of `row_of`, one for each game, which all processes see."""

_STEP: dict[str, DTypeLike] = {
    "reward": np.float64,
    "terminated": np.bool_,
    "truncated": np.bool_,
    "returns": np.float64,
    "lengths": np.int64,
}
"""What a step has come to, nothing where a game was begun or left alone."""

_INFO: dict[str, DTypeLike] = {
    "moves_remaining": np.int64,
    "discount": np.float64,
    "success": np.bool_,
}
"""Numbers of an info."""

Words = tuple[str, str, str]
"""The text, the outcome and who has decided, which are no part of a row."""


def row_of(observations: spaces.Dict, terms: int) -> np.dtype[np.void]:
    """What a game shows and tells, but for its words; `terms` are those of a reward."""
    shown = [(name, space.dtype, space.shape) for name, space in observations.items()]
    told = [*(_STEP | _INFO).items(), ("reward_terms", np.float64, (terms,))]
    return np.dtype([*shown, *told], align=True)


class Finished(NamedTuple):
    """A game, and the last that it has shown and told before it began anew."""

    game: int
    observation: Arrays
    info: dict[str, Any]


class ChunkAnswer(NamedTuple):
    """What games tell beside their rows: words, and those that have begun anew."""

    words: list[Words]
    finished: list[Finished]


class Chunk:
    """Plays some games in this process.

    Args:
        rows: where they write what they show and tell.
        mode: when finished ones begin anew, by the rules of `gv_engine.batches.autoreset`.
        options: what their environments are made with.
    """

    def __init__(self, rows: Rows, mode: int, *options: Any) -> None:
        self._envs = [ExpressionEnv(*options) for _ in rows]
        self._mode = mode
        self._columns = {name: rows[name] for name in rows.dtype.names or ()}
        self._terms = {name: i for i, name in enumerate(self._envs[0].scenario.reward_names)}
        self._words: list[Words] = [("", "", "")] * len(rows)
        self._answer: Any = None

    def ask(self, what: str, *arguments: Any) -> None:
        """Do something; `answer` returns what came of it."""
        self._answer = getattr(self, what)(*arguments)

    def answer(self) -> Any:
        """The answer to the last `ask`."""
        return self._answer

    def step(self, actions: NDArray[np.int64], seeds: Sequence[int | None]) -> ChunkAnswer:
        """Take a step in every game, or begin a new episode there; KEEP leaves a game alone."""
        for name in _STEP:
            self._columns[name][:] = 0
        finished: list[Finished] = []
        for i, (env, action) in enumerate(zip(self._envs, actions.tolist(), strict=True)):
            if action == KEEP:
                continue
            world = env.simulation
            if begins(action, self._mode, bool(world.outcome)):
                env.begin(seeds[i])
                self._write(i, world.success)
                continue
            world.step(action)
            self._tell(i, world)
            success = world.success
            if begins_at_once(self._mode, bool(world.outcome)):
                finished.append(Finished(i, env.observation(), env.info()))
                env.begin(None)
            self._write(i, success)
        return ChunkAnswer(self._words, finished)

    def _tell(self, i: int, world: ExpressionWorld) -> None:
        """Put what a step has come to into the row of its game."""
        came = world.reward, world.terminated, world.truncated, world.total, world.steps
        for name, value in zip(_STEP, came, strict=True):
            self._columns[name][i] = value

    def _write(self, i: int, success: bool) -> None:
        """Put what a game shows and tells now into its row; success is that of the last step."""
        columns, env = self._columns, self._envs[i]
        for name, array in env.observation().items():
            columns[name][i] = array
        world = env.simulation
        state = world.state.agent
        columns["moves_remaining"][i] = state.moves_remaining
        columns["discount"][i] = world.discount
        columns["success"][i] = success
        columns["reward_terms"][i] = 0.0
        if world.decided_by in self._terms:
            columns["reward_terms"][i, self._terms[world.decided_by]] = world.reward
        self._words[i] = state.problem, world.outcome, world.decided_by

    def snapshot(self, i: int) -> Token:
        """The whole of a game."""
        return self._envs[i].snapshot()

    def restore(self, i: int, token: Token) -> None:
        """Make a game that of a snapshot."""
        self._envs[i].restore(token)
        self._write(i, self._envs[i].simulation.success)

    def render(self, i: int) -> Any:
        """A game as the render mode has it."""
        return self._envs[i].render()

    def close(self) -> None:
        """Nothing to let go of."""


class Remote:
    """A chunk in a process of its own.

    Args:
        context: how processes are started.
        memory: what holds the rows of all games, so that nothing of them is sent.
        kind: that of a row.
        mine: which rows are those of the chunk.
        arguments: the other ones of the chunk.
    """

    def __init__(
        self,
        context: SpawnContext,
        memory: Any,
        kind: np.dtype[np.void],
        mine: slice,
        *arguments: Any,
    ) -> None:
        self._pipe, theirs = context.Pipe()
        given = theirs, memory, kind, mine, *arguments
        process = context.Process(target=_serve, args=given, daemon=True)
        process.start()
        theirs.close()
        self._end = weakref.finalize(self, _end, self._pipe, process)

    def ask(self, what: str, *arguments: Any) -> None:
        """Have something done."""
        with contextlib.suppress(BrokenPipeError):  # `answer` says that the process has ended
            self._pipe.send((what, arguments))

    def answer(self) -> Any:
        """The answer to the last `ask`.

        Raises:
            Exception: what was raised there.
        """
        try:
            failed, answer = self._pipe.recv()
        except (EOFError, ConnectionResetError):
            raise RuntimeError("the process of these games has ended") from None
        if failed:
            raise answer
        return answer

    def close(self) -> None:
        """End the process."""
        self._end()


def _serve(
    pipe: Connection, memory: Any, kind: np.dtype[np.void], mine: slice, *arguments: Any
) -> None:
    """Answer for a chunk until nobody asks any more."""
    chunk = Chunk(rows_in(memory, kind)[mine], *arguments)
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


def rows_in(memory: Any, kind: np.dtype[np.void]) -> Rows:
    """The rows that a memory holds, to be read and written by all who have it."""
    return np.frombuffer(memory, kind)
