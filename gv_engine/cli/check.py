"""`gv-engine check`: find errors in a scenario, compile it, and compare both worlds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gv_engine.cli.options import (
    Commands,
    add_command,
    add_scenario,
    complain,
    parse_natural,
    parse_positive,
    parse_seconds,
    print_table,
    scenario_options,
)
from gv_engine.rules.errors import GVEngineError, ScenarioError, Stopped
from gv_engine.scenario.document import read_file
from gv_engine.scenario.files import path_exists
from gv_engine.scenario.library import find_ref, list_built_in_grids
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import AnyScenario, get_plugin
from gv_engine.session.catalogue import load_playable
from gv_engine.session.session import Session
from gv_engine.session.watchdog import Watchdog

_NUM_TRIED = 5
"""Number of levels to begin for each other value of a parameter."""
_EXAMPLES = """\
gv-engine check keydoor-9x9
gv-engine check cave --quick
gv-engine check cave --episodes 100 --seed 7
gv-engine check cave --policy cave-run"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands,
        run,
        "check",
        "Load a scenario, compile it, and compare the object world with the compiled one",
        _EXAMPLES,
    )
    add_scenario(parser)
    parser.add_argument(
        "--episodes",
        metavar="N",
        type=parse_positive,
        default=10,
        help="number of episodes, of at most 200 steps each (default: 10)",
    )
    parser.add_argument(
        "--policy",
        metavar="P",
        default="",
        help="policy of the episodes, as in `gv-engine rollout`; a trained run gets further than "
        "random actions (default: random actions, in turn all and only valid ones)",
    )
    parser.add_argument(
        "--seed",
        metavar="S",
        type=parse_natural,
        default=0,
        help="seed of the first episode (default: 0)",
    )
    parser.add_argument(
        "--quick", action="store_true", help="do not compile, and do not search for solutions"
    )
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=parse_seconds,
        default=10.0,
        help="time limit for each call of a rule, and for the search for solutions in total "
        "(default: 10)",
    )


def run(options: argparse.Namespace) -> int:
    """Print the systems and the findings; return 1 if there are errors."""
    try:
        with Watchdog(options.limit, lambda runaway: True, ends=True):
            return _check(options)
    except Stopped as stopped:
        complain(stopped)
        return 1


def _check(options: argparse.Namespace) -> int:
    """Check a scenario and its variants or levels; return the exit code."""
    try:
        scenario_settings, sources = scenario_options(options), find_sources(options.scenario)
        scenarios = [load_scenario(source, **scenario_settings) for source in sources]
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 1
    pairs = zip(sources, scenarios, strict=True)
    return max(
        _check_scenario(scenario, options, source, scenario_settings) for source, scenario in pairs
    )


def find_sources(source: str) -> list[str]:
    """Return a scenario with all variants of its file, or a pack with all its levels."""
    return _find_sources(source)[1]


def _find_sources(source: str) -> tuple[bool, list[str]]:
    """Return whether a source is a pack, and the source with its variants or levels."""
    if not (path_exists(Path(source)) or source in list_built_in_grids()):
        return False, [source]
    level = find_ref(source)
    document = read_file(level)
    names = () if level.variant else document.variants
    parts = [f"{source}#{name}" for name in names]
    own_source = (
        [] if parts and document.variant else [source]
    )  # the file itself is one of its variants
    return bool(parts and document.levels), own_source + parts


def find_levels(source: str) -> list[str]:
    """Return the levels of a pack, or the scenario in a list."""
    is_pack, sources = _find_sources(source)
    return sources[1:] if is_pack else [source]


def find_compilable_sources(source: str) -> list[str]:
    """Return a scenario with all variants of its file, or a pack in a list."""
    is_pack, sources = _find_sources(source)
    return [source] if is_pack else sources


def _check_scenario(
    scenario: AnyScenario,
    options: argparse.Namespace,
    source: str,
    scenario_settings: Mapping[str, Any],
) -> int:
    """Check one scenario and print the findings; return the exit code."""
    hooks, document = get_plugin(scenario), scenario.document
    if document.changes_from_base:
        rows = [(line,) for line in document.changes_from_base]
        print_table(("",), rows, f"{scenario.name}: otherwise than {document.bases[0]}")
    if document.parameters:
        parameters = [
            (parameter.name, parameter.value, parameter.allowed_text, parameter.description)
            for parameter in document.parameters
        ]
        titles = ("parameter", "is", "may be", "")
        print_table(titles, parameters, f"{scenario.name}: what may be set")
    for title, systems in hooks.list_systems(scenario):
        print_table(("phase", "system", "where"), systems, f"{title}: its systems in their order")
    check_options = (
        getattr(options, name) for name in ("episodes", "seed", "limit", "quick", "policy")
    )
    report = hooks.check_scenario(scenario, *check_options)
    working_settings, faults = _try_parameter_values(
        source, scenario_settings, scenario, options.seed
    )
    facts = [
        *report.facts,
        *((("begun", ", ".join(working_settings)),) if working_settings else ()),
    ]
    print_table(("", ""), facts)
    for fault in (*report.faults, *faults):
        complain(fault)
    return 1 if report.faults or faults else 0


def _try_parameter_values(
    source: str, scenario_settings: Mapping[str, Any], scenario: AnyScenario, seed: int
) -> tuple[list[str], list[str]]:
    """Begin some levels for each other value of each parameter; return the settings that work, and
    errors."""
    working_settings, faults = [], []
    for parameter in scenario.document.parameters:
        for value in parameter.other_values if parameter.name not in scenario_settings else ():
            setting = f"{parameter.name}={value}"
            try:
                other = load_playable(source, **scenario_settings, **{parameter.name: value})
                for number in range(_NUM_TRIED):
                    Session(other, seed + number)
                working_settings.append(setting)
            except GVEngineError as error:
                faults.append(f"with --set {setting}: {error}")
    return working_settings, faults
