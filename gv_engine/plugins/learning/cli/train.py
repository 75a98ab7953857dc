"""Train a policy by reinforcement learning (needs the extra rl).

examples:
  gv-engine train keydoor-9x9
  gv-engine train keydoor-9x9 --watch
  gv-engine train memory-9x9 --memory --steps 3000000 --out remembers
  gv-engine train BabyAI-GoToLocal-v0 --imitate shown --out follows
  gv-engine train maze-9x9 --curriculum plr
  gv-engine train hunt --partner self
  gv-engine train --resume remembers --steps 6000000
  gv-engine train keydoor-9x9 --seeds 0:10 --ray --out tens
  gv-engine train --resume tens --ray
  gv-engine rollout memory-9x9 --policy remembers --episodes 1000
  gv-engine play memory-9x9 --policy remembers:greedy

RUN gets run.json, the scenario and all hyperparameters; checkpoint.pt, from which --resume
continues bit for bit; policy.npz, the best weights so far; progress.csv, a line for each update;
and TensorBoard events, if TensorBoard is installed. Ctrl-C and SIGTERM save a checkpoint first.
Every command with --policy takes the folder as a policy.

--seeds trains one run per seed, RUN/0, RUN/1 …, and --resume RUN continues all of them, here or
with --ray, including those that have not started.
"""

from __future__ import annotations

import argparse
import math
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import asdict, fields, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gv_engine.cli import options as cli
from gv_engine.envs.level_sets import LevelSet, level_set
from gv_engine.envs.rollout import episode_folder
from gv_engine.play.session.watchdog import force_exit_after
from gv_engine.plugins.learning.cli.command_words import consent_words, parse_seeds, scenario_words
from gv_engine.plugins.learning.config import (
    CURRICULA,
    LEARNERS,
    PRESETS,
    Config,
    Hyperparameters,
    StopCondition,
    read_config_file,
)
from gv_engine.plugins.learning.evaluation import evaluate_policy, summarise_seeds
from gv_engine.plugins.learning.extras import RL
from gv_engine.plugins.learning.loggers import WandbLogger, import_wandb
from gv_engine.plugins.learning.partner_policies import name_with_partners
from gv_engine.plugins.learning.training import (
    Callback,
    Logger,
    RunResult,
    Training,
    check_partner_code,
    prepare_settings,
    train_slice,
)
from gv_engine.rules.errors import UnknownOptionError
from gv_engine.rules.turns import AgentGroup
from gv_engine.scenario.documents.loading import load_reference, load_scenario
from gv_engine.scenario.domains import format_command
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import make_file_name

if TYPE_CHECKING:
    from gv_engine.play.ui.window.viewer import BatchProcess
    from gv_engine.plugins.learning.run_folder import Run
    from gv_engine.plugins.learning.survival_estimate import TrainingMetrics


_MAX_WAIT = 30.0
"""Seconds in which an update has to end after Ctrl-C or SIGTERM."""
_UNKNOWN = "–"
_EVALUATION_EPISODES = 100
"""Episodes in which the policy is evaluated at the end."""
_SLICE_SECONDS = 20.0
"""Seconds that a run trains on Ray before it is saved, and may continue on another machine."""


class TrainingPlan(NamedTuple):
    """Scenario, levels and stop condition of training runs, and shell commands for messages.

    Attributes:
        scenario: scenario of all runs.
        levels: level set to train on; None for all levels.
        stop_condition: when each run ends.
        rollout_command: command that plays episodes with the trained policy, for messages.
        resume_command: command that resumes all runs, for messages.
    """

    scenario: Scenario
    levels: LevelSet | None
    stop_condition: StopCondition
    rollout_command: str
    resume_command: str


def train_here(
    plan: TrainingPlan,
    runs: Sequence[Run],
    watch: bool = False,
    demonstrations: tuple[Path, Any] | None = None,
    device: str = "cpu",
    wandb: str | None = None,
) -> int:
    """Train all `runs` one after another on this machine and print a report. Return the exit code.
    If `watch`, a window shows the worlds during training.

    Args:
        plan: scenario and end of the runs.
        runs: folders of the runs.
        watch: show the worlds in a window.
        demonstrations: folder and content of a rollout whose actions are learned first.
        device: torch device to learn on.
        wandb: project of Weights & Biases that gets the metrics; None for none.
    """
    code, num_steps, results = 0, 0, []
    report: list[tuple[str, str]] = []
    options: dict[str, Any] = {"world": "compiled"} if watch else {}
    is_only_run = len(runs) == 1
    for run in runs:
        label = "steps" if is_only_run else f"steps of {run.path}"
        make = partial(Training, run, plan.scenario, plan.levels, device, **options)
        with run.lock(), closing(make()) as training, ExitStack() as stack:
            loggers: list[Logger] = []
            if wandb:
                logger = WandbLogger(wandb, name=str(run.path), config=asdict(run.settings))
                loggers.append(stack.enter_context(logger))
            report = _imitate(training, *demonstrations) if demonstrations else []
            code = train_run(training, plan, label, loggers, watch=watch)
            results.append(RunResult(run.path, training.metrics, training.seconds, {}))
            report += _report_rows(training)
            num_steps += training.steps
        if code:
            break
    if not (num_steps or code or demonstrations):
        _warn_nothing_to_learn(plan.stop_condition, results)
    if is_only_run:
        if not (code or runs[0].settings.partner):
            report += _evaluate_run(plan, runs[0])
        cli.print_table(("", ">"), report, plan.scenario.name)
        cli.say(f"{runs[0].path}: {plan.rollout_command}")
    else:
        _print_results(plan, results)
    _warn_of_unknown_means(plan, runs, results)
    return code


def _warn_nothing_to_learn(end: StopCondition, results: Sequence[RunResult]) -> None:
    """Print that all runs had reached the stop condition `end` before the training began."""
    num_steps = min(result.metrics.steps for result in results)
    until = f" or --until {end.until:g}" if end.until else ""
    cli.complain(
        f"nothing left to learn: after {num_steps:,} steps, --steps {end.steps:,}{until} is "
        f"reached; raise it"
    )


def train_run(
    training: Training,
    plan: TrainingPlan,
    label: str,
    loggers: Sequence[Logger] = (),
    callbacks: Sequence[Callback] = (),
    watch: bool = False,
) -> int:
    """Train one run until the stop condition of `plan` is met, a callback returns True, or a signal
    interrupts. Save a checkpoint and return the exit code. `label` is the text of the progress
    bar."""
    stop_condition, code = plan.stop_condition, 0
    viewer = _open_viewer(training) if watch else None
    try:
        with (
            cli.delaying_signals() as interrupts,  # until the checkpoint is saved
            cli.progress(label, stop_condition.steps) as advance,
        ):
            steps = training.metrics.steps
            advance(steps)

            def report_progress(training: Training) -> bool:
                nonlocal steps
                if viewer:
                    _send_metrics(viewer, training)
                metrics, speed = training.metrics, f"{training.steps_per_second:,.0f} steps/s"
                advance(metrics.steps - steps, f"{_format_progress(metrics)}{speed}")
                steps = metrics.steps
                return bool(interrupts)

            def guard() -> AbstractContextManager[None]:
                return force_exit_after(_MAX_WAIT, _interrupted_message(training, plan))

            training.run_until(stop_condition, [report_progress, *callbacks], loggers, guard)
    except KeyboardInterrupt as interrupt:
        code = cli.exit_code(interrupt)
        cli.complain(f"interrupted; continue with: {plan.resume_command}")
    finally:
        if viewer:
            viewer.close()
    return code


def _imitate(training: Training, path: Path, rollout: Any) -> list[tuple[str, str]]:
    """Train the learner of `training` to imitate `rollout`, the recorded episodes in the folder
    `path`, and save a checkpoint. Return (label, value) rows for the report."""
    from gv_engine.plugins.learning.imitation import MAX_PASSES, imitate

    with cli.progress("passes over demonstrations", MAX_PASSES) as advance:
        result = imitate(
            training.learner,
            path,
            rollout,
            report=lambda passes, loss: advance(1, f"held-out loss {loss:.4f}"),
        )
    training.save_checkpoint()
    held_out_levels = "other levels"
    if not result.has_other_levels:
        held_out_levels = "the same level"
        cli.complain(
            f"all episodes of {path} begin with the same observation, so their held-out loss tells "
            f"nothing about other levels; record episodes of several levels"
        )
    return [
        ("demonstrations", f"{result.episodes:,}"),
        ("steps of demonstrations", f"{result.steps:,}"),
        ("passes over them", f"{result.passes:,}"),
        ("held-out episodes", f"{result.held_out:,} of {held_out_levels}"),
        ("held-out loss", f"{result.loss:.4f}"),
        ("held-out actions predicted", f"{result.accuracy:.1%}"),
    ]


def _interrupted_message(training: Training, plan: TrainingPlan) -> str:
    saved = f"{training.run.path} keeps its state after {training.saved_steps:,} steps"
    return f"interrupted during an update; {saved}; continue with: {plan.resume_command}"


def train_on_ray(plan: TrainingPlan, runs: Sequence[Run], address: str) -> int:
    """Train all `runs` in parallel on the Ray cluster at `address`, and print a report. Return the
    exit code.

    Runs are trained in slices. A slice that is lost with its machine is trained again, with the
    same result. After Ctrl-C or SIGTERM a run keeps only its finished slices.

    Args:
        plan: scenario and end of the runs.
        runs: folders of the runs.
        address: address of the cluster, see `gv_engine.envs.rollout.on_ray.run_parts`.
    """
    from gv_engine.envs.rollout.on_ray import (
        run_parts,  # imported here: Ray takes seconds to import
    )
    from gv_engine.plugins.learning.run_folder import write_run_files

    stop_condition, cores = plan.stop_condition, runs[0].settings.num_threads
    runs_by_path = {run.path: run for run in runs}
    queue = deque((run.path, run.read_files()) for run in runs)
    last_results: dict[Path, RunResult] = {}
    train = partial(train_slice, plan.scenario, plan.levels, stop_condition, _SLICE_SECONDS)
    jobs = (queue.popleft() if queue else None for _ in count())  # None: no job at the moment
    code = num_done = 0
    try:
        with cli.progress("steps", stop_condition.steps * len(runs)) as advance:
            for result in run_parts(train, jobs, address, cores, in_order=False):
                path, metrics, _, files = result
                with cli.delaying_signals():
                    write_run_files(path, files)
                steps_before = last_results[path].metrics.steps if path in last_results else 0
                last_results[path] = result._replace(files={})
                steps = metrics.steps
                if stop_condition.is_met(metrics):
                    num_done, steps = num_done + 1, stop_condition.steps
                else:  # ahead of runs that have not started
                    queue.appendleft((path, runs_by_path[path].read_files()))
                state = f"{path}, {num_done} of {len(runs)} runs done"
                advance(steps - steps_before, f"{_format_progress(metrics)}{state}")
    except KeyboardInterrupt as interrupt:
        code = cli.exit_code(interrupt)
        cli.complain(f"interrupted; go on by: {plan.resume_command}")
    results = [last_results[run.path] for run in runs if run.path in last_results]
    _print_results(plan, results)
    _warn_of_unknown_means(plan, runs, results)
    return code


def _open_viewer(training: Training) -> BatchProcess:
    """Open a window in another process that shows the worlds of `training` at every step, and
    return that process."""
    from gv_engine.envs.backends.compiled_backend import CompiledBatch
    from gv_engine.play.ui.window.viewer import BatchProcess

    batch = training.learner.env.batch
    assert isinstance(batch, CompiledBatch)  # it was asked for
    viewer = BatchProcess(batch, f"{len(batch):,} worlds")
    training.learner.on_step = viewer.send_state
    return viewer


def _send_metrics(viewer: BatchProcess, training: Training) -> None:
    """Send success rate, return, episode length and speed to the viewer window. If the window
    requests it, send the policy's value estimate for each cell of a world too."""
    from gv_engine.play.session.batch_viewer import CurvePoint

    metrics = training.metrics
    means = metrics.success_rate, metrics.episode_return, metrics.episode_length
    viewer.send(CurvePoint(*means, training.steps_per_second))
    viewer.send_values(training.make_policy)


def _format_progress(metrics: TrainingMetrics) -> str:
    texts = zip(("success", "return"), _format_means(metrics), strict=False)
    return "".join(f"{name} {text}  " for name, text in texts if text != _UNKNOWN)


def _format_counts(metrics: TrainingMetrics, seconds: float) -> tuple[str, str, str]:
    return f"{metrics.steps:,}", f"{metrics.episodes:,}", f"{seconds:.1f}"


def _format_means(metrics: TrainingMetrics) -> list[str]:
    means = metrics.episode_return, metrics.episode_length
    texts = f"{metrics.success_rate:.1%}", *(f"{mean:.4g}" for mean in means)
    return [_UNKNOWN if text.startswith("nan") else text for text in texts]


def _warn_of_unknown_means(
    plan: TrainingPlan, runs: Sequence[Run], results: Sequence[RunResult]
) -> None:
    """If a run is too short to learn, or to estimate success rate and return, print a warning with
    the number of steps that it needs."""
    settings = runs[0].settings
    for path, metrics, *_ in results:
        if metrics.steps and math.isnan(metrics.value_loss):
            updates = math.ceil(settings.level_buffer_size / 2 / settings.num_envs)
            needed = updates * settings.num_envs * settings.num_steps * plan.scenario.layout.agents
            cli.complain(
                f"{path} has learned nothing yet: the curriculum {settings.curriculum} first "
                f"scores new levels, often in {needed:,} steps or more; go on with --resume"
            )
            return
        has_learned = metrics.steps > 0  # other runs only imitated
        if has_learned and math.isnan(metrics.episode_return):
            longest = max(member.max_steps or 0 for member in plan.scenario.members)
            needed = longest * settings.num_envs * plan.scenario.layout.agents
            cli.complain(
                f"{path} acts with its last weights, not its best: success and return are known "
                f"only when most episodes can have ended, which takes up to {needed:,} steps"
            )
            return


def _report_rows(training: Training) -> list[tuple[str, str]]:
    """Return the final report on one training run as (label, value) rows. Unknown values are left
    out."""
    if not training.metrics.steps:  # it only imitated
        return [("device", str(training.learner.device))]
    seconds, level_seeds = training.learner.seconds, training.run.level_seeds
    steps, episodes, duration = _format_counts(training.metrics, training.seconds)
    success, mean_return, mean_length = _format_means(training.metrics)
    speed = f"{training.steps_per_second:,.0f}" if training.steps else _UNKNOWN
    rows = [
        ("steps", steps),
        ("episodes", episodes),
        ("seconds", duration),
        ("steps per second", speed),
        ("success", success),
        ("return, mean", mean_return),
        ("length, mean", mean_length),
        ("device", str(training.learner.device)),
        ("levels", f"{training.run.levels}, {len(level_seeds):,}" if level_seeds else "all"),
    ]
    if best := training.run.best:
        rows.append(("weights", f"after {best['steps']:,} steps, the best in these levels"))
    if total := sum(seconds.values()):
        rows += [(f"share of {name}", f"{part / total:.1%}") for name, part in seconds.items()]
    return [row for row in rows if row[1] != _UNKNOWN]


def _evaluate_run(plan: TrainingPlan, run: Run) -> list[tuple[str, str]]:
    """Play episodes with the policy of a finished run, with its best weights if known, in its
    training levels. Return (label, value) rows with success rate and mean return, each with a 95 %
    interval."""
    policy = run.path.absolute()  # as a name it could be that of a built-in policy
    result = evaluate_policy(policy, plan.scenario, plan.levels, _EVALUATION_EPISODES)
    rows, mean_return = [("evaluated episodes", f"{result.episodes:,}")], result.episode_return
    if result.success:
        rows.append(("evaluated success", "{:.1%} ({:.1%} to {:.1%})".format(*result.success)))
    return [*rows, ("evaluated return, mean", "{:.4g} ({:.4g} to {:.4g})".format(*mean_return))]


def _print_results(plan: TrainingPlan, results: Sequence[RunResult]) -> None:
    """Print a table with one line for each training run, titled with the scenario. Print nothing if
    `results` is empty."""
    if not results:
        return
    heads = "run", "steps>", "episodes>", "seconds>", "success>", "return, mean>", "length, mean>"
    rows = [
        (path, *_format_counts(metrics, seconds), *_format_means(metrics))
        for path, metrics, seconds, _ in results
    ]
    cli.print_table(heads, rows, plan.scenario.name)
    rates = [result.metrics.success_rate for result in results]
    if len(rates) > 1 and not any(map(math.isnan, rates)):
        mean, iqm = summarise_seeds(rates)
        cli.say(
            f"success over {len(rates)} seeds: mean {mean.mean:.1%} ({mean.low:.1%} to "
            f"{mean.high:.1%}), interquartile mean {iqm.mean:.1%} ({iqm.low:.1%} to {iqm.high:.1%})"
        )


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `train` to its parser."""
    parser.add_argument("scenario", metavar="SCENARIO", nargs="?", help=cli.SCENARIO_HELP)
    out_text = "new folder for the run (default: SCENARIO-run, with --seeds SCENARIO-runs)"
    parser.add_option("--out RUN", Path, out_text)
    parser.add_option("--resume RUN", Path, "continue a run exactly where it stopped")
    imitate_text = (
        "first imitate the episodes in this folder, written by `gv-engine rollout --out`; without "
        "--steps do nothing else"
    )
    parser.add_option("--imitate FOLDER", Path, imitate_text)
    steps_text = (
        "total steps of all worlds, including those before --resume (default: "
        f"{StopCondition().steps:,}; with --resume the run's last value)"
    )
    parser.add_option("--steps N", cli.parse_positive, steps_text)
    until_text = (
        "stop early at this success rate, such as 0.98 (default: no early stop; with --resume the "
        "run's last value)"
    )
    parser.add_option("--until SHARE", cli.parse_share, until_text)
    parser.add_flag("--memory", "add a GRU, which remembers within an episode")
    masks_text = "do not use action masks: allow actions that have no effect"
    parser.add_flag("--no-masks", masks_text, dest="masks", action="store_false")
    envs_text = "number of parallel worlds (default: 128, with --memory 256)"
    parser.add_option("--num-envs M", cli.parse_positive, envs_text)
    threads_text = "threads that step worlds and compute gradients (default: 1)"
    parser.add_option("--threads T", cli.parse_positive, threads_text)
    device_text = (
        "device of the network: cpu, cuda, cuda:1 …, or auto for a GPU if there is one (default: "
        "auto, with --ray cpu); worlds stay on the CPU"
    )
    parser.add_option("--device NAME", str, device_text)
    limit_text = "step limit of an episode, instead of the scenario's"
    parser.add_option("--max-steps T", cli.parse_positive, limit_text)
    config_text = "YAML or TOML file of settings, see `gv_engine.learning.Config`"
    parser.add_option("--config FILE", Path, config_text)
    preset_text = f"settings for a purpose, in place of the defaults: {', '.join(PRESETS)}"
    parser.add_option("--preset NAME", str, preset_text)
    learner_text = f"learning algorithm: {', '.join(LEARNERS)} (default: ppo)"
    parser.add_option("--learner NAME", str, learner_text)
    curriculum_text = f"choice of training levels: {', '.join(CURRICULA)} (default: random)"
    parser.add_option("--curriculum NAME", str, curriculum_text)
    partner_text = (
        "agent or team that acts by a policy, as for `gv-engine rollout`, and does not learn "
        "(repeatable); self: in each episode one side learns, the others act by past weights"
    )
    parser.add_option("--partner NAME=POLICY", str, partner_text, action="append")
    set_text = "training setting, such as learning_rate=3e-4, in place of FILE's (repeatable)"
    parse_setting = partial(cli.parse_pair, example="learning_rate=3e-4")
    parser.add_option(
        "--set-hp NAME=VALUE", parse_setting, set_text, [], dest="hyperparameters", action="append"
    )
    parser.add_option("--wandb PROJECT", str, "also send the metrics to Weights & Biases")
    seeds = parser.add_mutually_exclusive_group()
    seed_text = (
        "seed of levels, weights and sampling; on one machine the same seed gives the same "
        "run bit for bit (default: 0)"
    )
    parser.add_option("--seed S", cli.parse_episode_seed, seed_text, group=seeds)
    seeds_text = "train one run per seed from A to B - 1, one after the other"
    parser.add_option("--seeds A:B", parse_seeds, seeds_text, group=seeds)
    parser.add_ray_option("train all runs at once")
    parser.add_levels("train only on these levels")
    parser.add_flag("--watch", "show the worlds in a window, like `gv-engine view`")
    parser.add_trust_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `train`: train policies as the options say and print progress. Return the
    exit code."""
    RL.require()
    if options.scenario is None and not options.resume:
        raise cli.UsageError("SCENARIO is missing; name one, or continue a run with --resume")
    local = cli.get_options(options, "imitate", "device", "wandb")
    given_local = [name for name, value in local.items() if value]
    if options.ray and given_local:
        raise cli.UsageError(f"{given_local[0]} trains on this machine; leave out --ray")
    if options.ray:
        from gv_engine.envs.rollout import on_ray  # noqa: F401  # fails with how to install it
    if options.watch and (options.ray or options.seeds):
        raise cli.UsageError("--watch shows one run that trains here; leave out --seeds and --ray")
    if options.wandb:
        import_wandb()  # fails with how to install it
    config = Config() if options.resume else _read_config(options)
    device = find_training_device(options.device or config.device)
    if options.imitate and config.learner != "ppo":
        raise cli.UsageError(f"--imitate works with the learner ppo, not with {config.learner}")
    demonstrations = None
    if options.imitate and not options.resume:
        demonstrations = options.imitate, episode_folder.read(options.imitate)
    scenario, runs = (
        _resume_runs(options) if options.resume else _create_runs(options, config, demonstrations)
    )
    if options.watch and runs[1:]:
        raise cli.UsageError(
            f"--watch shows one run, and {options.resume} has {len(runs)}; name one"
        )
    seeds = runs[0].level_seeds
    path = options.resume or (runs[0].path.parent if options.seeds else runs[0].path)
    plan = TrainingPlan(
        scenario,
        LevelSet(scenario, seeds) if seeds else None,
        _stop_condition(options, runs[0].stop_condition),
        *_format_commands(options, runs[0], scenario.agent_group, path),
    )
    with cli.handling_sigterm(), ExitStack() as stack:
        if not options.resume:
            from gv_engine.plugins.learning.run_folder import undo_runs_on_error

            stack.enter_context(undo_runs_on_error(runs))
        for each in runs:
            each.set_stop_condition(plan.stop_condition)
        if not options.ray:
            return train_here(plan, runs, options.watch, demonstrations, device, options.wandb)
        for each in runs:
            stack.enter_context(each.lock())
        return train_on_ray(plan, runs, options.ray)


def find_training_device(name: str) -> str:
    """Convert the value of --device, such as "auto", to the name of a torch device.

    Raises:
        UsageError: there is no such device.
    """
    from gv_engine.plugins.learning.ppo import find_device

    try:
        return find_device(name)
    except ValueError as error:
        raise cli.UsageError(f"--device: {error}") from None


def _format_commands(
    options: argparse.Namespace, run: Run, group: AgentGroup, path: Path
) -> tuple[str, str]:
    """Return two shell commands: one to play episodes with the policy of a run, one to resume its
    training. `path` is the folder of the run, or of several runs that differ only in the seed.
    `group` names the agents."""
    reference, partner = run.scenario, run.settings.partner
    load = partial(load_scenario, reference["source"], **reference["settings"])
    words = ["gv-engine", "rollout", *scenario_words(reference), "--policy"]
    words.append(name_with_partners(path, partner, group))
    resume_words = ["gv-engine", "train", "--resume", str(path)]
    resume_words += ["--ray", options.ray] if options.ray else []

    def load_run(**consent: Any) -> None:
        check_partner_code(partner, path, consent.get("trust", False))
        load_reference(reference, path, **consent)

    resume_words += consent_words(options, load_run)
    return format_command(words + consent_words(options, load)), format_command(resume_words)


def _create_runs(
    options: argparse.Namespace, config: Config, demonstrations: tuple[Path, Any] | None
) -> tuple[Scenario, list[Run]]:
    """Load the scenario and create one training run for each seed, with the settings `config`.
    Return both. `demonstrations` are folder and content of a rollout to imitate first.

    Raises:
        UsageError: the scenario cannot be trained on.
        OSError: a folder cannot be created.
    """
    from gv_engine.plugins.learning.run_folder import Run, check_new_run_folder

    try:
        loaded = load_scenario(options.scenario, **cli.scenario_options(options))
    except UnknownOptionError:
        names = {each.name for each in fields(Config)}
        for name, value in sorted(dict(options.settings).items()):
            if name in names:
                raise cli.UsageError(
                    f"--set {name}: {name} is a setting of the training, not a parameter of "
                    f"{options.scenario}; use --set-hp {name}={value}"
                ) from None
        raise
    grid = cli.require_grid(loaded, "train takes only grids")
    scenario: Scenario = cli.require_step_limit(grid, options.max_steps, "give --max-steps")
    settings, levels = prepare_settings(config, scenario), config.levels
    loaded_levels = None if levels is None else level_set(scenario, levels)
    scenario = loaded_levels.scenario if loaded_levels else scenario
    if demonstrations:
        from gv_engine.plugins.learning.imitation import check_rollout

        folder, (_, about) = demonstrations
        check_rollout(folder, about, scenario)

    def create(path: Path, settings: Hyperparameters) -> Run:
        end, imitates = config.stop_condition, demonstrations is not None
        return Run.create(path, scenario, settings, levels, loaded_levels, end, imitates)

    name = make_file_name(scenario.name)
    if options.seeds is None:
        return scenario, [create(options.out or Path(f"{name}-run"), settings)]
    out = options.out or Path(f"{name}-runs")
    check_new_run_folder(out)
    return scenario, [
        create(out / str(seed), replace(settings, seed=seed)) for seed in options.seeds
    ]


def _stop_condition(options: argparse.Namespace, default: StopCondition) -> StopCondition:
    return StopCondition(options.steps or default.steps, options.until or default.until)


def _read_config(options: argparse.Namespace) -> Config:
    """Return the configuration of new runs. Values come from --set-hp, other options, --config,
    --preset and the defaults, in this order of precedence.

    Raises:
        ConfigError: the file cannot be read, a name is unknown, or a value is invalid.
    """
    values = {}
    if options.config:
        Config.read(options.config)  # fails with the name of the file
        values = read_config_file(options.config)
    if options.imitate:
        values = {"steps": 0, **values}
    given = {
        "preset": options.preset,
        "learner": options.learner,
        "curriculum": options.curriculum,
        "num_envs": options.num_envs,
        "num_threads": options.threads,
        "num_env_threads": options.threads,
        "seed": options.seed,
        "levels": options.levels,
        "device": options.device,
        "steps": options.steps,
        "until": options.until,
        "recurrent": options.memory or None,
        "mask_actions": None if options.masks else False,
        "partner": ",".join(options.partner) if options.partner else None,
    }
    values |= {name: value for name, value in given.items() if value is not None}
    return Config.from_values(values | dict(options.hyperparameters))


def _resume_runs(options: argparse.Namespace) -> tuple[Scenario, list[Run]]:
    """Load the scenario and the training runs in the folder of --resume. Raise an error if other
    options contradict them.

    Raises:
        UsageError: an option is for new runs only, or the runs differ in scenario, levels or stop
            condition.
    """
    from gv_engine.plugins.learning.run_folder import find_runs

    names = (
        *("num_envs", "threads", "max_steps", "levels", "seed", "seeds", "imitate"),
        *("config", "preset", "learner", "curriculum", "partner"),
    )
    new_run_options = {
        "SCENARIO": options.scenario,
        **cli.get_options(options, "out", "memory"),
        "--no-masks": not options.masks,
        **cli.get_options(options, *names),
        "--set": options.settings or None,
        "--set-hp": options.hyperparameters or None,
    }
    if wrong := [name for name, value in new_run_options.items() if value not in (None, False)]:
        raise cli.UsageError(
            f"--resume {options.resume} keeps the run's own {wrong[0]}; leave it out "
            f"(allowed: --steps, --until, --device, --ray, --watch, --trust, "
            f"--allow-module, --no-code)"
        )
    runs = find_runs(options.resume)
    first = runs[0]
    for each in runs:
        each.require_finished_imitation()
    stop_condition = _stop_condition(options, first.stop_condition)
    for run in runs:
        paths = f"{run.path} and {first.path}"
        if (run.scenario, run.level_seeds) != (first.scenario, first.level_seeds):
            raise cli.UsageError(f"{paths} have different levels; resume one of them alone")
        if _stop_condition(options, run.stop_condition) != stop_condition:
            raise cli.UsageError(
                f"{paths} differ in --steps or --until; give both options, or resume one of "
                f"them alone"
            )
        check_partner_code(run.settings.partner, run.path, options.trust)
    scenario = load_reference(first.scenario, first.path, **cli.consent(options))
    assert isinstance(scenario, Scenario)  # of a run that began
    return scenario, runs
