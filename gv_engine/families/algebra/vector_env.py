"""Many games of a mathy scenario as one Gymnasium vector environment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
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
from gv_engine.envs.requests import at_least
from gv_engine.envs.scenario_vector_env import ScenarioVectorEnv, VectorStep, masked
from gv_engine.families.algebra.chunk import Chunk, Finished, Remote, Shown
from gv_engine.families.algebra.gym_env import ExpressionEnv, mathy_scenario
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
        self._statistics = episode_statistics
        self._cuts = np.linspace(0, num_envs, min(processes, num_envs) + 1).astype(int).tolist()
        given = self.scenario, render_mode, None, observation_representation
        sizes = np.diff(self._cuts).tolist()
        mode = getattr(autoreset, self.autoreset_mode.name)
        self._chunks: list[Chunk | Remote]
        if len(sizes) == 1:
            self._chunks = [Chunk(num_envs, mode, *given)]
        else:
            spawning = multiprocessing.get_context("spawn")
            self._chunks = [Remote(spawning, size, mode, *given) for size in sizes]

    @property
    def labels(self) -> dict[str, list[str]]:
        """What the numbers of rules stand for."""
        return {"rule_names": [rule.name for rule in self.scenario.make_env().rules]}

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
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
        shown = self._ask("step", np.where(chosen, RESTART, KEEP), seeds)
        return _written(given, shown.observation), masked(shown.info, self._all)

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
        shown = self._ask("step", self._checked(actions), [None] * self.num_envs)
        info = masked(shown.info, self._all)
        self._add_final(info, shown.finished)
        ended = shown.terminated | shown.truncated
        if self._statistics and ended.any():
            success = info.get("success", ended)
            self._add_episode(info, ended, shown.returns, shown.lengths, success)
        reward = shown.reward.astype(self._reward_dtype, copy=False)
        flags = {"terminated": shown.terminated, "truncated": shown.truncated}
        found = _written(given, {**shown.observation, "reward": reward, **flags})
        ends = found.pop("terminated"), found.pop("truncated")
        return found, found.pop("reward"), *ends, info

    @cached_property
    def _results(self) -> Wanted:
        found: Any = self.single_observation_space
        return self._wanted(
            {name: ((self.num_envs, *box.shape), box.dtype) for name, box in found.items()}
        )

    def _ask(self, what: str, *arguments: Any) -> Shown:
        """What all chunks answer, each asked for its own part, all at once."""
        for chunk, first, last in zip(self._chunks, self._cuts, self._cuts[1:], strict=False):
            chunk.ask(what, *(part[first:last] for part in arguments))
        answers: list[Shown] = []
        failures: list[Exception] = []
        for chunk in self._chunks:  # all of them: an answer that is left would be the next one's
            try:
                answers.append(chunk.answer())
            except Exception as error:
                failures.append(error)
        if failures:
            raise failures[0]
        return Shown.joined(answers, self._cuts)

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


def _written(given: Arrays, results: Arrays) -> Arrays:
    """Results by name, in the places that are given for them."""
    return {name: written(given.get(name), array) for name, array in results.items()}
