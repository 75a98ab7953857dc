"""Train with many settings, and compare them (needs the extras rl and sweep).

examples:
  gv-engine sweep rates.yaml
  gv-engine sweep rates.yaml --trials 40           # continue with more trials
  gv-engine train keydoor-5x5 --config rates-sweep/best.yaml

A file such as


  scenario: keydoor-5x5
  config: {steps: 100000, levels: train}
  search: {learning_rate: [1e-3, 2e-3, 4e-3]}
  levels: validation

trains once with each learning rate, and chooses the best on levels that are in no test set.
docs/learning.md#sweeps lists all keys. The folder gets a run for each trial and seed, results.md
with the table, and best.yaml with the settings of the best trial. After a stop or a crash, run the
same command to continue.
"""

from __future__ import annotations

import argparse
import json
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gv_engine.cli import options as cli
from gv_engine.envs.level_sets import TEST_SETS, level_set
from gv_engine.plugins.learning.cli.command_words import consent_words
from gv_engine.plugins.learning.cli.train import TrainingPlan, find_training_device, train_run
from gv_engine.plugins.learning.config import Config, ConfigError
from gv_engine.plugins.learning.evaluation import evaluate_policy
from gv_engine.plugins.learning.extras import RL, SWEEP
from gv_engine.plugins.learning.training import Training, check_partner_code, prepare_settings
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.domains import format_command
from gv_engine.scenario.scenario import Scenario
from gv_engine.scenario.storage.files import exclusive_lock

if TYPE_CHECKING:
    from optuna import Trial

    from gv_engine.plugins.learning.sweep import Sweep


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `sweep` to its parser."""
    parser.add_argument("config", metavar="CONFIG", type=Path, help="a YAML or TOML file")
    parser.add_option("--out FOLDER", Path, "folder of the sweep (default: CONFIG-sweep)")
    parser.add_option("--trials N", cli.parse_positive, "number of trials, instead of the file's")
    parser.add_option("--device NAME", str, "as for `gv-engine train` (default: auto)")
    parser.add_trust_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `sweep`: train all missing runs and write the table of results. Return the
    exit code."""
    RL.require()
    SWEEP.require()
    from gv_engine.plugins.learning.sweep import Sweep, SweepConfig

    config = SweepConfig.read(options.config, options.trials)
    device = find_training_device(options.device or "auto")
    out = options.out or Path(f"{options.config.stem}-sweep")
    loaded = load_scenario(config.scenario, **cli.scenario_options(options))
    grid = cli.require_grid(loaded, "sweep takes only grids")
    scenario: Scenario = cli.require_step_limit(grid, None, "set max_steps in the scenario")
    for each in config.configs():
        prepare_settings(each, scenario)  # fails if it does not fit
    for levels in {config.levels, *(each.levels for each in config.configs())}:
        if levels is not None:
            level_set(scenario, levels)  # fails before anything is trained
    if config.levels in TEST_SETS:
        cli.complain(
            f"levels: {config.levels} chooses the best trial, so it cannot test that trial; choose "
            f"on validation, and test the best trial on {config.levels}"
        )
    load = partial(load_scenario, config.scenario, **dict(options.settings))
    scenario_words: list[str] = []
    for name, value in options.settings:
        scenario_words += ["--set", f"{name}={json.dumps(value)}"]
    scenario_words += consent_words(options, load)
    words = ["gv-engine", "sweep", str(options.config), "--out", str(out), *scenario_words]
    words += ["--trials", str(options.trials)] if options.trials else []
    command = format_command(words)
    sweep = Sweep(out, config, scenario.identity.digest, scenario.tells_success)
    try:
        with cli.handling_sigterm(), exclusive_lock(out / "lock"):
            while trial := sweep.next_trial():
                if code := _run_trial(sweep, trial, scenario, device, command):
                    return code
                sweep.write_pages()
    except BlockingIOError:
        raise ConfigError(f"{out} is in use by another sweep; wait until it ends") from None
    sweep.write_pages()
    heads, rows = sweep.table()
    cli.print_table([heads[0], *(f"{head}>" for head in heads[1:])], rows, scenario.name)
    words = ["gv-engine", "train", config.scenario, "--config", str(sweep.best_file)]
    command = format_command([*words, *scenario_words])
    cli.say(f"{sweep.page}; best settings, by {sweep.criterion}: {command}")
    return 0


def _run_trial(sweep: Sweep, trial: Trial, scenario: Scenario, device: str, command: str) -> int:
    """Train and evaluate the missing runs of a trial, one for each seed, and save the results.
    Return the exit code. Messages suggest the shell command `command` to resume the sweep."""
    from gv_engine.plugins.learning.run_folder import RUN_FILE, Run
    from gv_engine.plugins.learning.sweep import IS_POOR, RUN_RESULTS, list_results

    for seed in range(len(list_results(trial)), sweep.config.seeds):
        config = Config.from_values({**sweep.config.config, **trial.params, "seed": seed})
        loaded = None if config.levels is None else level_set(scenario, config.levels)
        path, end = sweep.run_path(trial, seed), config.stop_condition
        settings = prepare_settings(config, scenario)
        if (path / RUN_FILE).exists():
            folder = Run(path)
            is_known = folder.settings.partner == settings.partner
            check_partner_code(folder.settings.partner, path, trust=is_known)
        else:
            folder = Run.create(path, scenario, settings, config.levels, loaded, end)
        grid = loaded.scenario if loaded else scenario
        plan = TrainingPlan(grid, loaded, end, "", command)
        label = f"trial-{trial.number} of {sweep.config.trials}, seed {seed}"
        report = partial(sweep.report, trial, end.steps)
        with folder.lock(), closing(Training(folder, grid, loaded, device)) as training:
            if code := train_run(training, plan, label, callbacks=[] if seed else [report]):
                return code
            steps, seconds = training.metrics.steps, training.seconds
        if trial.user_attrs.get(IS_POOR):
            break
        levels = sweep.config.levels or loaded
        grid = scenario if sweep.config.levels else grid
        result = evaluate_policy(path.absolute(), grid, levels, sweep.config.episodes)
        means = [each and each.mean for each in result[3:]]
        numbers = dict(zip(RUN_RESULTS, (*means, steps, round(seconds, 3))))
        if result.success:
            numbers |= {"low": result.success.low, "high": result.success.high}
        sweep.add_result(trial, numbers)
    cli.complain(sweep.finish(trial))
    return 0
