"""`python -m benchmarks.learners`: a level of MiniGrid's learned here, and with its usual tools.

Each learner has a process and a core of its own, its own settings, and no more time than `--most`.
It learns until it wins 95 of 100 episodes, by its own count: of the last 100, or here by a life
table, see `gv_engine.learning.survival_estimate`. Seconds are of computing, from the start of
the process on, imports included; those of the clock are beside them. What it then does is tested on
200 seeds that are the same for all.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from benchmarks.peers import ROOT, PeerError, python_for
from benchmarks.worker import keep_to

LEVEL = "MiniGrid-DoorKey-5x5-v0"
LONGEST = 250
"""Steps of an episode of that level, at most."""
WINDOW, GOAL = 100, 0.95
"""Episodes, and the share of them that is to be won."""
TESTED = range(1_000_000, 1_000_200)
"""Seeds of the test."""
MARKS = (0.25, 0.5, 0.75, GOAL)
"""Shares of success whose first time is told."""

ZOO: dict[str, Any] = {
    "n_steps": 128,
    "batch_size": 64,
    "gae_lambda": 0.95,
    "gamma": 0.99,
    "n_epochs": 10,
    "ent_coef": 0.0,
    "learning_rate": 2.5e-4,
    "clip_range": 0.2,
}
"""What RL Baselines3 Zoo publishes for the level in `hyperparams/ppo.yml`; beside it, 8 worlds, the
wrapper FlatObsWrapper, and observations and rewards that are normalised."""
ZOO_WORLDS = 8


class LevelLearner(Protocol):
    """Something that learns the level.

    Attributes:
        steps: of all worlds until now.
    """

    steps: int

    def update(self) -> float:
        """Learn for as long as it usually does without a pause; its success by its own count, 0
        where it is not known yet."""

    def test(self, seeds: range) -> Iterator[bool]:
        """For each seed whether its episode is won, with actions drawn as in training."""


class Ours:
    """`gv-engine train`, with its own settings."""

    def __init__(self, seed: int) -> None:
        from gv_engine.learning.config import Hyperparameters
        from gv_engine.learning.ppo import Learner, make_training_env

        self._settings = Hyperparameters(seed=seed)
        self._learner = Learner(make_training_env(LEVEL, self._settings), self._settings)
        self.steps = 0

    def update(self) -> float:
        metrics = self._learner.update()
        self.steps = metrics.steps
        return 0.0 if math.isnan(metrics.success_rate) else metrics.success_rate

    def test(self, seeds: range) -> Iterator[bool]:
        from gv_engine.learning.run_folder import Run
        from gv_engine.rollout.shards import Job

        scenario = self._learner.env.scenario
        with tempfile.TemporaryDirectory() as folder:
            run = Run.create(Path(folder), scenario, self._settings)
            run.save_checkpoint(self._learner, 0.0)
            job = Job(scenario, folder, seeds.start, len(seeds))
            env = job.make_env(len(seeds))
            for episode in job.play(env, job.make_policy(env), 0, len(seeds)):
                yield bool(episode.success)


class StableBaselines3:
    """MiniGrid and Stable-Baselines3's PPO, with the settings of RL Baselines3 Zoo."""

    def __init__(self, seed: int) -> None:
        from stable_baselines3 import PPO
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.vec_env import VecNormalize

        worlds = make_vec_env(_flat_level, ZOO_WORLDS, seed)
        self._env = VecNormalize(worlds, gamma=ZOO["gamma"])
        self._model = PPO("MlpPolicy", self._env, seed=seed, device="cpu", **ZOO)
        self.steps = 0

    def update(self) -> float:
        self._model.learn(ZOO["n_steps"] * ZOO_WORLDS, reset_num_timesteps=False)
        self.steps = self._model.num_timesteps
        if self.steps < ZOO_WORLDS * LONGEST:  # those that win are the first to end
            return 0.0
        won: int = sum(ended["r"] > 0 for ended in self._model.ep_info_buffer)
        return won / WINDOW

    def test(self, seeds: range) -> Iterator[bool]:
        env = _flat_level()
        for seed in seeds:
            seen, over, reward = env.reset(seed=seed)[0], False, 0.0
            while not over:
                action, _ = self._model.predict(self._env.normalize_obs(seen))
                seen, reward, terminated, truncated, _ = env.step(int(action))
                over = terminated or truncated
            yield float(reward) > 0


def _flat_level() -> Any:
    """The level as the Zoo shows it, in floats: a buffer of Stable-Baselines3 2.9 has the dtype of
    the space, and of bytes that are normalised next to nothing is left in it."""
    import gymnasium
    import minigrid  # noqa: F401  # registers its environments
    import numpy as np
    from gymnasium.wrappers import DtypeObservation
    from minigrid.wrappers import FlatObsWrapper

    return DtypeObservation(FlatObsWrapper(gymnasium.make(LEVEL)), np.float32)


class Contender(NamedTuple):
    """Who takes part.

    Attributes:
        label: its name in the table.
        make: takes a seed.
        packages: what is installed for it; nothing for what runs in the engine's own environment.
    """

    label: str
    make: Callable[[int], LevelLearner]
    packages: tuple[str, ...] = ()


CONTENDERS = {
    "gv-engine": Contender("GV Engine, `gv-engine train`", Ours),
    "sb3": Contender(
        "MiniGrid, Stable-Baselines3", StableBaselines3, ("stable-baselines3", "minigrid")
    ),
}


class Progress(NamedTuple):
    """What was reached.

    Attributes:
        cpu: seconds of computing, all threads together.
        steps: of all worlds.
        success: as it counts it.
    """

    cpu: float
    steps: int
    success: float


def learn(name: str, seed: int, most: float) -> None:
    """Learn, with a line of JSON for each update, and one for the test."""
    keep_to(1)
    learner = CONTENDERS[name].make(seed)
    success = 0.0
    while success < GOAL and time.process_time() < most:
        success = learner.update()
        print(json.dumps((time.process_time(), learner.steps, success)), flush=True)
    print(json.dumps(sum(learner.test(TESTED)) / len(TESTED)), flush=True)


def contend(name: str, contender: Contender, seed: int, most: float) -> Iterator[str]:
    """The row of a contender.

    Raises:
        PeerError: it cannot take part; the last line that it printed.
    """
    words = "--learn", name, "--seed", str(seed), "--most", str(most)
    told: list[tuple[float, Progress]] = []
    tested = -1.0
    python = python_for(contender.packages)
    began = time.perf_counter()
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [python, "-m", "benchmarks.learners", *words],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdout
        for line in process.stdout:
            answer = json.loads(line)
            if isinstance(answer, float):
                tested = answer
            else:
                told.append((time.perf_counter() - began, Progress(*answer)))
        process.wait()
        errors.seek(0)
        if process.returncode:
            raise PeerError(next(islice(reversed(errors.readlines()), 1), "it ended").strip())
    yield contender.label
    for mark in MARKS:
        first = next((each for _, each in told if each.success >= mark), None)
        yield f"{first.steps:,} in {first.cpu:.1f} s" if first else f"> {told[-1][1].steps:,}"
    seconds, last = told[-1]
    yield from (f"{last.cpu:.1f} s", f"{seconds:.1f} s", f"{last.steps / last.cpu:,.0f}/s")
    yield f"{tested:.1%}"


def main() -> None:
    """Let them learn one after the other, and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learners", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=[*CONTENDERS])
    parser.add_argument("--seed", type=int, default=0, help="of levels and learners; default 0")
    parser.add_argument("--most", type=float, default=600, help="seconds of computing; default 600")
    parser.add_argument("--learn", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.learn:
        learn(options.learn, options.seed, options.most)
        return
    head = ["", *(f"{mark:.0%}" for mark in MARKS), "CPU", "wall", "steps", "evaluated"]
    for line in (head, ["---", *["--:"] * (len(head) - 1)]):
        print("|", " | ".join(line), "|")
    for name in options.only:
        contender = CONTENDERS[name]
        try:
            row = contend(name, contender, options.seed, options.most)
            print("|", " | ".join(row), "|", flush=True)
        except PeerError as error:
            print(f"| {contender.label} | cannot take part: {error} |")


if __name__ == "__main__":
    main()
