"""`python -m benchmarks.algebra`: steps per second beside mathy_envs, as a ratio.

Both take turns, round by round, with the same problems: PolySimplify, normal. mathy_envs is
installed from the package index into `.venv-peers/` at the first run, unless it is there already.
`--parts` shows instead what each part is worth that mathy_core has, too: with that in its place.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.algebra_workers import PARTS, WORKERS
from benchmarks.peers import ROOT, python_for

PROBLEMS = 200
PEER = "mathy_envs==0.12.5"


def main() -> None:
    """Measure, print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.algebra", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="CPU time of one measurement")
    parser.add_argument("--parts", action="store_true", help="without parts of our own, in turns")
    arguments = parser.parse_args()
    names = [part.__name__ for part in PARTS] if arguments.parts else ["mathy_envs", "gv_engine"]
    figures: dict[str, list[float]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "problems.json")
        file.write_text(json.dumps(problems()), "utf-8")
        for _ in range(arguments.rounds):
            for name, values in figures.items():
                values.append(measured(name, arguments.seconds, file))
    print(f"Steps per CPU second, median of {arguments.rounds} (lowest to highest)")
    base = figures[names[0]]
    for name, values in figures.items():
        ratios = [value / other for value, other in zip(values, base, strict=True)]
        print(
            f"  {WORKERS[name].__doc__:<40} {median(values):>10,.0f}"
            f"  ({min(values):,.0f} to {max(values):,.0f})  {median(ratios):7.2f}x"
        )


def problems() -> list[tuple[str, int]]:
    """Texts, and the moves they allow."""
    from gv_engine.families.algebra import MathyEnvProblemArgs, PolySimplify

    env = PolySimplify(seed=0)
    config = MathyEnvProblemArgs("normal")
    states = [env.get_initial_state(config)[0] for _ in range(PROBLEMS)]
    return [(state.agent.problem, state.max_moves) for state in states]


def measured(name: str, seconds: float, problems: Path) -> float:
    """Steps per CPU second of one contestant."""
    here = name != "mathy_envs" or importlib.util.find_spec(name) is not None
    python = sys.executable if here else python_for((PEER,))
    worker = ROOT / "benchmarks" / "algebra_workers.py"
    command = [python, str(worker), name, str(seconds), str(problems)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    figure: float = json.loads(done.stdout)["steps_per_cpu_second"]
    return figure


if __name__ == "__main__":
    main()
