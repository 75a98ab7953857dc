"""`gv-engine train`: train a policy on a scenario."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_consent,
    add_levels,
    add_ray,
    consent,
    consent_words,
    parse_episode_seed,
    parse_positive,
    parse_seeds,
    parse_share,
    scenario_options,
    scenario_words,
)
from gv_engine.cli.output import handling_sigterm
from gv_engine.cli.training_runs import TrainingPlan, train_here, train_on_ray
from gv_engine.envs.level_sets import LevelSet, level_set
from gv_engine.learning.config import RECURRENT_DEFAULTS, Hyperparameters, StopCondition
from gv_engine.rules.errors import MissingExtraError
from gv_engine.scenario.files import make_file_name
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.lookup import load_reference
from gv_engine.scenario.optional_deps import RL, format_command
from gv_engine.scenario.plugin import get_plugin
from gv_engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from gv_engine.learning.run_folder import Run

_EXAMPLES = """\
gv-engine train keydoor-9x9
gv-engine train keydoor-9x9 --watch
gv-engine train memory-9x9 --memory --steps 3000000 --out remembers
gv-engine train --resume remembers --steps 6000000
gv-engine train keydoor-9x9 --seeds 0:10 --ray --out tens
gv-engine train --resume tens --ray
gv-engine rollout memory-9x9 --policy remembers --episodes 1000
gv-engine play memory-9x9 --policy remembers:greedy"""
_EPILOG = """
RUN gets run.json, the scenario and all hyperparameters; checkpoint.pt, from which --resume
continues bit for bit; policy.npz, the best weights so far; progress.csv, a line for each update;
and TensorBoard events, if TensorBoard is installed. Ctrl-C and SIGTERM save a checkpoint first.
The folder can be given as --policy to every command that takes one.

With --seeds there is one run per seed, RUN/0, RUN/1 …, and --resume RUN continues all of them,
here or by --ray, including those that have not started.
"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands, run, "train", "Train a policy by PPO (needs the extra rl)", _EXAMPLES
    )
    parser.epilog += _EPILOG
    parser.add_argument(
        "scenario",
        metavar="SCENARIO",
        nargs="?",
        help="a name, a Gymnasium id, a YAML file, or a folder with a scenario.yaml",
    )
    parser.add_argument(
        "--out",
        metavar="RUN",
        type=Path,
        help="a new folder (default: SCENARIO-run, with --seeds SCENARIO-runs)",
    )
    parser.add_argument(
        "--resume", metavar="RUN", type=Path, help="continue a run exactly where it stopped"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=parse_positive,
        help="total steps of all worlds, including those before --resume (default: "
        f"{StopCondition().steps:,}; with --resume the run's last value)",
    )
    parser.add_argument(
        "--until",
        metavar="SHARE",
        type=parse_share,
        help="stop early at this success rate, as 0.98 (default: no early stop; with --resume the "
        "run's last value)",
    )
    parser.add_argument(
        "--memory", action="store_true", help="add a GRU, which remembers within an episode"
    )
    parser.add_argument(
        "--no-masks",
        dest="masks",
        action="store_false",
        help="do not use action masks: allow actions that have no effect",
    )
    parser.add_argument(
        "--num-envs",
        metavar="M",
        type=parse_positive,
        help="number of parallel worlds (default: 128, with --memory 256)",
    )
    parser.add_argument(
        "--threads",
        metavar="T",
        type=parse_positive,
        help="threads that step worlds and compute gradients (default: 1)",
    )
    parser.add_argument(
        "--max-steps",
        metavar="T",
        type=parse_positive,
        help="step limit of an episode, instead of the scenario's",
    )
    chance = parser.add_mutually_exclusive_group()
    chance.add_argument(
        "--seed",
        metavar="S",
        type=parse_episode_seed,
        help="seed of levels, weights and sampling; on one machine the same seed gives the same "
        "run bit for bit (default: 0)",
    )
    chance.add_argument(
        "--seeds",
        metavar="A:B",
        type=parse_seeds,
        help="train one run per seed from A to B - 1, one after the other",
    )
    add_ray(parser, "train all runs at once")
    add_levels(parser, "train on these levels alone")
    parser.add_argument(
        "--watch", action="store_true", help="show the worlds in a window, as `gv-engine view` does"
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Train, print progress, save the results; return the exit code."""
    if RL.missing_message:
        raise MissingExtraError(RL.missing_message)
    if options.ray:
        from gv_engine.rollout import on_ray  # noqa: F401  # fails with how to install it
    if options.watch and (options.ray or options.seeds):
        raise UsageError("--watch shows one run that trains here: leave out --seeds and --ray")
    scenario, runs = _resume_runs(options) if options.resume else _create_runs(options)
    if options.watch and runs[1:]:
        raise UsageError(f"--watch shows one run, and {options.resume} has {len(runs)}: name one")
    seeds = runs[0].level_seeds
    path = options.resume or (runs[0].path.parent if options.seeds else runs[0].path)
    plan = TrainingPlan(
        scenario,
        LevelSet(scenario, seeds) if seeds else None,
        _stop_condition(options, runs[0].stop_condition),
        format_command(_rollout_words(options, runs[0].scenario, path)),
        format_command(_resume_words(options, runs[0].scenario, path)),
    )
    with handling_sigterm(), ExitStack() as stack:
        for each in runs:
            each.set_stop_condition(plan.stop_condition)
        if options.ray:
            for each in runs:
                stack.enter_context(each.lock())
            return train_on_ray(plan, runs, options.ray)
        return train_here(plan, runs, options.watch)


def _rollout_words(
    options: argparse.Namespace, reference: Mapping[str, Any], path: Path
) -> list[str]:
    """Return the words of the command that rolls out a run in its scenario."""
    load = partial(load_scenario, reference["source"], **reference["settings"])
    words = scenario_words(reference)
    return ["gv-engine", "rollout", *words, "--policy", str(path), *consent_words(options, load)]


def _resume_words(
    options: argparse.Namespace, reference: Mapping[str, Any], path: Path
) -> list[str]:
    """Return the words of the command that resumes runs."""
    words = ["gv-engine", "train", "--resume", str(path)]
    if options.ray:
        words += ["--ray", options.ray]
    return words + consent_words(options, partial(load_reference, reference, path))


def _create_runs(options: argparse.Namespace) -> tuple[Scenario, list[Run]]:
    """Return the scenario and its new runs, one for each seed.

    Raises:
        UsageError: no scenario is named, or it cannot be trained on.
        OSError: a folder cannot be created.
    """
    if options.scenario is None:
        raise UsageError("no SCENARIO: name one to train on, or a run to continue by --resume")
    from gv_engine.learning.run_folder import Run, check_new_folder

    loaded = load_scenario(options.scenario, **scenario_options(options))
    if not isinstance(loaded, Scenario):
        raise UsageError(f"{loaded.name} is of the domain {loaded.domain}: train takes grids")
    try:
        scenario = get_plugin(loaded).with_step_limit(loaded, options.max_steps)
    except ValueError as error:
        raise UsageError(f"{error}; give --max-steps") from None
    levels = options.levels
    loaded_levels = None if levels is None else level_set(scenario, levels)
    scenario = loaded_levels.scenario if loaded_levels else scenario
    settings = replace(Hyperparameters(), **_hyperparameters(options))

    def create(path: Path, settings: Hyperparameters) -> Run:
        stop_condition = _stop_condition(options, StopCondition())
        return Run.create(path, scenario, settings, levels, loaded_levels, stop_condition)

    name = make_file_name(scenario.name)
    if options.seeds is None:
        return scenario, [create(options.out or Path(f"{name}-run"), settings)]
    out = options.out or Path(f"{name}-runs")
    check_new_folder(out)
    return scenario, [
        create(out / str(seed), replace(settings, seed=seed)) for seed in options.seeds
    ]


def _stop_condition(options: argparse.Namespace, default: StopCondition) -> StopCondition:
    """Return the stop condition of the options; fields that are not given are the default's."""
    return StopCondition(options.steps or default.steps, options.until or default.until)


def _hyperparameters(options: argparse.Namespace) -> dict[str, Any]:
    """Return the hyperparameters that the options set."""
    values = {
        "num_envs": options.num_envs,
        "num_threads": options.threads,
        "num_env_threads": options.threads,
        "seed": options.seed,
    }
    settings = {name: value for name, value in values.items() if value is not None}
    defaults = RECURRENT_DEFAULTS if options.memory else {}
    return {**defaults, **settings, "mask_actions": options.masks}


def _resume_runs(options: argparse.Namespace) -> tuple[Scenario, list[Run]]:
    """Return the scenario and the runs of the folder given by --resume.

    Raises:
        UsageError: an option is for new runs only, or the runs differ in scenario, levels or stop
            condition.
    """
    from gv_engine.learning.run_folder import find_runs

    new_run_options = {
        "SCENARIO": options.scenario,
        "--out": options.out,
        "--memory": options.memory,
        "--no-masks": not options.masks,
        "--num-envs": options.num_envs,
        "--threads": options.threads,
        "--max-steps": options.max_steps,
        "--levels": options.levels,
        "--seed": options.seed,
        "--seeds": options.seeds,
        "--set": options.settings or None,
    }
    if wrong := [name for name, value in new_run_options.items() if value not in (None, False)]:
        raise UsageError(
            f"{wrong[0]} is that of the run, which --resume {options.resume} continues: leave "
            f"it out (allowed: --steps, --until, --ray, --watch, --trust, --allow-module, "
            f"--no-code)"
        )
    runs = find_runs(options.resume)
    for each in runs:
        if (each.scenario, each.level_seeds) != (runs[0].scenario, runs[0].level_seeds):
            raise UsageError(
                f"{each.path} and {runs[0].path} have other levels: --resume continues one of them"
            )
        stop_conditions = (_stop_condition(options, run.stop_condition) for run in (each, runs[0]))
        if len({*stop_conditions}) > 1:
            raise UsageError(
                f"{each.path} and {runs[0].path} have other --steps or --until: give both, or "
                f"--resume continues one of them"
            )
    scenario = load_reference(runs[0].scenario, runs[0].path, **consent(options))
    assert isinstance(scenario, Scenario)  # of a run that began
    return scenario, runs
