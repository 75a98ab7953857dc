"""`gv-engine splits`: sets of levels, those to train on apart from those to test with."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gv_engine.cli import output
from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_levels,
    add_scenario,
    duration,
    say,
    scenario_options,
)
from gv_engine.cli.output import progress
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import AnyScenario
from gv_engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from gv_engine.envs.level_sets import LevelSet

_EXAMPLES = """\
gv-engine splits keydoor-9x9
gv-engine splits keydoor-9x9 --levels test --solve --seconds 60
gv-engine splits keydoor-9x9 --levels test --out test.json"""

_EPILOG = """
The levels of seeds 0, 1, 2 … are gone through, and each is counted once, however many seeds have
it: it is the same if the same things are in the same places. Every fifth is one of those to test.
FILE may be named wherever --levels is taken.
"""


def add(commands: Commands) -> None:
    """Describe the command."""
    parser = add_command(commands, run, "splits", "List levels to train on, and to test", _EXAMPLES)
    parser.epilog += _EPILOG
    add_scenario(parser)
    add_levels(parser, "the set whose levels are listed; left out, how many each set has")
    parser.add_argument(
        "--solve", action="store_true", help="search for the shortest way through each"
    )
    parser.add_argument(
        "--seconds",
        metavar="T",
        type=duration,
        default=60.0,
        help="of computing for --solve; the others are left open (default: 60)",
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="keep the set: a file .json")


def run(options: argparse.Namespace) -> int:
    """Print how many levels there are, or which."""
    # here, as it compiles
    from gv_engine.envs.level_sets import SETS, LevelsError, level_set

    scenario = grid(load_scenario(options.scenario, **scenario_options(options)))
    if options.levels is None:
        if options.solve or options.out:
            raise UsageError(f"name the set by --levels: {', '.join(SETS)}, 0:100 or a file")
        rows = []
        for name in SETS:
            try:
                rows.append((name, f"{len(level_set(scenario, name).seeds):,}", ""))
            except LevelsError as error:
                rows.append((name, "0", str(error)))
        output.print_table(("set", "levels>", "note"), rows, scenario.name)
        return 0
    found = level_set(scenario, options.levels)
    if options.out:
        found.save(options.out)
        if not options.solve:
            say(f"{options.out}: {len(found.seeds):,} levels")
            return 0
    columns: tuple[str, ...] = ("level>", "seed>")
    rows_of: Iterator[tuple[object, ...]] = enumerate(found.seeds)
    if options.solve:
        columns, rows_of = (*columns, "steps>"), _solved(found, options.seconds)
    output.print_table(columns, list(rows_of), f"{scenario.name}, {options.levels}")
    return 0


def grid(scenario: AnyScenario) -> Scenario:
    """The scenario, which has sets of levels.

    Raises:
        UsageError: it is of another domain.
    """
    if not isinstance(scenario, Scenario):
        raise UsageError(f"{scenario.name} is of the domain {scenario.domain}: sets are of grids")
    return scenario


def _solved(found: LevelSet, seconds: float) -> Iterator[tuple[object, ...]]:
    """(number, seed, steps of the shortest way, if one was found) of each level."""
    from gv_engine.validation.solver import Survey

    with progress("levels", len(found.seeds)) as advance:
        survey = Survey(found.scenario, found.seeds, seconds, on_level=advance)
    for number, seed in enumerate(found.seeds):
        solution = survey.solutions.get(seed)
        yield number, seed, (len(solution.actions) or "") if solution else ""
