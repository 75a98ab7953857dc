"""`gv-engine train`: learn a scenario."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gv_engine.commands.arguments import (
    Commands,
    UsageError,
    add_command,
    add_consent,
    add_levels,
    add_ray,
    consent,
    consent_words,
    positive,
    scenario_options,
    scenario_words,
    seed_of_many,
    seeds,
    share,
)
from gv_engine.commands.progress import terminable
from gv_engine.commands.runs import Lesson, learn_here, learn_on_ray
from gv_engine.envs.level_sets import LevelSet, level_set
from gv_engine.language.errors import MissingExtraError
from gv_engine.learning.training import Aim
from gv_engine.reading.extras import RL, command_line
from gv_engine.reading.families import hooks_of
from gv_engine.reading.loading import load_scenario
from gv_engine.reading.reference import found_again
from gv_engine.reading.scenario import Scenario

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
RUN gets run.json, with the scenario and all settings; checkpoint.pt, from which it goes on exactly,
and which holds what was the best so far; progress.csv, a line for each update; and the same for
TensorBoard, if that is installed. Ctrl-C and SIGTERM keep all of it. The folder is a policy
wherever --policy is taken.

With --seeds there is a run for each, RUN/0, RUN/1 …, and --resume RUN goes on with all of them,
here or by --ray, also with those that have not begun.
"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, run, "train", "Learn a level (needs the extra rl)", _EXAMPLES)
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
        "--resume", metavar="RUN", type=Path, help="go on with a run, as if it had never stopped"
    )
    parser.add_argument(
        "--steps",
        metavar="N",
        type=positive,
        help="of all worlds together, those before --resume included (default: "
        f"{Aim().steps:,}, of a run that goes on what was asked for last)",
    )
    parser.add_argument(
        "--until",
        metavar="SHARE",
        type=share,
        help="stop before that once success is so likely, as 0.98 (default: of a run that goes on "
        "what was asked for last)",
    )
    parser.add_argument(
        "--memory", action="store_true", help="remember what is seen within an episode (a GRU)"
    )
    parser.add_argument(
        "--no-masks",
        dest="masks",
        action="store_false",
        help="choose also actions that would do nothing now",
    )
    parser.add_argument(
        "--num-envs",
        metavar="M",
        type=positive,
        help="worlds at once (default: 128, with --memory 256)",
    )
    parser.add_argument(
        "--threads", metavar="T", type=positive, help="that learn and step (default: 1)"
    )
    parser.add_argument(
        "--max-steps", metavar="T", type=positive, help="an episode's, in place of the scenario's"
    )
    chance = parser.add_mutually_exclusive_group()
    chance.add_argument(
        "--seed",
        metavar="S",
        type=seed_of_many,
        help="of levels, weights and all chance; on one machine a run with the same repeats bit "
        "for bit (default: 0)",
    )
    chance.add_argument(
        "--seeds",
        metavar="A:B",
        type=seeds,
        help="a run of each of these, from A to B - 1, one after the other",
    )
    add_ray(parser, "learn all runs at once")
    add_levels(parser, "learn on these levels alone")
    parser.add_argument(
        "--watch",
        action="store_true",
        help="show its worlds in a window, as `gv-engine watch` does",
    )
    add_consent(parser)


def run(options: argparse.Namespace) -> int:
    """Learn, say how it goes, and keep what was learned."""
    if RL.missing:
        raise MissingExtraError(RL.missing)
    if options.ray:
        from gv_engine.rollouts import on_ray  # noqa: F401  # or the word on how to get it
    if options.watch and (options.ray or options.seeds):
        raise UsageError("--watch shows one run that learns here: leave out --seeds and --ray")
    scenario, runs = _resumed(options) if options.resume else _begun(options)
    if options.watch and runs[1:]:
        raise UsageError(f"--watch shows one run, and {options.resume} has {len(runs)}: name one")
    seeds = runs[0].level_seeds
    path = options.resume or (runs[0].path.parent if options.seeds else runs[0].path)
    lesson = Lesson(
        scenario,
        LevelSet(scenario, seeds) if seeds else None,
        _aim(options, runs[0].aim),
        command_line(_acting(options, runs[0].scenario, path)),
        command_line(_resuming(options, runs[0].scenario, path)),
    )
    with terminable(), ExitStack() as stack:
        for each in runs:
            each.pursue(lesson.aim)
        if options.ray:
            for each in runs:
                stack.enter_context(each.held())
            return learn_on_ray(lesson, runs, options.ray)
        return learn_here(lesson, runs, options.watch)


def _acting(options: argparse.Namespace, known: Mapping[str, Any], path: Path) -> list[str]:
    """The command that lets a run act in its scenario."""
    named = partial(load_scenario, known["source"], **known["settings"])
    words = scenario_words(known)
    return ["gv-engine", "rollout", *words, "--policy", str(path), *consent_words(options, named)]


def _resuming(options: argparse.Namespace, known: Mapping[str, Any], path: Path) -> list[str]:
    """The command that goes on with runs."""
    words = ["gv-engine", "train", "--resume", str(path)]
    if options.ray:
        words += ["--ray", options.ray]
    return words + consent_words(options, partial(found_again, known, path))


def _begun(options: argparse.Namespace) -> tuple[Scenario, list[Run]]:
    """A scenario, and new runs of it.

    Raises:
        UsageError: there is none, or it cannot be learned.
        OSError: a folder cannot be made.
    """
    if options.scenario is None:
        raise UsageError("no SCENARIO: name one to train on, or a run to go on with by --resume")
    from gv_engine.learning.ppo import Hyperparameters
    from gv_engine.learning.run_folder import Run, check_new

    loaded = load_scenario(options.scenario, **scenario_options(options))
    if not isinstance(loaded, Scenario):
        raise UsageError(f"{loaded.name} is of the family {loaded.family}: train learns grids")
    try:
        scenario = hooks_of(loaded).limited(loaded, options.max_steps)
    except ValueError as error:
        raise UsageError(f"{error}; give --max-steps") from None
    levels = options.levels
    found = None if levels is None else level_set(scenario, levels)
    scenario = found.scenario if found else scenario
    settings, aim = replace(Hyperparameters(), **_asked(options)), _aim(options, Aim())
    if options.seeds is None:
        out = options.out or Path(f"{scenario.name}-run")
        return scenario, [Run.begin(out, scenario, settings, levels, found, aim)]
    out = options.out or Path(f"{scenario.name}-runs")
    check_new(out)
    each = ((out / str(seed), replace(settings, seed=seed)) for seed in options.seeds)
    return scenario, [Run.begin(path, scenario, own, levels, found, aim) for path, own in each]


def _aim(options: argparse.Namespace, known: Aim) -> Aim:
    """What was asked for, and else what was known."""
    return Aim(options.steps or known.steps, options.until or known.until)


def _asked(options: argparse.Namespace) -> dict[str, Any]:
    """The settings of a learner that were given."""
    from gv_engine.learning.ppo import REMEMBERS

    given = {name: getattr(options, name) for name in ("num_envs", "threads", "seed")}
    given["env_threads"] = options.threads
    asked = {name: value for name, value in given.items() if value is not None}
    return {**(REMEMBERS if options.memory else {}), **asked, "masks": options.masks}


def _resumed(options: argparse.Namespace) -> tuple[Scenario, list[Run]]:
    """The scenario of runs that were kept, and the runs.

    Raises:
        UsageError: there is an option that only a new run takes, or the runs are of several
            scenarios.
    """
    from gv_engine.learning.run_folder import runs_in

    given = {
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
    if wrong := [name for name, value in given.items() if value not in (None, False)]:
        raise UsageError(
            f"{wrong[0]} is that of the run, which --resume {options.resume} goes on with: leave "
            f"it out (allowed: --steps, --until, --ray, --watch, --trust, --allow-module, "
            f"--no-code)"
        )
    runs = runs_in(options.resume)
    for each in runs:
        if (each.scenario, each.level_seeds) != (runs[0].scenario, runs[0].level_seeds):
            raise UsageError(
                f"{each.path} and {runs[0].path} learn other levels: --resume goes on with one of "
                f"them"
            )
        if _aim(options, each.aim) != _aim(options, runs[0].aim):
            raise UsageError(
                f"{each.path} and {runs[0].path} have other --steps or --until: give both, or "
                f"--resume goes on with one of them"
            )
    scenario = found_again(runs[0].scenario, runs[0].path, **consent(options))
    assert isinstance(scenario, Scenario)  # of a run that began
    return scenario, runs
