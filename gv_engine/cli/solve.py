"""`gv-engine solve`: whether a level can be won, and how."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from gv_engine.cli import output
from gv_engine.cli.check import levels_of
from gv_engine.cli.options import (
    Commands,
    UsageError,
    add_command,
    add_pictures,
    add_scenario,
    check_name,
    draw,
    duration,
    natural,
    positive,
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
    """Describe the command."""
    parser = add_command(
        commands, run, "solve", "Search for the shortest way to win a level", _EXAMPLES
    )
    add_scenario(parser)
    parser.add_argument(
        "--seed", metavar="S", type=natural, default=0, help="of the level (default: 0)"
    )
    parser.add_argument(
        "--seeds",
        metavar="N",
        type=positive,
        default=1,
        help="search the levels of so many seeds, from --seed on",
    )
    parser.add_argument(
        "--states",
        metavar="N",
        type=positive,
        default=1_000_000,
        help="give up after so many states (default: 1,000,000)",
    )
    parser.add_argument(
        "--seconds",
        metavar="T",
        type=duration,
        default=60.0,
        help="give up after so long, for each level (default: 60)",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        type=Path,
        help=f"draw the way, or keep it: {SUFFIX}, or what `record` takes",
    )
    add_pictures(parser)


def run(options: argparse.Namespace) -> int:
    """Print what has been found; 1 if a level is not won."""
    out: Path | None = options.out
    if out and options.seeds > 1:
        raise UsageError("--out is for one level; leave --seeds out")
    if out and out.suffix != SUFFIX:
        check_name(out)
    sources = levels_of(options.scenario)
    if out and len(sources) > 1:
        raise UsageError(f"--out is for one level; name it: {sources[0]}")
    scenarios = [load_scenario(source, **scenario_options(options)) for source in sources]
    return max([_solve(scenario, options) for scenario in scenarios])


def _solve(scenario: AnyScenario, options: argparse.Namespace) -> int:
    """Search the levels of a scenario, and print what has been found."""
    if not isinstance(scenario, Scenario):
        raise UsageError(f"{scenario.name} is of the domain {scenario.domain}; grids are solved")
    out: Path | None = options.out
    rows, found = [], list(_solutions(scenario, options))
    for seed, solution, seconds in found:
        steps = len(solution.actions) or ""
        told = solution.verdict.value + " with the draws of this seed" * solution.by_chance
        rows.append((seed, told, steps, f"{solution.met:,}", f"{seconds:.2f}"))
    level = scenario.document.pack_level
    par = level.par if level else 0
    if level:
        say(f"{scenario.name}: {level.credit}" + f" Par {par}" * bool(par))
    title = "" if level else scenario.name
    output.print_table(("seed>", "outcome", "steps>", "states>", "seconds>"), rows, title)
    seed, solution, _ = found[-1]
    if len(found) == 1 and solution.actions:
        game = _played(scenario, seed, solution)
        say(in_short(step.action for step in game.replay().steps))
        if out:
            _keep(game, out, options)
    wrong = [seed for seed, solution, _ in found if par and len(solution.actions) not in (0, par)]
    if wrong:
        say(f"{scenario.name}: its par is {par}, and should be the steps told above")
    return 0 if not wrong and all(solution.actions for _, solution, _ in found) else 1


def _solutions(
    scenario: Scenario, options: argparse.Namespace
) -> Iterator[tuple[int, Solution, float]]:
    """(seed, what was found, seconds that it took) of each level."""
    from gv_engine.validation.solver import Solver  # compiles

    solver = Solver(scenario, options.states, options.seconds)
    for seed in range(options.seed, options.seed + options.seeds):
        begun = time.perf_counter()
        solution = solver.solve(seed)
        yield seed, solution, time.perf_counter() - begun


def _played(scenario: Scenario, seed: int, solution: Solution) -> Session:
    """The game of a solution, at its beginning, played in the object world."""
    from gv_engine.session.session import Session

    game = Session(scenario, seed)
    for number in solution.actions:
        game.step(game.format_action(number))
    game.seek(0)
    return game


def _keep(game: Session, out: Path, options: argparse.Namespace) -> None:
    """Draw a game into a file, or keep its replay there."""
    if out.suffix == SUFFIX:
        game.replay().save(out)
    else:
        draw(game.frames(), game.scenario, out, options)
    say(f"{out}: {len(game.replay().steps)} steps")


def in_short(names: Iterable[str]) -> str:
    """Actions in their order, those that are repeated once.

    >>> in_short(["MOVE_FORWARD", "MOVE_FORWARD", "TURN_LEFT"])
    'MOVE_FORWARD ×2, TURN_LEFT'
    """
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in runs)
