"""Curricula: rules that choose the level of each training episode.

- `random`: domain randomisation (Tobin et al., 2017): all levels are equally probable.
- `plr`: robust prioritised level replay (Jiang et al., 2021): new levels are scored, and levels
  with a high score are learned from.
- `accel`: the same, with random edits of replayed levels (Parker-Holder et al., 2022).

`CURRICULA` in `config.py` lists the classes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.envs.level_sets import (
    LevelsError,
    compute_content_keys,
    find_values_read_by_rules,
    iter_level_keys,
    level_set,
)
from gv_engine.envs.vector_environment import GridVectorEnv
from gv_engine.plugins.learning.config import ConfigError, Hyperparameters
from gv_engine.plugins.learning.level_edits import LevelEditor
from gv_engine.plugins.learning.torch_library import Tensor, torch
from gv_engine.scenario.scenario import Scenario

_MAX_BYTES = 2**29
"""Size of a buffer of levels; a checkpoint has at most twice as many bytes."""
_NUM_EDITS = 5
"""Number of edits of a child."""


class RandomLevels:
    """Domain randomisation: each world samples the levels of its episodes by itself.

    Args:
        env: environment with W worlds, after its reset with the seed of the settings.
        settings: hyperparameters.
        rng: generator to sample levels with.

    Attributes:
        is_measured: (W,) True where the level was sampled uniformly; only such episodes are in the
            metrics.
        learns: whether the network learns from the steps of the present update.
    """

    learns = True

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, rng: torch.Generator) -> None:
        self._env, self._settings, self._rng = env, settings, rng
        self.is_measured = np.ones(env.num_worlds, np.bool_)

    def begin_update(self) -> tuple[Any, dict[str, Any]] | None:
        """Choose the levels before the steps of an update. Return the observations and infos of all
        worlds if they start new episodes, else None. Here: do nothing, and return None."""
        return None

    def end_step(self, done: NDArray[np.bool_]) -> tuple[Any, dict[str, Any]] | None:
        """Take note of a step of all worlds, in which episodes ended where `done` (W,) is True.
        Return the observations and infos of all worlds if the curriculum has changed a world, else
        None. Here: do nothing, and return None."""
        return None

    def end_update(self, advantages: Tensor, live: Tensor) -> None:
        """Score the levels of the update. Here: do nothing, as random levels have no scores.

        Args:
            advantages: (T, N) advantages of the T steps of this update, of all agents.
            live: (T, N) True where the agent took part in the step.
        """

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue, as tensors and plain values."""
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a saved `state()` of a curriculum with the same settings."""


class LevelReplay(RandomLevels):
    """Prioritised level replay: a buffer of levels, and one level in each world for a whole update.

    A world that ends an episode begins it again. The levels of an update are sampled from the
    buffer with the probability `replay_prob`; otherwise they are new. Replays begin when the buffer
    holds half as many levels as it can, or half of a smaller level set, or after an update without
    a new level. The score of a level is the mean of the positive parts of the advantages in the
    last update that played it: high where the agent has done better than its critic expects. Scores
    and staleness give the probabilities of a replay, see `find_replay_probabilities`. When the
    buffer is full, a new level replaces the one that is least probable, if its score is higher.

    Attributes:
        scores: (B,) score of each level in the buffer.

    Raises:
        ConfigError: the buffer is too large for a checkpoint.
    """

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, rng: torch.Generator) -> None:
        """Start with an empty buffer. `rng` makes the random choices."""
        super().__init__(env, settings, rng)
        size, dtype = settings.level_buffer_size, env.scenario.layout.dtype
        if size * dtype.itemsize > _MAX_BYTES:
            raise ConfigError(
                f"level_buffer_size is {size}; expected at most {_MAX_BYTES // dtype.itemsize}, as "
                f"a level of {env.scenario.name} has {dtype.itemsize:,} bytes"
            )
        self._rows = np.zeros(size, dtype)  # start states
        self._keys = np.zeros(len(self._rows), np.uint64)  # hashes of them
        self.scores = np.zeros(0)
        self._played_at = np.zeros(0, np.int64)  # number of the last update with the level
        self._num_updates = 0
        self._is_read = find_values_read_by_rules(env.scenario)
        self._playing = self._rows[:0]  # start states of the worlds
        self._children = self._rows[:0]  # edited levels for the next update, see `EditedLevels`
        self._is_replay = self._can_replay = False

    def begin_update(self) -> tuple[Any, dict[str, Any]] | None:
        """Start a level in each world: the edited ones that wait, if any; else levels of the
        buffer, with the probability `replay_prob`; else new ones. Return the observations and infos
        of all worlds."""
        worlds, has_children = np.arange(self._env.num_worlds), len(self._children) > 0
        draws = torch.rand(1 + len(worlds), generator=self._rng, dtype=torch.float64).numpy()
        wants_replay = self._can_replay and draws[0] < self._settings.replay_prob
        self._is_replay = bool(wants_replay and not has_children)
        is_new = not (wants_replay or has_children)
        self.learns = self._is_replay or self._settings.train_on_new_levels
        self.is_measured[:] = is_new
        if is_new:
            results = self._env.reset()
            self._playing = self._env.snapshot()
            return results
        if self._is_replay:
            cumulative = self._find_probabilities().cumsum()
            found = np.searchsorted(cumulative / cumulative[-1], draws[1:], "right")
            self._playing = self._rows[found]
        else:
            self._playing = np.resize(self._children, len(worlds))
            self._children = self._children[:0]
        return self._start(worlds)

    def _start(self, worlds: NDArray[np.int64]) -> tuple[Any, dict[str, Any]]:
        """Start these worlds' levels; each goes on with its own random generator."""
        rows = self._playing[worlds]
        rows["rng"] = self._env.snapshot(worlds)["rng"]
        return self._env.restore(rows, worlds, trusted=True)

    def end_step(self, done: NDArray[np.bool_]) -> tuple[Any, dict[str, Any]] | None:
        """Start the levels of the worlds where `done`, (W,), is True again. Return the observations
        and infos of all worlds, or None if there are none."""
        worlds = np.flatnonzero(done)
        return self._start(worlds) if len(worlds) else None

    def end_update(self, advantages: Tensor, live: Tensor) -> None:
        """Score the levels of the update by the positive part of `advantages`, and add them to the
        buffer. Both tensors are (T, N); `live` is False where an agent took no part."""
        by_world = len(live), self._env.num_worlds, -1
        gains = (advantages.clamp(min=0) * live).reshape(by_world).sum((0, 2)).double().numpy()
        scores = gains / live.reshape(by_world).sum((0, 2)).clamp(min=1).numpy()
        self._num_updates += 1
        count = len(self.scores)
        keys = compute_content_keys(self._playing, self._env.scenario.layout, self._is_read)
        for key, first, score in zip(*_average_by_key(keys, scores), strict=True):
            self._keep(self._playing[first], key, score)
        num_levels = min(len(self._rows), len(self._env.batch.levels) or len(self._rows))
        self._can_replay |= len(self.scores) == count or 2 * len(self.scores) >= num_levels

    def _keep(self, row: np.void, key: np.uint64, score: float) -> None:
        """Set the score of a level in the buffer, or add the level. In a full buffer it replaces
        the one that is least probable, if its score is higher."""
        count = len(self.scores)
        known = np.flatnonzero(self._keys[:count] == key)
        if len(known):
            index = known[0]
        elif count < len(self._rows):
            index = count
            self.scores = np.append(self.scores, 0.0)
            self._played_at = np.append(self._played_at, 0)
        else:
            index = self._find_probabilities().argmin()
            if score <= self.scores[index]:
                return
        self._rows[index], self._keys[index] = row, key
        self.scores[index], self._played_at[index] = score, self._num_updates

    def _find_probabilities(self) -> NDArray[np.float64]:
        ages, settings = self._num_updates - self._played_at, self._settings
        options = settings.replay_temperature, settings.staleness_coef
        return find_replay_probabilities(self.scores, ages, *options)

    def state(self) -> dict[str, Any]:
        """Return everything that `restore` needs to continue, as tensors and plain values."""
        rows = {"rows": self._rows[: len(self.scores)], "children": self._children}
        arrays: dict[str, NDArray[Any]] = {"scores": self.scores, "played_at": self._played_at}
        for name, each in rows.items():
            arrays[name] = each.view(np.uint8).reshape(-1, self._rows.itemsize)
        tensors = {name: torch.from_numpy(each.copy()) for name, each in arrays.items()}
        return {**tensors, "updates": self._num_updates, "can_replay": self._can_replay}

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from `state`, saved by `state()` of a curriculum with the same settings."""
        scenario, dtype = self._env.scenario, self._rows.dtype
        rows, self._children = (
            scenario.check_rows(state[name].numpy().view(dtype).reshape(-1)).copy()
            for name in ("rows", "children")
        )
        self._rows[: len(rows)] = rows
        self._keys[: len(rows)] = compute_content_keys(rows, scenario.layout, self._is_read)
        self.scores, self._played_at = (state[k].numpy().copy() for k in ("scores", "played_at"))
        self._num_updates, self._can_replay = state["updates"], state["can_replay"]


class EditedLevels(LevelReplay):
    """ACCEL: prioritised level replay, in which each update that replays levels is followed by one
    that plays their children, the same levels with random edits.

    If the environment has a level set, no child has the layout of a level of `test-layout` or
    `validation`, or is a level of `test`.

    Raises:
        ConfigError: see `LevelEditor`.
    """

    def __init__(self, env: GridVectorEnv, settings: Hyperparameters, rng: torch.Generator) -> None:
        """Start with an empty buffer. `rng` makes the random choices."""
        super().__init__(env, settings, rng)
        self._editor = LevelEditor(env.scenario)
        self._held_out = find_held_out_keys(env.scenario) if len(env.batch.levels) else set()

    def end_update(self, advantages: Tensor, live: Tensor) -> None:
        """Score the levels of the update, and edit them if they were replayed."""
        super().end_update(advantages, live)
        if self._is_replay:
            rng = np.random.default_rng(int(torch.randint(2**62, (), generator=self._rng)))
            rows = self._playing.copy()
            for k, row in enumerate(self._playing):
                rows[k] = self._edit(row, rng)
            self._children = rows[~self._find_held_out(rows)]

    def _edit(self, row: np.void, rng: np.random.Generator) -> NDArray[np.void]:
        self._editor.load(row)
        for _ in range(_NUM_EDITS):
            self._editor.edit(rng)
        return self._editor.row()

    def _find_held_out(self, rows: NDArray[np.void]) -> NDArray[np.bool_]:
        keys = (
            compute_content_keys(rows, self._env.scenario.layout, is_read).tolist()
            for is_read in (self._is_read, None)
        )
        return np.array([not self._held_out.isdisjoint(each) for each in zip(*keys, strict=True)])


def _average_by_key(
    keys: NDArray[np.uint64], scores: NDArray[np.float64]
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.float64]]:
    """Return the different keys, the first index of each, and the mean of the scores at it: several
    worlds may play one level."""
    unique_keys, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return unique_keys, first, np.bincount(inverse, scores) / np.bincount(inverse)


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
        scores: (K,) scores of levels.
        ages: (K,) updates since the last one that played the level.
        temperature: positive number; the higher, the more equal are the probabilities.
        staleness_coef: weight of the ages, from 0 to 1.
    """
    by_score = np.zeros(len(scores))
    ranks = np.arange(1.0, 1 + len(scores))
    by_score[np.argsort(-scores, kind="stable")] = ranks ** (-1 / temperature)
    by_score /= by_score.sum()
    by_age = ages / ages.sum() if ages.any() else by_score
    return by_score + staleness_coef * (by_age - by_score)
