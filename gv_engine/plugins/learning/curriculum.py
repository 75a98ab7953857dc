"""Curricula: rules that choose the level of each training episode.

- `random`: domain randomisation (Tobin et al., 2017): all levels are equally probable.
- `plr`: prioritised level replay (Jiang et al., 2021): levels with a high score are played again.
- `accel`: the same, with random edits of levels with a high score (Parker-Holder et al., 2022). The
  paper plays new levels without learning from them first; here all steps are learned from.

`CURRICULA` in `config.py` lists the classes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.backends.seeding import derive_seeds
from gv_engine.envs.level_sets import (
    LevelsError,
    compute_content_keys,
    find_values_read_by_rules,
    iter_level_keys,
    level_set,
)
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.config import Hyperparameters
from gv_engine.plugins.learning.level_edits import LevelEditor
from gv_engine.plugins.learning.torch_library import Tensor, torch
from gv_engine.scenario.scenario import Scenario

_CHILD_SHARE = 0.5
"""Share of the non-replay episodes that play a child (edited level) without a score, if there is
one."""
_CHILDREN = 8
"""Number of children that are made after an update."""
_MAX_EDITS = 5
"""Maximum number of edits of a child."""
_MAX_CHILDREN = 1000
"""Maximum number of children that are kept."""


class RandomLevels:
    """Domain randomisation: each world samples the levels of its episodes by itself.

    Args:
        env: environment with W worlds, after its reset with the seed of the settings.
        settings: hyperparameters.
        rng: generator to sample levels with.

    Attributes:
        is_measured: (W,) True where the level of the episode was sampled uniformly; the metrics of
            the training are of these episodes.
    """

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, rng: torch.Generator) -> None:
        self._env, self._settings, self._rng = env, settings, rng
        self.is_measured = np.ones(env.num_worlds, np.bool_)

    def end_step(self, done: NDArray[np.bool_]) -> tuple[Any, dict[str, Any]] | None:
        """Take note of a step of all worlds, in which episodes ended where `done` (W,) is True.
        Return the observations and infos of all worlds if the curriculum has changed a world, else
        None. Here: do nothing, and return None."""
        return None

    def end_update(self, advantages: Tensor, live: Tensor) -> None:
        """Score the levels of the episodes that ended since the last update. Here: do nothing, as
        random levels have no scores.

        Args:
            advantages: (T, N) advantages of the T steps since then, of all agents of all worlds.
            live: (T, N) True where the agent took part in the step.
        """

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue, as tensors and plain values."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state()` of a curriculum with the same settings."""


class PrioritisedLevelReplay(RandomLevels):
    """Prioritised level replay over the K levels of the environment's level set.

    An episode replays a level with the probability `replay_prob` times the share of levels that
    have a score; otherwise all levels are equally probable. Without that factor, the first levels
    scored, those with short episodes, would be replayed too often. The score of a level is the mean
    of the positive parts of the advantages in its last episode: high where the agent has done
    better than its critic expects. Scores and staleness give the probabilities, see
    `find_replay_probabilities`. The next level of each world is sampled again after each update.

    Attributes:
        scores: (K,) score of each level; NaN until an episode with the level has ended.

    Raises:
        ValueError: the environment has no level set.
    """

    _saved = (
        *("scores", "is_measured", "_ended_at", "_sums"),
        *("_levels", "_next_levels", "_next_random"),
    )

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, rng: torch.Generator) -> None:
        """Start a curriculum over the levels of `env`, none of which has a score yet. `rng` makes
        the random choices."""
        super().__init__(env, settings, rng)
        self._num_listed = count = len(env.batch.levels)
        worlds = np.arange(env.num_worlds)
        if not count:
            raise ValueError(f"the curriculum {settings.curriculum} needs levels, such as 'train'")
        self.scores = np.full(count, np.nan)
        self._ended_at = np.zeros(count, np.int64)  # episodes that had ended before the last end
        self._num_episodes = 0
        seeds = np.array(derive_seeds(settings.seed, "worlds", len(worlds)))
        self._levels = seeds % count  # as `GridVectorEnv` resets
        self._next_levels, self._next_random = self._levels.copy(), self.is_measured.copy()
        self._sums = np.zeros((2, len(worlds)))  # positive advantages and steps of the episodes
        # (levels, done) of each step since the last update
        self._steps: list[tuple[NDArray[np.int64], NDArray[np.bool_]]] = []
        self._cumulative = np.zeros(0)
        self._choose_levels(worlds)

    def _choose_levels(self, worlds: NDArray[np.int64]) -> None:
        """Choose the level of the next episode in each of these worlds. It is a random level, or
        one replayed with a probability that grows with its score."""
        draws = torch.rand((3, len(worlds)), generator=self._rng, dtype=torch.float64)
        for_level, for_kind, for_replay = draws.numpy()
        levels = (for_level * self._num_listed).astype(np.int64)
        share = 1 - np.isnan(self.scores[: self._num_listed]).mean() if len(self._cumulative) else 0
        is_random = for_kind >= self._settings.replay_prob * share
        levels[~is_random] = np.searchsorted(self._cumulative, for_replay[~is_random], "right")
        self._next_levels[worlds], self._next_random[worlds] = levels, is_random
        self._request_levels()

    def _request_levels(self) -> None:
        self._env.batch.requested_levels[:] = self._next_levels % self._num_listed

    def end_step(self, done: NDArray[np.bool_]) -> tuple[Any, dict[str, Any]] | None:
        """Record the levels played in this step. Where `done`, (W,), is True, the next episode has
        begun: choose the level of the episode after it. Return None: no world is changed."""
        self._steps.append((self._levels.copy(), done))
        if done.any():
            self._levels[done] = self._next_levels[done]
            self.is_measured[done] = self._next_random[done]
            self._choose_levels(np.flatnonzero(done))
        return None

    def end_update(self, advantages: Tensor, live: Tensor) -> None:
        """Update the scores of the levels whose episodes have ended, by the positive part of
        `advantages`, and choose the next levels of all worlds. Both tensors are (T, N); `live` is
        False where an agent took no part."""
        by_world = (len(live), self._env.num_worlds, -1)
        gains = (advantages.clamp(min=0) * live).reshape(by_world).sum(2).double().numpy()
        counts = live.reshape(by_world).sum(2).numpy()
        for (levels, done), *step_sums in zip(self._steps, gains, counts, strict=True):
            self._sums += step_sums
            ended, (gain, count) = levels[done], self._sums[:, done]
            self.scores[ended] = gain / np.maximum(1, count)
            self._num_episodes += len(ended)
            self._ended_at[ended] = self._num_episodes
            self._sums[:, done] = 0
        self._steps.clear()
        self._update_cumulative()
        self._add_levels()
        self._choose_levels(np.arange(self._env.num_worlds))

    def _add_levels(self) -> None:
        """Do nothing; subclasses add new levels to those that can be replayed."""

    def _update_cumulative(self) -> None:
        """Recompute the cumulative replay probabilities of the levels. Do nothing while no level
        has a score."""
        if not np.isnan(self.scores).all():
            ages, settings = self._num_episodes - self._ended_at, self._settings
            self._cumulative = find_replay_probabilities(
                self.scores, ages, settings.replay_temperature, settings.staleness_coef
            ).cumsum()
            self._cumulative[self._cumulative == self._cumulative[-1]] = 1.0  # despite rounding

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue, as tensors and plain values."""
        arrays = {name: torch.from_numpy(getattr(self, name).copy()) for name in self._saved}
        return {**arrays, "episodes": self._num_episodes}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`, saved by `state()` of a curriculum with the same settings and
        levels."""
        for name in self._saved:
            setattr(self, name, state[name].numpy().copy())
        self._num_episodes = state["episodes"]
        self._update_cumulative()
        self._request_levels()


class EditedLevels(PrioritisedLevelReplay):
    """ACCEL: prioritised level replay over the listed levels and their children, which are levels
    made by random edits. The indices of children follow those of listed levels.

    After each update, children are made of levels that are sampled as for a replay.
    Some of the episodes that do not replay a level play a child without a score. When there is no
    room, a new child replaces the child with the lowest score. No child has the layout of a level
    of `test-layout` or `validation`, or is a level of `test`.

    Raises:
        ConfigError: see `LevelEditor`.
    """

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, rng: torch.Generator) -> None:
        """Start a curriculum that has no edited levels yet. `rng` makes the random choices."""
        self._rows = np.zeros(0, env.scenario.layout.dtype)  # start states of the children
        self._editor = LevelEditor(env.scenario)
        self._held_out = find_held_out_keys(env.scenario)
        self._is_read = find_values_read_by_rules(env.scenario)
        super().__init__(env, settings, rng)

    def _choose_levels(self, worlds: NDArray[np.int64]) -> None:
        """Choose the level of the next episode in each of these worlds, given by index."""
        super()._choose_levels(worlds)
        new = self._num_listed + np.flatnonzero(np.isnan(self.scores[self._num_listed :]))
        size = 2, len(worlds)
        for_kind, for_child = torch.rand(size, generator=self._rng, dtype=torch.float64).numpy()
        plays_child = self._next_random[worlds] & (for_kind < _CHILD_SHARE) & (len(new) > 0)
        if plays_child.any():
            children = new[(for_child[plays_child] * len(new)).astype(np.int64)]
            self._next_levels[worlds[plays_child]] = children
            self._next_random[worlds[plays_child]] = False
            self._request_levels()

    def end_step(self, done: NDArray[np.bool_]) -> tuple[Any, dict[str, Any]] | None:
        """Record the levels played in this step and choose the next ones. Worlds whose new episode
        has an edited level are set to its start state; return their new observations and infos, or
        None if there are none."""
        super().end_step(done)
        worlds = np.flatnonzero(done & (self._levels >= self._num_listed))
        if not len(worlds):
            return None
        rows = self._rows[self._levels[worlds] - self._num_listed]
        rows["rng"] = self._env.snapshot(worlds)["rng"]
        return self._env.restore(rows, worlds, trusted=True)

    def _add_levels(self) -> None:
        """Create edited levels, unless no level has been scored or enough edited levels still wait
        for their first score."""
        is_waiting = np.isnan(self.scores[self._num_listed :])
        if len(self._cumulative) and is_waiting.sum() < self._env.num_worlds // 4:
            for _ in range(_CHILDREN):
                self._add_child()
            self._update_cumulative()

    def _add_child(self) -> None:
        """Sample a level by replay probability, edit it, and add the result to the levels. Do
        nothing if the result equals a held-out level. If there are too many edited levels, replace
        the one with the lowest score."""
        row, layout = self._edit_level()[None], self._env.scenario.layout
        keys = (compute_content_keys(row, layout, each) for each in (self._is_read, None))
        if not self._held_out.isdisjoint(int(key) for (key,) in keys):
            return
        if len(self._rows) < _MAX_CHILDREN:
            self._rows = np.concatenate([self._rows, row])
            self.scores = np.append(self.scores, np.nan)
            self._ended_at = np.append(self._ended_at, 0)
            return
        scores = self.scores[self._num_listed :].copy()
        played = self._levels[self._levels >= self._num_listed] - self._num_listed
        scores[played] = np.nan  # a child that is played is not replaced
        if not np.isnan(scores).all():
            replaced = int(np.nanargmin(scores))
            self._rows[replaced] = row[0]
            self.scores[self._num_listed + replaced] = np.nan

    def _edit_level(self) -> NDArray[np.void]:
        """Sample a level by replay probability, edit it at random, and return its start state as a
        record of shape ()."""
        sample = torch.rand(1, generator=self._rng, dtype=torch.float64).numpy()
        (parent,) = np.searchsorted(self._cumulative, sample, "right")
        rng = np.random.default_rng(int(torch.randint(2**62, (), generator=self._rng)))
        if parent < self._num_listed:
            self._editor.start(self._env.batch.levels[parent, ...])
        else:
            self._editor.load(self._rows[parent - self._num_listed, ...])
        for _ in range(rng.integers(1, _MAX_EDITS + 1)):
            self._editor.edit(rng)
        return self._editor.row()

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue, as tensors and plain values."""
        rows = self._rows.view(np.uint8).reshape(-1, self._rows.itemsize).copy()
        return {**super().state(), "rows": torch.from_numpy(rows)}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state()` of a curriculum with the same settings and levels."""
        rows = state["rows"].numpy().view(self._rows.dtype).reshape(-1)
        self._rows = self._env.scenario.check_rows(rows).copy()
        super().restore(state)


def find_held_out_keys(scenario: Scenario) -> set[int]:
    """Return hashes of the levels that are held out for evaluation: those of the set `test` and the
    layouts of `test-layout` and `validation`. Sets for which the scenario has too few levels are
    skipped."""
    keys: set[int] = set()
    for name, column in (("test", 1), ("test-layout", 2), ("validation", 2)):
        with suppress(LevelsError):
            levels = level_set(scenario, name)
            keys |= {each[column] for each in iter_level_keys(scenario, levels.seeds, "auto")}
    return keys


def find_replay_probabilities(
    scores: NDArray[np.float64], ages: NDArray[np.int64], temperature: float, staleness_coef: float
) -> NDArray[np.float64]:
    """Return the probability to replay each of K levels, (K,). It mixes two distributions: by rank
    of the score, with `temperature`, and by age. `staleness_coef` is the weight of the second.

    Args:
        scores: (K,) scores of levels; NaN for levels that are not replayed; at least one is known.
        ages: (K,) episodes that have ended since the last episode on each level.
        temperature: positive number; the higher, the more equal are the probabilities.
        staleness_coef: weight of the ages, from 0 to 1.
    """
    (known,) = np.nonzero(~np.isnan(scores))
    by_score = np.zeros(len(scores))
    ranks = np.arange(1.0, 1 + len(known))
    by_score[known[np.argsort(-scores[known], kind="stable")]] = ranks ** (-1 / temperature)
    by_score /= by_score.sum()
    by_age = np.where(np.isnan(scores), 0.0, ages)
    by_age = by_age / by_age.sum() if by_age.any() else by_score
    return by_score + staleness_coef * (by_age - by_score)
