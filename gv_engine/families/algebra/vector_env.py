"""Many games of a mathy scenario as one Gymnasium vector environment."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import ArrayLike, NDArray

from gv_engine.families.algebra.chunk import Chunk, Finished, Remote, Shown
from gv_engine.families.algebra.gym_env import ExpressionEnv, Observation, load
from gv_engine.families.algebra.scenario import MathyScenario
from gv_engine.families.algebra.world import Token
from gv_engine.language.errors import nearest
from gv_engine.reading.trust import Consent

Step = tuple[Observation, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class ExpressionVectorEnv(VectorEnv[Observation, NDArray[np.int64], Any]):
    """N games of one scenario, stepped together.

    Game i of `reset(seed=s)` is that of an `ExpressionEnv` with `seed=s+i`. Observations, rewards
    and flags are arrays over the games, fresh at every step, and so is what `info` holds.

    Several processes share the games among them. They are spawned, so that a script that asks for
    them keeps what it does below `if __name__ == "__main__":`.

    Args:
        scenario, max_steps, observation_representation, consent: as for `ExpressionEnv`.
        num_envs: N.
        processes: how many share the games; 1 plays them all in this one.
        autoreset_mode: when a finished game begins anew: NEXT_STEP, SAME_STEP (the last observation
            is then in `info["final_obs"]`) or DISABLED (`reset` with
            `options={"reset_mask": (N,) bool}` does it).
        render_mode: "rgb_array" or "ansi": `render()` then returns one picture per game.

    Raises:
        ScenarioError: the scenario has mistakes.
        ValueError: a number is too small, or there is no such mode.
    """

    world = "object"
    """Expressions are always stepped as objects."""

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
        **consent: Unpack[Consent],
    ) -> None:
        if num_envs < 1 or processes < 1:
            raise ValueError(
                f"num_envs={num_envs}, processes={processes}: at least one of each is needed"
            )
        if render_mode not in (None, "rgb_array", "ansi"):
            raise ValueError(f"render_mode={render_mode!r}: allowed are None, 'rgb_array', 'ansi'")
        self.scenario = load(scenario, max_steps, **consent)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**ExpressionEnv.metadata, "autoreset_mode": self.autoreset_mode}
        one = ExpressionEnv(self.scenario, render_mode, None, observation_representation)
        self.single_action_space = one.action_space
        self.single_observation_space = one.observation_space
        self.action_space = batch_space(one.action_space, num_envs)
        self.observation_space = batch_space(one.observation_space, num_envs)
        self._last = one.num_actions - 1
        self._started = False
        self._all = np.ones(num_envs, np.bool_)
        self._cuts = np.linspace(0, num_envs, min(processes, num_envs) + 1).astype(int).tolist()
        options = self.scenario, render_mode, None, observation_representation
        sizes = np.diff(self._cuts).tolist()
        self._chunks: list[Chunk | Remote]
        if len(sizes) == 1:
            self._chunks = [Chunk(num_envs, self.autoreset_mode, *options)]
        else:
            spawning = multiprocessing.get_context("spawn")
            self._chunks = [Remote(spawning, size, self.autoreset_mode, *options) for size in sizes]

    @property
    def labels(self) -> dict[str, list[str]]:
        """What the numbers of rules stand for."""
        return {"rule_names": [rule.name for rule in self.scenario.make_env().rules]}

    def __repr__(self) -> str:
        games = f"{self.num_envs} games"
        return f"<{type(self).__name__} {self.scenario.name}, {games}, {self.world}>"

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Observation, dict[str, Any]]:
        """Draw new problems.

        Args:
            seed: game i gets `seed + i`, or `seed[i]`; without one, its generator goes on.
            options: `{"reset_mask": (N,) bool}` resets only the games where it is True.

        Raises:
            ValueError: seeds or mask have another length, or there is no such option.
        """
        for key in options or {}:
            if key != "reset_mask":
                raise ValueError(f"no option {key!r}: {nearest(key, ['reset_mask'])}")
        seeds: list[int | None]
        if seed is None or isinstance(seed, int | np.integer):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
        if len(seeds) != self.num_envs:
            raise ValueError(f"{len(seeds)} seeds for {self.num_envs} games")
        chosen = np.asarray((options or {}).get("reset_mask", self._all))
        if chosen.shape != (self.num_envs,) or chosen.dtype != np.bool_:
            raise ValueError(
                f"reset_mask has shape {chosen.shape} and dtype {chosen.dtype}: expected "
                f"({self.num_envs},) bool"
            )
        if not self._started:
            chosen = self._all
        self._started = True
        shown = self._ask("reset", seeds, chosen)
        return shown.observation, self._named(shown.info)

    def step(self, actions: ArrayLike) -> Step:
        """Apply a rule in every game.

        Args:
            actions: (N,) integers of the action space.

        Raises:
            ValueError: an action is none of the action space, a game is over and does not begin
                anew by itself, or nothing was reset yet.
        """
        if not self._started:
            raise ValueError("call reset() before the first step()")
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"actions have shape {given.shape} and dtype {given.dtype}: expected "
                f"({self.num_envs},) integers"
            )
        if given.min() < 0 or given.max() > self._last:
            wrong = int(np.flatnonzero((given < 0) | (given > self._last))[0])
            raise ValueError(
                f"action {given[wrong]} of game {wrong}: allowed are 0 to {self._last}"
            )
        shown = self._ask("step", given)
        info = self._named(shown.info)
        self._add_final(info, shown.finished)
        return shown.observation, shown.reward, shown.terminated, shown.truncated, info

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

    def _named(self, info: dict[str, Any]) -> dict[str, Any]:
        """With a mask beside every key, as Gymnasium has it."""
        named = {}
        for key, value in info.items():
            named[key] = self._named(value) if isinstance(value, dict) else value
            named[f"_{key}"] = self._all
        return named

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
