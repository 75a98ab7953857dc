"""Sizes and times of exported pages, as the table in docs/web.md.

    python -m tests.web.figures [LEVEL ...]

Each level is exported by the command line. Steps are random actions in one world, and finished
episodes begin again: `World.step` in node and in Chromium, and `gymnasium.make` in Python.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gymnasium

from gv_engine import Scenario
from gv_engine.cli.check import find_levels
from tests.web.browser import CHROMIUM, Browser, chromium
from tests.web.games import run_on_page

LEVELS = (
    *(
        "keydoor-9x9",
        "medley-7x7",
        "2048",
        "crafter",
        "hold-plates",
        "kitchen-hatch",
        "warehouse-tiny-2ag",
    ),
    *("sokoban", "tutorial", "BabyAI-BossLevel-v0"),
)
ROUNDS, SECONDS = 10, 0.2
"""Number and duration of the measurements of steps, of which the fastest counts."""
COUNT = f"""(world) => {{
  const count = world.level.actions.length, choose = () => Math.floor(Math.random() * count);
  const measure = () => {{
    const start = performance.now();
    let steps = 0, spent = 0;
    for (; spent < {SECONDS * 1000}; spent = performance.now() - start)
      for (let k = 0; k < 100; k++, steps++) {{
        if (world.isOver) world.reset(BigInt(steps));
        else world.step(Array(world.agents).fill(0).map(choose));
      }}
    return (1000 * steps) / spent;
  }};
  return Math.max(...Array({ROUNDS}).fill(0).map(measure));
}}"""
"""JavaScript function that returns the steps a second of a world."""


def export(level: str, file: Path) -> float:
    """Write the page of a level; return the seconds of CPU time that the command took."""
    command = [sys.executable, "-m", "gv_engine", "export", level, "--html", str(file)]
    start = os.times()
    subprocess.run(command, check=True, capture_output=True)
    end = os.times()
    return end.children_user + end.children_system - start.children_user - start.children_system


def step_in_python(level: str) -> float:
    """Return the steps a second of `gymnasium.make`; NaN for several agents, which it refuses."""
    (name, *_) = find_levels(level, {})
    if len(Scenario.load(name).agent_group.names) > 1:
        return float("nan")
    env = gymnasium.make(
        "GV-Scenario-v0", scenario=name, world="compiled", disable_env_checker=True
    )
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(100)]
    fastest = 0.0
    for _ in range(ROUNDS):
        start, steps = time.perf_counter(), 0
        while (spent := time.perf_counter() - start) < SECONDS:
            for action in actions:
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
            steps += 100
        fastest = max(fastest, steps / spent)
    return fastest


def step_in_node(page: str) -> float:
    """Return the steps a second of the first level of a page in node."""
    return float(
        run_on_page(page, f"world.reset(0n); console.log(JSON.stringify(({COUNT})(world)));")[0]
    )


def measure(level: str, folder: Path, browser: Browser) -> list[str]:
    """Return the cells of the row of a level."""
    file = folder / f"{level}.html"
    spent = export(level, file)
    browser.open(file)
    browser.wait("document.getElementById('state').width !== 300 && !player.willDraw")
    paint = browser.run("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    drawn = browser.run("performance.now()")
    in_browser = browser.run(f"({COUNT})(player.world)")
    node = step_in_node(file.read_text(encoding="utf-8"))
    return [
        *(level, f"{file.stat().st_size / 1024:.0f}", f"{spent:.1f}"),
        *(f"{paint:.0f}", f"{drawn:.0f}", f"{node:,.0f}", f"{in_browser:,.0f}"),
        f"{step_in_python(level):,.0f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("levels", metavar="LEVEL", nargs="*", default=LEVELS)
    options = parser.parse_args()
    assert CHROMIUM, "needs Chromium: apt install chromium"
    times = "export, CPU s | text, ms | boards, ms"
    print(f"level | KiB | {times} | node | Chromium | Python")
    print("--- | --: | --: | --: | --: | --: | --: | --:")
    with tempfile.TemporaryDirectory() as name, chromium(Path(name, "browser")) as browser:
        for level in options.levels:
            print(" | ".join(measure(level, Path(name), browser)), flush=True)


if __name__ == "__main__":
    main()
