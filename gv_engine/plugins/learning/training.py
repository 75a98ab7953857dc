"""Training of runs: in this process, or in slices that any process can continue.

Start with `train`; the command `gv-engine train` uses the classes below.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

from gv_engine.envs.environment import resolve_grid_scenario
from gv_engine.envs.level_sets import LevelSet, level_set
from gv_engine.envs.rollout.policy_file import CheckpointPolicy
from gv_engine.plugins.learning.config import (
    LEARNERS,
    Config,
    ConfigError,
    Hyperparameters,
    StopCondition,
)
from gv_engine.plugins.learning.evaluation import DEFAULT_EPISODES, evaluate_policy
from gv_engine.plugins.learning.extras import RL
from gv_engine.plugins.learning.level_edits import LevelEditor
from gv_engine.rules.errors import TrustError, shorten
from gv_engine.scenario.documents.loading import load_reference
from gv_engine.scenario.domains import get_plugin
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import make_file_name, to_path

if TYPE_CHECKING:
    from gv_engine.plugins.learning.run_folder import Run
    from gv_engine.plugins.learning.survival_estimate import TrainingMetrics

Callback = Callable[["Training"], Any]
"""Function that is called after each update; it may return True to end the training."""
Logger = Callable[[Mapping[str, float]], Any]
"""Function that gets the known metrics of each update by name, `seconds` and `steps` among them."""


_NOT_FINITE = (
    "the weights of the network are not finite any more, and this run learns nothing: lower "
    "learning_rate, or look by `gv-engine check` for a reward that is nan or inf"
)
_EVALUATION_SEED = 2**31
"""Seed of the levels of evaluations, which no training uses."""
_CHECKPOINT_SECONDS = 30.0
"""Seconds between two checkpoints."""


@contextmanager
def _raising_memory_errors() -> Iterator[None]:
    """Within a `with` block, turn torch's RuntimeError for lack of memory into MemoryError."""
    try:
        yield
    except RuntimeError as error:
        if "allocate" not in str(error) and "out of memory" not in str(error):
            raise
        raise MemoryError("a smaller num_envs, num_steps or hidden_size takes less") from None


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
        """Make the environment and the learner of a run. Continue from its checkpoint if there is
        one."""
        # imported here, because torch takes seconds to import
        from gv_engine.plugins.learning.ppo import Learner, make_training_env

        with _raising_memory_errors():
            env = make_training_env(scenario, run.settings, levels=levels, **options)
            learner_class = resolve_name(LEARNERS[run.settings.learner])
            learner: Learner = learner_class(env, run.settings, device)
        self.run, self.learner = run, learner
        self._seconds_before = run.restore_learner(self.learner)
        self._start = self._saved_at = time.perf_counter()
        self._steps_before = self.saved_steps = self.learner.metrics.steps

    def run_until(
        self,
        stop_condition: StopCondition,
        callbacks: Iterable[Callback] = (),
        loggers: Iterable[Logger] = (),
        guard: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Run updates until the stop condition is met or a callback returns True, then save a
        checkpoint. `guard` returns a context manager, in which each update runs."""
        callbacks, loggers, is_stopped = [*callbacks], [*loggers], False
        while not (is_stopped or stop_condition.is_met(self.metrics)):
            with guard():
                metrics = self.update()
            values = {"seconds": self.seconds, **metrics._asdict()}
            known = {name: value for name, value in values.items() if not math.isnan(value)}
            for log in loggers:
                log(known)
            is_stopped = True in [callback(self) for callback in callbacks]
        self.save_checkpoint()

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
        """Run one update of the learner and log its metrics. Save a checkpoint if the last one is
        30 seconds old."""
        interval, steps = self.run.settings.eval_interval, self.metrics.steps
        with _raising_memory_errors():
            metrics = self.learner.update()
        if interval and metrics.steps // interval > steps // interval:
            self.learner.evaluated = self._evaluate()
            metrics = self.metrics
        self.run.log_update(self.learner, self.seconds)
        weights = self.learner.net.parameters() if math.isnan(metrics.value_loss) else ()
        if not all(bool(values.isfinite().all()) for values in weights):
            warnings.warn(f"{self.run.path}: {_NOT_FINITE}", RuntimeWarning, stacklevel=2)
        if time.perf_counter() - self._saved_at > _CHECKPOINT_SECONDS:
            self.save_checkpoint()
        return metrics

    def _evaluate(self) -> tuple[float, float]:
        """Play episodes with the present policy in levels that it is not trained on. Return success
        rate and mean return."""
        file = self.run.policy_file(self.learner)
        levels, seed = ("validation", 0) if self.run.level_seeds else (None, _EVALUATION_SEED)
        scenario = self.learner.env.scenario
        found = evaluate_policy(file, scenario, levels, DEFAULT_EPISODES, seed)
        return found.success.mean if found.success else math.nan, found.episode_return.mean

    def make_policy(self, num_envs: int) -> CheckpointPolicy:
        """Return a copy of the present policy that acts in `num_envs` worlds."""
        file = self.run.policy_file(self.learner)
        return CheckpointPolicy(file, num_envs, self.learner.env.scenario)

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


def train(
    scenario: Any,
    config: Config | Mapping[str, Any] | str | Path | None = None,
    out: str | Path | None = None,
    callbacks: Iterable[Callback] = (),
    loggers: Iterable[Logger] = (),
    **unknown: Any,
) -> RunResult:
    """Train a policy on a scenario. Return the result, whose `path` is the run's folder; it can be
    loaded as a policy.

    Args:
        scenario: name, file, mapping or `Scenario` of a grid with a step limit.
        config: configuration, or a mapping or a YAML or TOML file with some of its values by name.
        out: new folder of the run; by default "SCENARIO-run".
        callbacks: called with the `Training` after each update.
        loggers: called with the metrics after each update. The run itself writes `progress.csv`
            and, if TensorBoard is installed, its events.
        unknown: settings, which belong into `config`.

    Raises:
        ConfigError: the configuration is invalid.
        FileExistsError: the folder is not empty.
        LevelsError: there is no such level set.
        MissingExtraError: torch is not installed.
        OSError: the folder cannot be written.
        ScenarioError: the scenario is invalid.
        TypeError: a setting is given by name.
        ValueError: episodes of the scenario have no step limit, or there is no such device.
    """
    if unknown:
        given = ", ".join(f"{name}={shorten(repr(value), 40)}" for name, value in unknown.items())
        raise TypeError(
            f"train() got {given}; settings go into a Config: train(…, Config({given}))"
        )
    RL.require()
    from gv_engine.plugins.learning.ppo import find_device
    from gv_engine.plugins.learning.run_folder import Run, check_new_run_folder, undo_runs_on_error

    for name, functions in {"callbacks": callbacks, "loggers": loggers}.items():
        if not isinstance(functions, Iterable):
            raise TypeError(f"{name}={functions!r}: expected a list of functions")
    config = _to_config(config)
    device = find_device(config.device)
    grid = resolve_grid_scenario(scenario)
    grid = get_plugin(grid).with_step_limit(grid, None)  # which requires one
    settings = prepare_settings(config, grid)
    levels = None if config.levels is None else level_set(grid, config.levels)
    path = to_path(out or f"{make_file_name(grid.name)}-run", "out")
    try:
        check_new_run_folder(path)
    except FileExistsError:
        raise FileExistsError(
            f"{path} is there already: give another folder by `out`, or continue its run by "
            f"resume_training({str(path)!r})"
        ) from None
    run = Run.create(path, grid, settings, config.levels, levels, config.stop_condition)
    with undo_runs_on_error([run]):
        return _train_run(run, levels.scenario if levels else grid, device, callbacks, loggers)


def resume_training(
    path: str | Path,
    steps: int | None = None,
    until: float | None = None,
    device: str = "auto",
    callbacks: Iterable[Callback] = (),
    loggers: Iterable[Logger] = (),
    trust: bool = False,
) -> RunResult:
    """Resume the training run in the folder `path` exactly where it stopped, and return the result.

    Args:
        path: folder of the run.
        steps, until: new end of training; None for the last value of the run.
        device: as in `Config`.
        callbacks, loggers: as for `train`.
        trust: whether the scenario of the run, and its partners, may run Python of their own.

    Raises:
        ConfigError: `steps` or `until` is out of range.
        RunError: there is no run, it is damaged, or another process trains it.
        TrustError: the run needs Python that may not run.
    """
    RL.require()
    from gv_engine.plugins.learning.run_folder import Run

    run = Run(to_path(path, "path"))
    run.require_finished_imitation()
    check_partner_code(run.settings.partner, run.path, trust)
    old = run.stop_condition
    end = Config(
        steps=old.steps if steps is None else steps, until=old.until if until is None else until
    )
    run.set_stop_condition(end.stop_condition)
    scenario = load_reference(run.scenario, run.path, trust=trust)
    assert isinstance(scenario, Scenario)  # of a run that began
    return _train_run(run, scenario, device, callbacks, loggers)


def prepare_settings(config: Config, scenario: Scenario) -> Hyperparameters:
    """Return the hyperparameters of a configuration, with absolute paths to partners. Raise an
    error if they do not fit the scenario.

    Raises:
        ConfigError: the learner, the partner or the curriculum cannot train on the scenario.
        PolicyError, RunError: see `gv_engine.plugins.learning.partner_policies.load_partners`.
    """
    if config.learner == "mappo" and scenario.layout.agents == 1:
        raise ConfigError(
            f"the learner mappo trains several agents, and {scenario.name} has one: choose ppo or "
            f"pqn"
        )
    if config.curriculum == "accel":
        LevelEditor(scenario)
    if config.curriculum != "random":
        longest = max(member.max_steps or math.inf for member in scenario.members)
        if config.num_steps < longest:
            raise ConfigError(
                f"num_steps is {config.num_steps}, and an episode of {scenario.name} has up to "
                f"{longest} steps: with the curriculum {config.curriculum} all worlds begin new "
                f"episodes in each update, so set num_steps={longest}, or a lower step limit"
            )
    if not config.partner:
        return config.hyperparameters
    from gv_engine.plugins.learning.partners import resolve_partner

    return replace(config.hyperparameters, partner=resolve_partner(config.partner, scenario))


def check_partner_code(partner: str, path: Path, trust: bool) -> None:
    """Raise TrustError if a run's setting `partner` names a Python file. Do nothing if `trust` is
    True. `path` is the run's folder."""
    if ".py:" in partner and not trust:
        raise TrustError(
            f"{path} trains with partners in Python, {partner}, which would run: resume it with "
            f"--trust if you trust them"
        )


def _to_config(config: Config | Mapping[str, Any] | str | Path | None) -> Config:
    """Convert the argument `config` of `train`, such as a mapping or a path, to a `Config`."""
    if isinstance(config, Config):
        return config
    if isinstance(config, str | Path):
        return Config.read(config)
    return Config.from_values(config or {})


def _train_run(
    run: Run,
    scenario: Scenario,
    device: str,
    callbacks: Iterable[Callback],
    loggers: Iterable[Logger],
) -> RunResult:
    """Train a run until its stop condition is met, and return the result."""
    from gv_engine.plugins.learning.ppo import find_device

    levels = LevelSet(scenario, run.level_seeds) if run.level_seeds else None
    with run.lock(), closing(Training(run, scenario, levels, find_device(device))) as training:
        training.run_until(run.stop_condition, callbacks, loggers)
        return RunResult(run.path, training.metrics, training.seconds, {})


def train_slice(
    scenario: Scenario,
    levels: LevelSet | None,
    stop_condition: StopCondition,
    max_seconds: float,
    path: Path,
    files: dict[str, bytes],
) -> RunResult:
    """Continue a training run for at most `max_seconds` in a temporary folder. `files` are the
    run's files, and the result has their new contents for the next slice. Slices give bit for bit
    the same result as one long training.

    Args:
        scenario: scenario of the run.
        levels: level set to train on; None for all levels.
        stop_condition: end of the run.
        max_seconds: time after which the slice ends.
        path: folder of the run; only passed on to the result.
        files: the run's files, from `Run.read_files`.
    """
    from gv_engine.plugins.learning.run_folder import Run, write_run_files

    with TemporaryDirectory() as folder:
        write_run_files(Path(folder), files)
        with closing(Training(Run(Path(folder)), scenario, levels)) as training:
            end = time.perf_counter() + max_seconds
            training.run_until(stop_condition, [lambda _: time.perf_counter() >= end])
            seconds = training.seconds
        results = {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}
        return RunResult(path, training.metrics, seconds, results)
