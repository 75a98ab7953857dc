"""`python -m benchmarks.sample_efficiency`: steps and episodes until a learner succeeds.

In levels of MiniGrid, `gv-engine train --no-masks --preset small` and `examples/small_ppo.py` train
until 95 of the last 100 episodes were won. In those of BabyAI, `gv-engine train --no-masks` without
permuted colours trains until 990 of the last 1,000 were; and `--imitate` learns from twice as many
episodes of BabyAI's bot each time until it succeeds in 99 % of 1,000 others. In those that are hard
to explore, such as MultiRoom-N7-S4, NovelD trains until 95 of the last 100 were.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pkgutil import resolve_name
from statistics import median
from typing import Any, NamedTuple

from gv_engine.scenario.scenario import Scenario


class Task(NamedTuple):
    """Level to learn.

    Attributes:
        scenario: its id.
        success: success rate at which training ends.
        window: number of the last episodes that count.
        most_steps: steps after which training ends without success.
        learners: names of the learners.
        parameters: parameters of the scenario by name.
    """

    scenario: str
    success: float
    window: int
    most_steps: int
    learners: tuple[str, ...]
    parameters: dict[str, Any] = {}  # noqa: RUF012  # never changed


_SMALL, _MISSION = ("small", "example"), ("small-mission", "example")
_EXPLORERS = ("noveld", "ride", "rnd")
_BABYAI, _BABYAI_MEMORY = ("default", "imitation"), ("memory", "imitation-memory")

TASKS = {
    "DoorKey-5x5": Task("MiniGrid-DoorKey-5x5-v0", 0.95, 100, 200_000, _SMALL),
    "MultiRoom-N2-S4": Task("MiniGrid-MultiRoom-N2-S4-v0", 0.95, 100, 500_000, _SMALL),
    "DoorKey-8x8": Task("MiniGrid-DoorKey-8x8-v0", 0.95, 100, 500_000, _SMALL),
    "GoToDoor-5x5": Task("MiniGrid-GoToDoor-5x5-v0", 0.95, 100, 200_000, _MISSION),
    "GoToRedBallGrey": Task("BabyAI-GoToRedBallGrey-v0", 0.99, 1000, 5_000_000, _BABYAI),
    "GoToRedBall": Task("BabyAI-GoToRedBall-v0", 0.99, 1000, 10_000_000, _BABYAI),
    "GoToLocal": Task("BabyAI-GoToLocal-v0", 0.99, 1000, 20_000_000, _BABYAI),
    "PickupLoc": Task("BabyAI-PickupLoc-v0", 0.99, 1000, 40_000_000, _BABYAI_MEMORY),
    "PutNextLocal": Task("BabyAI-PutNextLocal-v0", 0.99, 1000, 40_000_000, _BABYAI_MEMORY),
    **{
        f"MultiRoom-N{rooms}-S{side}": Task(
            *("MiniGrid-MultiRoom-N6-v0", 0.95, 100, 30_000_000, _EXPLORERS),
            {"num_rooms": rooms, "max_room_size": side},
        )
        for rooms, side in ((7, 4), (7, 8), (10, 4))
    },
    **{
        f"KeyCorridor{size}": Task(
            f"MiniGrid-KeyCorridor{size}-v0", 0.95, 100, 30_000_000, _EXPLORERS
        )
        for size in ("S3R3", "S4R3", "S5R3", "S6R3")
    },
}


class Attempt(NamedTuple):
    """Result of one seed.

    Attributes:
        steps, episodes: numbers until success; infinite without it, and NaN if not counted.
        cpu: seconds of CPU time.
    """

    steps: float
    episodes: float
    cpu: float


def train_by_engine(task: Task, seed: int, **settings: Any) -> tuple[float, float]:
    """Train by the engine's PPO with these settings. Return the steps and episodes until the task's
    success rate is reached; infinite if it is not."""
    from gv_engine.plugins.learning.config import LEARNERS as LEARNER_CLASSES
    from gv_engine.plugins.learning.config import Config
    from gv_engine.plugins.learning.ppo import make_training_env

    last_wins: deque[bool] = deque(maxlen=task.window)
    config = Config.from_values({**settings, "mask_actions": False, "seed": seed})

    class CountingLearner(resolve_name(LEARNER_CLASSES[config.learner])):  # type: ignore[misc]
        def _count_episodes(self, info: dict[str, Any], *others: Any) -> None:
            if "episode" in info:
                last_wins.extend(info["episode"]["r"][info["_episode"]] > 0)
            super()._count_episodes(info, *others)

    scenario = Scenario.load(task.scenario, **task.parameters)
    learner = CountingLearner(make_training_env(scenario, config), config)
    steps = 0
    while steps < task.most_steps:
        metrics = learner.update()
        steps = metrics.steps
        if len(last_wins) == task.window and sum(last_wins) >= task.success * task.window:
            return steps, metrics.episodes
    return math.inf, math.inf


def train_example(task: Task, seed: int) -> tuple[float, float]:
    """Train by the example, which counts steps alone."""
    from examples import small_ppo

    with contextlib.redirect_stdout(io.StringIO()):
        try:
            return small_ppo.train(task.scenario, seed, task.most_steps), math.nan
        except RuntimeError:
            return math.inf, math.nan


_MIN_EPISODES, _MAX_EPISODES = 1000, 512_000
"""Bounds of the number of episodes to imitate."""
_EVALUATION_SEED = 10**9
"""Seed of the first episode of an evaluation, above those of the bot's episodes."""


def train_by_imitation(task: Task, seed: int, *options: str) -> tuple[float, float]:
    """Imitate BabyAI's bot in ever more episodes until the task's success rate is reached. Return
    the steps and episodes of the bot; infinite if it is not."""
    episodes = _MIN_EPISODES
    while episodes <= _MAX_EPISODES:
        with tempfile.TemporaryDirectory() as folder:
            dataset, run = f"{folder}/dataset", f"{folder}/run"
            bot = ["--policy", "bot", "--episodes", str(episodes)]
            bot += ["--seed", str(seed * _MAX_EPISODES), "--out", dataset]
            steps = _run_command("rollout", task.scenario, *bot)["steps"]
            training = ["--imitate", dataset, "--no-masks", "--set-hp", "augment_colors=false"]
            training += ["--seed", str(seed), "--out", run, *options]
            _run_command("train", task.scenario, *training)
            evaluation = ["--policy", run, "--episodes", str(task.window)]
            evaluation += ["--seed", str(_EVALUATION_SEED)]
            success = _run_command("rollout", task.scenario, *evaluation)["success"]
        print(
            task.scenario, seed, f"{episodes:,} episodes: {success} %", file=sys.stderr, flush=True
        )
        if success >= 100 * task.success:
            return int(steps), episodes
        episodes *= 2
    return math.inf, math.inf


def _run_command(*arguments: str) -> dict[str, float]:
    """Run `gv-engine`, and return the numbers that it prints, by name."""
    command = [sys.executable, "-m", "gv_engine", *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.findall(r"^(\w+)\s+([\d,.]+)%?", printed, re.MULTILINE)
    return {name: float(number.replace(",", "")) for name, number in found}


LEARNERS: dict[str, tuple[str, Callable[[Task, int], tuple[float, float]]]] = {
    "small": ("`--preset small`", partial(train_by_engine, preset="small")),
    "small-mission": ("`--preset small-mission`", partial(train_by_engine, preset="small-mission")),
    "default": ("default settings", partial(train_by_engine, augment_colors=False)),
    "memory": ("`--memory`", partial(train_by_engine, augment_colors=False, recurrent=True)),
    "imitation": ("`--imitate`", train_by_imitation),
    "imitation-memory": (
        "`--imitate --memory`",
        lambda task, seed: train_by_imitation(task, seed, "--memory"),
    ),
    **{
        name: (f"`--learner {name}`", partial(train_by_engine, learner=name)) for name in _EXPLORERS
    },
    "example": ("`examples/small_ppo.py`", train_example),
}
"""Name in the table and function of each learner."""


def _cpu_seconds() -> float:
    """Return the CPU time of this process and of the commands that it ran."""
    return sum(os.times()[:4])


def describe(attempts: Sequence[Attempt]) -> list[str]:
    """Return the cells of a row: seeds that succeeded, steps, episodes, and CPU seconds."""
    reached = [attempt for attempt in attempts if attempt.steps < math.inf]
    seconds = sum(attempt.cpu for attempt in attempts)
    return [
        f"{len(reached)} of {len(attempts)}",
        _describe_numbers([attempt.steps for attempt in attempts]),
        _describe_numbers([attempt.episodes for attempt in attempts]),
        f"{seconds:,.0f} s",
    ]


def _describe_numbers(numbers: Sequence[float]) -> str:
    if any(map(math.isnan, numbers)):
        return ""
    found, middle = [number for number in numbers if number < math.inf], median(numbers)
    spread = f" ({min(found):,} to {max(found):,})" if found else ""
    return (f"{middle:,.0f}" if middle < math.inf else "not reached") + spread


def main() -> None:
    """Train all seeds of all levels, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sample_efficiency")
    parser.add_argument("--only", nargs="+", choices=TASKS, default=[*TASKS])
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=[*LEARNERS])
    parser.add_argument("--seeds", type=int, default=10, metavar="N", help="default 10")
    options = parser.parse_args()
    head = (
        "level",
        "learner",
        "seeds",
        "steps: median (least to most)",
        "episodes",
        "CPU, all seeds",
    )
    for row in (head, ["---", "---", *["--:"] * 4]):
        print("|", " | ".join(row), "|", flush=True)
    for level in options.only:
        task = TASKS[level]
        for name in (name for name in task.learners if name in options.learners):
            label, train = LEARNERS[name]
            attempts = []
            for seed in range(options.seeds):
                began = _cpu_seconds()
                steps, episodes = train(task, seed)
                attempts.append(Attempt(steps, episodes, _cpu_seconds() - began))
                print(level, name, seed, attempts[-1], file=sys.stderr, flush=True)
            print("|", " | ".join([level, label, *describe(attempts)]), "|", flush=True)


if __name__ == "__main__":
    main()
