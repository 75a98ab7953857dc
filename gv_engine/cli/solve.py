"""`gv-engine solve`: find a shortest solution of a level."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from gv_engine.cli.check import find_levels
from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_pictures,
    add_scenario,
    check_picture_name,
    draw_frames,
    parse_natural,
    parse_positive,
    parse_seconds,
    print_table,
    say,
    scenario_options,
)
from gv_engine.scenario.loading import load_scenario
from gv_engine.scenario.plugin import AnyScenario
from gv_engine.scenario.scenario import Scenario
from gv_engine.session.replay import SUFFIX

if TYPE_CHECKING:
    from gv_engine.session.session import Session
    from gv_engine.validation.solver import Solution

_EXAMPLES = """\
gv-engine solve keydoor-9x9 --seed 3
gv-engine solve keydoor-9x9 --seeds 20
gv-engine solve "sokoban#3"
gv-engine solve cave --out cave.gif"""


def add(commands: Commands) -> None:
    """Add the command's parser."""
    parser = add_command(
        commands, run, "solve", "Search for the shortest solution of a level", _EXAMPLES
    )
    add_scenario(parser)
    parser.add_argument(
        "--seed", metavar="S", type=parse_natural, default=0, help="seed of the level (default: 0)"
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=parse_positive,
        default=1,
        help="number of seeds to solve, from --seed on (default: 1)",
    )
    parser.add_argument(
        "--states",
        metavar="N",
        type=parse_positive,
        default=1_000_000,
        help="maximum number of states to search (default: 1,000,000)",
    )
    parser.add_argument(
        "--seconds",
        metavar="T",
        type=parse_seconds,
        default=60.0,
        help="time limit for each level (default: 60)",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help=f"save the solution as a replay ({SUFFIX}) or as a picture or video, see `record`",
    )
    add_pictures(parser)


def run(options: argparse.Namespace) -> int:
    """Print the solutions; return 1 if a level was not solved."""
    out: Path | None = options.out
    if out and options.seeds > 1:
        raise UsageError("--out is for one level: leave --seeds out")
    if out and out.suffix != SUFFIX:
        check_picture_name(out)
    sources = find_levels(options.scenario)
    if out and len(sources) > 1:
        raise UsageError(f"--out is for one level; name it: {sources[0]}")
    scenarios = [load_scenario(source, **scenario_options(options)) for source in sources]
    return max([_solve_levels(scenario, options) for scenario in scenarios])


def _solve_levels(scenario: AnyScenario, options: argparse.Namespace) -> int:
    """Solve the levels of a scenario and print a table; return the exit code."""
    if not isinstance(scenario, Scenario):
        raise UsageError(f"{scenario.name} is of the domain {scenario.domain}; grids are solved")
    out: Path | None = options.out
    rows, solutions = [], list(_solutions(scenario, options))
    for seed, solution, seconds in solutions:
        steps = len(solution.actions) or ""
        outcome = solution.verdict.value + " with the draws of this seed" * solution.by_chance
        rows.append((seed, outcome, steps, f"{solution.met:,}", f"{seconds:.2f}"))
    level = scenario.document.pack_level
    par = level.par if level else 0
    if level:
        say(f"{scenario.name}: {level.credit}" + f" Par {par}" * bool(par))
    title = "" if level else scenario.name
    print_table(("seed>", "outcome", "steps>", "states>", "seconds>"), rows, title)
    seed, solution, _ = solutions[-1]
    if len(solutions) == 1 and solution.actions:
        game = _play_solution(scenario, seed, solution)
        say(count_repeats(step.action for step in game.replay().steps))
        if out:
            _save(game, out, options)
    seeds_with_other_par = [
        seed for seed, solution, _ in solutions if par and len(solution.actions) not in (0, par)
    ]
    if seeds_with_other_par:
        say(f"{scenario.name}: its par is {par}, and should be the steps told above")
    return (
        0
        if not seeds_with_other_par and all(solution.actions for _, solution, _ in solutions)
        else 1
    )


def _solutions(
    scenario: Scenario, options: argparse.Namespace
) -> Iterator[tuple[int, Solution, float]]:
    """Yield (seed, solution, seconds) of each level."""
    from gv_engine.validation.solver import Solver  # compiles

    solver = Solver(scenario, options.states, options.seconds)
    for seed in range(options.seed, options.seed + options.seeds):
        start = time.perf_counter()
        solution = solver.solve(seed)
        yield seed, solution, time.perf_counter() - start


def _play_solution(scenario: Scenario, seed: int, solution: Solution) -> Session:
    """Return a session of the object world with the steps of a solution, at its first step."""
    from gv_engine.session.session import Session

    game = Session(scenario, seed)
    for number in solution.actions:
        game.step(game.format_action(number))
    game.seek(0)
    return game


def _save(game: Session, out: Path, options: argparse.Namespace) -> None:
    """Write the frames of a session, or its replay, into a file."""
    if out.suffix == SUFFIX:
        game.replay().save(out)
    else:
        draw_frames(game.frames(), game.scenario, out, options)
    say(f"{out}: {len(game.replay().steps)} steps")


def count_repeats(names: Iterable[str]) -> str:
    """Return actions as a text, with repeated actions counted.

    >>> count_repeats(["MOVE_FORWARD", "MOVE_FORWARD", "TURN_LEFT"])
    'MOVE_FORWARD ×2, TURN_LEFT'
    """
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in runs)
