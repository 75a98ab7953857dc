"""List the levels of a scenario for training, validation and testing.

examples:
  gv-engine splits keydoor-9x9
  gv-engine splits keydoor-9x9 --levels test --solve --seconds 60
  gv-engine splits keydoor-9x9 --levels test --out test.json

The sets hold the levels of seeds 0, 1, 2 … without duplicates. Two levels are equal if they have
the same objects in the same places, the same mission, and the same sampled values that rules read.
The layout is the level without agents, mission and sampled values.

  test         every fifth level; its layout may be in `train` with another start
  test-layout  all levels of every fifth layout
  validation   all levels of every tenth layout, except those in `test`; to choose settings by
  train        all other levels

"new layouts" is the share of levels whose layout is not in `train`. Every command with --levels
accepts FILE.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gv_engine.cli import options as cli
from gv_engine.envs.level_sets import SETS, LevelsError, LevelSet, find_layouts, level_set
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.scenario import Scenario


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `splits` to its parser."""
    parser.add_scenario()
    parser.add_levels("list the levels of this set, instead of the sizes of all sets")
    parser.add_flag("--solve", "search for the shortest solution of each level")
    parser.add_option("--seconds T", cli.parse_seconds, "time limit of --solve for all levels", 60)
    parser.add_option("--out FILE", Path, "save the set in a .json file")


def run(options: argparse.Namespace) -> int:
    """Run the command `splits`: print how many levels each set (train, test …) of a scenario has,
    or the seeds of one set; with --solve also the lengths of solutions."""
    loaded = load_scenario(options.scenario, **cli.scenario_options(options))
    scenario = cli.require_grid(loaded, "only grids have level sets")
    if options.levels is None:
        if options.solve or options.out:
            raise cli.UsageError(f"name a set with --levels: {', '.join(SETS)}, 0:100 or a file")
        titles = "set", "levels>", "layouts>", "new layouts>", "note"
        cli.print_table(titles, [*_iter_split_rows(scenario)], scenario.name)
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
        columns, seed_rows = (*columns, "steps>"), _iter_solutions(selected, options.seconds)
    cli.print_table(columns, [*seed_rows], f"{scenario.name}, {options.levels}")
    return 0


class _SplitRow(NamedTuple):
    """Row of the table of level sets: one set, such as "train".

    Attributes:
        new_layouts: share of its levels whose layout is not in `train`; empty for `train`, or if
            that has no levels.
        note: reason why the set has no levels.
    """

    name: str
    num_levels: str
    num_layouts: str = ""
    new_layouts: str = ""
    note: str = ""


def _iter_split_rows(scenario: Scenario) -> Iterator[_SplitRow]:
    """Yield a table row for each set of levels of the scenario."""
    train_layouts: set[int] = set()
    for name in SETS:  # train is the first
        try:
            layouts = find_layouts(level_set(scenario, name))
        except LevelsError as error:
            yield _SplitRow(name, "0", note=str(error))
            continue
        new_share = ""
        if name == "train":
            train_layouts = {*layouts}
        elif train_layouts:
            num_new = sum(layout not in train_layouts for layout in layouts)
            new_share = f"{num_new / len(layouts):.0%}"
        yield _SplitRow(name, f"{len(layouts):,}", f"{len({*layouts}):,}", new_share)


def _iter_solutions(selected: LevelSet, seconds: float) -> Iterator[tuple[object, ...]]:
    """Yield (number, seed, length of the shortest solution) for each level of the set `selected`.
    The search for all of them takes at most this number of `seconds`; a level that is not solved by
    then has "" as its length."""
    from gv_engine.play.validation.survey import Survey

    with cli.progress("levels", len(selected.seeds)) as advance:
        survey = Survey(selected.scenario, selected.seeds, seconds, on_level=advance)
    for number, seed in enumerate(selected.seeds):
        solution = survey.solutions.get(seed)
        yield number, seed, (len(solution.actions) or "") if solution else ""
