"""Training of several runs, one after the other or all at once on Ray, and its report."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gv_engine.cli import output
from gv_engine.cli.options import complain, say
from gv_engine.cli.output import delaying_signals, exit_code, progress
from gv_engine.envs.level_sets import LevelSet
from gv_engine.learning.config import StopCondition
from gv_engine.learning.training import Training, TrainingSlices
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.watchdog import force_exit_after

if TYPE_CHECKING:
    from gv_engine.learning.ppo import TrainingMetrics
    from gv_engine.learning.run_folder import Run
    from gv_engine.ui.window.batch_process import BatchProcess

_MAX_WAIT = 30.0
"""Seconds in which an update has to end after Ctrl-C or SIGTERM."""
_UNKNOWN = "–"
_SLICE_SECONDS = 20.0
"""Seconds that a run trains on Ray before it is saved, and may continue on another machine."""


class TrainingPlan(NamedTuple):
    """Scenario and end of some runs.

    Attributes:
        scenario: scenario of all runs.
        levels: level set to train on; None for all levels.
        stop_condition: end of each run.
        rollout_command: command that rolls out the run, for messages.
        resume_command: command that resumes all runs, for messages.
    """

    scenario: Scenario
    levels: LevelSet | None
    stop_condition: StopCondition
    rollout_command: str
    resume_command: str


class _RunResult(NamedTuple):
    """Progress of a run."""

    path: Path
    metrics: TrainingMetrics
    seconds: float


def train_here(plan: TrainingPlan, runs: Sequence[Run], watch: bool = False) -> int:
    """Train runs one after the other, print a report, and return the exit code.

    Args:
        plan: scenario and end of the runs.
        runs: folders of the runs.
        watch: show the worlds in a window.
    """
    code, steps, run_parts = 0, 0, []
    rows: list[tuple[str, str]] = []
    options = {"world": "compiled"} if watch else {}
    for run in runs:
        label = f"steps of {run.path}" if runs[1:] else "steps"
        with run.lock(), closing(Training(run, plan.scenario, plan.levels, **options)) as training:
            code = _train(training, plan, label, watch)
            run_parts.append(_RunResult(run.path, training.metrics, training.seconds))
            rows, steps = _report_rows(training), steps + training.steps
        if code:
            break
    if not (steps or code):
        done = min(result.metrics.steps for result in run_parts)
        target = plan.stop_condition
        until = f" or --until {target.until:g}" if target.until else ""
        complain(
            f"nothing to learn: {done:,} steps are made, and --steps {target.steps:,}{until} is "
            f"reached; ask for more"
        )
    if runs[1:]:
        _print_results(plan, run_parts)
    else:
        output.print_table(("", ">"), rows, plan.scenario.name)
        say(f"{runs[0].path}: {plan.rollout_command}")
    _warn_of_unknown_means(plan, runs, run_parts)
    return code


def _train(training: Training, plan: TrainingPlan, label: str, watch: bool) -> int:
    """Train until the stop condition or an interrupt, save a checkpoint, return the exit code."""
    stop_condition, code = plan.stop_condition, 0
    viewer = _open_viewer(training) if watch else None
    try:
        with delaying_signals() as interrupts:  # until the checkpoint is saved
            with progress(label, stop_condition.steps) as advance:
                advance(training.metrics.steps)
                while not (interrupts or stop_condition.is_met(training.metrics)):
                    steps = training.metrics.steps
                    with force_exit_after(_MAX_WAIT, _interrupted_message(training, plan)):
                        metrics = training.update()
                    if viewer:
                        _send_metrics(viewer, training)
                    speed = f"{training.steps_per_second:,.0f} steps/s"
                    advance(metrics.steps - steps, f"{_format_progress(metrics)}{speed}")
            training.save_checkpoint()
    except KeyboardInterrupt as interrupt:
        code = exit_code(interrupt)
        complain(f"interrupted; go on by: {plan.resume_command}")
    finally:
        if viewer:
            viewer.close()
    return code


def _interrupted_message(training: Training, plan: TrainingPlan) -> str:
    """Return the message for an interrupt that does not wait for the update."""
    saved = f"{training.run.path} is kept as it was after {training.saved_steps:,} steps"
    return f"interrupted in the midst of an update; {saved}; go on by: {plan.resume_command}"


def train_on_ray(plan: TrainingPlan, runs: Sequence[Run], address: str) -> int:
    """Train runs all at once on Ray, print a report, and return the exit code.

    Runs are trained in slices. A slice that is lost with its machine is trained again, with the
    same result. After Ctrl-C or SIGTERM a run has the slices that have come back.

    Args:
        plan: scenario and end of the runs.
        runs: folders of the runs.
        address: address of the cluster, see `gv_engine.rollout.on_ray.run_parts`.
    """
    from gv_engine.learning.run_folder import write_run_files
    from gv_engine.rollout.on_ray import run_parts  # imported here: Ray takes seconds to import

    stop_condition, cores = plan.stop_condition, runs[0].settings.num_threads
    by_path = {run.path: run for run in runs}
    waiting = deque((run.path, run.read_files()) for run in runs)
    by_run: dict[Path, _RunResult] = {}
    slices = TrainingSlices(plan.scenario, plan.levels, stop_condition, _SLICE_SECONDS)
    jobs = (waiting.popleft() if waiting else None for _ in count())
    code = done = 0
    try:
        with progress("steps", stop_condition.steps * len(runs)) as advance:
            for path, files, metrics, seconds in run_parts(
                slices.train, jobs, address, cores, False
            ):
                with delaying_signals():
                    write_run_files(path, files)
                before = by_run[path].metrics.steps if path in by_run else 0
                by_run[path] = _RunResult(path, metrics, seconds)
                steps = metrics.steps
                if stop_condition.is_met(metrics):
                    done, steps = done + 1, stop_condition.steps
                else:  # ahead of runs that have not started
                    waiting.appendleft((path, by_path[path].read_files()))
                state = f"{path}, {done} of {len(runs)} runs done"
                advance(steps - before, f"{_format_progress(metrics)}{state}")
    except KeyboardInterrupt as interrupt:
        code = exit_code(interrupt)
        complain(f"interrupted; go on by: {plan.resume_command}")
    finished = [by_run[run.path] for run in runs if run.path in by_run]
    _print_results(plan, finished)
    _warn_of_unknown_means(plan, runs, finished)
    return code


def _open_viewer(training: Training) -> BatchProcess:
    """Open a window that shows the worlds while it is open."""
    from gv_engine.ui.window.batch_process import BatchProcess
    from gv_engine.vector.compiled_backend import CompiledBatch

    batch = training.learner.env.batch
    assert isinstance(batch, CompiledBatch)  # it was asked for
    viewer = BatchProcess(batch, f"{len(batch):,} worlds")
    training.learner.on_step = viewer.send_state
    return viewer


def _send_metrics(viewer: BatchProcess, training: Training) -> None:
    """Send the metrics of the last update to the window."""
    from gv_engine.session.batch_viewer import CurvePoint

    metrics = training.metrics
    means = metrics.success_rate, metrics.episode_return, metrics.episode_length
    viewer.send_means(CurvePoint(*means, training.steps_per_second))


def _format_progress(metrics: TrainingMetrics) -> str:
    """Return the success rate and the return, as far as they are known, for the progress bar."""
    texts = zip(("success", "return"), _format_means(metrics), strict=False)
    return "".join(f"{name} {text}  " for name, text in texts if text != _UNKNOWN)


def _format_means(metrics: TrainingMetrics) -> list[str]:
    """Return the texts of success rate, return and length."""
    texts = (
        f"{metrics.success_rate:.1%}",
        f"{metrics.episode_return:.4g}",
        f"{metrics.episode_length:.4g}",
    )
    return [_UNKNOWN if text.startswith("nan") else text for text in texts]


def _warn_of_unknown_means(
    plan: TrainingPlan, runs: Sequence[Run], run_parts: Sequence[_RunResult]
) -> None:
    """Print why there are no means of a run, if there are none."""
    unknown = [result for result in run_parts if math.isnan(result.metrics.episode_return)]
    if unknown:
        longest = max(member.max_steps or 0 for member in plan.scenario.members)
        enough = longest * runs[0].settings.num_envs * plan.scenario.layout.agents
        complain(
            f"{unknown[0].path} acts with its last weights, not its best: success and return are "
            f"not known before most episodes can have ended, after {enough:,} steps at the latest"
        )


def _report_rows(training: Training) -> list[tuple[str, str]]:
    """Return the (label, value) rows of the report of a run; unknown values are left out."""
    metrics, best, seconds = training.metrics, training.run.best, training.learner.seconds
    speed = f"{training.steps_per_second:,.0f}" if training.steps else "nan"
    rows = [
        ("steps", f"{metrics.steps:,}"),
        ("episodes", f"{metrics.episodes:,}"),
        ("seconds", f"{training.seconds:.1f}"),
        ("steps per second", speed),
        ("success", f"{metrics.success_rate:.1%}"),
        ("return, mean", f"{metrics.episode_return:.4g}"),
        ("length, mean", f"{metrics.episode_length:.4g}"),
    ]
    if best:
        success_rate = math.nan if math.isnan(metrics.success_rate) else best["score"][0]
        rows.append(("best success", f"{success_rate:.1%}"))
        rows.append(("best return, mean", f"{best['score'][1]:.4g}"))
    total = sum(seconds.values()) or math.nan
    rows += [(f"share of {name}", f"{part / total:.1%}") for name, part in seconds.items()]
    return [row for row in rows if not row[1].startswith("nan")]


def _print_results(plan: TrainingPlan, run_parts: Sequence[_RunResult]) -> None:
    """Print a table with a line for each of several runs."""
    if not run_parts:
        return
    heads = "run", "steps>", "episodes>", "seconds>", "success>", "return, mean>", "length, mean>"
    rows = [
        (
            path,
            f"{metrics.steps:,}",
            f"{metrics.episodes:,}",
            f"{seconds:.1f}",
            *_format_means(metrics),
        )
        for path, metrics, seconds in run_parts
    ]
    output.print_table(heads, rows, plan.scenario.name)
