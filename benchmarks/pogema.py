"""`python -m benchmarks.pogema BENCHMARK`: MAPPO beside the published rows of POGEMA's benchmark.

BENCHMARK is a clone of Cognitive-AI-Systems/pogema-benchmark. MAPPO is trained for each number of
agents on lifelong instances of random maps and mazes of our own, as large as those of the
benchmark, or goes on where it was stopped. Each agent is a team, so it is paid for its own targets
alone. It is trained twice: as in POGEMA, where agents see the cells around them and the direction
of their target, with a GRU; and with agents that are told where a shortest way leads (`ahead: 3`),
without one, as some of the published algorithms are. The policies then play the benchmark's 128
random maps and 128 mazes, with the seeds and the step limits of the published rows. The table has
mean throughputs: targets that all agents reach in a step.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gv_engine.plugins.learning.evaluation import evaluate_policy
from gv_engine.scenario.scenario import Scenario

SETS = {"01-random": ("random", 256), "02-mazes": ("mazes", 128)}
"""Kind of maps and step limit of each set."""
MAPS = 512
"""Number of training maps of each kind."""
POLICIES = {"MAPPO, ours": 0, "MAPPO told the way, ours": 3}
"""How many steps of their way the agents of each trained policy are told."""
_LEVELS = "0:3000"
"""Seeds that play each of 128 instances once, because equal levels count once."""
_SCENARIO = """\
extends: pogema-benchmark-lmapf
parameters:
  agents: {agents}
  steps: 128
  ahead: {ahead}
  instances: {{default: maps.yaml, type: file}}
agents: {{colors: [RED], teams: {{{teams}}}}}
state_space: {{colors: [NONE, RED]}}
"""


def make_random_map(rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a map of 17 to 21 rows and columns, in which 10 to 30 % of the cells are obstacles."""
    return rng.random(rng.integers(17, 22, 2)) < rng.uniform(0.1, 0.3)


def make_maze(rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a maze of 17, 19 or 21 rows and columns, whose walls grow from random cells in steps
    of two."""
    cells = np.ones(rng.choice([19, 21, 23], 2), np.bool_)
    cells[1:-1, 1:-1] = False
    height, width = cells.shape
    length = int(rng.integers(1, 6))
    for _ in range(int(rng.uniform(0.3, 0.95) * (height // 2) * (width // 2))):
        y, x = 2 * rng.integers((height + 1) // 2), 2 * rng.integers((width + 1) // 2)
        cells[y, x] = True
        for _ in range(length):
            dy, dx = ((0, 1), (1, 0), (0, -1), (-1, 0))[rng.integers(4)]
            end = y + 2 * dy, x + 2 * dx
            if 0 <= end[0] < height and 0 <= end[1] < width and not cells[end]:
                cells[y + dy, x + dx] = cells[end] = True
                y, x = end
    return cells[1:-1, 1:-1]


def write_scenario(folder: Path, agents: int, ahead: int) -> Path:
    """Write the training maps and the scenario for a number of agents, which are told so many steps
    of their way; return the scenario."""
    rng, lines = np.random.default_rng(0), []
    for number in range(MAPS):
        for make in (make_random_map, make_maze):
            rows = ("".join(".#"[cell] for cell in row) for row in make(rng).astype(int).tolist())
            lines += [f"{make.__name__}-{number}: |", *(f"  {row}" for row in rows)]
    (folder / "maps.yaml").write_text("\n".join(lines) + "\n", "utf-8")
    teams = ", ".join(f"team_{k}: [agent_{k}]" for k in range(1, agents + 1))
    path = folder / f"lifelong-{agents}-{ahead}.yaml"
    path.write_text(_SCENARIO.format(agents=agents, ahead=ahead, teams=teams), "utf-8")
    return path


def train(scenario: Path, run: Path, agents: int, has_memory: bool, steps: int) -> None:
    """Train a run to this number of steps, with a GRU if it `has_memory`.

    Raises:
        subprocess.CalledProcessError: the command has failed.
    """
    words = [str(scenario), "--learner", "mappo", "--num-envs", str(512 // agents)]
    settings = "num_steps=64", "num_minibatches=8", "learning_rate=1e-3"
    words += [word for setting in settings for word in ("--set-hp", setting)]
    words += ["--memory"] * has_memory + ["--out", str(run)]
    chosen = ["--resume", str(run), "--trust"] if run.exists() else words
    command = [sys.executable, "-m", "gv_engine", "train", *chosen, "--steps", str(steps)]
    subprocess.run(command, check=True)


def play(scenario: Path, policy: str, instances: Path, steps: int) -> float:
    """Return the mean throughput of a policy in the instances of a file, each of `steps` steps."""
    level = Scenario.load(str(scenario), instances=str(instances), steps=steps)
    return evaluate_policy(policy, level, _LEVELS).episode_return.mean / steps


def read_published(folder: Path, agents: int) -> Iterator[tuple[str, float]]:
    """Yield the names of the published algorithms and their mean throughput."""
    for path in sorted(folder.glob("*.json")):
        results: list[dict[str, Any]] = json.loads(path.read_text("utf-8"))
        found = [
            each["metrics"]["avg_throughput"]
            for each in results
            if each["env_grid_search"]["num_agents"] == agents
        ]
        yield path.stem, float(np.mean(found))


def main() -> int:
    """Train what is missing, and print the table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pogema", description=__doc__)
    parser.add_argument("benchmark", type=Path, help="clone of pogema-benchmark")
    parser.add_argument("--agents", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--steps", type=int, default=10_000_000, help="steps of all agents")
    parser.add_argument("--runs", type=Path, default=Path("pogema-runs"), help="folder of the runs")
    options = parser.parse_args()
    options.runs.mkdir(exist_ok=True)
    columns: dict[str, dict[str, float]] = {}
    for agents in options.agents:
        policies = {"valid actions, ours": (write_scenario(options.runs, agents, 0), "valid")}
        for label, ahead in POLICIES.items():
            scenario = write_scenario(options.runs, agents, ahead)
            run = options.runs / f"mappo-{agents}-{ahead}"
            train(scenario, run, agents, ahead == 0, options.steps)
            policies[label] = scenario, str(run)
        for name, (kind, limit) in SETS.items():
            folder = options.benchmark / "raw_data_LMAPF" / name
            column = dict(read_published(folder, agents))
            for label, (scenario, policy) in policies.items():
                column[label] = play(scenario, policy, folder / f"{name}.yaml", limit)
            columns[f"{kind}, {agents} agents"] = column
    print("| | " + " | ".join(columns) + " |")
    print("| --- |" + " --: |" * len(columns))
    rows = next(iter(columns.values()))
    for row in sorted(rows, key=lambda row: -rows[row]):
        print(f"| {row} | " + " | ".join(f"{each[row]:.3f}" for each in columns.values()) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
