"""`python -m benchmarks.goals`: training time of `gv-engine train` until each of its goals.

For each goal and seed the command runs as a user would run it, on two cores. Wall time is from the
command's start to its end. CPU time is of all threads; other processes do not lengthen it, so goals
are compared by CPU time. The policy is then tested on held-out levels, as in the benchmark. Medians
are over seeds.
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

from benchmarks.worker import limit_cores
from gv_engine.envs.rollout.policy import GREEDY
from gv_engine.plugins.learning.benchmark.entry import TESTED
from gv_engine.plugins.learning.benchmark.runner import measure_lengths


class Goal(NamedTuple):
    """Goal of training.

    Attributes:
        scenario: name of the scenario.
        success: least success rate on held-out levels.
        seconds: CPU time limit; None for no limit.
        words: arguments of the command, beside scenario and seed.
        greedy: take the most probable action instead of sampling.
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
    """Result of one seed: wall time and CPU time in seconds, and success rate on held-out
    levels."""

    seconds: float
    cpu: float
    success: float


def run_attempt(goal: Goal, seed: int) -> Attempt:
    """Run the training command and test its policy.

    Raises:
        subprocess.CalledProcessError: the command has failed.
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
        cpu = sum(after[2:4]) - sum(before[2:4])  # of child processes
        lengths = measure_lengths(goal.scenario, f"{run}:{GREEDY}" if goal.greedy else run, seed)
    return Attempt(seconds, cpu, sum(length > 0 for length in lengths) / TESTED)


def main() -> int:
    """Run all goals and print a table in Markdown; return 1 if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description=__doc__)
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="scenarios with this in the name"
    )
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="default 10")
    options = parser.parse_args()
    limit_cores(2)
    head = ("goal", "`train`", "success", "worst", "CPU", "most", "wall", "holds")
    for row in (head, ["---"] * 2 + ["--:"] * 5 + ["---"]):
        print("|", " | ".join(row), "|", flush=True)
    missed = 0
    for goal in GOALS:
        if options.only in goal.scenario:
            attempts = []
            for seed in range(options.seeds):
                attempts.append(run_attempt(goal, seed))
                print(goal.scenario, seed, attempts[-1], file=sys.stderr, flush=True)
            missed += not print_row(goal, attempts)
    return min(missed, 1)


def print_row(goal: Goal, attempts: list[Attempt]) -> bool:
    """Print the row of a goal; return True if the goal is reached."""
    seconds, cpu, success = (median(attempt) for attempt in zip(*attempts, strict=True))
    holds = success >= goal.success and (goal.seconds is None or cpu <= goal.seconds)
    within = "" if goal.seconds is None else f" in {goal.seconds:g} s"
    row = (
        f"{goal.scenario}, {goal.success:.0%}{' greedy' if goal.greedy else ''}{within}",
        f"`{goal.words}`",
        f"{success:.1%}",
        f"{min(attempt.success for attempt in attempts):.1%}",
        f"{cpu:.1f} s",
        f"{max(attempt.cpu for attempt in attempts):.1f} s",
        f"{seconds:.1f} s",
        "yes" if holds else "NO",
    )
    print("|", " | ".join(row), "|", flush=True)
    return holds


if __name__ == "__main__":
    sys.exit(main())
