"""`python -m benchmarks.algebra`: steps per second beside mathy_envs, as a ratio.

Workloads take turns, round by round: PolySimplify, normal, as functions from state to state with
the same problems, as environments, and as a vector environment in one process and in two, which
needs two idle cores. The first run installs mathy_envs from the package index into `.venv-peers/`.
`--parts` shows the gain of each part that replaces one of mathy_core.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.algebra_workers import ENVIRONMENTS, MANY, PARTS, STATES
from benchmarks.peers import ROOT, python_for

PROBLEMS = 200
PEERS = ("mathy_envs==0.12.5", "gymnasium")

Worker = Callable[..., Any]


def main() -> None:
    """Measure all workloads and print tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.algebra", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="time of one measurement")
    parser.add_argument("--parts", action="store_true", help="without parts of our own, in turns")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "problems.json")
        file.write_text(json.dumps(sample_problems()), "utf-8")
        how = arguments.rounds, arguments.seconds, file
        if arguments.parts:
            compare("States, per CPU second", PARTS, *how)
            return
        compare("States, per CPU second", STATES, *how)
        compare("Environments, per CPU second", ENVIRONMENTS, *how)
        compare("Many games, per second", MANY, *how, "wall")


def compare(
    title: str, workers: Sequence[Worker], rounds: int, seconds: float, file: Path, *clock: str
) -> None:
    """Measure workloads in turns and print their speeds beside the first one's."""
    figures: dict[Worker, list[float]] = {worker: [] for worker in workers}
    for _ in range(rounds):
        for worker, values in figures.items():
            values.append(measure(worker.__name__, seconds, file, *clock))
    print(f"{title}: median of {rounds} rounds (lowest to highest)")
    for worker, values in figures.items():
        ratios = [value / base for value, base in zip(values, figures[workers[0]], strict=True)]
        print(
            f"  {worker.__doc__:<42} {median(values):>8,.0f} ({min(values):,.0f} to "
            f"{max(values):,.0f})  {median(ratios):6.2f}x ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def sample_problems() -> list[tuple[str, int]]:
    """Return (text, number of moves) of sampled problems."""
    from gv_engine.plugins.algebra import MathyEnvProblemArgs, PolySimplify

    env = PolySimplify(seed=0)
    config = MathyEnvProblemArgs("normal")
    states = [env.get_initial_state(config)[0] for _ in range(PROBLEMS)]
    return [(state.agent.problem, state.max_moves) for state in states]


def measure(name: str, seconds: float, problems: Path, *clock: str) -> float:
    """Return the steps per second of one workload, measured in a process of its own."""
    here = not name.startswith("mathy_envs") or importlib.util.find_spec("mathy_envs") is not None
    python = sys.executable if here else python_for(PEERS)
    worker = ROOT / "benchmarks" / "algebra_workers.py"
    command = [python, str(worker), name, str(seconds), str(problems), *clock]
    process = subprocess.run(command, check=True, capture_output=True, text=True)
    figure: float = json.loads(process.stdout)["steps_per_second"]
    return figure


if __name__ == "__main__":
    main()
