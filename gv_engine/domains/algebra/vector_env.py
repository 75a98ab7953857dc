"""Many games of a mathy scenario as one Gymnasium vector environment."""

from __future__ import annotations

import contextlib
import itertools
import multiprocessing
import weakref
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnContext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, DTypeLike, NDArray

from gv_engine.domains.algebra.gym_env import ExpressionEnv, expression_space, mathy_scenario
from gv_engine.domains.algebra.scenario import MathyScenario
from gv_engine.domains.algebra.world import ExpressionWorld, Token
from gv_engine.envs.arg_checks import (
    ArraySpecs,
    Seeds,
    as_output_arrays,
    check_at_least,
    copy_to_output,
)
from gv_engine.envs.representations import Arrays
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv, VectorStep, add_presence_masks
from gv_engine.world import autoreset
from gv_engine.world.autoreset import KEEP, RESTART, resets_in_step, starts_episode

# ---- chunk ---------------------------------------------------------------------------------------

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


class FinalStep(NamedTuple):
    """A game, and the last that it has shown and told before it began anew."""

    game: int
    observation: Arrays
    info: dict[str, Any]


class WorkerReply(NamedTuple):
    """What games tell beside their rows: words, and those that have begun anew."""

    words: list[Words]
    finished: list[FinalStep]


class EnvWorker:
    """Plays some games in this process.

    Args:
        rows: where they write what they show and tell.
        mode: when finished ones begin anew, by the rules of `gv_engine.world.autoreset`.
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

    def step(self, actions: NDArray[np.int64], seeds: Sequence[int | None]) -> WorkerReply:
        """Take a step in every game, or begin a new episode there; KEEP leaves a game alone."""
        for name in _STEP:
            self._columns[name][:] = 0
        finished: list[FinalStep] = []
        for i, (env, action) in enumerate(zip(self._envs, actions.tolist(), strict=True)):
            if action == KEEP:
                continue
            world = env.simulation
            if starts_episode(action, self._mode, bool(world.outcome)):
                env.begin(seeds[i])
                self._write(i, world.success)
                continue
            world.step(action)
            self._tell(i, world)
            success = world.success
            if resets_in_step(self._mode, bool(world.outcome)):
                finished.append(FinalStep(i, env.observation(), env.info()))
                env.begin(None)
            self._write(i, success)
        return WorkerReply(self._words, finished)

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


class SubprocWorker:
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
    chunk = EnvWorker(rows_in(memory, kind)[mine], *arguments)
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


# ---- vector env ----------------------------------------------------------------------------------


class ExpressionVectorEnv(ScenarioVectorEnv[Arrays]):
    """N games of one scenario, stepped together.

    Game i of `reset(seed=s)` is that of an `ExpressionEnv` with `seed=s+i`. Observations, rewards
    and flags are arrays over the games, fresh at every step, and so is what `info` holds: that of
    the games, `final_obs` and `final_info` where a SAME_STEP reset has just ended an episode, and
    `episode`, if `episode_statistics` are asked for, as in a `GridVectorEnv`.

    Several processes share the games among them. They are spawned, so that a script that asks for
    them keeps what it does below `if __name__ == "__main__":`.

    Args:
        scenario, max_steps, observation_representation, options: as for `ExpressionEnv`.
        num_envs: N.
        processes: how many share the games; 1 plays them all in this one.
        autoreset_mode: when a finished game begins anew: NEXT_STEP, SAME_STEP (the last observation
            is then in `info["final_obs"]`) or DISABLED (`reset` with
            `options={"reset_mask": (N,) bool}` does it).
        copy: False returns the environment's own arrays of observations, rewards and flags, which
            the next step overwrites.
        render_mode: "rgb_array" or "ansi": `render()` then returns one picture per game.
        episode_statistics: whether `info` holds return, length and success of episodes that end.
        reward_dtype: "float64" or "float32".

    Raises:
        ScenarioError: the scenario has mistakes.
        ValueError: a number is too small, or there is no such mode.
    """

    world = "object"
    """Expressions are always stepped as objects."""

    metadata = ExpressionEnv.metadata
    world_noun = "game"

    recorded = ("nodes", "values", "mask", "time")
    """What rollouts keep of observations: not the environment's mark, which never changes."""

    def __init__(
        self,
        scenario: MathyScenario | str | Path | Mapping[str, Any],
        num_envs: int = 1,
        *,
        processes: int = 1,
        max_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        copy: bool = True,
        render_mode: str | None = None,
        observation_representation: str = "dict",
        episode_statistics: bool = False,
        reward_dtype: DTypeLike = "float64",
        **options: Any,
    ) -> None:
        processes = check_at_least(1, processes=processes)
        super().__init__(num_envs, autoreset_mode, render_mode, reward_dtype)
        self.scenario: MathyScenario = mathy_scenario(scenario, max_steps, **options)
        one = ExpressionEnv(self.scenario, render_mode, None, observation_representation)
        self.num_actions = one.num_actions
        self.single_action_space = one.action_space
        self.single_observation_space = one.observation_space
        self._statistics, self._copy = episode_statistics, copy
        self._cuts = np.linspace(0, num_envs, min(processes, num_envs) + 1).astype(int).tolist()
        mode = getattr(autoreset, self.autoreset_mode.name)
        given = mode, self.scenario, render_mode, None, observation_representation
        shown = expression_space(one.env, observation_representation)
        self._shown = tuple(shown)
        kind = row_of(shown, len(self.scenario.reward_names))
        parts = [slice(*ends) for ends in itertools.pairwise(self._cuts)]
        self._chunks: list[EnvWorker | SubprocWorker]
        if len(parts) == 1:
            self._rows = np.zeros(num_envs, kind)
            self._chunks = [EnvWorker(self._rows, *given)]
        else:
            spawning = multiprocessing.get_context("spawn")
            memory = spawning.RawArray("b", num_envs * kind.itemsize)
            self._rows = rows_in(memory, kind)
            self._chunks = [SubprocWorker(spawning, memory, kind, part, *given) for part in parts]

    @property
    def labels(self) -> dict[str, list[str]]:
        """What the numbers of rules stand for."""
        return {"rule_names": [rule.name for rule in self.scenario.make_env().rules]}

    def reset(
        self,
        *,
        seed: Seeds = None,
        options: dict[str, Any] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> tuple[Arrays, dict[str, Any]]:
        """Draw new problems.

        Args:
            seed: game i gets `seed + i`, or `seed[i]`; without one, its generator goes on.
            options: `{"reset_mask": (N,) bool}` resets only the games where it is True.
            out: as for `step`; rewards and flags in it are left alone.

        Raises:
            ValueError: seeds or mask have another length, there is no such option, or `out` does
                not fit.
        """
        seeds, chosen = self._check_reset_arguments(seed, options)
        given = as_output_arrays(out, self._results)
        self._started = True
        told = self._ask("step", np.where(chosen, RESTART, KEEP), seeds)
        found = self._written(given, self._shown)
        return found, add_presence_masks(self._info(told.words), self._all)

    def step(self, actions: ArrayLike, out: Mapping[str, Any] | None = None) -> VectorStep:
        """Apply a rule in every game.

        Args:
            actions: (N,) integers of the action space.
            out: where results are to be written, by name: `reward`, `terminated`, `truncated`, and
                the arrays of observations; otherwise as for a `GridVectorEnv`.

        Raises:
            ValueError: an action is none of the action space, a game is over and does not begin
                anew by itself, nothing was reset yet, or `out` does not fit.
        """
        given = as_output_arrays(out, self._results)
        told = self._ask("step", self._check_actions(actions), [None] * self.num_envs)
        info = add_presence_masks(self._info(told.words), self._all)
        self._add_final(info, told.finished)
        rows = self._rows
        ended = rows["terminated"] | rows["truncated"]
        if self._statistics and ended.any():
            success = info.get("success", ended)
            self._add_episode(info, ended, rows["returns"], rows["lengths"], success)
        found = self._written(given, (*self._shown, "reward", "terminated", "truncated"))
        reward, terminated, truncated = map(found.pop, ("reward", "terminated", "truncated"))
        return found, reward.astype(self._reward_dtype, copy=False), terminated, truncated, info

    @cached_property
    def _results(self) -> ArraySpecs:
        found: Any = self.single_observation_space
        return self._step_output_specs(
            {name: ((self.num_envs, *box.shape), box.dtype) for name, box in found.items()}
        )

    def _written(self, given: Arrays, names: Iterable[str]) -> Arrays:
        """What the games show, in the places that are given for it, else in arrays of their own."""
        kept = {name: self._rows[name] for name in names}
        return {
            name: array.copy()
            if self._copy and name not in given
            else copy_to_output(given.get(name), array)
            for name, array in kept.items()
        }

    def _info(self, words: list[Words]) -> dict[str, Any]:
        """What all games tell, in the order in which each of them does."""
        rows = self._rows
        text, outcome, decided_by = np.array(words, object).T.copy()
        info = {
            "action_mask": rows["mask"].reshape(self.num_envs, -1).copy(),
            "text": text,
            "moves_remaining": rows["moves_remaining"].copy(),
            "outcome": outcome,
            "decided_by": decided_by,
            "reward_terms": dict(
                zip(self.scenario.reward_names, rows["reward_terms"].T.copy(), strict=True)
            ),
            "discount": rows["discount"].copy(),
        }
        if self.scenario.tells_success:
            info |= {name: rows["success"].copy() for name in ("success", "is_success")}
        return info

    def _ask(self, what: str, *arguments: Any) -> WorkerReply:
        """What all chunks answer, each asked for its own part, all at once."""
        for chunk, first, last in zip(self._chunks, self._cuts, self._cuts[1:], strict=False):
            chunk.ask(what, *(part[first:last] for part in arguments))
        answers: list[WorkerReply] = []
        failures: list[Exception] = []
        for chunk in self._chunks:  # all of them: an answer that is left would be the next one's
            try:
                answers.append(chunk.answer())
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return WorkerReply(
            [words for told in answers for words in told.words],
            [
                last._replace(game=first + last.game)
                for first, told in zip(self._cuts, answers, strict=False)
                for last in told.finished
            ],
        )

    def _add_final(self, info: dict[str, Any], finished: list[FinalStep]) -> None:
        """What SAME_STEP resets have just replaced."""
        if not finished:
            return
        ended = np.zeros(self.num_envs, np.bool_)
        observations = np.full(self.num_envs, None, object)
        infos: dict[str, Any] = {}
        for game, observation, last in finished:
            ended[game] = True
            observations[game] = observation
            infos = self._add_info(infos, last, game)
        info |= {"final_obs": observations, "_final_obs": ended}
        info |= {"final_info": infos, "_final_info": ended}

    def _one(self, i: int, what: str, *arguments: Any) -> Any:
        """What the chunk of game i answers."""
        if not 0 <= i < self.num_envs:
            raise IndexError(f"game {i}: there are {self.num_envs}")
        number = int(np.searchsorted(self._cuts, i, side="right")) - 1
        self._chunks[number].ask(what, i - self._cuts[number], *arguments)
        return self._chunks[number].answer()

    def snapshot(self, i: int) -> Token:
        """The whole of game i, as something opaque that can be pickled."""
        token: Token = self._one(i, "snapshot")
        return token

    def restore(self, i: int, token: Token) -> None:
        """Make game i that of a snapshot.

        Raises:
            TypeError: that is no snapshot.
        """
        self._started = True
        self._one(i, "restore", token)

    def render(self) -> tuple[Any, ...] | None:
        """One picture per game."""
        if self.render_mode is None:
            return None
        return tuple(self._one(i, "render") for i in range(self.num_envs))

    def close_extras(self, **kwargs: Any) -> None:
        """End the processes."""
        for chunk in self._chunks:
            chunk.close()
