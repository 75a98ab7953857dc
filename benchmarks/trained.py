"""`python -m benchmarks.trained`: train, pack and test the policies that come with scenarios.

Each is trained on the levels `train` with the seeds 0, 1 and 2, until one succeeds in 99 % of the
levels `validation`; the best of them there is kept in `assets/policies/`, as float16. Without such
levels seed 0 is kept. The results that are printed are of these files: success in 200 levels of
`validation`, `test` and `test-layout`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gv_engine.envs.level_sets import LevelsError
from gv_engine.envs.rollout.policy import GREEDY, POLICIES, TRAINED
from gv_engine.envs.rollout.policy_file import POLICY_FILE, PolicyFile
from gv_engine.plugins.learning.evaluation import evaluate_policy


class Recipe(NamedTuple):
    """Training run.

    Attributes:
        scenario: name of the scenario.
        steps: steps of the training.
        words: further arguments of the command.
        is_split: train on the level set `train`, instead of all levels.
    """

    scenario: str
    steps: int
    words: str = ""
    is_split: bool = True


RECIPES = (
    Recipe("keydoor-5x5", 200_000),
    Recipe("keydoor-9x9", 470_000),
    Recipe("memory-9x9", 560_000, "--memory"),
    Recipe("hand-over", 1_000_000, "--learner mappo", is_split=False),
    Recipe("crossing-7x7", 260_000),
    Recipe("four-rooms-9x9", 275_000),
    Recipe("MiniGrid-DoorKey-8x8-v0", 545_000),
    Recipe("nine-rooms-13x13", 415_000),
    Recipe("dynamic-obstacles-7x7", 990_000),
    Recipe("levers", 440_000),
    Recipe("maze-9x9", 385_000),
    Recipe("MiniGrid-MultiRoom-N2-S4-v0", 235_000),
    Recipe("hunt", 600_000, is_split=False),
    Recipe("ice", 175_000),
    Recipe("teleport-7x7", 200_000),
    Recipe("BabyAI-GoToLocal-v0", 1_000_000),
)
_EPISODES = 200
_SEEDS = 3
_ENOUGH = 0.99
"""Success rate on `validation` with which no further seed is trained."""


def train(recipe: Recipe, seed: int, runs: Path) -> Path:
    """Return the folder of the run with a seed, which is trained unless it is there.

    Raises:
        subprocess.CalledProcessError: the command has failed.
    """
    run = runs / recipe.scenario / str(seed)
    if not (run / POLICY_FILE).exists():
        levels = "--levels train " * recipe.is_split
        words = f"{levels}--seed {seed} --steps {recipe.steps} {recipe.words}".split()
        command = [sys.executable, "-m", "gv_engine", "train", recipe.scenario]
        subprocess.run([*command, *words, "--out", run], check=True)
    return run


def choose_seed(recipe: Recipe, runs: Path) -> int:
    """Train a recipe with one seed after the other, and return the seed whose policy succeeds most
    often in the levels `validation`."""
    scores: list[float] = []
    while len(scores) < _SEEDS and max(scores, default=0.0) < _ENOUGH:
        run = train(recipe, len(scores), runs)
        try:
            success = evaluate_policy(run, recipe.scenario, "validation", _EPISODES).success
        except LevelsError:
            return 0
        assert success is not None
        scores.append(success.mean)
    return scores.index(max(scores))


def pack(run: Path, folder: Path) -> int:
    """Write the policy of a run into a folder, as float16; return its size in bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    PolicyFile.read(run).write(folder, np.float16)
    return (folder / POLICY_FILE).stat().st_size


def measure(recipe: Recipe, policy: str, levels: str) -> str:
    """Return the success rate of a policy on a level set as a text, with its interval; a dash if
    the set has too few levels."""
    played = levels if recipe.is_split else None
    if not recipe.is_split and levels != "test":
        return "–"
    try:
        success = evaluate_policy(policy, recipe.scenario, played, _EPISODES).success
    except LevelsError:
        return "–"
    assert success is not None
    low, high = (f"{100 * end:.1f}" for end in (success.low, success.high))
    return f"{100 * success.mean:.1f} % ({low}–{high}){'' if recipe.is_split else ' *'}"


def main() -> int:
    """Train what is missing, pack all policies, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.trained", description=__doc__)
    text = "scenarios with this in the name"
    parser.add_argument("--only", default="", metavar="TEXT", help=text)
    text = "folder of the runs, which are trained where they are missing"
    parser.add_argument("--runs", type=Path, default=Path("trained-runs"), help=text)
    options = parser.parse_args()
    sets = "validation", "test", "test-layout"
    head = ("scenario", "seed", "steps", "with", *(f"`{each}`" for each in sets), "greedy", "KiB")
    for row in (head, ["---", "--:", "--:", "---"] + ["--:"] * 5):
        print("|", " | ".join(row), "|", flush=True)
    for recipe in RECIPES:
        if options.only in recipe.scenario:
            name = recipe.scenario
            seed = choose_seed(recipe, options.runs)
            size = pack(train(recipe, seed, options.runs), POLICIES / name)
            found = [measure(recipe, TRAINED, levels) for levels in sets]
            greedy = measure(recipe, f"{TRAINED}:{GREEDY}", "test")
            words = f"`{recipe.words}`" if recipe.words else ""
            made = (f"`{name}`", f"{seed}", f"{recipe.steps:,}", words)
            print("|", " | ".join([*made, *found, greedy, f"{size / 1024:.0f}"]), "|", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
