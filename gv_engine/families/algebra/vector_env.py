"""Many games of a mathy scenario as one Gymnasium vector environment."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import ArrayLike, DTypeLike

from gv_engine.batches import autoreset
from gv_engine.batches.autoreset import KEEP, RESTART
from gv_engine.envs.outputs import Wanted, places, written
from gv_engine.envs.representations import Arrays
from gv_engine.envs.requests import Seeds, at_least
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv, VectorStep, masked
from gv_engine.families.algebra.chunk import (
    Chunk,
    ChunkAnswer,
    Finished,
    Remote,
    Words,
    row_of,
    rows_in,
)
from gv_engine.families.algebra.gym_env import ExpressionEnv, expression_space, mathy_scenario
from gv_engine.families.algebra.scenario import MathyScenario
from gv_engine.families.algebra.world import Token


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
    called = "game"

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
        processes = at_least(1, processes=processes)
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
        self._chunks: list[Chunk | Remote]
        if len(parts) == 1:
            self._rows = np.zeros(num_envs, kind)
            self._chunks = [Chunk(self._rows, *given)]
        else:
            spawning = multiprocessing.get_context("spawn")
            memory = spawning.RawArray("b", num_envs * kind.itemsize)
            self._rows = rows_in(memory, kind)
            self._chunks = [Remote(spawning, memory, kind, part, *given) for part in parts]

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
        seeds, chosen = self._asked(seed, options)
        given = places(out, self._results)
        self._started = True
        told = self._ask("step", np.where(chosen, RESTART, KEEP), seeds)
        found = self._written(given, self._shown)
        return found, masked(self._info(told.words), self._all)

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
        given = places(out, self._results)
        told = self._ask("step", self._checked(actions), [None] * self.num_envs)
        info = masked(self._info(told.words), self._all)
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
    def _results(self) -> Wanted:
        found: Any = self.single_observation_space
        return self._wanted(
            {name: ((self.num_envs, *box.shape), box.dtype) for name, box in found.items()}
        )

    def _written(self, given: Arrays, names: Iterable[str]) -> Arrays:
        """What the games show, in the places that are given for it, else in arrays of their own."""
        kept = {name: self._rows[name] for name in names}
        return {
            name: array.copy()
            if self._copy and name not in given
            else written(given.get(name), array)
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

    def _ask(self, what: str, *arguments: Any) -> ChunkAnswer:
        """What all chunks answer, each asked for its own part, all at once."""
        for chunk, first, last in zip(self._chunks, self._cuts, self._cuts[1:], strict=False):
            chunk.ask(what, *(part[first:last] for part in arguments))
        answers: list[ChunkAnswer] = []
        failures: list[Exception] = []
        for chunk in self._chunks:  # all of them: an answer that is left would be the next one's
            try:
                answers.append(chunk.answer())
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return ChunkAnswer(
            [words for told in answers for words in told.words],
            [
                last._replace(game=first + last.game)
                for first, told in zip(self._cuts, answers, strict=False)
                for last in told.finished
            ],
        )

    def _add_final(self, info: dict[str, Any], finished: list[Finished]) -> None:
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
