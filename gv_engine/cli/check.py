"""Find mistakes in a scenario, and compare its object world with the compiled world.

examples:
  gv-engine check keydoor-9x9
  gv-engine check cave --quick
  gv-engine check cave --episodes 100 --seed 7
  gv-engine check cave --policy cave-run
  gv-engine check sokoban --sample 20
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gv_engine.cli import options as cli
from gv_engine.play.session.catalogue import load_playable
from gv_engine.play.session.game import Game
from gv_engine.play.session.watchdog import Watchdog
from gv_engine.rules.errors import GVEngineError, ScenarioError, Stopped
from gv_engine.scenario.documents.document import Document, read_file
from gv_engine.scenario.documents.loading import find_scenario_ref, load_scenario
from gv_engine.scenario.documents.trust import split_options
from gv_engine.scenario.domains import AnyScenario, CheckPlan, get_plugin, list_schedule_systems
from gv_engine.scenario.levels.level_files import LevelFiles, PackLevel
from gv_engine.scenario.library import find_ref, list_built_in_grids
from gv_engine.scenario.storage.files import path_exists

_NUM_LEVELS = 5
"""Levels that are reset for each other value of a parameter."""


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `check` to its parser."""
    parser.add_scenario()
    episodes_text = "number of episodes, of at most 200 steps each"
    parser.add_option("--episodes N", cli.parse_positive, episodes_text, 10)
    policy_text = (
        "policy that plays the episodes, as for `gv-engine rollout`, for example a trained run "
        "(default: random actions, by turns from all actions and from valid ones)"
    )
    parser.add_option("--policy P", cli.parse_text, policy_text)
    parser.add_seed("seed of the first episode")
    sample_text = "check only N levels of a pack, sampled with --seed (default: all)"
    parser.add_option("--sample N", cli.parse_positive, sample_text)
    parser.add_flag("--quick", "skip the compiled world and the search for solutions")
    limit_text = "time limit of each call of a rule, and of the whole search for solutions"
    parser.add_option("--limit SECONDS", cli.parse_seconds, limit_text, 10)


def run(options: argparse.Namespace) -> int:
    """Run the command `check`: find errors in a scenario and print them; return 1 if there are
    some."""
    try:
        with Watchdog(options.limit, lambda runaway: True, ends=True):
            return _check(options)
    except Stopped as stopped:
        cli.complain(stopped)
        return 1


def _check(options: argparse.Namespace) -> int:
    """Check the scenario that the options name and, if its file has variants or levels, each of
    them. Print the results and return the exit code."""
    source, settings = options.scenario, cli.scenario_options(options)
    find_scenario_ref(source)  # an unknown name is no finding
    try:
        if options.sample:
            sources = _sample_levels(source, settings, options.sample, options.seed)
        else:
            sources = find_sources(source, settings)
        scenarios = [load_scenario(source, **settings) for source in sources]
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 1
    exit_code = 0
    for source, scenario in zip(sources, scenarios, strict=True):
        level = scenario.document.pack_level
        if len(sources) > 1:
            cli.say(f"{source}: {level.credit}" if level else source)
        for fault in _check_scenario(scenario, options, source):
            cli.complain(f"{source}: {fault}" if len(sources) > 1 else fault)
            exit_code = 1
    return exit_code


def _sample_levels(source: str, settings: Mapping[str, Any], count: int, seed: int) -> list[str]:
    """Return `source`, the name of a pack (a file of levels), and the names of `count` of its
    levels, chosen at random by `seed`. `settings` are keyword arguments for `load_scenario`.

    Raises:
        UsageError: `source` is no pack. `ScenarioError`: there is no such scenario.
    """
    if not (num_levels := len(find_pack(source, settings))):
        load_scenario(source, **settings)  # raises a ScenarioError if there is none
        raise cli.UsageError(f"--sample: {source} is not a pack of levels; leave out --sample")
    sampled = np.sort(np.random.default_rng(seed).permutation(num_levels)[:count] + 1)
    levels = [f"{source}#{number}" for number in sampled]
    cli.say(f"checking {len(levels)} of {num_levels:,} levels, seed {seed}: {', '.join(levels)}")
    return [source, *levels]


def _read_named_document(source: str, settings: Mapping[str, Any]) -> Document | None:
    if not (path_exists(Path(source)) or source in list_built_in_grids()):
        return None
    return read_file(find_ref(source), *split_options(settings))


def find_pack(source: str, settings: Mapping[str, Any]) -> Sequence[PackLevel]:
    """Return the levels of the pack that `source` names; () if `source` is no pack, or is a single
    level of one. `settings` are options of `load_scenario`."""
    document = _read_named_document(source, settings)
    return () if document is None or find_ref(source).variant else document.levels


def find_sources(source: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the names to check: `source` itself, and `source#variant` for each variant or level in
    its file. For a pack whose levels are in other files, only print how many there are. `settings`
    are keyword arguments for `load_scenario`."""
    document = _read_named_document(source, settings)
    if document is None or find_ref(source).variant:
        return [source]
    if isinstance(document.levels, LevelFiles):
        count = len(document.levels)
        cli.say(f"{count:,} levels, of which the episodes play a few; --sample 20 checks 20 more")
    parts = [f"{source}#{name}" for name in document.variants]
    # the file itself may be one of its variants
    return parts if parts and document.variant else [source, *parts]


def find_levels(source: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the names of all levels of the pack `source`, such as `sokoban#1`. Return [`source`]
    if it is no pack, or if its levels are in other files. `settings` are keyword arguments for
    `load_scenario`."""
    levels = find_pack(source, settings)
    if not levels or isinstance(levels, LevelFiles):
        return [source]
    return [f"{source}#{number}" for number in range(1, len(levels) + 1)]


def find_compilable_sources(source: str) -> list[str]:
    """Return the names to compile for `source`: the scenario and all variants (named versions) in
    its file. A pack of levels is compiled as one."""
    return [source] if find_pack(source, {}) else find_sources(source, {})


def _check_scenario(scenario: AnyScenario, options: argparse.Namespace, source: str) -> list[str]:
    """Check one scenario and print the results; return its errors. `source` is the name from which
    it was loaded."""
    hooks, document = get_plugin(scenario), scenario.document
    if document.changes_from_base:
        rows = [(line,) for line in document.changes_from_base]
        cli.print_table(("",), rows, f"{scenario.name}: changes from {document.bases[0]}")
    if document.parameters:
        parameters = [
            (parameter.name, parameter.value, parameter.allowed_text, parameter.description)
            for parameter in document.parameters
        ]
        titles = "parameter", "value", "allowed", ""
        cli.print_table(titles, parameters, f"{scenario.name}: parameters")
    for title, schedule in hooks.list_schedules(scenario):
        systems = list_schedule_systems(schedule)
        cli.print_table(("phase", "system", "where"), systems, f"{title}: systems in their order")
    plan = CheckPlan(
        options.episodes, options.seed, options.limit, options.quick, options.policy or ""
    )
    report = hooks.check_scenario(scenario, plan)
    working, faults = _try_parameter_values(scenario, options, source)
    tried = [("also begins with", ", ".join(working))] if working else []
    cli.print_table(("", ""), [*report.facts, *tried])
    return [*report.faults, *faults]


def _try_parameter_values(
    scenario: AnyScenario, options: argparse.Namespace, source: str
) -> tuple[list[str], list[str]]:
    """Load the scenario again with other values of its parameters, one at a time, and reset some
    levels. Parameters that the options set are left alone. Return (settings that work such as
    `size=9`, errors). `source` is the scenario's name."""
    settings = cli.scenario_options(options)
    working, faults = [], []
    for parameter in scenario.document.parameters:
        if parameter.name in settings:
            continue
        for value in parameter.other_values:
            setting = f"{parameter.name}={value}"
            try:
                variant = load_playable(source, **settings, **{parameter.name: value})
                for number in range(_NUM_LEVELS):
                    Game(variant, options.seed + number)
                working.append(setting)
            except GVEngineError as error:
                faults.append(f"with --set {setting}: {error}")
    return working, faults
