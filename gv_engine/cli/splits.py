"""List the levels of a scenario for training, validation and testing.

examples:
  gv-engine splits keydoor-9x9
  gv-engine splits keydoor-9x9 --levels test --solve --seconds 60
  gv-engine splits keydoor-9x9 --levels test --out test.json

The levels of seeds 0, 1, 2 … are collected without duplicates; two levels are equal if they have
the same objects in the same places, the same mission, and the same sampled values that rules read.
Every fifth level is in `test`; its layout, which is the level without agents, mission and sampled
values, may be in `train`, with another start. All levels of every fifth layout are in
`test-layout`; those of every tenth, but no level of `test`, in `validation`, to choose settings and
policies by; all others in `train`. "new layouts" is the share of levels whose layout is not in
`train`. All commands with --levels accept FILE.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from gv_engine.cli import options as cli
from gv_engine.envs.level_sets import SETS, LevelsError, LevelSet, find_layouts, level_set
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.scenario import Scenario


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `splits` to its parser."""
    parser.add_scenario()
    parser.add_levels("list the levels of this set; without --levels, print the size of each set")
    parser.add_flag("--solve", "search for the shortest solution of each level")
    parser.add_option("--seconds T", cli.parse_seconds, "time limit of --solve for all levels", 60)
    parser.add_option("--out FILE", Path, "save the set into a .json file")


def run(options: argparse.Namespace) -> int:
    """Run the command `splits`: print how many levels each set (train, test …) of a scenario has,
    or the seeds of one set; with --solve also the lengths of solutions."""
    loaded = load_scenario(options.scenario, **cli.scenario_options(options))
    scenario = cli.require_grid(loaded, "only grids have level sets")
    if options.levels is None:
        if options.solve or options.out:
            raise cli.UsageError(f"name the set by --levels: {', '.join(SETS)}, 0:100 or a file")
        heads = "set", "levels>", "layouts>", "new layouts>", "note"
        cli.print_table(heads, list(_describe_sets(scenario)), scenario.name)
        return 0
    selected = level_set(scenario, options.levels)
    if options.out:
        selected.save(options.out)
        if not options.solve:
            cli.say(f"{options.out}: {len(selected.seeds):,} levels")
            return 0
    columns: tuple[str, ...] = ("level>", "seed>")
    seed_rows: Iterator[tuple[object, ...]] = enumerate(selected.seeds)
    if options.solve:
        columns, seed_rows = (*columns, "steps>"), _solve_set(selected, options.seconds)
    cli.print_table(columns, list(seed_rows), f"{scenario.name}, {options.levels}")
    return 0


def _describe_sets(scenario: Scenario) -> Iterator[tuple[str, ...]]:
    """Yield the name of each set of a scenario, its numbers of levels and of layouts, and the share
    of its levels whose layout is not in `train`; or the reason why it has no levels."""
    learned: set[int] = set()
    for name in SETS:
        try:
            layouts = find_layouts(level_set(scenario, name))
        except LevelsError as error:
            yield name, "0", "", "", str(error)
            continue
        is_train = name == "train"
        learned = {*layouts} if is_train else learned
        new = sum(layout not in learned for layout in layouts) / len(layouts)
        share = "" if is_train or not learned else f"{new:.0%}"
        yield name, f"{len(layouts):,}", f"{len({*layouts}):,}", share, ""


def _solve_set(selected: LevelSet, seconds: float) -> Iterator[tuple[object, ...]]:
    """Yield (number, seed, steps of the shortest solution) for each level of the set `selected`,
    with "" for steps that a search of `seconds` seconds for the whole set did not find."""
    from gv_engine.play.validation.solver import Survey

    with cli.progress("levels", len(selected.seeds)) as advance:
        survey = Survey(selected.scenario, selected.seeds, seconds, on_level=advance)
    for number, seed in enumerate(selected.seeds):
        solution = survey.solutions.get(seed)
        yield number, seed, (len(solution.actions) or "") if solution else ""
