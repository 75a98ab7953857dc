"""`python -m benchmarks.goals`: how long `gv-engine train` takes to what it must show.

For each goal and seed the command is run as anybody would, on two cores: seconds are those of the
clock from the command to its end, imports and start included, and those of computing, all threads
together, which others at the machine do not lengthen: these are compared. What it has learned is
then tested on levels that were held out, as the benchmark does. Medians are over seeds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.worker import keep_to
from gv_engine.benchmark.entry import TESTED
from gv_engine.benchmark.runner import measure_lengths
from gv_engine.rollout.policy import GREEDY


class Goal(NamedTuple):
    """What is to be shown.

    Attributes:
        scenario: its name.
        success: at least, on levels that were held out.
        seconds: of computing at most, if so many were named.
        words: that the command is given, beside its scenario and seed.
        greedy: whether the likeliest action is taken.
    """

    scenario: str
    success: float
    seconds: float | None
    words: str
    greedy: bool = False


GOALS = (
    Goal("keydoor-5x5", 0.98, 8, "--steps 100000"),
    Goal("keydoor-9x9", 0.98, 20, "--steps 400000"),
    Goal("keydoor-9x9", 0.95, 180, "--steps 1200000 --memory", greedy=True),
    Goal("memory-9x9", 0.95, 300, "--steps 2000000 --memory"),
    Goal("dynamic-obstacles-7x7", 0.90, None, "--steps 600000"),
    Goal("nine-rooms-13x13", 0.90, None, "--steps 500000"),
)


class Attempt(NamedTuple):
    """One seed: seconds of the clock and of computing, and success on levels held out."""

    seconds: float
    cpu: float
    success: float


def attempt(goal: Goal, seed: int) -> Attempt:
    """Run the command, and test what it has learned.

    Raises:
        subprocess.CalledProcessError: it has failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        run = str(Path(folder, "run"))
        words = [goal.scenario, "--levels", "train", *goal.words.split()]
        command = [sys.executable, "-m", "gv_engine", "train", *words]
        before, began = os.times(), time.perf_counter()
        subprocess.run(
            [*command, "--seed", str(seed), "--out", run], check=True, stdout=subprocess.DEVNULL
        )
        seconds, after = time.perf_counter() - began, os.times()
        cpu = sum(after[2:4]) - sum(before[2:4])  # of children
        lengths = measure_lengths(goal.scenario, f"{run}:{GREEDY}" if goal.greedy else run, seed)
    return Attempt(seconds, cpu, sum(length > 0 for length in lengths) / TESTED)


def main() -> int:
    """Measure, and print a table in Markdown; 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=__doc__)
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="scenarios with this in the name"
    )
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="default 10")
    options = parser.parse_args()
    keep_to(2)
    head = ("goal", "`train`", "success", "worst", "CPU", "most", "wall", "holds")
    for row in (head, ["---"] * 2 + ["--:"] * 5 + ["---"]):
        print("|", " | ".join(row), "|", flush=True)
    missed = 0
    for goal in GOALS:
        if options.only in goal.scenario:
            found = []
            for seed in range(options.seeds):
                found.append(attempt(goal, seed))
                print(goal.scenario, seed, found[-1], file=sys.stderr, flush=True)
            missed += not tell(goal, found)
    return min(missed, 1)


def tell(goal: Goal, found: list[Attempt]) -> bool:
    """Print the row of a goal; whether it was reached."""
    seconds, cpu, success = (median(each) for each in zip(*found, strict=True))
    holds = success >= goal.success and (goal.seconds is None or cpu <= goal.seconds)
    within = "" if goal.seconds is None else f" in {goal.seconds:g} s"
    row = (
        f"{goal.scenario}, {goal.success:.0%}{' greedy' if goal.greedy else ''}{within}",
        f"`{goal.words}`",
        f"{success:.1%}",
        f"{min(each.success for each in found):.1%}",
        f"{cpu:.1f} s",
        f"{max(each.cpu for each in found):.1f} s",
        f"{seconds:.1f} s",
        "yes" if holds else "NO",
    )
    print("|", " | ".join(row), "|", flush=True)
    return holds


if __name__ == "__main__":
    sys.exit(main())
