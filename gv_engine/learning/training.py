"""Training of runs: in this process, or in slices that any process can continue."""

from __future__ import annotations

import math
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from gv_engine.envs.level_sets import LevelSet
from gv_engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from gv_engine.learning.ppo import TrainingMetrics
    from gv_engine.learning.run_folder import Run


_MIN_EPISODES = 500
"""Finished episodes before `StopCondition.until` is compared with the success rate."""


@dataclass(frozen=True)
class Hyperparameters:
    """Settings of PPO; the defaults suit all grid scenarios of the engine.

    Attributes:
        seed: seed of the worlds, the initial weights and the sampling of actions.
        recurrent: add a GRU, reset at the start of each episode.
        mask_actions: give probability 0 to the actions that `info["action_mask"]` excludes.
        augment_colors: permute interchangeable colours per episode, see `color_augmentation`.
        num_envs: number of worlds; a world of A agents fills A lines of a batch.
        num_steps: steps of each world between two updates.
        update_epochs: passes over the collected steps in an update.
        num_minibatches: minibatches of a pass.
        learning_rate: step size of Adam.
        gamma: discount factor.
        gae_lambda: lambda of generalised advantage estimation.
        clip_coef: clip range of the probability ratio.
        ent_coef: weight of the entropy bonus.
        vf_coef: weight of the value loss.
        max_grad_norm: gradient norm above which the gradient is clipped.
        embedding_size: length of the embedding of a cell code.
        hidden_size: width of the hidden layers and of the GRU.
        num_threads: threads that share the gradient of a minibatch.
        num_env_threads: threads that step the worlds.
    """

    seed: int = 0
    recurrent: bool = False
    mask_actions: bool = True
    augment_colors: bool = True
    num_envs: int = 128
    num_steps: int = 32
    update_epochs: int = 3
    num_minibatches: int = 4
    learning_rate: float = 2e-3
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_coef: float = 0.2
    ent_coef: float = 0.01
    vf_coef: float = 0.5
    max_grad_norm: float = 0.5
    embedding_size: int = 16
    hidden_size: int = 128
    num_threads: int = 1
    num_env_threads: int = 1


RECURRENT_DEFAULTS = {"recurrent": True, "num_envs": 256, "num_minibatches": 2, "ent_coef": 0.03}
"""Settings of a recurrent learner that differ from the defaults: more exploration, and larger
minibatches, because a GRU runs through them step by step."""


class StopCondition(NamedTuple):
    """End of training: a number of steps, or a success rate before that.

    Attributes:
        steps: total environment steps of all worlds.
        until: success rate in (0, 1] that ends training early; None for no early end.
    """

    steps: int = 1_000_000
    until: float | None = None

    def is_met(self, metrics: TrainingMetrics) -> bool:
        """Return True if `metrics` have reached the number of steps or the success rate at which
        training ends."""
        if self.until is None or metrics.episodes < _MIN_EPISODES:
            return metrics.steps >= self.steps
        return metrics.steps >= self.steps or metrics.success_rate >= self.until


_CHECKPOINT_SECONDS = 30.0
"""Seconds between two checkpoints."""


class Training:
    """Training of a run in this process, from its checkpoint if there is one.

    Args:
        run: folder that the progress is written to.
        scenario: scenario of the run.
        levels: level set to train on; None for all levels.
        device: torch device that the network learns on, see `find_device`.
        options: further arguments for the vector environment.

    Attributes:
        learner: learner of the run.
        saved_steps: steps of the newest checkpoint; 0 if there is none.
    """

    def __init__(
        self,
        run: Run,
        scenario: Scenario,
        levels: LevelSet | None,
        device: str = "cpu",
        **options: Any,
    ) -> None:
        # imported here, because torch takes seconds to import
        from gv_engine.learning.ppo import Learner, make_training_env

        env = make_training_env(scenario, run.settings, levels=levels, **options)
        self.run, self.learner = run, Learner(env, run.settings, device)
        self._seconds_before = run.restore_learner(self.learner)
        self._start = self._saved_at = time.perf_counter()
        self._steps_before = self.saved_steps = self.learner.metrics.steps

    @property
    def metrics(self) -> TrainingMetrics:
        """Metrics after the last update."""
        return self.learner.metrics

    @property
    def seconds(self) -> float:
        """Seconds that the whole run took so far."""
        return self._seconds_before + time.perf_counter() - self._start

    @property
    def steps(self) -> int:
        """Steps since training started in this process."""
        return self.metrics.steps - self._steps_before

    @property
    def steps_per_second(self) -> float:
        """Speed since training started in this process."""
        return self.steps / (time.perf_counter() - self._start)

    def update(self) -> TrainingMetrics:
        """Run one update of the learner and log its metrics; save a checkpoint every 30 seconds."""
        metrics = self.learner.update()
        self.run.log_update(self.learner, self.seconds)
        if time.perf_counter() - self._saved_at > _CHECKPOINT_SECONDS:
            self.save_checkpoint()
        return metrics

    def save_checkpoint(self) -> None:
        """Write the checkpoint and the policy file of the run."""
        self.run.save_checkpoint(self.learner, self.seconds)
        self._saved_at, self.saved_steps = time.perf_counter(), self.metrics.steps

    def close(self) -> None:
        """Close the run's files and the environment."""
        self.run.close()
        self.learner.env.close()


class RunResult(NamedTuple):
    """State of a run after its training, or after a slice of it.

    Attributes:
        path: folder of the run.
        metrics: metrics of the last update.
        seconds: seconds that the whole run took so far.
        files: after a slice, bytes of the run's files by file name.
    """

    path: Path
    metrics: TrainingMetrics
    seconds: float
    files: dict[str, bytes]


@dataclass(frozen=True)
class TrainingSlices:
    """Training of runs in slices, which can be sent to other processes.

    The result is the same, bit for bit, as of training without a break: each slice resumes from
    the files of the one before.

    Attributes:
        scenario: scenario of the runs.
        levels: level set to train on; None for all levels.
        stop_condition: end of each run.
        seconds: length of a slice.
    """

    scenario: Scenario
    levels: LevelSet | None
    stop_condition: StopCondition
    seconds: float = math.inf

    def train(self, path: Path, files: dict[str, bytes]) -> RunResult:
        """Continue a training run in a temporary folder for a limited time, as one slice of a
        longer run.

        Args:
            path: folder of the run; only passed on to the result.
            files: the run's files, from `Run.read_files`.
        """
        from gv_engine.learning.run_folder import Run, write_run_files

        with TemporaryDirectory() as folder:
            write_run_files(Path(folder), files)
            run = Run(Path(folder))
            with closing(Training(run, self.scenario, self.levels)) as training:
                end = time.perf_counter() + self.seconds
                while not self.stop_condition.is_met(training.metrics):
                    training.update()
                    if time.perf_counter() >= end:
                        break
                training.save_checkpoint()
                seconds = training.seconds
            results = {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}
            return RunResult(path, training.metrics, seconds, results)
