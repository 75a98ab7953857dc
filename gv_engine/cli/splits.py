"""`gv-engine splits`: the train and test levels of a scenario."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_levels,
    add_scenario,
    parse_seconds,
    print_table,
    progress,
    say,
    scenario_options,
)
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
The levels of seeds 0, 1, 2 … are collected without duplicates; two levels are equal if the same
objects are in the same places. Every fifth level is a test level. All commands with --levels accept
FILE.
"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands, run, "splits", "List the train and test levels of a scenario", _EXAMPLES
    )
    parser.epilog += _EPILOG
    add_scenario(parser)
    add_levels(parser, "list the levels of this set; without --levels, print the size of each set")
    parser.add_argument(
        "--solve", action="store_true", help="search for the shortest solution of each level"
    )
    parser.add_argument(
        "--seconds",
        metavar="T",
        type=parse_seconds,
        default=60.0,
        help="time limit of --solve for all levels (default: 60)",
    )
    parser.add_argument("--out", metavar="FILE", type=Path, help="save the set into a .json file")


def run(options: argparse.Namespace) -> int:
    """Print the size of each set, or the seeds of one set and, with --solve, its solutions'
    lengths."""
    # imported here: this module compiles
    from gv_engine.envs.level_sets import SETS, LevelsError, level_set

    scenario = check_is_grid(load_scenario(options.scenario, **scenario_options(options)))
    if options.levels is None:
        if options.solve or options.out:
            raise UsageError(f"name the set by --levels: {', '.join(SETS)}, 0:100 or a file")
        rows = []
        for name in SETS:
            try:
                rows.append((name, f"{len(level_set(scenario, name).seeds):,}", ""))
            except LevelsError as error:
                rows.append((name, "0", str(error)))
        print_table(("set", "levels>", "note"), rows, scenario.name)
        return 0
    selected = level_set(scenario, options.levels)
    if options.out:
        selected.save(options.out)
        if not options.solve:
            say(f"{options.out}: {len(selected.seeds):,} levels")
            return 0
    columns: tuple[str, ...] = ("level>", "seed>")
    seed_rows: Iterator[tuple[object, ...]] = enumerate(selected.seeds)
    if options.solve:
        columns, seed_rows = (*columns, "steps>"), _solve_set(selected, options.seconds)
    print_table(columns, list(seed_rows), f"{scenario.name}, {options.levels}")
    return 0


def check_is_grid(scenario: AnyScenario) -> Scenario:
    """Return a scenario that has level sets.

    Raises:
        UsageError: the scenario is of another domain.
    """
    if not isinstance(scenario, Scenario):
        raise UsageError(
            f"{scenario.name} is of the domain {scenario.domain}: only grids have level sets"
        )
    return scenario


def _solve_set(selected: LevelSet, seconds: float) -> Iterator[tuple[object, ...]]:
    """Yield (number, seed, steps of the shortest solution or "") of each level."""
    from gv_engine.validation.solver import Survey

    with progress("levels", len(selected.seeds)) as advance:
        survey = Survey(selected.scenario, selected.seeds, seconds, on_level=advance)
    for number, seed in enumerate(selected.seeds):
        solution = survey.solutions.get(seed)
        yield number, seed, (len(solution.actions) or "") if solution else ""
