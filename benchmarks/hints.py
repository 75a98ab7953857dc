"""`python -m benchmarks.hints`: seconds until the first hint in each built-in level, which is
asked for at the moment the level opens. With `--verdict`, seconds until the editor's verdict on it.

With `--cold` each level has a new background process, as when `gv-engine play LEVEL` opens it; else
one process serves all levels, as in a window that goes from level to level. A line a level, slowest
first.
"""

from __future__ import annotations

import argparse
import time

from gv_engine import Scenario
from gv_engine.play.editor.document import BackgroundChecker, CheckState
from gv_engine.play.grid.episode import GridHint
from gv_engine.play.session.game import Game
from gv_engine.play.validation import solver_worker
from tests.levels import GRID_NAMES

MOST = 40.0
"""Seconds after which a hint counts as missing."""


def main() -> None:
    """Measure all levels and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hints", description=__doc__)
    parser.add_argument("--cold", action="store_true", help="a new background process each")
    parser.add_argument("--verdict", action="store_true", help="the editor's")
    parser.add_argument("--only", nargs="+", metavar="NAME", default=GRID_NAMES)
    options = parser.parse_args()
    table = []
    checker = BackgroundChecker()
    for name in options.only:
        numbers = range(1, len(Scenario.load(name).document.levels) + 1)
        for level in [f"{name}#{number}" for number in numbers] or [name]:
            if options.cold:
                close_idle_workers()
                checker.close()
            scenario = Scenario.load(level)
            if options.verdict:
                table.append((*measure_verdict(checker, scenario), level))
            else:
                table.append((*measure_hint(scenario), level))
    checker.close()
    table.sort(reverse=True)
    for seconds, message, name in table:
        print(f"{seconds:6.2f} s  {name}: {message}")
    late = sum(seconds > 2 for seconds, *_ in table)
    print(f"{len(table)} levels, median {table[len(table) // 2][0]:.2f} s, {late} above 2 s")


def measure_hint(scenario: Scenario) -> tuple[float, str]:
    """Return (seconds, text) of the first hint in a level."""
    game = Game(scenario, 0)
    hint = GridHint(game, str)
    start = time.perf_counter()
    hint.prepare()
    hint.search()
    while hint.is_searching and time.perf_counter() < start + MOST:
        hint.update()
        time.sleep(0.005)
    seconds = time.perf_counter() - start
    hint.close()
    return seconds, hint.message


def measure_verdict(checker: BackgroundChecker, scenario: Scenario) -> tuple[float, str]:
    """Return (seconds, text) of the editor's verdict on a level."""
    start = time.perf_counter()
    checker.ask(scenario)
    state = CheckState()
    while checker.is_waiting and state.steps is None and not state.message:
        state = checker.answer() or state
        time.sleep(0.005)
    seconds = time.perf_counter() - start
    checker.ask(None)
    return seconds, state.message or f"{state.steps} steps"


def close_idle_workers() -> None:
    """End the background process that waits for the next level."""
    for worker in solver_worker._idle_workers:
        worker.close()
    solver_worker._idle_workers.clear()


if __name__ == "__main__":
    main()
