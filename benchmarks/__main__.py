"""`python -m benchmarks`: speed beside MiniGrid, start-up time and compile time, as ratios.

Contestants take turns, round by round, so that a machine that slows down slows all of them down.
MiniGrid is installed from the package index into `.venv-peers/` at the first run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from statistics import median

from benchmarks.workers import WORKERS

ROOT = Path(__file__).resolve().parent.parent
PEERS = {"minigrid": "minigrid==3.2.0"}

OBJECT = "gymnasium.make('GV-Keydoor-9x9-v0', world='object')"
COMPILED = "gymnasium.make('GV-Keydoor-9x9-v0')"
FIRST_STEP = "import gymnasium, gv_engine; env = {}; env.reset(seed=0); env.step(0)"


def main() -> None:
    """Measure, print tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU time of one measurement")
    arguments = parser.parse_args()
    speed(arguments.rounds, arguments.seconds)
    start_up(arguments.rounds)


def speed(rounds: int, seconds: float) -> None:
    """Steps per CPU second of every worker, beside the first."""
    figures: dict[str, list[float]] = {name: [] for name in WORKERS}
    for _ in range(rounds):
        for name in WORKERS:
            command = [python_of(name), str(ROOT / "benchmarks" / "workers.py"), name, str(seconds)]
            figures[name].append(json.loads(output(command))["steps_per_cpu_second"])
    first = next(iter(WORKERS))
    print(f"Steps per CPU second, median of {rounds} (lowest to highest)")
    for name, values in figures.items():
        ratios = [value / base for value, base in zip(values, figures[first], strict=True)]
        print(
            f"  {WORKERS[name].__doc__:<72} {median(values):>12,.0f}"
            f"  ({min(values):,.0f} to {max(values):,.0f})  {median(ratios):8.2f}x"
        )


def start_up(rounds: int) -> None:
    """Seconds from a fresh process to the first step, and of the first compilation ever."""
    base = "import gymnasium"
    codes = {base: base, "object world": FIRST_STEP.format(OBJECT)}
    codes["compiled, cache warm"] = FIRST_STEP.format(COMPILED)
    figures: dict[str, list[float]] = {name: [] for name in codes}
    for turn in range(rounds + 1):
        for name, code in codes.items():
            spent = seconds_of([sys.executable, "-c", code])
            if turn:  # the first round warms the caches
                figures[name].append(spent)
    print(f"Seconds from a fresh process to the first step, median of {rounds}")
    for name, values in figures.items():
        ratios = [value / start for value, start in zip(values, figures[base], strict=True)]
        print(f"  {name:<72} {median(values):>12.3f}  {median(ratios):8.2f}x")
    with tempfile.TemporaryDirectory() as empty:
        cold = seconds_of(
            [sys.executable, "-c", codes["compiled, cache warm"]], GV_ENGINE_CACHE_DIR=empty
        )
    print(f"  {'compiled, the very first time':<72} {cold:>12.3f}")


def seconds_of(command: list[str], **variables: str) -> float:
    """Wall time of a process."""
    start = time.perf_counter()
    output(command, **variables)
    return time.perf_counter() - start


def output(command: list[str], **variables: str) -> str:
    """What a process prints; its errors go where ours go."""
    environment = {**os.environ, **variables}
    return subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout


def python_of(worker: str) -> str:
    """The Python that has what the worker measures; made if need be."""
    if worker not in PEERS:
        return sys.executable
    folder = ROOT / ".venv-peers" / worker
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", PEERS[worker]], check=True)
    return str(python)


if __name__ == "__main__":
    main()
