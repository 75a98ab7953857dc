"""`gv-engine check`: whether a scenario is sound."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gv_engine.cli import output
from gv_engine.cli.options import (
    Commands,
    add_command,
    add_scenario,
    complain,
    duration,
    natural,
    positive,
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

_BEGUN = 5
"""Levels for each other value of a parameter."""
_EXAMPLES = """\
gv-engine check keydoor-9x9
gv-engine check cave --quick
gv-engine check cave --episodes 100 --seed 7
gv-engine check cave --policy cave-run"""


def add(commands: Commands) -> None:
    """Describe the command."""
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
        type=positive,
        default=10,
        help="of at most 200 steps (default: 10)",
    )
    parser.add_argument(
        "--policy",
        metavar="P",
        default="",
        help="what plays them, as in `gv-engine rollout`: the folder of a run, say, which comes "
        "farther than chance (default: chance, in turn among all actions and those of use)",
    )
    parser.add_argument(
        "--seed", metavar="S", type=natural, default=0, help="of the first one (default: 0)"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="while you write: compile nothing, and search for no way to win",
    )
    parser.add_argument(
        "--limit",
        metavar="SECONDS",
        type=duration,
        default=10.0,
        help="for each call of a rule, which is stopped and named after that, and for all of the "
        "search for ways to win (default: 10)",
    )


def run(options: argparse.Namespace) -> int:
    """Print the systems in their order, and what has been found; 1 if something is wrong."""
    try:
        with Watchdog(options.limit, lambda runaway: True, ends=True):
            return _check(options)
    except Stopped as stopped:
        complain(stopped)
        return 1


def _check(options: argparse.Namespace) -> int:
    try:
        given, sources = scenario_options(options), sources_of(options.scenario)
        scenarios = [load_scenario(source, **given) for source in sources]
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 1
    examined = zip(sources, scenarios, strict=True)
    return max(_examine(scenario, options, source, given) for source, scenario in examined)


def sources_of(source: str) -> list[str]:
    """A scenario, or a file and all of its variants; of a pack, it and all of its levels."""
    return _sources_of(source)[1]


def _sources_of(source: str) -> tuple[bool, list[str]]:
    """Return whether it is a pack, and all that it leads to."""
    if not (path_exists(Path(source)) or source in list_built_in_grids()):
        return False, [source]
    level = find_ref(source)
    document = read_file(level)
    names = () if level.variant else document.variants
    parts = [f"{source}#{name}" for name in names]
    itself = [] if parts and document.variant else [source]  # it is one of its variants
    return bool(parts and document.levels), itself + parts


def levels_of(source: str) -> list[str]:
    """A scenario, or all levels of a pack."""
    is_pack, sources = _sources_of(source)
    return sources[1:] if is_pack else [source]


def played_of(source: str) -> list[str]:
    """A scenario, or a file and all of its variants; a pack as a whole."""
    is_pack, sources = _sources_of(source)
    return [source] if is_pack else sources


def _examine(
    scenario: AnyScenario, options: argparse.Namespace, source: str, given: Mapping[str, Any]
) -> int:
    hooks, document = get_plugin(scenario), scenario.document
    if document.changes_from_base:
        rows = [(line,) for line in document.changes_from_base]
        output.print_table(("",), rows, f"{scenario.name}: otherwise than {document.bases[0]}")
    if document.parameters:
        settable = [
            (each.name, each.value, each.allowed_text, each.description)
            for each in document.parameters
        ]
        titles = ("parameter", "is", "may be", "")
        output.print_table(titles, settable, f"{scenario.name}: what may be set")
    for title, systems in hooks.list_systems(scenario):
        output.print_table(
            ("phase", "system", "where"), systems, f"{title}: its systems in their order"
        )
    asked = (getattr(options, name) for name in ("episodes", "seed", "limit", "quick", "policy"))
    found = hooks.check_scenario(scenario, *asked)
    begun, faults = _begun_with(source, given, scenario, options.seed)
    facts = [*found.facts, *((("begun", ", ".join(begun)),) if begun else ())]
    output.print_table(("", ""), facts)
    for fault in (*found.faults, *faults):
        complain(fault)
    return 1 if found.faults or faults else 0


def _begun_with(
    source: str, given: Mapping[str, Any], scenario: AnyScenario, seed: int
) -> tuple[list[str], list[str]]:
    """Begin some levels with other values of each parameter that is not given: with which that went
    well, and what is wrong with others."""
    well, faults = [], []
    for parameter in scenario.document.parameters:
        for value in parameter.other_values if parameter.name not in given else ():
            told = f"{parameter.name}={value}"
            try:
                other = load_playable(source, **given, **{parameter.name: value})
                for number in range(_BEGUN):
                    Session(other, seed + number)
                well.append(told)
            except GVEngineError as error:
                faults.append(f"with --set {told}: {error}")
    return well, faults
