"""Search for the shortest solution of a level.

examples:
  gv-engine solve keydoor-9x9 --seed 3
  gv-engine solve keydoor-9x9 --seeds 20
  gv-engine solve "sokoban#3"
  gv-engine solve cave --out cave.gif
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from gv_engine.cli import options as cli
from gv_engine.cli.check import find_levels
from gv_engine.play.session.game import Game
from gv_engine.play.session.replay import SUFFIX
from gv_engine.scenario.documents.loading import load_scenario
from gv_engine.scenario.domains import AnyScenario
from gv_engine.scenario.scenario import Scenario

if TYPE_CHECKING:
    from gv_engine.play.validation.solver import Solution


def add_options(parser: cli.CommandParser) -> None:
    """Add the options of the command `solve` to its parser."""
    parser.add_scenario()
    parser.add_seed("seed of the level")
    parser.add_option(
        "--seeds N", cli.parse_positive, "number of levels to solve, of the seeds from --seed on", 1
    )
    states_text = "maximum number of states to search in each level"
    parser.add_option("--states N", cli.parse_positive, states_text, 1_000_000)
    parser.add_option("--seconds T", cli.parse_seconds, "time limit for each level", 60)
    out_text = f"save the solution as a replay ({SUFFIX}) or as a picture or video, see `record`"
    parser.add_option("--out FILE", Path, out_text)
    parser.add_picture_options()


def run(options: argparse.Namespace) -> int:
    """Run the command `solve`: search shortest solutions of levels and print them; return 1 if a
    level was not solved."""
    out: Path | None = options.out
    if out and options.seeds > 1:
        raise cli.UsageError("--out saves one level; leave out --seeds")
    if out:
        cli.check_picture_name(out, SUFFIX)
    settings = cli.scenario_options(options)
    sources = find_levels(options.scenario, settings)
    if out and len(sources) > 1:
        raise cli.UsageError(f"--out saves one level; name it, for example {sources[0]}")
    scenarios = [load_scenario(source, **settings) for source in sources]
    return max([_solve_levels(scenario, options) for scenario in scenarios])


def _solve_levels(scenario: AnyScenario, options: argparse.Namespace) -> int:
    """Search shortest solutions of a scenario's levels, print a table of them, and return the exit
    code: 1 if a level was not solved, or if a solution is not as long as the level file says (its
    par)."""
    if not isinstance(scenario, Scenario):
        raise cli.UsageError(
            f"{scenario.name} is of the domain {scenario.domain}; solve takes only grids"
        )
    from gv_engine.play.validation.solver import Solver  # compiles

    solver = Solver(scenario, options.states, options.seconds)
    solutions: dict[int, Solution] = {}
    rows = []
    for seed in range(options.seed, options.seed + options.seeds):
        start = time.perf_counter()
        solution = solutions[seed] = solver.solve(seed)
        seconds = time.perf_counter() - start
        outcome = solution.verdict.value
        if solution.by_chance:
            outcome += " with the random numbers of this seed"
        steps = len(solution.actions) or ""
        rows.append((seed, outcome, steps, f"{solution.met:,}", f"{seconds:.2f}"))
    level = scenario.document.pack_level
    par = level.par if level else 0
    if level:
        cli.say(f"{scenario.name}: {level.credit}" + (f" Par {par}" if par else ""))
    title = "" if level else scenario.name
    cli.print_table(("seed>", "outcome", "steps>", "states>", "seconds>"), rows, title)
    if len(solutions) == 1 and solution.actions:
        game = _play_solution(scenario, seed, solution)
        cli.say(count_repeats(step.action for step in game.replay().steps))
        if options.out:
            _save_episode(game, options.out, options)
    lengths = {len(solution.actions) for solution in solutions.values()}
    is_par_wrong = bool(par and lengths - {0, par})
    if is_par_wrong:
        cli.say(f"{scenario.name}: its par is {par}; set it to the steps above")
    return 1 if is_par_wrong or 0 in lengths else 0


def _play_solution(scenario: Scenario, seed: int, solution: Solution) -> Game:
    """Return a session in which the level of `seed` is solved by the actions of `solution`, at the
    beginning of the episode, to be watched."""
    game = Game(scenario, seed)
    for index in solution.actions:
        game.step(game.format_action(index))
    game.seek(0)
    return game


def _save_episode(game: Game, out: Path, options: argparse.Namespace) -> None:
    """Write the episode of `game` into the file `out`: a replay, picture or video, depending on the
    suffix. `options` say the view and speed."""
    if out.suffix == SUFFIX:
        game.replay().save(out)
    else:
        cli.draw_frames(game.frames(), game.scenario, out, options)
    cli.say(f"{out}: {len(game.replay().steps)} steps")


def count_repeats(names: Iterable[str]) -> str:
    """Return action names as one text, in which equal names in a row become one name with a count.

    >>> count_repeats(["MOVE_FORWARD", "MOVE_FORWARD", "TURN_LEFT"])
    'MOVE_FORWARD ×2, TURN_LEFT'
    """
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in runs)
